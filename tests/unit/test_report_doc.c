/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports as documents: setting and getting, key order, sticky failures, warnings, golden files, and twenty thousand
 * damaged reports, which must be read or refused with a place, never crash.
 */
#include "core/rng.h"
#include "ecocompute/report.h"
#include "golden_files.h"
#include "test_helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *written(const eco_report *report) {
    eco_text text = {0};
    eco_error err = {0};
    ASSERT_OK(eco_report_write(report, &text, &err), &err);
    return text.data;
}

static eco_report *read_back(const char *text) {
    eco_report *report = NULL;
    eco_error err = {0};
    ASSERT_OK(eco_report_read(text, strlen(text), "r.json", &report, &err), &err);
    return report;
}

/* Sets every field of the table once, in the order of `order`; arrays get elements 0 and 1. */
static void set_all(eco_report *report, const uint32_t *order) {
    for (uint32_t k = 0; k < ECO_FIELD_COUNT; k++) {
        const eco_field field = (eco_field)order[k];
        const eco_field_info *const info = eco_field_at(field);
        const char *const first = strstr(info->path, "[]");
        const uint32_t n_i = first != NULL ? 2 : 1;
        const uint32_t n_j = first != NULL && strstr(first + 2, "[]") != NULL ? 2 : 1;
        for (uint32_t i = 0; i < n_i; i++) {
            for (uint32_t j = 0; j < n_j; j++) {
                const eco_at at = ECO_AT2(i, j);
                switch (info->type) {
                case ECO_TYPE_STRING:
                    eco_report_set_string(report, field, at, info->id);
                    break;
                case ECO_TYPE_NUMBER:
                    eco_report_set_number(report, field, at, (double)field + 0.25 + i + j / 8.0);
                    break;
                case ECO_TYPE_INTEGER:
                    eco_report_set_integer(report, field, at, field);
                    break;
                case ECO_TYPE_BOOLEAN:
                    eco_report_set_bool(report, field, at, field % 2 == 0);
                    break;
                case ECO_TYPE_STRINGS:
                    eco_report_add_string(report, field, at, "one");
                    eco_report_add_string(report, field, at, "two");
                    break;
                case ECO_TYPE_STRING_MAP:
                    break; /* of foreign reports only */
                }
            }
        }
    }
}

/* Whatever the order of the calls, the text is the same, and its keys stand in the table's order. */
static void test_key_order(void **state) {
    (void)state;
    uint32_t order[ECO_FIELD_COUNT];
    for (uint32_t i = 0; i < ECO_FIELD_COUNT; i++) {
        order[i] = i;
    }
    eco_report *const straight = eco_report_new();
    set_all(straight, order);
    char *const expected = written(straight);
    const char *at = expected;
    for (uint32_t i = 0; i < ECO_FIELD_COUNT; i++) {
        const char *const path = eco_field_at((eco_field)i)->path;
        if (eco_field_at((eco_field)i)->type == ECO_TYPE_STRING_MAP) {
            continue;
        }
        const char *const dot = strrchr(path, '.');
        char key[128];
        snprintf(key, sizeof key, "\"%s\": ", dot != NULL ? dot + 1 : path);
        at = strstr(at, key); /* the first element of an array comes first, so this walks forward */
        assert_non_null(at);
    }
    uint64_t seed = 5;
    for (int round = 0; round < 20; round++) {
        ecoi_rng_shuffle(&seed, order, ECO_FIELD_COUNT);
        eco_report *const shuffled = eco_report_new();
        set_all(shuffled, order);
        char *const text = written(shuffled);
        assert_string_equal(text, expected);
        free(text);
        eco_report_free(shuffled);
    }
    eco_report *const back = read_back(expected);
    char *const again = written(back);
    assert_string_equal(again, expected);
    free(again);
    eco_report_free(back);
    free(expected);
    eco_report_free(straight);
}

