/* What exists once a process: one lock, the kept-open /proc descriptors, and what fork does.
 *
 * A kept descriptor makes a reading five times cheaper than opening the file each time.  Under
 * the single lock a reading, its place in the timeline and its share in the open intervals are
 * one step; it is held for about a microsecond a tick.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

struct kept {
    const char *path;
    int fd;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct kept kept_files[FOX_N_FILES] = {
    [FOX_STATM] = {"/proc/self/statm", -1},
    [FOX_STATUS] = {"/proc/self/status", -1},
    [FOX_IO] = {"/proc/self/io", -1},
};

/* A page that the kernel hands to every child as zeros, and so tells a fork without a system
 * call (madvise(2), MADV_WIPEONFORK, Linux 4.14).  NULL where it does not: then getpid tells. */
static _Atomic uint32_t *here;
static pid_t owner;

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
    if (here != NULL) /* an emulated kernel may take the advice and do nothing */
        atomic_store_explicit(here, 0, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

static void set_up(void) {
    (void)pthread_atfork(before_fork, in_parent, in_child);
    int64_t page;
    if (fox_page_bytes(&page) != 0)
        return;
    void *at = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return;
    if (madvise(at, (size_t)page, MADV_WIPEONFORK) == 0)
        here = at;
    else
        munmap(at, (size_t)page);
}

/* What is open belongs to the parent: a descriptor of /proc/self still names it. */
static void forget_parent(void) {
    for (int file = 0; file < FOX_N_FILES; file++)
        kept_files[file].fd = -1;
    fox_interval_forget_locked();
    owner = getpid();
    if (here != NULL)
        atomic_store_explicit(here, 1, memory_order_relaxed);
}

void fox_lock(void) {
    pthread_once(&once, set_up);
    pthread_mutex_lock(&lock);
    bool same =
        here != NULL ? atomic_load_explicit(here, memory_order_relaxed) != 0 : owner == getpid();
    if (!same)
        forget_parent();
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
    int error = 0;

    for (int attempt = 0; attempt < 2; attempt++) {
        if (kept->fd < 0) {
            kept->fd = open(kept->path, O_RDONLY | O_CLOEXEC);
            if (kept->fd < 0)
                return fox_neg_errno();
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
