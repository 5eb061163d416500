/* What the fuzzers share.  A fuzzer states properties of one parser in LLVMFuzzerTestOneInput;
 * libFuzzer drives it where the compiler has one, else driver.c does.
 */
#ifndef FOX_FUZZ_H
#define FOX_FUZZ_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A property that does not hold: says which, and aborts, as libFuzzer and driver.c expect. */
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Longer inputs are cut: no file that we parse is longer but children, whose text repeats. */
enum { FUZZ_MOST = 8192 };

/* input.c.  Three copies of the same n bytes, each good until the next call of its function.
 * A block of malloc of exactly n bytes: AddressSanitizer sees a read beyond it. */
const char *fuzz_exact(const uint8_t *data, size_t n);
/* Its last byte is the last of a page and the next page cannot be read: any build sees it. */
const char *fuzz_guarded(const uint8_t *data, size_t n);
/* Digits follow it, which a parser that ran on would take for its own. */
const char *fuzz_followed(const uint8_t *data, size_t n);

/* The length of the text up to its last newline, that one included. */
size_t fuzz_whole_lines(const char *text, size_t n);

#endif
