/* /proc/self/status: the high-water mark and what the resident set is made of. */
#include <errno.h>
#include <string.h>

#include "internal.h"

/* The file is about 1.5 KB; a long list of groups stands before the lines we want. */
enum { ROOM = 16384 };

int64_t fox_number_after(const char *line, size_t n, const char *key) {
    size_t at = strlen(key);
    if (n <= at || memcmp(line, key, at) != 0 || line[at] != ':')
        return -1;
    at++;
    while (at < n && (line[at] == ' ' || line[at] == '\t'))
        at++;
    if (at == n || line[at] < '0' || line[at] > '9')
        return -1;
    int64_t value = 0;
    while (at < n && line[at] >= '0' && line[at] <= '9') {
        if (value > (INT64_MAX - 9) / 10)
            return -1;
        value = value * 10 + (line[at] - '0');
        at++;
    }
    return value;
}

/* Lines that are absent leave their field at -1. */
void fox_status_parse(const char *text, size_t n, fox_status *out) {
    const struct {
        const char *key;
        int64_t unit;
        int64_t *into;
    } wanted[] = {
        {"VmHWM", 1024, &out->hwm_bytes},
        {"VmRSS", 1024, &out->rss_bytes},
        {"RssAnon", 1024, &out->anon_bytes},
        {"RssFile", 1024, &out->file_bytes},
        {"RssShmem", 1024, &out->shmem_bytes},
        {"VmSwap", 1024, &out->swap_bytes},
        {"HugetlbPages", 1024, &out->hugetlb_bytes},
        {"Threads", 1, &out->threads},
    };
    enum { N_WANTED = sizeof wanted / sizeof wanted[0] };

    for (int i = 0; i < N_WANTED; i++)
        *wanted[i].into = -1;
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = end ? (size_t)(end - (text + at)) : n - at;
        for (int i = 0; i < N_WANTED; i++) {
            int64_t value = fox_number_after(text + at, length, wanted[i].key);
            if (value >= 0 && value <= INT64_MAX / wanted[i].unit)
                *wanted[i].into = value * wanted[i].unit;
        }
        at += length + 1;
    }
}

int fox_status_read_locked(fox_status *out) {
    static char text[ROOM]; /* under the lock, and kept off the small stack of the thread */

    for (int attempt = 0; attempt < 2; attempt++) {
        size_t have = 0, n = 1;
        do {
            int error = fox_kept_read(FOX_STATUS, (int64_t)have, text + have, ROOM - have, &n);
            if (error != 0)
                return error;
            have += n;
            fox_status_parse(text, have, out);
        } while (n > 0 && have < ROOM && out->threads < 0);
        if (out->threads >= 0 || out->rss_bytes >= 0)
            return 0;
        fox_kept_forget(FOX_STATUS); /* not our file any more: open it again, once */
    }
    return -EPROTO;
}

int fox_status_read(fox_status *out) {
    fox_lock();
    int error = fox_status_read_locked(out);
    fox_unlock();
    return error;
}
