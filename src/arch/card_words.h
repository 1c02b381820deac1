/* SPDX-License-Identifier: Apache-2.0
 *
 * A card's name as words: lower case, '-' and '_' as spaces, the words nvidia, geforce and tesla dropped. Pure.
 */
#ifndef ECOI_CARD_WORDS_H
#define ECOI_CARD_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { ECOI_CARD_WORDS_MAX = 32, ECOI_CARD_WORD_MAX = 24 };

typedef struct ecoi_card_words {
    char text[ECOI_CARD_WORDS_MAX][ECOI_CARD_WORD_MAX];
    size_t n;
} ecoi_card_words;

/* Words beyond the caps are cut: no rule has one so long or so late. */
void ecoi_card_words_of(const char *name, ecoi_card_words *out);
bool ecoi_card_words_have(const ecoi_card_words *words, const char *word, size_t length);

#endif
