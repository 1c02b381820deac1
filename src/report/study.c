/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a study from reports, and rows written as CSV, JSON lines and Markdown. study_csv.c reads CSV back.
 */
#include "report/study_doc.h"

#include "core/alloc.h"
#include "core/json.h"
#include "core/num.h"
#include "core/str.h"
#include "report/redact.h"

#include <math.h>
#include <string.h>

static const ecoi_study_column_info columns[ECO_STUDY_COLUMN_COUNT] = {
#define ECO_STUDY_COLUMN(id, name, number, decimals) {name, number, decimals},
    ECO_STUDY_COLUMNS(ECO_STUDY_COLUMN)
#undef ECO_STUDY_COLUMN
};

const ecoi_study_column_info *ecoi_study_column_at(eco_study_column column) {
    return &columns[column];
}

eco_study *eco_study_new(void) {
    return ecoi_calloc(1, sizeof(eco_study));
}

void eco_study_free(eco_study *study) {
    if (study != NULL) {
        ecoi_free(study->rows);
        ecoi_arena_fini(&study->arena);
        ecoi_free(study);
    }
}

ecoi_study_row *ecoi_study_row_new(eco_study *study, eco_error *err) {
    if (study->n == ECO_STUDY_ROWS_MAX) {
        (void)eco_error_set(err, ECO_E_RANGE, 0, "study: more than %d rows", ECO_STUDY_ROWS_MAX);
        return NULL;
    }
    if (study->n == study->capacity) {
        const uint32_t capacity = study->capacity == 0 ? 64 : 2 * study->capacity;
        ecoi_study_row **rows = ecoi_realloc(study->rows, capacity * sizeof *rows);
        if (rows == NULL) {
            (void)eco_error_set(err, ECO_E_NO_MEMORY, 0, "study: out of memory");
            return NULL;
        }
        study->rows = rows;
        study->capacity = capacity;
    }
    ecoi_study_row *row = ecoi_arena_alloc(&study->arena, sizeof *row);
    if (row == NULL) {
        (void)eco_error_set(err, ECO_E_NO_MEMORY, 0, "study: out of memory");
        return NULL;
    }
    study->rows[study->n++] = row;
    return row;
}

uint32_t eco_study_size(const eco_study *study) {
    return study->n;
}

bool eco_study_number(const eco_study *study, uint32_t row, eco_study_column column, double *out) {
    *out = 0.0;
    if (row >= study->n || !columns[column].is_number || !study->rows[row]->cells[column].present) {
        return false;
    }
    *out = study->rows[row]->cells[column].number;
    return true;
}

const char *eco_study_text(const eco_study *study, uint32_t row, eco_study_column column) {
    if (row >= study->n || columns[column].is_number || !study->rows[row]->cells[column].present) {
        return "";
    }
    return study->rows[row]->cells[column].text;
}

/* ---- From a report ---- */

typedef struct builder {
    eco_study *study;
    const eco_report *report;
    ecoi_study_row *row;
    bool redact; /* what names a person or a machine */
    bool failed;
} builder;

static void put_number(builder *b, eco_study_column column, bool present, double value) {
    if (present && isfinite(value)) {
        b->row->cells[column] = (ecoi_study_cell){.present = true, .number = value};
    }
}

static void put_cell(builder *b, eco_study_column column, const char *text, size_t length) {
    if (text == NULL || length == 0) {
        return;
    }
    const size_t kept = length < ECO_STUDY_CELL_MAX ? length : ECO_STUDY_CELL_MAX;
    const char *copy = ecoi_arena_copy(&b->study->arena, text, kept);
    b->failed |= copy == NULL;
    b->row->cells[column] = (ecoi_study_cell){.present = copy != NULL, .text = copy};
}

