/* SPDX-License-Identifier: Apache-2.0
 *
 * Recomputing a report of the published protocol: windows of whole generations in blocks, told per generated token. Two
 * arms of two blocks, with numbers worked out by hand from round ones; then they are moved, and each must be found.
 *
 * 4 prompt and 16 generated tokens, 5 generations: 100 steps in a window of 10 s; a generated token is 1.25 steps. FP16
 * draws 200 W and 300 W in its blocks, NF4 100 W in both: 25, 37.5 and 12.5 J a generated token.
 */
#include "ecocompute/report.h"

#include "test_helpers.h"

#include <string.h>

enum { N_ARMS = 2, N_BLOCKS = 2, N_ROWS = 21, STEPS = 100 };
static const double watts[N_ARMS][N_BLOCKS] = {{200, 300}, {100, 100}};
static const char *const names[N_ARMS] = {"FP16", "NF4"};
static const char *const files[N_ARMS] = {"power_trace_fp16.csv", "power_trace_nf4.csv"};

typedef struct fixture {
    eco_report *report;
    eco_text texts[N_ARMS];
    double steps; /* of every window's trace */
} fixture;

static double opening_s(size_t arm, int block) {
    return 100.0 * block + 40.0 * (double)arm;
}

/* One window: a row each half second, the counter at its ends. */
static void add_rows(eco_text *text, size_t arm, int block, double steps) {
    eco_sample rows[N_ROWS] = {0};
    for (int i = 0; i < N_ROWS; i++) {
        const double joules = 5000.0 * block + watts[arm][block - 1] * 0.5 * i;
        rows[i] = (eco_sample){.t_ns = (int64_t)((opening_s(arm, block) + 0.5 * i) * 1e9),
                               .power_w = eco_reading_of(watts[arm][block - 1]),
                               .tokens = eco_reading_of(40.0 + steps * i / (N_ROWS - 1)),
                               .block = block,
                               .phase = ECO_PHASE_GENERATION};
        if (i % (N_ROWS - 1) == 0) {
            rows[i].energy_j = eco_reading_of(joules);
        }
    }
    eco_trace_write_rows(text, rows, N_ROWS, 0);
}

static void set_window(eco_report *r, uint32_t arm, int block) {
    const eco_at at = ECO_AT2(arm, (uint32_t)block - 1);
    const double w = watts[arm][block - 1];
    eco_report_set_string(r, ECO_FIELD_WI_KIND, at, "generation");
    eco_report_set_integer(r, ECO_FIELD_WI_BLOCK, at, block);
    eco_report_set_rounded(r, ECO_FIELD_WI_OPEN, at, opening_s(arm, block), 6);
    eco_report_set_rounded(r, ECO_FIELD_WI_CLOSE, at, opening_s(arm, block) + 10.0, 6);
    eco_report_set_rounded(r, ECO_FIELD_WI_J, at, w * 10.0, 3);
    eco_report_set_rounded(r, ECO_FIELD_WI_TOKENS, at, STEPS, 3); /* of a window: steps */
    eco_report_set_rounded(r, ECO_FIELD_WI_MJ, at, w * 100.0, 3);
    eco_report_set_rounded(r, ECO_FIELD_WI_W, at, w, 3);
    eco_report_set_rounded(r, ECO_FIELD_WI_TPS, at, 10.0, 3);
}

static void set_arm(eco_report *r, uint32_t arm) {
    const eco_at at = ECO_AT1(arm);
    eco_report_set_string(r, ECO_FIELD_AR_PRECISION, at, names[arm]);
    eco_report_set_string(r, ECO_FIELD_AR_ROLE, at, arm == 0 ? "baseline" : "under_test");
    eco_report_set_rounded(r, ECO_FIELD_AR_MJ, at, arm == 0 ? 30618.622 : 12500.0, 3);
    eco_report_set_rounded(r, ECO_FIELD_AR_TPS, at, 8.0, 3);
    eco_report_set_rounded(r, ECO_FIELD_AR_W, at, arm == 0 ? 244.949 : 100.0, 3);
    for (int block = 1; block <= N_BLOCKS; block++) {
        set_window(r, arm, block);
    }
    eco_report_set_string(r, ECO_FIELD_PF_PRECISION, at, names[arm]);
    eco_report_set_string(r, ECO_FIELD_PF_ROLE, at, arm == 0 ? "fp16_baseline" : "primary");
    eco_report_set_string(r, ECO_FIELD_PF_FILE, at, files[arm]);
    eco_report_set_integer(r, ECO_FIELD_PF_SAMPLES, at, (int64_t)N_BLOCKS * N_ROWS);
}

