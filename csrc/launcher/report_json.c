/* The figures as JSON: bytes and nanoseconds, null for what was not measured. */
#include <inttypes.h>

#include "launcher.h"

enum { SCHEMA_VERSION = 1 };

static void integer(FILE *to, const char *key, int64_t value) {
    if (value < 0)
        (void)fprintf(to, ",\n  \"%s\": null", key);
    else
        (void)fprintf(to, ",\n  \"%s\": %" PRId64, key, value);
}

/* A process may call itself by any bytes; those that are no ASCII are given as Latin-1. */
static void text(FILE *to, const char *key, const char *value) {
    if (value[0] == '\0') {
        (void)fprintf(to, ",\n  \"%s\": null", key);
        return;
    }
    (void)fprintf(to, ",\n  \"%s\": \"", key);
    for (; *value != '\0'; value++) {
        unsigned char c = (unsigned char)*value;
        if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
            (void)fprintf(to, "\\u%04x", c);
        else
            (void)fputc(c, to);
    }
    (void)fputc('"', to);
}

void fox_report_json(FILE *to, const fox_run *run) {
    const fox_run_result *r = &run->result;
    const fox_tree_result *tree = &r->tree;
    const bool measured = tree->peak_single_bytes >= 0;

    (void)fprintf(to, "{\n  \"schema_version\": %d", SCHEMA_VERSION);
    text(to, "status", r->status);
    integer(to, "exit_code", r->exit_code);
    integer(to, "term_signal", r->term_signal);
    integer(to, "elapsed_ns", r->elapsed_ns);
    integer(to, "user_ns", r->user_ns);
    integer(to, "system_ns", r->system_ns);
    integer(to, "peak_single_bytes", tree->peak_single_bytes);
    integer(to, "peak_single_pid", tree->peak_single_pid);
    text(to, "peak_single_comm", tree->peak_single_comm);
    integer(to, "peak_tree_rss_bytes", tree->peak_tree_rss_bytes);
    integer(to, "peak_tree_pss_bytes", tree->peak_tree_pss_bytes);
    integer(to, "peak_err_bytes", tree->peak_err_bytes);
    text(to, "peak_kind", !measured ? "" : tree->peak_is_mark ? "hwm" : "sampled");
    integer(to, "avg_rss_bytes", tree->avg_rss_bytes);
    integer(to, "minor_faults", r->minor_faults);
    integer(to, "major_faults", r->major_faults);
    integer(to, "voluntary_ctxt_switches", r->voluntary_ctxt_switches);
    integer(to, "involuntary_ctxt_switches", r->involuntary_ctxt_switches);
    integer(to, "fs_inputs", r->fs_inputs);
    integer(to, "fs_outputs", r->fs_outputs);
    integer(to, "n_samples", tree->n_samples);
    integer(to, "n_missed", r->n_missed);
    integer(to, "n_processes", tree->n_processes);
    integer(to, "orphans_reaped", r->orphans_reaped);
    integer(to, "sampler_cpu_ns", r->sampler_cpu_ns);
    integer(to, "self_bytes", r->self_bytes);
    (void)fprintf(to, "\n}\n");
}
