/* SPDX-License-Identifier: Apache-2.0
 *
 * A report inside: the JSON document, the first failure of a setter, and walking the paths of the field table.
 */
#ifndef ECOI_REPORT_DOC_H
#define ECOI_REPORT_DOC_H

#include "core/json.h"
#include "ecocompute/report.h"

struct eco_report {
    ecoi_json_doc doc;
    eco_status failure; /* of the first setter that failed; sticky */
    char failure_message[ECO_ERROR_MESSAGE_MAX];
};

/* One step of a path: "arms[]" is key "arms", array true. */
typedef struct ecoi_step {
    const char *key;
    size_t key_length;
    bool array; /* the key holds an array of objects */
    bool last;  /* the key holds the field itself */
} ecoi_step;

/* The step at `*path`, which then points behind it and its dot. */
ecoi_step ecoi_step_next(const char **path);

/* Place of the first table row whose path is, or goes through, prefix + key; ECO_FIELD_COUNT if there is none.
 * `prefix` is empty or ends with a dot. */
uint32_t ecoi_field_rank(const char *prefix, size_t prefix_length, const char *key,
                         size_t key_length);

/* The value of a field, NULL if something on its path is missing. */
ecoi_json *ecoi_report_find(const eco_report *report, eco_field field, eco_at at);

#endif
