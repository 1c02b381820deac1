/* SPDX-License-Identifier: Apache-2.0
 *
 * Recomputing from traces. The golden report's numbers come from other arithmetic (a Python script); they must agree.
 * Then every derived number is moved, and the traces are damaged: each must be found, and named.
 */
#include "core/alloc.h"
#include "ecocompute/report.h"
#include "golden_files.h"
#include "test_helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    eco_report *report;
    char *texts[3];
    eco_trace_text traces[2];
} fixture;

static fixture open_fixture(void) {
    static const char *const files[] = {"power_trace_FP16.csv", "power_trace_NF4.csv"};
    fixture f = {0};
    size_t length = 0;
    eco_error err = {0};
    f.texts[2] = golden_load("energy_1_3_ours.json", &length);
    ASSERT_OK(eco_report_read(f.texts[2], length, "energy.json", &f.report, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        f.texts[i] = golden_load(files[i], &length);
        f.traces[i] = (eco_trace_text){.file = files[i], .text = f.texts[i], .length = length};
    }
    return f;
}

static void close_fixture(fixture *f) {
    eco_report_free(f->report);
    for (size_t i = 0; i < 3; i++) {
        free(f->texts[i]);
    }
}

static uint32_t recompute(const fixture *f, eco_findings *findings) {
    *findings = (eco_findings){0};
    eco_report_recompute(f->report, f->traces, 2, findings);
    return findings->n;
}

/* Exactly one finding, and it begins so. */
static void expect_one(const fixture *f, const char *begin) {
    eco_findings findings;
    const uint32_t n = recompute(f, &findings);
    if (n != 1 || strncmp(findings.lines.data, begin, strlen(begin)) != 0) {
        print_error("want one finding \"%s…\", got %u:\n%s\n", begin, (unsigned)n,
                    n > 0 ? findings.lines.data : "");
        fail();
    }
    assert_int_equal(findings.lines.data[findings.lines.length - 1], '\n');
    eco_findings_free(&findings);
}

/* The first finding that begins so is there, among others. */
static void expect_among(const fixture *f, const char *part) {
    eco_findings findings;
    const uint32_t n = recompute(f, &findings);
    if (n == 0 || strstr(findings.lines.data, part) == NULL) {
        print_error("want a finding with \"%s\", got %u:\n%s\n", part, (unsigned)n,
                    n > 0 ? findings.lines.data : "");
        fail();
    }
    eco_findings_free(&findings);
}

static void test_agrees(void **state) {
    (void)state;
    fixture f = open_fixture();
    eco_findings findings;
    const uint32_t n = recompute(&f, &findings);
    assert_string_equal(n == 0 ? "" : findings.lines.data, "");
    assert_int_equal(n, 0);
    eco_findings_free(&findings);
    close_fixture(&f);
}

static const struct {
    eco_field field;
    int decimals;
    eco_at at;
    const char *name;
} watched[] = {
    {ECO_FIELD_RE_JOULES, 3, {0, 0}, "results.total_energy_joules: printed "},
    {ECO_FIELD_RE_TOKENS, 3, {0, 0}, "results.tokens_generated: printed "},
    {ECO_FIELD_RE_MJ, 3, {0, 0}, "results.energy_per_token_mj: printed "},
    {ECO_FIELD_RE_FP16_MJ, 3, {0, 0}, "results.fp16_energy_per_token_mj: printed "},
    {ECO_FIELD_RE_DELTA, 3, {0, 0}, "results.vs_fp16_energy_pct: printed "},
    {ECO_FIELD_RE_W, 3, {0, 0}, "results.avg_power_watts: printed "},
    {ECO_FIELD_RE_TPS, 3, {0, 0}, "results.throughput_tokens_per_s: printed "},
    {ECO_FIELD_UN_LO, 3, {0, 0}, "uncertainty.ci95_repeat.lo_pct: printed "},
    {ECO_FIELD_UN_HI, 3, {0, 0}, "uncertainty.ci95_repeat.hi_pct: printed "},
    {ECO_FIELD_UN_HALF, 6, {0, 0}, "uncertainty.ci95_repeat.half_width_log: printed "},
    {ECO_FIELD_UN_MEAN, 6, {0, 0}, "uncertainty.ci95_repeat.mean_log_ratio: printed "},
    {ECO_FIELD_UN_SD, 6, {0, 0}, "uncertainty.ci95_repeat.sd_log_ratio: printed "},
    {ECO_FIELD_AR_MJ, 3, {1, 0}, "trials.arms[1].energy_per_token_mj: printed "},
    {ECO_FIELD_AR_MJ_LO, 3, {0, 0}, "trials.arms[0].energy_per_token_lo_mj: printed "},
    {ECO_FIELD_AR_MJ_HI, 3, {0, 0}, "trials.arms[0].energy_per_token_hi_mj: printed "},
    {ECO_FIELD_AR_TPS, 3, {1, 0}, "trials.arms[1].tokens_per_s: printed "},
    {ECO_FIELD_AR_W, 3, {1, 0}, "trials.arms[1].power_w: printed "},
    {ECO_FIELD_AR_PREFILL_MJ, 3, {1, 0}, "trials.arms[1].prefill_per_prompt_token_mj: printed "},
    {ECO_FIELD_AR_PREFILL_TPS, 3, {1, 0}, "trials.arms[1].prefill_tokens_per_s: printed "},
    {ECO_FIELD_AR_GEN_MJ, 3, {1, 0}, "trials.arms[1].generation_per_output_token_mj: printed "},
    {ECO_FIELD_WI_OPEN, 6, {0, 2}, "trials.arms[0].windows[2].t_open_s: printed "},
    {ECO_FIELD_WI_CLOSE, 6, {0, 2}, "trials.arms[0].windows[2].t_close_s: printed "},
    {ECO_FIELD_WI_J, 3, {1, 4}, "trials.arms[1].windows[4].energy_j: printed "},
    {ECO_FIELD_WI_INTEGRAL_J, 3, {1, 4}, "trials.arms[1].windows[4].integral_j: printed "},
    {ECO_FIELD_WI_RATIO, 5, {1, 4}, "trials.arms[1].windows[4].counter_to_integral: printed "},
    {ECO_FIELD_WI_TOKENS, 3, {1, 4}, "trials.arms[1].windows[4].tokens: printed "},
    {ECO_FIELD_WI_MJ, 3, {1, 4}, "trials.arms[1].windows[4].energy_per_token_mj: printed "},
    {ECO_FIELD_WI_W, 3, {1, 6}, "trials.arms[1].windows[6].power_w: printed "},
    {ECO_FIELD_WI_TPS, 3, {1, 5}, "trials.arms[1].windows[5].tokens_per_s: printed "},
    {ECO_FIELD_WI_TEMP_START, 1, {1, 4}, "trials.arms[1].windows[4].temperature_start_c: printed "},
    {ECO_FIELD_WI_TEMP_END, 1, {1, 4}, "trials.arms[1].windows[4].temperature_end_c: printed "},
    {ECO_FIELD_PA_LOG, 6, {3, 0}, "trials.pairs[3].log_ratio: printed "},
    {ECO_FIELD_MT_RATIO, 5, {0, 0}, "meters.counter_to_integral: printed "},
    {ECO_FIELD_AR_NET_MJ, 2, {1, 0}, "trials.arms[1].above_idle_mj: printed "},
    {ECO_FIELD_UX_PCT, 4, {0, 0}, "uncertainty.u_expanded.ratio_pct: printed "},
    {ECO_FIELD_UX_ABS_PCT, 4, {0, 0}, "uncertainty.u_expanded.absolute_pct: printed "},
    {ECO_FIELD_UX_TICK, 4, {0, 0}, "uncertainty.u_expanded.tick_pct: printed "},
    {ECO_FIELD_UX_READ, 4, {0, 0}, "uncertainty.u_expanded.read_pct: printed "},
    {ECO_FIELD_UX_DRIFT, 4, {0, 0}, "uncertainty.u_expanded.drift_pct: printed "},
    {ECO_FIELD_UX_INTEGRAL, 4, {0, 0}, "uncertainty.u_expanded.counter_integral_pct: printed "},
    {ECO_FIELD_UX_SAMPLING, 4, {0, 0}, "uncertainty.u_expanded.sampling_pct: printed "},
    {ECO_FIELD_UX_OFFSET, 4, {0, 0}, "uncertainty.u_expanded.sensor_offset_pct: printed "},
    {ECO_FIELD_UX_GAIN, 4, {0, 0}, "uncertainty.u_expanded.sensor_gain_pct: printed "},
    {ECO_FIELD_EX_BW, 3, {0, 0}, "explain.read_bandwidth_gb_per_s: printed "},
    {ECO_FIELD_EX_BW_W, 3, {0, 0}, "explain.read_power_w: printed "},
    {ECO_FIELD_EX_MJ_GB, 3, {0, 0}, "explain.read_mj_per_gb: printed "},
    {ECO_FIELD_EA_BYTES, 0, {1, 0}, "explain.arms[1].bytes_per_token: printed "},
    {ECO_FIELD_EA_TOKEN_US, 3, {1, 0}, "explain.arms[1].token_us: printed "},
    {ECO_FIELD_EA_ROOF_US, 3, {0, 0}, "explain.arms[0].roofline_us: printed "},
    {ECO_FIELD_EA_ROOF_MJ, 3, {1, 0}, "explain.arms[1].roofline_mj: printed "},
    {ECO_FIELD_EA_BW_SHARE, 4, {1, 0}, "explain.arms[1].bandwidth_share: printed "},
    {ECO_FIELD_EA_LAUNCH_SHARE, 4, {0, 0}, "explain.arms[0].launch_share: printed "},
    {ECO_FIELD_EA_FLOPS, 0, {0, 0}, "explain.arms[0].flops_per_token: printed "},
    {ECO_FIELD_EA_COMPUTE_SHARE, 4, {1, 0}, "explain.arms[1].compute_share: printed "},
    {ECO_FIELD_EA_ENERGY_FACTOR, 3, {1, 0}, "explain.arms[1].energy_over_roofline: printed "},
};

/* One number at a time is moved by two units of its last decimal, up and down. */
static void test_each_number_is_watched(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            fixture f = open_fixture();
            double value = 0;
            assert_true(eco_report_number(f.report, watched[i].field, watched[i].at, &value));
            /* Large numbers are held to one part in a million. */
            const double step = fmax(2 * pow(10, -watched[i].decimals), 2.1e-6 * fabs(value));
            eco_report_set_rounded(f.report, watched[i].field, watched[i].at, value + sign * step,
                                   watched[i].decimals + 1);
            expect_one(&f, watched[i].name);
            close_fixture(&f);
        }
        fixture f = open_fixture();
        eco_report_set_number(f.report, watched[i].field, watched[i].at,
                              (double)INFINITY); /* null */
        eco_findings findings;
        (void)recompute(&f, &findings);
        const bool named =
            findings.n == 1 && strstr(findings.lines.data, "printed nothing") != NULL;
        const bool optional = findings.n == 0 && !eco_field_at(watched[i].field)->required;
        if (!named && !optional) {
            print_error("%s null: %s\n", watched[i].name,
                        findings.n > 0 ? findings.lines.data : "no finding");
            fail();
        }
        eco_findings_free(&findings);
        close_fixture(&f);
    }
}

