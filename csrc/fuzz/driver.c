/* Runs a fuzzer without libFuzzer: every input of a corpus, then random changes of them.
 *
 *   fuzz_NAME [-dict=FILE] FILE_OR_FOLDER ...
 *
 * FOX_FUZZ_RUNS inputs are made up (200000 unless set), from the seed FOX_FUZZ_SEED (1 unless
 * set).  An input that fails is written to crash-NAME in the current folder, and named; give it
 * as the only argument, with FOX_FUZZ_RUNS=0, to see the failure again.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "mutate.h"

enum { WALKERS = 64, HANG_S = 20 };

static uint8_t current[FUZZ_MOST];
static size_t n_current;
static _Atomic int64_t n_run;
static char crash_name[256];

/* Of the sanitizers' runtime, where there is one: called before it ends the process. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static void say(const char *text) {
    (void)!write(STDERR_FILENO, text, strlen(text));
}

static void save(void) {
    int fd = open(crash_name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ssize_t wrote = fd < 0 ? -1 : write(fd, current, n_current);
    say(wrote == (ssize_t)n_current ? "the input is in " : "the input could not be written to ");
    say(crash_name);
    say("\n");
    if (fd >= 0)
        close(fd);
}

static void on_failure(int number) {
    save();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void on_tick(int number) {
    static int64_t before = -1;
    (void)number;
    if (before == n_run) {
        say("an input takes longer than 20 seconds\n");
        abort();
    }
    before = n_run;
}

static void watch(const char *program) {
    const char *name = strrchr(program, '/');
    (void)snprintf(crash_name, sizeof crash_name, "crash-%s", name ? name + 1 : program);
    (void)signal(SIGABRT, on_failure);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(save);
    } else {
        (void)signal(SIGSEGV, on_failure);
        (void)signal(SIGBUS, on_failure);
        (void)signal(SIGFPE, on_failure);
    }
    (void)signal(SIGALRM, on_tick);
    const struct itimerval every = {{HANG_S, 0}, {HANG_S, 0}};
    (void)setitimer(ITIMER_REAL, &every, NULL);
}

static void run(void) {
    (void)LLVMFuzzerTestOneInput(current, n_current);
    n_run++;
}

static void take(const fuzz_item *item) {
    memcpy(current, item->bytes, item->n);
    n_current = item->n;
}

/* Each walker strays from an input of the corpus, and now and then begins anew. */
static void wander(const fuzz_list *corpus, const fuzz_list *words, int64_t runs, uint64_t state) {
    static struct {
        uint8_t bytes[FUZZ_MOST];
        size_t n;
    } walkers[WALKERS];
    static bool begun[WALKERS];
    for (int64_t i = 0; i < runs; i++) {
        size_t walker = fuzz_below(&state, WALKERS);
        if (!begun[walker] || fuzz_below(&state, 8) == 0) {
            take(&corpus->items[fuzz_below(&state, corpus->n)]);
        } else {
            memcpy(current, walkers[walker].bytes, walkers[walker].n);
            n_current = walkers[walker].n;
        }
        for (size_t changes = 1 + fuzz_below(&state, 4); changes > 0; changes--)
            n_current = fuzz_mutate(current, n_current, corpus, words, &state);
        run();
        memcpy(walkers[walker].bytes, current, n_current);
        walkers[walker].n = n_current;
        begun[walker] = true;
    }
}

static int64_t from_environment(const char *name, int64_t usual) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoll(text, NULL, 10) : usual;
}

int main(int argc, char **argv) {
    fuzz_list corpus = {NULL, 0}, words = {NULL, 0};
    struct timespec begin, end;
    for (int i = 1; i < argc; i++) {
        int error = 0;
        if (strncmp(argv[i], "-dict=", 6) == 0)
            error = fuzz_load_words(argv[i] + 6, &words);
        else if (argv[i][0] != '-') /* libFuzzer's other options say nothing here */
            error = fuzz_load(argv[i], &corpus);
        if (error != 0) {
            fprintf(stderr, "%s: %s\n", argv[i], strerror(-error));
            return 2;
        }
    }
    if (corpus.n == 0) {
        fprintf(stderr, "usage: %s [-dict=FILE] FILE_OR_FOLDER ...: no input\n", argv[0]);
        return 2;
    }
    watch(argv[0]);
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    n_current = 0;
    run();
    for (size_t i = 0; i < corpus.n; i++) {
        take(&corpus.items[i]);
        run();
    }
    wander(&corpus, &words, from_environment("FOX_FUZZ_RUNS", 200000),
           (uint64_t)from_environment("FOX_FUZZ_SEED", 1));
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds =
        (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    fprintf(stderr, "%zu inputs of the corpus, %" PRId64 " in all, %.0f a second\n", corpus.n,
            n_run, (double)n_run / (seconds > 0 ? seconds : 1));
    fuzz_list_free(&corpus);
    fuzz_list_free(&words);
    return 0;
}
