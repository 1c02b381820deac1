/* SPDX-License-Identifier: Apache-2.0
 *
 * core/json: what is refused and where the message points, what is kept, how it is written, and running out of memory.
 */
#include "core/json.h"

#include "core/alloc.h"
#include "test_helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static eco_status read_text(const char *text, ecoi_json_doc *doc, eco_error *err) {
    return ecoi_json_read(text, strlen(text), "in", doc, err);
}

static void expect_failure(const char *text, size_t length, const char *message) {
    ecoi_json_doc doc;
    eco_error err = {0};
    const eco_status status = ecoi_json_read(text, length, "in", &doc, &err);
    assert_int_not_equal(status, ECO_OK);
    assert_string_equal(err.message, message);
    assert_null(doc.root);
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "in:1:1: expected a value, found the end"},
        {"{\"a\":1}}", "in:1:8: expected the end after the value"},
        {"{\"a\":1,}", "in:1:8: expected a key in double quotes"},
        {"[1,]", "in:1:4: expected a value"},
        {"[1 2]", "in:1:4: expected ',' or ']'"},
        {"{\"a\" 1}", "in:1:6: expected ':' after the key"},
        {"{\"a\":1\n \"b\":2}", "in:2:2: expected ',' or '}'"},
        {"{\"a\":1,\n\"b\":2,\"a\":3}",
         "in:2:12: duplicate key \"a\" in the object that ends here"},
        {"{\"a\":1,\"\\u0061\":3}", "in:1:18: duplicate key \"a\" in the object that ends here"},
        {"NaN", "in:1:1: expected a value"},
        {"[Infinity]", "in:1:2: expected a value"},
        {"-Infinity", "in:1:1: not a number"},
        {"[01]", "in:1:3: expected ',' or ']'"},
        {"[1.]", "in:1:2: not a number"},
        {"[1e400]", "in:1:2: a number beyond the range of a double"},
        {"'a'", "in:1:1: expected a value"},
        {"\"a", "in:1:1: the string does not end"},
        {"\"a\\", "in:1:4: the string does not end"},
        {"\"a\nb\"", "in:1:3: a control character in a string must be escaped"},
        {"\"\\x\"", "in:1:3: unknown escape in a string"},
        {"\"\\u12G4\"", "in:1:4: expected four hexadecimal digits after \\u"},
        {"\"\\ud800\"", "in:1:8: a high surrogate without the low one after it"},
        {"\"\\ud800\\u0041\"", "in:1:8: a high surrogate without the low one after it"},
        {"\"\\udc00\"", "in:1:4: a low surrogate without the high one before it"},
        {"\"\xc3\xa4\xff\"", "in:1:3: invalid UTF-8"},     /* columns count characters */
        {"\"\xc0\xaf\"", "in:1:2: invalid UTF-8"},         /* overlong */
        {"\"\xed\xa0\x80\"", "in:1:2: invalid UTF-8"},     /* surrogate */
        {"\"\xf4\x90\x80\x80\"", "in:1:2: invalid UTF-8"}, /* beyond U+10FFFF */
        {"\"\xe2\x82", "in:1:2: invalid UTF-8"},           /* cut */
        {"\xef\xbb\xbf{}", "in:1:1: a byte order mark is not allowed"},
        {"[tru]", "in:1:2: expected a value"},
        {"[1]//", "in:1:4: expected the end after the value"},
        {"{a:1}", "in:1:2: expected a key in double quotes"},
        {"[\v1]", "in:1:2: expected a value"},
        {"}", "in:1:1: expected a value"},
        {"[}", "in:1:2: expected a value"},
        {"{\"a\":[1}}", "in:1:8: expected ',' or ']'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_failure(rows[i].text, strlen(rows[i].text), rows[i].message);
    }
    expect_failure("[1]\0", 4, "in:1:4: expected the end after the value");
    expect_failure("\"a\0b\"", 5, "in:1:3: a control character in a string must be escaped");
}

