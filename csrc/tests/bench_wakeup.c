/* CPU time of a tick: threads that only wait, by each way of waiting, and the sampler itself.
 *
 *     bench_wakeup [HZ [BUSY]]      BUSY: threads that compute meanwhile
 *
 * One "key value" a line: median nanoseconds of interleaved rounds.  What the sampler adds to the
 * cheapest way of waiting is its own; the rest is the machine's price of a wake-up.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "check.h"

enum way { FUTEX, NANOSLEEP, TIMERFD, PPOLL, N_WAYS };
enum { ROUNDS = 9, TICKS = 400, SLACKS = 2 };

static const char *const names[] = {"futex", "clock_nanosleep", "timerfd", "ppoll"};
static const unsigned long slacks_ns[SLACKS] = {1, 50000};
static int64_t period_ns = 1000000;
static atomic_int over;

typedef struct {
    enum way way;
    unsigned long slack_ns;
    double tick_ns;
} waiter;

static int64_t cpu_ns(void) {
    struct timespec time;
    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_nsec;
}

static void wait_until(enum way way, int64_t deadline_ns, int timer) {
    static uint32_t word;
    const struct timespec at = {(time_t)(deadline_ns / 1000000000),
                                (long)(deadline_ns % 1000000000)};
    const struct itimerspec once = {.it_value = at};
    int64_t now;
    uint64_t expired;

    switch (way) {
    case FUTEX:
        (void)syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0u, &at, NULL,
                      FUTEX_BITSET_MATCH_ANY);
        break;
    case NANOSLEEP:
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        break;
    case TIMERFD:
        CHECK(timerfd_settime(timer, TFD_TIMER_ABSTIME, &once, NULL) == 0);
        CHECK(read(timer, &expired, sizeof expired) == sizeof expired);
        break;
    default:
        CHECK(fox_clock_ns(&now) == 0);
        int64_t left = deadline_ns > now ? deadline_ns - now : 0;
        const struct timespec span = {0, (long)left};
        (void)ppoll(NULL, 0, &span, NULL);
    }
}

static void *only_wait(void *argument) {
    waiter *self = argument;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    int64_t now, deadline;
    CHECK(timer >= 0 && prctl(PR_SET_TIMERSLACK, self->slack_ns) == 0);
    CHECK(fox_clock_ns(&deadline) == 0);
    int64_t begin = cpu_ns();
    for (int tick = 0; tick < TICKS; tick++) {
        deadline += period_ns;
        wait_until(self->way, deadline, timer);
        CHECK(fox_clock_ns(&now) == 0);
        if (now > deadline)
            deadline += (now - deadline) / period_ns * period_ns;
    }
    self->tick_ns = (double)(cpu_ns() - begin) / TICKS;
    close(timer);
    return NULL;
}

static double of_waiter(enum way way, unsigned long slack_ns) {
    waiter one = {way, slack_ns, 0};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, only_wait, &one) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return one.tick_ns;
}

static double of_sampler(double hz) {
    fox_sampler *sampler;
    fox_sampler_stats stats;
    CHECK_EQ(fox_sampler_new(hz, 4096, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    pause_ms((long)(TICKS * 1000 / hz));
    CHECK_EQ(fox_sampler_stop(sampler), 0);
    CHECK_EQ(fox_sampler_read(sampler, &stats), 0);
    fox_sampler_free(sampler);
    return (double)stats.cpu_ns / (double)stats.n_samples;
}

static void *compute(void *nothing) {
    volatile double x = 1;
    while (!over)
        x = x * 1.0000001 + 1e-9;
    return nothing;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

int main(int argc, char **argv) {
    static double waits[N_WAYS][SLACKS][ROUNDS], sampler[ROUNDS];
    const double hz = argc > 1 ? atof(argv[1]) : 1000;
    const int busy = argc > 2 ? atoi(argv[2]) : 0;

    CHECK(hz >= 100 && hz <= 10000);
    period_ns = (int64_t)(1e9 / hz);
    for (int i = 0; i < busy; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, compute, NULL) == 0);
        CHECK(pthread_detach(thread) == 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = 0; way < N_WAYS; way++)
            for (int slack = 0; slack < SLACKS; slack++)
                waits[way][slack][round] = of_waiter((enum way)way, slacks_ns[slack]);
        sampler[round] = of_sampler(hz);
    }
    for (int way = 0; way < N_WAYS; way++)
        for (int slack = 0; slack < SLACKS; slack++)
            printf("%s_slack_%luns %.0f\n", names[way], slacks_ns[slack],
                   median(waits[way][slack]));
    printf("sampler %.0f\n", median(sampler));
    over = 1;
    return 0;
}
