/* The peak of one process: which of its sources it comes from, whose it is, and when it is only a
 * lower bound. */
#include "test_tree.h"

/* What only the mark has seen; never sampled. */
static void spikes_between_two_samples(void) {
    await(1);
    drop(hold(96 * MIB), 96 * MIB);
    tell_rss(0, 2);
    await(9);
}

static void a_mark_catches_what_no_sample_saw(void) {
    pid_t pid = child(spikes_between_two_samples);
    fox_tree *tree = follow(pid, true);
    CHECK(sample(tree).peak_single_bytes > 0);
    tell(1);
    await(2);
    fox_tree_result result = sample_for_ms(tree, 60);
    CHECK_RSS(result.rss_bytes, told->bytes[0]);
    CHECK(result.rss_bytes < result.peak_single_bytes);
    CHECK(result.peak_single_bytes >= 96 * MIB - MIB); /* the kernel's bound is below that here */
    CHECK_EQ(result.peak_single_pid, pid);
    CHECK_EQ(result.doubts, FOX_DOUBT_RUNNING);
    tell(9);
    reap(tree, pid);
    (void)sample(tree);
    result = read_tree(tree);
    CHECK(result.peak_is_mark && result.peak_err_bytes > 0);
    CHECK_EQ(result.peak_single_pid, pid);
    fox_tree_free(tree);
}

static void resets_its_mark_when_it_has_dropped_what_it_held(void) {
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    void *at = hold(64 * MIB);
    tell(1);
    await(2);
    drop(at, 64 * MIB);
    CHECK(fd >= 0 && write(fd, "5", 1) == 1);
    tell(3);
    await(9);
}

static void a_mark_that_its_process_resets_makes_a_lower_bound(void) {
    pid_t pid = child(resets_its_mark_when_it_has_dropped_what_it_held);
    await(1);
    fox_tree *tree = follow(pid, true);
    fox_tree_result result = sample(tree);
    CHECK_EQ(result.doubts, FOX_DOUBT_RUNNING);
    tell(2);
    await(3);
    result = sample_for_ms(tree, 60);
    CHECK(result.doubts == (FOX_DOUBT_RUNNING | FOX_DOUBT_MARK_FELL));
    tell(9);
    reap(tree, pid);
    result = sample(tree);
    CHECK(result.peak_single_bytes >= 64 * MIB); /* the earlier one is kept */
    CHECK_EQ(result.doubts, FOX_DOUBT_MARK_FELL);
    CHECK(!result.peak_is_mark);
    CHECK_EQ(result.peak_err_bytes, -1);
    fox_tree_free(tree);
}

/* A reset that no two marks show, as the first was read before: the samples do. */
static void holds_and_resets_at_once(void) {
    await(1);
    resets_its_mark_when_it_has_dropped_what_it_held();
}

static void a_reset_shows_against_the_samples_too(void) {
    pid_t pid = child(holds_and_resets_at_once);
    fox_tree *tree = follow(pid, true);
    /* Times of our own: within the ten milliseconds there is one mark, at the first sample. */
    CHECK_EQ(fox_tree_sample(tree, 1000), 0);
    tell(1);
    for (int ms = 0; read_tree(tree).peak_single_bytes < 64 * MIB; ms++) {
        CHECK(ms < 10000);
        CHECK_EQ(fox_tree_sample(tree, 2000 + ms), 0);
        pause_ms(1);
    }
    tell(2);
    await(3);
    CHECK_EQ(fox_tree_sample(tree, 1000000000), 0);
    CHECK((read_tree(tree).doubts & FOX_DOUBT_MARK_FELL) != 0);
    tell(9);
    reap(tree, pid);
    fox_tree_free(tree);
}

static void becomes_another_program(void) {
    hold(64 * MIB);
    tell(1);
    await(2);
    (void)execl("/bin/sleep", "sleep", "60", (char *)NULL);
}

