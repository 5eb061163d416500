/* SigIgn of /proc/PID/status: 16 hexadecimal digits (fs/proc/array.c, render_sigset_t). */
#include <signal.h>

#include "fuzz.h"
#include "internal_tree.h"

/* Any mask as the kernel writes it, the status lines around it; and in capitals. */
static void any_mask_is_understood(uint64_t mask) {
    char text[2][256];
    (void)snprintf(text[0], sizeof text[0],
                   "SigBlk:\tffffffffffffffff\nSigIgn:\t%016" PRIx64 "\nSigCgt:\t0\n", mask);
    (void)snprintf(text[1], sizeof text[1], "Name:\tSigIgn: 1\nSigIgn:\t%016" PRIX64 "\n", mask);
    for (int i = 0; i < 2; i++) {
        bool ignores;
        HOLDS(fox_ignores_sigchld_parse(text[i], strlen(text[i]), &ignores) == 0);
        HOLDS(ignores == ((mask & (UINT64_C(1) << (SIGCHLD - 1))) != 0));
    }
}

/* The first such line counts, and without a digit it is no mask. */
static void a_line_without_digits_is_no_mask(const uint8_t *data, size_t n) {
    static char text[FUZZ_MOST + 16];
    static const char line[] = "SigIgn:\t\n";
    bool ignores;
    memcpy(text, line, sizeof line - 1);
    memcpy(text + sizeof line - 1, data, n);
    HOLDS(fox_ignores_sigchld_parse(text, sizeof line - 1 + n, &ignores) == -EPROTO);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    bool exact = false, other = false;
    uint64_t mask = 0;
    if (n > FUZZ_MOST)
        n = FUZZ_MOST;
    int error = fox_ignores_sigchld_parse(fuzz_exact(data, n), n, &exact);
    HOLDS(error == 0 || error == -EPROTO);
    HOLDS(fox_ignores_sigchld_parse(fuzz_guarded(data, n), n, &other) == error);
    HOLDS(other == exact);
    /* What follows may only end the line: else it would belong to its number. */
    size_t whole = fuzz_whole_lines((const char *)data, n);
    int whole_error = fox_ignores_sigchld_parse((const char *)data, whole, &exact);
    HOLDS(fox_ignores_sigchld_parse(fuzz_followed(data, whole), whole, &other) == whole_error);
    HOLDS(whole_error != 0 || other == exact);

    memcpy(&mask, data, n < sizeof mask ? n : sizeof mask);
    any_mask_is_understood(mask);
    a_line_without_digits_is_no_mask(data, n);
    return 0;
}
