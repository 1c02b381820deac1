/* SPDX-License-Identifier: Apache-2.0
 *
 * The little that both readings of a question need: a lower-case copy and tests at a place of it. A place may be any
 * number; beyond the end nothing matches.
 */
#ifndef ECOI_QUERY_WORDS_H
#define ECOI_QUERY_WORDS_H

#include "ecocompute/query.h"

typedef struct ecoi_words {
    char text[ECO_QUERY_LENGTH_MAX + 1];  /* lower case; a tab or line end is a blank */
    char given[ECO_QUERY_LENGTH_MAX + 1]; /* as it was, but for these */
    bool used[ECO_QUERY_LENGTH_MAX + 1];  /* read already (current rules) */
    size_t length;
} ecoi_words;

void ecoi_words_init(ecoi_words *w, const char *text, size_t length);
bool ecoi_words_digit(const ecoi_words *w, size_t at);
bool ecoi_words_inner(const ecoi_words *w, size_t at); /* letter, digit or '_': inside a word */
bool ecoi_words_literal(const ecoi_words *w, size_t at, const char *literal);
/* The same, and neither before nor behind it does a word go on. */
bool ecoi_words_whole(const ecoi_words *w, size_t at, const char *word);
size_t ecoi_words_blanks(const ecoi_words *w, size_t at); /* the first place that is no blank */
/* Length of the digits (with decimals) at this place, and their value; 0 if there are none. */
size_t ecoi_words_integer(const ecoi_words *w, size_t at, double *value);
size_t ecoi_words_number(const ecoi_words *w, size_t at, double *value);

eco_query ecoi_query_current(ecoi_words *w);

#endif