static void exec_is_no_reset_and_the_same_descriptors_go_on(void) {
    pid_t pid = child(becomes_another_program);
    await(1);
    fox_tree *tree = follow(pid, true);
    CHECK(sample(tree).rss_bytes >= 64 * MIB);
    tell(2);
    fox_tree_result result = sample(tree);
    for (int ms = 0; result.rss_bytes >= 64 * MIB; ms++) {
        CHECK(ms < 10000);
        pause_ms(1);
        result = sample(tree);
    }
    result = sample_for_ms(tree, 60);
    CHECK(result.rss_bytes > 0 && result.rss_bytes < 64 * MIB);
    CHECK_EQ(result.doubts, FOX_DOUBT_RUNNING);
    CHECK_EQ(result.n_processes, 1);
    CHECK(strcmp(result.peak_single_comm, "test_tree_marks") == 0); /* who held it, not who is */
    CHECK(kill(pid, SIGKILL) == 0);
    reap(tree, pid);
    CHECK(read_tree(tree).peak_single_bytes >= 64 * MIB);
    fox_tree_free(tree);
}

/* This program again, in the process of the one before. */
static void executes_one_that_resets(void) {
    tell(1);
    await(2);
    (void)execl("/proc/self/exe", "resets", "resets", (char *)NULL);
}

static int resets_after_exec(void) {
    void *at = hold(64 * MIB);
    pause_ms(100);
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    drop(at, 64 * MIB);
    CHECK(fd >= 0 && write(fd, "5", 1) == 1);
    for (;;)
        pause_ms(1000);
}

static void an_earlier_exec_hides_no_reset(void) {
    pid_t pid = child(executes_one_that_resets);
    await(1);
    fox_tree *tree = follow(pid, true);
    (void)sample(tree);
    tell(2);
    fox_tree_result result = sample(tree);
    for (int ms = 0; (result.doubts & FOX_DOUBT_MARK_FELL) == 0; ms++) {
        CHECK(ms < 10000);
        pause_ms(1);
        result = sample(tree);
    }
    CHECK(result.peak_single_bytes >= 64 * MIB);
    CHECK(kill(pid, SIGKILL) == 0);
    reap(tree, pid);
    fox_tree_free(tree);
}

static void reaches(int64_t bytes) {
    drop(hold(bytes), bytes);
}

static void ends_at_once_with_a_peak(void) {
    reaches(80 * MIB);
}

static void what_was_never_sampled_is_known_when_it_is_reaped(void) {
    pid_t pid = child(ends_at_once_with_a_peak);
    siginfo_t info;
    CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
    fox_tree *tree = follow(pid, true);
    CHECK_EQ(sample(tree).n_samples, 0); /* a zombie already */
    CHECK(!fox_tree_root_alive(tree));
    reap(tree, pid);
    fox_tree_result result = sample(tree);
    CHECK(result.peak_is_mark && result.peak_single_bytes >= 79 * MIB);
    CHECK_EQ(result.peak_single_pid, pid);
    CHECK(strcmp(result.peak_single_comm, "test_tree_marks") == 0);
    CHECK_EQ(result.avg_rss_bytes, -1);
    CHECK_EQ(result.peak_tree_pss_bytes, -1);
    fox_tree_free(tree);
}

static void waits_for_one_with_a_peak(void) {
    tell(1);
    await(2);
    pid_t pid = child(ends_at_once_with_a_peak);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    tell(3);
    await(9);
}

static void a_childs_peak_that_nobody_saw_is_not_put_down_to_its_parent(void) {
    pid_t pid = child(waits_for_one_with_a_peak);
    await(1);
    fox_tree *tree = follow(pid, true);
    (void)sample(tree);
    tell(2);
    await(3);
    CHECK(sample_for_ms(tree, 60).peak_single_bytes < 79 * MIB || !EXACT);
    tell(9);
    reap(tree, pid);
    fox_tree_result result = sample(tree);
    CHECK(result.peak_is_mark && result.peak_single_bytes >= 79 * MIB);
    CHECK_EQ(result.peak_single_pid, -1);
    CHECK_EQ(result.peak_single_comm[0], '\0');
    fox_tree_free(tree);
}

