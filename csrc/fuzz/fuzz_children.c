/* /proc/PID/task/TID/children: "%d " for each (fs/proc/array.c, children_seq_show). */
#include "fuzz.h"
#include "internal_tree.h"

enum { MOST = FUZZ_MOST / 2 + 1, CANARY = -77 };

static int parse(const char *text, size_t n, pid_t pids[MOST], int room, int *count) {
    *count = CANARY;
    for (int i = 0; i < MOST; i++)
        pids[i] = CANARY;
    int error = fox_children_parse(text, n, pids, room, count);
    for (int i = room; i < MOST; i++)
        HOLDS(pids[i] == CANARY); /* nothing beyond the room */
    return error;
}

static void comes_back_from_its_own_print(const pid_t *pids, int count) {
    static char text[MOST * 8];
    static pid_t again[MOST];
    size_t n = 0;
    int counted;
    for (int i = 0; i < count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%d ", (int)pids[i]);
    HOLDS(parse(text, n, again, MOST, &counted) == 0 && counted == count);
    HOLDS(memcmp(again, pids, sizeof again) == 0);
    /* A child more is the last one, and changes no other. */
    n += (size_t)snprintf(text + n, sizeof text - n, "4194304 ");
    if (count < MOST) {
        HOLDS(parse(text, n, again, MOST, &counted) == 0 && counted == count + 1);
        HOLDS(memcmp(again, pids, (size_t)count * sizeof *pids) == 0);
        HOLDS(again[count] == 4194304);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static pid_t exact[MOST], other[MOST];
    int count, counted;
    if (n > FUZZ_MOST)
        n = FUZZ_MOST;
    int error = parse(fuzz_exact(data, n), n, exact, MOST, &count);
    HOLDS(error == 0 || error == -EPROTO);
    HOLDS(parse(fuzz_guarded(data, n), n, other, MOST, &counted) == error);
    HOLDS(counted == count);
    HOLDS(parse(fuzz_followed(data, n), n, other, MOST, &counted) == error);
    HOLDS(counted == count);
    if (error != 0) {
        HOLDS(count == CANARY);
        return 0;
    }
    HOLDS(memcmp(exact, other, sizeof exact) == 0);
    HOLDS(count >= 0 && count <= MOST);
    for (int i = 0; i < count; i++)
        HOLDS(exact[i] > 0 && exact[i] <= FOX_PID_LIMIT);
    for (int room = 0; room < 3; room++) {
        HOLDS(parse((const char *)data, n, other, room, &counted) == 0 && counted == count);
        for (int i = 0; i < room && i < count; i++)
            HOLDS(other[i] == exact[i]);
    }
    comes_back_from_its_own_print(exact, count);
    return 0;
}
