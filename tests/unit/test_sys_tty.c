/* SPDX-License-Identifier: Apache-2.0
 *
 * The colour rule over its whole table, its words, and the real descriptors a test can make: a pipe
 * is no terminal.
 */
#include "sys/tty.h"
#include "test_helpers.h"

#include <stdlib.h>
#include <unistd.h>

static void words_parse(void **state) {
    (void)state;
    eco_color_choice choice = ECO_COLOR_NEVER;
    assert_true(eco_color_parse("auto", &choice));
    assert_int_equal(choice, ECO_COLOR_AUTO);
    assert_true(eco_color_parse("always", &choice));
    assert_int_equal(choice, ECO_COLOR_ALWAYS);
    assert_true(eco_color_parse("never", &choice));
    assert_int_equal(choice, ECO_COLOR_NEVER);
    assert_false(eco_color_parse("", &choice));
    assert_false(eco_color_parse("Always", &choice));
    assert_int_equal(choice, ECO_COLOR_NEVER);
}

static void rule_holds(void **state) {
    (void)state;
    static const struct {
        eco_color_choice choice;
        eco_tty_facts facts;
        bool want;
    } rows[] = {
        {ECO_COLOR_AUTO, {true, NULL, "xterm"}, true},
        {ECO_COLOR_AUTO, {true, "", "xterm"}, true}, /* empty NO_COLOR does not count */
        {ECO_COLOR_AUTO, {true, "0", "xterm"}, false},
        {ECO_COLOR_AUTO, {true, NULL, "dumb"}, false},
        {ECO_COLOR_AUTO, {true, NULL, NULL}, false},
        {ECO_COLOR_AUTO, {false, NULL, "xterm"}, false},
        {ECO_COLOR_ALWAYS, {false, "1", "dumb"}, true},
        {ECO_COLOR_NEVER, {true, NULL, "xterm"}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (ecoi_color_decide(rows[i].choice, &rows[i].facts) != rows[i].want) {
            fail_msg("row %zu: want %d", i, rows[i].want);
        }
    }
}

static void a_pipe_is_no_terminal(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_false(eco_is_tty(ends[1]));
    assert_false(eco_color_wanted(ECO_COLOR_AUTO, ends[1]));
    assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
    assert_true(eco_color_wanted(ECO_COLOR_ALWAYS, ends[1]));
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(close(ends[1]), 0);
    assert_false(eco_is_tty(ends[1]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_parse),
        cmocka_unit_test(rule_holds),
        cmocka_unit_test(a_pipe_is_no_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
