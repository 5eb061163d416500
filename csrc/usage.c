/* getrusage: CPU time, faults, context switches and blocks; never a peak. */
#include <sys/resource.h>

#include "internal.h"

static int64_t ns(struct timeval time) {
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

int fox_usage_read(fox_usage *out) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return fox_neg_errno();
    out->user_ns = ns(usage.ru_utime);
    out->system_ns = ns(usage.ru_stime);
    out->minor_faults = usage.ru_minflt;
    out->major_faults = usage.ru_majflt;
    out->voluntary_ctxt_switches = usage.ru_nvcsw;
    out->involuntary_ctxt_switches = usage.ru_nivcsw;
    out->fs_inputs = usage.ru_inblock;
    out->fs_outputs = usage.ru_oublock;
    return 0;
}
