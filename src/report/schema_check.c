/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a report of the form the field table says? Required keys, types, the few closed lists of names, and signs.
 * Keys the table does not know are allowed. Rows of this project's additions ("1.3+") are held only against
 * reports that name this program as their tool, since in others such a key may mean something else. Null stands for
 * "not read": allowed for numbers and integers, and for optional strings and booleans.
 */
#include "report/report_doc.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { PATH_MAX_BYTES = 192, FINDINGS_MAX = 200, SHOWN_MAX = 40, VERSION_MINOR_MAX = 3 };

typedef struct checker {
    const eco_report *report;
    eco_findings *out;
    int minor; /* of schema_version 1.minor */
    bool ours; /* written by this program */
    eco_field row;
} checker;

/* A place in the report as people write it: "trials.arms[1].precision". */
typedef struct place {
    char text[PATH_MAX_BYTES];
} place;

static place place_step(const place *from, const ecoi_step *step) {
    place to;
    snprintf(to.text, sizeof to.text, "%.120s%s%.*s", from->text, from->text[0] == '\0' ? "" : ".",
             (int)step->key_length, step->key);
    return to;
}

static place place_element(const place *from, uint32_t index) {
    place to;
    snprintf(to.text, sizeof to.text, "%.170s[%u]", from->text, (unsigned)index);
    return to;
}

/* ---- Which rows count ------------------------------------------------------------------------- */

static int since_minor(const char *since) {
    return since[2] - '0';
}

static bool row_applies(const checker *c, const eco_field_info *info) {
    const bool addition = strchr(info->since, '+') != NULL;
    return addition ? c->ours && c->minor >= VERSION_MINOR_MAX
                    : since_minor(info->since) <= c->minor;
}

/* Fields of the base schema that became required with 1.3 only. */
static bool required_from_1_3(eco_field field) {
    static const eco_field fields[] = {ECO_FIELD_WL_CONTEXT, ECO_FIELD_ME_TOKENS,
                                       ECO_FIELD_ME_ITERATIONS, ECO_FIELD_ME_WARMUP};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i] == field) {
            return true;
        }
    }
    return false;
}

static bool row_required(const checker *c, const eco_field_info *info) {
    return info->required && (c->minor >= VERSION_MINOR_MAX || !required_from_1_3(c->row));
}

/* ---- Values ----------------------------------------------------------------------------------- */

static const char *type_wanted(eco_field_type type) {
    switch (type) {
    case ECO_TYPE_STRING:
        return "a string";
    case ECO_TYPE_NUMBER:
        return "a number";
    case ECO_TYPE_INTEGER:
        return "an integer";
    case ECO_TYPE_BOOLEAN:
        return "true or false";
    case ECO_TYPE_STRINGS:
        return "an array of strings";
    }
    return "nothing";
}

static bool all_strings(const ecoi_json *array) {
    for (const ecoi_json *value = array->first; value != NULL; value = value->next) {
        if (value->type != ECOI_JSON_STRING) {
            return false;
        }
    }
    return true;
}

static bool type_fits(const eco_field_info *info, const ecoi_json *value) {
    int64_t integer = 0;
    const bool null = value->type == ECOI_JSON_NULL;
    switch (info->type) {
    case ECO_TYPE_STRING:
        return value->type == ECOI_JSON_STRING || (null && !info->required);
    case ECO_TYPE_NUMBER:
        return value->type == ECOI_JSON_NUMBER || null;
    case ECO_TYPE_INTEGER:
        return ecoi_json_integer(value, &integer) || null;
    case ECO_TYPE_BOOLEAN:
        return value->type == ECOI_JSON_BOOL || (null && !info->required);
    case ECO_TYPE_STRINGS:
        return value->type == ECOI_JSON_ARRAY && all_strings(value);
    }
    return false;
}

/* Found values for people: strings quoted and cut, numbers as written, else the type. */
static void describe(const ecoi_json *value, char *out, size_t size) {
    if (value->type == ECOI_JSON_STRING) {
        snprintf(out, size, "\"%.*s\"%s", SHOWN_MAX, value->text,
                 value->text_length > SHOWN_MAX ? "…" : "");
    } else if (value->type == ECOI_JSON_NUMBER) {
        snprintf(out, size, "%.*s", SHOWN_MAX, value->text);
    } else {
        snprintf(out, size, "%s", ecoi_json_type_name(value->type));
    }
}

