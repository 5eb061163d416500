/* Reaping: the command itself, and the orphans that the kernel hands to their subreaper. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "launcher.h"

static int64_t ns(struct timeval time) {
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

/* The usage of a process and of all that it waited for. */
static void add_usage(fox_run_result *result, const struct rusage *usage) {
    result->user_ns += ns(usage->ru_utime);
    result->system_ns += ns(usage->ru_stime);
    result->minor_faults += usage->ru_minflt;
    result->major_faults += usage->ru_majflt;
    result->voluntary_ctxt_switches += usage->ru_nvcsw;
    result->involuntary_ctxt_switches += usage->ru_nivcsw;
    result->fs_inputs += usage->ru_inblock;
    result->fs_outputs += usage->ru_oublock;
    result->swaps += usage->ru_nswap;
    result->messages_sent += usage->ru_msgsnd;
    result->messages_received += usage->ru_msgrcv;
    result->signals += usage->ru_nsignals;
}

void fox_child_ended(fox_run *run, int status) {
    int64_t now;
    run->child_ended = true;
    if (fox_clock_ns(&now) == 0)
        run->result.elapsed_ns = now - run->begin_ns;
    if (WIFSIGNALED(status))
        run->result.term_signal = WTERMSIG(status);
    else
        run->result.exit_code = WEXITSTATUS(status);
}

int fox_reap(fox_run *run) {
    for (;;) {
        siginfo_t ended = {.si_pid = 0};
        struct rusage usage;
        int status;
        /* First only looked at: a zombie still has a name, what was reaped has none. */
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0)
            return errno == ECHILD ? 0 : fox_neg_errno();
        if (ended.si_pid == 0)
            return 0;
        const bool stranger = fox_strangers_forget(ended.si_pid);
        if (!stranger)
            fox_tree_ending(run->tree, ended.si_pid);
        if (wait4(ended.si_pid, &status, WNOHANG, &usage) != ended.si_pid)
            return fox_neg_errno();
        if (stranger)
            continue;
        add_usage(&run->result, &usage);
        (void)fox_tree_reaped(run->tree, ended.si_pid, (int64_t)usage.ru_maxrss * 1024);
        if (ended.si_pid == run->child)
            fox_child_ended(run, status);
        else
            run->result.orphans_reaped++;
    }
}
