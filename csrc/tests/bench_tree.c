/* What one sample of a tree costs, by hand: bench_tree [ROUNDS].  Nanoseconds, medians.
 *
 * "still" is a sample with no new process and no mark due, "looks" one that walks all children
 * files, "mark" the reading of one process's mark, "pss" that of smaps_rollup of all. */
#include "internal_tree.h"
#include "test_tree.h"

enum { MOST_ROUNDS = 100000 };

static int64_t taken[MOST_ROUNDS];

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t now_ns(void) {
    int64_t now;
    CHECK_EQ(fox_clock_ns(&now), 0);
    return now;
}

static void nothing_new(fox_tree *tree, int64_t now) {
    tree->discover_after_ns = 0;
    CHECK_EQ(fox_tree_sample(tree, now), 0);
}

static void looks(fox_tree *tree, int64_t now) {
    (void)now;
    tree->discover_after_ns = 0;
    tree->last_pid = -1;
    fox_tree_discover(tree);
}

static void one_mark(fox_tree *tree, int64_t now) {
    fox_tree_mark(tree, &tree->processes[0], now);
}

static void pss(fox_tree *tree, int64_t now) {
    tree->pss_at_bytes = tree->pss_spent_ns = 0;
    fox_tree_pss(tree, now, false);
}

/* The tree's time stands still, so that only what is meant is done. */
static int64_t median(fox_tree *tree, void (*call)(fox_tree *, int64_t), int rounds) {
    for (int i = 0; i < rounds; i++) {
        int64_t begin = now_ns();
        call(tree, tree->last_ns);
        taken[i] = now_ns() - begin;
    }
    qsort(taken, (size_t)rounds, sizeof taken[0], by_size);
    return taken[rounds / 2];
}

static void stands_still(void) {
    await(9);
}

static void has_children(void) {
    for (int i = 1; i < told->bytes[0]; i++)
        (void)child(stands_still);
    tell(1);
    await(9);
}

static void measure(int n, int rounds) {
    begin();
    atomic_store(&told->bytes[0], n);
    pid_t pid = child(has_children);
    await(1);
    fox_tree *tree = follow(pid, true);
    fox_tree_result result = sample_for_ms(tree, 30);
    CHECK_EQ(result.n_processes, n);
    printf("%9d %9" PRId64 " %9" PRId64 " %9" PRId64 " %9" PRId64 "\n", n,
           median(tree, nothing_new, rounds), median(tree, looks, rounds / 10),
           median(tree, one_mark, rounds / 10), median(tree, pss, rounds / 100));
    fox_tree_free(tree);
    CHECK(kill(pid, SIGKILL) == 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    while (wait(NULL) > 0)
        ;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 5000;
    CHECK(rounds >= 100 && rounds <= MOST_ROUNDS);
    prepare();
    printf("processes     still     looks      mark       pss\n");
    const int sizes[] = {1, 5, 50};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        measure(sizes[i], rounds);
    return 0;
}