/* Closed lists. Names are separated by '|'. */
static const struct names_rule {
    eco_field field;
    const char *names;
} names_rules[] = {
    {ECO_FIELD_SCHEMA_VERSION,
     "ecocompute-energy/1.0|ecocompute-energy/1.1|ecocompute-energy/1.2|ecocompute-energy/1.3"},
    {ECO_FIELD_BENCHMARK, "ecocompute-energy-methodology"},
    {ECO_FIELD_SCENARIO, "SingleStream|Offline"},
    {ECO_FIELD_WL_PRECISION, "FP16|BF16|NF4|NF4-DQ|INT8|W8A16|Q4_0|Q8_0|FP8"},
    {ECO_FIELD_AR_PRECISION, "FP16|BF16|NF4|NF4-DQ|INT8|W8A16|Q4_0|Q8_0|FP8"},
    {ECO_FIELD_AR_ROLE, "baseline|under_test"},
    {ECO_FIELD_WI_KIND, "decode|generation|prefill"},
    {ECO_FIELD_ME_WINDOW, "decode|generation"},
    {ECO_FIELD_RE_VERDICT, "saves|costs|no difference|inconclusive|none"},
    {ECO_FIELD_TH_MODE, "cold|steady"},
    {ECO_FIELD_TH_BASIS, "measured|unavailable"},
};

static bool in_names(const char *names, const ecoi_json *value) {
    while (*names != '\0') {
        const size_t length = strcspn(names, "|");
        if (value->text_length == length && memcmp(value->text, names, length) == 0) {
            return true;
        }
        names += length + (names[length] == '|' ? 1 : 0);
    }
    return false;
}

static void check_names(const checker *c, const ecoi_json *value, const place *at) {
    char found[SHOWN_MAX * 2];
    describe(value, found, sizeof found);
    for (size_t i = 0; i < sizeof names_rules / sizeof names_rules[0]; i++) {
        if (names_rules[i].field == c->row && !in_names(names_rules[i].names, value)) {
            eco_findings_add(c->out, "%s: expected one of %s, found %s", at->text,
                             names_rules[i].names, found);
        }
    }
    eco_basis basis = ECO_BASIS_UNAVAILABLE;
    const bool is_basis = c->row == ECO_FIELD_RE_BASIS || c->row == ECO_FIELD_RE_TIME_BASIS;
    if (is_basis &&
        (strlen(value->text) != value->text_length || !eco_basis_parse(value->text, &basis))) {
        eco_findings_add(c->out, "%s: expected the name of a basis, found %s", at->text, found);
    }
}

/* Amounts cannot be negative; differences, logarithms, percentages, times and temperatures can. */
static bool may_be_negative(eco_field row, const eco_field_info *info) {
    static const char *const amounts[] = {"J",   "mJ/token", "W",   "tokens/s", "Hz", "tokens",
                                          "1e9", "B",        "MHz", "GB/s",     "us"};
    if (row == ECO_FIELD_AR_NET_MJ) {
        return true;
    }
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
        if (strcmp(info->unit, amounts[i]) == 0) {
            return false;
        }
    }
    return info->type != ECO_TYPE_INTEGER;
}

static void check_range(const checker *c, const eco_field_info *info, const ecoi_json *value,
                        const place *at) {
    const bool at_least_one = c->row == ECO_FIELD_SUT_COUNT || c->row == ECO_FIELD_WL_BATCH;
    const bool seed = c->row == ECO_FIELD_WL_SEED;
    if (at_least_one && value->number < 1) {
        eco_findings_add(c->out, "%s: expected 1 or more, found %.*s", at->text, SHOWN_MAX,
                         value->text);
    } else if (!seed && value->number < 0 && !may_be_negative(c->row, info)) {
        eco_findings_add(c->out, "%s: expected 0 or more, found %.*s", at->text, SHOWN_MAX,
                         value->text);
    }
}

static void check_value(const checker *c, const ecoi_json *value, const place *at) {
    const eco_field_info *const info = eco_field_at(c->row);
    if (!type_fits(info, value)) {
        char found[SHOWN_MAX * 2];
        describe(value, found, sizeof found);
        eco_findings_add(c->out, "%s: expected %s, found %s", at->text, type_wanted(info->type),
                         found);
    } else if (value->type == ECOI_JSON_STRING) {
        check_names(c, value, at);
    } else if (value->type == ECOI_JSON_NUMBER) {
        check_range(c, info, value, at);
    } else if (c->row == ECO_FIELD_CERTIFIED && value->type == ECOI_JSON_BOOL && value->boolean) {
        eco_findings_add(c->out, "%s: expected false, found true", at->text);
    }
}

/* ---- Paths ------------------------------------------------------------------------------------ */

/* A container of the wrong type is told once, by the first row that goes through it. */
static void wrong_container(const checker *c, const char *path, const ecoi_step *step,
                            const ecoi_json *value, const char *wanted, const place *at) {
    if (ecoi_field_rank(path, (size_t)(step->key - path), step->key, step->key_length) ==
        (uint32_t)c->row) {
        eco_findings_add(c->out, "%s: expected %s, found %s", at->text, wanted,
                         ecoi_json_type_name(value->type));
    }
}

