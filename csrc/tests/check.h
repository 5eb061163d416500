/* The smallest harness: a failed check names itself and ends the program with 1. */
#ifndef FOX_CHECK_H
#define FOX_CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "foxsampler.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define CHECK_EQ(left, right)                                                                      \
    do {                                                                                           \
        int64_t left_ = (int64_t)(left), right_ = (int64_t)(right);                                \
        if (left_ != right_) {                                                                     \
            fprintf(stderr, "%s:%d: %s is %" PRId64 ", not %" PRId64 "\n", __FILE__, __LINE__,     \
                    #left, left_, right_);                                                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define MIB ((int64_t)1 << 20)

/* Sanitizers keep shadow memory beside ours, so only lower bounds hold there. */
#ifdef FOX_SANITIZED
enum { EXACT = 0 };
#else
enum { EXACT = 1 };
#endif

static inline void pause_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0)
        ;
}

/* Maps and touches every page; not by malloc, which may keep what it frees. */
static inline void *hold(int64_t bytes) {
    char *at =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    (void)madvise(at, (size_t)bytes, MADV_NOHUGEPAGE);
    for (int64_t i = 0; i < bytes; i += 4096)
        *(volatile char *)(at + i) = 1;
    return at;
}

static inline void drop(void *at, int64_t bytes) {
    CHECK(munmap(at, (size_t)bytes) == 0);
}

#endif
