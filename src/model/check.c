/* SPDX-License-Identifier: Apache-2.0
 *
 * The published regression check (SPEC §4.4): the measured change against the anchors of its size, or the curve, within k
 * sigmas. The current rules also ask that the report is of the data's own stack, window and batch, and carries no warning
 * that bars it from comparison; their sigma is the estimator's floor.
 */
#include "ecocompute/check.h"

#include "core/str.h"
#include "model/estimator.h"
#include "model/json_maker.h"
#include "model/published_round.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double SIZE_SAME_B = 1e-9;
static const double SIGMA_FLOOR_PCT = 2;
/* What the curves were measured with; reports of that time do not name it. */
static const char *const data_engine = "transformers";
static const char *const data_window = "generation";

static eco_check not_gradable(eco_check check, const char *field, const char *why) {
    check.result = ECO_CHECK_NOT_GRADABLE;
    (void)snprintf(check.reason, sizeof check.reason, "%s: %s", field, why);
    return check;
}

/* The class as it is written, else what the published second reading makes of it, else (current) the card's. */
static const char *class_of(const eco_curve_set *set, eco_rules rules, const char *arch) {
    for (size_t i = 0; i < set->n_curves; i++) {
        if (strcmp(set->curves[i].arch, arch) == 0) {
            return arch;
        }
    }
    if (eco_curve_borrows(set, arch) != NULL) {
        return arch;
    }
    const char *known = eco_arch_curve_class(arch);
    if (known == NULL && rules == ECO_RULES_CURRENT) {
        known = eco_card_family_by_name(rules, arch);
    }
    return known != NULL ? known : arch;
}

/* NULL: gradable so far. */
static const char *missing_field(const eco_check_subject *s, const char **why) {
    *why = "missing";
    if (s->basis == NULL || strcmp(s->basis, "measured") != 0) {
        *why = "only a measured report is graded";
        return "results.basis";
    }
    if (s->source == NULL || !ecoi_str_starts_with(s->source, "direct-nvml")) {
        *why = "only readings of NVML are graded";
        return "measurement_source";
    }
    return !eco_reading_present(s->delta_pct)  ? "results.vs_fp16_energy_pct"
           : s->arch == NULL                   ? "system_under_test.gpu_arch"
           : s->precision == NULL              ? "workload.precision"
           : !eco_reading_present(s->params_b) ? "workload.params_b"
                                               : NULL;
}

/* A field that other fields of the report contradict; NULL: none. Energies are printed rounded, hence a point of grace. */
static const char *contradiction(const eco_curve_set *set, const eco_check_subject *s,
                                 const char **why) {
    const double grace_pct = 1;
    const bool both = eco_reading_present(s->quant_mj) && eco_reading_present(s->fp16_mj);
    if (both && s->fp16_mj.value > 0 &&
        fabs(100 * (s->quant_mj.value / s->fp16_mj.value - 1) - s->delta_pct.value) > grace_pct) {
        *why = "is not the change between the report's two energies";
        return "results.vs_fp16_energy_pct";
    }
    const char *family = s->gpu != NULL ? eco_card_family_by_name(ECO_RULES_CURRENT, s->gpu) : NULL;
    if (family != NULL && s->arch != NULL &&
        strcmp(class_of(set, ECO_RULES_CURRENT, s->arch),
               class_of(set, ECO_RULES_CURRENT, family)) != 0) {
        *why = "is not the class of system_under_test.gpu";
        return "system_under_test.gpu_arch";
    }
    return NULL;
}

/* How engine and window differ from the data's; "" if they do not. */
static void compare_stacks(const eco_check_subject *s, char *out, size_t capacity) {
    const char *engine = s->engine != NULL ? s->engine : data_engine;
    const char *window = s->window != NULL ? s->window : data_window;
    const bool same_engine = strcmp(engine, data_engine) == 0;
    const bool same_window = strcmp(window, data_window) == 0;
    out[0] = '\0';
    if (!same_engine || !same_window) {
        (void)snprintf(out, capacity,
                       "the report is of engine %.24s, window %.24s, the data of engine %s, "
                       "window %s",
                       engine, window, data_engine, data_window);
    }
}

static void grade(const eco_check_subject *s, const eco_check_options *options, eco_check *out) {
    double sum = 0;
    out->delta_pct = s->delta_pct.value;
    out->curve_pct = eco_curve_value(out->curve, s->params_b.value);
    for (size_t i = 0; i < out->curve->n_anchors; i++) {
        if (fabs(out->curve->anchors[i].params_b - s->params_b.value) < SIZE_SAME_B) {
            sum += out->curve->anchors[i].delta_pct;
            out->n_anchors++;
        }
    }
    out->reference_pct = out->n_anchors > 0 ? sum / (double)out->n_anchors : out->curve_pct;
    out->sigma_pct = out->curve->resid_std_pct;
    if (options->rules == ECO_RULES_CURRENT) {
        const eco_reading loo = out->curve->loo_mae_pct;
        out->sigma_pct =
            fmax(fmax(out->sigma_pct, SIGMA_FLOOR_PCT), eco_reading_present(loo) ? loo.value : 0);
    }
    out->band_pct = options->k * out->sigma_pct;
    out->result = fabs(out->delta_pct - out->reference_pct) <= out->band_pct ? ECO_CHECK_WITHIN
                                                                             : ECO_CHECK_OUTSIDE;
}

