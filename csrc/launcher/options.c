/* The command line.  Options end at the command, as they do for time(1). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher.h"

static const char help[] =
    "Usage: foxbench run [OPTIONS] [--] COMMAND [ARGUMENT ...]\n"
    "       foxbench run [OPTIONS] --attach PID\n"
    "\n"
    "  Run a command and report the memory that it and its descendants needed.\n"
    "\n"
    "Options:\n"
    "  --hz N             Samples a second, 1 to 10000.  [default: 1000]\n"
    "  --tree, --no-tree  Follow descendants, or the command alone.  [default: --tree]\n"
    "  --format FORMAT    Of the report: text, gnu (the lines of GNU time -v) or json.\n"
    "  -o, --output FILE  Write the report there and not to stderr.\n"
    "  --json FILE        Write the figures as JSON too; - for stdout.\n"
    "  --timeline FILE    Write the samples of the summed resident sets as Parquet.\n"
    "  -q, --quiet        No report on stderr and no progress.\n"
    "  --attach PID       Follow a running process until it ends, or until Ctrl-C.\n"
    "  -h, --help         Show this message and exit.\n"
    "\n"
    "Exit code: the command's own; 128 + N when signal N killed it; 127 or 126 when it is\n"
    "not found or cannot be executed; 125 for a fault of foxbench run itself.\n";

/* The value of "--name VALUE" or "--name=VALUE"; NULL when argv[*at] is not that option. */
static const char *value_of(int argc, char **argv, int *at, const char *name) {
    size_t n = strlen(name);
    if (strncmp(argv[*at], name, n) != 0)
        return NULL;
    if (argv[*at][n] == '=' && name[1] == '-')
        return argv[*at] + n + 1;
    if (name[1] != '-' && argv[*at][n] != '\0')
        return argv[*at] + n; /* -oFILE */
    if (argv[*at][n] != '\0')
        return NULL;
    if (*at + 1 >= argc)
        return "";
    return argv[++*at];
}

static bool is(const char *argument, const char *option) {
    return strcmp(argument, option) == 0;
}

static int set_format(const char *name, enum fox_format *into) {
    static const char *const names[] = {
        [FOX_TEXT] = "text", [FOX_GNU] = "gnu", [FOX_JSON] = "json"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, names[i]) == 0) {
            *into = (enum fox_format)i;
            return 0;
        }
    }
    fox_complain("use --format text, gnu or json", "there is no format '%s'", name);
    return -EINVAL;
}

static int set_hz(const char *text, double *into) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value) || value < 1 || value > 10000) {
        fox_complain("use --hz 1 to 10000", "a sampling rate of '%s' Hz", text);
        return -EINVAL;
    }
    *into = value;
    return 0;
}

static int set_pid(const char *text, pid_t *into) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 1 || value > 4194304) {
        fox_complain("give the number of a running process: --attach PID", "'%s' is no process id",
                     text);
        return -EINVAL;
    }
    *into = (pid_t)value;
    return 0;
}

static int set_path(const char *name, const char *value, const char **into) {
    if (*value == '\0') {
        fox_complain("name a file after it", "%s without a file", name);
        return -EINVAL;
    }
    *into = value;
    return 0;
}

/* 0, 1 when argv[*at] is no option, or -EINVAL. */
static int one_option(int argc, char **argv, int *at, fox_options *out) {
    const char *argument = argv[*at], *value;
    if (argument[0] != '-' || argument[1] == '\0')
        return 1;
    if (is(argument, "--tree") || is(argument, "--no-tree"))
        return out->follow = is(argument, "--tree"), 0;
    if (is(argument, "--quiet") || is(argument, "-q"))
        return out->quiet = true, 0;
    if ((value = value_of(argc, argv, at, "--hz")) != NULL)
        return set_hz(value, &out->hz);
    if ((value = value_of(argc, argv, at, "--format")) != NULL)
        return set_format(value, &out->format);
    if ((value = value_of(argc, argv, at, "--attach")) != NULL)
        return set_pid(value, &out->attach);
    if ((value = value_of(argc, argv, at, "--json")) != NULL)
        return set_path("--json", value, &out->json_path);
    if ((value = value_of(argc, argv, at, "--timeline")) != NULL)
        return set_path("--timeline", value, &out->timeline_path);
    if ((value = value_of(argc, argv, at, "--output")) != NULL ||
        (value = value_of(argc, argv, at, "-o")) != NULL)
        return set_path("--output", value, &out->output_path);
    if ((value = value_of(argc, argv, at, "--python")) != NULL)
        return set_path("--python", value, &out->python);
    fox_complain("see foxbench run --help; put -- before the command", "there is no option %s",
                 argument);
    return -EINVAL;
}

int fox_options_parse(int argc, char **argv, fox_options *out) {
    int at = 1;
    *out = (fox_options){.hz = 1000, .follow = true, .format = FOX_TEXT};
    for (; at < argc && !is(argv[at], "--"); at++) {
        if (is(argv[at], "--help") || is(argv[at], "-h")) {
            (void)fputs(help, stdout);
            return 1;
        }
        int error = one_option(argc, argv, &at, out);
        if (error < 0)
            return error;
        if (error == 1)
            break;
    }
    if (at < argc && is(argv[at], "--"))
        at++;
    out->command = at < argc ? argv + at : NULL;
    if (out->attach == 0 && out->command == NULL) {
        fox_complain("foxbench run -- COMMAND, or --attach PID", "no command to run");
        return -EINVAL;
    }
    if (out->attach != 0 && out->command != NULL) {
        fox_complain("drop one of them", "--attach and a command at once");
        return -EINVAL;
    }
    return 0;
}
