/* What the samples of a tree say, against what its processes know of themselves. */
#include <pthread.h>
#include <sched.h>

#include "test_tree.h"

static void reaches_96_mib(void) {
    drop(hold(96 * MIB), 96 * MIB);
}

static void holds_64_mib(void) {
    hold(64 * MIB);
    tell_rss(0, 1);
    await(9);
}

static void one_process_is_measured_to_the_page(void) {
    pid_t pid = child(holds_64_mib);
    fox_tree *tree = follow(pid, true);
    CHECK(fox_tree_root_alive(tree)); /* before the first sample too */
    await(1);
    fox_tree_result result = sample(tree);
    CHECK_RSS(result.rss_bytes, told->bytes[0]);
    CHECK(result.peak_single_bytes >= result.rss_bytes);
    CHECK_EQ(result.peak_tree_rss_bytes, result.peak_single_bytes);
    CHECK_EQ(result.peak_single_pid, pid);
    CHECK(strcmp(result.peak_single_comm, "test_tree") == 0);
    CHECK(result.peak_tree_pss_bytes >= 64 * MIB);
    CHECK(result.peak_tree_pss_bytes <= result.rss_bytes);
    CHECK_EQ(result.n_processes, 1);
    CHECK_EQ(result.n_alive, 1);
    CHECK(result.doubts == FOX_DOUBT_RUNNING && !result.peak_is_mark);
    tell(9);
    reap(tree, pid);
    result = sample(tree);
    CHECK_EQ(result.n_alive, 0);
    CHECK(result.doubts == 0 && result.peak_is_mark && result.peak_err_bytes > 0);
    CHECK(!fox_tree_root_alive(tree));
    fox_tree_free(tree);
}

static void holds_16_mib_as_a_grandchild(void) {
    hold(16 * MIB);
    tell_rss(1, 1);
    await(9);
}

static void has_a_child(void) {
    (void)child(holds_16_mib_as_a_grandchild);
    await(1);
    tell_rss(0, 2);
    await(9);
    CHECK(wait(NULL) > 0);
}

static void a_grandchild_is_found_and_counted(void) {
    pid_t pid = child(has_a_child);
    await(2);
    fox_tree *tree = follow(pid, true);
    fox_tree_result result = sample(tree);
    CHECK_EQ(result.n_processes, 2);
    CHECK_RSS(result.rss_bytes, told->bytes[0] + told->bytes[1]);
    CHECK_EQ(result.peak_single_pid, told->pids[1]);
    tell(9);
    reap(tree, pid);
    fox_tree_free(tree);
}

static void the_root_alone_is_sampled_where_none_is_to_be_followed(void) {
    pid_t pid = child(has_a_child);
    await(2);
    const fox_tree_options alone_only = {.own_child = true, .timeline_buckets = 64};
    fox_tree *tree;
    CHECK_EQ(fox_tree_new(pid, &alone_only, &tree), 0);
    fox_tree_result result = sample(tree);
    CHECK_EQ(result.n_processes, 1);
    CHECK_RSS(result.rss_bytes, told->bytes[0]);
    fox_tree_free(tree);

    /* One that is left out, as a sampler inside the tree leaves itself out. */
    const fox_tree_options without_it = {.follow = true,
                                         .own_child = true,
                                         .excluded = (pid_t)told->pids[1],
                                         .timeline_buckets = 64};
    CHECK_EQ(fox_tree_new(pid, &without_it, &tree), 0);
    CHECK_RSS(sample(tree).rss_bytes, told->bytes[0]);
    tell(9);
    reap(tree, pid);
    fox_tree_free(tree);
}

static void *forks(void *unused) {
    (void)unused;
    (void)child(holds_16_mib_as_a_grandchild);
    await(9); /* PDEATHSIG is sent when the forking thread ends */
    return NULL;
}

static void has_a_thread_that_forks(void) {
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, forks, NULL), 0);
    await(1);
    tell_rss(0, 2);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(wait(NULL) > 0);
}

