/* What exists once a process: one lock, the kept-open /proc descriptors, and what fork does.
 *
 * A kept descriptor makes a reading five times cheaper than opening the file each time.  Under
 * the single lock a reading, its place in the timeline and its share in the open intervals are
 * one step; it is held for about a microsecond a tick.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "internal.h"

struct kept {
    const char *path;
    int fd;
    pid_t pid; /* whose /proc/self the descriptor is: a forked child's still names its parent */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct kept kept_files[FOX_N_FILES] = {
    [FOX_STATM] = {"/proc/self/statm", -1, 0},
    [FOX_STATUS] = {"/proc/self/status", -1, 0},
};

static void before_fork(void) {
    pthread_mutex_lock(&lock);
}

static void in_parent(void) {
    pthread_mutex_unlock(&lock);
}

/* The child has no sampling thread, and the descriptors are its parent's. */
static void in_child(void) {
    for (int file = 0; file < FOX_N_FILES; file++) {
        if (kept_files[file].fd >= 0)
            close(kept_files[file].fd);
        kept_files[file].fd = -1;
    }
    pthread_mutex_unlock(&lock);
}

static void register_fork_handlers(void) {
    (void)pthread_atfork(before_fork, in_parent, in_child);
}

void fox_lock(void) {
    pthread_once(&once, register_fork_handlers);
    pthread_mutex_lock(&lock);
}

void fox_unlock(void) {
    pthread_mutex_unlock(&lock);
}

/* Lets go of a descriptor without closing it: when it no longer answers as our file, somebody
 * closed the number under us and may have opened something of his own at it. */
void fox_kept_forget(enum fox_file file) {
    kept_files[file].fd = -1;
}

/* One pread at offset; opens the file where needed, and once more after a failure. */
int fox_kept_read(enum fox_file file, int64_t offset, char *into, size_t room, size_t *n) {
    struct kept *kept = &kept_files[file];
    pid_t pid = getpid();
    int error = 0;

    if (kept->pid != pid)
        kept->fd = -1; /* a clone that ran no fork handlers */
    for (int attempt = 0; attempt < 2; attempt++) {
        if (kept->fd < 0) {
            kept->fd = open(kept->path, O_RDONLY | O_CLOEXEC);
            if (kept->fd < 0)
                return fox_neg_errno();
            kept->pid = pid;
        }
        ssize_t got = pread(kept->fd, into, room, (off_t)offset);
        if (got >= 0) {
            *n = (size_t)got;
            return 0;
        }
        error = fox_neg_errno();
        if (error == -EBADF)
            fox_kept_forget(file);
        else if (error != -EINTR)
            break;
    }
    return error;
}
