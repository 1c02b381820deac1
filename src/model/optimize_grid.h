/* SPDX-License-Identifier: Apache-2.0
 *
 * What the optimizer knows of a precision before it walks the grid, and one place of the grid.
 */
#ifndef ECOI_OPTIMIZE_GRID_H
#define ECOI_OPTIMIZE_GRID_H

#include "ecocompute/optimize.h"
#include "model/energy_line.h"

/* The class and the model: the same for all precisions. */
typedef struct ecoi_grid {
    eco_rules rules;
    const eco_curve_set *set;
    const char *arch, *card, *model; /* card "" = none named, model NULL = by size */
    double params_b;
    double kv_bytes;                 /* of a token of one sequence: keys and values of all layers */
    double bytes_per_s, flops_per_s; /* datasheet, times the published efficiencies */
    double base_j1k;                 /* FP16 at batch 1; basis UNAVAILABLE: none */
    eco_basis base_basis;
} ecoi_grid;

typedef struct ecoi_arm {
    const char *precision;
    double weight_bytes;
    double delta_pct, factor; /* at batch 1, printed, and 1 + delta/100 */
    double floor_s; /* measured time a token at batch 1, which no step undercuts; 0 = none */
    bool untimed;   /* current: no time of this arm was measured, and bounds are no times */
    eco_basis basis, latency_basis;
    eco_confidence confidence;
    bool
        by_model; /* current: `lines` say what batch and context do, over those of the measured workload */
    ecoi_energy_lines lines;
    double quant_share, fp16_share; /* over the energies of `lines` at the measured workload */
} ecoi_arm;

typedef struct ecoi_spot {
    double batch, context;
    double energy_j1k, energy_key;
    double factor; /* energy over FP16's at this batch and context */
    double latency_ms, throughput_tok_s, vram_gb;
    uint32_t arm;
    bool has_energy, compute_bound, launch_bound, untimed;
} ecoi_spot;

ECO_NODISCARD eco_status ecoi_grid_init(const eco_curve_set *set, const eco_optimum *asked,
                                        ecoi_grid *out, eco_error *err);
/* ECO_E_NOT_FOUND or ECO_E_USAGE: this precision cannot be scored, and why. */
ECO_NODISCARD eco_status ecoi_grid_arm(const ecoi_grid *grid, const char *precision, ecoi_arm *out,
                                       eco_error *err);
void ecoi_grid_spot(const ecoi_grid *grid, const ecoi_arm *arm, uint32_t index, double batch,
                    double context, ecoi_spot *out);
void ecoi_optimize_notes(const ecoi_grid *grid, eco_optimum *o);
eco_config ecoi_grid_config(const ecoi_grid *grid, const ecoi_arm *arm, const ecoi_spot *spot);

#endif
