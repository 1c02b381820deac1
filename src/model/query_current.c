/* SPDX-License-Identifier: Apache-2.0
 *
 * Our reading of a question. What has been read is marked, so that no number is read twice: batch and context first, then
 * the format, the card (by the table of cards, so that "B200", "3090", "L4" and "A6000" are known), the model, the size.
 */
#include "model/query_words.h"

#include "core/str.h"
#include "ecocompute/arch.h"

#include <string.h>

enum { CARD_WORDS_MAX = 4 };

typedef struct span {
    size_t first, end;
} span;

static void use(ecoi_words *w, size_t first, size_t end) {
    for (size_t i = first; i < end && i < w->length; i++) {
        w->used[i] = true;
    }
}

static bool any_used(const ecoi_words *w, size_t first, size_t end) {
    for (size_t i = first; i < end && i < w->length; i++) {
        if (w->used[i]) {
            return true;
        }
    }
    return false;
}

static bool starts_word(const ecoi_words *w, size_t at) {
    return ecoi_words_inner(w, at) && !(at > 0 && ecoi_words_inner(w, at - 1));
}

/* Over blanks, '=' , ':' and "size", "length", "of", "window". */
static size_t skip_filling(const ecoi_words *w, size_t at) {
    static const char *const filling[] = {"size", "length", "len", "window", "of", "=", ":"};
    for (bool moved = true; moved;) {
        moved = false;
        at = ecoi_words_blanks(w, at);
        for (size_t i = 0; i < sizeof filling / sizeof filling[0] && !moved; i++) {
            if (ecoi_words_literal(w, at, filling[i])) {
                at += strlen(filling[i]);
                moved = true;
            }
        }
    }
    return at;
}

/* Digits, a 'k' or 'm' behind them (times 1024 or 1024²) where the word ends with it. */
static size_t count_at(const ecoi_words *w, size_t at, double *value, bool *scaled) {
    size_t n = ecoi_words_integer(w, at, value);
    *scaled = false;
    if (n > 0 && !ecoi_words_inner(w, at + n + 1)) {
        const double scale = ecoi_words_literal(w, at + n, "k")   ? 1024
                             : ecoi_words_literal(w, at + n, "m") ? 1048576
                                                                  : 1;
        *scaled = scale > 1;
        *value *= scale;
        n += *scaled;
    }
    return n > 0 && !ecoi_words_inner(w, at + n) ? n : 0;
}

/* One of `words`, then the count: "batch size 8", "ctx=8k". A word of one letter wants something between. */
static bool word_count(ecoi_words *w, const char *const *words, eco_reading *out) {
    for (size_t at = 0; at < w->length; at++) {
        for (size_t i = 0; words[i] != NULL && starts_word(w, at); i++) {
            const size_t end = at + strlen(words[i]);
            const size_t number = ecoi_words_literal(w, at, words[i]) ? skip_filling(w, end) : 0;
            double value = 0;
            bool scaled = false;
            const size_t n = number > 0 && (number > end || end - at > 1)
                                 ? count_at(w, number, &value, &scaled)
                                 : 0;
            if (n > 0) {
                *out = eco_reading_of(value);
                use(w, at, number + n);
                return true;
            }
        }
    }
    return false;
}

/* The count, then one of `words`: "8k context", "32 sequences". */
static bool count_word(ecoi_words *w, const char *const *words, eco_reading *out) {
    for (size_t at = 0; at < w->length; at++) {
        double value = 0;
        bool scaled = false;
        const size_t n = starts_word(w, at) ? count_at(w, at, &value, &scaled) : 0;
        if (n == 0 || any_used(w, at, at + n)) {
            continue;
        }
        size_t next = at + n;
        while (next < w->length && (w->text[next] == ' ' || w->text[next] == '-')) {
            next++;
        }
        for (size_t i = 0; words[i] != NULL; i++) {
            if (ecoi_words_literal(w, next, words[i])) {
                *out = eco_reading_of(value);
                use(w, at, next + strlen(words[i]));
                return true;
            }
        }
    }
    return false;
}

