/* More of what happens when the system calls below the instrument fail: what is asked for once, or
 * allocated, or only set.  Faked at link time, each test in a process of its own.
 */
#include <linux/futex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "faults.h"
#include "internal.h"

static _Atomic int fail_malloc, fail_realloc, fail_sysconf, fail_uname, fail_madvise, fail_mmap,
    fail_mallopt, fail_prctl, fail_futex, fail_kcmp, prctl_calls;
static const char *release; /* what uname tells */
static long only_sysconf, online_cpus;

void *__real_malloc(size_t size);
void *__real_realloc(void *at, size_t size);
long __real_sysconf(int name);
int __real_uname(struct utsname *out);
int __real_madvise(void *at, size_t n, int advice);
void *__real_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
int __real_mallopt(int what, int value);
int __real_prctl(int what, ...);
long __real_syscall(long number, ...);

void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *at, size_t size);
long __wrap_sysconf(int name);
int __wrap_uname(struct utsname *out);
int __wrap_madvise(void *at, size_t n, int advice);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
int __wrap_mallopt(int what, int value);
int __wrap_prctl(int what, ...);
long __wrap_syscall(long number, ...);

void *__wrap_malloc(size_t size) {
    FAIL_IF(fail_malloc, NULL);
    return __real_malloc(size);
}

void *__wrap_realloc(void *at, size_t size) {
    FAIL_IF(fail_realloc, NULL);
    return __real_realloc(at, size);
}

long __wrap_sysconf(int name) {
    if (name == only_sysconf) {
        FAIL_IF(fail_sysconf, -1);
        if (name == _SC_NPROCESSORS_ONLN && online_cpus != 0)
            return online_cpus;
    }
    return __real_sysconf(name);
}

int __wrap_uname(struct utsname *out) {
    FAIL_IF(fail_uname, -1);
    int result = __real_uname(out);
    if (release != NULL)
        (void)snprintf(out->release, sizeof out->release, "%s", release);
    return result;
}

int __wrap_madvise(void *at, size_t n, int advice) {
    FAIL_IF(fail_madvise, -1);
    return __real_madvise(at, n, advice);
}

void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
    FAIL_IF(fail_mmap, MAP_FAILED);
    return __real_mmap(at, n, protection, flags, fd, offset);
}

int __wrap_mallopt(int what, int value) {
    return fail_mallopt ? 0 : __real_mallopt(what, value); /* 0 is its failure, without errno */
}

int __wrap_prctl(int what, ...) {
    va_list list;
    va_start(list, what);
    unsigned long value = va_arg(list, unsigned long);
    va_end(list);
    prctl_calls++;
    FAIL_IF(fail_prctl, -1);
    return __real_prctl(what, value, 0UL, 0UL, 0UL);
}

