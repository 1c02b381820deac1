/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema check: a good report has no finding; each broken rule gives exactly its line; old and foreign reports are
 * held only against what they promise.
 */
#include "ecocompute/report.h"
#include "golden_files.h"
#include "test_helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                   \
    "{\"schema_version\":\"ecocompute-energy/" \
    "1.0\",\"benchmark\":\"ecocompute-energy-methodology\",\"scenario\":\"SingleStream\","
#define SUT \
    "\"system_under_test\":{\"gpu\":\"T4\",\"gpu_arch\":\"turing\",\"accelerator_count\":1},"
#define WORK "\"workload\":{\"model_name\":\"m\",\"precision\":\"NF4\",\"batch_size\":1},"
#define MEASURE "\"measurement\":{\"method\":\"nvml\",\"sample_rate_hz\":10},"
#define RESULTS "\"results\":{\"energy_per_token_mj\":1.5,\"basis\":\"measured\"}"

static void expect(const char *text, const char *lines) {
    eco_report *report = NULL;
    eco_error err = {0};
    ASSERT_OK(eco_report_read(text, strlen(text), "r.json", &report, &err), &err);
    eco_findings findings = {0};
    eco_report_check_schema(report, &findings);
    assert_string_equal(findings.n == 0 ? "" : findings.lines.data, lines);
    eco_findings_free(&findings);
    eco_report_free(report);
}

static void test_base(void **state) {
    (void)state;
    expect(HEAD SUT WORK MEASURE RESULTS "}", "");
    expect(HEAD SUT WORK MEASURE RESULTS ",\"thermal\":5,\"trials\":[],\"x\":{}}",
           ""); /* not of 1.0 */
    expect(HEAD SUT WORK MEASURE
           "\"results\":{\"energy_per_token_mj\":null,\"basis\":\"unavailable\"}}",
           "");
}

static void test_missing(void **state) {
    (void)state;
    expect("{}", "system_under_test: expected an object, found no such key\n"
                 "workload: expected an object, found no such key\n"
                 "measurement: expected an object, found no such key\n"
                 "software: expected an object, found no such key\n"
                 "results: expected an object, found no such key\n"
                 "schema_version: expected a string, found no such key\n"
                 "benchmark: expected a string, found no such key\n"
                 "scenario: expected a string, found no such key\n");
    expect(HEAD SUT WORK MEASURE "\"results\":{}}",
           "results.energy_per_token_mj: expected a number, found no such key\n"
           "results.basis: expected a string, found no such key\n");
    expect(HEAD SUT WORK MEASURE "\"results\":null}", "results: expected an object, found null\n");
    expect(HEAD SUT WORK MEASURE "\"results\":[]}", "results: expected an object, found array\n");
}

static void test_types(void **state) {
    (void)state;
    expect(HEAD SUT WORK "\"measurement\":{\"method\":null,\"sample_rate_hz\":10.5},\"results\":{"
                         "\"energy_per_token_mj\":\"12\",\"basis\":true}}",
           "measurement.method: expected a string, found null\n"
           "measurement.sample_rate_hz: expected an integer, found 10.5\n"
           "results.energy_per_token_mj: expected a number, found \"12\"\n"
           "results.basis: expected a string, found boolean\n");
}

