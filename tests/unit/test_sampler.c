/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampler on a scripted NVML whose true power is known at every instant, in real time: a
 * window's energy is the true integral between its two ticks, ticks are found where they are, rows
 * are in order and marked.
 */
#define _GNU_SOURCE

#include "test_helpers.h"

#include "fake_driver.h"
#include "meters/sampler.h"
#include "sys/clock.h"

static const int64_t ms_ns = 1000000;
static eco_error error;

static eco_meter *open_meter(void) {
    eco_meter *meter = NULL;
    const eco_meter_options options = {.name = "nvml"};
    ASSERT_OK(eco_meter_open(&options, &meter, &error), &error);
    return meter;
}

static eco_sampler *open_sampler(eco_meter *meter, int64_t frozen_after_ns) {
    eco_sampler *sampler = NULL;
    const eco_sampler_options options = {
        .meter = meter, .rate_hz = 20.0, .capacity = 1000, .frozen_after_ns = frozen_after_ns};
    ASSERT_OK(ecoi_sampler_open(&options, &sampler, &error), &error);
    return sampler;
}

static eco_edge_request opening(void) {
    return (eco_edge_request){.block = 3, .phase = ECO_PHASE_DECODE};
}

static eco_edge_request closing(const eco_edge_condition *condition) {
    return (eco_edge_request){.condition = condition,
                              .block = 3,
                              .phase = ECO_PHASE_DECODE,
                              .after = ECO_PHASE_COOLDOWN,
                              .closing = true};
}

/* The estimate may miss the true tick by its own half-width and by what a read leaves open. */
static void assert_on_tick(const eco_edge *edge) {
    const int64_t off_ns = edge->t_ns % (100 * ms_ns);
    const int64_t miss_ns = off_ns < 50 * ms_ns ? off_ns : 100 * ms_ns - off_ns;
    if (miss_ns > edge->u_t_ns + edge->read_cost_ns / 2) {
        print_error("tick missed by %.3f ms, stated %.3f ms, read %.3f ms\n", (double)miss_ns / 1e6,
                    (double)edge->u_t_ns / 1e6, (double)edge->read_cost_ns / 1e6);
        fail();
    }
}

static void assert_window_rows(const eco_sample *rows, size_t n, const eco_edge *open,
                               const eco_edge *close) {
    size_t n_decode = 0;
    size_t n_after = 0;
    for (size_t i = 0; i < n; i++) {
        const eco_sample *row = &rows[i];
        assert_true(i == 0 || rows[i - 1].t_ns <= row->t_ns);
        if (row->t_ns < open->t_ns) {
            assert_true(row->phase == ECO_PHASE_RAMP ||
                        i == 0); /* the first may precede the mark */
            assert_int_equal(row->energy_j.absence, ECO_ABSENT_NOT_READ);
        } else if (row->t_ns <= close->t_ns) {
            assert_int_equal(row->phase, ECO_PHASE_DECODE);
            assert_int_equal(row->block, 3);
            n_decode++;
        } else {
            assert_int_equal(row->phase, ECO_PHASE_COOLDOWN);
            n_after++;
        }
        if (row->t_ns == open->t_ns) {
            ASSERT_NEAR(row->energy_j.value, open->energy_j.value, 0.0);
        }
        if (row->t_ns == close->t_ns) {
            ASSERT_NEAR(row->energy_j.value, close->energy_j.value, 0.0);
        }
    }
    assert_true(n_decode >= 12); /* 1.5 s at 20 Hz are 30; a loaded machine loses some */
    assert_true(n_after >= 1);
}

