/* SPDX-License-Identifier: Apache-2.0
 *
 * A study inside: cells, and adding rows.
 */
#ifndef ECOI_STUDY_DOC_H
#define ECOI_STUDY_DOC_H

#include "core/arena.h"
#include "ecocompute/study.h"

typedef struct ecoi_study_cell {
    bool present;
    double number;    /* of a numeric column */
    const char *text; /* of the others */
} ecoi_study_cell;

typedef struct ecoi_study_row {
    ecoi_study_cell cells[ECO_STUDY_COLUMN_COUNT];
} ecoi_study_row;

struct eco_study {
    ecoi_arena arena;
    ecoi_study_row **rows;
    uint32_t n, capacity;
};

typedef struct ecoi_study_column_info {
    const char *name;
    bool is_number;
    int decimals;
} ecoi_study_column_info;
const ecoi_study_column_info *ecoi_study_column_at(eco_study_column column);

/* What spreadsheets would begin to compute (OWASP, "CSV Injection"), behind any apostrophes. Tabs and line ends are made
 * visible before. */
bool ecoi_study_needs_guard(const char *text);

/* An empty row at the end; NULL when out of memory or over the cap, told in *err. */
ecoi_study_row *ecoi_study_row_new(eco_study *study, eco_error *err);

#endif
