/* SPDX-License-Identifier: Apache-2.0
 *
 * The published contract on fixtures of our own (tests/golden/published_*.json, figures invented): what a validator of
 * the published kind must say of each version, of a report that conforms, and of one that falls short in a single point.
 * Numbers in comments are the cases of the published system's own test_validate.
 */
#include "ecocompute/report.h"
#include "golden_files.h"
#include "test_helpers.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDITS_MAX = 4 };

/* The first `from` becomes `to`. */
typedef struct edit {
    const char *from, *to;
} edit;

/* What is asked of a changed fixture. The lines of the findings are compared whole. */
typedef struct contract_case {
    const char *what, *file;
    edit edits[EDITS_MAX];
    const char *schema, *core; /* findings of the schema, of v1.1-core */
} contract_case;

static char *edited(const contract_case *c) {
    size_t length = 0;
    char *text = golden_load(c->file, &length);
    for (size_t i = 0; i < EDITS_MAX && c->edits[i].from != NULL; i++) {
        const edit *const e = &c->edits[i];
        const char *const at = strstr(text, e->from);
        if (at == NULL) {
            print_error("%s: '%s' is not in %s\n", c->what, e->from, c->file);
            fail();
            return text;
        }
        const size_t size = strlen(text) + strlen(e->to) + 1;
        char *const changed = calloc(1, size);
        assert_non_null(changed);
        snprintf(changed, size, "%.*s%s%s", (int)(at - text), text, e->to, at + strlen(e->from));
        free(text);
        text = changed;
    }
    return text;
}

static eco_report *report_of(const char *text) {
    eco_report *report = NULL;
    eco_error err = {0};
    ASSERT_OK(eco_report_read(text, strlen(text), "r.json", &report, &err), &err);
    return report;
}

static void expect_lines(const char *what, const eco_findings *findings, const char *wanted) {
    const char *const got = findings->lines.data != NULL ? findings->lines.data : "";
    if (strcmp(got, wanted) != 0) {
        print_error("%s:\n got\n%s wanted\n%s", what, got, wanted);
        fail();
    }
}

static void judge_case(const contract_case *c) {
    char *const text = edited(c);
    eco_report *const report = report_of(text);
    eco_findings schema = {0}, core = {0};
    eco_report_check_schema(report, &schema);
    expect_lines(c->what, &schema, c->schema);
    assert_true(eco_report_check_profile(report, "v1.1-core", &core));
    expect_lines(c->what, &core, c->core);
    eco_findings_free(&schema);
    eco_findings_free(&core);
    eco_report_free(report);
    free(text);
}

#define CORE "v1.1-core "
#define STEADY                                                                                  \
    CORE "thermal: thermal.temperature_steady_c: is missing, and thermal.steady_state_reached " \
         "is not false\n"

