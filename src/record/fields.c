/* SPDX-License-Identifier: Apache-2.0
 *
 * The field table of energy.json as data; the rows are in ecocompute/fields.def.
 */
#include "ecocompute/report.h"

#include <assert.h>

static const eco_field_info field_rows[ECO_FIELD_COUNT] = {
#define ECO_FIELD(id_, path_, type_, unit_, since_, required_, meaning_) \
    [ECO_FIELD_##id_] = {.id = #id_,                                     \
                         .path = path_,                                  \
                         .unit = unit_,                                  \
                         .since = since_,                                \
                         .meaning = meaning_,                            \
                         .type = type_,                                  \
                         .required = required_},
#include "ecocompute/fields.def"
#undef ECO_FIELD
};

const eco_field_info *eco_field_at(eco_field field) {
    assert((unsigned)field < ECO_FIELD_COUNT);
    return &field_rows[field];
}
