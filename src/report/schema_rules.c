/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of fields.def and rules.def as one answer a field and edition.
 */
#include "report/schema_rules.h"

#include <string.h>

static const struct object_rule {
    const char *key;
    int from;
} object_rules[] = {
#define ECO_RULE_OBJECT(key, from) {key, from},
#define ECO_RULE_REQUIRED(field, from)
#define ECO_RULE_NAMES(field, from, names)
#define ECO_RULE_AT_LEAST(field, from, others, minimum)
#define ECO_RULE_FALSE(field)
#include "report/rules.def"
#undef ECO_RULE_OBJECT
#undef ECO_RULE_REQUIRED
#undef ECO_RULE_NAMES
#undef ECO_RULE_AT_LEAST
#undef ECO_RULE_FALSE
};

typedef enum rule_kind { RULE_REQUIRED = 0, RULE_NAMES, RULE_AT_LEAST, RULE_FALSE } rule_kind;

static const struct value_rule {
    rule_kind kind;
    eco_field field;
    int from;
    bool others;
    double minimum;
    const char *names;
} value_rules[] = {
#define ECO_RULE_OBJECT(key, from)
#define ECO_RULE_REQUIRED(field_, from_) \
    {.kind = RULE_REQUIRED, .field = ECO_FIELD_##field_, .from = (from_)},
#define ECO_RULE_NAMES(field_, from_, names_) \
    {.kind = RULE_NAMES, .field = ECO_FIELD_##field_, .from = (from_), .names = (names_)},
#define ECO_RULE_AT_LEAST(field_, from_, others_, minimum_) \
    {.kind = RULE_AT_LEAST,                                 \
     .field = ECO_FIELD_##field_,                           \
     .from = (from_),                                       \
     .others = (others_),                                   \
     .minimum = (minimum_)},
#define ECO_RULE_FALSE(field_) {.kind = RULE_FALSE, .field = ECO_FIELD_##field_},
#include "report/rules.def"
#undef ECO_RULE_OBJECT
#undef ECO_RULE_REQUIRED
#undef ECO_RULE_NAMES
#undef ECO_RULE_AT_LEAST
#undef ECO_RULE_FALSE
};

enum { N_OBJECTS = sizeof object_rules / sizeof object_rules[0] };
enum { N_VALUES = sizeof value_rules / sizeof value_rules[0] };

const char *ecoi_schema_object(size_t index, int *from) {
    *from = index < N_OBJECTS ? object_rules[index].from : 0;
    return index < N_OBJECTS ? object_rules[index].key : NULL;
}

int ecoi_schema_required_from(eco_field field) {
    for (size_t i = 0; i < N_VALUES; i++) {
        if (value_rules[i].kind == RULE_REQUIRED && value_rules[i].field == field) {
            return value_rules[i].from;
        }
    }
    return 0;
}

/* "1.3+" and "1.4-draft" differ from a version in what follows it. */
static bool is_addition(const eco_field_info *info) {
    return info->since[3] == '+';
}

static bool is_draft(const eco_field_info *info) {
    return info->since[3] == '-';
}

static bool is_held(const eco_field_info *info, ecoi_edition edition) {
    const bool reached = info->since[2] - '0' <= edition.minor;
    return reached && !is_draft(info) && (edition.ours || !is_addition(info));
}

/* Amounts cannot be negative; differences, logarithms, percentages, times and temperatures can. */
static bool may_be_negative(eco_field field, const eco_field_info *info) {
    static const char *const amounts[] = {"J",   "mJ/token", "W",   "tokens/s", "Hz", "tokens",
                                          "1e9", "B",        "MHz", "GB/s",     "us", "ppl"};
    if (field == ECO_FIELD_AR_NET_MJ || field == ECO_FIELD_WL_SEED) {
        return true;
    }
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
        if (strcmp(info->unit, amounts[i]) == 0) {
            return false;
        }
    }
    return info->type != ECO_TYPE_INTEGER;
}

/* The published schema has null for what could not be read; a count that it requires is always known. */
static bool may_be_null(const eco_field_info *info) {
    switch (info->type) {
    case ECO_TYPE_STRING:
    case ECO_TYPE_BOOLEAN:
        return !info->required;
    case ECO_TYPE_NUMBER:
        return true;
    case ECO_TYPE_INTEGER:
        return !info->required || is_addition(info);
    case ECO_TYPE_STRINGS:
    case ECO_TYPE_STRING_MAP:
        return false;
    }
    return false;
}

static void apply(const struct value_rule *row, ecoi_edition edition, ecoi_field_rule *rule) {
    const bool from_here = row->from <= edition.minor;
    switch (row->kind) {
    case RULE_REQUIRED:
        rule->required = rule->required && from_here;
        return;
    case RULE_NAMES:
        rule->names = from_here ? row->names : NULL;
        return;
    case RULE_AT_LEAST:
        if (from_here && !(row->others && edition.ours)) {
            rule->bounded = true;
            rule->at_least = row->minimum;
        }
        return;
    case RULE_FALSE:
        rule->always_false = true;
        rule->null_ok = false;
        return;
    }
}

ecoi_field_rule ecoi_schema_rule(eco_field field, ecoi_edition edition) {
    const eco_field_info *const info = eco_field_at(field);
    ecoi_field_rule rule = {
        .held = is_held(info, edition),
        .described =
            is_held(info, edition) || (is_draft(info) && edition.minor == ECOI_SCHEMA_MINOR_MAX),
        .required = info->required,
        .null_ok = may_be_null(info),
        .bounded = !may_be_negative(field, info),
    };
    for (size_t i = 0; i < N_VALUES; i++) {
        if (value_rules[i].field == field) {
            apply(&value_rules[i], edition, &rule);
        }
    }
    return rule;
}
