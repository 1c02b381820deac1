/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a measured change within the published curve's band? A regression check of a machine or a software stack, not a test
 * of the curve: the band is a multiple of the curve's residual and no confidence interval. Pure.
 */
#ifndef ECOCOMPUTE_CHECK_H
#define ECOCOMPUTE_CHECK_H

#include "ecocompute/curve.h"
#include "ecocompute/report.h"
#include "ecocompute/rules.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a report says that the check needs; texts live as long as the report, NULL where it does not say. */
typedef struct eco_check_subject {
    const char *basis, *source, *arch, *gpu, *precision;
    const char *engine;  /* NULL in the published reports: transformers with bitsandbytes */
    const char *window;  /* NULL in the published reports up to 1.2: the whole generation */
    const char *invalid; /* code of the first warning that bars the report from comparison */
    eco_reading params_b, delta_pct, batch;
    eco_reading quant_mj, fp16_mj; /* the energies behind delta_pct, where the report has both */
} eco_check_subject;
eco_check_subject eco_check_subject_of(const eco_report *report);

typedef enum eco_check_result {
    ECO_CHECK_WITHIN = 0,
    ECO_CHECK_OUTSIDE,
    ECO_CHECK_NOT_GRADABLE
} eco_check_result;

typedef struct eco_check_options {
    eco_rules rules;
    const eco_curve_set *curves; /* NULL: eco_curves_published() */
    double k;           /* band half-width in sigmas, above 0; 2 is the published default */
    bool across_stacks; /* grade a report of another engine or window, and say so */
} eco_check_options;

typedef struct eco_check {
    eco_check_result result;
    char reason[200]; /* of NOT_GRADABLE: one line that names the field */
    const eco_curve *curve;
    bool borrowed;
    double delta_pct;           /* measured */
    double curve_pct;           /* what the curve says at that size, not capped */
    double reference_pct;       /* mean of the anchors of that size, else curve_pct */
    double sigma_pct, band_pct; /* band = k sigma */
    size_t n_anchors;           /* of that size */
    bool across_stacks;         /* graded although engine or window differ */
    char stacks[160];           /* how they differ */
} eco_check;

eco_check eco_check_make(const eco_check_subject *subject, const eco_check_options *options);
const char *
eco_check_result_name(eco_check_result result); /* "within", "outside", "not_gradable" */
ECO_NODISCARD eco_status eco_check_json(const eco_check *check, eco_text *out, eco_error *err);
void eco_check_text(const eco_check *check, eco_text *out); /* for a person */

#ifdef __cplusplus
}
#endif
#endif
