/* What goes wrong is said on stderr, with what mends it. */
#include <stdarg.h>

#include "launcher.h"

void fox_complain(const char *remedy, const char *what, ...) {
    va_list values;
    va_start(values, what);
    (void)fputs("foxbench run: ", stderr);
    (void)vfprintf(stderr, what, values);
    va_end(values);
    if (remedy != NULL)
        (void)fprintf(stderr, "\n  mend: %s", remedy);
    (void)fputc('\n', stderr);
}
