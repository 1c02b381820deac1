/* SPDX-License-Identifier: Apache-2.0
 *
 * A derived number against the printed one. A printed number may differ by its own rounding only.
 */
#include "report/recompute.h"

#include "core/num.h"

#include <math.h>
#include <string.h>

void ecoi_field_name(eco_field field, eco_at at, char out[ECOI_FIELD_NAME_BYTES]) {
    const char *path = eco_field_at(field)->path;
    uint32_t index = at.i;
    size_t n = 0;
    for (; *path != '\0' && n + ECOI_NUM_MAX < ECOI_FIELD_NAME_BYTES; path++) {
        out[n++] = *path;
        if (*path == '[') {
            char digits[ECOI_NUM_MAX];
            const size_t n_digits = ecoi_num_write_u64(index, digits);
            memcpy(out + n, digits, n_digits);
            n += n_digits;
            index = at.j;
        }
    }
    out[n] = '\0';
}

double ecoi_compare_tolerance(double derived, int decimals) {
    return 0.5 * pow(10.0, -decimals) * (1.0 + 1e-6) + 1e-6 * fabs(derived);
}

void ecoi_compare_within(const ecoi_recomputation *r, eco_field field, eco_at at, double derived,
                         int decimals, double tolerance) {
    char name[ECOI_FIELD_NAME_BYTES], shown[ECOI_NUM_FIXED_MAX];
    ecoi_field_name(field, at, name);
    if (!isfinite(derived)) {
        eco_findings_add(r->out, "%s: cannot be re-derived, its inputs have no finite result",
                         name);
        return;
    }
    ecoi_num_fixed(derived, decimals + 3, shown);
    const ecoi_json *const printed = ecoi_report_find(r->report, field, at);
    if (printed == NULL || printed->type != ECOI_JSON_NUMBER) {
        eco_findings_add(r->out, "%s: printed nothing, re-derived %s", name, shown);
    } else if (!(fabs(printed->number - derived) <= tolerance)) {
        eco_findings_add(r->out, "%s: printed %.40s, re-derived %s", name, printed->text, shown);
    }
}

void ecoi_compare(const ecoi_recomputation *r, eco_field field, eco_at at, double derived,
                  int decimals) {
    ecoi_compare_within(r, field, at, derived, decimals, ecoi_compare_tolerance(derived, decimals));
}

void ecoi_compare_given(const ecoi_recomputation *r, eco_field field, eco_at at, double derived,
                        int decimals, double slack) {
    if (ecoi_report_find(r->report, field, at) != NULL) {
        ecoi_compare_within(r, field, at, derived, decimals,
                            ecoi_compare_tolerance(derived, decimals) + slack);
    }
}

void ecoi_compare_positive(const ecoi_recomputation *r, eco_field field, eco_at at, double derived,
                           int decimals) {
    double printed = 0;
    if (derived > 0.0 && isfinite(derived)) {
        ecoi_compare(r, field, at, derived, decimals);
    } else if (eco_report_number(r->report, field, at, &printed)) {
        char name[ECOI_FIELD_NAME_BYTES];
        ecoi_field_name(field, at, name);
        eco_findings_add(r->out, "%s: printed a number, the trace has none", name);
    }
}

void ecoi_compare_optional(const ecoi_recomputation *r, eco_field field, eco_at at, double derived,
                           int decimals) {
    double printed = 0;
    if (eco_report_number(r->report, field, at, &printed)) {
        ecoi_compare_positive(r, field, at, derived, decimals);
    }
}

void ecoi_compare_reading(const ecoi_recomputation *r, eco_field field, eco_at at,
                          eco_reading derived) {
    double printed = 0;
    if (eco_report_number(r->report, field, at, &printed)) {
        if (eco_reading_present(derived)) {
            ecoi_compare(r, field, at, derived.value, ECOI_TEMP_DECIMALS);
        } else {
            ecoi_compare_positive(r, field, at, 0.0, ECOI_TEMP_DECIMALS);
        }
    }
}

void ecoi_compare_count(const ecoi_recomputation *r, eco_field field, eco_at at, uint64_t derived) {
    int64_t printed = 0;
    if (!eco_report_integer(r->report, field, at, &printed) || printed < 0 ||
        (uint64_t)printed != derived) {
        char name[ECOI_FIELD_NAME_BYTES];
        ecoi_field_name(field, at, name);
        eco_findings_add(r->out, "%s: printed %lld, re-derived %llu", name, (long long)printed,
                         (unsigned long long)derived);
    }
}

bool ecoi_same_string(const eco_report *report, eco_field a, eco_at at_a, eco_field b,
                      eco_at at_b) {
    const char *text_a = NULL, *text_b = NULL;
    return eco_report_string(report, a, at_a, &text_a) &&
           eco_report_string(report, b, at_b, &text_b) && strcmp(text_a, text_b) == 0;
}

bool ecoi_string_is(const eco_report *report, eco_field field, eco_at at, const char *text) {
    const char *found = NULL;
    return eco_report_string(report, field, at, &found) && strcmp(found, text) == 0;
}
