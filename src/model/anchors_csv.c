/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads rows of energies from a CSV of the user's: the columns of data/anchors.csv or of the published measured.csv. The
 * text is untrusted: core/csv.c caps its lengths; here every number must be finite and in the range of its column, and
 * every row must be able to give a change in percent.
 */
#include "ecocompute/anchors.h"

#include "core/alloc.h"
#include "core/arena.h"
#include "core/csv.h"
#include "core/num.h"
#include "core/str.h"
#include "ecocompute/fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum column_kind {
    KIND_TEXT,
    KIND_READING,
    KIND_NUMBER,
    KIND_COUNT,
    KIND_FLAG,
    KIND_BASIS
} column_kind;

typedef struct column {
    const char *name;
    double lo, hi; /* of a number; hi of a text: its bytes at most */
    size_t offset; /* of the field in eco_anchor */
    column_kind kind;
    bool required; /* the column, and its cell in every row */
    bool lo_open;  /* lo itself is refused */
} column;

#define AT(field) offsetof(eco_anchor, field)

enum {
    NAME_MAX_BYTES = 200,
    SIZE_MAX_B = 100000,
    ENERGY_MAX_J1K = 1000000000,
    DELTA_MAX_PCT = 1000000,
    OTHER_MAX = 1000000000
};

/* Least size, in billions, and least energy: below is no model, and a change of such a number is none. */
#define SIZE_MIN_B 1e-6
#define ENERGY_MIN_J1K 1e-6

/* Two names of one field are two rows; one table may have one of them. */
static const column columns[] = {
    {"gpu", 0, NAME_MAX_BYTES, AT(gpu), KIND_TEXT, true, false},
    {"arch", 0, NAME_MAX_BYTES, AT(arch), KIND_TEXT, true, false},
    {"model", 0, NAME_MAX_BYTES, AT(model), KIND_TEXT, true, false},
    {"precision", 0, NAME_MAX_BYTES, AT(precision), KIND_TEXT, true, false},
    {"params_b", SIZE_MIN_B, SIZE_MAX_B, AT(params_b), KIND_NUMBER, true, false},
    {"energy_fp16_j1k", ENERGY_MIN_J1K, ENERGY_MAX_J1K, AT(energy_fp16_j1k), KIND_READING, false,
     false},
    {"energy_quant_j1k", ENERGY_MIN_J1K, ENERGY_MAX_J1K, AT(energy_quant_j1k), KIND_READING, false,
     false},
    {"energy_fp16_sd_j1k", 0, ENERGY_MAX_J1K, AT(energy_fp16_sd_j1k), KIND_READING, false, false},
    {"energy_quant_sd_j1k", 0, ENERGY_MAX_J1K, AT(energy_quant_sd_j1k), KIND_READING, false, false},
    {"energy_quant_std_j1k", 0, ENERGY_MAX_J1K, AT(energy_quant_sd_j1k), KIND_READING, false,
     false},
    {"delta_pct_only", -100, DELTA_MAX_PCT, AT(delta_pct_only), KIND_READING, false, true},
    {"vram_gb", 0, OTHER_MAX, AT(vram_gb), KIND_READING, false, true},
    {"batch", 1, OTHER_MAX, AT(batch), KIND_READING, false, false},
    {"context", 0, OTHER_MAX, AT(context), KIND_READING, false, false},
    {"throughput_quant_tok_s", 0, OTHER_MAX, AT(throughput_quant_tok_s), KIND_READING, false, true},
    {"tokens_per_s_quant", 0, OTHER_MAX, AT(throughput_quant_tok_s), KIND_READING, false, true},
    {"power_quant_w", 0, OTHER_MAX, AT(power_quant_w), KIND_READING, false, true},
    {"n_trials", 0, OTHER_MAX, AT(n_trials), KIND_COUNT, false, false},
    {"in_published_fit", 0, 1, AT(in_published_fit), KIND_FLAG, false, false},
    {"basis", 0, 0, AT(basis), KIND_BASIS, false, false},
    {"id", 0, NAME_MAX_BYTES, AT(id), KIND_TEXT, false, false},
    {"engine", 0, NAME_MAX_BYTES, AT(engine), KIND_TEXT, false, false},
    {"stack", 0, ECOI_CSV_CELL_MAX, AT(stack), KIND_TEXT, false, false},
    {"session", 0, NAME_MAX_BYTES, AT(session), KIND_TEXT, false, false},
    {"window", 0, NAME_MAX_BYTES, AT(window), KIND_TEXT, false, false},
    {"doi", 0, NAME_MAX_BYTES, AT(doi), KIND_TEXT, false, false},
    {"licence", 0, NAME_MAX_BYTES, AT(licence), KIND_TEXT, false, false},
    {"note", 0, ECOI_CSV_CELL_MAX, AT(note), KIND_TEXT, false, false},
};
enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

