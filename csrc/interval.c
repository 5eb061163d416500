/* Intervals over one resettable mark.
 *
 * The kernel keeps a single VmHWM a process, and every interval wants its own.  So before each
 * reset the mark is folded into all open intervals and into the lifetime peak.  That holds for
 * nested intervals and for those of several threads that overlap in any order.
 *
 * Between reading the mark and resetting it lie about two microseconds: a spike that rises and
 * falls wholly inside them is lost to the intervals already open.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

enum { SLOTS = 1024 };

struct slot {
    bool open;
    uint32_t generation; /* makes the id of a closed interval invalid for ever */
    int hwm_error;
    int64_t hwm_bytes;
    int64_t sampled_bytes;
    int64_t n_samples;
    int64_t begin_ns;
    int64_t rss_begin_bytes;
    fox_usage usage;
};

static struct slot slots[SLOTS];
static int used; /* slots[used..] were never open */
static int64_t lifetime_bytes = -1;
static pid_t owner; /* the process all this is about */

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* In a forked child: what was open belongs to the parent.  Every way in comes through here. */
static void forget_if_forked(void) {
    pid_t pid = getpid();
    if (owner == pid)
        return;
    for (int i = 0; i < used; i++)
        slots[i].open = false;
    lifetime_bytes = -1;
    owner = pid;
}

/* Reads the mark into every open interval; *mark is its value.  -ENODATA: no VmHWM line here. */
static int fold_mark(int64_t *mark) {
    fox_status status;
    forget_if_forked();
    int error = fox_status_read_locked(&status);
    if (error == 0 && status.hwm_bytes < 0)
        error = -ENODATA;
    if (error != 0)
        return error;
    lifetime_bytes = larger(lifetime_bytes, status.hwm_bytes);
    for (int i = 0; i < used; i++)
        if (slots[i].open)
            slots[i].hwm_bytes = larger(slots[i].hwm_bytes, status.hwm_bytes);
    *mark = status.hwm_bytes;
    return 0;
}

/* Never resets a mark that it could not save. */
static int fold_and_reset(void) {
    int64_t mark;
    int error = fold_mark(&mark);
    return error != 0 ? error : fox_clear_refs_reset();
}

int fox_hwm_reset(void) {
    fox_lock();
    int error = fold_and_reset();
    fox_unlock();
    return error;
}

int fox_lifetime_peak(int64_t *out) {
    int64_t mark;
    fox_lock();
    int error = fold_mark(&mark);
    if (error == 0)
        *out = lifetime_bytes;
    fox_unlock();
    return error;
}

static int begin_locked(int use_hwm, int64_t *id) {
    int at = 0;
    forget_if_forked();
    while (at < used && slots[at].open)
        at++;
    if (at == SLOTS)
        return -ENOSPC;

    struct slot fresh = {.open = true, .generation = slots[at].generation + 1, .sampled_bytes = -1};
    fox_statm statm;
    fresh.hwm_error = use_hwm ? fold_and_reset() : -ENOTSUP;
    int error = fox_statm_read_locked(&statm);
    if (error == 0)
        error = fox_clock_ns(&fresh.begin_ns);
    if (error == 0)
        error = fox_usage_read(&fresh.usage); /* last, so that our own work is not counted */
    if (error != 0)
        return error;
    fresh.rss_begin_bytes = statm.resident_bytes;
    slots[at] = fresh;
    if (at == used)
        used++;
    *id = (int64_t)fresh.generation << 16 | at;
    return 0;
}

int fox_interval_begin(int use_hwm, int64_t *id) {
    fox_lock();
    int error = begin_locked(use_hwm, id);
    fox_unlock();
    return error;
}

static struct slot *find(int64_t id) {
    forget_if_forked();
    int64_t at = id & 0xffff;
    if (id < 0 || at >= used || !slots[at].open || slots[at].generation != (uint64_t)id >> 16)
        return NULL;
    return &slots[at];
}

static void subtract(fox_usage *from, const fox_usage *less) {
    from->user_ns -= less->user_ns;
    from->system_ns -= less->system_ns;
    from->minor_faults -= less->minor_faults;
    from->major_faults -= less->major_faults;
    from->voluntary_ctxt_switches -= less->voluntary_ctxt_switches;
    from->involuntary_ctxt_switches -= less->involuntary_ctxt_switches;
}

static int read_locked(const struct slot *slot, fox_interval *out) {
    fox_statm statm;
    int64_t mark;

    memset(out, 0, sizeof *out);
    int error = fox_usage_read(&out->usage); /* first, so that our own work is not counted */
    if (error == 0)
        error = fox_clock_ns(&out->end_ns);
    if (error == 0)
        error = fox_statm_read_locked(&statm);
    if (error != 0)
        return error;
    out->hwm_error = slot->hwm_error;
    if (out->hwm_error == 0)
        out->hwm_error = fold_mark(&mark);
    out->hwm_bytes = out->hwm_error == 0 ? slot->hwm_bytes : -1;
    out->begin_ns = slot->begin_ns;
    out->rss_begin_bytes = slot->rss_begin_bytes;
    out->rss_end_bytes = statm.resident_bytes;
    out->sampled_bytes = slot->sampled_bytes;
    out->n_samples = slot->n_samples;
    subtract(&out->usage, &slot->usage);
    return 0;
}

int fox_interval_read(int64_t id, fox_interval *out) {
    fox_lock();
    const struct slot *slot = find(id);
    int error = slot == NULL ? -ENOENT : read_locked(slot, out);
    fox_unlock();
    return error;
}

int fox_interval_end(int64_t id, fox_interval *out) {
    fox_lock();
    struct slot *slot = find(id);
    int error = slot == NULL ? -ENOENT : read_locked(slot, out);
    if (slot != NULL)
        slot->open = false;
    fox_unlock();
    return error;
}

void fox_interval_sample_locked(int64_t rss_bytes) {
    forget_if_forked();
    for (int i = 0; i < used; i++) {
        if (!slots[i].open)
            continue;
        slots[i].sampled_bytes = larger(slots[i].sampled_bytes, rss_bytes);
        slots[i].n_samples++;
    }
}
