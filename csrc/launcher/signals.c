/* Signals are taken one by one between two samples; none of them can end us before the report. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal_tree.h"
#include "launcher.h"

enum { MOST_DEPTH = 64 }; /* of descendants; also ends a walk through pids that change meanwhile */

static sigset_t inherited;
static struct sigaction inherited_child, inherited_pipe, inherited_size;

/* Left alone: those of job control, which must stop us with the command, and our own faults. */
static const int left_alone[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGSEGV, SIGBUS,
                                 SIGFPE,  SIGILL,  SIGTRAP, SIGABRT, SIGSYS};

/* What a caller had us ignore (nohup: SIGHUP; a shell's background job: SIGINT) ends no watching.
 * A command gets it all the same: it was started ignoring it, and may have changed its mind. */
static void leave_ignored(sigset_t *waited) {
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now;
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            sigdelset(waited, ending[i]);
}

int fox_signals_take(fox_run *run) {
    struct sigaction plain = {.sa_handler = SIG_DFL}, ignored = {.sa_handler = SIG_IGN};
    sigfillset(&run->waited);
    for (size_t i = 0; i < sizeof left_alone / sizeof left_alone[0]; i++)
        sigdelset(&run->waited, left_alone[i]);
    if (run->options.attach != 0)
        leave_ignored(&run->waited);
    if (sigprocmask(SIG_SETMASK, &run->waited, &inherited) != 0)
        return fox_neg_errno();
    /* An inherited "ignore" of SIGCHLD would lose the exit code; a report into a closed pipe
     * must not lose it either. */
    if (sigaction(SIGCHLD, &plain, &inherited_child) != 0 ||
        sigaction(SIGPIPE, &ignored, &inherited_pipe) != 0 ||
        sigaction(SIGXFSZ, &ignored, &inherited_size) != 0)
        return fox_neg_errno();
    /* Python ignores these two from its start, and started us: no command expects that. */
    if (run->options.python != NULL)
        inherited_pipe = inherited_size = plain;
    return 0;
}

void fox_signals_give_back(void) {
    (void)sigaction(SIGCHLD, &inherited_child, NULL);
    (void)sigaction(SIGPIPE, &inherited_pipe, NULL);
    (void)sigaction(SIGXFSZ, &inherited_size, NULL);
    (void)sigprocmask(SIG_SETMASK, &inherited, NULL);
}

int fox_signals_wait(const fox_run *run, int64_t deadline_ns, siginfo_t *info) {
    int64_t now;
    int error = fox_clock_ns(&now);
    if (error != 0)
        return error;
    int64_t left = deadline_ns > now ? deadline_ns - now : 0;
    const struct timespec timeout = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    memset(info, 0, sizeof *info);
    if (sigtimedwait(&run->waited, info, &timeout) > 0 || errno == EAGAIN || errno == EINTR)
        return 0;
    return fox_neg_errno();
}

/* Whether the command or a descendant of it is the sender. */
static bool is_of_the_command(const fox_run *run, pid_t sender) {
    const fox_procdir proc = {0, AT_FDCWD, -1};
    for (int depth = 0; depth < MOST_DEPTH && sender > 1 && sender != getpid(); depth++) {
        char path[32], text[1024];
        size_t n;
        fox_stat stat;
        if (sender == run->child)
            return true;
        (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)sender);
        if (fox_procdir_read(&proc, path, text, sizeof text, &n) != 0 ||
            fox_stat_parse(text, n, &stat) != 0)
            return false;
        sender = stat.ppid;
    }
    return false;
}

/* Once, and not twice: what the terminal sends (si_code above 0), or the command by kill(0, …) to
 * its own group, has reached the command too.  That somebody else means our whole group and not us
 * alone cannot be told.  The timer of alarm(2) survives exec but no fork: it is ours alone. */
void fox_signals_forward(const fox_run *run, const siginfo_t *info) {
    const bool by_its_group =
        getpgid(info->si_pid) == getpgrp() && is_of_the_command(run, info->si_pid);
    const bool sent = info->si_code <= 0 && !by_its_group;
    if ((sent || info->si_signo == SIGALRM) && run->child > 0 && !run->child_ended)
        (void)kill(run->child, info->si_signo);
}
