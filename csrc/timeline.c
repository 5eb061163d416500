/* A timeline bounded in memory that loses no maximum.
 *
 * Buckets hold `width` samples each.  When all are full, neighbours merge in pairs and the width
 * doubles: the memory is fixed, the resolution halves, every minimum, maximum, its time and every
 * count stay exact.  Adding is O(1) amortised.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

bool fox_timeline_capacity_ok(int64_t capacity) {
    return capacity >= 2 && capacity <= 1048576 && (capacity & (capacity - 1)) == 0;
}

void fox_timeline_init(fox_timeline *timeline, fox_bucket *buckets, int64_t capacity) {
    timeline->buckets = buckets;
    timeline->capacity = capacity;
    timeline->length = 0;
    timeline->width = 1;
    timeline->last_ns = INT64_MIN;
}

int fox_timeline_new(int64_t capacity, fox_timeline **out) {
    if (!fox_timeline_capacity_ok(capacity))
        return -EINVAL;
    size_t buckets_size = (size_t)capacity * sizeof(fox_bucket);
    fox_timeline *timeline = malloc(sizeof *timeline);
    fox_bucket *buckets = malloc(buckets_size);
    if (timeline == NULL || buckets == NULL) {
        free(timeline);
        free(buckets);
        return -ENOMEM;
    }
    fox_timeline_init(timeline, buckets, capacity);
    *out = timeline;
    return 0;
}

void fox_timeline_free(fox_timeline *timeline) {
    if (timeline == NULL)
        return;
    free(timeline->buckets);
    free(timeline);
}

/* Ties keep the earlier time: the moment the peak was first reached. */
static fox_bucket merged(const fox_bucket *a, const fox_bucket *b) {
    fox_bucket both = *a;
    if (b->max_bytes > a->max_bytes) {
        both.max_bytes = b->max_bytes;
        both.max_ns = b->max_ns;
    }
    if (b->min_bytes < a->min_bytes)
        both.min_bytes = b->min_bytes;
    both.last_bytes = b->last_bytes;
    both.count = a->count + b->count;
    return both;
}

static void merge_pairs(fox_timeline *timeline) {
    fox_bucket *buckets = timeline->buckets;
    for (int64_t pair = 0; pair < timeline->length / 2; pair++)
        buckets[pair] = merged(&buckets[2 * pair], &buckets[2 * pair + 1]);
    timeline->length /= 2;
    timeline->width *= 2;
}

int fox_timeline_add(fox_timeline *timeline, int64_t now_ns, int64_t bytes) {
    if (bytes < 0 || now_ns < timeline->last_ns)
        return -EINVAL;
    const fox_bucket sample = {now_ns, now_ns, bytes, bytes, bytes, 1};
    timeline->last_ns = now_ns;

    fox_bucket *last = timeline->buckets + timeline->length - 1;
    if (timeline->length > 0 && last->count < timeline->width) {
        *last = merged(last, &sample);
        return 0;
    }
    if (timeline->length == timeline->capacity)
        merge_pairs(timeline);
    timeline->buckets[timeline->length++] = sample;
    return 0;
}

int64_t fox_timeline_length(const fox_timeline *timeline) {
    return timeline->length;
}

int fox_timeline_copy(const fox_timeline *timeline, fox_bucket *into, int64_t room, int64_t *n) {
    if (room < timeline->length)
        return -ENOSPC;
    memcpy(into, timeline->buckets, (size_t)timeline->length * sizeof(fox_bucket));
    *n = timeline->length;
    return 0;
}
