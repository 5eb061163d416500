/* One /proc/PID, held by a directory descriptor: once its process is gone every file of it says
 * ESRCH, whoever has got the pid since. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal_tree.h"

int fox_procdir_open(pid_t pid, fox_procdir *out) {
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/%d", (int)pid);
    out->pid = pid;
    out->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (out->dir < 0)
        return errno == ENOENT ? -ESRCH : fox_neg_errno();
    out->statm = openat(out->dir, "statm", O_RDONLY | O_CLOEXEC);
    if (out->statm >= 0)
        return 0;
    int error = errno == ENOENT ? -ESRCH : fox_neg_errno();
    close(out->dir);
    out->dir = -1;
    return error;
}

void fox_procdir_close(fox_procdir *dir) {
    if (dir->statm >= 0)
        close(dir->statm);
    if (dir->dir >= 0)
        close(dir->dir);
    dir->statm = dir->dir = -1;
}

static ssize_t read_again(int fd, char *into, size_t room) {
    ssize_t got;
    do
        got = read(fd, into, room);
    while (got < 0 && errno == EINTR);
    return got;
}

int fox_procdir_read(const fox_procdir *dir, const char *name, char *into, size_t room, size_t *n) {
    int fd = openat(dir->dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fox_neg_errno();
    int error = 0;
    *n = 0;
    while (*n < room) {
        ssize_t got = read_again(fd, into + *n, room - *n);
        if (got < 0)
            error = fox_neg_errno();
        if (got <= 0)
            break;
        *n += (size_t)got;
    }
    close(fd);
    return error;
}

int fox_procdir_statm(const fox_procdir *dir, int64_t pages[3]) {
    char text[128];
    ssize_t got;
    do
        got = pread(dir->statm, text, sizeof text, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fox_neg_errno();
    return got == 0 ? -ESRCH : fox_statm_parse(text, (size_t)got, pages);
}

/* As the kernel writes it into the buffer; libc's readdir would allocate. */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static pid_t numeric(const char *name) {
    int64_t value = 0;
    for (; *name >= '0' && *name <= '9'; name++) {
        value = value * 10 + (*name - '0');
        if (value > FOX_PID_LIMIT)
            return 0;
    }
    return *name == '\0' ? (pid_t)value : 0;
}

int fox_procdir_numbers(const fox_procdir *dir, const char *name, pid_t *into, int room, int *n) {
    static _Alignas(struct entry) char buffer[32768]; /* one thread uses a tree */
    int fd = openat(dir->dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fox_neg_errno();
    int error = 0;
    *n = 0;
    for (;;) {
        long got = syscall(SYS_getdents64, fd, buffer, sizeof buffer);
        if (got < 0)
            error = fox_neg_errno();
        if (got <= 0)
            break;
        for (long at = 0; at < got;) {
            const struct entry *entry = (const struct entry *)(const void *)(buffer + at);
            pid_t number = numeric(entry->name);
            if (number > 0 && *n < room)
                into[(*n)++] = number;
            at += entry->length;
        }
    }
    close(fd);
    return error;
}
