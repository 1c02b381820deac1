/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits a CSV from outside into cells. Pure.
 */
#include "core/csv.h"

#include <string.h>

void ecoi_csv_init(ecoi_csv *in, const char *text, size_t length, const char *name,
                   eco_error *err) {
    static const char mark[] = {'\xef', '\xbb', '\xbf'};
    const bool marked = length >= sizeof mark && memcmp(text, mark, sizeof mark) == 0;
    in->text = text + (marked ? sizeof mark : 0);
    in->end = text + length;
    in->name = name;
    in->line = 1;
    in->cell[0] = '\0';
    in->length = 0;
    in->last = false;
    in->err = err;
}

eco_status ecoi_csv_refuse(const ecoi_csv *in, eco_status code, const char *what) {
    return eco_error_set(in->err, code, 0, "%s:%zu: %s", in->name, in->line, what);
}

static eco_status add_char(ecoi_csv *in, char c) {
    if (in->length == ECOI_CSV_CELL_MAX) {
        return ecoi_csv_refuse(in, ECO_E_RANGE, "a cell is too long");
    }
    if (c == '\0') {
        return ecoi_csv_refuse(in, ECO_E_PARSE, "a NUL character");
    }
    in->cell[in->length++] = c;
    return ECO_OK;
}

static eco_status read_quoted(ecoi_csv *in) {
    const size_t line = in->line;
    for (in->text++; in->text < in->end; in->text++) {
        if (*in->text == '"' && in->text + 1 < in->end && in->text[1] == '"') {
            in->text++;
        } else if (*in->text == '"') {
            in->text++;
            return ECO_OK;
        }
        ECO_TRY(add_char(in, *in->text));
        in->line += *in->text == '\n';
    }
    in->line = line; /* where it began */
    return ecoi_csv_refuse(in, ECO_E_PARSE, "a quote does not end");
}

/* The line of a cell that ends one is counted when the next is begun, so that a complaint about it names it. */
eco_status ecoi_csv_cell(ecoi_csv *in) {
    static const char ends[] = {',', '\n', '\r', '"'};
    in->line += in->last;
    in->length = 0;
    in->last = false;
    if (in->text < in->end && *in->text == '"') {
        ECO_TRY(read_quoted(in));
    } else {
        while (in->text < in->end && memchr(ends, *in->text, sizeof ends) == NULL) {
            ECO_TRY(add_char(in, *in->text++));
        }
    }
    in->cell[in->length] = '\0';
    if (in->text < in->end && *in->text == ',') {
        in->text++;
        return ECO_OK;
    }
    if (in->text < in->end && *in->text == '\r') {
        in->text++;
    }
    if (in->text < in->end && *in->text != '\n') {
        return ecoi_csv_refuse(in, ECO_E_PARSE,
                               "expected a comma or the end of the line after a cell");
    }
    in->last = true;
    in->text += in->text < in->end;
    return ECO_OK;
}

bool ecoi_csv_more(ecoi_csv *in) {
    while (in->text < in->end && (*in->text == '\n' || *in->text == '\r')) {
        in->line += *in->text == '\n';
        in->text++;
    }
    return in->text < in->end;
}

eco_status ecoi_csv_header(ecoi_csv *in, const char *const *names, size_t n_names,
                           uint16_t which[ECOI_CSV_COLUMNS_MAX], size_t *n) {
    *n = 0;
    do {
        ECO_TRY(ecoi_csv_cell(in));
        if (*n == ECOI_CSV_COLUMNS_MAX) {
            return ecoi_csv_refuse(in, ECO_E_RANGE, "too many columns");
        }
        size_t c = 0;
        while (c < n_names && strcmp(in->cell, names[c]) != 0) {
            c++;
        }
        const uint16_t index = c < n_names ? (uint16_t)c : ECOI_CSV_UNKNOWN;
        for (size_t i = 0; index != ECOI_CSV_UNKNOWN && i < *n; i++) {
            if (which[i] == index) {
                return ecoi_csv_refuse(in, ECO_E_PARSE, "a column is named twice");
            }
        }
        which[(*n)++] = index;
    } while (!in->last);
    return ECO_OK;
}
