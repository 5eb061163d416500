/* How processes end, and what is known of them then: zombies, orphans, lost usage, reused pids. */
#include <dirent.h>
#include <linux/sched.h>
#include <sys/syscall.h>

#include "internal_tree.h"
#include "test_tree.h"

static int64_t descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    int64_t n = 0;
    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n;
}

static void stands_still(void) {
    await(9);
}

static void ends_as_a_zombie(void) {
    hold(32 * MIB);
}

static void has_a_zombie(void) {
    pid_t pid = child(ends_as_a_zombie);
    siginfo_t info;
    CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
    tell_rss(0, 1);
    await(2);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    tell(3);
    await(9);
}

static void a_zombie_holds_nothing_and_is_kept_until_it_is_waited_for(void) {
    pid_t pid = child(has_a_zombie);
    await(1);
    fox_tree *tree = follow(pid, true);
    fox_tree_result result = sample(tree);
    CHECK_EQ(result.n_processes, 2);
    CHECK_EQ(result.n_alive, 2);
    CHECK_RSS(result.rss_bytes, told->bytes[0]);
    CHECK_EQ(tree->n, 2);
    tell(2);
    await(3);
    CHECK_EQ(sample(tree).n_alive, 1);
    tell(9);
    reap(tree, pid);
    result = sample(tree);
    CHECK(result.peak_is_mark && result.peak_single_bytes >= 31 * MIB);
    fox_tree_free(tree);
}

static void a_daemon(void) {
    hold(48 * MIB);
    tell_rss(1, 1);
    await(9);
}

static void leaves_an_orphan(void) {
    CHECK(setsid() > 0);
    fflush(NULL);
    if (fork() == 0) { /* without PDEATHSIG: it outlives its parent */
        a_daemon();
        _exit(0);
    }
    await(1);
}

static void has_a_child_that_leaves_an_orphan(void) {
    pid_t pid = child(leaves_an_orphan);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    tell_rss(0, 2);
    await(9);
}

static void an_orphan_is_ours_and_so_is_its_peak(void) {
    pid_t pid = child(has_a_child_that_leaves_an_orphan);
    fox_tree *tree = follow(pid, true);
    (void)sample(tree);
    await(2);
    fox_tree_result result = sample(tree);
    CHECK_RSS(result.rss_bytes, told->bytes[0] + told->bytes[1]);
    tell(9);
    reap(tree, (pid_t)told->pids[1]);
    reap(tree, pid);
    result = sample(tree);
    CHECK_EQ(result.n_alive, 0);
    CHECK(result.peak_is_mark && result.peak_single_bytes >= 48 * MIB - MIB);
    CHECK_EQ(result.peak_single_pid, told->pids[1]);
    fox_tree_free(tree);
}

/* ---- usage that the kernel drops ---------------------------------------------------------- */

static void runs_one_and_waits(void) {
    pid_t pid = child(stands_still);
    atomic_store(&told->pids[1], pid);
    tell(1);
    await(2);
    CHECK(kill(pid, SIGKILL) == 0);
    (void)waitpid(pid, NULL, 0); /* ECHILD when its usage is dropped, but not before its end */
    tell(3);
    await(9);
}

static void ignores_sigchld(void) {
    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    runs_one_and_waits();
}

static void an_end_in(void (*body)(void), unsigned doubts) {
    pid_t pid = child(body);
    await(1);
    fox_tree *tree = follow(pid, true);
    fox_tree_result result = sample(tree);
    CHECK_EQ(result.n_processes, 2);
    CHECK_EQ(result.doubts, FOX_DOUBT_RUNNING);
    tell(2);
    await(3);
    for (int ms = 0; tree->n > 1; ms++) { /* waitpid may say ECHILD while it is still going */
        CHECK(ms < 10000);
        result = sample(tree);
        pause_ms(1);
    }
    CHECK_EQ(result.n_alive, 1);
    CHECK_EQ(result.doubts, FOX_DOUBT_RUNNING | doubts);
    tell(9);
    reap(tree, pid);
    CHECK_EQ(sample(tree).doubts, doubts);
    fox_tree_free(tree);
}

/* Both end between two samples: their accounts are settled while the parent is a zombie. */
static void both_ends_at_once_in(void (*body)(void), unsigned doubts) {
    begin();
    pid_t pid = child(body);
    await(1);
    fox_tree *tree = follow(pid, true);
    CHECK_EQ(sample(tree).n_processes, 2);
    tell(2);
    await(3);
    tell(9);
    reap(tree, pid);
    for (int ms = 0; sample(tree).n_alive > 0; ms++) {
        CHECK(ms < 10000);
        pause_ms(1);
    }
    CHECK_EQ(read_tree(tree).doubts, doubts);
    fox_tree_free(tree);
}

static void usage_that_is_waited_for_leaves_no_doubt(void) {
    an_end_in(runs_one_and_waits, 0);
    both_ends_at_once_in(runs_one_and_waits, 0);
}

static void usage_that_a_parent_ignores_is_a_doubt(void) {
    an_end_in(ignores_sigchld, FOX_DOUBT_UNSEEN_END);
    both_ends_at_once_in(ignores_sigchld, FOX_DOUBT_UNSEEN_END);
}

#ifndef __SANITIZE_THREAD__ /* it puts a handler of its own in place, with other flags */
static void nothing(int number) {
    (void)number;
}

static void wants_no_zombies(void) {
    struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_NOCLDWAIT};
    CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
    runs_one_and_waits();
}

