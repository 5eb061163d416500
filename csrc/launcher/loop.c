/* The loop: a sample at every deadline, and between two of them whatever signals come. */
#include "launcher.h"

/* Helpers of the command (multiprocessing's trackers, shells' pipes) end some moments after it: for
 * so long they are waited for, so that their figures are whole.  A daemon is not. */
enum { GRACE_NS = 100000000 };

static int sample(fox_run *run, int64_t *now_ns) {
    int error = fox_clock_ns(now_ns);
    return error != 0 ? error : fox_tree_sample(run->tree, *now_ns);
}

static bool ends_attachment(const fox_run *run, int number) {
    return run->child == 0 && (number == SIGINT || number == SIGTERM || number == SIGHUP);
}

/* 1 when there is nothing more to sample. */
static int take_signal(fox_run *run, const siginfo_t *info) {
    if (info->si_signo == SIGCHLD)
        return fox_reap(run);
    if (ends_attachment(run, info->si_signo))
        return 1;
    fox_signals_forward(run, info);
    return 0;
}

/* 1 when the command has ended, and all that belonged to it or its grace. */
static int ended(const fox_run *run, int64_t now_ns, int64_t *until_ns) {
    fox_tree_result tree;
    if (run->child == 0)
        return !fox_tree_root_alive(run->tree);
    if (!run->child_ended)
        return 0;
    if (*until_ns == 0)
        *until_ns = now_ns + GRACE_NS;
    (void)fox_tree_read(run->tree, &tree);
    return tree.n_alive == 0 || now_ns >= *until_ns;
}

int fox_loop(fox_run *run) {
    const int64_t period_ns = (int64_t)(1e9 / run->options.hz + 0.5);
    const bool progress = fox_progress_wanted(run);
    int64_t now, until_ns = 0;
    int error = sample(run, &now);
    int64_t deadline = now + period_ns;
    while (error == 0) {
        siginfo_t info;
        const bool lingers = run->child_ended;
        error = fox_signals_wait(run, deadline, &info);
        if (error == 0 && info.si_signo != 0)
            error = take_signal(run, &info);
        if (error == 0)
            error = fox_clock_ns(&now);
        /* The end is looked at at once, whatever the rate. */
        if (error != 0 || (now < deadline && run->child_ended == lingers))
            continue;
        error = sample(run, &now);
        int64_t late = (now - deadline) / period_ns;
        if (late > 0)
            run->result.n_missed += late;
        if (now >= deadline)
            deadline += (late + 1) * period_ns;
        if (run->child_ended && deadline > now + GRACE_NS / 10)
            deadline = now + GRACE_NS / 10; /* a slow rate must not prolong the grace */
        if (run->child == 0)
            fox_attach_read(run, false);
        if (error == 0)
            error = ended(run, now, &until_ns);
        if (progress && error == 0 && !run->child_ended)
            fox_progress_show(run, now);
    }
    if (progress)
        fox_progress_erase();
    return error < 0 ? error : 0;
}
