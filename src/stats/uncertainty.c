/* SPDX-License-Identifier: Apache-2.0
 *
 * The expanded uncertainty, apart from repetition: what timing, drift and the sensor can do to the numbers.
 * docs/uncertainty.md derives each term. Half-widths are taken as rectangular (divided by sqrt 3); k = 2.
 */
#include "ecocompute/stats.h"

#include <math.h>

static const double SQRT_3 = 1.7320508075688772;
static const double SQRT_6 = 2.449489742783178;

static double square(double x) {
    return x * x;
}

/* Integrated power knows the window only at the readings, and each reading speaks of a time before it. */
static double sampling_of(const eco_uncertainty_input *input, double power_sd) {
    if (input->has_counter || !(input->power_updates > 0.0)) {
        return 0.0;
    }
    const double gaps = power_sd / sqrt(input->power_updates * (double)input->n_blocks);
    return hypot(gaps, power_sd * input->power_lag_s / input->seconds);
}

/* What a drift common to both arms leaves in the mean log-ratio where the arms' places do not balance out. */
static double drift_left(const eco_uncertainty_input *input) {
    if (input->n_blocks < 2 || input->n_arms == 0) {
        return 0.0;
    }
    const double places = (double)(input->n_blocks - 1) * (double)input->n_arms;
    const double common_log = (input->drift_arm_log + input->drift_baseline_log) / 2.0;
    return fabs(common_log / places * input->order_shift);
}

eco_uncertainty eco_uncertainty_of(const eco_uncertainty_input *input) {
    eco_uncertainty out = {0};
    if (input->n_blocks == 0 || !(input->seconds > 0.0) || !(input->power_arm_w > 0.0) ||
        !(input->power_baseline_w > 0.0) || !(input->tokens_arm > 0.0) ||
        !(input->tokens_baseline > 0.0)) {
        return out;
    }
    const double blocks = sqrt((double)input->n_blocks);
    /* An arm's mean has two edges a block; the ratio has two arms. */
    const double tick_arm = sqrt(2.0) * input->edge_half_width_s / SQRT_3 / input->seconds / blocks;
    out.tick = sqrt(2.0) * tick_arm;
    /* A count is whole at each of two edges: a triangular error of ±1 unit. */
    const double read_arm = 1.0 / fmin(input->tokens_arm, input->tokens_baseline) / SQRT_6 / blocks;
    out.read = hypot(1.0 / input->tokens_arm, 1.0 / input->tokens_baseline) / SQRT_6 / blocks;
    out.drift = drift_left(input) / SQRT_3;
    double disagreement = 0.0;
    double disagreement_absolute = 0.0;
    if (input->has_counter && input->counter_integral_arm > 0.0 &&
        input->counter_integral_baseline > 0.0) {
        disagreement = fabs(log(input->counter_integral_arm / input->counter_integral_baseline));
        disagreement_absolute = fmax(fabs(log(input->counter_integral_arm)),
                                     fabs(log(input->counter_integral_baseline)));
    }
    out.counter_integral = disagreement / SQRT_3;
    const double sampling_arm = sampling_of(input, input->power_sd_arm);
    const double sampling_baseline = sampling_of(input, input->power_sd_baseline);
    out.sampling = hypot(sampling_arm, sampling_baseline);
    out.sensor_offset = input->sensor_offset_w *
                        fabs(1.0 / input->power_arm_w - 1.0 / input->power_baseline_w) / SQRT_3;
    out.sensor_gain = input->sensor_gain / SQRT_3;
    out.expanded_ratio =
        2.0 * sqrt(square(out.tick) + square(out.read) + square(out.drift) +
                   square(out.counter_integral) + square(out.sampling) + square(out.sensor_offset));
    /* Drift is no error of an arm's own mean over the run: it is in its scatter. */
    const double weaker_w = fmin(input->power_arm_w, input->power_baseline_w);
    out.expanded_absolute =
        2.0 * sqrt(square(tick_arm) + square(read_arm) + square(disagreement_absolute) / 3.0 +
                   square(fmax(sampling_arm, sampling_baseline)) +
                   square(input->sensor_offset_w / weaker_w) / 3.0 + square(out.sensor_gain));
    return out;
}
