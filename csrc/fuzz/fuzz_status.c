/* /proc/PID/status: lines "Key:\tvalue kB" (fs/proc/task_mmu.c, task_mem). */
#include "fuzz.h"
#include "internal.h"

enum { N_FIELDS = sizeof(fox_status) / sizeof(int64_t) };

static const char *const keys[N_FIELDS] = {"VmHWM",    "VmRSS",  "RssAnon",      "RssFile",
                                           "RssShmem", "VmSwap", "HugetlbPages", "Threads"};

static void parse(const char *text, size_t n, int64_t fields[N_FIELDS]) {
    fox_status status;
    memset(&status, 0x55, sizeof status); /* what it does not set would show */
    fox_status_parse(text, n, &status);
    memcpy(fields, &status, sizeof status);
}

static bool same(const int64_t a[N_FIELDS], const int64_t b[N_FIELDS]) {
    return memcmp(a, b, N_FIELDS * sizeof *a) == 0;
}

static int64_t unit(int field) {
    return field < N_FIELDS - 1 ? 1024 : 1;
}

static void comes_back_from_its_own_print(const int64_t fields[N_FIELDS]) {
    char text[1024] = "Name:\tVmRSS: 77 kB\n";
    int64_t again[N_FIELDS];
    size_t n = strlen(text);
    for (int i = 0; i < N_FIELDS; i++)
        if (fields[i] >= 0)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s:\t%8" PRId64 " kB\n", keys[i],
                                  fields[i] / unit(i));
    parse(text, n, again);
    HOLDS(same(again, fields));
}

/* Another line changes the field that it names, and no other one. */
static void a_line_more_changes_one_field(const uint8_t *data, size_t n, const int64_t old[]) {
    static char text[FUZZ_MOST + 64];
    int64_t more[N_FIELDS];
    memcpy(text, data, n);
    for (int i = 0; i < N_FIELDS; i++) {
        int length = snprintf(text + n, sizeof text - n, "%s:\t4242 kB\nSigQ:\t1/2\n", keys[i]);
        parse(text, n + (size_t)length, more);
        for (int other = 0; other < N_FIELDS; other++)
            HOLDS(more[other] == (other == i ? 4242 * unit(i) : old[other]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    int64_t exact[N_FIELDS], other[N_FIELDS];
    if (n > FUZZ_MOST)
        n = FUZZ_MOST;
    parse(fuzz_exact(data, n), n, exact);
    for (int i = 0; i < N_FIELDS; i++)
        HOLDS(exact[i] == -1 || (exact[i] >= 0 && exact[i] % unit(i) == 0));
    parse(fuzz_guarded(data, n), n, other);
    HOLDS(same(exact, other));
    parse(fuzz_followed(data, n), n, other);
    HOLDS(same(exact, other));
    comes_back_from_its_own_print(exact);

    size_t whole = fuzz_whole_lines((const char *)data, n);
    parse((const char *)data, whole, other);
    a_line_more_changes_one_field(data, whole, other);
    return 0;
}
