/* SPDX-License-Identifier: Apache-2.0
 *
 * Fits every class and precision of a table, and lays the answer out as a set of curves with the published rounding:
 * parameters 4 decimals, crossover and leave-one-out 3, anchors and FP16 energies 2. Pure.
 */
#include "model/fit_table.h"

#include "core/alloc.h"
#include "core/num.h"

#include <stdlib.h>
#include <string.h>

enum {
    PARAMETER_DECIMALS = 4,
    ERROR_DECIMALS = 3,
    ANCHOR_DECIMALS = 2,
    LOO_POINTS_MIN = 4,
    FEW_SESSIONS = 5,
    GPUS_TEXT_MAX = 256
};

static const struct {
    const char *code, *text;
} warnings[ECO_FIT_WARNING_COUNT] = {
#define ECO_FIT_WARNING_ROW(name, code, text) {code, text},
    ECO_FIT_WARNINGS(ECO_FIT_WARNING_ROW)
#undef ECO_FIT_WARNING_ROW
};

const char *eco_fit_warning_code(eco_fit_warning warning) {
    return warnings[warning].code;
}

const char *eco_fit_warning_text(eco_fit_warning warning) {
    return warnings[warning].text;
}

/* A copy that lives with the fit. NULL when out of memory. */
static const char *kept(eco_fit *fit, const char *text) {
    return ecoi_arena_copy(&fit->arena, text, strlen(text));
}

static int compare_anchors(const void *a, const void *b) {
    const eco_anchor *x = *(const eco_anchor *const *)a;
    const eco_anchor *y = *(const eco_anchor *const *)b;
    if (x->params_b != y->params_b) {
        return x->params_b < y->params_b ? -1 : 1;
    }
    const int by_gpu = strcmp(x->gpu, y->gpu);
    return by_gpu != 0 ? by_gpu : (x > y) - (x < y); /* rows of one table: the earlier first */
}

static bool lay_out_anchors(eco_fit *fit, const ecoi_fit_group *group, eco_curve *curve) {
    eco_curve_anchor *anchors = ecoi_arena_alloc(&fit->arena, group->n * sizeof *anchors);
    if (anchors == NULL) {
        return false;
    }
    qsort(group->rows, group->n, sizeof(eco_anchor *), compare_anchors);
    for (size_t i = 0; i < group->n; i++) {
        const eco_anchor *row = group->rows[i];
        double delta_pct = 0.0;
        (void)eco_anchor_delta_pct(row, &delta_pct);
        anchors[i] = (eco_curve_anchor){.params_b = row->params_b,
                                        .delta_pct = ecoi_num_round(delta_pct, ANCHOR_DECIMALS),
                                        .model = kept(fit, row->model),
                                        .gpu = kept(fit, row->gpu),
                                        .n_trials = row->n_trials,
                                        .basis = row->basis};
        if (anchors[i].model == NULL || anchors[i].gpu == NULL) {
            return false;
        }
    }
    curve->anchors = anchors;
    curve->n_anchors = group->n;
    curve->n_min_b = anchors[0].params_b;
    curve->n_max_b = anchors[group->n - 1].params_b;
    return true;
}

/* Result, band and row of one curve; false when out of memory. */
static bool fit_group(eco_fit *fit, const ecoi_fit_group *group, const eco_fit_options *options,
                      eco_curve *curve, size_t i) {
    eco_fit_point points[ECO_FIT_POINTS_MAX];
    const double cap_pct = eco_curve_cap_pct(eco_curves_published(), group->precision);
    eco_fit_result *result = &fit->results[i];
    double loo_pct = 0.0;
    ecoi_fit_points_of(group, points);
    (void)eco_fit_curve(options->rules, points, group->n, cap_pct, result);
    curve->loo_mae_pct = eco_reading_absent(ECO_ABSENT_NOT_READ);
    if (eco_fit_loo(options->rules, points, group->n, cap_pct, &loo_pct)) {
        curve->loo_mae_pct = eco_reading_of(ecoi_num_round(loo_pct, ERROR_DECIMALS));
        fit->summary.loo_mae_pct += loo_pct * (double)group->n; /* divided at the end */
        fit->summary.n_loo += group->n;
    }
    if (!ecoi_fit_band_of(group, options, cap_pct, &fit->arena, &fit->bands[i]) ||
        !lay_out_anchors(fit, group, curve)) {
        return false;
    }
    curve->arch = kept(fit, group->arch);
    curve->precision = kept(fit, group->precision);
    curve->a_pct = ecoi_num_round(result->a_pct, PARAMETER_DECIMALS);
    curve->s_pct = ecoi_num_round(result->s_pct, PARAMETER_DECIMALS);
    curve->nstar_b = ecoi_num_round(result->nstar_b, PARAMETER_DECIMALS);
    curve->resid_std_pct = ecoi_num_round(result->resid_std_pct, PARAMETER_DECIMALS);
    curve->crossover_b =
        eco_curve_crossover(result->a_pct, result->s_pct, result->nstar_b, curve->n_max_b);
    if (eco_reading_present(curve->crossover_b)) {
        curve->crossover_b.value = ecoi_num_round(curve->crossover_b.value, ERROR_DECIMALS);
    }
    return curve->arch != NULL && curve->precision != NULL;
}

