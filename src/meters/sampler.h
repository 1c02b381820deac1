/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampler: one thread that reads a meter at a fixed rate on absolute deadlines into a preallocated buffer, and
 * catches counter ticks on request. Within a window it allocates, locks, logs and opens nothing.
 * One controlling thread calls these functions; only the sampler thread touches the meter while it runs.
 */
#ifndef ECOCOMPUTE_METERS_SAMPLER_H
#define ECOCOMPUTE_METERS_SAMPLER_H

#include "ecocompute/meter.h"

typedef struct eco_sampler eco_sampler;

typedef struct eco_sampler_options {
    eco_meter *meter;  /* borrowed; NULL = time and tokens only (no meter on this machine) */
    double rate_hz;    /* power samples a second, 20 by design */
    uint32_t capacity; /* rows the buffer holds; further rows are counted as dropped */
    int64_t
        frozen_after_ns;    /* an edge waits so long for a counter that does not change; 0 = 20 s */
    int64_t stuck_after_ns; /* a read that lasts longer is given up; 0 = 5 s */
    bool power_only;        /* the meter's counter is not to be used */
} eco_sampler_options;

/* A window edge. With a counter: a tick. Without: one power sample. */
typedef struct eco_edge {
    int64_t
        t_ns; /* estimated instant of the tick: middle between the last old and the first new read */
    int64_t u_t_ns;       /* half-width of that estimate */
    eco_reading energy_j; /* the counter's new value; absent without a counter */
    double tokens; /* work units finished at t_ns, interpolated between the reads around it */
    int64_t read_cost_ns; /* longest counter read while waiting */
    bool device_lost;
} eco_edge;

/* What a closing tick must satisfy beyond time: the units done since `tokens_open`, modulo `unit_period`,
 * lie within `slack` of a whole period. unit_period 0 = no condition. */
typedef struct eco_edge_condition {
    int64_t not_before_ns; /* monotonic; counter polling begins 150 ms earlier at most */
    double tokens_open, unit_period, slack;
    int64_t
        timeout_ns; /* from not_before_ns; then the next tick is taken, or, with none, ECO_E_TIMEOUT */
} eco_edge_condition;

typedef struct eco_sampler_stats {
    uint64_t n_samples, n_dropped, n_read_errors;
    uint64_t n_energy_reads;
    int64_t longest_read_ns; /* longest stall in the driver */
    int64_t longest_gap_ns; /* between two power samples (joules, where the meter has only those) */
    int64_t cpu_ns;         /* CPU time of the sampler thread so far */
    double rate_hz;         /* achieved over the samples taken */
    uint32_t throttle_seen; /* OR of ECO_THROTTLE_* since the last reset */
    eco_reading sm_clock_min_mhz, sm_clock_max_mhz;
    bool device_lost;
    bool counter_stepped_back;
} eco_sampler_stats;

ECO_NODISCARD eco_status ecoi_sampler_open(const eco_sampler_options *options, eco_sampler **out,
                                           eco_error *err);
/* Joins the thread; NULL is fine. False: the thread is in a read that does not return and was left to itself, so the
 * meter must not be closed, nor anything else of that driver: it may hang in the same way. */
bool ecoi_sampler_close(eco_sampler *sampler);
/* Whether a read did not return in time. Then the thread is given up: the rows so far can still be read, edges fail with
 * ECO_E_STUCK, and nothing is sampled any more. Every wait for the sampler looks by itself; others should, often. */
bool ecoi_sampler_stuck(eco_sampler *sampler);
/* ECO_E_STUCK, with the meter named, where ecoi_sampler_stuck is true. */
ECO_NODISCARD eco_status ecoi_sampler_check(eco_sampler *sampler, eco_error *err);
/* The next samples carry these. */
void ecoi_sampler_mark(eco_sampler *sampler, int32_t block, eco_phase phase);
/* Finished-units counter to read beside each sample; NULL = none. */
void ecoi_sampler_follow(eco_sampler *sampler, const uint64_t *progress);
/* Blocks the caller until an edge is caught. On success a row for the edge stands in the buffer, at its t_ns, with the
 * `phase` given: an opening edge begins that phase, a closing edge is its last row (then `after` is marked).
 * ECO_E_TIMEOUT: counter frozen; ECO_E_DEVICE_LOST; ECO_E_STUCK; ECO_E_INTERRUPTED when *interrupted becomes nonzero. */
typedef struct eco_edge_request {
    const eco_edge_condition *condition; /* NULL: the next tick */
    int32_t block;
    eco_phase phase, after;
    bool closing;
    const volatile int *interrupted; /* NULL = cannot be */
} eco_edge_request;
ECO_NODISCARD eco_status ecoi_sampler_edge(eco_sampler *sampler, const eco_edge_request *request,
                                           eco_edge *out, eco_error *err);
/* Rows so far, in order of t_ns within a window; valid until close. Read only when no window is open. */
const eco_sample *ecoi_sampler_rows(const eco_sampler *sampler, size_t *n_out);
/* Forgets the rows the last ecoi_sampler_rows showed (all, if it was not called since), keeps later ones and the
 * totals. Only between windows. */
void ecoi_sampler_clear(eco_sampler *sampler);
void ecoi_sampler_stats(const eco_sampler *sampler, eco_sampler_stats *out);
void ecoi_sampler_reset_extremes(
    eco_sampler *sampler); /* throttle, clocks, longest gap: start of a window */
/* Latest complete power, temperature; for idle bands. Absent until read. */
void ecoi_sampler_latest(const eco_sampler *sampler, eco_reading *power_w, eco_reading *temp_c);

#endif
