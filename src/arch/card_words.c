/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits a card's name into words. Pure.
 */
#include "arch/card_words.h"

#include "arch/arch_text.h"

#include <string.h>

static bool dropped_word(const char *word) {
    return strcmp(word, "nvidia") == 0 || strcmp(word, "geforce") == 0 ||
           strcmp(word, "tesla") == 0;
}

void ecoi_card_words_of(const char *name, ecoi_card_words *out) {
    out->n = 0;
    size_t n_word = 0;
    for (const char *p = name; out->n < ECOI_CARD_WORDS_MAX; p++) {
        char *word = out->text[out->n];
        if (*p != '\0' && *p != ' ' && *p != '-' && *p != '_') {
            if (n_word + 1 < ECOI_CARD_WORD_MAX) {
                word[n_word++] = ecoi_text_lower(*p);
            }
            continue;
        }
        word[n_word] = '\0';
        if (n_word > 0 && !dropped_word(word)) {
            out->n++;
        }
        n_word = 0;
        if (*p == '\0') {
            return;
        }
    }
}

bool ecoi_card_words_have(const ecoi_card_words *words, const char *word, size_t length) {
    for (size_t i = 0; i < words->n; i++) {
        if (strlen(words->text[i]) == length && memcmp(words->text[i], word, length) == 0) {
            return true;
        }
    }
    return false;
}
