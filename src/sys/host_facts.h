/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host does to a measurement: load, stolen time, frequency governor, limits, kind of machine, space. Read from
 * procfs and sysfs under a root ("" = the machine itself), so that a test can show another host. Unknown is said, never
 * taken for good.
 */
#ifndef ECOCOMPUTE_SYS_HOST_FACTS_H
#define ECOCOMPUTE_SYS_HOST_FACTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct eco_host_facts {
    double load_1min;   /* -1 = unknown */
    double cgroup_cpus; /* CPU bandwidth limit in cores; 0 = none, -1 = unknown */
    char governor[32];  /* of the first core; "" = none (a virtual machine, often) */
    bool governors_differ;
    bool hypervisor;        /* the CPU says that it is virtual */
    bool wsl;               /* Windows Subsystem for Linux */
    char container[32];     /* "docker", "podman", "kubernetes", …; "" = none seen */
    char nvidia_module[32]; /* version of the loaded kernel module; "" = none */
} eco_host_facts;

void ecoi_host_facts(const char *root, eco_host_facts *out);

/* Jiffies of all cores since boot. False when the kernel does not say. */
typedef struct eco_cpu_times {
    uint64_t total, busy, stolen;
} eco_cpu_times;
bool ecoi_cpu_times(const char *root, eco_cpu_times *out);

/* What an ordinary user may still write in the folder's file system; false when it cannot be told. */
bool ecoi_folder_space(const char *folder, uint64_t *free_bytes, bool *writable);

/* Of CLOCK_MONOTONIC: what the kernel claims, and the smallest step seen; and the kernel's clock source ("tsc"). */
void ecoi_clock_facts(int64_t *resolution_ns, int64_t *step_ns, char *source, unsigned size);

#endif
