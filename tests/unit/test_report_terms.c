/* SPDX-License-Identifier: Apache-2.0
 *
 * Recomputing the terms that a report with an energy counter and five blocks does not have: sampling, and the bootstrap.
 * Twelve blocks of two arms without a counter, power that swings by 2 W about a level known for each window; the terms are
 * worked out here by hand. Then they are moved, and each must be found; what an older report lacks is not missed.
 */
#include "ecocompute/report.h"
#include "ecocompute/stats.h"

#include "test_helpers.h"

#include <stdlib.h>
#include <string.h>

enum { N_ARMS = 2, N_BLOCKS = 12, N_ROWS = 21 };
static const char *const names[N_ARMS] = {"FP16", "NF4"};
static const char *const files[N_ARMS] = {"power_trace_fp16.csv", "power_trace_nf4.csv"};
static const double SWING_W = 2.0, WINDOW_S = 10.0, TOKENS = 1000.0, EDGE_S = 0.004;
/* The counts, where they are reckoned with. */
static const double ROWS = N_ROWS, BLOCKS = N_BLOCKS;
static const double RISE_S = 0.3, PERIOD_S = 0.1, SQRT_3 = 1.7320508075688772;

typedef struct fixture {
    eco_report *report;
    eco_text texts[N_ARMS];
} fixture;

static double level_w(size_t arm, int block) {
    return arm == 0 ? 200.0 : 100.0 + (double)((block * 5) % 7);
}

static double opening_s(size_t arm, int block) {
    return 100.0 * block + 40.0 * (double)arm;
}

/* A swing of ±a over an odd number of rows: its mean is a/n, and the trapezoid between two rows is the level. */
static double scatter(size_t arm) {
    double sum = 0.0;
    for (int block = 1; block <= N_BLOCKS; block++) {
        const double squares = SWING_W * SWING_W * (ROWS - 1.0 / ROWS);
        sum += sqrt(squares / (ROWS - 1.0)) / level_w(arm, block);
    }
    return sum / BLOCKS;
}

static void add_rows(eco_text *text, size_t arm, int block) {
    eco_sample rows[N_ROWS] = {0};
    for (int i = 0; i < N_ROWS; i++) {
        rows[i] = (eco_sample){
            .t_ns = (int64_t)((opening_s(arm, block) + 0.5 * i) * 1e9),
            .power_w = eco_reading_of(level_w(arm, block) + (i % 2 == 0 ? SWING_W : -SWING_W)),
            .tokens = eco_reading_of(7.0 + TOKENS * i / (N_ROWS - 1)),
            .block = block,
            .phase = ECO_PHASE_DECODE};
    }
    eco_trace_write_rows(text, rows, N_ROWS, 0);
}

static void log_ratios(double out[N_BLOCKS]) {
    for (int block = 1; block <= N_BLOCKS; block++) {
        out[block - 1] = log(level_w(1, block) / level_w(0, block));
    }
}

static double sampling_of(size_t arm) {
    const double s = scatter(arm);
    return hypot(s / sqrt(ROWS * BLOCKS), s * (RISE_S + PERIOD_S) / WINDOW_S);
}

static void set_terms(eco_report *r) {
    double log_nf4 = 0.0;
    for (int block = 1; block <= N_BLOCKS; block++) {
        log_nf4 += log(level_w(1, block)) / BLOCKS;
    }
    const double nf4_w = exp(log_nf4);
    const double k = sqrt(BLOCKS);
    const double tick = 2.0 * EDGE_S / SQRT_3 / WINDOW_S / k;
    const double read = sqrt(2.0) / TOKENS / sqrt(6.0) / k;
    const double sampling = hypot(sampling_of(0), sampling_of(1));
    const double offset = 2.0 * fabs(1.0 / nf4_w - 1.0 / 200.0) / SQRT_3;
    const double gain = 0.10 / SQRT_3;
    const double ratio =
        2.0 * sqrt(tick * tick + read * read + sampling * sampling + offset * offset);
    const double absolute = 2.0 * sqrt(tick * tick / 2.0 + read * read / 2.0 +
                                       pow(fmax(sampling_of(0), sampling_of(1)), 2) +
                                       pow(2.0 / nf4_w / SQRT_3, 2) + gain * gain);
    eco_report_set_rounded(r, ECO_FIELD_UX_PCT, ECO_TOP, 100.0 * ratio, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_ABS_PCT, ECO_TOP, 100.0 * absolute, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_TICK, ECO_TOP, 100.0 * tick, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_READ, ECO_TOP, 100.0 * read, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_DRIFT, ECO_TOP, 0.0, 4); /* the order balances out */
    eco_report_set_rounded(r, ECO_FIELD_UX_INTEGRAL, ECO_TOP, 0.0, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_SAMPLING, ECO_TOP, 100.0 * sampling, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_OFFSET, ECO_TOP, 100.0 * offset, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_GAIN, ECO_TOP, 100.0 * gain, 4);
    eco_report_set_number(r, ECO_FIELD_UX_DECLARED_GAIN, ECO_TOP, 10);
    eco_report_set_number(r, ECO_FIELD_UX_DECLARED_OFFSET, ECO_TOP, 2);
}

