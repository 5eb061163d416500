/* Shared by the files of the instrument, not part of its interface. */
#ifndef FOX_INTERNAL_H
#define FOX_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "foxsampler.h"

/* errors.c */
int fox_neg_errno(void);
int fox_impossible(const char *what);

/* process.c: what exists once a process, and what fork does to it. */
enum fox_file { FOX_STATM, FOX_STATUS, FOX_IO, FOX_N_FILES };
/* Also notices a fork, and lets go of what belongs to the parent. */
void fox_lock(void);
void fox_unlock(void);
int fox_kept_read(enum fox_file file, int64_t offset, char *into, size_t room, size_t *n);
void fox_kept_forget(enum fox_file file);

/* The _locked functions want fox_lock() held. */
int fox_statm_parse(const char *text, size_t n, int64_t pages[3]);
int fox_statm_read_locked(fox_statm *out);
void fox_status_parse(const char *text, size_t n, fox_status *out);
int fox_status_read_locked(fox_status *out);
/* The number behind "key:" when the line begins with it, else -1. */
int64_t fox_number_after(const char *line, size_t n, const char *key);
int fox_io_parse(const char *text, size_t n, fox_io *out);
int fox_io_read_locked(fox_io *out);
int fox_clear_refs_reset(void);
int fox_kernel_parse(const char *release, int *major, int *minor);
int fox_error_bound_of(const fox_status *status, int64_t *out);

/* interval.c */
void fox_interval_sample_locked(int64_t rss_bytes);
void fox_interval_forget_locked(void);

/* sampler.c: what the thread does at every tick, the wait apart. */
int fox_sampler_sample(fox_sampler *sampler, int64_t *now_ns);

/* timeline.c */
struct fox_timeline {
    fox_bucket *buckets;
    int64_t capacity;
    int64_t length;
    int64_t width; /* samples a full bucket holds; doubles at every merge */
    int64_t last_ns;
};
bool fox_timeline_capacity_ok(int64_t capacity);
void fox_timeline_init(fox_timeline *timeline, fox_bucket *buckets, int64_t capacity);

#endif
