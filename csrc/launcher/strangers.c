/* Children that this process had before it became the launcher.
 *
 * "sh -c 'a & exec foxbench run b'" and a shell's process substitution leave it some.  They are
 * none of the command's: neither followed nor counted.  What they start is told apart only while
 * its parent lives: an orphan of theirs comes to us, and looks like one of the command's.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal_tree.h"
#include "launcher.h"

enum { MOST_STRANGERS = 1023, GONE = -1 };

static pid_t strangers[MOST_STRANGERS + 1]; /* the last one is 0 */

static bool is_child(pid_t pid) {
    const fox_procdir proc = {0, AT_FDCWD, -1};
    char path[32], text[1024];
    size_t n;
    fox_stat stat;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return fox_procdir_read(&proc, path, text, sizeof text, &n) == 0 &&
           fox_stat_parse(text, n, &stat) == 0 && stat.ppid == getpid();
}

/* Nearly always there are none, which costs one call; else all of /proc is looked through. */
void fox_strangers_find(void) {
    static pid_t all[65536];
    const fox_procdir proc = {0, AT_FDCWD, -1};
    int n_all, n = 0;
    siginfo_t any;
    if (waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) != 0)
        return; /* ECHILD */
    if (fox_procdir_numbers(&proc, "/proc", all, (int)(sizeof all / sizeof all[0]), &n_all) != 0)
        return;
    for (int i = 0; i < n_all && n < MOST_STRANGERS; i++)
        if (is_child(all[i]))
            strangers[n++] = all[i];
}

const pid_t *fox_strangers(void) {
    return strangers;
}

/* True for one of them, whose pid may then be another's. */
bool fox_strangers_forget(pid_t pid) {
    for (pid_t *at = strangers; *at != 0; at++) {
        if (*at == pid) {
            *at = GONE;
            return true;
        }
    }
    return false;
}
