/* What the tests of process trees share: real processes that go on step by step, each step told
 * through a page that all of them map. */
#ifndef FOX_TEST_TREE_H
#define FOX_TEST_TREE_H

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "faults.h"
#include "tree.h"

typedef struct {
    atomic_int step;
    _Atomic int64_t bytes[8]; /* what processes tell of themselves */
    _Atomic int64_t pids[8];
} told_page;

static told_page *told;

/* Sanitizers' own threads and tables move while a process stands still. */
#define CHECK_RSS(left, right)                                                                     \
    do {                                                                                           \
        if (EXACT)                                                                                 \
            CHECK_EQ(left, right);                                                                 \
        else                                                                                       \
            CHECK(llabs((long long)((left) - (right))) < 2 * MIB);                                 \
    } while (0)

static inline void prepare(void) {
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(told != MAP_FAILED);
}

static inline void begin(void) {
    atomic_store(&told->step, 0);
}

/* Never back: two may tell at the same time. */
static inline void tell(int step) {
    int now = atomic_load(&told->step);
    while (now < step && !atomic_compare_exchange_weak(&told->step, &now, step))
        ;
}

/* A minute is for ever: the test then fails with its line. */
static inline void await(int step) {
    for (int ms = 0; atomic_load(&told->step) < step; ms++) {
        CHECK(ms < 60000);
        pause_ms(1);
    }
}

/* The process's own reading of itself; it stands still from here until the next step. */
static inline void tell_rss(int who, int step) {
    int64_t rss, before;
    pid_t pid = getpid();
    CHECK_EQ(fox_rss_bytes(&rss), 0);
    do { /* once more: what is first called touches pages of its own */
        before = rss;
        pause_ms(1);
        atomic_store(&told->pids[who], pid);
        CHECK_EQ(fox_rss_bytes(&rss), 0);
    } while (EXACT && rss != before);
    atomic_store(&told->bytes[who], rss);
    tell(step);
}

static inline pid_t child(void (*body)(void)) {
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        body();
        _exit(0);
    }
    return pid;
}

static inline fox_tree *follow(pid_t root, bool own_child) {
    const fox_tree_options options = {
        .follow = true, .own_child = own_child, .excluded = getpid(), .timeline_buckets = 64};
    fox_tree *tree;
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1UL) == 0); /* as the launcher is */
    CHECK_EQ(fox_tree_new(root, &options, &tree), 0);
    return tree;
}

static inline fox_tree_result read_tree(const fox_tree *tree) {
    fox_tree_result result;
    CHECK_EQ(fox_tree_read(tree, &result), 0);
    return result;
}

static inline fox_tree_result sample(fox_tree *tree) {
    int64_t now;
    CHECK_EQ(fox_clock_ns(&now), 0);
    CHECK_EQ(fox_tree_sample(tree, now), 0);
    return read_tree(tree);
}

/* Samples for so long that every mark has had its turn. */
static inline fox_tree_result sample_for_ms(fox_tree *tree, int ms) {
    for (int i = 0; i < ms; i++) {
        (void)sample(tree);
        pause_ms(1);
    }
    return sample(tree);
}

/* As the launcher does it, one process that has ended or will. */
static inline void reap(fox_tree *tree, pid_t pid) {
    siginfo_t info;
    struct rusage usage;
    int status;
    CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
    fox_tree_ending(tree, pid);
    CHECK_EQ(wait4(pid, &status, 0, &usage), pid);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0); /* a CHECK of its own failed */
    CHECK_EQ(fox_tree_reaped(tree, pid, (int64_t)usage.ru_maxrss * 1024), 0);
}

#endif