static void a_child_of_any_thread_is_found(void) {
    pid_t pid = child(has_a_thread_that_forks);
    await(2);
    fox_tree *tree = follow(pid, true);
    CHECK_EQ(sample(tree).n_processes, 2);
    CHECK_RSS(sample(tree).rss_bytes, told->bytes[0] + told->bytes[1]);
    tell(9);
    reap(tree, pid);
    fox_tree_free(tree);
}

static void *outlives_the_first_thread(void *unused) {
    (void)unused;
    pause_ms(20); /* that one is ending */
    hold(48 * MIB);
    tell(1);
    await(2);
    reaches_96_mib();
    tell(3);
    await(9);
    _exit(0); /* a sanitizer's thread would go on */
}

static void ends_its_first_thread(void) {
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, outlives_the_first_thread, NULL), 0);
    pthread_exit(NULL);
}

static void a_process_without_its_first_thread_is_not_a_zombie(void) {
    pid_t pid = child(ends_its_first_thread);
    fox_tree *tree = follow(pid, true);
    (void)sample(tree);
    await(1);
    fox_tree_result result = sample(tree);
    CHECK(result.rss_bytes >= 48 * MIB);
    CHECK(result.peak_tree_pss_bytes >= 48 * MIB);
    CHECK(fox_tree_root_alive(tree));
    tell(2);
    await(3);
    result = sample_for_ms(tree, 60);
    CHECK(result.peak_single_bytes >= 95 * MIB); /* its mark is read too */
    tell(9);
    reap(tree, pid);
    result = sample(tree);
    CHECK(result.peak_is_mark);
    CHECK(!fox_tree_root_alive(tree));
    fox_tree_free(tree);

    begin(); /* the same for one that is found so */
    pid = child(ends_its_first_thread);
    await(1);
    tree = follow(pid, true);
    CHECK(fox_tree_root_alive(tree));
    CHECK(sample(tree).rss_bytes >= 48 * MIB);
    tell(9);
    reap(tree, pid);
    fox_tree_free(tree);
}

static void stands_still(void) {
    await(9);
}

static void shares_200_mib_with_four(void) {
    hold(200 * MIB);
    for (int i = 0; i < 4; i++)
        (void)child(stands_still);
    tell(1);
    await(9);
    while (wait(NULL) > 0)
        ;
}

static void shared_pages_count_in_each_and_in_pss_once(void) {
    pid_t pid = child(shares_200_mib_with_four);
    await(1);
    fox_tree *tree = follow(pid, true);
    fox_tree_result result = sample(tree);
    CHECK_EQ(result.n_processes, 5);
    CHECK(result.peak_tree_rss_bytes >= 5 * 200 * MIB);
    CHECK(result.peak_tree_pss_bytes >= 200 * MIB);
    if (EXACT) {
        CHECK(result.peak_tree_rss_bytes < 5 * 203 * MIB);
        CHECK(result.peak_tree_pss_bytes < 203 * MIB);
        CHECK(result.peak_single_bytes < 203 * MIB);
    }
    CHECK(result.peak_single_bytes >= 200 * MIB);
    tell(9);
    reap(tree, pid);
    fox_tree_free(tree);
}

#ifndef __SANITIZE_THREAD__ /* knows no thread that it has not made */
/* What runs here shares its parent's memory: it calls nothing that could disturb it. */
static int in_its_parents_memory(void *unused) {
    (void)unused;
    const struct timespec ms = {0, 1000000};
    tell(1);
    while (atomic_load(&told->step) < 2)
        (void)nanosleep(&ms, NULL);
    (void)execl("/bin/sleep", "sleep", "60", (char *)NULL);
    return 1;
}