struct eco_anchors {
    ecoi_arena arena;
    eco_anchor *rows;
    size_t capacity;
    eco_anchor_table table;
};

typedef struct reader {
    ecoi_csv csv;
    uint16_t which[ECOI_CSV_COLUMNS_MAX];
    size_t n_which;
    bool has_flag; /* a column in_published_fit */
    eco_anchors *out;
} reader;

static eco_status read_header(reader *in) {
    const char *names[N_COLUMNS];
    bool seen[N_COLUMNS] = {false};
    for (size_t i = 0; i < N_COLUMNS; i++) {
        names[i] = columns[i].name;
    }
    ECO_TRY(ecoi_csv_header(&in->csv, names, N_COLUMNS, in->which, &in->n_which));
    for (size_t i = 0; i < in->n_which; i++) {
        const uint16_t c = in->which[i];
        if (c == ECOI_CSV_UNKNOWN) {
            continue;
        }
        for (size_t k = 0; k < N_COLUMNS; k++) {
            if (seen[k] && columns[k].offset == columns[c].offset) {
                return eco_error_set(in->csv.err, ECO_E_PARSE, 0,
                                     "%s:1: %s and %s are two names of one column", in->csv.name,
                                     columns[k].name, columns[c].name);
            }
        }
        seen[c] = true;
        in->has_flag = in->has_flag || columns[c].kind == KIND_FLAG;
    }
    for (size_t i = 0; i < N_COLUMNS; i++) {
        const bool energy =
            columns[i].offset == AT(energy_fp16_j1k) || columns[i].offset == AT(energy_quant_j1k);
        if ((columns[i].required || energy) && !seen[i]) {
            return eco_error_set(in->csv.err, ECO_E_PARSE, 0,
                                 "%s:1: %s: a column of this name is expected in the first line",
                                 in->csv.name, columns[i].name);
        }
    }
    return ECO_OK;
}

static eco_status refuse_cell(const reader *in, const column *c, eco_status code,
                              const char *expected) {
    return eco_error_set(in->csv.err, code, 0, "%s:%zu: %s: '%.40s' is not usable; expected %s",
                         in->csv.name, in->csv.line, c->name, in->csv.cell, expected);
}

static eco_status take_number(const reader *in, const column *c, double *value) {
    if (ecoi_num_parse(in->csv.cell, in->csv.length, value) != ECO_OK) {
        return refuse_cell(in, c, ECO_E_PARSE, "a number");
    }
    if (*value < c->lo || (c->lo_open && *value <= c->lo) || *value > c->hi) {
        char expected[80];
        (void)snprintf(expected, sizeof expected, "a number %s %g and at most %.0f",
                       c->lo_open ? "above" : "from", c->lo, c->hi);
        return refuse_cell(in, c, ECO_E_RANGE, expected);
    }
    return ECO_OK;
}

static eco_status take_text(const reader *in, const column *c, const char **out) {
    if ((double)in->csv.length > c->hi) {
        return refuse_cell(in, c, ECO_E_RANGE, "a shorter text");
    }
    for (size_t i = 0; i < in->csv.length;) {
        const size_t n = ecoi_utf8_scan(in->csv.cell + i, in->csv.length - i);
        if (n == 0) {
            return refuse_cell(in, c, ECO_E_PARSE, "UTF-8");
        }
        i += n;
    }
    *out = ecoi_arena_copy(&in->out->arena, in->csv.cell, in->csv.length);
    return *out != NULL
               ? ECO_OK
               : eco_error_set(in->csv.err, ECO_E_NO_MEMORY, 0, "%s: out of memory", in->csv.name);
}

static eco_status take_cell(reader *in, const column *c, eco_anchor *row) {
    void *field = (char *)row + c->offset;
    double value = 0.0;
    if (in->csv.length == 0) {
        return c->required ? refuse_cell(in, c, ECO_E_PARSE, "it not to be empty") : ECO_OK;
    }
    if (c->kind == KIND_TEXT) {
        return take_text(in, c, (const char **)field);
    }
    if (c->kind == KIND_BASIS) {
        return eco_basis_parse(in->csv.cell, (eco_basis *)field)
                   ? ECO_OK
                   : refuse_cell(in, c, ECO_E_PARSE, "measured or another basis");
    }
    ECO_TRY(take_number(in, c, &value));
    switch (c->kind) {
    case KIND_READING:
        *(eco_reading *)field = eco_reading_of(value);
        return ECO_OK;
    case KIND_NUMBER:
        *(double *)field = value;
        return ECO_OK;
    case KIND_COUNT:
    case KIND_FLAG:
        if (value != floor(value)) {
            return refuse_cell(in, c, ECO_E_PARSE, "a whole number");
        }
        if (c->kind == KIND_COUNT) {
            *(uint32_t *)field = (uint32_t)value;
        } else {
            *(bool *)field = value != 0.0;
        }
        return ECO_OK;
    case KIND_TEXT:
    case KIND_BASIS:
        break;
    }
    return ECO_OK;
}

