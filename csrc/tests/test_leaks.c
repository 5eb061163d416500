/* Every function of tree.h, many times: neither descriptors nor memory are left behind.  That
 * none is missing here is checked by tests/unit/csrc_proof.  For foxsampler.h the same is done from
 * Python, in tests/unit/sampler. */
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "tree.h"

static pid_t root; /* waits, and has a child that does */

static int64_t descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    int64_t n = 0;
    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n;
}

static pid_t spawn(int64_t depth) {
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

static fox_tree *make(void) {
    const fox_tree_options options = {
        .follow = true, .own_child = true, .excluded = getpid(), .timeline_buckets = 64};
    fox_tree *tree;
    CHECK_EQ(fox_tree_new(root, &options, &tree), 0);
    return tree;
}

static void sample(fox_tree *tree) {
    int64_t now;
    CHECK_EQ(fox_clock_ns(&now), 0);
    CHECK_EQ(fox_tree_sample(tree, now), 0);
}

static void a_tree_that_sees_nothing(void) {
    fox_tree_free(make());
    fox_tree_free(NULL);
}

static void a_tree_that_cannot_be_made(void) {
    const fox_tree_options no_buckets = {.timeline_buckets = 3};
    fox_tree *tree;
    CHECK(fox_tree_new(root, &no_buckets, &tree) != 0);
    CHECK(fox_tree_new(0, &no_buckets, &tree) != 0);
    CHECK(fox_tree_new(4194304, &no_buckets, &tree) != 0);
}

static void samples_of_it(void) {
    fox_tree *tree = make();
    fox_tree_result result;
    fox_bucket buckets[64];
    int64_t n;
    for (int i = 0; i < 3; i++)
        sample(tree);
    CHECK_EQ(fox_tree_read(tree, &result), 0);
    CHECK_EQ(result.n_processes, 2);
    CHECK_EQ(result.n_alive, 2);
    CHECK(result.peak_single_bytes > 0 && result.peak_tree_rss_bytes > result.peak_single_bytes);
    CHECK_EQ(fox_timeline_copy(fox_tree_timeline(tree), buckets, 64, &n), 0);
    CHECK_EQ(n, 3);
    CHECK(fox_tree_root_alive(tree));
    fox_tree_free(tree);
}

static void a_child_that_comes_and_goes(void) {
    fox_tree *tree = make();
    fox_tree_result result;
    int status;
    sample(tree);
    pid_t pid = spawn(0);
    sample(tree);
    CHECK_EQ(fox_tree_read(tree, &result), 0);
    CHECK_EQ(result.n_processes, 3);
    CHECK(kill(pid, SIGKILL) == 0);
    siginfo_t ended;
    CHECK(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) == 0);
    fox_tree_ending(tree, pid);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(fox_tree_reaped(tree, pid, 1 << 20), 0);
    sample(tree);
    CHECK_EQ(fox_tree_read(tree, &result), 0);
    CHECK_EQ(result.n_alive, 2);
    fox_tree_free(tree);
}

/* What to call for each function, and how often: a fork costs a thousand times a reading. */
static const struct {
    const char *function;
    void (*call)(void);
    int rounds;
} calls[] = {
    {"fox_tree_new", a_tree_that_cannot_be_made, 500},
    {"fox_tree_free", a_tree_that_sees_nothing, 500},
    {"fox_tree_sample", samples_of_it, 500},
    {"fox_tree_read", samples_of_it, 50},
    {"fox_tree_timeline", samples_of_it, 50},
    {"fox_tree_root_alive", samples_of_it, 50},
    {"fox_tree_ending", a_child_that_comes_and_goes, 100},
    {"fox_tree_reaped", a_child_that_comes_and_goes, 100},
};

int main(void) {
    root = spawn(1);
    pause_ms(50); /* its child is there */
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        int64_t rss_before, rss_after;
        for (int round = 0; round < calls[i].rounds / 10; round++)
            calls[i].call();
        CHECK_EQ(fox_rss_bytes(&rss_before), 0); /* first: it keeps a descriptor from now on */
        int64_t open_before = descriptors();
        for (int round = 0; round < calls[i].rounds; round++)
            calls[i].call();
        CHECK_EQ(descriptors(), open_before);
        CHECK_EQ(fox_rss_bytes(&rss_after), 0);
        /* One tree a round would be 100 KB at the least. */
        if (EXACT)
            CHECK(rss_after - rss_before < MIB);
        printf("%s: %d rounds, %" PRId64 " bytes more\n", calls[i].function, calls[i].rounds,
               rss_after - rss_before);
    }
    CHECK(kill(root, SIGKILL) == 0);
    CHECK_EQ(waitpid(root, NULL, 0), root);
    return 0;
}
