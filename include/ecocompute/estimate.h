/* SPDX-License-Identifier: Apache-2.0
 *
 * What the published measurements say about a model that nobody measured here: the change of energy per token of a
 * quantized model against its own FP16, with interval, basis, confidence and advice. Pure. docs/estimator.md lists where
 * the two sets of rules differ and why.
 */
#ifndef ECOCOMPUTE_ESTIMATE_H
#define ECOCOMPUTE_ESTIMATE_H

#include "ecocompute/arch.h"
#include "ecocompute/curve.h"
#include "ecocompute/record.h"
#include "ecocompute/rules.h"
#include "ecocompute/status.h"
#include "ecocompute/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the current rules take; the published ones ask only that the size is above 0. */
#define ECO_SIZE_MIN_B 0.01
#define ECO_SIZE_MAX_B 10000.0
enum { ECO_ESTIMATE_BATCH_MAX = 4096, ECO_CONTEXT_MAX = 16 * 1024 * 1024 };
/* The workload of the published measurements, as they label it. */
#define ECO_CONTEXT_PUBLISHED 2048.0

typedef struct eco_estimate_query {
    eco_rules rules;
    const eco_curve_set *curves; /* NULL: eco_curves_published() */
    double params_b;             /* billions */
    const char *arch;            /* "ada"; current rules take a card as well: "RTX 3090" */
    const char *precision;       /* "NF4", "INT8"; any case */
    const char *model; /* of eco_model_find, for its heads; NULL: by size (current rules only) */
    const char
        *engine; /* of the tidy table: "native", "llama.cpp"; NULL: transformers, whose are the
                           curves. Another is answered from its own rows or the energy model */
    const char *stack; /* "bitsandbytes 0.45.5", NULL: none named (current rules only) */
    double batch,
        context; /* sequences decoded together, tokens; 1 and ECO_CONTEXT_PUBLISHED are the measured ones */
} eco_estimate_query;

typedef enum eco_confidence {
    ECO_CONFIDENCE_LOW = 0,
    ECO_CONFIDENCE_MEDIUM,
    ECO_CONFIDENCE_HIGH
} eco_confidence;
typedef enum eco_recommendation {
    ECO_RECOMMEND_DEPENDS = 0,
    ECO_RECOMMEND_QUANTIZE,
    ECO_RECOMMEND_KEEP_FP16
} eco_recommendation;
const char *eco_confidence_name(eco_confidence confidence); /* "low", "medium", "high" */
const char *eco_recommendation_name(eco_recommendation recommendation); /* "do_not_quantize", … */

/* Which side of the size where quantizing begins to pay. Published: a fixed threshold a class. Current: the crossover of
 * the curve that answers, so that the two cannot contradict each other; without one, the recommendation. */
typedef enum eco_gate_zone {
    ECO_GATE_UNDECIDED = 0,
    ECO_GATE_LOCK_FP16,
    ECO_GATE_ALLOW_QUANT
} eco_gate_zone;
typedef struct eco_gate {
    eco_gate_zone zone;
    eco_reading threshold_b; /* absent: the zone follows from the recommendation */
    double axis_max_b;       /* of the published bar */
} eco_gate;
const char *eco_gate_zone_name(eco_gate_zone zone); /* "undecided", "lock_fp16", "allow_quant" */
eco_gate eco_gate_published(const char *arch, double params_b);
eco_gate eco_gate_current(eco_reading crossover_b, double params_b,
                          eco_recommendation recommendation);

/* What answered. */
typedef enum eco_estimate_source {
    ECO_ESTIMATE_ANCHORS = 0, /* measurements of just this size (current: all sessions) */
    ECO_ESTIMATE_CURVE,
    ECO_ESTIMATE_ENERGY_MODEL /* current rules, where the curve would have to reach beyond its data,
                                 or is another engine's */
} eco_estimate_source;
const char *
eco_estimate_source_name(eco_estimate_source source); /* "anchors", "curve", "energy_model" */

typedef struct eco_estimate {
    eco_rules rules;
    double params_b, batch, context;  /* as asked */
    char arch[ECO_NAME_MAX];          /* the class asked for */
    char card[ECO_NAME_MAX];          /* the card asked for; "" = a class was given */
    char precision[16];               /* upper case */
    char engine[ECO_NAME_MAX];        /* as the table names it; "" = none named: transformers */
    char stack[ECO_NAME_MAX];         /* "" = none named */
    double delta_pct, lo_pct, hi_pct; /* not rounded; lo is never below minus the cap */
    eco_basis basis;
    eco_confidence confidence;
    eco_recommendation recommendation;
    const eco_curve *curve; /* own or borrowed; lives as long as the set */
    eco_estimate_source source;
    bool borrowed; /* `curve` is another class's */
    bool modelled; /* batch or context moved the answer, for which there are no measurements */
    double
        rows_batch; /* of the rows that may answer: the batch asked where there are such, else 1 */
    bool stack_unseen;          /* the energy model answered without knowing the stack */
    bool single_trials;         /* current: each of the n_exact measurements is of one trial */
    eco_reading crossover_b;    /* of batch 1; current: absent where the answer is modelled */
    size_t n_exact;             /* measurements of just this size that carry the answer */
    size_t n_sessions;          /* current: their sessions, and … */
    size_t n_stacks, n_unnamed; /* … the stacks these name, and how many name none */
    double spread_pct;          /* largest minus smallest of them */
    double sigma_pct;
    double weight_gb, weight_gb_fp16; /* 1e9 bytes */
    eco_reading fp16_mj,
        quant_mj; /* mJ per token (= J per 1000); absent: no FP16 baseline of this class */
    eco_basis fp16_basis, energy_basis; /* of fp16_mj and quant_mj */
    double fp16_moved; /* FP16 energy at this batch and context over that at batch 1 */
    eco_gate gate;
    eco_text verdict; /* one line */
    eco_text notes;   /* one a line */
} eco_estimate;

/* ECO_E_RANGE or ECO_E_USAGE naming the field (params_b, arch, precision, engine, batch, …), ECO_E_NOT_FOUND where nothing
 * was measured that could answer, ECO_E_NO_MEMORY. On failure *out is empty; else eco_estimate_free. */
ECO_NODISCARD eco_status eco_estimate_make(const eco_estimate_query *query, eco_estimate *out,
                                           eco_error *err);
void eco_estimate_free(eco_estimate *estimate);
/* The published keys, rounded as published; current adds its own. Command line and browser print this one text. */
ECO_NODISCARD eco_status eco_estimate_json(const eco_estimate *estimate, eco_text *out,
                                           eco_error *err);
void eco_estimate_text(const eco_estimate *estimate, eco_text *out); /* for a person */

/* FP16 energy in J per 1000 tokens at batch 1: measured at an anchor's size, else log-log through the nearest two.
 * UNAVAILABLE and 0 where the class has no anchors. Not rounded. */
typedef struct eco_fp16_energy {
    double j1k;
    eco_basis basis;
} eco_fp16_energy;
eco_fp16_energy eco_fp16_energy_at(const eco_curve_set *curves, const char *arch, double params_b);

#ifdef __cplusplus
}
#endif
#endif
