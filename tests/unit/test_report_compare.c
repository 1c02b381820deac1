/* SPDX-License-Identifier: Apache-2.0
 *
 * Which comparisons are sound: the published rule, field by field, on a report that is otherwise the same.
 */
#include "ecocompute/compare.h"
#include "golden_files.h"

#include <string.h>

/* One report; each place that a test changes stands by itself. */
static const char plain[] =
    "{\"schema_version\": \"ecocompute-energy/1.3\", \"run_id\": \"r1\", \"session\": \"s1\", "
    "\"system_under_test\": {\"gpu\": \"NVIDIA L4\"}, "
    "\"workload\": {\"model_name\": \"m\", \"params_b\": 1.1, \"precision\": \"NF4\", "
    "\"batch_size\": 1, \"engine\": \"native\", \"seed\": 1, \"weights_note\": \"made\"}, "
    "\"measurement\": {\"window\": \"decode\", \"tokens_per_run\": 256}, "
    "\"software\": {\"commit\": \"c1\", \"nvidia_driver\": \"550.1\"}, "
    "\"measurement_source\": \"direct-nvml\", \"thermal\": {\"mode\": \"cold\"}, "
    "\"environment\": {\"gpu_uuid_hash\": \"u1\", \"power_limit_w\": 72, "
    "\"power_limit_default_w\": 72, \"clock_lock_applied\": false}, "
    "\"results\": {\"vs_fp16_energy_pct\": -20, \"basis\": \"measured\"}, "
    "\"uncertainty\": {\"ci95_repeat\": {\"lo_pct\": -23, \"hi_pct\": -17, \"n\": 5}}}";

/* `plain` with the first `from` replaced by `to`, then the second pair; NULL: no change. */
static eco_report *changed(const char *from, const char *to, const char *from2, const char *to2) {
    char text[2048];
    char next[2048];
    (void)snprintf(text, sizeof text, "%s", plain);
    const char *const pairs[2][2] = {{from, to}, {from2, to2}};
    for (size_t i = 0; i < 2 && pairs[i][0] != NULL; i++) {
        const char *const at = strstr(text, pairs[i][0]);
        assert_non_null(at);
        (void)snprintf(next, sizeof next, "%.*s%s%s", (int)(at - text), text, pairs[i][1],
                       at + strlen(pairs[i][0]));
        (void)snprintf(text, sizeof text, "%s", next);
    }
    eco_report *report = NULL;
    eco_error err = {0};
    ASSERT_OK(eco_report_read(text, strlen(text), "report", &report, &err), &err);
    return report;
}

static eco_comparison compare(eco_report *a, eco_report *b, bool across) {
    const eco_compare_options options = {.across_stacks = across};
    eco_comparison c;
    eco_error err = {0};
    ASSERT_OK(eco_compare_pair(a, b, &options, &c, &err), &err);
    eco_report_free(a);
    eco_report_free(b);
    return c;
}

static const char *lines(const eco_findings *list) {
    return list->lines.data != NULL ? list->lines.data : "";
}

/* Of another run and session, with one thing changed: this one reason, and no other. */
static void has_reason(const char *from, const char *to, const char *reason) {
    char expected[512];
    eco_comparison c =
        compare(changed(NULL, NULL, NULL, NULL), changed(from, to, "\"r1\"", "\"r2\""), false);
    (void)snprintf(expected, sizeof expected, "%s\n", reason);
    assert_string_equal(lines(&c.reasons), expected);
    assert_int_equal(c.result, ECO_COMPARE_NOT_SOUND);
    assert_false(c.energies);
    eco_comparison_free(&c);
}

