/* The report for people: MiB here, bytes everywhere else. */
#include <inttypes.h>
#include <string.h>

#include "launcher.h"

/* The closed list of what makes a peak a lower bound, each with its advice. */
static const struct {
    unsigned doubt;
    const char *text;
} doubts[] = {
    {FOX_DOUBT_UNSEEN_END, "a process ended whose parent collects no usage: its last moments were "
                           "only sampled; raise --hz to come closer"},
    {FOX_DOUBT_MARK_FELL, "a process resets its own high-water mark: between two readings it was "
                          "only sampled; for foxbench inside, set FOXBENCH_NO_CLEAR_REFS=1"},
    {FOX_DOUBT_ATTACHED, "attached later than the peak of its life: what is seen is sampled; start "
                         "it with foxbench run to have it exact"},
    {FOX_DOUBT_UNREADABLE, "a process could not be read: run as its user, or see foxbench doctor"},
    {FOX_DOUBT_CROWDED, "more processes than could be followed: raise ulimit -n"},
    {FOX_DOUBT_RUNNING, "processes of the command still run: their figures are up to now; wait for "
                        "them in the command to have them whole"},
};

static void mib(FILE *to, int64_t bytes) {
    if (bytes < 0)
        (void)fputs("not measured", to);
    else
        (void)fprintf(to, "%.2f MiB", (double)bytes / 1048576);
}

static void seconds(FILE *to, const char *before, int64_t time_ns, const char *after) {
    if (time_ns < 0)
        (void)fprintf(to, "%snot measured%s", before, after);
    else
        (void)fprintf(to, "%s%.3f s%s", before, (double)time_ns / 1e9, after);
}

/* Two counts on a line of their own, or that they were not measured. */
static void pair(FILE *to, const char *label, int64_t a, const char *what_a, int64_t b,
                 const char *what_b) {
    if (a < 0 || b < 0)
        (void)fprintf(to, "  %-9s not measured\n", label);
    else
        (void)fprintf(to, "  %-9s %" PRId64 " %s, %" PRId64 " %s\n", label, a, what_a, b, what_b);
}

static void status(FILE *to, const fox_run *run) {
    const fox_run_result *r = &run->result;
    (void)fprintf(to, "  status    %s", r->status);
    if (r->term_signal > 0)
        (void)fprintf(to, ", killed by signal %" PRId64 " (%s)", r->term_signal,
                      strsignal((int)r->term_signal));
    else if (r->exit_code >= 0)
        (void)fprintf(to, ", exit code %" PRId64, r->exit_code);
    (void)fputc('\n', to);
}

/* A process may call itself by any bytes: those that a terminal obeys are not for it. */
static void printable(FILE *to, const char *name) {
    for (; *name != '\0'; name++) {
        const unsigned char c = (unsigned char)*name;
        (void)fputc(c < 0x20 || c == 0x7f ? '?' : c, to);
    }
}

static void peaks(FILE *to, const fox_tree_result *tree) {
    const char *least = tree->peak_is_mark ? "" : ">= ";
    (void)fprintf(to, "  peak      %s", least);
    mib(to, tree->peak_single_bytes);
    (void)fputs(" resident in one process", to);
    if (tree->peak_single_pid > 0) {
        (void)fputs(" (", to);
        printable(to, tree->peak_single_comm);
        (void)fprintf(to, ", pid %" PRId64 ")", tree->peak_single_pid);
    }
    if (tree->peak_is_mark)
        (void)fprintf(to, ", +%.2f MiB at most", (double)tree->peak_err_bytes / 1048576);
    (void)fputs("\n  together  >= ", to);
    mib(to, tree->peak_tree_rss_bytes);
    (void)fputs(" of resident sets summed, ", to);
    if (tree->peak_tree_pss_bytes >= 0)
        (void)fputs(">= ", to);
    mib(to, tree->peak_tree_pss_bytes);
    (void)fputs(" with shared pages counted once (PSS)\n  average   ", to);
    mib(to, tree->avg_rss_bytes);
    (void)fputs(" of resident sets summed\n", to);
}

static void sampling(FILE *to, const fox_run *run) {
    const fox_run_result *r = &run->result;
    if (r->tree.n_samples < 0)
        (void)fputs("  sampled   never\n", to);
    else
        (void)fprintf(to,
                      "  sampled   %" PRId64 " times at %g Hz, %" PRId64 " ticks missed, %" PRId64
                      " processes seen, %" PRId64 " orphans reaped\n",
                      r->tree.n_samples, run->options.hz, r->n_missed, r->tree.n_processes,
                      r->orphans_reaped);
    seconds(to, "  sampler   ", r->sampler_cpu_ns, " CPU, ");
    mib(to, r->self_bytes);
    (void)fputc('\n', to);
}

void fox_report_text(FILE *to, const fox_run *run) {
    const fox_run_result *r = &run->result;
    (void)fputs("foxbench run:", to);
    if (run->options.command == NULL)
        (void)fprintf(to, " attached to process %d", (int)run->options.attach);
    for (char **word = run->options.command; word != NULL && *word != NULL; word++)
        (void)fprintf(to, " %s", *word);
    (void)fputc('\n', to);
    status(to, run);
    peaks(to, &r->tree);
    for (size_t i = 0; i < sizeof doubts / sizeof doubts[0]; i++)
        if (r->tree.doubts & doubts[i].doubt)
            (void)fprintf(to, "  note      %s\n", doubts[i].text);
    seconds(to, "  time      ", r->elapsed_ns, " elapsed, ");
    seconds(to, "", r->user_ns, " user, ");
    seconds(to, "", r->system_ns, " system\n");
    pair(to, "faults", r->minor_faults, "minor", r->major_faults, "major");
    pair(to, "switches", r->voluntary_ctxt_switches, "voluntary", r->involuntary_ctxt_switches,
         "involuntary");
    pair(to, "I/O", r->fs_inputs, "blocks in", r->fs_outputs, "blocks out");
    sampling(to, run);
}
