/* SPDX-License-Identifier: Apache-2.0
 *
 * The expanded uncertainty, apart from repetition: what timing, drift and the sensor can do to the numbers.
 * docs/uncertainty.md derives each term. Half-widths are taken as rectangular (divided by sqrt 3); k = 2.
 */
#include "ecocompute/stats.h"

#include <math.h>

static const double SENSOR_GAIN = 0.05; /* declared: ±5 % on absolute joules, common to both arms */
static const double SENSOR_OFFSET_W = 5.0; /* declared: ±5 W, common to both arms */
static const double SQRT_3 = 1.7320508075688772;
static const double SQRT_6 = 2.449489742783178;

eco_uncertainty eco_uncertainty_of(const eco_uncertainty_input *input) {
    eco_uncertainty out = {0};
    if (input->n_blocks == 0 || !(input->seconds > 0.0) || !(input->power_arm_w > 0.0) ||
        !(input->power_baseline_w > 0.0) || !(input->tokens_arm > 0.0) ||
        !(input->tokens_baseline > 0.0)) {
        return out;
    }
    const double blocks = sqrt((double)input->n_blocks);
    /* Four edges a block, two an arm; with no counter the edges are exact and this term is the samples' own instant. */
    out.tick = 2.0 * input->edge_half_width_s / SQRT_3 / input->seconds / blocks;
    /* A count is whole at each of two edges: a triangular error of ±1 unit. */
    out.read = hypot(1.0 / input->tokens_arm, 1.0 / input->tokens_baseline) / SQRT_6 / blocks;
    /* Counterbalanced order leaves at most half of one block's share of a linear drift. */
    out.drift = fabs(input->drift_log) / (double)input->n_blocks / 2.0 / SQRT_3;
    double disagreement = 0.0;
    double disagreement_absolute = 0.0;
    if (input->counter_integral_arm > 0.0 && input->counter_integral_baseline > 0.0) {
        disagreement = fabs(log(input->counter_integral_arm / input->counter_integral_baseline));
        disagreement_absolute = fmax(fabs(log(input->counter_integral_arm)),
                                     fabs(log(input->counter_integral_baseline)));
    }
    out.counter_integral = disagreement / SQRT_3;
    out.sensor_offset =
        SENSOR_OFFSET_W * fabs(1.0 / input->power_arm_w - 1.0 / input->power_baseline_w) / SQRT_3;
    out.sensor_gain = SENSOR_GAIN / SQRT_3;
    const double ratio = out.tick * out.tick + out.read * out.read + out.drift * out.drift +
                         out.counter_integral * out.counter_integral +
                         out.sensor_offset * out.sensor_offset;
    out.expanded_ratio = 2.0 * sqrt(ratio);
    const double weaker_w = fmin(input->power_arm_w, input->power_baseline_w);
    const double offset_absolute = SENSOR_OFFSET_W / weaker_w / SQRT_3;
    const double integral_absolute = disagreement_absolute / SQRT_3;
    out.expanded_absolute =
        2.0 * sqrt(out.tick * out.tick + out.read * out.read + out.drift * out.drift +
                   integral_absolute * integral_absolute + offset_absolute * offset_absolute +
                   out.sensor_gain * out.sensor_gain);
    return out;
}
