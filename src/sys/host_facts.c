/* SPDX-License-Identifier: Apache-2.0
 *
 * Small kernel files, each read whole into a fixed buffer. A file that is missing or reads oddly means "unknown".
 */
#define _GNU_SOURCE
#include "sys/host_facts.h"

#include "sys/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_ROOM = 8192, PATH_ROOM = 512, CORES_MAX = 4096, CLOCK_READS = 1000 };

/* The beginning of a file, ended by NUL; false when it cannot be read. */
static bool slurp(const char *root, const char *path, char text[TEXT_ROOM]) {
    char full[PATH_ROOM];
    text[0] = '\0';
    if (snprintf(full, sizeof full, "%s%s", root, path) >= (int)sizeof full) {
        return false;
    }
    const int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    size_t n = 0;
    for (;;) {
        const ssize_t got = read(fd, text + n, TEXT_ROOM - 1 - n);
        if (got <= 0) {
            break;
        }
        n += (size_t)got;
    }
    (void)close(fd);
    text[n] = '\0';
    return n > 0;
}

static bool exists(const char *root, const char *path) {
    char full[PATH_ROOM];
    return snprintf(full, sizeof full, "%s%s", root, path) < (int)sizeof full &&
           access(full, F_OK) == 0;
}

/* "1234.5" by hand: the C library's own reader follows the locale. */
static double decimal(const char *text) {
    double value = 0.0;
    double scale = 1.0;
    bool point = false;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        value = value * 10.0 + (*text - '0');
        scale *= point ? 10.0 : 1.0;
    }
    return value / scale;
}

static void copy_line(char *to, size_t size, const char *from) {
    size_t n = 0;
    for (; from[n] != '\0' && from[n] != '\n' && n + 1 < size; n++) {
        to[n] = from[n];
    }
    to[n] = '\0';
}

