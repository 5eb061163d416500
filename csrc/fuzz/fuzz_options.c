/* The launcher's command line: one argument a line of the input. */
#include "fuzz.h"
#include "launcher.h"

enum { MOST_ARGUMENTS = 64 };

static int complaints;

/* In the place of errors_out.c: counts, and asks for a remedy. */
void fox_complain(const char *remedy, const char *what, ...) {
    HOLDS(remedy != NULL && what != NULL && *remedy != '\0' && *what != '\0');
    complaints++;
}

/* argv of the input; text is cut up in place. */
static int split(char *text, char *argv[MOST_ARGUMENTS + 2]) {
    int argc = 0;
    argv[argc++] = text; /* argv[0] is never looked at */
    for (char *at = text; at != NULL && argc <= MOST_ARGUMENTS;) {
        argv[argc++] = at;
        at = strchr(at, '\n');
        if (at != NULL)
            *at++ = '\0';
    }
    argv[argc] = NULL;
    return argc;
}

static bool same_text(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* The options, written out in full, are understood as the same options. */
static void comes_back_from_its_own_print(const fox_options *options) {
    static const char *const formats[] = {"text", "gnu", "json"};
    char hz[64], pid[32], *argv[64];
    fox_options again;
    int argc = 0, error;
    (void)snprintf(hz, sizeof hz, "--hz=%.17g", options->hz);
    (void)snprintf(pid, sizeof pid, "%d", (int)options->attach);
#define ADD(argument) argv[argc++] = (char *)(uintptr_t)(argument)
    ADD("foxbench-run");
    ADD(hz);
    ADD(options->follow ? "--tree" : "--no-tree");
    ADD("--format");
    ADD(formats[options->format]);
    if (options->quiet)
        ADD("-q");
    const struct {
        const char *name, *value;
    } paths[] = {{"--output", options->output_path},
                 {"--json", options->json_path},
                 {"--timeline", options->timeline_path},
                 {"--python", options->python},
                 {"--attach", options->attach != 0 ? pid : NULL}};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (paths[i].value != NULL) {
            ADD(paths[i].name);
            ADD(paths[i].value);
        }
    }
    if (options->command != NULL) {
        ADD("--");
        ADD(options->command[0]);
    }
    argv[argc] = NULL;
    error = fox_options_parse(argc, argv, &again);
    HOLDS(error == 0 && complaints == 0);
    HOLDS(again.hz >= options->hz && again.hz <= options->hz);
    HOLDS(again.follow == options->follow && again.quiet == options->quiet);
    HOLDS(again.format == options->format && again.attach == options->attach);
    HOLDS(same_text(again.output_path, options->output_path));
    HOLDS(same_text(again.json_path, options->json_path));
    HOLDS(same_text(again.timeline_path, options->timeline_path));
    HOLDS(same_text(again.python, options->python));
    HOLDS((again.command == NULL) == (options->command == NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static bool silent;
    static char text[FUZZ_MOST + 1];
    char *argv[MOST_ARGUMENTS + 2];
    fox_options options;
    if (!silent)
        silent = freopen("/dev/null", "w", stdout) != NULL; /* --help is printed there */
    if (n > FUZZ_MOST)
        n = FUZZ_MOST;
    memcpy(text, data, n);
    text[n] = '\0';
    int argc = split(text, argv);
    complaints = 0;
    int error = fox_options_parse(argc, argv, &options);

    HOLDS(error == 0 || error == 1 || error == -EINVAL);
    HOLDS(complaints == (error == -EINVAL));
    if (error != 0)
        return 0;
    HOLDS(options.hz >= 1 && options.hz <= 10000);
    HOLDS(options.format >= FOX_TEXT && options.format <= FOX_JSON);
    HOLDS(options.attach >= 0 && options.attach <= 4194304);
    HOLDS((options.attach != 0) != (options.command != NULL));
    const char *paths[] = {options.output_path, options.json_path, options.timeline_path,
                           options.python};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        HOLDS(paths[i] == NULL || paths[i][0] != '\0');
    if (options.command != NULL) /* the rest of the line, untouched */
        HOLDS(options.command > argv && options.command < argv + argc && argv[argc] == NULL);
    comes_back_from_its_own_print(&options);
    return 0;
}
