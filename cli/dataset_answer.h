/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer of the published dataset where nothing could be measured: FP16 energy through the published anchors of a
 * class, the change from its published curve, and the basis that keeps both apart from a measurement.
 */
#ifndef ECOCOMPUTE_DATASET_ANSWER_H
#define ECOCOMPUTE_DATASET_ANSWER_H

#include "cli.h"

#include "ecocompute/meter.h"
#include "ecocompute/record.h"

typedef struct dataset_question {
    const char *arch;      /* a class, a card's name, "unknown" */
    const char *precision; /* FP16, NF4, INT8; any other has no published curve */
    double params_b;       /* 0 = not known */
    uint32_t batch;
} dataset_question;

typedef struct dataset_answer {
    eco_basis basis;               /* interpolated, extrapolated or unavailable */
    double fp16_mj, mj, delta_pct; /* mJ/token, mJ/token, %; nothing where basis is unavailable */
    char note[512];                /* what it was made of, or why there is none */
} dataset_answer;

dataset_answer dataset_ask(const dataset_question *question);

/* The class whose curves answer for `arch`, a class or a card; NULL if none does. */
const char *dataset_curve_class(const char *arch);

/* The card CUDA would use, as NVML names it; else the first one NVML has. Name "" = none was seen. */
eco_meter_info dataset_card(void);
/* `given`, or for "auto" the class of `card` by its capability and name; "unknown" where nothing tells. */
const char *dataset_arch(const char *given, const eco_meter_info *card);

#endif
