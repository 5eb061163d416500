/* A file that appears whole or not at all: written beside its place, then renamed. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"

/* What is no regular file (a terminal, a pipe, /dev/null) is written to as it stands. */
static int open_as_it_is(fox_outfile *out) {
    out->fd = open(out->path, O_WRONLY | O_CLOEXEC);
    return out->fd < 0 ? fox_neg_errno() : 0;
}

/* /dev/stdout and whatever else the command writes to: replaced, its output would be lost. */
static int standard_descriptor_of(const struct stat *there) {
    struct stat ours;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &ours) == 0 && ours.st_dev == there->st_dev && ours.st_ino == there->st_ino)
            return fd;
    return -1;
}

static int share(int fd, fox_outfile *out) {
    out->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return out->fd < 0 ? fox_neg_errno() : 0;
}

static int open_beside(fox_outfile *out, mode_t mode) {
    size_t n = strlen(out->path) + sizeof ".XXXXXX";
    out->beside = malloc(n);
    if (out->beside == NULL)
        return -ENOMEM;
    (void)snprintf(out->beside, n, "%s.XXXXXX", out->path);
    out->fd = mkostemp(out->beside, O_CLOEXEC);
    if (out->fd < 0)
        return fox_neg_errno();
    (void)fchmod(out->fd, mode);
    return 0;
}

int fox_outfile_open(const char *path, fox_outfile *out) {
    struct stat there;
    mode_t mask = umask(0);
    (void)umask(mask);
    *out = (fox_outfile){.fd = -1};
    bool exists = stat(path, &there) == 0;
    /* Through links: the file they lead to is replaced and they stay. */
    out->path = exists ? realpath(path, NULL) : strdup(path);
    if (out->path == NULL)
        return fox_neg_errno();
    const int standard = exists ? standard_descriptor_of(&there) : -1;
    int error;
    if (standard >= 0)
        error = share(standard, out);
    else if (exists && !S_ISREG(there.st_mode))
        error = open_as_it_is(out);
    else
        error = open_beside(out, exists ? there.st_mode & 0777 : 0666 & ~mask);
    if (error == 0)
        return 0;
    fox_complain("name a file in a folder that you may write to", "cannot write %s: %s", path,
                 strerror(-error));
    fox_outfile_drop(out);
    return error;
}

static void release(fox_outfile *file) {
    if (file->fd >= 0)
        close(file->fd);
    free(file->path);
    free(file->beside);
    *file = (fox_outfile){.fd = -1};
}

int fox_outfile_finish(fox_outfile *file) {
    int error = 0;
    if (file->beside != NULL && rename(file->beside, file->path) != 0) {
        error = fox_neg_errno();
        fox_complain("the figures are in the file named last", "cannot write %s: %s; %s",
                     file->path, strerror(-error), file->beside);
    }
    release(file);
    return error;
}

void fox_outfile_drop(fox_outfile *file) {
    if (file->beside != NULL && file->fd >= 0)
        (void)unlink(file->beside);
    release(file);
}
