/* Copies of an input, placed so that a read beyond its end shows. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

const char *fuzz_exact(const uint8_t *data, size_t n) {
    static char *block;
    free(block);
    block = malloc(n > 0 ? n : 1);
    HOLDS(block != NULL);
    if (n > 0)
        memcpy(block, data, n);
    return block + (n == 0); /* of no bytes none may be read either */
}

const char *fuzz_guarded(const uint8_t *data, size_t n) {
    static char *end;
    if (end == NULL) {
        long page = sysconf(_SC_PAGESIZE);
        HOLDS(page > 0);
        size_t room = (FUZZ_MOST / (size_t)page + 1) * (size_t)page;
        char *at = mmap(NULL, room + (size_t)page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        HOLDS(at != MAP_FAILED);
        end = at + room;
        HOLDS(mprotect(end, (size_t)page, PROT_NONE) == 0);
    }
    HOLDS(n <= FUZZ_MOST);
    if (n > 0)
        memcpy(end - n, data, n);
    return end - n;
}

const char *fuzz_followed(const uint8_t *data, size_t n) {
    static const char digits[] = "9876543210 9 kB\nPss: 9 kB\n9999";
    static char block[FUZZ_MOST + sizeof digits];
    HOLDS(n <= FUZZ_MOST);
    if (n > 0)
        memcpy(block, data, n);
    memcpy(block + n, digits, sizeof digits);
    return block;
}

size_t fuzz_whole_lines(const char *text, size_t n) {
    while (n > 0 && text[n - 1] != '\n')
        n--;
    return n;
}
