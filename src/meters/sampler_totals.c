/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampler's counts as its owner sees them.
 */
#include "meters/sampler_totals.h"

#include <math.h>
#include <string.h>

static const double NS_PER_S = 1e9;

void ecoi_totals_reset(ecoi_sampler_totals *totals) {
    atomic_store_explicit(&totals->longest_gap_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&totals->throttle, 0, memory_order_relaxed);
    atomic_store_explicit(&totals->sm_clock_min_mhz, (double)INFINITY, memory_order_relaxed);
    atomic_store_explicit(&totals->sm_clock_max_mhz, -(double)INFINITY, memory_order_relaxed);
}

void ecoi_totals_clock(ecoi_sampler_totals *totals, double sm_clock_mhz) {
    const double low_mhz = atomic_load_explicit(&totals->sm_clock_min_mhz, memory_order_relaxed);
    const double high_mhz = atomic_load_explicit(&totals->sm_clock_max_mhz, memory_order_relaxed);
    atomic_store_explicit(&totals->sm_clock_min_mhz, fmin(sm_clock_mhz, low_mhz),
                          memory_order_relaxed);
    atomic_store_explicit(&totals->sm_clock_max_mhz, fmax(sm_clock_mhz, high_mhz),
                          memory_order_relaxed);
}

void ecoi_totals_stats(const ecoi_sampler_totals *totals, eco_sampler_stats *out) {
    memset(out, 0, sizeof *out);
    out->n_samples = atomic_load_explicit(&totals->n_samples, memory_order_relaxed);
    out->n_dropped = atomic_load_explicit(&totals->n_dropped, memory_order_relaxed);
    out->n_read_errors = atomic_load_explicit(&totals->n_read_errors, memory_order_relaxed);
    out->n_energy_reads = atomic_load_explicit(&totals->n_energy_reads, memory_order_relaxed);
    out->longest_read_ns = atomic_load_explicit(&totals->longest_read_ns, memory_order_relaxed);
    out->longest_gap_ns = atomic_load_explicit(&totals->longest_gap_ns, memory_order_relaxed);
    out->cpu_ns = atomic_load_explicit(&totals->cpu_ns, memory_order_relaxed);
    out->throttle_seen = atomic_load_explicit(&totals->throttle, memory_order_relaxed);
    out->device_lost = atomic_load_explicit(&totals->device_lost, memory_order_relaxed);
    out->counter_stepped_back =
        atomic_load_explicit(&totals->counter_stepped_back, memory_order_relaxed);
    const int64_t first_ns = atomic_load_explicit(&totals->first_ns, memory_order_relaxed);
    const int64_t last_ns = atomic_load_explicit(&totals->last_ns, memory_order_relaxed);
    if (out->n_samples > 1 && last_ns > first_ns) {
        out->rate_hz = (double)(out->n_samples - 1) * NS_PER_S / (double)(last_ns - first_ns);
    }
    const double low_mhz = atomic_load_explicit(&totals->sm_clock_min_mhz, memory_order_relaxed);
    const double high_mhz = atomic_load_explicit(&totals->sm_clock_max_mhz, memory_order_relaxed);
    if (isfinite(low_mhz) && isfinite(high_mhz)) {
        out->sm_clock_min_mhz = eco_reading_of(low_mhz);
        out->sm_clock_max_mhz = eco_reading_of(high_mhz);
    }
}

static eco_reading latest(const _Atomic double *value, const _Atomic int *absence) {
    const eco_absence why = (eco_absence)atomic_load_explicit(absence, memory_order_acquire);
    return why == ECO_PRESENT ? eco_reading_of(atomic_load_explicit(value, memory_order_relaxed))
                              : eco_reading_absent(why);
}

void ecoi_totals_latest(const ecoi_sampler_totals *totals, eco_reading *power_w,
                        eco_reading *temp_c) {
    *power_w = latest(&totals->power_w, &totals->power_absence);
    *temp_c = latest(&totals->temp_c, &totals->temp_absence);
}
