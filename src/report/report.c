/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports: life, reading and writing text, and the getters. Paths come from the field table only, never from
 * outside, so walking them needs no checks of their form.
 */
#include "report/report_doc.h"

#include "core/alloc.h"

#include <assert.h>
#include <string.h>

ecoi_step ecoi_step_next(const char **path) {
    const size_t length = strcspn(*path, ".[");
    ecoi_step step = {.key = *path, .key_length = length};
    const char *end = *path + length;
    if (*end == '[') {
        step.array = true;
        end += 2;
    }
    step.last = *end == '\0';
    *path = step.last ? end : end + 1;
    return step;
}

uint32_t ecoi_field_rank(const char *prefix, size_t prefix_length, const char *key,
                         size_t key_length) {
    for (uint32_t i = 0; i < ECO_FIELD_COUNT; i++) {
        const char *const path = eco_field_at((eco_field)i)->path;
        if (strncmp(path, prefix, prefix_length) != 0 ||
            strncmp(path + prefix_length, key, key_length) != 0) {
            continue;
        }
        const char after = path[prefix_length + key_length];
        if (after == '\0' || after == '.' || after == '[') {
            return i;
        }
    }
    return ECO_FIELD_COUNT;
}

/* ---- Life ------------------------------------------------------------------------------------- */

eco_report *eco_report_new(void) {
    eco_report *const report = ecoi_calloc(1, sizeof *report);
    if (report == NULL) {
        return NULL;
    }
    report->doc.root = ecoi_json_new(&report->doc, ECOI_JSON_OBJECT);
    if (report->doc.root == NULL) {
        eco_report_free(report);
        return NULL;
    }
    return report;
}

void eco_report_free(eco_report *report) {
    if (report == NULL) {
        return;
    }
    ecoi_json_fini(&report->doc);
    ecoi_free(report);
}

eco_status eco_report_write(const eco_report *report, eco_text *out, eco_error *err) {
    assert(report != NULL && out != NULL);
    if (report->failure != ECO_OK) {
        return eco_error_set(err, report->failure, 0, "%s", report->failure_message);
    }
    if (!ecoi_json_write(report->doc.root, out)) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "report: out of memory while writing");
    }
    return ECO_OK;
}

/* The place of the first character that is no blank. */
static void first_place(const char *text, size_t length, size_t *line, size_t *column) {
    *line = 1;
    *column = 1;
    for (size_t i = 0; i < length && strchr(" \t\r\n", text[i]) != NULL; i++) {
        *column = text[i] == '\n' ? 1 : *column + 1;
        *line += text[i] == '\n' ? 1 : 0;
    }
}

eco_status eco_report_read(const char *text, size_t length, const char *name, eco_report **out,
                           eco_error *err) {
    *out = NULL;
    eco_report *const report = ecoi_calloc(1, sizeof *report);
    if (report == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", name);
    }
    eco_status status = ecoi_json_read(text, length, name, &report->doc, err);
    if (status == ECO_OK && report->doc.root->type != ECOI_JSON_OBJECT) {
        size_t line = 0, column = 0;
        first_place(text, length, &line, &column);
        status = eco_error_set(err, ECO_E_PARSE, 0, "%s:%zu:%zu: expected an object, found %s",
                               name, line, column, ecoi_json_type_name(report->doc.root->type));
    }
    if (status != ECO_OK) {
        eco_report_free(report);
        return status;
    }
    *out = report;
    return ECO_OK;
}

/* ---- Getters ---------------------------------------------------------------------------------- */

/* Follows the path for `n_steps` steps at most; a step through an array takes its element unless it is the last. */
static ecoi_json *follow(const eco_report *report, const char *path, eco_at at, size_t n_steps) {
    ecoi_json *value = report->doc.root;
    uint32_t n_arrays = 0;
    for (size_t i = 0; i < n_steps && value != NULL; i++) {
        const ecoi_step step = ecoi_step_next(&path);
        value = ecoi_json_member(value, step.key, step.key_length);
        if (step.array && i + 1 < n_steps) {
            value = ecoi_json_element(value, n_arrays == 0 ? at.i : at.j);
            n_arrays++;
        }
    }
    return value;
}

/* How many steps the path has, and after how many its innermost array is reached (0 = it has none). */
static size_t count_steps(const char *path, size_t *n_to_array) {
    *n_to_array = 0;
    size_t n = 0;
    for (bool last = false; !last;) {
        const ecoi_step step = ecoi_step_next(&path);
        n++;
        last = step.last;
        if (step.array) {
            *n_to_array = n;
        }
    }
    return n;
}

ecoi_json *ecoi_report_find(const eco_report *report, eco_field field, eco_at at) {
    const char *const path = eco_field_at(field)->path;
    size_t n_to_array = 0;
    const size_t n_steps = count_steps(path, &n_to_array);
    return follow(report, path, at, n_steps);
}

bool eco_report_number(const eco_report *report, eco_field field, eco_at at, double *out) {
    *out = 0;
    const ecoi_json *const value = ecoi_report_find(report, field, at);
    if (value == NULL || value->type != ECOI_JSON_NUMBER) {
        return false;
    }
    *out = value->number;
    return true;
}

bool eco_report_integer(const eco_report *report, eco_field field, eco_at at, int64_t *out) {
    return ecoi_json_integer(ecoi_report_find(report, field, at), out);
}

bool eco_report_string(const eco_report *report, eco_field field, eco_at at, const char **out) {
    *out = NULL;
    const ecoi_json *const value = ecoi_report_find(report, field, at);
    /* A string with a NUL inside would be cut by a C reader: refuse it rather than show a part. */
    if (value == NULL || value->type != ECOI_JSON_STRING ||
        strlen(value->text) != value->text_length) {
        return false;
    }
    *out = value->text;
    return true;
}

bool eco_report_strings_hold(const eco_report *report, eco_field field, eco_at at,
                             const char *text) {
    const ecoi_json *const list = ecoi_report_find(report, field, at);
    const ecoi_json *one = list != NULL && list->type == ECOI_JSON_ARRAY ? list->first : NULL;
    for (; one != NULL; one = one->next) {
        if (one->type == ECOI_JSON_STRING && strcmp(one->text, text) == 0) {
            return true;
        }
    }
    return false;
}

bool eco_report_bool(const eco_report *report, eco_field field, eco_at at, bool *out) {
    *out = false;
    const ecoi_json *const value = ecoi_report_find(report, field, at);
    if (value == NULL || value->type != ECOI_JSON_BOOL) {
        return false;
    }
    *out = value->boolean;
    return true;
}

uint32_t eco_report_array_size(const eco_report *report, eco_field field, eco_at at) {
    const eco_field_info *const info = eco_field_at(field);
    size_t n_to_array = 0;
    const size_t n_steps = count_steps(info->path, &n_to_array);
    if (n_to_array == 0 && info->type != ECO_TYPE_STRINGS) {
        return 0;
    }
    const ecoi_json *const array =
        follow(report, info->path, at, n_to_array == 0 ? n_steps : n_to_array);
    return array != NULL && array->type == ECOI_JSON_ARRAY ? array->n : 0;
}
