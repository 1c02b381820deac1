/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of a paired experiment and the energy of a window. Pure: no clock, file, thread or global.
 * Derivations: docs/uncertainty.md.
 */
#ifndef ECOCOMPUTE_STATS_H
#define ECOCOMPUTE_STATS_H

#include "ecocompute/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two-sided 95 % quantile of Student's t; dof 0 gives +infinity. Accurate to 1e-9. */
double eco_student_t95(uint32_t dof);

/* Mean of `n` values and the half-width of its Student-t 95 % interval; n = 1: half_width and sd are 0 and n says so. */
typedef struct eco_mean {
    double mean, sd, half_width;
    uint32_t n;
} eco_mean;
eco_mean eco_mean_of(const double *values, size_t n);

/* exp(mean of logs); 0 when n is 0 or a value is not positive. */
double eco_geometric_mean(const double *values, size_t n);

double eco_pct_of_log(double log_ratio); /* 100 (e^x - 1) */

/* First match on the 95 % interval: inside ±margin "no difference"; upper < 0 "saves"; lower > 0 "costs"; else
 * "inconclusive". Fewer than two blocks: "inconclusive". */
typedef enum eco_verdict {
    ECO_VERDICT_NONE = 0,
    ECO_VERDICT_NO_DIFFERENCE,
    ECO_VERDICT_SAVES,
    ECO_VERDICT_COSTS,
    ECO_VERDICT_INCONCLUSIVE
} eco_verdict;
eco_verdict eco_verdict_of(const eco_mean *log_ratio, double margin_pct);
const char *eco_verdict_name(eco_verdict verdict);

/* Rounds a sample to what a trace prints (1 us from origin, 1 mW, 1 mJ, 0.001 token, 0.1 °C), so that numbers derived
 * from memory and from the file are the same. t_ns becomes relative to origin. */
eco_sample eco_sample_as_printed(const eco_sample *sample, int64_t origin_ns);

/* Trapezoid over the rows that carry power, from t0 to t1, the ends interpolated from the neighbours (or held where there
 * is none within 1 s). False if fewer than two samples lie in or beside the interval. */
bool eco_integrate_power(const eco_sample *rows, size_t n, int64_t t0_ns, int64_t t1_ns,
                         double *joules);

/* What the rows of one (block, phase) say. Primary energy: counter at the last minus at the first row that carries one;
 * without a counter, integrated power between the first and last row. */
typedef struct eco_window_figures {
    int64_t t_open_ns, t_close_ns;
    double seconds, energy_j, integral_j, tokens;
    bool has_counter, has_integral;
    double mj_per_token, power_w, tokens_per_s, counter_to_integral; /* 0 where undefined */
    double power_sd_w;      /* scatter of the power readings inside; 0 for fewer than two */
    uint32_t power_updates; /* how often the reading changed, and one */
    eco_reading temp_start_c, temp_end_c, temp_peak_c;
} eco_window_figures;
/* False when the rows hold no such window, or it has no energy, time or tokens (time-only windows: energy_j 0, true if
 * allow_time_only). Rows outside the window are used only to interpolate power at its edges. */
bool eco_window_figures_of(const eco_sample *rows, size_t n, int32_t block, eco_phase phase,
                           bool allow_time_only, eco_window_figures *out);

/* Does a temperature stand still? Of readings in order of time the last ECO_STEADY_READINGS, a second or so apart, count:
 * the last three lie within 2 °C of each other and a straight line through all rises or falls by less than 0.2 °C/s.
 * False for fewer. */
enum { ECO_STEADY_READINGS = 5 };
bool eco_temperature_steady(const double *t_s, const double *temp_c, size_t n);

/* Inputs of the expanded uncertainty, of an arm and of the baseline; relative unless named otherwise. */
typedef struct eco_uncertainty_input {
    uint32_t n_blocks, n_arms;          /* n_arms: windows in a block */
    double seconds, edge_half_width_s;  /* typical window and half-width of an edge's instant */
    double tokens_arm, tokens_baseline; /* in a window */
    double count_step; /* tokens that are finished at once: a batch's step; 0 stands for 1 */
    double power_arm_w, power_baseline_w;                   /* geometric means */
    double counter_integral_arm, counter_integral_baseline; /* ratios; 0 = unknown */
    double drift_arm_log,
        drift_baseline_log; /* eco_drift_of the arm's ln energies over its blocks */
    double order_shift; /* mean over blocks of the arm's place less the baseline's; 0 = balanced */
    double power_sd_arm, power_sd_baseline; /* of the power readings in a window */
    double power_updates;                   /* distinct readings in a window */
    double power_lag_s; /* how far back a reading reaches: its averaging and its update period */
    bool has_counter;   /* else energy is integrated power, and sampling counts */
    double sensor_gain,
        sensor_offset_w; /* declared by the meter: ± share and ± W, common to both arms */
} eco_uncertainty_input;
typedef struct eco_uncertainty {
    double tick, read, drift, counter_integral, sampling, sensor_offset,
        sensor_gain;          /* standard, relative, of the ratio (gain: of an arm) */
    double expanded_ratio;    /* k = 2, relative, of the ratio */
    double expanded_absolute; /* k = 2, relative, of the weaker arm's joules */
} eco_uncertainty;
eco_uncertainty eco_uncertainty_of(const eco_uncertainty_input *input);
/* Of one arm without a baseline: the terms are those of its joules; drift and expanded_ratio are 0, and what the input
 * says of a baseline, of drift and of the order does not count. */
eco_uncertainty eco_uncertainty_alone(const eco_uncertainty_input *input);
/* Least-squares slope of y over 0 … n-1 times (n - 1): the fitted change from first to last. 0 for n < 3. */
double eco_drift_of(const double *y, size_t n);

/* Percentile bootstrap: 95 % interval of the mean of `values` from resampled means, the same for the same seed on every
 * machine. Resamples of few values are too alike, and the interval too short: false below ECO_BOOTSTRAP_MIN values, or
 * when out of memory. */
enum { ECO_BOOTSTRAP_MIN = 10, ECO_BOOTSTRAP_RESAMPLES = 10000 };
bool eco_bootstrap95(const double *values, size_t n, uint64_t seed, double *lo, double *hi);

#ifdef __cplusplus
}
#endif
#endif
