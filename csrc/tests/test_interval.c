/* Intervals share one mark of the kernel, and each still sees its own peak. */
#include <errno.h>
#include <pthread.h>

#include "check.h"

static int64_t bound;

static int64_t step_peak(const fox_interval *interval) {
    return interval->hwm_bytes - interval->rss_begin_bytes;
}

static void check_peak(const fox_interval *interval, int64_t bytes) {
    CHECK_EQ(interval->hwm_error, 0);
    CHECK(step_peak(interval) >= bytes - bound);
    if (EXACT)
        CHECK(step_peak(interval) <= bytes + bound);
}

static void a_spike_that_no_sample_sees_is_in_the_mark(void) {
    int64_t id, page;
    CHECK_EQ(fox_page_bytes(&page), 0);
    fox_interval interval;
    CHECK_EQ(fox_interval_begin(1, &id), 0);
    drop(hold(64 * MIB), 64 * MIB);
    CHECK_EQ(fox_interval_end(id, &interval), 0);
    check_peak(&interval, 64 * MIB);
    CHECK_EQ(interval.sampled_bytes, -1);
    CHECK_EQ(interval.n_samples, 0);
    CHECK(interval.end_ns > interval.begin_ns);
    CHECK(interval.usage.minor_faults >= 64 * MIB / page);
}

static void an_inner_reset_keeps_the_outer_peak(void) {
    int64_t outer, inner;
    fox_interval interval;
    CHECK_EQ(fox_interval_begin(1, &outer), 0);
    drop(hold(48 * MIB), 48 * MIB);
    CHECK_EQ(fox_interval_begin(1, &inner), 0); /* resets the mark that holds the 48 */
    drop(hold(16 * MIB), 16 * MIB);
    CHECK_EQ(fox_hwm_reset(), 0);
    CHECK_EQ(fox_interval_read(inner, &interval), 0);
    check_peak(&interval, 16 * MIB);
    CHECK_EQ(fox_interval_end(inner, &interval), 0);
    check_peak(&interval, 16 * MIB);
    CHECK_EQ(fox_interval_end(outer, &interval), 0);
    check_peak(&interval, 48 * MIB);
}

/* Not a stack: of two threads' intervals the first begun may well end first. */
static void overlapping_intervals_end_in_any_order(void) {
    int64_t first, second;
    fox_interval interval;
    CHECK_EQ(fox_interval_begin(1, &first), 0);
    drop(hold(8 * MIB), 8 * MIB);
    CHECK_EQ(fox_interval_begin(1, &second), 0);
    drop(hold(24 * MIB), 24 * MIB);
    CHECK_EQ(fox_interval_end(first, &interval), 0);
    check_peak(&interval, 24 * MIB);
    drop(hold(40 * MIB), 40 * MIB);
    CHECK_EQ(fox_interval_end(second, &interval), 0);
    check_peak(&interval, 40 * MIB);
}

static void the_lifetime_peak_outlives_resets(void) {
    int64_t before, after;
    drop(hold(80 * MIB), 80 * MIB);
    CHECK_EQ(fox_lifetime_peak(&before), 0);
    CHECK_EQ(fox_hwm_reset(), 0);
    CHECK_EQ(fox_lifetime_peak(&after), 0);
    CHECK(after >= before && before >= 80 * MIB);
    fox_status status;
    CHECK_EQ(fox_status_read(&status), 0);
    CHECK(status.hwm_bytes <= after - 70 * MIB);
}

static void a_mark_that_is_left_alone_gives_no_figure(void) {
    int64_t id;
    fox_interval interval;
    CHECK_EQ(fox_interval_begin(0, &id), 0);
    CHECK_EQ(fox_interval_end(id, &interval), 0);
    CHECK_EQ(interval.hwm_bytes, -1);
    CHECK_EQ(interval.hwm_error, -ENOTSUP);
}

static void a_closed_interval_stays_closed(void) {
    int64_t id, again;
    fox_interval interval;
    CHECK_EQ(fox_interval_begin(1, &id), 0);
    CHECK_EQ(fox_interval_end(id, &interval), 0);
    CHECK_EQ(fox_interval_begin(1, &again), 0); /* the same slot */
    CHECK(again != id);
    CHECK_EQ(fox_interval_end(id, &interval), -ENOENT);
    CHECK_EQ(fox_interval_read(-1, &interval), -ENOENT);
    CHECK_EQ(fox_interval_read(INT64_MAX, &interval), -ENOENT);
    CHECK_EQ(fox_interval_end(again, &interval), 0);
}

