/* SPDX-License-Identifier: Apache-2.0
 *
 * What the published rules say about rows they have not seen: every session, or every card, is left out in turn, the curves
 * are fitted to the rest and asked for the rows left out. Pure.
 */
#include "core/alloc.h"
#include "model/fit_table.h"

#include <math.h>
#include <string.h>

#define SAME_SIZE_B 1e-6 /* SPEC section 4.2, step 3 */

typedef struct holdout {
    const eco_anchor_table *table;
    const eco_fit_options *options;
    eco_holdout by;
    bool *skip, *done; /* of each row */
    ecoi_fit_groups *groups;
} holdout;

static const char *key_of(const holdout *h, size_t i) {
    return h->by == ECO_HOLDOUT_CARD ? h->table->rows[i].gpu : h->table->rows[i].session;
}

static const ecoi_fit_group *group_of(const holdout *h, const char *arch, const char *precision) {
    for (size_t i = 0; i < h->groups->n; i++) {
        if (strcmp(h->groups->groups[i].arch, arch) == 0 &&
            strcmp(h->groups->groups[i].precision, precision) == 0) {
            return &h->groups->groups[i];
        }
    }
    return NULL;
}

/* The mean of anchors of that size, own ones only, else the curve, not below the cap. */
static eco_reading predict(const holdout *h, const ecoi_fit_group *group, double params_b,
                           bool borrowed) {
    eco_fit_point points[ECO_FIT_POINTS_MAX];
    eco_fit_result fit;
    double sum_pct = 0.0;
    size_t n_same = 0;
    ecoi_fit_points_of(group, points);
    for (size_t i = 0; !borrowed && i < group->n; i++) {
        if (fabs(points[i].params_b - params_b) < SAME_SIZE_B) {
            sum_pct += points[i].delta_pct;
            n_same++;
        }
    }
    if (n_same > 0) {
        return eco_reading_of(sum_pct / (double)n_same);
    }
    const double cap_pct = eco_curve_cap_pct(eco_curves_published(), group->precision);
    if (!eco_fit_curve(h->options->rules, points, group->n, cap_pct, &fit)) {
        return eco_reading_absent(ECO_ABSENT_FAILED);
    }
    return eco_reading_of(
        fmax(fit.a_pct - fit.s_pct * eco_curve_g(params_b / fit.nstar_b), -cap_pct));
}

static void answer(const holdout *h, eco_holdout_row *out) {
    const char *borrows = eco_curve_borrows(eco_curves_published(), out->row->arch);
    const ecoi_fit_group *group = group_of(h, out->row->arch, out->row->precision);
    if (group == NULL && borrows != NULL) {
        group = group_of(h, borrows, out->row->precision);
        out->published_borrowed = group != NULL;
    }
    if (group == NULL) {
        out->published_pct = eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
        return;
    }
    out->published_pct = predict(h, group, out->row->params_b, out->published_borrowed);
    if (eco_reading_present(out->row->batch) && out->published_pct.value < 0.0) {
        out->published_pct.value /= 1.0 + (out->row->batch.value - 1.0) / 8.0; /* step 4 */
    }
}

/* Leaves out what shares the key of row `first` and answers it; false when out of memory or over a cap. */
static bool leave_out(holdout *h, size_t first, eco_holdout_row *out, size_t *n) {
    ecoi_arena arena = {0};
    const char *key = key_of(h, first);
    for (size_t i = 0; i < h->table->n; i++) {
        h->skip[i] = strcmp(key_of(h, i), key) == 0;
    }
    const bool fine =
        ecoi_fit_group_rows(h->table, h->options, h->skip, &arena, h->groups, NULL) == ECO_OK;
    for (size_t i = first; fine && i < h->table->n; i++) {
        const eco_anchor *row = &h->table->rows[i];
        double delta_pct = 0.0;
        if (h->skip[i] && ecoi_fit_wanted(row, h->options) && !h->done[i] &&
            eco_anchor_delta_pct(row, &delta_pct)) {
            h->done[i] = true;
            out[*n] = (eco_holdout_row){.row = row, .delta_pct = delta_pct};
            answer(h, &out[(*n)++]);
        }
    }
    ecoi_arena_fini(&arena);
    return fine;
}

size_t eco_fit_holdout(const eco_anchor_table *rows, const eco_fit_options *options, eco_holdout by,
                       eco_holdout_row *out) {
    holdout h = {.table = rows, .options = options, .by = by};
    size_t n = 0;
    h.skip = ecoi_calloc(rows->n + 1, sizeof *h.skip);
    h.done = ecoi_calloc(rows->n + 1, sizeof *h.done);
    h.groups = ecoi_calloc(1, sizeof *h.groups);
    bool fine = h.skip != NULL && h.done != NULL && h.groups != NULL;
    for (size_t i = 0; fine && i < rows->n; i++) {
        double delta_pct = 0.0;
        if (!h.done[i] && ecoi_fit_wanted(&rows->rows[i], options) &&
            eco_anchor_delta_pct(&rows->rows[i], &delta_pct)) {
            fine = leave_out(&h, i, out, &n);
        }
    }
    ecoi_free(h.skip);
    ecoi_free(h.done);
    ecoi_free(h.groups);
    return fine ? n : 0;
}
