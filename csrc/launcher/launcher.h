/* foxbench-run: starts a command, or attaches to one, and reports what it needed.
 *
 * A program of its own and not a part of the Python process, because a child's figures inherit
 * what its parent held: this parent holds about 1 MB.
 */
#ifndef FOX_LAUNCHER_H
#define FOX_LAUNCHER_H

#include "tree.h"

enum { EXIT_OURS = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

enum fox_format { FOX_TEXT, FOX_GNU, FOX_JSON };

typedef struct {
    double hz;
    pid_t attach;              /* 0: start a command */
    bool follow;               /* --tree / --no-tree */
    bool quiet;                /* no report on stderr, no progress */
    enum fox_format format;    /* of the report on stderr or in output_path */
    const char *output_path;   /* -o; NULL for stderr */
    const char *json_path;     /* --json; NULL for none, "-" for stdout */
    const char *timeline_path; /* --timeline; NULL for none */
    const char *python; /* the interpreter that writes Parquet; the foxbench command sets it */
    char **command;     /* NULL-terminated; NULL when attaching */
} fox_options;

/* What is reported; -1 (and "" for comm) where it was not measured: null in JSON. */
typedef struct {
    const char *status; /* ok, failed, not_measured */
    int64_t exit_code, term_signal;
    int64_t elapsed_ns, user_ns, system_ns;
    fox_tree_result tree; /* all peaks, averages and counts of processes and samples */
    int64_t minor_faults, major_faults, voluntary_ctxt_switches, involuntary_ctxt_switches;
    int64_t fs_inputs, fs_outputs, swaps, messages_sent, messages_received, signals;
    int64_t n_missed, orphans_reaped;
    int64_t sampler_cpu_ns; /* CPU of this process while the command ran */
    int64_t self_bytes;     /* resident size of this process */
} fox_run_result;

#endif