static void test_counts_and_names(void **state) {
    (void)state;
    fixture f = open_fixture();
    eco_report_set_string(f.report, ECO_FIELD_RE_VERDICT, ECO_TOP, "no difference");
    expect_one(&f, "results.verdict: printed \"no difference\", re-derived \"saves\"");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_integer(f.report, ECO_FIELD_UN_N, ECO_TOP, 6);
    expect_one(&f, "uncertainty.ci95_repeat.n: printed 6, re-derived 5");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_integer(f.report, ECO_FIELD_PA_BLOCK, ECO_AT1(2), 4);
    expect_one(&f, "trials.pairs[2].block: printed 4, re-derived 3");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_integer(f.report, ECO_FIELD_PF_SAMPLES, ECO_AT1(0), 391);
    expect_one(&f, "power_trace.files[0].samples: printed 391, re-derived 392");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_integer(f.report, ECO_FIELD_TR_DONE, ECO_TOP, 6);
    expect_among(&f, "trials.arms[0].windows: finished block 6 is not listed\n");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_integer(f.report, ECO_FIELD_TR_DONE, ECO_TOP,
                           4); /* a block left out of the means */
    expect_among(&f, "uncertainty.ci95_repeat.n: printed 5, re-derived 4");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_integer(f.report, ECO_FIELD_WI_BLOCK, ECO_AT2(1, 2),
                           0); /* a finished block hidden */
    expect_among(
        &f, "trials.arms[1].windows: finished block 3 is not listed, but the trace holds it\n");
    expect_among(
        &f, "trials.arms[1].windows[2]: power_trace_NF4.csv holds no decode window of block 0\n");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_integer(f.report, ECO_FIELD_WI_BLOCK, ECO_AT2(1, 2), 2);
    expect_among(&f, "trials.arms[1].windows[2]: block 2 is listed twice\n");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_string(f.report, ECO_FIELD_WI_KIND, ECO_AT2(1, 2), "ramp");
    expect_among(&f, "trials.arms[1].windows[2]: no kind or block to look for\n");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_string(f.report, ECO_FIELD_AR_ROLE, ECO_AT1(0), "x");
    eco_report_set_string(f.report, ECO_FIELD_AR_ROLE, ECO_AT1(1), "x");
    expect_one(&f, "trials.arms: no arm has the role under_test or baseline");
    close_fixture(&f);
}

