/* The instrument: reads this process's memory in /proc, exactly and cheaply.
 *
 * Knows no Python.  Every function returns 0 or -errno unless its comment says otherwise.  Sizes
 * are bytes, times are CLOCK_MONOTONIC nanoseconds, and -1 stands for "not measured" in a field.
 * All functions may be called from any thread.  What lies between the two cffi marks is also the
 * declaration that the Python extension is built from, so it holds no preprocessor lines.
 */
#ifndef FOXSAMPLER_H
#define FOXSAMPLER_H

#include <stdint.h>

/* cffi: begin */

/* ---- single readings -------------------------------------------------------------------- */

/* /proc/self/statm: address space, resident set, and the part of it that files and shmem back. */
typedef struct {
    int64_t size_bytes;
    int64_t resident_bytes;
    int64_t shared_bytes;
} fox_statm;

/* /proc/self/status; each field is -1 where this kernel does not show the line. */
typedef struct {
    int64_t hwm_bytes; /* VmHWM: the kernel's high-water mark since the last reset */
    int64_t rss_bytes;
    int64_t anon_bytes;
    int64_t file_bytes;
    int64_t shmem_bytes;
    int64_t swap_bytes;
    int64_t hugetlb_bytes; /* not part of the resident set */
    int64_t threads;
} fox_status;

/* getrusage(RUSAGE_SELF); ru_maxrss is left out on purpose: exec hands it down from the parent. */
typedef struct {
    int64_t user_ns;
    int64_t system_ns;
    int64_t minor_faults;
    int64_t major_faults;
    int64_t voluntary_ctxt_switches;
    int64_t involuntary_ctxt_switches;
    int64_t fs_inputs; /* blocks of 512 bytes that had to be read from a device */
    int64_t fs_outputs;
} fox_usage;

/* /proc/self/io; bytes, and counts of calls. */
typedef struct {
    int64_t rchar_bytes; /* through read(2) and the like, the page cache included */
    int64_t wchar_bytes;
    int64_t read_calls;
    int64_t write_calls;
    int64_t read_bytes; /* from a device */
    int64_t write_bytes;
    int64_t cancelled_write_bytes;
} fox_io;

int fox_clock_ns(int64_t *out);
int fox_page_bytes(int64_t *out);
int fox_statm_read(fox_statm *out);
int fox_rss_bytes(int64_t *out);
int fox_status_read(fox_status *out);
int fox_usage_read(fox_usage *out);
int fox_io_read(fox_io *out);

/* Whether two processes share their memory, as after vfork.  -ENOSYS, or -EPERM where another
 * process may not be looked at. */
int fox_same_memory(int64_t pid_a, int64_t pid_b, int *same);

/* ---- how exact a mark can be ------------------------------------------------------------ */

int fox_kernel_version(int *major, int *minor);

/* Bytes by which VmHWM may lie below the truth, or -EINVAL.  A pure function, see errbound.c. */
int64_t fox_error_bound_bytes(int major, int minor, int n_cpus, int64_t n_threads,
                              int64_t page_bytes);

/* The same for this kernel and this process, now. */
int fox_error_bound_here(int64_t *out);

/* ---- the allocator ---------------------------------------------------------------------- */

/* Freed bytes go back to the kernel at once.  -ENOSYS where the libc is not glibc. */
int fox_quiet_allocator(void);

/* malloc_trim(0); *released is 1 when memory went back.  -ENOSYS where the libc is not glibc. */
int fox_malloc_trim(int *released);

/* ---- page tables ------------------------------------------------------------------------ */

/* Maps every page of the range, as reading it would.  -EINVAL before Linux 5.14. */
int fox_populate_read(uint64_t start, uint64_t size);

/* ---- high-water mark and intervals ------------------------------------------------------ */

/* Folds the mark into every open interval and the lifetime peak, then resets it. */
int fox_hwm_reset(void);

/* Highest mark of this process so far, kept across the resets made here. */
int fox_lifetime_peak(int64_t *out);

