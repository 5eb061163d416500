/* Kernels with pages of 16 and 64 KB, as arm64 and ppc64 have them: sysconf says so at link time,
 * and every figure that the kernel counts in pages must be that much larger. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

#include "faults.h"
#include "internal.h"
#include "tree.h"

static long page;   /* what sysconf says; one number to a process */
static pid_t still; /* a child that waits: its resident set stands still */

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name) {
    return name == _SC_PAGESIZE ? page : __real_sysconf(name);
}

/* By other means than ours: statm's second number. */
static int64_t resident_pages(pid_t pid) {
    char path[64], text[128] = "";
    long long size, resident;
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    CHECK(sscanf(text, "%lld %lld", &size, &resident) == 2);
    return resident;
}

static void statm_is_counted_in_pages_and_status_in_kilobytes(void) {
    fox_statm statm;
    fox_status status;
    int64_t told;
    CHECK_EQ(fox_page_bytes(&told), 0);
    CHECK_EQ(told, page);
    CHECK_EQ(fox_statm_read(&statm), 0);
    CHECK_EQ(fox_status_read(&status), 0);
    CHECK(statm.resident_bytes > 0 && statm.resident_bytes % page == 0);
    CHECK(statm.size_bytes % page == 0 && statm.shared_bytes % page == 0);
    /* Both are of this process at about the same time. */
    double ratio = (double)statm.resident_bytes / (double)status.rss_bytes;
    double expected = (double)page / (double)__real_sysconf(_SC_PAGESIZE);
    CHECK(ratio > 0.7 * expected && ratio < 1.4 * expected);
}

static void the_error_bound_grows_with_the_page(void) {
    int major, minor;
    int64_t bound;
    fox_status status;
    CHECK_EQ(fox_kernel_version(&major, &minor), 0);
    CHECK_EQ(fox_status_read(&status), 0);
    CHECK_EQ(fox_error_bound_here(&bound), 0);
    int cpus = (int)__real_sysconf(_SC_NPROCESSORS_ONLN);
    CHECK_EQ(bound, page * fox_error_bound_bytes(major, minor, cpus, status.threads, 1));
}

static void the_sampler_lies_in_whole_pages_and_runs(void) {
    fox_sampler *sampler;
    fox_sampler_stats stats;
    CHECK_EQ(fox_sampler_new(1000, 64, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    pause_ms(30);
    CHECK_EQ(fox_sampler_stop(sampler), 0);
    CHECK_EQ(fox_sampler_read(sampler, &stats), 0);
    CHECK(stats.self_bytes % page == 0 && stats.n_errors == 0);
    CHECK(stats.max_bytes > 0 && stats.max_bytes % page == 0);
    fox_sampler_free(sampler);
}

static void a_tree_counts_in_the_same_pages(void) {
    const fox_tree_options options = {.follow = true, .timeline_buckets = 64};
    fox_tree *tree;
    fox_tree_result result;
    int64_t now;
    CHECK_EQ(fox_tree_new(still, &options, &tree), 0);
    CHECK_EQ(fox_clock_ns(&now), 0);
    CHECK_EQ(fox_tree_sample(tree, now), 0);
    CHECK_EQ(fox_tree_read(tree, &result), 0);
    CHECK_EQ(result.rss_bytes, resident_pages(still) * page);
    fox_tree_free(tree);
}

static void with_this_page(void) {
    statm_is_counted_in_pages_and_status_in_kilobytes();
    the_error_bound_grows_with_the_page();
    the_sampler_lies_in_whole_pages_and_runs();
    a_tree_counts_in_the_same_pages();
}

int main(void) {
    static const long pages[] = {4096, 16384, 65536};
    const long real = __real_sysconf(_SC_PAGESIZE);
    still = fork();
    CHECK(still >= 0);
    if (still == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    pause_ms(50);
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        page = pages[i];
        if (page >= real) /* mappings must still lie on the pages that there are */
            alone(with_this_page);
    }
    CHECK(kill(still, SIGKILL) == 0);
    CHECK_EQ(waitpid(still, NULL, 0), still);
    return 0;
}
