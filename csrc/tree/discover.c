/* Finding the processes of a tree: the children files, or all of /proc where there are none.
 *
 * A child hangs on the thread that forked it, so every thread's file is read.  The last pid that
 * the kernel gave out tells whether there can be any new ones: one reading of a microsecond
 * instead of fifteen for each thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "internal_tree.h"

enum { MOST_THREADS = 4096, MOST_CHILDREN = FOX_TREE_ROOM };

static pid_t threads[MOST_THREADS]; /* one thread uses a tree */
static pid_t children[MOST_CHILDREN];
static int n_files; /* read in this walk */
static char text[MOST_CHILDREN * 8];

/* Whether the kernel has made a process or a thread since the last call. */
static bool any_new(fox_tree *tree) {
    char line[64];
    pid_t last;
    ssize_t got = tree->loadavg < 0 ? -1 : pread(tree->loadavg, line, sizeof line, 0);
    if (got <= 0 || fox_loadavg_parse(line, (size_t)got, &last) != 0)
        return true;
    bool changed = last != tree->last_pid;
    tree->last_pid = last;
    return changed;
}

static void add_children(fox_tree *tree, pid_t parent, int count) {
    for (int i = 0; i < count; i++) {
        int place;
        if (fox_tree_add(tree, children[i], &place) == 0 && place >= 0)
            tree->processes[place].parent = parent;
    }
}

/* No file, and yet its thread: then this kernel has none (CONFIG_PROC_CHILDREN). */
static bool kernel_has_none(const fox_procdir *dir, pid_t thread) {
    char name[48];
    (void)snprintf(name, sizeof name, "task/%d/stat", (int)thread);
    return faccessat(dir->dir, name, F_OK, 0) == 0;
}

static int children_of_thread(const fox_procdir *dir, pid_t thread, int *count, bool *crowded) {
    char name[48];
    size_t n;
    (void)snprintf(name, sizeof name, "task/%d/children", (int)thread);
    n_files++;
    int error = fox_procdir_read(dir, name, text, sizeof text, &n);
    if (error == 0 && n == sizeof text) {
        *crowded = true;
        while (n > 0 && text[n - 1] != ' ') /* half a number would be another process */
            n--;
    }
    if (error == 0)
        error = fox_children_parse(text, n, children, MOST_CHILDREN, count);
    if (error == 0 && *count > MOST_CHILDREN) {
        *crowded = true;
        *count = MOST_CHILDREN;
    }
    return error;
}

/* Adds all children of a process; true when it has any. */
static bool add_children_of(fox_tree *tree, const fox_procdir *dir) {
    int n_threads, count;
    bool any = false, crowded = false;
    int listed = fox_procdir_numbers(dir, "task", threads, MOST_THREADS, &n_threads);
    if (listed != 0) {
        fox_tree_doubt(tree, dir->pid, listed);
        return false;
    }
    crowded = n_threads == MOST_THREADS;
    for (int i = 0; i < n_threads; i++) {
        int error = children_of_thread(dir, threads[i], &count, &crowded);
        if (error == -ENOENT && kernel_has_none(dir, threads[i])) {
            tree->no_children = true;
            return any;
        }
        fox_tree_doubt(tree, dir->pid, error);
        if (error != 0 || count == 0)
            continue;
        any = true;
        add_children(tree, dir->pid, count);
    }
    if (crowded)
        tree->result.doubts |= FOX_DOUBT_CROWDED;
    return any;
}

static void walk(fox_tree *tree) {
    if (tree->options.own_child) {
        /* Orphans of the tree become children of ours: we are their subreaper. */
        fox_procdir self;
        int error = fox_procdir_open(getpid(), &self);
        fox_tree_doubt(tree, getpid(), error);
        if (error == 0) {
            (void)add_children_of(tree, &self);
            fox_procdir_close(&self);
        }
    }
    for (int i = 0; i < tree->n; i++) {             /* n grows while we walk */
        fox_process *process = &tree->processes[i]; /* the table does not move */
        fox_procdir held;
        int error = fox_process_hold(process, &held);
        fox_tree_doubt(tree, process->dir.pid, error);
        if (error != 0)
            continue;
        if (add_children_of(tree, &held))
            process->had_children = true;
        fox_process_let_go(process, &held);
    }
}

/* A kernel without CONFIG_PROC_CHILDREN: whoever has a parent in the tree belongs to it. */
static void scan(fox_tree *tree) {
    static pid_t all[65536];
    int n_all;
    const fox_procdir proc = {0, AT_FDCWD, -1};
    if (fox_procdir_numbers(&proc, "/proc", all, (int)(sizeof all / sizeof all[0]), &n_all) != 0)
        return;
    for (bool found = true; found;) {
        found = false;
        for (int i = 0; i < n_all; i++) {
            char path[32], stat[1024];
            size_t n;
            fox_stat parsed;
            int place;
            if (all[i] >= FOX_PID_LIMIT || tree->slot_of[all[i]] != 0)
                continue;
            n_files++;
            (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)all[i]);
            if (fox_procdir_read(&proc, path, stat, sizeof stat, &n) != 0 ||
                fox_stat_parse(stat, n, &parsed) != 0 || parsed.ppid >= FOX_PID_LIMIT)
                continue;
            int parent = tree->slot_of[parsed.ppid];
            if (parent == 0 && !(tree->options.own_child && parsed.ppid == getpid()))
                continue;
            if (parent != 0)
                tree->processes[parent - 1].had_children = true;
            if (fox_tree_add(tree, all[i], &place) == 0 && place >= 0) {
                tree->processes[place].parent = parsed.ppid;
                found = true;
            }
        }
    }
}

/* Hundreds of threads in a busy machine would make every sample late: then a fifth of the time is
 * the most, and what is new is found a little later. */
enum { MANY_FILES = 64, SHARE = 5 };

void fox_tree_discover(fox_tree *tree) {
    int64_t begin, end;
    if (!tree->options.follow || fox_clock_ns(&begin) != 0 || begin < tree->discover_after_ns ||
        !any_new(tree))
        return;
    n_files = 0;
    if (!tree->no_children)
        walk(tree);
    if (tree->no_children)
        scan(tree);
    if (n_files > MANY_FILES && fox_clock_ns(&end) == 0)
        tree->discover_after_ns = end + (SHARE - 1) * (end - begin);
}
