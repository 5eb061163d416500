/* Starting the command: by fork from this small process, so that it inherits no one's peak. */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"

static _Noreturn void become(char **command, int told) {
    fox_signals_give_back();
    (void)execvp(command[0], command);
    int error = errno;
    (void)!write(told, &error, sizeof error);
    _exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

static int read_errno(int from, int *exec_errno) {
    ssize_t got;
    do
        got = read(from, exec_errno, sizeof *exec_errno);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fox_neg_errno();
    if (got == 0)
        *exec_errno = 0; /* the pipe closed: the command is running */
    return 0;
}

int fox_spawn(fox_run *run, int *exec_errno) {
    int ends[2];
    if (prctl(PR_SET_CHILD_SUBREAPER, 1UL) != 0 || pipe2(ends, O_CLOEXEC) != 0)
        return fox_neg_errno();
    fox_strangers_find();
    int error = fox_clock_ns(&run->begin_ns);
    run->child = error == 0 ? fork() : -1;
    if (run->child == 0)
        become(run->options.command, ends[1]);
    if (run->child < 0 && error == 0)
        error = fox_neg_errno();
    close(ends[1]);
    if (error == 0)
        error = read_errno(ends[0], exec_errno);
    close(ends[0]);
    if (run->child > 0 && *exec_errno != 0)
        (void)waitpid(run->child, NULL, 0);
    return error;
}
