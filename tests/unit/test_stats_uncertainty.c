/* SPDX-License-Identifier: Apache-2.0
 *
 * The terms of the expanded uncertainty, each against a simulation of the error it stands for, or against arithmetic
 * done here another way; and what is left out of which sum.
 */
#include "core/rng.h"
#include "ecocompute/stats.h"
#include "test_helpers.h"

#include <math.h>

enum { TRIALS = 40000 };

static double uniform(uint64_t *state, double lo, double hi) {
    return lo + (hi - lo) * ((double)(ecoi_rng_next(state) >> 11) / 9007199254740992.0);
}

static eco_uncertainty_input usual(void) {
    return (eco_uncertainty_input){.n_blocks = 5,
                                   .seconds = 5.0,
                                   .edge_half_width_s = 0.0,
                                   .tokens_arm = 1e12,
                                   .tokens_baseline = 1e12,
                                   .power_arm_w = 400.0,
                                   .power_baseline_w = 400.0,
                                   .counter_integral_arm = 1.0,
                                   .counter_integral_baseline = 1.0,
                                   .has_counter = true};
}

/* Standard deviation of the mean log-ratio when each of a window's two instants is off by up to ±h. */
static double simulated_tick(double h, double seconds, uint32_t n_blocks) {
    uint64_t seed = 7;
    double squares = 0.0;
    for (int t = 0; t < TRIALS; t++) {
        double sum = 0.0;
        for (uint32_t b = 0; b < n_blocks; b++) {
            const double arm = seconds + uniform(&seed, -h, h) - uniform(&seed, -h, h);
            const double base = seconds + uniform(&seed, -h, h) - uniform(&seed, -h, h);
            sum += log(arm / base); /* tokens in the window go with its seconds */
        }
        squares += (sum / n_blocks) * (sum / n_blocks);
    }
    return sqrt(squares / (double)TRIALS);
}

static void tick_term(void **state) {
    (void)state;
    eco_uncertainty_input input = usual();
    input.edge_half_width_s = 0.005;
    ASSERT_NEAR_REL(eco_uncertainty_of(&input).tick, simulated_tick(0.005, 5.0, 5), 0.02);
    input.n_blocks = 3;
    input.seconds = 2.0;
    input.edge_half_width_s = 0.02;
    const eco_uncertainty u = eco_uncertainty_of(&input);
    ASSERT_NEAR_REL(u.tick, simulated_tick(0.02, 2.0, 3), 0.02);
    ASSERT_NEAR_REL(u.expanded_ratio, 2.0 * u.tick, 1e-9); /* nothing else is in this case */
}

/* Whole counts at two instants that fall anywhere between two counts. */
static double simulated_read(double tokens_arm, double tokens_baseline, uint32_t n_blocks) {
    uint64_t seed = 11;
    double squares = 0.0;
    for (int t = 0; t < TRIALS; t++) {
        double sum = 0.0;
        for (uint32_t b = 0; b < n_blocks; b++) {
            const double a0 = uniform(&seed, 0.0, 1.0);
            const double b0 = uniform(&seed, 0.0, 1.0);
            const double phase_a = uniform(&seed, 0.0, 1.0);
            const double phase_b = uniform(&seed, 0.0, 1.0);
            const double arm = floor(a0 + tokens_arm + phase_a) - floor(a0 + 0.0);
            const double base = floor(b0 + tokens_baseline + phase_b) - floor(b0 + 0.0);
            sum += log(arm / (tokens_arm + phase_a)) - log(base / (tokens_baseline + phase_b));
        }
        squares += (sum / n_blocks) * (sum / n_blocks);
    }
    return sqrt(squares / (double)TRIALS);
}

static void read_term(void **state) {
    (void)state;
    eco_uncertainty_input input = usual();
    input.tokens_arm = 120.0;
    input.tokens_baseline = 75.0;
    input.n_blocks = 4;
    ASSERT_NEAR_REL(eco_uncertainty_of(&input).read, simulated_read(120.0, 75.0, 4), 0.03);
}

/* A drift with time shifts an arm by its share between two places, up in one block and down in the next; what an odd
 * number of blocks leaves over is within the half-width of the term, half of one block's share. */