static void test_names_and_ranges(void **state) {
    (void)state;
    expect(
        "{\"schema_version\":\"ecocompute-energy/1.0\",\"benchmark\":\"b\",\"scenario\":\"Server\","
        "\"certified_benchmark_result\":true,"
        "\"system_under_test\":{\"gpu\":\"T4\",\"gpu_arch\":\"turing\",\"accelerator_count\":0},"
        "\"workload\":{\"model_name\":\"m\",\"precision\":\"nf4\\n\",\"batch_size\":1,\"params_b\":"
        "-1}," MEASURE "\"results\":{\"energy_per_token_mj\":-1e-9,\"vs_fp16_energy_pct\":-5,"
        "\"basis\":\"guessed\"}}",
        "certified_benchmark_result: expected false, found true\n"
        "scenario: expected one of SingleStream|Offline, found \"Server\"\n"
        "system_under_test.accelerator_count: expected 1 or more, found 0\n"
        "workload.params_b: expected 0 or more, found -1\n"
        "workload.precision: expected one of FP16|BF16|NF4|NF4-DQ|INT8|W8A16|Q4_0|Q8_0|FP8, found "
        "\"nf4\\u000a\"\n"
        "results.energy_per_token_mj: expected 0 or more, found -1e-9\n"
        "results.basis: expected one of measured|interpolated|extrapolated|unavailable|computed|"
        "estimated|modelled|replayed, found \"guessed\"\n");
}

/* The golden report of ours, with one thing broken at a time. */
static void expect_ours(const char *from, const char *to, const char *lines) {
    size_t length = 0;
    char *const text = golden_load("energy_1_3_ours.json", &length);
    char *const changed = calloc(1, length + strlen(to) + 1);
    assert_non_null(changed);
    const char *const at = strstr(text, from);
    assert_non_null(at);
    memcpy(changed, text, (size_t)(at - text));
    strcat(changed, to);
    strcat(changed, at + strlen(from));
    expect(changed, lines);
    free(text);
    free(changed);
}

static void test_additions(void **state) {
    (void)state;
    expect_ours("\"NF4\"", "\"NF4\"", "");
    expect_ours("\"kind\": \"decode\",", "",
                "trials.arms[0].windows[0].kind: expected a string, found no such key\n");
    expect_ours("\"kind\": \"decode\"", "\"kind\": \"idle\"",
                "trials.arms[0].windows[0].kind: expected one of decode|generation|prefill, found "
                "\"idle\"\n");
    expect_ours("\"t_s\",", "1,",
                "power_trace.columns: expected an array of strings, found array\n");
    expect_ours("\"pairs\": [", "\"pairs\": [ 7, ",
                "trials.pairs[0]: expected an object, found number\n");
    expect_ours("\"trials\": {", "\"trials\": [], \"old\": {",
                "trials: expected an object, found array\n");
    expect_ours("ecocompute-energy/1.3", "ecocompute-energy/1.4",
                "schema_version: expected one of "
                "ecocompute-energy/1.0|ecocompute-energy/1.1|ecocompute-energy/1.2|"
                "ecocompute-energy/1.3, found \"ecocompute-energy/1.4\"\n");
    expect_ours("\"context_length\": 384,", "",
                "workload.context_length: expected an integer, found no such key\n");
    /* In a report of another tool the same key may mean another thing. */
    expect_ours("\"tool\": \"ecocompute 0.1.0\"", "\"tool\": \"other\", \"command\": 7", "");
    expect_ours("\"tool\": \"ecocompute 0.1.0\"", "\"tool\": \"ecocompute 0.1.0\", \"command\": 7",
                "software.command: expected a string, found 7\n");
}

static void test_many_findings_are_cut(void **state) {
    (void)state;
    eco_report *const report = eco_report_new();
    eco_report_set_string(report, ECO_FIELD_SW_TOOL, ECO_TOP, "ecocompute");
    for (uint32_t i = 0; i < 1000; i++) {
        eco_report_set_integer(report, ECO_FIELD_PA_BLOCK, ECO_AT1(i), -1);
    }
    eco_findings findings = {0};
    eco_report_check_schema(report, &findings);
    assert_int_equal(findings.n, 201);
    assert_non_null(strstr(findings.lines.data, "\n…: more findings are not listed\n"));
    eco_findings_free(&findings);
    eco_report_free(report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base),      cmocka_unit_test(test_missing),
        cmocka_unit_test(test_types),     cmocka_unit_test(test_names_and_ranges),
        cmocka_unit_test(test_additions), cmocka_unit_test(test_many_findings_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
