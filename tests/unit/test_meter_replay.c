/* SPDX-License-Identifier: Apache-2.0
 *
 * Old traces played again: values and their times, the end without a second round, what is refused, and that the source
 * never says sensor.
 */
#define _GNU_SOURCE

#include "golden_files.h"
#include "test_helpers.h"

#include "ecocompute/meter.h"
#include "sys/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static eco_error error;
static const int64_t ms_ns = 1000000;
static char path[] = "/tmp/eco-replay-XXXXXX";

static const char header[] = "t_s,power_w,energy_j,tokens,temp_c,block,phase\n";

static void write_trace(const char *rows) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "%s%s", header, rows);
    assert_int_equal(fclose(file), 0);
}

static eco_status open_replay(const char *file, eco_boundary_kind covers, eco_meter **out) {
    const eco_meter_options options = {
        .name = "replay",
        .work = {.kind = ECO_BOUNDARY_CPU_PACKAGE},
        .config = {.replay_path = file, .boundary = {.kind = covers}}};
    error = (eco_error){0};
    return eco_meter_open(&options, out, &error);
}

/* Each value holds from its row to the next; the first row plays at once. */
static void test_plays_by_the_clock(void **state) {
    (void)state;
    write_trace("10.000000,100.000,5.000,,30.0,1,decode\n"
                "10.300000,200.000,,,,1,decode\n"
                "10.600000,,9.000,,31.0,1,decode\n"
                "11.200000,300.000,10.000,,31.0,1,decode\n");
    eco_meter *meter = NULL;
    const int64_t before_ns = ecoi_now_ns();
    ASSERT_OK(open_replay(path, ECO_BOUNDARY_CPU_PACKAGE, &meter), &error);
    const int64_t after_ns = ecoi_now_ns();
    eco_meter_info info;
    eco_meter_describe(meter, &info);
    assert_int_equal(info.source, ECO_SOURCE_REPLAY);
    assert_string_equal(info.measurement_source, "replay");
    assert_non_null(strstr(info.method, "replayed"));
    int n_seen[3] = {0};
    for (;;) {
        eco_meter_sample sample;
        eco_meter_read(meter, ECO_READ_POWER | ECO_READ_ENERGY | ECO_READ_TEMP, &sample);
        const int64_t late_ns = sample.t_ns - before_ns; /* at least what was played */
        const int64_t soon_ns = sample.t_ns - after_ns;  /* at most */
        if (sample.device_lost) {
            assert_true(late_ns > 1200 * ms_ns);
            assert_int_equal(sample.power_w.absence, ECO_ABSENT_STALE);
            assert_int_equal(sample.energy_j.absence, ECO_ABSENT_STALE);
            break;
        }
        assert_true(soon_ns <= 1200 * ms_ns);
        const int at = late_ns < 300 * ms_ns                              ? 0
                       : soon_ns >= 300 * ms_ns && late_ns < 600 * ms_ns  ? 1
                       : soon_ns >= 600 * ms_ns && late_ns < 1200 * ms_ns ? 2
                                                                          : -1;
        if (at >= 0) {
            static const double power_w[] = {100.0, 200.0, 200.0};
            static const double energy_j[] = {5.0, 5.0, 9.0};
            static const double temp_c[] = {30.0, 30.0, 31.0};
            ASSERT_NEAR(sample.power_w.value, power_w[at], 1e-12);
            ASSERT_NEAR(sample.energy_j.value, energy_j[at], 1e-12);
            ASSERT_NEAR(sample.temp_c.value, temp_c[at], 1e-12);
            n_seen[at]++;
        }
        ecoi_sleep_until_ns(ecoi_now_ns() + 5 * ms_ns);
    }
    assert_true(n_seen[0] > 0 && n_seen[1] > 0 && n_seen[2] > 0);
    char why[200];
    eco_meter_trouble(meter, why, sizeof why);
    assert_string_equal(why, "the trace ended after 1.200 s and is not played again");
    eco_meter_close(meter);
}

