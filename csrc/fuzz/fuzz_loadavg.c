/* /proc/loadavg: "0.01 0.05 0.00 2/345 last_pid\n" (fs/proc/loadavg.c). */
#include "fuzz.h"
#include "internal_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    pid_t exact = -7, other = -7;
    char line[64];
    if (n > FUZZ_MOST)
        n = FUZZ_MOST;
    const char *text = fuzz_exact(data, n);
    int error = fox_loadavg_parse(text, n, &exact);
    HOLDS(error == 0 || error == -EPROTO);
    HOLDS(fox_loadavg_parse(fuzz_guarded(data, n), n, &other) == error && other == exact);
    HOLDS(fox_loadavg_parse(fuzz_followed(data, n), n, &other) == error && other == exact);
    if (error != 0) {
        HOLDS(exact == -7);
        return 0;
    }
    HOLDS(exact >= 0 && exact <= FOX_PID_LIMIT);
    int length = snprintf(line, sizeof line, "0.00 12.34 0.00 2/345 %d\n", (int)exact);
    HOLDS(fox_loadavg_parse(line, (size_t)length, &other) == 0 && other == exact);
    /* Where the text is cut, no shorter number is taken for the whole one. */
    for (size_t cut = 0; cut < n && cut < 256; cut++)
        if (fox_loadavg_parse(text, cut, &other) == 0)
            HOLDS(other == exact);
    return 0;
}
