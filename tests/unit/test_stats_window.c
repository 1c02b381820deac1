/* SPDX-License-Identifier: Apache-2.0
 *
 * Energy, time and tokens of a window from its rows: counter first, integral as check; edges between samples, absent
 * readings, other windows' rows, a counter that went back.
 */
#include "ecocompute/stats.h"
#include "test_helpers.h"

#include <math.h>

static const int64_t MS = 1000000;

static eco_sample row(int64_t t_ms, double power_w, int32_t block, eco_phase phase) {
    return (eco_sample){.t_ns = t_ms * MS,
                        .power_w = power_w >= 0.0 ? eco_reading_of(power_w)
                                                  : eco_reading_absent(ECO_ABSENT_FAILED),
                        .block = block,
                        .phase = phase};
}

static eco_sample edge(int64_t t_ms, double energy_j, double tokens) {
    eco_sample out = row(t_ms, -1.0, 1, ECO_PHASE_DECODE);
    out.energy_j = eco_reading_of(energy_j);
    out.tokens = eco_reading_of(tokens);
    return out;
}

static void integral(void **state) {
    (void)state;
    eco_sample rows[41];
    for (int i = 0; i < 41; i++) { /* 100 W rising by 10 W a second, every 50 ms */
        rows[i] = row(50 * i, 100.0 + 0.5 * i, 1, ECO_PHASE_DECODE);
    }
    double joules = 0.0;
    assert_true(eco_integrate_power(rows, 41, 0, 2000 * MS, &joules));
    ASSERT_NEAR(joules, 220.0, 1e-9);
    assert_true(eco_integrate_power(rows, 41, 525 * MS, 1475 * MS, &joules));
    ASSERT_NEAR(joules, 0.95 * 110.0, 1e-9); /* both ends between two samples */
    assert_true(eco_integrate_power(rows, 41, -500 * MS, 2500 * MS, &joules));
    ASSERT_NEAR(joules, 220.0 + 0.5 * 100.0 + 0.5 * 120.0,
                1e-9); /* held where there is no sample */
    assert_false(eco_integrate_power(rows, 41, -1500 * MS, 1000 * MS, &joules)); /* out of reach */
    assert_false(eco_integrate_power(rows, 41, 500 * MS, 500 * MS, &joules));
    assert_false(eco_integrate_power(rows, 41, 510 * MS, 540 * MS, &joules)); /* no sample inside */
    for (int i = 0; i < 41; i += 2) {
        rows[i].power_w = eco_reading_absent(ECO_ABSENT_FAILED); /* never taken for 0 W */
    }
    assert_true(eco_integrate_power(rows, 41, 50 * MS, 1950 * MS, &joules));
    ASSERT_NEAR(joules, 1.9 * 110.0, 1e-9);
}

static void counter_is_primary(void **state) {
    (void)state;
    eco_sample rows[] = {
        row(0, 90.0, 1, ECO_PHASE_RAMP),
        row(950, 400.0, 1, ECO_PHASE_RAMP),
        edge(1000, 5000.0, 100.25),
        row(1050, 400.0, 1, ECO_PHASE_DECODE),
        row(1500, 400.0, 1, ECO_PHASE_DECODE),
        row(2900, 400.0, 1, ECO_PHASE_DECODE),
        edge(3000, 5820.0, 1100.25),
        row(3050, 400.0, 1, ECO_PHASE_RAMP),
        row(4000, 300.0, 2, ECO_PHASE_DECODE),
    };
    rows[3].temp_c = eco_reading_of(50.0);
    rows[4].temp_c = eco_reading_of(55.0);
    rows[5].temp_c = eco_reading_of(53.0);
    rows[8].temp_c = eco_reading_of(80.0);
    eco_window_figures f;
    assert_true(eco_window_figures_of(rows, 9, 1, ECO_PHASE_DECODE, false, &f));
    ASSERT_NEAR(f.seconds, 2.0, 1e-12);
    ASSERT_NEAR(f.energy_j, 820.0, 1e-9);
    ASSERT_NEAR(f.integral_j, 800.0, 1e-9);
    ASSERT_NEAR(f.counter_to_integral, 1.025, 1e-12);
    ASSERT_NEAR(f.tokens, 1000.0, 1e-9);
    ASSERT_NEAR(f.mj_per_token, 820.0, 1e-9);
    ASSERT_NEAR(f.power_w, 410.0, 1e-9);
    ASSERT_NEAR(f.tokens_per_s, 500.0, 1e-9);
    ASSERT_NEAR(f.temp_start_c.value, 50.0, 0.0);
    ASSERT_NEAR(f.temp_end_c.value, 53.0, 0.0);
    ASSERT_NEAR(f.temp_peak_c.value, 55.0, 0.0);
    assert_false(eco_window_figures_of(rows, 9, 3, ECO_PHASE_DECODE, false, &f));
    assert_false(eco_window_figures_of(rows, 9, 1, ECO_PHASE_PREFILL, false, &f));
    /* Back, standing still, or a single edge: no number. */
    rows[6].energy_j = eco_reading_of(4990.0);
    assert_false(eco_window_figures_of(rows, 9, 1, ECO_PHASE_DECODE, false, &f));
    rows[6].energy_j = eco_reading_of(5000.0);
    assert_false(eco_window_figures_of(rows, 9, 1, ECO_PHASE_DECODE, false, &f));
    rows[6].energy_j = eco_reading_of(5820.0);
    rows[6].tokens = rows[2].tokens;
    assert_false(eco_window_figures_of(rows, 9, 1, ECO_PHASE_DECODE, false, &f));
    rows[6].tokens = eco_reading_absent(ECO_ABSENT_FAILED);
    assert_false(eco_window_figures_of(rows, 9, 1, ECO_PHASE_DECODE, false, &f));
}

