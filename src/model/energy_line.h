/* SPDX-License-Identifier: Apache-2.0
 *
 * What batch and context do to a token's energy, by the energy model, in four numbers: its terms are constant, shared by the
 * batch, or in proportion to the context, so a few predictions give them all and a grid of a million is cheap.
 */
#ifndef ECOI_ENERGY_LINE_H
#define ECOI_ENERGY_LINE_H

#include "ecocompute/energy_model.h"

/* The context of the published measurements, which label 2048: contexts up to the label count as it. */
double ecoi_energy_context(double context);

typedef struct ecoi_energy_line {
    double single_j;          /* J a token at batch 1, of no context */
    double fixed_j, shared_j; /* batch b > 1: fixed + shared / b */
    double context_j;         /* for each token of context */
} ecoi_energy_line;

typedef struct ecoi_energy_lines {
    ecoi_energy_line quant, fp16;
} ecoi_energy_lines;

/* False where the model refuses (class, card or precision never measured). `query`'s batch and context are not read. */
bool ecoi_energy_lines_of(const eco_energy_query *query, ecoi_energy_lines *out);

static inline double ecoi_energy_line_at(const ecoi_energy_line *line, double batch,
                                         double context) {
    const double flat = batch > 1 ? line->fixed_j + line->shared_j / batch : line->single_j;
    return flat + line->context_j * context;
}

#endif
