/* /proc/PID/statm: "%lu %lu %lu ..." (fs/proc/array.c, proc_pid_statm). */
#include "fuzz.h"
#include "internal.h"

static const int64_t most_pages = INT64_MAX / (1 << 20); /* as statm.c promises */

static void comes_back_from_its_own_print(const int64_t pages[3]) {
    char text[128];
    int64_t again[3];
    int n = snprintf(text, sizeof text, "%" PRId64 " %" PRId64 " %" PRId64 " 1 0 7 0\n", pages[0],
                     pages[1], pages[2]);
    HOLDS(n > 0 && (size_t)n < sizeof text);
    HOLDS(fox_statm_parse(text, (size_t)n, again) == 0);
    HOLDS(memcmp(again, pages, sizeof again) == 0);
}

/* Where the text is cut, no shorter number is taken for the whole one. */
static void no_beginning_tells_another_number(const char *text, size_t n, const int64_t pages[3]) {
    int64_t cut[3];
    for (size_t i = 0; i < n && i < 128; i++)
        if (fox_statm_parse(text, i, cut) == 0)
            HOLDS(memcmp(cut, pages, sizeof cut) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    int64_t exact[3] = {-7, -7, -7}, guarded[3] = {-7, -7, -7}, followed[3] = {-7, -7, -7};
    if (n > FUZZ_MOST)
        n = FUZZ_MOST;
    const char *text = fuzz_exact(data, n);
    int error = fox_statm_parse(text, n, exact);

    HOLDS(error == 0 || error == -EPROTO);
    HOLDS(fox_statm_parse(fuzz_guarded(data, n), n, guarded) == error);
    HOLDS(fox_statm_parse(fuzz_followed(data, n), n, followed) == error);
    if (error != 0)
        return 0;
    for (int i = 0; i < 3; i++)
        HOLDS(exact[i] >= 0 && exact[i] <= most_pages);
    HOLDS(memcmp(exact, guarded, sizeof exact) == 0);
    HOLDS(memcmp(exact, followed, sizeof exact) == 0);
    HOLDS(text[0] >= '0' && text[0] <= '9');
    comes_back_from_its_own_print(exact);
    no_beginning_tells_another_number(text, n, exact);
    return 0;
}
