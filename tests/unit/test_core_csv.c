/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells of a CSV: quoting, line ends, caps, and the line that a complaint names.
 */
#include "core/csv.h"

#include "test_helpers.h"

#include <stdlib.h>
#include <string.h>

typedef struct cells {
    const char *text;
    const char *want[8]; /* "\n" ends a line */
} cells;

static void test_cells(void **state) {
    (void)state;
    static const cells rows[] = {
        {"a,b\nc,d\n", {"a", "b\n", "c", "d\n"}},
        {"a,b\r\nc,d", {"a", "b\n", "c", "d\n"}},
        {"\xef\xbb\xbf"
         "a,b",
         {"a", "b\n"}},
        {"\"a,b\",\"c \"\"d\"\"\"\n", {"a,b", "c \"d\"\n"}},
        {"\"two\nlines\",x", {"two\nlines", "x\n"}},
        {",\n", {"", "\n"}},
        {"\n\na,b\n\n", {"a", "b\n"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ecoi_csv in;
        eco_error err = {0};
        size_t n = 0;
        ecoi_csv_init(&in, rows[i].text, strlen(rows[i].text), "t", &err);
        while (ecoi_csv_more(&in)) {
            do {
                ASSERT_OK(ecoi_csv_cell(&in), &err);
                assert_non_null(rows[i].want[n]);
                const bool last = rows[i].want[n][0] != '\0' &&
                                  rows[i].want[n][strlen(rows[i].want[n]) - 1] == '\n';
                assert_int_equal(in.last, last);
                assert_int_equal(in.length, strlen(rows[i].want[n]) - (last ? 1 : 0));
                assert_memory_equal(in.cell, rows[i].want[n], in.length);
                n++;
            } while (!in.last);
        }
        assert_null(rows[i].want[n]);
    }
}

static void check_refused(const char *text, size_t length, eco_status want, const char *message) {
    ecoi_csv in;
    eco_error err = {0};
    eco_status status = ECO_OK;
    ecoi_csv_init(&in, text, length, "t", &err);
    while (status == ECO_OK && ecoi_csv_more(&in)) {
        status = ecoi_csv_cell(&in);
    }
    assert_int_equal(status, want);
    assert_string_equal(err.message, message);
}

static void test_refusals(void **state) {
    (void)state;
    char *text = malloc(ECOI_CSV_CELL_MAX + 3);
    assert_non_null(text);
    memset(text, 'x', ECOI_CSV_CELL_MAX + 3);
    check_refused(text, ECOI_CSV_CELL_MAX + 1, ECO_E_RANGE, "t:1: a cell is too long");
    check_refused(text, ECOI_CSV_CELL_MAX, ECO_OK, "");
    free(text);
    check_refused("a,b\n\"c", 6, ECO_E_PARSE, "t:2: a quote does not end");
    check_refused("\"c\n\n\n", 5, ECO_E_PARSE, "t:1: a quote does not end");
    check_refused("a\nb\n\"c\"d\n", 9, ECO_E_PARSE,
                  "t:3: expected a comma or the end of the line after a cell");
    check_refused("\"1\n2\"\n\"c\"d\n", 11, ECO_E_PARSE,
                  "t:3: expected a comma or the end of the line after a cell");
    check_refused("a\rb", 3, ECO_E_PARSE,
                  "t:1: expected a comma or the end of the line after a cell");
    check_refused("a\0b", 3, ECO_E_PARSE, "t:1: a NUL character");
}

static void test_header(void **state) {
    (void)state;
    static const char *const names[] = {"gpu", "model"};
    uint16_t which[ECOI_CSV_COLUMNS_MAX];
    size_t n = 0;
    ecoi_csv in;
    eco_error err = {0};
    ecoi_csv_init(&in, "model,odd,gpu\n", 14, "t", &err);
    ASSERT_OK(ecoi_csv_header(&in, names, 2, which, &n), &err);
    assert_int_equal(n, 3);
    assert_int_equal(which[0], 1);
    assert_int_equal(which[1], ECOI_CSV_UNKNOWN);
    assert_int_equal(which[2], 0);
    ecoi_csv_init(&in, "gpu,odd,odd,gpu\n", 16, "t", &err);
    assert_int_equal(ecoi_csv_header(&in, names, 2, which, &n), ECO_E_PARSE);
    assert_string_equal(err.message, "t:1: a column is named twice");
    char commas[ECOI_CSV_COLUMNS_MAX + 1];
    memset(commas, ',', sizeof commas);
    ecoi_csv_init(&in, commas, ECOI_CSV_COLUMNS_MAX - 1, "t", &err);
    ASSERT_OK(ecoi_csv_header(&in, names, 2, which, &n), &err);
    assert_int_equal(n, ECOI_CSV_COLUMNS_MAX);
    ecoi_csv_init(&in, commas, ECOI_CSV_COLUMNS_MAX, "t", &err);
    assert_int_equal(ecoi_csv_header(&in, names, 2, which, &n), ECO_E_RANGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
