/* Parsers of /proc/PID files, each a pure function of its text (proc(5)). */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "internal_tree.h"

/* A run of digits at *at; false where there is none or it is larger than most. */
static bool number(const char *text, size_t n, size_t *at, uint64_t most, uint64_t *out) {
    size_t start = *at;
    uint64_t value = 0;
    while (*at < n && text[*at] >= '0' && text[*at] <= '9') {
        uint64_t digit = (uint64_t)(text[*at] - '0');
        if (value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
        (*at)++;
    }
    *out = value;
    return *at > start;
}

static void copy_comm(char into[FOX_COMM_ROOM], const char *from, size_t n) {
    if (n > FOX_COMM_ROOM - 1)
        n = FOX_COMM_ROOM - 1;
    memcpy(into, from, n);
    into[n] = '\0';
}

/* The name stands in parentheses and may itself hold any of them, so the last one closes it. */
int fox_stat_parse(const char *text, size_t n, fox_stat *out) {
    enum { FIRST = 4, LAST = 48, MIN_FIELDS = 22 };
    uint64_t fields[LAST + 1] = {0}, pid = 0;
    size_t at = 0;

    if (!number(text, n, &at, FOX_PID_LIMIT, &pid) || n - at < 2 || memcmp(text + at, " (", 2) != 0)
        return -EPROTO;
    size_t name = at + 2, close = n;
    while (close > name && text[close - 1] != ')')
        close--;
    if (close == name || n - close < 3 || text[close] != ' ' || text[close + 2] != ' ')
        return -EPROTO;
    memset(out, 0, sizeof *out);
    copy_comm(out->comm, text + name, close - 1 - name);
    out->state = text[close + 1];

    int field = FIRST;
    for (at = close + 3; field <= LAST && at < n; field++) {
        bool negative = text[at] == '-';
        at += negative;
        if (!number(text, n, &at, negative ? INT64_MAX : UINT64_MAX, &fields[field]))
            return -EPROTO;
        if (negative)
            fields[field] = 0; /* tty, tpgid, nice and the like: none that we use */
        if (at < n && text[at] != ' ' && text[at] != '\n')
            return -EPROTO;
        at++;
    }
    if (field <= MIN_FIELDS || fields[4] > FOX_PID_LIMIT)
        return -EPROTO;
    for (int wanted = 10; wanted <= 22; wanted++)
        if (fields[wanted] > INT64_MAX)
            return -EPROTO;
    out->pid = (pid_t)pid;
    out->ppid = (pid_t)fields[4];
    out->minor_faults = (int64_t)fields[10];
    out->waited_faults = (int64_t)fields[11];
    out->major_faults = (int64_t)fields[12];
    out->user_ticks = (int64_t)fields[14];
    out->system_ticks = (int64_t)fields[15];
    out->start_ticks = (int64_t)fields[22];
    out->arg_start = fields[48];
    return 0;
}

int fox_children_parse(const char *text, size_t n, pid_t *into, int room, int *count) {
    int found = 0;
    for (size_t at = 0; at < n; at++) {
        uint64_t pid;
        if (text[at] == ' ' || text[at] == '\n')
            continue;
        if (!number(text, n, &at, FOX_PID_LIMIT, &pid) || pid == 0 || found == INT32_MAX)
            return -EPROTO;
        if (at < n && text[at] != ' ' && text[at] != '\n')
            return -EPROTO;
        if (found < room)
            into[found] = (pid_t)pid;
        found++;
    }
    *count = found;
    return 0;
}

/* Where the value of the line "key:" begins, or NULL. */
static const char *value_of(const char *text, size_t n, const char *key, size_t *left) {
    size_t length = strlen(key);
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t stop = end ? (size_t)(end - text) : n;
        if (stop - at > length && memcmp(text + at, key, length) == 0 && text[at + length] == ':') {
            at += length + 1;
            while (at < stop && (text[at] == ' ' || text[at] == '\t'))
                at++;
            *left = stop - at;
            return text + at;
        }
        at = stop + 1;
    }
    return NULL;
}

int fox_pss_parse(const char *text, size_t n, int64_t *bytes) {
    size_t left, at = 0;
    uint64_t kb;
    const char *value = value_of(text, n, "Pss", &left);
    if (value == NULL || !number(value, left, &at, INT64_MAX / 1024, &kb))
        return -EPROTO;
    if (left - at < 3 || memcmp(value + at, " kB", 3) != 0)
        return -EPROTO;
    *bytes = (int64_t)kb * 1024;
    return 0;
}

int fox_loadavg_parse(const char *text, size_t n, pid_t *last) {
    size_t at = 0;
    uint64_t pid;
    for (int space = 0; space < 4; at++) {
        if (at == n)
            return -EPROTO;
        space += text[at] == ' ';
    }
    if (!number(text, n, &at, FOX_PID_LIMIT, &pid) || at == n || text[at] != '\n')
        return -EPROTO;
    *last = (pid_t)pid;
    return 0;
}

int fox_ignores_sigchld_parse(const char *text, size_t n, bool *ignores) {
    enum { SIGCHLD_BIT = SIGCHLD - 1 }; /* the mask's bits count from signal 1 */
    size_t left;
    uint64_t mask = 0;
    const char *value = value_of(text, n, "SigIgn", &left);
    if (value == NULL || left == 0)
        return -EPROTO;
    for (size_t at = 0; at < left; at++) {
        if (!isxdigit((unsigned char)value[at]))
            return -EPROTO;
        int low = tolower((unsigned char)value[at]);
        mask = mask << 4 | (uint64_t)(low <= '9' ? low - '0' : low - 'a' + 10);
    }
    *ignores = (mask >> SIGCHLD_BIT & 1) != 0;
    return 0;
}
