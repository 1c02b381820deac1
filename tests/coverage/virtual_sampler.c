/* SPDX-License-Identifier: Apache-2.0
 *
 * The product's sampler and meter registry, compiled here once more with threads and waiting replaced: no thread is started;
 * the sampler's work is done where its requester would wait for it, and a wait of its own moves the virtual clock. So
 * edges, rows and totals come from the very code that measures.
 */
#define sem_clockwait virtual_clockwait
#define pthread_create virtual_thread_create
#define pthread_join virtual_thread_join
#define ecoi_sampler_open virtual_sampler_open
#include "meters/sampler.c"
#undef ecoi_sampler_open
eco_status ecoi_sampler_open(const eco_sampler_options *options, eco_sampler **out, eco_error *err);

#include "meters/meter_registry.c"

#include "virtual_machine.h"

enum { ROWS = 4096 }; /* between two copies: a window has some 200 */

static eco_sampler *sampler_here;

int virtual_thread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                          void *(*body)(void *), void *restrict argument) {
    (void)attributes;
    (void)body;
    *thread = pthread_self();
    sampler_here = argument;
    sampler_here->deadline_ns = ecoi_now_ns();
    sampler_here->since_slow = SAMPLER_SLOW_PUT_OFF * sampler_here->slow_every;
    return 0;
}

int virtual_thread_join(pthread_t thread, void **value) {
    (void)thread;
    (void)value;
    sampler_here = NULL;
    return 0;
}

int virtual_clockwait(sem_t *restrict semaphore, clockid_t clock,
                      const struct timespec *restrict until) {
    (void)clock;
    if (semaphore == &sampler_here->done) {
        if (atomic_load(&sampler_here->mail) == SAMPLER_MAIL_POSTED) {
            sampler_serve(sampler_here);
        }
        atomic_store(&sampler_here->ended, atomic_load(&sampler_here->stop));
        return 0;
    }
    virtual_advance_ns((int64_t)until->tv_sec * sampler_s_ns + until->tv_nsec);
    return 0;
}

void virtual_sampler_until(int64_t t_ns) {
    while (sampler_here != NULL && sampler_here->deadline_ns <= t_ns) {
        virtual_advance_ns(sampler_here->deadline_ns);
        sampler_sample_if_due(sampler_here, false);
    }
}

/* A small buffer: clearing the product's for every experiment would take most of the time. */
eco_status ecoi_sampler_open(const eco_sampler_options *options, eco_sampler **out,
                             eco_error *err) {
    eco_sampler_options small = *options;
    small.capacity = ROWS;
    return virtual_sampler_open(&small, out, err);
}

/* ---- the meter ---- */

static void driver_describe(const void *state, eco_meter_info *out) {
    (void)state;
    virtual_describe(out);
}

static void driver_read(void *state, uint32_t what, eco_meter_sample *out) {
    (void)state;
    virtual_read(what, out);
}

static void driver_close(void *state) {
    (void)state;
}

eco_meter *virtual_meter_new(void) {
    static const eco_meter_driver driver = {.name = "virtual",
                                            .source = ECO_SOURCE_SENSOR,
                                            .boundary = ECO_BOUNDARY_GPU,
                                            .declared = {0.05, 5.0, "as meter nvml declares"},
                                            .describe = driver_describe,
                                            .read = driver_read,
                                            .close = driver_close};
    eco_meter *meter = ecoi_calloc(1, sizeof *meter);
    if (meter != NULL) {
        meter->driver = &driver;
    }
    return meter;
}