static void test_golden_trace(void **state) {
    (void)state;
    char golden[512];
    golden_path("power_trace_FP16.csv", golden, sizeof golden);
    eco_meter *meter = NULL;
    ASSERT_OK(open_replay(golden, ECO_BOUNDARY_HOST, &meter), &error);
    eco_meter_info info;
    eco_meter_sample sample;
    eco_meter_describe(meter, &info);
    assert_non_null(info.power_field);
    assert_non_null(info.energy_field);
    assert_string_equal(info.device.name, "a trace of 403 rows");
    eco_meter_read(meter, ECO_READ_POWER, &sample);
    assert_int_equal(sample.power_w.absence, ECO_ABSENT_NOT_READ); /* its first row is an edge */
    eco_meter_read(meter, ECO_READ_ENERGY, &sample);
    ASSERT_NEAR(sample.energy_j.value, 80000.0, 1e-9);
    eco_meter_close(meter);
    eco_meter_status status;
    const eco_meter_config config = {.replay_path = golden,
                                     .boundary = {.kind = ECO_BOUNDARY_HOST}};
    for (size_t i = 0; i < eco_meter_count(); i++) {
        eco_meter_probe_with(i, &config, &status);
        if (strcmp(status.name, "replay") == 0) {
            assert_true(status.usable);
            assert_int_equal(status.boundary, ECO_BOUNDARY_HOST);
            assert_non_null(strstr(status.reason, "403 rows"));
            assert_non_null(strstr(status.reason, "called replayed"));
        }
    }
}

static void test_power_only(void **state) {
    (void)state;
    write_trace("0.000000,50.000,,,,0,cooldown\n60.000000,50.000,,,,0,cooldown\n");
    eco_meter *meter = NULL;
    eco_meter_info info;
    eco_meter_sample sample;
    ASSERT_OK(open_replay(path, ECO_BOUNDARY_CPU_PACKAGE, &meter), &error);
    eco_meter_describe(meter, &info);
    assert_null(info.energy_field);
    eco_meter_read(meter, ECO_READ_POWER | ECO_READ_ENERGY | ECO_READ_TEMP, &sample);
    ASSERT_NEAR(sample.power_w.value, 50.0, 1e-12);
    assert_int_equal(sample.energy_j.absence, ECO_ABSENT_UNSUPPORTED);
    assert_int_equal(sample.temp_c.absence, ECO_ABSENT_NOT_READ);
    eco_meter_close(meter);
}

static void test_refusals(void **state) {
    (void)state;
    eco_meter *meter = NULL;
    eco_meter_status status;
    assert_int_equal(open_replay(NULL, ECO_BOUNDARY_HOST, &meter), ECO_E_UNSUPPORTED);
    assert_int_equal(open_replay("/nonexistent.csv", ECO_BOUNDARY_HOST, &meter), ECO_E_NOT_FOUND);
    assert_int_equal(open_replay("/dev/zero", ECO_BOUNDARY_HOST, &meter), ECO_E_INVALID);
    write_trace("0.0,1.0,,,,0,cooldown\nnonsense\n");
    assert_int_equal(open_replay(path, ECO_BOUNDARY_HOST, &meter), ECO_E_PARSE);
    assert_non_null(strstr(error.message, ":3:"));
    write_trace("0.0,,,5,,0,cooldown\n");
    assert_int_equal(open_replay(path, ECO_BOUNDARY_HOST, &meter), ECO_E_UNSUPPORTED);
    write_trace("");
    assert_int_equal(open_replay(path, ECO_BOUNDARY_HOST, &meter), ECO_E_UNSUPPORTED);
    write_trace("1.0,1.0,,,,0,cooldown\n0.5,1.0,,,,0,cooldown\n");
    assert_int_equal(open_replay(path, ECO_BOUNDARY_HOST, &meter), ECO_E_INVALID);
    write_trace("0.0,1.0,,,,0,cooldown\n9.0,1.0,,,,0,cooldown\n");
    assert_int_equal(open_replay(path, ECO_BOUNDARY_NONE, &meter), ECO_E_USAGE);
    assert_int_equal(open_replay(path, ECO_BOUNDARY_GPU, &meter), ECO_E_BOUNDARY_MISMATCH);
    /* A trace at hand is never taken unless replay is named. */
    const eco_meter_options unnamed = {.work = {.kind = ECO_BOUNDARY_CPU_PACKAGE},
                                       .config = {.replay_path = path,
                                                  .system_root = "/nonexistent",
                                                  .boundary = {.kind = ECO_BOUNDARY_HOST}}};
    assert_int_equal(eco_meter_open(&unnamed, &meter, &error), ECO_E_UNSUPPORTED);
    assert_false(eco_meter_choose(&unnamed, &status));
    assert_string_equal(status.name, "rapl");
    assert_null(meter);
}

static int make_file(void **state) {
    (void)state;
    const int fd = mkstemp(path);
    return fd >= 0 ? close(fd) : -1;
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plays_by_the_clock),
        cmocka_unit_test(test_golden_trace),
        cmocka_unit_test(test_power_only),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
