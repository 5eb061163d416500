/* The sampling thread: one reading of statm a tick, with no malloc, no stdio and no GIL.
 *
 * It waits for absolute deadlines on a futex, so that it does not drift and a stop is prompt.
 * Ticks that come too late are skipped and counted.  Everything it touches, its stack included,
 * lies in one mapping that fox_sampler_new has populated, so that starting it moves no figure.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* A sanitizer's thread-local data alone is larger than the 256 KB that are plenty otherwise. */
#ifdef FOX_SANITIZED
enum { STACK_BYTES = 4 * 1024 * 1024 };
#else
enum { STACK_BYTES = 256 * 1024 };
#endif

struct fox_sampler {
    _Atomic uint32_t stop;
    int64_t period_ns;
    pid_t pid; /* the process whose thread it is */
    pthread_t thread;
    void *map;
    char *stack;
    size_t map_size;
    fox_sampler_stats stats; /* this and the timeline: under fox_lock() */
    fox_timeline timeline;
};

static void record_error(fox_sampler *sampler, int error) {
    sampler->stats.n_errors++;
    if (sampler->stats.first_error == 0)
        sampler->stats.first_error = error;
}

/* The clock is read under the lock, so that the times in the timeline never go back. */
int fox_sampler_sample(fox_sampler *sampler, int64_t *now_ns) {
    fox_statm statm;
    fox_lock();
    int clock_error = fox_clock_ns(now_ns);
    int error = clock_error != 0 ? clock_error : fox_statm_read_locked(&statm);
    if (error == 0 && fox_timeline_add(&sampler->timeline, *now_ns, statm.resident_bytes) != 0)
        error = fox_impossible("a sample before the last one, or of negative size");
    if (error == 0) {
        sampler->stats.n_samples++;
        if (statm.resident_bytes > sampler->stats.max_bytes)
            sampler->stats.max_bytes = statm.resident_bytes;
        fox_interval_sample_locked(statm.resident_bytes);
    } else {
        record_error(sampler, error);
    }
    fox_unlock();
    return clock_error;
}

/* Where a long has 32 bits and a time 64 (new 32-bit libcs), the old call reads half a timespec:
 * every wait would end at once. */
static long futex_wait_number(void) {
#ifdef SYS_futex_time64
    if (sizeof(time_t) > sizeof(long))
        return SYS_futex_time64;
#endif
    return SYS_futex;
}

/* 0: the deadline came.  1: asked to stop.  -errno: the wait itself failed. */
static int wait_until(fox_sampler *sampler, int64_t deadline_ns) {
    const struct timespec deadline = {(time_t)(deadline_ns / 1000000000),
                                      (long)(deadline_ns % 1000000000)};
    for (;;) {
        if (atomic_load_explicit(&sampler->stop, memory_order_acquire) != 0)
            return 1;
        long r = syscall(futex_wait_number(), &sampler->stop, FUTEX_WAIT_BITSET_PRIVATE, 0u,
                         &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
        if (r == 0 || errno == EAGAIN || errno == EINTR)
            continue;
        return errno == ETIMEDOUT ? 0 : fox_neg_errno();
    }
}

static void sample_until_stopped(fox_sampler *sampler) {
    int64_t now, deadline;
    int error = fox_clock_ns(&now);
    deadline = now + sampler->period_ns;
    while (error == 0) {
        error = wait_until(sampler, deadline);
        if (error == 1)
            return;
        if (error == 0)
            error = fox_sampler_sample(sampler, &now);
        if (error != 0)
            break;
        int64_t late = (now - deadline) / sampler->period_ns;
        if (late > 0) {
            fox_lock();
            sampler->stats.n_missed += late;
            fox_unlock();
        }
        deadline += (late + 1) * sampler->period_ns;
    }
    /* A clock or a wait that fails would make this loop spin: end it, and say so. */
    fox_lock();
    record_error(sampler, error);
    fox_unlock();
}

static void *run(void *argument) {
    fox_sampler *sampler = argument;
    struct timespec cpu;

    (void)prctl(PR_SET_NAME, "foxsampler");
    (void)prctl(PR_SET_TIMERSLACK, 1UL); /* else each wake-up is 50 us later; this thread only */
    sample_until_stopped(sampler);
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0) {
        fox_lock();
        int64_t before = sampler->stats.cpu_ns < 0 ? 0 : sampler->stats.cpu_ns;
        sampler->stats.cpu_ns = before + (int64_t)cpu.tv_sec * 1000000000 + (int64_t)cpu.tv_nsec;
        fox_unlock();
    }
    return NULL;
}

