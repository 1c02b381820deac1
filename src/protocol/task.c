/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs of the published task: one table of keys, for flags and for the YAML file alike. Source of keys and meanings:
 * the published system's command line and parameters files (docs/energy-estimate.md).
 */
#include "ecocompute/task.h"

#include "core/alloc.h"
#include "core/num.h"
#include "core/str.h"
#include "ecocompute/arch.h"
#include "ecocompute/plan.h"
#include "sys/file.h"
#include "sys/yaml.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef enum task_type { TASK_TEXT = 0, TASK_COUNT, TASK_SIZE, TASK_WORD, TASK_SWITCH } task_type;

typedef struct task_key {
    const char *key;
    task_type type;
    size_t offset;        /* in eco_task */
    size_t capacity;      /* TEXT and WORD into a text */
    double least, most;   /* COUNT, SIZE */
    const char *words[6]; /* WORD; SWITCH: every second sets the flag; TEXT: what "" means */
    const char *expected;
} task_key;

#define AT(member) offsetof(eco_task, member)
#define ROOM(member) sizeof(((eco_task *)0)->member)

static const task_key task_keys[] = {
    {"model_name", TASK_TEXT, AT(model_name), ROOM(model_name), 0, 0, {0}, "a name or a path"},
    {"params_b", TASK_SIZE, AT(params_b), 0, 0.001, 10000, {0}, "billions of parameters, or null"},
    {"precision",
     TASK_WORD,
     AT(precision),
     ROOM(precision),
     0,
     0,
     {"FP16", "NF4", "INT8"},
     "FP16, NF4 or INT8"},
    {"batch_size", TASK_COUNT, AT(batch_size), 0, 1, 4096, {0}, "a whole number from 1 to 4096"},
    {"gpu_arch",
     TASK_TEXT,
     AT(gpu_arch),
     ROOM(gpu_arch),
     0,
     0,
     {"auto"},
     "auto, a class such as ada, or a card's name"},
    {"context_length",
     TASK_COUNT,
     AT(context_length),
     0,
     1,
     16777216,
     {0},
     "a whole number from 1 to 16777216"},
    {"tokens", TASK_COUNT, AT(tokens), 0, 1, 1048576, {0}, "a whole number from 1 to 1048576"},
    {"iterations",
     TASK_COUNT,
     AT(iterations),
     0,
     1,
     ECO_ITERATIONS_MAX,
     {0},
     "a whole number from 1 to 1000"},
    {"warmup",
     TASK_COUNT,
     AT(warmup),
     0,
     0,
     ECO_ITERATIONS_MAX,
     {0},
     "a whole number from 0 to 1000"},
    {"sample_rate_hz",
     TASK_COUNT,
     AT(sample_rate_hz),
     0,
     1,
     1000,
     {0},
     "a whole number from 1 to 1000"},
    {"quality_probe",
     TASK_SWITCH,
     AT(quality_probe),
     0,
     0,
     0,
     {"false", "true", "no", "yes", "off", "on"},
     "true or false"},
    {"quality_text", TASK_TEXT, AT(quality_text), ROOM(quality_text), 0, 0, {0}, "a path"},
    {"quality_seq_len",
     TASK_COUNT,
     AT(quality_seq_len),
     0,
     2,
     1048576,
     {0},
     "a whole number from 2 to 1048576"},
    {"thermal_mode", TASK_SWITCH, AT(steady), 0, 0, 0, {"cold", "steady"}, "cold or steady"},
    {"power_trace",
     TASK_SWITCH,
     AT(power_trace),
     0,
     0,
     0,
     {"false", "true", "no", "yes", "off", "on"},
     "true or false"},
};
enum { N_KEYS = sizeof task_keys / sizeof task_keys[0] };

const char *eco_task_key(size_t index) {
    return index < N_KEYS ? task_keys[index].key : NULL;
}

const char *eco_task_key_expected(size_t index) {
    return index < N_KEYS ? task_keys[index].expected : NULL;
}

static eco_status refuse(const task_key *row, const char *text, eco_error *err) {
    return eco_error_set(err, ECO_E_USAGE, 0, "'%.60s' is not usable; expected %s", text,
                         row->expected);
}

static eco_status set_number(eco_task *task, const task_key *row, const char *text,
                             eco_error *err) {
    double value = 0.0;
    char *const to = (char *)task + row->offset;
    if (row->type == TASK_SIZE &&
        (text[0] == '\0' || strcmp(text, "~") == 0 || ecoi_str_equal_nocase(text, "null"))) {
        const eco_reading absent = eco_reading_absent(ECO_ABSENT_NOT_READ);
        memcpy(to, &absent, sizeof absent);
        return ECO_OK;
    }
    if (ecoi_num_parse(text, strlen(text), &value) != ECO_OK ||
        !(value >= row->least && value <= row->most) ||
        (row->type == TASK_COUNT && value > (double)(uint32_t)value)) {
        return refuse(row, text, err);
    }
    if (row->type == TASK_SIZE) {
        const eco_reading size = eco_reading_of(value);
        memcpy(to, &size, sizeof size);
    } else {
        const uint32_t count = (uint32_t)value;
        memcpy(to, &count, sizeof count);
    }
    return ECO_OK;
}

