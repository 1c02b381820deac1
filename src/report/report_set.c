/* SPDX-License-Identifier: Apache-2.0
 *
 * Setting fields. What is missing on a path is made; a new key goes to its place in the table's order, whatever the
 * order of the calls. A failure is kept and told by eco_report_write, so that a writer needs one check.
 */
#include "report/report_doc.h"

#include "core/num.h"
#include "core/str.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void set_failure(eco_report *report, eco_status status, const char *path,
                        const char *message) {
    if (report->failure == ECO_OK) {
        eco_error err;
        report->failure = eco_error_set(&err, status, 0, "report: %s: %s", path, message);
        ecoi_str_copy(report->failure_message, sizeof report->failure_message, err.message);
    }
}

/* The first member of `object` that the table lists after `rank`; unknown keys stay where they are. */
static ecoi_json *member_after(const ecoi_json *object, const char *prefix, size_t prefix_length,
                               uint32_t rank) {
    for (ecoi_json *member = object->first; member != NULL; member = member->next) {
        if (member->mark == 0) {
            const uint32_t found =
                ecoi_field_rank(prefix, prefix_length, member->key, member->key_length);
            member->mark = found + 1;
        }
        if (member->mark - 1 > rank && member->mark - 1 < ECO_FIELD_COUNT) {
            return member;
        }
    }
    return NULL;
}

/* Puts `value` into `object` under the key of `step`, a step of the field's path. */
static bool place(eco_report *report, ecoi_json *object, const char *path, const ecoi_step *step,
                  ecoi_json *value) {
    enum { KEY_MAX = 64 };
    if (value == NULL || step->key_length >= KEY_MAX) {
        return false;
    }
    char key[KEY_MAX];
    memcpy(key, step->key, step->key_length);
    key[step->key_length] = '\0';
    const size_t prefix_length = (size_t)(step->key - path);
    const uint32_t rank = ecoi_field_rank(path, prefix_length, step->key, step->key_length);
    value->mark = rank + 1;
    return ecoi_json_set(&report->doc, object, key, member_after(object, path, prefix_length, rank),
                         value);
}

/* The container a step leads to, made if missing or null. */
static ecoi_json *enter(eco_report *report, ecoi_json *object, const char *path,
                        const ecoi_step *step, ecoi_json_type type) {
    ecoi_json *value = ecoi_json_member(object, step->key, step->key_length);
    if (value == NULL || value->type == ECOI_JSON_NULL) {
        value = ecoi_json_new(&report->doc, type);
        if (!place(report, object, path, step, value)) {
            set_failure(report, ECO_E_NO_MEMORY, path, "out of memory");
            return NULL;
        }
    }
    if (value->type != type) {
        set_failure(report, ECO_E_INVALID, path, "something else stands on the path");
        return NULL;
    }
    return value;
}

/* Element `index` of an array of objects; the next one is appended, one further is refused. */
static ecoi_json *enter_element(eco_report *report, ecoi_json *array, const char *path,
                                uint32_t index) {
    if (index > array->n) {
        set_failure(report, ECO_E_RANGE, path, "an array element was skipped");
        return NULL;
    }
    if (index == array->n) {
        ecoi_json *const made = ecoi_json_new(&report->doc, ECOI_JSON_OBJECT);
        if (made == NULL) {
            set_failure(report, ECO_E_NO_MEMORY, path, "out of memory");
            return NULL;
        }
        ecoi_json_append(array, made);
    }
    ecoi_json *const element = ecoi_json_element(array, index);
    if (element->type != ECOI_JSON_OBJECT) {
        set_failure(report, ECO_E_INVALID, path, "something else stands in the array");
        return NULL;
    }
    return element;
}

/* The object that holds the field, made on the way; *step is the field's own key. NULL after a failure. */
static ecoi_json *enter_parent(eco_report *report, eco_field field, eco_at at, ecoi_step *step) {
    const char *const path = eco_field_at(field)->path;
    const char *rest = path;
    ecoi_json *object = report->doc.root;
    uint32_t n_arrays = 0;
    for (*step = ecoi_step_next(&rest); !step->last; *step = ecoi_step_next(&rest)) {
        if (!step->array) {
            object = enter(report, object, path, step, ECOI_JSON_OBJECT);
        } else {
            ecoi_json *const array = enter(report, object, path, step, ECOI_JSON_ARRAY);
            object = array == NULL
                         ? NULL
                         : enter_element(report, array, path, n_arrays == 0 ? at.i : at.j);
            n_arrays++;
        }
        if (object == NULL) {
            return NULL;
        }
    }
    return object;
}

static void set_value(eco_report *report, eco_field field, eco_at at, ecoi_json *value) {
    const char *const path = eco_field_at(field)->path;
    ecoi_step step;
    ecoi_json *const object = enter_parent(report, field, at, &step);
    if (object != NULL && !place(report, object, path, &step, value)) {
        set_failure(report, ECO_E_NO_MEMORY, path, "out of memory");
    }
}

static bool check_type(eco_report *report, eco_field field, bool fits, const char *message) {
    if (!fits) {
        set_failure(report, ECO_E_USAGE, eco_field_at(field)->path, message);
    }
    return fits && report->failure == ECO_OK;
}

