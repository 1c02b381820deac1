/* SPDX-License-Identifier: Apache-2.0
 *
 * RAPL through perf: the event power/energy-pkg, one counter a package (perf_event_open(2);
 * /sys/bus/event_source/devices/power). The kernel follows wrap-around itself and hands out 64 bits. Used where the
 * powercap files are closed to this user and perf_event_paranoid allows it.
 */
#define _GNU_SOURCE

#include "core/num.h"
#include "core/str.h"
#include "meters/rapl_zones.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PERF_PATH_MAX = 512, PERF_TEXT_MAX = 128, PERF_CPU_MAX = 1 << 16 };

static eco_status perf_file(const char *root, const char *file, char out[PERF_TEXT_MAX],
                            eco_error *err) {
    char path[PERF_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/sys/bus/event_source/devices/power/%s", root, file);
    const int failed = ecoi_rapl_line(path, out, PERF_TEXT_MAX);
    return failed == 0 ? ECO_OK
                       : eco_error_set(err, ECO_E_NOT_FOUND, failed, "rapl: perf: %s: %s", path,
                                       strerror(failed));
}

static eco_status perf_odd(const char *file, const char *text, eco_error *err) {
    return eco_error_set(err, ECO_E_UNSUPPORTED, 0, "rapl: perf: power/%s: '%s' is not understood",
                         file, text);
}

/* "event=0x02" */
static bool perf_config(const char *text, uint64_t *config) {
    static const char prefix[] = "event=0x";
    if (!ecoi_str_starts_with(text, prefix)) {
        return false;
    }
    char *end = NULL;
    errno = 0;
    *config = strtoull(text + sizeof prefix - 1, &end, 16);
    return errno == 0 && *end == '\0' && end != text + sizeof prefix - 1;
}

static eco_status perf_add(uint32_t type, uint64_t config, uint64_t cpu, eco_rapl_perf *out,
                           eco_error *err) {
    struct perf_event_attr attr = {.size = sizeof attr, .type = type, .config = config};
    if (out->n == RAPL_ZONES_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "rapl: perf: more than %d packages",
                             RAPL_ZONES_MAX);
    }
    const long fd =
        syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        const bool denied = errno == EACCES || errno == EPERM;
        return eco_error_set(err, denied ? ECO_E_PERMISSION : ECO_E_UNSUPPORTED, errno,
                             "rapl: perf: power/energy-pkg on CPU %u: %s", (unsigned)cpu,
                             strerror(errno));
    }
    out->fds[out->n++] = (int)fd;
    return ECO_OK;
}

/* cpumask "0,18" or "0-1": one CPU a package. */
static eco_status perf_add_mask(const char *mask, uint32_t type, uint64_t config,
                                eco_rapl_perf *out, eco_error *err) {
    for (const char *at = mask; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        const char *dash = memchr(at, '-', length);
        const size_t n_first = dash != NULL ? (size_t)(dash - at) : length;
        uint64_t first = 0;
        uint64_t last = 0;
        bool fine = ecoi_num_parse_u64(at, n_first, &first) == ECO_OK;
        last = first;
        if (fine && dash != NULL) {
            fine = ecoi_num_parse_u64(dash + 1, length - n_first - 1, &last) == ECO_OK;
        }
        if (!fine || last < first || last >= PERF_CPU_MAX) {
            return perf_odd("cpumask", mask, err);
        }
        for (uint64_t cpu = first; cpu <= last; cpu++) {
            ECO_TRY(perf_add(type, config, cpu, out, err));
        }
        at += length + (at[length] == ',');
    }
    return out->n > 0 ? ECO_OK : perf_odd("cpumask", mask, err);
}

typedef struct perf_watch {
    const eco_rapl_perf *perf;
    uint64_t first[RAPL_ZONES_MAX];
} perf_watch;

static int perf_count(int fd, uint64_t *out) {
    const ssize_t length = read(fd, out, sizeof *out);
    if (length < 0) {
        return errno;
    }
    return length == (ssize_t)sizeof *out ? 0 : EIO;
}

static bool perf_moved(void *user) {
    perf_watch *watch = user;
    for (uint32_t i = 0; i < watch->perf->n; i++) {
        uint64_t now = 0;
        if (perf_count(watch->perf->fds[i], &now) != 0 || now == watch->first[i]) {
            return false;
        }
    }
    return true;
}

static eco_status perf_check(const char *root, const eco_rapl_perf *perf, eco_error *err) {
    const uint32_t n_listed = ecoi_rapl_packages(root);
    if (perf->n < n_listed) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                             "rapl: perf shows %u of %u CPU packages; a part is not the whole",
                             perf->n, n_listed);
    }
    perf_watch watch = {.perf = perf};
    for (uint32_t i = 0; i < perf->n; i++) {
        (void)perf_count(perf->fds[i], &watch.first[i]);
    }
    return ecoi_rapl_watch(perf_moved, &watch)
               ? ECO_OK
               : eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                               "rapl: perf: power/energy-pkg stands still (a virtual machine?)");
}

static eco_status perf_start(const char *root, eco_rapl_perf *out, eco_error *err) {
    char text[PERF_TEXT_MAX];
    uint64_t type = 0;
    uint64_t config = 0;
    ECO_TRY(perf_file(root, "type", text, err));
    if (ecoi_num_parse_u64(text, strlen(text), &type) != ECO_OK || type > UINT32_MAX) {
        return perf_odd("type", text, err);
    }
    ECO_TRY(perf_file(root, "events/energy-pkg", text, err));
    if (!perf_config(text, &config)) {
        return perf_odd("events/energy-pkg", text, err);
    }
    ECO_TRY(perf_file(root, "events/energy-pkg.unit", text, err));
    if (strcmp(text, "Joules") != 0) {
        return perf_odd("events/energy-pkg.unit", text, err);
    }
    ECO_TRY(perf_file(root, "events/energy-pkg.scale", text, err));
    if (ecoi_num_parse(text, strlen(text), &out->scale_j) != ECO_OK || !(out->scale_j > 0.0)) {
        return perf_odd("events/energy-pkg.scale", text, err);
    }
    ECO_TRY(perf_file(root, "cpumask", text, err));
    ECO_TRY(perf_add_mask(text, (uint32_t)type, config, out, err));
    return perf_check(root, out, err);
}

eco_status ecoi_rapl_perf_open(const char *root, eco_rapl_perf *out, eco_error *err) {
    memset(out, 0, sizeof *out);
    const eco_status status = perf_start(root, out, err);
    if (status != ECO_OK) {
        ecoi_rapl_perf_close(out);
    }
    return status;
}

void ecoi_rapl_perf_close(eco_rapl_perf *perf) {
    for (uint32_t i = 0; i < perf->n; i++) {
        (void)close(perf->fds[i]);
    }
    perf->n = 0;
}

int ecoi_rapl_perf_read(const eco_rapl_perf *perf, double *energy_j) {
    double sum_j = 0.0;
    for (uint32_t i = 0; i < perf->n; i++) {
        uint64_t count = 0;
        const int failed = perf_count(perf->fds[i], &count);
        if (failed != 0) {
            return failed;
        }
        sum_j += (double)count * perf->scale_j;
    }
    *energy_j = sum_j;
    return 0;
}
