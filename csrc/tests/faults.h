/* What the tests with faked system calls share. */
#ifndef FOX_FAULTS_H
#define FOX_FAULTS_H

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* In a wrapper: the call fails with this errno, unless that is 0. */
#define FAIL_IF(error, failure)                                                                    \
    do {                                                                                           \
        int errno_ = (error);                                                                      \
        if (errno_ != 0) {                                                                         \
            errno = errno_;                                                                        \
            return failure;                                                                        \
        }                                                                                          \
    } while (0)

/* Runs a test in a process of its own: what the instrument reads once and keeps is read anew. */
static inline void alone(void (*test)(void)) {
    int status;
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        test();
        exit(0); /* and not _exit: LeakSanitizer looks then */
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
