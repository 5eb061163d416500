/* foxbench-run: the order of things, and the exit code. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "launcher.h"

enum { BUCKETS = 4096 };

typedef struct {
    fox_outfile report, json;
    int timeline_probe; /* the timeline's place can be written to */
} outputs;

static int64_t cpu_ns(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0)
        return -1;
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_nsec;
}

/* Files must not land on 0, 1 or 2 where those came closed; the command gets them closed again. */
static void occupy_standard_descriptors(void) {
    int fd;
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* After the fork, so that the command has its own limit. */
static void raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Before the command runs: a path that cannot be written must not cost a run. */
static int open_outputs(const fox_options *options, outputs *out) {
    fox_outfile timeline;
    *out = (outputs){.report = {.fd = -1}, .json = {.fd = -1}};
    int error = 0;
    if (options->timeline_path != NULL) {
        if (options->python == NULL) {
            fox_complain("use the foxbench command: foxbench run --timeline",
                         "a timeline is written by Python, and --python names none");
            return -EINVAL;
        }
        error = fox_outfile_open(options->timeline_path, &timeline);
        if (error == 0)
            fox_outfile_drop(&timeline);
    }
    if (error == 0 && options->output_path != NULL)
        error = fox_outfile_open(options->output_path, &out->report);
    if (error == 0 && options->json_path != NULL && strcmp(options->json_path, "-") != 0)
        error = fox_outfile_open(options->json_path, &out->json);
    if (error != 0) {
        fox_outfile_drop(&out->report);
        fox_outfile_drop(&out->json);
    }
    return error;
}

typedef void reporter(FILE *to, const fox_run *run);

static int write_report(int fd, reporter *report, const fox_run *run) {
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    FILE *to = copy < 0 ? NULL : fdopen(copy, "w");
    if (to == NULL)
        return fox_neg_errno();
    report(to, run);
    int failed = ferror(to);
    return fclose(to) != 0 || failed ? fox_neg_errno() : 0;
}

static int write_file(fox_outfile *file, reporter *report, const fox_run *run) {
    int error = write_report(file->fd, report, run);
    int moved = fox_outfile_finish(file);
    return error != 0 ? error : moved;
}

static int write_outputs(fox_run *run, outputs *out) {
    static reporter *const reporters[] = {
        [FOX_TEXT] = fox_report_text, [FOX_GNU] = fox_report_gnu, [FOX_JSON] = fox_report_json};
    reporter *report = reporters[run->options.format];
    int error = 0, last;
    if (run->options.json_path != NULL) {
        last = out->json.fd >= 0 ? write_file(&out->json, fox_report_json, run)
                                 : write_report(STDOUT_FILENO, fox_report_json, run);
        error = error != 0 ? error : last;
    }
    if (out->report.fd >= 0) {
        last = write_file(&out->report, report, run);
        error = error != 0 ? error : last;
    } else if (!run->options.quiet) {
        last = write_report(STDERR_FILENO, report, run);
        error = error != 0 ? error : last;
    }
    if (error != 0)
        fox_complain(NULL, "the report could not be written: %s", strerror(-error));
    if (run->options.timeline_path != NULL) {
        last = fox_timeline_out(run);
        error = error != 0 ? error : last;
    }
    return error;
}

static int measure(fox_run *run) {
    const fox_tree_options options = {.follow = run->options.follow,
                                      .own_child = run->child != 0,
                                      .excluded = getpid(),
                                      .strangers = fox_strangers(),
                                      .timeline_buckets = BUCKETS};
    raise_descriptor_limit();
    /* The number to attach to was read in this very /proc. */
    int error = run->child != 0 ? fox_own_proc() : 0;
    if (error == 0)
        error =
            fox_tree_new(run->child != 0 ? run->child : run->options.attach, &options, &run->tree);
    if (error == 0)
        error = fox_loop(run);
    return error;
}

static void finish(fox_run *run, bool incomplete) {
    fox_run_result *r = &run->result;
    int64_t now, cpu = cpu_ns();
    if (run->tree != NULL)
        (void)fox_tree_read(run->tree, &r->tree);
    if (incomplete) { /* what was seen until the fault, a lower bound */
        r->tree.peak_is_mark = false;
        r->tree.peak_err_bytes = -1;
        r->user_ns = r->system_ns = r->minor_faults = r->major_faults = -1;
        r->voluntary_ctxt_switches = r->involuntary_ctxt_switches = -1;
        r->fs_inputs = r->fs_outputs = r->swaps = r->signals = -1;
        r->messages_sent = r->messages_received = -1;
    }
    if (run->child == 0 && fox_clock_ns(&now) == 0)
        r->elapsed_ns = now - run->begin_ns;
    r->sampler_cpu_ns = cpu < 0 || run->begin_cpu_ns < 0 ? -1 : cpu - run->begin_cpu_ns;
    if (fox_rss_bytes(&r->self_bytes) != 0)
        r->self_bytes = -1;
    bool measured = r->tree.peak_single_bytes >= 0;
    bool failed = r->exit_code > 0 || r->term_signal >= 0;
    r->status = failed ? "failed" : measured && !incomplete ? "ok" : "not_measured";
}

static int exit_code(const fox_run *run, int report_error) {
    if (run->result.term_signal >= 0)
        return 128 + (int)run->result.term_signal;
    if (run->result.exit_code > 0)
        return (int)run->result.exit_code;
    return report_error != 0 ? EXIT_OURS : 0;
}

static int ours(const char *what, int error, outputs *out) {
    fox_complain("see foxbench doctor", "%s: %s", what, strerror(-error));
    fox_outfile_drop(&out->report);
    fox_outfile_drop(&out->json);
    return EXIT_OURS;
}

int main(int argc, char **argv) {
    static fox_run run = {.result = {.exit_code = -1,
                                     .term_signal = -1,
                                     .elapsed_ns = -1,
                                     .tree = {.peak_single_bytes = -1,
                                              .peak_single_pid = -1,
                                              .peak_err_bytes = -1,
                                              .peak_tree_rss_bytes = -1,
                                              .peak_tree_pss_bytes = -1,
                                              .avg_rss_bytes = -1,
                                              .rss_bytes = -1,
                                              .n_samples = -1,
                                              .n_processes = -1}}};
    outputs out;
    int exec_errno = 0;

    occupy_standard_descriptors();
    int error = fox_options_parse(argc, argv, &run.options);
    if (error != 0)
        return error == 1 ? 0 : EXIT_OURS;
    if (open_outputs(&run.options, &out) != 0)
        return EXIT_OURS;
    run.begin_cpu_ns = cpu_ns();
    error = fox_signals_take(&run);
    if (error == 0)
        error = run.options.attach != 0 ? fox_attach(&run) : fox_spawn(&run, &exec_errno);
    if (error != 0)
        return ours("cannot start", error, &out);
    if (exec_errno != 0) {
        fox_outfile_drop(&out.report);
        fox_outfile_drop(&out.json);
        fox_complain("check its name, PATH and permissions", "%s: %s", run.options.command[0],
                     strerror(exec_errno));
        return exec_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    }
    const int follow_error = measure(&run);
    if (follow_error != 0 && run.child == 0)
        return ours("cannot follow the process", follow_error, &out);
    if (follow_error != 0) {
        fox_complain("see foxbench doctor; its exit code is kept, figures are incomplete",
                     "cannot follow the command: %s", strerror(-follow_error));
        fox_wait_out(&run);
    }
    finish(&run, follow_error != 0);
    error = write_outputs(&run, &out);
    fox_tree_free(run.tree);
    return exit_code(&run, follow_error != 0 ? follow_error : error);
}