long __wrap_syscall(long number, ...) {
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    FAIL_IF(number == SYS_futex && (int)a[1] == FUTEX_WAIT_BITSET_PRIVATE ? fail_futex : 0, -1);
    FAIL_IF(number == SYS_kcmp ? fail_kcmp : 0, -1);
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- the tests --------------------------------------------------------------------------- */

static void without_a_page_size_there_is_no_figure_and_it_heals(void) {
    int64_t out;
    fox_sampler *sampler;
    only_sysconf = _SC_PAGESIZE;
    fail_sysconf = EINVAL;
    CHECK_EQ(fox_page_bytes(&out), -EINVAL);
    CHECK_EQ(fox_rss_bytes(&out), -EINVAL);
    CHECK_EQ(fox_error_bound_here(&out), -EINVAL);
    CHECK_EQ(fox_sampler_new(1000, 64, &sampler), -EINVAL);
    fail_sysconf = 0;
    CHECK_EQ(fox_rss_bytes(&out), 0);
    CHECK(out > 0);
}

static void a_kernel_that_tells_nothing_has_no_bound(void) {
    int major, minor;
    int64_t out;
    fail_uname = EFAULT;
    CHECK_EQ(fox_kernel_version(&major, &minor), -EFAULT);
    CHECK_EQ(fox_error_bound_here(&out), -EFAULT);
    fail_uname = 0;
    release = "next";
    CHECK_EQ(fox_error_bound_here(&out), -EPROTO);
    release = "6.18.0";
    only_sysconf = _SC_NPROCESSORS_ONLN;
    fail_sysconf = EINVAL;
    CHECK_EQ(fox_error_bound_here(&out), -EPROTO);
    fail_sysconf = 0;
    online_cpus = 64;
    CHECK_EQ(fox_error_bound_here(&out), 0);
    int64_t page;
    CHECK_EQ(fox_page_bytes(&page), 0);
    CHECK_EQ(out, 3 * 127 * 64 * page);
}

static void no_memory_for_a_timeline_leaves_nothing(void) {
    fox_timeline *timeline;
    fail_malloc = ENOMEM;
    CHECK_EQ(fox_timeline_new(64, &timeline), -ENOMEM);
    fail_malloc = 0;
}

static void no_memory_for_more_intervals_keeps_those_open(void) {
    enum { FIRST = 64 };
    int64_t ids[FIRST + 1];
    fox_interval interval;
    fail_realloc = ENOMEM;
    CHECK_EQ(fox_interval_begin(0, &ids[0]), -ENOMEM);
    fail_realloc = 0;
    for (int i = 0; i < FIRST; i++)
        CHECK_EQ(fox_interval_begin(0, &ids[i]), 0);
    fail_realloc = ENOMEM;
    CHECK_EQ(fox_interval_begin(0, &ids[FIRST]), -ENOMEM);
    fail_realloc = 0;
    CHECK_EQ(fox_interval_begin(0, &ids[FIRST]), 0);
    for (int i = 0; i <= FIRST; i++)
        CHECK_EQ(fox_interval_end(ids[i], &interval), 0);
}

static void a_refused_populate_is_named(void) {
    fail_madvise = EINVAL;
    CHECK_EQ(fox_populate_read(0, 1), -EINVAL);
}

static void a_fork_is_noticed(void) {
    int64_t id, rss;
    fox_interval interval;
    void *held = hold(32 * MIB);
    CHECK_EQ(fox_interval_begin(1, &id), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        drop(held, 32 * MIB);
        CHECK_EQ(fox_rss_bytes(&rss), 0); /* of the child: the parent still holds them */
        if (EXACT)
            CHECK(rss < 32 * MIB);
        CHECK_EQ(fox_interval_end(id, &interval), -ENOENT);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ(fox_interval_end(id, &interval), 0);
    drop(held, 32 * MIB);
}

/* The page that forks wipe is a short cut: getpid() does the same where the kernel has none. */
static void without_a_wiped_page_a_fork_is_noticed_all_the_same(void) {
    fail_madvise = EINVAL;
    int64_t rss;
    CHECK_EQ(fox_rss_bytes(&rss), 0); /* sets up */
    fail_madvise = 0;
    a_fork_is_noticed();
}

static void without_any_page_a_fork_is_noticed_all_the_same(void) {
    fail_mmap = ENOMEM;
    int64_t rss;
    CHECK_EQ(fox_rss_bytes(&rss), 0);
    fail_mmap = 0;
    a_fork_is_noticed();
}

/* Kernels without CONFIG_KCMP, and containers whose filter refuses it. */
static void a_refused_comparison_of_memory_is_named(void) {
    int same = -1;
    fail_kcmp = ENOSYS;
    CHECK_EQ(fox_same_memory(getpid(), getpid(), &same), -ENOSYS);
    fail_kcmp = EPERM;
    CHECK_EQ(fox_same_memory(getpid(), getpid(), &same), -EPERM);
    CHECK_EQ(same, -1);
}

static void an_allocator_that_refuses_is_said_to(void) {
    fail_mallopt = 1;
#ifdef __GLIBC__
    CHECK_EQ(fox_quiet_allocator(), -EINVAL);
#else
    CHECK_EQ(fox_quiet_allocator(), -ENOSYS);
#endif
}

static void a_thread_whose_name_is_refused_samples(void) {
    fox_sampler *sampler;
    fox_sampler_stats stats;
    fail_prctl = EPERM;
    CHECK_EQ(fox_sampler_new(1000, 64, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    pause_ms(100);
    CHECK_EQ(fox_sampler_stop(sampler), 0);
    CHECK_EQ(fox_sampler_read(sampler, &stats), 0);
    CHECK(prctl_calls > 0 && stats.n_samples > 1 && stats.n_errors == 0);
    fox_sampler_free(sampler);
}

/* A wait that fails would let the loop spin: it ends, and the stop still works. */
static void a_wait_that_fails_ends_the_thread_and_says_so(void) {
    fox_sampler *sampler;
    fox_sampler_stats first, second;
    fail_futex = ENOSYS;
    CHECK_EQ(fox_sampler_new(1000, 64, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    pause_ms(100);
    CHECK_EQ(fox_sampler_read(sampler, &first), 0);
    CHECK_EQ(first.first_error, -ENOSYS);
    pause_ms(30);
    CHECK_EQ(fox_sampler_read(sampler, &second), 0);
    CHECK_EQ(second.n_samples, first.n_samples);
    CHECK_EQ(fox_sampler_stop(sampler), 0);
    fox_sampler_free(sampler);
}

int main(void) {
    alone(without_a_page_size_there_is_no_figure_and_it_heals);
    alone(a_kernel_that_tells_nothing_has_no_bound);
    alone(no_memory_for_a_timeline_leaves_nothing);
    alone(no_memory_for_more_intervals_keeps_those_open);
    alone(a_refused_populate_is_named);
    alone(a_fork_is_noticed);
    alone(without_a_wiped_page_a_fork_is_noticed_all_the_same);
    alone(without_any_page_a_fork_is_noticed_all_the_same);
    alone(a_refused_comparison_of_memory_is_named);
    alone(an_allocator_that_refuses_is_said_to);
    alone(a_thread_whose_name_is_refused_samples);
    alone(a_wait_that_fails_ends_the_thread_and_says_so);
    return 0;
}