int fox_sampler_new(double hz, int64_t capacity, fox_sampler **out) {
    int64_t page;
    if (!(hz >= 100.0 && hz <= 10000.0) || !fox_timeline_capacity_ok(capacity))
        return -EINVAL;
    int error = fox_page_bytes(&page);
    if (error != 0)
        return error;

    /* [guard page][stack][this struct][buckets], rounded up to pages. */
    size_t guard = (size_t)page;
    size_t stack = (STACK_BYTES + guard - 1) / guard * guard;
    size_t head = (sizeof(fox_sampler) + 63) / 64 * 64;
    size_t size = guard + stack + head + (size_t)capacity * sizeof(fox_bucket);
    size = (size + guard - 1) / guard * guard;
    char *map =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (map == MAP_FAILED)
        return fox_neg_errno();
    if (mprotect(map, guard, PROT_NONE) != 0) {
        error = fox_neg_errno();
        munmap(map, size);
        return error;
    }

    fox_sampler *sampler = (fox_sampler *)(void *)(map + guard + stack);
    sampler->map = map;
    sampler->map_size = size;
    sampler->stack = map + guard;
    sampler->period_ns = (int64_t)(1e9 / hz + 0.5);
    sampler->stats.cpu_ns = -1;
    sampler->stats.max_bytes = -1;
    sampler->stats.self_bytes = (int64_t)size;
    fox_timeline_init(&sampler->timeline, (fox_bucket *)(void *)(map + guard + stack + head),
                      capacity);
    *out = sampler;
    return 0;
}

static int create_on(fox_sampler *sampler, bool own_stack) {
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    if (own_stack)
        error = pthread_attr_setstack(&attributes, sampler->stack, STACK_BYTES);
    if (error == 0)
        error = pthread_create(&sampler->thread, &attributes, run, sampler);
    pthread_attr_destroy(&attributes);
    return error;
}

/* A thread inherits the signal mask: with all blocked, no handler of the host program can ever
 * run on this small stack. */
static int create_thread(fox_sampler *sampler) {
    sigset_t all, before;
    sigfillset(&all);
    int error = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (error != 0)
        return -error;
    error = create_on(sampler, true);
    if (error == EINVAL) /* libc keeps thread-local data on the stack, and this host has too much */
        error = create_on(sampler, false);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

int fox_sampler_start(fox_sampler *sampler) {
    int64_t now;
    pid_t pid = getpid();

    fox_lock();
    bool running = sampler->stats.running != 0 && sampler->pid == pid;
    sampler->stats.running = 1;
    sampler->pid = pid;
    fox_unlock();
    if (running)
        return -EALREADY;

    atomic_store_explicit(&sampler->stop, 0, memory_order_release);
    int error = fox_sampler_sample(sampler, &now);
    if (error == 0)
        error = create_thread(sampler);
    if (error != 0) {
        fox_lock();
        sampler->stats.running = 0;
        fox_unlock();
    }
    return error;
}

int fox_sampler_stop(fox_sampler *sampler) {
    fox_lock();
    bool running = sampler->stats.running != 0;
    bool ours = sampler->pid == getpid();
    sampler->stats.running = 0;
    fox_unlock();
    if (!running)
        return 0;
    if (!ours)
        return -ESRCH;
    atomic_store_explicit(&sampler->stop, 1, memory_order_release);
    (void)syscall(SYS_futex, &sampler->stop, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    return -pthread_join(sampler->thread, NULL);
}

int fox_sampler_read(fox_sampler *sampler, fox_sampler_stats *out) {
    fox_lock();
    *out = sampler->stats;
    if (sampler->pid != getpid())
        out->running = 0;
    fox_unlock();
    if (out->running)
        out->cpu_ns = -1;
    return 0;
}

int64_t fox_sampler_length(fox_sampler *sampler) {
    fox_lock();
    int64_t length = fox_timeline_length(&sampler->timeline);
    fox_unlock();
    return length;
}

int fox_sampler_copy(fox_sampler *sampler, fox_bucket *into, int64_t room, int64_t *n) {
    fox_lock();
    int error = fox_timeline_copy(&sampler->timeline, into, room, n);
    fox_unlock();
    return error;
}

void fox_sampler_free(fox_sampler *sampler) {
    if (sampler == NULL)
        return;
    (void)fox_sampler_stop(sampler);
    munmap(sampler->map, sampler->map_size);
}
