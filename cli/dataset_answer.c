/* SPDX-License-Identifier: Apache-2.0
 *
 * What the published dataset says of a card, a size and a precision. What the published program does, with the current
 * curves in place of the older table it carried (docs/energy-estimate.md).
 */
#include "dataset_answer.h"

#include "ecocompute/engine.h"
#include "ecocompute/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *dataset_curve_class(const char *arch) {
    const eco_curve_set *set = eco_curves_published();
    const char *names[] = {arch, eco_card_family_by_name(ECO_RULES_CURRENT, arch),
                           eco_arch_curve_class(arch)};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i] != NULL && eco_curve_baseline(set, names[i]) != NULL) {
            return eco_curve_baseline(set, names[i])->arch;
        }
    }
    return NULL;
}

static dataset_answer unavailable(const char *what, const char *of) {
    dataset_answer a = {.basis = ECO_BASIS_UNAVAILABLE};
    snprintf(a.note, sizeof a.note, "the published data hold nothing for %s%.80s", what, of);
    return a;
}

dataset_answer dataset_ask(const dataset_question *question) {
    const eco_curve_set *set = eco_curves_published();
    const char *arch = dataset_curve_class(question->arch);
    if (arch == NULL) {
        return unavailable("gpu_arch ", question->arch);
    }
    if (!(question->params_b > 0.0)) {
        dataset_answer a = {.basis = ECO_BASIS_UNAVAILABLE};
        snprintf(a.note, sizeof a.note,
                 "the model's name does not tell its size, and none is guessed: give params_b");
        return a;
    }
    const bool fp16 = strcmp(question->precision, "FP16") == 0;
    const eco_curve *curve = fp16 ? NULL : eco_curve_find(set, arch, question->precision);
    if (!fp16 && curve == NULL) {
        char of[32];
        snprintf(of, sizeof of, "%.12s %s", arch, question->precision);
        return unavailable("", of);
    }
    const eco_fp16_baseline *base = eco_curve_baseline(set, arch);
    const double n = question->params_b;
    const bool inside = n >= base->n_min_b && n <= base->n_max_b &&
                        (curve == NULL || (n >= curve->n_min_b && n <= curve->n_max_b)) &&
                        question->batch == 1;
    dataset_answer a = {.basis = inside ? ECO_BASIS_INTERPOLATED : ECO_BASIS_EXTRAPOLATED,
                        .fp16_mj = eco_fp16_energy_at(set, arch, n).j1k};
    if (curve != NULL) {
        a.delta_pct = fmax(eco_curve_value(curve, n), -eco_curve_cap_pct(set, question->precision));
    }
    a.mj = a.fp16_mj * (1.0 + a.delta_pct / 100.0);
    int used = snprintf(a.note, sizeof a.note,
                        "FP16 energy: log-log through the published anchors of %s (%g to %g B)",
                        arch, base->n_min_b, base->n_max_b);
    if (curve != NULL) {
        used += snprintf(a.note + used, sizeof a.note - (size_t)used,
                         "; change: the published curve %s %s (%g to %g B)", arch,
                         question->precision, curve->n_min_b, curve->n_max_b);
    }
    if (question->batch != 1) {
        snprintf(a.note + used, sizeof a.note - (size_t)used,
                 "; both were measured at batch 1, and batch %u is not in the numbers",
                 question->batch);
    }
    return a;
}

eco_meter_info dataset_card(void) {
    eco_meter_info found = {0};
    eco_boundary wanted = {.kind = ECO_BOUNDARY_NONE};
    eco_error error = {0};
    const bool chosen = eco_device_find("cuda", &wanted, &error) == ECO_OK;
    for (size_t row = 0; row < eco_meter_count(); row++) {
        eco_meter_status status;
        eco_meter_name(row, &status);
        if (status.boundary != ECO_BOUNDARY_GPU) {
            continue;
        }
        eco_meter_probe(row, &status);
        for (uint32_t i = 0; status.usable && i < status.n_devices; i++) {
            eco_meter_info info;
            if (eco_meter_device(row, i, &info, &error) != ECO_OK) {
                continue;
            }
            const bool own = chosen && eco_boundary_contains(&info.device.boundary, &wanted);
            if (own || found.device.name[0] == '\0') {
                found = info;
            }
            if (own) {
                return found;
            }
        }
    }
    return found;
}

const char *dataset_arch(const char *given, const eco_meter_info *card) {
    const eco_device_record *device = &card->device;
    const bool seen = device->name[0] != '\0';
    return eco_arch_resolve(ECO_RULES_CURRENT, given, seen ? device->cc_major : -1,
                            seen ? device->cc_minor : -1, seen ? device->name : NULL);
}
