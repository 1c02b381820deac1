/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests of a scripted NVML share: the library search path, scripts, and true power. The loader
 * reads its path once, at start, so a test program that was started without the fakes on it starts
 * itself again with them. Header only; include it in one file of a program.
 */
#ifndef ECO_TEST_FAKE_DRIVER_H
#define ECO_TEST_FAKE_DRIVER_H

#include "fake_page.c"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKE_UUID_0 "GPU-fa4e0000-0000-0000-0000-000000000000"
#define FAKE_UUID_1 "GPU-fa4e0000-0000-0000-0000-000000000001"

static char fake_driver_script[64];

/* 0: go on. Else the program's exit status: 77 where the fakes are not built. */
static inline int fake_driver_setup(char **argv) {
    const char *fakes = getenv("FAKES");
    const char *search = getenv("LD_LIBRARY_PATH");
    char path[4096];
    if (fakes == NULL) {
        (void)fprintf(stderr, "skip: FAKES does not name the folder of the scripted libraries\n");
        return 77;
    }
    (void)snprintf(path, sizeof path, "%s/libnvidia-ml.so.1", fakes);
    if (access(path, R_OK) != 0) {
        (void)fprintf(stderr, "skip: %s is not there\n", path);
        return 77;
    }
    /* First on the path is enough: Debian's valgrind adds a folder behind it. */
    const size_t n = strlen(fakes);
    if (search == NULL || strncmp(search, fakes, n) != 0 ||
        (search[n] != '\0' && search[n] != ':')) {
        (void)setenv("LD_LIBRARY_PATH", fakes, 1);
        (void)execv("/proc/self/exe", argv);
        perror("execv");
        return 1;
    }
    (void)unsetenv("ECO_FAKE_PAGE");
    (void)snprintf(fake_driver_script, sizeof fake_driver_script, "/tmp/eco-script-XXXXXX");
    const int fd = mkstemp(fake_driver_script);
    if (fd < 0) {
        perror("mkstemp");
        return 1;
    }
    (void)close(fd);
    (void)fake_page_map(); /* names the page in the environment before any library looks */
    return 0;
}

static inline void fake_driver_cleanup(void) {
    (void)unlink(fake_driver_script);
}

/* The next meter that is opened (all others being closed) follows this script; true power starts
 * anew. */
static inline void fake_driver_start(const char *script) {
    FILE *file = fopen(fake_driver_script, "w");
    if (file == NULL || fputs(script, file) < 0 || fclose(file) != 0) {
        perror(fake_driver_script);
        abort();
    }
    (void)setenv("ECO_FAKE_SCRIPT", fake_driver_script, 1);
    struct fake_page *page = fake_page_map();
    for (int i = 0; i < FAKE_DEVICES; i++) {
        atomic_store(&page->devices[i].n_events, 0);
        atomic_store(&page->devices[i].lost, 0);
    }
}

/* True power of a board from t_ns on; times must rise. */
static inline void fake_driver_power(int board, int64_t t_ns, double power_w) {
    struct fake_device *device = &fake_page_map()->devices[board];
    const uint32_t n = atomic_load(&device->n_events);
    device->events[n] = (struct fake_event){.t_ns = t_ns, .power_w = power_w};
    atomic_store_explicit(&device->n_events, n + 1, memory_order_release);
}

/* Energy that the events say was drawn between two instants. */
static inline double fake_driver_true_j(int board, int64_t from_ns, int64_t to_ns, double idle_w) {
    const struct fake_device *device = &fake_page_map()->devices[board];
    const uint32_t n = atomic_load(&device->n_events);
    double sum_j = 0.0;
    double power_w = idle_w;
    int64_t at_ns = from_ns;
    for (uint32_t i = 0; i < n && device->events[i].t_ns < to_ns; i++) {
        if (device->events[i].t_ns > at_ns) {
            sum_j += power_w * (double)(device->events[i].t_ns - at_ns) / 1e9;
            at_ns = device->events[i].t_ns;
        }
        power_w = device->events[i].power_w;
    }
    return sum_j + power_w * (double)(to_ns - at_ns) / 1e9;
}

#endif
