/* Two samplers, thousands of starts, forks and signals meanwhile, an exit in the middle. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int64_t entries(const char *path) {
    DIR *dir = opendir(path);
    int64_t n = 0;
    CHECK(dir != NULL);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static void two_samplers_see_the_same_memory(void) {
    fox_sampler *samplers[2];
    fox_sampler_stats stats[2];
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(fox_sampler_new(1000, 64, &samplers[i]), 0);
        CHECK_EQ(fox_sampler_start(samplers[i]), 0);
    }
    void *at = hold(32 * MIB);
    pause_ms(50);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(fox_sampler_stop(samplers[i]), 0);
        CHECK_EQ(fox_sampler_read(samplers[i], &stats[i]), 0);
        CHECK(stats[i].n_errors == 0 && stats[i].max_bytes >= 32 * MIB);
        fox_sampler_free(samplers[i]);
    }
    drop(at, 32 * MIB);
    int64_t apart = stats[0].max_bytes - stats[1].max_bytes;
    CHECK(apart < MIB && apart > -MIB);
}

static void ten_thousand_starts_leave_nothing_behind(void) {
    const int rounds = EXACT ? 10000 : 1000;
    fox_sampler *sampler;
    int64_t open_before = 0, rss_before = 0, rss_after, threads;
    for (int i = 0; i < rounds; i++) {
        if (i == rounds / 10) {
            open_before = entries("/proc/self/fd");
            CHECK_EQ(fox_rss_bytes(&rss_before), 0);
        }
        CHECK_EQ(fox_sampler_new(10000, 64, &sampler), 0);
        CHECK_EQ(fox_sampler_start(sampler), 0);
        CHECK_EQ(fox_sampler_stop(sampler), 0);
        fox_sampler_free(sampler);
    }
    threads = entries("/proc/self/task") - 2; /* . and .. */
    CHECK(threads <= (EXACT ? 1 : 2));        /* TSan keeps one of its own */
    CHECK_EQ(entries("/proc/self/fd"), open_before);
    CHECK_EQ(fox_rss_bytes(&rss_after), 0);
    if (EXACT)
        CHECK(rss_after - rss_before < MIB);
}

static void forks_while_sampling_lose_nothing(void) {
    fox_sampler *sampler;
    fox_sampler_stats stats;
    CHECK_EQ(fox_sampler_new(10000, 64, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    for (int i = 0; i < 100; i++) {
        int status;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            int64_t id, rss;
            fox_interval interval;
            bool well = fox_rss_bytes(&rss) == 0 && rss > 0 && fox_interval_begin(1, &id) == 0 &&
                        fox_interval_end(id, &interval) == 0;
            _exit(well ? 0 : 1);
        }
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 0);
    }
    CHECK_EQ(fox_sampler_stop(sampler), 0);
    CHECK_EQ(fox_sampler_read(sampler, &stats), 0);
    CHECK_EQ(stats.n_errors, 0);
    fox_sampler_free(sampler);
}

static atomic_int storm_over;

static void ignore(int number) {
    (void)number;
}

static void *storm(void *target) {
    while (!storm_over) {
        (void)pthread_kill(*(pthread_t *)target, SIGUSR1);
        const struct timespec pause = {0, 20000};
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

static void a_storm_of_signals_hinders_no_stop(void) {
    const struct sigaction action = {.sa_handler = ignore}; /* without SA_RESTART */
    pthread_t self = pthread_self(), thread;
    fox_sampler *sampler;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK_EQ(pthread_create(&thread, NULL, storm, &self), 0);
    for (int i = 0; i < 300; i++) {
        CHECK_EQ(fox_sampler_new(1000, 64, &sampler), 0);
        CHECK_EQ(fox_sampler_start(sampler), 0);
        CHECK_EQ(fox_sampler_stop(sampler), 0);
        fox_sampler_free(sampler);
    }
    storm_over = 1;
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void a_process_may_end_while_it_samples(void) {
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            fox_sampler *sampler;
            CHECK_EQ(fox_sampler_new(10000, 64, &sampler), 0);
            CHECK_EQ(fox_sampler_start(sampler), 0);
            pause_ms(i % 3);
            _exit(7); /* not exit: the memory is in use, which LeakSanitizer cannot know */
        }
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 7);
    }
}

int main(void) {
    two_samplers_see_the_same_memory();
    ten_thousand_starts_leave_nothing_behind();
    forks_while_sampling_lose_nothing();
    a_storm_of_signals_hinders_no_stop();
    a_process_may_end_while_it_samples();
    return 0;
}
