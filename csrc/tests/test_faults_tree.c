/* What the tree follower does when the system calls below it fail: faked at link time.
 *
 * Each test runs in a child of its own, so that what was read once and kept (the page size) is read
 * anew.  A figure that became a lower bound must say so in the doubts.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "faults.h"
#include "tree.h"

/* Each wrapper fails with its errno while that is not 0. */
static int fail_calloc, fail_malloc, fail_mmap, fail_open, fail_openat, fail_read, fail_pread,
    fail_uname, fail_sysconf, fail_getdents, fail_kcmp, fail_faccessat, interruptions;
static const char *only_name; /* fail_open, fail_openat: only names that end so */
static int only_sysconf;
static pid_t root; /* waits, and has a child that does */

void *__real_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void *__real_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
int __real_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);
ssize_t __real_read(int fd, void *into, size_t n);
ssize_t __real_pread(int fd, void *into, size_t n, off_t offset);
int __real_uname(struct utsname *out);
long __real_sysconf(int name);
long __real_syscall(long number, ...);
int __real_faccessat(int folder, const char *path, int mode, int flags);

void *__wrap_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
ssize_t __wrap_read(int fd, void *into, size_t n);
ssize_t __wrap_pread(int fd, void *into, size_t n, off_t offset);
int __wrap_uname(struct utsname *out);
long __wrap_sysconf(int name);
long __wrap_syscall(long number, ...);
int __wrap_faccessat(int folder, const char *path, int mode, int flags);

static bool named(const char *path) {
    if (only_name == NULL)
        return true;
    size_t n = strlen(path), n_name = strlen(only_name);
    return n >= n_name && strcmp(path + n - n_name, only_name) == 0;
}

void *__wrap_calloc(size_t n, size_t size) {
    FAIL_IF(fail_calloc, NULL);
    return __real_calloc(n, size);
}

void *__wrap_malloc(size_t size) {
    FAIL_IF(fail_malloc, NULL);
    return __real_malloc(size);
}

void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
    FAIL_IF(fail_mmap, MAP_FAILED);
    return __real_mmap(at, n, protection, flags, fd, offset);
}

int __wrap_open(const char *path, int flags, ...) {
    FAIL_IF(named(path) ? fail_open : 0, -1);
    return __real_open(path, flags);
}

int __wrap_openat(int folder, const char *path, int flags, ...) {
    FAIL_IF(named(path) ? fail_openat : 0, -1);
    return __real_openat(folder, path, flags);
}

ssize_t __wrap_read(int fd, void *into, size_t n) {
    if (interruptions > 0) {
        interruptions--;
        FAIL_IF(EINTR, -1);
    }
    FAIL_IF(fail_read, -1);
    return __real_read(fd, into, n);
}

ssize_t __wrap_pread(int fd, void *into, size_t n, off_t offset) {
    FAIL_IF(fail_pread, -1);
    return __real_pread(fd, into, n, offset);
}

int __wrap_uname(struct utsname *out) {
    FAIL_IF(fail_uname, -1);
    return __real_uname(out);
}

long __wrap_sysconf(int name) {
    FAIL_IF(name == only_sysconf ? fail_sysconf : 0, -1);
    return __real_sysconf(name);
}

long __wrap_syscall(long number, ...) {
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    FAIL_IF(number == SYS_getdents64 ? fail_getdents : 0, -1);
    FAIL_IF(number == SYS_kcmp ? fail_kcmp : 0, -1);
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int __wrap_faccessat(int folder, const char *path, int mode, int flags) {
    FAIL_IF(fail_faccessat, -1);
    return __real_faccessat(folder, path, mode, flags);
}

/* ---- what all of them need --------------------------------------------------------------- */

static pid_t spawn(int depth) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (depth > 0)
        (void)spawn(depth - 1);
    for (;;)
        pause();
}

/* A number that nothing has while no descriptor has leaked since the last call. */
static int lowest_free_descriptor(void) {
    int fd = __real_open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && close(fd) == 0);
    return fd;
}

static int make(fox_tree **tree) {
    const fox_tree_options options = {.follow = true, .timeline_buckets = 64};
    return fox_tree_new(root, &options, tree);
}