/* Every text of a row comes through here. */
static void put_text(builder *b, eco_study_column column, const char *text) {
    if (!b->redact) {
        put_cell(b, column, text, strlen(text));
        return;
    }
    eco_text kept = {0};
    ecoi_redact_text(&kept, text);
    b->failed |= kept.failed;
    put_cell(b, column, kept.data, kept.length);
    eco_text_free(&kept);
}

static void take_number(builder *b, eco_study_column column, eco_field field, eco_at at) {
    double value = 0.0;
    const bool present = eco_report_number(b->report, field, at, &value);
    put_number(b, column, present, value);
}

static void take_text(builder *b, eco_study_column column, eco_field field) {
    const char *text = NULL;
    if (eco_report_string(b->report, field, ECO_TOP, &text)) {
        put_text(b, column, text);
    }
}

static void take_arm_text(builder *b, eco_study_column column, eco_field field, uint32_t arm) {
    const char *text = NULL;
    if (eco_report_string(b->report, field, ECO_AT1(arm), &text)) {
        put_text(b, column, text);
    }
}

static double number_or(const eco_report *report, eco_field field, double otherwise) {
    double value = 0.0;
    return eco_report_number(report, field, ECO_TOP, &value) ? value : otherwise;
}

static bool is_published(const eco_report *report) {
    const char *protocol = NULL;
    return eco_report_string(report, ECO_FIELD_ME_PROTOCOL, ECO_TOP, &protocol) &&
           strcmp(protocol, "published") == 0;
}

/* Windows of the headline in finished blocks: how many, and the scatter of their energy per token. */
static void trials(builder *b, uint32_t arm) {
    const eco_report *r = b->report;
    const bool published = is_published(r);
    const double prompt = number_or(r, ECO_FIELD_WL_PROMPT, 0.0);
    const double tokens = number_or(r, ECO_FIELD_WL_TOKENS, 0.0);
    const double units = published && tokens > 0.0 ? (prompt + tokens) / tokens : 1.0;
    const uint32_t n_windows = eco_report_array_size(r, ECO_FIELD_WI_KIND, ECO_AT2(arm, 0));
    double sum = 0.0;
    double squares = 0.0; /* Welford's update keeps it free of cancellation */
    uint32_t n = 0;
    for (uint32_t w = 0; w < n_windows; w++) {
        const eco_at at = ECO_AT2(arm, w);
        const char *kind = NULL;
        int64_t block = 0;
        double mj = 0.0;
        if (!eco_report_string(r, ECO_FIELD_WI_KIND, at, &kind) ||
            strcmp(kind, published ? "generation" : "decode") != 0 ||
            !eco_report_integer(r, ECO_FIELD_WI_BLOCK, at, &block) || block < 1 ||
            !eco_report_number(r, ECO_FIELD_WI_MJ, at, &mj)) {
            continue;
        }
        const double value = mj * units;
        const double before = n > 0 ? sum / n : 0.0;
        n++;
        sum += value;
        squares += (value - before) * (value - sum / n);
    }
    put_number(b, ECO_STUDY_TRIALS, n > 0, n);
    put_number(b, ECO_STUDY_STD, n > 1, n > 1 ? sqrt(fmax(squares, 0.0) / (n - 1.0)) : 0.0);
}

static void baseline(builder *b) {
    static const struct {
        eco_study_column column;
        eco_field field;
    } rows[] = {{ECO_STUDY_BASE_MJ, ECO_FIELD_AR_MJ},
                {ECO_STUDY_BASE_MJ_LO, ECO_FIELD_AR_MJ_LO},
                {ECO_STUDY_BASE_MJ_HI, ECO_FIELD_AR_MJ_HI},
                {ECO_STUDY_BASE_TPS, ECO_FIELD_AR_TPS},
                {ECO_STUDY_BASE_W, ECO_FIELD_AR_W},
                {ECO_STUDY_BASE_BYTES, ECO_FIELD_EA_BYTES},
                {ECO_STUDY_BASE_SHARE, ECO_FIELD_EA_BW_SHARE},
                {ECO_STUDY_BASE_FACTOR, ECO_FIELD_EA_ENERGY_FACTOR}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        take_number(b, rows[i].column, rows[i].field, ECO_AT1(0));
    }
    take_arm_text(b, ECO_STUDY_BASE_BOUND, ECO_FIELD_EA_BOUND, 0);
}

