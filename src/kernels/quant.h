/* SPDX-License-Identifier: Apache-2.0
 *
 * The weight formats to the bit (docs/formats.md), from FP32 values that are FP16 numbers.
 * Freestanding (stdint only) and bit-equal on host and GPU: built with -ffp-contract=off and IEEE
 * division, and written so that no product is followed by a sum, which the driver's compiler might
 * fuse. Where a format needs one (Q4_0, Q8_0), the caller passes the product, rounded.
 *
 * Sources: NF4 and NF4-DQ, Dettmers et al., QLoRA (2023), and bitsandbytes' tables; INT8, Dettmers
 * et al., LLM.int8() (2022); Q4_0 and Q8_0, ggml's quantize_row_*_ref; FP8, OCP 8-bit floating
 * point specification 1.0, E4M3.
 */
#ifndef ECOCOMPUTE_KERNELS_QUANT_H
#define ECOCOMPUTE_KERNELS_QUANT_H

#include <stdint.h>

enum {
    NF4_BLOCK = 64, /* weights that share an absmax */
    NF4_CODES = 16,
    NF4_ZERO = 7,        /* code of the value 0 */
    NF4_DQ_BLOCK = 256,  /* absmax values that share a second-level absmax */
    DYNAMIC_CODES = 256, /* of NF4-DQ's map */
    GGML_BLOCK = 32,     /* Q4_0, Q8_0 */
    Q4_0_ZERO = 8,       /* code of the value 0 */
    INT8_CODE_MAX = 127, /* INT8, W8A16, Q8_0 */
    FP8_CODE_NAN = 0x7f, /* with either sign; E4M3 has no infinities */
    FP8_CODE_MAX = 0x7e  /* 448 */
};

#define FP8_VALUE_MAX 448.0f
#define INT8_OUTLIER 6.0f /* activations of at least this magnitude stay FP16 */

typedef union quant_bits {
    float value;
    uint32_t bits;
} quant_bits;

static inline float quant_magnitude(float x) {
    quant_bits b = {.value = x};
    b.bits &= 0x7fffffffu;
    return b.value;
}

/* Nearest integer, ties to even; |x| < 2^22. The sum's last bit has the weight 1. */
static inline int32_t quant_nearest_even(float x) {
    const quant_bits b = {.value = x + 12582912.0f};
    return (int32_t)b.bits - 0x4b400000;
}

/* Nearest integer, ties away from zero, as roundf; |x| < 2^24. */
static inline int32_t quant_nearest_away(float x) {
    const int32_t whole = (int32_t)x;
    const float rest = x - (float)whole; /* exact */
    return whole + (int32_t)(rest >= 0.5f) - (int32_t)(rest <= -0.5f);
}

/* One over a scale, 0 for 0: a block of zeros stores zeros. */
static inline float quant_inverse(float scale) {
    return scale != 0.0f ? 1.0f / scale : 0.0f;
}

/* MARK: - BF16 */

static inline uint16_t bf16_encode(float x) {
    const quant_bits b = {.value = x};
    if ((b.bits & 0x7fffffffu) > 0x7f800000u) { /* NaN stays one, quiet */
        return (uint16_t)(b.bits >> 16 | 0x40u);
    }
    return (uint16_t)((b.bits + 0x7fffu + (b.bits >> 16 & 1u)) >> 16);
}

static inline float bf16_decode(uint16_t code) {
    const quant_bits b = {.bits = (uint32_t)code << 16};
    return b.value;
}

/* MARK: - NF4: blocks of 64 along a row, the last of a row may be shorter */

/* Values of codes 0 … 15, ascending; initialises an array in whatever address space suits. */
#define NF4_VALUES                                                                              \
    -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,                   \
        -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,              \
        0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f, \
        0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f

/* Index of the value nearest to x, |x| <= 1: the number of midpoints below x, so that a tie takes
 * the lower code. The midpoints are those of bitsandbytes, in FP32. */
