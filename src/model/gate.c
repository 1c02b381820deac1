/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate: keep FP16 below a size, quantize above it. The published one has a threshold a class of its own, which is not
 * where the published curve crosses zero (ada 3.9 against 3.728, blackwell 5.2 against 4.751, turing 3.2 against 2.126, and
 * 3.7 for ampere, whose curve never does); the current one is the crossover itself.
 */
#include "ecocompute/estimate.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *arch;
    double threshold_b;
} published_thresholds[] = {{"ada", 3.9}, {"blackwell", 5.2}, {"turing", 3.2}, {"ampere", 3.7}};
static const double PUBLISHED_OTHER_B = 4.0;

const char *eco_gate_zone_name(eco_gate_zone zone) {
    switch (zone) {
    case ECO_GATE_LOCK_FP16:
        return "lock_fp16";
    case ECO_GATE_ALLOW_QUANT:
        return "allow_quant";
    case ECO_GATE_UNDECIDED:
        break;
    }
    return "undecided";
}

static double axis_max(double threshold_b, double params_b) {
    return fmax(fmax(2.5 * threshold_b, 1.5 * params_b), 16);
}

eco_gate eco_gate_published(const char *arch, double params_b) {
    double threshold_b = PUBLISHED_OTHER_B;
    for (size_t i = 0; i < sizeof published_thresholds / sizeof published_thresholds[0]; i++) {
        if (strcmp(arch, published_thresholds[i].arch) == 0) {
            threshold_b = published_thresholds[i].threshold_b;
        }
    }
    return (eco_gate){.zone = params_b < threshold_b ? ECO_GATE_LOCK_FP16 : ECO_GATE_ALLOW_QUANT,
                      .threshold_b = eco_reading_of(threshold_b),
                      .axis_max_b = axis_max(threshold_b, params_b)};
}

eco_gate eco_gate_current(eco_reading crossover_b, double params_b,
                          eco_recommendation recommendation) {
    const bool has = eco_reading_present(crossover_b);
    eco_gate gate = {.zone = ECO_GATE_UNDECIDED,
                     .threshold_b = crossover_b,
                     .axis_max_b = axis_max(has ? crossover_b.value : 0, params_b)};
    /* The gate says what the verdict says; the crossover, which only curves have, is told beside it. */
    if (recommendation == ECO_RECOMMEND_KEEP_FP16) {
        gate.zone = ECO_GATE_LOCK_FP16;
    } else if (recommendation == ECO_RECOMMEND_QUANTIZE) {
        gate.zone = ECO_GATE_ALLOW_QUANT;
    }
    return gate;
}
