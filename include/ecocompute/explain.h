/* SPDX-License-Identifier: Apache-2.0
 *
 * A report explained: for each arm what a token must move and compute, how far it was from this card's ceilings, and
 * what bound it. Made from the report alone; a rate that it lacks may be lent by a probe of the same card.
 */
#ifndef ECOCOMPUTE_EXPLAIN_H
#define ECOCOMPUTE_EXPLAIN_H

#include "ecocompute/arch.h"
#include "ecocompute/report.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ECO_EXPLAIN_ARMS_MAX = 2, ECO_EXPLAIN_LENT_MAX = 96 };

/* Rates from elsewhere, 0 = unknown; used only where the report has none, and said. */
typedef struct eco_explain_lent {
    double matrix_fp16_ops_per_s, matrix_int8_ops_per_s;
    char from[ECO_EXPLAIN_LENT_MAX]; /* "probe of 2026-11-30" */
} eco_explain_lent;

/* Numbers are 0 where the report does not tell. Texts are the report's and live as long as it. */
typedef struct eco_explained_arm {
    const char *precision, *role, *kernels;
    const char *stored_bound; /* what the report itself says; NULL = nothing */
    eco_token_bytes bytes;    /* of a token, by part; all 0 where `split_known` is false */
    bool split_known; /* model and format are known here and their sum is the report's count */
    double bytes_per_token, flops_per_token;
    double token_s, step_s, layer_s; /* a step makes `batch` tokens */
    double mj_per_token, power_w;
    double mj_lo, mj_hi; /* 95 % of repetition; both 0 = one window, or the report does not tell */
    uint32_t n_windows;  /* headline windows behind it; 0 = the report does not tell */
    double launches_per_step;
    double matrix_flops_per_s; /* the ceiling of its products */
    eco_bound bound;
} eco_explained_arm;

typedef struct eco_explanation {
    const char *model, *gpu, *engine;
    uint32_t batch, n_layers; /* n_layers 0 = the model is not known here */
    bool published;           /* a token carries its share of the prefill */
    double position_first, position_last;
    double read_bytes_per_s, read_j_per_byte, launch_s, power_limit_w;
    bool lent; /* the matrix rate is not the report's own */
    char lent_from[ECO_EXPLAIN_LENT_MAX];
    bool has_change;                  /* of energy, the second arm against the first */
    bool unsettled;                   /* its verdict is neither saves nor costs */
    double delta_pct, lo_pct, hi_pct; /* %; 95 % of repetition, meaningful where n_blocks >= 2 */
    double expanded_pct;              /* timing and sensor (k = 2); 0 = not told */
    uint32_t n_blocks;
    const char *verdict, *basis;
    uint32_t n_arms;
    eco_explained_arm arms[ECO_EXPLAIN_ARMS_MAX]; /* the baseline first */
    eco_text why, advice[ECO_EXPLAIN_ARMS_MAX];
} eco_explanation;

/* `lent` NULL = nothing. ECO_E_INVALID: the report holds no arm with a speed (a report of another program, or of a run
 * without a finished block). */
ECO_NODISCARD eco_status eco_report_explain(const eco_report *report, const eco_explain_lent *lent,
                                            eco_explanation *out, eco_error *err);
void eco_explanation_free(eco_explanation *explanation);

/* For people, several lines; and the same as one JSON object, without a line break at the end. */
void eco_explanation_text(const eco_explanation *explanation, eco_text *out);
ECO_NODISCARD eco_status eco_explanation_json(const eco_explanation *explanation, eco_text *out,
                                              eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
