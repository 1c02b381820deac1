/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces: what is written, that it reads back to the same bytes, and what a reader refuses, with the line named.
 */
#include "core/rng.h"
#include "ecocompute/trace.h"
#include "test_helpers.h"

#include <stdlib.h>
#include <string.h>

#define HEADER "t_s,power_w,energy_j,tokens,temp_c,block,phase\n"

static void test_written_form(void **state) {
    (void)state;
    const eco_sample rows[] = {
        {.t_ns = 1000000000,
         .power_w = eco_reading_of(71.5),
         .temp_c = eco_reading_of(34),
         .phase = ECO_PHASE_IDLE_BARE},
        {.t_ns = 3234567499,
         .energy_j = eco_reading_of(1234567.8905),
         .tokens = eco_reading_of(0),
         .block = 2,
         .phase = ECO_PHASE_DECODE},
        {.t_ns = 3234567500,
         .tokens = eco_reading_of(12.34549),
         .block = 2,
         .phase = ECO_PHASE_DECODE},
        {.t_ns = 999999499,
         .power_w = eco_reading_absent(ECO_ABSENT_FAILED),
         .phase = ECO_PHASE_RAMP},
        {.t_ns = 499999999, .phase = ECO_PHASE_RAMP},
        {.t_ns = 999999900, .phase = ECO_PHASE_LOAD},
    };
    eco_text out = {0};
    eco_trace_write_header(&out);
    eco_trace_write_rows(&out, rows, sizeof rows / sizeof rows[0], 1000000000);
    assert_string_equal(out.data, HEADER "0.000000,71.500,,,34.0,0,idle_bare\n"
                                         "2.234567,,1234567.890,0.000,,2,decode\n"
                                         "2.234568,,,12.345,,2,decode\n"
                                         "-0.000001,,,,,0,ramp\n"
                                         "-0.500000,,,,,0,ramp\n"
                                         "0.000000,,,,,0,load\n");
    eco_text_free(&out);
}

static eco_reading random_reading(uint64_t *seed, double scale) {
    const uint64_t r = ecoi_rng_next(seed);
    return r % 4 == 0 ? eco_reading_absent(ECO_ABSENT_STALE)
                      : eco_reading_of((double)(r >> 11) / 9007199254740992.0 * scale);
}

