/* SPDX-License-Identifier: Apache-2.0
 *
 * The jobs of the core: what they refuse and how they say it, and that memory may end anywhere.
 */
#include "core/alloc.h"
#include "core/json.h"
#include "core/str.h"
#include "ecocompute/anchors.h"
#include "ecocompute/jobs.h"
#include "golden_files.h"

#include <string.h>

static eco_status run(const char *job, const char *request, eco_text *answer) {
    return eco_job_run(job, request, strlen(request), answer);
}

/* The job refuses with `status`, and its document is exactly this. */
static void refuses(const char *job, const char *request, eco_status status, const char *message) {
    eco_text answer = {0};
    eco_text expected = {0};
    ecoi_text_addf(&expected, "{\n  \"error\": \"%s\",\n  \"code\": \"%s\"\n}\n", message,
                   eco_status_name(status));
    assert_int_equal(run(job, request, &answer), status);
    assert_string_equal(answer.data, expected.data);
    eco_text_free(&expected);
    eco_text_free(&answer);
}

static void refusals_name_what_is_wrong(void **state) {
    (void)state;
    refuses("explian", "{}", ECO_E_NOT_FOUND, "unknown job 'explian', did you mean 'explain'?");
    refuses("", "{}", ECO_E_NOT_FOUND, "unknown job ''");
    refuses("jobs", "", ECO_E_PARSE, "jobs:1:1: expected a value, found the end");
    refuses("jobs", "[]", ECO_E_INVALID, "jobs: an object is expected, found array");
    refuses("jobs", "{\"x\": 1}", ECO_E_INVALID, "jobs: unknown member 'x'");
    refuses("validate", "{}", ECO_E_INVALID, "validate: report is missing: a text is expected");
    refuses("validate", "{\"report\": null}", ECO_E_INVALID,
            "validate: report is missing: a text is expected");
    refuses("validate", "{\"report\": 1}", ECO_E_INVALID, "validate: report: a text is expected");
    refuses("validate", "{\"report\": \"\", \"profil\": \"paired-1\"}", ECO_E_INVALID,
            "validate: unknown member 'profil', did you mean 'profile'?");
    refuses("validate", "{\"report\": \"{}\", \"profile\": \"paired-2\"}", ECO_E_INVALID,
            "validate: profile: unknown profile 'paired-2'");
    refuses("validate", "{\"report\": \"{}\", \"profile\": \"paired-1\\u0000\"}", ECO_E_INVALID,
            "validate: profile: a short text is expected");
    refuses("recompute", "{\"report\": \"{}\", \"traces\": [1]}", ECO_E_INVALID,
            "recompute: traces: an object is expected, found number");
    refuses("share_decode", "{\"url\": \"e30\"}", ECO_E_INVALID, "link: N: a number is expected");
    refuses("share_encode", "{\"report\": \"{}\", \"site\": 7}", ECO_E_INVALID,
            "share_encode: site: a short text is expected");
    refuses("compare", "{\"reports\": [{\"report\": \"{}\"}]}", ECO_E_RANGE,
            "compare: reports: 2 to 16 are expected");
}

