/* What happens when the system calls below the instrument fail: faked at link time. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

/* Each wrapper fails with its errno while that is not 0. */
static _Atomic int fail_open, fail_pread, fail_write, fail_clock, fail_rusage, fail_mmap,
    fail_mprotect, fail_thread;
static _Atomic int short_write, idle_write, torn_pread, refuse_own_stack, opened, closed;
static const char *_Atomic only_path; /* fail_open concerns this path alone */

int __real_open(const char *path, int flags, ...);
ssize_t __real_pread(int fd, void *into, size_t n, off_t offset);
ssize_t __real_write(int fd, const void *from, size_t n);
int __real_close(int fd);
int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __real_getrusage(int who, struct rusage *out);
void *__real_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
int __real_mprotect(void *at, size_t n, int protection);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *argument);

int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_pread(int fd, void *into, size_t n, off_t offset);
ssize_t __wrap_write(int fd, const void *from, size_t n);
int __wrap_close(int fd);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_getrusage(int who, struct rusage *out);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
int __wrap_mprotect(void *at, size_t n, int protection);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *argument);

#define FAIL_IF(error, failure)                                                                    \
    do {                                                                                           \
        if (error) {                                                                               \
            errno = error;                                                                         \
            return failure;                                                                        \
        }                                                                                          \
    } while (0)

int __wrap_open(const char *path, int flags, ...) {
    if (only_path == NULL || strcmp(path, only_path) == 0)
        FAIL_IF(fail_open, -1);
    opened++;
    return __real_open(path, flags);
}

ssize_t __wrap_pread(int fd, void *into, size_t n, off_t offset) {
    FAIL_IF(fail_pread, -1);
    return __real_pread(fd, into, torn_pread && n > 3 ? 3 : n, offset);
}

ssize_t __wrap_write(int fd, const void *from, size_t n) {
    FAIL_IF(fail_write, -1);
    if (idle_write)
        return (ssize_t)n; /* as under gVisor: accepted, and nothing done */
    return short_write ? 0 : __real_write(fd, from, n);
}

int __wrap_close(int fd) {
    closed++;
    return __real_close(fd);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
    FAIL_IF(fail_clock, -1);
    return __real_clock_gettime(clock, out);
}

int __wrap_getrusage(int who, struct rusage *out) {
    FAIL_IF(fail_rusage, -1);
    return __real_getrusage(who, out);
}

void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
    FAIL_IF(fail_mmap, MAP_FAILED);
    return __real_mmap(at, n, protection, flags, fd, offset);
}

int __wrap_mprotect(void *at, size_t n, int protection) {
    FAIL_IF(fail_mprotect, -1);
    return __real_mprotect(at, n, protection);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *argument) {
    void *stack;
    size_t size;
    if (refuse_own_stack && pthread_attr_getstack(attr, &stack, &size) == 0 && stack != NULL &&
        size != 0)
        return EINVAL;
    return fail_thread ? fail_thread : __real_pthread_create(thread, attr, run, argument);
}

static void a_proc_that_cannot_be_opened_is_named_by_its_errno(void) {
    int64_t out, id;
    fox_status status;
    fail_open = EMFILE; /* before anything was opened */
    CHECK_EQ(fox_rss_bytes(&out), -EMFILE);
    CHECK_EQ(fox_status_read(&status), -EMFILE);
    CHECK_EQ(fox_hwm_reset(), -EMFILE);
    CHECK_EQ(fox_lifetime_peak(&out), -EMFILE);
    CHECK_EQ(fox_error_bound_here(&out), -EMFILE);
    CHECK_EQ(fox_interval_begin(1, &id), -EMFILE);
    fail_open = 0;
    CHECK_EQ(fox_rss_bytes(&out), 0);
}

static void a_read_that_fails_is_an_error_and_heals(void) {
    int64_t out;
    fox_status status;
    CHECK_EQ(fox_status_read(&status), 0);
    fail_pread = EIO;
    CHECK_EQ(fox_rss_bytes(&out), -EIO);
    CHECK_EQ(fox_status_read(&status), -EIO);
    fail_pread = EINTR;
    CHECK_EQ(fox_rss_bytes(&out), -EINTR);
    fail_pread = 0;
    torn_pread = 1; /* statm in one piece or not at all; status may come in pieces */
    CHECK_EQ(fox_rss_bytes(&out), -EPROTO);
    CHECK_EQ(fox_status_read(&status), 0);
    CHECK(status.hwm_bytes > 0 && status.threads > 0);
    torn_pread = 0;
    CHECK_EQ(fox_rss_bytes(&out), 0);
}

static void a_refused_reset_degrades_and_says_why(void) {
    int64_t id, inner;
    fox_interval interval;
    CHECK_EQ(fox_interval_begin(1, &id), 0);
    drop(hold(16 * MIB), 16 * MIB);

    only_path = "/proc/self/clear_refs";
    fail_open = EACCES;
    CHECK_EQ(fox_hwm_reset(), -EACCES);
    CHECK_EQ(fox_interval_begin(1, &inner), 0);
    CHECK_EQ(fox_interval_end(inner, &interval), 0);
    CHECK_EQ(interval.hwm_bytes, -1);
    CHECK_EQ(interval.hwm_error, -EACCES);
    fail_open = 0;
    only_path = NULL;

    int before = opened - closed;
    fail_write = EROFS;
    CHECK_EQ(fox_hwm_reset(), -EROFS);
    fail_write = 0;
    short_write = 1;
    CHECK_EQ(fox_hwm_reset(), -EIO);
    short_write = 0;
    CHECK_EQ(opened - closed, before); /* no descriptor is left behind */

    CHECK_EQ(fox_interval_end(id, &interval), 0); /* the outer one lost nothing */
    CHECK_EQ(interval.hwm_error, 0);
    CHECK(interval.hwm_bytes - interval.rss_begin_bytes >= 15 * MIB);
}

