/* The labels of GNU time -v, so that scripts which look for them go on working.
 *
 * The sizes that Linux does not count are 0 there and here.  The average resident set, 0 there,
 * is measured here.
 */
#include <inttypes.h>

#include "launcher.h"

static void kilobytes(FILE *to, const char *label, int64_t bytes) {
    if (bytes < 0)
        (void)fprintf(to, "\t%s (kbytes): not measured\n", label);
    else
        (void)fprintf(to, "\t%s (kbytes): %" PRId64 "\n", label, bytes / 1024);
}

static void count(FILE *to, const char *label, int64_t value) {
    if (value < 0)
        (void)fprintf(to, "\t%s: not measured\n", label);
    else
        (void)fprintf(to, "\t%s: %" PRId64 "\n", label, value);
}

static void seconds(FILE *to, const char *label, int64_t time_ns) {
    if (time_ns < 0)
        (void)fprintf(to, "\t%s (seconds): not measured\n", label);
    else
        (void)fprintf(to, "\t%s (seconds): %" PRId64 ".%02" PRId64 "\n", label,
                      time_ns / 1000000000, time_ns / 10000000 % 100);
}

static void command(FILE *to, const fox_run *run) {
    (void)fputs("\tCommand being timed: \"", to);
    if (run->options.command == NULL)
        (void)fprintf(to, "--attach %d", (int)run->options.attach);
    for (char **word = run->options.command; word != NULL && *word != NULL; word++)
        (void)fprintf(to, word == run->options.command ? "%s" : " %s", *word);
    (void)fputs("\"\n", to);
}

static void elapsed(FILE *to, int64_t time_ns) {
    const int64_t s = time_ns / 1000000000;
    (void)fputs("\tElapsed (wall clock) time (h:mm:ss or m:ss): ", to);
    if (s >= 3600)
        (void)fprintf(to, "%" PRId64 ":%02" PRId64 ":%02" PRId64 "\n", s / 3600, s / 60 % 60,
                      s % 60);
    else
        (void)fprintf(to, "%" PRId64 ":%02" PRId64 ".%02" PRId64 "\n", s / 60, s % 60,
                      time_ns / 10000000 % 100);
}

static void percent(FILE *to, const fox_run_result *r) {
    const int64_t cpu_ms = (r->user_ns + r->system_ns) / 1000000;
    const int64_t elapsed_ms = r->elapsed_ns / 1000000;
    if (elapsed_ms > 0 && r->user_ns >= 0)
        (void)fprintf(to, "\tPercent of CPU this job got: %" PRId64 "%%\n",
                      100 * cpu_ms / elapsed_ms);
    else
        (void)fputs("\tPercent of CPU this job got: ?%\n", to);
}

void fox_report_gnu(FILE *to, const fox_run *run) {
    const fox_run_result *r = &run->result;
    int64_t page_bytes = -1;
    (void)fox_page_bytes(&page_bytes);

    if (r->term_signal > 0)
        (void)fprintf(to, "Command terminated by signal %" PRId64 "\n", r->term_signal);
    else if (r->exit_code > 0)
        (void)fprintf(to, "Command exited with non-zero status %" PRId64 "\n", r->exit_code);
    command(to, run);
    seconds(to, "User time", r->user_ns);
    seconds(to, "System time", r->system_ns);
    percent(to, r);
    elapsed(to, r->elapsed_ns);
    kilobytes(to, "Average shared text size", 0);
    kilobytes(to, "Average unshared data size", 0);
    kilobytes(to, "Average stack size", 0);
    kilobytes(to, "Average total size", 0);
    kilobytes(to, "Maximum resident set size", r->tree.peak_single_bytes);
    kilobytes(to, "Average resident set size", r->tree.avg_rss_bytes);
    count(to, "Major (requiring I/O) page faults", r->major_faults);
    count(to, "Minor (reclaiming a frame) page faults", r->minor_faults);
    count(to, "Voluntary context switches", r->voluntary_ctxt_switches);
    count(to, "Involuntary context switches", r->involuntary_ctxt_switches);
    count(to, "Swaps", r->swaps);
    count(to, "File system inputs", r->fs_inputs);
    count(to, "File system outputs", r->fs_outputs);
    count(to, "Socket messages sent", r->messages_sent);
    count(to, "Socket messages received", r->messages_received);
    count(to, "Signals delivered", r->signals);
    count(to, "Page size (bytes)", page_bytes);
    count(to, "Exit status", r->term_signal > 0 ? 0 : r->exit_code);
}
