/* Signals are taken one by one between two samples; none of them can end us before the report. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "launcher.h"

static sigset_t inherited;
static struct sigaction inherited_child, inherited_pipe, inherited_size;

/* Left alone: those of job control, which must stop us with the command, and our own faults. */
static const int left_alone[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGSEGV, SIGBUS,
                                 SIGFPE,  SIGILL,  SIGTRAP, SIGABRT, SIGSYS};

int fox_signals_take(fox_run *run) {
    struct sigaction plain = {.sa_handler = SIG_DFL}, ignored = {.sa_handler = SIG_IGN};
    sigfillset(&run->waited);
    for (size_t i = 0; i < sizeof left_alone / sizeof left_alone[0]; i++)
        sigdelset(&run->waited, left_alone[i]);
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

/* What the terminal sends (si_code above 0) has reached the command too: it is of our group. */
void fox_signals_forward(const fox_run *run, const siginfo_t *info) {
    if (info->si_code <= 0 && run->child > 0 && !run->child_ended)
        (void)kill(run->child, info->si_signo);
}
