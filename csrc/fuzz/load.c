/* Files as inputs, and libFuzzer's dictionaries. */
#include <dirent.h>
#include <sys/stat.h>

#include "load.h"

/* Takes the bytes over. */
static int add(fuzz_list *list, uint8_t *bytes, size_t n, const char *name) {
    fuzz_item *items = realloc(list->items, (list->n + 1) * sizeof *items);
    char *copy = strdup(name);
    if (items != NULL)
        list->items = items;
    if (items == NULL || copy == NULL) {
        free(copy);
        free(bytes);
        return -ENOMEM;
    }
    items[list->n++] = (fuzz_item){bytes, n, copy};
    return 0;
}

static int read_file(const char *path, uint8_t **bytes, size_t *n) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return -errno;
    uint8_t *into = malloc(FUZZ_MOST + 1);
    if (into == NULL) {
        fclose(file);
        return -ENOMEM;
    }
    *n = fread(into, 1, FUZZ_MOST, file);
    into[*n] = '\0';
    *bytes = into;
    return fclose(file) == 0 ? 0 : -errno;
}

static int visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

int fuzz_load(const char *path, fuzz_list *into) {
    struct stat about;
    struct dirent **names;
    uint8_t *bytes = NULL;
    size_t n = 0;
    if (stat(path, &about) != 0)
        return -errno;
    if (!S_ISDIR(about.st_mode)) {
        int error = read_file(path, &bytes, &n);
        return error != 0 ? error : add(into, bytes, n, path);
    }
    int count = scandir(path, &names, visible, alphasort), error = 0;
    if (count < 0)
        return -errno;
    for (int i = 0; i < count; i++) {
        char inside[4096];
        (void)snprintf(inside, sizeof inside, "%s/%s", path, names[i]->d_name);
        if (error == 0)
            error = fuzz_load(inside, into);
        free(names[i]);
    }
    free(names);
    return error;
}

static int nibble(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One line without its quotes; *n is what came of it, -EPROTO for an escape that is none. */
static int unescape(const char *at, const char *end, uint8_t *into, size_t *n) {
    for (*n = 0; at < end; at++) {
        if (*at != '\\') {
            into[(*n)++] = (uint8_t)*at;
        } else if (end - at > 3 && at[1] == 'x' && nibble(at[2]) >= 0 && nibble(at[3]) >= 0) {
            into[(*n)++] = (uint8_t)(nibble(at[2]) << 4 | nibble(at[3]));
            at += 3;
        } else if (end - at > 1 && (at[1] == '\\' || at[1] == '"')) {
            into[(*n)++] = (uint8_t)*++at;
        } else {
            return -EPROTO;
        }
    }
    return 0;
}

int fuzz_load_words(const char *path, fuzz_list *into) {
    uint8_t *text = NULL;
    size_t n;
    int error = read_file(path, &text, &n);
    char *rest = (char *)text, *line;
    while (error == 0 && (line = strsep(&rest, "\n")) != NULL) {
        char *open = strchr(line, '"'), *close = strrchr(line, '"');
        if (line[0] == '#' || line[0] == '\0')
            continue;
        uint8_t *word = malloc(strlen(line) + 1);
        if (word == NULL)
            error = -ENOMEM;
        else if (open == NULL || close == open)
            error = -EPROTO;
        else
            error = unescape(open + 1, close, word, &n);
        if (error == 0)
            error = add(into, word, n, path);
        else
            free(word);
    }
    free(text);
    return error;
}

void fuzz_list_free(fuzz_list *list) {
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].bytes);
        free(list->items[i].name);
    }
    free(list->items);
    *list = (fuzz_list){NULL, 0};
}
