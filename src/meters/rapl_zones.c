/* SPDX-License-Identifier: Apache-2.0
 *
 * RAPL through the powercap tree: which zones are there, which of them make up the packages, and wrap-around
 * (Documentation/power/powercap/powercap.rst; Intel SDM volume 3B, 15.10). Zones are found by name, never by number:
 * intel-rapl:1 is the second package on one machine and psys on another.
 */
#define _GNU_SOURCE

#include "meters/rapl_zones.h"
#include "core/num.h"
#include "core/str.h"
#include "sys/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double rapl_power_max_w = 1000.0; /* more than any CPU package draws */
static const double rapl_slack_s = 0.25;       /* a counter may show late what was used before */
static const int64_t rapl_watch_ns = 500 * 1000000;
static const int64_t rapl_watch_step_ns = 1000000;

enum { RAPL_PATH_MAX = 512, RAPL_TEXT_MAX = 64, RAPL_PACKAGES_MAX = 64 };

/* ---- the counter ---- */

double ecoi_rapl_patience_s(uint64_t range_uj) {
    return range_uj == 0 ? (double)INFINITY
                         : (double)range_uj * 1e-6 / rapl_power_max_w - rapl_slack_s;
}

bool ecoi_rapl_advance(eco_rapl_track *track, uint64_t now_uj, int64_t now_ns) {
    const double since_s = (double)(now_ns - track->last_ns) * 1e-9;
    const uint64_t last_uj = track->last_uj;
    track->last_uj = now_uj;
    track->last_ns = now_ns;
    if (since_s >= ecoi_rapl_patience_s(track->range_uj)) {
        return false;
    }
    uint64_t used_uj = now_uj - last_uj;
    if (now_uj < last_uj) {
        if (track->range_uj == 0 || last_uj > track->range_uj) {
            return false;
        }
        used_uj = track->range_uj - last_uj + now_uj;
    }
    if ((double)used_uj * 1e-6 > rapl_power_max_w * (since_s + rapl_slack_s)) {
        return false;
    }
    track->total_uj += used_uj;
    return true;
}

int ecoi_rapl_zone_read(const eco_rapl_zone *zone, uint64_t *uj) {
    char text[RAPL_TEXT_MAX];
    ssize_t length = pread(zone->fd, text, sizeof text, 0);
    if (length < 0) {
        return errno;
    }
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' ')) {
        length--;
    }
    return ecoi_num_parse_u64(text, (size_t)length, uj) == ECO_OK ? 0 : EIO;
}

/* ---- small files ---- */

int ecoi_rapl_line(const char *path, char *out, size_t size) {
    out[0] = '\0';
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno;
    }
    const ssize_t length = read(fd, out, size - 1);
    const int failed = length < 0 ? errno : 0;
    (void)close(fd);
    out[length > 0 ? length : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return failed;
}

bool ecoi_rapl_watch(bool (*moved)(void *user), void *user) {
    int64_t now_ns = ecoi_now_ns();
    const int64_t end_ns = now_ns + rapl_watch_ns;
    while (!moved(user)) {
        if (now_ns >= end_ns) {
            return false;
        }
        ecoi_sleep_until_ns(now_ns + rapl_watch_step_ns);
        now_ns = ecoi_now_ns();
    }
    return true;
}

uint32_t ecoi_rapl_packages(const char *root) {
    char path[RAPL_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/sys/devices/system/cpu", root);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return 0;
    }
    uint64_t seen[RAPL_PACKAGES_MAX];
    uint32_t n = 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char text[RAPL_TEXT_MAX];
        uint64_t id = 0;
        const int length =
            snprintf(path, sizeof path, "%s/sys/devices/system/cpu/%s/topology/physical_package_id",
                     root, entry->d_name);
        if (strncmp(entry->d_name, "cpu", 3) != 0 || length >= (int)sizeof path ||
            ecoi_rapl_line(path, text, sizeof text) != 0 ||
            ecoi_num_parse_u64(text, strlen(text), &id) != ECO_OK) {
            continue;
        }
        uint32_t at = 0;
        while (at < n && seen[at] != id) {
            at++;
        }
        if (at == n && n < RAPL_PACKAGES_MAX) {
            seen[n++] = id;
        }
    }
    (void)closedir(folder);
    return n;
}