static const contract_case cases[] = {
    {.what = "1: a real retest breaks exactly three rules",
     .file = "published_1_2.json",
     .schema = "",
     .core = CORE "decoding: workload.decoding: is missing\n" CORE
                  "window: measurement.window: is missing\n" CORE "thermal: thermal: is missing\n"},
    {.what = "2: a conformant fixture", .file = "published_1_3.json", .schema = "", .core = ""},
    {.what = "5: a rate below 10 Hz is no 1.3",
     .file = "published_1_3.json",
     .edits = {{"\"sample_rate_hz\": 10", "\"sample_rate_hz\": 5"}},
     .schema = "measurement.sample_rate_hz: expected 10 or more, found 5\n",
     .core = CORE "sample-rate: measurement.sample_rate_hz: is 5, expected at least 10\n"},
    {.what = "6: fields of the baseline",
     .file = "published_1_3.json",
     .edits = {{"    \"fp16_energy_per_token_mj\": 1619.7,\n    \"vs_fp16_energy_pct\": 22.3,\n",
                ""}},
     .schema = "",
     .core = CORE "baseline: results.fp16_energy_per_token_mj: is missing\n" CORE
                  "baseline: results.vs_fp16_energy_pct: is missing\n"},
    {.what = "7: another source",
     .file = "published_1_3.json",
     .edits = {{"direct-nvml", "wall meter"}},
     .schema = "",
     .core = CORE "source: measurement_source: is \"wall meter\", expected \"direct-nvml\"\n"},
    {.what = "8: another method",
     .file = "published_1_3.json",
     .edits = {{"NVML on-device power sampling", "RAPL"}},
     .schema = "",
     .core = CORE "method: measurement.method: does not name NVML\n"},
    {.what = "9: batch 2",
     .file = "published_1_3.json",
     .edits = {{"\"batch_size\": 1", "\"batch_size\": 2"}},
     .schema = "",
     .core = CORE "batch: workload.batch_size: is 2, expected 1\n"},
    {.what = "10: flags of the pins that contradict each other",
     .file = "published_1_2.json",
     .edits = {{"\"matches_reference_pins\": false", "\"matches_reference_pins\": true"},
               {"\"batch_size\": 1,", "\"batch_size\": 1, \"decoding\": \"greedy\","},
               {"\"warmup\": 2", "\"warmup\": 2, \"window\": \"generation\""}},
     .schema = "",
     .core = CORE "pins: software.matches_reference_pins: is not false, although "
                  "software.differs_from_reference_pins names packages\n" CORE
                  "thermal: thermal: is missing\n"},
    {.what = "11: schema 1.0",
     .file = "published_1_3.json",
     .edits = {{"energy/1.3", "energy/1.0"}},
     .schema = "",
     .core = CORE "schema-version: schema_version: 1.0 lacks the fields of this profile\n"},
    {.what = "12: no temperature, and the report says so",
     .file = "published_1_3.json",
     .edits = {{"\"basis\": \"measured\",\n    \"warmup_runs\": 2,\n    \"cooldown_s\": 30.0,\n    "
                "\"temperature_start_c\": 35,",
                "\"basis\": \"unavailable\","},
               {"\"temperature_end_c\": 51,", ""},
               {"\"temperature_peak_c\": 52,", ""}},
     .schema = "",
     .core = ""},
    {.what = "13: each missing field of a measured thermal block",
     .file = "published_1_3.json",
     .edits =
         {{"    \"warmup_runs\": 2,\n    \"cooldown_s\": 30.0,\n    \"temperature_start_c\": 35,",
           ""},
          {"\"temperature_end_c\": 51,", ""},
          {"\"temperature_peak_c\": 52", "\"temperature_peak_c\": null"},
          {"\"steady_state_reached\": false", "\"steady_state_reached\": null"}},
     .schema = "",
     .core = CORE "thermal: thermal.warmup_runs: is missing\n" CORE
                  "thermal: thermal.cooldown_s: is missing\n" CORE
                  "thermal: thermal.temperature_start_c: is missing\n" CORE
                  "thermal: thermal.temperature_end_c: is missing\n" CORE
                  "thermal: thermal.temperature_peak_c: is missing\n" STEADY},
    {.what = "14: only an explicit false excuses a missing steady temperature",
     .file = "published_1_3.json",
     .edits = {{"    \"steady_state_reached\": false,\n", ""}},
     .schema = "",
     .core = STEADY},
    {.what = "14: true does not",
     .file = "published_1_3.json",
     .edits = {{"\"steady_state_reached\": false", "\"steady_state_reached\": true"}},
     .schema = "",
     .core = STEADY},
    {.what = "15: the order of the arms",
     .file = "published_1_3.json",
     .edits = {{"    \"arm_order\": \"randomized\",\n", ""}},
     .schema = "thermal.arm_order: expected a string, found no such key\n",
     .core = CORE "arm-order: thermal.arm_order: is missing\n"},
    {.what = "15: a fixed order without a note",
     .file = "published_1_3.json",
     .edits = {{"randomized", "fixed: NF4 first"}, {"drawn before the run", ""}},
     .schema = "",
     .core = CORE "arm-order: thermal.note: does not disclose the fixed order\n"},
    {.what = "15: a fixed order that is disclosed",
     .file = "published_1_3.json",
     .edits = {{"randomized", "fixed: NF4 first"}},
     .schema = "",
     .core = ""},
    {.what = "16: what 1.2 did not ask for is reported all the same",
     .file = "published_1_3.json",
     .edits = {{"energy/1.3", "energy/1.2"},
               {"    \"tokens_per_run\": 256,\n    \"iterations\": 10,\n", ""},
               {",\n    \"window\": \"generation\"", ""},
               {",\n    \"decoding\": \"greedy\"", ""}},
     .schema = "",
     .core = CORE "tokens: measurement.tokens_per_run: is missing\n" CORE
                  "iterations: measurement.iterations: is missing\n" CORE
                  "decoding: workload.decoding: is missing\n" CORE
                  "window: measurement.window: is missing\n"},
    {.what = "17: wrong values",
     .file = "published_1_3.json",
     .edits = {{"\"tokens_per_run\": 256", "\"tokens_per_run\": 128"},
               {"\"iterations\": 10", "\"iterations\": 1"}},
     .schema = "",
     .core = CORE "tokens: measurement.tokens_per_run: is 128, expected 256\n" CORE
                  "iterations: measurement.iterations: is 1, expected 10\n"},
};

