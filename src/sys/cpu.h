/* SPDX-License-Identifier: Apache-2.0
 *
 * What this process may use of the host: cores, caches, memory. Read from the kernel at each call;
 * nothing is kept.
 */
#ifndef ECOCOMPUTE_SYS_CPU_H
#define ECOCOMPUTE_SYS_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint32_t ecoi_cpu_allowed(void); /* cores in this process's affinity mask, at least 1 */
/* The CPU's model name as the kernel gives it, else the machine type ("aarch64"). Never empty. */
void ecoi_cpu_model_name(char *out, size_t size);
uint64_t ecoi_cpu_cache_bytes(void); /* the largest cache of the first core, 0 = unknown */

typedef struct eco_host_memory {
    uint64_t available_bytes, total_bytes; /* both 0 when the kernel does not say */
} eco_host_memory;

/* What can still be allocated without swapping, the limit of a memory cgroup included. */
eco_host_memory ecoi_host_memory(void);

#endif
