/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports side by side, and which of these comparisons are sound. Two changes of energy may be compared when the reports
 * agree in software stack, window, thermal mode, locked clocks and power, and every field of the workload (the published
 * rule); what one of them does not record cannot be shown to agree. Energies per token, in joules, drift from day to day
 * and are compared only within one session on one card. Reports are untrusted. Pure.
 */
#ifndef ECOCOMPUTE_COMPARE_H
#define ECOCOMPUTE_COMPARE_H

#include "ecocompute/report.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ECO_COMPARE_MAX = 16 }; /* reports */

typedef enum eco_compare_result {
    ECO_COMPARE_SOUND = 0,
    ECO_COMPARE_NOTHING,  /* one of the two has no change of energy */
    ECO_COMPARE_NOT_SOUND /* worst last */
} eco_compare_result;
const char *
eco_compare_result_name(eco_compare_result result); /* "sound", "nothing", "not_sound" */

typedef struct eco_compare_options {
    bool across_stacks; /* another stack is told as a note and no reason against */
} eco_compare_options;

typedef struct eco_comparison {
    eco_compare_result result;
    eco_findings reasons;       /* "aspect: field: A's against B's"; none when sound */
    eco_findings notes;         /* what differs or is not known, and does not forbid */
    eco_reading difference_pct; /* vs_fp16_energy_pct of b minus a, percentage points */
    eco_reading half_width_pct; /* root of the sum of squares of both 95 % repeat half-widths;
                                    absent within one run, whose arms share their baseline */
    bool energies;              /* their mJ/token may be compared, too */
} eco_comparison;

/* ECO_E_NO_MEMORY. Free with eco_comparison_free. */
ECO_NODISCARD eco_status eco_compare_pair(const eco_report *a, const eco_report *b,
                                          const eco_compare_options *options, eco_comparison *out,
                                          eco_error *err);
void eco_comparison_free(eco_comparison *comparison);

typedef struct eco_compared {
    const eco_report *report;
    const char *name; /* of its file */
} eco_compared;

/* The table of 2 to ECO_COMPARE_MAX reports and each one against the first: for a person, and as JSON. *worst is the worst
 * result. */
ECO_NODISCARD eco_status eco_compare_text(const eco_compared *reports, size_t n,
                                          const eco_compare_options *options, eco_text *out,
                                          eco_compare_result *worst, eco_error *err);
ECO_NODISCARD eco_status eco_compare_json(const eco_compared *reports, size_t n,
                                          const eco_compare_options *options, eco_text *out,
                                          eco_compare_result *worst, eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