static void read_context(ecoi_words *w, eco_query *q) {
    static const char *const words[] = {"context", "ctx", "seqlen", "sequence", "seq", NULL};
    static const char *const behind[] = {"context", "ctx", "tokens", "token", "seq", NULL};
    if (word_count(w, words, &q->context) || count_word(w, behind, &q->context)) {
        return;
    }
    for (size_t at = 0; at < w->length; at++) { /* a bare "8k" can be nothing else */
        double value = 0;
        bool scaled = false;
        const size_t n = starts_word(w, at) ? count_at(w, at, &value, &scaled) : 0;
        if (n > 0 && scaled && w->text[at + n - 1] == 'k' && !any_used(w, at, at + n)) {
            q->context = eco_reading_of(value);
            use(w, at, at + n);
            return;
        }
    }
}

static void read_batch(ecoi_words *w, eco_query *q) {
    static const char *const words[] = {"batch", "bs", "b", NULL};
    static const char *const behind[] = {"concurrent", "sequences", "users",
                                         "requests",   "streams",   NULL};
    /* "8k sequence" is a context, so contexts go first; a batch has no 'k', which count_at allows and nobody writes. */
    if (!word_count(w, words, &q->batch)) {
        (void)count_word(w, behind, &q->batch);
    }
}

static void read_precision(ecoi_words *w, eco_query *q) {
    static const struct {
        const char *said, *means;
    } others[] = {{"int8", "INT8"}, {"8-bit", "INT8"}, {"8 bit", "INT8"},  {"8bit", "INT8"},
                  {"nf4", "NF4"},   {"4-bit", "NF4"},  {"4 bit", "NF4"},   {"4bit", "NF4"},
                  {"q4", "NF4"},    {"half", "FP16"},  {"16-bit", "FP16"}, {"16bit", "FP16"}};
    for (size_t at = 0; at < w->length; at++) {
        for (eco_format f = 0; f < ECO_FORMAT_COUNT && starts_word(w, at); f++) {
            char name[16] = "";
            (void)ecoi_str_copy(name, sizeof name, eco_format_at(f)->name);
            for (char *c = name; *c != '\0'; c++) {
                *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
            }
            const size_t end = at + strlen(name);
            if (ecoi_words_whole(w, at, name) && !ecoi_words_literal(w, end, "-dq")) {
                q->precision = eco_format_at(f)->name;
                use(w, at, end);
                return;
            }
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        for (size_t at = 0; at < w->length; at++) {
            if (ecoi_words_whole(w, at, others[i].said)) {
                q->precision = others[i].means;
                use(w, at, at + strlen(others[i].said));
                return;
            }
        }
    }
}

/* The `n` words from `at` on, or {0, 0}. Words are parted by one blank, '-' or '_' at a time. */
static span words_from(const ecoi_words *w, size_t at, size_t n) {
    span s = {at, at};
    for (size_t i = 0; i < n; i++) {
        const size_t first = i == 0 ? at : s.end + 1;
        size_t end = first;
        while (end < w->length && w->text[end] != '_' && ecoi_words_inner(w, end)) {
            end++;
        }
        if (end == first || any_used(w, first, end) ||
            (i > 0 && w->text[s.end] != ' ' && w->text[s.end] != '-' && w->text[s.end] != '_')) {
            return (span){0, 0};
        }
        s.end = end;
    }
    return s;
}

static const char *family_of(const ecoi_words *w, span s) {
    char name[ECO_NAME_MAX];
    const size_t length = s.end - s.first;
    if (length >= sizeof name) {
        return NULL;
    }
    (void)ecoi_str_copy(name, length + 1, w->text + s.first);
    return eco_card_family_by_name(ECO_RULES_CURRENT, name);
}

/* Words that go on with a card's name. */
static span with_suffixes(const ecoi_words *w, span s) {
    static const char *const suffixes[] = {"d",    "ti",   "super", "laptop", "gpu", "ada",
                                           "nvl",  "sxm",  "pcie",  "max",    "q",   "sxm4",
                                           "sxm5", "40gb", "80gb",  "96gb"};
    for (bool moved = true; moved;) {
        moved = false;
        const size_t next = s.end + 1;
        const span one = words_from(w, next, 1);
        for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0] && one.end > 0; i++) {
            if ((w->text[s.end] == ' ' || w->text[s.end] == '-') &&
                ecoi_words_whole(w, next, suffixes[i])) {
                s.end = one.end;
                moved = true;
                break;
            }
        }
    }
    return s;
}

