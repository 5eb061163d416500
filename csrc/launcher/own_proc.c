/* Whether the numbers in /proc are those that fork gives us.
 *
 * In a pid namespace that was given no /proc of its own (unshare -pf) they are not: the command's
 * number names some stranger there, whose memory would be reported as the command's.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "internal_tree.h"
#include "launcher.h"

int fox_own_proc(void) {
    const fox_procdir proc = {0, AT_FDCWD, -1};
    char text[1024];
    size_t n;
    fox_stat self;

    int error = fox_procdir_read(&proc, "/proc/self/stat", text, sizeof text, &n);
    if (error == 0)
        error = fox_stat_parse(text, n, &self);
    if (error != 0)
        return error;
    if (self.pid == getpid())
        return 0;
    fox_complain("mount one: unshare --mount-proc, or mount -t proc proc /proc",
                 "/proc is of another pid namespace: its numbers are other processes");
    return -ESRCH;
}
