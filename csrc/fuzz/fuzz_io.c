/* /proc/PID/io: seven lines "key: value" (fs/proc/base.c, do_io_accounting). */
#include "fuzz.h"
#include "internal.h"

enum { N_FIELDS = sizeof(fox_io) / sizeof(int64_t) };

static const char *const keys[N_FIELDS] = {
    "rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes"};

static int parse(const char *text, size_t n, int64_t fields[N_FIELDS]) {
    fox_io io;
    memset(&io, 0x55, sizeof io);
    int error = fox_io_parse(text, n, &io);
    memcpy(fields, &io, sizeof io);
    return error;
}

/* In any order of the lines; and without any one of them it is not that file. */
static void comes_back_from_its_own_print(const int64_t fields[N_FIELDS], int first) {
    int64_t again[N_FIELDS];
    for (int left_out = -1; left_out < N_FIELDS; left_out++) {
        char text[512];
        size_t n = 0;
        for (int i = 0; i < N_FIELDS; i++) {
            int field = (first + i) % N_FIELDS;
            if (field != left_out)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s: %" PRId64 "\n", keys[field],
                                      fields[field]);
        }
        int error = parse(text, n, again);
        HOLDS(error == (left_out < 0 ? 0 : -EPROTO));
        for (int i = 0; i < N_FIELDS; i++)
            HOLDS(again[i] == (i == left_out ? -1 : fields[i]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    int64_t exact[N_FIELDS], other[N_FIELDS];
    if (n > FUZZ_MOST)
        n = FUZZ_MOST;
    int error = parse(fuzz_exact(data, n), n, exact);
    bool all = true;
    for (int i = 0; i < N_FIELDS; i++) {
        HOLDS(exact[i] >= -1);
        all = all && exact[i] >= 0;
    }
    HOLDS(error == (all ? 0 : -EPROTO));
    HOLDS(parse(fuzz_guarded(data, n), n, other) == error);
    HOLDS(memcmp(exact, other, sizeof exact) == 0);
    HOLDS(parse(fuzz_followed(data, n), n, other) == error);
    HOLDS(memcmp(exact, other, sizeof exact) == 0);
    if (error == 0)
        comes_back_from_its_own_print(exact, (int)(n % N_FIELDS));
    return 0;
}