static inline uint32_t nf4_encode(float x) {
    return (uint32_t)(x > -0.8480964004993439f) + (uint32_t)(x > -0.6106329262256622f) +
           (uint32_t)(x > -0.4599952697753906f) + (uint32_t)(x > -0.33967943489551544f) +
           (uint32_t)(x > -0.23460740596055984f) + (uint32_t)(x > -0.13791173323988914f) +
           (uint32_t)(x > -0.045525018125772476f) + (uint32_t)(x > 0.03979014977812767f) +
           (uint32_t)(x > 0.1202552504837513f) + (uint32_t)(x > 0.2035212516784668f) +
           (uint32_t)(x > 0.2920137718319893f) + (uint32_t)(x > 0.3893125355243683f) +
           (uint32_t)(x > 0.5016634166240692f) + (uint32_t)(x > 0.6427869200706482f) +
           (uint32_t)(x > 0.8614784181118011f);
}

/* Code of a weight in a block whose scale is quant_inverse(absmax). */
static inline uint32_t nf4_code(float weight, float inverse) {
    return nf4_encode(weight * inverse);
}

/* MARK: - INT8 and W8A16: one absmax a row of weights; INT8 also one a vector of activations */

/* weight' = code · absmax / 127. The product is exact for an FP16 weight. */
static inline int32_t int8_code(float weight, float absmax) {
    return absmax > 0.0f ? quant_nearest_even(weight * 127.0f / absmax) : 0;
}

/* MARK: - Q4_0 and Q8_0: blocks of 32 along a row, FP16 scale d */

/* `extreme` is the block's value of largest magnitude, the first of equals. What is stored is d
 * rounded to FP16; the codes come from the unrounded one, as in ggml. */
static inline float q4_0_scale(float extreme) {
    return extreme / -8.0f;
}

/* `ratio` = weight · quant_inverse(d), rounded to FP32; weight' = (code - 8) · d. The sum is not
 * negative: ratio lies in -8 … 8 but for rounding. */
static inline uint32_t q4_0_code(float ratio) {
    const float shifted = ratio + 8.5f;
    const int32_t code = (int32_t)shifted;
    return (uint32_t)(code > 15 ? 15 : code < 0 ? 0 : code);
}

static inline float q8_0_scale(float absmax) {
    return absmax / 127.0f;
}

/* `ratio` as for Q4_0; weight' = code · d */
static inline int32_t q8_0_code(float ratio) {
    const int32_t code = quant_nearest_away(ratio);
    return code > 127 ? 127 : code < -127 ? -127 : code;
}

/* MARK: - FP8: E4M3, one FP32 scale a row */

static inline float fp8_scale(float absmax) {
    return absmax / FP8_VALUE_MAX;
}

/* Nearest E4M3 value, ties to even, saturating at 448. */
static inline uint32_t fp8_encode(float x) {
    const quant_bits b = {.value = x};
    const uint32_t sign = b.bits >> 24 & 0x80u;
    const uint32_t magnitude = b.bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return sign | FP8_CODE_NAN;
    }
    if (magnitude < 0x3c800000u) { /* below 2^-6: multiples of 2^-9, exact product */
        const quant_bits small = {.bits = magnitude};
        return sign | (uint32_t)quant_nearest_even(small.value * 512.0f);
    }
    const uint32_t rounded = (magnitude + 0x7ffffu + (magnitude >> 20 & 1u)) >> 20;
    const uint32_t code = rounded - (120u << 3); /* exponent bias 127 becomes 7 */
    return sign | (code > FP8_CODE_MAX ? FP8_CODE_MAX : code);
}

static inline float fp8_decode(uint32_t code) {
    const uint32_t sign = (code & 0x80u) << 24;
    const uint32_t magnitude = code & 0x7fu;
    quant_bits b;
    if (magnitude == FP8_CODE_NAN) {
        b.bits = sign | 0x7fc00000u;
    } else if (magnitude < 8u) {
        b.value = (float)magnitude * 0x1p-9f;
        b.bits |= sign;
    } else {
        b.bits = sign | ((magnitude << 20) + (120u << 23));
    }
    return b.value;
}

/* weight' = value of code · scale. */
static inline uint32_t fp8_code(float weight, float scale) {
    return scale > 0.0f ? fp8_encode(weight / scale) : 0u;
}

#endif
