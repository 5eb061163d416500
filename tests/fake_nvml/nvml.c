/* A stand-in for NVIDIA's libnvidia-ml.so.1, so that the real bindings run without a device.
 *
 * FAKE_NVML names a file that is read anew at every call, so that a test can change the world
 * while it is sampled; a line each:
 *     init CODE            what nvmlInit answers
 *     driver TEXT
 *     gpu UUID NAME TOTAL USED [lost]
 *     mig UUID NAME TOTAL USED     an instance of the gpu before it
 *     process PID BYTES            on the device before it; -1 for "not available"
 *     processes CODE               what listing processes answers on the device before it
 *     memory CODE                  what reading the memory of the device before it answers
 *     open CODE                    what asking for the handle of the device before it answers
 *     hang SECONDS                 how long reading the memory of the device before it takes
 * Compiled with DRIVER=N it lacks the calls that drivers before N.x lack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef DRIVER
#define DRIVER 550
#endif

enum {
    SUCCESS = 0,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    GPU_IS_LOST = 15,
    MOST = 8
};

typedef struct {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
} process_info;

typedef struct {
    char uuid[96], name[96];
    unsigned long long total, used;
    int lost, parent; /* parent: -1 for a whole device */
    int list_code, memory_code, open_code, hang_s, n_processes;
    process_info processes[MOST];
} device;

static struct {
    int init_code, n;
    char driver[80];
    device devices[MOST];
} world;

static void read_world(void) {
    char line[512], rest[16];
    const char *path = getenv("FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    memset(&world, 0, sizeof world);
    while (file && fgets(line, sizeof line, file)) {
        device *fresh = &world.devices[world.n < MOST ? world.n : MOST - 1];
        device *last = world.n > 0 ? &world.devices[world.n - 1] : NULL;
        long long used;
        if (sscanf(line, "init %d", &world.init_code) == 1 ||
            sscanf(line, "driver %79s", world.driver) == 1)
            continue;
        if (sscanf(line, "gpu %95s %95s %llu %llu", fresh->uuid, fresh->name, &fresh->total,
                   &fresh->used) == 4) {
            fresh->parent = -1;
            fresh->lost = sscanf(line, "%*s %*s %*s %*s %*s %15s", rest) == 1;
            world.n++;
        } else if (sscanf(line, "mig %95s %95s %llu %llu", fresh->uuid, fresh->name, &fresh->total,
                          &fresh->used) == 4) {
            int at = world.n - 1;
            while (at > 0 && world.devices[at].parent >= 0)
                at--;
            fresh->parent = at;
            world.n++;
        } else if (last && last->n_processes < MOST &&
                   sscanf(line, "process %u %lld", &last->processes[last->n_processes].pid,
                          &used) == 2) {
            last->processes[last->n_processes++].used = (unsigned long long)used;
        } else if (last) {
            (void)(sscanf(line, "processes %d", &last->list_code) == 1 ||
                   sscanf(line, "memory %d", &last->memory_code) == 1 ||
                   sscanf(line, "open %d", &last->open_code) == 1 ||
                   sscanf(line, "hang %d", &last->hang_s) == 1);
        }
    }
    if (file)
        fclose(file);
}

/* A handle is the place in the world plus 1. */
static device *of(void *handle) {
    size_t at = (size_t)handle;
    read_world();
    return at >= 1 && at <= (size_t)world.n ? &world.devices[at - 1] : NULL;
}

static void *handle_of(int at) {
    return (void *)(size_t)(at + 1);
}

#define EXPORT __attribute__((visibility("default")))
#define DEVICE_OR_FAIL(handle)                                                                     \
    device *d = of(handle);                                                                        \
    if (!d)                                                                                        \
        return INVALID_ARGUMENT;                                                                   \
    if (d->lost)                                                                                   \
    return GPU_IS_LOST

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInitWithFlags(unsigned flags);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int code);
EXPORT int nvmlSystemGetDriverVersion(char *into, unsigned n);
EXPORT int nvmlDeviceGetCount_v2(unsigned *n);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle);
EXPORT int nvmlDeviceGetUUID(void *handle, char *into, unsigned n);
EXPORT int nvmlDeviceGetName(void *handle, char *into, unsigned n);
EXPORT int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long memory[3]);

int nvmlInit_v2(void) {
    read_world();
    return world.init_code;
}

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    return nvmlInit_v2();
}

