/* Changing an input at random, in ways that texts of /proc tend to differ in. */
#ifndef FOX_FUZZ_MUTATE_H
#define FOX_FUZZ_MUTATE_H

#include "load.h"

/* A generator of its own: the same inputs from the same seed on every machine. */
uint64_t fuzz_random(uint64_t *state);
/* A number below the limit, which is at least 1. */
size_t fuzz_below(uint64_t *state, size_t limit);

/* One change of bytes, of which n count and FUZZ_MOST fit; returns the new n. */
size_t fuzz_mutate(uint8_t *bytes, size_t n, const fuzz_list *corpus, const fuzz_list *words,
                   uint64_t *state);

#endif
