/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of a request, by a table.
 */
#include "jobs/job.h"

#include "ecocompute/arch.h"

#include <assert.h>
#include <string.h>

static const char *kind_text(ecoi_member_kind kind) {
    static const char *const texts[] = {[ECOI_MEMBER_NAME] = "a short text",
                                        [ECOI_MEMBER_TEXT] = "a text",
                                        [ECOI_MEMBER_NUMBER] = "a number",
                                        [ECOI_MEMBER_BOOL] = "true or false",
                                        [ECOI_MEMBER_LIST] = "a list"};
    return texts[kind];
}

static bool is_kind(const ecoi_json *value, ecoi_member_kind kind) {
    switch (kind) {
    case ECOI_MEMBER_NAME:
        return value->type == ECOI_JSON_STRING && value->text_length <= ECOI_JOB_NAME_MAX &&
               memchr(value->text, '\0', value->text_length) == NULL;
    case ECOI_MEMBER_TEXT:
        return value->type == ECOI_JSON_STRING;
    case ECOI_MEMBER_NUMBER:
        return value->type == ECOI_JSON_NUMBER;
    case ECOI_MEMBER_BOOL:
        return value->type == ECOI_JSON_BOOL;
    case ECOI_MEMBER_LIST:
        return value->type == ECOI_JSON_ARRAY;
    }
    return false;
}

static eco_status refuse_unknown(const ecoi_json *member, const char *where,
                                 const ecoi_member *members, size_t n, eco_error *err) {
    const char *keys[ECOI_MEMBERS_MAX];
    for (size_t i = 0; i < n; i++) {
        keys[i] = members[i].key;
    }
    const char *const nearest = eco_nearest_name(member->key, keys, n);
    return eco_error_set(err, ECO_E_INVALID, 0, "%s: unknown member '%.60s'%s%s%s", where,
                         member->key, nearest != NULL ? ", did you mean '" : "",
                         nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

eco_status ecoi_members_read(const ecoi_json *object, const char *where, const ecoi_member *members,
                             size_t n, const ecoi_json **values, eco_error *err) {
    assert(n <= ECOI_MEMBERS_MAX);
    for (size_t i = 0; i < n; i++) {
        values[i] = NULL;
    }
    if (object->type != ECOI_JSON_OBJECT) {
        return eco_error_set(err, ECO_E_INVALID, 0, "%s: an object is expected, found %s", where,
                             ecoi_json_type_name(object->type));
    }
    for (const ecoi_json *member = object->first; member != NULL; member = member->next) {
        size_t i = 0;
        while (i < n && (strlen(members[i].key) != member->key_length ||
                         memcmp(members[i].key, member->key, member->key_length) != 0)) {
            i++;
        }
        if (i == n) {
            return refuse_unknown(member, where, members, n, err);
        }
        if (member->type == ECOI_JSON_NULL) {
            continue;
        }
        if (!is_kind(member, members[i].kind)) {
            return eco_error_set(err, ECO_E_INVALID, 0, "%s: %s: %s is expected", where,
                                 members[i].key, kind_text(members[i].kind));
        }
        values[i] = member;
    }
    for (size_t i = 0; i < n; i++) {
        if (members[i].required && values[i] == NULL) {
            return eco_error_set(err, ECO_E_INVALID, 0, "%s: %s is missing: %s is expected", where,
                                 members[i].key, kind_text(members[i].kind));
        }
    }
    return ECO_OK;
}

const char *ecoi_member_name(const ecoi_json *value, const char *fallback) {
    return value != NULL ? value->text : fallback;
}

eco_status ecoi_read_rules(const ecoi_json *value, const char *job, eco_rules fallback,
                           eco_rules *out, eco_error *err) {
    *out = fallback;
    if (value != NULL && !eco_rules_parse(value->text, out)) {
        return eco_error_set(err, ECO_E_INVALID, 0,
                             "%s: rules: unknown '%.60s'; expected current or published-1.1", job,
                             value->text);
    }
    return ECO_OK;
}
