/* Spikes shorter than a tick: each must be in the peak to within the stated bound.
 *
 * FOX_SPIKES sets how many of each kind there are. */
#include <unistd.h>

#include "check.h"

enum kind { ANONYMOUS, HUGE, MEMFD, N_KINDS };
static const char *const names[] = {"anonymous", "huge pages", "memfd"};

static char *map_of(enum kind kind, int64_t bytes, int fd) {
    int flags = kind == MEMFD ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    char *at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    CHECK(at != MAP_FAILED);
    if (kind == HUGE)
        (void)madvise(at, (size_t)bytes, MADV_HUGEPAGE);
    return at;
}

static void spike(enum kind kind, int64_t bytes, int64_t page) {
    int fd = -1;
    if (kind == MEMFD) {
        fd = memfd_create("spike", MFD_CLOEXEC);
        CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    }
    char *at = map_of(kind, bytes, fd);
    for (int64_t i = 0; i < bytes; i += page)
        *(volatile char *)(at + i) = 1;
    const struct timespec held = {0, 200000};
    (void)nanosleep(&held, NULL);
    drop(at, bytes);
    if (fd >= 0)
        close(fd);
}

static int64_t peak(const fox_interval *interval) {
    return interval->hwm_bytes > interval->sampled_bytes ? interval->hwm_bytes
                                                         : interval->sampled_bytes;
}

int main(void) {
    const char *asked = getenv("FOX_SPIKES");
    const int n = asked != NULL ? atoi(asked) : EXACT ? 12 : 3;
    int64_t bound, page;
    fox_sampler *sampler;

    CHECK_EQ(fox_error_bound_here(&bound), 0);
    CHECK_EQ(fox_page_bytes(&page), 0);
    CHECK_EQ(fox_sampler_new(1000, 4096, &sampler), 0);
    CHECK_EQ(fox_sampler_start(sampler), 0);
    for (int kind = 0; kind < N_KINDS; kind++) {
        int64_t worst = INT64_MIN;
        for (int i = 0; i < n; i++) {
            const int64_t bytes = (64 + (int64_t)i * 37 % 193) * MIB; /* 64 to 256, in any order */
            int64_t id;
            fox_interval interval;
            CHECK_EQ(fox_interval_begin(1, &id), 0);
            spike((enum kind)kind, bytes, page);
            CHECK_EQ(fox_interval_end(id, &interval), 0);
            CHECK_EQ(interval.hwm_error, 0);
            int64_t low = interval.rss_begin_bytes + bytes - peak(&interval);
            worst = low > worst ? low : worst;
            CHECK(low <= bound);
            if (EXACT)
                CHECK(low >= -bound - MIB);
        }
        printf("%s: %d spikes, at worst %" PRId64 " bytes low, bound %" PRId64 "\n", names[kind], n,
               worst, bound);
    }
    fox_sampler_free(sampler);
    return 0;
}
