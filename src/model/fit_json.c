/* SPDX-License-Identifier: Apache-2.0
 *
 * Curves and a fitted table as a curves.json: the published keys in the published order, and behind them what the published file does
 * not tell: the bounds a curve was held in, the parameters that sit on one, its band and its warnings. Pure.
 */
#include "core/num.h"
#include "model/fit_table.h"
#include "model/json_maker.h"

#include <string.h>

enum { BAND_DECIMALS = 2, BOUND_DECIMALS = 4, SHARE_DECIMALS = 3 };

static void put_names(ecoi_maker *m, ecoi_json *into, const char *key, const eco_curve_name *names,
                      size_t n) {
    ecoi_json *list = ecoi_make_object(m);
    for (size_t i = 0; i < n; i++) {
        ecoi_put_text(m, list, names[i].arch, names[i].value);
    }
    ecoi_put(m, into, key, list);
}

static void put_anchors(ecoi_maker *m, ecoi_json *object, const eco_curve *curve) {
    ecoi_json *list = ecoi_make_array(m);
    for (size_t i = 0; i < curve->n_anchors; i++) {
        const eco_curve_anchor *anchor = &curve->anchors[i];
        ecoi_json *entry = ecoi_make_object(m);
        ecoi_put_number(m, entry, "N", anchor->params_b);
        ecoi_put_number(m, entry, "dE", anchor->delta_pct);
        ecoi_put_text(m, entry, "model", anchor->model);
        ecoi_put_text(m, entry, "gpu", anchor->gpu);
        ecoi_put_count(m, entry, "n", anchor->n_trials);
        ecoi_put_text(m, entry, "basis", eco_basis_name(anchor->basis));
        ecoi_append(m, list, entry);
    }
    ecoi_put(m, object, "anchors", list);
}

static ecoi_json *pair(ecoi_maker *m, double lo, double hi, int decimals) {
    ecoi_json *list = ecoi_make_array(m);
    ecoi_append(m, list, ecoi_json_new_number(&m->doc, ecoi_num_round(lo, decimals)));
    ecoi_append(m, list, ecoi_json_new_number(&m->doc, ecoi_num_round(hi, decimals)));
    return list;
}

static void append_text(ecoi_maker *m, ecoi_json *list, const char *text, bool wanted) {
    if (wanted) {
        ecoi_append(m, list, ecoi_json_new_string(&m->doc, text, strlen(text)));
    }
}

static void put_bounds(ecoi_maker *m, ecoi_json *object, const eco_fit_result *result) {
    ecoi_json *bounds = ecoi_make_object(m);
    ecoi_json *at = ecoi_make_array(m);
    const eco_fit_bounds *b = &result->bounds;
    ecoi_put(m, bounds, "A", pair(m, b->a_lo, b->a_hi, BOUND_DECIMALS));
    ecoi_put(m, bounds, "S", pair(m, b->s_lo, b->s_hi, BOUND_DECIMALS));
    ecoi_put(m, bounds, "Nstar", pair(m, b->nstar_lo, b->nstar_hi, BOUND_DECIMALS));
    ecoi_put(m, object, "bounds", bounds);
    append_text(m, at, "A", result->a_at_bound);
    append_text(m, at, "S", result->s_at_bound);
    append_text(m, at, "Nstar", result->nstar_at_bound);
    ecoi_put(m, object, "at_bound", at);
}

