/* SPDX-License-Identifier: Apache-2.0
 *
 * NF4 as bitsandbytes stores it (Dettmers et al., QLoRA, 2023): blocks of 64 weights, an FP32
 * absmax each, 4-bit codes for the quantiles of a normal distribution. Here a block runs along a
 * row and the last one of a row may be shorter; where the columns are a multiple of 64 that is the
 * same as blocks over the flattened tensor. Freestanding (stdint only) and bit-equal on host and
 * GPU: build with -ffp-contract=off and IEEE division.
 */
#ifndef ECOCOMPUTE_KERNELS_QUANT_H
#define ECOCOMPUTE_KERNELS_QUANT_H

#include <stdint.h>

enum { NF4_BLOCK = 64, NF4_CODES = 16 };

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

/* Code of a weight in a block whose scale is nf4_inverse(absmax). */
static inline uint32_t nf4_code(float weight, float inverse) {
    return nf4_encode(weight * inverse);
}

/* One over absmax. A block of zeros has absmax 0 and stores code 7 (the value 0) throughout. */
static inline float nf4_inverse(float absmax) {
    return absmax > 0.0f ? 1.0f / absmax : 0.0f;
}

#endif