static void test_set_and_get(void **state) {
    (void)state;
    eco_report *const r = eco_report_new();
    double number = 1;
    int64_t integer = 1;
    const char *string = "";
    bool truth = true;
    assert_false(eco_report_number(r, ECO_FIELD_RE_MJ, ECO_TOP, &number));
    assert_true(number == 0.0);
    eco_report_set_rounded(r, ECO_FIELD_RE_MJ, ECO_TOP, 1234.56789, 3);
    assert_true(eco_report_number(r, ECO_FIELD_RE_MJ, ECO_TOP, &number));
    assert_true(number == 1234.568);
    eco_report_set_number(r, ECO_FIELD_RE_MJ, ECO_TOP, (double)NAN);
    assert_false(eco_report_number(r, ECO_FIELD_RE_MJ, ECO_TOP, &number));
    eco_report_set_integer(r, ECO_FIELD_WL_BATCH, ECO_TOP, INT64_MAX);
    assert_true(eco_report_integer(r, ECO_FIELD_WL_BATCH, ECO_TOP, &integer));
    assert_true(integer == INT64_MAX);
    eco_report_set_number(r, ECO_FIELD_WL_BATCH, ECO_TOP, 4);
    assert_true(eco_report_integer(r, ECO_FIELD_WL_BATCH, ECO_TOP, &integer) && integer == 4);
    eco_report_set_string(r, ECO_FIELD_WL_MODEL, ECO_TOP, "a\"b");
    assert_true(eco_report_string(r, ECO_FIELD_WL_MODEL, ECO_TOP, &string));
    assert_string_equal(string, "a\"b");
    assert_false(eco_report_number(r, ECO_FIELD_WL_MODEL, ECO_TOP, &number));
    eco_report_set_string(r, ECO_FIELD_WL_MODEL, ECO_TOP, NULL);
    assert_false(eco_report_string(r, ECO_FIELD_WL_MODEL, ECO_TOP, &string));
    eco_report_set_reading(r, ECO_FIELD_EN_ECC, ECO_TOP, eco_reading_of(1), 0);
    assert_true(eco_report_bool(r, ECO_FIELD_EN_ECC, ECO_TOP, &truth) && truth);
    eco_report_set_reading(r, ECO_FIELD_EN_ECC, ECO_TOP, eco_reading_absent(ECO_ABSENT_UNSUPPORTED),
                           0);
    assert_false(eco_report_bool(r, ECO_FIELD_EN_ECC, ECO_TOP, &truth));
    eco_report_set_reading(r, ECO_FIELD_EN_LIMIT, ECO_TOP, eco_reading_of(699.99996), 3);
    assert_true(eco_report_number(r, ECO_FIELD_EN_LIMIT, ECO_TOP, &number) && number == 700.0);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            eco_report_set_number(r, ECO_FIELD_WI_J, ECO_AT2(i, j), i * 10 + j);
        }
    }
    assert_int_equal(eco_report_array_size(r, ECO_FIELD_AR_MJ, ECO_TOP), 3);
    assert_int_equal(eco_report_array_size(r, ECO_FIELD_WI_J, ECO_AT1(2)), 3);
    assert_int_equal(eco_report_array_size(r, ECO_FIELD_WI_J, ECO_AT1(3)), 0);
    assert_int_equal(eco_report_array_size(r, ECO_FIELD_RE_MJ, ECO_TOP), 0);
    assert_true(eco_report_number(r, ECO_FIELD_WI_J, ECO_AT2(2, 1), &number) && number == 21.0);
    assert_false(eco_report_number(r, ECO_FIELD_WI_J, ECO_AT2(0, 1), &number));
    eco_report_add_string(r, ECO_FIELD_PT_COLUMNS, ECO_TOP, "t_s");
    assert_int_equal(eco_report_array_size(r, ECO_FIELD_PT_COLUMNS, ECO_TOP), 1);
    eco_report_free(r);
    eco_report_free(NULL);
}

static void expect_sticky(eco_report *report, eco_status status, const char *message) {
    eco_text text = {0};
    eco_error err = {0};
    eco_report_set_string(report, ECO_FIELD_WL_MODEL, ECO_TOP, "later calls do not mend it");
    assert_int_equal(eco_report_write(report, &text, &err), status);
    assert_string_equal(err.message, message);
    assert_null(text.data);
    eco_report_free(report);
}

