/* Processes of other users: what may be read of them is, and what may not is said. */
#include <sched.h>
#include <sys/mount.h>

#include "test_tree.h"

enum { NOBODY = 65534 };

static void become_nobody(void) {
    CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
    CHECK(prctl(PR_SET_DUMPABLE, 1UL) == 0); /* else its own /proc is root's */
}

static void holds_32_mib(void) {
    hold(32 * MIB);
    tell_rss(1, 1);
    await(9);
}

static void another_users_process_has_all_figures_but_pss(void) {
    pid_t pid = child(holds_32_mib);
    await(1);
    become_nobody();
    fox_tree *tree = follow(pid, false);
    fox_tree_result result = sample_for_ms(tree, 15);
    CHECK_RSS(result.rss_bytes, told->bytes[1]);
    CHECK(result.peak_single_bytes >= 32 * MIB);
    CHECK_EQ(result.peak_tree_pss_bytes, -1); /* and not 0 */
    CHECK_EQ(result.doubts & FOX_DOUBT_MARK_FELL, 0);
    CHECK(fox_tree_root_alive(tree));
    fox_tree_free(tree);
    tell(9); /* it is ours to wait for, though not to signal */
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void has_a_child_of_another_user(void) {
    (void)child(holds_32_mib);
    await(1);
    become_nobody();
    tell_rss(0, 2);
    await(9);
    CHECK(wait(NULL) > 0);
}

static bool hide_others(void) {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2") == 0;
}

static void a_process_that_is_hidden_from_us_is_a_doubt_and_not_gone(void) {
    if (!hide_others()) {
        fprintf(stderr, "not tested: mounting /proc with hidepid is not permitted here\n");
        return;
    }
    pid_t pid = child(has_a_child_of_another_user);
    await(2);
    become_nobody();
    fox_tree *tree = follow(pid, true);
    fox_tree_result result = sample(tree);
    CHECK_EQ(result.n_processes, 1);
    CHECK_RSS(result.rss_bytes, told->bytes[0]);
    CHECK((result.doubts & FOX_DOUBT_UNREADABLE) != 0);
    CHECK(!result.peak_is_mark);
    tell(9);
    reap(tree, pid);
    fox_tree_free(tree);
}

int main(void) {
    if (geteuid() != 0) {
        fprintf(stderr, "not tested: root alone can play two users\n");
        return 77; /* skipped */
    }
    prepare();
    void (*const tests[])(void) = {
        another_users_process_has_all_figures_but_pss,
        a_process_that_is_hidden_from_us_is_a_doubt_and_not_gone,
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        begin();
        alone(tests[i]);
    }
    return 0;
}