/* Quota over period of the process's own cgroup, or of the root of its cgroup namespace. */
static double cgroup_cpus(const char *root) {
    char text[TEXT_ROOM];
    char path[PATH_ROOM] = "/sys/fs/cgroup/cpu.max";
    char own[TEXT_ROOM];
    if (slurp(root, "/proc/self/cgroup", own)) {
        const char *line = strstr(own, "0::");
        if (line != NULL) {
            char folder[256];
            copy_line(folder, sizeof folder, line + 3);
            (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max",
                           strcmp(folder, "/") == 0 ? "" : folder);
        }
    }
    if (slurp(root, path, text) || slurp(root, "/sys/fs/cgroup/cpu.max", text)) {
        const char *period = strchr(text, ' ');
        if (strncmp(text, "max", 3) == 0 || period == NULL || decimal(period + 1) <= 0.0) {
            return 0.0;
        }
        return decimal(text) / decimal(period + 1);
    }
    char length[TEXT_ROOM];
    if (slurp(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", text) &&
        slurp(root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", length)) {
        return text[0] == '-' || decimal(length) <= 0.0 ? 0.0 : decimal(text) / decimal(length);
    }
    return exists(root, "/sys/fs/cgroup/cgroup.controllers") ? 0.0 : -1.0;
}

static void governors(const char *root, eco_host_facts *out) {
    char text[TEXT_ROOM];
    for (int core = 0; core < CORES_MAX; core++) {
        char path[PATH_ROOM];
        char line[sizeof out->governor];
        (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor",
                       core);
        if (!slurp(root, path, text)) {
            return;
        }
        copy_line(line, sizeof line, text);
        if (core == 0) {
            memcpy(out->governor, line, sizeof line);
        } else if (strcmp(line, out->governor) != 0) {
            out->governors_differ = true;
        }
    }
}

static void container(const char *root, char *out, size_t size) {
    char text[TEXT_ROOM];
    const char *name = "";
    if (exists(root, "/.dockerenv")) {
        name = "docker";
    } else if (exists(root, "/run/.containerenv")) {
        name = "podman";
    } else if (exists(root, "/var/run/secrets/kubernetes.io")) {
        name = "kubernetes";
    } else if (slurp(root, "/proc/1/cgroup", text)) {
        name = strstr(text, "kubepods") != NULL ? "kubernetes"
               : strstr(text, "docker") != NULL ? "docker"
               : strstr(text, "lxc") != NULL    ? "lxc"
                                                : "";
    }
    copy_line(out, size, name);
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Fri …", or, of the open module, "… UNIX Open Kernel
 * Module for x86_64  580.159.04  Release Build …": the first word that begins with a digit and holds a point. */
static void module_version(const char *text, char *out, size_t size) {
    copy_line(out, size, "");
    for (const char *at = text; *at != '\0' && *at != '\n';) {
        const size_t length = strcspn(at, " \t\n");
        if (*at >= '0' && *at <= '9' && memchr(at, '.', length) != NULL && length < size) {
            memcpy(out, at, length);
            out[length] = '\0';
            return;
        }
        at += length + strspn(at + length, " \t");
    }
}

void ecoi_host_facts(const char *root, eco_host_facts *out) {
    char text[TEXT_ROOM];
    *out = (eco_host_facts){.load_1min = -1.0};
    if (slurp(root, "/proc/loadavg", text)) {
        out->load_1min = decimal(text);
    }
    out->cgroup_cpus = cgroup_cpus(root);
    governors(root, out);
    container(root, out->container, sizeof out->container);
    if (slurp(root, "/proc/cpuinfo", text)) {
        out->hypervisor = strstr(text, " hypervisor") != NULL;
    }
    if (slurp(root, "/proc/sys/kernel/osrelease", text)) {
        out->wsl = strstr(text, "icrosoft") != NULL || strstr(text, "WSL") != NULL;
    }
    if (slurp(root, "/proc/driver/nvidia/version", text)) {
        module_version(text, out->nvidia_module, sizeof out->nvidia_module);
    }
}

bool ecoi_cpu_times(const char *root, eco_cpu_times *out) {
    char text[TEXT_ROOM];
    *out = (eco_cpu_times){0};
    if (!slurp(root, "/proc/stat", text) || strncmp(text, "cpu ", 4) != 0) {
        return false;
    }
    /* user nice system idle iowait irq softirq steal; guest times lie within user and nice */
    char *at = text + 4;
    for (int field = 0; field < 8; field++) {
        char *end = NULL;
        const uint64_t value = strtoull(at, &end, 10);
        if (end == at) {
            return false;
        }
        out->total += value;
        out->busy += field == 3 || field == 4 ? 0 : value;
        out->stolen += field == 7 ? value : 0;
        at = end;
    }
    return true;
}

bool ecoi_folder_space(const char *folder, uint64_t *free_bytes, bool *writable) {
    struct statvfs space;
    *free_bytes = 0;
    *writable = access(folder, W_OK | X_OK) == 0;
    if (statvfs(folder, &space) != 0) {
        return false;
    }
    *free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
    return true;
}

void ecoi_clock_facts(int64_t *resolution_ns, int64_t *step_ns, char *source, unsigned size) {
    struct timespec resolution = {0};
    char text[TEXT_ROOM];
    (void)clock_getres(CLOCK_MONOTONIC, &resolution);
    *resolution_ns = (int64_t)resolution.tv_sec * INT64_C(1000000000) + resolution.tv_nsec;
    *step_ns = INT64_MAX;
    int64_t last_ns = ecoi_now_ns();
    for (int i = 0; i < CLOCK_READS; i++) {
        const int64_t now_ns = ecoi_now_ns();
        if (now_ns > last_ns && now_ns - last_ns < *step_ns) {
            *step_ns = now_ns - last_ns;
        }
        last_ns = now_ns;
    }
    source[0] = '\0';
    if (slurp("", "/sys/devices/system/clocksource/clocksource0/current_clocksource", text)) {
        copy_line(source, size, text);
    }
}
