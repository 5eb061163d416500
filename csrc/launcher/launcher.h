/* foxbench-run: starts a command, or attaches to one, and reports what it needed.
 *
 * A program of its own and not a part of the Python process, because a child's figures inherit
 * what its parent held: this parent holds about 1 MB.
 */
#ifndef FOX_LAUNCHER_H
#define FOX_LAUNCHER_H

#include <signal.h>
#include <stdio.h>

#include "internal.h"
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

/* What the files of the launcher share while a command runs. */
typedef struct {
    fox_options options;
    fox_run_result result;
    fox_tree *tree;
    pid_t child; /* 0 when attached */
    bool child_ended;
    int64_t begin_ns;     /* just before the fork */
    int64_t begin_cpu_ns; /* CPU time of this process then */
    sigset_t waited;      /* signals that are taken in the loop */
} fox_run;

/* errors_out.c: "foxbench run: WHAT" and how to mend it, on stderr. */
void fox_complain(const char *remedy, const char *what, ...) __attribute__((format(printf, 2, 3)));

/* options.c.  0, 1 when help was printed, -EINVAL when it has complained. */
int fox_options_parse(int argc, char **argv, fox_options *out);

/* signals.c */
int fox_signals_take(fox_run *run);
void fox_signals_give_back(void); /* in the child, before exec: as we found them */
/* Sleeps until the deadline at most; *number is the signal that came, or 0. */
int fox_signals_wait(const fox_run *run, int64_t deadline_ns, siginfo_t *info);
void fox_signals_forward(const fox_run *run, const siginfo_t *info);

/* spawn.c: 0, or the positive errno of a failed exec in *exec_errno. */
int fox_spawn(fox_run *run, int *exec_errno);

/* own_proc.c: 0, or -ESRCH, having complained, where /proc is of another pid namespace. */
int fox_own_proc(void);

/* strangers.c: children that are none of the command's; a list that ends with 0. */
void fox_strangers_find(void);
const pid_t *fox_strangers(void);
bool fox_strangers_forget(pid_t pid);

/* reap.c */
int fox_reap(fox_run *run);
void fox_child_ended(fox_run *run, int status);

/* wait_out.c: after a fault of ours, until the command has ended. */
void fox_wait_out(fox_run *run);

/* loop.c: samples until the command has ended. */
int fox_loop(fox_run *run);

/* attach.c */
int fox_attach(fox_run *run);
void fox_attach_read(fox_run *run, bool first);

/* progress.c */
bool fox_progress_wanted(const fox_run *run);
void fox_progress_show(const fox_run *run, int64_t now_ns);
void fox_progress_erase(void);

/* outfile.c: written beside its place and moved there when it is whole. */
typedef struct {
    char *path, *beside; /* beside is NULL for what is no regular file */
    int fd;
} fox_outfile;
int fox_outfile_open(const char *path, fox_outfile *out);
int fox_outfile_finish(fox_outfile *file);
void fox_outfile_drop(fox_outfile *file);

/* report_*.c: one format each. */
void fox_report_text(FILE *to, const fox_run *run);
void fox_report_gnu(FILE *to, const fox_run *run);
void fox_report_json(FILE *to, const fox_run *run);

/* timeline_out.c: through the interpreter in options.python.  0 or -errno, having complained. */
int fox_timeline_out(const fox_run *run);

#endif