static void without_a_counter(void **state) {
    (void)state;
    eco_sample rows[21];
    for (int i = 0; i < 21; i++) {
        rows[i] = row(50 * i, 250.0, 2, ECO_PHASE_DECODE);
        rows[i].tokens = eco_reading_of(10.0 * i);
    }
    eco_window_figures f;
    assert_true(eco_window_figures_of(rows, 21, 2, ECO_PHASE_DECODE, false, &f));
    assert_false(f.has_counter);
    assert_true(f.has_integral);
    ASSERT_NEAR(f.energy_j, 250.0, 1e-9);
    ASSERT_NEAR(f.mj_per_token, 1250.0, 1e-9);
    assert_int_equal(f.power_updates, 1); /* it never changed */
    ASSERT_NEAR(f.power_sd_w, 0.0, 0.0);
    rows[5].power_w = eco_reading_of(271.0);
    rows[6].power_w = eco_reading_of(271.0);
    assert_true(eco_window_figures_of(rows, 21, 2, ECO_PHASE_DECODE, false, &f));
    assert_int_equal(f.power_updates, 3);
    ASSERT_NEAR(f.power_sd_w, 21.0 * sqrt(2.0 * 19.0 / 21.0 / 20.0), 1e-9);
    ASSERT_NEAR(f.counter_to_integral, 0.0, 0.0);
    for (int i = 0; i < 21; i++) {
        rows[i].power_w = eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
    assert_false(eco_window_figures_of(rows, 21, 2, ECO_PHASE_DECODE, false, &f));
    assert_true(eco_window_figures_of(rows, 21, 2, ECO_PHASE_DECODE, true, &f));
    ASSERT_NEAR(f.tokens_per_s, 200.0, 1e-9);
    ASSERT_NEAR(f.energy_j, 0.0, 0.0);
    ASSERT_NEAR(f.mj_per_token, 0.0, 0.0);
}

static void as_printed(void **state) {
    (void)state;
    const eco_sample sample = {.t_ns = 5000000000 + 1234567,
                               .power_w = eco_reading_of(123.45678),
                               .energy_j = eco_reading_of(9.87654321),
                               .tokens = eco_reading_of(1.00049),
                               .temp_c = eco_reading_of(41.26),
                               .block = 3,
                               .phase = ECO_PHASE_RAMP};
    const eco_sample out = eco_sample_as_printed(&sample, 5000000000);
    assert_int_equal(out.t_ns, 1235000); /* whole microseconds */
    ASSERT_NEAR(out.power_w.value, 123.457, 1e-12);
    ASSERT_NEAR(out.energy_j.value, 9.877, 1e-12);
    ASSERT_NEAR(out.tokens.value, 1.0, 1e-12);
    ASSERT_NEAR(out.temp_c.value, 41.3, 1e-12);
    assert_int_equal(out.block, 3);
    assert_int_equal(out.phase, ECO_PHASE_RAMP);
    const eco_sample empty = {0};
    assert_int_equal(eco_sample_as_printed(&empty, 0).power_w.absence, ECO_ABSENT_NOT_READ);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integral), cmocka_unit_test(counter_is_primary),
        cmocka_unit_test(without_a_counter), cmocka_unit_test(as_printed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