/* ln(1/2) and ln(1/3): mean ln(6)/-2, standard deviation ln(3/2)/√2; t of one degree of freedom is 12.7062. */
static void set_change(eco_report *r) {
    const double mean = -log(6.0) / 2.0;
    const double sd = log(1.5) / sqrt(2.0);
    const double half = 12.706204736432095 * sd / sqrt(2.0);
    eco_report_set_rounded(r, ECO_FIELD_RE_DELTA, ECO_TOP, 100.0 * (sqrt(1.0 / 6.0) - 1.0), 3);
    eco_report_set_rounded(r, ECO_FIELD_UN_MEAN, ECO_TOP, mean, 6);
    eco_report_set_rounded(r, ECO_FIELD_UN_SD, ECO_TOP, sd, 6);
    eco_report_set_rounded(r, ECO_FIELD_UN_HALF, ECO_TOP, half, 6);
    eco_report_set_rounded(r, ECO_FIELD_UN_LO, ECO_TOP, 100.0 * expm1(mean - half), 3);
    eco_report_set_rounded(r, ECO_FIELD_UN_HI, ECO_TOP, 100.0 * expm1(mean + half), 3);
    eco_report_set_integer(r, ECO_FIELD_UN_N, ECO_TOP, N_BLOCKS);
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        eco_report_set_integer(r, ECO_FIELD_PA_BLOCK, ECO_AT1(i), (int64_t)i + 1);
        eco_report_set_rounded(r, ECO_FIELD_PA_LOG, ECO_AT1(i), -log(2.0 + i), 6);
    }
}

static fixture open_fixture(double steps) {
    fixture f = {.report = eco_report_new(), .steps = steps};
    eco_report *r = f.report;
    assert_non_null(r);
    eco_report_set_string(r, ECO_FIELD_WL_PRECISION, ECO_TOP, names[1]);
    eco_report_set_integer(r, ECO_FIELD_TR_PLANNED, ECO_TOP, N_BLOCKS);
    eco_report_set_integer(r, ECO_FIELD_WL_PROMPT, ECO_TOP, 4);
    eco_report_set_integer(r, ECO_FIELD_WL_TOKENS, ECO_TOP, 16);
    eco_report_set_integer(r, ECO_FIELD_ME_ITERATIONS, ECO_TOP, 5);
    eco_report_set_string(r, ECO_FIELD_ME_WINDOW, ECO_TOP, "generation");
    eco_report_set_number(r, ECO_FIELD_ME_MARGIN, ECO_TOP, 3);
    eco_report_set_rounded(r, ECO_FIELD_RE_JOULES, ECO_TOP, 2000, 3);
    eco_report_set_rounded(r, ECO_FIELD_RE_TOKENS, ECO_TOP, 160, 3);
    eco_report_set_rounded(r, ECO_FIELD_RE_MJ, ECO_TOP, 12500, 3);
    eco_report_set_rounded(r, ECO_FIELD_RE_FP16_MJ, ECO_TOP, 30618.622, 3);
    eco_report_set_rounded(r, ECO_FIELD_RE_W, ECO_TOP, 100, 3);
    eco_report_set_rounded(r, ECO_FIELD_RE_TPS, ECO_TOP, 8, 3);
    eco_report_set_string(r, ECO_FIELD_RE_VERDICT, ECO_TOP, "inconclusive");
    eco_report_set_integer(r, ECO_FIELD_TR_DONE, ECO_TOP, N_BLOCKS);
    eco_report_set_string(r, ECO_FIELD_TR_SEED, ECO_TOP, "1");
    set_change(r);
    for (uint32_t arm = 0; arm < N_ARMS; arm++) {
        set_arm(r, arm);
        eco_trace_write_header(&f.texts[arm]);
        for (int block = 1; block <= N_BLOCKS; block++) {
            add_rows(&f.texts[arm], arm, block, steps);
        }
        assert_false(f.texts[arm].failed);
    }
    return f;
}

/* Recomputes, frees, and expects the findings to begin so; "" = none. */
static void expect(fixture *f, uint32_t n, const char *begin) {
    eco_trace_text traces[N_ARMS];
    eco_findings findings = {0};
    for (size_t i = 0; i < N_ARMS; i++) {
        traces[i] = (eco_trace_text){
            .file = files[i], .text = f->texts[i].data, .length = f->texts[i].length};
    }
    eco_report_recompute(f->report, traces, N_ARMS, &findings);
    const char *got = findings.lines.data != NULL ? findings.lines.data : "";
    if (findings.n != n || strncmp(got, begin, strlen(begin)) != 0) {
        print_error("want %u findings \"%s…\", got %u:\n%s\n", n, begin, findings.n, got);
        fail();
    }
    eco_findings_free(&findings);
    eco_report_free(f->report);
    for (size_t i = 0; i < N_ARMS; i++) {
        eco_text_free(&f->texts[i]);
    }
}

