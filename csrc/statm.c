/* /proc/self/statm: the unit of cost, about half a microsecond a reading. */
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "internal.h"

static const int64_t max_pages = INT64_MAX / (1 << 20); /* no overflow with any page size */

/* The first three fields: size, resident, shared.  -EPROTO when they are not three numbers. */
int fox_statm_parse(const char *text, size_t n, int64_t pages[3]) {
    size_t at = 0;
    for (int field = 0; field < 3; field++) {
        int64_t value = 0;
        size_t start = at;
        while (at < n && text[at] >= '0' && text[at] <= '9') {
            value = value * 10 + (text[at] - '0');
            if (value > max_pages)
                return -EPROTO;
            at++;
        }
        if (at == start || at == n || text[at] != ' ')
            return -EPROTO;
        at++;
        pages[field] = value;
    }
    return 0;
}

/* Asked for once: it cannot change. */
int fox_page_bytes(int64_t *out) {
    static _Atomic int64_t known;
    int64_t page = atomic_load_explicit(&known, memory_order_relaxed);
    if (page == 0) {
        page = sysconf(_SC_PAGESIZE);
        if (page <= 0)
            return fox_neg_errno();
        atomic_store_explicit(&known, page, memory_order_relaxed);
    }
    *out = page;
    return 0;
}

int fox_statm_read_locked(fox_statm *out) {
    char text[128];
    int64_t pages[3], page = 0;
    size_t n;

    int error = fox_page_bytes(&page);
    for (int attempt = 0; error == 0 && attempt < 2; attempt++) {
        error = fox_kept_read(FOX_STATM, 0, text, sizeof text, &n);
        if (error != 0)
            break;
        error = fox_statm_parse(text, n, pages);
        if (error == 0) {
            out->size_bytes = pages[0] * page;
            out->resident_bytes = pages[1] * page;
            out->shared_bytes = pages[2] * page;
            return 0;
        }
        if (attempt == 0) {
            fox_kept_forget(FOX_STATM); /* not our file any more: open it again, once */
            error = 0;
        }
    }
    return error;
}

int fox_statm_read(fox_statm *out) {
    fox_lock();
    int error = fox_statm_read_locked(out);
    fox_unlock();
    return error;
}

int fox_rss_bytes(int64_t *out) {
    fox_statm statm;
    int error = fox_statm_read(&statm);
    if (error == 0)
        *out = statm.resident_bytes;
    return error;
}
