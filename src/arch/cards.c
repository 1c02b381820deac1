/* SPDX-License-Identifier: Apache-2.0
 *
 * Cards as their data sheets have them, generated from data/cards.csv, and the row of a name. A row's pattern is one or
 * more sets of words, '|' between them: a set fits when the name has all of its words. The set with the most words wins,
 * the earlier row among equals. A word that makes another card of the same number (Ti, Laptop, PCIe, …) must be in both
 * or in neither. Pure.
 */
#include "arch/card_words.h"
#include "ecocompute/arch.h"

#include <string.h>

typedef struct card_row {
    const char *pattern;
    eco_card card;
} card_row;

static const card_row cards[] = {
/* clang-format off */
#include "arch/cards.inc"
    /* clang-format on */
};
enum { N_CARDS = sizeof cards / sizeof cards[0] };

static const char *const another_card[] = {"ti",  "super", "d",    "laptop", "mobile",
                                           "max", "nvl",   "pcie", "server"};

size_t eco_card_count(void) {
    return N_CARDS;
}

const eco_card *eco_card_at(size_t index) {
    return index < N_CARDS ? &cards[index].card : NULL;
}

static bool set_has(const char *set, size_t length, const char *word) {
    const size_t n = strlen(word);
    for (size_t i = 0; i + n <= length; i++) {
        if (memcmp(set + i, word, n) == 0 && (i == 0 || set[i - 1] == ' ') &&
            (i + n == length || set[i + n] == ' ')) {
            return true;
        }
    }
    return false;
}

/* Words of the set if all are in the name and no other card is meant, else 0. */
static size_t words_fitting(const char *set, size_t length, const ecoi_card_words *name) {
    size_t n = 0;
    for (size_t i = 0; i < length;) {
        size_t end = i;
        while (end < length && set[end] != ' ') {
            end++;
        }
        if (!ecoi_card_words_have(name, set + i, end - i)) {
            return 0;
        }
        n++;
        i = end + 1;
    }
    for (size_t i = 0; i < sizeof another_card / sizeof another_card[0]; i++) {
        const char *word = another_card[i];
        if (ecoi_card_words_have(name, word, strlen(word)) && !set_has(set, length, word)) {
            return 0;
        }
    }
    return n;
}

const eco_card *eco_card_find(const char *name) {
    if (name == NULL) {
        return NULL;
    }
    ecoi_card_words words;
    ecoi_card_words_of(name, &words);
    const eco_card *best = NULL;
    size_t n_best = 0;
    for (size_t i = 0; i < N_CARDS; i++) {
        for (const char *set = cards[i].pattern; *set != '\0';) {
            const size_t length = strcspn(set, "|");
            const size_t n = words_fitting(set, length, &words);
            if (n > n_best) {
                n_best = n;
                best = &cards[i].card;
            }
            set += length + (set[length] == '|');
        }
    }
    return best;
}
