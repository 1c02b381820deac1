/* SPDX-License-Identifier: Apache-2.0
 *
 * The tidy table of energies, generated from data/anchors.csv. Pure.
 */
#include "ecocompute/anchors.h"

static const eco_anchor builtin_rows[] = {
/* clang-format off */
#include "model/anchors.inc"
    /* clang-format on */
};

static const eco_anchor_table builtin = {
    .rows = builtin_rows,
    .n = sizeof builtin_rows / sizeof builtin_rows[0],
};

const eco_anchor_table *eco_anchors_builtin(void) {
    return &builtin;
}

bool eco_anchor_delta_pct(const eco_anchor *row, double *delta_pct) {
    *delta_pct = 0.0;
    if (eco_reading_present(row->energy_fp16_j1k) && eco_reading_present(row->energy_quant_j1k)) {
        const double fp16_j1k = row->energy_fp16_j1k.value;
        *delta_pct = (row->energy_quant_j1k.value - fp16_j1k) / fp16_j1k * 100.0;
        return true;
    }
    if (eco_reading_present(row->delta_pct_only)) {
        *delta_pct = row->delta_pct_only.value;
        return true;
    }
    return false;
}