static void test_depth(void **state) {
    (void)state;
    char text[2 * ECO_JSON_DEPTH_MAX + 3];
    memset(text, '[', ECO_JSON_DEPTH_MAX);
    memset(text + ECO_JSON_DEPTH_MAX, ']', ECO_JSON_DEPTH_MAX);
    ecoi_json_doc doc;
    eco_error err = {0};
    ASSERT_OK(ecoi_json_read(text, 2 * ECO_JSON_DEPTH_MAX, "in", &doc, &err), &err);
    eco_text out = {0};
    assert_true(ecoi_json_write(doc.root, &out));
    eco_text_free(&out);
    ecoi_json_fini(&doc);
    memset(text, '[', ECO_JSON_DEPTH_MAX + 1);
    assert_int_equal(ecoi_json_read(text, ECO_JSON_DEPTH_MAX + 1, "in", &doc, &err), ECO_E_RANGE);
    assert_string_equal(err.message, "in:1:65: nested deeper than 64 levels");
}

/* Far more brackets than a stack could hold, and far more text than is let in. */
static void test_caps(void **state) {
    (void)state;
    const size_t size = (size_t)ECO_JSON_SIZE_MAX + 1;
    char *const text = malloc(size);
    assert_non_null(text);
    memset(text, '[', size);
    ecoi_json_doc doc;
    eco_error err = {0};
    assert_int_equal(ecoi_json_read(text, size, "in", &doc, &err), ECO_E_RANGE);
    assert_string_equal(err.message, "in: larger than 64 MiB");
    assert_int_equal(ecoi_json_read(text, size - 1, "in", &doc, &err), ECO_E_RANGE);
    text[0] = '[';
    for (size_t i = 1; i + 1 < size; i += 2) {
        text[i] = '0';
        text[i + 1] = ',';
    }
    assert_int_equal(ecoi_json_read(text, size - 1, "in", &doc, &err), ECO_E_RANGE);
    assert_string_equal(err.message, "in:1:8388608: too many values");
    free(text);
}

static void test_many_keys(void **state) {
    (void)state;
    eco_text text = {.data = malloc(4 << 20), .capacity = 4 << 20};
    assert_non_null(text.data);
    text.length = (size_t)sprintf(text.data, "{");
    for (int i = 0; i < 100000; i++) {
        text.length += (size_t)sprintf(text.data + text.length, "\"key%d\":%d,", i, i);
    }
    const size_t end = text.length;
    strcpy(text.data + end, "\"last\":0}");
    ecoi_json_doc doc;
    eco_error err = {0};
    ASSERT_OK(read_text(text.data, &doc, &err), &err);
    assert_int_equal(doc.root->n, 100001);
    ecoi_json_fini(&doc);
    strcpy(text.data + end, "\"key500\":0}");
    assert_int_equal(read_text(text.data, &doc, &err), ECO_E_PARSE);
    assert_non_null(strstr(err.message, "duplicate key \"key500\""));
    free(text.data);
}

static void expect_rewrite(const char *text, const char *expected) {
    ecoi_json_doc doc;
    eco_error err = {0};
    ASSERT_OK(read_text(text, &doc, &err), &err);
    eco_text out = {0};
    assert_true(ecoi_json_write(doc.root, &out));
    assert_string_equal(out.data, expected);
    eco_text_free(&out);
    ecoi_json_fini(&doc);
}

static void test_rewrite(void **state) {
    (void)state;
    expect_rewrite(
        "{\"b\":1.50,\"a\":[1E+02,-0,-0.0e5,1e-07,[],{}],\"\":null}",
        "{\n  \"b\": 1.50,\n  \"a\": [\n    1E+02,\n    -0,\n    -0.0e5,\n    1e-07,\n    [],\n"
        "    {}\n  ],\n  \"\": null\n}\n");
    expect_rewrite(" \t\r\n[true , false]", "[\n  true,\n  false\n]\n");
    expect_rewrite("12345678901234567890123", "12345678901234567890123\n");
    expect_rewrite(
        "\"\\\"\\\\\\/"
        "\\b\\f\\n\\r\\t\\u0000\\u001f\\u007f\\u00e4\\u2028\\u2029\\u20ac<\\ud83d\\ude00\"",
        "\"\\\"\\\\/"
        "\\b\\f\\n\\r\\t\\u0000\\u001f\\u007f\xc3\xa4\\u2028\\u2029\xe2\x82\xac<"
        "\xf0\x9f\x98\x80\"\n");
}

