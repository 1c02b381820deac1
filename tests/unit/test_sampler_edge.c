/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampler's edges on a meter written here, which replaces the registry at link time: it decides
 * by itself when the counter ticks, what a read costs and how many units are done, so
 * interpolation, conditions, failures and limits have known answers.
 */
#define _GNU_SOURCE

#include "test_helpers.h"

#include "meters/sampler.h"
#include "sys/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static const int64_t ms_ns = 1000000;
static eco_error error;

/* ---- the meter ---- */

struct eco_meter {
    bool has_counter;
    int64_t cost_ns;       /* of a counter read */
    uint64_t reads_a_tick; /* counter reads between two ticks */
    double power_w, clock_mhz;
    eco_absence power_absence;
    uint32_t throttle;
    uint64_t fail_from, fail_to; /* counter reads that fail, by number */
    uint64_t back_at;            /* this counter read steps back; 0 = none */
    uint64_t units_a_read;       /* 0: units are microseconds since start_ns */
    int64_t start_ns;
    _Atomic uint64_t n_reads;
    int64_t gap_ns; /* from the end of the last counter read but one to the start of the last */
    int64_t last_end_ns;
    uint64_t progress; /* read by the sampler through the pointer it follows */
};

void eco_meter_describe(const eco_meter *meter, eco_meter_info *out) {
    memset(out, 0, sizeof *out);
    out->name = "scripted";
    out->energy_field = meter->has_counter ? "counter" : NULL;
    out->power_field = "power";
}

static void spin_until(int64_t t_ns) {
    while (ecoi_now_ns() < t_ns) {
    }
}

