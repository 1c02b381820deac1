/* SPDX-License-Identifier: Apache-2.0
 *
 * The published family of curves: change of energy against FP16 by model size, one curve an architecture class and
 * precision,
 *     dE%(N) = A − S g(N / N*),   g(x) = x / (1 + x),   N in billions of parameters.
 * A set of curves is built in (the published release) or read from a curves.json. Plain data, nothing here allocates but
 * the reader. Source: SPEC of the published system, curves.json of its release schema-1.1 (CC BY 4.0, docs/data.md).
 */
#ifndef ECOCOMPUTE_CURVE_H
#define ECOCOMPUTE_CURVE_H

#include "ecocompute/record.h"
#include "ecocompute/status.h"
#include "ecocompute/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eco_curve_anchor {
    double params_b, delta_pct; /* N and dE, as printed (2 decimals) */
    const char *model, *gpu;
    uint32_t n_trials; /* 0 = not stated */
    eco_basis basis;   /* of delta_pct */
} eco_curve_anchor;

typedef struct eco_curve {
    const char *arch, *precision; /* "ada", "NF4" */
    double a_pct, s_pct, nstar_b, resid_std_pct;
    double n_min_b, n_max_b;         /* sizes of the smallest and largest anchor */
    eco_reading crossover_b;         /* where the curve is 0; absent: nowhere up to n_max_b */
    eco_reading loo_mae_pct;         /* leave-one-out mean absolute error, in points of dE% */
    const eco_curve_anchor *anchors; /* sorted by (params_b, gpu) */
    size_t n_anchors;
} eco_curve;

typedef struct eco_fp16_anchor {
    double params_b, energy_j1k; /* J per 1000 tokens, mean over the rows of that size */
    const char *model, *gpu;
} eco_fp16_anchor;

typedef struct eco_fp16_baseline {
    const char *arch;
    double n_min_b, n_max_b;
    const eco_fp16_anchor *anchors; /* sorted by params_b */
    size_t n_anchors;
} eco_fp16_baseline;

/* Datasheet figures of the card that stands for a class. */
typedef struct eco_class_hardware {
    const char *arch, *gpu;
    double mem_bw_gb_per_s, fp16_tflops;
    const char *source;
} eco_class_hardware;

typedef struct
    eco_curve_name { /* a pair of names: arch and label, arch and the one it borrows from */
    const char *arch, *value;
} eco_curve_name;

typedef struct eco_curve_cap {
    const char *precision;
    double s_cap_pct; /* no answer is below −s_cap_pct */
} eco_curve_cap;

typedef struct eco_curve_set {
    const char *model; /* the formula, as text */
    const eco_curve_cap *caps;
    const eco_curve_name *labels, *borrows;
    const eco_curve *curves;
    const eco_fp16_baseline *baselines;
    const eco_class_hardware *hardware;
    size_t n_caps, n_labels, n_borrows, n_curves, n_baselines, n_hardware;
} eco_curve_set;

/* The published release, from data/published/curves.json; static. */
const eco_curve_set *eco_curves_published(void);

/* NULL where the set has none. Names are compared exactly (lower-case arch, upper-case precision). None borrows. */
const eco_curve *eco_curve_find(const eco_curve_set *set, const char *arch, const char *precision);
const eco_fp16_baseline *eco_curve_baseline(const eco_curve_set *set, const char *arch);
const eco_class_hardware *eco_curve_hardware(const eco_curve_set *set, const char *arch);
const char *eco_curve_label(const eco_curve_set *set, const char *arch);
const char *eco_curve_borrows(const eco_curve_set *set, const char *arch); /* "ampere" for hopper */
double eco_curve_cap_pct(const eco_curve_set *set, const char *precision); /* NF4's where unknown */

double eco_curve_g(double x);                                    /* x / (1 + x) */
double eco_curve_value(const eco_curve *curve, double params_b); /* A − S g(N/N*), not capped */
/* N* A / (S − A) where S > A > 0 and it is not beyond n_max_b (SPEC §4.1), else absent. */
eco_reading eco_curve_crossover(double a_pct, double s_pct, double nstar_b, double n_max_b);

/* The published API's list: by arch its label and, by precision, measured_range_b and crossover_b; an arch that borrows has
 * borrows_from and no precisions. */
ECO_NODISCARD eco_status eco_curves_write_architectures(const eco_curve_set *set, eco_text *out,
                                                        eco_error *err);

/* A curves.json of the set: the published keys in the published order. */
ECO_NODISCARD eco_status eco_curves_write_json(const eco_curve_set *set, eco_text *out,
                                               eco_error *err);

/* A curves.json: the published keys; others are passed over. Untrusted: sizes are capped, every number finite and in its
 * range, names short. ECO_E_PARSE, ECO_E_RANGE or ECO_E_INVALID with "name: path: …", ECO_E_NO_MEMORY. An anchor without
 * a basis of its own counts as measured, which is what the published file holds. */
typedef struct eco_curve_file eco_curve_file;
ECO_NODISCARD eco_status eco_curves_read(const char *json, size_t length, const char *name,
                                         eco_curve_file **out, eco_error *err);
const eco_curve_set *eco_curve_file_set(const eco_curve_file *file); /* as long as `file` */
void eco_curve_file_free(eco_curve_file *file);

#ifdef __cplusplus
}
#endif
#endif
