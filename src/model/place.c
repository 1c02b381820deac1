/* SPDX-License-Identifier: Apache-2.0
 *
 * The class and card of a question, and the limits of its numbers under current rules.
 */
#include "model/estimator.h"

#include "core/num.h"
#include "core/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CLASSES_MAX = 32 };

/* Classes that can answer, each once, in the order of the set. */
static size_t list_classes(const eco_curve_set *set, const char *out[CLASSES_MAX]) {
    size_t n = 0;
    for (size_t i = 0; i < set->n_curves + set->n_borrows && n < CLASSES_MAX; i++) {
        const char *arch =
            i < set->n_curves ? set->curves[i].arch : set->borrows[i - set->n_curves].arch;
        bool seen = false;
        for (size_t j = 0; j < n; j++) {
            seen = seen || strcmp(out[j], arch) == 0;
        }
        if (!seen) {
            out[n++] = arch;
        }
    }
    return n;
}

void ecoi_place_list(const eco_curve_set *set, char *out, size_t capacity) {
    const char *classes[CLASSES_MAX];
    const size_t n = list_classes(set, classes);
    size_t length = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && length < capacity; i++) {
        const int added =
            snprintf(out + length, capacity - length, "%s%s", i > 0 ? ", " : "", classes[i]);
        length += added > 0 ? (size_t)added : 0;
    }
}

static eco_status not_known(const eco_curve_set *set, const char *arch, eco_error *err) {
    const char *classes[CLASSES_MAX];
    const size_t n = list_classes(set, classes);
    char known[160];
    ecoi_place_list(set, known, sizeof known);
    const char *nearest = eco_nearest_name(arch, classes, n);
    return eco_error_set(err, ECO_E_USAGE, 0,
                         "arch: '%.64s' is no known class or card%s%s%s; expected %s, or a card "
                         "such as 'RTX 4090'",
                         arch, nearest != NULL ? ", did you mean '" : "",
                         nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "", known);
}

eco_status ecoi_place_find(eco_rules rules, const eco_curve_set *set, const char *arch,
                           ecoi_place *out, eco_error *err) {
    *out = (ecoi_place){0};
    if (arch == NULL || arch[0] == '\0') {
        char known[160];
        ecoi_place_list(set, known, sizeof known);
        return eco_error_set(err, ECO_E_USAGE, 0, "arch: one of %s is expected", known);
    }
    const char *classes[CLASSES_MAX];
    const size_t n = list_classes(set, classes);
    for (size_t i = 0; i < n; i++) {
        if (rules == ECO_RULES_CURRENT ? ecoi_str_equal_nocase(arch, classes[i])
                                       : strcmp(arch, classes[i]) == 0) {
            (void)ecoi_str_copy(out->arch, sizeof out->arch, classes[i]);
            return ECO_OK;
        }
    }
    if (rules == ECO_RULES_PUBLISHED_1_1) {
        (void)ecoi_str_copy(out->arch, sizeof out->arch, arch);
        return ECO_OK;
    }
    const char *family = eco_card_family_by_name(ECO_RULES_CURRENT, arch);
    if (family == NULL) {
        return not_known(set, arch, err);
    }
    (void)ecoi_str_copy(out->arch, sizeof out->arch, family);
    const eco_card *card = eco_card_find(arch);
    if (card == NULL) {
        return eco_error_set(
            err, ECO_E_NOT_FOUND, 0,
            "arch: no data sheet of '%.64s' here, so nothing is said of this card; "
            "its class is %s: give --arch %s",
            arch, family, family);
    }
    (void)ecoi_str_copy(out->card, sizeof out->card, card->name);
    return ECO_OK;
}

static eco_status refuse(const char *field, double value, const char *expected, eco_error *err) {
    char text[ECOI_NUM_MAX] = "not a number";
    if (isfinite(value)) {
        (void)ecoi_num_write(value, text);
    } else if (isinf(value)) {
        (void)ecoi_str_copy(text, sizeof text, "infinity");
    }
    return eco_error_set(err, ECO_E_RANGE, 0, "%s: %s is not usable; expected %s", field, text,
                         expected);
}

static bool whole_within(double value, double hi) {
    return value >= 1 && value <= hi && floor(value) >= value; /* false for NaN */
}

eco_status ecoi_estimate_check_size(double params_b, eco_error *err) {
    return params_b >= ECO_SIZE_MIN_B && params_b <= ECO_SIZE_MAX_B
               ? ECO_OK
               : refuse("params_b", params_b, "billions of parameters, 0.01 to 10000", err);
}

eco_status ecoi_estimate_check_batch(double batch, eco_error *err) {
    return whole_within(batch, ECO_ESTIMATE_BATCH_MAX)
               ? ECO_OK
               : refuse("batch", batch, "a whole number of sequences, 1 to 4096", err);
}

eco_status ecoi_estimate_check_context(double context, eco_error *err) {
    return whole_within(context, ECO_CONTEXT_MAX)
               ? ECO_OK
               : refuse("ctx", context, "a whole number of tokens, 1 to 16777216", err);
}

eco_status ecoi_estimate_check_model(const char *model, eco_error *err) {
    if (model == NULL || eco_model_find(model) != NULL) {
        return ECO_OK;
    }
    const char *names[64];
    size_t n = 0;
    for (; n < eco_model_count() && n < 64; n++) {
        names[n] = eco_model_at(n)->name;
    }
    const char *nearest = eco_nearest_name(model, names, n);
    return eco_error_set(err, ECO_E_USAGE, 0, "model: '%.64s' is not built in%s%s%s", model,
                         nearest != NULL ? ", did you mean '"
                                         : "; `ecocompute models` lists what is",
                         nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

eco_status ecoi_estimate_check_format(const char *precision, eco_error *err) {
    const char *names[ECO_FORMAT_COUNT];
    for (eco_format f = 0; f < ECO_FORMAT_COUNT; f++) {
        names[f] = eco_format_at(f)->name;
        if (ecoi_str_equal_nocase(precision, names[f])) {
            return ECO_OK;
        }
    }
    const char *nearest = eco_nearest_name(precision, names, ECO_FORMAT_COUNT);
    return eco_error_set(err, ECO_E_USAGE, 0, "precision: '%.16s' is no weight format%s%s%s",
                         precision, nearest != NULL ? ", did you mean '" : "; expected NF4 or INT8",
                         nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}