static void under_test(builder *b, uint32_t arm) {
    static const struct {
        eco_study_column column;
        eco_field field;
    } rows[] = {{ECO_STUDY_MJ, ECO_FIELD_AR_MJ},
                {ECO_STUDY_MJ_LO, ECO_FIELD_AR_MJ_LO},
                {ECO_STUDY_MJ_HI, ECO_FIELD_AR_MJ_HI},
                {ECO_STUDY_TPS, ECO_FIELD_AR_TPS},
                {ECO_STUDY_W, ECO_FIELD_AR_W},
                {ECO_STUDY_SHARE, ECO_FIELD_EA_BW_SHARE},
                {ECO_STUDY_FACTOR, ECO_FIELD_EA_ENERGY_FACTOR}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        take_number(b, rows[i].column, rows[i].field, ECO_AT1(arm));
    }
    take_arm_text(b, ECO_STUDY_BOUND, ECO_FIELD_EA_BOUND, arm);
}

/* The model without the mark that its weights are synthetic: that has a column of its own. */
static void model(builder *b) {
    static const char suffix[] = " (shape only)";
    const char *text = NULL;
    if (!eco_report_string(b->report, ECO_FIELD_WL_MODEL, ECO_TOP, &text)) {
        return;
    }
    const size_t length = strlen(text);
    const size_t cut = sizeof suffix - 1;
    eco_text name = {0};
    const bool marked = length > cut && strcmp(text + length - cut, suffix) == 0;
    ecoi_text_add(&name, text, marked ? length - cut : length);
    b->failed |= name.failed;
    put_text(b, ECO_STUDY_MODEL, name.data != NULL ? name.data : "");
    eco_text_free(&name);
}

/* Codes of the warnings, so that a row carries what may spoil it. */
static void note(builder *b) {
    eco_text text = {0};
    const uint32_t n = eco_report_array_size(b->report, ECO_FIELD_WA_CODE, ECO_TOP);
    for (uint32_t i = 0; i < n; i++) {
        const char *code = NULL;
        if (eco_report_string(b->report, ECO_FIELD_WA_CODE, ECO_AT1(i), &code)) {
            ecoi_text_addf(&text, "%s%s", text.length > 0 ? " " : "", code);
        }
    }
    b->failed |= text.failed;
    put_text(b, ECO_STUDY_NOTE, text.data != NULL ? text.data : "");
    eco_text_free(&text);
}

/* "20261130T150901Z-92de83", as the program names the folder of a run. */
static bool is_run_folder(const char *name, size_t length) {
    static const char form[] = "00000000T000000Z-xxxxxx";
    for (size_t i = 0; i < length && i < sizeof form - 1; i++) {
        const bool digit = name[i] >= '0' && name[i] <= '9';
        const bool fits = form[i] == '0'   ? digit
                          : form[i] == 'x' ? digit || (name[i] >= 'a' && name[i] <= 'f')
                                           : name[i] == form[i];
        if (!fits) {
            return false;
        }
    }
    return length == sizeof form - 1;
}

/* Redacted, a path is its last part, and the folder before it where that names a run and nobody else. */
static void path_of(builder *b, const char *path) {
    const char *last = strrchr(path, '/');
    if (!b->redact || last == NULL) {
        put_text(b, ECO_STUDY_REPORT, path);
        return;
    }
    const char *folder = last;
    while (folder > path && folder[-1] != '/') {
        folder--;
    }
    eco_text shown = {0};
    if (is_run_folder(folder, (size_t)(last - folder))) {
        ecoi_text_add(&shown, folder, (size_t)(last - folder) + 1);
    }
    ecoi_redact_text(&shown, last + 1);
    b->failed |= shown.failed;
    put_cell(b, ECO_STUDY_REPORT, shown.data, shown.length);
    eco_text_free(&shown);
}

