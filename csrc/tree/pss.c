/* PSS of the whole tree: every shared page counted once.
 *
 * Reading it walks all page tables (a quarter of a millisecond to ten), so it is read only where
 * the sum of resident sets has a new maximum: when it stops rising, or while it rises as often
 * as a tenth of the time allows.
 */
#include <errno.h>

#include "internal_tree.h"

enum { MOST_SHARE = 10, GROWTH_SHARE = 100 };

/* -ESRCH on a live process only means that it has no memory now: it counts nothing. */
static int pss_of(const fox_process *process, int64_t *bytes) {
    char text[2048];
    size_t n;
    int error = fox_procdir_read(&process->dir, "smaps_rollup", text, sizeof text, &n);
    if (error == -ESRCH || (error == 0 && n == 0)) {
        *bytes = 0;
        return 0;
    }
    return error != 0 ? error : fox_pss_parse(text, n, bytes);
}

static void read_all(fox_tree *tree) {
    int64_t sum = 0;
    for (int i = 0; i < tree->n; i++) {
        const fox_process *process = &tree->processes[i];
        int64_t bytes;
        if (process->gone || process->shares_parent || process->size_bytes == 0)
            continue;
        if (pss_of(process, &bytes) != 0)
            return; /* a sum without one of them is no figure */
        sum += bytes;
    }
    if (sum > 0) /* else in the middle of an exec */
        tree->result.peak_tree_pss_bytes = fox_larger(tree->result.peak_tree_pss_bytes, sum);
}

void fox_tree_pss(fox_tree *tree, int64_t now_ns) {
    int64_t rss = tree->result.rss_bytes, begin, end;
    bool rising = rss >= tree->result.peak_tree_rss_bytes;
    if (rising && rss > tree->pss_at_bytes + tree->pss_at_bytes / GROWTH_SHARE)
        tree->pss_wanted = true;
    bool affordable = tree->pss_spent_ns * MOST_SHARE <= now_ns - tree->begin_ns;
    bool stopped = rss <= tree->pss_at_bytes || !rising;
    if (!tree->pss_wanted || rss == 0 || !(affordable || stopped))
        return;
    if (fox_clock_ns(&begin) != 0)
        return;
    read_all(tree);
    tree->pss_wanted = false;
    tree->pss_at_bytes = fox_larger(tree->pss_at_bytes, rss);
    if (fox_clock_ns(&end) == 0)
        tree->pss_spent_ns += end - begin;
}
