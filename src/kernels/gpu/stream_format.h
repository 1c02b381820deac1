/* SPDX-License-Identifier: Apache-2.0
 *
 * What stream.c has to know of a weight format, and the products of a lane: eight or sixteen columns
 * of one row with the input. 4-bit and 8-bit weights become pairs of FP16 and are multiplied as such
 * with inputs scaled by 1/8 (no overflow), four products a sum, then FP32.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_STREAM_FORMAT_H
#define ECOCOMPUTE_KERNELS_GPU_STREAM_FORMAT_H

#include "kernels/quant.h"
#include "stream_args.h"
#include "stream_device.h"

union float_bits {
    uint32_t bits;
    float value;
};
STREAM_INLINE float float_of(uint32_t bits) {
    const union float_bits out = {.bits = bits};
    return out.value;
}
STREAM_INLINE uint32_t bits_of(float value) {
    const union float_bits out = {.value = value};
    return out.bits;
}

/* MARK: - What a format is made of */

STREAM_INLINE bool is_wide(void) {
    return stream_format() == STREAM_FP16 || stream_format() == STREAM_BF16;
}
STREAM_INLINE bool is_nf4(void) {
    return stream_format() == STREAM_NF4 || stream_format() == STREAM_NF4_SMALL;
}
STREAM_INLINE bool is_nibble(void) {
    return is_nf4() || stream_format() == STREAM_Q4_0;
}
STREAM_INLINE uint32_t code_bits(void) {
    return is_wide() ? 16 : is_nibble() ? 4 : 8;
}
/* Columns a warp takes at a step, and bytes of a row. */
STREAM_INLINE uint32_t step_cols(void) {
    return is_nibble() ? 512 : 256;
}
STREAM_INLINE uint32_t step_bytes(void) {
    return is_wide() ? 512 : 256;
}
/* Bytes of the scales of a step's blocks; 0: one scale a row, or none. */
STREAM_INLINE uint32_t scale_step_bytes(void) {
    return is_nf4()                         ? 8 * 4
           : stream_format() == STREAM_Q4_0 ? 16 * 2
           : stream_format() == STREAM_Q8_0 ? 8 * 2
                                            : 0;
}
/* The lane's scale among those of a step, as a float. */
STREAM_INLINE float lane_scale(const SHARED char *scales) {
    const uint32_t lane = thread_index() % WARP;
    if (is_nf4()) {
        return ((const SHARED float *)scales)[lane / 4];
    }
    return (
        float)((const SHARED half *)scales)[stream_format() == STREAM_Q4_0 ? lane / 2 : lane / 4];
}
STREAM_INLINE bool has_block_scale(void) {
    return scale_step_bytes() != 0;
}
STREAM_INLINE bool has_row_scale(void) {
    return stream_format() == STREAM_W8A16 || stream_format() == STREAM_FP8 ||
           stream_format() == STREAM_INT8;
}
/* What the sum of a row is multiplied with in the end: the inputs' 1/8 and the codes' own factor. */
STREAM_INLINE float sum_factor(void) {
    return is_nf4()                          ? 8.0f
           : stream_format() == STREAM_Q4_0  ? 64.0f
           : stream_format() == STREAM_Q8_0  ? 1024.0f
           : stream_format() == STREAM_W8A16 ? 1024.0f / 127.0f
           : stream_format() == STREAM_INT8  ? 1024.0f / 127.0f
           : stream_format() == STREAM_FP8   ? 2048.0f
                                             : 1.0f;
}
STREAM_INLINE float input_factor(void) {
    return is_wide() ? 1.0f : 0.125f;
}

/* Slot of element e of the input. A lane of a 4-bit format reads 16 elements as two 16-byte pieces,
 * which are kept apart so that lanes never meet in a bank; Q4_0 takes nibbles i and i + 4 of a word
 * at once, FP8 bytes i and i + 2, so these lie side by side. */