static void set_bootstrap(eco_report *r) {
    double logs[N_BLOCKS], lo = 0.0, hi = 0.0;
    log_ratios(logs);
    assert_true(eco_bootstrap95(logs, N_BLOCKS, 42, &lo, &hi));
    eco_report_set_rounded(r, ECO_FIELD_UB_LO, ECO_TOP, 100.0 * expm1(lo), 3);
    eco_report_set_rounded(r, ECO_FIELD_UB_HI, ECO_TOP, 100.0 * expm1(hi), 3);
    eco_report_set_integer(r, ECO_FIELD_UB_N, ECO_TOP, 10000);
    eco_report_set_string(r, ECO_FIELD_UB_SEED, ECO_TOP, "42");
}

static void set_arm(eco_report *r, uint32_t arm) {
    const eco_at at = ECO_AT1(arm);
    eco_report_set_string(r, ECO_FIELD_AR_PRECISION, at, names[arm]);
    eco_report_set_string(r, ECO_FIELD_AR_ROLE, at, arm == 0 ? "baseline" : "under_test");
    for (int block = 1; block <= N_BLOCKS; block++) {
        const eco_at window = ECO_AT2(arm, (uint32_t)block - 1);
        eco_report_set_string(r, ECO_FIELD_WI_KIND, window, "decode");
        eco_report_set_integer(r, ECO_FIELD_WI_BLOCK, window, block);
        eco_report_set_integer(r, ECO_FIELD_WI_ORDER, window,
                               1 + (int64_t)((uint32_t)block + arm) % N_ARMS);
        eco_report_set_number(r, ECO_FIELD_WI_UT, window, EDGE_S);
    }
    eco_report_set_string(r, ECO_FIELD_PF_PRECISION, at, names[arm]);
    eco_report_set_string(r, ECO_FIELD_PF_FILE, at, files[arm]);
}

static fixture open_fixture(void) {
    fixture f = {.report = eco_report_new()};
    eco_report *const r = f.report;
    assert_non_null(r);
    eco_report_set_string(r, ECO_FIELD_TR_SEED, ECO_TOP, "42");
    eco_report_set_integer(r, ECO_FIELD_TR_ARMS, ECO_TOP, N_ARMS);
    eco_report_set_integer(r, ECO_FIELD_TR_DONE, ECO_TOP, N_BLOCKS);
    eco_report_set_number(r, ECO_FIELD_MT_POWER_RISE, ECO_TOP, RISE_S);
    eco_report_set_number(r, ECO_FIELD_MT_POWER_PERIOD, ECO_TOP, PERIOD_S);
    for (uint32_t arm = 0; arm < N_ARMS; arm++) {
        set_arm(r, arm);
        eco_trace_write_header(&f.texts[arm]);
        for (int block = 1; block <= N_BLOCKS; block++) {
            add_rows(&f.texts[arm], arm, block);
        }
    }
    set_terms(r);
    set_bootstrap(r);
    return f;
}

static void close_fixture(fixture *f) {
    eco_report_free(f->report);
    eco_text_free(&f->texts[0]);
    eco_text_free(&f->texts[1]);
}

/* The findings on u_expanded and the bootstrap, one a line; the rest of this report is not filled in. */
static void findings_of(const fixture *f, char *out, size_t size) {
    eco_findings findings = {0};
    const eco_trace_text traces[N_ARMS] = {{files[0], f->texts[0].data, f->texts[0].length},
                                           {files[1], f->texts[1].data, f->texts[1].length}};
    eco_report_recompute(f->report, traces, N_ARMS, &findings);
    size_t used = 0;
    out[0] = '\0';
    for (const char *line = findings.lines.data; line != NULL && *line != '\0';) {
        const size_t n = strcspn(line, "\n") + 1;
        if (strncmp(line, "uncertainty.u", 13) == 0 || strncmp(line, "uncertainty.b", 13) == 0) {
            assert_true(used + n < size);
            memcpy(out + used, line, n);
            used += n;
            out[used] = '\0';
        }
        line += n;
    }
    eco_findings_free(&findings);
}

static void expect(const fixture *f, const char *begin) {
    char found[4096];
    findings_of(f, found, sizeof found);
    if (begin[0] == '\0') {
        assert_string_equal(found, "");
    } else if (strncmp(found, begin, strlen(begin)) != 0 ||
               strchr(found, '\n')[1] != '\0') { /* that one alone */
        print_error("want \"%s…\" alone, got:\n%s\n", begin, found);
        fail();
    }
}

