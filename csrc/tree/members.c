/* Who belongs to the tree, and what is known of each. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "internal_tree.h"

/* ---- one process ------------------------------------------------------------------------- */

int fox_process_hold(const fox_process *process, fox_procdir *held) {
    if (process->dir.dir >= 0) {
        *held = process->dir;
        return 0;
    }
    char text[1024];
    size_t n;
    fox_stat stat;
    int error = fox_procdir_open(process->dir.pid, held);
    if (error != 0)
        return error;
    error = fox_procdir_read(held, "stat", text, sizeof text, &n);
    if (error == 0)
        error = fox_stat_parse(text, n, &stat);
    if (error == 0 && stat.start_ticks != process->start_ticks)
        error = -ESRCH; /* another one has its pid */
    if (error != 0)
        fox_procdir_close(held);
    else
        fox_process_statm_of(process, held);
    return error;
}

void fox_process_let_go(const fox_process *process, fox_procdir *held) {
    if (process->dir.dir < 0)
        fox_procdir_close(held);
}

int fox_process_learn(fox_process *process, const fox_procdir *held, bool *executed) {
    char text[1024];
    size_t n;
    fox_stat stat;
    int error = fox_procdir_read(held, "stat", text, sizeof text, &n);
    if (error == 0)
        error = fox_stat_parse(text, n, &stat);
    if (error != 0)
        return error;
    /* Where we may not see its addresses its name must do. */
    *executed = stat.arg_start != 0 ? stat.arg_start != process->arg_start
                                    : strcmp(stat.comm, process->comm) != 0;
    if (stat.ppid != 0) /* 0 in the moment when it is waited for, as are its faults */
        process->parent = stat.ppid;
    process->start_ticks = stat.start_ticks;
    process->arg_start = stat.arg_start;
    if (stat.minor_faults > process->minor_faults)
        process->minor_faults = stat.minor_faults;
    process->had_children = process->had_children || stat.waited_faults > 0;
    memcpy(process->comm, stat.comm, sizeof process->comm);
    return 0;
}

/* Where the kernel does not let us compare, a process counts for itself. */
bool fox_same_mm(pid_t a, pid_t b) {
    int same = 0;
    return fox_same_memory(a, b, &same) == 0 && same;
}

/* ---- all of them ------------------------------------------------------------------------- */

/* hidepid=2 shows no folder of another user's process, as if it were gone; signals know better. */
static bool is_hidden(pid_t pid) {
    return kill(pid, 0) != 0 && errno == EPERM;
}

void fox_tree_doubt(fox_tree *tree, pid_t pid, int error) {
    if (error == -EMFILE || error == -ENFILE)
        tree->result.doubts |= FOX_DOUBT_CROWDED;
    else if (error == -ESRCH ? is_hidden(pid) : error != 0 && error != -ENOENT)
        tree->result.doubts |= FOX_DOUBT_UNREADABLE;
}

static bool is_stranger(const fox_tree *tree, pid_t pid) {
    for (const pid_t *at = tree->options.strangers; at != NULL && *at != 0; at++)
        if (*at == pid)
            return true;
    return false;
}

int fox_tree_add(fox_tree *tree, pid_t pid, int *place) {
    bool executed;
    *place = -1;
    if (pid <= 0 || pid > FOX_PID_LIMIT)
        return -EPROTO;
    if (pid == tree->options.excluded)
        return 0;
    if (tree->slot_of[pid] != 0) {
        *place = tree->slot_of[pid] - 1;
        return 0;
    }
    if (is_stranger(tree, pid))
        return 0;
    if (tree->n == FOX_TREE_ROOM) {
        tree->result.doubts |= FOX_DOUBT_CROWDED;
        return -ENOSPC;
    }
    fox_process fresh = {.first_mark_bytes = -1, .held_bytes = -1};
    int error = fox_procdir_open(pid, &fresh.dir);
    if (error == 0) {
        error = fox_process_learn(&fresh, &fresh.dir, &executed);
        if (error != 0)
            fox_procdir_close(&fresh.dir);
    }
    if (error != 0) {
        fox_tree_doubt(tree, pid, error);
        return error;
    }
    if (tree->options.own_child || tree->result.n_samples > 0)
        fresh.first_mark_bytes = 0; /* it began after we did: all of its mark is ours */
    fresh.shares_parent = fox_same_mm(pid, fresh.parent);
    if (tree->n_kept < tree->most_kept)
        tree->n_kept++;
    else
        fox_procdir_close(&fresh.dir);
    *place = tree->n;
    tree->processes[tree->n++] = fresh;
    tree->slot_of[pid] = (uint16_t)tree->n;
    tree->result.n_processes++;
    return 0;
}

fox_process *fox_tree_find(const fox_tree *tree, pid_t pid) {
    int slot = pid > 0 && pid <= FOX_PID_LIMIT ? tree->slot_of[pid] : 0;
    return slot == 0 ? NULL : &tree->processes[slot - 1];
}

void fox_tree_forget(fox_tree *tree, int place) {
    fox_process *process = &tree->processes[place];
    if (process->dir.dir >= 0)
        tree->n_kept--;
    fox_procdir_close(&process->dir);
    tree->slot_of[process->dir.pid] = 0;
    tree->n--;
    if (place != tree->n) {
        *process = tree->processes[tree->n];
        tree->slot_of[process->dir.pid] = (uint16_t)(place + 1);
    }
    /* Its children have another parent now, and its pid may have another process already. */
    tree->last_pid = -1;
}