STREAM_INLINE uint32_t slot(uint32_t e) {
    if (is_wide()) {
        return e;
    }
    if (code_bits() == 8) {
        return stream_format() == STREAM_FP8 ? (e & ~3u) | (e & 1) << 1 | (e >> 1 & 1) : e;
    }
    const uint32_t lane = e / 16 % WARP;
    const uint32_t within = stream_format() == STREAM_Q4_0 ? (e & 3) << 1 | (e >> 2 & 1) : e & 7;
    return e / 512 * 512 + (e >> 3 & 1) * 256 + lane * 8 + within;
}

/* MARK: - Products */

/* Pairs of values a byte of codes: entry c of lane l at byte 256 c + 4 l, so that one byte permute
 * makes an address, and look-ups never meet in a bank. */
STREAM_INLINE void fill_table(void) {
    const float values[NF4_CODES] = {NF4_VALUES};
    SHARED half2 *table = (SHARED half2 *)shared_dynamic;
    const uint32_t lane = thread_index() % WARP;
    const uint32_t low = thread_index() / WARP; /* a warp a low nibble */
    half low_value = (half)0.0f;
    UNROLL
    for (uint32_t c = 0; c < NF4_CODES; c++) {
        low_value = low == c ? (half)values[c] : low_value;
    }
    if (stream_format() == STREAM_NF4_SMALL) {
        table[low * WARP + lane] = (half2){low_value, low_value};
        return;
    }
    UNROLL
    for (uint32_t high = 0; high < NF4_CODES; high++) {
        table[(high * NF4_CODES + low) * (STREAM_TABLE_STRIDE / 4) + lane] =
            (half2){low_value, (half)values[high]};
    }
}

/* A multiple of 128. */
STREAM_INLINE uint32_t table_bytes(void) {
    return stream_format() == STREAM_NF4         ? STREAM_TABLE_BYTES
           : stream_format() == STREAM_NF4_SMALL ? STREAM_SMALL_TABLE_BYTES
                                                 : 0;
}

STREAM_INLINE float dot8_fp16(vec4 w, vec4 x, float sum) {
    UNROLL
    for (int k = 0; k < 4; k++) {
        sum = fma_f32(half_low(w[k]), half_low(x[k]), sum);
        sum = fma_f32(half_high(w[k]), half_high(x[k]), sum);
    }
    return sum;
}

STREAM_INLINE float dot8_bf16(vec4 w, vec4 x, float sum) {
    UNROLL
    for (int k = 0; k < 4; k++) {
        sum = fma_f32(float_of(w[k] << 16), half_low(x[k]), sum);
        sum = fma_f32(float_of(w[k] & 0xffff0000u), half_high(x[k]), sum);
    }
    return sum;
}

/* Values of the two codes in byte k of w. */
STREAM_INLINE half2 nf4_pair(uint32_t w, uint32_t k, uint32_t lane_bytes) {
    const SHARED char *table = (const SHARED char *)shared_dynamic;
    if (stream_format() == STREAM_NF4_SMALL) {
        const uint32_t byte = w >> (8 * k);
        const half2 low = *(const SHARED half2 *)(table + ((byte & 15) << 7 | lane_bytes));
        const half2 high = *(const SHARED half2 *)(table + ((byte & 240) << 3 | lane_bytes));
        return (half2){low[0], high[0]};
    }
    return *(const SHARED half2 *)(table + pick_bytes(w, lane_bytes, 0x5504u | k << 4));
}

STREAM_INLINE float dot8_nf4(uint32_t w, vec4 x, uint32_t lane_bytes) {
    half2 sum = nf4_pair(w, 0, lane_bytes) * as_pair(x[0]);
    sum = nf4_pair(w, 1, lane_bytes) * as_pair(x[1]) + sum;
    sum = nf4_pair(w, 2, lane_bytes) * as_pair(x[2]) + sum;
    sum = nf4_pair(w, 3, lane_bytes) * as_pair(x[3]) + sum;
    return pair_sum(sum);
}

/* (code - 8) / 8 by the exponent of FP16: 0x6400 | code is 1024 + code, 0x6400 | 16 code 1024 + 16
 * code. */