static void read_counter(eco_meter *meter, eco_meter_sample *out) {
    const uint64_t number = atomic_fetch_add(&meter->n_reads, 1) + 1;
    const int64_t start_ns = ecoi_now_ns();
    meter->gap_ns = start_ns - meter->last_end_ns;
    spin_until(start_ns + meter->cost_ns);
    const int64_t end_ns = ecoi_now_ns();
    out->t_ns = start_ns + (end_ns - start_ns) / 2;
    out->cost_ns = end_ns - start_ns;
    meter->last_end_ns = end_ns;
    if (meter->units_a_read > 0) {
        __atomic_store_n(&meter->progress, number * meter->units_a_read, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(&meter->progress, (uint64_t)(end_ns - meter->start_ns) / 1000,
                         __ATOMIC_RELEASE);
    }
    if (number >= meter->fail_from && number < meter->fail_to) {
        out->energy_j = eco_reading_absent(ECO_ABSENT_FAILED);
        out->native_error = 999;
        return;
    }
    const double back_j = meter->back_at > 0 && number >= meter->back_at ? 1000.0 : 0.0;
    out->energy_j = eco_reading_of(5000.0 + 10.0 * (double)(number / meter->reads_a_tick) - back_j);
}

void eco_meter_read(eco_meter *meter, uint32_t what, eco_meter_sample *out) {
    memset(out, 0, sizeof *out);
    out->t_ns = ecoi_now_ns();
    if ((what & ECO_READ_POWER) != 0) {
        out->power_w = meter->power_absence == ECO_PRESENT
                           ? eco_reading_of(meter->power_w)
                           : eco_reading_absent(meter->power_absence);
    }
    if ((what & ECO_READ_THROTTLE) != 0) {
        out->throttle_read = ECO_PRESENT;
        out->throttle = meter->throttle;
        out->sm_clock_mhz = eco_reading_of(meter->clock_mhz);
        out->temp_c = eco_reading_of(33.0);
        meter->clock_mhz -= 100.0;
    }
    if ((what & ECO_READ_ENERGY) != 0) {
        read_counter(meter, out);
    }
}

static eco_meter meter_new(void) {
    return (eco_meter){.has_counter = true,
                       .cost_ns = 2 * ms_ns,
                       .reads_a_tick = 8,
                       .power_w = 250.0,
                       .clock_mhz = 1900.0,
                       .power_absence = ECO_PRESENT,
                       .start_ns = ecoi_now_ns()};
}

static eco_sampler *open_sampler_impatient(eco_meter *meter, double rate_hz, uint32_t capacity,
                                           int64_t frozen_after_ns) {
    eco_sampler *sampler = NULL;
    const eco_sampler_options options = {.meter = meter,
                                         .rate_hz = rate_hz,
                                         .capacity = capacity,
                                         .frozen_after_ns = frozen_after_ns};
    ASSERT_OK(ecoi_sampler_open(&options, &sampler, &error), &error);
    if (meter != NULL) {
        ecoi_sampler_follow(sampler, &meter->progress);
    }
    return sampler;
}

static eco_sampler *open_sampler(eco_meter *meter, double rate_hz, uint32_t capacity) {
    return open_sampler_impatient(meter, rate_hz, capacity, 0);
}

static eco_status edge_at(eco_sampler *sampler, const eco_edge_condition *condition, bool closing,
                          eco_edge *out) {
    const eco_edge_request request = {.condition = condition,
                                      .block = 1,
                                      .phase = ECO_PHASE_DECODE,
                                      .after = ECO_PHASE_COOLDOWN,
                                      .closing = closing};
    return ecoi_sampler_edge(sampler, &request, out, &error);
}

static void wait_for_samples(const eco_sampler *sampler, uint64_t n) {
    eco_sampler_stats stats;
    for (;;) {
        ecoi_sampler_stats(sampler, &stats);
        if (stats.n_samples >= n) {
            return;
        }
        ecoi_sleep_until_ns(ecoi_now_ns() + ms_ns);
    }
}

/* ---- tests ---- */

static void test_units_are_interpolated_to_the_tick(void **state) {
    (void)state;
    eco_meter meter = meter_new();
    meter.cost_ns = 20 * ms_ns; /* a tick's estimate lies far from both reads' ends */
    meter.reads_a_tick = 3;
    eco_sampler *sampler = open_sampler(&meter, 20.0, 100);
    eco_edge edge;
    ASSERT_OK(edge_at(sampler, NULL, false, &edge), &error);
    /* Units are microseconds at the end of the last read: at the tick they are its own time. */
    ASSERT_NEAR(edge.tokens, (double)(edge.t_ns - meter.start_ns) / 1e3,
                2000.0 + (double)meter.gap_ns / 1e3);
    assert_true(edge.u_t_ns >= 10 * ms_ns);
    assert_true(edge.read_cost_ns >= 20 * ms_ns);
    size_t n = 0;
    const eco_sample *rows = ecoi_sampler_rows(sampler, &n);
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        found = found || (rows[i].t_ns == edge.t_ns && rows[i].tokens.value == edge.tokens &&
                          rows[i].energy_j.value == edge.energy_j.value);
    }
    assert_true(found);
    ecoi_sampler_close(sampler);
}

static void test_closing_waits_for_whole_units(void **state) {
    (void)state;
    eco_meter meter = meter_new();
    meter.units_a_read = 1; /* ticks come every 8 units */
    eco_sampler *sampler = open_sampler(&meter, 20.0, 100);
    eco_edge open;
    eco_edge close;
    ASSERT_OK(edge_at(sampler, NULL, false, &open), &error);
    const eco_edge_condition condition = {.not_before_ns = open.t_ns + 1,
                                          .tokens_open = open.tokens,
                                          .unit_period = 40.0,
                                          .slack = 1.5,
                                          .timeout_ns = 5000 * ms_ns};
    ASSERT_OK(edge_at(sampler, &condition, true, &close), &error);
    const double periods = (close.tokens - open.tokens) / 40.0;
    ASSERT_NEAR(periods, round(periods), 1.5 / 40.0);
    assert_true(periods > 0.5);
    ecoi_sampler_close(sampler);
}