void eco_report_set_number(eco_report *report, eco_field field, eco_at at, double value) {
    if (!isfinite(value)) {
        eco_report_set_null(report, field, at);
        return;
    }
    const eco_field_type type = eco_field_at(field)->type;
    const bool fits =
        type == ECO_TYPE_NUMBER || (type == ECO_TYPE_INTEGER && value == floor(value));
    if (check_type(report, field, fits, "the field does not take this number")) {
        set_value(report, field, at, ecoi_json_new_number(&report->doc, value));
    }
}

void eco_report_set_rounded(eco_report *report, eco_field field, eco_at at, double value,
                            int decimals) {
    eco_report_set_number(report, field, at,
                          isfinite(value) ? ecoi_num_round(value, decimals) : value);
}

void eco_report_set_integer(eco_report *report, eco_field field, eco_at at, int64_t value) {
    const eco_field_type type = eco_field_at(field)->type;
    const bool fits = type == ECO_TYPE_NUMBER || type == ECO_TYPE_INTEGER;
    if (check_type(report, field, fits, "the field is no number")) {
        set_value(report, field, at, ecoi_json_new_integer(&report->doc, value));
    }
}

void eco_report_set_string(eco_report *report, eco_field field, eco_at at, const char *value) {
    if (!check_type(report, field, eco_field_at(field)->type == ECO_TYPE_STRING,
                    "the field is no string")) {
        return;
    }
    if (value == NULL) {
        eco_report_set_null(report, field, at);
        return;
    }
    set_value(report, field, at, ecoi_json_new_string(&report->doc, value, strlen(value)));
}

void eco_report_set_bool(eco_report *report, eco_field field, eco_at at, bool value) {
    if (check_type(report, field, eco_field_at(field)->type == ECO_TYPE_BOOLEAN,
                   "the field is no boolean")) {
        set_value(report, field, at, ecoi_json_new_bool(&report->doc, value));
    }
}

void eco_report_set_null(eco_report *report, eco_field field, eco_at at) {
    const eco_field_type type = eco_field_at(field)->type;
    if (check_type(report, field, type != ECO_TYPE_STRINGS && type != ECO_TYPE_STRING_MAP,
                   "a list cannot be null")) {
        set_value(report, field, at, ecoi_json_new(&report->doc, ECOI_JSON_NULL));
    }
}

void eco_report_add_string(eco_report *report, eco_field field, eco_at at, const char *value) {
    const eco_field_info *const info = eco_field_at(field);
    if (!check_type(report, field, info->type == ECO_TYPE_STRINGS, "the field is no list")) {
        return;
    }
    ecoi_step step;
    ecoi_json *const object = enter_parent(report, field, at, &step);
    ecoi_json *const array =
        object == NULL ? NULL : enter(report, object, info->path, &step, ECOI_JSON_ARRAY);
    if (array == NULL || value == NULL) {
        return;
    }
    ecoi_json *const string = ecoi_json_new_string(&report->doc, value, strlen(value));
    if (string == NULL) {
        set_failure(report, ECO_E_NO_MEMORY, info->path, "out of memory");
        return;
    }
    ecoi_json_append(array, string);
}

void eco_report_set_reading(eco_report *report, eco_field field, eco_at at, eco_reading value,
                            int decimals) {
    if (!eco_reading_present(value)) {
        eco_report_set_null(report, field, at);
    } else if (eco_field_at(field)->type == ECO_TYPE_BOOLEAN) {
        eco_report_set_bool(report, field, at, value.value != 0.0);
    } else {
        eco_report_set_rounded(report, field, at, value.value, decimals);
    }
}

/* ---- Warnings --------------------------------------------------------------------------------- */

bool eco_report_has_warning(const eco_report *report, eco_warning warning) {
    const char *const code = eco_warning_at(warning)->code;
    const uint32_t n = eco_report_array_size(report, ECO_FIELD_WA_CODE, ECO_TOP);
    for (uint32_t i = 0; i < n; i++) {
        const char *found = NULL;
        if (eco_report_string(report, ECO_FIELD_WA_CODE, ECO_AT1(i), &found) &&
            strcmp(found, code) == 0) {
            return true;
        }
    }
    return false;
}

void eco_report_warn(eco_report *report, eco_warning warning, const char *detail) {
    if (eco_report_has_warning(report, warning)) {
        return;
    }
    const eco_warning_info *const info = eco_warning_at(warning);
    const eco_at at = ECO_AT1(eco_report_array_size(report, ECO_FIELD_WA_CODE, ECO_TOP));
    eco_report_set_string(report, ECO_FIELD_WA_CODE, at, info->code);
    eco_report_set_string(report, ECO_FIELD_WA_TEXT, at, info->text);
    eco_report_set_string(report, ECO_FIELD_WA_ADVICE, at, info->advice);
    if (detail != NULL) {
        eco_report_set_string(report, ECO_FIELD_WA_DETAIL, at, detail);
    }
    eco_report_set_bool(report, ECO_FIELD_WA_INVALIDATES, at, info->invalidates);
}
