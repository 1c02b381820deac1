/* SPDX-License-Identifier: Apache-2.0
 *
 * The two ways to RAPL: the powercap tree (a counter a zone, root only on most systems since kernel 5.10) and the
 * perf event power/energy-pkg. Both give joules of all CPU packages; neither ever asks for a password.
 */
#ifndef ECOCOMPUTE_METERS_RAPL_ZONES_H
#define ECOCOMPUTE_METERS_RAPL_ZONES_H

#include "ecocompute/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAPL_ZONES_MAX = 64, RAPL_NAME_MAX = 32 };

/* A counter that wraps. Several wraps between two reads cannot be told from one, so a read that comes later than the
 * counter could have wrapped at 1000 W is a gap: the joules in it are unknown. */
typedef struct eco_rapl_track {
    uint64_t range_uj; /* the counter goes from 0 to this and starts again; 0 = it cannot wrap */
    uint64_t last_uj, total_uj;
    int64_t last_ns;
} eco_rapl_track;

/* Adds what was used since the last read. False for a gap, a reset, or a jump no CPU can make: total_uj then stays, and
 * counting goes on from here. */
bool ecoi_rapl_advance(eco_rapl_track *track, uint64_t now_uj, int64_t now_ns);
/* Longest time between two reads that is still unambiguous, in seconds; infinite where the counter cannot wrap. */
double ecoi_rapl_patience_s(uint64_t range_uj);

typedef enum eco_rapl_role {
    RAPL_COUNTED = 0, /* a package, or a die of one */
    RAPL_INSIDE,      /* core, uncore: part of a package */
    RAPL_APART,       /* dram: beside the package */
    RAPL_PLATFORM,    /* psys: the packages and more, so never added */
    RAPL_TWIN         /* the name of a zone seen before: the same energy by another door */
} eco_rapl_role;

typedef struct eco_rapl_zone {
    uint32_t parent,
        child; /* intel-rapl:<parent>[:<child>]; child UINT32_MAX = a zone of the top */
    char name[RAPL_NAME_MAX];
    eco_rapl_role role;
    int fd; /* of energy_uj, -1 = cannot be read */
    eco_rapl_track track;
    int failed;      /* errno of the last read, 0 = it was read */
    uint32_t n_gaps; /* times that track could not follow */
} eco_rapl_zone;

typedef struct eco_rapl_zones {
    eco_rapl_zone zones[RAPL_ZONES_MAX];
    uint32_t n, n_counted;
} eco_rapl_zones;

/* `root` holds sys/ and proc/, "" is the machine. ECO_E_NOT_FOUND: no package zone; ECO_E_PERMISSION: one cannot be
 * read; ECO_E_UNSUPPORTED: a counter stands still, or packages are missing. Nothing stays open on failure. */
ECO_NODISCARD eco_status ecoi_rapl_zones_open(const char *root, eco_rapl_zones *out,
                                              eco_error *err);
void ecoi_rapl_zones_close(eco_rapl_zones *zones);
/* One counter; 0 or the errno. */
int ecoi_rapl_zone_read(const eco_rapl_zone *zone, uint64_t *uj);

typedef struct eco_rapl_perf {
    int fds[RAPL_ZONES_MAX];
    uint32_t n;
    double scale_j;
} eco_rapl_perf;

ECO_NODISCARD eco_status ecoi_rapl_perf_open(const char *root, eco_rapl_perf *out, eco_error *err);
void ecoi_rapl_perf_close(eco_rapl_perf *perf);
/* Joules of all packages since it was opened; 0 or the errno. */
int ecoi_rapl_perf_read(const eco_rapl_perf *perf, double *energy_j);

/* CPU packages the kernel lists; 0 = unknown. */
uint32_t ecoi_rapl_packages(const char *root);
/* The first line of a small file of sysfs or procfs, without the line feed; 0 or the errno. */
int ecoi_rapl_line(const char *path, char *out, size_t size);
/* Tries `moved` every millisecond for half a second: a counter that stands still longer counts nothing. */
bool ecoi_rapl_watch(bool (*moved)(void *user), void *user);

#endif
