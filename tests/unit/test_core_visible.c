/* SPDX-License-Identifier: Apache-2.0
 *
 * Text of any origin made fit for a terminal: what is escaped and how, what stays, and that JSON stays the same document.
 */
#include "core/json.h"
#include "core/str.h"
#include "test_helpers.h"

#include <stdio.h>
#include <string.h>

static void assert_visible(const char *text, size_t length, const char *wanted) {
    eco_text out = {0};
    eco_text_add_visible(&out, text, length);
    assert_false(out.failed);
    assert_string_equal(out.data != NULL ? out.data : "", wanted);
    eco_text_free(&out);
}

#define ASSERT_VISIBLE(text, wanted) assert_visible((text), sizeof(text) - 1, (wanted))

static void test_what_stays(void **state) {
    (void)state;
    ASSERT_VISIBLE("", "");
    ASSERT_VISIBLE("NVIDIA H200 \\ \"quoted\" ~", "NVIDIA H200 \\ \"quoted\" ~");
    ASSERT_VISIBLE("\xc2\xa0± … äß \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80",
                   "\xc2\xa0± … äß \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80");
}

static void test_controls(void **state) {
    (void)state;
    ASSERT_VISIBLE("\x1b[2J\x1b]0;title\a", "\\u001b[2J\\u001b]0;title\\u0007");
    ASSERT_VISIBLE("a\0b\tc\rd\ne\x7f", "a\\u0000b\\u0009c\\u000dd\\u000ae\\u007f");
    /* C1: CSI as one character of UTF-8, and as the bare byte an 8-bit terminal obeys. */
    ASSERT_VISIBLE("\xc2\x9b"
                   "2J \xc2\x80 \x9b",
                   "\\u009b2J \\u0080 \\x9b");
}

static void test_what_reorders_or_hides(void **state) {
    (void)state;
    ASSERT_VISIBLE("\xe2\x80\xae"
                   "gpj.exe",
                   "\\u202egpj.exe");
    ASSERT_VISIBLE("\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9",
                   "\\u2066\\u2067\\u2068\\u2069");
    ASSERT_VISIBLE("\xe2\x80\x8b\xe2\x80\x8f\xd8\x9c\xef\xbb\xbf\xc2\xad",
                   "\\u200b\\u200f\\u061c\\ufeff\\u00ad");
    ASSERT_VISIBLE("\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029");
    ASSERT_VISIBLE("\xf3\xa0\x81\x81", "\\udb40\\udc41"); /* a tag letter */
    /* The neighbours of each range stay. */
    ASSERT_VISIBLE("\xe2\x80\x90 \xe2\x80\xa7 \xe2\x80\xaf \xe2\x81\x9f \xe2\x81\xb0 \xd8\x9b",
                   "\xe2\x80\x90 \xe2\x80\xa7 \xe2\x80\xaf \xe2\x81\x9f \xe2\x81\xb0 \xd8\x9b");
}

static void test_bytes_that_are_no_text(void **state) {
    (void)state;
    ASSERT_VISIBLE("\xff\xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x80",
                   "\\xff\\xc0\\x80 \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xe2\\x80");
}

static void test_lines_stay_lines_only_where_asked(void **state) {
    (void)state;
    eco_text out = {0};
    eco_text_add_visible_lines(&out, "a\nb\r\n\x1b", 6);
    assert_string_equal(out.data, "a\nb\\u000d\n\\u001b");
    eco_text_free(&out);
}

static void test_json_stays_the_same_document(void **state) {
    (void)state;
    static const char document[] = "{\n  \"model\": \"\xc2\x9b"
                                   "2J\xe2\x80\xaegpj \xf3\xa0\x81\x81 ä\"\n}\n";
    eco_text out = {0};
    eco_error err = {0};
    eco_text_add_visible_lines(&out, document, sizeof document - 1);
    ecoi_json_doc before = {0};
    ecoi_json_doc after = {0};
    ASSERT_OK(ecoi_json_read(document, sizeof document - 1, "before", &before, &err), &err);
    ASSERT_OK(ecoi_json_read(out.data, out.length, "after", &after, &err), &err);
    const ecoi_json *const was = ecoi_json_member(before.root, "model", 5);
    const ecoi_json *const is = ecoi_json_member(after.root, "model", 5);
    assert_int_equal(is->text_length, was->text_length);
    assert_memory_equal(is->text, was->text, was->text_length);
    assert_true(strlen(out.data) > sizeof document - 1); /* something was escaped */
    ecoi_json_fini(&before);
    ecoi_json_fini(&after);
    eco_text_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_stays),
        cmocka_unit_test(test_controls),
        cmocka_unit_test(test_what_reorders_or_hides),
        cmocka_unit_test(test_bytes_that_are_no_text),
        cmocka_unit_test(test_lines_stay_lines_only_where_asked),
        cmocka_unit_test(test_json_stays_the_same_document),
    };
    return cmocka_run_group_tests_name("core_visible", tests, NULL, NULL);
}
