/* SPDX-License-Identifier: Apache-2.0
 *
 * Percentile bootstrap of a mean (Efron 1979): the values are drawn with replacement, again and again, and the middle 95 %
 * of the means is the interval. It assumes no shape, and with few values is too short; so it stands beside Student's t,
 * never in its place.
 */
#include "core/alloc.h"
#include "core/rng.h"
#include "ecocompute/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare_means(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Straight line between the two neighbours of a share of the sorted values. */
static double quantile(const double *sorted, size_t n, double share) {
    const double place = share * (double)(n - 1);
    const size_t i = (size_t)place;
    return i + 1 < n ? sorted[i] + (place - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

bool eco_bootstrap95(const double *values, size_t n, uint64_t seed, double *lo, double *hi) {
    if (n < ECO_BOOTSTRAP_MIN || n > UINT32_MAX) {
        return false;
    }
    double *means = ecoi_malloc(ECO_BOOTSTRAP_RESAMPLES * sizeof *means);
    if (means == NULL) {
        return false;
    }
    uint64_t state = seed;
    for (size_t r = 0; r < ECO_BOOTSTRAP_RESAMPLES; r++) {
        double sum = 0.0;
        for (size_t i = 0; i < n; i++) {
            sum += values[ecoi_rng_below(&state, (uint32_t)n)];
        }
        means[r] = sum / (double)n;
    }
    qsort(means, ECO_BOOTSTRAP_RESAMPLES, sizeof *means, compare_means);
    *lo = quantile(means, ECO_BOOTSTRAP_RESAMPLES, 0.025);
    *hi = quantile(means, ECO_BOOTSTRAP_RESAMPLES, 0.975);
    ecoi_free(means);
    return true;
}
