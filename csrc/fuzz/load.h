/* What the driver reads before it begins: inputs and dictionary. */
#ifndef FOX_FUZZ_LOAD_H
#define FOX_FUZZ_LOAD_H

#include "fuzz.h"

typedef struct {
    uint8_t *bytes;
    size_t n;
    char *name;
} fuzz_item;

typedef struct {
    fuzz_item *items;
    size_t n;
} fuzz_list;

/* Adds a file, or every file of a folder in the order of their names; 0 or -errno. */
int fuzz_load(const char *path, fuzz_list *into);
/* Adds the words of a dictionary in libFuzzer's format: lines of "text" with \xNN, \\ and \". */
int fuzz_load_words(const char *path, fuzz_list *into);
void fuzz_list_free(fuzz_list *list);

#endif
