/* SPDX-License-Identifier: Apache-2.0
 *
 * When a temperature stands still: both halves of the rule alone, readings in whole degrees, uneven times, and the
 * slowest climb that may pass.
 */
#include "ecocompute/stats.h"

#include "test_helpers.h"

/* Readings a second apart. */
static bool steady(const double *temp_c, size_t n) {
    double t_s[32] = {0};
    for (size_t i = 0; i < n; i++) {
        t_s[i] = 100.0 + (double)i;
    }
    return eco_temperature_steady(t_s, temp_c, n);
}

static void enough_readings(void **state) {
    (void)state;
    const double still_c[] = {50, 50, 50, 50, 50};
    assert_false(steady(still_c, 0));
    assert_false(steady(still_c, 4));
    assert_true(steady(still_c, 5));
}

/* Three readings within 2 °C, the slope too great: 0.5 °C/s; and 0.2 exactly, which is not under it. */
static void slope_alone(void **state) {
    (void)state;
    const double climb_c[] = {50, 50.5, 51, 51.5, 52};
    assert_false(steady(climb_c, 5));
    const double fall_c[] = {52, 51.5, 51, 50.5, 50};
    assert_false(steady(fall_c, 5));
    const double limit_c[] = {50, 50.25, 50.5, 50.75, 51};
    assert_false(steady(limit_c, 5));
    const double under_c[] = {50, 50.125, 50.25, 50.375, 50.5};
    assert_true(steady(under_c, 5));
    const double over_c[] = {50, 50.21, 50.42, 50.63, 50.84};
    assert_false(steady(over_c, 5));
}

/* No slope at all, but the last three lie 2.5 °C apart; at 2 °C they pass. */
static void span_alone(void **state) {
    (void)state;
    const double swing_c[] = {51.25, 50, 52.5, 50, 51.25};
    assert_false(steady(swing_c, 5));
    const double less_c[] = {51, 50, 52, 50, 51};
    assert_true(steady(less_c, 5));
    const double before_c[] = {45, 55, 50, 55, 50};
    assert_false(steady(before_c, 5));             /* within the last three too */
    const double early_c[] = {52, 46, 50, 50, 50}; /* slope (-104 - 46 + 50 + 100) / 10 = 0 */
    assert_true(steady(early_c, 5));
}

/* Only the last five count; what went before is forgotten. */
static void the_past_is_forgotten(void **state) {
    (void)state;
    double temp_c[20];
    for (size_t i = 0; i < 20; i++) {
        temp_c[i] = i < 15 ? 30.0 + (double)i : 45.0;
    }
    for (size_t n = 5; n <= 20; n++) {
        assert_true(steady(temp_c, n) == (n == 20));
    }
}

/* A sensor of whole degrees on a climb of 0.25 °C/s or more shows a step within any five readings. */
static void whole_degrees(void **state) {
    (void)state;
    for (double climb = 0.25; climb < 3.0; climb += 0.05) {
        for (int phase = 0; phase < 40; phase++) {
            double temp_c[5];
            for (size_t i = 0; i < 5; i++) {
                temp_c[i] = floor(50.0 + phase / 40.0 + climb * (double)i);
            }
            assert_false(steady(temp_c, 5));
        }
    }
}

/* Readings that come twice a second are thinned: five of them span two seconds and prove nothing. */
static void close_readings(void **state) {
    (void)state;
    double t_s[9];
    double temp_c[9];
    for (size_t i = 0; i < 9; i++) {
        t_s[i] = 0.5 * (double)i;
        temp_c[i] = 60.0;
    }
    assert_false(eco_temperature_steady(t_s, temp_c, 8));
    assert_true(eco_temperature_steady(t_s, temp_c, 9));
    const double late_s[] = {0, 1.02, 2.9, 3.95,
                             5.1}; /* a late reading is weighed at its own time */
    const double rise_c[] = {50.0, 50.19, 50.54, 50.74, 50.95};
    assert_true(eco_temperature_steady(late_s, rise_c, 5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enough_readings), cmocka_unit_test(slope_alone),
        cmocka_unit_test(span_alone),      cmocka_unit_test(the_past_is_forgotten),
        cmocka_unit_test(whole_degrees),   cmocka_unit_test(close_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