static void test_sticky_failures(void **state) {
    (void)state;
    eco_report *r = eco_report_new();
    eco_report_set_number(r, ECO_FIELD_WI_J, ECO_AT2(0, 0), 1);
    eco_report_set_number(r, ECO_FIELD_WI_J, ECO_AT2(0, 2), 1);
    expect_sticky(r, ECO_E_RANGE,
                  "report: trials.arms[].windows[].energy_j: an array element was skipped");
    r = eco_report_new();
    eco_report_set_number(r, ECO_FIELD_WL_PRECISION, ECO_TOP, 4);
    expect_sticky(r, ECO_E_USAGE,
                  "report: workload.precision: the field does not take this number");
    r = eco_report_new();
    eco_report_set_number(r, ECO_FIELD_WL_BATCH, ECO_TOP, 1.5);
    expect_sticky(r, ECO_E_USAGE,
                  "report: workload.batch_size: the field does not take this number");
    r = eco_report_new();
    eco_report_set_bool(r, ECO_FIELD_RE_MJ, ECO_TOP, true);
    expect_sticky(r, ECO_E_USAGE, "report: results.energy_per_token_mj: the field is no boolean");
    r = read_back("{\"results\":7}");
    eco_report_set_number(r, ECO_FIELD_RE_MJ, ECO_TOP, 1);
    expect_sticky(r, ECO_E_INVALID,
                  "report: results.energy_per_token_mj: something else stands on the path");
    r = read_back("{\"trials\":{\"arms\":[null]}}");
    eco_report_set_number(r, ECO_FIELD_AR_MJ, ECO_AT1(0), 1);
    expect_sticky(r, ECO_E_INVALID,
                  "report: trials.arms[].energy_per_token_mj: something else stands in the array");
}

static void test_warnings(void **state) {
    (void)state;
    eco_report *const r = eco_report_new();
    assert_false(eco_report_has_warning(r, ECO_WARNING_THROTTLED));
    eco_report_warn(r, ECO_WARNING_THROTTLED, "block 2");
    eco_report_warn(r, ECO_WARNING_SHORT_WINDOW, NULL);
    eco_report_warn(r, ECO_WARNING_THROTTLED, "block 3");
    assert_true(eco_report_has_warning(r, ECO_WARNING_THROTTLED));
    assert_true(eco_report_has_warning(r, ECO_WARNING_SHORT_WINDOW));
    assert_false(eco_report_has_warning(r, ECO_WARNING_CONTENDED));
    assert_int_equal(eco_report_array_size(r, ECO_FIELD_WA_CODE, ECO_TOP), 2);
    const char *detail = NULL;
    bool invalidates = false;
    assert_true(eco_report_string(r, ECO_FIELD_WA_DETAIL, ECO_AT1(0), &detail));
    assert_string_equal(detail, "block 2");
    assert_false(eco_report_string(r, ECO_FIELD_WA_DETAIL, ECO_AT1(1), &detail));
    assert_true(eco_report_bool(r, ECO_FIELD_WA_INVALIDATES, ECO_AT1(0), &invalidates) &&
                invalidates);
    eco_report_free(r);
}

static void test_strings_with_nul(void **state) {
    (void)state;
    eco_report *const r =
        read_back("{\"workload\":{\"model_name\":\"a\\u0000b\",\"precision\":\"NF4\"}}");
    const char *string = "";
    assert_false(eco_report_string(r, ECO_FIELD_WL_MODEL, ECO_TOP, &string));
    assert_null(string);
    assert_true(eco_report_string(r, ECO_FIELD_WL_PRECISION, ECO_TOP, &string));
    eco_report_free(r);
}

static void test_read_refused(void **state) {
    (void)state;
    eco_report *report = NULL;
    eco_error err = {0};
    assert_int_equal(eco_report_read("\n [1]", 5, "r.json", &report, &err), ECO_E_PARSE);
    assert_string_equal(err.message, "r.json:2:2: expected an object, found array");
    assert_null(report);
    assert_int_equal(eco_report_read("{\"a\":1,\"a\":2}", 13, "r.json", &report, &err),
                     ECO_E_PARSE);
    assert_null(report);
}

/* ---- Golden files ----------------------------------------------------------------------------- */

static void expect_golden(const char *from, const char *to) {
    size_t n_from = 0, n_to = 0;
    char *const input = golden_load(from, &n_from), *const expected = golden_load(to, &n_to);
    eco_report *report = NULL;
    eco_error err = {0};
    ASSERT_OK(eco_report_read(input, n_from, from, &report, &err), &err);
    char *const output = written(report);
    assert_string_equal(output, expected);
    eco_findings findings = {0};
    eco_report_check_schema(report, &findings);
    assert_string_equal(findings.n == 0 ? "" : findings.lines.data, "");
    eco_findings_free(&findings);
    free(output);
    eco_report_free(report);
    free(input);
    free(expected);
}