static void test_past_the_timeout_any_tick_does(void **state) {
    (void)state;
    eco_meter meter = meter_new();
    meter.units_a_read = 1;
    eco_sampler *sampler = open_sampler(&meter, 20.0, 100);
    eco_edge open;
    eco_edge close;
    ASSERT_OK(edge_at(sampler, NULL, false, &open), &error);
    const eco_edge_condition never = {.not_before_ns = open.t_ns + 50 * ms_ns,
                                      .tokens_open = open.tokens + 0.5,
                                      .unit_period = 1e12,
                                      .slack = 0.0,
                                      .timeout_ns = 100 * ms_ns};
    ASSERT_OK(edge_at(sampler, &never, true, &close), &error);
    assert_true(close.t_ns >= open.t_ns + 150 * ms_ns);
    ecoi_sampler_close(sampler);
}

static void test_polling_begins_near_the_edge_only(void **state) {
    (void)state;
    eco_meter meter = meter_new();
    meter.cost_ns = 1000; /* cheap: polled every 200 us, not back to back */
    meter.reads_a_tick = 100;
    eco_sampler *sampler = open_sampler(&meter, 20.0, 100);
    eco_edge edge;
    const int64_t now_ns = ecoi_now_ns();
    const eco_edge_condition condition = {.not_before_ns = now_ns + 400 * ms_ns,
                                          .timeout_ns = 1000 * ms_ns};
    ASSERT_OK(edge_at(sampler, &condition, false, &edge), &error);
    assert_true(edge.t_ns >= condition.not_before_ns);
    const uint64_t n_reads = atomic_load(&meter.n_reads);
    assert_true((double)n_reads <= ((double)(edge.t_ns - now_ns) / 1e6 - 250.0) * 5.0 + 2.0);
    assert_true(n_reads >= 100);
    ecoi_sampler_close(sampler);
}

static void test_failed_reads_break_the_pair(void **state) {
    (void)state;
    eco_meter meter = meter_new();
    meter.fail_from = 7; /* over the tick at read 8 */
    meter.fail_to = 11;
    eco_sampler *sampler = open_sampler(&meter, 20.0, 100);
    eco_edge edge;
    ASSERT_OK(edge_at(sampler, NULL, false, &edge), &error);
    ASSERT_NEAR(edge.energy_j.value, 5020.0, 0.0); /* the tick at read 16, not the hidden one */
    eco_sampler_stats stats;
    ecoi_sampler_stats(sampler, &stats);
    assert_int_equal(stats.n_read_errors, 4);
    ecoi_sampler_close(sampler);

    meter = meter_new();
    meter.fail_from = 1;
    meter.fail_to = UINT64_MAX;
    sampler = open_sampler_impatient(&meter, 20.0, 100, 250 * ms_ns);
    assert_int_equal(edge_at(sampler, NULL, false, &edge), ECO_E_TIMEOUT);
    assert_non_null(strstr(error.message, "energy counter could not be read for 0.25 s"));
    assert_int_equal(error.native, 999);
    ecoi_sampler_close(sampler);
}

static void test_step_back_between_windows_only_flags(void **state) {
    (void)state;
    eco_meter meter = meter_new();
    eco_sampler *sampler = open_sampler(&meter, 20.0, 100);
    eco_edge edge;
    eco_sampler_stats stats;
    ASSERT_OK(edge_at(sampler, NULL, false, &edge), &error);
    meter.back_at = atomic_load(&meter.n_reads) + 1; /* no read is under way between edges */
    ASSERT_OK(edge_at(sampler, NULL, false, &edge), &error);
    ecoi_sampler_stats(sampler, &stats);
    assert_true(stats.counter_stepped_back);
    ecoi_sampler_close(sampler);

    meter = meter_new();
    sampler = open_sampler(&meter, 20.0, 100);
    ASSERT_OK(edge_at(sampler, NULL, false, &edge), &error);
    meter.back_at = atomic_load(&meter.n_reads) + 1;
    assert_int_equal(edge_at(sampler, NULL, true, &edge),
                     ECO_E_INVALID); /* inside a window it voids it */
    assert_non_null(strstr(error.message, "stepped back from 5010.000 J to 4010.000 J"));
    ecoi_sampler_close(sampler);
}

