/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan file into experiments. Keys are a fixed list; a value stands where it is expected or the file is refused with
 * line and column. Defaults of the file come first, an entry's own values after them; a list of batches makes one
 * experiment each.
 */
#include "ecocompute/plan_file.h"

#include "core/alloc.h"
#include "core/num.h"
#include "core/sha256.h"
#include "core/str.h"
#include "sys/file.h"
#include "sys/yaml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BATCHES_MAX = 16, KEYS_MAX = 32 };

typedef struct number_row {
    const char *key;
    double least, most;
    bool whole;
} number_row;

static const number_row number_rows[ECO_PLAN_NUMBER_COUNT] = {
#define ECO_PLAN_NUMBER(id, key, least, most, whole) {key, least, most, whole},
    ECO_PLAN_NUMBERS(ECO_PLAN_NUMBER)
#undef ECO_PLAN_NUMBER
};

/* Keys whose value is one of two words; the second sets the flag. */
typedef struct word_row {
    const char *key, *first, *second;
    size_t offset; /* of the flag in eco_experiment */
} word_row;

static const word_row word_rows[] = {
    {"quick", "no", "yes", offsetof(eco_experiment, quick)},
    {"protocol", "paired", "published", offsetof(eco_experiment, published)},
    {"thermal_mode", "cold", "steady", offsetof(eco_experiment, steady)},
    {"order", "shuffled", "fixed", offsetof(eco_experiment, fixed_order)}};
enum { N_WORDS = sizeof word_rows / sizeof word_rows[0] };

/* An experiment under construction, with the list of batches it still has to be divided into. */
typedef struct draft {
    eco_experiment base;
    uint32_t batches[BATCHES_MAX], n_batches;
} draft;

typedef struct parser {
    const char *name;
    eco_plan_file *out;
    eco_error *err;
} parser;

static eco_status refuse(const parser *p, eco_status code, const ecoi_yaml *at, const char *what) {
    return eco_error_set(p->err, code, 0, "%s:%u:%u: %s", p->name, at->line, at->column, what);
}

/* "… 'TEXT'WHAT", the text cut to what a line bears. */
static eco_status refuse_value(const parser *p, const ecoi_yaml *at, const char *key,
                               const char *what) {
    if (at->type != ECOI_YAML_SCALAR) {
        return eco_error_set(p->err, ECO_E_PARSE, 0, "%s:%u:%u: %s: %s, not %s", p->name, at->line,
                             at->column, key, what, ecoi_yaml_type_name(at->type));
    }
    return eco_error_set(p->err, ECO_E_PARSE, 0, "%s:%u:%u: %s: '%.40s' is not usable; %s", p->name,
                         at->line, at->column, key, at->text, what);
}

static eco_status refuse_name(const parser *p, const ecoi_yaml *at, const char *kind,
                              const char *const *names, size_t n) {
    const char *nearest = eco_nearest_name(at->text, names, n);
    return eco_error_set(p->err, ECO_E_PARSE, 0, "%s:%u:%u: unknown %s '%.40s'%s%s%s", p->name,
                         at->line, at->column, kind, at->text,
                         nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                         nearest != NULL ? "'?" : "");
}

static eco_status parse_number(const parser *p, const ecoi_yaml *at, const char *key,
                               const number_row *row, double *out) {
    double value = 0.0;
    const bool is_number = at->type == ECOI_YAML_SCALAR && !at->quoted &&
                           ecoi_num_parse(at->text, strlen(at->text), &value) == ECO_OK;
    if (!is_number || !(value >= row->least && value <= row->most) ||
        (row->whole && value > floor(value))) {
        char what[96];
        snprintf(what, sizeof what, "expected a %snumber from %.16g to %.16g",
                 row->whole ? "whole " : "", row->least, row->most);
        return refuse_value(p, at, key, what);
    }
    *out = value;
    return ECO_OK;
}

static eco_status parse_format(const parser *p, const ecoi_yaml *at, const char *key,
                               eco_format *out) {
    if (at->type != ECOI_YAML_SCALAR) {
        return refuse_value(p, at, key, "expected the name of a format");
    }
    if (eco_format_find(at->text, out)) {
        return ECO_OK;
    }
    const char *names[ECO_FORMAT_COUNT];
    for (eco_format i = 0; i < ECO_FORMAT_COUNT; i++) {
        names[i] = eco_format_at(i)->name;
    }
    return refuse_name(p, at, "precision", names, ECO_FORMAT_COUNT);
}