/* A point is what `estimate` says of that size; what only one size is refused for stands at that size. */
static void a_curve_is_estimates(void **state) {
    (void)state;
    eco_text curve = {0};
    assert_int_equal(run("estimate_curve",
                         "{\"sizes\": [4, 7, 20000], \"arch\": \"H200\", \"engine\": \"native\"}",
                         &curve),
                     ECO_OK);
    assert_string_equal(
        curve.data,
        "{\n  \"points\": [\n"
        "    {\n      \"params_b\": 4,\n      \"delta_pct\": -50.1,\n      \"ci\": [\n        "
        "-53,\n        -47.1\n      ],\n      \"basis\": \"interpolated\",\n      \"source\": "
        "\"energy_model\"\n    },\n"
        "    {\n      \"params_b\": 7,\n      \"delta_pct\": -51.4,\n      \"ci\": [\n        "
        "-52.8,\n        -49.9\n      ],\n      \"basis\": \"measured\",\n      \"source\": "
        "\"anchors\"\n    },\n"
        "    {\n      \"params_b\": 20000,\n      \"error\": \"params_b: 20000 is not usable; "
        "expected billions of parameters, 0.01 to 10000\"\n    }\n"
        "  ],\n  \"measured_range_b\": [\n    0.5,\n    14\n  ]\n}\n");
    eco_text_free(&curve);
    /* The same digits as the job of one size, by both rules. */
    assert_int_equal(run("estimate_curve",
                         "{\"sizes\": [5], \"arch\": \"ada\", \"rules\": \"published-1.1\"}",
                         &curve),
                     ECO_OK);
    eco_text one = {0};
    assert_int_equal(
        run("estimate", "{\"params_b\": 5, \"arch\": \"ada\", \"rules\": \"published-1.1\"}", &one),
        ECO_OK);
    const char *const in_curve = strstr(curve.data, "\"delta_pct\": ");
    const char *const in_one = strstr(one.data, "\"delta_pct\": ");
    assert_memory_equal(in_curve, in_one, strcspn(in_one, "\n"));
    assert_non_null(strstr(curve.data, "\"source\": \"curve\""));
    eco_text_free(&one);
    eco_text_free(&curve);
    assert_int_equal(run("estimate_curve", "{\"sizes\": [], \"arch\": \"RTX 3090\"}", &curve),
                     ECO_OK);
    assert_string_equal(curve.data, "{\n  \"points\": [],\n  \"measured_range_b\": null\n}\n");
    eco_text_free(&curve);
    refuses("estimate_curve", "{\"sizes\": [7], \"arch\": \"ada\", \"engine\": \"nativ\"}",
            ECO_E_USAGE, "engine: unknown 'nativ', did you mean 'native'?");
    refuses("estimate_curve", "{\"sizes\": [\"7\"], \"arch\": \"ada\"}", ECO_E_INVALID,
            "estimate_curve: sizes: at most 256 numbers are expected");
}

/* Every row of the table is in just one stack. */
static void stacks_are_of_the_table(void **state) {
    (void)state;
    eco_text answer = {0};
    size_t n = 0;
    assert_int_equal(run("stacks", "{}", &answer), ECO_OK);
    ecoi_json_doc doc = {0};
    eco_error err = {0};
    ASSERT_OK(ecoi_json_read(answer.data, answer.length, "stacks", &doc, &err), &err);
    for (const ecoi_json *row = doc.root->first; row != NULL; row = row->next) {
        n += (size_t)ecoi_json_member(row, "rows", 4)->number;
    }
    assert_int_equal(n, eco_anchors_builtin()->n);
    ecoi_json_fini(&doc);
    assert_non_null(strstr(answer.data,
                           "{\n    \"engine\": \"llama.cpp\",\n    \"stack\": null,\n    "
                           "\"rows\": 1,\n    \"sessions\": 1,\n    \"cards\": [\n      "
                           "\"RTX 4090\"\n    ],\n    \"precisions\": [\n      "
                           "\"Q4_0\"\n    ]\n  }"));
    assert_non_null(
        strstr(answer.data, "\"stack\": \"bitsandbytes 0.45.5\",\n    \"rows\": 11,\n"));
    eco_text_free(&answer);
}

static void a_request_has_a_largest_size(void **state) {
    (void)state;
    eco_text answer = {0};
    /* The length is looked at before the text. */
    assert_int_equal(eco_job_run("jobs", "{}", (size_t)ECO_JOB_REQUEST_MAX + 1, &answer),
                     ECO_E_RANGE);
    assert_non_null(strstr(answer.data, "jobs: a request has at most 67108864 bytes"));
    eco_text_free(&answer);
}

static void every_job_is_listed_once(void **state) {
    (void)state;
    eco_text answer = {0};
    assert_int_equal(run("jobs", "{}", &answer), ECO_OK);
    size_t n = 0;
    for (; eco_job_at(n) != NULL; n++) {
        char line[256];
        (void)snprintf(line, sizeof line, "\"name\": \"%s\"", eco_job_at(n)->name);
        const char *const first = strstr(answer.data, line);
        assert_non_null(first);
        assert_null(strstr(first + 1, line));
    }
    assert_true(n >= 6);
    eco_text_free(&answer);
}

/* {"report": the golden report} */
static void report_request(eco_text *out) {
    size_t length = 0;
    char *const report = golden_load("energy_1_3_ours.json", &length);
    ecoi_json_doc doc = {0};
    ecoi_json *const root = ecoi_json_new(&doc, ECOI_JSON_OBJECT);
    assert_true(
        ecoi_json_set(&doc, root, "report", NULL, ecoi_json_new_string(&doc, report, length)));
    assert_true(ecoi_json_write(root, out));
    ecoi_json_fini(&doc);
    free(report);
}

