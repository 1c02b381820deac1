/* SPDX-License-Identifier: Apache-2.0
 *
 * Energy, time and tokens of a window from its rows; the same code serves the live run and the recomputation from
 * a trace. The counter's difference between two ticks is exact to its resolution; the integral is the cross-check.
 */
#include "ecocompute/stats.h"

#include <math.h>

static const int64_t EDGE_REACH_NS =
    1000000000; /* how far outside a window a power sample may lie to serve its edge */

static double rounded(double value, double unit) {
    return round(value / unit) * unit;
}

static eco_reading rounded_reading(eco_reading reading, double per_unit) {
    if (eco_reading_present(reading)) {
        reading.value = round(reading.value * per_unit) / per_unit;
    }
    return reading;
}

eco_sample eco_sample_as_printed(const eco_sample *sample, int64_t origin_ns) {
    eco_sample out = *sample;
    out.t_ns = (int64_t)rounded((double)(sample->t_ns - origin_ns), 1000.0);
    out.power_w = rounded_reading(sample->power_w, 1000.0);
    out.energy_j = rounded_reading(sample->energy_j, 1000.0);
    out.tokens = rounded_reading(sample->tokens, 1000.0);
    out.temp_c = rounded_reading(sample->temp_c, 10.0);
    return out;
}

/* Power at t by straight line between the nearest power samples; held from one side where the other has none in reach. */
static bool power_at(const eco_sample *rows, size_t n, int64_t t_ns, double *power_w) {
    const eco_sample *before = NULL;
    const eco_sample *after = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!eco_reading_present(rows[i].power_w)) {
            continue;
        }
        if (rows[i].t_ns <= t_ns && t_ns - rows[i].t_ns <= EDGE_REACH_NS) {
            before = &rows[i];
        } else if (rows[i].t_ns > t_ns) {
            after = rows[i].t_ns - t_ns <= EDGE_REACH_NS ? &rows[i] : NULL;
            break;
        }
    }
    if (before == NULL && after == NULL) {
        return false;
    }
    if (before == NULL || after == NULL) {
        *power_w = (before != NULL ? before : after)->power_w.value;
        return true;
    }
    const double share = (double)(t_ns - before->t_ns) / (double)(after->t_ns - before->t_ns);
    *power_w = before->power_w.value + share * (after->power_w.value - before->power_w.value);
    return true;
}

bool eco_integrate_power(const eco_sample *rows, size_t n, int64_t t0_ns, int64_t t1_ns,
                         double *joules) {
    double last_w = 0.0;
    double end_w = 0.0;
    *joules = 0.0;
    if (t1_ns <= t0_ns || !power_at(rows, n, t0_ns, &last_w) || !power_at(rows, n, t1_ns, &end_w)) {
        return false;
    }
    int64_t last_t_ns = t0_ns;
    size_t inside = 0;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!eco_reading_present(rows[i].power_w) || rows[i].t_ns <= t0_ns ||
            rows[i].t_ns >= t1_ns) {
            continue;
        }
        sum += (last_w + rows[i].power_w.value) / 2.0 * (double)(rows[i].t_ns - last_t_ns);
        last_w = rows[i].power_w.value;
        last_t_ns = rows[i].t_ns;
        inside++;
    }
    sum += (last_w + end_w) / 2.0 * (double)(t1_ns - last_t_ns);
    *joules = sum * 1e-9;
    return inside >= 2;
}

/* First and last row of the window, and the first and last of them that carry the counter. */
typedef struct window_span {
    const eco_sample *first, *last, *energy_first, *energy_last;
} window_span;

static window_span find_span(const eco_sample *rows, size_t n, int32_t block, eco_phase phase,
                             eco_window_figures *out) {
    window_span span = {0};
    for (size_t i = 0; i < n; i++) {
        const eco_sample *row = &rows[i];
        if (row->block != block || row->phase != phase) {
            continue;
        }
        span.first = span.first == NULL ? row : span.first;
        span.last = row;
        if (eco_reading_present(row->energy_j)) {
            span.energy_first = span.energy_first == NULL ? row : span.energy_first;
            span.energy_last = row;
        }
        if (eco_reading_present(row->temp_c)) {
            if (!eco_reading_present(out->temp_start_c)) {
                out->temp_start_c = row->temp_c;
                out->temp_peak_c = row->temp_c;
            }
            out->temp_end_c = row->temp_c;
            out->temp_peak_c.value = fmax(out->temp_peak_c.value, row->temp_c.value);
        }
    }
    return span;
}

/* Scatter and changes of the power readings from the opening to the closing edge. */
static void note_power(const eco_sample *rows, size_t n, eco_window_figures *out) {
    double mean_w = 0.0;
    double squares = 0.0;
    double last_w = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!eco_reading_present(rows[i].power_w) || rows[i].t_ns < out->t_open_ns ||
            rows[i].t_ns > out->t_close_ns) {
            continue;
        }
        const double power_w = rows[i].power_w.value;
        if (count == 0 || power_w < last_w || power_w > last_w) {
            out->power_updates++;
        }
        last_w = power_w;
        count++;
        const double step_w = power_w - mean_w; /* Welford's recurrence */
        mean_w += step_w / (double)count;
        squares += step_w * (power_w - mean_w);
    }
    out->power_sd_w = count >= 2 ? sqrt(squares / (double)(count - 1)) : 0.0;
}

bool eco_window_figures_of(const eco_sample *rows, size_t n, int32_t block, eco_phase phase,
                           bool allow_time_only, eco_window_figures *out) {
    *out = (eco_window_figures){0};
    const window_span span = find_span(rows, n, block, phase, out);
    out->has_counter = span.energy_first != NULL && span.energy_last != span.energy_first;
    const eco_sample *open = out->has_counter ? span.energy_first : span.first;
    const eco_sample *close = out->has_counter ? span.energy_last : span.last;
    if (open == NULL || close == open || !eco_reading_present(open->tokens) ||
        !eco_reading_present(close->tokens)) {
        return false;
    }
    out->t_open_ns = open->t_ns;
    out->t_close_ns = close->t_ns;
    out->seconds = (double)(close->t_ns - open->t_ns) * 1e-9;
    out->tokens = close->tokens.value - open->tokens.value;
    out->has_integral = eco_integrate_power(rows, n, open->t_ns, close->t_ns, &out->integral_j);
    note_power(rows, n, out);
    if (!(out->seconds > 0.0) || !(out->tokens > 0.0)) {
        return false;
    }
    out->tokens_per_s = out->tokens / out->seconds;
    if (!out->has_counter && !out->has_integral) {
        return allow_time_only;
    }
    out->energy_j =
        out->has_counter ? close->energy_j.value - open->energy_j.value : out->integral_j;
    if (!(out->energy_j > 0.0)) {
        return false;
    }
    if (out->has_counter && out->has_integral && out->integral_j > 0.0) {
        out->counter_to_integral = out->energy_j / out->integral_j;
    }
    out->mj_per_token = out->energy_j / out->tokens * 1e3;
    out->power_w = out->energy_j / out->seconds;
    return true;
}