static void texts(builder *b) {
    static const struct {
        eco_study_column column;
        eco_field field;
    } rows[] = {{ECO_STUDY_GPU, ECO_FIELD_SUT_GPU},
                {ECO_STUDY_ARCH, ECO_FIELD_SUT_GPU_ARCH},
                {ECO_STUDY_PRECISION, ECO_FIELD_WL_PRECISION},
                {ECO_STUDY_ENGINE, ECO_FIELD_WL_ENGINE},
                {ECO_STUDY_VERDICT, ECO_FIELD_RE_VERDICT},
                {ECO_STUDY_BASIS, ECO_FIELD_RE_BASIS},
                {ECO_STUDY_PROTOCOL, ECO_FIELD_ME_PROTOCOL},
                {ECO_STUDY_WINDOW, ECO_FIELD_ME_WINDOW},
                {ECO_STUDY_WEIGHTS, ECO_FIELD_WL_WEIGHTS},
                {ECO_STUDY_DRIVER, ECO_FIELD_SW_DRIVER},
                {ECO_STUDY_CARD, ECO_FIELD_EN_UUID_HASH},
                {ECO_STUDY_RUN, ECO_FIELD_RUN_ID},
                {ECO_STUDY_SESSION, ECO_FIELD_RUN_ID},
                {ECO_STUDY_SESSION, ECO_FIELD_SESSION},
                {ECO_STUDY_TOOL, ECO_FIELD_SW_TOOL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        take_text(b, rows[i].column, rows[i].field); /* of two for a column the later one stands */
    }
}

eco_status eco_study_add_report(eco_study *study, const eco_report *report, const char *path,
                                bool redact, eco_error *err) {
    builder b = {
        .study = study, .report = report, .redact = redact, .row = ecoi_study_row_new(study, err)};
    if (b.row == NULL) {
        return study->n == ECO_STUDY_ROWS_MAX ? ECO_E_RANGE : ECO_E_NO_MEMORY;
    }
    const uint32_t n_arms = eco_report_array_size(report, ECO_FIELD_AR_PRECISION, ECO_TOP);
    const double memory = number_or(report, ECO_FIELD_EN_MEMORY, 0.0);
    const double prompt = number_or(report, ECO_FIELD_WL_PROMPT, -1.0);
    const double tokens = number_or(report, ECO_FIELD_WL_TOKENS, -1.0);
    const double first = is_published(report) ? 0.0 : prompt;
    texts(&b);
    model(&b);
    note(&b);
    path_of(&b, path);
    put_number(&b, ECO_STUDY_VRAM, memory > 0.0, round(memory / 1073741824.0));
    take_number(&b, ECO_STUDY_PARAMS, ECO_FIELD_WL_PARAMS_B, ECO_TOP);
    take_number(&b, ECO_STUDY_BATCH, ECO_FIELD_WL_BATCH, ECO_TOP);
    put_number(&b, ECO_STUDY_CONTEXT, prompt >= 0.0 && tokens >= 0.0,
               (first + prompt + tokens) / 2.0);
    put_number(&b, ECO_STUDY_RUNS, true, 1.0);
    take_number(&b, ECO_STUDY_READ_GBS, ECO_FIELD_EX_BW, ECO_TOP);
    take_number(&b, ECO_STUDY_READ_MJ_GB, ECO_FIELD_EX_MJ_GB, ECO_TOP);
    take_number(&b, ECO_STUDY_DELTA, ECO_FIELD_RE_DELTA, ECO_TOP);
    take_number(&b, ECO_STUDY_LO, ECO_FIELD_UN_LO, ECO_TOP);
    take_number(&b, ECO_STUDY_HI, ECO_FIELD_UN_HI, ECO_TOP);
    take_number(&b, ECO_STUDY_U_RATIO, ECO_FIELD_UX_PCT, ECO_TOP);
    take_number(&b, ECO_STUDY_U_ABSOLUTE, ECO_FIELD_UX_ABS_PCT, ECO_TOP);
    baseline(&b);
    const uint32_t own = n_arms > 1 ? 1 : 0;
    if (n_arms > 1) {
        under_test(&b, 1);
    }
    take_number(&b, ECO_STUDY_BYTES, ECO_FIELD_EA_BYTES, ECO_AT1(own));
    trials(&b, own);
    return b.failed ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "study: out of memory") : ECO_OK;
}