static eco_status set_word(eco_task *task, const task_key *row, const char *text, eco_error *err) {
    for (size_t i = 0; i < sizeof row->words / sizeof row->words[0] && row->words[i] != NULL; i++) {
        if (!ecoi_str_equal_nocase(text, row->words[i])) {
            continue;
        }
        if (row->type == TASK_WORD) {
            (void)ecoi_str_copy((char *)task + row->offset, row->capacity, row->words[i]);
        } else {
            const bool second = i % 2 == 1;
            memcpy((char *)task + row->offset, &second, sizeof second);
        }
        return ECO_OK;
    }
    return refuse(row, text, err);
}

static eco_status set_row(eco_task *task, const task_key *row, const char *text, eco_error *err) {
    switch (row->type) {
    case TASK_TEXT:
        if (text[0] == '\0' && row->words[0] != NULL) {
            text = row->words[0];
        }
        if (text[0] == '\0' || strlen(text) >= row->capacity) {
            return refuse(row, text, err);
        }
        (void)ecoi_str_copy((char *)task + row->offset, row->capacity, text);
        return ECO_OK;
    case TASK_COUNT:
    case TASK_SIZE:
        return set_number(task, row, text, err);
    case TASK_WORD:
    case TASK_SWITCH:
        return set_word(task, row, text, err);
    }
    return ECO_OK;
}

static const task_key *find_key(const char *key) {
    for (size_t i = 0; i < N_KEYS; i++) {
        if (strcmp(task_keys[i].key, key) == 0) {
            return &task_keys[i];
        }
    }
    return NULL;
}

eco_status eco_task_set(eco_task *task, const char *key, const char *text, eco_error *err) {
    const task_key *row = find_key(key);
    return row != NULL ? set_row(task, row, text, err)
                       : eco_error_set(err, ECO_E_NOT_FOUND, 0, "%.40s: no such key", key);
}

/* ---- The parameters file ---------------------------------------------------------------------- */

static void pass_over(const ecoi_yaml *at, const char *name, eco_text *notes) {
    const char *names[N_KEYS];
    for (size_t i = 0; i < N_KEYS; i++) {
        names[i] = task_keys[i].key;
    }
    const char *nearest = eco_nearest_name(at->key, names, N_KEYS);
    ecoi_text_addf(notes, "%s:%u:%u: unknown key '%.40s' is passed over%s%s%s\n", name,
                   at->key_line, at->key_column, at->key, nearest != NULL ? "; did you mean '" : "",
                   nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

static eco_status take(eco_task *task, const ecoi_yaml *at, const char *name, eco_text *notes,
                       eco_error *err) {
    const task_key *row = find_key(at->key);
    if (row == NULL) {
        pass_over(at, name, notes);
        return ECO_OK;
    }
    if (at->type != ECOI_YAML_SCALAR) {
        return eco_error_set(err, ECO_E_USAGE, 0, "%s:%u:%u: %s: expected %s, not %s", name,
                             at->line, at->column, at->key, row->expected,
                             ecoi_yaml_type_name(at->type));
    }
    const bool null = !at->quoted && (at->text[0] == '\0' || strcmp(at->text, "~") == 0 ||
                                      strcmp(at->text, "null") == 0);
    if (null) { /* nothing is said: what stood there stays */
        return ECO_OK;
    }
    eco_error why = {0};
    if (set_row(task, row, at->text, &why) != ECO_OK) {
        return eco_error_set(err, why.code, 0, "%s:%u:%u: %s: %s", name, at->line, at->column,
                             at->key, why.message);
    }
    return ECO_OK;
}

eco_status eco_task_parse(eco_task *task, const char *text, size_t length, const char *name,
                          eco_text *notes, eco_error *err) {
    ecoi_yaml_doc doc;
    ECO_TRY(ecoi_yaml_read(text, length, name, &doc, err));
    eco_task given = *task;
    eco_status status = ECO_OK;
    if (doc.root->type != ECOI_YAML_MAPPING) {
        status =
            eco_error_set(err, ECO_E_PARSE, 0, "%s:%u:%u: expected key: value lines, not %s", name,
                          doc.root->line, doc.root->column, ecoi_yaml_type_name(doc.root->type));
    }
    for (const ecoi_yaml *at = doc.root->first;
         status == ECO_OK && doc.root->type == ECOI_YAML_MAPPING && at != NULL; at = at->next) {
        status = take(&given, at, name, notes, err);
    }
    ecoi_yaml_fini(&doc);
    if (status == ECO_OK) {
        *task = given;
    }
    return status;
}

eco_status eco_task_load(eco_task *task, const char *path, eco_text *notes, eco_error *err) {
    const eco_file_limits limits = {.size_max = ECO_YAML_SIZE_MAX};
    char *text = NULL;
    size_t length = 0;
    ECO_TRY(ecoi_file_read(path, &limits, &text, &length, err));
    const eco_status status = eco_task_parse(task, text, length, path, notes, err);
    ecoi_free(text);
    return status;
}