/* ---- the tree ---- */

/* "intel-rapl:0" or "intel-rapl:0:2", nothing else: intel-rapl-mmio:0 shows package 0 a second time. */
static bool zone_number(const char *entry, eco_rapl_zone *zone) {
    static const char prefix[] = "intel-rapl:";
    if (!ecoi_str_starts_with(entry, prefix)) {
        return false;
    }
    const char *digits = entry + sizeof prefix - 1;
    const size_t n_parent = strcspn(digits, ":");
    uint64_t parent = 0;
    uint64_t child = UINT32_MAX;
    if (ecoi_num_parse_u64(digits, n_parent, &parent) != ECO_OK || parent >= UINT32_MAX) {
        return false;
    }
    if (digits[n_parent] == ':' &&
        (ecoi_num_parse_u64(digits + n_parent + 1, strlen(digits + n_parent + 1), &child) !=
             ECO_OK ||
         child >= UINT32_MAX)) {
        return false;
    }
    zone->parent = (uint32_t)parent;
    zone->child = (uint32_t)child;
    return true;
}

/* A package before its parts; both by number. */
static int zone_compare(const void *a, const void *b) {
    const eco_rapl_zone *x = a;
    const eco_rapl_zone *y = b;
    if (x->parent != y->parent) {
        return x->parent < y->parent ? -1 : 1;
    }
    const uint32_t x_child = x->child + 1; /* UINT32_MAX, no child, comes first */
    const uint32_t y_child = y->child + 1;
    return (x_child > y_child) - (x_child < y_child);
}

static eco_rapl_role zone_role(const eco_rapl_zones *zones, uint32_t index) {
    const eco_rapl_zone *zone = &zones->zones[index];
    if (zone->child != UINT32_MAX) {
        return strcmp(zone->name, "dram") == 0 ? RAPL_APART : RAPL_INSIDE;
    }
    for (uint32_t i = 0; i < index; i++) {
        if (zones->zones[i].child == UINT32_MAX && strcmp(zones->zones[i].name, zone->name) == 0) {
            return RAPL_TWIN;
        }
    }
    if (ecoi_str_starts_with(zone->name, "package-")) {
        return RAPL_COUNTED;
    }
    return strcmp(zone->name, "psys") == 0 ? RAPL_PLATFORM : RAPL_APART;
}

static int zone_path(const char *root, const eco_rapl_zone *zone, const char *file, char *out,
                     size_t size) {
    if (zone->child == UINT32_MAX) {
        return snprintf(out, size, "%s/sys/class/powercap/intel-rapl:%u/%s", root, zone->parent,
                        file);
    }
    return snprintf(out, size, "%s/sys/class/powercap/intel-rapl:%u:%u/%s", root, zone->parent,
                    zone->child, file);
}

static eco_status zone_open(const char *root, eco_rapl_zone *zone, eco_error *err) {
    char path[RAPL_PATH_MAX];
    char text[RAPL_TEXT_MAX];
    (void)zone_path(root, zone, "max_energy_range_uj", path, sizeof path);
    if (ecoi_rapl_line(path, text, sizeof text) != 0 ||
        ecoi_num_parse_u64(text, strlen(text), &zone->track.range_uj) != ECO_OK) {
        zone->track.range_uj = 0;
    }
    (void)zone_path(root, zone, "energy_uj", path, sizeof path);
    zone->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int failed = zone->fd < 0 ? errno : ecoi_rapl_zone_read(zone, &zone->track.last_uj);
    zone->track.last_ns = ecoi_now_ns();
    if (failed == 0 && ecoi_rapl_patience_s(zone->track.range_uj) <= 0.0) {
        failed = ERANGE;
    }
    if (failed == 0) {
        return ECO_OK;
    }
    if (zone->fd >= 0) {
        (void)close(zone->fd);
        zone->fd = -1;
    }
    const bool denied = failed == EACCES || failed == EPERM;
    return eco_error_set(err, denied ? ECO_E_PERMISSION : ECO_E_UNSUPPORTED, failed,
                         "rapl: intel-rapl:%u/energy_uj (%s): %s", zone->parent, zone->name,
                         failed == ERANGE ? "wraps too soon to be followed" : strerror(failed));
}

