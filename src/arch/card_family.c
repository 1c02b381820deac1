/* SPDX-License-Identifier: Apache-2.0
 *
 * Card families. The compute capability decides where it is known; a name is read only where it is
 * not, by the published rules: lower case, '-' and '_' as spaces, the words nvidia, geforce and
 * tesla dropped, whole words, first family that matches in the order of family_rules. Pure.
 */
#include "ecocompute/arch.h"

#include "arch/arch_text.h"

#include <string.h>

enum { CARD_WORDS_MAX = 12, CARD_WORD_MAX = 24, CARD_MODELS_MAX = 9 };

typedef struct card_words {
    char text[CARD_WORDS_MAX][CARD_WORD_MAX];
    size_t n;
} card_words;

/* A name is of the family when it has one of the `models` as a word, or the word `after` followed
 * by one that fits `pattern` ('#' is a digit, '^' a digit of 5 to 9, anything else itself; a last
 * "d" of the word is ignored). */
typedef struct family_rule {
    const char *family;
    const char *models[CARD_MODELS_MAX];
    struct {
        const char *after, *pattern;
    } pairs[3];
} family_rule;

static const family_rule family_rules[] = {
    {"blackwell", {"b100", "b200", "gb###"}, {{"rtx", "50^0"}}},
    {"hopper", {"h100", "h200", "h800", "gh200"}, {{NULL, NULL}}},
    {"ada", {"l4", "l40", "l40s", "ada"}, {{"rtx", "40^0"}}},
    {"ampere",
     {"a100", "a800", "a10", "a10g", "a16", "a2", "a30", "a40"},
     {{"rtx", "a####"}, {"rtx", "30^0"}}},
    {"turing",
     {"t4", "t400", "t600", "t1000"},
     {{"quadro", "rtx"}, {"titan", "rtx"}, {"rtx", "20^0"}}},
    {"volta", {"v100"}, {{"titan", "v"}}},
};

static bool fits(const char *word, const char *pattern) {
    size_t i = 0;
    for (; pattern[i] != '\0'; i++) {
        const char c = word[i];
        const bool digit = c >= '0' && c <= '9';
        if (pattern[i] == '#'   ? !digit
            : pattern[i] == '^' ? !(digit && c >= '5')
                                : c != pattern[i]) {
            return false;
        }
    }
    return word[i] == '\0' ||
           (i > 1 && word[i] == 'd' && word[i + 1] == '\0' && word[i - 1] == '0');
}

static bool dropped_word(const char *word) {
    return strcmp(word, "nvidia") == 0 || strcmp(word, "geforce") == 0 ||
           strcmp(word, "tesla") == 0;
}

/* Words that do not fit are cut: no rule has one so long. */
static void split_words(const char *name, card_words *out) {
    out->n = 0;
    size_t n_word = 0;
    for (const char *p = name; out->n < CARD_WORDS_MAX; p++) {
        char *word = out->text[out->n];
        if (*p != '\0' && *p != ' ' && *p != '-' && *p != '_') {
            if (n_word + 1 < CARD_WORD_MAX) {
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

static bool rule_matches(const family_rule *rule, const card_words *words) {
    for (size_t w = 0; w < words->n; w++) {
        for (size_t m = 0; m < CARD_MODELS_MAX && rule->models[m] != NULL; m++) {
            if (fits(words->text[w], rule->models[m])) {
                return true;
            }
        }
        for (size_t p = 0; p < 3 && rule->pairs[p].after != NULL && w + 1 < words->n; p++) {
            if (strcmp(words->text[w], rule->pairs[p].after) == 0 &&
                fits(words->text[w + 1], rule->pairs[p].pattern)) {
                return true;
            }
        }
    }
    return false;
}

static const char *family_by_capability(int32_t cc_major, int32_t cc_minor) {
    switch (cc_major) {
    case 7:
        return cc_minor >= 5 ? "turing" : "volta";
    case 8:
        return cc_minor == 9 ? "ada" : "ampere";
    case 9:
        return "hopper";
    case 10:
    case 11:
    case 12:
        return "blackwell";
    default:
        return NULL;
    }
}

const char *eco_card_family(int32_t cc_major, int32_t cc_minor, const char *name) {
    if (cc_major >
        0) { /* known: an old or unheard-of card is of no family, whatever it is called */
        return family_by_capability(cc_major, cc_minor);
    }
    if (name == NULL) {
        return NULL;
    }
    card_words words;
    split_words(name, &words);
    for (size_t i = 0; i < sizeof family_rules / sizeof family_rules[0]; i++) {
        if (rule_matches(&family_rules[i], &words)) {
            return family_rules[i].family;
        }
    }
    return NULL;
}