static void test_look_up(void **state) {
    (void)state;
    ecoi_json_doc doc;
    eco_error err = {0};
    ASSERT_OK(read_text("{\"a\":[10,\"x\\u0000y\"],\"n\":256.0,\"h\":0.5,\"big\":9007199254740993}",
                        &doc, &err),
              &err);
    const ecoi_json *const array = ecoi_json_member(doc.root, "a", 1);
    assert_non_null(array);
    assert_int_equal(array->n, 2);
    assert_int_equal(ecoi_json_element(array, 1)->text_length, 3);
    assert_memory_equal(ecoi_json_element(array, 1)->text, "x\0y", 4);
    assert_null(ecoi_json_element(array, 2));
    assert_null(ecoi_json_element(doc.root, 0));
    assert_null(ecoi_json_member(array, "a", 1));
    assert_null(ecoi_json_member(doc.root, "aa", 2));
    int64_t integer = 0;
    assert_true(ecoi_json_integer(ecoi_json_member(doc.root, "n", 1), &integer));
    assert_int_equal(integer, 256);
    assert_false(ecoi_json_integer(ecoi_json_member(doc.root, "h", 1), &integer));
    assert_true(ecoi_json_integer(ecoi_json_member(doc.root, "big", 3), &integer));
    assert_true(integer == 9007199254740993);
    ecoi_json_fini(&doc);
}

static void test_build(void **state) {
    (void)state;
    ecoi_json_doc doc = {0};
    doc.root = ecoi_json_new(&doc, ECOI_JSON_OBJECT);
    assert_true(ecoi_json_set(&doc, doc.root, "b", NULL, ecoi_json_new_number(&doc, 0.1)));
    ecoi_json *const b = ecoi_json_member(doc.root, "b", 1);
    assert_true(ecoi_json_set(&doc, doc.root, "a", b, ecoi_json_new_integer(&doc, INT64_MIN)));
    assert_true(ecoi_json_set(&doc, doc.root, "c", NULL, ecoi_json_new(&doc, ECOI_JSON_ARRAY)));
    ecoi_json_append(ecoi_json_member(doc.root, "c", 1), ecoi_json_new_bool(&doc, true));
    ecoi_json_append(ecoi_json_member(doc.root, "c", 1),
                     ecoi_json_new_string(&doc, "\xff-\xc3\xa4", 4));
    assert_true(ecoi_json_set(&doc, doc.root, "b", NULL, ecoi_json_new(&doc, ECOI_JSON_NULL)));
    eco_text out = {0};
    assert_true(ecoi_json_write(doc.root, &out));
    assert_string_equal(out.data,
                        "{\n  \"a\": -9223372036854775808,\n  \"b\": null,\n  \"c\": [\n    true,\n"
                        "    \"\xef\xbf\xbd-\xc3\xa4\"\n  ]\n}\n");
    eco_text_free(&out);
    ecoi_json_fini(&doc);
}

/* Every allocation of reading and writing fails in turn; debug builds only. */
static void test_out_of_memory(void **state) {
    (void)state;
    if (!ecoi_alloc_checked()) {
        skip();
    }
    eco_text big = {0};
    char text[4000] = "{";
    for (int i = 0; i < 100; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "\"k%d\":[%d,\"some text\"],", i,
                 i);
    }
    strcpy(text + strlen(text) - 1, "}");
    bool done = false;
    uint64_t nth = 1;
    for (; !done; nth++) {
        ecoi_json_doc doc;
        eco_error err = {0};
        ecoi_alloc_fail_from(nth);
        const eco_status status = read_text(text, &doc, &err);
        const bool written = status == ECO_OK && ecoi_json_write(doc.root, &big);
        ecoi_alloc_fail_from(0);
        assert_true(status == ECO_OK || status == ECO_E_NO_MEMORY);
        assert_true(status != ECO_OK || written || big.failed);
        done = written;
        ecoi_json_fini(&doc);
        eco_text_free(&big);
    }
    assert_true(nth > 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_caps),    cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_rewrite), cmocka_unit_test(test_look_up),
        cmocka_unit_test(test_build),   cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
