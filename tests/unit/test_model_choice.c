/* SPDX-License-Identifier: Apache-2.0
 *
 * Who answers where under the current rules, held to the data: each size of the published anchors is held out in turn, curve
 * and energy model are refitted without it, and their mean absolute errors are compared inside and outside the sizes that
 * are left. The estimator lets the model answer outside, where it has to be the better one, and the curve inside, where the
 * model may not be better by more than a fifth.
 */
#include "ecocompute/energy_model.h"
#include "ecocompute/fit.h"

#include "test_helpers.h"

#include <stdlib.h>
#include <string.h>

typedef struct score {
    double curve, model; /* sums of absolute errors, points of dE% */
    size_t n;
} score;

static eco_anchor_table without_size(const eco_anchor_table *table, double params_b) {
    eco_anchor *rows = calloc(table->n, sizeof *rows);
    assert_non_null(rows);
    size_t n = 0;
    for (size_t i = 0; i < table->n; i++) {
        if (!(fabs(table->rows[i].params_b - params_b) < 1e-6)) {
            rows[n++] = table->rows[i];
        }
    }
    return (eco_anchor_table){rows, n};
}

static void score_row(const eco_anchor *row, const eco_curve_set *set,
                      const eco_energy_params *params, score *inside, score *outside) {
    const eco_curve *curve = eco_curve_find(set, row->arch, row->precision);
    double delta_pct = 0;
    if (!row->in_published_fit || curve == NULL || !eco_anchor_delta_pct(row, &delta_pct)) {
        return;
    }
    const eco_energy_query q = {
        .params_b = row->params_b, .arch = row->arch, .precision = row->precision, .batch = 1};
    eco_energy_estimate e;
    eco_error err = {0};
    ASSERT_OK(eco_energy_model_predict(params, &q, &e, &err), &err);
    const double by_curve =
        fmax(eco_curve_value(curve, row->params_b), -eco_curve_cap_pct(set, row->precision));
    const bool in = row->params_b >= curve->n_min_b && row->params_b <= curve->n_max_b;
    score *s = in ? inside : outside;
    s->curve += fabs(by_curve - delta_pct);
    s->model += fabs(e.delta_pct - delta_pct);
    s->n++;
}

static void test_held_out_by_size(void **state) {
    (void)state;
    static const double sizes[] = {0.5, 1.1, 1.5, 3, 7, 9, 14};
    const eco_anchor_table *table = eco_anchors_builtin();
    score inside = {0};
    score outside = {0};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const eco_anchor_table kept = without_size(table, sizes[s]);
        eco_energy_params *params = NULL;
        eco_fit *fit = NULL;
        eco_error err = {0};
        const eco_fit_options options = {.rules = ECO_RULES_PUBLISHED_1_1, .published_rows = true};
        ASSERT_OK(eco_energy_model_fit(&kept, &params, &err), &err);
        ASSERT_OK(eco_fit_table(&kept, &options, &fit, &err), &err);
        for (size_t i = 0; i < table->n; i++) {
            if (fabs(table->rows[i].params_b - sizes[s]) < 1e-6) {
                score_row(&table->rows[i], eco_fit_set(fit), params, &inside, &outside);
            }
        }
        eco_energy_params_free(params);
        eco_fit_free(fit);
        free((void *)(uintptr_t)kept.rows);
    }
    print_message("inside the sizes: n %zu, curve %.1f, energy model %.1f points\n", inside.n,
                  inside.curve / (double)inside.n, inside.model / (double)inside.n);
    print_message("outside: n %zu, curve %.1f, energy model %.1f points\n", outside.n,
                  outside.curve / (double)outside.n, outside.model / (double)outside.n);
    assert_int_equal(inside.n + outside.n, 29);
    assert_true(inside.curve < 1.25 * inside.model);
    assert_true(outside.model < outside.curve);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_held_out_by_size)};
    return cmocka_run_group_tests_name("model_choice", tests, NULL, NULL);
}
