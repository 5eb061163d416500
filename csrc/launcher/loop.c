/* The loop: a sample at every deadline, and between two of them whatever signals come. */
#include "launcher.h"

static int sample(fox_run *run, int64_t *now_ns) {
    int error = fox_clock_ns(now_ns);
    return error != 0 ? error : fox_tree_sample(run->tree, *now_ns);
}

static bool ends_attachment(const fox_run *run, int number) {
    return run->child == 0 && (number == SIGINT || number == SIGTERM || number == SIGHUP);
}

/* 1 when there is nothing more to sample. */
static int take_signal(fox_run *run, const siginfo_t *info) {
    if (info->si_signo == SIGCHLD) {
        int error = fox_reap(run);
        return error != 0 ? error : run->child_ended;
    }
    if (ends_attachment(run, info->si_signo))
        return 1;
    fox_signals_forward(run, info);
    return 0;
}

int fox_loop(fox_run *run) {
    const int64_t period_ns = (int64_t)(1e9 / run->options.hz + 0.5);
    const bool progress = fox_progress_wanted(run);
    int64_t now, deadline;
    int error = sample(run, &now);
    deadline = now + period_ns;
    while (error == 0) {
        siginfo_t info;
        error = fox_signals_wait(run, deadline, &info);
        if (error == 0 && info.si_signo != 0)
            error = take_signal(run, &info);
        if (error != 0 || fox_clock_ns(&now) != 0 || now < deadline)
            continue;
        error = sample(run, &now);
        int64_t late = (now - deadline) / period_ns;
        if (late > 0)
            run->result.n_missed += late;
        deadline += (late + 1) * period_ns;
        if (run->child == 0) {
            fox_attach_read(run, false);
            if (error == 0 && !fox_tree_root_alive(run->tree))
                error = 1;
        }
        if (progress)
            fox_progress_show(run, now);
    }
    if (progress)
        fox_progress_erase();
    /* Those that outlive the command are read once more: their marks are exact up to now. */
    if (error == 1 && run->child != 0)
        (void)sample(run, &now);
    return error < 0 ? error : 0;
}