static void visit(const checker *c, const ecoi_json *object, const char *rest, const place *at);

static void visit_array(const checker *c, const ecoi_json *array, const ecoi_step *step,
                        const char *rest, const place *at) {
    uint32_t index = 0;
    for (const ecoi_json *value = array->first; value != NULL && c->out->n < FINDINGS_MAX;
         value = value->next) {
        const place element = place_element(at, index);
        if (value->type == ECOI_JSON_OBJECT) {
            visit(c, value, rest, &element);
        } else {
            wrong_container(c, eco_field_at(c->row)->path, step, value, "an object", &element);
        }
        index++;
    }
}

/* One row, from `object` on. The recursion goes down the row's path, at most five steps, not the report. */
static void visit(const checker *c, const ecoi_json *object, const char *rest, const place *at) {
    const eco_field_info *const info = eco_field_at(c->row);
    const ecoi_step step = ecoi_step_next(&rest);
    const place here = place_step(at, &step);
    const ecoi_json *const value = ecoi_json_member(object, step.key, step.key_length);
    if (step.last) {
        if (value != NULL) {
            check_value(c, value, &here);
        } else if (row_required(c, info)) {
            eco_findings_add(c->out, "%s: expected %s, found no such key", here.text,
                             type_wanted(info->type));
        }
        return;
    }
    if (value == NULL || value->type == ECOI_JSON_NULL) {
        return; /* what must be there at top level is told by check_required_objects */
    }
    if (step.array && value->type == ECOI_JSON_ARRAY) {
        visit_array(c, value, &step, rest, &here);
    } else if (!step.array && value->type == ECOI_JSON_OBJECT) {
        visit(c, value, rest, &here);
    } else {
        wrong_container(c, info->path, &step, value, step.array ? "an array" : "an object", &here);
    }
}

/* Objects of the base schema that hold a required field must be there, and from 1.3 on "software" too. */
static void check_required_objects(const checker *c) {
    const char *told = "";
    size_t told_length = 0;
    for (uint32_t i = 0; i < ECO_FIELD_COUNT; i++) {
        const eco_field_info *const info = eco_field_at((eco_field)i);
        const char *rest = info->path;
        const ecoi_step step = ecoi_step_next(&rest);
        const bool software = (eco_field)i == ECO_FIELD_SW_DRIVER && c->minor >= VERSION_MINOR_MAX;
        const bool base = info->required && strcmp(info->since, "1.0") == 0;
        if (step.last || step.array || !(base || software) ||
            (told_length == step.key_length && memcmp(told, step.key, told_length) == 0)) {
            continue;
        }
        told = step.key;
        told_length = step.key_length;
        const ecoi_json *const value =
            ecoi_json_member(c->report->doc.root, step.key, step.key_length);
        if (value == NULL || value->type == ECOI_JSON_NULL) {
            eco_findings_add(c->out, "%.*s: expected an object, found %s", (int)step.key_length,
                             step.key, value == NULL ? "no such key" : "null");
        }
    }
}

/* A report without a readable version is held against the newest. */
static int version_minor(const eco_report *report) {
    const char *version = NULL;
    static const char prefix[] = "ecocompute-energy/1.";
    if (eco_report_string(report, ECO_FIELD_SCHEMA_VERSION, ECO_TOP, &version) &&
        strncmp(version, prefix, sizeof prefix - 1) == 0) {
        const char *const minor = version + sizeof prefix - 1;
        if (minor[0] >= '0' && minor[0] <= '0' + VERSION_MINOR_MAX && minor[1] == '\0') {
            return minor[0] - '0';
        }
    }
    return VERSION_MINOR_MAX;
}

void eco_report_check_schema(const eco_report *report, eco_findings *out) {
    assert(report != NULL && out != NULL);
    const char *tool = NULL;
    checker c = {.report = report, .out = out, .minor = version_minor(report)};
    c.ours = eco_report_string(report, ECO_FIELD_SW_TOOL, ECO_TOP, &tool) &&
             strncmp(tool, "ecocompute", sizeof "ecocompute" - 1) == 0;
    check_required_objects(&c);
    const place top = {.text = ""};
    for (uint32_t i = 0; i < ECO_FIELD_COUNT && out->n < FINDINGS_MAX; i++) {
        c.row = (eco_field)i;
        if (row_applies(&c, eco_field_at(c.row))) {
            visit(&c, report->doc.root, eco_field_at(c.row)->path, &top);
        }
    }
    if (out->n >= FINDINGS_MAX) {
        eco_findings_add(out, "…: more findings are not listed");
    }
}
