/* A tree of processes, followed from outside through /proc.  Linux only, knows no Python.
 *
 * Conventions as in foxsampler.h: 0 or -errno, bytes, CLOCK_MONOTONIC nanoseconds, -1 for "not
 * measured".  One thread uses a tree.
 */
#ifndef FOX_TREE_H
#define FOX_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "foxsampler.h"

enum { FOX_COMM_ROOM = 16 }; /* TASK_COMM_LEN, its final NUL included */

typedef struct fox_tree fox_tree;

typedef struct {
    bool follow;              /* descendants too, else the root alone */
    bool own_child;           /* the root was forked by us: its ru_maxrss has our 1 MB as a floor */
    pid_t excluded;           /* never part of the tree (this process itself); 0 for none */
    const pid_t *strangers;   /* nor these, a list that ends with 0 and may change; NULL for none */
    int64_t timeline_buckets; /* a power of two, see fox_timeline_new */
} fox_tree_options;

/* Why peak_single_bytes is a lower bound; bits of fox_tree_result.doubts. */
enum {
    FOX_DOUBT_UNSEEN_END = 1, /* a process ended, its usage reached no one: only sampled */
    FOX_DOUBT_MARK_FELL = 2,  /* a process reset its own mark */
    FOX_DOUBT_ATTACHED = 4,   /* attached late, and a mark of before lies above: only sampled */
    FOX_DOUBT_UNREADABLE = 8, /* some process could not be read (another user's, hidepid) */
    FOX_DOUBT_CROWDED = 16,   /* more processes than the tree can hold */
    FOX_DOUBT_RUNNING = 32,   /* some still run: their figures are those up to now */
};

typedef struct {
    int64_t peak_single_bytes; /* largest of one process: marks, samples, ru_maxrss */
    int64_t peak_single_pid;   /* -1 when it came from ru_maxrss and no process that was seen */
    char peak_single_comm[FOX_COMM_ROOM];
    int64_t peak_err_bytes;      /* how far the truth may lie above; -1 when only a lower bound */
    bool peak_is_mark;           /* "hwm", else "sampled" */
    unsigned doubts;             /* FOX_DOUBT_ bits; 0 when peak_is_mark */
    int64_t peak_tree_rss_bytes; /* largest sum of resident sets at one sample */
    int64_t peak_tree_pss_bytes; /* largest sum of PSS, read near maxima of that sum */
    int64_t avg_rss_bytes;       /* sum of resident sets, averaged over time */
    int64_t rss_bytes;           /* the last sum */
    int64_t n_samples;
    int64_t n_processes; /* seen so far */
    int64_t n_alive;     /* of which not waited for yet: a zombie has figures still to come */
} fox_tree_result;

/* Everything that sampling will use is reserved here; sampling allocates nothing.  Two descriptors
 * are kept for each process while RLIMIT_NOFILE allows it (raise it before, and after the fork of
 * the command, which would inherit it); those beyond are opened at every sample, at ten times the
 * cost. */
int fox_tree_new(pid_t root, const fox_tree_options *options, fox_tree **out);

/* One sample of every process; finds new ones where the kernel has made any since. */
int fox_tree_sample(fox_tree *tree, int64_t now_ns);

/* A process of ours has ended and is a zombie: its last name is read. */
void fox_tree_ending(fox_tree *tree, pid_t pid);

/* Then it was reaped by us: its ru_maxrss covers it and all that it waited for. */
int fox_tree_reaped(fox_tree *tree, pid_t pid, int64_t maxrss_bytes);

int fox_tree_read(const fox_tree *tree, fox_tree_result *out);
const fox_timeline *fox_tree_timeline(const fox_tree *tree);

/* Whether the process that the tree was made for is still the one under this pid, and alive. */
bool fox_tree_root_alive(const fox_tree *tree);

void fox_tree_free(fox_tree *tree);

#endif
