/* SPDX-License-Identifier: Apache-2.0
 *
 * See energy_line.h; a unit test holds the four numbers against the model itself.
 */
#include "model/energy_line.h"

#include "ecocompute/estimate.h"

/* Mean position of a generated token in the published procedure: a short prompt and 256 tokens (docs/energy-model.md). */
static const double CONTEXT_MEASURED = 139;
static const double CONTEXT_FAR = 100000;

double ecoi_energy_context(double context) {
    return context > ECO_CONTEXT_PUBLISHED ? context : CONTEXT_MEASURED;
}

typedef struct pair {
    double quant_j, fp16_j;
} pair;

static bool at(const eco_energy_query *query, double batch, double context, pair *out) {
    eco_energy_query q = *query;
    eco_energy_estimate e;
    q.batch = batch;
    q.context = context;
    if (eco_energy_model_predict(eco_energy_model_frozen(), &q, &e, NULL) != ECO_OK) {
        return false;
    }
    *out = (pair){e.energy_j_per_token, e.fp16_energy_j_per_token};
    return true;
}

static ecoi_energy_line line(double near_j, double far_j, double two_j, double four_j) {
    ecoi_energy_line out = {.context_j = (far_j - near_j) / (CONTEXT_FAR - CONTEXT_MEASURED)};
    const double cache_j = out.context_j * CONTEXT_MEASURED;
    out.single_j = near_j - cache_j;
    out.shared_j = (two_j - four_j) * 4;
    out.fixed_j = four_j - out.shared_j / 4 - cache_j;
    return out;
}

bool ecoi_energy_lines_of(const eco_energy_query *query, ecoi_energy_lines *out) {
    pair near;
    pair far;
    pair two;
    pair four;
    *out = (ecoi_energy_lines){0};
    if (!at(query, 1, CONTEXT_MEASURED, &near) || !at(query, 1, CONTEXT_FAR, &far) ||
        !at(query, 2, CONTEXT_MEASURED, &two) || !at(query, 4, CONTEXT_MEASURED, &four)) {
        return false;
    }
    out->quant = line(near.quant_j, far.quant_j, two.quant_j, four.quant_j);
    out->fp16 = line(near.fp16_j, far.fp16_j, two.fp16_j, four.fp16_j);
    return true;
}
