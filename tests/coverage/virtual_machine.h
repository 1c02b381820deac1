/* SPDX-License-Identifier: Apache-2.0
 *
 * A machine on a virtual clock: a card whose true power is known at every moment, a sensor that shows it imperfectly, and
 * a load that finishes tokens. It takes the place of the clock (sys/clock.h), of the load (protocol/load.h) and of the
 * meter's driver; sampler, protocol, statistics and report are the product's own. One machine at a time, one thread.
 */
#ifndef ECO_TEST_VIRTUAL_MACHINE_H
#define ECO_TEST_VIRTUAL_MACHINE_H

#include "ecocompute/engine.h"
#include "ecocompute/meter.h"

typedef struct virtual_arm {
    double power_w, token_s; /* medians */
} virtual_arm;

typedef struct virtual_sensor {
    bool counter;
    double
        counter_looks_s; /* of every update period the counter sees only the last so much; 0 = all */
    double power_window_s; /* a power reading is the mean over so long */
    double gain, offset_w;
} virtual_sensor;

/* Everything that is random scatters symmetrically in the logarithm, alike for both arms, so that the true change is the
 * ratio of power_w times token_s. */
typedef struct virtual_world {
    uint64_t seed;
    double idle_w;
    virtual_arm arms[2]; /* the baseline, the arm under test */
    virtual_sensor sensor;
    double window_power_sd, window_token_sd; /* from one start of a load to the next, relative */
    double slow_sd, slow_s;                  /* noise within a window: relative, and its memory */
    double fast_sd;                          /* from one cell of 2 ms to the next, relative */
    double drift_log, drift_s;  /* power of both arms, all in all, and how soon it is reached */
    double drift_arm_log_per_s; /* of the arm under test alone */
    double bursts_per_s;        /* heavy-tailed, in power */
    double stalls_per_token;    /* heavy-tailed, in time */
} virtual_world;

void virtual_start(const virtual_world *world); /* a new machine, idle, at its time 0 */
int64_t virtual_now_ns(void);
void virtual_advance_ns(int64_t t_ns); /* no earlier than now */
const uint64_t *virtual_progress(void);
eco_arm *virtual_arm_handle(uint32_t arm); /* a name, never looked into */
void virtual_read(uint32_t what, eco_meter_sample *out);
void virtual_describe(eco_meter_info *out);
double virtual_uniform(uint64_t *state); /* 0 … 1 */
double virtual_normal(uint64_t *state);

/* virtual_sampler.c */
eco_meter *virtual_meter_new(void);       /* closed by eco_meter_close */
void virtual_sampler_until(int64_t t_ns); /* lets the sampler work until then */

#endif