/* Far more than were ever open at once before, ended neither in order nor backwards. */
static void thousands_nest_and_each_keeps_its_own_peak(void) {
    enum { DEPTH = 3000 };
    static int64_t ids[DEPTH];
    fox_interval interval;
    for (int i = 0; i < DEPTH; i++) {
        CHECK_EQ(fox_interval_begin(1, &ids[i]), 0);
        if (i == DEPTH / 2)
            drop(hold(32 * MIB), 32 * MIB);
    }
    for (int i = 0; i < DEPTH; i++) {
        int at = (int)((int64_t)i * 7 % DEPTH); /* 7 and 3000 have no common divisor */
        CHECK_EQ(fox_interval_end(ids[at], &interval), 0);
        if (at <= DEPTH / 2)
            CHECK(step_peak(&interval) >= 32 * MIB - bound);
        else if (EXACT)
            CHECK(step_peak(&interval) <= 4 * MIB + bound);
    }
    CHECK_EQ(fox_interval_end(ids[0], &interval), -ENOENT);
}

/* Anonymous and file-backed memory are told apart at both ends, and reads are counted. */
static void an_interval_tells_what_its_memory_is_made_of(void) {
    int64_t id;
    fox_interval interval;
    char text[4096];
    CHECK_EQ(fox_interval_begin(1, &id), 0);
    void *at = hold(32 * MIB);
    FILE *file = fopen("/proc/self/maps", "r");
    CHECK(file != NULL && fread(text, 1, 100, file) == 100);
    fclose(file);
    CHECK_EQ(fox_interval_end(id, &interval), 0);
    drop(at, 32 * MIB);
    int64_t grown = interval.split_end.anon_bytes - interval.split_begin.anon_bytes;
    CHECK(grown >= 32 * MIB - bound);
    if (EXACT)
        CHECK(grown <= 33 * MIB + bound);
    CHECK(interval.split_begin.file_bytes > 0 && interval.split_end.shmem_bytes >= 0);
    CHECK(interval.split_begin.swap_bytes >= 0 && interval.split_end.hugetlb_bytes >= 0);
    if (interval.io.rchar_bytes >= 0) /* a kernel may be built without */
        CHECK(interval.io.rchar_bytes >= 100 && interval.io.read_calls >= 1);
    CHECK(interval.usage.fs_inputs >= 0 && interval.usage.fs_outputs >= 0);
}

static void *many_short_intervals(void *nothing) {
    for (int i = 0; i < 200; i++) {
        int64_t id;
        fox_interval interval;
        CHECK_EQ(fox_interval_begin(1, &id), 0);
        void *at = hold(MIB);
        CHECK_EQ(fox_interval_read(id, &interval), 0);
        drop(at, MIB);
        CHECK_EQ(fox_interval_end(id, &interval), 0);
        CHECK_EQ(interval.hwm_error, 0);
    }
    return nothing;
}

static void threads_reset_without_ruining_each_other(void) {
    pthread_t threads[3];
    int64_t outer;
    fox_interval interval;
    CHECK_EQ(fox_interval_begin(1, &outer), 0);
    drop(hold(32 * MIB), 32 * MIB);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, many_short_intervals, NULL), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(fox_interval_end(outer, &interval), 0);
    CHECK(step_peak(&interval) >= 32 * MIB - bound);
}

int main(void) {
    CHECK_EQ(fox_error_bound_here(&bound), 0);
    a_spike_that_no_sample_sees_is_in_the_mark();
    an_inner_reset_keeps_the_outer_peak();
    overlapping_intervals_end_in_any_order();
    the_lifetime_peak_outlives_resets();
    a_mark_that_is_left_alone_gives_no_figure();
    a_closed_interval_stays_closed();
    thousands_nest_and_each_keeps_its_own_peak();
    an_interval_tells_what_its_memory_is_made_of();
    threads_reset_without_ruining_each_other();
    return 0;
}
