/* When sampling fails the command is waited for all the same: its exit code is its user's. */
#include <errno.h>
#include <sys/wait.h>
#include <time.h>

#include "launcher.h"

enum { LOOK_EVERY_NS = 50000000 };

void fox_wait_out(fox_run *run) {
    const struct timespec pause = {0, LOOK_EVERY_NS};
    while (!run->child_ended) {
        int status;
        siginfo_t info;
        int64_t now;
        pid_t ended = waitpid(run->child, &status, WNOHANG);
        if (ended == run->child)
            fox_child_ended(run, status);
        else if (ended < 0 && errno == ECHILD)
            return; /* reaped in the middle of the fault: its code is not known */
        else if (fox_clock_ns(&now) != 0 || fox_signals_wait(run, now + LOOK_EVERY_NS, &info) != 0)
            (void)nanosleep(&pause, NULL);
        else if (info.si_signo != 0 && info.si_signo != SIGCHLD)
            fox_signals_forward(run, &info);
    }
}