static void test_energy_is_the_true_integral(void **state) {
    (void)state;
    fake_driver_start("read_cost_energy_us 3000\ntemp_c 47\nthrottle 0x2\n");
    const int64_t start_ns = ecoi_now_ns();
    for (int i = 0; i < 40; i++) { /* power changes between ticks, at no multiple of them */
        fake_driver_power(0, start_ns + (int64_t)i * 137 * ms_ns, i % 2 == 0 ? 480.0 : 320.0);
    }
    eco_meter *meter = open_meter();
    eco_sampler *sampler = open_sampler(meter, 0);
    eco_edge open;
    eco_edge close;
    ecoi_sampler_mark(sampler, 0, ECO_PHASE_RAMP);
    const eco_edge_condition settle = {.not_before_ns = start_ns + 400 * ms_ns,
                                       .timeout_ns = 3000 * ms_ns};
    eco_edge_request first = opening();
    first.condition = &settle;
    ASSERT_OK(ecoi_sampler_edge(sampler, &first, &open, &error), &error);
    const eco_edge_condition condition = {.not_before_ns = open.t_ns + 1500 * ms_ns,
                                          .timeout_ns = 3000 * ms_ns};
    const eco_edge_request last = closing(&condition);
    ASSERT_OK(ecoi_sampler_edge(sampler, &last, &close, &error), &error);
    assert_true(open.t_ns >= settle.not_before_ns);
    assert_true(close.t_ns >= condition.not_before_ns);
    assert_on_tick(&open);
    assert_on_tick(&close);
    const double true_j = fake_driver_true_j(0, open.t_ns, close.t_ns, 78.0);
    const double edges_s =
        (double)(open.u_t_ns + open.read_cost_ns / 2 + close.u_t_ns + close.read_cost_ns / 2) / 1e9;
    const double got_j = close.energy_j.value - open.energy_j.value;
    ASSERT_NEAR(got_j, true_j,
                edges_s < 0.02 ? 0.005 * true_j + 480.0 * edges_s / 2.0 : 480.0 * edges_s);
    /* Two samples beyond the edge, then the rows. */
    eco_sampler_stats stats;
    ecoi_sampler_stats(sampler, &stats);
    const uint64_t n_wanted = stats.n_samples + 2;
    while (stats.n_samples < n_wanted) {
        ecoi_sleep_until_ns(ecoi_now_ns() + 10 * ms_ns);
        ecoi_sampler_stats(sampler, &stats);
    }
    size_t n = 0;
    const eco_sample *rows = ecoi_sampler_rows(sampler, &n);
    assert_window_rows(rows, n, &open, &close);
    ASSERT_NEAR(rows[0].temp_c.value, 47.0, 0.0); /* the first sample reads everything */
    assert_int_equal(stats.throttle_seen, ECO_THROTTLE_USER_CLOCKS);
    assert_int_equal(stats.n_read_errors, 0);
    assert_true(stats.n_energy_reads >= 4);
    assert_true(stats.cpu_ns > 0);
    assert_false(stats.counter_stepped_back);
    print_message(
        "sampler: %.2f Hz, longest gap %.1f ms, energy off by %.3f %%, edges +- %.2f ms\n",
        stats.rate_hz, (double)stats.longest_gap_ns / 1e6, 100.0 * (got_j / true_j - 1.0),
        edges_s * 500.0);
    ecoi_sampler_close(sampler);
    eco_meter_close(meter);
}

static void test_no_counter(void **state) {
    (void)state;
    fake_driver_start("counter none\nidle_bare_w 99\n");
    eco_meter *meter = open_meter();
    eco_sampler *sampler = open_sampler(meter, 0);
    eco_edge edge;
    const int64_t asked_ns = ecoi_now_ns();
    eco_edge_request request = opening();
    ASSERT_OK(ecoi_sampler_edge(sampler, &request, &edge, &error), &error);
    assert_true(edge.t_ns >= asked_ns);
    assert_int_equal(edge.energy_j.absence, ECO_ABSENT_UNSUPPORTED);
    const eco_edge_condition condition = {.not_before_ns = asked_ns + 130 * ms_ns,
                                          .timeout_ns = 1000 * ms_ns};
    request = closing(&condition);
    ASSERT_OK(ecoi_sampler_edge(sampler, &request, &edge, &error), &error);
    assert_true(edge.t_ns >= condition.not_before_ns);
    size_t n = 0;
    const eco_sample *rows = ecoi_sampler_rows(sampler, &n);
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].t_ns == edge.t_ns) {
            ASSERT_NEAR(rows[i].power_w.value, 99.0, 0.01); /* the edge is a power sample */
            assert_int_equal(rows[i].phase, ECO_PHASE_DECODE);
            found = true;
        }
    }
    assert_true(found);
    ecoi_sampler_close(sampler);
    eco_meter_close(meter);
}