static void put_band(ecoi_maker *m, ecoi_json *object, const eco_fit_band *band) {
    if (band->n_points == 0) {
        ecoi_put(m, object, "band", ecoi_json_new(&m->doc, ECOI_JSON_NULL));
        return;
    }
    ecoi_json *entry = ecoi_make_object(m);
    ecoi_json *points = ecoi_make_array(m);
    ecoi_put_count(m, entry, "n_sessions", band->n_sessions);
    ecoi_put_count(m, entry, "n_bootstraps", band->n_bootstraps);
    for (size_t i = 0; i < band->n_points; i++) {
        ecoi_json *point = ecoi_make_object(m);
        ecoi_put_number(m, point, "N", band->points[i].params_b);
        ecoi_put_number(m, point, "lo", ecoi_num_round(band->points[i].lo_pct, BAND_DECIMALS));
        ecoi_put_number(m, point, "hi", ecoi_num_round(band->points[i].hi_pct, BAND_DECIMALS));
        ecoi_append(m, points, point);
    }
    ecoi_put(m, entry, "points", points);
    ecoi_put_number(m, entry, "crossover_share",
                    ecoi_num_round(band->crossover_share, SHARE_DECIMALS));
    ecoi_put(m, entry, "crossover_b",
             eco_reading_present(band->crossover_lo_b)
                 ? pair(m, band->crossover_lo_b.value, band->crossover_hi_b.value, SHARE_DECIMALS)
                 : ecoi_json_new(&m->doc, ECOI_JSON_NULL));
    ecoi_put(m, object, "band", entry);
}

/* The published keys of a curve. */
static ecoi_json *curve_entry(ecoi_maker *m, const eco_curve *curve) {
    ecoi_json *entry = ecoi_make_object(m);
    ecoi_put_number(m, entry, "A", curve->a_pct);
    ecoi_put_number(m, entry, "S", curve->s_pct);
    ecoi_put_number(m, entry, "Nstar", curve->nstar_b);
    ecoi_put_number(m, entry, "resid_std", curve->resid_std_pct);
    ecoi_put_number(m, entry, "n_min", curve->n_min_b);
    ecoi_put_number(m, entry, "n_max", curve->n_max_b);
    ecoi_put_reading(m, entry, "crossover_b", curve->crossover_b);
    put_anchors(m, entry, curve);
    ecoi_put_reading(m, entry, "loo_mae", curve->loo_mae_pct);
    return entry;
}

/* And ours behind them. */
static void put_curve_fit(ecoi_maker *m, ecoi_json *entry, const eco_fit *fit, size_t i) {
    ecoi_json *codes = ecoi_make_array(m);
    put_bounds(m, entry, &fit->results[i]);
    put_band(m, entry, &fit->bands[i]);
    for (eco_fit_warning w = 0; w < ECO_FIT_WARNING_COUNT; w++) {
        append_text(m, codes, eco_fit_warning_code(w), eco_fit_warned(fit, i, w));
    }
    ecoi_put(m, entry, "warnings", codes);
}

/* `fit` NULL: a set that was not fitted here. */
static void put_curves(ecoi_maker *m, ecoi_json *root, const eco_curve_set *set,
                       const eco_fit *fit) {
    ecoi_json *archs = ecoi_make_object(m);
    for (size_t i = 0; i < set->n_curves; i++) { /* sorted by class, then precision */
        const char *arch = set->curves[i].arch;
        ecoi_json *precisions = m->failed ? NULL : ecoi_json_member(archs, arch, strlen(arch));
        if (precisions == NULL) {
            precisions = ecoi_make_object(m);
            ecoi_put(m, archs, arch, precisions);
        }
        ecoi_json *entry = curve_entry(m, &set->curves[i]);
        if (fit != NULL) {
            put_curve_fit(m, entry, fit, i);
        }
        ecoi_put(m, precisions, set->curves[i].precision, entry);
    }
    ecoi_put(m, root, "curves", archs);
}

