/* The tree: one sample of all of it, and the figures that come of them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "internal_tree.h"

enum { SLOTS = FOX_PID_LIMIT + 1, SPARE_DESCRIPTORS = 32, FEW_DESCRIPTORS = 256 };

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

/* How many processes may keep their two descriptors; the others are opened at every sample. */
static int most_kept(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        limit.rlim_cur = FEW_DESCRIPTORS;
    if (limit.rlim_cur > 2 * FOX_TREE_ROOM + SPARE_DESCRIPTORS)
        return FOX_TREE_ROOM;
    return limit.rlim_cur > SPARE_DESCRIPTORS ? (int)(limit.rlim_cur - SPARE_DESCRIPTORS) / 2 : 0;
}

/* No memory is a zombie's, or that of a process whose first thread has ended: looked at once. */
static int read_statm(fox_process *process, int64_t pages[3]) {
    fox_procdir held;
    int error = fox_process_hold(process, &held);
    if (error != 0)
        return error;
    error = fox_procdir_statm(&held, pages);
    const bool thread_ended = process->memory_thread != 0 && error == -ESRCH;
    if (thread_ended || (error == 0 && pages[0] == 0 && !process->without_memory)) {
        error = fox_process_find_memory(process, &held, pages);
        if (process->dir.dir >= 0)
            process->dir.statm = held.statm;
    }
    if (error == 0)
        process->without_memory = pages[0] == 0;
    fox_process_let_go(process, &held);
    return error;
}

static int know_root(fox_tree *tree, int place) {
    fox_process *process = &tree->processes[place];
    int64_t pages[3];
    int error = read_statm(process, pages);
    if (error == 0)
        process->size_bytes = pages[0] * tree->page_bytes;
    tree->root_start_ticks = process->start_ticks;
    return error;
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
    tree->most_kept = most_kept();
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
        error = know_root(tree, place);
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

static void forget_those_gone(fox_tree *tree) {
    for (int i = 0; i < tree->n;) {
        if (tree->processes[i].gone)
            fox_tree_forget(tree, i);
        else
            i++;
    }
}

/* ---- the figures ------------------------------------------------------------------------- */

void fox_tree_raise(fox_tree *tree, fox_process *process, int64_t bytes) {
    if (bytes <= tree->result.peak_single_bytes)
        return;
    tree->result.peak_single_bytes = bytes;
    tree->result.peak_single_pid = process->dir.pid;
    size_t n = 0;
    char name[FOX_COMM_ROOM + 1];
    if (process->dir.dir >= 0 &&
        fox_procdir_read(&process->dir, "comm", name, FOX_COMM_ROOM, &n) == 0 && n > 0) {
        name[n - 1] = '\0'; /* its newline */
        memcpy(process->comm, name, n);
    }
    memcpy(tree->result.peak_single_comm, process->comm, sizeof process->comm);
}

static int64_t sample_one(fox_tree *tree, fox_process *process) {
    int64_t pages[3];
    int error = read_statm(process, pages);
    if (error == -ESRCH) {
        fox_tree_vanished(tree, process);
        return 0;
    }
    if (error != 0) {
        bool crowded = error == -EMFILE || error == -ENFILE;
        tree->result.doubts |= crowded ? FOX_DOUBT_CROWDED : FOX_DOUBT_UNREADABLE;
        return 0;
    }
    process->size_bytes = pages[0] * tree->page_bytes;
    process->rss_bytes = pages[1] * tree->page_bytes;
    if (process->shares_parent)
        process->shares_parent = fox_same_mm(process->dir.pid, process->parent);
    if (process->shares_parent)
        return 0;
    process->held_bytes = fox_larger(process->held_bytes, process->rss_bytes);
    fox_tree_raise(tree, process, process->rss_bytes);
    return process->rss_bytes;
}

static void count_sample(fox_tree *tree, int64_t now_ns, int64_t sum) {
    fox_tree_result *result = &tree->result;
    if (result->n_samples == 0)
        tree->begin_ns = now_ns;
    else
        tree->byte_ns += (double)result->rss_bytes * (double)(now_ns - tree->last_ns);
    const bool rising = sum > result->peak_tree_rss_bytes;
    tree->last_ns = now_ns;
    result->rss_bytes = sum;
    result->n_samples++;
    result->peak_tree_rss_bytes = fox_larger(result->peak_tree_rss_bytes, sum);
    fox_tree_marks(tree, now_ns);
    fox_tree_pss(tree, now_ns, rising);
}

int fox_tree_sample(fox_tree *tree, int64_t now_ns) {
    int64_t sum = 0, alive = 0;
    int error = 0;

    fox_tree_discover(tree);
    for (int i = 0; i < tree->n; i++) {
        fox_process *process = &tree->processes[i];
        if (process->gone) /* noticed between two samples */
            continue;
        sum += sample_one(tree, process);
        alive += !process->gone && process->size_bytes > 0;
    }
    if (alive > 0) { /* zombies alone are nothing to count as 0 bytes */
        error = fox_timeline_add(tree->timeline, now_ns, sum);
        if (error == 0)
            count_sample(tree, now_ns, sum);
    }
    forget_those_gone(tree);
    return error;
}

/* A spike between two samples shows only above the mark that its process had when we came. */
static bool hides_below_an_old_mark(const fox_tree *tree) {
    for (int i = 0; i < tree->n; i++) {
        const fox_process *process = &tree->processes[i];
        if (process->size_bytes > 0 && (process->first_mark_bytes < 0 ||
                                        process->first_mark_bytes > tree->result.peak_single_bytes))
            return true;
    }
    return false;
}

int fox_tree_read(const fox_tree *tree, fox_tree_result *out) {
    *out = tree->result;
    double span_ns = (double)(tree->last_ns - tree->begin_ns);
    for (int i = 0; i < tree->n; i++)
        out->n_alive += !tree->processes[i].gone;
    if (out->n_alive > 0 && tree->options.own_child)
        out->doubts |= FOX_DOUBT_RUNNING;
    /* All of them together held at least what one did. */
    out->peak_tree_rss_bytes = fox_larger(out->peak_tree_rss_bytes, out->peak_single_bytes);
    if (out->n_samples > 0)
        out->avg_rss_bytes = span_ns > 0 ? (int64_t)(tree->byte_ns / span_ns) : out->rss_bytes;
    if (!tree->options.own_child && hides_below_an_old_mark(tree))
        out->doubts |= FOX_DOUBT_ATTACHED;
    out->peak_is_mark = out->peak_single_bytes >= 0 && out->doubts == 0;
    out->peak_err_bytes = out->peak_is_mark ? tree->err_bytes : -1;
    return 0;
}

const fox_timeline *fox_tree_timeline(const fox_tree *tree) {
    return tree->timeline;
}

bool fox_tree_root_alive(const fox_tree *tree) {
    const fox_process *process = fox_tree_find(tree, tree->root);
    return process != NULL && !process->gone && process->size_bytes > 0 &&
           process->start_ticks == tree->root_start_ticks;
}
