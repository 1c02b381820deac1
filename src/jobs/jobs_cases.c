/* SPDX-License-Identifier: Apache-2.0
 *
 * The cases of the tidy table (a card, size, precision and engine at batch 1) with their sessions, and how far these agree.
 */
#include "ecocompute/anchors.h"
#include "core/str.h"
#include "jobs/job.h"
#include "model/cell.h"
#include "model/json_maker.h"

#include <math.h>

/* Changes this near to zero have no sign: the published verdict is neutral there. */
static const double NO_SIGN_PCT = 1;

static ecoi_cell_query case_of(const eco_anchor *row) {
    return (ecoi_cell_query){.arch = row->arch,
                             .card = row->gpu,
                             .precision = row->precision,
                             .engine = row->engine,
                             .stack = "",
                             .params_b = row->params_b};
}

/* Did an earlier row begin this case? */
static bool told(const eco_anchor_table *table, const ecoi_cell_query *query, size_t before) {
    for (size_t i = 0; i < before; i++) {
        if (ecoi_cell_has(query, &table->rows[i])) {
            return true;
        }
    }
    return false;
}

/* Adds the ids of the case's rows; smallest and largest of their changes. */
static void put_rows(ecoi_maker *m, ecoi_json *to, const eco_anchor_table *table,
                     const ecoi_cell_query *query, double *lo_pct, double *hi_pct) {
    eco_text ids = {0};
    *lo_pct = (double)INFINITY;
    *hi_pct = -(double)INFINITY;
    for (size_t i = 0; i < table->n; i++) {
        double delta_pct = 0;
        if (ecoi_cell_has(query, &table->rows[i]) &&
            eco_anchor_delta_pct(&table->rows[i], &delta_pct)) {
            ecoi_text_addf(&ids, "%s\n", table->rows[i].id);
            *lo_pct = fmin(*lo_pct, delta_pct);
            *hi_pct = fmax(*hi_pct, delta_pct);
        }
    }
    m->failed = m->failed || ids.failed;
    ecoi_put_lines(m, to, "rows", &ids);
    eco_text_free(&ids);
}

static const char *agreement(const ecoi_cell *cell, double lo_pct, double hi_pct) {
    if (cell->n_sessions < 2) {
        return "single";
    }
    if (lo_pct < -NO_SIGN_PCT && hi_pct > NO_SIGN_PCT) {
        return "sign";
    }
    return cell->spread_pct <= ECOI_SESSIONS_AGREE_PCT ? "agree" : "differ";
}

eco_status ecoi_job_cases(const ecoi_json *request, eco_text *out, eco_error *err) {
    ECO_TRY(ecoi_members_read(request, "cases", NULL, 0, NULL, err));
    const eco_anchor_table *const table = eco_anchors_builtin();
    ecoi_maker m = {0};
    ecoi_json *const list = ecoi_make_array(&m);
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *const row = &table->rows[i];
        const ecoi_cell_query query = case_of(row);
        ecoi_cell cell;
        if (told(table, &query, i) || !ecoi_cell_has(&query, row) ||
            !ecoi_cell_find(table, &query, &cell)) {
            continue;
        }
        ecoi_json *const one = ecoi_make_object(&m);
        double lo_pct = 0;
        double hi_pct = 0;
        ecoi_put_text(&m, one, "gpu", row->gpu);
        ecoi_put_text(&m, one, "arch", row->arch);
        ecoi_put_number(&m, one, "params_b", row->params_b);
        ecoi_put_text(&m, one, "precision", row->precision);
        ecoi_put_text(&m, one, "engine", row->engine);
        ecoi_put_count(&m, one, "sessions", cell.n_sessions);
        ecoi_put_rounded(&m, one, "delta_pct", cell.delta_pct, 1);
        ecoi_put_rounded(&m, one, "spread_pct", cell.spread_pct, 1);
        put_rows(&m, one, table, &query, &lo_pct, &hi_pct);
        ecoi_put_text(&m, one, "agreement", agreement(&cell, lo_pct, hi_pct));
        ecoi_append(&m, list, one);
    }
    return ecoi_make_end(&m, list, "cases", out, err);
}
