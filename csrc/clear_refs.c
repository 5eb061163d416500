/* Resetting VmHWM: proc(5), "5" written to /proc/PID/clear_refs. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "internal.h"

/* Opened anew each time, not kept: a kept number that somebody closed and reused would make us
 * write into his file.  Whoever calls this has folded the mark away before. */
int fox_clear_refs_reset(void) {
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return fox_neg_errno();
    ssize_t wrote = write(fd, "5", 1);
    int error = wrote == 1 ? 0 : wrote < 0 ? fox_neg_errno() : -EIO;
    close(fd);
    return error;
}
