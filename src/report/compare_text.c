/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports side by side, for a person and as JSON.
 */
#include "report/compare_doc.h"

#include "core/num.h"
#include "core/str.h"

#include <assert.h>
#include <string.h>

/* What is shown of each report, in order. */
static const struct {
    const char *label, *path;
} facts[] = {
    {"model", "workload.model_name"},
    {"size (1e9)", "workload.params_b"},
    {"precision", "workload.precision"},
    {"batch", "workload.batch_size"},
    {"context", "workload.context_length"},
    {"engine", "workload.engine"},
    {"weights", "workload.weights"},
    {"card", "system_under_test.gpu"},
    {"power limit (W)", "environment.power_limit_w"},
    {"window", "measurement.window"},
    {"thermal mode", "thermal.mode"},
    {"source", "measurement_source"},
    {"session", "session"},
    {"run", "run_id"},
    {"change (%)", "results.vs_fp16_energy_pct"},
    {"  from", "uncertainty.ci95_repeat.lo_pct"},
    {"  to", "uncertainty.ci95_repeat.hi_pct"},
    {"verdict", "results.verdict"},
    {"basis", "results.basis"},
    {"mJ/token", "results.energy_per_token_mj"},
    {"FP16 mJ/token", "results.fp16_energy_per_token_mj"},
    {"tokens/s", "results.throughput_tokens_per_s"},
    {"W", "results.avg_power_watts"},
};
enum { N_FACTS = sizeof facts / sizeof facts[0], LABEL_WIDTH = 17, COLUMN_GAP = 2 };

static size_t shown_width(const char *text) {
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80; /* characters, not bytes */
    }
    return n;
}

static void add_padded(eco_text *out, const char *text, size_t width) {
    ecoi_text_add_z(out, text);
    for (size_t n = shown_width(text); n < width; n++) {
        ecoi_text_add_char(out, ' ');
    }
}

static char letter(size_t i) {
    return (char)('A' + i);
}

static size_t column_width(const eco_report *report) {
    size_t width = 0;
    for (size_t f = 0; f < N_FACTS; f++) {
        char cell[ECOI_COMPARE_CELL];
        const ecoi_json *const value = ecoi_compare_find(report, facts[f].path);
        const size_t n = ecoi_compare_cell(value, cell) ? shown_width(cell) : 0;
        width = n > width ? n : width;
    }
    return width + COLUMN_GAP;
}

static void add_table(const eco_compared *reports, size_t n, eco_text *out) {
    size_t widths[ECO_COMPARE_MAX];
    for (size_t i = 0; i < n; i++) {
        ecoi_text_addf(out, "%c  ", letter(i));
        eco_text_add_visible(out, reports[i].name, strlen(reports[i].name));
        ecoi_text_add_char(out, '\n');
        widths[i] = column_width(reports[i].report);
    }
    ecoi_text_add_char(out, '\n');
    add_padded(out, "", LABEL_WIDTH);
    for (size_t i = 0; i + 1 < n; i++) {
        add_padded(out, (char[]){letter(i), '\0'}, widths[i]);
    }
    ecoi_text_addf(out, "%c\n", letter(n - 1));
    for (size_t f = 0; f < N_FACTS; f++) {
        bool any = false;
        for (size_t i = 0; i < n; i++) {
            any |= ecoi_compare_find(reports[i].report, facts[f].path) != NULL;
        }
        if (!any) {
            continue;
        }
        add_padded(out, facts[f].label, LABEL_WIDTH);
        for (size_t i = 0; i < n; i++) {
            char cell[ECOI_COMPARE_CELL];
            out->failed |=
                !ecoi_compare_cell(ecoi_compare_find(reports[i].report, facts[f].path), cell);
            add_padded(out, cell, i + 1 < n ? widths[i] : 0);
        }
        ecoi_text_add_char(out, '\n');
    }
}

/* The lines of a list, each behind `before`. */
static void add_list(eco_text *out, const char *before, const eco_findings *list) {
    const char *line = list->lines.data;
    while (line != NULL && *line != '\0') {
        const size_t n = strcspn(line, "\n");
        ecoi_text_add_z(out, before);
        ecoi_text_add(out, line, n);
        ecoi_text_add_char(out, '\n');
        line += n + (line[n] == '\n');
    }
}

static void add_comparison(eco_text *out, const eco_comparison *c, char b) {
    char number[ECOI_NUM_MAX];
    ecoi_text_addf(out, "\n%c against A: ", b);
    if (c->result == ECO_COMPARE_NOT_SOUND) {
        ecoi_text_addf(out, "not sound, %u reason%s\n", c->reasons.n, c->reasons.n == 1 ? "" : "s");
    } else if (c->result == ECO_COMPARE_NOTHING) {
        ecoi_text_add_z(out, "nothing to compare: results.vs_fp16_energy_pct is not there\n");
    } else {
        (void)ecoi_num_write(ecoi_num_round(c->difference_pct.value, 3), number);
        ecoi_text_addf(out, "sound; its change is %s%s percentage points from A's",
                       c->difference_pct.value > 0 ? "+" : "", number);
        if (eco_reading_present(c->half_width_pct)) {
            (void)ecoi_num_write(ecoi_num_round(c->half_width_pct.value, 3), number);
            ecoi_text_addf(out, " (±%s from repetition alone: both 95 %% half-widths, root-sum)",
                           number);
        }
        ecoi_text_addf(out, "; mJ/token %s\n",
                       c->energies ? "may be compared too" : "is not to be compared");
    }
    add_list(out, "  ", &c->reasons);
    add_list(out, "  note: ", &c->notes);
}

