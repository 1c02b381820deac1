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

/* Of the joules of one arm. */
typedef struct arm_terms {
    double tick, read, counter_integral, sampling, sensor_offset;
} arm_terms;

static arm_terms terms_of(const eco_uncertainty_input *input, double tokens, double power_w,
                          double counter_integral, double power_sd) {
    const double blocks = sqrt((double)input->n_blocks);
    const bool both_known = input->has_counter && counter_integral > 0.0;
    const double step = fmax(input->count_step, 1.0);
    /* Two edges a block, and whole steps of the count at them: a triangular error of ±1 step. */
    return (arm_terms){.tick =
                           sqrt(2.0) * input->edge_half_width_s / SQRT_3 / input->seconds / blocks,
                       .read = step / tokens / SQRT_6 / blocks,
                       .counter_integral = both_known ? fabs(log(counter_integral)) / SQRT_3 : 0.0,
                       .sampling = sampling_of(input, power_sd),
                       .sensor_offset = input->sensor_offset_w / power_w / SQRT_3};
}

static arm_terms terms_of_arm(const eco_uncertainty_input *input) {
    return terms_of(input, input->tokens_arm, input->power_arm_w, input->counter_integral_arm,
                    input->power_sd_arm);
}

static arm_terms terms_of_baseline(const eco_uncertainty_input *input) {
    return terms_of(input, input->tokens_baseline, input->power_baseline_w,
                    input->counter_integral_baseline, input->power_sd_baseline);
}

/* Drift is no error of an arm's own mean over the run: it is in its scatter. */
static double expanded_joules(const arm_terms *arm, double sensor_gain) {
    return 2.0 * sqrt(square(arm->tick) + square(arm->read) + square(arm->counter_integral) +
                      square(arm->sampling) + square(arm->sensor_offset) + square(sensor_gain));
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

static bool arm_known(const eco_uncertainty_input *input) {
    return input->n_blocks > 0 && input->seconds > 0.0 && input->power_arm_w > 0.0 &&
           input->tokens_arm > 0.0;
}

eco_uncertainty eco_uncertainty_alone(const eco_uncertainty_input *input) {
    eco_uncertainty out = {0};
    if (!arm_known(input)) {
        return out;
    }
    const arm_terms arm = terms_of_arm(input);
    out.tick = arm.tick;
    out.read = arm.read;
    out.counter_integral = arm.counter_integral;
    out.sampling = arm.sampling;
    out.sensor_offset = arm.sensor_offset;
    out.sensor_gain = input->sensor_gain / SQRT_3;
    out.expanded_absolute = expanded_joules(&arm, out.sensor_gain);
    return out;
}

eco_uncertainty eco_uncertainty_of(const eco_uncertainty_input *input) {
    eco_uncertainty out = {0};
    if (!arm_known(input) || !(input->power_baseline_w > 0.0) || !(input->tokens_baseline > 0.0)) {
        return out;
    }
    const arm_terms arm = terms_of_arm(input);
    const arm_terms base = terms_of_baseline(input);
    out.tick = hypot(arm.tick, base.tick);
    out.read = hypot(arm.read, base.read);
    out.drift = drift_left(input) / SQRT_3;
    if (input->has_counter && input->counter_integral_arm > 0.0 &&
        input->counter_integral_baseline > 0.0) {
        out.counter_integral =
            fabs(log(input->counter_integral_arm / input->counter_integral_baseline)) / SQRT_3;
    }
    out.sampling = hypot(arm.sampling, base.sampling);
    out.sensor_offset = input->sensor_offset_w *
                        fabs(1.0 / input->power_arm_w - 1.0 / input->power_baseline_w) / SQRT_3;
    out.sensor_gain = input->sensor_gain / SQRT_3;
    out.expanded_ratio =
        2.0 * sqrt(square(out.tick) + square(out.read) + square(out.drift) +
                   square(out.counter_integral) + square(out.sampling) + square(out.sensor_offset));
    const arm_terms worse = {.tick = arm.tick,
                             .read = fmax(arm.read, base.read),
                             .counter_integral = fmax(arm.counter_integral, base.counter_integral),
                             .sampling = fmax(arm.sampling, base.sampling),
                             .sensor_offset = fmax(arm.sensor_offset, base.sensor_offset)};
    out.expanded_absolute = expanded_joules(&worse, out.sensor_gain);
    return out;
}