STREAM_INLINE float dot8_q4_0(uint32_t w, vec4 x, uint32_t exponents) {
    const half2 eighth = pair_of(0.125f);
    const half2 small = pair_of(0.0078125f);
    const half2 low_bias = pair_of(-129.0f);
    const half2 high_bias = pair_of(-9.0f);
    const uint32_t v = w >> 8;
    half2 sum = (as_pair((w & 0x000f000fu) | exponents) * eighth + low_bias) * as_pair(x[0]);
    sum = (as_pair((w & 0x00f000f0u) | exponents) * small + high_bias) * as_pair(x[1]) + sum;
    sum = (as_pair((v & 0x000f000fu) | exponents) * eighth + low_bias) * as_pair(x[2]) + sum;
    sum = (as_pair((v & 0x00f000f0u) | exponents) * small + high_bias) * as_pair(x[3]) + sum;
    return pair_sum(sum);
}

/* code / 128, likewise: 0x6400 | (code + 128) is 1152 + code. */
STREAM_INLINE float dot8_int8(vec2 w, vec4 x) {
    const half2 scale = pair_of(0.0078125f);
    const half2 bias = pair_of(-9.0f);
    half2 sum = pair_of(0.0f);
    UNROLL
    for (int k = 0; k < 2; k++) {
        const uint32_t u = w[k] ^ 0x80808080u;
        const half2 low = as_pair(pick_bytes(u, 0x64646464u, 0x4140u)) * scale + bias;
        const half2 high = as_pair(pick_bytes(u, 0x64646464u, 0x4342u)) * scale + bias;
        sum = low * as_pair(x[2 * k]) + sum;
        sum = high * as_pair(x[2 * k + 1]) + sum;
    }
    return pair_sum(sum);
}

/* E4M3 by shifting its seven bits under FP16's exponent: the value over 256, subnormals included. */
STREAM_INLINE float dot8_fp8(vec2 w, vec4 x) {
    half2 sum = pair_of(0.0f);
    UNROLL
    for (int k = 0; k < 2; k++) {
        const uint32_t even = w[k] << 8;
        const half2 low = as_pair((even & 0x80008000u) | (even >> 1 & 0x3f803f80u));
        const half2 high = as_pair((w[k] & 0x80008000u) | (w[k] >> 1 & 0x3f803f80u));
        sum = low * as_pair(x[2 * k]) + sum;
        sum = high * as_pair(x[2 * k + 1]) + sum;
    }
    return pair_sum(sum);
}

/* The lane's columns of one step of one row, added to sum. `codes` is the lane's place in shared
 * memory, `scale` that of its block where the format has such. */
STREAM_INLINE float add_dot(const SHARED char *codes, float scale, const vec4 x[2], uint32_t fixed,
                            float sum) {
    if (is_wide()) {
        const vec4 w = *(const SHARED vec4 *)codes;
        return stream_format() == STREAM_BF16 ? dot8_bf16(w, x[0], sum) : dot8_fp16(w, x[0], sum);
    }
    const vec2 w = *(const SHARED vec2 *)codes;
    if (stream_format() == STREAM_FP8) {
        return sum + dot8_fp8(w, x[0]);
    }
    if (stream_format() == STREAM_W8A16) {
        return sum + dot8_int8(w, x[0]);
    }
    if (stream_format() == STREAM_Q8_0) {
        return fma_f32(dot8_int8(w, x[0]), scale, sum);
    }
    if (is_nf4()) {
        return fma_f32(dot8_nf4(w[0], x[0], fixed) + dot8_nf4(w[1], x[1], fixed), scale, sum);
    }
    return fma_f32(dot8_q4_0(w[0], x[0], fixed) + dot8_q4_0(w[1], x[1], fixed), scale, sum);
}

/* What stays the same in all products, kept in a register by the compiler's not knowing it: the
 * lane's column of the table, or FP16's exponent bits. */
STREAM_INLINE uint32_t fixed_word(void) {
    return opaque(is_nf4() ? thread_index() % WARP * 4 : 0x64006400u);
}

#endif