static fox_tree_result sampled(fox_tree *tree) {
    fox_tree_result result;
    int64_t now;
    CHECK_EQ(fox_clock_ns(&now), 0);
    CHECK_EQ(fox_tree_sample(tree, now), 0);
    CHECK_EQ(fox_tree_read(tree, &result), 0);
    return result;
}

static void is_refused_with(int *fault, int number, int expected) {
    fox_tree *tree;
    int before = lowest_free_descriptor();
    *fault = number;
    CHECK_EQ(make(&tree), expected);
    *fault = 0;
    CHECK_EQ(lowest_free_descriptor(), before); /* and leaves nothing open */
    CHECK_EQ(make(&tree), 0);
    fox_tree_free(tree);
}

/* ---- the tests --------------------------------------------------------------------------- */

static void a_page_size_that_is_not_known_refuses_a_tree(void) {
    only_sysconf = _SC_PAGESIZE; /* first of all: it is asked for once */
    is_refused_with(&fail_sysconf, EINVAL, -EINVAL);
}

static void a_tree_that_cannot_be_made_leaves_nothing(void) {
    only_sysconf = _SC_NPROCESSORS_ONLN;
    is_refused_with(&fail_sysconf, EINVAL, -EPROTO);
    is_refused_with(&fail_calloc, ENOMEM, -ENOMEM);
    is_refused_with(&fail_malloc, ENOMEM, -ENOMEM);
    is_refused_with(&fail_mmap, ENOMEM, -ENOMEM);
    is_refused_with(&fail_uname, EFAULT, -EFAULT);
    is_refused_with(&fail_open, EMFILE, -EMFILE);
    is_refused_with(&fail_openat, EACCES, -EACCES);
    is_refused_with(&fail_openat, ENOENT, -ESRCH);
    is_refused_with(&fail_read, EIO, -EIO);
}

static void an_interrupted_read_is_done_again(void) {
    fox_tree *tree;
    interruptions = 3;
    CHECK_EQ(make(&tree), 0);
    CHECK_EQ(interruptions, 0);
    interruptions = 3;
    CHECK_EQ(sampled(tree).n_processes, 2);
    fox_tree_free(tree);
}

static void without_loadavg_new_processes_are_looked_for_each_time(void) {
    fox_tree *tree;
    only_name = "loadavg";
    fail_open = EACCES;
    CHECK_EQ(make(&tree), 0);
    CHECK_EQ(sampled(tree).n_alive, 2);
    fox_tree_free(tree);
}

static void a_reading_that_fails_is_a_doubt_and_no_zero(void) {
    fox_tree *tree;
    CHECK_EQ(make(&tree), 0);
    fox_tree_result before = sampled(tree);
    CHECK_EQ(before.doubts & FOX_DOUBT_UNREADABLE, 0);
    fail_pread = EIO; /* of loadavg too: then it is looked for new ones */
    fox_tree_result failed = sampled(tree);
    fail_pread = 0;
    CHECK((failed.doubts & FOX_DOUBT_UNREADABLE) != 0);
    CHECK(!failed.peak_is_mark && failed.peak_err_bytes == -1);
    CHECK_EQ(failed.peak_tree_rss_bytes, before.peak_tree_rss_bytes);
    CHECK_EQ(sampled(tree).rss_bytes, before.rss_bytes);
    fox_tree_free(tree);
}

static void one_that_is_gone_ends_and_is_a_doubt(void) {
    fox_tree *tree;
    CHECK_EQ(make(&tree), 0);
    CHECK_EQ(sampled(tree).n_alive, 2);
    fail_pread = ESRCH;
    fox_tree_result result = sampled(tree);
    CHECK_EQ(result.n_alive, 0);
    CHECK((result.doubts & FOX_DOUBT_UNSEEN_END) != 0);
    CHECK(!fox_tree_root_alive(tree));
    fox_tree_free(tree);
}

static void a_child_that_cannot_be_opened(int error, unsigned doubt) {
    fox_tree *tree;
    CHECK_EQ(make(&tree), 0);
    fail_open = error;
    fox_tree_result result = sampled(tree);
    fail_open = 0;
    CHECK_EQ(result.n_processes, 1);
    CHECK((result.doubts & doubt) != 0);
    fox_tree_free(tree);
}

