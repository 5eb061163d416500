/* Intervals over one resettable mark.
 *
 * The kernel keeps a single VmHWM a process, and every interval wants its own.  So before each
 * reset the mark is folded into all open intervals and into the lifetime peak.  That holds for
 * nested intervals and for those of several threads that overlap in any order.  Samples are
 * collected apart and folded in the same way, so that a tick costs the same however many are open.
 *
 * Between reading the mark and resetting it lie about two microseconds: a spike that rises and
 * falls wholly inside them is lost to the intervals already open.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { SLOT_BITS = 20, MOST_SLOTS = 1 << SLOT_BITS, FIRST_SLOTS = 64 };

struct slot {
    bool open;
    int next_free;       /* of a closed one: the next such, or -1 */
    uint32_t generation; /* makes the id of a closed interval invalid for ever */
    int hwm_error;
    int64_t hwm_bytes;
    int64_t sampled_bytes;
    int64_t n_samples;
    int64_t begin_ns;
    int64_t rss_begin_bytes;
    fox_usage usage;
    fox_io io;
    fox_split split;
};

static struct slot *slots; /* room for slots_room; never given back */
static int slots_room;
static int used; /* slots[used..] were never open */
static int first_free = -1;
static int64_t lifetime_bytes = -1;
static struct {
    int64_t bytes, n;
} unfolded = {-1, 0}; /* samples since the last fold */

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void fold_samples(void) {
    for (int i = 0; unfolded.n > 0 && i < used; i++) {
        if (!slots[i].open)
            continue;
        slots[i].sampled_bytes = larger(slots[i].sampled_bytes, unfolded.bytes);
        slots[i].n_samples += unfolded.n;
    }
    unfolded.bytes = -1;
    unfolded.n = 0;
}

void fox_interval_sample_locked(int64_t rss_bytes) {
    unfolded.bytes = larger(unfolded.bytes, rss_bytes);
    unfolded.n++;
}

static void release(int at) {
    slots[at].open = false;
    slots[at].next_free = first_free;
    first_free = at;
}

/* In a forked child: what was open belongs to the parent. */
void fox_interval_forget_locked(void) {
    for (int i = 0; i < used; i++)
        if (slots[i].open)
            release(i);
    lifetime_bytes = -1;
    unfolded.bytes = -1;
    unfolded.n = 0;
}

/* Reads the mark into every open interval.  -ENODATA: no VmHWM line here. */
static int fold_mark(fox_status *status) {
    int error = fox_status_read_locked(status);
    if (error == 0 && status->hwm_bytes < 0)
        error = -ENODATA;
    if (error != 0)
        return error;
    lifetime_bytes = larger(lifetime_bytes, status->hwm_bytes);
    for (int i = 0; i < used; i++)
        if (slots[i].open)
            slots[i].hwm_bytes = larger(slots[i].hwm_bytes, status->hwm_bytes);
    return 0;
}

/* Never resets a mark that it could not save. */
static int fold_and_reset(fox_status *status) {
    int error = fold_mark(status);
    return error != 0 ? error : fox_clear_refs_reset();
}

int fox_hwm_reset(void) {
    fox_status status;
    fox_lock();
    int error = fold_and_reset(&status);
    fox_unlock();
    return error;
}

int fox_lifetime_peak(int64_t *out) {
    fox_status status;
    fox_lock();
    int error = fold_mark(&status);
    if (error == 0)
        *out = lifetime_bytes;
    fox_unlock();
    return error;
}

static int64_t fallen_bytes(const fox_status *status) {
    return status->hwm_bytes < 0 || status->rss_bytes < 0 ? 0
                                                          : status->hwm_bytes - status->rss_bytes;
}

/* A reset that does nothing (gVisor, a file mounted over clear_refs) is accepted all the same, and
 * the peak of long ago would be taken for the interval's.  So a mark that stands above the resident
 * set by more than it may lag must move.  One that stands lower has nowhere to fall to.  Twice,
 * because another thread's spike may have put it back where it was. */
static int reset_and_look(const fox_status *before) {
    fox_status after;
    int64_t bound;
    for (int look = 0; look < 2; look++) {
        int error = fox_clear_refs_reset();
        if (error != 0 || fallen_bytes(before) <= 0)
            return error;
        error = fox_status_read_locked(&after);
        if (error != 0 || after.hwm_bytes != before->hwm_bytes)
            return error;
        error = fox_error_bound_of(&after, &bound); /* seldom come to: it is not cheap */
        if (error != 0 || fallen_bytes(before) <= bound || fallen_bytes(&after) <= bound)
            return error;
    }
    return -ENOSYS;
}

/* -1 in every field of a status that could not be read. */
static fox_split split_of(const fox_status *status, int error) {
    if (error != 0 && error != -ENODATA)
        return (fox_split){-1, -1, -1, -1, -1};
    return (fox_split){status->anon_bytes, status->file_bytes, status->shmem_bytes,
                       status->swap_bytes, status->hugetlb_bytes};
}

