/* The high-water marks of other processes: read now and then, never reset. */
#include <errno.h>
#include <string.h>

#include "internal_tree.h"

/* A process that dies takes its mark along, so it is read often; a reading costs ten of statm. */
enum { MARK_EVERY_NS = 10000000, MARKS_A_SAMPLE = 8 };

/* After exec the mark belongs to another memory: it may be smaller and nobody has reset it. */
static bool has_executed(fox_process *process) {
    char text[1024];
    size_t n;
    fox_stat stat;
    if (fox_procdir_read(&process->dir, "stat", text, sizeof text, &n) != 0 ||
        fox_stat_parse(text, n, &stat) != 0)
        return true; /* gone meanwhile: nothing is known against it */
    bool executed = stat.arg_start != 0 ? stat.arg_start != process->arg_start
                                        : strcmp(stat.comm, process->comm) != 0;
    process->arg_start = stat.arg_start;
    memcpy(process->comm, stat.comm, sizeof process->comm);
    return executed;
}

void fox_tree_mark(fox_tree *tree, fox_process *process, int64_t now_ns) {
    static char text[16384]; /* one thread uses a tree */
    size_t n;
    fox_status status;
    bool ignores;

    process->marked_ns = now_ns;
    if (fox_procdir_read(&process->dir, "status", text, sizeof text, &n) != 0)
        return;
    fox_status_parse(text, n, &status);
    if (fox_ignores_sigchld_parse(text, n, &ignores) == 0 && ignores)
        process->ignores_sigchld = true;
    int64_t mark = status.hwm_bytes;
    if (mark < 0)
        return; /* a zombie, or a kernel thread */
    if (process->first_mark_bytes < 0)
        process->first_mark_bytes = mark;
    if (process->mark_bytes > mark + tree->err_bytes && !has_executed(process))
        tree->result.doubts |= FOX_DOUBT_MARK_FELL;
    if (tree->options.own_child || mark > process->first_mark_bytes)
        fox_tree_raise(tree, process, mark);
    if (process->dir.pid == tree->root && mark > process->first_mark_bytes)
        tree->attached_mark_rose = true;
    process->mark_bytes = mark;
}

void fox_tree_marks(fox_tree *tree, int64_t now_ns) {
    int read = 0;
    for (int looked = 0; looked < tree->n && read < MARKS_A_SAMPLE; looked++) {
        if (tree->next_marked >= tree->n)
            tree->next_marked = 0;
        fox_process *process = &tree->processes[tree->next_marked++];
        if (process->gone || process->shares_parent || process->size_bytes == 0)
            continue;
        if (process->marked_ns == 0 || now_ns - process->marked_ns >= MARK_EVERY_NS) {
            fox_tree_mark(tree, process, now_ns);
            read++;
        }
    }
}
