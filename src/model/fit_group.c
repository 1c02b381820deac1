/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a table by class and precision. Pure.
 */
#include "model/fit_table.h"

#include <stdlib.h>
#include <string.h>

/* The curves are of batch 1: they have no term for more. */
bool ecoi_fit_trains(const eco_anchor *row) {
    const bool one = !eco_reading_present(row->batch) || row->batch.value == 1.0;
    return one && eco_reading_present(row->energy_fp16_j1k) &&
           eco_reading_present(row->energy_quant_j1k);
}

bool ecoi_fit_wanted(const eco_anchor *row, const eco_fit_options *options) {
    const char *engine = options->engine != NULL ? options->engine : "transformers";
    return strcmp(row->engine, engine) == 0 && (!options->published_rows || row->in_published_fit);
}

static int compare_groups(const void *a, const void *b) {
    const ecoi_fit_group *x = a;
    const ecoi_fit_group *y = b;
    const int by_arch = strcmp(x->arch, y->arch);
    return by_arch != 0 ? by_arch : strcmp(x->precision, y->precision);
}

static ecoi_fit_group *group_for(ecoi_fit_groups *out, const eco_anchor *row) {
    for (size_t i = 0; i < out->n; i++) {
        if (strcmp(out->groups[i].arch, row->arch) == 0 &&
            strcmp(out->groups[i].precision, row->precision) == 0) {
            return &out->groups[i];
        }
    }
    if (out->n == ECO_FIT_CURVES_MAX) {
        return NULL;
    }
    out->groups[out->n] = (ecoi_fit_group){.arch = row->arch, .precision = row->precision};
    return &out->groups[out->n++];
}

eco_status ecoi_fit_group_rows(const eco_anchor_table *table, const eco_fit_options *options,
                               const bool *skip, ecoi_arena *arena, ecoi_fit_groups *out,
                               eco_error *err) {
    memset(out, 0, sizeof *out);
    if (table->n > ECO_FIT_ROWS_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "fit: more than %d rows", ECO_FIT_ROWS_MAX);
    }
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        if (!ecoi_fit_wanted(row, options) || !ecoi_fit_trains(row) || (skip != NULL && skip[i])) {
            continue;
        }
        ecoi_fit_group *group = group_for(out, row);
        if (group == NULL) {
            return eco_error_set(err, ECO_E_RANGE, 0,
                                 "fit: more than %d pairs of arch and precision",
                                 ECO_FIT_CURVES_MAX);
        }
        if (group->n == ECO_FIT_POINTS_MAX) {
            return eco_error_set(err, ECO_E_RANGE, 0, "fit: %.40s %.40s: more than %d rows",
                                 row->arch, row->precision, ECO_FIT_POINTS_MAX);
        }
        if (group->rows == NULL) {
            group->rows = ecoi_arena_alloc(arena, ECO_FIT_POINTS_MAX * sizeof(eco_anchor *));
        }
        if (group->rows == NULL) {
            return eco_error_set(err, ECO_E_NO_MEMORY, 0, "fit: out of memory");
        }
        group->rows[group->n++] = row;
        out->n_rows++;
    }
    qsort(out->groups, out->n, sizeof out->groups[0], compare_groups);
    return ECO_OK;
}

void ecoi_fit_points_of(const ecoi_fit_group *group, eco_fit_point points[ECO_FIT_POINTS_MAX]) {
    for (size_t i = 0; i < group->n; i++) {
        points[i].params_b = group->rows[i]->params_b;
        (void)eco_anchor_delta_pct(group->rows[i], &points[i].delta_pct);
    }
}
