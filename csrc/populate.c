/* Maps the pages of a range that are in no page table yet, without changing them. */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "internal.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14; older headers lack the name */
#endif

int fox_populate_read(uint64_t start, uint64_t size) {
    if (madvise((void *)(uintptr_t)start, (size_t)size, MADV_POPULATE_READ) == 0)
        return 0;
    return fox_neg_errno();
}