static void test_interrupted(void **state) {
    (void)state;
    eco_meter meter = meter_new();
    eco_sampler *sampler = open_sampler(&meter, 20.0, 100);
    volatile int interrupted = 1;
    const eco_edge_condition far = {.not_before_ns = ecoi_now_ns() + 3600000 * ms_ns};
    const eco_edge_request request = {.condition = &far, .interrupted = &interrupted};
    eco_edge edge;
    assert_int_equal(ecoi_sampler_edge(sampler, &request, &edge, &error), ECO_E_INTERRUPTED);
    assert_int_equal(atomic_load(&meter.n_reads), 0);
    ASSERT_OK(edge_at(sampler, NULL, false, &edge), &error); /* and it serves on */
    ecoi_sampler_close(sampler);
}

static void test_full_buffer_keeps_edges(void **state) {
    (void)state;
    eco_meter meter = meter_new();
    eco_sampler *sampler = open_sampler(&meter, 500.0, 5);
    eco_edge edge;
    eco_sampler_stats stats;
    size_t n = 0;
    wait_for_samples(sampler, 8);
    ecoi_sampler_stats(sampler, &stats);
    assert_true(stats.n_dropped >= 2);
    ASSERT_OK(edge_at(sampler, NULL, false, &edge), &error);
    const eco_sample *rows = ecoi_sampler_rows(sampler, &n);
    assert_int_equal(n, 6);
    assert_int_equal(rows[5].t_ns, edge.t_ns);
    ecoi_sampler_clear(sampler);
    wait_for_samples(sampler, stats.n_samples + 100);
    (void)ecoi_sampler_rows(sampler, &n);
    assert_int_equal(n, 5);
    for (int i = 0; i < 64; i++) { /* the spare rows */
        ASSERT_OK(edge_at(sampler, NULL, false, &edge), &error);
        meter.reads_a_tick = 1;
        meter.cost_ns = 1000;
    }
    assert_int_equal(edge_at(sampler, NULL, false, &edge), ECO_E_RANGE);
    assert_non_null(strstr(error.message, "no room for a window edge in 5 rows"));
    ecoi_sampler_close(sampler);
}

static void test_clear_keeps_what_was_not_shown(void **state) {
    (void)state;
    eco_meter meter = meter_new();
    eco_sampler *sampler = open_sampler(&meter, 200.0, 1000);
    size_t n_shown = 0;
    size_t n = 0;
    wait_for_samples(sampler, 5);
    const eco_sample *rows = ecoi_sampler_rows(sampler, &n_shown);
    const int64_t last_shown_ns = rows[n_shown - 1].t_ns;
    wait_for_samples(sampler, n_shown + 5);
    ecoi_sampler_clear(sampler);
    rows = ecoi_sampler_rows(sampler, &n);
    assert_true(n >= 5);
    assert_true(rows[0].t_ns > last_shown_ns);
    for (size_t i = 1; i < n; i++) {
        assert_true(rows[i].t_ns > rows[i - 1].t_ns);
    }
    eco_sampler_stats stats;
    ecoi_sampler_stats(sampler, &stats);
    assert_true(stats.n_samples >= n_shown + n); /* totals stay */
    ecoi_sampler_close(sampler);
}

static void test_extremes_and_latest(void **state) {
    (void)state;
    eco_meter meter = meter_new();
    meter.throttle = ECO_THROTTLE_THERMAL;
    eco_sampler *sampler = open_sampler(&meter, 50.0, 1000);
    eco_sampler_stats stats;
    eco_reading power_w;
    eco_reading temp_c;
    wait_for_samples(sampler, 52); /* slow reads at samples 1 and 51 */
    ecoi_sampler_stats(sampler, &stats);
    assert_int_equal(stats.throttle_seen, ECO_THROTTLE_THERMAL);
    ASSERT_NEAR(stats.sm_clock_max_mhz.value, 1900.0, 0.0);
    assert_true(stats.sm_clock_min_mhz.value <= 1800.0);
    assert_true(stats.longest_gap_ns >= 15 * ms_ns);
    ASSERT_NEAR(stats.rate_hz, 50.0, 15.0);
    ecoi_sampler_latest(sampler, &power_w, &temp_c);
    ASSERT_NEAR(power_w.value, 250.0, 0.0);
    ASSERT_NEAR(temp_c.value, 33.0, 0.0);
    ecoi_sampler_reset_extremes(sampler);
    ecoi_sampler_stats(sampler, &stats);
    assert_int_equal(stats.throttle_seen, 0);
    assert_int_equal(stats.sm_clock_min_mhz.absence, ECO_ABSENT_NOT_READ);
    ecoi_sampler_close(sampler);
}

