/* SPDX-License-Identifier: Apache-2.0
 *
 * Fits the published curves to rows of energies, says how far a held-out row is missed, and how sure the curve is.
 * The fit is the published one (SPEC §4.1): bounded least squares of A, S and N* a class and precision. Pure and
 * deterministic: the same rows and seed give the same digits on every machine but for libm's last place.
 */
#ifndef ECOCOMPUTE_FIT_H
#define ECOCOMPUTE_FIT_H

#include "ecocompute/anchors.h"
#include "ecocompute/curve.h"
#include "ecocompute/rules.h"
#include "ecocompute/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ECO_FIT_ROWS_MAX = 10000, /* of a table */
    ECO_FIT_POINTS_MAX = 256, /* of a curve */
    ECO_FIT_CURVES_MAX = 64,
    ECO_FIT_BOOTSTRAPS = 2000
};

/* ---- One curve ---- */

typedef struct eco_fit_point {
    double params_b, delta_pct;
} eco_fit_point;

typedef struct eco_fit_bounds {
    double a_lo, a_hi, s_lo, s_hi, nstar_lo, nstar_hi;
} eco_fit_bounds;

typedef struct eco_fit_result {
    double a_pct, s_pct, nstar_b,
        resid_std_pct; /* not rounded; root mean square, no degrees of freedom taken off */
    eco_fit_bounds bounds;
    bool a_at_bound, s_at_bound, nstar_at_bound;
    bool nstar_fixed;     /* fewer than 3 points: N* is their median */
    bool nstar_arbitrary; /* S is 0: any N* gives the same curve */
} eco_fit_result;

/* `s_cap_pct` is the precision's cap (75 NF4, 50 INT8). Published rules descend from the published start point and stop where
 * the published program does, a hair short of the minimum; current rules find the minimum. Where S is 0
 * any N* is as good and N* is the median size. False if n is 0 or over ECO_FIT_POINTS_MAX, or a number is not finite or a size not positive. */
bool eco_fit_curve(eco_rules rules, const eco_fit_point *points, size_t n, double s_cap_pct,
                   eco_fit_result *out);
/* Mean absolute error of refits without each point in turn (bounds re-derived); false below 4 points. */
bool eco_fit_loo(eco_rules rules, const eco_fit_point *points, size_t n, double s_cap_pct,
                 double *mae_pct);

/* ---- A table ---- */

typedef struct eco_fit_options {
    eco_rules rules;       /* of the fit: eco_fit_curve */
    const char *engine;    /* only rows of this engine; NULL: "transformers", the published stack */
    bool published_rows;   /* only rows with in_published_fit */
    uint64_t seed;         /* of the bootstrap */
    uint32_t n_bootstraps; /* 0: no bands */
} eco_fit_options;

/* Percentiles 2.5 and 97.5 over refits of sessions drawn with replacement, not capped, at the anchors' sizes. */
typedef struct eco_fit_band_point {
    double params_b, lo_pct, hi_pct;
} eco_fit_band_point;

typedef struct eco_fit_band {
    uint32_t n_sessions, n_bootstraps; /* no band below 2 sessions: n_points is 0 */
    const eco_fit_band_point *points;
    size_t n_points;
    eco_reading crossover_lo_b,
        crossover_hi_b;     /* of the refits that have a crossover; absent where none has */
    double crossover_share; /* of the refits that have one, 0 to 1 */
} eco_fit_band;

/* What a reader of a curve has to know. X(enumerator, code, text); docs/fit.md says more. */
#define ECO_FIT_WARNINGS(X)                                                                      \
    X(AT_BOUND, "fit_at_bound", "a parameter sits on a bound, so the bound shapes the curve")    \
    X(NSTAR_ARBITRARY, "nstar_arbitrary", "S is 0: the curve is flat and N* means nothing")      \
    X(NSTAR_FIXED, "nstar_fixed", "fewer than 3 points: N* is their median size and not fitted") \
    X(NO_LOO, "no_loo", "fewer than 4 points: no leave-one-out error")                           \
    X(ONE_SESSION, "one_session",                                                                \
      "all points are of one session: no band, and its faults are in all")                       \
    X(FEW_SESSIONS, "few_sessions", "fewer than 5 sessions: the band is coarse and too narrow")

typedef enum eco_fit_warning {
#define ECO_FIT_WARNING_ENUMERATOR(name, code, text) ECO_FIT_##name,
    ECO_FIT_WARNINGS(ECO_FIT_WARNING_ENUMERATOR)
#undef ECO_FIT_WARNING_ENUMERATOR
        ECO_FIT_WARNING_COUNT
} eco_fit_warning;
const char *eco_fit_warning_code(eco_fit_warning warning);
const char *eco_fit_warning_text(eco_fit_warning warning);

typedef struct eco_fit eco_fit;
/* Fits every (arch, precision) of the rows that pass `options`, carry both energies and are of batch 1 (or do not say).
 * ECO_E_INVALID: no such row; ECO_E_RANGE: over a cap; ECO_E_NO_MEMORY. *out is the caller's: eco_fit_free; it does not
 * need the rows any more. */
ECO_NODISCARD eco_status eco_fit_table(const eco_anchor_table *rows, const eco_fit_options *options,
                                       eco_fit **out, eco_error *err);
void eco_fit_free(eco_fit *fit);
/* As eco_curves_read gives a file: parameters rounded as published (4 decimals, crossover and leave-one-out 3). */
const eco_curve_set *eco_fit_set(const eco_fit *fit);
/* Of the set's curve `i`. */
const eco_fit_result *eco_fit_result_at(const eco_fit *fit, size_t i);
const eco_fit_band *eco_fit_band_at(const eco_fit *fit, size_t i);
bool eco_fit_warned(const eco_fit *fit, size_t i, eco_fit_warning warning);
/* Rows used, rows passed over (other engine, other rows, no energies, batched), and over all curves the leave-one-out error. */
typedef struct eco_fit_summary {
    size_t n_rows, n_left_out, n_loo;
    double loo_mae_pct; /* 0 when n_loo is 0 */
} eco_fit_summary;
eco_fit_summary eco_fit_summary_of(const eco_fit *fit);
/* curves.json: the published keys in the published order, ours (bounds, band, warnings) behind them. */
ECO_NODISCARD eco_status eco_fit_write_json(const eco_fit *fit, eco_text *out, eco_error *err);

/* ---- Held-out error ---- */

typedef enum eco_holdout { ECO_HOLDOUT_SESSION = 0, ECO_HOLDOUT_CARD } eco_holdout;

typedef struct eco_holdout_row {
    const eco_anchor *row;
    double delta_pct; /* what was measured */
    eco_reading
        published_pct; /* what the published rules say without the held-out rows; absent: they cannot */
    bool published_borrowed; /* by another class's curve */
} eco_holdout_row;

/* Published rules (SPEC section 4.2: the mean of own anchors of that size, else the capped curve, own or borrowed; a saving
 * shrinks with the batch), refitted without all rows of that session or card. `out` holds rows->n places; returns how many
 * were filled: rows that pass `options` and carry a change. 0 also when out of memory or over a cap. */
size_t eco_fit_holdout(const eco_anchor_table *rows, const eco_fit_options *options, eco_holdout by,
                       eco_holdout_row *out);

#ifdef __cplusplus
}
#endif
#endif
