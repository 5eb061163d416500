/* How far the kernel's high-water mark may lie below the truth.
 *
 * mm's counters (file, anonymous, shmem pages) are kept in batches that the mark does not sum:
 *   6.2 and later  percpu_counter: each CPU keeps back up to batch - 1 pages a counter, where
 *                  batch = max(32, 2 * CPUs)            (lib/percpu_counter.c, linux/mm.h)
 *   before 6.2     each thread keeps back up to 63 page events in all
 *                  (TASK_RSS_EVENTS_THRESH 64, mm/memory.c)
 * Before 6.16 statm lags by as much, either way: a sample or a baseline may lie off by the bound
 * too, and the difference of a mark and a baseline by twice the bound.
 */
#include <errno.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "internal.h"

int64_t fox_error_bound_bytes(int major, int minor, int n_cpus, int64_t n_threads,
                              int64_t page_bytes) {
    enum { COUNTERS = 3, MIN_BATCH = 32, THREAD_EVENTS = 64 };
    /* Far beyond any machine, and together below 2^63: 3 * 2^21 * 2^20 * 2^20. */
    enum { MOST_CPUS = 1 << 20, MOST_THREADS = 1 << 30, MOST_PAGE_BYTES = 1 << 20 };

    if (major < 0 || minor < 0 || n_cpus < 1 || n_threads < 1 || page_bytes < 1)
        return -EINVAL;
    if (n_cpus > MOST_CPUS || n_threads > MOST_THREADS || page_bytes > MOST_PAGE_BYTES)
        return -EINVAL;
    if (major < 6 || (major == 6 && minor < 2))
        return (THREAD_EVENTS - 1) * n_threads * page_bytes;
    int64_t batch = 2 * (int64_t)n_cpus > MIN_BATCH ? 2 * (int64_t)n_cpus : MIN_BATCH;
    return COUNTERS * (batch - 1) * n_cpus * page_bytes;
}

/* "6.18.44-x" -> 6, 18. */
int fox_kernel_parse(const char *release, int *major, int *minor) {
    int parts[2] = {0, 0};
    for (int part = 0; part < 2; part++) {
        if (*release < '0' || *release > '9')
            return -EPROTO;
        while (*release >= '0' && *release <= '9') {
            parts[part] = parts[part] * 10 + (*release - '0');
            if (parts[part] > 100000)
                return -EPROTO;
            release++;
        }
        if (part == 0 && *release++ != '.')
            return -EPROTO;
    }
    *major = parts[0];
    *minor = parts[1];
    return 0;
}

int fox_kernel_version(int *major, int *minor) {
    struct utsname name;
    if (uname(&name) != 0)
        return fox_neg_errno();
    return fox_kernel_parse(name.release, major, minor);
}

int fox_error_bound_here(int64_t *out) {
    fox_status status;
    int error = fox_status_read(&status);
    return error != 0 ? error : fox_error_bound_of(&status, out);
}

/* Takes no lock: for whoever has read the status already. */
int fox_error_bound_of(const fox_status *status, int64_t *out) {
    int major = 0, minor = 0;
    int64_t page = 0;

    int error = fox_kernel_version(&major, &minor);
    if (error == 0)
        error = fox_page_bytes(&page);
    if (error != 0)
        return error;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (cpus < 1 || cpus > 1 << 20)
        return -EPROTO;
    int64_t bound = fox_error_bound_bytes(major, minor, (int)cpus,
                                          status->threads > 0 ? status->threads : 1, page);
    if (bound < 0)
        return (int)bound;
    *out = bound;
    return 0;
}
