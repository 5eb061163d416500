/* Whether two processes share their memory, as after vfork: kcmp(2). */
#include <errno.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

int fox_same_memory(int64_t pid_a, int64_t pid_b, int *same) {
    long order = syscall(SYS_kcmp, (pid_t)pid_a, (pid_t)pid_b, KCMP_VM, 0UL, 0UL);
    if (order < 0)
        return fox_neg_errno();
    *same = order == 0;
    return 0;
}
