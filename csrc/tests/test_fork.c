/* A forked child has no sampling thread, and no /proc descriptor or interval of its parent's. */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static fox_sampler *sampler;
static int64_t outer;

static void in_the_child(int64_t parent_rss) {
    int64_t rss, id;
    fox_interval interval;
    fox_sampler_stats stats;

    void *at = hold(64 * MIB);
    CHECK_EQ(fox_rss_bytes(&rss), 0);
    CHECK(rss >= 64 * MIB && rss != parent_rss); /* its own, not its parent's */
    drop(at, 64 * MIB);

    CHECK_EQ(fox_interval_end(outer, &interval), -ENOENT);
    CHECK_EQ(fox_sampler_read(sampler, &stats), 0);
    CHECK(!stats.running);
    CHECK_EQ(fox_sampler_stop(sampler), -ESRCH);
    CHECK_EQ(fox_sampler_stop(sampler), 0);
    fox_sampler_free(sampler);

#ifndef __SANITIZE_THREAD__ /* it still counts the parent's thread, and aborts at the same id */
    CHECK_EQ(fox_sampler_new(1000, 64, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    CHECK_EQ(fox_interval_begin(1, &id), 0);
    drop(hold(16 * MIB), 16 * MIB);
    pause_ms(20);
    CHECK_EQ(fox_interval_end(id, &interval), 0);
    CHECK(interval.hwm_bytes - interval.rss_begin_bytes >= 15 * MIB);
    CHECK(interval.n_samples > 0);
    fox_sampler_free(sampler);
#else
    (void)id;
#endif
}

static void check_child(pid_t child) {
    int status;
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    fox_interval interval;
    fox_sampler_stats before, after;
    int64_t rss;

    CHECK_EQ(fox_sampler_new(2000, 64, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    CHECK_EQ(fox_interval_begin(1, &outer), 0);
    drop(hold(24 * MIB), 24 * MIB);
    CHECK_EQ(fox_rss_bytes(&rss), 0);

    /* Many: each fork may catch the thread in the middle of a tick. */
    for (int i = 0; i < 30; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            in_the_child(rss);
            _exit(0);
        }
        check_child(child);
    }

    CHECK_EQ(fox_sampler_read(sampler, &before), 0);
    pause_ms(50);
    CHECK_EQ(fox_sampler_read(sampler, &after), 0);
    CHECK(after.running && after.n_samples > before.n_samples);
    CHECK_EQ(fox_interval_end(outer, &interval), 0);
    CHECK(interval.hwm_bytes - interval.rss_begin_bytes >= 23 * MIB);
    CHECK_EQ(fox_sampler_stop(sampler), 0);

#ifndef FOX_SANITIZED
    /* A clone behind libc's back runs no fork handlers; the process id tells. */
    pid_t child = (pid_t)syscall(SYS_clone, 17L /* SIGCHLD */, 0L, 0L, 0L, 0L);
    if (child == 0) {
        int64_t own;
        void *at = hold(64 * MIB);
        int error = fox_rss_bytes(&own);
        drop(at, 64 * MIB);
        _exit(error == 0 && own >= rss + 32 * MIB ? 0 : 1);
    }
    check_child(child);
#endif
    fox_sampler_free(sampler);
    return 0;
}