static void answers_of_a_report(void **state) {
    (void)state;
    eco_text request = {0};
    eco_text answer = {0};
    report_request(&request);
    assert_int_equal(run("validate", request.data, &answer), ECO_OK);
    assert_string_equal(answer.data, "{\n  \"valid\": true,\n  \"findings\": []\n}\n");
    eco_text_free(&answer);
    assert_int_equal(run("summary", request.data, &answer), ECO_OK);
    assert_memory_equal(answer.data, "{\n  \"lines\": [\n", strlen("{\n  \"lines\": [\n"));
    eco_text_free(&answer);
    eco_text_free(&request);
}

static void answers_on_links(void **state) {
    (void)state;
    eco_text request = {0};
    eco_text answer = {0};
    report_request(&request);
    assert_int_equal(run("share_encode", request.data, &answer), ECO_OK);
    assert_non_null(strstr(answer.data, "/?tab=run&overlay=eyJtIjoiVGlueUxsYW1h"));
    assert_non_null(strstr(answer.data, "\"reason\": null"));
    eco_text_free(&answer);
    assert_int_equal(run("share_encode", "{\"report\": \"{}\"}", &answer), ECO_OK);
    assert_non_null(strstr(answer.data, "\"share_url\": null,\n  \"reason\": \"no link: results."));
    eco_text_free(&answer);
    assert_int_equal(run("share_decode", "{\"url\": \"eyJOIjoxLCJlIjoxfQ\"}", &answer), ECO_OK);
    assert_non_null(strstr(answer.data, "\"params_b\": 1,\n"));
    eco_text_free(&answer);
    eco_text pair = {0};
    ecoi_text_addf(&pair, "{\"reports\": [%s, %s]}", request.data, request.data);
    assert_int_equal(run("compare", pair.data, &answer), ECO_OK);
    assert_non_null(strstr(answer.data, "\"result\": \"sound\",\n      \"difference_pct\": 0,"));
    eco_text_free(&answer);
    eco_text_free(&pair);
    eco_text_free(&request);
}

/* Of the published release: SPEC's golden numbers. */
static void answers_of_the_estimator(void **state) {
    (void)state;
    eco_text answer = {0};
    assert_int_equal(run("estimate",
                         "{\"params_b\": 7, \"arch\": \"blackwell\", \"rules\": "
                         "\"published-1.1\"}",
                         &answer),
                     ECO_OK);
    assert_non_null(
        strstr(answer.data, "\"delta_pct\": -11.4,\n  \"ci\": [\n    -14.2,\n    -8.7\n"));
    eco_text_free(&answer);
    assert_int_equal(run("optimize",
                         "{\"params_b\": 7, \"arch\": \"ada\", \"max_latency_ms\": 50, "
                         "\"max_vram_gb\": 16, \"rules\": \"published-1.1\"}",
                         &answer),
                     ECO_OK);
    assert_non_null(strstr(answer.data, "\"feasible_count\": 36,"));
    assert_non_null(strstr(answer.data, "\"energy_j_per_1k_tokens\": 2584,"));
    eco_text_free(&answer);
    assert_int_equal(
        run("query", "{\"text\": \"7b on a 4090\", \"rules\": \"published-1.1\"}", &answer),
        ECO_OK);
    assert_non_null(strstr(answer.data, "\"params_b\": 7,\n    \"arch\": \"ada\","));
    eco_text_free(&answer);
    refuses("estimate", "{\"params_b\": 7}", ECO_E_INVALID,
            "estimate: arch is missing: a short text is expected");
    refuses("estimate", "{\"params_b\": 7, \"arch\": \"ada\", \"rules\": \"1.1\"}", ECO_E_INVALID,
            "estimate: rules: unknown '1.1'; expected current or published-1.1");
    refuses("fit", "{\"bootstraps\": 2001}", ECO_E_INVALID,
            "fit: bootstraps: a whole number up to 2000 is expected");
    refuses("fit", "{\"seed\": 0.5}", ECO_E_INVALID,
            "fit: seed: a whole number up to 9223372036854775807 is expected");
}

