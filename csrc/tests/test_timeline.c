/* The bounded timeline against a plain list of everything that was added. */
#include <errno.h>

#include "check.h"

enum { N = 5000 };
static int64_t at_ns[N], values[N];

/* A xorshift generator with a fixed seed: the same walk on every machine. */
static uint64_t next(void) {
    static uint64_t x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
}

static void check_against_the_list(int64_t capacity, int n) {
    fox_timeline *timeline;
    fox_bucket buckets[64];
    int64_t length, seen = 0;

    CHECK_EQ(fox_timeline_new(capacity, &timeline), 0);
    for (int i = 0; i < n; i++)
        CHECK_EQ(fox_timeline_add(timeline, at_ns[i], values[i]), 0);
    CHECK(fox_timeline_length(timeline) <= capacity);
    CHECK_EQ(fox_timeline_copy(timeline, buckets, 64, &length), 0);
    CHECK_EQ(length, fox_timeline_length(timeline));
    for (int64_t b = 0; b < length; b++) {
        const fox_bucket *bucket = &buckets[b];
        int64_t least = values[seen], most = values[seen], most_ns = at_ns[seen];
        CHECK_EQ(bucket->first_ns, at_ns[seen]);
        for (int64_t i = seen; i < seen + bucket->count; i++) {
            if (values[i] < least)
                least = values[i];
            if (values[i] > most) {
                most = values[i];
                most_ns = at_ns[i];
            }
        }
        seen += bucket->count;
        CHECK_EQ(bucket->min_bytes, least);
        CHECK_EQ(bucket->max_bytes, most);
        CHECK_EQ(bucket->max_ns, most_ns);
        CHECK_EQ(bucket->last_bytes, values[seen - 1]);
    }
    CHECK_EQ(seen, n);
    fox_timeline_free(timeline);
}

int main(void) {
    fox_timeline *timeline;
    fox_bucket bucket;
    int64_t n;

    for (int i = 0; i < N; i++) {
        at_ns[i] = (i > 0 ? at_ns[i - 1] : 0) + (int64_t)(next() % 3); /* equal times too */
        values[i] = (int64_t)(next() % 1000);
    }
    for (int64_t capacity = 2; capacity <= 64; capacity *= 2)
        for (int count = 0; count <= N; count = count * 3 + 1)
            check_against_the_list(capacity, count);

    CHECK_EQ(fox_timeline_new(0, &timeline), -EINVAL);
    CHECK_EQ(fox_timeline_new(1, &timeline), -EINVAL);
    CHECK_EQ(fox_timeline_new(48, &timeline), -EINVAL);
    CHECK_EQ(fox_timeline_new((int64_t)1 << 21, &timeline), -EINVAL);
    CHECK_EQ(fox_timeline_new(2, &timeline), 0);
    CHECK_EQ(fox_timeline_add(timeline, 10, -1), -EINVAL);
    CHECK_EQ(fox_timeline_add(timeline, 10, 1), 0);
    CHECK_EQ(fox_timeline_add(timeline, 9, 1), -EINVAL);
    CHECK_EQ(fox_timeline_copy(timeline, &bucket, 0, &n), -ENOSPC);
    CHECK_EQ(fox_timeline_length(timeline), 1);
    fox_timeline_free(timeline);
    fox_timeline_free(NULL);
    return 0;
}
