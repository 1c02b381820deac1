/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounding as JavaScript prints: what Number(x.toFixed(d)) and Math.round(x) give in node, exact halves and doubles that
 * only look like halves among them.
 */
#include "model/published_round.h"

#include "core/num.h"
#include "test_helpers.h"

static void test_fixed(void **state) {
    (void)state;
    static const struct {
        double value;
        int decimals;
        double want;
    } rows[] = {
        {0.25, 1, 0.3},
        {-0.25, 1, -0.3},
        {0.75, 1, 0.8},
        {0.125, 2, 0.13},
        {-0.125, 2, -0.13},
        {0.375, 2, 0.38},
        {2.5, 0, 3},
        {-2.5, 0, -3},
        {1.835, 2, 1.83},
        {2.455, 2, 2.46},
        {0.215, 2, 0.21},
        {1.005, 2, 1},
        {10.235, 2, 10.23},
        {8.345, 2, 8.35},
        {1.45, 1, 1.4},
        {0.05, 1, 0.1},
        {123456.25, 1, 123456.3},
        {1e21, 2, 1e21},
        {4503599627370497.5, 0, 4503599627370498},
        {0.0005, 3, 0.001},
        {1e12 + 0.25, 1, 1e12 + 0.3},
        {-13.75, 1, -13.8},
        {99.95, 1, 100},
        {0.049999999999999996, 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ASSERT_NEAR(ecoi_published_round(rows[i].value, rows[i].decimals), rows[i].want, 0.0);
    }
}

static void test_signs(void **state) {
    (void)state;
    assert_false(signbit(ecoi_published_round(-0.04, 1)));
    assert_false(signbit(ecoi_published_round(-0.0, 2)));
    assert_true(isnan(ecoi_published_round((double)NAN, 1)));
    assert_true(isinf(ecoi_published_round((double)INFINITY, 1)));
    assert_true(isinf(ecoi_published_round(-(double)INFINITY, 2)));
}

/* Away from halves it is the exact rounding of core/num, whichever path answered. */
static void test_paths_agree(void **state) {
    (void)state;
    double value = 1e-7;
    for (int i = 0; i < 200000; i++) {
        value = value > 1e13 ? 1.234567e-7 * (1 + i * 1e-6) : value * 1.00217;
        for (int decimals = 0; decimals <= 3; decimals++) {
            const double twice = ldexp(value, decimals + 1);
            if (floor(twice) < twice || fmod(twice, 2) < 1) { /* no exact half */
                ASSERT_NEAR(ecoi_published_round(value, decimals), ecoi_num_round(value, decimals),
                            0.0);
            }
        }
    }
}

static void test_whole(void **state) {
    (void)state;
    ASSERT_NEAR(ecoi_published_round_whole(2.5), 3, 0.0);
    ASSERT_NEAR(ecoi_published_round_whole(-2.5), -2, 0.0);
    ASSERT_NEAR(ecoi_published_round_whole(0.49999999999999994), 0, 0.0);
    ASSERT_NEAR(ecoi_published_round_whole(1706.5), 1707, 0.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_paths_agree),
        cmocka_unit_test(test_whole),
    };
    return cmocka_run_group_tests_name("model_rounding", tests, NULL, NULL);
}
