/* SPDX-License-Identifier: Apache-2.0
 *
 * The exact rounding of core/num, with an exact half taken away from zero.
 */
#include "model/published_round.h"

#include "core/num.h"

#include <math.h>

/* value · 10^d is k + ½ exactly only for odd multiples of 2^-(d+1), since 2 · 10^d = 2^(d+1) · 5^d. */
static bool is_half(double value, int decimals) {
    const double twice = ldexp(fabs(value), decimals + 1);
    return twice < 0x1p53 && floor(twice) >= twice && fmod(twice, 2.0) > 0.5;
}

double ecoi_published_round_exactly(double value, int decimals) {
    if (!isfinite(value)) {
        return value;
    }
    if (is_half(value, decimals)) {
        value = nextafter(value, value > 0 ? (double)INFINITY : -(double)INFINITY);
    }
    return ecoi_num_round(value, decimals) + 0.0;
}

double ecoi_published_round_whole(double value) {
    const double below = floor(value);
    return value - below >= 0.5 ? below + 1 : below;
}
