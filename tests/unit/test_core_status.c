/* SPDX-License-Identifier: Apache-2.0
 *
 * Status names and texts, pinned numbers, and the error writer: cut, UTF-8, NULL.
 */
#include "ecocompute/status.h"
#include "test_helpers.h"

#include <string.h>

static void names_and_numbers_are_pinned(void **state) {
    (void)state;
    assert_int_equal(ECO_OK, 0);
    assert_int_equal(ECO_E_USAGE, 2);
    assert_int_equal(ECO_E_DEVICE_MEMORY, 12);
    assert_int_equal(ECO_E_INVALID, 16);
    assert_int_equal(ECO_E_STUCK, 17);
    assert_string_equal(eco_status_name(ECO_E_PARSE), "ECO_E_PARSE");
    assert_string_equal(eco_status_text(ECO_E_PARSE), "not well formed");
    assert_string_equal(eco_status_text(ECO_E_DEVICE_LOST), "device lost");
}

static void unknown_status_has_a_name(void **state) {
    (void)state;
    assert_string_equal(eco_status_name((eco_status)99), "ECO_E_UNKNOWN");
    assert_string_equal(eco_status_text((eco_status)99), "unknown status");
}

static void error_carries_code_native_and_message(void **state) {
    (void)state;
    eco_error err = {0};
    const eco_status got = eco_error_set(&err, ECO_E_IO, 28, "%s: row %d", "trace.csv", 7);
    assert_int_equal(got, ECO_E_IO);
    assert_int_equal(err.code, ECO_E_IO);
    assert_int_equal(err.native, 28);
    assert_string_equal(err.message, "trace.csv: row 7");
    assert_int_equal(eco_error_set(NULL, ECO_E_RANGE, 0, "%s", "nobody reads this"), ECO_E_RANGE);
}

static void long_message_is_cut(void **state) {
    (void)state;
    char text[400];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct {
        eco_error err;
        char guard[8];
    } box = {.guard = "guarded"};
    (void)eco_error_set(&box.err, ECO_E_FAILED, 0, "%s", text);
    assert_int_equal(strlen(box.err.message), ECO_ERROR_MESSAGE_MAX - 1);
    assert_string_equal(box.guard, "guarded");
}

/* "é" is two bytes, "€" three: wherever the cut falls, no half character is left. */
static void cut_keeps_utf8_whole(void **state) {
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        char text[400] = "";
        memset(text, 'a', shift);
        for (size_t at = shift; at + 3 < sizeof text - 1; at += 3) {
            memcpy(text + at, "\xE2\x82\xAC", 4);
        }
        eco_error err = {0};
        (void)eco_error_set(&err, ECO_E_FAILED, 0, "%s", text);
        const size_t length = strlen(err.message);
        assert_int_equal((length - shift) % 3, 0);
        assert_in_range(length, ECO_ERROR_MESSAGE_MAX - 3, ECO_ERROR_MESSAGE_MAX - 1);
    }
    /* A message that fits is left alone, whatever its bytes are. */
    eco_error err = {0};
    (void)eco_error_set(&err, ECO_E_FAILED, 0, "%s", "\xE2\x82");
    assert_int_equal(strlen(err.message), 2);
}

static eco_status forwards(eco_status status, int *after) {
    ECO_TRY(status);
    *after = 1;
    return ECO_OK;
}

static void try_forwards_failures_only(void **state) {
    (void)state;
    int after = 0;
    assert_int_equal(forwards(ECO_E_BUSY, &after), ECO_E_BUSY);
    assert_int_equal(after, 0);
    assert_int_equal(forwards(ECO_OK, &after), ECO_OK);
    assert_int_equal(after, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_numbers_are_pinned),
        cmocka_unit_test(unknown_status_has_a_name),
        cmocka_unit_test(error_carries_code_native_and_message),
        cmocka_unit_test(long_message_is_cut),
        cmocka_unit_test(cut_keeps_utf8_whole),
        cmocka_unit_test(try_forwards_failures_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
