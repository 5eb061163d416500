/* A process that runs already: watched and left alone, its mark never reset. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "internal_tree.h"
#include "launcher.h"

enum { READ_EVERY_NS = 10000000 };

static int64_t ns_of_ticks(int64_t ticks) {
    long hz = sysconf(_SC_CLK_TCK);
    return hz > 0 ? ticks * (1000000000 / hz) : -1;
}

int fox_attach(fox_run *run) {
    char path[32];
    const pid_t pid = run->options.attach;
    int error = fox_clock_ns(&run->begin_ns);
    if (error != 0)
        return error;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (access(path, R_OK) != 0) {
        fox_complain("see ps -e for those that run; another user's may be hidden (hidepid)",
                     "there is no process %d here", (int)pid);
        return -ESRCH;
    }
    run->result.exit_code = -1;
    run->result.voluntary_ctxt_switches = run->result.involuntary_ctxt_switches = -1;
    run->result.fs_inputs = run->result.fs_outputs = -1;
    fox_attach_read(run, true);
    return 0;
}

/* Faults and CPU time of the process itself since we came, from /proc/PID/stat. */
void fox_attach_read(fox_run *run, bool first) {
    static fox_stat begin;
    static int64_t read_ns;
    const fox_procdir proc = {0, AT_FDCWD, -1};
    char path[32], text[1024];
    size_t n;
    fox_stat now;
    int64_t now_ns;

    if (fox_clock_ns(&now_ns) != 0 || (!first && now_ns - read_ns < READ_EVERY_NS))
        return;
    read_ns = now_ns;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)run->options.attach);
    if (fox_procdir_read(&proc, path, text, sizeof text, &n) != 0 ||
        fox_stat_parse(text, n, &now) != 0)
        return;
    if (first)
        begin = now;
    if (now.start_ticks != begin.start_ticks)
        return; /* another process under the same number */
    run->result.minor_faults = now.minor_faults - begin.minor_faults;
    run->result.major_faults = now.major_faults - begin.major_faults;
    run->result.user_ns = ns_of_ticks(now.user_ticks - begin.user_ticks);
    run->result.system_ns = ns_of_ticks(now.system_ticks - begin.system_ticks);
}