static void test_power_that_fails(void **state) {
    (void)state;
    eco_meter meter = meter_new();
    meter.has_counter = false;
    meter.power_absence = ECO_ABSENT_FAILED;
    eco_sampler *sampler = open_sampler_impatient(&meter, 20.0, 100, 250 * ms_ns);
    eco_edge edge;
    assert_int_equal(edge_at(sampler, NULL, false, &edge), ECO_E_TIMEOUT);
    assert_non_null(strstr(error.message, "power could not be read for 0.25 s"));
    size_t n = 0;
    const eco_sample *rows = ecoi_sampler_rows(sampler, &n);
    assert_true(n >= 1);
    assert_int_equal(rows[0].power_w.absence, ECO_ABSENT_FAILED); /* a row with a hole, no zero */
    eco_sampler_stats stats;
    ecoi_sampler_stats(sampler, &stats);
    assert_int_equal(stats.n_samples, 0);
    assert_true(stats.n_read_errors >= 1);
    ecoi_sampler_close(sampler);
}

static void test_without_a_meter(void **state) {
    (void)state;
    uint64_t progress = 17;
    eco_sampler *sampler = open_sampler(NULL, 100.0, 100);
    ecoi_sampler_follow(sampler, &progress);
    eco_edge edge;
    const int64_t before_ns = ecoi_now_ns();
    ASSERT_OK(edge_at(sampler, NULL, false, &edge), &error);
    assert_true(edge.t_ns >= before_ns && edge.t_ns <= ecoi_now_ns());
    ASSERT_NEAR(edge.tokens, 17.0, 0.0);
    assert_int_equal(edge.energy_j.absence, ECO_ABSENT_UNSUPPORTED);
    size_t n = 0;
    const eco_sample *rows = ecoi_sampler_rows(sampler, &n);
    assert_int_equal(rows[n - 1].power_w.absence, ECO_ABSENT_NOT_READ);
    ASSERT_NEAR(rows[n - 1].tokens.value, 17.0, 0.0);
    ecoi_sampler_close(sampler);
    ecoi_sampler_close(NULL);
}

static void test_wrong_options(void **state) {
    (void)state;
    eco_sampler *sampler = NULL;
    eco_sampler_options options = {.rate_hz = 0.0, .capacity = 10};
    assert_int_equal(ecoi_sampler_open(&options, &sampler, &error), ECO_E_USAGE);
    options = (eco_sampler_options){.rate_hz = 20.0, .capacity = 0};
    assert_int_equal(ecoi_sampler_open(&options, &sampler, &error), ECO_E_USAGE);
    options = (eco_sampler_options){.rate_hz = (double)NAN, .capacity = 10};
    assert_int_equal(ecoi_sampler_open(&options, &sampler, &error), ECO_E_USAGE);
    assert_null(sampler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_are_interpolated_to_the_tick),
        cmocka_unit_test(test_closing_waits_for_whole_units),
        cmocka_unit_test(test_past_the_timeout_any_tick_does),
        cmocka_unit_test(test_polling_begins_near_the_edge_only),
        cmocka_unit_test(test_failed_reads_break_the_pair),
        cmocka_unit_test(test_step_back_between_windows_only_flags),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_full_buffer_keeps_edges),
        cmocka_unit_test(test_clear_keeps_what_was_not_shown),
        cmocka_unit_test(test_extremes_and_latest),
        cmocka_unit_test(test_power_that_fails),
        cmocka_unit_test(test_without_a_meter),
        cmocka_unit_test(test_wrong_options),
    };
    return cmocka_run_group_tests_name("sampler_edge", tests, NULL, NULL);
}
