/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tidy table holds of just one case: a card (or a class), a size, a precision, an engine, a batch. The answer is
 * the mean over its sessions in logarithms of the energy ratio; the interval is for one more session of that case. Engines
 * are never pooled.
 */
#ifndef ECOI_CELL_H
#define ECOI_CELL_H

#include "ecocompute/anchors.h"

/* Whose rows the published curves are of. */
#define ECOI_CURVES_ENGINE "transformers"

typedef struct ecoi_cell_query {
    const char *arch, *card, *precision; /* card "": any of the class */
    const char *engine;                  /* as the table names it */
    const char *stack;                   /* "" = any; else only rows of this bitsandbytes */
    double params_b;
    double batch; /* a row that states none is of batch 1 */
} ecoi_cell_query;

typedef struct ecoi_cell {
    size_t n_rows, n_sessions;
    size_t n_stacks;  /* versions of bitsandbytes that the rows name */
    size_t n_unnamed; /* sessions of which the source names none */
    bool single_trials;
    double delta_pct, lo_pct, hi_pct;
    eco_reading fp16_j1k; /* geometric mean over the sessions; absent where no row gives energies */
    double spread_pct;    /* largest minus smallest change of the rows, in points */
    eco_basis basis;      /* the weakest of the rows' */
} ecoi_cell;

/* Sessions of one case are said to agree when their changes are this near; points of dE%, a judgement. */
#define ECOI_SESSIONS_AGREE_PCT 10.0

/* Is this row of the case? */
bool ecoi_cell_has(const ecoi_cell_query *query, const eco_anchor *row);
/* False: no row is. */
bool ecoi_cell_find(const eco_anchor_table *table, const ecoi_cell_query *query, ecoi_cell *out);

/* Smallest and largest size that such rows have, whatever the query's; false: there is no row. */
bool ecoi_cell_sizes(const eco_anchor_table *table, const ecoi_cell_query *query, double *min_b,
                     double *max_b);

/* Standard deviation of ln(quantized / FP16) between sessions of one case, pooled over the cases of the tidy table that
 * have several; for a precision or an engine of which there are none, the largest. tests/unit/test_model_cell.c computes it
 * again. `same_stack`: between sessions of one named stack. These are few and mostly of one host, so it is not below the
 * 0.05 that the energy model gives a row (docs/energy-model.md). Engine native has its own: four sessions on four cards, one
 * version of its kernels (data/h200/study-3 and study-4, tests/unit/test_model_engine.c). */
double ecoi_session_sd(const char *engine, const char *precision, bool same_stack);

/* Rows of this class, precision and engine with batch 1, or above it. */
size_t ecoi_count_rows(const char *engine, const char *arch, const char *precision, bool batched);

/* The engine as the tidy table names it, in any case; NULL: no row is of it. */
const char *ecoi_engine_find(const char *name);
/* ECO_E_USAGE with the nearest name, or all there are. */
eco_status ecoi_refuse_engine(const char *name, eco_error *err);
/* ECO_E_NOT_FOUND in words that say which engines measured this class and precision, if any did. */
eco_status ecoi_refuse_precision(const char *arch, const char *precision, eco_error *err);
/* ECO_E_NOT_FOUND in words that say what that engine measured instead. */
eco_status ecoi_refuse_unmeasured(const char *engine, const char *precision, eco_error *err);

#endif
