/* SPDX-License-Identifier: Apache-2.0
 *
 * The curve and look-ups in a set of curves; the published set, generated from data/published/curves.json. Pure.
 */
#include "ecocompute/curve.h"

#include <string.h>

/* clang-format off */
#include "model/curves.inc"
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const eco_curve_set published = {
    .model = published_model,
    .caps = published_caps,
    .n_caps = COUNT(published_caps),
    .labels = published_labels,
    .n_labels = COUNT(published_labels),
    .borrows = published_borrows,
    .n_borrows = COUNT(published_borrows),
    .curves = published_curves,
    .n_curves = COUNT(published_curves),
    .baselines = published_baselines,
    .n_baselines = COUNT(published_baselines),
    .hardware = published_hardware,
    .n_hardware = COUNT(published_hardware),
};

const eco_curve_set *eco_curves_published(void) {
    return &published;
}

const eco_curve *eco_curve_find(const eco_curve_set *set, const char *arch, const char *precision) {
    for (size_t i = 0; i < set->n_curves; i++) {
        const eco_curve *curve = &set->curves[i];
        if (strcmp(curve->arch, arch) == 0 && strcmp(curve->precision, precision) == 0) {
            return curve;
        }
    }
    return NULL;
}

const eco_fp16_baseline *eco_curve_baseline(const eco_curve_set *set, const char *arch) {
    for (size_t i = 0; i < set->n_baselines; i++) {
        if (strcmp(set->baselines[i].arch, arch) == 0) {
            return &set->baselines[i];
        }
    }
    return NULL;
}

const eco_class_hardware *eco_curve_hardware(const eco_curve_set *set, const char *arch) {
    for (size_t i = 0; i < set->n_hardware; i++) {
        if (strcmp(set->hardware[i].arch, arch) == 0) {
            return &set->hardware[i];
        }
    }
    return NULL;
}

static const char *named(const eco_curve_name *names, size_t n, const char *arch) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i].arch, arch) == 0) {
            return names[i].value;
        }
    }
    return NULL;
}

const char *eco_curve_label(const eco_curve_set *set, const char *arch) {
    return named(set->labels, set->n_labels, arch);
}

const char *eco_curve_borrows(const eco_curve_set *set, const char *arch) {
    return named(set->borrows, set->n_borrows, arch);
}

double eco_curve_cap_pct(const eco_curve_set *set, const char *precision) {
    enum { CAP_UNKNOWN_PCT = 75 }; /* the published default */
    for (size_t i = 0; i < set->n_caps; i++) {
        if (strcmp(set->caps[i].precision, precision) == 0) {
            return set->caps[i].s_cap_pct;
        }
    }
    return CAP_UNKNOWN_PCT;
}

double eco_curve_g(double x) {
    return x / (1.0 + x);
}

double eco_curve_value(const eco_curve *curve, double params_b) {
    return curve->a_pct - curve->s_pct * eco_curve_g(params_b / curve->nstar_b);
}

eco_reading eco_curve_crossover(double a_pct, double s_pct, double nstar_b, double n_max_b) {
    if (!(s_pct > a_pct && a_pct > 0.0)) {
        return eco_reading_absent(ECO_ABSENT_NOT_READ);
    }
    const double crossover_b = nstar_b * a_pct / (s_pct - a_pct);
    return crossover_b > n_max_b ? eco_reading_absent(ECO_ABSENT_NOT_READ)
                                 : eco_reading_of(crossover_b);
}
