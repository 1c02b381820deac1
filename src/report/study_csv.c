/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a CSV into rows of a study. The text is untrusted: core/csv.c caps every length; here a number must be one, and a
 * cell that is empty is absent.
 */
#include "report/study_doc.h"

#include "core/csv.h"
#include "core/num.h"
#include "core/str.h"

#include <assert.h>

static eco_status read_header(ecoi_csv *in, uint16_t *which, size_t *n) {
    const char *names[ECO_STUDY_COLUMN_COUNT];
    bool seen[ECO_STUDY_COLUMN_COUNT] = {false};
    for (size_t c = 0; c < ECO_STUDY_COLUMN_COUNT; c++) {
        names[c] = ecoi_study_column_at((eco_study_column)c)->name;
    }
    ECO_TRY(ecoi_csv_header(in, names, ECO_STUDY_COLUMN_COUNT, which, n));
    for (size_t i = 0; i < *n; i++) {
        if (which[i] != ECOI_CSV_UNKNOWN) {
            seen[which[i]] = true;
        }
    }
    if (!seen[ECO_STUDY_GPU] || !seen[ECO_STUDY_MODEL] || !seen[ECO_STUDY_PRECISION]) {
        return ecoi_csv_refuse(in, ECO_E_PARSE,
                               "not a study: the columns gpu, model and precision are "
                               "expected in the first line");
    }
    return ECO_OK;
}

static eco_status take_cell(ecoi_csv *in, eco_study *study, ecoi_study_row *row,
                            eco_study_column column) {
    ecoi_study_cell *cell = &row->cells[column];
    if (in->length == 0) {
        return ECO_OK;
    }
    if (ecoi_study_column_at(column)->is_number) {
        if (ecoi_num_parse(in->cell, in->length, &cell->number) != ECO_OK) {
            return eco_error_set(in->err, ECO_E_PARSE, 0, "%s:%zu: %s: '%.40s' is no number",
                                 in->name, in->line, ecoi_study_column_at(column)->name, in->cell);
        }
    } else {
        const bool guarded = in->cell[0] == '\'' && ecoi_study_needs_guard(in->cell + 1);
        cell->text =
            ecoi_arena_copy(&study->arena, in->cell + guarded, in->length - (guarded ? 1 : 0));
        if (cell->text == NULL) {
            return eco_error_set(in->err, ECO_E_NO_MEMORY, 0, "%s: out of memory", in->name);
        }
    }
    cell->present = true;
    return ECO_OK;
}

static eco_status read_row(ecoi_csv *in, eco_study *study, const uint16_t *which, size_t n) {
    ecoi_study_row *row = ecoi_study_row_new(study, in->err);
    if (row == NULL) {
        return study->n == ECO_STUDY_ROWS_MAX ? ECO_E_RANGE : ECO_E_NO_MEMORY;
    }
    size_t i = 0;
    eco_status status = ECO_OK;
    do {
        status = ecoi_csv_cell(in);
        if (status == ECO_OK && i == n) {
            status = ecoi_csv_refuse(in, ECO_E_PARSE, "more cells than the first line has columns");
        }
        if (status == ECO_OK && which[i] != ECOI_CSV_UNKNOWN) {
            status = take_cell(in, study, row, (eco_study_column)which[i]);
        }
        i++;
    } while (status == ECO_OK && !in->last);
    if (status == ECO_OK && i < n) {
        status = ecoi_csv_refuse(in, ECO_E_PARSE, "fewer cells than the first line has columns");
    }
    study->n -= status != ECO_OK; /* what was read of it stays in the arena and is not shown */
    return status;
}

eco_status eco_study_add_csv(eco_study *study, const char *text, size_t length, const char *name,
                             eco_error *err) {
    static_assert((int)ECOI_CSV_COLUMNS_MAX == (int)ECO_STUDY_FIELDS_MAX &&
                      (int)ECOI_CSV_CELL_MAX == (int)ECO_STUDY_CELL_MAX,
                  "a study has the caps of the reader");
    ecoi_csv in;
    uint16_t which[ECO_STUDY_FIELDS_MAX];
    size_t n = 0;
    ecoi_csv_init(&in, text, length, name, err);
    ECO_TRY(read_header(&in, which, &n));
    while (ecoi_csv_more(&in)) {
        ECO_TRY(read_row(&in, study, which, n));
    }
    return ECO_OK;
}
