/* SPDX-License-Identifier: Apache-2.0
 *
 * The report of energy_estimate where nothing was measured: the dataset's answer, under labels that cannot be taken for a
 * measurement.
 */
#include "dataset_answer.h"
#include "energy_estimate.h"

#include "ecocompute/estimate.h"

#include <stdio.h>
#include <string.h>

static void put(eco_report *r, eco_field field, const dataset_answer *a, double value,
                int decimals) {
    if (a->basis == ECO_BASIS_UNAVAILABLE) {
        eco_report_set_null(r, field, ECO_TOP);
    } else {
        eco_report_set_rounded(r, field, ECO_TOP, value, decimals);
    }
}

static void results(const dataset_answer *a, const energy_dataset *dataset, eco_report *r) {
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
    const char *arch = dataset_curve_class(dataset->arch);
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
    const dataset_question question = {.arch = dataset->arch,
                                       .precision = task->precision,
                                       .params_b = dataset->params_b,
                                       .batch = task->batch_size};
    const dataset_answer a = dataset_ask(&question);
    results(&a, dataset, r);
    eco_report_set_string(r, ECO_FIELD_PR_DATASET, ECO_TOP, "10.5281/zenodo.19647290");
    eco_report_set_string(r, ECO_FIELD_PR_NOTE, ECO_TOP,
                          "figures follow from the published curves (CC BY 4.0); nothing was "
                          "measured for this file, and it is not signed");
    return r;
}
