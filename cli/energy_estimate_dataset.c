/* SPDX-License-Identifier: Apache-2.0
 *
 * The report of energy_estimate where nothing was measured: FP16 energy through the published anchors of the class, the
 * change from its published curve, and labels that cannot be taken for a measurement. What the published program does,
 * with the current curves in place of the older table it carried (docs/energy-estimate.md).
 */
#include "energy_estimate.h"

#include "ecocompute/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct answer {
    eco_basis basis;
    double fp16_mj, mj, delta_pct; /* nothing where basis is unavailable */
    char note[512];
} answer;

const char *energy_curve_class(const char *arch) {
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

static answer unavailable(const char *what, const char *of) {
    answer a = {.basis = ECO_BASIS_UNAVAILABLE};
    snprintf(a.note, sizeof a.note, "the published data hold nothing for %s%.80s", what, of);
    return a;
}

static answer look_up(const eco_task *task, const energy_dataset *dataset) {
    const eco_curve_set *set = eco_curves_published();
    const char *arch = energy_curve_class(dataset->arch);
    if (arch == NULL) {
        return unavailable("gpu_arch ", dataset->arch);
    }
    if (!(dataset->params_b > 0.0)) {
        answer a = {.basis = ECO_BASIS_UNAVAILABLE};
        snprintf(a.note, sizeof a.note,
                 "the model's name does not tell its size, and none is guessed: give params_b");
        return a;
    }
    const bool fp16 = strcmp(task->precision, "FP16") == 0;
    const eco_curve *curve = fp16 ? NULL : eco_curve_find(set, arch, task->precision);
    if (!fp16 && curve == NULL) {
        char of[32];
        snprintf(of, sizeof of, "%.12s %s", arch, task->precision);
        return unavailable("", of);
    }
    const eco_fp16_baseline *base = eco_curve_baseline(set, arch);
    const double n = dataset->params_b;
    const bool inside = n >= base->n_min_b && n <= base->n_max_b &&
                        (curve == NULL || (n >= curve->n_min_b && n <= curve->n_max_b)) &&
                        task->batch_size == 1;
    answer a = {.basis = inside ? ECO_BASIS_INTERPOLATED : ECO_BASIS_EXTRAPOLATED,
                .fp16_mj = eco_fp16_energy_at(set, arch, n).j1k};
    if (curve != NULL) {
        a.delta_pct = fmax(eco_curve_value(curve, n), -eco_curve_cap_pct(set, task->precision));
    }
    a.mj = a.fp16_mj * (1.0 + a.delta_pct / 100.0);
    int used = snprintf(a.note, sizeof a.note,
                        "FP16 energy: log-log through the published anchors of %s (%g to %g B)",
                        arch, base->n_min_b, base->n_max_b);
    if (curve != NULL) {
        used += snprintf(a.note + used, sizeof a.note - (size_t)used,
                         "; change: the published curve %s %s (%g to %g B)", arch, task->precision,
                         curve->n_min_b, curve->n_max_b);
    }
    if (task->batch_size != 1) {
        snprintf(a.note + used, sizeof a.note - (size_t)used,
                 "; both were measured at batch 1, and batch %u is not in the numbers",
                 task->batch_size);
    }
    return a;
}

static void put(eco_report *r, eco_field field, const answer *a, double value, int decimals) {
    if (a->basis == ECO_BASIS_UNAVAILABLE) {
        eco_report_set_null(r, field, ECO_TOP);
    } else {
        eco_report_set_rounded(r, field, ECO_TOP, value, decimals);
    }
}

static void results(const answer *a, const energy_dataset *dataset, eco_report *r) {
    char note[1024];
    snprintf(note, sizeof note, "%s%.300s; %s", dataset->failed ? "measurement failed: " : "",
             dataset->why, a->note);
    eco_report_set_null(r, ECO_FIELD_RE_JOULES, ECO_TOP);
    eco_report_set_null(r, ECO_FIELD_RE_TOKENS, ECO_TOP);
    put(r, ECO_FIELD_RE_MJ, a, a->mj, 2);
    put(r, ECO_FIELD_RE_FP16_MJ, a, a->fp16_mj, 2);
    put(r, ECO_FIELD_RE_DELTA, a, a->delta_pct, 1);
    eco_report_set_null(r, ECO_FIELD_RE_W, ECO_TOP);
    eco_report_set_null(r, ECO_FIELD_RE_TPS, ECO_TOP);
    eco_report_set_string(r, ECO_FIELD_RE_BASIS, ECO_TOP, eco_basis_name(a->basis));
    eco_report_set_string(r, ECO_FIELD_RE_TIME_BASIS, ECO_TOP,
                          eco_basis_name(ECO_BASIS_UNAVAILABLE));
    eco_report_set_string(r, ECO_FIELD_RE_NOTE, ECO_TOP, note);
}

static void measurement(const eco_task *task, const energy_dataset *dataset, eco_report *r) {
    eco_report_set_string(r, ECO_FIELD_ME_METHOD, ECO_TOP,
                          "reference estimate from published dataset (no on-device measurement)");
    eco_report_set_integer(r, ECO_FIELD_ME_RATE, ECO_TOP, task->sample_rate_hz);
    eco_report_set_integer(r, ECO_FIELD_ME_TOKENS, ECO_TOP, task->tokens);
    eco_report_set_integer(r, ECO_FIELD_ME_ITERATIONS, ECO_TOP, task->iterations);
    eco_report_set_integer(r, ECO_FIELD_ME_WARMUP, ECO_TOP, task->warmup);
    eco_report_set_string(r, ECO_FIELD_ME_ITERATIONS_NOTE, ECO_TOP,
                          "nothing was run: tokens, iterations, warm-up and sample rate are those "
                          "asked for");
    eco_report_set_string(r, ECO_FIELD_ME_PROFILE, ECO_TOP, "none");
    eco_report_set_string(r, ECO_FIELD_ME_ENERGY_SOURCE, ECO_TOP, "none");
    eco_report_set_string(r, ECO_FIELD_SOURCE, ECO_TOP,
                          dataset->failed ? "ecocompute-dataset (on-device measurement failed)"
                                          : "ecocompute-dataset (no local GPU)");
}

eco_report *energy_dataset_report(const energy_input *input, const energy_dataset *dataset) {
    const eco_task *task = &input->task;
    const char *arch = energy_curve_class(dataset->arch);
    const eco_class_hardware *card =
        arch != NULL ? eco_curve_hardware(eco_curves_published(), arch) : NULL;
    eco_report *r = eco_report_new();
    if (r == NULL) {
        return NULL;
    }
    eco_report_begin(r, task->batch_size, dataset->run_id, input->command);
    eco_report_set_string(r, ECO_FIELD_SUT_GPU, ECO_TOP, card != NULL ? card->gpu : dataset->arch);
    eco_report_set_string(r, ECO_FIELD_SUT_GPU_ARCH, ECO_TOP, arch != NULL ? arch : dataset->arch);
    eco_report_set_string(r, ECO_FIELD_WL_MODEL, ECO_TOP, task->model_name);
    if (dataset->params_b > 0.0) {
        eco_report_set_number(r, ECO_FIELD_WL_PARAMS_B, ECO_TOP, dataset->params_b);
    } else {
        eco_report_set_null(r, ECO_FIELD_WL_PARAMS_B, ECO_TOP);
    }
    eco_report_set_string(r, ECO_FIELD_WL_PRECISION, ECO_TOP, task->precision);
    eco_report_set_integer(r, ECO_FIELD_WL_BATCH, ECO_TOP, task->batch_size);
    eco_report_set_integer(r, ECO_FIELD_WL_CONTEXT, ECO_TOP, task->context_length);
    measurement(task, dataset, r);
    const answer a = look_up(task, dataset);
    results(&a, dataset, r);
    eco_report_set_string(r, ECO_FIELD_PR_DATASET, ECO_TOP, "10.5281/zenodo.19647290");
    eco_report_set_string(r, ECO_FIELD_PR_NOTE, ECO_TOP,
                          "figures follow from the published curves (CC BY 4.0); nothing was "
                          "measured for this file, and it is not signed");
    return r;
}