static void put_baselines(ecoi_maker *m, ecoi_json *root, const eco_curve_set *set) {
    ecoi_json *archs = ecoi_make_object(m);
    for (size_t i = 0; i < set->n_baselines; i++) {
        const eco_fp16_baseline *baseline = &set->baselines[i];
        ecoi_json *entry = ecoi_make_object(m);
        ecoi_json *list = ecoi_make_array(m);
        ecoi_put_number(m, entry, "n_min", baseline->n_min_b);
        ecoi_put_number(m, entry, "n_max", baseline->n_max_b);
        for (size_t k = 0; k < baseline->n_anchors; k++) {
            ecoi_json *anchor = ecoi_make_object(m);
            ecoi_put_number(m, anchor, "N", baseline->anchors[k].params_b);
            ecoi_put_number(m, anchor, "e_j1k", baseline->anchors[k].energy_j1k);
            ecoi_put_text(m, anchor, "model", baseline->anchors[k].model);
            ecoi_put_text(m, anchor, "gpu", baseline->anchors[k].gpu);
            ecoi_append(m, list, anchor);
        }
        ecoi_put(m, entry, "anchors", list);
        ecoi_put(m, archs, baseline->arch, entry);
    }
    ecoi_put(m, root, "fp16_energy", archs);
}

static void put_hardware(ecoi_maker *m, ecoi_json *root, const eco_curve_set *set) {
    ecoi_json *archs = ecoi_make_object(m);
    for (size_t i = 0; i < set->n_hardware; i++) {
        const eco_class_hardware *card = &set->hardware[i];
        ecoi_json *entry = ecoi_make_object(m);
        ecoi_put_text(m, entry, "gpu", card->gpu);
        ecoi_put_number(m, entry, "mem_bw_gbps", card->mem_bw_gb_per_s);
        ecoi_put_number(m, entry, "fp16_tflops", card->fp16_tflops);
        ecoi_put_text(m, entry, "source", card->source);
        ecoi_put(m, archs, card->arch, entry);
    }
    ecoi_put(m, root, "hardware", archs);
}

static void put_fit(ecoi_maker *m, ecoi_json *root, const eco_fit *fit) {
    char seed[ECOI_NUM_MAX];
    ecoi_json *entry = ecoi_make_object(m);
    (void)ecoi_num_write_u64(fit->seed, seed);
    ecoi_put_text(m, entry, "rules", eco_rules_name(fit->rules));
    ecoi_put_count(m, entry, "rows", fit->summary.n_rows);
    ecoi_put_count(m, entry, "rows_left_out", fit->summary.n_left_out);
    ecoi_put_count(m, entry, "loo_points", fit->summary.n_loo);
    if (fit->summary.n_loo > 0) {
        ecoi_put_number(m, entry, "loo_mae", ecoi_num_round(fit->summary.loo_mae_pct, 2));
    } else {
        ecoi_put(m, entry, "loo_mae", ecoi_json_new(&m->doc, ECOI_JSON_NULL));
    }
    ecoi_put_text(m, entry, "seed", seed); /* a text: a number of JSON holds 53 bits only */
    ecoi_put(m, root, "fit", entry);
}

static eco_status write_set(const eco_curve_set *set, const eco_fit *fit, eco_text *out,
                            eco_error *err) {
    ecoi_maker m = {0};
    ecoi_json *root = ecoi_make_object(&m);
    ecoi_json *caps = ecoi_make_object(&m);
    ecoi_put_text(&m, root, "model", set->model);
    for (size_t i = 0; i < set->n_caps; i++) {
        ecoi_put_number(&m, caps, set->caps[i].precision, set->caps[i].s_cap_pct);
    }
    ecoi_put(&m, root, "s_cap", caps);
    put_names(&m, root, "arch_label", set->labels, set->n_labels);
    put_names(&m, root, "borrow", set->borrows, set->n_borrows);
    put_curves(&m, root, set, fit);
    put_baselines(&m, root, set);
    put_hardware(&m, root, set);
    if (fit != NULL) {
        put_fit(&m, root, fit);
    }
    return ecoi_make_end(&m, root, "curves", out, err);
}

eco_status eco_fit_write_json(const eco_fit *fit, eco_text *out, eco_error *err) {
    return write_set(&fit->set, fit, out, err);
}

eco_status eco_curves_write_json(const eco_curve_set *set, eco_text *out, eco_error *err) {
    return write_set(set, NULL, out, err);
}
