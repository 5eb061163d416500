/* /proc/PID/smaps_rollup: lines "Pss:  123 kB" (fs/proc/task_mmu.c, __show_smap). */
#include "fuzz.h"
#include "internal_tree.h"

/* The file as the kernel writes it, this figure in it. */
static void comes_back_from_its_own_print(int64_t bytes) {
    char text[512];
    int64_t again;
    int n = snprintf(text, sizeof text,
                     "00400000-7fff0000 ---p 00000000 00:00 0    [rollup]\nRss:  7 kB\n"
                     "Pss: %14" PRId64 " kB\nPss_Dirty:  9 kB\nPss_Anon:  9 kB\nSwapPss: 9 kB\n",
                     bytes / 1024);
    HOLDS(n > 0 && (size_t)n < sizeof text);
    HOLDS(fox_pss_parse(text, (size_t)n, &again) == 0 && again == bytes);
}

static void lines_of_other_keys_say_nothing(const uint8_t *data, size_t n, int error,
                                            int64_t bytes) {
    static const char before[] = "Rss: 5 kB\nPss_Dirty:  9 kB\nSwapPss:  9 kB\n Pss: 9 kB\nPss\n";
    static char text[sizeof before + FUZZ_MOST];
    int64_t again;
    memcpy(text, before, sizeof before - 1);
    memcpy(text + sizeof before - 1, data, n);
    HOLDS(fox_pss_parse(text, sizeof before - 1 + n, &again) == error);
    HOLDS(error != 0 || again == bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    int64_t exact = -7, other = -7;
    if (n > FUZZ_MOST)
        n = FUZZ_MOST;
    const char *text = fuzz_exact(data, n);
    int error = fox_pss_parse(text, n, &exact);
    HOLDS(error == 0 || error == -EPROTO);
    HOLDS(fox_pss_parse(fuzz_guarded(data, n), n, &other) == error && other == exact);
    HOLDS(fox_pss_parse(fuzz_followed(data, n), n, &other) == error);
    HOLDS(error != 0 || other == exact);
    lines_of_other_keys_say_nothing(data, n, error, exact);
    if (error != 0) {
        HOLDS(exact == -7);
        return 0;
    }
    HOLDS(exact >= 0 && exact % 1024 == 0);
    comes_back_from_its_own_print(exact);
    /* Where the text is cut, no shorter number is taken for the whole one. */
    for (size_t cut = 0; cut < n && cut < 256; cut++)
        if (fox_pss_parse(text, cut, &other) == 0)
            HOLDS(other == exact);
    return 0;
}
