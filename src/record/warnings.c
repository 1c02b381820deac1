/* SPDX-License-Identifier: Apache-2.0
 *
 * The coded warnings as data; the rows are in ecocompute/warnings.def.
 */
#include "ecocompute/report.h"

#include <assert.h>

static const eco_warning_info warning_rows[ECO_WARNING_COUNT] = {
#define ECO_WARNING(id_, code_, invalidates_, text_, advice_) \
    [ECO_WARNING_##                                           \
        id_] = {.code = code_, .text = text_, .advice = advice_, .invalidates = invalidates_},
#include "ecocompute/warnings.def"
#undef ECO_WARNING
};

const eco_warning_info *eco_warning_at(eco_warning warning) {
    assert((unsigned)warning < ECO_WARNING_COUNT);
    return &warning_rows[warning];
}