static const char two_cases[] =
    "{\"results\": ["
    "{\"id\": \"a\", \"gpu\": \"G\", \"model\": \"M\", \"params_b\": 7, \"precision\": \"NF4\", "
    "\"engine\": \"native\","
    " \"stack\": \"x\", \"session\": \"1\", \"window\": \"decode\", \"delta_pct\": -20, "
    "\"ci95_pct\": [-21, -19]},"
    "{\"id\": \"b\", \"gpu\": \"G\", \"model\": \"M\", \"params_b\": 7, \"precision\": \"NF4\", "
    "\"engine\": \"vllm\","
    " \"session\": \"1\", \"window\": \"decode\", \"delta_pct\": 5, \"batch\": 1, \"context\": "
    "384},"
    "{\"id\": \"d\", \"gpu\": \"G\", \"model\": \"M\", \"params_b\": 7, \"precision\": \"NF4\", "
    "\"engine\": \"vllm\","
    " \"session\": \"2\", \"window\": \"decode\", \"delta_pct\": 6, \"batch\": 1, \"context\": "
    "4096},"
    "{\"id\": \"c\", \"gpu\": \"G\", \"model\": \"M\", \"params_b\": 7, \"precision\": \"NF4\", "
    "\"engine\": \"native\","
    " \"stack\": \"x\", \"session\": \"2\", \"window\": \"decode\", \"batch\": 1, \"delta_pct\": "
    "-24,"
    " \"ci95_pct\": [-25, -23], \"expanded_pct\": 0.5}]}";

/* Every allocation of `job` fails in turn. What comes then is an error, or no document at all. */
static void fails_anywhere(const char *job, const char *request) {
    eco_text whole = {0};
    const eco_status wanted = run(job, request, &whole);
    assert_int_equal(wanted, ECO_OK);
    bool done = false;
    uint64_t nth = 1;
    for (; !done; nth++) {
        eco_text answer = {0};
        ecoi_alloc_fail_from(nth);
        const eco_status status = run(job, request, &answer);
        ecoi_alloc_fail_from(0);
        done = !answer.failed && status == wanted;
        if (!done && status != ECO_E_NO_MEMORY) {
            print_error("%s: allocation %u failed: %s\n", job, (unsigned)nth, answer.data);
        }
        assert_true(done || status == ECO_E_NO_MEMORY);
        if (done) {
            assert_string_equal(answer.data, whole.data);
        }
        eco_text_free(&answer);
    }
    print_message("%s: %u allocations failed in turn\n", job, (unsigned)nth - 2);
    assert_true(nth > 3);
    eco_text_free(&whole);
}

/* Debug builds only. */
static void memory_may_end_anywhere(void **state) {
    (void)state;
    if (!ecoi_alloc_checked()) {
        skip();
    }
    static const char *const lists[] = {"jobs",   "models",  "cards",  "architectures",
                                        "curves", "anchors", "stacks", "cases"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        fails_anywhere(lists[i], "{}");
    }
    fails_anywhere("cases", two_cases);
    fails_anywhere("query", "{\"text\": \"7b on a 4090\"}");
    fails_anywhere("estimate", "{\"params_b\": 7, \"arch\": \"RTX 4090\", \"batch\": 8}");
    fails_anywhere("estimate_curve",
                   "{\"sizes\": [7, 20000], \"arch\": \"H200\", \"engine\": \"native\"}");
    fails_anywhere("optimize", "{\"params_b\": 7, \"arch\": \"ada\", \"max_vram_gb\": 16}");
    fails_anywhere("fit", "{\"bootstraps\": 0}");
    static const char *const of_report[] = {"validate", "summary", "explain", "check",
                                            "share_encode"};
    eco_text request = {0};
    report_request(&request);
    for (size_t i = 0; i < sizeof of_report / sizeof of_report[0]; i++) {
        fails_anywhere(of_report[i], request.data);
    }
    eco_text pair = {0};
    ecoi_text_addf(&pair, "{\"reports\": [%s, {\"report\": \"{}\"}]}", request.data);
    fails_anywhere("compare", pair.data);
    eco_text_free(&pair);
    eco_text_free(&request);
    fails_anywhere("share_decode", "{\"url\": \"eyJOIjoxLCJlIjoxfQ\"}");
}