/* What the derivation of a term or a roofline reads cannot be moved without its results. */
static void test_inputs_of_terms(void **state) {
    (void)state;
    static const struct {
        eco_field field;
        double value;
        const char *found;
    } rows[] = {
        {ECO_FIELD_UX_DECLARED_GAIN, 4.0, "u_expanded.sensor_gain_pct: printed 2.8868, re-derived"},
        {ECO_FIELD_UX_DECLARED_OFFSET, 4.0, "u_expanded.sensor_offset_pct: printed 0.154, re-"},
        {ECO_FIELD_TR_ARMS, 3, "u_expanded.drift_pct: printed 0.0026, re-derived"},
        {ECO_FIELD_WI_UT, 0.0031, "u_expanded.tick_pct: printed 0.0871, re-derived"},
        {ECO_FIELD_EX_UNIT_BYTES, 2147483649.0 * 1.01, "read_bandwidth_gb_per_s: printed 599.725"},
        {ECO_FIELD_EX_LAUNCH_US, 15.26, "explain.arms[1].launch_share: printed 0.5584, re-derived"},
        {ECO_FIELD_EX_FP16, 12.345 * 1.02,
         "explain.arms[1].compute_share: printed 0.0405, re-derived 0.0396"},
        {ECO_FIELD_EX_FP16, 0.5,
         "explain.arms[1].bound: printed \"launch-bound\", re-derived \"compute-bound\"\n"},
        {ECO_FIELD_WL_PROMPT, 127,
         "explain.arms[0].bytes_per_token: printed 2074818560, re-derived"},
        {ECO_FIELD_WL_PROMPT, 127,
         "explain.arms[0].flops_per_token: printed 2115158016, re-derived"},
        /* Four in step share every weight and norm, not the cache and the row of the embedding. */
        {ECO_FIELD_WL_BATCH, 4,
         "explain.arms[0].bytes_per_token: printed 2074818560, re-derived 523049984"},
        {ECO_FIELD_WL_BATCH, 4, "explain.arms[1].launch_share: printed 0.5584, re-derived 0.1396"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f = open_fixture();
        if (eco_field_at(rows[i].field)->type == ECO_TYPE_INTEGER) {
            eco_report_set_integer(f.report, rows[i].field, ECO_TOP, (int64_t)rows[i].value);
        } else {
            for (uint32_t block = 0; block < 5; block++) { /* of arm NF4, where it is per window */
                eco_report_set_number(f.report, rows[i].field, ECO_AT2(1, block), rows[i].value);
            }
        }
        expect_among(&f, rows[i].found);
        close_fixture(&f);
    }
    fixture f = open_fixture(); /* places swapped in one block: the order leaves more over */
    eco_report_set_integer(f.report, ECO_FIELD_WI_ORDER, ECO_AT2(1, 1), 2);
    expect_among(&f, "u_expanded.drift_pct: printed 0.0026, re-derived");
    close_fixture(&f);
    f = open_fixture();
    eco_report_add_string(f.report, ECO_FIELD_WI_THROTTLE, ECO_AT2(1, 3), "thermal");
    expect_among(&f, "explain.arms[1].bound: printed \"launch-bound\", re-derived \"throttled\"\n");
    close_fixture(&f);
}

/* Products of INT8 activations have a ceiling of their own. */
static void test_matrix_rate_by_format(void **state) {
    (void)state;
    fixture f = open_fixture();
    eco_report_set_number(f.report, ECO_FIELD_EX_INT8, ECO_TOP, 1.0); /* of no arm of these */
    eco_findings findings;
    assert_int_equal(recompute(&f, &findings), 0);
    eco_findings_free(&findings);
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_string(f.report, ECO_FIELD_AR_PRECISION, ECO_AT1(1), "INT8");
    eco_report_set_string(f.report, ECO_FIELD_PF_PRECISION, ECO_AT1(0), "INT8");
    expect_among(&f, "explain.arms[1].compute_share: printed 0.0405, re-derived 0.0203");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_null(f.report, ECO_FIELD_EX_FP16, ECO_TOP);
    expect_among(&f, "explain.arms[0].compute_share: printed a number, the trace has none\n");
    close_fixture(&f);
}

static void test_explain_texts(void **state) {
    (void)state;
    fixture f = open_fixture();
    eco_report_set_string(f.report, ECO_FIELD_EA_BOUND, ECO_AT1(0), "launch-bound");
    expect_one(&f,
               "explain.arms[0].bound: printed \"launch-bound\", re-derived \"bandwidth-bound\"");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_string(f.report, ECO_FIELD_EA_PRECISION, ECO_AT1(0), "NF4");
    expect_one(&f, "explain.arms[0].precision: is not that of trials.arms[0]\n");
    close_fixture(&f);
    f = open_fixture();
    const char *why = NULL;
    assert_true(eco_report_string(f.report, ECO_FIELD_EX_WHY, ECO_TOP, &why));
    char other[512];
    assert_true(strlen(why) < sizeof other);
    memcpy(other, why, strlen(why) + 1);
    char *const digit = strstr(other, "27 % of it");
    assert_non_null(digit);
    digit[1] = '8';
    eco_report_set_string(f.report, ECO_FIELD_EX_WHY, ECO_TOP, other);
    expect_one(&f, "explain.why: printed \"4 is launch-bound (28 % of it).\", re-derived \"");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_string(f.report, ECO_FIELD_EX_ADVICE, ECO_TOP, "NF4 is fine.");
    expect_one(&f, "explain.advice: printed \"NF4 is fine.\", re-derived \"NF4 spends its time");
    close_fixture(&f);
}

/* A headline must not become true by what is left out of the report. */
static void test_structure(void **state) {
    (void)state;
    fixture f = open_fixture();
    eco_report_set_string(f.report, ECO_FIELD_AR_ROLE, ECO_AT1(0), "under_test");
    expect_among(&f, "trials.arms: one baseline and at most one arm under test are expected, found "
                     "0 and 2 of 2\n");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_string(f.report, ECO_FIELD_AR_ROLE, ECO_AT1(1), "baseline");
    expect_among(&f, "results.vs_fp16_energy_pct: printed a number, there is one arm\n");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_string(f.report, ECO_FIELD_WL_PRECISION, ECO_TOP, "INT8");
    expect_one(&f, "workload.precision: is not that of the arm it reports\n");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_null(f.report, ECO_FIELD_ME_MARGIN, ECO_TOP);
    expect_one(&f, "measurement.margin_pct: is missing, so no verdict follows\n");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_integer(f.report, ECO_FIELD_TR_PLANNED, ECO_TOP, 50);
    expect_one(&f, "trials.blocks_finished: 5 of 50, and no warning says partial\n");
    eco_report_warn(f.report, ECO_WARNING_PARTIAL, NULL);
    eco_findings findings;
    assert_int_equal(recompute(&f, &findings), 0);
    eco_findings_free(&findings);
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_integer(f.report, ECO_FIELD_TR_DONE, ECO_TOP, 4);
    expect_among(&f, "trials.blocks_finished: 4, but the traces hold a whole block 5\n");
    close_fixture(&f);
}

static void test_traces_missing_or_damaged(void **state) {
    (void)state;
    fixture f = open_fixture();
    f.traces[1].file = "another.csv";
    expect_one(&f, "power_trace_NF4.csv: the trace was not given");
    close_fixture(&f);
    f = open_fixture();
    f.traces[1].length--;
    expect_one(&f, "power_trace_NF4.csv:393: the last line is cut: no line feed");
    close_fixture(&f);
    f = open_fixture();
    eco_report_set_string(f.report, ECO_FIELD_PF_PRECISION, ECO_AT1(0), "INT8");
    expect_one(&f, "trials.arms[1]: power_trace.files names no trace for it");
    close_fixture(&f);
    f = open_fixture(); /* the last energy of a window, 100 J more */
    char *const cell = strstr(f.texts[1], ",90");
    assert_non_null(cell);
    cell[3] = (char)(cell[3] == '9' ? '8' : cell[3] + 1);
    expect_among(&f, "trials.arms[1].windows[0].energy_j: printed ");
    expect_among(&f, "results.total_energy_joules: printed ");
    close_fixture(&f);
}

static void test_nothing_to_do(void **state) {
    (void)state;
    eco_report *report = eco_report_new();
    eco_findings findings = {0};
    eco_report_recompute(report, NULL, 0, &findings);
    assert_string_equal(
        findings.lines.data,
        "trials: no arms or no count of finished blocks; nothing can be re-derived\n");
    eco_findings_free(&findings);
    for (uint32_t i = 0; i < 9; i++) {
        eco_report_set_string(report, ECO_FIELD_AR_PRECISION, ECO_AT1(i), "FP16");
    }
    eco_report_set_integer(report, ECO_FIELD_TR_DONE, ECO_TOP, 5);
    eco_report_recompute(report, NULL, 0, &findings);
    assert_string_equal(findings.lines.data, "trials: more than 8 arms or 1024 blocks\n");
    eco_findings_free(&findings);
    eco_report_free(report);
}

/* A finding is one line, whatever text it carries. */
static void test_findings_are_lines(void **state) {
    (void)state;
    eco_findings findings = {0};
    eco_findings_add(&findings, "a\nb\x1b[2J%s\x7f \xc2\x9b \xc3\xa4", "\xff");
    assert_string_equal(findings.lines.data, "a\\u000ab\\u001b[2J\\xff\\u007f \\u009b \xc3\xa4\n");
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    eco_findings_add(&findings, "%s", longer);
    assert_int_equal(findings.n, 2);
    assert_true(findings.lines.length < 600);
    eco_findings_free(&findings);
    assert_int_equal(findings.n, 0);
}

/* Every allocation of reading, setting, recomputing and writing fails in turn; debug builds only. Whatever fails, the
 * end is told: a status, a finding, or a failed text. */
static void test_out_of_memory(void **state) {
    (void)state;
    if (!ecoi_alloc_checked()) {
        skip();
    }
    fixture f = open_fixture();
    const size_t length = strlen(f.texts[2]);
    bool done = false;
    uint64_t nth = 1;
    for (; !done; nth++) {
        eco_report *report = NULL;
        eco_error err = {0};
        eco_findings findings = {0};
        eco_text text = {0};
        ecoi_alloc_fail_from(nth);
        eco_status status = eco_report_read(f.texts[2], length, "energy.json", &report, &err);
        if (status == ECO_OK) {
            for (uint32_t i = 0; i < 500; i++) {
                eco_report_set_string(report, ECO_FIELD_EN_SIBLING_NAME, ECO_AT1(i),
                                      "a sibling of the card");
            }
            eco_report_recompute(report, f.traces, 2, &findings);
            status = eco_report_write(report, &text, &err);
        }
        ecoi_alloc_fail_from(0);
        assert_true(status == ECO_OK || (status == ECO_E_NO_MEMORY && err.code == ECO_E_NO_MEMORY));
        done = status == ECO_OK && findings.n == 0;
        assert_true(!done || (text.length > length && !text.failed));
        eco_findings_free(&findings);
        eco_text_free(&text);
        eco_report_free(report);
    }
    print_message("%u allocations failed in turn\n", (unsigned)nth - 1);
    assert_true(nth > 20);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees),
        cmocka_unit_test(test_each_number_is_watched),
        cmocka_unit_test(test_counts_and_names),
        cmocka_unit_test(test_inputs_of_terms),
        cmocka_unit_test(test_matrix_rate_by_format),
        cmocka_unit_test(test_explain_texts),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_traces_missing_or_damaged),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_findings_are_lines),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