static void usage_dropped_in_a_way_that_proc_does_not_show_is_a_doubt(void) {
    an_end_in(wants_no_zombies, FOX_DOUBT_UNSEEN_END);
    both_ends_at_once_in(wants_no_zombies, FOX_DOUBT_UNSEEN_END);
}
#endif

/* ---- pids --------------------------------------------------------------------------------- */

/* A child under a pid of our choice; 0 where that is not permitted (clone3 with set_tid). */
static pid_t child_under(pid_t wanted, int64_t bytes) {
    struct clone_args args = {
        .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&wanted, .set_tid_size = 1};
    fflush(NULL);
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        hold(bytes);
        tell(2);
        await(9);
        _exit(0);
    }
    return pid > 0 ? (pid_t)pid : 0;
}

static void a_pid_that_is_used_again_is_another_process(void) {
    pid_t root = child(stands_still), first = child(stands_still);
    fox_tree *tree = follow(root, true);
    CHECK_EQ(sample(tree).n_alive, 2); /* both are children of ours */
    fox_procdir held;
    CHECK_EQ(fox_procdir_open(first, &held), 0);
    CHECK(kill(first, SIGKILL) == 0);
    CHECK_EQ(waitpid(first, NULL, 0), first); /* the tree is not told */

    pid_t second = child_under(first, 24 * MIB);
    if (second != 0) {
        CHECK_EQ(second, first);
        await(2);
        int64_t pages[3];
        char text[64];
        size_t n;
        CHECK_EQ(fox_procdir_statm(&held, pages), -ESRCH);
        CHECK_EQ(fox_procdir_read(&held, "comm", text, sizeof text, &n), -ESRCH);
        (void)sample(tree);                    /* sees the end of the first, */
        fox_tree_result result = sample(tree); /* and then the second */
        CHECK_EQ(result.n_processes, 3);
        CHECK_EQ(result.n_alive, 2);
        CHECK(result.rss_bytes >= 24 * MIB);
        tell(9);
        reap(tree, second);
    } else {
        fprintf(stderr, "not tested: choosing a pid needs CAP_CHECKPOINT_RESTORE\n");
        tell(9);
    }
    fox_procdir_close(&held);
    reap(tree, root);
    CHECK_EQ(sample(tree).n_alive, 0);
    CHECK(!fox_tree_root_alive(tree));
    fox_tree_free(tree);
}

/* With no descriptors to keep, each sample opens them and knows a reused pid by its start. */
static void with_few_descriptors_the_figures_are_the_same(void) {
    pid_t root = child(stands_still), pids[40];
    for (int i = 0; i < 40; i++)
        pids[i] = child(stands_still);
    const struct rlimit few = {48, 48};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    fox_tree *tree = follow(root, true);
    (void)sample(tree); /* finds them while the first ones are still being forked */
    fox_tree_result result = sample_for_ms(tree, 15);
    CHECK_EQ(result.n_processes, 41);
    CHECK_EQ(result.n_alive, 41);
    CHECK(tree->n_kept < 10);
    CHECK_EQ(result.doubts, FOX_DOUBT_RUNNING);
    CHECK(result.rss_bytes > 20 * result.peak_single_bytes);
    CHECK(result.peak_tree_pss_bytes > 0);

    CHECK(kill(pids[39], SIGKILL) == 0);
    CHECK_EQ(waitpid(pids[39], NULL, 0), pids[39]);
    pid_t second = child_under(pids[39], MIB);
    if (second != 0)
        await(2);
    result = sample_for_ms(tree, 15); /* many threads are not looked through at every sample */
    CHECK_EQ(result.n_processes, 41 + (second != 0));
    CHECK_EQ(result.n_alive, 40 + (second != 0));
    tell(9);
    for (int i = 0; i < 39 + (second != 0); i++)
        reap(tree, pids[i]);
    reap(tree, root);
    fox_tree_free(tree);
}

static void forks_many(void) {
    enum { MANY = EXACT ? 10000 : 1000 };
    for (int i = 0; i < MANY; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            _exit(0);
        CHECK_EQ(waitpid(pid, NULL, 0), pid);
    }
    tell(1);
}

static void many_short_lives_leave_nothing_behind(void) {
    pid_t pid = child(forks_many);
    fox_tree *tree = follow(pid, true);
    int64_t before = descriptors();
    while (atomic_load(&told->step) < 1) {
        (void)sample(tree);
        pause_ms(1);
    }
    reap(tree, pid);
    fox_tree_result result = sample(tree);
    CHECK(result.n_processes >= 2 && result.n_processes <= 10001);
    CHECK_EQ(result.n_alive, 0);
    CHECK_EQ(tree->n, 0);
    CHECK_EQ(tree->n_kept, 0);
    CHECK_EQ(descriptors(), before - 2); /* those of the root */
    CHECK_EQ(result.doubts, 0);
    CHECK(result.peak_is_mark);
    fox_tree_free(tree);
}

int main(void) {
    prepare();
    void (*const tests[])(void) = {
        a_zombie_holds_nothing_and_is_kept_until_it_is_waited_for,
        an_orphan_is_ours_and_so_is_its_peak,
        usage_that_is_waited_for_leaves_no_doubt,
        usage_that_a_parent_ignores_is_a_doubt,
#ifndef __SANITIZE_THREAD__
        usage_dropped_in_a_way_that_proc_does_not_show_is_a_doubt,
#endif
        a_pid_that_is_used_again_is_another_process,
        with_few_descriptors_the_figures_are_the_same,
        many_short_lives_leave_nothing_behind,
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        begin();
        alone(tests[i]);
    }
    return 0;
}