/* Rows of one card, model, workload and engine are a case; engines, batches and contexts are never put together. */
static void cases_of_the_table(void **state) {
    (void)state;
    eco_text answer = {0};
    assert_int_equal(run("cases", "{}", &answer), ECO_OK);
    assert_non_null(strstr(answer.data,
                           "\"gpu\": \"RTX 4090\",\n    \"model\": \"Qwen2.5-3B\",\n    "
                           "\"params_b\": 3,\n    \"precision\": \"NF4\",\n    "
                           "\"engine\": \"transformers\",\n    \"window\": \"generation\",\n    "
                           "\"batch\": 1,\n    \"context\": 139,\n    \"sessions\": 5,\n    "
                           "\"stacks\": 3,\n    \"lo_pct\": -15.064,\n    \"hi_pct\": 3.481,\n    "
                           "\"spread_pct\": 18.545,\n    \"pairs_stated\": 0,\n    "
                           "\"pairs_beyond\": 0,\n    \"agreement\": \"sign\",\n    "
                           "\"same_stack\": \"agree\","));
    ecoi_json_doc doc = {0};
    eco_error err = {0};
    ASSERT_OK(ecoi_json_read(answer.data, answer.length, "cases", &doc, &err), &err);
    size_t n_rows = 0;
    size_t n_single = 0;
    for (const ecoi_json *row = doc.root->first; row != NULL; row = row->next) {
        n_rows += ecoi_json_member(row, "rows", 4)->n;
        n_single += strcmp(ecoi_json_member(row, "agreement", 9)->text, "single") == 0;
    }
    const eco_anchor_table *const table = eco_anchors_builtin();
    size_t n_changes = 0;
    for (size_t i = 0; i < table->n; i++) {
        double delta_pct = 0;
        n_changes += eco_anchor_delta_pct(&table->rows[i], &delta_pct);
    }
    assert_int_equal(n_rows, n_changes);
    assert_in_range(n_single, 1, doc.root->n - 20);
    ecoi_json_fini(&doc);
    eco_text_free(&answer);
}

static void cases_of_given_results(void **state) {
    (void)state;
    eco_text answer = {0};
    assert_int_equal(run("cases", two_cases, &answer), ECO_OK);
    assert_non_null(strstr(answer.data,
                           "\"batch\": 1,\n    \"context\": null,\n    \"sessions\": 2,\n    "
                           "\"stacks\": 1,\n    \"lo_pct\": -24,\n    \"hi_pct\": -20,\n    "
                           "\"spread_pct\": 4,\n    \"pairs_stated\": 1,\n    "
                           "\"pairs_beyond\": 1,\n    \"agreement\": \"beyond\",\n    "
                           "\"same_stack\": \"beyond\",\n    \"differ_above_pct\": 10,\n    "
                           "\"rows\": [\n      \"a\",\n      \"c\"\n    ]"));
    /* Another context is another case. */
    assert_non_null(strstr(answer.data, "\"context\": 384,\n    \"sessions\": 1,"));
    assert_non_null(strstr(answer.data, "\"context\": 4096,\n    \"sessions\": 1,"));
    eco_text_free(&answer);
    refuses("cases", "{\"results\": [{}]}", ECO_E_INVALID,
            "cases: results: id is missing: a short text is expected");
#define ONE(rest)                                                                            \
    "{\"results\": [{\"id\": \"a\", \"gpu\": \"G\", \"model\": \"M\", \"params_b\": 7, "     \
    "\"precision\": \"NF4\", \"engine\": \"native\", \"session\": \"1\", \"window\": \"\", " \
    "\"delta_pct\": " rest "}]}"
    refuses("cases", ONE("-100"), ECO_E_RANGE,
            "cases: results: delta_pct: a number above -100 is expected");
    refuses("cases", ONE("-5, \"ci95_pct\": [-4]"), ECO_E_RANGE,
            "cases: results: ci95_pct: two rising numbers above -100 are expected");
    refuses("cases", ONE("-5, \"ci95_pct\": [-4, -6]"), ECO_E_RANGE,
            "cases: results: ci95_pct: two rising numbers above -100 are expected");
    refuses("cases", ONE("-5, \"expanded_pct\": -1"), ECO_E_RANGE,
            "cases: results: expanded_pct: a number from 0 is expected");
#undef ONE
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_of_the_table),
        cmocka_unit_test(cases_of_given_results),
        cmocka_unit_test(refusals_name_what_is_wrong),
        cmocka_unit_test(a_request_has_a_largest_size),
        cmocka_unit_test(every_job_is_listed_once),
        cmocka_unit_test(answers_of_a_report),
        cmocka_unit_test(answers_on_links),
        cmocka_unit_test(answers_of_the_estimator),
        cmocka_unit_test(a_curve_is_estimates),
        cmocka_unit_test(stacks_are_of_the_table),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
