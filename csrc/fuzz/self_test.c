/* A fuzzer with a fault that can be found: proof that the driver finds one and keeps its input. */
#include "fuzz.h"

static const char word[] = "VmSwap:"; /* in the dictionary, and not in the input to begin with */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *text = fuzz_exact(data, n);
    const bool overruns = getenv("FOX_SELF_TEST_OVERRUN") != NULL;
    for (size_t at = 0; at + sizeof word - 1 <= n; at++) {
        bool found = memcmp(text + at, word, sizeof word - 1) == 0;
        if (found && overruns) /* a read beyond the input and no property: for AddressSanitizer */
            (void)*(const volatile char *)(text + n);
        HOLDS(!found || overruns);
    }
    return 0;
}
