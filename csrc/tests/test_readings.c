/* Single readings of the real /proc. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "internal.h"

static void the_sources_agree(void) {
    fox_statm statm;
    fox_status status;
    int64_t page, rss;
    CHECK_EQ(fox_page_bytes(&page), 0);
    CHECK_EQ(page, sysconf(_SC_PAGESIZE));
    CHECK_EQ(fox_statm_read(&statm), 0);
    CHECK_EQ(fox_rss_bytes(&rss), 0);
    CHECK_EQ(fox_status_read(&status), 0);
    CHECK(statm.size_bytes >= statm.resident_bytes && statm.resident_bytes >= statm.shared_bytes);
    CHECK(statm.resident_bytes % page == 0 && rss > 0);
    CHECK(llabs(status.rss_bytes - rss) <= 2 * MIB);
    CHECK(status.threads >= 1 && status.hwm_bytes > 0);
    CHECK_EQ(status.anon_bytes + status.file_bytes + status.shmem_bytes, status.rss_bytes);
}

static void touched_bytes_are_resident_bytes(void) {
    int64_t before, held, after;
    CHECK_EQ(fox_rss_bytes(&before), 0);
    void *at = hold(32 * MIB);
    CHECK_EQ(fox_rss_bytes(&held), 0);
    drop(at, 32 * MIB);
    CHECK_EQ(fox_rss_bytes(&after), 0);
    CHECK(held - before >= 32 * MIB);
    if (EXACT)
        CHECK(held - before <= 33 * MIB && llabs(after - before) <= MIB);
}

static void populating_makes_untouched_pages_resident(void) {
    int64_t before, after;
    void *at = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    CHECK_EQ(fox_rss_bytes(&before), 0);
    int error = fox_populate_read((uint64_t)(uintptr_t)at, 8 * MIB);
    CHECK_EQ(fox_rss_bytes(&after), 0);
    CHECK(error == 0 || error == -EINVAL); /* -EINVAL: a kernel before 5.14 */
    if (error == 0)
        CHECK(after - before >= 8 * MIB);
    CHECK_EQ(munmap(at, 8 * MIB), 0);
    CHECK(fox_populate_read((uint64_t)(uintptr_t)at + 1, 8 * MIB) < 0);
}

static void usage_and_clock_move_forward(void) {
    fox_usage first, second;
    int64_t begin, end, page;
    CHECK_EQ(fox_page_bytes(&page), 0);
    CHECK_EQ(fox_clock_ns(&begin), 0);
    CHECK_EQ(fox_usage_read(&first), 0);
    drop(hold(16 * MIB), 16 * MIB);
    CHECK_EQ(fox_usage_read(&second), 0);
    CHECK_EQ(fox_clock_ns(&end), 0);
    CHECK(end > begin);
    CHECK(second.minor_faults - first.minor_faults >= 16 * MIB / page);
    CHECK(second.user_ns + second.system_ns >= first.user_ns + first.system_ns);
}

static void a_descriptor_closed_under_us_is_opened_again(void) {
    int64_t rss;
    fox_status status;
    CHECK_EQ(fox_rss_bytes(&rss), 0);
    CHECK_EQ(fox_status_read(&status), 0);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    CHECK_EQ(fox_rss_bytes(&rss), 0);
    CHECK_EQ(fox_status_read(&status), 0);
    CHECK(rss > 0 && status.hwm_bytes > 0);
}

/* Somebody closed our number and got it for a file of his own: leave that file alone. */
static void a_descriptor_that_is_another_file_now_is_left_to_its_owner(void) {
    int64_t rss;
    fox_status status;
    CHECK_EQ(fox_rss_bytes(&rss), 0);
    CHECK_EQ(fox_status_read(&status), 0);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    int theirs[8];
    for (int i = 0; i < 8; i++)
        CHECK((theirs[i] = open("/dev/zero", O_RDWR)) >= 0);
    CHECK_EQ(fox_rss_bytes(&rss), 0);
    CHECK_EQ(fox_status_read(&status), 0);
    CHECK(rss > 0 && status.hwm_bytes > 0);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(close(theirs[i]), 0);
}

static void the_machine_describes_itself(void) {
    int major, minor, released;
    int64_t bound;
    CHECK_EQ(fox_kernel_version(&major, &minor), 0);
    CHECK(major >= 3 && minor >= 0);
    CHECK_EQ(fox_error_bound_here(&bound), 0);
    CHECK(bound >= 4096);
    if (EXACT) { /* a sanitizer brings an allocator of its own, which takes no orders */
        int error = fox_quiet_allocator();
        CHECK(error == 0 || error == -ENOSYS);
        CHECK_EQ(fox_malloc_trim(&released), error);
    }
}

int main(void) {
    the_sources_agree();
    touched_bytes_are_resident_bytes();
    populating_makes_untouched_pages_resident();
    usage_and_clock_move_forward();
    a_descriptor_closed_under_us_is_opened_again();
    a_descriptor_that_is_another_file_now_is_left_to_its_owner();
    the_machine_describes_itself();
    return 0;
}