static void children_that_cannot_be_opened_are_a_doubt(void) {
    a_child_that_cannot_be_opened(EMFILE, FOX_DOUBT_CROWDED);
    a_child_that_cannot_be_opened(ENFILE, FOX_DOUBT_CROWDED);
    a_child_that_cannot_be_opened(EACCES, FOX_DOUBT_UNREADABLE);
    a_child_that_cannot_be_opened(EPERM, FOX_DOUBT_UNREADABLE);
}

/* A kernel without CONFIG_PROC_CHILDREN: all of /proc is looked through instead.  ThreadSanitizer
 * gives every process a second thread: that changes nothing. */
static void without_children_files_the_same_tree_is_found(void) {
    fox_tree *tree;
    CHECK_EQ(make(&tree), 0);
    only_name = "/children";
    fail_openat = ENOENT;
    CHECK_EQ(sampled(tree).n_alive, 2);
    fox_tree_free(tree);
    fail_faccessat = EACCES; /* whether it was the kernel or the process that is gone: unknown */
    CHECK_EQ(make(&tree), 0);
    CHECK_EQ(sampled(tree).n_alive, 1);
    fox_tree_free(tree);
}

static void without_pss_the_figure_is_missing(void) {
    fox_tree *tree;
    CHECK_EQ(make(&tree), 0);
    only_name = "smaps_rollup";
    fail_openat = EACCES;
    fox_tree_result result = sampled(tree);
    CHECK(result.peak_tree_rss_bytes > 0);
    CHECK_EQ(result.peak_tree_pss_bytes, -1);
    CHECK(result.peak_single_bytes > 0);
    fox_tree_free(tree);
}

static void without_kcmp_each_process_counts_for_itself(void) {
    fox_tree *tree;
    fail_kcmp = ENOSYS;
    CHECK_EQ(make(&tree), 0);
    fox_tree_result result = sampled(tree);
    CHECK_EQ(result.n_alive, 2);
    CHECK(result.rss_bytes > result.peak_single_bytes);
    fox_tree_free(tree);
}

/* Whoever is not found because of it makes the figures lower bounds, which must be said. */
static void what_hides_children_is_a_doubt(void) {
    static const struct {
        int *fault;
        const char *name;
    } faults[] = {{&fail_getdents, NULL},
                  {&fail_read, NULL},
                  {&fail_openat, "/children"},
                  {&fail_openat, "statm"},
                  {&fail_openat, "task"}};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        fox_tree *tree;
        only_name = NULL;
        CHECK_EQ(make(&tree), 0);
        int before = lowest_free_descriptor();
        only_name = faults[i].name;
        *faults[i].fault = ENOMEM;
        fox_tree_result result = sampled(tree);
        *faults[i].fault = 0;
        CHECK(result.rss_bytes > 0);
        CHECK_EQ(result.n_processes, 1);
        CHECK((result.doubts & FOX_DOUBT_UNREADABLE) != 0);
        CHECK_EQ(lowest_free_descriptor(), before);
        fox_tree_free(tree);
    }
}

int main(void) {
    root = spawn(1);
    pause_ms(50); /* its child is there */
    alone(a_page_size_that_is_not_known_refuses_a_tree);
    alone(a_tree_that_cannot_be_made_leaves_nothing);
    alone(an_interrupted_read_is_done_again);
    alone(without_loadavg_new_processes_are_looked_for_each_time);
    alone(a_reading_that_fails_is_a_doubt_and_no_zero);
    alone(one_that_is_gone_ends_and_is_a_doubt);
    alone(children_that_cannot_be_opened_are_a_doubt);
    alone(without_children_files_the_same_tree_is_found);
    alone(without_pss_the_figure_is_missing);
    alone(without_kcmp_each_process_counts_for_itself);
    alone(what_hides_children_is_a_doubt);
    CHECK(kill(root, SIGKILL) == 0);
    CHECK_EQ(waitpid(root, NULL, 0), root);
    return 0;
}
