/* The mutators: each changes one thing, and the driver stacks several. */
#include "mutate.h"

/* splitmix64 (Steele, Lea, Flood 2014): any seed will do, 0 included. */
uint64_t fuzz_random(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

size_t fuzz_below(uint64_t *state, size_t limit) {
    return (size_t)(fuzz_random(state) % limit);
}

/* Makes place for more bytes at a point; what does not fit falls off the end. */
static size_t insert(uint8_t *bytes, size_t n, size_t at, const uint8_t *more, size_t n_more) {
    uint8_t held[FUZZ_MOST];
    if (n_more > FUZZ_MOST - at)
        n_more = FUZZ_MOST - at;
    memcpy(held, more, n_more); /* it may be a part of bytes */
    size_t kept = n - at;
    if (kept > FUZZ_MOST - at - n_more)
        kept = FUZZ_MOST - at - n_more;
    memmove(bytes + at + n_more, bytes + at, kept);
    memcpy(bytes + at, held, n_more);
    return at + n_more + kept;
}

static size_t delete(uint8_t *bytes, size_t n, size_t at, size_t count) {
    if (count > n - at)
        count = n - at;
    memmove(bytes + at, bytes + at + count, n - at - count);
    return n - count;
}

/* A number as kernels print them, or one at the edge of what fits somewhere. */
static size_t number(uint8_t *bytes, size_t n, size_t at, uint64_t *state) {
    static const char *const edges[] = {"0",
                                        "-1",
                                        "00",
                                        "4194304",
                                        "4194305",
                                        "2147483647",
                                        "4294967296",
                                        "8796093022207",
                                        "9007199254740991",
                                        "9223372036854775799",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "99999999999999999999"};
    char text[24];
    size_t pick = fuzz_below(state, 2 * sizeof edges / sizeof edges[0]);
    const char *digits = text;
    if (pick < sizeof edges / sizeof edges[0])
        digits = edges[pick];
    else
        (void)snprintf(text, sizeof text, "%" PRIu64, fuzz_random(state) >> fuzz_below(state, 64));
    /* In the place of the number that stands there, if one does. */
    size_t old = 0;
    while (at + old < n && bytes[at + old] >= '0' && bytes[at + old] <= '9')
        old++;
    n = delete(bytes, n, at, old);
    return insert(bytes, n, at, (const uint8_t *)digits, strlen(digits));
}

size_t fuzz_mutate(uint8_t *bytes, size_t n, const fuzz_list *corpus, const fuzz_list *words,
                   uint64_t *state) {
    size_t at = fuzz_below(state, n + 1), count = 1 + fuzz_below(state, 16);
    const fuzz_item *other = &corpus->items[fuzz_below(state, corpus->n)];
    const fuzz_item *word = words->n > 0 ? &words->items[fuzz_below(state, words->n)] : other;
    uint8_t byte = (uint8_t)fuzz_random(state);
    switch (fuzz_below(state, 10)) {
    case 0: /* a bit */
        if (at < n)
            bytes[at] ^= (uint8_t)(1 << byte % 8);
        return n;
    case 1: /* a byte */
        if (at < n)
            bytes[at] = byte;
        return n;
    case 2:
        return insert(bytes, n, at, &byte, 1);
    case 3:
        return delete(bytes, n, at, count);
    case 4:
        return at; /* the end is missing */
    case 5:
        return number(bytes, n, at, state);
    case 6: /* a part of itself once more */
        return insert(bytes, n, fuzz_below(state, n + 1), bytes + at, n - at < 64 ? n - at : 64);
    case 7: { /* the end of another input in the place of its own */
        size_t from = fuzz_below(state, other->n + 1);
        return insert(bytes, at, at, other->bytes + from, other->n - from);
    }
    default: /* most of what a parser looks for is a word */
        return insert(bytes, n, at, word->bytes, word->n);
    }
}
