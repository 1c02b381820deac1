/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a report of the form its own version of the schema says? Required keys, types, the few closed lists of names, and
 * signs, as schema_rules.c answers them from the tables. Keys the tables do not know are allowed. Rows of this project's
 * additions ("1.3+") are held only against reports that name this program as their tool, since in others such a key may
 * mean something else. Null stands for "not read" where the rule of the field allows it.
 */
#include "report/report_doc.h"
#include "report/schema_rules.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATH_MAX_BYTES = 192, FINDINGS_MAX = 200, SHOWN_MAX = 40 };

typedef struct checker {
    const eco_report *report;
    eco_findings *out;
    ecoi_edition edition;
    eco_field row;
    ecoi_field_rule rule; /* of `row` */
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
    case ECO_TYPE_STRING_MAP:
        return "an object of strings";
    }
    return "nothing";
}

static bool all_strings(const ecoi_json *container) {
    for (const ecoi_json *value = container->first; value != NULL; value = value->next) {
        if (value->type != ECOI_JSON_STRING) {
            return false;
        }
    }
    return true;
}

/* JavaScript reads every number as a double, so that is what a whole number is judged by. */
static bool is_whole(const ecoi_json *value) {
    return value->type == ECOI_JSON_NUMBER && value->number == floor(value->number) &&
           fabs(value->number) <= ECOI_SCHEMA_INTEGER_MAX;
}

static bool type_fits(const checker *c, const ecoi_json *value) {
    if (value->type == ECOI_JSON_NULL) {
        return c->rule.null_ok;
    }
    switch (eco_field_at(c->row)->type) {
    case ECO_TYPE_STRING:
        return value->type == ECOI_JSON_STRING;
    case ECO_TYPE_NUMBER:
        return value->type == ECOI_JSON_NUMBER;
    case ECO_TYPE_INTEGER:
        return is_whole(value);
    case ECO_TYPE_BOOLEAN:
        return value->type == ECOI_JSON_BOOL;
    case ECO_TYPE_STRINGS:
        return value->type == ECOI_JSON_ARRAY && all_strings(value);
    case ECO_TYPE_STRING_MAP:
        return value->type == ECOI_JSON_OBJECT && all_strings(value);
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

static void check_value(const checker *c, const ecoi_json *value, const place *at) {
    char found[SHOWN_MAX * 2];
    describe(value, found, sizeof found);
    if (!type_fits(c, value)) {
        eco_findings_add(c->out, "%s: expected %s, found %s", at->text,
                         type_wanted(eco_field_at(c->row)->type), found);
    } else if (value->type == ECOI_JSON_STRING && c->rule.names != NULL &&
               !in_names(c->rule.names, value)) {
        eco_findings_add(c->out, "%s: expected one of %s, found %s", at->text, c->rule.names,
                         found);
    } else if (value->type == ECOI_JSON_NUMBER && c->rule.bounded &&
               value->number < c->rule.at_least) {
        eco_findings_add(c->out, "%s: expected %.0f or more, found %s", at->text, c->rule.at_least,
                         found);
    } else if (value->type == ECOI_JSON_BOOL && c->rule.always_false && value->boolean) {
        eco_findings_add(c->out, "%s: expected false, found true", at->text);
    }
}

/* ---- Paths ------------------------------------------------------------------------------------ */

/* The first row held in this edition whose path begins as the current one does, `length` bytes long. */
static eco_field first_through(const checker *c, const char *path, size_t length) {
    uint32_t i = 0;
    for (; i < (uint32_t)c->row; i++) {
        const char *const other = eco_field_at((eco_field)i)->path;
        if (strncmp(other, path, length) == 0 && (other[length] == '.' || other[length] == '[') &&
            ecoi_schema_rule((eco_field)i, c->edition).held) {
            break;
        }
    }
    return (eco_field)i;
}

/* A container of the wrong type is told once, by the first row that goes through it. */
static void wrong_container(const checker *c, const ecoi_step *step, const ecoi_json *value,
                            const char *wanted, const place *at) {
    const char *const path = eco_field_at(c->row)->path;
    if (first_through(c, path, (size_t)(step->key - path) + step->key_length) == c->row) {
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
            wrong_container(c, step, value, "an object", &element);
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
        } else if (c->rule.required) {
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
        wrong_container(c, &step, value, step.array ? "an array" : "an object", &here);
    }
}

static void check_required_objects(const checker *c) {
    int from = 0;
    const char *key = NULL;
    for (size_t i = 0; (key = ecoi_schema_object(i, &from)) != NULL; i++) {
        const ecoi_json *const value = ecoi_json_member(c->report->doc.root, key, strlen(key));
        if (from <= c->edition.minor && (value == NULL || value->type == ECOI_JSON_NULL)) {
            eco_findings_add(c->out, "%s: expected an object, found %s", key,
                             value == NULL ? "no such key" : "null");
        }
    }
}

/* A report without a readable version is held against the newest. */
static int version_minor(const eco_report *report) {
    const char *version = NULL;
    static const char prefix[] = ECOI_SCHEMA_PREFIX;
    if (eco_report_string(report, ECO_FIELD_SCHEMA_VERSION, ECO_TOP, &version) &&
        strncmp(version, prefix, sizeof prefix - 1) == 0) {
        const char *const minor = version + sizeof prefix - 1;
        if (minor[0] >= '0' && minor[0] <= '0' + ECOI_SCHEMA_MINOR_MAX && minor[1] == '\0') {
            return minor[0] - '0';
        }
    }
    return ECOI_SCHEMA_MINOR_MAX;
}

static bool is_ours(const eco_report *report) {
    static const char own[] = ECOI_SCHEMA_TOOL;
    const ecoi_json *const tool = ecoi_report_find(report, ECO_FIELD_SW_TOOL, ECO_TOP);
    return tool != NULL && tool->type == ECOI_JSON_STRING && tool->text_length >= sizeof own - 1 &&
           memcmp(tool->text, own, sizeof own - 1) == 0;
}

void eco_report_check_schema(const eco_report *report, eco_findings *out) {
    assert(report != NULL && out != NULL);
    checker c = {.report = report, .out = out, .edition.minor = version_minor(report)};
    c.edition.ours = is_ours(report) && c.edition.minor == ECOI_SCHEMA_MINOR_MAX;
    check_required_objects(&c);
    const place top = {.text = ""};
    for (uint32_t i = 0; i < ECO_FIELD_COUNT && out->n < FINDINGS_MAX; i++) {
        c.row = (eco_field)i;
        c.rule = ecoi_schema_rule(c.row, c.edition);
        if (c.rule.held) {
            visit(&c, report->doc.root, eco_field_at(c.row)->path, &top);
        }
    }
    if (out->n >= FINDINGS_MAX) {
        eco_findings_add(out, "…: more findings are not listed");
    }
}
