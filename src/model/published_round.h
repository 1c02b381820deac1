/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounding as the published release prints: JavaScript's Number(x.toFixed(decimals)). The exact value of the double is
 * rounded and an exact half goes away from zero (0.25 → 0.3, −0.25 → −0.3), where Python's round takes the even digit. A
 * zero has no sign; what is not finite stays as it is.
 */
#ifndef ECOI_PUBLISHED_ROUND_H
#define ECOI_PUBLISHED_ROUND_H

#include <math.h>
#include <stdint.h>

/* 0 ≤ decimals ≤ 6. */
double ecoi_published_round_exactly(double value, int decimals);

/* A fast path that is sure of its answer, as a grid of a million is rounded number by number: the product is off by less
 * than 1e-4, so only what is nearer than 1e-3 to a half needs the exact one. */
static inline double ecoi_published_round(double value, int decimals) {
    static const double powers[] = {1, 10, 100, 1000, 1e4, 1e5, 1e6};
    const double scaled = fabs(value) * powers[decimals];
    if (scaled < 1e12) { /* false for NaN */
        const double below = (double)(int64_t)scaled;
        const double part = scaled - below;
        if (part < 0.499 || part > 0.501) {
            const double rounded = (part > 0.5 ? below + 1 : below) / powers[decimals];
            return rounded > 0 ? copysign(rounded, value) : 0;
        }
    }
    return ecoi_published_round_exactly(value, decimals);
}
/* JavaScript's Math.round: to the nearest whole number, a half up (2.5 → 3, −2.5 → −2). */
double ecoi_published_round_whole(double value);

#endif
