/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the jobs: the members of a request, by a table. Values of a request live as long as
 * it. Answers are written by the writers that the command line uses too, or built with model/json_maker.h.
 */
#ifndef ECOI_JOB_H
#define ECOI_JOB_H

#include "core/json.h"
#include "ecocompute/jobs.h"
#include "ecocompute/rules.h"

#include <stdbool.h>
#include <stddef.h>

enum { ECOI_MEMBERS_MAX = 16, ECOI_JOB_NAME_MAX = 200 };

typedef enum ecoi_member_kind {
    ECOI_MEMBER_NAME = 0, /* a short string without NUL */
    ECOI_MEMBER_TEXT,     /* a document, of any length */
    ECOI_MEMBER_NUMBER,
    ECOI_MEMBER_BOOL,
    ECOI_MEMBER_LIST
} ecoi_member_kind;

typedef struct ecoi_member {
    const char *key;
    ecoi_member_kind kind;
    bool required;
} ecoi_member;

/* values[i] = the member of members[i], NULL where an optional one is missing or null. ECO_E_INVALID "where: member: …":
 * not an object, a required member missing, a wrong type, a member that is in no row (with the nearest name). */
ECO_NODISCARD eco_status ecoi_members_read(const ecoi_json *object, const char *where,
                                           const ecoi_member *members, size_t n,
                                           const ecoi_json **values, eco_error *err);

/* `text`, or `fallback` where the value is NULL. */
const char *ecoi_member_name(const ecoi_json *value, const char *fallback);

/* `fallback` where the value is NULL; ECO_E_INVALID for a name that is not known. */
ECO_NODISCARD eco_status ecoi_read_rules(const ecoi_json *value, const char *job,
                                         eco_rules fallback, eco_rules *out, eco_error *err);

#define ECO_JOB(name, summary)                                                        \
    ECO_NODISCARD eco_status ecoi_job_##name(const ecoi_json *request, eco_text *out, \
                                             eco_error *err);
#include "jobs/jobs.def"
#undef ECO_JOB

#endif
