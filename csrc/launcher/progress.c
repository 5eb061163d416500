/* One line on the terminal while the command runs, four times a second. */
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "launcher.h"

enum { EVERY_NS = 250000000, FIRST_AFTER_NS = 500000000 };

static bool shown;

bool fox_progress_wanted(const fox_run *run) {
    return !run->options.quiet && isatty(STDERR_FILENO);
}

/* Not in the background, not over a program that has taken the whole screen (raw mode) or asks
 * for a password (no echo), and not where it would wait: behind Ctrl-S, or a slow line. */
static bool may_write(void) {
    const tcflag_t plain = ICANON | ECHO;
    struct termios terminal;
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    return tcgetpgrp(STDERR_FILENO) == getpgrp() && tcgetattr(STDERR_FILENO, &terminal) == 0 &&
           (terminal.c_lflag & plain) == plain && poll(&room, 1, 0) == 1 &&
           (room.revents & POLLOUT) != 0;
}

void fox_progress_show(const fox_run *run, int64_t now_ns) {
    static int64_t last_ns;
    char line[160];
    fox_tree_result tree;
    if (now_ns - run->begin_ns < FIRST_AFTER_NS || now_ns - last_ns < EVERY_NS || !may_write())
        return;
    last_ns = now_ns;
    (void)fox_tree_read(run->tree, &tree);
    int n = snprintf(line, sizeof line,
                     "\r\033[K%.1f s  %.1f MiB now, %.1f MiB at most in one process, %d running",
                     (double)(now_ns - run->begin_ns) / 1e9, (double)tree.rss_bytes / 1048576,
                     (double)tree.peak_single_bytes / 1048576, (int)tree.n_alive);
    if (n > 0 && n < (int)sizeof line)
        shown = write(STDERR_FILENO, line, (size_t)n) == n;
}

void fox_progress_erase(void) {
    if (shown && may_write())
        (void)!write(STDERR_FILENO, "\r\033[K", 4);
}
