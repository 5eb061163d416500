/* Shared by the files of the tree follower, not part of its interface. */
#ifndef FOX_INTERNAL_TREE_H
#define FOX_INTERNAL_TREE_H

#include <stddef.h>

#include "internal.h"
#include "tree.h"

/* ---- parse.c: pure functions of a file's text; -EPROTO when it is not that file ---------- */

/* /proc/PID/stat; arg_start is 0 where the kernel does not let us see it. */
typedef struct {
    pid_t pid, ppid;
    char state;
    char comm[FOX_COMM_ROOM];
    int64_t minor_faults, major_faults;
    int64_t waited_faults; /* minor faults of all that it waited for: 0 when it waited for none */
    int64_t user_ticks, system_ticks;
    int64_t start_ticks; /* with the pid, the identity of a process */
    uint64_t arg_start;  /* changes with every exec */
} fox_stat;

int fox_stat_parse(const char *text, size_t n, fox_stat *out);
/* The pids of task/TID/children; *count may exceed room, then only room were written. */
int fox_children_parse(const char *text, size_t n, pid_t *into, int room, int *count);
/* Pss of smaps_rollup. */
int fox_pss_parse(const char *text, size_t n, int64_t *bytes);
/* The last pid that was given out, the fifth field of /proc/loadavg. */
int fox_loadavg_parse(const char *text, size_t n, pid_t *last);
/* Whether the bit of SIGCHLD is set in the line SigIgn of /proc/PID/status. */
int fox_ignores_sigchld_parse(const char *text, size_t n, bool *ignores);

/* ---- procdir.c: one /proc/PID, held so that a reused pid cannot be taken for it ----------- */

typedef struct {
    pid_t pid;
    int dir;   /* O_PATH descriptor of /proc/PID */
    int statm; /* kept open: it survives exec and costs a fifth of opening anew */
} fox_procdir;

int fox_procdir_open(pid_t pid, fox_procdir *out);
void fox_procdir_close(fox_procdir *dir);
/* Reads a file of it from its beginning, at most room bytes. */
int fox_procdir_read(const fox_procdir *dir, const char *name, char *into, size_t room, size_t *n);
/* Pages of statm; all 0 for a zombie.  -ESRCH when the process is gone. */
int fox_procdir_statm(const fox_procdir *dir, int64_t pages[3]);
/* Names of a folder of it that are numbers: the threads in "task". */
int fox_procdir_numbers(const fox_procdir *dir, const char *name, pid_t *into, int room, int *n);

/* ---- members.c: who belongs to the tree --------------------------------------------------- */

enum { FOX_TREE_ROOM = 16384, FOX_PID_LIMIT = 4194304 }; /* include/linux/threads.h */

typedef struct {
    fox_procdir dir; /* with no descriptors where the limit allows no more: see fox_process_hold */
    pid_t parent;
    int64_t start_ticks;
    uint64_t arg_start;
    char comm[FOX_COMM_ROOM];
    int64_t rss_bytes, size_bytes; /* of the last sample */
    int64_t first_mark_bytes; /* of before we came, 0 when it began after; -1 before it was read */
    int64_t held_bytes;       /* largest sample or mark since its last exec; -1 before the first */
    int64_t marked_ns;        /* when the mark was last read, */
    int64_t marked_rss_bytes; /* and its resident set then */
    int64_t minor_faults;     /* its own, as last read */
    int64_t ended_faults;     /* of its descendants that ended, each as last read */
    pid_t memory_thread;      /* whose files are read: 0 for the first one's, as nearly always */
    bool without_memory;      /* a zombie: no thread of it has any */
    bool shares_parent;       /* its memory is its parent's: vfork, CLONE_VM */
    bool had_children;
    bool ignores_sigchld; /* the kernel drops its children's usage */
    bool gone;
} fox_process;

/* Adds a process and is idempotent; *place is -1 when it is not to be followed. */
int fox_tree_add(fox_tree *tree, pid_t pid, int *place);
/* A failure that is no mere end of a process or thread makes the figures lower bounds. */
void fox_tree_doubt(fox_tree *tree, pid_t pid, int error);
fox_process *fox_tree_find(const fox_tree *tree, pid_t pid);
/* The last one takes its place. */
void fox_tree_forget(fox_tree *tree, int place);
bool fox_same_mm(pid_t a, pid_t b);

/* leader.c: reads one of the files that are empty when the first thread has ended. */
int fox_process_memory_file(const fox_process *process, const fox_procdir *held, const char *name,
                            char *into, size_t room, size_t *n);
/* Opens the statm that is to be read in place of the first thread's. */
void fox_process_statm_of(const fox_process *process, fox_procdir *held);
/* Looks for a thread that still has memory, and reads it; the first one's zeros when none has. */
int fox_process_find_memory(fox_process *process, fox_procdir *held, int64_t pages[3]);

/* Its descriptors, or new ones for a moment that are sure to be of the same process. */
int fox_process_hold(const fox_process *process, fox_procdir *held);
void fox_process_let_go(const fox_process *process, fox_procdir *held);
/* Reads its stat into what we know of it; *executed when it runs another program than before. */
int fox_process_learn(fox_process *process, const fox_procdir *held, bool *executed);

/* ---- tree.c ------------------------------------------------------------------------------ */

struct fox_tree {
    fox_tree_options options;
    fox_process *processes; /* n of FOX_TREE_ROOM */
    int n;
    uint16_t *slot_of; /* by pid: its place in processes plus 1, or 0 */
    fox_timeline *timeline;
    pid_t root;
    int64_t root_start_ticks;
    int64_t page_bytes;
    int64_t err_bytes;
    int n_kept, most_kept; /* processes with descriptors of their own */
    int loadavg;
    pid_t last_pid;            /* of /proc/loadavg at the last discovery; -1: look anyway */
    int64_t discover_after_ns; /* not before: discovery has its share of the time */
    bool no_children;          /* a kernel without children files */
    int next_marked;           /* where the rotation of mark reads goes on */
    int64_t marks_paid_ns;     /* up to when the time for mark reads is used */
    fox_tree_result result;
    int64_t begin_ns, last_ns;
    double byte_ns;       /* integral of the sum over time */
    int64_t pss_at_bytes; /* the sum at which PSS was last read */
    int64_t pss_spent_ns;
};

int64_t fox_larger(int64_t a, int64_t b);
/* A higher peak of one process: its name is read now, as it may be gone later. */
void fox_tree_raise(fox_tree *tree, fox_process *process, int64_t bytes);

/* ends.c: it has ended, and not by our reaping. */
void fox_tree_vanished(fox_tree *tree, fox_process *process);
/* discover.c */
void fox_tree_discover(fox_tree *tree);
/* marks.c */
void fox_tree_mark(fox_tree *tree, fox_process *process, int64_t now_ns);
void fox_tree_marks(fox_tree *tree, int64_t now_ns);
/* pss.c */
void fox_tree_pss(fox_tree *tree, int64_t now_ns, bool rising);

#endif