static void each_field_of_the_rule(void **state) {
    (void)state;
    has_reason("\"native\"", "\"other\"", "stack: workload.engine: native against other");
    has_reason("\"engine\": \"native\", ", "",
               "stack: workload.engine: native in one, not recorded in the other, which means "
               "transformers");
    has_reason("\"c1\"", "\"c2\"", "stack: software.commit: c1 against c2");
    has_reason("550.1", "550.2", "stack: software.nvidia_driver: 550.1 against 550.2");
    has_reason("\"commit\"", "\"packages\": {\"torch\": \"2.4\"}, \"commit\"",
               "stack: software.packages.torch: 2.4 in one, not recorded in the other");
    has_reason("\"decode\"", "\"generation\"",
               "window: measurement.window: decode against generation");
    has_reason("256", "64", "window: measurement.tokens_per_run: 256 against 64");
    has_reason("\"cold\"", "\"steady\"", "thermal: thermal.mode: cold against steady");
    has_reason("\"mode\": \"cold\"", "\"note\": \"\"",
               "thermal: thermal.mode: cold in one, not recorded in the other");
    has_reason("applied\": false", "applied\": true",
               "locks: environment.clock_lock_applied: false against true");
    has_reason("limit_w\": 72", "limit_w\": 60", "locks: environment.power_limit_w: 72 against 60");
    has_reason("\"batch_size\": 1", "\"batch_size\": 8",
               "workload: workload.batch_size: 1 against 8");
    has_reason("\"NF4\"", "\"INT8\"", "workload: workload.precision: NF4 against INT8");
    has_reason("\"seed\": 1", "\"seed\": 1, \"x\": [1]",
               "workload: workload.x: {…} in one, not recorded in the other");
    has_reason("\"measured\"", "\"interpolated\"",
               "basis: results.basis: measured against interpolated");
    has_reason("{\"schema", "{\"warnings\": [{\"code\": \"contended\"}], \"schema",
               "validity: the second has the warning contended, which bars it");
}

static void is_sound(const char *from, const char *to, const char *note) {
    eco_comparison c =
        compare(changed(NULL, NULL, NULL, NULL), changed(from, to, "\"r1\"", "\"r2\""), false);
    assert_string_equal(lines(&c.reasons), "");
    assert_string_equal(lines(&c.notes), note);
    assert_int_equal(c.result, ECO_COMPARE_SOUND);
    eco_comparison_free(&c);
}

static void what_may_differ(void **state) {
    (void)state;
    is_sound("\"made\"", "\"otherwise\"", "");
    is_sound("\"batch_size\": 1", "\"batch_size\": 1.0", "");
    is_sound("\"native\"", "\"native\", \"outlier_permille\": null", "");
    is_sound("\"u1\"", "\"u2\"",
             "energies: mJ/token is not compared: not shown to be the same card, and joules drift "
             "from day to day\n");
    is_sound("\"s1\"", "\"s2\"",
             "energies: mJ/token is not compared: another session, and joules drift from day to "
             "day\n");
}

static void the_difference_and_its_half_width(void **state) {
    (void)state;
    eco_comparison c =
        compare(changed(NULL, NULL, NULL, NULL),
                changed("\"vs_fp16_energy_pct\": -20", "\"vs_fp16_energy_pct\": -15.5",
                        "-23, \"hi_pct\": -17", "-19.5, \"hi_pct\": -11.5"),
                false);
    /* One run: its arms share the baseline, so that half-widths do not add. */
    ASSERT_NEAR(c.difference_pct.value, 4.5, 1e-12);
    assert_false(eco_reading_present(c.half_width_pct));
    assert_true(c.energies);
    eco_comparison_free(&c);
    c = compare(changed(NULL, NULL, NULL, NULL),
                changed("\"r1\"", "\"r2\"", "-23, \"hi_pct\": -17", "-24, \"hi_pct\": -16"), false);
    ASSERT_NEAR(c.half_width_pct.value, 5.0, 1e-12); /* 3 and 4 */
    assert_true(c.energies);                         /* one session, one card */
    eco_comparison_free(&c);
}

static void arms_of_one_run_differ_in_precision(void **state) {
    (void)state;
    eco_comparison c =
        compare(changed(NULL, NULL, NULL, NULL),
                changed("\"NF4\"", "\"INT8\", \"outlier_permille\": 1", NULL, NULL), false);
    assert_int_equal(c.result, ECO_COMPARE_SOUND);
    assert_string_equal(lines(&c.reasons), "");
    eco_comparison_free(&c);
}

