/* The timeline as Parquet: handed in memory to the Python that has the library for it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"

static int write_all(int fd, const void *from, size_t n) {
    const char *at = from;
    while (n > 0) {
        ssize_t wrote = write(fd, at, n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote < 0 ? fox_neg_errno() : -EIO;
        at += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

/* "FOXTL001", the time that all others count from, the number of buckets, the buckets. */
static int write_raw(int fd, const fox_run *run) {
    const fox_timeline *timeline = fox_tree_timeline(run->tree);
    int64_t n = fox_timeline_length(timeline);
    const int64_t head[2] = {run->begin_ns, n};
    fox_bucket *buckets = malloc((size_t)(n > 0 ? n : 1) * sizeof *buckets);
    if (buckets == NULL)
        return -ENOMEM;
    int error = fox_timeline_copy(timeline, buckets, n, &n);
    if (error == 0)
        error = write_all(fd, "FOXTL001", 8);
    if (error == 0)
        error = write_all(fd, head, sizeof head);
    if (error == 0)
        error = write_all(fd, buckets, (size_t)n * sizeof *buckets);
    free(buckets);
    return error;
}

/* Not -m, which lets a file of the current folder stand in for a module of the same name. */
static const char program[] = "import sys\n"
                              "sys.path[:] = [folder for folder in sys.path if folder]\n"
                              "from foxbench.sampler.timeline_file import main\n"
                              "sys.exit(main(sys.argv[1:]))\n";

static int convert(int fd, const fox_run *run) {
    char number[16], hz[32];
    int status;
    (void)snprintf(number, sizeof number, "%d", fd);
    (void)snprintf(hz, sizeof hz, "%.17g", run->options.hz);
    pid_t pid = fork();
    if (pid < 0)
        return fox_neg_errno();
    if (pid == 0) {
        fox_signals_give_back();
        (void)execl(run->options.python, run->options.python, "-c", program, "--from-fd", number,
                    "--hz", hz, "--", run->options.timeline_path, (char *)NULL);
        _exit(EXIT_NOT_FOUND);
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return fox_neg_errno();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

/* The samples are not lost with the conversion: they stay as they are in FILE.raw. */
static int keep_raw(const fox_run *run) {
    size_t n = strlen(run->options.timeline_path) + sizeof ".raw";
    char *path = malloc(n);
    if (path == NULL)
        return -ENOMEM;
    (void)snprintf(path, n, "%s.raw", run->options.timeline_path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int error = fd < 0 ? fox_neg_errno() : write_raw(fd, run);
    if (fd >= 0)
        close(fd);
    fox_complain("install pyarrow, then: python -m foxbench.sampler.timeline_file FILE.raw FILE",
                 error == 0 ? "the timeline could not be written as Parquet; it is in %s"
                            : "the timeline could be written neither as Parquet nor to %s",
                 path);
    free(path);
    return -EIO;
}

int fox_timeline_out(const fox_run *run) {
    int fd = memfd_create("foxbench-timeline", 0); /* inherited by the converter */
    int error = fd < 0 ? fox_neg_errno() : write_raw(fd, run);
    if (error == 0)
        error = convert(fd, run);
    if (fd >= 0)
        close(fd);
    return error == 0 ? 0 : keep_raw(run);
}
