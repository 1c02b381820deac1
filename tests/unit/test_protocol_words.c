/* SPDX-License-Identifier: Apache-2.0
 *
 * Splitting a command's text: blanks, both quotes, backslashes; nothing is expanded; what cannot be split is refused.
 */
#include "test_helpers.h"

#include "ecocompute/run_command.h"

#include <stdlib.h>
#include <string.h>

typedef struct split_case {
    const char *text;
    const char *words[6]; /* ended by NULL */
} split_case;

static void splits(void **state) {
    (void)state;
    static const split_case cases[] = {
        {"sleep 2", {"sleep", "2"}},
        {"  a\tb\n c  ", {"a", "b", "c"}},
        {"x", {"x"}},
        {"'a b' c", {"a b", "c"}},
        {"\"a b\"c 'd'\"e\"", {"a bc", "de"}},
        {"echo '' \"\"", {"echo", "", ""}},
        {"a\\ b \\\"", {"a b", "\""}},
        {"\"a\\\"b\\\\c\\n\"", {"a\"b\\c\\n"}},
        {"'a\\b\"'", {"a\\b\""}},
        {"echo $HOME *.c `id` | tee >x &", {"echo", "$HOME", "*.c", "`id`", "|", "tee"}},
        {"a b c d e", {"a", "b", "c", "d", "e"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char **words = NULL;
        eco_error error = {0};
        ASSERT_OK(eco_words_split(cases[i].text, &words, &error), &error);
        size_t n = 0;
        for (; n < 6 && cases[i].words[n] != NULL; n++) {
            assert_non_null(words[n]);
            assert_string_equal(words[n], cases[i].words[n]);
        }
        if (n < 6) {
            assert_null(words[n]);
        }
        free(words);
    }
}

static void refuses(void **state) {
    (void)state;
    static const char *const texts[] = {"", "   \t", "'a", "\"a", "a 'b c", "\"a\\\"", "a\\"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char **words = NULL;
        eco_error error = {0};
        assert_int_equal(eco_words_split(texts[i], &words, &error), ECO_E_USAGE);
        assert_null(words);
        assert_true(strlen(error.message) > 20);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(splits), cmocka_unit_test(refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