/* The maker's words before it. */
static span with_prefixes(const ecoi_words *w, span s) {
    static const char *const prefixes[] = {"rtx",     "gtx",   "quadro", "titan",
                                           "geforce", "tesla", "nvidia"};
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0] && !moved; i++) {
            const size_t n = strlen(prefixes[i]) + 1;
            if (s.first >= n && (w->text[s.first - 1] == ' ' || w->text[s.first - 1] == '-') &&
                ecoi_words_whole(w, s.first - n, prefixes[i])) {
                s.first -= n;
                moved = true;
            }
        }
    }
    return s;
}

static void keep_card(ecoi_words *w, eco_query *q, span found, const char *family) {
    const span s = with_prefixes(w, with_suffixes(w, found));
    const char *whole = family_of(w, s);
    if (whole == NULL || strcmp(whole, family) != 0) {
        use(w, found.first, found.end); /* with them it is no card any more */
    } else {
        use(w, s.first, s.end);
        found = s;
    }
    q->arch = family;
    const size_t length = found.end - found.first;
    if (length == strlen(family) && memcmp(w->text + found.first, family, length) == 0) {
        return; /* the class itself */
    }
    const size_t room = length + 1 < sizeof q->card ? length + 1 : sizeof q->card;
    (void)ecoi_str_copy(q->card, room, w->given + found.first);
}

/* One word before two, so that a card does not swallow what stands before it. */
static void read_card(ecoi_words *w, eco_query *q) {
    for (size_t n = 1; n <= CARD_WORDS_MAX; n++) {
        for (size_t at = 0; at < w->length; at++) {
            const bool first = ecoi_words_inner(w, at) && w->text[at] != '_' &&
                               (at == 0 || !ecoi_words_inner(w, at - 1) || w->text[at - 1] == '_');
            const span s = first ? words_from(w, at, n) : (span){0, 0};
            const char *family = s.end > 0 ? family_of(w, s) : NULL;
            if (family != NULL) {
                keep_card(w, q, s, family);
                return;
            }
        }
    }
}

/* `name` with a blank for each '-', at the start of a word; its length in the text, 0 if it is not there. */
static size_t model_at(const ecoi_words *w, size_t at, const char *name, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char c = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
        if (at + i >= w->length ||
            !(w->text[at + i] == c || (c == '-' && w->text[at + i] == ' '))) {
            return 0;
        }
    }
    return ecoi_words_inner(w, at + n) ? 0 : n;
}

static void read_model(ecoi_words *w, eco_query *q) {
    for (int whole = 1; whole >= 0; whole--) { /* "Mistral-7B", then "Mistral" */
        for (size_t at = 0; at < w->length; at++) {
            for (size_t i = 0; i < eco_model_count() && starts_word(w, at); i++) {
                const eco_model_shape *shape = eco_model_at(i);
                const char *dash = strrchr(shape->name, '-');
                const bool one_of_many = strncmp(shape->name, "Qwen", 4) == 0;
                size_t n = strlen(shape->name);
                if (whole == 0) {
                    n = dash != NULL && !one_of_many ? (size_t)(dash - shape->name) : 0;
                }
                if (n > 0 && model_at(w, at, shape->name, n) > 0) {
                    q->model = shape->name;
                    use(w, at, at + n);
                    q->params_b = whole > 0 ? eco_reading_of(shape->params_b) : q->params_b;
                    return;
                }
            }
        }
    }
}

static bool blank_at(const ecoi_words *w, size_t at) {
    return at >= w->length || w->text[at] == ' ';
}

/* Where the word of this size begins if it is a model's name that ends with it ("gemma-2-9b"), else `at`. */
static size_t name_before(const ecoi_words *w, size_t at, size_t end) {
    size_t first = at;
    while (first > 0 && !blank_at(w, first - 1)) {
        first--;
    }
    const bool name = w->text[first] >= 'a' && w->text[first] <= 'z';
    return name && !ecoi_words_inner(w, end) && w->text[end] != '-' ? first : at;
}

static void read_stack(ecoi_words *w, eco_query *q) {
    static const char word[] = "bitsandbytes";
    for (size_t at = 0; at < w->length; at++) {
        size_t end = ecoi_words_blanks(w, at + sizeof word - 1);
        const size_t first = end;
        while (ecoi_words_digit(w, end) ||
               (end > first && w->text[end] == '.' && ecoi_words_digit(w, end + 1))) {
            end++;
        }
        if (ecoi_words_whole(w, at, word) && end > first && end - first < 24) {
            const size_t n = sizeof word - 1;
            (void)ecoi_str_copy(q->stack, sizeof q->stack, "bitsandbytes ");
            (void)ecoi_str_copy(q->stack + n + 1, end - first + 1, w->text + first);
            use(w, at, end);
            return;
        }
    }
}

