/* /proc/PID/stat: "pid (name) S ppid ...", 52 fields (fs/proc/array.c, do_task_stat). */
#include "fuzz.h"
#include "internal_tree.h"

/* All of it, padding included: a field that is added to fox_stat must be added to print() too. */
static bool same(const fox_stat *a, const fox_stat *b) {
    fox_stat x, y;
    if (strcmp(a->comm, b->comm) != 0)
        return false;
    memcpy(&x, a, sizeof x); /* and not =, which need not copy padding */
    memcpy(&y, b, sizeof y);
    memset(x.comm, 0, sizeof x.comm); /* what stands behind its NUL says nothing */
    memset(y.comm, 0, sizeof y.comm);
    return memcmp(&x, &y, sizeof x) == 0;
}

/* As the kernel prints it, this name in it; returns the length. */
static size_t print(char *into, size_t room, const fox_stat *stat, const char *comm,
                    size_t n_comm) {
    int head = snprintf(into, room, "%d (", (int)stat->pid);
    memcpy(into + head, comm, n_comm);
    size_t n = (size_t)head + n_comm;
    int tail = snprintf(into + n, room - n,
                        ") %c %d 1 1 34816 -1 4194304 %" PRId64 " %" PRId64 " %" PRId64
                        " 0 %" PRId64 " %" PRId64 " 0 0 20 0 1 0 %" PRId64
                        " 2621440 325 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 0 0 0 0 0 "
                        "0 0 0 0 %" PRIu64 " 9 9 9 0\n",
                        stat->state, (int)stat->ppid, stat->minor_faults, stat->waited_faults,
                        stat->major_faults, stat->user_ticks, stat->system_ticks, stat->start_ticks,
                        stat->arg_start);
    HOLDS(tail > 0 && (size_t)tail < room - n);
    return n + (size_t)tail;
}

static void comes_back_from_its_own_print(const fox_stat *stat) {
    char text[1024];
    fox_stat again;
    size_t n = print(text, sizeof text, stat, stat->comm, strlen(stat->comm));
    HOLDS(fox_stat_parse(text, n, &again) == 0);
    HOLDS(same(stat, &again));
}

/* A process may call itself ") R 1 (": no name is mistaken for what stands behind it. */
static void any_name_is_read_as_a_name(const char *name, size_t n) {
    static const fox_stat wanted = {.pid = 4194304,
                                    .ppid = 1,
                                    .state = 'Z',
                                    .minor_faults = INT64_MAX,
                                    .waited_faults = 2,
                                    .user_ticks = 3,
                                    .start_ticks = INT64_MAX,
                                    .arg_start = UINT64_MAX};
    char text[1024];
    fox_stat stat;
    if (n > 64 || memchr(name, '\0', n) != NULL)
        return;
    HOLDS(fox_stat_parse(text, print(text, sizeof text, &wanted, name, n), &stat) == 0);
    size_t kept = n < FOX_COMM_ROOM - 1 ? n : FOX_COMM_ROOM - 1;
    HOLDS(strlen(stat.comm) == kept && memcmp(stat.comm, name, kept) == 0);
    memset(stat.comm, 0, sizeof stat.comm);
    HOLDS(same(&stat, &wanted));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    fox_stat exact, guarded, followed;
    if (n > FUZZ_MOST)
        n = FUZZ_MOST;
    int error = fox_stat_parse(fuzz_exact(data, n), n, &exact);
    HOLDS(error == 0 || error == -EPROTO);
    HOLDS(fox_stat_parse(fuzz_guarded(data, n), n, &guarded) == error);
    HOLDS(fox_stat_parse(fuzz_followed(data, n), n, &followed) == error);
    any_name_is_read_as_a_name((const char *)data, n);
    if (error != 0)
        return 0;
    HOLDS(exact.pid >= 0 && exact.pid <= FOX_PID_LIMIT);
    HOLDS(exact.ppid >= 0 && exact.ppid <= FOX_PID_LIMIT);
    HOLDS(memchr(exact.comm, '\0', sizeof exact.comm) != NULL);
    HOLDS(exact.minor_faults >= 0 && exact.waited_faults >= 0 && exact.major_faults >= 0);
    HOLDS(exact.user_ticks >= 0);
    HOLDS(exact.system_ticks >= 0 && exact.start_ticks >= 0);
    HOLDS(same(&exact, &guarded) && same(&exact, &followed));
    if (exact.state != '\0')
        comes_back_from_its_own_print(&exact);
    return 0;
}