eco_status eco_compare_text(const eco_compared *reports, size_t n,
                            const eco_compare_options *options, eco_text *out,
                            eco_compare_result *worst, eco_error *err) {
    assert(n >= 2 && n <= ECO_COMPARE_MAX);
    *worst = ECO_COMPARE_SOUND;
    add_table(reports, n, out);
    for (size_t i = 1; i < n; i++) {
        eco_comparison c;
        ECO_TRY(eco_compare_pair(reports[0].report, reports[i].report, options, &c, err));
        add_comparison(out, &c, letter(i));
        *worst = c.result > *worst ? c.result : *worst;
        eco_comparison_free(&c);
    }
    return out->failed ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "compare: out of memory") : ECO_OK;
}

/* ---- JSON ---- */

typedef struct maker {
    ecoi_json_doc doc;
    bool failed;
} maker;

static void put(maker *m, ecoi_json *object, const char *key, ecoi_json *value) {
    m->failed = m->failed || object == NULL || value == NULL ||
                !ecoi_json_set(&m->doc, object, key, NULL, value);
}

static ecoi_json *make_text(maker *m, const char *text) {
    return ecoi_json_new_string(&m->doc, text, strlen(text));
}

static ecoi_json *make_reading(maker *m, eco_reading reading) {
    return eco_reading_present(reading)
               ? ecoi_json_new_number(&m->doc, ecoi_num_round(reading.value, 3))
               : ecoi_json_new(&m->doc, ECOI_JSON_NULL);
}

static void append(maker *m, ecoi_json *array, ecoi_json *value) {
    m->failed = m->failed || array == NULL || value == NULL;
    if (!m->failed) {
        ecoi_json_append(array, value);
    }
}

static ecoi_json *make_lines(maker *m, const eco_findings *list) {
    ecoi_json *const array = ecoi_json_new(&m->doc, ECOI_JSON_ARRAY);
    const char *line = list->lines.data;
    while (line != NULL && *line != '\0') {
        const size_t n = strcspn(line, "\n");
        append(m, array, ecoi_json_new_string(&m->doc, line, n));
        line += n + (line[n] == '\n');
    }
    return array;
}

/* A number stays the number it is in the report, digit for digit, where doubles go. */
static ecoi_json *make_fact(maker *m, const ecoi_json *value) {
    if (value != NULL && value->type == ECOI_JSON_NUMBER) {
        return ecoi_json_new_number(&m->doc, value->number);
    }
    if (value != NULL && value->type == ECOI_JSON_STRING) {
        return ecoi_json_new_string(&m->doc, value->text, value->text_length);
    }
    return ecoi_json_new(&m->doc, ECOI_JSON_NULL);
}

static ecoi_json *make_reports(maker *m, const eco_compared *reports, size_t n) {
    ecoi_json *const list = ecoi_json_new(&m->doc, ECOI_JSON_ARRAY);
    for (size_t i = 0; i < n; i++) {
        ecoi_json *const object = ecoi_json_new(&m->doc, ECOI_JSON_OBJECT);
        append(m, list, object);
        put(m, object, "report", make_text(m, reports[i].name));
        for (size_t f = 0; f < N_FACTS; f++) {
            put(m, object, facts[f].path,
                make_fact(m, ecoi_compare_find(reports[i].report, facts[f].path)));
        }
    }
    return list;
}

static ecoi_json *make_comparison(maker *m, const eco_compared *a, const eco_compared *b,
                                  const eco_comparison *c) {
    ecoi_json *const object = ecoi_json_new(&m->doc, ECOI_JSON_OBJECT);
    put(m, object, "a", make_text(m, a->name));
    put(m, object, "b", make_text(m, b->name));
    put(m, object, "result", make_text(m, eco_compare_result_name(c->result)));
    /* A difference that means nothing is not handed out. */
    const bool sound = c->result == ECO_COMPARE_SOUND;
    const eco_reading none = eco_reading_absent(ECO_ABSENT_NOT_READ);
    put(m, object, "difference_pct", make_reading(m, sound ? c->difference_pct : none));
    put(m, object, "half_width_pct", make_reading(m, sound ? c->half_width_pct : none));
    put(m, object, "energies_comparable", ecoi_json_new_bool(&m->doc, c->energies));
    put(m, object, "reasons", make_lines(m, &c->reasons));
    put(m, object, "notes", make_lines(m, &c->notes));
    return object;
}

eco_status eco_compare_json(const eco_compared *reports, size_t n,
                            const eco_compare_options *options, eco_text *out,
                            eco_compare_result *worst, eco_error *err) {
    assert(n >= 2 && n <= ECO_COMPARE_MAX);
    *worst = ECO_COMPARE_SOUND;
    maker m = {0};
    ecoi_json *const root = ecoi_json_new(&m.doc, ECOI_JSON_OBJECT);
    ecoi_json *const list = ecoi_json_new(&m.doc, ECOI_JSON_ARRAY);
    put(&m, root, "across_stacks", ecoi_json_new_bool(&m.doc, options->across_stacks));
    put(&m, root, "reports", make_reports(&m, reports, n));
    put(&m, root, "comparisons", list);
    eco_status status = ECO_OK;
    for (size_t i = 1; i < n && status == ECO_OK; i++) {
        eco_comparison c;
        status = eco_compare_pair(reports[0].report, reports[i].report, options, &c, err);
        if (status == ECO_OK) {
            append(&m, list, make_comparison(&m, &reports[0], &reports[i], &c));
            *worst = c.result > *worst ? c.result : *worst;
            eco_comparison_free(&c);
        }
    }
    if (status == ECO_OK && (m.failed || !ecoi_json_write(root, out) || out->failed)) {
        status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "compare: out of memory");
    }
    ecoi_json_fini(&m.doc);
    return status;
}
