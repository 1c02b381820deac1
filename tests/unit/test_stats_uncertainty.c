/* SPDX-License-Identifier: Apache-2.0
 *
 * The terms of the expanded uncertainty, each against a simulation of the error it stands for, or against arithmetic
 * done here another way; and what is left out of which sum.
 */
#include "core/rng.h"
#include "ecocompute/stats.h"
#include "test_helpers.h"

#include <math.h>
#include <string.h>

enum { TRIALS = 40000 };

static double uniform(uint64_t *state, double lo, double hi) {
    return lo + (hi - lo) * ((double)(ecoi_rng_next(state) >> 11) / 9007199254740992.0);
}

static eco_uncertainty_input usual(void) {
    return (eco_uncertainty_input){.n_blocks = 5,
                                   .n_arms = 2,
                                   .seconds = 5.0,
                                   .edge_half_width_s = 0.0,
                                   .tokens_arm = 1e12,
                                   .tokens_baseline = 1e12,
                                   .power_arm_w = 400.0,
                                   .power_baseline_w = 400.0,
                                   .counter_integral_arm = 1.0,
                                   .counter_integral_baseline = 1.0,
                                   .has_counter = true,
                                   .sensor_gain = 0.05,
                                   .sensor_offset_w = 5.0};
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
    /* The joules of one arm have half the edges. */
    const double sensor = hypot(0.05, 5.0 / 400.0) / sqrt(3.0);
    ASSERT_NEAR_REL(u.expanded_absolute, 2.0 * hypot(u.tick / sqrt(2.0), sensor), 1e-9);
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
    input.tokens_arm = 8 * 120.0; /* as many steps, of eight tokens each */
    input.tokens_baseline = 8 * 75.0;
    input.count_step = 8.0;
    ASSERT_NEAR_REL(eco_uncertainty_of(&input).read, simulated_read(120.0, 75.0, 4), 0.03);
}

/* ln energies of two arms on a drift that is steady in time, in windows one after another: what the order leaves over in the
 * mean log-ratio. `first` names the arm that comes first in each block: 'a' or 'b' (the baseline). */
static double drift_left(const char *first, double per_place, double *rise_a, double *rise_b,
                         double *shift) {
    double a[16];
    double b[16];
    const size_t n = strlen(first);
    double sum = 0.0;
    *shift = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double place_a = 2.0 * (double)i + (first[i] == 'a' ? 0.0 : 1.0);
        const double place_b = 2.0 * (double)i + (first[i] == 'a' ? 1.0 : 0.0);
        a[i] = log(0.6) + per_place * place_a;
        b[i] = per_place * place_b;
        sum += a[i] - b[i] - log(0.6);
        *shift += (place_a - place_b) / (double)n;
    }
    *rise_a = eco_drift_of(a, n);
    *rise_b = eco_drift_of(b, n);
    return sum / (double)n;
}

static void drift_term(void **state) {
    (void)state;
    static const char *const orders[] = {"aba", "abbab", "baabbab", "ababababa", "aaaaa", "bbb"};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            eco_uncertainty_input input = usual();
            input.n_blocks = (uint32_t)strlen(orders[i]);
            const double left = drift_left(orders[i], sign * 0.004, &input.drift_arm_log,
                                           &input.drift_baseline_log, &input.order_shift);
            /* The places shake the fitted rise a little. */
            ASSERT_NEAR_REL(eco_uncertainty_of(&input).drift * sqrt(3.0), fabs(left), 0.15);
            assert_true(fabs(left) > 1e-4);
        }
    }
    eco_uncertainty_input balanced = usual();
    balanced.n_blocks = 4;
    ASSERT_NEAR(drift_left("abba", 0.004, &balanced.drift_arm_log, &balanced.drift_baseline_log,
                           &balanced.order_shift),
                0.0, 1e-15);
    assert_true(balanced.drift_arm_log > 0.01);
    ASSERT_NEAR(eco_uncertainty_of(&balanced).drift, 0.0, 1e-15);
    /* Arms that drift apart are in the scatter of the blocks, and not here a second time. */
    balanced.order_shift = 0.2;
    balanced.drift_arm_log = 0.03;
    balanced.drift_baseline_log = -0.03;
    ASSERT_NEAR(eco_uncertainty_of(&balanced).drift, 0.0, 1e-15);
}

/* Power with white noise between readings, integrated from some of them only. */
static double simulated_sampling(double sd, uint32_t n_readings, uint32_t n_blocks) {
    enum { FINE = 20 };
    uint64_t seed = 13;
    double squares = 0.0;
    for (int t = 0; t < TRIALS / 10; t++) {
        double sum = 0.0;
        for (uint32_t b = 0; b < n_blocks; b++) {
            double all = 0.0;
            double seen = 0.0;
            for (uint32_t i = 0; i < n_readings * FINE; i++) {
                const double noise = sd * sqrt(3.0) * uniform(&seed, -1.0, 1.0);
                all += noise / (double)FINE;
                seen += i % FINE == 0 ? noise : 0.0;
            }
            sum += (seen - all) / n_readings;
        }
        squares += (sum / n_blocks) * (sum / n_blocks);
    }
    return sqrt(squares / (double)(TRIALS / 10));
}

