/* SPDX-License-Identifier: Apache-2.0
 *
 * The published reading of a question (SPEC §4.2, parseQuery), slips included: "8k context" gives 8 tokens, "B200" is read
 * as batch 200, a 3090 or an L4 is no card. Each pattern is tried at every place of the text and its first match counts.
 */
#include "model/query_words.h"

#include <string.h>

static const struct {
    const char *arch;
    const char *words[7]; /* whole words */
    const char *series;   /* "40": rtx 40x0, with or without a blank */
} published_archs[] = {
    {"turing", {"turing", "t4"}, NULL},
    {"ada", {"ada", "4090", "4090d"}, "40"},
    {"blackwell", {"blackwell", "5090"}, "50"},
    {"ampere", {"ampere", "a100", "a800", "a40", "a30", "a10"}, NULL},
    {"hopper", {"hopper", "h100", "h200", "h800"}, NULL},
};

static const char *const batch_words[] = {"batch", "bs", "b", NULL};
static const char *const context_words[] = {"ctx", "context", "seq", "seqlen", "sequence", NULL};

/* "rtx", blanks, the two digits of the series, a digit, "0". */
static bool series_at(const ecoi_words *w, size_t at, const char *series) {
    if (!ecoi_words_literal(w, at, "rtx")) {
        return false;
    }
    at = ecoi_words_blanks(w, at + 3);
    return ecoi_words_literal(w, at, series) && ecoi_words_digit(w, at + 2) &&
           ecoi_words_literal(w, at + 3, "0");
}

static const char *published_arch(const ecoi_words *w) {
    for (size_t i = 0; i < sizeof published_archs / sizeof published_archs[0]; i++) {
        for (size_t at = 0; at < w->length; at++) {
            for (size_t j = 0; j < 7 && published_archs[i].words[j] != NULL; j++) {
                if (ecoi_words_whole(w, at, published_archs[i].words[j])) {
                    return published_archs[i].arch;
                }
            }
            if (published_archs[i].series != NULL && series_at(w, at, published_archs[i].series)) {
                return published_archs[i].arch;
            }
        }
    }
    return NULL;
}

/* A number, blanks, and `unit` as the end of a word, or "billion", "param" and what follows them. */
static eco_reading published_size(const ecoi_words *w, bool billions) {
    for (size_t at = 0; at < w->length; at++) {
        double value = 0;
        const size_t n = ecoi_words_number(w, at, &value);
        if (n == 0 || (at > 0 && ecoi_words_digit(w, at - 1))) {
            continue;
        }
        const size_t after = ecoi_words_blanks(w, at + n);
        const bool fits =
            billions
                ? ecoi_words_literal(w, after, "billion") || ecoi_words_literal(w, after, "param")
                : ecoi_words_literal(w, after, "b") && !ecoi_words_inner(w, after + 1);
        if (fits) {
            return eco_reading_of(value);
        }
    }
    return eco_reading_absent(ECO_ABSENT_NOT_READ);
}

static bool anywhere(const ecoi_words *w, const char *word) {
    for (size_t at = 0; at < w->length; at++) {
        if (ecoi_words_literal(w, at, word)) {
            return true;
        }
    }
    return false;
}

/* A word of `words` at the start of a word, perhaps " size", blanks, '=' or ':', blanks, digits; a 'k' behind them times
 * 1024 where `kilo`. */
static eco_reading keyword_number(const ecoi_words *w, const char *const *words, bool size_word,
                                  bool kilo) {
    for (size_t at = 0; at < w->length; at++) {
        if (at > 0 && ecoi_words_inner(w, at - 1)) {
            continue;
        }
        for (size_t i = 0; words[i] != NULL; i++) {
            if (!ecoi_words_literal(w, at, words[i])) {
                continue;
            }
            size_t p = at + strlen(words[i]);
            const size_t sized = ecoi_words_blanks(w, p);
            p = size_word && i == 0 && ecoi_words_literal(w, sized, "size") ? sized + 4 : p;
            p = ecoi_words_blanks(w, p);
            p += ecoi_words_literal(w, p, "=") || ecoi_words_literal(w, p, ":");
            double value = 0;
            p = ecoi_words_blanks(w, p);
            const size_t n = ecoi_words_integer(w, p, &value);
            if (n > 0) {
                const size_t k = ecoi_words_blanks(w, p + n);
                return eco_reading_of(kilo && ecoi_words_literal(w, k, "k") ? value * 1024 : value);
            }
        }
    }
    return eco_reading_absent(ECO_ABSENT_NOT_READ);
}

/* The slip: digits, perhaps a 'k' that does not count, and the word. */
static eco_reading number_context(const ecoi_words *w) {
    for (size_t at = 0; at < w->length; at++) {
        double value = 0;
        const size_t n = ecoi_words_integer(w, at, &value);
        if (n == 0 || (at > 0 && ecoi_words_digit(w, at - 1))) {
            continue;
        }
        size_t p = ecoi_words_blanks(w, at + n);
        p = ecoi_words_literal(w, p, "k") ? ecoi_words_blanks(w, p + 1) : p;
        if (ecoi_words_literal(w, p, "ctx") || ecoi_words_literal(w, p, "context")) {
            return eco_reading_of(value);
        }
    }
    return eco_reading_absent(ECO_ABSENT_NOT_READ);
}

static bool bits_said(const ecoi_words *w, char digit) {
    for (size_t at = 0; at < w->length; at++) {
        const size_t dash = at + 1 + ecoi_words_literal(w, at + 1, "-");
        if (w->text[at] == digit && ecoi_words_literal(w, ecoi_words_blanks(w, dash), "bit")) {
            return true;
        }
    }
    return false;
}

static eco_query parse_published(const ecoi_words *w) {
    eco_query q = {.params_b = published_size(w, false), .arch = published_arch(w)};
    if (!eco_reading_present(q.params_b)) {
        q.params_b = published_size(w, true);
    }
    if (anywhere(w, "int8") || bits_said(w, '8')) {
        q.precision = "INT8";
    } else if (anywhere(w, "nf4") || anywhere(w, "q4") || bits_said(w, '4')) {
        q.precision = "NF4";
    }
    q.batch = keyword_number(w, batch_words, true, false);
    q.context = keyword_number(w, context_words, false, true);
    if (!eco_reading_present(q.context)) {
        q.context = number_context(w);
    }
    return q;
}

eco_query eco_query_parse(eco_rules rules, const char *text, size_t length) {
    ecoi_words words;
    ecoi_words_init(&words, text, length);
    return rules == ECO_RULES_PUBLISHED_1_1 ? parse_published(&words) : ecoi_query_current(&words);
}