int nvmlShutdown(void) {
    return SUCCESS;
}

const char *nvmlErrorString(int code) {
    static char text[40];
    snprintf(text, sizeof text, "fake error %d", code);
    return text;
}

int nvmlSystemGetDriverVersion(char *into, unsigned n) {
    read_world();
    snprintf(into, n, "%s", world.driver);
    return SUCCESS;
}

static int whole(unsigned wanted) {
    for (int at = 0; at < world.n; at++)
        if (world.devices[at].parent < 0 && wanted-- == 0)
            return at;
    return -1;
}

int nvmlDeviceGetCount_v2(unsigned *n) {
    read_world();
    for (*n = 0; whole(*n) >= 0;)
        ++*n;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    read_world();
    int at = whole(index);
    if (at < 0)
        return INVALID_ARGUMENT;
    *handle = handle_of(at);
    return world.devices[at].lost ? GPU_IS_LOST : world.devices[at].open_code;
}

int nvmlDeviceGetUUID(void *handle, char *into, unsigned n) {
    device *d = of(handle);
    if (!d)
        return INVALID_ARGUMENT;
    snprintf(into, n, "%s", d->uuid);
    return SUCCESS;
}

int nvmlDeviceGetName(void *handle, char *into, unsigned n) {
    DEVICE_OR_FAIL(handle);
    snprintf(into, n, "%s", d->name);
    return SUCCESS;
}

static int memory_code(const device *d) {
    struct timespec time = {.tv_sec = d->hang_s};
    if (d->hang_s)
        nanosleep(&time, NULL);
    return d->memory_code;
}

/* Version 1 counts what the driver reserves as used: 7 bytes here, to tell them apart. */
int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long memory[3]) {
    DEVICE_OR_FAIL(handle);
    if (memory_code(d) != SUCCESS)
        return d->memory_code;
    memory[0] = d->total;
    memory[1] = d->total - d->used - 7;
    memory[2] = d->used + 7;
    return SUCCESS;
}

#if DRIVER >= 510
typedef struct {
    unsigned version;
    unsigned long long total, reserved, free, used;
} memory_v2;

EXPORT int nvmlDeviceGetMemoryInfo_v2(void *handle, memory_v2 *memory);

int nvmlDeviceGetMemoryInfo_v2(void *handle, memory_v2 *memory) {
    DEVICE_OR_FAIL(handle);
    if (memory_code(d) != SUCCESS)
        return d->memory_code;
    memory->total = d->total;
    memory->reserved = 7;
    memory->used = d->used;
    memory->free = d->total - d->used - 7;
    return SUCCESS;
}

/* The two versions differ in their names only. */
#define PROCESSES nvmlDeviceGetComputeRunningProcesses_v3
#elif DRIVER >= 450
#define PROCESSES nvmlDeviceGetComputeRunningProcesses_v2
#endif

#if DRIVER >= 450
EXPORT int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending);
EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *n);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **instance);
EXPORT int PROCESSES(void *handle, unsigned *n, process_info *into);

static int instance_of(int parent, unsigned wanted) {
    for (int at = 0; at < world.n; at++)
        if (world.devices[at].parent == parent && wanted-- == 0)
            return at;
    return -1;
}

int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) {
    DEVICE_OR_FAIL(handle);
    *current = *pending = instance_of((int)(size_t)handle - 1, 0) >= 0;
    return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *n) {
    DEVICE_OR_FAIL(handle);
    *n = 7;
    return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **instance) {
    DEVICE_OR_FAIL(handle);
    int at = instance_of((int)(size_t)handle - 1, index);
    if (at < 0)
        return NOT_FOUND;
    *instance = handle_of(at);
    return SUCCESS;
}

int PROCESSES(void *handle, unsigned *n, process_info *into) {
    DEVICE_OR_FAIL(handle);
    if (d->list_code != SUCCESS)
        return d->list_code;
    if (d->n_processes == 0) {
        *n = 0;
        return SUCCESS;
    }
    if (!into || *n < (unsigned)d->n_processes) {
        *n = (unsigned)d->n_processes;
        return INSUFFICIENT_SIZE;
    }
    *n = (unsigned)d->n_processes;
    memcpy(into, d->processes, (size_t)d->n_processes * sizeof *into);
    return SUCCESS;
}
#endif
