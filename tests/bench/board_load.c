/* SPDX-License-Identifier: Apache-2.0
 *
 * A command with a known energy: lets a scripted board draw given powers for given times, through the page that
 * ECO_FAKE_PAGE names, and marks each step as a phase with a hundred tokens. Used by the tests of `ecocompute run`.
 *
 *     board_load BOARD IDLE_W [POWER_W SECONDS]…
 */
#include "../fakes/fake_page.c"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void power_from_now(struct fake_device *device, double power_w) {
    const uint32_t n = atomic_load(&device->n_events);
    if (n >= FAKE_EVENTS) {
        (void)fprintf(stderr, "board_load: too many events\n");
        exit(1);
    }
    device->events[n] = (struct fake_event){.t_ns = now_ns(), .power_w = power_w};
    atomic_store_explicit(&device->n_events, n + 1, memory_order_release);
}

static void mark(int fd, const char *text, int step) {
    char line[80];
    const int n = snprintf(line, sizeof line, "ecocompute:%s%d\n", text, step);
    if (fd > 0 && write(fd, line, (size_t)n) != n) {
        perror("board_load: marker");
    }
}

int main(int argc, char **argv) {
    if (argc < 3 || argc % 2 == 0) {
        (void)fprintf(stderr, "usage: board_load BOARD IDLE_W [POWER_W SECONDS]...\n");
        return 2;
    }
    struct fake_device *device = &fake_page_map()->devices[argv[1][0] == '1' ? 1 : 0];
    const char *number = getenv("ECOCOMPUTE_MARKER_FD");
    const int fd = number != NULL ? (int)strtol(number, NULL, 10) : 0;
    for (int i = 3; i + 1 < argc; i += 2) {
        const double seconds = strtod(argv[i + 1], NULL);
        const int64_t end_ns = now_ns() + (int64_t)(seconds * 1e9);
        const struct timespec end = {.tv_sec = (time_t)(end_ns / INT64_C(1000000000)),
                                     .tv_nsec = (long)(end_ns % INT64_C(1000000000))};
        mark(fd, "begin step", i / 2);
        power_from_now(device, strtod(argv[i], NULL));
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) != 0) {
        }
        mark(fd, "tokens 10", 0);
        mark(fd, "end step", i / 2);
    }
    power_from_now(device, strtod(argv[2], NULL));
    return 0;
}
