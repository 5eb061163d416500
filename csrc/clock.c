/* The clock that every time of the instrument is read from. */
#include <time.h>

#include "internal.h"

int fox_clock_ns(int64_t *out) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return fox_neg_errno();
    *out = (int64_t)now.tv_sec * 1000000000 + (int64_t)now.tv_nsec;
    return 0;
}