static eco_status parse_precisions(const parser *p, const ecoi_yaml *at, draft *d) {
    d->base.n_precisions = 0;
    if (at->type == ECOI_YAML_MAPPING || (at->type == ECOI_YAML_SEQUENCE && at->first == NULL)) {
        return refuse_value(p, at, "precisions", "expected a list of formats");
    }
    const ecoi_yaml *one = at->type == ECOI_YAML_SEQUENCE ? at->first : at;
    for (; one != NULL; one = at->type == ECOI_YAML_SEQUENCE ? one->next : NULL) {
        eco_format format = ECO_FORMAT_FP16;
        ECO_TRY(parse_format(p, one, "precisions", &format));
        for (uint32_t i = 0; i < d->base.n_precisions; i++) {
            if (d->base.precisions[i] == format) {
                return refuse_value(p, one, "precisions", "it is named twice");
            }
        }
        if (d->base.n_precisions == ECO_ARMS_MAX - 1) {
            return refuse(p, ECO_E_RANGE, one, "precisions: too many arms for one experiment");
        }
        d->base.precisions[d->base.n_precisions++] = format;
    }
    return ECO_OK;
}

static eco_status parse_batches(const parser *p, const ecoi_yaml *at, draft *d) {
    static const number_row row = {"batch", 1, ECO_BATCH_MAX, true};
    d->n_batches = 0;
    if (at->type == ECOI_YAML_MAPPING || (at->type == ECOI_YAML_SEQUENCE && at->n == 0)) {
        return refuse(p, ECO_E_PARSE, at, "batch: expected a number or a list of numbers");
    }
    const ecoi_yaml *one = at->type == ECOI_YAML_SEQUENCE ? at->first : at;
    for (; one != NULL; one = at->type == ECOI_YAML_SEQUENCE ? one->next : NULL) {
        double value = 0.0;
        ECO_TRY(parse_number(p, one, "batch", &row, &value));
        for (uint32_t i = 0; i < d->n_batches; i++) {
            if (d->batches[i] == (uint32_t)value) { /* the same experiment under two names */
                return refuse_value(p, one, "batch", "it is named twice");
            }
        }
        if (d->n_batches == BATCHES_MAX) {
            return refuse(p, ECO_E_RANGE, one, "batch: the list is too long");
        }
        d->batches[d->n_batches++] = (uint32_t)value;
    }
    return ECO_OK;
}

static eco_status parse_model(const parser *p, const ecoi_yaml *at, draft *d) {
    if (at->type != ECOI_YAML_SCALAR) {
        return refuse_value(p, at, "model", "expected the name of a model");
    }
    d->base.shape = eco_model_find(at->text);
    if (d->base.shape != NULL) {
        return ECO_OK;
    }
    const char *names[64];
    size_t n = 0;
    for (; n < eco_model_count() && n < 64; n++) {
        names[n] = eco_model_at(n)->name;
    }
    return refuse_name(p, at, "model", names, n);
}

static eco_status parse_word(const parser *p, const ecoi_yaml *at, const word_row *row, draft *d) {
    const char *text = at->type == ECOI_YAML_SCALAR ? at->text : "";
    const bool second =
        strcmp(text, row->second) == 0 || (row->second[0] == 'y' && strcmp(text, "true") == 0);
    const bool first =
        strcmp(text, row->first) == 0 || (row->second[0] == 'y' && strcmp(text, "false") == 0);
    if (!first && !second) {
        char what[64];
        snprintf(what, sizeof what, "expected %s or %s", row->first, row->second);
        return refuse_value(p, at, row->key, what);
    }
    memcpy((char *)&d->base + row->offset, &second, sizeof second);
    return ECO_OK;
}

