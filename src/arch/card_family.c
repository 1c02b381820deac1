/* SPDX-License-Identifier: Apache-2.0
 *
 * Card families. The compute capability decides where it is known; a name is read only where it is not: whole words, the
 * first family that matches, by the published table, and under the current rules by our own rows before it. Pure.
 */
#include "ecocompute/arch.h"

#include "arch/arch_text.h"
#include "arch/card_words.h"

#include <string.h>

enum { CARD_MODELS_MAX = 10, CARD_PAIRS_MAX = 4 };

/* A name is of the family when it has one of the `models` as a word, or the word `after` followed
 * by one that fits `pattern` ('#' is a digit, '^' a digit of 5 to 9, anything else itself; a last
 * "d" of the word is ignored). */
typedef struct family_rule {
    const char *family;
    const char *models[CARD_MODELS_MAX];
    struct {
        const char *after, *pattern;
    } pairs[CARD_PAIRS_MAX];
} family_rule;

/* SPEC of the published system, section 1.11. */
static const family_rule published_rules[] = {
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

/* Cards of known families that the published table has no row for. Pascal is named and has no curve. */
static const family_rule own_rules[] = {
    {"blackwell", {"b300", "gb10", "blackwell"}, {{"rtx", "pro"}}},
    {"hopper", {"h20", "hopper"}, {{NULL, NULL}}},
    {"ada", {"l2", "l20"}, {{NULL, NULL}}},
    {"ampere", {"a100x", "a30x", "a10m", "orin", "ampere"}, {{"rtx", "a###"}}},
    {"turing", {"t500", "t550", "t1200", "t2000", "mx450", "turing"}, {{"gtx", "16#0"}}},
    {"volta", {"v100s", "gv100", "xavier", "volta"}, {{NULL, NULL}}},
    {"pascal",
     {"p100", "p40", "p4", "p6", "pascal"},
     {{"gtx", "10#0"}, {"gt", "10#0"}, {"quadro", "p####"}, {"titan", "xp"}}},
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

static bool rule_matches(const family_rule *rule, const ecoi_card_words *words) {
    for (size_t w = 0; w < words->n; w++) {
        for (size_t m = 0; m < CARD_MODELS_MAX && rule->models[m] != NULL; m++) {
            if (fits(words->text[w], rule->models[m])) {
                return true;
            }
        }
        for (size_t p = 0; p < CARD_PAIRS_MAX && rule->pairs[p].after != NULL && w + 1 < words->n;
             p++) {
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
    case 6:
        return "pascal";
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

static const char *family_by_rules(const family_rule *rules, size_t n,
                                   const ecoi_card_words *words) {
    for (size_t i = 0; i < n; i++) {
        if (rule_matches(&rules[i], words)) {
            return rules[i].family;
        }
    }
    return NULL;
}

const char *eco_card_family_by_name(eco_rules rules, const char *name) {
    if (name == NULL) {
        return NULL;
    }
    const char *family = NULL;
    ecoi_card_words words;
    ecoi_card_words_of(name, &words);
    if (rules == ECO_RULES_CURRENT) {
        const eco_card *card = eco_card_find(name);
        family = card != NULL
                     ? card->family
                     : family_by_rules(own_rules, sizeof own_rules / sizeof own_rules[0], &words);
    }
    return family != NULL
               ? family
               : family_by_rules(published_rules,
                                 sizeof published_rules / sizeof published_rules[0], &words);
}

const char *eco_card_family(int32_t cc_major, int32_t cc_minor, const char *name) {
    if (cc_major > 0) { /* known: an unheard-of card is of no family, whatever it is called */
        return family_by_capability(cc_major, cc_minor);
    }
    return eco_card_family_by_name(ECO_RULES_CURRENT, name);
}

const char *eco_arch_resolve(eco_rules rules, const char *given, int32_t cc_major, int32_t cc_minor,
                             const char *card_name) {
    if (given != NULL && given[0] != '\0' && !ecoi_text_equal_nocase(given, "auto")) {
        return given;
    }
    const char *family = rules == ECO_RULES_CURRENT ? eco_card_family(cc_major, cc_minor, card_name)
                                                    : eco_card_family_by_name(rules, card_name);
    if (family != NULL) {
        return family;
    }
    return card_name != NULL && card_name[0] != '\0' ? card_name : "unknown";
}

/* Does `text`, lower case and without every "rtx", hold `alias`? */
static bool holds_alias(const char *text, const char *alias) {
    char plain[256];
    size_t n = 0;
    for (const char *p = text; *p != '\0' && n + 1 < sizeof plain; p++) {
        plain[n++] = ecoi_text_lower(*p);
        if (n >= 3 && memcmp(plain + n - 3, "rtx", 3) == 0) {
            n -= 3;
        }
    }
    plain[n] = '\0';
    return strstr(plain, alias) != NULL;
}

const char *eco_arch_curve_class(const char *text) {
    static const struct {
        const char *alias, *arch;
    } aliases[] = {{"t4", "turing"},   {"turing", "turing"},  {"4090", "ada"},
                   {"ada", "ada"},     {"5090", "blackwell"}, {"blackwell", "blackwell"},
                   {"a100", "ampere"}, {"a800", "ampere"},    {"ampere", "ampere"}};
    for (size_t i = 0; text != NULL && i < sizeof aliases / sizeof aliases[0]; i++) {
        if (holds_alias(text, aliases[i].alias)) {
            return aliases[i].arch;
        }
    }
    return NULL;
}
