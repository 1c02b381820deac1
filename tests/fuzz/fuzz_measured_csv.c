/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of energies from outside. What is read can give a change for every row, is fitted without a number that is not
 * one, and what the fit writes is read back.
 */
#include "fuzz_check.h"

#include "ecocompute/fit.h"

#include <math.h>

static void check_rows(const eco_anchor_table *table) {
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        double delta_pct = 0.0;
        FUZZ_DEMAND(eco_anchor_delta_pct(row, &delta_pct));
        FUZZ_DEMAND(isfinite(delta_pct) && delta_pct > -100.0);
        FUZZ_DEMAND(row->params_b > 0.0 && isfinite(row->params_b));
        FUZZ_DEMAND(row->gpu != NULL && row->session != NULL && row->note != NULL);
    }
}

static void check_fit(const eco_anchor_table *table, eco_rules rules) {
    const eco_fit_options options = {.rules = rules, .seed = 1, .n_bootstraps = 3};
    eco_fit *fit = NULL;
    eco_error err = {0};
    if (eco_fit_table(table, &options, &fit, &err) != ECO_OK) {
        FUZZ_DEMAND(err.message[0] != '\0' && fit == NULL);
        return;
    }
    for (size_t i = 0; i < eco_fit_set(fit)->n_curves; i++) {
        const eco_fit_result *r = eco_fit_result_at(fit, i);
        FUZZ_DEMAND(r->a_pct >= r->bounds.a_lo && r->a_pct <= r->bounds.a_hi);
        FUZZ_DEMAND(r->s_pct >= r->bounds.s_lo && r->s_pct <= r->bounds.s_hi);
        FUZZ_DEMAND(r->nstar_b >= r->bounds.nstar_lo && r->nstar_b <= r->bounds.nstar_hi);
        FUZZ_DEMAND(r->resid_std_pct >= 0.0 && isfinite(r->resid_std_pct));
    }
    eco_text json = {0};
    FUZZ_DEMAND(eco_fit_write_json(fit, &json, &err) == ECO_OK && json.data != NULL);
    eco_curve_file *file = NULL;
    /* A long or empty name, or a number rounded to nothing, is refused; nothing else may be. */
    const eco_status status = eco_curves_read(json.data, json.length, "written", &file, &err);
    FUZZ_DEMAND(status == ECO_OK || status == ECO_E_INVALID);
    eco_curve_file_free(file);
    eco_text_free(&json);
    eco_fit_free(fit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = fuzz_copy(data, size);
    eco_anchors *anchors = NULL;
    eco_error err = {0};
    if (eco_anchors_read_csv(text, size, "input", &anchors, &err) == ECO_OK) {
        const eco_anchor_table *table = eco_anchors_rows(anchors);
        check_rows(table);
        if (table->n <= 64) { /* more is slow and shows nothing more */
            check_fit(table, ECO_RULES_CURRENT);
            check_fit(table, ECO_RULES_PUBLISHED_1_1);
        }
    } else {
        FUZZ_DEMAND(err.message[0] != '\0' && anchors == NULL);
    }
    eco_anchors_free(anchors);
    free(text);
    return 0;
}
