/* The sampling thread on the real /proc. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"

static fox_bucket buckets[4096];

static void it_samples_and_counts(void) {
    fox_sampler *sampler;
    fox_sampler_stats stats;
    fox_interval interval;
    int64_t id, n, counted = 0, most = 0;

    CHECK_EQ(fox_sampler_new(1000, 64, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), -EALREADY);
    CHECK_EQ(fox_interval_begin(1, &id), 0);
    void *at = hold(32 * MIB);
    pause_ms(300);
    drop(at, 32 * MIB);
    CHECK_EQ(fox_sampler_read(sampler, &stats), 0);
    CHECK(stats.running && stats.cpu_ns == -1);
    CHECK_EQ(fox_interval_end(id, &interval), 0);
    CHECK_EQ(fox_sampler_stop(sampler), 0);
    CHECK_EQ(fox_sampler_stop(sampler), 0);

    CHECK_EQ(fox_sampler_read(sampler, &stats), 0);
    CHECK(!stats.running && stats.n_errors == 0 && stats.first_error == 0);
    CHECK(stats.n_samples >= 100 && stats.n_samples + stats.n_missed >= 250);
    CHECK(stats.cpu_ns > 0 && stats.self_bytes > 256 * 1024);
    CHECK(interval.n_samples >= 100 && interval.n_samples <= stats.n_samples);
    CHECK(interval.sampled_bytes >= interval.rss_begin_bytes + 32 * MIB);
    CHECK(stats.max_bytes >= interval.sampled_bytes);

    CHECK(fox_sampler_length(sampler) <= 64);
    CHECK_EQ(fox_sampler_copy(sampler, buckets, 1, &n), -ENOSPC);
    CHECK_EQ(fox_sampler_copy(sampler, buckets, 64, &n), 0);
    for (int64_t b = 0; b < n; b++) {
        counted += buckets[b].count;
        most = buckets[b].max_bytes > most ? buckets[b].max_bytes : most;
    }
    CHECK_EQ(counted, stats.n_samples);
    CHECK_EQ(most, stats.max_bytes);
    fox_sampler_free(sampler);
    fox_sampler_free(NULL);
}

static void odd_rates_and_capacities_are_refused(void) {
    fox_sampler *sampler;
    const double rates[] = {0, -1, 99.9, 10001, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        CHECK_EQ(fox_sampler_new(rates[i], 64, &sampler), -EINVAL);
    CHECK_EQ(fox_sampler_new(1000, 100, &sampler), -EINVAL);
}

/* A thread that waited out its tick would take 10 ms for each of these. */
static void a_stop_is_prompt_and_a_restart_goes_on(void) {
    fox_sampler *sampler;
    fox_sampler_stats stats;
    CHECK_EQ(fox_sampler_new(100, 64, &sampler), 0);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(fox_sampler_start(sampler), 0);
        CHECK_EQ(fox_sampler_stop(sampler), 0);
    }
    CHECK_EQ(fox_sampler_read(sampler, &stats), 0);
    CHECK(stats.n_samples >= 50);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    fox_sampler_free(sampler); /* stops it */
}

static volatile sig_atomic_t signals;
static pthread_t main_thread;
static volatile sig_atomic_t elsewhere;

static void handler(int number) {
    (void)number;
    signals++;
    if (!pthread_equal(pthread_self(), main_thread))
        elsewhere++;
}

static void no_signal_is_handled_on_the_thread(void) {
    fox_sampler *sampler;
    struct sigaction action = {.sa_handler = handler};
    sigset_t block, before;

    main_thread = pthread_self();
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK_EQ(fox_sampler_new(1000, 64, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &block, &before), 0);
    CHECK_EQ(kill(getpid(), SIGUSR1), 0); /* to any thread that does not block it */
    pause_ms(20);
    CHECK_EQ(signals, 0);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    CHECK_EQ(signals, 1);
    CHECK_EQ(elsewhere, 0);
    fox_sampler_free(sampler);
}

static void starting_it_moves_no_figure(void) {
    fox_sampler *sampler;
    int64_t touched, running;
    CHECK_EQ(fox_sampler_new(1000, 4096, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    CHECK_EQ(fox_sampler_stop(sampler), 0); /* libc's own first-thread work is behind us */
    CHECK_EQ(fox_rss_bytes(&touched), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    pause_ms(50);
    CHECK_EQ(fox_rss_bytes(&running), 0);
    if (EXACT)
        CHECK(running - touched <= 64 * 1024);
    fox_sampler_free(sampler);
}

static void *read_all_the_time(void *argument) {
    fox_sampler *sampler = argument;
    fox_sampler_stats stats;
    for (int i = 0; i < 300; i++) {
        int64_t n, rss;
        CHECK_EQ(fox_sampler_read(sampler, &stats), 0);
        CHECK_EQ(fox_sampler_copy(sampler, buckets, 4096, &n), 0);
        CHECK_EQ(fox_rss_bytes(&rss), 0);
        pause_ms(1);
    }
    return NULL;
}

static void it_is_read_while_it_runs(void) {
    fox_sampler *samplers[2];
    pthread_t reader;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(fox_sampler_new(5000, 4096, &samplers[i]), 0);
        CHECK_EQ(fox_sampler_start(samplers[i]), 0);
    }
    CHECK_EQ(pthread_create(&reader, NULL, read_all_the_time, samplers[0]), 0);
    CHECK_EQ(pthread_join(reader, NULL), 0);
    for (int i = 0; i < 2; i++)
        fox_sampler_free(samplers[i]);
}

int main(void) {
    it_samples_and_counts();
    odd_rates_and_capacities_are_refused();
    a_stop_is_prompt_and_a_restart_goes_on();
    no_signal_is_handled_on_the_thread();
    starting_it_moves_no_figure();
    it_is_read_while_it_runs();

    /* The process may end with a sampler running: this one is never stopped. */
    fox_sampler *left;
    CHECK_EQ(fox_sampler_new(1000, 64, &left), 0);
    CHECK_EQ(fox_sampler_start(left), 0);
    return 0;
}