/* Fills numbers and names, sorted. */
static void zones_list(const char *root, eco_rapl_zones *out) {
    char path[RAPL_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/sys/class/powercap", root);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL && out->n < RAPL_ZONES_MAX;
         entry = readdir(folder)) {
        eco_rapl_zone zone = {.fd = -1};
        if (!zone_number(entry->d_name, &zone)) {
            continue;
        }
        (void)zone_path(root, &zone, "name", path, sizeof path);
        if (ecoi_rapl_line(path, zone.name, sizeof zone.name) == 0) {
            out->zones[out->n++] = zone;
        }
    }
    (void)closedir(folder);
    qsort(out->zones, out->n, sizeof out->zones[0], zone_compare);
}

/* Every counted counter differs from its first reading. */
static bool zones_moved(void *user) {
    const eco_rapl_zones *zones = user;
    for (uint32_t i = 0; i < zones->n; i++) {
        const eco_rapl_zone *zone = &zones->zones[i];
        uint64_t now_uj = 0;
        if (zone->role == RAPL_COUNTED &&
            (ecoi_rapl_zone_read(zone, &now_uj) != 0 || now_uj == zone->track.last_uj)) {
            return false;
        }
    }
    return true;
}

/* Distinct packages among the counted zones: package-1-die-0 and package-1-die-1 are one. */
static uint32_t zones_packages(const eco_rapl_zones *zones) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < zones->n; i++) {
        const char *name = zones->zones[i].name;
        const size_t length = strcspn(name + sizeof "package-" - 1, "-") + sizeof "package-" - 1;
        bool fresh = zones->zones[i].role == RAPL_COUNTED;
        for (uint32_t k = 0; k < i && fresh; k++) {
            const char *other = zones->zones[k].name;
            fresh = zones->zones[k].role != RAPL_COUNTED || strncmp(other, name, length) != 0 ||
                    (other[length] != '\0' && other[length] != '-');
        }
        n += fresh;
    }
    return n;
}

static eco_status zones_check(const char *root, eco_rapl_zones *zones, eco_error *err) {
    if (zones->n_counted == 0) {
        return eco_error_set(err, ECO_E_NOT_FOUND, 0,
                             "rapl: no package under %s/sys/class/powercap (intel-rapl:*)", root);
    }
    const uint32_t n_listed = ecoi_rapl_packages(root);
    const uint32_t n_seen = zones_packages(zones);
    if (n_seen < n_listed) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                             "rapl: powercap shows %u of %u CPU packages; a part is not the whole",
                             n_seen, n_listed);
    }
    if (!ecoi_rapl_watch(zones_moved, zones)) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                             "rapl: the package counter under %s/sys/class/powercap stands still "
                             "(a virtual machine?)",
                             root);
    }
    return ECO_OK;
}

eco_status ecoi_rapl_zones_open(const char *root, eco_rapl_zones *out, eco_error *err) {
    memset(out, 0, sizeof *out);
    zones_list(root, out);
    eco_status status = ECO_OK;
    for (uint32_t i = 0; i < out->n && status == ECO_OK; i++) {
        eco_rapl_zone *zone = &out->zones[i];
        zone->role = zone_role(out, i);
        if (zone->role == RAPL_TWIN) {
            continue;
        }
        eco_error why = {0};
        const eco_status opened = zone_open(root, zone, &why);
        if (zone->role == RAPL_COUNTED && opened != ECO_OK) {
            status = opened;
            if (err != NULL) {
                *err = why;
            }
        }
        out->n_counted += zone->role == RAPL_COUNTED;
    }
    if (status == ECO_OK) {
        status = zones_check(root, out, err);
    }
    if (status != ECO_OK) {
        ecoi_rapl_zones_close(out);
    }
    return status;
}

void ecoi_rapl_zones_close(eco_rapl_zones *zones) {
    for (uint32_t i = 0; i < zones->n; i++) {
        if (zones->zones[i].fd >= 0) {
            (void)close(zones->zones[i].fd);
            zones->zones[i].fd = -1;
        }
    }
}
