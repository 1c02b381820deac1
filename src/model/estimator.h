/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the estimator share: the class and card of a question, the numbers of an answer without its texts.
 */
#ifndef ECOI_ESTIMATOR_H
#define ECOI_ESTIMATOR_H

#include "ecocompute/estimate.h"
#include "model/cell.h"

/* Two sizes closer than this are one (published). */
#define ECOI_SIZE_SAME_B 1e-6

typedef struct ecoi_place {
    char arch[ECO_NAME_MAX]; /* a class, if there is one; under published rules what was given */
    char card
        [ECO_NAME_MAX]; /* as the table of cards names it, else as given; "" where a class was */
} ecoi_place;

/* Published: the text itself, a class or not. Current: a class of `set`, or any card's name by its class; ECO_E_USAGE
 * naming `arch` and what is known. */
ECO_NODISCARD eco_status ecoi_place_find(eco_rules rules, const eco_curve_set *set,
                                         const char *arch, ecoi_place *out, eco_error *err);
/* "ada, ampere, …": every class of the set that has a curve or borrows one. */
void ecoi_place_list(const eco_curve_set *set, char *out, size_t capacity);

/* Size, batch and context under current rules: ECO_E_RANGE naming the field. */
ECO_NODISCARD eco_status ecoi_estimate_check_size(double params_b, eco_error *err);
ECO_NODISCARD eco_status ecoi_estimate_check_batch(double batch, eco_error *err);
ECO_NODISCARD eco_status ecoi_estimate_check_context(double context, eco_error *err);
/* A weight format of the table of formats, in any case: ECO_E_USAGE with the nearest name. */
ECO_NODISCARD eco_status ecoi_estimate_check_format(const char *precision, eco_error *err);
ECO_NODISCARD eco_status ecoi_estimate_check_model(const char *model, eco_error *err);

/* Weights of a model, or of one of this size, in 1e9 bytes, with the linear layers in `precision`; and bytes of keys and
 * values of a token. By the shapes of the energy model. */
double ecoi_model_weight_gb(const char *model, double params_b, const char *precision);
double ecoi_model_kv_bytes(const char *model, double params_b);
double ecoi_model_layers(const char *model, double params_b);

/* The own curve of a class, else the one it borrows; NULL if it has neither. */
const eco_curve *ecoi_estimate_curve(const eco_curve_set *set, const char *arch,
                                     const char *precision, bool *borrowed);
/* No card was named (""), or an anchor of the curve is of it. */
bool ecoi_card_measured(const eco_curve *curve, const char *card);
/* The same, or an anchor is of its twin. */
bool ecoi_card_like_measured(const eco_curve *curve, const char *card);
/* The engine asked for, as the table names it. */
const char *ecoi_estimate_engine(const eco_estimate *e);
/* It is not the one that the curves are of. */
bool ecoi_other_engine(const eco_estimate *e);
/* Of the rows that are measurements of just what was asked. Points into *e. */
ecoi_cell_query ecoi_estimate_case(const eco_estimate *e);
/* Does this anchor of the answer's curve carry the answer? */
bool ecoi_estimate_exact(const eco_estimate *e, const eco_curve_anchor *anchor);

/* Of the FP16 baseline at an anchor's size. */
eco_basis ecoi_fp16_anchor_basis(const eco_curve_set *curves, const char *arch, double params_b);

/* FP16 energy under current rules: the class's baseline inside its sizes and on its cards, else the energy model's. */
eco_fp16_energy ecoi_fp16_energy_current(const eco_curve_set *curves, const char *arch,
                                         const char *card, const char *model, double params_b);

/* All of *out but verdict and notes. */
ECO_NODISCARD eco_status ecoi_estimate_numbers(const eco_estimate_query *query, eco_estimate *out,
                                               eco_error *err);
void ecoi_estimate_write_texts(eco_estimate *e);
/* Smallest and largest size that was measured of the question's class or card, precision, engine and stack, whatever its own
 * size; under published rules or with curves of the user's, those of the curve that answers. False: none was. */
bool ecoi_estimate_sizes(const eco_estimate_query *query, double *min_b, double *max_b);

#endif