static void test_validate_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        judge_case(&cases[i]);
    }
}

static void expect_profile(const char *file, const edit *change, const char *profile,
                           const char *lines, const char *verdict) {
    const contract_case c = {
        .what = profile, .file = file, .edits = {change != NULL ? *change : (edit){0}}};
    char *const text = edited(&c);
    eco_report *const report = report_of(text);
    eco_findings findings = {0};
    assert_true(eco_report_check_profile(report, profile, &findings));
    expect_lines(profile, &findings, lines);
    assert_string_equal(eco_profile_verdict(profile, 0, findings.n), verdict);
    eco_findings_free(&findings);
    eco_report_free(report);
    free(text);
}

/* 3, and what eligibility asks beyond the protocol. */
static void test_dataset_eligible(void **state) {
    (void)state;
    const char *const file = "published_1_3.json", *const eligible = "dataset-eligible";
    expect_profile(file, NULL, "v1.1-core", "", "protocol-conformant");
    expect_profile(file, NULL, eligible, "", "dataset-eligible");
    assert_non_null(strstr(eco_profile_note(eligible), "matter of the dataset"));
    assert_null(eco_profile_note("v1.1-core"));
    const edit no_trace = {"\"power_trace\": {", "\"old_trace\": {"};
    expect_profile(file, &no_trace, eligible,
                   "dataset-eligible trace: power_trace: is missing\n"
                   "dataset-eligible trace: power_trace.sample_rate_hz: is missing\n",
                   "schema-valid");
    const edit no_files = {"\"files\": [", "\"files\": [], \"old\": ["};
    expect_profile(file, &no_files, eligible,
                   "dataset-eligible trace: power_trace.files: names no trace\n", "schema-valid");
    const edit batch = {"\"batch_size\": 1", "\"batch_size\": 2"};
    expect_profile(file, &batch, eligible,
                   "dataset-eligible batch: workload.batch_size: is 2, expected 1\n",
                   "schema-valid");
    assert_string_equal(eco_profile_verdict(eligible, 1, 1), "schema-invalid");
}