static void test_golden(void **state) {
    (void)state;
    expect_golden("energy_1_3_ours.json", "energy_1_3_ours.json");
    expect_golden("energy_1_1_foreign.json", "energy_1_1_foreign.rewritten.json");
    expect_golden("published_1_0.json", "published_1_0.json");
    expect_golden("published_1_1.json", "published_1_1.json");
    expect_golden("published_1_2.json", "published_1_2.json");
    expect_golden("published_1_3.json", "published_1_3.json");
}

/* ---- Damage ----------------------------------------------------------------------------------- */

/* "r.json:LINE:COLUMN: something" */
static bool names_place(const char *message) {
    static const char prefix[] = "r.json:";
    if (strncmp(message, prefix, sizeof prefix - 1) != 0) {
        return false;
    }
    const char *at = message + sizeof prefix - 1;
    size_t n = strspn(at, "0123456789");
    if (n == 0 || at[n] != ':') {
        return false;
    }
    at += n + 1;
    n = strspn(at, "0123456789");
    return n > 0 && at[n] == ':' && at[n + 1] == ' ' && at[n + 2] != '\0';
}

static size_t damage(char *text, size_t length, size_t capacity, uint64_t *seed) {
    static const char *const pieces[] = {
        "{",   "}",       "[",        "]",    ",",    ":",    "\"",           "\\",
        "\\u", "\\ud800", "1e999",    "-",    "null", "\xff", "\xe2\x80\xa8", "\n",
        "0",   "{\"a\":", "[[[[[[[[", "true", ".",    "e"};
    const size_t at = ecoi_rng_next(seed) % length;
    switch (ecoi_rng_below(seed, 5)) {
    case 0:
        text[at] = (char)ecoi_rng_next(seed);
        return length;
    case 1:
        return at + 1; /* cut */
    case 2: {          /* leave a piece out */
        const size_t n = ecoi_rng_next(seed) % (length - at) % 40;
        memmove(text + at, text + at + n, length - at - n);
        return length - n;
    }
    case 3: { /* put a piece in */
        const char *const piece = pieces[ecoi_rng_below(seed, sizeof pieces / sizeof pieces[0])];
        const size_t n = strlen(piece);
        if (length + n > capacity) {
            return length;
        }
        memmove(text + at + n, text + at, length - at);
        memcpy(text + at, piece, n);
        return length + n;
    }
    default: { /* double a piece */
        const size_t n = ecoi_rng_next(seed) % (length - at) % 200;
        if (length + n > capacity) {
            return length;
        }
        memmove(text + at + n, text + at, length - at);
        return length + n;
    }
    }
}

static void test_damaged_reports(void **state) {
    (void)state;
    enum { N_REPORTS = 20000 };
    size_t length = 0;
    char *const valid = golden_load("energy_1_3_ours.json", &length);
    uint64_t seed = 20240229;
    uint32_t n_read = 0, n_findings = 0;
    for (uint32_t i = 0; i < N_REPORTS; i++) {
        const size_t capacity = length + 1000;
        char *text = malloc(capacity);
        memcpy(text, valid, length);
        size_t n = length;
        for (uint32_t k = 0; k <= ecoi_rng_below(&seed, 3); k++) {
            n = damage(text, n, capacity, &seed);
        }
        text = realloc(text, n); /* so that a sanitizer sees a step beyond the end */
        eco_report *report = NULL;
        eco_error err = {0};
        if (eco_report_read(text, n, "r.json", &report, &err) == ECO_OK) {
            n_read++;
            eco_findings findings = {0};
            eco_report_check_schema(report, &findings);
            eco_report_recompute(report, NULL, 0, &findings);
            n_findings += findings.n > 0 ? 1 : 0;
            eco_findings_free(&findings);
            char *const once = written(report);
            eco_report *const again = read_back(once);
            char *const twice = written(again);
            assert_string_equal(twice, once);
            free(once);
            free(twice);
            eco_report_free(again);
        } else if (!names_place(err.message)) {
            print_error("no place in: %s\n", err.message);
            fail();
        }
        eco_report_free(report);
        free(text);
    }
    free(valid);
    print_message("%u of %d damaged reports were still JSON objects, %u of them with findings\n",
                  n_read, N_REPORTS, n_findings);
    assert_true(n_read > 500 && n_read < N_REPORTS - 5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_order),        cmocka_unit_test(test_set_and_get),
        cmocka_unit_test(test_sticky_failures),  cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_strings_with_nul), cmocka_unit_test(test_read_refused),
        cmocka_unit_test(test_golden),           cmocka_unit_test(test_damaged_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
