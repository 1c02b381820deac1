/* SPDX-License-Identifier: Apache-2.0
 *
 * The bootstrap of a mean: against what arithmetic says of its spread, its refusals, the same answer for the same seed, and
 * that it leans where the values do.
 */
#include "core/alloc.h"
#include "ecocompute/stats.h"
#include "test_helpers.h"

#include <math.h>

static const double values[] = {0.3107, 0.2911, 0.3302, 0.3013, 0.2784, 0.3235,
                                0.3526, 0.2717, 0.3058, 0.3149, 0.3401, 0.2933};
enum { N = sizeof values / sizeof values[0] };

/* A resampled mean has the standard deviation sqrt(sum of squares) / n. */
static void width(void **state) {
    (void)state;
    double lo = 0.0;
    double hi = 0.0;
    assert_true(eco_bootstrap95(values, N, 1, &lo, &hi));
    const eco_mean m = eco_mean_of(values, N);
    const double spread = m.sd * sqrt(((double)N - 1.0) / (double)N) / sqrt((double)N);
    ASSERT_NEAR_REL((hi - lo) / 2.0, 1.96 * spread, 0.04);
    ASSERT_NEAR((hi + lo) / 2.0, m.mean, 0.1 * spread);
    assert_true((hi - lo) / 2.0 < m.half_width);
}

static void seeds(void **state) {
    (void)state;
    double lo[3];
    double hi[3];
    assert_true(eco_bootstrap95(values, N, 42, &lo[0], &hi[0]));
    assert_true(eco_bootstrap95(values, N, 42, &lo[1], &hi[1]));
    assert_true(eco_bootstrap95(values, N, 43, &lo[2], &hi[2]));
    ASSERT_NEAR(lo[0], lo[1], 0.0);
    ASSERT_NEAR(hi[0], hi[1], 0.0);
    assert_true(lo[0] < lo[2] || lo[0] > lo[2] || hi[0] < hi[2] || hi[0] > hi[2]);
    ASSERT_NEAR(lo[0], lo[2], 0.003); /* 10,000 resamples settle the ends */
}

/* One far value pulls the upper end only. */
static void leans(void **state) {
    (void)state;
    double skewed[10] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0};
    double lo = -1.0;
    double hi = -1.0;
    assert_true(eco_bootstrap95(skewed, 10, 7, &lo, &hi));
    ASSERT_NEAR(lo, 0.0, 0.0);  /* drawn never in 35 % of the resamples */
    ASSERT_NEAR(hi, 0.3, 1e-9); /* more than three times in 1.3 % */
}

static void refusals(void **state) {
    (void)state;
    double lo = 5.0;
    double hi = 6.0;
    assert_false(eco_bootstrap95(values, ECO_BOOTSTRAP_MIN - 1, 1, &lo, &hi));
    assert_true(eco_bootstrap95(values, ECO_BOOTSTRAP_MIN, 1, &lo, &hi));
    assert_true(lo < hi);
    if (ecoi_alloc_checked()) {
        ecoi_alloc_fail_from(1);
        assert_false(eco_bootstrap95(values, N, 1, &lo, &hi));
        ecoi_alloc_fail_from(0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(width), cmocka_unit_test(seeds),
                                       cmocka_unit_test(leans), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