eco_check eco_check_make(const eco_check_subject *s, const eco_check_options *options) {
    const eco_curve_set *set = options->curves != NULL ? options->curves : eco_curves_published();
    eco_check check = {.result = ECO_CHECK_NOT_GRADABLE};
    const char *why = NULL;
    const char *field = missing_field(s, &why);
    if (field != NULL) {
        return not_gradable(check, field, why);
    }
    if (!(options->k > 0 && isfinite(options->k))) {
        return not_gradable(check, "k", "a number above 0 is expected");
    }
    if (!(s->params_b.value > 0)) {
        return not_gradable(check, "workload.params_b", "a size above 0 is expected");
    }
    if (options->rules == ECO_RULES_CURRENT) {
        if (s->invalid != NULL) {
            (void)snprintf(check.reason, sizeof check.reason,
                           "warnings: %.60s bars the report from comparison", s->invalid);
            return check;
        }
        field = contradiction(set, s, &why);
        if (field != NULL) {
            return not_gradable(check, field, why);
        }
        if (eco_reading_present(s->batch) && s->batch.value > 1) {
            return not_gradable(check, "workload.batch_size", "all data are of batch 1");
        }
        compare_stacks(s, check.stacks, sizeof check.stacks);
        check.across_stacks = check.stacks[0] != '\0';
        if (check.across_stacks && !options->across_stacks) {
            return not_gradable(check, s->engine != NULL ? "workload.engine" : "measurement.window",
                                check.stacks);
        }
    }
    const char *arch = class_of(set, options->rules, s->arch);
    check.curve = ecoi_estimate_curve(set, arch, s->precision, &check.borrowed);
    if (check.curve == NULL) {
        (void)snprintf(check.reason, sizeof check.reason,
                       "system_under_test.gpu_arch: no curve for %.40s in %.16s", s->arch,
                       s->precision);
        return check;
    }
    grade(s, options, &check);
    return check;
}

const char *eco_check_result_name(eco_check_result result) {
    switch (result) {
    case ECO_CHECK_WITHIN:
        return "within";
    case ECO_CHECK_OUTSIDE:
        return "outside";
    case ECO_CHECK_NOT_GRADABLE:
        break;
    }
    return "not_gradable";
}

eco_status eco_check_json(const eco_check *check, eco_text *out, eco_error *err) {
    ecoi_maker m = {0};
    const bool graded = check->result != ECO_CHECK_NOT_GRADABLE;
    const double none = (double)NAN;
    ecoi_json *root = ecoi_make_object(&m);
    ecoi_put_text(&m, root, "result", eco_check_result_name(check->result));
    ecoi_put_text(&m, root, "reason", graded ? NULL : check->reason);
    ecoi_put_text(&m, root, "arch_used", graded ? check->curve->arch : NULL);
    ecoi_put_bool(&m, root, "borrowed", graded && check->borrowed);
    ecoi_put_rounded(&m, root, "measured_pct", graded ? check->delta_pct : none, 2);
    ecoi_put_rounded(&m, root, "reference_pct", graded ? check->reference_pct : none, 2);
    ecoi_put_text(&m, root, "reference",
                  !graded                ? NULL
                  : check->n_anchors > 0 ? "anchors of this size"
                                         : "curve");
    ecoi_put_count(&m, root, "anchors", check->n_anchors);
    ecoi_put_rounded(&m, root, "curve_pct", graded ? check->curve_pct : none, 2);
    ecoi_put_rounded(&m, root, "sigma_pct", graded ? check->sigma_pct : none, 4);
    ecoi_put_rounded(&m, root, "band_pct", graded ? check->band_pct : none, 2);
    ecoi_put_bool(&m, root, "across_stacks", graded && check->across_stacks);
    ecoi_put_text(&m, root, "stacks", check->stacks[0] != '\0' ? check->stacks : NULL);
    return ecoi_make_end(&m, root, "check", out, err);
}

static void add_points(eco_text *out, const char *before, double pct, const char *behind) {
    const double rounded = ecoi_published_round(pct, 1);
    ecoi_text_addf(out, "%s%s", before, rounded > 0 ? "+" : "");
    ecoi_text_add_number(out, rounded);
    ecoi_text_add_z(out, behind);
}

void eco_check_text(const eco_check *check, eco_text *out) {
    if (check->result == ECO_CHECK_NOT_GRADABLE) {
        ecoi_text_addf(out, "not gradable: %s\n", check->reason);
        return;
    }
    ecoi_text_addf(
        out, "%s: ", check->result == ECO_CHECK_WITHIN ? "within the band" : "OUTSIDE the band");
    add_points(out, "measured ", check->delta_pct, " %, ");
    if (check->n_anchors > 0) {
        ecoi_text_addf(out, "mean of the %zu anchors of this size ", check->n_anchors);
    } else {
        ecoi_text_add_z(out, "curve ");
    }
    add_points(out, "", check->reference_pct, " %, ");
    ecoi_text_add_z(out, "band ±");
    ecoi_text_add_number(out, ecoi_published_round(check->band_pct, 1));
    ecoi_text_add_z(out, " points\n");
    ecoi_text_addf(out, "curve %s %s%s: ", check->curve->arch, check->curve->precision,
                   check->borrowed ? " (borrowed)" : "");
    add_points(out, "", check->curve_pct, " % at this size, sigma ");
    ecoi_text_add_number(out, ecoi_published_round(check->sigma_pct, 2));
    ecoi_text_add_z(out, " points\n");
    if (check->across_stacks) {
        ecoi_text_addf(out, "across stacks: %s\n", check->stacks);
    }
    ecoi_text_add_z(out, "The band is a multiple of the curve's error, not a confidence interval; "
                         "other library versions alone can move a result out of it.\n");
}