static void sampling_term(void **state) {
    (void)state;
    eco_uncertainty_input input = usual();
    input.has_counter = false;
    input.power_sd_arm = 0.03;
    input.power_updates = 50.0;
    ASSERT_NEAR_REL(eco_uncertainty_of(&input).sampling, simulated_sampling(0.03, 50, 5), 0.05);
    /* A reading that reaches back sees a window that is shifted; over a rise of d the shift costs d times half of it. */
    input.power_lag_s = 1.0;
    const double rise = 0.03 * sqrt(12.0); /* a straight line with that scatter */
    const double lag_error = rise * 0.5 * input.power_lag_s / input.seconds;
    const double gaps = 0.03 / sqrt(50.0 * 5.0);
    const eco_uncertainty u = eco_uncertainty_of(&input);
    ASSERT_NEAR_REL(u.sampling, hypot(gaps, lag_error / sqrt(3.0)), 1e-12);
    ASSERT_NEAR_REL(u.expanded_ratio, 2.0 * u.sampling, 1e-9);
    input.power_sd_baseline = 0.04;
    ASSERT_NEAR_REL(eco_uncertainty_of(&input).sampling, u.sampling * 5.0 / 3.0, 1e-12);
    /* Without a counter the ratio of counter and integral says nothing, with one the gaps do not. */
    input.counter_integral_arm = 1.03;
    ASSERT_NEAR(eco_uncertainty_of(&input).counter_integral, 0.0, 0.0);
    input.has_counter = true;
    ASSERT_NEAR(eco_uncertainty_of(&input).sampling, 0.0, 0.0);
    assert_true(eco_uncertainty_of(&input).counter_integral > 0.01);
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
    /* Another meter declares other figures. */
    input.sensor_gain = 0.10;
    input.sensor_offset_w = 2.0;
    const eco_uncertainty other = eco_uncertainty_of(&input);
    ASSERT_NEAR(other.sensor_gain, 0.10 / sqrt(3.0), 1e-15);
    ASSERT_NEAR_REL(other.expanded_absolute, 2.0 * hypot(0.10, 2.0 / 495.0) / sqrt(3.0), 1e-9);
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
    ASSERT_NEAR_REL(u.expanded_absolute,
                    2.0 * sqrt(log(1.03) * log(1.03) / 3.0 + offset * offset + gain * gain), 1e-12);
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

/* Energy per token of one arm: instants off by up to ±h at both edges, whole counts at them, a sensor of its own gain and
 * offset, and a counter that reads c times the integral: the truth lies between the two. */
static double simulated_alone(const eco_uncertainty_input *in) {
    uint64_t seed = 29;
    double squares = 0.0;
    const double log_c = fabs(log(in->counter_integral_arm));
    for (int t = 0; t < TRIALS; t++) {
        double sum = 0.0;
        for (uint32_t b = 0; b < in->n_blocks; b++) {
            const double h = in->edge_half_width_s;
            const double late = uniform(&seed, -h, h) - uniform(&seed, -h, h);
            const double cut = uniform(&seed, 0.0, 1.0) - uniform(&seed, 0.0, 1.0);
            sum += log1p(late / in->seconds) + log1p(cut / in->tokens_arm);
        }
        const double gain = uniform(&seed, -in->sensor_gain, in->sensor_gain);
        const double offset = uniform(&seed, -in->sensor_offset_w, in->sensor_offset_w);
        const double error =
            sum / in->n_blocks + gain + offset / in->power_arm_w + uniform(&seed, -log_c, log_c);
        squares += error * error;
    }
    return sqrt(squares / (double)TRIALS);
}

static void one_arm_alone(void **state) {
    (void)state;
    eco_uncertainty_input input = usual();
    input.seconds = 2.0;
    input.edge_half_width_s = 0.06;
    input.tokens_arm = 40.0;
    input.tokens_baseline = 0.0; /* nothing of a baseline counts, */
    input.power_baseline_w = 0.0;
    input.power_arm_w = 100.0;
    input.counter_integral_arm = 1.03;
    input.counter_integral_baseline = 0.0;
    input.drift_arm_log = 0.2; /* nor of a drift: it is in the arm's scatter */
    input.order_shift = 1.0;
    const eco_uncertainty u = eco_uncertainty_alone(&input);
    ASSERT_NEAR_REL(u.expanded_absolute, 2.0 * simulated_alone(&input), 0.02);
    ASSERT_NEAR(u.expanded_ratio, 0.0, 0.0);
    ASSERT_NEAR(u.drift, 0.0, 0.0);
    ASSERT_NEAR_REL(u.sensor_offset, 5.0 / 100.0 / sqrt(3.0), 1e-12);
    /* With its twin as the baseline an arm's joules are known as well. */
    input.tokens_baseline = input.tokens_arm;
    input.power_baseline_w = input.power_arm_w;
    input.counter_integral_baseline = input.counter_integral_arm;
    ASSERT_NEAR_REL(eco_uncertainty_of(&input).expanded_absolute, u.expanded_absolute, 1e-12);
    input.tokens_arm = 0.0;
    ASSERT_NEAR(eco_uncertainty_alone(&input).expanded_absolute, 0.0, 0.0);
}

static void one_arm_sampled(void **state) {
    (void)state;
    eco_uncertainty_input input = usual();
    input.has_counter = false;
    input.counter_integral_arm = 1.5; /* of no meaning without a counter */
    input.sensor_gain = 0.0;
    input.sensor_offset_w = 0.0;
    input.power_sd_arm = 0.02;
    input.power_updates = 50.0;
    input.power_lag_s = 1.1;
    const double wanted = hypot(0.02 / sqrt(50.0 * 5.0), 0.02 * 1.1 / 5.0);
    const eco_uncertainty u = eco_uncertainty_alone(&input);
    ASSERT_NEAR_REL(u.sampling, wanted, 1e-12);
    ASSERT_NEAR_REL(u.expanded_absolute, 2.0 * wanted, 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tick_term),        cmocka_unit_test(read_term),
        cmocka_unit_test(drift_term),       cmocka_unit_test(sampling_term),
        cmocka_unit_test(sensor_terms),     cmocka_unit_test(counter_against_integral),
        cmocka_unit_test(impossible_input), cmocka_unit_test(one_arm_alone),
        cmocka_unit_test(one_arm_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