/* 4: an estimate without a GPU. 18: a plausible report made by hand. */
static void test_gaps_are_named(void **state) {
    (void)state;
    static const char *const gaps[] = {"warm-up: measurement.warmup: is missing\n",
                                       "software: software: is missing\n",
                                       "thermal: thermal: is missing\n"};
    static const char by_hand[] =
        "{\"schema_version\": \"ecocompute-energy/1.3\", \"measurement_source\": \"direct-nvml\","
        "\"measurement\": {\"method\": \"NVML\"}, \"results\": {\"basis\": \"measured\","
        "\"energy_per_token_mj\": 1500, \"vs_fp16_energy_pct\": -20}}";
    size_t length = 0;
    char *const estimate = golden_load("published_1_1.json", &length);
    const char *const texts[] = {estimate, by_hand};
    for (size_t i = 0; i < 2; i++) {
        eco_report *const report = report_of(texts[i]);
        eco_findings findings = {0};
        assert_true(eco_report_check_profile(report, "v1.1-core", &findings));
        for (size_t k = 0; k < sizeof gaps / sizeof gaps[0]; k++) {
            assert_non_null(strstr(findings.lines.data, gaps[k]));
        }
        eco_findings_free(&findings);
        eco_report_check_schema(report, &findings);
        assert_int_equal(findings.n, i == 0 ? 0 : 9);
        eco_findings_free(&findings);
        eco_report_free(report);
    }
    free(estimate);
}

/* The number of findings of the schema for a changed fixture. */
static uint32_t n_findings(const char *file, const char *from, const char *to) {
    const contract_case c = {.what = from, .file = file, .edits = {{from, to}}};
    char *const text = edited(&c);
    eco_report *const report = report_of(text);
    eco_findings findings = {0};
    eco_report_check_schema(report, &findings);
    const uint32_t n = findings.n;
    eco_findings_free(&findings);
    eco_report_free(report);
    free(text);
    return n;
}

/* Each version by its own rules, and what the published self-check refuses (test_energy 39 to 41, 57). */
static void test_versions(void **state) {
    (void)state;
    static const struct {
        const char *file, *from, *to;
        uint32_t n;
    } changes[] = {
        {"published_1_0.json", "energy/1.0", "energy/1.0", 0}, /* 57: without quality */
        {"published_1_0.json", "ecocompute-energy-methodology", "another", 0},
        {"published_1_3.json", "ecocompute-energy-methodology", "another", 1},
        {"published_1_0.json", "energy/1.0", "energy/1.3", 6}, /* software, four keys, the rate */
        {"published_1_1.json", "energy/1.1", "energy/1.4",
         6}, /* unknown: held to the newest, and named */
        {"published_1_1.json", "\"basis\": \"unavailable\"", "\"basis\": \"guessed\"", 1},
        {"published_1_1.json", "\"metric\": \"perplexity\",", "", 1},
        {"published_1_1.json", "energy/1.1", "energy/1.0", 0},
        {"published_1_2.json", "\"software\": {", "\"soft\": {", 0},
        {"published_1_3.json", "\"software\": {", "\"soft\": {", 1},
        {"published_1_3.json", "    \"basis\": \"measured\"\n", "    \"x\": 1\n", 1}, /* 40 */
        {"published_1_3.json", "SingleStream", "Server", 1},                          /* 41 */
        {"published_1_3.json", "\"accelerator_count\": 1", "\"accelerator_count\": 0", 1},
        {"published_1_3.json", "\"torch\": \"2.13.0\"", "\"torch\": 2.13", 1},
        {"published_1_3.json", "\"certified_benchmark_result\": false",
         "\"certified_benchmark_result\": null", 1},
        {"published_1_3.json", "\"environment\": {", "\"environment\": 5, \"old\": {",
         0}, /* draft */
        {"published_1_3.json", "\"power_trace\": {", "\"power_trace\": 5, \"old\": {", 1},
        {"published_1_3.json", "\"samples\": 1773", "\"samples\": 1e30", 1},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const uint32_t n = n_findings(changes[i].file, changes[i].from, changes[i].to);
        if (n != changes[i].n) {
            print_error("%s: %s -> %s: %u findings, wanted %u\n", changes[i].file, changes[i].from,
                        changes[i].to, n, changes[i].n);
            fail();
        }
    }
}

