/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the energy model: parameters as named effects, a token's energy as a sum of terms, each a known amount times
 * prices whose logarithms are effects. docs/energy-model.md writes the same as equations.
 */
#ifndef ECOI_ENERGY_MODEL_PARTS_H
#define ECOI_ENERGY_MODEL_PARTS_H

#include "ecocompute/energy_model.h"

enum {
    ECOI_ENERGY_KEY_MAX = 96,
    ECOI_ENERGY_EFFECTS_MAX = 300, /* of a fit */
    ECOI_ENERGY_ROWS_MAX = 2000,
    ECOI_ENERGY_TERMS_MAX = 8,
    ECOI_ENERGY_FACTORS_MAX = 12
};

/* Every effect is a natural logarithm added to others' (TDP_POWER alone is an exponent). Prior means and standard
 * deviations stand in energy_model_terms.c. */
typedef enum ecoi_energy_kind {
    ECOI_ENERGY_LAUNCH = 0,   /* J a layer of a step, engine transformers, FP16, a card of 450 W */
    ECOI_ENERGY_BYTE_GDDR,    /* J a GB read */
    ECOI_ENERGY_BYTE_HBM,     /* J a GB read */
    ECOI_ENERGY_TDP_POWER,    /* exponent of (TDP / 450 W) in the price of a launch */
    ECOI_ENERGY_FEW_OUTLIERS, /* LLM.int8's launches on a model without outlier features */
    ECOI_ENERGY_NF4_BATCH, /* bytes of a whole FP16 copy, written and read again, at batch above 1 */
    ECOI_ENERGY_PRODUCT,   /* J a 1e9 multiply-adds of the second and later sequences */
    ECOI_ENERGY_ENGINE,    /* key engine: its launches against transformers' */
    ECOI_ENERGY_LAUNCH_RATIO, /* key precision: launches of a quantized layer against FP16's, transformers */
    ECOI_ENERGY_UNPACK,       /* key engine|precision: J a 1e9 weights unpacked */
    ECOI_ENERGY_CARD_LAUNCH,  /* key card */
    ECOI_ENERGY_CARD_BYTE,    /* key card */
    ECOI_ENERGY_CARD_WEIGHT,  /* key card: J a 1e9 weights, in any format (slow arithmetic) */
    ECOI_ENERGY_SESSION,      /* key session: launches of all arms */
    ECOI_ENERGY_HOST,         /* key card|stack: launches of all arms */
    ECOI_ENERGY_HOST_RATIO,   /* key precision|card|stack */
    ECOI_ENERGY_STACK_RATIO,  /* key precision|stack */
    ECOI_ENERGY_UNPACK_BATCH, /* key engine|precision: unpacking at batch above 1 against batch 1 */
    ECOI_ENERGY_PRODUCT_RATIO, /* key engine|precision: a multiply-add against FP16's */
    ECOI_ENERGY_KIND_COUNT
} ecoi_energy_kind;

typedef struct ecoi_energy_effect {
    ecoi_energy_kind kind;
    char key[ECOI_ENERGY_KEY_MAX];
    double value, sd; /* posterior mode and standard deviation */
} ecoi_energy_effect;

/* What was fitted: the domain. */
typedef struct ecoi_energy_seen {
    char gpu[ECOI_ENERGY_KEY_MAX], arch[ECOI_ENERGY_KEY_MAX], engine[16], precision[16];
    uint32_t n_rows;
    double params_b_min, params_b_max, batch_max;
} ecoi_energy_seen;

/* Of |log error| over its predicted standard deviation, 95 % of an engine's held-out rows. */
typedef struct ecoi_energy_multiple {
    char engine[16];
    double value;
} ecoi_energy_multiple;

struct eco_energy_params {
    const ecoi_energy_effect *effects;
    const int8_t *correlation; /* of effects i > j, in percent, at i (i - 1) / 2 + j */
    const ecoi_energy_seen *seen;
    const ecoi_energy_multiple *multiples;
    size_t n_effects, n_seen, n_multiples;
};

double ecoi_energy_prior_mean(ecoi_energy_kind kind, const char *key);
double ecoi_energy_prior_sd(ecoi_energy_kind kind, const char *key);