/* One key of `defaults` or of an entry. */
static eco_status parse_key(const parser *p, const ecoi_yaml *at, draft *d) {
    static const char *const others[] = {"model", "baseline", "precisions", "batch"};
    if (strcmp(at->key, "model") == 0) {
        return parse_model(p, at, d);
    }
    if (strcmp(at->key, "baseline") == 0) {
        return parse_format(p, at, "baseline", &d->base.baseline);
    }
    if (strcmp(at->key, "precisions") == 0) {
        return parse_precisions(p, at, d);
    }
    if (strcmp(at->key, "batch") == 0) {
        return parse_batches(p, at, d);
    }
    const char *names[KEYS_MAX];
    size_t n = 0;
    for (; n < sizeof others / sizeof others[0]; n++) {
        names[n] = others[n];
    }
    for (size_t i = 0; i < N_WORDS; i++) {
        names[n++] = word_rows[i].key;
        if (strcmp(at->key, word_rows[i].key) == 0) {
            return parse_word(p, at, &word_rows[i], d);
        }
    }
    for (size_t i = 0; i < ECO_PLAN_NUMBER_COUNT; i++) {
        names[n++] = number_rows[i].key;
        if (strcmp(at->key, number_rows[i].key) == 0) {
            return parse_number(p, at, at->key, &number_rows[i], &d->base.numbers[i]);
        }
    }
    const ecoi_yaml key = {.text = at->key, .line = at->key_line, .column = at->key_column};
    return refuse_name(p, &key, "key", names, n);
}

static eco_status parse_keys(const parser *p, const ecoi_yaml *mapping, draft *d) {
    for (const ecoi_yaml *at = mapping->first; at != NULL; at = at->next) {
        ECO_TRY(parse_key(p, at, d));
    }
    return ECO_OK;
}

/* "03-qwen2-7b-b16": lower case, and nothing that is more than a name. */
static void name_experiment(eco_experiment *e, uint32_t number) {
    char model[40];
    size_t n = 0;
    for (const char *c = e->shape->name; *c != '\0' && n + 1 < sizeof model; c++) {
        const bool plain = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '.';
        const bool upper = *c >= 'A' && *c <= 'Z';
        model[n++] = (char)(plain ? *c : upper ? *c - 'A' + 'a' : '-');
    }
    model[n] = '\0';
    snprintf(e->name, sizeof e->name, "%02u-%s-b%u", number, model, e->batch);
}

static eco_status check_positions(const parser *p, const ecoi_yaml *at, const eco_experiment *e) {
    for (uint32_t i = 0; i < e->n_precisions; i++) {
        if (e->precisions[i] == e->baseline && e->n_precisions > 1) {
            return refuse(p, ECO_E_PARSE, at, "precisions: the baseline is named among them");
        }
    }
    const double prompt = e->numbers[ECO_PLAN_PROMPT];
    const double tokens = e->numbers[ECO_PLAN_TOKENS];
    if (prompt > 0 && tokens > 0 && prompt + tokens > e->shape->n_positions_max) {
        return eco_error_set(p->err, ECO_E_RANGE, 0,
                             "%s:%u:%u: prompt_tokens + tokens: %.0f positions; %s has at most %u",
                             p->name, at->line, at->column, prompt + tokens, e->shape->name,
                             e->shape->n_positions_max);
    }
    return ECO_OK;
}

static eco_status add_entry(const parser *p, const ecoi_yaml *at, const draft *defaults) {
    draft d = *defaults;
    if (at->type != ECOI_YAML_MAPPING) {
        return refuse(p, ECO_E_PARSE, at, "an experiment is a mapping with at least a model");
    }
    ECO_TRY(parse_keys(p, at, &d));
    if (d.base.shape == NULL) {
        return refuse(p, ECO_E_PARSE, at, "the experiment has no model");
    }
    if (d.base.n_precisions == 1 && d.base.precisions[0] == d.base.baseline) {
        d.base.n_precisions = 0; /* the baseline alone, as with --precision FP16 */
    }
    d.base.line = at->line;
    ECO_TRY(check_positions(p, at, &d.base));
    for (uint32_t i = 0; i < d.n_batches; i++) {
        if (p->out->n == ECO_EXPERIMENTS_MAX) {
            return refuse(p, ECO_E_RANGE, at, "the plan has too many experiments");
        }
        eco_experiment *e = &p->out->experiments[p->out->n++];
        *e = d.base;
        e->batch = d.batches[i];
        name_experiment(e, p->out->n);
    }
    return ECO_OK;
}

