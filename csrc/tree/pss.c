/* PSS of the whole tree: every shared page counted once.
 *
 * Reading it walks all page tables (a quarter of a millisecond to ten) while the process cannot
 * map memory, so it is read only near a new maximum of the sum of resident sets.  While that rises
 * the readings may take a twentieth of the time, and when it has stopped a tenth: so that the one
 * that matters most can be afforded at once.
 */
#include <errno.h>

#include "internal_tree.h"

enum { SHARE_RISING = 20, SHARE_STOPPED = 10, NOISE = 100 };

/* -ESRCH on a live process only means that it has no memory now: it counts nothing. */
static int pss_of(const fox_process *process, int64_t *bytes) {
    char text[2048];
    size_t n = 0;
    fox_procdir held;
    int error = fox_process_hold(process, &held);
    if (error == 0) {
        error = fox_process_memory_file(process, &held, "smaps_rollup", text, sizeof text, &n);
        fox_process_let_go(process, &held);
    }
    if (error == -ESRCH || (error == 0 && n == 0)) {
        *bytes = 0;
        return 0;
    }
    return error != 0 ? error : fox_pss_parse(text, n, bytes);
}

/* False in the middle of an exec, when there is nothing to read yet. */
static bool read_all(fox_tree *tree) {
    int64_t sum = 0;
    for (int i = 0; i < tree->n; i++) {
        const fox_process *process = &tree->processes[i];
        int64_t bytes;
        if (process->gone || process->shares_parent || process->size_bytes == 0)
            continue;
        if (pss_of(process, &bytes) != 0)
            return true; /* a sum without one of them is no figure */
        sum += bytes;
    }
    if (sum > 0)
        tree->result.peak_tree_pss_bytes = fox_larger(tree->result.peak_tree_pss_bytes, sum);
    return sum > 0;
}

void fox_tree_pss(fox_tree *tree, int64_t now_ns, bool rising) {
    const int64_t rss = tree->result.rss_bytes, most = tree->result.peak_tree_rss_bytes;
    int64_t begin, end;
    bool near = rss >= most - most / NOISE;
    bool read = rss <= tree->pss_at_bytes + tree->pss_at_bytes / NOISE;
    if (rss == 0 || !near || read)
        return;
    int share = rising ? SHARE_RISING : SHARE_STOPPED;
    if (tree->pss_spent_ns * share > now_ns - tree->begin_ns || fox_clock_ns(&begin) != 0)
        return;
    if (read_all(tree))
        tree->pss_at_bytes = rss;
    if (fox_clock_ns(&end) == 0)
        tree->pss_spent_ns += end - begin;
}