static void an_interval_that_cannot_be_read_is_closed_all_the_same(void) {
    int64_t id;
    fox_interval interval;
    CHECK_EQ(fox_interval_begin(1, &id), 0);
    fail_rusage = EFAULT;
    CHECK_EQ(fox_interval_read(id, &interval), -EFAULT);
    CHECK_EQ(fox_interval_end(id, &interval), -EFAULT);
    int64_t other;
    fox_usage usage;
    CHECK_EQ(fox_usage_read(&usage), -EFAULT);
    CHECK_EQ(fox_interval_begin(1, &other), -EFAULT);
    fail_rusage = 0;
    CHECK_EQ(fox_interval_end(id, &interval), -ENOENT);
    fail_clock = EINVAL;
    CHECK_EQ(fox_clock_ns(&id), -EINVAL);
    CHECK_EQ(fox_interval_begin(1, &other), -EINVAL);
    fail_clock = 0;
}

static void a_sampler_that_cannot_be_made_leaves_nothing(void) {
    fox_sampler *sampler;
    fox_sampler_stats stats;
    fail_mmap = ENOMEM;
    CHECK_EQ(fox_sampler_new(1000, 64, &sampler), -ENOMEM);
    fail_mmap = 0;
    fail_mprotect = ENOMEM;
    CHECK_EQ(fox_sampler_new(1000, 64, &sampler), -ENOMEM);
    fail_mprotect = 0;
    CHECK_EQ(fox_sampler_new(1000, 64, &sampler), 0);
    fail_thread = EAGAIN;
    CHECK_EQ(fox_sampler_start(sampler), -EAGAIN);
    fail_thread = 0;
    CHECK_EQ(fox_sampler_read(sampler, &stats), 0);
    CHECK(!stats.running);
    CHECK_EQ(fox_sampler_start(sampler), 0); /* and may be tried again */
    CHECK_EQ(fox_sampler_stop(sampler), 0);
    refuse_own_stack = 1; /* libc does when its thread-local data would not fit */
    CHECK_EQ(fox_sampler_start(sampler), 0);
    CHECK_EQ(fox_sampler_stop(sampler), 0);
    refuse_own_stack = 0;
    fox_sampler_free(sampler);
}

static void a_reset_without_effect_is_no_exact_peak(void) {
    int64_t id, bound, high;
    fox_interval interval;
    CHECK_EQ(fox_error_bound_here(&bound), 0);
    high = 64 * MIB + 4 * bound;
    drop(hold(high), high);
    idle_write = 1;
    CHECK_EQ(fox_interval_begin(1, &id), 0);
    CHECK_EQ(fox_interval_end(id, &interval), 0);
    CHECK_EQ(interval.hwm_error, -ENOSYS);
    CHECK_EQ(interval.hwm_bytes, -1);
    idle_write = 0;
    CHECK_EQ(fox_interval_begin(1, &id), 0); /* and it heals */
    CHECK_EQ(fox_interval_end(id, &interval), 0);
    CHECK_EQ(interval.hwm_error, 0);
    CHECK(interval.hwm_bytes < interval.rss_begin_bytes + high / 2);
}

static void failed_ticks_are_counted_and_sampling_goes_on(void) {
    fox_sampler *sampler;
    fox_sampler_stats failed, healed;
    CHECK_EQ(fox_sampler_new(1000, 64, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    fail_pread = EIO;
    pause_ms(50);
    fail_pread = 0;
    CHECK_EQ(fox_sampler_read(sampler, &failed), 0);
    CHECK(failed.n_errors > 0);
    CHECK_EQ(failed.first_error, -EIO);
    pause_ms(50);
    CHECK_EQ(fox_sampler_read(sampler, &healed), 0);
    CHECK(healed.n_samples > failed.n_samples);
    fox_sampler_free(sampler);
}

/* Without a clock the loop could only spin: it ends, and the stop still works. */
static void a_failing_clock_ends_the_thread(void) {
    fox_sampler *sampler;
    fox_sampler_stats first, second;
    CHECK_EQ(fox_sampler_new(1000, 64, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    fail_clock = EINVAL;
    pause_ms(50);
    fail_clock = 0;
    CHECK_EQ(fox_sampler_read(sampler, &first), 0);
    CHECK_EQ(first.first_error, -EINVAL);
    pause_ms(30);
    CHECK_EQ(fox_sampler_read(sampler, &second), 0);
    CHECK_EQ(second.n_samples, first.n_samples);
    CHECK_EQ(fox_sampler_stop(sampler), 0);
    fail_clock = EINVAL;
    CHECK_EQ(fox_sampler_start(sampler), -EINVAL);
    fail_clock = 0;
    fox_sampler_free(sampler);
}

int main(void) {
    a_proc_that_cannot_be_opened_is_named_by_its_errno();
    a_read_that_fails_is_an_error_and_heals();
    a_refused_reset_degrades_and_says_why();
    an_interval_that_cannot_be_read_is_closed_all_the_same();
    a_sampler_that_cannot_be_made_leaves_nothing();
    a_reset_without_effect_is_no_exact_peak();
    failed_ticks_are_counted_and_sampling_goes_on();
    a_failing_clock_ends_the_thread();
    return 0;
}
