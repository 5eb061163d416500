/* How processes end, and whether their largest resident set is known then.
 *
 * Whoever is waited for leaves ru_maxrss to his waiter, up to us in the end.  The kernel drops it
 * where the parent ignores SIGCHLD or took it with SA_NOCLDWAIT, which /proc does not show.  But
 * minor faults go the same way, and each process that was seen had some: a parent whose children's
 * faults (cminflt of its stat) are fewer than we know of has lost usage.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "internal_tree.h"

/* Reads how many faults its waited-for children had; -1 when it is gone itself. */
static int64_t waited_faults(const fox_process *process) {
    char text[1024];
    size_t n;
    fox_stat stat;
    fox_procdir held;
    if (fox_process_hold(process, &held) != 0)
        return -1;
    int error = fox_procdir_read(&held, "stat", text, sizeof text, &n);
    fox_process_let_go(process, &held);
    return error == 0 && fox_stat_parse(text, n, &stat) == 0 ? stat.waited_faults : -1;
}

void fox_tree_vanished(fox_tree *tree, fox_process *process) {
    process->gone = true;
    /* One that went at the same time has handed on what it had. */
    fox_process *heir = fox_tree_find(tree, process->parent);
    for (int i = 0; heir != NULL && heir->gone && i < tree->n; i++)
        heir = fox_tree_find(tree, heir->parent);
    if (!tree->options.own_child || heir == NULL || heir->gone) {
        tree->result.doubts |= FOX_DOUBT_UNSEEN_END;
        return;
    }
    /* At least one, though it was read before its first: no process runs without. */
    heir->ended_faults += fox_larger(process->minor_faults, 1) + process->ended_faults;
    int64_t waited = waited_faults(heir);
    if (heir->ignores_sigchld || (waited >= 0 && waited < heir->ended_faults))
        tree->result.doubts |= FOX_DOUBT_UNSEEN_END;
}

/* Children that ended before their parent did are accounted to it while it can still be read. */
static void settle_children(fox_tree *tree, pid_t pid) {
    for (int i = 0; i < tree->n; i++) {
        fox_process *process = &tree->processes[i];
        fox_procdir held;
        int64_t pages[3];
        if (process->parent != pid || process->gone)
            continue;
        int error = fox_process_hold(process, &held);
        if (error == 0) {
            error = fox_procdir_statm(&held, pages);
            fox_process_let_go(process, &held);
        }
        if (error == -ESRCH)
            fox_tree_vanished(tree, process);
    }
}

/* While it is a zombie it still tells the name of what it executed last. */
void fox_tree_ending(fox_tree *tree, pid_t pid) {
    int place;
    bool executed;
    fox_procdir held;
    if (tree->options.follow) /* an orphan that was never seen alive is seen now */
        (void)fox_tree_add(tree, pid, &place);
    fox_process *process = fox_tree_find(tree, pid);
    if (process == NULL)
        return;
    if (process->had_children)
        settle_children(tree, pid);
    if (fox_process_hold(process, &held) != 0)
        return;
    (void)fox_process_learn(process, &held, &executed);
    fox_process_let_go(process, &held);
}

int fox_tree_reaped(fox_tree *tree, pid_t pid, int64_t maxrss_bytes) {
    fox_tree_result *result = &tree->result;
    fox_process *process = fox_tree_find(tree, pid);
    const bool above = maxrss_bytes > result->peak_single_bytes + tree->err_bytes;
    /* Whose it was is known only of a process that waited for no other. */
    const bool its_own = process != NULL && !process->had_children;
    if (!tree->options.follow && !its_own) {
        /* The root alone is asked for: this may be another's, and its own is not known. */
        if (pid == tree->root && above)
            result->doubts |= FOX_DOUBT_UNSEEN_END;
    } else {
        if (above) {
            result->peak_single_pid = its_own ? pid : -1;
            memset(result->peak_single_comm, 0, sizeof result->peak_single_comm);
            if (its_own)
                memcpy(result->peak_single_comm, process->comm, sizeof process->comm);
        }
        result->peak_single_bytes = fox_larger(result->peak_single_bytes, maxrss_bytes);
    }
    if (process != NULL)
        fox_tree_forget(tree, tree->slot_of[pid] - 1);
    return 0;
}