/* What the row's other cells imply, and whether it can give a change. */
static eco_status finish_row(const reader *in, eco_anchor *row) {
    double delta_pct = 0.0;
    const bool fp16 = eco_reading_present(row->energy_fp16_j1k);
    const bool quant = eco_reading_present(row->energy_quant_j1k);
    if (row->engine[0] == '\0') {
        row->engine = "transformers";
    }
    if (row->session[0] == '\0') {
        row->session = row->gpu;
    }
    if (!in->has_flag) {
        row->in_published_fit = true;
    }
    if (fp16 != quant) {
        return eco_error_set(in->csv.err, ECO_E_PARSE, 0,
                             "%s:%zu: %s: empty, but the other energy of the pair is given",
                             in->csv.name, in->csv.line,
                             fp16 ? "energy_quant_j1k" : "energy_fp16_j1k");
    }
    if (fp16 && eco_reading_present(row->delta_pct_only)) {
        return ecoi_csv_refuse(&in->csv, ECO_E_PARSE,
                               "delta_pct_only: only for a row without energies");
    }
    if (!eco_anchor_delta_pct(row, &delta_pct)) {
        return ecoi_csv_refuse(&in->csv, ECO_E_PARSE,
                               "energy_fp16_j1k: neither energies nor delta_pct_only");
    }
    return ECO_OK;
}

static eco_anchor *row_new(eco_anchors *out) {
    if (out->table.n == out->capacity) {
        const size_t capacity = out->capacity == 0 ? 64 : 2 * out->capacity;
        eco_anchor *rows = ecoi_realloc(out->rows, capacity * sizeof *rows);
        if (rows == NULL) {
            return NULL;
        }
        out->rows = rows;
        out->capacity = capacity;
        out->table.rows = rows;
    }
    eco_anchor *row = &out->rows[out->table.n];
    *row = (eco_anchor){.id = "",
                        .gpu = "",
                        .arch = "",
                        .model = "",
                        .precision = "",
                        .engine = "",
                        .stack = "",
                        .session = "",
                        .window = "",
                        .doi = "",
                        .licence = "",
                        .note = "",
                        .basis = ECO_BASIS_MEASURED};
    return row;
}

static eco_status read_row(reader *in) {
    if (in->out->table.n == ECO_FIT_ROWS_MAX) {
        return eco_error_set(in->csv.err, ECO_E_RANGE, 0, "%s: more than %d rows", in->csv.name,
                             ECO_FIT_ROWS_MAX);
    }
    eco_anchor *row = row_new(in->out);
    if (row == NULL) {
        return eco_error_set(in->csv.err, ECO_E_NO_MEMORY, 0, "%s: out of memory", in->csv.name);
    }
    size_t i = 0;
    do {
        ECO_TRY(ecoi_csv_cell(&in->csv));
        if (i == in->n_which) {
            return ecoi_csv_refuse(&in->csv, ECO_E_PARSE,
                                   "more cells than the first line has columns");
        }
        if (in->which[i] != ECOI_CSV_UNKNOWN) {
            ECO_TRY(take_cell(in, &columns[in->which[i]], row));
        }
        i++;
    } while (!in->csv.last);
    if (i < in->n_which) {
        return ecoi_csv_refuse(&in->csv, ECO_E_PARSE,
                               "fewer cells than the first line has columns");
    }
    ECO_TRY(finish_row(in, row));
    in->out->table.n++;
    return ECO_OK;
}

static eco_status read_all(reader *in) {
    ECO_TRY(read_header(in));
    while (ecoi_csv_more(&in->csv)) {
        ECO_TRY(read_row(in));
    }
    return ECO_OK;
}

eco_status eco_anchors_read_csv(const char *text, size_t length, const char *name,
                                eco_anchors **out, eco_error *err) {
    *out = NULL;
    reader in = {.out = ecoi_calloc(1, sizeof(eco_anchors))};
    if (in.out == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", name);
    }
    ecoi_csv_init(&in.csv, text, length, name, err);
    const eco_status status = read_all(&in);
    if (status != ECO_OK) {
        eco_anchors_free(in.out);
        return status;
    }
    *out = in.out;
    return ECO_OK;
}

const eco_anchor_table *eco_anchors_rows(const eco_anchors *anchors) {
    return &anchors->table;
}

void eco_anchors_free(eco_anchors *anchors) {
    if (anchors != NULL) {
        ecoi_arena_fini(&anchors->arena);
        ecoi_free(anchors->rows);
        ecoi_free(anchors);
    }
}