/* ---- Writing ---- */

bool ecoi_study_needs_guard(const char *text) {
    static const char *const wide[] = {"\uff1d", "\uff0b", "\uff0d",
                                       "\uff20"}; /* =+-@, full width */
    text += strspn(text, "'");
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        if (ecoi_str_starts_with(text, wide[i])) {
            return true;
        }
    }
    return text[0] != '\0' && strchr("=+-@", text[0]) != NULL;
}

static void add_csv_text(eco_text *out, const char *text) {
    eco_text plain = {0};
    eco_text_add_visible(&plain, text, strlen(text));
    const char *data = plain.data != NULL ? plain.data : "";
    const char *guard = ecoi_study_needs_guard(data) ? "'" : "";
    if (strpbrk(data, ",\"") == NULL) {
        ecoi_text_add_z(out, guard);
        ecoi_text_add_z(out, data);
    } else {
        ecoi_text_add_char(out, '"');
        ecoi_text_add_z(out, guard);
        for (const char *c = data; *c != '\0'; c++) {
            ecoi_text_add(out, "\"\"", *c == '"' ? 1 : 0);
            ecoi_text_add_char(out, *c);
        }
        ecoi_text_add_char(out, '"');
    }
    out->failed |= plain.failed;
    eco_text_free(&plain);
}

void eco_study_write_csv(const eco_study *study, eco_text *out) {
    for (size_t c = 0; c < ECO_STUDY_COLUMN_COUNT; c++) {
        ecoi_text_addf(out, "%s%s", c > 0 ? "," : "", columns[c].name);
    }
    ecoi_text_add_char(out, '\n');
    for (uint32_t i = 0; i < study->n; i++) {
        for (size_t c = 0; c < ECO_STUDY_COLUMN_COUNT; c++) {
            const ecoi_study_cell *cell = &study->rows[i]->cells[c];
            if (c > 0) {
                ecoi_text_add_char(out, ',');
            }
            if (cell->present && columns[c].is_number) {
                ecoi_text_add_number(out, ecoi_num_round(cell->number, columns[c].decimals));
            } else if (cell->present) {
                add_csv_text(out, cell->text);
            }
        }
        ecoi_text_add_char(out, '\n');
    }
}

static bool put_json(ecoi_json_doc *doc, ecoi_json *object, const ecoi_study_row *row, size_t c) {
    const ecoi_study_cell *cell = &row->cells[c];
    ecoi_json *value =
        !cell->present ? ecoi_json_new(doc, ECOI_JSON_NULL)
        : columns[c].is_number
            ? ecoi_json_new_number(doc, ecoi_num_round(cell->number, columns[c].decimals))
            : ecoi_json_new_string(doc, cell->text, strlen(cell->text));
    return value != NULL && ecoi_json_set(doc, object, columns[c].name, NULL, value);
}

/* The writer breaks a document into lines; strings hold none, so a line break and its indent are only layout. */
static void add_one_line(eco_text *out, const eco_text *document) {
    bool indent = false;
    for (size_t i = 0; i < document->length; i++) {
        const char c = document->data[i];
        if (c == '\n') {
            indent = true;
        } else if (c != ' ' || !indent) {
            indent = false;
            ecoi_text_add_char(out, c);
            if (c == ',' && document->data[i + 1] == '\n') {
                ecoi_text_add_char(out, ' ');
            }
        }
    }
    ecoi_text_add_char(out, '\n');
}