static void drift_term(void **state) {
    (void)state;
    eco_uncertainty_input input = usual();
    for (uint32_t n = 1; n < 12; n++) {
        input.n_blocks = n;
        input.drift_log = -0.03;
        const double half_width = eco_uncertainty_of(&input).drift * sqrt(3.0);
        ASSERT_NEAR_REL(half_width, 0.03 / n / 2.0, 1e-12);
        double left = 0.0;
        for (uint32_t b = 0; b < n; b++) {
            left += (b % 2 == 0 ? 0.5 : -0.5) * 0.03 / n;
        }
        assert_true(left / n <= half_width * (1.0 + 1e-9));
        input.drift_log = 0.03;
        ASSERT_NEAR_REL(eco_uncertainty_of(&input).drift * sqrt(3.0), half_width, 1e-12);
    }
}

/* Errors of gain and offset within the declared bounds, common to both arms. */
static void sensor_terms(void **state) {
    (void)state;
    eco_uncertainty_input input = usual();
    input.power_arm_w = 327.0;
    input.power_baseline_w = 495.0;
    const eco_uncertainty u = eco_uncertainty_of(&input);
    uint64_t seed = 5;
    double offset_squares = 0.0;
    double absolute_squares = 0.0;
    uint32_t ratio_held = 0;
    uint32_t absolute_held = 0;
    for (int t = 0; t < TRIALS; t++) {
        const double gain = uniform(&seed, 0.95, 1.05);
        const double offset_w = uniform(&seed, -5.0, 5.0);
        const double arm = (327.0 * gain + offset_w) / 327.0;
        const double base = (495.0 * gain + offset_w) / 495.0;
        const double ratio = log(arm / base);
        offset_squares += ratio * ratio;
        absolute_squares += (arm - 1.0) * (arm - 1.0);
        ratio_held += fabs(ratio) <= u.expanded_ratio;
        absolute_held += fabs(arm - 1.0) <= u.expanded_absolute;
    }
    ASSERT_NEAR_REL(u.sensor_offset, sqrt(offset_squares / (double)TRIALS), 0.03);
    ASSERT_NEAR_REL(u.expanded_absolute, 2.0 * sqrt(absolute_squares / (double)TRIALS), 0.02);
    assert_true(ratio_held > TRIALS * 95 / 100);
    assert_true(absolute_held > TRIALS * 95 / 100);
    ASSERT_NEAR(u.sensor_gain, 0.05 / sqrt(3.0), 1e-15);
    /* The gain is in the joules, not in the ratio. */
    ASSERT_NEAR_REL(u.expanded_ratio, 2.0 * u.sensor_offset, 1e-9);
    input.power_arm_w = 495.0;
    ASSERT_NEAR(eco_uncertainty_of(&input).sensor_offset, 0.0, 1e-15); /* equal powers: cancels */
}

static void counter_against_integral(void **state) {
    (void)state;
    eco_uncertainty_input input = usual();
    input.counter_integral_arm = 1.03;
    input.counter_integral_baseline = 1.01;
    const eco_uncertainty u = eco_uncertainty_of(&input);
    ASSERT_NEAR_REL(u.counter_integral, log(1.03 / 1.01) / sqrt(3.0), 1e-12);
    const double offset = 5.0 / 400.0 / sqrt(3.0);
    const double gain = 0.05 / sqrt(3.0);
    const double read = u.read;
    ASSERT_NEAR_REL(
        u.expanded_absolute,
        2.0 * sqrt(log(1.03) * log(1.03) / 3.0 + offset * offset + gain * gain + read * read),
        1e-12);
    /* A common disagreement cancels in the ratio and stays in the joules. */
    input.counter_integral_baseline = 1.03;
    ASSERT_NEAR(eco_uncertainty_of(&input).counter_integral, 0.0, 1e-15);
    ASSERT_NEAR_REL(eco_uncertainty_of(&input).expanded_absolute, u.expanded_absolute, 1e-9);
    input.counter_integral_baseline = 0.0; /* unknown */
    ASSERT_NEAR(eco_uncertainty_of(&input).counter_integral, 0.0, 0.0);
}

static void impossible_input(void **state) {
    (void)state;
    eco_uncertainty_input input = usual();
    input.seconds = 0.0;
    ASSERT_NEAR(eco_uncertainty_of(&input).expanded_ratio, 0.0, 0.0);
    input = usual();
    input.n_blocks = 0;
    ASSERT_NEAR(eco_uncertainty_of(&input).expanded_absolute, 0.0, 0.0);
    input = usual();
    input.power_arm_w = (double)NAN;
    ASSERT_NEAR(eco_uncertainty_of(&input).expanded_absolute, 0.0, 0.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tick_term),
        cmocka_unit_test(read_term),
        cmocka_unit_test(drift_term),
        cmocka_unit_test(sensor_terms),
        cmocka_unit_test(counter_against_integral),
        cmocka_unit_test(impossible_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
