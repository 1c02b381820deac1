/* SPDX-License-Identifier: Apache-2.0
 *
 * See query_words.h.
 */
#include "model/query_words.h"

#include "core/num.h"

#include <string.h>

void ecoi_words_init(ecoi_words *w, const char *text, size_t length) {
    memset(w, 0, sizeof *w);
    w->length = length < ECO_QUERY_LENGTH_MAX ? length : ECO_QUERY_LENGTH_MAX;
    for (size_t i = 0; i < w->length; i++) {
        const char c = text[i];
        const bool blank =
            c == '\0' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
        w->given[i] = blank ? ' ' : c;
        w->text[i] = blank ? ' ' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
}

bool ecoi_words_digit(const ecoi_words *w, size_t at) {
    return at < w->length && w->text[at] >= '0' && w->text[at] <= '9';
}

bool ecoi_words_inner(const ecoi_words *w, size_t at) {
    return at < w->length && ((w->text[at] >= 'a' && w->text[at] <= 'z') || w->text[at] == '_' ||
                              ecoi_words_digit(w, at));
}

bool ecoi_words_literal(const ecoi_words *w, size_t at, const char *literal) {
    const size_t n = strlen(literal);
    return at <= w->length && n <= w->length - at && memcmp(w->text + at, literal, n) == 0;
}

bool ecoi_words_whole(const ecoi_words *w, size_t at, const char *word) {
    return ecoi_words_literal(w, at, word) && !(at > 0 && ecoi_words_inner(w, at - 1)) &&
           !ecoi_words_inner(w, at + strlen(word));
}

size_t ecoi_words_blanks(const ecoi_words *w, size_t at) {
    while (at < w->length && w->text[at] == ' ') {
        at++;
    }
    return at;
}

/* What JSON's grammar has no place for, a leading zero as in "007", is not a number here either way but its digits. */
static double value_of(const char *digits, size_t n) {
    double value = 0;
    while (n > 1 && digits[0] == '0' && digits[1] != '.') {
        digits++;
        n--;
    }
    return ecoi_num_parse(digits, n, &value) == ECO_OK ? value : 0;
}

size_t ecoi_words_integer(const ecoi_words *w, size_t at, double *value) {
    size_t n = 0;
    while (ecoi_words_digit(w, at + n)) {
        n++;
    }
    if (n > 0) {
        *value = value_of(w->text + at, n);
    }
    return n;
}

size_t ecoi_words_number(const ecoi_words *w, size_t at, double *value) {
    size_t n = ecoi_words_integer(w, at, value);
    if (n > 0 && ecoi_words_literal(w, at + n, ".") && ecoi_words_digit(w, at + n + 1)) {
        n++;
        while (ecoi_words_digit(w, at + n)) {
            n++;
        }
        *value = value_of(w->text + at, n);
    }
    return n;
}
