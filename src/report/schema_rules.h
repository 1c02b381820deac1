/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules of energy.json, field by field, for each edition of the schema: one answer for the check in C, the JSON
 * Schema file and its page in docs. Made from fields.def and rules.def. Pure.
 */
#ifndef ECOI_SCHEMA_RULES_H
#define ECOI_SCHEMA_RULES_H

#include "ecocompute/report.h"

enum { ECOI_SCHEMA_MINOR_MAX = 3 };

/* A report is held against its own version, and this program's own reports against its additions too. */
typedef struct ecoi_edition {
    int minor; /* of schema_version "ecocompute-energy/1.<minor>" */
    bool ours; /* software.tool begins with ECOI_SCHEMA_TOOL */
} ecoi_edition;

#define ECOI_SCHEMA_TOOL "ecocompute"
#define ECOI_SCHEMA_PREFIX "ecocompute-energy/1."

/* Integers beyond are refused: no program reads them as integers. */
#define ECOI_SCHEMA_INTEGER_MAX 9223372036854775808.0

typedef struct ecoi_field_rule {
    bool held;         /* the edition has the field; if not, nothing below counts */
    bool described;    /* the field has a meaning here, held or not */
    bool required;     /* the key must be there whenever its object is */
    bool null_ok;      /* null may stand for "not read" */
    bool always_false; /* of a boolean */
    bool bounded;      /* of numbers: at least `at_least` */
    double at_least;
    const char *names; /* of strings: one of these, separated by '|'; NULL = any; static */
} ecoi_field_rule;

ecoi_field_rule ecoi_schema_rule(eco_field field, ecoi_edition edition);

/* Keys of the objects that must be there; NULL behind the last. *from is the minor version that began it. */
const char *ecoi_schema_object(size_t index, int *from);

/* Minor version from which a field marked as required is so. */
int ecoi_schema_required_from(eco_field field);

#endif
