/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a CSV (RFC 4180: comma, quotes doubled inside quotes, CRLF or LF) into rows of a study. The text is untrusted:
 * every length has a cap, a number must be one, and a cell that is empty is absent.
 */
#include "report/study_doc.h"

#include "core/num.h"
#include "core/str.h"

#include <string.h>

typedef struct csv {
    const char *text, *end, *name;
    size_t line;
    char cell[ECO_STUDY_CELL_MAX + 1]; /* the last one read */
    size_t length;
    bool last; /* of its line */
    eco_error *err;
} csv;

static eco_status refuse(const csv *in, eco_status code, const char *what) {
    return eco_error_set(in->err, code, 0, "%s:%zu: %s", in->name, in->line, what);
}

static eco_status add_char(csv *in, char c) {
    if (in->length == ECO_STUDY_CELL_MAX) {
        return refuse(in, ECO_E_RANGE, "a cell is too long");
    }
    if (c == '\0') {
        return refuse(in, ECO_E_PARSE, "a NUL character");
    }
    in->cell[in->length++] = c;
    return ECO_OK;
}

static eco_status read_quoted(csv *in) {
    for (in->text++; in->text < in->end; in->text++) {
        if (*in->text == '"' && in->text + 1 < in->end && in->text[1] == '"') {
            in->text++;
        } else if (*in->text == '"') {
            in->text++;
            return ECO_OK;
        }
        ECO_TRY(add_char(in, *in->text));
    }
    return refuse(in, ECO_E_PARSE, "a quote does not end");
}

/* One cell and what ends it. */
static eco_status read_cell(csv *in) {
    in->length = 0;
    in->last = false;
    if (in->text < in->end && *in->text == '"') {
        ECO_TRY(read_quoted(in));
    } else {
        while (in->text < in->end && strchr(",\n\r\"", *in->text) == NULL) {
            ECO_TRY(add_char(in, *in->text++));
        }
    }
    in->cell[in->length] = '\0';
    if (in->text < in->end && *in->text == ',') {
        in->text++;
        return ECO_OK;
    }
    in->last = true;
    if (in->text < in->end && *in->text == '\r') {
        in->text++;
    }
    if (in->text < in->end && *in->text != '\n') {
        return refuse(in, ECO_E_PARSE, "expected a comma or the end of the line after a cell");
    }
    in->text += in->text < in->end;
    return ECO_OK;
}

/* The columns of the first line; ECO_STUDY_COLUMN_COUNT for one that is not known. */
static eco_status read_header(csv *in, uint16_t *which, size_t *n) {
    bool seen[ECO_STUDY_COLUMN_COUNT] = {false};
    *n = 0;
    do {
        ECO_TRY(read_cell(in));
        if (*n == ECO_STUDY_FIELDS_MAX) {
            return refuse(in, ECO_E_RANGE, "too many columns");
        }
        uint16_t c = 0;
        while (c < ECO_STUDY_COLUMN_COUNT &&
               strcmp(in->cell, ecoi_study_column_at((eco_study_column)c)->name) != 0) {
            c++;
        }
        if (c < ECO_STUDY_COLUMN_COUNT && seen[c]) {
            return refuse(in, ECO_E_PARSE, "a column is named twice");
        }
        if (c < ECO_STUDY_COLUMN_COUNT) {
            seen[c] = true;
        }
        which[(*n)++] = c;
    } while (!in->last);
    if (!seen[ECO_STUDY_GPU] || !seen[ECO_STUDY_MODEL] || !seen[ECO_STUDY_PRECISION]) {
        return refuse(in, ECO_E_PARSE,
                      "not a study: the columns gpu, model and precision are "
                      "expected in the first line");
    }
    in->line++;
    return ECO_OK;
}

static eco_status take_cell(csv *in, eco_study *study, ecoi_study_row *row,
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

static eco_status read_row(csv *in, eco_study *study, const uint16_t *which, size_t n) {
    ecoi_study_row *row = ecoi_study_row_new(study, in->err);
    if (row == NULL) {
        return study->n == ECO_STUDY_ROWS_MAX ? ECO_E_RANGE : ECO_E_NO_MEMORY;
    }
    size_t i = 0;
    eco_status status = ECO_OK;
    do {
        status = read_cell(in);
        if (status == ECO_OK && i == n) {
            status = refuse(in, ECO_E_PARSE, "more cells than the first line has columns");
        }
        if (status == ECO_OK && which[i] < ECO_STUDY_COLUMN_COUNT) {
            status = take_cell(in, study, row, (eco_study_column)which[i]);
        }
        i++;
    } while (status == ECO_OK && !in->last);
    if (status == ECO_OK && i < n) {
        status = refuse(in, ECO_E_PARSE, "fewer cells than the first line has columns");
    }
    study->n -= status != ECO_OK; /* what was read of it stays in the arena and is not shown */
    in->line++;
    return status;
}

eco_status eco_study_add_csv(eco_study *study, const char *text, size_t length, const char *name,
                             eco_error *err) {
    csv in = {.text = text, .end = text + length, .name = name, .line = 1, .err = err};
    uint16_t which[ECO_STUDY_FIELDS_MAX];
    size_t n = 0;
    ECO_TRY(read_header(&in, which, &n));
    while (in.text < in.end) {
        if (*in.text == '\n' || *in.text == '\r') { /* an empty line */
            in.line += *in.text == '\n';
            in.text++;
            continue;
        }
        ECO_TRY(read_row(&in, study, which, n));
    }
    return ECO_OK;
}
