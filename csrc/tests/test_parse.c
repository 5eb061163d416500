/* The parsers and the error bound: pure functions, odd input included. */
#include <errno.h>
#include <limits.h>

#include "check.h"
#include "internal.h"

static int statm(const char *text, int64_t pages[3]) {
    return fox_statm_parse(text, strlen(text), pages);
}

static void statm_takes_the_first_three_fields(void) {
    int64_t pages[3];
    CHECK_EQ(statm("9000 1234 56 1 0 700 0\n", pages), 0);
    CHECK_EQ(pages[0], 9000);
    CHECK_EQ(pages[1], 1234);
    CHECK_EQ(pages[2], 56);
    CHECK_EQ(statm("0 0 0 0 0 0 0\n", pages), 0); /* a zombie's */
    CHECK_EQ(pages[1], 0);
}

static void statm_refuses_anything_else(void) {
    int64_t pages[3];
    const char *bad[] = {"",
                         "12",
                         "12 34",
                         "12 34 56",
                         "a 1 2 3",
                         "1 -2 3 4",
                         "1  2 3 4",
                         "99999999999999999999 1 2 3",
                         "12\n34 56 78"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_EQ(statm(bad[i], pages), -EPROTO);
}

static void status_takes_kilobytes_and_leaves_out_what_is_not_there(void) {
    const char *text = "Name:\tVmHWM: 9 kB\nVmPeak:\t  99 kB\nVmHWM:\t    2048 kB\n"
                       "VmRSS:\t 1024 kB\nRssAnon:\t 512 kB\nRssFile:\t0 kB\nThreads:\t7\n";
    fox_status status;
    fox_status_parse(text, strlen(text), &status);
    CHECK_EQ(status.hwm_bytes, 2 * MIB);
    CHECK_EQ(status.rss_bytes, MIB);
    CHECK_EQ(status.anon_bytes, MIB / 2);
    CHECK_EQ(status.file_bytes, 0);
    CHECK_EQ(status.shmem_bytes, -1);
    CHECK_EQ(status.threads, 7);

    fox_status_parse("VmHWM:\t kB\nVmRSS", 16, &status); /* no number; no end */
    CHECK_EQ(status.hwm_bytes, -1);
    CHECK_EQ(status.rss_bytes, -1);
    fox_status_parse("VmHWM: 99999999999999999999 kB\n", 31, &status);
    CHECK_EQ(status.hwm_bytes, -1);
}

static void io_wants_all_seven_lines(void) {
    const char *text = "rchar: 12\nwchar: 3\nsyscr: 4\nsyscw: 5\nread_bytes: 4096\n"
                       "write_bytes: 0\ncancelled_write_bytes: 7\n";
    fox_io io;
    CHECK_EQ(fox_io_parse(text, strlen(text), &io), 0);
    CHECK_EQ(io.rchar_bytes, 12);
    CHECK_EQ(io.read_bytes, 4096);
    CHECK_EQ(io.write_bytes, 0);
    CHECK_EQ(io.cancelled_write_bytes, 7);
    CHECK_EQ(fox_io_parse(text, strlen(text) - 26, &io), -EPROTO);
    CHECK_EQ(fox_io_parse("", 0, &io), -EPROTO);
}

static void kernel_releases_are_two_numbers(void) {
    int major, minor;
    CHECK_EQ(fox_kernel_parse("6.18.44-fc-v669", &major, &minor), 0);
    CHECK_EQ(major * 1000 + minor, 6018);
    CHECK_EQ(fox_kernel_parse("5.15+", &major, &minor), 0);
    CHECK_EQ(major * 1000 + minor, 5015);
    const char *bad[] = {"", "6", "6.", ".1", "x.y", "6-18", "999999.1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_EQ(fox_kernel_parse(bad[i], &major, &minor), -EPROTO);
}

/* Worked by hand: (max(32, 2n) - 1) * n * page for each of three counters, from 6.2 on. */
static void the_error_bound_follows_the_kernel(void) {
    CHECK_EQ(fox_error_bound_bytes(6, 18, 2, 1, 4096), 744 * 1024);
    CHECK_EQ(fox_error_bound_bytes(6, 2, 1, 99, 4096), 3 * 31 * 4096);
    CHECK_EQ(fox_error_bound_bytes(7, 0, 64, 1, 4096), (int64_t)3 * 127 * 64 * 4096);
    CHECK_EQ(fox_error_bound_bytes(6, 8, 16, 1, 65536), (int64_t)3 * 31 * 16 * 65536);
    CHECK_EQ(fox_error_bound_bytes(6, 1, 64, 3, 4096), 63 * 3 * 4096);
    CHECK_EQ(fox_error_bound_bytes(5, 10, 2, 1, 4096), 63 * 4096);
    CHECK_EQ(fox_error_bound_bytes(6, 18, 0, 1, 4096), -EINVAL);
    CHECK_EQ(fox_error_bound_bytes(6, 18, 2, 0, 4096), -EINVAL);
    CHECK_EQ(fox_error_bound_bytes(6, 18, 2, 1, 0), -EINVAL);
    CHECK_EQ(fox_error_bound_bytes(-1, 18, 2, 1, 4096), -EINVAL);
    /* The largest that is taken overflows nothing; nor does what is larger. */
    const int64_t batch = (1 << 21) - 1;
    CHECK_EQ(fox_error_bound_bytes(6, 18, 1 << 20, 1, 1 << 20), 3 * (batch << 40));
    CHECK_EQ(fox_error_bound_bytes(5, 10, 1, 1 << 30, 1 << 20), (int64_t)63 << 50);
    CHECK_EQ(fox_error_bound_bytes(6, 18, INT_MAX, 1, 4096), -EINVAL);
    CHECK_EQ(fox_error_bound_bytes(5, 10, 1, INT64_MAX, 4096), -EINVAL);
    CHECK_EQ(fox_error_bound_bytes(6, 18, 2, 1, INT64_MAX), -EINVAL);
}

int main(void) {
    statm_takes_the_first_three_fields();
    statm_refuses_anything_else();
    status_takes_kilobytes_and_leaves_out_what_is_not_there();
    io_wants_all_seven_lines();
    kernel_releases_are_two_numbers();
    the_error_bound_follows_the_kernel();
    return 0;
}
