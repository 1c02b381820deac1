/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells of a CSV from outside (RFC 4180: comma, quotes doubled inside quotes, CRLF or LF; a byte order mark at the start is
 * passed over). Every length has a cap. What the cells mean is the caller's: report/study_csv.c, model/anchors_csv.c.
 */
#ifndef ECOI_CSV_H
#define ECOI_CSV_H

#include "ecocompute/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ECOI_CSV_CELL_MAX = 4096,   /* bytes of a cell */
    ECOI_CSV_COLUMNS_MAX = 256, /* unknown ones counted */
    ECOI_CSV_UNKNOWN = UINT16_MAX
};

typedef struct ecoi_csv {
    const char *text, *end, *name;
    size_t line; /* from 1, of the cell last read */
    char cell[ECOI_CSV_CELL_MAX + 1];
    size_t length;
    bool last; /* the cell ended its line */
    eco_error *err;
} ecoi_csv;

void ecoi_csv_init(ecoi_csv *in, const char *text, size_t length, const char *name, eco_error *err);
/* One cell and what ends it. ECO_E_PARSE or ECO_E_RANGE, "name:line: …". */
ECO_NODISCARD eco_status ecoi_csv_cell(ecoi_csv *in);
/* Passes over empty lines; false at the end of the text. */
bool ecoi_csv_more(ecoi_csv *in);
/* The first line: which[i] is the index of column i in `names`, or ECOI_CSV_UNKNOWN. A name twice is refused. */
ECO_NODISCARD eco_status ecoi_csv_header(ecoi_csv *in, const char *const *names, size_t n_names,
                                         uint16_t which[ECOI_CSV_COLUMNS_MAX], size_t *n);
/* "name:line: what" as the error. */
eco_status ecoi_csv_refuse(const ecoi_csv *in, eco_status code, const char *what);

#endif
