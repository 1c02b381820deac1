/* SPDX-License-Identifier: Apache-2.0
 *
 * Paired log-ratios: mean, interval, verdict. An arm's energy is the geometric mean over its blocks, so the printed
 * percentage follows from the printed energies.
 */
#include "ecocompute/stats.h"

#include <math.h>

eco_mean eco_mean_of(const double *values, size_t n) {
    eco_mean out = {.n = (uint32_t)n};
    if (n == 0) {
        return out;
    }
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    out.mean = sum / (double)n;
    if (n < 2) {
        return out;
    }
    double squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        squares += (values[i] - out.mean) * (values[i] - out.mean);
    }
    out.sd = sqrt(squares / (double)(n - 1));
    out.half_width = eco_student_t95((uint32_t)n - 1) * out.sd / sqrt((double)n);
    return out;
}

double eco_geometric_mean(const double *values, size_t n) {
    double logs = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!(values[i] > 0.0)) {
            return 0.0;
        }
        logs += log(values[i]);
    }
    return n == 0 ? 0.0 : exp(logs / (double)n);
}

double eco_pct_of_log(double log_ratio) {
    return 100.0 * expm1(log_ratio);
}

eco_verdict eco_verdict_of(const eco_mean *log_ratio, double margin_pct) {
    if (log_ratio->n == 0) {
        return ECO_VERDICT_NONE;
    }
    if (log_ratio->n < 2) {
        return ECO_VERDICT_INCONCLUSIVE;
    }
    const double lo_pct = eco_pct_of_log(log_ratio->mean - log_ratio->half_width);
    const double hi_pct = eco_pct_of_log(log_ratio->mean + log_ratio->half_width);
    if (lo_pct > -margin_pct && hi_pct < margin_pct) {
        return ECO_VERDICT_NO_DIFFERENCE;
    }
    if (hi_pct < 0.0) {
        return ECO_VERDICT_SAVES;
    }
    return lo_pct > 0.0 ? ECO_VERDICT_COSTS : ECO_VERDICT_INCONCLUSIVE;
}

const char *eco_verdict_name(eco_verdict verdict) {
    static const char *const names[] = {
        [ECO_VERDICT_NONE] = "none",
        [ECO_VERDICT_NO_DIFFERENCE] = "no difference",
        [ECO_VERDICT_SAVES] = "saves",
        [ECO_VERDICT_COSTS] = "costs",
        [ECO_VERDICT_INCONCLUSIVE] = "inconclusive",
    };
    return names[verdict];
}

double eco_drift_of(const double *y, size_t n) {
    if (n < 3) {
        return 0.0;
    }
    const double middle = (double)(n - 1) / 2.0;
    double xy = 0.0;
    double xx = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double x = (double)i - middle;
        xy += x * y[i];
        xx += x * x;
    }
    return xy / xx * (double)(n - 1);
}
