/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sampling thread has counted so far. It alone writes, in atomics; the controlling thread reads.
 */
#ifndef ECOCOMPUTE_METERS_SAMPLER_TOTALS_H
#define ECOCOMPUTE_METERS_SAMPLER_TOTALS_H

#include "meters/sampler.h"

#include <stdatomic.h>

typedef struct ecoi_sampler_totals {
    _Atomic uint64_t n_samples, n_dropped, n_read_errors, n_energy_reads;
    _Atomic int64_t longest_read_ns, longest_gap_ns, cpu_ns, first_ns, last_ns;
    _Atomic uint32_t throttle;
    _Atomic double sm_clock_min_mhz, sm_clock_max_mhz; /* INFINITY, -INFINITY: not read */
    _Atomic double power_w, temp_c;
    _Atomic int power_absence, temp_absence;
    atomic_bool device_lost, counter_stepped_back;
} ecoi_sampler_totals;

/* The extremes start anew: throttle, clocks, longest gap. */
void ecoi_totals_reset(ecoi_sampler_totals *totals);
void ecoi_totals_clock(ecoi_sampler_totals *totals, double sm_clock_mhz);
void ecoi_totals_stats(const ecoi_sampler_totals *totals, eco_sampler_stats *out);
void ecoi_totals_latest(const ecoi_sampler_totals *totals, eco_reading *power_w,
                        eco_reading *temp_c);

#endif