eco_status eco_study_write_jsonl(const eco_study *study, eco_text *out, eco_error *err) {
    bool fine = true;
    for (uint32_t i = 0; fine && i < study->n; i++) {
        ecoi_json_doc doc = {0};
        eco_text text = {0};
        ecoi_json *object = ecoi_json_new(&doc, ECOI_JSON_OBJECT);
        fine = object != NULL;
        for (size_t c = 0; fine && c < ECO_STUDY_COLUMN_COUNT; c++) {
            fine = put_json(&doc, object, study->rows[i], c);
        }
        fine = fine && ecoi_json_write(object, &text) && !text.failed;
        if (fine) {
            add_one_line(out, &text);
        }
        eco_text_free(&text);
        ecoi_json_fini(&doc);
    }
    return fine && !out->failed ? ECO_OK
                                : eco_error_set(err, ECO_E_NO_MEMORY, 0, "study: out of memory");
}

/* One cell of a Markdown table: no pipe, no markup, no line break. */
static void add_markdown_text(eco_text *out, const char *text) {
    eco_text plain = {0};
    eco_text_add_visible(&plain, text, strlen(text));
    for (const char *c = plain.data != NULL ? plain.data : ""; *c != '\0'; c++) {
        if (strchr("\\`*_{}[]<>()#+!|~&", *c) != NULL) {
            ecoi_text_add_char(out, '\\');
        }
        ecoi_text_add_char(out, *c);
    }
    out->failed |= plain.failed;
    eco_text_free(&plain);
}

void eco_study_write_markdown(const eco_study *study, eco_text *out) {
    static const struct {
        eco_study_column column;
        const char *title;
    } shown[] = {{ECO_STUDY_GPU, "device"},
                 {ECO_STUDY_ENGINE, "engine"},
                 {ECO_STUDY_MODEL, "model"},
                 {ECO_STUDY_BATCH, "batch"},
                 {ECO_STUDY_PRECISION, "format"},
                 {ECO_STUDY_BASE_MJ, "FP16 mJ/token"},
                 {ECO_STUDY_MJ, "mJ/token"},
                 {ECO_STUDY_DELTA, "change %"},
                 {ECO_STUDY_LO, "95 % from"},
                 {ECO_STUDY_HI, "to"},
                 {ECO_STUDY_VERDICT, "verdict"},
                 {ECO_STUDY_TPS, "tokens/s"},
                 {ECO_STUDY_SHARE, "bandwidth share"},
                 {ECO_STUDY_BOUND, "bound"},
                 {ECO_STUDY_BASIS, "basis"}};
    enum { N_SHOWN = sizeof shown / sizeof shown[0] };
    for (size_t i = 0; i < N_SHOWN; i++) {
        ecoi_text_addf(out, "| %s ", shown[i].title);
    }
    ecoi_text_add_z(out, "|\n");
    for (size_t i = 0; i < N_SHOWN; i++) {
        ecoi_text_add_z(out, columns[shown[i].column].is_number ? "| ---: " : "| --- ");
    }
    ecoi_text_add_z(out, "|\n");
    for (uint32_t row = 0; row < study->n; row++) {
        for (size_t i = 0; i < N_SHOWN; i++) {
            const ecoi_study_column_info *info = &columns[shown[i].column];
            const ecoi_study_cell *cell = &study->rows[row]->cells[shown[i].column];
            ecoi_text_add_z(out, "| ");
            if (cell->present && info->is_number) {
                ecoi_text_add_number(out, ecoi_num_round(cell->number, info->decimals));
            } else if (cell->present) {
                add_markdown_text(out, cell->text);
            }
            ecoi_text_add_char(out, ' ');
        }
        ecoi_text_add_z(out, "|\n");
    }
}
