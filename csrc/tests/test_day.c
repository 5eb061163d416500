/* A day at 1 kHz, fed to the timeline: bounded memory, and no maximum lost. */
#include "check.h"

enum { CAPACITY = 4096 };

/* Peaks of one sample each, so far apart that every one must be the maximum of its bucket. */
static int64_t bytes_at(int64_t tick) {
    return tick % 100003 == 0 ? 1000000 + tick : tick % 1000;
}

int main(void) {
    const int64_t ticks = EXACT ? (int64_t)24 * 3600 * 1000 : 2000000;
    static fox_bucket buckets[CAPACITY];
    fox_timeline *timeline;
    fox_sampler *sampler;
    fox_sampler_stats stats;
    int64_t n, counted = 0, last_ns = -1;

    CHECK_EQ(fox_timeline_new(CAPACITY, &timeline), 0);
    for (int64_t tick = 0; tick < ticks; tick++)
        CHECK_EQ(fox_timeline_add(timeline, tick * 1000000, bytes_at(tick)), 0);
    CHECK_EQ(fox_timeline_copy(timeline, buckets, CAPACITY, &n), 0);

    for (int64_t b = 0; b < n; b++) {
        const int64_t begin = counted, end = counted + buckets[b].count;
        /* The last such tick in the bucket; its values grow with time. */
        const int64_t peak = (end - 1) / 100003 * 100003;
        CHECK_EQ(buckets[b].first_ns, begin * 1000000);
        CHECK(buckets[b].first_ns > last_ns);
        if (peak >= begin) {
            CHECK_EQ(buckets[b].max_bytes, bytes_at(peak));
            CHECK_EQ(buckets[b].max_ns, peak * 1000000);
        } else {
            CHECK(buckets[b].max_bytes <= 999);
        }
        CHECK_EQ(buckets[b].last_bytes, bytes_at(end - 1));
        counted = end;
        last_ns = buckets[b].first_ns;
    }
    CHECK_EQ(counted, ticks);
    fox_timeline_free(timeline);

    /* All that a sampler of this capacity will ever use, its stack included. */
    CHECK_EQ(fox_sampler_new(1000, CAPACITY, &sampler), 0);
    CHECK_EQ(fox_sampler_read(sampler, &stats), 0);
    if (EXACT)
        CHECK(stats.self_bytes <= 4 * MIB);
    printf("%" PRId64 " ticks in %" PRId64 " buckets, %" PRId64 " bytes in all\n", ticks, n,
           stats.self_bytes);
    fox_sampler_free(sampler);
    return 0;
}
