/* SPDX-License-Identifier: Apache-2.0
 *
 * IEEE 754 half precision as uint16_t, for compilers without _Float16: exact to float, and to half
 * by rounding to the nearest, ties to even. Freestanding (stdint only), so that any target can use
 * it; hardware conversions agree with it on every value but the payload of a NaN.
 */
#ifndef ECOCOMPUTE_KERNELS_HALF_H
#define ECOCOMPUTE_KERNELS_HALF_H

#include <stdint.h>

typedef union half_bits {
    float value;
    uint32_t bits;
} half_bits;

static inline float half_to_float(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t exponent = (half >> 10) & 0x1fu;
    const uint32_t fraction = half & 0x3ffu;
    half_bits out;
    if (exponent == 0) { /* zero or subnormal: fraction · 2^-24, exact in float */
        out.value = (float)fraction * 0x1p-24f;
        out.bits |= sign;
    } else if (exponent == 31) { /* infinity or NaN */
        out.bits = sign | 0x7f800000u | (fraction << 13);
    } else {
        out.bits = sign | ((exponent + 112u) << 23) | (fraction << 13);
    }
    return out.value;
}

static inline uint16_t half_from_float(float value) {
    half_bits in;
    in.value = value;
    const uint32_t sign = (in.bits >> 16) & 0x8000u;
    uint32_t x = in.bits & 0x7fffffffu;
    if (x > 0x7f800000u) { /* NaN stays one, quiet */
        return (uint16_t)(sign | 0x7e00u | ((x >> 13) & 0x3ffu));
    }
    if (x >= 0x477ff000u) { /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (x >= 0x38800000u) { /* normal: rebias, then add half a unit less the tie to even */
        x -= 0x38000000u;
        x += 0xfffu + ((x >> 13) & 1u);
        return (uint16_t)(sign | (x >> 13));
    }
    if (x < 0x33000000u) { /* below 2^-25 */
        return (uint16_t)sign;
    }
    const uint32_t shift = 126u - (x >> 23); /* 14 … 24: to units of 2^-24 */
    const uint32_t mantissa = (x & 0x7fffffu) | 0x800000u;
    const uint32_t rest = mantissa & ((1u << shift) - 1u);
    const uint32_t middle = 1u << (shift - 1u);
    uint32_t units = mantissa >> shift;
    units += (rest > middle || (rest == middle && (units & 1u) != 0)) ? 1u : 0u;
    return (uint16_t)(sign | units);
}

/* The value a half keeps of a float. */
static inline float half_round(float value) {
    return half_to_float(half_from_float(value));
}

#endif