static void test_agrees(void **state) {
    (void)state;
    fixture f = open_fixture();
    expect(&f, "");
    close_fixture(&f);
}

static void test_each_is_watched(void **state) {
    (void)state;
    static const struct {
        eco_field field;
        double step;
        const char *name;
    } rows[] = {
        {ECO_FIELD_UX_PCT, 2e-3, "uncertainty.u_expanded.ratio_pct: printed "},
        {ECO_FIELD_UX_ABS_PCT, 2e-3, "uncertainty.u_expanded.absolute_pct: printed "},
        {ECO_FIELD_UX_DRIFT, 2e-4, "uncertainty.u_expanded.drift_pct: printed "},
        {ECO_FIELD_UX_SAMPLING, 4e-3, "uncertainty.u_expanded.sampling_pct: printed "},
        {ECO_FIELD_UX_OFFSET, 2e-4, "uncertainty.u_expanded.sensor_offset_pct: printed "},
        {ECO_FIELD_UX_GAIN, 2e-4, "uncertainty.u_expanded.sensor_gain_pct: printed "},
        {ECO_FIELD_UB_LO, 2e-3, "uncertainty.bootstrap95.lo_pct: printed "},
        {ECO_FIELD_UB_HI, 2e-3, "uncertainty.bootstrap95.hi_pct: printed "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            fixture f = open_fixture();
            double value = 0.0;
            assert_true(eco_report_number(f.report, rows[i].field, ECO_TOP, &value));
            eco_report_set_number(f.report, rows[i].field, ECO_TOP, value + sign * rows[i].step);
            expect(&f, rows[i].name);
            close_fixture(&f);
        }
    }
    fixture f = open_fixture();
    eco_report_set_integer(f.report, ECO_FIELD_UB_N, ECO_TOP, 1000);
    expect(&f, "uncertainty.bootstrap95.resamples: printed 1000, re-derived 10000\n");
    close_fixture(&f);
}

/* Another seed draws another interval, and is not the order's. */
static void test_seed(void **state) {
    (void)state;
    char found[4096];
    fixture f = open_fixture();
    eco_report_set_string(f.report, ECO_FIELD_UB_SEED, ECO_TOP, "43");
    findings_of(&f, found, sizeof found);
    assert_non_null(
        strstr(found, "uncertainty.bootstrap95.seed: printed 43, trials.order_seed is 42\n"));
    eco_report_set_string(f.report, ECO_FIELD_UB_SEED, ECO_TOP, "x");
    expect(&f, "uncertainty.bootstrap95.seed: is no seed to draw with\n");
    close_fixture(&f);
}

/* What is absent is not checked; what is left is. */
static void test_older_report(void **state) {
    (void)state;
    fixture f = open_fixture();
    eco_report_set_null(f.report, ECO_FIELD_TR_ARMS, ECO_TOP);
    expect(&f, ""); /* the order balances out whatever the number of arms */
    eco_report_set_integer(f.report, ECO_FIELD_WI_ORDER, ECO_AT2(1, 0), 2);
    eco_report_set_number(f.report, ECO_FIELD_UX_DRIFT, ECO_TOP, 0.0001);
    expect(&f, ""); /* an order shift of unknown arms: drift is taken as printed, ... */
    eco_report_set_number(f.report, ECO_FIELD_UX_PCT, ECO_TOP, 0.9);
    expect(&f, "uncertainty.u_expanded.ratio_pct: printed 0.9, re-derived "); /* ... not the sum */
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_null(f.report, ECO_FIELD_WI_UT, ECO_AT2(1, 4));
    eco_report_set_number(f.report, ECO_FIELD_UX_TICK, ECO_TOP, 0.0134);
    expect(&f, ""); /* the edges are not all known: near enough for the sum */
    eco_report_set_number(f.report, ECO_FIELD_UX_READ, ECO_TOP, 0.1);
    char found[4096];
    findings_of(&f, found, sizeof found);
    assert_non_null(strstr(found, "uncertainty.u_expanded.read_pct: printed 0.1, re-derived "));
    close_fixture(&f);
}

