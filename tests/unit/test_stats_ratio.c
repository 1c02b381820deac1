/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantiles of Student's t against closed forms and tables, means, verdicts, drift; and the coverage of the interval
 * that a report prints, by simulation: it must hold the true change in 95 of 100 experiments.
 */
#include "core/rng.h"
#include "ecocompute/stats.h"
#include "test_helpers.h"

#include <math.h>

static const double TWO_PI = 6.283185307179586;

static double uniform(uint64_t *state) {
    return ((double)(ecoi_rng_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* Box and Muller. */
static double normal(uint64_t *state) {
    const double radius = sqrt(-2.0 * log(uniform(state)));
    return radius * cos(TWO_PI * uniform(state));
}

static void quantiles(void **state) {
    (void)state;
    ASSERT_NEAR(eco_student_t95(1), tan(TWO_PI / 2.0 * 0.475), 1e-9); /* Cauchy */
    ASSERT_NEAR(eco_student_t95(2), 0.95 / sqrt(2.0 * 0.975 * 0.025), 1e-9);
    ASSERT_NEAR(eco_student_t95(3), 3.182446305284263, 1e-9); /* tables from here on */
    ASSERT_NEAR(eco_student_t95(4), 2.776445105197793, 1e-9);
    ASSERT_NEAR(eco_student_t95(9), 2.262157162740992, 1e-9);
    ASSERT_NEAR(eco_student_t95(29), 2.045229642132703, 1e-9);
    ASSERT_NEAR(eco_student_t95(1000000), 1.959966349, 2e-8);
    assert_true(isinf(eco_student_t95(0)));
    for (uint32_t dof = 1; dof < 64; dof++) {
        assert_true(eco_student_t95(dof) > eco_student_t95(dof + 1));
    }
}

static void means(void **state) {
    (void)state;
    const double values[] = {1.0, 2.0, 4.0, 5.0};
    const eco_mean m = eco_mean_of(values, 4);
    ASSERT_NEAR(m.mean, 3.0, 1e-15);
    ASSERT_NEAR(m.sd, sqrt(10.0 / 3.0), 1e-14);
    ASSERT_NEAR(m.half_width, 3.182446305284263 * sqrt(10.0 / 3.0) / 2.0, 1e-9);
    assert_int_equal(m.n, 4);
    const eco_mean one = eco_mean_of(values, 1);
    ASSERT_NEAR(one.mean, 1.0, 0.0);
    ASSERT_NEAR(one.half_width, 0.0, 0.0);
    assert_int_equal(one.n, 1);
    assert_int_equal(eco_mean_of(values, 0).n, 0);
    ASSERT_NEAR(eco_geometric_mean(values, 4), pow(40.0, 0.25), 1e-14);
    const double bad[] = {1.0, 0.0};
    ASSERT_NEAR(eco_geometric_mean(bad, 2), 0.0, 0.0);
    ASSERT_NEAR(eco_geometric_mean(values, 0), 0.0, 0.0);
    ASSERT_NEAR(eco_pct_of_log(log(0.75)), -25.0, 1e-12);
    ASSERT_NEAR(eco_pct_of_log(1e-9), 1e-7, 1e-16);
}

static eco_verdict verdict(double lo_pct, double hi_pct, double margin_pct) {
    const double lo = log1p(lo_pct / 100.0);
    const double hi = log1p(hi_pct / 100.0);
    const eco_mean m = {.mean = (lo + hi) / 2.0, .half_width = (hi - lo) / 2.0, .n = 5};
    return eco_verdict_of(&m, margin_pct);
}

static void verdicts(void **state) {
    (void)state;
    assert_int_equal(verdict(-2.9, 2.9, 3.0), ECO_VERDICT_NO_DIFFERENCE);
    assert_int_equal(verdict(-2.9, -1.0, 3.0),
                     ECO_VERDICT_NO_DIFFERENCE); /* the margin comes first */
    assert_int_equal(verdict(-3.1, -1.0, 3.0), ECO_VERDICT_SAVES);
    assert_int_equal(verdict(1.0, 3.1, 3.0), ECO_VERDICT_COSTS);
    assert_int_equal(verdict(-3.1, 1.0, 3.0), ECO_VERDICT_INCONCLUSIVE);
    assert_int_equal(verdict(-1.0, 3.1, 3.0), ECO_VERDICT_INCONCLUSIVE);
    assert_int_equal(verdict(-2.0, -1.0, 0.0), ECO_VERDICT_SAVES);
    const eco_mean one = {.mean = -0.5, .n = 1};
    assert_int_equal(eco_verdict_of(&one, 3.0), ECO_VERDICT_INCONCLUSIVE);
    const eco_mean none = {0};
    assert_int_equal(eco_verdict_of(&none, 3.0), ECO_VERDICT_NONE);
    assert_string_equal(eco_verdict_name(ECO_VERDICT_NO_DIFFERENCE), "no difference");
    assert_string_equal(eco_verdict_name(ECO_VERDICT_SAVES), "saves");
    assert_string_equal(eco_verdict_name(ECO_VERDICT_COSTS), "costs");
    assert_string_equal(eco_verdict_name(ECO_VERDICT_INCONCLUSIVE), "inconclusive");
    assert_string_equal(eco_verdict_name(ECO_VERDICT_NONE), "none");
}

static void drifts(void **state) {
    (void)state;
    const double line[] = {0.1, 0.3, 0.5, 0.7};
    ASSERT_NEAR(eco_drift_of(line, 4), 0.6, 1e-15);
    const double bump[] = {0.0, 3.0, 0.0};
    ASSERT_NEAR(eco_drift_of(bump, 3), 0.0, 1e-15);
    const double bent[] = {0.0, 0.0, 1.0};
    ASSERT_NEAR(eco_drift_of(bent, 3), 1.0, 1e-15);
    ASSERT_NEAR(eco_drift_of(line, 2), 0.0, 0.0); /* a line through two points says nothing */
}

/* Blocks of two noisy energies, as the protocol pairs them; the noise common to a block falls out of the ratio. */
static double coverage_pct(uint32_t n_blocks, uint64_t seed) {
    enum { EXPERIMENTS = 20000 };
    const double truth = log(0.6);
    uint32_t held = 0;
    for (uint32_t e = 0; e < EXPERIMENTS; e++) {
        double ratios[16];
        for (uint32_t b = 0; b < n_blocks; b++) {
            const double common = 0.05 * normal(&seed);
            const double base_mj = 400.0 * exp(common + 0.004 * normal(&seed));
            const double arm_mj = 240.0 * exp(common + 0.007 * normal(&seed));
            ratios[b] = log(arm_mj / base_mj);
        }
        const eco_mean m = eco_mean_of(ratios, n_blocks);
        held += fabs(m.mean - truth) <= m.half_width;
    }
    return 100.0 * held / (double)EXPERIMENTS;
}

static void coverage(void **state) {
    (void)state;
    /* 20000 experiments: the standard deviation of the share is 0.15 %. */
    ASSERT_NEAR(coverage_pct(2, 1), 95.0, 0.6);
    ASSERT_NEAR(coverage_pct(3, 2), 95.0, 0.6);
    ASSERT_NEAR(coverage_pct(5, 3), 95.0, 0.6);
    ASSERT_NEAR(coverage_pct(12, 4), 95.0, 0.6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles), cmocka_unit_test(means),    cmocka_unit_test(verdicts),
        cmocka_unit_test(drifts),    cmocka_unit_test(coverage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