/* What memory is made of; swap and hugetlb are no part of the resident set. */
typedef struct {
    int64_t anon_bytes;
    int64_t file_bytes;
    int64_t shmem_bytes;
    int64_t swap_bytes;
    int64_t hugetlb_bytes;
} fox_split;

typedef struct {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t rss_begin_bytes;
    int64_t rss_end_bytes;
    int64_t hwm_bytes;     /* -1 when the mark could not be reset or read; see hwm_error */
    int64_t sampled_bytes; /* largest sample of any sampler inside; -1 when there was none */
    int64_t n_samples;
    /* 0 or -errno: why hwm_bytes is -1.  -ENOTSUP: it was not asked for.  -ENOSYS: a reset was
     * accepted and did nothing. */
    int hwm_error;
    fox_usage usage; /* differences, as is io */
    fox_io io;       /* -1 in every field where it could not be read */
    fox_split split_begin;
    fox_split split_end;
} fox_interval;

/* Opens an interval.  use_hwm 0 leaves the mark alone: the peak is then only sampled.  A refused
 * reset is no error here; it shows in the result.  -ENOSPC when 1,048,576 are open. */
int fox_interval_begin(int use_hwm, int64_t *id);

/* Reads an open interval without closing it.  -ENOENT when it is not open in this process. */
int fox_interval_read(int64_t id, fox_interval *out);

/* Reads and closes.  Closed even when the reading fails. */
int fox_interval_end(int64_t id, fox_interval *out);

/* ---- bounded timeline ------------------------------------------------------------------- */

typedef struct {
    int64_t first_ns;
    int64_t max_ns;
    int64_t min_bytes;
    int64_t max_bytes;
    int64_t last_bytes;
    int64_t count;
} fox_bucket;

typedef struct fox_timeline fox_timeline;

/* capacity: a power of two from 2 to 1048576, else -EINVAL. */
int fox_timeline_new(int64_t capacity, fox_timeline **out);
void fox_timeline_free(fox_timeline *timeline);
/* -EINVAL for a negative value or a time before the last one. */
int fox_timeline_add(fox_timeline *timeline, int64_t now_ns, int64_t bytes);
int64_t fox_timeline_length(const fox_timeline *timeline);
/* Copies up to room buckets, oldest first, and sets *n.  -ENOSPC when they do not fit. */
int fox_timeline_copy(const fox_timeline *timeline, fox_bucket *into, int64_t room, int64_t *n);

/* ---- the sampling thread ---------------------------------------------------------------- */

typedef struct {
    int64_t n_samples;
    int64_t n_missed;   /* ticks that came too late and were skipped */
    int64_t n_errors;   /* ticks on which statm could not be read */
    int64_t cpu_ns;     /* CPU time of the thread; -1 while it runs */
    int64_t self_bytes; /* memory of the sampler itself, all touched by fox_sampler_new */
    int64_t max_bytes;  /* largest sample; -1 before the first */
    int first_error;    /* 0 or the -errno of the first failed tick */
    int running;
} fox_sampler_stats;

typedef struct fox_sampler fox_sampler;

/* hz: 100 to 10000, else -EINVAL.  Allocates and touches everything the thread will use. */
int fox_sampler_new(double hz, int64_t capacity, fox_sampler **out);
/* Takes a first sample, then starts the thread.  -EALREADY when it runs. */
int fox_sampler_start(fox_sampler *sampler);
/* Prompt; a second call does nothing.  -ESRCH in a forked child, which has no such thread. */
int fox_sampler_stop(fox_sampler *sampler);
int fox_sampler_read(fox_sampler *sampler, fox_sampler_stats *out);
int64_t fox_sampler_length(fox_sampler *sampler);
int fox_sampler_copy(fox_sampler *sampler, fox_bucket *into, int64_t room, int64_t *n);
/* Stops it first where needed. */
void fox_sampler_free(fox_sampler *sampler);

/* cffi: end */

#endif