static void test_round_trip(void **state) {
    (void)state;
    enum { N_ROWS = 20000 };
    eco_sample *const rows = calloc(N_ROWS, sizeof *rows);
    uint64_t seed = 11;
    int64_t t_ns = -5000000000;
    for (size_t i = 0; i < N_ROWS; i++) {
        t_ns += (int64_t)(ecoi_rng_next(&seed) % 100000000);
        rows[i] = (eco_sample){.t_ns = t_ns,
                               .power_w = random_reading(&seed, 700),
                               .energy_j = random_reading(&seed, 1e7),
                               .tokens = random_reading(&seed, 1e6),
                               .temp_c = random_reading(&seed, 90),
                               .block = (int32_t)ecoi_rng_below(&seed, 64),
                               .phase = (eco_phase)ecoi_rng_below(&seed, ECO_PHASE_COUNT)};
    }
    eco_text first = {0}, second = {0};
    eco_trace_write_header(&first);
    eco_trace_write_rows(&first, rows, N_ROWS, 0);
    eco_sample *back = NULL;
    size_t n = 0;
    eco_error err = {0};
    ASSERT_OK(eco_trace_parse(first.data, first.length, "t.csv", &back, &n, &err), &err);
    assert_int_equal(n, N_ROWS);
    for (size_t i = 0; i < n; i++) {
        assert_true(llabs(back[i].t_ns - rows[i].t_ns) <= 500);
        assert_int_equal(eco_reading_present(back[i].power_w),
                         eco_reading_present(rows[i].power_w));
        if (eco_reading_present(back[i].energy_j)) {
            ASSERT_NEAR(back[i].energy_j.value, rows[i].energy_j.value, 0.00050001);
        }
        assert_int_equal(back[i].block, rows[i].block);
        assert_int_equal(back[i].phase, rows[i].phase);
    }
    eco_trace_write_header(&second);
    eco_trace_write_rows(&second, back, n, 0);
    assert_int_equal(second.length, first.length);
    assert_memory_equal(second.data, first.data, first.length);
    free(back);
    free(rows);
    eco_text_free(&first);
    eco_text_free(&second);
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "t.csv:1: the file is empty"},
        {"t_s,power_w\n",
         "t.csv:1: expected the columns t_s,power_w,energy_j,tokens,temp_c,block,phase"},
        {"t_s,power_w,energy_j,tokens,temp_c,block,phase\r\n",
         "t.csv:1: carriage return: lines must end with a line feed only"},
        {HEADER "1,2,3,4,5,1,decode\r\n",
         "t.csv:2: carriage return: lines must end with a line feed only"},
        {HEADER "1,2,3,4,5,1,decode", "t.csv:2: the last line is cut: no line feed"},
        {HEADER "1,2,3,4,5,1\n", "t.csv:2: fewer than 7 columns"},
        {HEADER "1,2,3,4,5,1,decode,\n", "t.csv:2: more than 7 columns"},
        {HEADER "\n", "t.csv:2: fewer than 7 columns"},
        {HEADER "1,2,3,4,5,1,decode\n,2,3,4,5,1,decode\n",
         "t.csv:3: t_s: expected seconds, at most 9 decimals"},
        {HEADER "1e3,2,3,4,5,1,decode\n", "t.csv:2: t_s: expected seconds, at most 9 decimals"},
        {HEADER "1.,2,3,4,5,1,decode\n", "t.csv:2: t_s: expected seconds, at most 9 decimals"},
        {HEADER "1.0000000001,2,3,4,5,1,decode\n",
         "t.csv:2: t_s: expected seconds, at most 9 decimals"},
        {HEADER "2000000000,2,3,4,5,1,decode\n",
         "t.csv:2: t_s: expected seconds, at most 9 decimals"},
        {HEADER "1,nan,3,4,5,1,decode\n", "t.csv:2: power_w: expected a number or nothing"},
        {HEADER "1,2,1e999,4,5,1,decode\n", "t.csv:2: energy_j: expected a number or nothing"},
        {HEADER "1,2,3,0x4,5,1,decode\n", "t.csv:2: tokens: expected a number or nothing"},
        {HEADER "1,2,3,4, 5,1,decode\n", "t.csv:2: temp_c: expected a number or nothing"},
        {HEADER "1,2,3,4,5,-1,decode\n", "t.csv:2: block: expected 0 or a block number"},
        {HEADER "1,2,3,4,5,2147483648,decode\n", "t.csv:2: block: expected 0 or a block number"},
        {HEADER "1,2,3,4,5,,decode\n", "t.csv:2: block: expected 0 or a block number"},
        {HEADER "1,2,3,4,5,1,Decode\n", "t.csv:2: phase: unknown phase"},
        {HEADER "1,2,3,4,5,1,\n", "t.csv:2: phase: unknown phase"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        eco_sample *back = NULL;
        size_t n = 1;
        eco_error err = {0};
        assert_int_equal(
            eco_trace_parse(rows[i].text, strlen(rows[i].text), "t.csv", &back, &n, &err),
            ECO_E_PARSE);
        assert_string_equal(err.message, rows[i].message);
        assert_null(back);
        assert_int_equal(n, 0);
    }
}

static void test_caps(void **state) {
    (void)state;
    eco_sample *back = NULL;
    size_t n = 0;
    eco_error err = {0};
    char line[sizeof HEADER + ECO_TRACE_LINE_MAX + 2] = HEADER;
    memset(line + sizeof HEADER - 1, '1', ECO_TRACE_LINE_MAX + 1);
    line[sizeof HEADER + ECO_TRACE_LINE_MAX] = '\n';
    assert_int_equal(eco_trace_parse(line, sizeof line - 1, "t.csv", &back, &n, &err), ECO_E_PARSE);
    assert_string_equal(err.message, "t.csv:2: line longer than 256 bytes");
    const size_t size = (size_t)ECO_TRACE_ROWS_MAX + 2;
    char *const text = malloc(size);
    memset(text, '\n', size);
    assert_int_equal(eco_trace_parse(text, size, "t.csv", &back, &n, &err), ECO_E_RANGE);
    assert_string_equal(err.message, "t.csv: more than 4000000 rows");
    free(text);
    ASSERT_OK(eco_trace_parse(HEADER, sizeof HEADER - 1, "t.csv", &back, &n, &err), &err);
    assert_int_equal(n, 0);
    free(back);
}

/* Times are read as decimals, not through a double. */
static void test_exact_time(void **state) {
    (void)state;
    eco_sample *back = NULL;
    size_t n = 0;
    eco_error err = {0};
    static const char text[] =
        HEADER "999999999.999999999,,,,,0,ramp\n-0.000000001,,,,,0,ramp\n7,,,,,0,ramp\n";
    ASSERT_OK(eco_trace_parse(text, sizeof text - 1, "t.csv", &back, &n, &err), &err);
    assert_int_equal(n, 3);
    assert_true(back[0].t_ns == 999999999999999999);
    assert_true(back[1].t_ns == -1);
    assert_true(back[2].t_ns == 7000000000);
    assert_int_equal(back[2].power_w.absence, ECO_ABSENT_NOT_READ);
    free(back);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_form), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_caps),
        cmocka_unit_test(test_exact_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