/* ---- A row or a question in the model's own words ---- */

typedef struct ecoi_energy_shape {
    double layers, linear_g, head_g; /* 1e9 weights */
    double kv_gb;                    /* read for each position of the context, a sequence */
    bool few_outliers, typical;
} ecoi_energy_shape;

bool ecoi_energy_shape_of(const char *model, double params_b, ecoi_energy_shape *out);

typedef struct ecoi_energy_case {
    ecoi_energy_shape shape;
    char gpu[ECOI_ENERGY_KEY_MAX];     /* as cards.csv names it, else as it is given; "" unknown */
    char stack[ECOI_ENERGY_KEY_MAX];   /* what tells stacks apart; "" unknown */
    char session[ECOI_ENERGY_KEY_MAX]; /* "" in a question */
    char engine[16], precision[16], arch[ECOI_ENERGY_KEY_MAX];
    double tdp_w, params_b, batch, context, bytes_per_weight;
    bool hbm, card_known; /* card_known: the data sheet table has it */
} ecoi_energy_case;

/* False: no measurement, or its engine or precision is none the model knows. */
bool ecoi_energy_case_of_row(const eco_anchor *row, ecoi_energy_case *out);
/* True for "transformers", "native" and "llama.cpp". */
bool ecoi_energy_engine_known(const char *engine);
void ecoi_energy_card_of(const char *gpu, const char *arch, ecoi_energy_case *out);
/* "bitsandbytes 0.45.5" out of a list of versions, the engine itself where it is no bitsandbytes, else "". */
void ecoi_energy_stack_of(const char *engine, const char *stack, char out[ECOI_ENERGY_KEY_MAX]);
void ecoi_energy_copy(char *out, size_t size, const char *text);
/* Appends `part` to a key, after a bar where there is something before it; an empty part adds nothing. Cut where full. */
void ecoi_energy_key_add(char key[ECOI_ENERGY_KEY_MAX], const char *part);

/* ---- Terms ---- */

typedef struct ecoi_energy_factor {
    ecoi_energy_kind kind;
    char key[ECOI_ENERGY_KEY_MAX];
    double power;
} ecoi_energy_factor;

typedef struct ecoi_energy_term {
    double amount;
    ecoi_energy_factor factors[ECOI_ENERGY_FACTORS_MAX];
    size_t n_factors;
} ecoi_energy_term;

typedef struct ecoi_energy_sum {
    ecoi_energy_term terms[ECOI_ENERGY_TERMS_MAX];
    size_t n_terms;
} ecoi_energy_sum;

/* J per token of the case as FP16 (`quantized` false) or at its own precision: sum of amount × exp(Σ power × effect). */
void ecoi_energy_sum_of(const ecoi_energy_case *c, bool quantized, ecoi_energy_sum *out);

/* Row indices of one session, stack or card left out by `skip`, NULL: none. The parameters are the caller's. */
ECO_NODISCARD eco_status ecoi_energy_fit_without(const eco_anchor_table *rows, const bool *skip,
                                                 eco_energy_params **out, eco_error *err);
/* A = L Lᵀ in place, n × n by rows; false if A is not positive definite. */
bool ecoi_energy_factorize(double *a, size_t n);
void ecoi_energy_solve(const double *l, size_t n, double *x); /* x: right side in, solution out */

/* The engine and precision were measured somewhere: without that there is no answer. */
bool ecoi_energy_is_seen(const eco_energy_params *params, const ecoi_energy_case *c);
/* The interval's multiple. An engine of which no row could be held out has the largest of the others'. */
double ecoi_energy_multiple_of(const eco_energy_params *params, const char *engine);
/* Prediction without the interval's multiple: log ratio and its standard deviation. */
typedef struct ecoi_energy_answer {
    double fp16_j, quant_j, log_ratio, sd;
    uint32_t domain;
} ecoi_energy_answer;
void ecoi_energy_answer_of(const eco_energy_params *params, const ecoi_energy_case *c,
                           ecoi_energy_answer *out);
void ecoi_energy_estimate_of(const ecoi_energy_answer *answer, double quantile,
                             eco_energy_estimate *out);

#endif