static eco_status parse_top(const parser *p, const ecoi_yaml *root) {
    static const char *const names[] = {"version", "name", "defaults", "experiments"};
    static const number_row version = {"version", 1, 1, true};
    if (root->type != ECOI_YAML_MAPPING) {
        return refuse(p, ECO_E_PARSE, root,
                      "a plan is a mapping with the keys version and experiments");
    }
    for (const ecoi_yaml *at = root->first; at != NULL; at = at->next) {
        bool known = false;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            known |= strcmp(at->key, names[i]) == 0;
        }
        if (!known) {
            const ecoi_yaml key = {.text = at->key, .line = at->key_line, .column = at->key_column};
            return refuse_name(p, &key, "key", names, sizeof names / sizeof names[0]);
        }
    }
    const ecoi_yaml *at = ecoi_yaml_member(root, "version");
    double ignored = 0.0;
    if (at == NULL) {
        return refuse(p, ECO_E_PARSE, root, "the key version is missing; this program reads 1");
    }
    ECO_TRY(parse_number(p, at, "version", &version, &ignored));
    at = ecoi_yaml_member(root, "name");
    if (at != NULL && (at->type != ECOI_YAML_SCALAR || strlen(at->text) >= ECO_PLAN_NAME_MAX)) {
        return refuse(p, ECO_E_PARSE, at, "name: expected a text of at most 63 bytes");
    }
    (void)ecoi_str_copy(p->out->name, sizeof p->out->name, at != NULL ? at->text : "");
    return ECO_OK;
}

static eco_status parse_plan(const parser *p, const ecoi_yaml *root) {
    ECO_TRY(parse_top(p, root));
    draft defaults = {
        .base = {.baseline = ECO_FORMAT_FP16, .precisions = {ECO_FORMAT_NF4}, .n_precisions = 1},
        .batches = {1},
        .n_batches = 1};
    for (size_t i = 0; i < ECO_PLAN_NUMBER_COUNT; i++) {
        defaults.base.numbers[i] = -1.0;
    }
    const ecoi_yaml *at = ecoi_yaml_member(root, "defaults");
    if (at != NULL && at->type != ECOI_YAML_MAPPING) {
        return refuse(p, ECO_E_PARSE, at, "defaults: expected a mapping");
    }
    if (at != NULL) {
        ECO_TRY(parse_keys(p, at, &defaults));
    }
    at = ecoi_yaml_member(root, "experiments");
    if (at == NULL || at->type != ECOI_YAML_SEQUENCE || at->n == 0) {
        return refuse(p, ECO_E_PARSE, at != NULL ? at : root,
                      "experiments: expected a list of at least one");
    }
    for (const ecoi_yaml *entry = at->first; entry != NULL; entry = entry->next) {
        ECO_TRY(add_entry(p, entry, &defaults));
    }
    return ECO_OK;
}

eco_status eco_plan_file_parse(const char *text, size_t length, const char *name,
                               eco_plan_file *out, eco_error *err) {
    *out = (eco_plan_file){.n = 0};
    ecoi_yaml_doc doc;
    ECO_TRY(ecoi_yaml_read(text, length, name, &doc, err));
    ecoi_sha256_hex(text, length, out->sha256);
    out->experiments = ecoi_calloc(ECO_EXPERIMENTS_MAX, sizeof *out->experiments);
    const parser p = {.name = name, .out = out, .err = err};
    const eco_status status =
        out->experiments == NULL ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", name)
                                 : parse_plan(&p, doc.root);
    ecoi_yaml_fini(&doc);
    if (status != ECO_OK) {
        eco_plan_file_free(out);
    }
    return status;
}

eco_status eco_plan_file_load(const char *path, eco_plan_file *out, eco_error *err) {
    *out = (eco_plan_file){.n = 0};
    const eco_file_limits limits = {.size_max = ECO_YAML_SIZE_MAX};
    char *text = NULL;
    size_t length = 0;
    ECO_TRY(ecoi_file_read(path, &limits, &text, &length, err));
    const eco_status status = eco_plan_file_parse(text, length, path, out, err);
    ecoi_free(text);
    return status;
}

void eco_plan_file_free(eco_plan_file *file) {
    ecoi_free(file->experiments);
    *file = (eco_plan_file){.n = 0};
}