/* ---- FP16 baselines: the mean over all rows of a size, once for each precision a row has (as published) ---- */

typedef struct size_rows {
    const eco_anchor *rows[ECO_FIT_ROWS_MAX];
    size_t n;
} size_rows;

/* The cards of the rows [first, last), each once, in the order of their names, " + " between them. */
static const char *cards_of(eco_fit *fit, const eco_anchor **rows, size_t n) {
    static const char between[] = {' ', '+', ' '};
    char text[GPUS_TEXT_MAX] = "";
    size_t length = 0;
    for (size_t i = 0; i < n; i++) { /* sorted by card */
        const size_t n_name = strlen(rows[i]->gpu);
        if (i > 0 && strcmp(rows[i]->gpu, rows[i - 1]->gpu) == 0) {
            continue;
        }
        if (length + n_name + 4 > sizeof text) {
            break;
        }
        if (length > 0) {
            memcpy(text + length, between, sizeof between);
            length += sizeof between;
        }
        memcpy(text + length, rows[i]->gpu, n_name);
        length += n_name;
    }
    return ecoi_arena_copy(&fit->arena, text, length);
}

static bool lay_out_baseline(eco_fit *fit, size_rows *of, eco_fp16_baseline *out) {
    eco_fp16_anchor *anchors = ecoi_arena_alloc(&fit->arena, of->n * sizeof *anchors);
    if (anchors == NULL) {
        return false;
    }
    qsort(of->rows, of->n, sizeof of->rows[0], compare_anchors);
    size_t n = 0;
    for (size_t first = 0; first < of->n;) {
        size_t last = first;
        double sum_j1k = 0.0;
        while (last < of->n && of->rows[last]->params_b == of->rows[first]->params_b) {
            sum_j1k += of->rows[last++]->energy_fp16_j1k.value;
        }
        anchors[n] = (eco_fp16_anchor){
            .params_b = of->rows[first]->params_b,
            .energy_j1k = ecoi_num_round(sum_j1k / (double)(last - first), ANCHOR_DECIMALS),
            .model = kept(fit, of->rows[first]->model),
            .gpu = cards_of(fit, of->rows + first, last - first)};
        if (anchors[n].model == NULL || anchors[n].gpu == NULL) {
            return false;
        }
        n++;
        first = last;
    }
    out->anchors = anchors;
    out->n_anchors = n;
    out->n_min_b = anchors[0].params_b;
    out->n_max_b = anchors[n - 1].params_b;
    return true;
}

/* One baseline a class, in the order in which the table names them. */
static bool lay_out_baselines(eco_fit *fit, const eco_anchor_table *table,
                              const eco_fit_options *options) {
    eco_fp16_baseline *out = ecoi_arena_alloc(&fit->arena, ECO_FIT_CURVES_MAX * sizeof *out);
    size_rows *of = ecoi_malloc(sizeof *of);
    size_t n = 0;
    bool fine = out != NULL && of != NULL;
    for (size_t i = 0; fine && i < table->n; i++) {
        const char *arch = table->rows[i].arch;
        bool known =
            !ecoi_fit_wanted(&table->rows[i], options) || !ecoi_fit_trains(&table->rows[i]);
        for (size_t k = 0; !known && k < n; k++) {
            known = strcmp(out[k].arch, arch) == 0;
        }
        if (known) {
            continue;
        }
        of->n = 0;
        for (size_t k = i; k < table->n; k++) {
            const eco_anchor *row = &table->rows[k];
            if (strcmp(row->arch, arch) == 0 && ecoi_fit_wanted(row, options) &&
                ecoi_fit_trains(row)) {
                of->rows[of->n++] = row;
            }
        }
        out[n].arch = kept(fit, arch);
        fine = out[n].arch != NULL && lay_out_baseline(fit, of, &out[n]);
        n++;
    }
    ecoi_free(of);
    fit->set.baselines = out;
    fit->set.n_baselines = n;
    return fine;
}

