/* What foxbench-run does when the system calls below it fail: faked at link time.
 *
 * Before the command has started a fault costs nothing: it is never run.  Once it has, its exit
 * code is not given up for a report.  Every fault of ours is 125 and says what and why on stderr.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "faults.h"

int foxbench_run_main(int argc, char **argv); /* main of the launcher, renamed by the build */

/* The one call that fails, and how; the first so many of its calls are spared.  EINTR comes once.
 */
static const char *failing = "";
static int failure, spared, own_pid;

static int fault(const char *name) {
    if (strcmp(failing, name) != 0 || getpid() != own_pid)
        return 0;
    if (spared-- > 0)
        return 0;
    if (failure == EINTR)
        failing = "";
    return failure;
}

/* RETURNS NAME(PARAMETERS): fails with BAD while it is the one that fails. */
#define FAKE(returns, bad, name, parameters, arguments)                                            \
    returns __real_##name parameters;                                                              \
    returns __wrap_##name parameters;                                                              \
    returns __wrap_##name parameters {                                                             \
        FAIL_IF(fault(#name), bad);                                                                \
        return __real_##name arguments;                                                            \
    }

FAKE(int, -1, sigaction, (int n, const struct sigaction *to, struct sigaction *old), (n, to, old))
FAKE(int, -1, sigprocmask, (int how, const sigset_t *to, sigset_t *old), (how, to, old))
FAKE(int, -1, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *time),
     (set, info, time))
FAKE(int, -1, pipe2, (int ends[2], int flags), (ends, flags))
FAKE(pid_t, -1, fork, (void), ())
FAKE(ssize_t, -1, read, (int fd, void *into, size_t n), (fd, into, n))
FAKE(int, -1, waitid, (idtype_t type, id_t id, siginfo_t *info, int flags), (type, id, info, flags))
FAKE(pid_t, -1, wait4, (pid_t pid, int *status, int flags, struct rusage *usage),
     (pid, status, flags, usage))
FAKE(pid_t, -1, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags))
FAKE(int, -1, clock_gettime, (clockid_t clock, struct timespec *out), (clock, out))
FAKE(int, -1, getrlimit, (__rlimit_resource_t what, struct rlimit *out), (what, out))
FAKE(int, -1, setrlimit, (__rlimit_resource_t what, const struct rlimit *to), (what, to))
FAKE(int, -1, mkostemp, (char *name, int flags), (name, flags))
FAKE(int, -1, fchmod, (int fd, mode_t mode), (fd, mode))
FAKE(int, -1, rename, (const char *from, const char *to), (from, to))
FAKE(char *, NULL, realpath, (const char *path, char *into), (path, into))
FAKE(char *, NULL, strdup, (const char *text), (text))
FAKE(void *, NULL, malloc, (size_t size), (size))
FAKE(void *, NULL, calloc, (size_t n, size_t size), (n, size))
FAKE(FILE *, NULL, fdopen, (int fd, const char *mode), (fd, mode))
FAKE(int, EOF, fclose, (FILE * file), (file))
FAKE(int, -1, memfd_create, (const char *name, unsigned flags), (name, flags))
FAKE(ssize_t, -1, write, (int fd, const void *from, size_t n), (fd, from, n))
FAKE(int, -1, access, (const char *path, int mode), (path, mode))
FAKE(long, -1, sysconf, (int name), (name))

int __real_prctl(int what, ...);
int __wrap_prctl(int what, ...);
int __wrap_prctl(int what, ...) {
    va_list list;
    va_start(list, what);
    unsigned long value = va_arg(list, unsigned long);
    va_end(list);
    FAIL_IF(fault("prctl"), -1);
    return __real_prctl(what, value, 0UL, 0UL, 0UL);
}

int __real_fcntl(int fd, int what, ...);
int __wrap_fcntl(int fd, int what, ...);
int __wrap_fcntl(int fd, int what, ...) {
    va_list list;
    va_start(list, what);
    int value = va_arg(list, int);
    va_end(list);
    FAIL_IF(fault("fcntl"), -1);
    return __real_fcntl(fd, what, value);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    FAIL_IF(fault("open"), -1);
    return __real_open(path, flags, mode);
}

