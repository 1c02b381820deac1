/* SPDX-License-Identifier: Apache-2.0
 *
 * What the regression check needs of a report.
 */
#include "ecocompute/check.h"

static const char *text_of(const eco_report *report, eco_field field) {
    const char *text = NULL;
    return eco_report_string(report, field, ECO_TOP, &text) && text[0] != '\0' ? text : NULL;
}

static eco_reading number_of(const eco_report *report, eco_field field) {
    double value = 0;
    return eco_report_number(report, field, ECO_TOP, &value)
               ? eco_reading_of(value)
               : eco_reading_absent(ECO_ABSENT_NOT_READ);
}

eco_check_subject eco_check_subject_of(const eco_report *report) {
    eco_check_subject s = {.basis = text_of(report, ECO_FIELD_RE_BASIS),
                           .source = text_of(report, ECO_FIELD_SOURCE),
                           .arch = text_of(report, ECO_FIELD_SUT_GPU_ARCH),
                           .gpu = text_of(report, ECO_FIELD_SUT_GPU),
                           .precision = text_of(report, ECO_FIELD_WL_PRECISION),
                           .engine = text_of(report, ECO_FIELD_WL_ENGINE),
                           .window = text_of(report, ECO_FIELD_ME_WINDOW),
                           .params_b = number_of(report, ECO_FIELD_WL_PARAMS_B),
                           .delta_pct = number_of(report, ECO_FIELD_RE_DELTA),
                           .batch = number_of(report, ECO_FIELD_WL_BATCH),
                           .quant_mj = number_of(report, ECO_FIELD_RE_MJ),
                           .fp16_mj = number_of(report, ECO_FIELD_RE_FP16_MJ)};
    for (eco_warning w = 0; w < ECO_WARNING_COUNT && s.invalid == NULL; w++) {
        const eco_warning_info *info = eco_warning_at(w);
        if (info->invalidates && eco_report_has_warning(report, w)) {
            s.invalid = info->code;
        }
    }
    return s;
}
