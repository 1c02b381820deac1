/* SPDX-License-Identifier: Apache-2.0
 *
 * Cores by sched_getaffinity, the rest from procfs and sysfs. A file that is missing or reads oddly
 * means "unknown", never an error: none of this is needed to run, only to choose sizes and to
 * describe the machine.
 */
#define _GNU_SOURCE
#include "sys/cpu.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { CPU_MASK_CORES_MAX = 65536, CPU_LINE_MAX = 512, CPU_CACHES_MAX = 8 };

uint32_t ecoi_cpu_allowed(void) {
    /* The kernel refuses a mask smaller than its own; grow until it fits. */
    for (int n_cores = CPU_SETSIZE; n_cores <= CPU_MASK_CORES_MAX; n_cores *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)n_cores);
        if (set == NULL) {
            break;
        }
        const size_t size = CPU_ALLOC_SIZE((size_t)n_cores);
        CPU_ZERO_S(size, set);
        const int result = sched_getaffinity(0, size, set);
        const int error = errno;
        const int count = result == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0) {
            return (uint32_t)count;
        }
        if (error != EINVAL) {
            break;
        }
    }
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

/* The rest of the first line that begins with `key`, after any of " \t:"; false if there is none.
 */
static bool file_field(const char *path, const char *key, char *out, size_t size) {
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    char line[CPU_LINE_MAX];
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        const size_t n_key = strlen(key);
        if (strncmp(line, key, n_key) != 0) {
            continue;
        }
        const char *value = line + n_key;
        value += strspn(value, " \t:");
        const size_t n_value = strcspn(value, "\n");
        snprintf(out, size, "%.*s", (int)n_value, value);
        found = n_value > 0;
    }
    fclose(file);
    return found;
}

/* A decimal number with an optional K, M or G after it; 0 when it is none. */
static uint64_t size_of_text(const char *text) {
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (end == text || errno != 0) {
        return 0;
    }
    const unsigned shift = *end == 'K' || *end == 'k' ? 10
                           : *end == 'M'              ? 20
                           : *end == 'G'              ? 30
                                                      : 0;
    return number > (UINT64_MAX >> shift) ? 0 : (uint64_t)number << shift;
}

void ecoi_cpu_model_name(char *out, size_t size) {
    if (file_field("/proc/cpuinfo", "model name", out, size)) {
        return;
    }
    struct utsname machine;
    snprintf(out, size, "%s", uname(&machine) == 0 ? machine.machine : "unknown CPU");
}

uint64_t ecoi_cpu_cache_bytes(void) {
    uint64_t largest = 0;
    for (int i = 0; i < CPU_CACHES_MAX; i++) {
        char path[96];
        char text[32];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!file_field(path, "", text, sizeof text)) {
            break;
        }
        const uint64_t size = size_of_text(text);
        largest = size > largest ? size : largest;
    }
    return largest;
}

static uint64_t meminfo_bytes(const char *key) {
    char text[64];
    return file_field("/proc/meminfo", key, text, sizeof text) ? size_of_text(text) << 10 : 0;
}

eco_host_memory ecoi_host_memory(void) {
    eco_host_memory out = {.available_bytes = meminfo_bytes("MemAvailable:"),
                           .total_bytes = meminfo_bytes("MemTotal:")};
    char limit[64];
    char used[64];
    if (file_field("/sys/fs/cgroup/memory.max", "", limit, sizeof limit) &&
        file_field("/sys/fs/cgroup/memory.current", "", used, sizeof used)) {
        const uint64_t limit_bytes = size_of_text(limit); /* "max" reads as 0 */
        const uint64_t used_bytes = size_of_text(used);
        if (limit_bytes > 0 && limit_bytes < out.total_bytes) {
            const uint64_t left = limit_bytes > used_bytes ? limit_bytes - used_bytes : 0;
            out.total_bytes = limit_bytes;
            out.available_bytes = left < out.available_bytes ? left : out.available_bytes;
        }
    }
    return out;
}