/* ---- running it -------------------------------------------------------------------------- */

static char folder[64], said[8192];

static bool exists(const char *name) {
    char path[128];
    struct stat there;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &there) == 0;
}

/* Runs the launcher in the folder, this call of it failing; the exit code, and "said" is stderr. */
static int run(const char *name, int number, int calls_spared, char *const *arguments) {
    int ends[2], status, argc = 0;
    size_t n = 0;
    fflush(NULL);
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK(chdir(folder) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        while (arguments[argc] != NULL)
            argc++;
        failing = name;
        failure = number;
        spared = calls_spared;
        own_pid = getpid();
        int code = foxbench_run_main(argc, (char **)(uintptr_t)arguments);
        failing = "";
        exit(code);
    }
    close(ends[1]);
    for (ssize_t got = 1; got > 0 && n < sizeof said - 1; n += (size_t)got) {
        got = read(ends[0], said + n, sizeof said - 1 - n);
        CHECK(got >= 0);
    }
    said[n] = '\0';
    close(ends[0]);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define RUN(name, number, calls_spared, ...)                                                       \
    run(name, number, calls_spared,                                                                \
        (char *const[]){(char *)(uintptr_t)"foxbench-run", __VA_ARGS__, NULL})
#define COMMAND(script)                                                                            \
    (char *)(uintptr_t)"--", (char *)(uintptr_t)"/bin/sh", (char *)(uintptr_t)"-c",                \
        (char *)(uintptr_t)script
#define OPTION(text) (char *)(uintptr_t)text

/* ---- the tests --------------------------------------------------------------------------- */

static void without_a_fault_everything_works(void) {
    CHECK_EQ(RUN("", 0, 0, OPTION("-o"), OPTION("report"), COMMAND("exit 7")), 7);
    CHECK(exists("report"));
    CHECK_EQ(said[0], '\0');
}

/* What fails before the command: 125, the cause is named and the command never ran. */
static void a_fault_before_the_start_runs_nothing(void) {
    static const struct {
        const char *call;
        int number;
    } faults[] = {{"sigprocmask", EINVAL}, {"sigaction", EINVAL}, {"prctl", EPERM},
                  {"pipe2", EMFILE},       {"fork", EAGAIN},      {"clock_gettime", EINVAL},
                  {"mkostemp", EACCES},    {"malloc", ENOMEM}};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        int spare = strcmp(faults[i].call, "clock_gettime") == 0; /* that of its own CPU time */
        int code = RUN(faults[i].call, faults[i].number, spare, OPTION("-o"), OPTION("never"),
                       COMMAND("touch ran"));
        if (code != 125)
            fprintf(stderr, "%s: %s\n", faults[i].call, said);
        CHECK_EQ(code, 125);
        CHECK(strstr(said, strerror(faults[i].number)) != NULL);
        CHECK(!exists("ran") && !exists("never"));
    }
}

/* None of these is worth a run: it goes on without. */
static void a_fault_of_a_convenience_is_survived(void) {
    static const char *const calls[] = {"getrlimit", "setrlimit", "fchmod"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        CHECK_EQ(RUN(calls[i], EPERM, 0, OPTION("-o"), OPTION("kept"), COMMAND("exit 7")), 7);
        CHECK(exists("kept"));
    }
}

/* The command has an exit code of its own, and keeps it; what was lost is said. */
static void a_report_that_cannot_be_written_does_not_change_the_commands_code(void) {
    static const char *const calls[] = {"fcntl", "fdopen", "fclose", "rename"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        CHECK_EQ(RUN(calls[i], ENOSPC, 0, OPTION("-o"), OPTION("report"), COMMAND("exit 7")), 7);
        CHECK(strstr(said, strerror(ENOSPC)) != NULL);
        CHECK_EQ(RUN(calls[i], ENOSPC, 0, OPTION("-o"), OPTION("report"), COMMAND("exit 0")), 125);
        CHECK(strstr(said, strerror(ENOSPC)) != NULL);
    }
}

