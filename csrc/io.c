/* /proc/self/io: what this process read and wrote (proc(5)); needs CONFIG_TASK_IO_ACCOUNTING. */
#include <errno.h>
#include <string.h>

#include "internal.h"

static const fox_io not_measured = {-1, -1, -1, -1, -1, -1, -1};

/* Lines "key: number"; -EPROTO when one of the seven is missing. */
int fox_io_parse(const char *text, size_t n, fox_io *out) {
    const struct {
        const char *key;
        int64_t *into;
    } wanted[] = {
        {"rchar", &out->rchar_bytes},
        {"wchar", &out->wchar_bytes},
        {"syscr", &out->read_calls},
        {"syscw", &out->write_calls},
        {"read_bytes", &out->read_bytes},
        {"write_bytes", &out->write_bytes},
        {"cancelled_write_bytes", &out->cancelled_write_bytes},
    };
    enum { N_WANTED = sizeof wanted / sizeof wanted[0] };

    *out = not_measured;
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = end ? (size_t)(end - (text + at)) : n - at;
        for (int i = 0; i < N_WANTED; i++) {
            int64_t value = fox_number_after(text + at, length, wanted[i].key);
            if (value >= 0)
                *wanted[i].into = value;
        }
        at += length + 1;
    }
    for (int i = 0; i < N_WANTED; i++)
        if (*wanted[i].into < 0)
            return -EPROTO;
    return 0;
}

int fox_io_read_locked(fox_io *out) {
    char text[512];
    size_t n;
    *out = not_measured;
    int error = fox_kept_read(FOX_IO, 0, text, sizeof text, &n);
    if (error == 0)
        error = fox_io_parse(text, n, out);
    if (error == -EPROTO)
        fox_kept_forget(FOX_IO); /* not our file any more; the next reading opens it again */
    return error;
}

int fox_io_read(fox_io *out) {
    fox_lock();
    int error = fox_io_read_locked(out);
    fox_unlock();
    return error;
}