static void agrees(void **state) {
    (void)state;
    fixture f = open_fixture(STEPS);
    expect(&f, 0, "");
}

/* Told per step, the commonest mistake, or with one number moved. */
static void headline_is_per_generated_token(void **state) {
    (void)state;
    static const struct {
        eco_field field;
        eco_at at;
        double value;
        const char *finding;
    } moved[] = {
        {ECO_FIELD_RE_MJ, {0, 0}, 10000, "results.energy_per_token_mj: printed 10000, "},
        {ECO_FIELD_RE_TOKENS, {0, 0}, 200, "results.tokens_generated: printed 200, "},
        {ECO_FIELD_RE_TPS, {0, 0}, 10, "results.throughput_tokens_per_s: printed 10, "},
        {ECO_FIELD_RE_FP16_MJ, {0, 0}, 30618.7, "results.fp16_energy_per_token_mj: printed "},
        {ECO_FIELD_AR_MJ, {1, 0}, 12500.02, "trials.arms[1].energy_per_token_mj: printed "},
        {ECO_FIELD_AR_TPS, {0, 0}, 8.01, "trials.arms[0].tokens_per_s: printed "},
        {ECO_FIELD_WI_TOKENS, {1, 1}, 80, "trials.arms[1].windows[1].tokens: printed 80, "},
    };
    for (size_t i = 0; i < sizeof moved / sizeof moved[0]; i++) {
        fixture f = open_fixture(STEPS);
        eco_report_set_number(f.report, moved[i].field, moved[i].at, moved[i].value);
        expect(&f, 1, moved[i].finding);
    }
}

/* The trace knows how many generations a window held. */
static void iterations_are_counted(void **state) {
    (void)state;
    fixture f = open_fixture(STEPS);
    eco_report_set_integer(f.report, ECO_FIELD_ME_ITERATIONS, ECO_TOP, 6);
    expect(&f, 4,
           "measurement.iterations: printed 6, trials.arms[0].windows[0] holds 5.00 generations\n");
    f = open_fixture(STEPS + 11); /* half a generation is ten steps */
    eco_findings findings = {0};
    const eco_trace_text traces[N_ARMS] = {
        {.file = files[0], .text = f.texts[0].data, .length = f.texts[0].length},
        {.file = files[1], .text = f.texts[1].data, .length = f.texts[1].length}};
    eco_report_recompute(f.report, traces, N_ARMS, &findings);
    assert_non_null(
        strstr(findings.lines.data, "trials.arms[1].windows[1] holds 5.55 generations\n"));
    eco_findings_free(&findings);
    /* Ticks of two seconds catch no window nearer than that. */
    eco_report_set_number(f.report, ECO_FIELD_MT_TICK, ECO_TOP, 2.0);
    eco_report_recompute(f.report, traces, N_ARMS, &findings);
    assert_null(strstr(findings.lines.data, "measurement.iterations"));
    eco_findings_free(&findings);
    eco_report_set_null(f.report, ECO_FIELD_WL_PROMPT, ECO_TOP);
    expect(&f, 1, "measurement.window: generation, but workload.prompt_tokens, ");
}

/* A finished block may not be left out, nor told twice. */
static void blocks_are_complete(void **state) {
    (void)state;
    fixture f = open_fixture(STEPS);
    eco_report_set_integer(f.report, ECO_FIELD_WI_BLOCK, ECO_AT2(0, 1), 1);
    eco_findings findings = {0};
    const eco_trace_text traces[N_ARMS] = {
        {.file = files[0], .text = f.texts[0].data, .length = f.texts[0].length},
        {.file = files[1], .text = f.texts[1].data, .length = f.texts[1].length}};
    eco_report_recompute(f.report, traces, N_ARMS, &findings);
    assert_non_null(
        strstr(findings.lines.data, "trials.arms[0].windows[1]: block 1 is listed twice\n"));
    assert_non_null(strstr(findings.lines.data, "trials.arms[0].windows: finished block 2 is not "
                                                "listed, but the trace holds it\n"));
    eco_findings_free(&findings);
    eco_report_set_integer(f.report, ECO_FIELD_WI_BLOCK, ECO_AT2(0, 1), 2);
    expect(&f, 0, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees),
        cmocka_unit_test(headline_is_per_generated_token),
        cmocka_unit_test(iterations_are_counted),
        cmocka_unit_test(blocks_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
