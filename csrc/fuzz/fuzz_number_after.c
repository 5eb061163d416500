/* One line "key: number", whatever the key: the first byte says how long it is. */
#include "fuzz.h"
#include "internal.h"

/* The same by other means: no arithmetic of ours in it. */
static int64_t expected(const char *line, size_t n, const char *key) {
    char digits[32] = "";
    size_t length = strlen(key), at = length + 1, count = 0;
    if (n <= length || strncmp(line, key, length) != 0 || line[length] != ':')
        return -1;
    while (at < n && strchr(" \t", line[at]) != NULL && line[at] != '\0')
        at++;
    while (at < n && line[at] == '0' && at + 1 < n && line[at + 1] >= '0' && line[at + 1] <= '9')
        at++; /* leading zeros say nothing */
    while (at < n && line[at] >= '0' && line[at] <= '9') {
        if (count == 19)
            return -1; /* INT64_MAX has 19 digits */
        digits[count++] = line[at++];
    }
    if (count == 0)
        return -1;
    errno = 0;
    long long value = strtoll(digits, NULL, 10);
    return errno != 0 ? -1 : value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char key[17] = "";
    if (n == 0 || n > FUZZ_MOST)
        return 0;
    size_t length = data[0] % sizeof key;
    data++;
    n--;
    /* The key is the line's own beginning, so that it often fits. */
    memcpy(key, data, length < n ? length : n);

    int64_t value = fox_number_after(fuzz_exact(data, n), n, key);
    HOLDS(value >= -1);
    HOLDS(fox_number_after(fuzz_guarded(data, n), n, key) == value);
    HOLDS(fox_number_after(fuzz_followed(data, n), n, key) == value);
    int64_t wanted = expected((const char *)data, n, key);
    /* Of the ten largest numbers of 64 bits it may say "not there": a margin in its test. */
    HOLDS(value == wanted || (value == -1 && wanted > INT64_MAX - 10));
    return 0;
}