static int take_slot(int *at) {
    if (first_free >= 0) {
        *at = first_free;
        first_free = slots[*at].next_free;
        return 0;
    }
    if (used == slots_room) {
        if (slots_room == MOST_SLOTS)
            return -ENOSPC;
        int room = slots_room == 0 ? FIRST_SLOTS : slots_room * 2;
        struct slot *more = realloc(slots, (size_t)room * sizeof *slots);
        if (more == NULL)
            return -ENOMEM;
        slots = more;
        slots_room = room;
    }
    *at = used++;
    slots[*at] = (struct slot){.open = false};
    return 0;
}

static int begin_locked(int use_hwm, int64_t *id) {
    int at;
    fox_status status;
    fox_statm statm;

    int error = take_slot(&at); /* first: growing must not count as the interval's own memory */
    if (error != 0)
        return error;
    fold_samples();
    struct slot fresh = {.generation = slots[at].generation + 1, .sampled_bytes = -1};
    int status_error = fold_mark(&status);
    fresh.split = split_of(&status, status_error);
    if (!use_hwm)
        fresh.hwm_error = -ENOTSUP;
    else
        fresh.hwm_error = status_error != 0 ? status_error : reset_and_look(&status);
    (void)fox_io_read_locked(&fresh.io);
    error = fox_statm_read_locked(&statm);
    if (error == 0)
        error = fox_clock_ns(&fresh.begin_ns);
    if (error == 0)
        error = fox_usage_read(&fresh.usage); /* last, so that our own work is not counted */
    if (error != 0) {
        release(at);
        return error;
    }
    fresh.rss_begin_bytes = statm.resident_bytes;
    fresh.open = true;
    slots[at] = fresh;
    *id = (int64_t)fresh.generation << SLOT_BITS | at;
    return 0;
}

int fox_interval_begin(int use_hwm, int64_t *id) {
    fox_lock();
    int error = begin_locked(use_hwm, id);
    fox_unlock();
    return error;
}

static struct slot *find(int64_t id) {
    int64_t at = id & (MOST_SLOTS - 1);
    if (id < 0 || at >= used || !slots[at].open ||
        slots[at].generation != (uint64_t)id >> SLOT_BITS)
        return NULL;
    return &slots[at];
}

static void subtract_usage(fox_usage *from, const fox_usage *less) {
    from->user_ns -= less->user_ns;
    from->system_ns -= less->system_ns;
    from->minor_faults -= less->minor_faults;
    from->major_faults -= less->major_faults;
    from->voluntary_ctxt_switches -= less->voluntary_ctxt_switches;
    from->involuntary_ctxt_switches -= less->involuntary_ctxt_switches;
    from->fs_inputs -= less->fs_inputs;
    from->fs_outputs -= less->fs_outputs;
}

/* Unreadable at either end: not measured. */
static void subtract_io(fox_io *from, const fox_io *less) {
    if (from->rchar_bytes < 0 || less->rchar_bytes < 0) {
        *from = (fox_io){-1, -1, -1, -1, -1, -1, -1};
        return;
    }
    from->rchar_bytes -= less->rchar_bytes;
    from->wchar_bytes -= less->wchar_bytes;
    from->read_calls -= less->read_calls;
    from->write_calls -= less->write_calls;
    from->read_bytes -= less->read_bytes;
    from->write_bytes -= less->write_bytes;
    from->cancelled_write_bytes -= less->cancelled_write_bytes;
}

static int read_locked(const struct slot *slot, fox_interval *out) {
    fox_statm statm;
    fox_status status;

    memset(out, 0, sizeof *out);
    int error = fox_usage_read(&out->usage); /* first, so that our own work is not counted */
    if (error == 0)
        error = fox_clock_ns(&out->end_ns);
    if (error == 0)
        error = fox_statm_read_locked(&statm);
    if (error != 0)
        return error;
    (void)fox_io_read_locked(&out->io);
    fold_samples();
    int status_error = fold_mark(&status);
    out->hwm_error = slot->hwm_error != 0 ? slot->hwm_error : status_error;
    out->hwm_bytes = out->hwm_error == 0 ? slot->hwm_bytes : -1;
    out->begin_ns = slot->begin_ns;
    out->rss_begin_bytes = slot->rss_begin_bytes;
    out->rss_end_bytes = statm.resident_bytes;
    out->sampled_bytes = slot->sampled_bytes;
    out->n_samples = slot->n_samples;
    out->split_begin = slot->split;
    out->split_end = split_of(&status, status_error);
    subtract_usage(&out->usage, &slot->usage);
    subtract_io(&out->io, &slot->io);
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
        release((int)(slot - slots));
    fox_unlock();
    return error;
}
