/* SPDX-License-Identifier: Apache-2.0
 *
 * The best configuration (precision, batch, context) of a grid under limits of latency, memory and throughput, with what
 * else would do and the front of energy against latency. Pure; docs/estimator.md has the formulas of both sets of rules.
 */
#ifndef ECOCOMPUTE_OPTIMIZE_H
#define ECOCOMPUTE_OPTIMIZE_H

#include "ecocompute/estimate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum eco_objective {
    ECO_OBJECTIVE_MIN_ENERGY = 0,
    ECO_OBJECTIVE_MIN_LATENCY,
    ECO_OBJECTIVE_MAX_THROUGHPUT,
    ECO_OBJECTIVE_MIN_VRAM,
    ECO_OBJECTIVE_COUNT
} eco_objective;
const char *eco_objective_name(eco_objective objective); /* "min_energy", … */

enum {
    ECO_OPTIMIZE_PRECISIONS_MAX = 8,
    ECO_OPTIMIZE_AXIS_MAX = 4096, /* batches or contexts */
    ECO_OPTIMIZE_CANDIDATES_MAX = 4000000,
    ECO_OPTIMIZE_ALTERNATIVES = 3
};

/* n = 0 takes the default grid: FP16, NF4, INT8; 1, 2, 4, 8, 16, 32; 512, 1024, 2048, 4096, 8192. */
typedef struct eco_optimize_query {
    eco_rules rules;
    const eco_curve_set *curves; /* NULL: eco_curves_published() */
    double params_b;
    const char *arch;
    const char *model; /* current rules: exact weights and heads; NULL: by size */
    const char *
        objective; /* NULL: min_energy. One that is not known is min_energy too under published rules */
    eco_reading latency_max_ms, vram_max_gb, throughput_min_tok_s; /* absent: no limit */
    const char *const *precisions;
    const double *batches, *contexts;
    size_t n_precisions, n_batches, n_contexts;
} eco_optimize_query;

/* Energies are mJ per token, which is J per 1000 tokens. Values are rounded as they are printed. */
typedef struct eco_config {
    const char *precision; /* as long as the result */
    double batch, context;
    eco_reading energy_j1k; /* absent: no FP16 baseline of this class */
    double energy_rel_fp16; /* against FP16 at the same batch and context */
    double delta_pct;       /* against FP16 */
    double latency_ms, throughput_tok_s, vram_gb;
    const char
        *bound; /* "memory", "compute"; current rules also "launch": the measured time of a step */
    eco_basis energy_basis, latency_basis;
    eco_confidence confidence;
} eco_config;

typedef struct eco_optimum {
    eco_rules rules;
    eco_objective objective;
    double params_b; /* as asked, like all down to the contexts */
    char arch[ECO_NAME_MAX], card[ECO_NAME_MAX];
    const char *model; /* of the table of models, or NULL */
    eco_reading latency_max_ms, vram_max_gb, throughput_min_tok_s;
    const char *const *precisions;
    const double *batches, *contexts;
    size_t n_precisions, n_batches, n_contexts;
    size_t n_candidates, n_feasible;
    eco_config best; /* n_feasible 0: the configuration that breaks the limits least */
    eco_config alternatives[ECO_OPTIMIZE_ALTERNATIVES];
    size_t n_alternatives;
    eco_config *
        front; /* over all candidates: energy rises, latency falls; none where nothing is feasible */
    size_t n_front;
    eco_text notes; /* one a line */
    void *memory;   /* of what the pointers above point to, but the model */
} eco_optimum;

/* Errors as eco_estimate_make's, naming the field, and ECO_E_NOT_FOUND where no precision can be scored (each one's
 * reason is in the message). Not being feasible is no error. On failure *out is empty; else eco_optimum_free. */
ECO_NODISCARD eco_status eco_optimize_make(const eco_optimize_query *query, eco_optimum *out,
                                           eco_error *err);
void eco_optimum_free(eco_optimum *optimum);
ECO_NODISCARD eco_status eco_optimize_json(const eco_optimum *optimum, eco_text *out,
                                           eco_error *err);
void eco_optimize_text(const eco_optimum *optimum, eco_text *out); /* for a person */

#ifdef __cplusplus
}
#endif
#endif
