/* SPDX-License-Identifier: Apache-2.0
 *
 * FP16 energy per token by size: the class's anchors, else a straight line through two of them on log-log axes (SPEC §4.2,
 * the published baseline helper). The published optimizer has a second, linear one of its own (optimize_grid.c).
 */
#include "ecocompute/estimate.h"

#include "model/energy_line.h"
#include "model/estimator.h"

#include <math.h>
#include <string.h>

/* A baseline anchor is the mean of the FP16 energies behind the curve anchors of its class and size, and has their basis. */
eco_basis ecoi_fp16_anchor_basis(const eco_curve_set *curves, const char *arch, double params_b) {
    eco_basis basis = ECO_BASIS_ESTIMATED;
    bool found = false;
    for (size_t i = 0; i < curves->n_curves; i++) {
        const eco_curve *curve = &curves->curves[i];
        for (size_t j = 0; strcmp(curve->arch, arch) == 0 && j < curve->n_anchors; j++) {
            const eco_curve_anchor *a = &curve->anchors[j];
            if (fabs(a->params_b - params_b) < ECOI_SIZE_SAME_B) {
                basis = found ? eco_basis_weaker(basis, a->basis) : a->basis;
                found = true;
            }
        }
    }
    return basis;
}

static double log_log(const eco_fp16_anchor *a, const eco_fp16_anchor *b, double params_b) {
    const double slope =
        (log(b->energy_j1k) - log(a->energy_j1k)) / (log(b->params_b) - log(a->params_b));
    return exp(log(a->energy_j1k) + slope * (log(params_b) - log(a->params_b)));
}

eco_fp16_energy eco_fp16_energy_at(const eco_curve_set *curves, const char *arch, double params_b) {
    const eco_fp16_baseline *base = eco_curve_baseline(curves, arch);
    if (base == NULL || base->n_anchors == 0 || !(params_b > 0)) {
        return (eco_fp16_energy){0, ECO_BASIS_UNAVAILABLE};
    }
    const eco_fp16_anchor *anchors = base->anchors;
    size_t right = 0; /* the first anchor that is not smaller */
    for (size_t i = 0; i < base->n_anchors; i++) {
        if (fabs(anchors[i].params_b - params_b) < ECOI_SIZE_SAME_B) {
            return (eco_fp16_energy){anchors[i].energy_j1k,
                                     ecoi_fp16_anchor_basis(curves, arch, params_b)};
        }
        right += anchors[i].params_b < params_b;
    }
    const bool inside = right > 0 && right < base->n_anchors;
    const eco_basis basis = inside ? ECO_BASIS_INTERPOLATED : ECO_BASIS_ESTIMATED;
    if (base->n_anchors == 1) {
        return (eco_fp16_energy){anchors[0].energy_j1k * params_b / anchors[0].params_b, basis};
    }
    right = right == 0 ? 1 : right == base->n_anchors ? right - 1 : right;
    return (eco_fp16_energy){log_log(&anchors[right - 1], &anchors[right], params_b), basis};
}

typedef bool card_test(const eco_curve *curve, const char *card);

static bool any_curve(const eco_curve_set *curves, const char *arch, const char *card,
                      card_test *test) {
    for (size_t i = 0; i < curves->n_curves; i++) {
        if (strcmp(curves->curves[i].arch, arch) == 0 && test(&curves->curves[i], card)) {
            return true;
        }
    }
    return false;
}

eco_fp16_energy ecoi_fp16_energy_current(const eco_curve_set *curves, const char *arch,
                                         const char *card, const char *model, double params_b) {
    eco_fp16_energy base = eco_fp16_energy_at(curves, arch, params_b);
    const bool inside = base.basis >= ECO_BASIS_INTERPOLATED;
    if (base.basis != ECO_BASIS_UNAVAILABLE && !any_curve(curves, arch, card, ecoi_card_measured)) {
        base.basis = eco_basis_weaker(base.basis, ECO_BASIS_ESTIMATED);
    }
    if (inside && any_curve(curves, arch, card, ecoi_card_like_measured)) {
        return base;
    }
    const eco_energy_query q = {.model = model,
                                .params_b = params_b,
                                .gpu = card[0] != '\0' ? card : NULL,
                                .arch = arch,
                                .precision = "FP16",
                                .batch = 1,
                                .context = ecoi_energy_context(0)};
    eco_energy_estimate e;
    if (eco_energy_model_predict(eco_energy_model_frozen(), &q, &e, NULL) != ECO_OK) {
        return base;
    }
    return (eco_fp16_energy){e.fp16_energy_j_per_token * 1000,
                             eco_basis_weaker(e.basis, ECO_BASIS_ESTIMATED)};
}
