/* What a sample of the thread costs beside a bare pread of the same file: median nanoseconds of
 * interleaved rounds, one "key value" a line.  Built with the tests, run by hand. */
#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "internal.h"

enum { ROUNDS = 201, CALLS = 2000 };

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

int main(void) {
    static double bare[ROUNDS], ours[ROUNDS], ratio[ROUNDS];
    fox_sampler *sampler;
    char text[128];
    int64_t begin, middle, end, now;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    CHECK(fd >= 0 && fox_sampler_new(1000, 4096, &sampler) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(fox_clock_ns(&begin) == 0);
        for (int i = 0; i < CALLS; i++)
            CHECK(pread(fd, text, sizeof text, 0) > 0);
        CHECK(fox_clock_ns(&middle) == 0);
        for (int i = 0; i < CALLS; i++)
            CHECK(fox_sampler_sample(sampler, &now) == 0);
        CHECK(fox_clock_ns(&end) == 0);
        bare[round] = (double)(middle - begin) / CALLS;
        ours[round] = (double)(end - middle) / CALLS;
        ratio[round] = ours[round] / bare[round];
    }
    fox_sampler_free(sampler);
    close(fd);
    printf("bare_pread_ns %.1f\nsample_ns %.1f\nratio %.4f\n", median(bare), median(ours),
           median(ratio));
    return 0;
}