static void the_root_alone_is_not_given_its_childrens_peak(void) {
    pid_t pid = child(waits_for_one_with_a_peak);
    await(1);
    const fox_tree_options alone_only = {.own_child = true, .timeline_buckets = 64};
    fox_tree *tree;
    CHECK_EQ(fox_tree_new(pid, &alone_only, &tree), 0);
    (void)sample(tree);
    tell(2);
    await(3);
    tell(9);
    reap(tree, pid);
    fox_tree_result result = sample(tree);
    CHECK(result.peak_single_bytes < 79 * MIB || !EXACT);
    CHECK_EQ(result.peak_single_pid, pid);
    CHECK_EQ(result.doubts, FOX_DOUBT_UNSEEN_END); /* how far it got itself is not known */
    fox_tree_free(tree);
}

/* ---- a process that runs already ---------------------------------------------------------- */

static void has_a_past_and_a_future(void) {
    reaches(96 * MIB);
    tell(1);
    await(2);
    reaches(64 * MIB);
    tell(3);
    await(4);
    reaches(128 * MIB);
    tell(5);
    await(9);
}

static void attached_late_only_what_rises_above_the_old_mark_is_exact(void) {
    pid_t pid = child(has_a_past_and_a_future);
    await(1);
    fox_tree *tree = follow(pid, false);
    fox_tree_result result = sample_for_ms(tree, 60);
    CHECK(result.peak_single_bytes < 95 * MIB || !EXACT); /* that was before */
    CHECK_EQ(result.doubts, FOX_DOUBT_ATTACHED);
    tell(2);
    await(3); /* seen by no sample, and below the old mark: not to be known */
    result = sample_for_ms(tree, 60);
    CHECK_EQ(result.doubts, FOX_DOUBT_ATTACHED);
    tell(4);
    await(5);
    result = sample_for_ms(tree, 60);
    CHECK(result.peak_single_bytes >= 127 * MIB);
    CHECK(result.doubts == 0 && result.peak_is_mark);
    tell(9);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    result = sample(tree);
    CHECK_EQ(result.doubts, FOX_DOUBT_UNSEEN_END); /* its last moments were not ours to see */
    CHECK(!fox_tree_root_alive(tree));
    fox_tree_free(tree);
}

static void a_late_child(void) {
    reaches(64 * MIB);
    tell(3);
    await(9);
}

static void has_a_child_later(void) {
    tell(1);
    await(2);
    (void)child(a_late_child);
    await(9);
}

static void what_begins_after_attaching_is_ours_from_its_first_mark(void) {
    pid_t pid = child(has_a_child_later);
    await(1);
    fox_tree *tree = follow(pid, false);
    CHECK_EQ(sample(tree).n_processes, 1);
    tell(2);
    await(3); /* its spike is over before it is first seen */
    fox_tree_result result = sample_for_ms(tree, 60);
    CHECK_EQ(result.n_processes, 2);
    CHECK(result.peak_single_bytes >= 63 * MIB);
    CHECK(result.peak_is_mark); /* nothing is hidden below the root's old mark */
    tell(9);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    fox_tree_free(tree);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "resets") == 0)
        return resets_after_exec();
    prepare();
    void (*const tests[])(void) = {
        a_mark_catches_what_no_sample_saw,
        a_mark_that_its_process_resets_makes_a_lower_bound,
        a_reset_shows_against_the_samples_too,
        exec_is_no_reset_and_the_same_descriptors_go_on,
        an_earlier_exec_hides_no_reset,
        what_was_never_sampled_is_known_when_it_is_reaped,
        a_childs_peak_that_nobody_saw_is_not_put_down_to_its_parent,
        the_root_alone_is_not_given_its_childrens_peak,
        attached_late_only_what_rises_above_the_old_mark_is_exact,
        what_begins_after_attaching_is_ours_from_its_first_mark,
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        begin();
        alone(tests[i]);
    }
    return 0;
}