/* ---- The table ---- */

static eco_status fit_groups(eco_fit *fit, const eco_anchor_table *table,
                             const eco_fit_options *options, const ecoi_fit_groups *groups,
                             eco_error *err) {
    const eco_curve_set *published = eco_curves_published();
    eco_curve *curves = ecoi_arena_alloc(&fit->arena, groups->n * sizeof *curves);
    if (curves == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "fit: out of memory");
    }
    for (size_t i = 0; i < groups->n; i++) {
        if (!fit_group(fit, &groups->groups[i], options, &curves[i], i)) {
            return eco_error_set(err, ECO_E_NO_MEMORY, 0, "fit: out of memory");
        }
    }
    fit->set =
        *published; /* its formula, caps, labels, borrowing and hardware are not of the table */
    fit->set.curves = curves;
    fit->set.n_curves = groups->n;
    if (!lay_out_baselines(fit, table, options)) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "fit: out of memory");
    }
    if (fit->summary.n_loo > 0) {
        fit->summary.loo_mae_pct /= (double)fit->summary.n_loo;
    }
    fit->summary.n_rows = groups->n_rows;
    fit->summary.n_left_out = table->n - groups->n_rows;
    return ECO_OK;
}

eco_status eco_fit_table(const eco_anchor_table *rows, const eco_fit_options *options,
                         eco_fit **out, eco_error *err) {
    *out = NULL;
    eco_fit *fit = ecoi_calloc(1, sizeof *fit);
    ecoi_fit_groups *groups = ecoi_calloc(1, sizeof *groups);
    eco_status status = ECO_OK;
    if (fit == NULL || groups == NULL) {
        status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "fit: out of memory");
        goto done;
    }
    fit->rules = options->rules;
    fit->seed = options->seed;
    status = ecoi_fit_group_rows(rows, options, NULL, &fit->arena, groups, err);
    if (status == ECO_OK && groups->n == 0) {
        status = eco_error_set(err, ECO_E_INVALID, 0,
                               "fit: no row to fit: none of engine '%s'%s has both energies",
                               options->engine != NULL ? options->engine : "transformers",
                               options->published_rows ? " with in_published_fit 1" : "");
    }
    if (status == ECO_OK) {
        status = fit_groups(fit, rows, options, groups, err);
    }
done:
    ecoi_free(groups);
    if (status != ECO_OK) {
        eco_fit_free(fit);
        return status;
    }
    *out = fit;
    return ECO_OK;
}

void eco_fit_free(eco_fit *fit) {
    if (fit != NULL) {
        ecoi_arena_fini(&fit->arena);
        ecoi_free(fit);
    }
}

const eco_curve_set *eco_fit_set(const eco_fit *fit) {
    return &fit->set;
}

const eco_fit_result *eco_fit_result_at(const eco_fit *fit, size_t i) {
    return &fit->results[i];
}

const eco_fit_band *eco_fit_band_at(const eco_fit *fit, size_t i) {
    return &fit->bands[i];
}

eco_fit_summary eco_fit_summary_of(const eco_fit *fit) {
    return fit->summary;
}

bool eco_fit_warned(const eco_fit *fit, size_t i, eco_fit_warning warning) {
    const eco_fit_result *result = &fit->results[i];
    const uint32_t n_sessions = fit->bands[i].n_sessions;
    switch (warning) {
    case ECO_FIT_AT_BOUND:
        return result->a_at_bound || result->s_at_bound || result->nstar_at_bound;
    case ECO_FIT_NSTAR_ARBITRARY:
        return result->nstar_arbitrary;
    case ECO_FIT_NSTAR_FIXED:
        return result->nstar_fixed;
    case ECO_FIT_NO_LOO:
        return fit->set.curves[i].n_anchors < LOO_POINTS_MIN;
    case ECO_FIT_ONE_SESSION:
        return n_sessions < 2;
    case ECO_FIT_FEW_SESSIONS:
        return n_sessions >= 2 && n_sessions < FEW_SESSIONS;
    case ECO_FIT_WARNING_COUNT:
        break;
    }
    return false;
}
