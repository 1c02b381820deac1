/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tidy table holds of just one case: a card (or a class), a size, a precision, batch 1, engine transformers. The
 * answer is the mean over its sessions in logarithms of the energy ratio; the interval is for one more session of that case.
 */
#ifndef ECOI_CELL_H
#define ECOI_CELL_H

#include "ecocompute/anchors.h"

typedef struct ecoi_cell_query {
    const char *arch, *card, *precision; /* card "": any of the class */
    const char *stack;                   /* "" = any; else only rows of this bitsandbytes */
    double params_b;
} ecoi_cell_query;

typedef struct ecoi_cell {
    size_t n_rows, n_sessions;
    size_t n_stacks;  /* versions of bitsandbytes that the rows name */
    size_t n_unnamed; /* sessions of which the source names none */
    bool single_trials;
    double delta_pct, lo_pct, hi_pct;
    double spread_pct; /* largest minus smallest change of the rows, in points */
    eco_basis basis;   /* the weakest of the rows' */
} ecoi_cell;

/* Is this row of the case? */
bool ecoi_cell_has(const ecoi_cell_query *query, const eco_anchor *row);
/* False: no row is. */
bool ecoi_cell_find(const eco_anchor_table *table, const ecoi_cell_query *query, ecoi_cell *out);

/* Standard deviation of ln(quantized / FP16) between sessions of one case, pooled over the cases of the tidy table that
 * have several; for a precision of which there are none, the largest. tests/unit/test_model_cell.c computes it again.
 * `same_stack`: between sessions of one named stack. These are few and mostly of one host, so it is not below the 0.05 that
 * the energy model gives a row (docs/energy-model.md). */
double ecoi_session_sd(const char *precision, bool same_stack);

/* Rows of this class and precision under engine transformers with batch 1, or above it. */
size_t ecoi_count_rows(const char *arch, const char *precision, bool batched);
/* ECO_E_NOT_FOUND in words that say which engines measured this class and precision, if any did. */
eco_status ecoi_refuse_precision(const char *arch, const char *precision, eco_error *err);

#endif