static void a_failed_rename_names_the_file_that_has_the_figures(void) {
    CHECK_EQ(RUN("rename", EXDEV, 0, OPTION("--json"), OPTION("figures.json"), COMMAND("true")),
             125);
    const char *name = strstr(said, "figures.json.");
    CHECK(name != NULL && !exists("figures.json"));
    char beside[64] = "";
    (void)snprintf(beside, sizeof beside, "%.*s", (int)strcspn(name, "\n"), name);
    CHECK(exists(beside));
}

static void an_old_file_is_not_lost_to_a_fault(void) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/old", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, "before", 6) == 6 && close(fd) == 0);
    CHECK_EQ(RUN("realpath", ENOMEM, 0, OPTION("-o"), OPTION("old"), COMMAND("true")), 125);
    CHECK_EQ(RUN("strdup", ENOMEM, 0, OPTION("-o"), OPTION("new"), COMMAND("true")), 125);
    CHECK_EQ(RUN("rename", EXDEV, 0, OPTION("-o"), OPTION("old"), COMMAND("true")), 125);
    struct stat there;
    CHECK(stat(path, &there) == 0 && there.st_size == 6);
    CHECK((there.st_mode & 0777) == 0600);
}

#define TIMELINE                                                                                   \
    OPTION("-q"), OPTION("--python"), OPTION("/bin/false"), OPTION("--timeline"),                  \
        OPTION("t.parquet"), COMMAND("true")

static void a_timeline_that_cannot_be_converted_is_kept_raw(void) {
    static const char *const calls[] = {"memfd_create", "waitpid"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        CHECK_EQ(RUN(calls[i], ENOSYS, 0, TIMELINE), 125);
        CHECK(strstr(said, "it is in t.parquet.raw") != NULL);
        CHECK(exists("t.parquet.raw") && !exists("t.parquet"));
    }
    CHECK_EQ(RUN("write", ENOSPC, 0, TIMELINE), 125);
    CHECK(strstr(said, "neither as Parquet nor to t.parquet.raw") != NULL);
}

static void an_interrupted_call_is_made_again(void) {
    CHECK_EQ(RUN("read", EINTR, 0, COMMAND("exit 7")), 7);
    CHECK_EQ(RUN("sigtimedwait", EINTR, 0, COMMAND("exit 7")), 7);
    CHECK_EQ(RUN("waitpid", EINTR, 0, TIMELINE), 125); /* false writes no file: said as ever */
    CHECK(strstr(said, "it is in t.parquet.raw") != NULL);
}

static void a_process_that_cannot_be_looked_at_is_not_attached_to(void) {
    CHECK_EQ(RUN("access", EACCES, 0, OPTION("--attach"), OPTION("1")), 125);
    CHECK(strstr(said, "no process 1") != NULL);
}

/* While it runs: a wait that fails, or a child that cannot be reaped, would spin.  The command is
 * waited for, and its code is given up only where there is none of its own. */
static void a_loop_that_cannot_go_on_keeps_the_commands_code(void) {
    static const char *const calls[] = {"sigtimedwait", "waitid", "wait4", "calloc", "sysconf"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        CHECK_EQ(RUN(calls[i], ENOMEM, 0, COMMAND("exit 7")), 7);
        CHECK(strstr(said, "cannot follow the command") != NULL);
        CHECK_EQ(RUN(calls[i], ENOMEM, 0, COMMAND("exit 0")), 125);
        CHECK(strstr(said, "cannot follow the command") != NULL);
    }
}

int main(void) {
    (void)snprintf(folder, sizeof folder, "/tmp/foxbench-faults-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    without_a_fault_everything_works();
    a_fault_before_the_start_runs_nothing();
    a_fault_of_a_convenience_is_survived();
    a_report_that_cannot_be_written_does_not_change_the_commands_code();
    a_failed_rename_names_the_file_that_has_the_figures();
    an_old_file_is_not_lost_to_a_fault();
    a_timeline_that_cannot_be_converted_is_kept_raw();
    an_interrupted_call_is_made_again();
    a_process_that_cannot_be_looked_at_is_not_attached_to();
    a_loop_that_cannot_go_on_keeps_the_commands_code();
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
    return 0;
}
