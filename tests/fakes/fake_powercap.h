/* SPDX-License-Identifier: Apache-2.0
 *
 * A sysfs tree of RAPL zones in a temporary folder, and a thread that makes its counters count: true power is a known
 * constant, so true energy follows from the clock. Counters are written in place, in steps of 10 mJ and fixed width, so
 * that a reader with the file open sees one value or the next. Header only.
 */
#ifndef ECO_TEST_FAKE_POWERCAP_H
#define ECO_TEST_FAKE_POWERCAP_H

#include "sys/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FAKE_ZONES_MAX = 16, FAKE_PATH_MAX = 256, FAKE_STEP_UJ = 10000 };

typedef struct fake_zone {
    int fd;
    double power_w;
    uint64_t range_uj, start_uj;
} fake_zone;

typedef struct fake_powercap {
    char root[FAKE_PATH_MAX];
    fake_zone zones[FAKE_ZONES_MAX];
    size_t n_zones;
    int64_t start_ns;
    pthread_t thread;
    bool running;
    atomic_bool stop;
    atomic_bool paused; /* the counters stand still */
} fake_powercap;

/* Makes the folders of `path` under the root and writes the file. */
static inline void fake_powercap_file(const fake_powercap *fake, const char *path,
                                      const char *text) {
    char full[2 * FAKE_PATH_MAX];
    (void)snprintf(full, sizeof full, "%s/%s", fake->root, path);
    for (char *slash = strchr(full + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(full);
        abort();
    }
}

static inline void fake_powercap_new(fake_powercap *fake) {
    memset(fake, 0, sizeof *fake);
    (void)snprintf(fake->root, sizeof fake->root, "/tmp/eco-powercap-XXXXXX");
    if (mkdtemp(fake->root) == NULL || chmod(fake->root, 0755) != 0) {
        perror(fake->root);
        abort();
    }
    fake_powercap_file(fake, "proc/version", "Linux version 6.1.0 (fake)\n");
    fake_powercap_file(fake, "proc/cpuinfo", "flags\t\t: fpu tsc\n");
}

static inline void fake_powercap_put(const fake_zone *zone, uint64_t uj) {
    char text[32];
    const int length = snprintf(text, sizeof text, "%-20llu\n", (unsigned long long)uj);
    if (pwrite(zone->fd, text, (size_t)length, 0) != length) {
        abort();
    }
}

/* A zone "intel-rapl:0" or "intel-rapl:0:1" that counts `power_w` from start_uj on, wrapping at range_uj. */
static inline void fake_powercap_zone(fake_powercap *fake, const char *entry, const char *name,
                                      double power_w, uint64_t start_uj, uint64_t range_uj) {
    char path[FAKE_PATH_MAX];
    char text[64];
    char full[2 * FAKE_PATH_MAX];
    (void)snprintf(text, sizeof text, "%s\n", name);
    (void)snprintf(path, sizeof path, "sys/class/powercap/%s/name", entry);
    fake_powercap_file(fake, path, text);
    (void)snprintf(text, sizeof text, "%llu\n", (unsigned long long)range_uj);
    (void)snprintf(path, sizeof path, "sys/class/powercap/%s/max_energy_range_uj", entry);
    fake_powercap_file(fake, path, text);
    (void)snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", entry);
    fake_powercap_file(fake, path, "0\n");
    (void)snprintf(full, sizeof full, "%s/%s", fake->root, path);
    fake_zone *zone = &fake->zones[fake->n_zones++];
    *zone = (fake_zone){.fd = open(full, O_WRONLY | O_CLOEXEC),
                        .power_w = power_w,
                        .range_uj = range_uj,
                        .start_uj = start_uj};
    if (zone->fd < 0) {
        abort();
    }
    fake_powercap_put(zone, start_uj);
}

static inline void *fake_powercap_main(void *argument) {
    fake_powercap *fake = argument;
    while (!atomic_load(&fake->stop)) {
        const int64_t now_ns = ecoi_now_ns();
        for (size_t i = 0; i < fake->n_zones && !atomic_load(&fake->paused); i++) {
            const fake_zone *zone = &fake->zones[i];
            const double used_uj = zone->power_w * (double)(now_ns - fake->start_ns) * 1e-3;
            const uint64_t uj = zone->start_uj + (uint64_t)used_uj;
            fake_powercap_put(zone, (uj - uj % FAKE_STEP_UJ) % zone->range_uj);
        }
        ecoi_sleep_until_ns(now_ns + 1000000);
    }
    return NULL;
}

static inline void fake_powercap_run(fake_powercap *fake) {
    fake->start_ns = ecoi_now_ns();
    fake->running = pthread_create(&fake->thread, NULL, fake_powercap_main, fake) == 0;
    if (!fake->running) {
        abort();
    }
}

static inline void fake_powercap_free(fake_powercap *fake) {
    char command[2 * FAKE_PATH_MAX];
    if (fake->running) {
        atomic_store(&fake->stop, true);
        (void)pthread_join(fake->thread, NULL);
    }
    for (size_t i = 0; i < fake->n_zones; i++) {
        (void)close(fake->zones[i].fd);
    }
    (void)snprintf(command, sizeof command, "rm -rf '%s'", fake->root);
    if (system(command) != 0) {
        abort();
    }
}

#endif