/* The same report with one arm: its joules have terms of their own, worked out here, and there is no change. */
static fixture open_alone(void) {
    fixture f = open_fixture();
    eco_report *const old = f.report;
    eco_report *const r = f.report = eco_report_new();
    assert_non_null(r);
    eco_report_free(old);
    eco_report_set_integer(r, ECO_FIELD_TR_ARMS, ECO_TOP, 1);
    eco_report_set_integer(r, ECO_FIELD_TR_DONE, ECO_TOP, N_BLOCKS);
    eco_report_set_number(r, ECO_FIELD_MT_POWER_RISE, ECO_TOP, RISE_S);
    eco_report_set_number(r, ECO_FIELD_MT_POWER_PERIOD, ECO_TOP, PERIOD_S);
    set_arm(r, 0);
    const double k = sqrt(BLOCKS);
    const double tick = sqrt(2.0) * EDGE_S / SQRT_3 / WINDOW_S / k;
    const double read = 1.0 / TOKENS / sqrt(6.0) / k;
    const double offset = 2.0 / 200.0 / SQRT_3;
    const double gain = 0.10 / SQRT_3;
    const double absolute = 2.0 * sqrt(tick * tick + read * read + pow(sampling_of(0), 2) +
                                       offset * offset + gain * gain);
    eco_report_set_null(r, ECO_FIELD_UX_PCT, ECO_TOP);
    eco_report_set_rounded(r, ECO_FIELD_UX_ABS_PCT, ECO_TOP, 100.0 * absolute, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_TICK, ECO_TOP, 100.0 * tick, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_READ, ECO_TOP, 100.0 * read, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_INTEGRAL, ECO_TOP, 0.0, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_SAMPLING, ECO_TOP, 100.0 * sampling_of(0), 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_OFFSET, ECO_TOP, 100.0 * offset, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_GAIN, ECO_TOP, 100.0 * gain, 4);
    eco_report_set_number(r, ECO_FIELD_UX_DECLARED_GAIN, ECO_TOP, 10);
    eco_report_set_number(r, ECO_FIELD_UX_DECLARED_OFFSET, ECO_TOP, 2);
    return f;
}

/* A count that moves by eight tokens at a time is known eight times less well. */
static void test_count_step(void **state) {
    (void)state;
    fixture f = open_alone();
    double read = 0.0;
    double absolute = 0.0;
    assert_true(eco_report_number(f.report, ECO_FIELD_UX_READ, ECO_TOP, &read));
    assert_true(eco_report_number(f.report, ECO_FIELD_UX_ABS_PCT, ECO_TOP, &absolute));
    eco_report_set_integer(f.report, ECO_FIELD_UX_COUNT_STEP, ECO_TOP, 8);
    char found[4096];
    findings_of(&f, found, sizeof found);
    assert_non_null(strstr(found, "uncertainty.u_expanded.read_pct: printed "));
    const double step_pct = 100.0 * 8.0 / TOKENS / sqrt(6.0) / sqrt(BLOCKS);
    eco_report_set_rounded(f.report, ECO_FIELD_UX_READ, ECO_TOP, step_pct, 4);
    const double all = sqrt(absolute * absolute + 4.0 * (step_pct * step_pct - read * read));
    eco_report_set_rounded(f.report, ECO_FIELD_UX_ABS_PCT, ECO_TOP, all, 4);
    findings_of(&f, found, sizeof found);
    assert_string_equal(found, "");
    close_fixture(&f);
}

static void test_one_arm(void **state) {
    (void)state;
    static const struct {
        eco_field field;
        double step;
        const char *name;
    } rows[] = {
        {ECO_FIELD_UX_ABS_PCT, 2e-3, "uncertainty.u_expanded.absolute_pct: printed "},
        {ECO_FIELD_UX_TICK, 1e-3, "uncertainty.u_expanded.tick_pct: printed "},
        {ECO_FIELD_UX_OFFSET, 2e-4, "uncertainty.u_expanded.sensor_offset_pct: printed "},
        {ECO_FIELD_UX_SAMPLING, 4e-3, "uncertainty.u_expanded.sampling_pct: printed "},
    };
    fixture f = open_alone();
    expect(&f, "");
    eco_report_set_number(f.report, ECO_FIELD_UX_PCT, ECO_TOP, 0.5);
    expect(&f, "uncertainty.u_expanded.ratio_pct: printed a number, there is one arm\n");
    close_fixture(&f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            f = open_alone();
            double value = 0.0;
            assert_true(eco_report_number(f.report, rows[i].field, ECO_TOP, &value));
            eco_report_set_number(f.report, rows[i].field, ECO_TOP, value + sign * rows[i].step);
            expect(&f, rows[i].name);
            close_fixture(&f);
        }
    }
}

static void test_bootstrap_of_few(void **state) {
    (void)state;
    fixture f = open_fixture();
    char found[4096];
    eco_report_set_integer(f.report, ECO_FIELD_TR_DONE, ECO_TOP, 9);
    findings_of(&f, found, sizeof found);
    assert_non_null(
        strstr(found, "uncertainty.bootstrap95: printed, from 9 blocks; expected 10\n"));
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees),
        cmocka_unit_test(test_each_is_watched),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_older_report),
        cmocka_unit_test(test_bootstrap_of_few),
        cmocka_unit_test(test_one_arm),
        cmocka_unit_test(test_count_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
