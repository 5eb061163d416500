/* A process whose first thread has ended goes on with the others, but its own statm, status and
 * smaps_rollup are then those of a zombie: all zeros.  A living thread's are read instead. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "internal_tree.h"

enum { MOST_THREADS = 1024 }; /* one that lives is among them, or nearly always */

int fox_process_memory_file(const fox_process *process, const fox_procdir *held, const char *name,
                            char *into, size_t room, size_t *n) {
    char path[64];
    if (process->memory_thread == 0)
        return fox_procdir_read(held, name, into, room, n);
    (void)snprintf(path, sizeof path, "task/%d/%s", (int)process->memory_thread, name);
    return fox_procdir_read(held, path, into, room, n);
}

/* 0 stands for the first thread, whose files lie in the folder of the process. */
static int open_statm_of(const fox_procdir *held, pid_t thread) {
    char path[64] = "statm";
    if (thread != 0)
        (void)snprintf(path, sizeof path, "task/%d/statm", (int)thread);
    int fd = openat(held->dir, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? fox_neg_errno() : fd;
}

/* From now on that thread's memory is read, if it has any; 0 or -errno. */
static int take(fox_process *process, fox_procdir *held, pid_t thread, int64_t pages[3]) {
    fox_procdir other = *held;
    other.statm = open_statm_of(held, thread);
    if (other.statm < 0)
        return other.statm;
    int error = fox_procdir_statm(&other, pages);
    if (error != 0 || (thread != 0 && pages[0] == 0)) {
        close(other.statm);
        return error != 0 ? error : -ESRCH;
    }
    close(held->statm);
    held->statm = other.statm;
    process->memory_thread = thread;
    return 0;
}

void fox_process_statm_of(const fox_process *process, fox_procdir *held) {
    int fd = process->memory_thread != 0 ? open_statm_of(held, process->memory_thread) : -1;
    if (fd >= 0) {
        close(held->statm);
        held->statm = fd;
    }
}

int fox_process_find_memory(fox_process *process, fox_procdir *held, int64_t pages[3]) {
    static pid_t threads[MOST_THREADS]; /* one thread uses a tree */
    int n;
    if (fox_procdir_numbers(held, "task", threads, MOST_THREADS, &n) != 0)
        n = 0;
    for (int i = 0; i < n; i++)
        if (threads[i] != held->pid && take(process, held, threads[i], pages) == 0)
            return 0;
    int error = take(process, held, 0, pages);
    return error == -ENOENT ? -ESRCH : error;
}
