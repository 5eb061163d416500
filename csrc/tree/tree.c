/* The tree: who belongs to it, one sample of all, and the figures that come of them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal_tree.h"

enum { SLOTS = FOX_PID_LIMIT + 1 };

int64_t fox_larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* ---- making and freeing ------------------------------------------------------------------ */

static void *map(size_t size) {
    /* Pages come as they are first used: a small tree needs a few of them. */
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static int bound(int64_t page_bytes, int64_t *out) {
    int major = 0, minor = 0;
    int error = fox_kernel_version(&major, &minor);
    if (error != 0)
        return error;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (cpus < 1 || cpus > 1 << 20)
        return -EPROTO;
    enum { THREADS_BEFORE_6_2 = 64 }; /* the bound grows with them there: a generous guess */
    int64_t bytes = fox_error_bound_bytes(major, minor, (int)cpus, THREADS_BEFORE_6_2, page_bytes);
    if (bytes < 0)
        return (int)bytes;
    *out = bytes;
    return 0;
}

int fox_tree_new(pid_t root, const fox_tree_options *options, fox_tree **out) {
    if (root <= 0 || root > FOX_PID_LIMIT)
        return -EINVAL;
    fox_tree *tree = calloc(1, sizeof *tree);
    if (tree == NULL)
        return -ENOMEM;
    tree->options = *options;
    tree->root = root;
    tree->loadavg = -1;
    tree->last_pid = -1;
    tree->result = (fox_tree_result){.peak_single_bytes = -1,
                                     .peak_single_pid = -1,
                                     .peak_err_bytes = -1,
                                     .peak_tree_rss_bytes = -1,
                                     .peak_tree_pss_bytes = -1,
                                     .avg_rss_bytes = -1,
                                     .rss_bytes = -1};
    tree->processes = map(FOX_TREE_ROOM * sizeof *tree->processes);
    tree->slot_of = map(SLOTS * sizeof *tree->slot_of);
    int error = tree->processes == NULL || tree->slot_of == NULL ? -ENOMEM : 0;
    if (error == 0)
        error = fox_page_bytes(&tree->page_bytes);
    if (error == 0)
        error = bound(tree->page_bytes, &tree->err_bytes);
    if (error == 0)
        error = fox_timeline_new(options->timeline_buckets, &tree->timeline);
    int place = -1;
    if (error == 0)
        error = fox_tree_add(tree, root, &place);
    if (error == 0)
        tree->root_start_ticks = tree->processes[place].start_ticks;
    if (error != 0) {
        fox_tree_free(tree);
        return error;
    }
    tree->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    *out = tree;
    return 0;
}

void fox_tree_free(fox_tree *tree) {
    if (tree == NULL)
        return;
    for (int i = 0; i < tree->n; i++)
        fox_procdir_close(&tree->processes[i].dir);
    if (tree->processes != NULL)
        munmap(tree->processes, FOX_TREE_ROOM * sizeof *tree->processes);
    if (tree->slot_of != NULL)
        munmap(tree->slot_of, SLOTS * sizeof *tree->slot_of);
    if (tree->loadavg >= 0)
        close(tree->loadavg);
    fox_timeline_free(tree->timeline);
    free(tree);
}

/* ---- who belongs to it ------------------------------------------------------------------- */

/* Where the kernel does not let us compare, a process counts for itself. */
static bool same_memory(pid_t a, pid_t b) {
    int same = 0;
    return fox_same_memory(a, b, &same) == 0 && same;
}

static int identify(fox_process *process) {
    char text[1024];
    size_t n;
    fox_stat stat;
    int error = fox_procdir_read(&process->dir, "stat", text, sizeof text, &n);
    if (error == 0)
        error = fox_stat_parse(text, n, &stat);
    if (error != 0)
        return error;
    process->parent = stat.ppid;
    process->start_ticks = stat.start_ticks;
    process->arg_start = stat.arg_start;
    memcpy(process->comm, stat.comm, sizeof process->comm);
    return 0;
}

int fox_tree_add(fox_tree *tree, pid_t pid, int *place) {
    *place = -1;
    if (pid <= 0 || pid > FOX_PID_LIMIT)
        return -EPROTO;
    if (pid == tree->options.excluded)
        return 0;
    if (tree->slot_of[pid] != 0) {
        *place = tree->slot_of[pid] - 1;
        return 0;
    }
    if (tree->n == FOX_TREE_ROOM) {
        tree->result.doubts |= FOX_DOUBT_CROWDED;
        return -ENOSPC;
    }
    fox_process fresh = {.first_mark_bytes = -1, .mark_bytes = -1, .peak_bytes = -1};
    int error = fox_procdir_open(pid, &fresh.dir);
    if (error == -EMFILE || error == -ENFILE)
        tree->result.doubts |= FOX_DOUBT_CROWDED;
    else if (error == -EACCES || error == -EPERM)
        tree->result.doubts |= FOX_DOUBT_UNREADABLE;
    if (error != 0)
        return error;
    error = identify(&fresh);
    if (error != 0) {
        fox_procdir_close(&fresh.dir);
        return error;
    }
    fresh.shares_parent = same_memory(pid, fresh.parent);
    *place = tree->n;
    tree->processes[tree->n++] = fresh;
    tree->slot_of[pid] = (uint16_t)tree->n;
    tree->result.n_processes++;
    return 0;
}

static fox_process *find(fox_tree *tree, pid_t pid) {
    int slot = pid > 0 && pid <= FOX_PID_LIMIT ? tree->slot_of[pid] : 0;
    return slot == 0 ? NULL : &tree->processes[slot - 1];
}

/* The last one takes the place. */
static void forget(fox_tree *tree, int place) {
    fox_process *process = &tree->processes[place];
    fox_procdir_close(&process->dir);
    tree->slot_of[process->dir.pid] = 0;
    tree->n--;
    if (place != tree->n) {
        *process = tree->processes[tree->n];
        tree->slot_of[process->dir.pid] = (uint16_t)(place + 1);
    }
}

/* It ended, and not by our reaping: its parent has its usage, unless that one lets the kernel
 * drop it, or is nobody that we will ever reap. */
static void ended_unseen(fox_tree *tree, const fox_process *process) {
    const fox_process *parent = find(tree, process->parent);
    if (!tree->options.own_child || (parent != NULL && parent->ignores_sigchld))
        tree->result.doubts |= FOX_DOUBT_UNSEEN_END;
}

static void forget_those_gone(fox_tree *tree) {
    for (int i = 0; i < tree->n;) {
        if (tree->processes[i].gone)
            forget(tree, i);
        else
            i++;
    }
}

/* ---- the figures ------------------------------------------------------------------------- */

void fox_tree_raise(fox_tree *tree, fox_process *process, int64_t bytes) {
    process->peak_bytes = fox_larger(process->peak_bytes, bytes);
    if (bytes <= tree->result.peak_single_bytes)
        return;
    tree->result.peak_single_bytes = bytes;
    tree->result.peak_single_pid = process->dir.pid;
    size_t n = 0;
    char name[FOX_COMM_ROOM + 1];
    if (fox_procdir_read(&process->dir, "comm", name, FOX_COMM_ROOM, &n) == 0 && n > 0) {
        name[n - 1] = '\0'; /* its newline */
        memcpy(process->comm, name, n);
    }
    memcpy(tree->result.peak_single_comm, process->comm, sizeof process->comm);
}

static int64_t sample_one(fox_tree *tree, fox_process *process) {
    int64_t pages[3];
    int error = fox_procdir_statm(&process->dir, pages);
    if (error == -ESRCH) {
        process->gone = true;
        ended_unseen(tree, process);
        return 0;
    }
    if (error != 0) {
        tree->result.doubts |= FOX_DOUBT_UNREADABLE;
        return 0;
    }
    process->size_bytes = pages[0] * tree->page_bytes;
    process->rss_bytes = pages[1] * tree->page_bytes;
    if (process->shares_parent)
        process->shares_parent = same_memory(process->dir.pid, process->parent);
    if (process->shares_parent)
        return 0;
    fox_tree_raise(tree, process, process->rss_bytes);
    return process->rss_bytes;
}

int fox_tree_sample(fox_tree *tree, int64_t now_ns) {
    int64_t sum = 0, alive = 0;
    int error = 0;
    fox_tree_result *result = &tree->result;

    fox_tree_discover(tree);
    for (int i = 0; i < tree->n; i++) {
        sum += sample_one(tree, &tree->processes[i]);
        alive += !tree->processes[i].gone && tree->processes[i].size_bytes > 0;
    }
    if (result->n_samples > 0 && alive > 0)
        tree->byte_ns += (double)result->rss_bytes * (double)(now_ns - tree->last_ns);
    result->n_alive = alive;
    if (alive > 0) { /* zombies alone are nothing to count as 0 bytes */
        if (result->n_samples == 0)
            tree->begin_ns = now_ns;
        tree->last_ns = now_ns;
        result->rss_bytes = sum;
        result->n_samples++;
        result->peak_tree_rss_bytes = fox_larger(result->peak_tree_rss_bytes, sum);
        error = fox_timeline_add(tree->timeline, now_ns, sum);
        fox_tree_marks(tree, now_ns);
        fox_tree_pss(tree, now_ns);
    }
    forget_those_gone(tree);
    return error;
}

/* While it is a zombie it still tells the name of what it executed last. */
void fox_tree_ending(fox_tree *tree, pid_t pid) {
    fox_process *process = find(tree, pid);
    if (process != NULL)
        (void)identify(process);
}

int fox_tree_reaped(fox_tree *tree, pid_t pid, int64_t maxrss_bytes) {
    fox_tree_result *result = &tree->result;
    fox_process *process = find(tree, pid);
    if (maxrss_bytes > result->peak_single_bytes + tree->err_bytes) {
        /* Whose it was is known only of a process that was alone. */
        bool alone = process != NULL ? !process->had_children : result->n_processes == 0;
        result->peak_single_pid = alone ? pid : -1;
        memset(result->peak_single_comm, 0, sizeof result->peak_single_comm);
        if (alone && process != NULL) {
            memcpy(result->peak_single_comm, process->comm, sizeof process->comm);
        }
    }
    result->peak_single_bytes = fox_larger(result->peak_single_bytes, maxrss_bytes);
    if (process != NULL)
        forget(tree, tree->slot_of[pid] - 1);
    return 0;
}

int fox_tree_read(const fox_tree *tree, fox_tree_result *out) {
    *out = tree->result;
    double span_ns = (double)(tree->last_ns - tree->begin_ns);
    if (out->n_samples > 0 && out->n_alive > 0 && tree->options.own_child)
        out->doubts |= FOX_DOUBT_RUNNING;
    /* All of them together held at least what one did. */
    out->peak_tree_rss_bytes = fox_larger(out->peak_tree_rss_bytes, out->peak_single_bytes);
    if (out->n_samples > 0)
        out->avg_rss_bytes = span_ns > 0 ? (int64_t)(tree->byte_ns / span_ns) : out->rss_bytes;
    if (!tree->options.own_child && !tree->attached_mark_rose)
        out->doubts |= FOX_DOUBT_ATTACHED;
    out->peak_is_mark = out->peak_single_bytes >= 0 && out->doubts == 0;
    out->peak_err_bytes = out->peak_is_mark ? tree->err_bytes : -1;
    return 0;
}

const fox_timeline *fox_tree_timeline(const fox_tree *tree) {
    return tree->timeline;
}

bool fox_tree_root_alive(const fox_tree *tree) {
    int slot = tree->slot_of[tree->root];
    return slot != 0 && !tree->processes[slot - 1].gone &&
           tree->processes[slot - 1].start_ticks == tree->root_start_ticks &&
           tree->processes[slot - 1].size_bytes > 0;
}