static void lends_its_memory(void) {
    static char stack[65536] __attribute__((aligned(16)));
    hold(64 * MIB);
    pid_t pid = clone(in_its_parents_memory, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
    CHECK(pid > 0);
    await(3);
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
    await(9);
}

static void memory_that_two_share_counts_once_until_one_executes(void) {
    pid_t pid = child(lends_its_memory);
    await(1);
    fox_tree *tree = follow(pid, true);
    fox_tree_result shared = sample(tree);
    CHECK_EQ(shared.n_processes, 2);
    CHECK_EQ(shared.n_alive, 2);
    CHECK(shared.peak_tree_pss_bytes >= 64 * MIB);
    if (EXACT) {
        CHECK(shared.rss_bytes < 67 * MIB);
        CHECK(shared.peak_tree_pss_bytes < 67 * MIB);
    }
    tell(2);
    fox_tree_result apart = shared;
    for (int ms = 0; apart.rss_bytes < shared.rss_bytes + MIB / 2; ms++) {
        CHECK(ms < 10000);
        pause_ms(1);
        apart = sample(tree);
    }
    CHECK_EQ(apart.n_processes, 2); /* the same process, now with memory of its own */
    tell(3);
    tell(9);
    reap(tree, pid);
    fox_tree_free(tree);
}
#endif

static void grows_a_little_and_then_more(void) {
    hold(64 * MIB);
    tell(1);
    await(2);
    hold(MIB / 4);
    tell(3);
    await(4);
    hold(32 * MIB);
    tell(5);
    await(9);
}

static void pss_is_read_again_where_the_sum_has_grown(void) {
    pid_t pid = child(grows_a_little_and_then_more);
    await(1);
    fox_tree *tree = follow(pid, true);
    int64_t first = sample(tree).peak_tree_pss_bytes;
    CHECK(first >= 64 * MIB);
    tell(2);
    await(3);
    CHECK_EQ(sample_for_ms(tree, 60).peak_tree_pss_bytes, first); /* noise is not worth a reading */
    tell(4);
    await(5);
    for (int ms = 0; sample(tree).peak_tree_pss_bytes < 96 * MIB; ms++) {
        CHECK(ms < 10000); /* as soon as it is affordable */
        pause_ms(1);
    }
    tell(9);
    reap(tree, pid);
    fox_tree_free(tree);
}

static void grows_in_two_steps(void) {
    tell_rss(0, 1);
    await(2);
    hold(32 * MIB);
    tell_rss(1, 3);
    await(9);
}

static void the_average_weighs_each_value_by_how_long_it_lasted(void) {
    pid_t pid = child(grows_in_two_steps);
    await(1);
    fox_tree *tree = follow(pid, true);
    CHECK_EQ(fox_tree_sample(tree, 1000), 0);
    CHECK_RSS(read_tree(tree).avg_rss_bytes, told->bytes[0]); /* of one sample */
    tell(2);
    await(3);
    CHECK_EQ(fox_tree_sample(tree, 2000), 0);
    CHECK_EQ(fox_tree_sample(tree, 5000), 0);
    CHECK_EQ(read_tree(tree).n_samples, 3);
    CHECK_RSS(read_tree(tree).avg_rss_bytes, (told->bytes[0] + 3 * told->bytes[1]) / 4);

    fox_bucket buckets[64];
    int64_t n;
    CHECK_EQ(fox_timeline_copy(fox_tree_timeline(tree), buckets, 64, &n), 0);
    CHECK_EQ(n, 3);
    CHECK_RSS(buckets[0].max_bytes, told->bytes[0]);
    CHECK_EQ(buckets[1].first_ns, 2000);
    CHECK_RSS(buckets[2].max_bytes, told->bytes[1]);
    CHECK_EQ(fox_tree_sample(tree, 4000), -EINVAL); /* before the last one */
    tell(9);
    reap(tree, pid);
    fox_tree_free(tree);
}

int main(void) {
    prepare();
    void (*const tests[])(void) = {
        one_process_is_measured_to_the_page,
        a_grandchild_is_found_and_counted,
        the_root_alone_is_sampled_where_none_is_to_be_followed,
        a_child_of_any_thread_is_found,
        a_process_without_its_first_thread_is_not_a_zombie,
        pss_is_read_again_where_the_sum_has_grown,
        shared_pages_count_in_each_and_in_pss_once,
#ifndef __SANITIZE_THREAD__
        memory_that_two_share_counts_once_until_one_executes,
#endif
        the_average_weighs_each_value_by_how_long_it_lasted,
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        begin();
        alone(tests[i]);
    }
    return 0;
}
