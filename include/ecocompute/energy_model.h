/* SPDX-License-Identifier: Apache-2.0
 *
 * Energy of a token from what physically happens, and from it the change against FP16: energy that passes while launches
 * are waited for (a layer, a linear), bytes read, weights unpacked, each with its price, fitted to every row of the
 * tidy table with effects of card, session and software stack. docs/energy-model.md has the equations, every prior and the
 * held-out errors. Pure and deterministic; nothing here reads a file, a clock or a global. Energies are in J per generated
 * token, of the GPU alone; changes in percent of FP16.
 */
#ifndef ECOCOMPUTE_ENERGY_MODEL_H
#define ECOCOMPUTE_ENERGY_MODEL_H

#include "ecocompute/anchors.h"
#include "ecocompute/arch.h"
#include "ecocompute/record.h"
#include "ecocompute/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was fitted; read-only once made, so any number of threads may ask it. */
typedef struct eco_energy_params eco_energy_params;

/* The parameters frozen into the program (src/model/energy_model.inc); static. */
const eco_energy_params *eco_energy_model_frozen(void);

typedef struct eco_energy_query {
    const char *model;     /* a name of the model table, or NULL: a typical shape of params_b */
    double params_b;       /* billions; of the table's model where it is 0 and `model` is known */
    const char *gpu;       /* "RTX 4090", or NULL: the class's typical card */
    const char *arch;      /* "ada"; may be NULL where `gpu` tells */
    const char *precision; /* "FP16", "NF4", "INT8" */
    const char *engine;    /* NULL: "transformers" (bitsandbytes) */
    const char *stack;     /* as in the tidy table, or NULL: none known */
    double batch;          /* sequences in step, >= 1 */
    double context;        /* mean position of a generated token; 0: the published procedure's */
} eco_energy_query;

/* Why an answer is weaker than its basis says, or is refused. Bits of `domain`. */
typedef enum eco_energy_domain {
    ECO_ENERGY_SIZE_OUTSIDE = 1u << 0,    /* no measured size near it */
    ECO_ENERGY_BATCH_OUTSIDE = 1u << 1,   /* beyond the measured batches of this precision */
    ECO_ENERGY_CONTEXT_OUTSIDE = 1u << 2, /* no measurement away from short contexts */
    ECO_ENERGY_CARD_UNSEEN = 1u << 3,     /* priced by its class or by its data sheet */
    ECO_ENERGY_CLASS_UNSEEN = 1u << 4,    /* no card of its class either */
    ECO_ENERGY_STACK_UNSEEN = 1u << 5,    /* the spread of stacks is in the interval */
    ECO_ENERGY_SHAPE_TYPICAL = 1u << 6,   /* the model's layers were guessed from its size */
    ECO_ENERGY_PAIR_UNSEEN = 1u << 7,     /* this precision was never measured on this class */
    ECO_ENERGY_CARD_TYPICAL = 1u << 8 /* no card was named: the class's best measured one answers */
} eco_energy_domain;

typedef struct eco_energy_estimate {
    double energy_j_per_token, fp16_energy_j_per_token;
    double delta_pct, lo_pct, hi_pct; /* an interval as wide as held 95 % of held-out rows */
    eco_basis basis;                  /* interpolated, extrapolated or estimated; never measured */
    uint32_t domain;                  /* eco_energy_domain bits; 0: inside */
} eco_energy_estimate;

/* ECO_E_INVALID, naming the field: a number that is not finite or out of its range, neither gpu nor arch known;
 * ECO_E_UNSUPPORTED: a precision or engine that was never measured. */
ECO_NODISCARD eco_status eco_energy_model_predict(const eco_energy_params *params,
                                                  const eco_energy_query *query,
                                                  eco_energy_estimate *out, eco_error *err);

/* Fits all measured rows whose engine and precision the model knows, by both energies or, where a row has none, by its
 * change. The same rows give the same digits on every machine but for libm's last place. *out is the caller's:
 * eco_energy_params_free. ECO_E_INVALID: too few rows; ECO_E_RANGE: over a cap; ECO_E_NO_MEMORY. */
ECO_NODISCARD eco_status eco_energy_model_fit(const eco_anchor_table *rows, eco_energy_params **out,
                                              eco_error *err);
void eco_energy_params_free(eco_energy_params *params);

/* ---- Held-out error ---- */

typedef enum eco_energy_holdout {
    ECO_ENERGY_BY_SESSION = 0,
    ECO_ENERGY_BY_SESSION_BLIND, /* and the question does not name the stack */
    ECO_ENERGY_BY_STACK,
    ECO_ENERGY_BY_CARD,
    ECO_ENERGY_BY_MODEL
} eco_energy_holdout;

typedef struct eco_energy_held {
    const eco_anchor *row;
    double delta_pct;             /* what was measured */
    eco_energy_estimate estimate; /* of a fit without the row's session, stack, card or model */
    bool answered;                /* false: refused, `estimate` is nothing */
} eco_energy_held;

/* Refits without each session (stack, card, model) in turn and predicts its rows. `out` holds rows->n places; *n is how
 * many were filled, in the order of the rows. Errors as eco_energy_model_fit. */
ECO_NODISCARD eco_status eco_energy_model_validate(const eco_anchor_table *rows,
                                                   eco_energy_holdout by, eco_energy_held *out,
                                                   size_t *n, eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
