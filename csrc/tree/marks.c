/* The high-water marks of other processes: read now and then, never reset. */
#include "internal_tree.h"

/* A mark goes with its process, so it is read often: status and stat, twenty readings of statm or
 * 8 us.  One in 0.8 ms is a hundredth of a core: up to twelve processes have theirs read every
 * 10 ms, and of more each less often.  First readings are beside that.  A child of ours whose
 * resident set has not moved is read less often too: its ru_maxrss comes in the end anyway. */
enum {
    MARK_EVERY_NS = 10000000,
    MARK_STILL_NS = 50000000,
    MARK_APART_NS = 800000,
    FIRST_MARKS_A_SAMPLE = 8,
};

/* After exec the mark belongs to another memory: it may be smaller and nobody has reset it. */
static void compare(fox_tree *tree, fox_process *process, int64_t mark, bool executed) {
    if (executed) {
        process->held_bytes = -1; /* which of the two it is of is not known */
        process->first_mark_bytes = 0;
    } else if (process->held_bytes > mark + tree->err_bytes) {
        tree->result.doubts |= FOX_DOUBT_MARK_FELL;
        process->held_bytes = mark;
    } else {
        process->held_bytes = fox_larger(process->held_bytes, mark);
    }
}

void fox_tree_mark(fox_tree *tree, fox_process *process, int64_t now_ns) {
    static char text[16384]; /* one thread uses a tree */
    size_t n;
    fox_status status;
    fox_procdir held;
    bool ignores, executed = false;

    process->marked_ns = now_ns;
    process->marked_rss_bytes = process->rss_bytes;
    if (fox_process_hold(process, &held) != 0)
        return;
    int error = fox_process_memory_file(process, &held, "status", text, sizeof text, &n);
    /* In this order: a program executed between the two is one more than the mark knew of. */
    if (error == 0)
        error = fox_process_learn(process, &held, &executed);
    fox_process_let_go(process, &held);
    if (error != 0)
        return;
    fox_status_parse(text, n, &status);
    if (fox_ignores_sigchld_parse(text, n, &ignores) == 0 && ignores)
        process->ignores_sigchld = true;
    int64_t mark = status.hwm_bytes;
    if (mark < 0)
        return; /* a zombie, or a kernel thread */
    if (process->first_mark_bytes < 0)
        process->first_mark_bytes = mark;
    else if (mark > process->first_mark_bytes)
        fox_tree_raise(tree, process, mark);
    compare(tree, process, mark, executed);
}

/* A slow rate may read several at once: what time has passed is paid, up to 10 ms of it. */
static bool is_affordable(fox_tree *tree, int64_t now_ns) {
    tree->marks_paid_ns = fox_larger(tree->marks_paid_ns, now_ns - MARK_EVERY_NS);
    if (tree->marks_paid_ns + MARK_APART_NS > now_ns)
        return false;
    tree->marks_paid_ns += MARK_APART_NS;
    return true;
}

static bool is_due(const fox_tree *tree, const fox_process *process, int64_t now_ns) {
    bool still = tree->options.own_child && process->rss_bytes == process->marked_rss_bytes;
    return now_ns - process->marked_ns >= (still ? MARK_STILL_NS : MARK_EVERY_NS);
}

void fox_tree_marks(fox_tree *tree, int64_t now_ns) {
    int first = 0;
    for (int looked = 0; looked < tree->n; looked++) {
        if (tree->next_marked >= tree->n)
            tree->next_marked = 0;
        fox_process *process = &tree->processes[tree->next_marked];
        bool has_memory = !process->gone && !process->shares_parent && process->size_bytes > 0;
        if (has_memory && process->marked_ns == 0) {
            if (first++ == FIRST_MARKS_A_SAMPLE)
                return;
            fox_tree_mark(tree, process, now_ns);
        } else if (has_memory && is_due(tree, process, now_ns)) {
            if (!is_affordable(tree, now_ns))
                return;
            fox_tree_mark(tree, process, now_ns);
        }
        tree->next_marked++;
    }
}