static const char *type_word(eco_field_type type) {
    static const char *const words[] = {
        [ECO_TYPE_STRING] = "string",   [ECO_TYPE_NUMBER] = "number",
        [ECO_TYPE_INTEGER] = "integer", [ECO_TYPE_BOOLEAN] = "boolean",
        [ECO_TYPE_STRINGS] = "strings", [ECO_TYPE_STRING_MAP] = "map"};
    return words[type];
}

/* Every published field, as published_fields.csv writes them down by hand, is in the table so: with its type, its unit
 * and the version that began it. docs/schema.md and the schema file are made from that table. */
static void test_published_fields(void **state) {
    (void)state;
    size_t length = 0;
    char *const text = golden_load("published_fields.csv", &length);
    size_t n = 0;
    for (const char *line = strchr(text, '\n') + 1; *line != '\0'; line = strchr(line, '\n') + 1) {
        char row[256] = "";
        for (uint32_t i = 0; i < ECO_FIELD_COUNT; i++) {
            const eco_field_info *const info = eco_field_at((eco_field)i);
            const size_t n_path = strlen(info->path);
            if (strncmp(line, info->path, n_path) == 0 && line[n_path] == ',') {
                snprintf(row, sizeof row, "%s,%s,%s,%s\n", info->path, type_word(info->type),
                         info->unit, info->since);
            }
        }
        if (row[0] == '\0' || strncmp(line, row, strlen(row)) != 0) {
            print_error("published: %.*s, in the table: %s\n", (int)strcspn(line, "\n"), line, row);
            fail();
        }
        n++;
    }
    assert_int_equal(n, 110);
    free(text);
}

/* The closed list of bases is that of the record. */
static void test_basis_names(void **state) {
    (void)state;
    for (unsigned i = 0; i <= (unsigned)ECO_BASIS_REPLAYED + 1; i++) {
        char to[64];
        snprintf(to, sizeof to, "\"basis\": \"%s\"\n", eco_basis_name((eco_basis)i));
        assert_int_equal(n_findings("published_1_3.json", "\"basis\": \"measured\"\n", to), 0);
    }
}

/* Every committed report of this program is valid and is written back to the same bytes. */
static void test_committed_reports(void **state) {
    (void)state;
    static const char *const patterns[] = {"data/h200/*/energy*.json", "data/h200/*/*/energy*.json",
                                           "examples/*/energy.json"};
    const char *const root = getenv("ECO_SOURCE_DIR");
    size_t n = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        char pattern[512];
        glob_t found = {0};
        snprintf(pattern, sizeof pattern, "%s/%s", root != NULL ? root : ".", patterns[i]);
        assert_int_equal(glob(pattern, 0, NULL, &found), 0);
        for (size_t k = 0; k < found.gl_pathc; k++, n++) {
            char file[512];
            size_t length = 0;
            snprintf(file, sizeof file, "../../%s",
                     found.gl_pathv[k] + strlen(pattern) - strlen(patterns[i]));
            char *const text = golden_load(file, &length);
            eco_report *const report = report_of(text);
            eco_text out = {0};
            eco_error err = {0};
            eco_findings findings = {0};
            ASSERT_OK(eco_report_write(report, &out, &err), &err);
            assert_string_equal(out.data, text);
            eco_report_check_schema(report, &findings);
            expect_lines(file, &findings, "");
            eco_text_free(&out);
            eco_report_free(report);
            free(text);
        }
        globfree(&found);
    }
    assert_true(n >= 29);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validate_cases),    cmocka_unit_test(test_dataset_eligible),
        cmocka_unit_test(test_gaps_are_named),    cmocka_unit_test(test_versions),
        cmocka_unit_test(test_published_fields),  cmocka_unit_test(test_basis_names),
        cmocka_unit_test(test_committed_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