static void read_engine(ecoi_words *w, eco_query *q) {
    static const char *const engines[] = {"llama.cpp", "native", "transformers"};
    for (size_t at = 0; at < w->length && q->engine == NULL; at++) {
        for (size_t i = 0; i < sizeof engines / sizeof engines[0] && q->engine == NULL; i++) {
            if (ecoi_words_whole(w, at, engines[i])) {
                q->engine = engines[i];
                use(w, at, at + strlen(engines[i]));
            }
        }
    }
}

/* Does the word [first, end) hold something that would change the answer and was not read? A number, a second class or card,
 * a format that nobody measured; a memory size ("24gb") only describes a card. */
static bool matters(const ecoi_words *w, size_t first, size_t end) {
    static const char *const formats[] = {"gguf", "awq", "gptq", "exl2", "mxfp4", "nvfp4"};
    bool number = false;
    for (size_t i = first; i < end; i++) {
        number = number || (ecoi_words_digit(w, i) && !w->used[i]);
    }
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        number = number || ecoi_words_whole(w, first, formats[i]);
    }
    const span word = words_from(w, first, 1);
    if (word.end > 0 && word.end == end && family_of(w, word) != NULL) {
        return true;
    }
    return number && !(end - first > 2 && ecoi_words_whole(w, first, "gb")) &&
           !(end - first > 2 && w->text[end - 1] == 'b' && w->text[end - 2] == 'g');
}

static void find_unread(const ecoi_words *w, eco_query *q) {
    for (size_t at = 0; at < w->length; at++) {
        if (blank_at(w, at) || (at > 0 && !blank_at(w, at - 1))) {
            continue;
        }
        size_t end = at;
        while (!blank_at(w, end)) {
            end++;
        }
        while (end > at && strchr(",;.?!:()", w->text[end - 1]) != NULL) {
            end--;
        }
        if (end > at && matters(w, at, end)) {
            const size_t room = end - at + 1 < sizeof q->unread ? end - at + 1 : sizeof q->unread;
            (void)ecoi_str_copy(q->unread, room, w->given + at);
            return;
        }
    }
}

static void read_size(ecoi_words *w, eco_query *q) {
    static const struct {
        const char *unit;
        double billions;
        bool whole;
    } units[] = {{"b", 1, true},
                 {"bn", 1, true},
                 {"billion", 1, false},
                 {"m", 0.001, true},
                 {"million", 0.001, false}};
    for (size_t at = 0; at < w->length; at++) {
        double value = 0;
        const bool begins = at == 0 || !(ecoi_words_inner(w, at - 1) || w->text[at - 1] == '.' ||
                                         w->text[at - 1] == ',');
        const size_t n = begins ? ecoi_words_number(w, at, &value) : 0;
        const size_t after = ecoi_words_blanks(w, at + n);
        for (size_t i = 0; i < 5 && n > 0 && !any_used(w, at, after); i++) {
            const size_t end = after + strlen(units[i].unit);
            if (ecoi_words_literal(w, after, units[i].unit) &&
                !(units[i].whole && ecoi_words_inner(w, end))) {
                q->params_b = eco_reading_of(value * units[i].billions);
                use(w, name_before(w, at, end), end);
                return;
            }
        }
    }
}

eco_query ecoi_query_current(ecoi_words *w) {
    eco_query q = {0};
    read_stack(w, &q);
    read_engine(w, &q);
    read_context(w, &q);
    read_batch(w, &q);
    read_precision(w, &q);
    read_card(w, &q);
    read_model(w, &q);
    if (!eco_reading_present(q.params_b)) {
        read_size(w, &q);
    }
    find_unread(w, &q);
    const eco_model_shape *shape = q.model != NULL ? eco_model_find(q.model) : NULL;
    if (shape != NULL && !eco_reading_present(q.params_b)) {
        q.params_b = eco_reading_of(shape->params_b);
    } else if (shape != NULL &&
               !(q.params_b.value >= shape->params_b && q.params_b.value <= shape->params_b)) {
        q.model = NULL; /* another size of that family */
    }
    return q;
}
