/* uname's release: "6.18.44-anything", ended by a NUL. */
#include "fuzz.h"
#include "internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static char release[FUZZ_MOST];
    int major = -7, minor = -7, again_major, again_minor;
    if (n > FUZZ_MOST - 1)
        n = FUZZ_MOST - 1;
    memcpy(release, data, n);
    release[n] = '\0';
    n = strlen(release);
    int error = fox_kernel_parse(fuzz_exact((const uint8_t *)release, n + 1), &major, &minor);

    HOLDS(error == 0 || error == -EPROTO);
    if (error != 0) {
        HOLDS(major == -7 && minor == -7);
        return 0;
    }
    HOLDS(major >= 0 && minor >= 0 && major <= 100000 && minor <= 100000);
    HOLDS(fox_kernel_parse(fuzz_guarded((const uint8_t *)release, n + 1), &again_major,
                           &again_minor) == 0);
    HOLDS(again_major == major && again_minor == minor);

    char text[64];
    (void)snprintf(text, sizeof text, "%d.%d.7-rc1+", major, minor);
    HOLDS(fox_kernel_parse(text, &again_major, &again_minor) == 0);
    HOLDS(again_major == major && again_minor == minor);
    /* What follows the minor version says nothing about it. */
    HOLDS(sscanf(release, "%d.%d", &again_major, &again_minor) == 2);
    HOLDS(again_major == major && again_minor == minor);
    /* Any version that we understand has a bound, and it is a bound of something. */
    HOLDS(fox_error_bound_bytes(major, minor, 2, 1, 4096) > 0);
    return 0;
}