static void test_frozen_counter(void **state) {
    (void)state;
    fake_driver_start("counter frozen\nread_cost_energy_us 1000\n");
    eco_meter *meter = open_meter();
    eco_sampler *sampler = open_sampler(meter, 600 * ms_ns);
    eco_edge edge;
    const eco_edge_request request = opening();
    assert_int_equal(ecoi_sampler_edge(sampler, &request, &edge, &error), ECO_E_TIMEOUT);
    assert_non_null(strstr(error.message, FAKE_UUID_0));
    assert_non_null(strstr(error.message, "energy counter did not change for 0.6 s"));
    size_t n = 0;
    const eco_sample *rows = ecoi_sampler_rows(sampler, &n);
    assert_true(n >= 3); /* sampling went on meanwhile */
    ASSERT_NEAR(rows[n - 1].power_w.value, 78.0, 0.01);
    ecoi_sampler_close(sampler);
    eco_meter_close(meter);
}

static void test_step_back(void **state) {
    (void)state;
    fake_driver_start("counter step_back_at_s 0.45 500\nread_cost_energy_us 1000\n");
    eco_meter *meter = open_meter();
    eco_sampler *sampler = open_sampler(meter, 0);
    eco_edge edge;
    eco_edge_request request = opening();
    ASSERT_OK(ecoi_sampler_edge(sampler, &request, &edge, &error), &error);
    const eco_edge_condition condition = {.not_before_ns = edge.t_ns + 900 * ms_ns,
                                          .timeout_ns = 1000 * ms_ns};
    request = closing(&condition);
    assert_int_equal(ecoi_sampler_edge(sampler, &request, &edge, &error), ECO_E_INVALID);
    assert_non_null(strstr(error.message, "energy counter stepped back from"));
    eco_sampler_stats stats;
    ecoi_sampler_stats(sampler, &stats);
    assert_true(stats.counter_stepped_back);
    ecoi_sampler_close(sampler);
    eco_meter_close(meter);
}

static void test_device_lost(void **state) {
    (void)state;
    fake_driver_start("read_cost_energy_us 1000\n");
    eco_meter *meter = open_meter();
    eco_sampler *sampler = open_sampler(meter, 0);
    eco_edge edge;
    eco_edge_request request = opening();
    ASSERT_OK(ecoi_sampler_edge(sampler, &request, &edge, &error), &error);
    atomic_store(&fake_page_map()->devices[0].lost, 1);
    assert_int_equal(ecoi_sampler_edge(sampler, &request, &edge, &error), ECO_E_DEVICE_LOST);
    assert_true(edge.device_lost);
    assert_non_null(strstr(error.message, "device lost"));
    eco_sampler_stats stats;
    ecoi_sampler_stats(sampler, &stats);
    assert_true(stats.device_lost);
    ecoi_sampler_close(sampler);
    eco_meter_close(meter);
}

/* The published test behaviour 8: no reading ever answers. No sample, failed reads, an error and no crash. */
static void test_no_read_answers(void **state) {
    (void)state;
    fake_driver_start("read_cost_energy_us 1000\nfail_from_s 0.5\nfail_for_s 3600\n");
    const int64_t begin_ns = ecoi_now_ns();
    eco_meter *meter = open_meter(); /* while readings still answer */
    while (ecoi_now_ns() < begin_ns + 700 * ms_ns) {
        ecoi_sleep_until_ns(begin_ns + 700 * ms_ns); /* the script's own moment has passed */
    }
    eco_sampler *sampler = NULL;
    const eco_sampler_options options = {
        .meter = meter, .rate_hz = 50.0, .capacity = 1000, .frozen_after_ns = 300 * ms_ns};
    ASSERT_OK(ecoi_sampler_open(&options, &sampler, &error), &error);
    eco_edge edge;
    eco_edge_request request = opening();
    assert_int_not_equal(ecoi_sampler_edge(sampler, &request, &edge, &error), ECO_OK);
    assert_true(error.message[0] != '\0');
    eco_sampler_stats stats;
    ecoi_sampler_stats(sampler, &stats);
    assert_int_equal(stats.n_samples, 0);
    assert_true(stats.n_read_errors >= 1);
    ecoi_sampler_close(sampler);
    eco_meter_close(meter);
}

int main(int argc, char **argv) {
    (void)argc;
    const int unready = fake_driver_setup(argv);
    if (unready != 0) {
        return unready;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_energy_is_the_true_integral),
        cmocka_unit_test(test_no_counter),
        cmocka_unit_test(test_frozen_counter),
        cmocka_unit_test(test_step_back),
        cmocka_unit_test(test_device_lost),
        cmocka_unit_test(test_no_read_answers),
    };
    const int failed = cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
    fake_driver_cleanup();
    return failed;
}
