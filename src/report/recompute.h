/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the recomputation share: the figures of an arm as its trace gives them, and how a derived number
 * meets the printed one.
 */
#ifndef ECOI_REPORT_RECOMPUTE_H
#define ECOI_REPORT_RECOMPUTE_H

#include "report/report_doc.h"

#include "ecocompute/stats.h"

enum { ECOI_RECOMPUTE_ARMS_MAX = 8, ECOI_RECOMPUTE_WINDOWS_MAX = 1024 };

/* Decimals with which a report prints each kind of number. */
enum {
    ECOI_TIME_DECIMALS = 6,
    ECOI_PLAIN_DECIMALS = 3,
    ECOI_RATIO_DECIMALS = 5,
    ECOI_LOG_DECIMALS = 6,
    ECOI_TEMP_DECIMALS = 1,
    ECOI_PCT_DECIMALS = 4
};

/* One finished block of an arm. */
typedef struct ecoi_block_figures {
    bool present;
    uint32_t window;            /* its place in trials.arms[].windows */
    eco_window_figures figures; /* per generated token */
} ecoi_block_figures;

typedef struct ecoi_arm_figures {
    const char *file;
    eco_sample *rows;
    size_t n_rows;
    ecoi_block_figures blocks[ECOI_RECOMPUTE_WINDOWS_MAX]; /* [block - 1] */
    uint32_t n;
    double mj_per_token, tokens_per_s, power_w,
        counter_to_integral; /* geometric means, 0 = undefined */
    double joules_sum, tokens_sum;
    double seconds_min;
    double power_sd, power_updates; /* means: relative scatter of the power readings, changes */
    bool has_counter;               /* in every block */
    eco_mean log_mj;
    double drift_log;
} ecoi_arm_figures;

typedef struct ecoi_recomputation {
    const eco_report *report;
    eco_findings *out;
    uint32_t n_blocks; /* finished, as the report says */
    uint32_t n_arms;
    eco_phase headline;     /* kind of the windows the headline is made of */
    double units_per_token; /* their work units that make one generated token */
    uint32_t batch;         /* sequences that decode in step */
    double n_units;         /* published: units of a window as the report says; 0 = any */
    ecoi_arm_figures *arms;
    double *scratch; /* ECOI_RECOMPUTE_WINDOWS_MAX values */
} ecoi_recomputation;

/* ---- recompute_compare.c: each adds a finding where the two differ by more than the rounding ---- */

enum { ECOI_FIELD_NAME_BYTES = 128 };
/* "trials.arms[0].windows[2].energy_j" */
void ecoi_field_name(eco_field field, eco_at at, char out[ECOI_FIELD_NAME_BYTES]);
/* Half a unit of the last decimal and one part in a million. */
double ecoi_compare_tolerance(double derived, int decimals);
void ecoi_compare_within(const ecoi_recomputation *r, eco_field field, eco_at at, double derived,
                         int decimals, double tolerance);
void ecoi_compare(const ecoi_recomputation *r, eco_field field, eco_at at, double derived,
                  int decimals);
/* A number that is undefined (not positive) where the trace does not hold it. */
void ecoi_compare_positive(const ecoi_recomputation *r, eco_field field, eco_at at, double derived,
                           int decimals);
/* Compared only where the report prints it. */
void ecoi_compare_optional(const ecoi_recomputation *r, eco_field field, eco_at at, double derived,
                           int decimals);
/* Compared only where the report has the key; `slack` is what the rounding of its own inputs may do. */
void ecoi_compare_given(const ecoi_recomputation *r, eco_field field, eco_at at, double derived,
                        int decimals, double slack);
void ecoi_compare_reading(const ecoi_recomputation *r, eco_field field, eco_at at,
                          eco_reading derived);
void ecoi_compare_count(const ecoi_recomputation *r, eco_field field, eco_at at, uint64_t derived);
bool ecoi_same_string(const eco_report *report, eco_field a, eco_at at_a, eco_field b, eco_at at_b);
bool ecoi_string_is(const eco_report *report, eco_field field, eco_at at, const char *text);

/* ---- recompute_uncertainty.c ---- */

/* uncertainty.u_expanded and uncertainty.bootstrap95, from the arms' figures and the log-ratios; `base` and `own` are
 * places in trials.arms, n at least 1. */
void ecoi_recompute_uncertainty(const ecoi_recomputation *r, uint32_t base, uint32_t own,
                                const double *log_ratios, uint32_t n);
/* uncertainty.u_expanded of the joules of the only arm. */
void ecoi_recompute_uncertainty_alone(const ecoi_recomputation *r, uint32_t arm);

/* ---- recompute_explain.c ---- */

/* The explain block; `change` NULL: there is none. The probe's rows lie in the baseline's trace. */
void ecoi_recompute_explain(const ecoi_recomputation *r, uint32_t base, uint32_t own,
                            const eco_mean *change);

#endif