static void across_stacks_only_when_asked(void **state) {
    (void)state;
    eco_comparison c =
        compare(changed(NULL, NULL, NULL, NULL),
                changed("\"native\"", "\"other\"", "\"decode\"", "\"generation\""), true);
    assert_string_equal(lines(&c.reasons),
                        "window: measurement.window: decode against generation\n");
    assert_string_equal(lines(&c.notes), "stack: workload.engine: native against other\n");
    eco_comparison_free(&c);
}

/* Another card: each at its own default limit, or one moved. */
static void limits_of_two_cards(void **state) {
    (void)state;
    eco_comparison c =
        compare(changed(NULL, NULL, NULL, NULL),
                changed("NVIDIA L4", "NVIDIA H200", "72, \"power_limit_default_w\": 72",
                        "700, \"power_limit_default_w\": 700"),
                false);
    assert_int_equal(c.result, ECO_COMPARE_SOUND);
    assert_string_equal(lines(&c.notes),
                        "card: system_under_test.gpu: NVIDIA L4 against NVIDIA H200\n");
    eco_comparison_free(&c);
    c = compare(changed(NULL, NULL, NULL, NULL),
                changed("NVIDIA L4", "NVIDIA H200", "72, \"power_limit_default_w\": 72",
                        "500, \"power_limit_default_w\": 700"),
                false);
    assert_string_equal(lines(&c.reasons),
                        "locks: environment.power_limit_w: at the card's default "
                        "in one, moved in the other\n");
    eco_comparison_free(&c);
}

static void nothing_to_compare(void **state) {
    (void)state;
    eco_comparison c = compare(
        changed(NULL, NULL, NULL, NULL),
        changed("\"vs_fp16_energy_pct\": -20", "\"vs_fp16_energy_pct\": null", NULL, NULL), false);
    assert_int_equal(c.result, ECO_COMPARE_NOTHING);
    assert_false(c.energies);
    eco_comparison_free(&c);
}

/* Texts of reports stay in their cell: no line, no escape sequence, no half character. */
static void hostile_texts(void **state) {
    (void)state;
    eco_report *const a =
        changed("NVIDIA L4", "\\u001b[2J\\n\\u202e", "\"m\"",
                "\"\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9"
                "\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9"
                "\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\"");
    eco_report *const b = changed(NULL, NULL, NULL, NULL);
    const eco_compared reports[] = {{a, "a\nb"}, {b, "b"}};
    const eco_compare_options options = {.across_stacks = false};
    eco_compare_result worst = ECO_COMPARE_SOUND;
    eco_text text = {0};
    eco_error err = {0};
    ASSERT_OK(eco_compare_text(reports, 2, &options, &text, &worst, &err), &err);
    assert_int_equal(worst, ECO_COMPARE_NOT_SOUND);
    assert_non_null(strstr(text.data, "A  a\\u000ab\n"));
    assert_non_null(strstr(text.data, "\\u001b[2J\\u000a\\u202e "));
    assert_non_null(strstr(text.data, "\u00e9\u00e9…"));
    assert_null(strchr(text.data, '\033'));
    eco_text_free(&text);
    ASSERT_OK(eco_compare_json(reports, 2, &options, &text, &worst, &err), &err);
    assert_non_null(
        strstr(text.data, "\"result\": \"not_sound\",\n      \"difference_pct\": null"));
    eco_text_free(&text);
    eco_report_free(a);
    eco_report_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_of_the_rule),
        cmocka_unit_test(what_may_differ),
        cmocka_unit_test(the_difference_and_its_half_width),
        cmocka_unit_test(arms_of_one_run_differ_in_precision),
        cmocka_unit_test(across_stacks_only_when_asked),
        cmocka_unit_test(limits_of_two_cards),
        cmocka_unit_test(nothing_to_compare),
        cmocka_unit_test(hostile_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
