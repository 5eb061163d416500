/* How the instrument's failures become numbers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

/* -errno of the call that just failed; never 0, so that a failure can't read as success. */
int fox_neg_errno(void) {
    return errno > 0 ? -errno : -EIO;
}

/* For states that the code rules out.  The tests abort there; a user gets an error instead. */
int fox_impossible(const char *what) {
#ifdef FOX_ABORT_ON_IMPOSSIBLE
    fprintf(stderr, "foxsampler: impossible: %s\n", what);
    abort();
#else
    (void)what;
    return -EPROTO;
#endif
}
