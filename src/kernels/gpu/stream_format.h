/* SPDX-License-Identifier: Apache-2.0
 *
 * What stream.c has to know of a weight format, and the products of a warp with one input: on tensor
 * cores, exact products and sums in FP32. 4-bit and 8-bit weights become pairs of FP16 first,
 * exactly; what has a scale of its block is multiplied with it afterwards. 4-bit weights go by tiles
 * of eight rows, others by pairs. BF16 and INT8 do without tensor cores.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_STREAM_FORMAT_H
#define ECOCOMPUTE_KERNELS_GPU_STREAM_FORMAT_H

#include "kernels/quant.h"
#include "mma.h"
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

/* Sum of a number a warp, in a fixed order. 16 bytes aligned. */
STREAM_INLINE float sum_of_warps(const SHARED float *of) {
    float sum = 0.0f;
    UNROLL
    for (uint32_t i = 0; i < STREAM_WARPS / 4; i++) {
        const vec4 v = ((const SHARED vec4 *)of)[i];
        sum += (float_of(v[0]) + float_of(v[1])) + (float_of(v[2]) + float_of(v[3]));
    }
    return sum;
}

/* MARK: - What a format is made of */

STREAM_INLINE bool is_wide(void) {
    return stream_is_wide(stream_format());
}
STREAM_INLINE bool is_dq(void) {
    return stream_is_dq(stream_format());
}
STREAM_INLINE bool is_small(void) {
    return stream_is_small(stream_format());
}
STREAM_INLINE bool is_nf4(void) {
    return stream_is_nf4(stream_format());
}
STREAM_INLINE bool is_nibble(void) {
    return stream_is_nibble(stream_format());
}
STREAM_INLINE uint32_t code_bits(void) {
    return is_wide() ? 16 : is_nibble() ? 4 : 8;
}
STREAM_INLINE uint32_t tile_rows(void) {
    return stream_tile_rows(stream_format());
}
STREAM_INLINE uint32_t step_bytes(void) {
    return stream_step_bytes(stream_format());
}
STREAM_INLINE uint32_t group_steps(void) {
    return stream_group_steps(stream_format());
}
STREAM_INLINE uint32_t scale_step_bytes(void) {
    return stream_step_scales(stream_format());
}
/* From a row to the next in a slot: of codes, and behind those of all rows, of scales. */
STREAM_INLINE uint32_t slot_row_bytes(void) {
    return group_steps() * step_bytes();
}
STREAM_INLINE uint32_t slot_row_scales(void) {
    return group_steps() * scale_step_bytes();
}
/* Of scales in a row of the matrix; in a slot NF4-DQ's become as many as NF4's (decode_scales). */
STREAM_INLINE uint32_t group_scale_bytes(void) {
    return is_dq() ? slot_row_scales() / 4 : slot_row_scales();
}
STREAM_INLINE bool has_block_scale(void) {
    return scale_step_bytes() != 0;
}
STREAM_INLINE bool has_row_scale(void) {
    return stream_format() == STREAM_W8A16 || stream_format() == STREAM_FP8 ||
           stream_format() == STREAM_INT8;
}
/* Whether sums lie on the diagonal of a warp's products (struct sums). */
STREAM_INLINE bool is_diagonal(void) {
    return stream_format() != STREAM_BF16 && stream_format() != STREAM_INT8;
}
/* What the sum of a row is multiplied with in the end. */
STREAM_INLINE float sum_factor(void) {
    return stream_format() == STREAM_W8A16  ? 1.0f / 127.0f
           : stream_format() == STREAM_INT8 ? 1024.0f / 127.0f
           : stream_format() == STREAM_FP8  ? 256.0f
           : stream_format() == STREAM_Q4_0 ? 0x1p24f
                                            : 1.0f;
}
/* INT8 adds four products of an outlier's group in FP16: so that none overflows. */
STREAM_INLINE float input_factor(void) {
    return stream_format() == STREAM_INT8 ? 0.125f : 1.0f;
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
    if (is_small()) {
        table[low * WARP + lane] = (half2){low_value, low_value};
        return;
    }
    UNROLL
    for (uint32_t high = 0; high < NF4_CODES; high++) {
        table[(high * NF4_CODES + low) * (STREAM_TABLE_STRIDE / 4) + lane] =
            (half2){low_value, (half)values[high]};
    }
}

STREAM_INLINE uint32_t table_bytes(void) {
    return stream_table_bytes(stream_format());
}

/* MARK: - NF4-DQ */

/* What a slot has of a row before it is decoded: the codes of a group's absmax and what makes numbers of them. As
 * long as those numbers: a lane a word, four rows at once. */
struct dq_row {
    uint8_t codes[8];
    float offset, scale[2]; /* of the first one's 256 blocks, and of the next */
    uint32_t first;         /* place of the first one among its 256 */
    uint32_t unused[2];
};
enum { DQ_OFFSET = 2, DQ_SCALES = 3, DQ_FIRST = 5 }; /* words */

/* Absmax values, to the bit the CPU's, in place of what they are made of: products then find what NF4
 * has. Lane 8 g + b has block b of rows g and g + 4. */
STREAM_INLINE void decode_scales(SHARED char *slot, const GLOBAL float *map) {
    const uint32_t lane = thread_index() % WARP;
    const uint32_t block = lane % 8;
    SHARED char *scales = slot + tile_rows() * slot_row_bytes();
    float value[2];
    UNROLL
    for (uint32_t k = 0; k < 2; k++) {
        const SHARED struct dq_row *row = (const SHARED struct dq_row *)scales + lane / 8 + 4 * k;
        const float scale = row->first + block < GPU_DQ_GROUP ? row->scale[0] : row->scale[1];
        value[k] = add_rounded(mul_rounded(map[row->codes[block]], scale), row->offset);
    }
    warp_barrier(); /* all codes are read */
    UNROLL
    for (uint32_t k = 0; k < 2; k++) {
        ((SHARED float *)scales)[lane + WARP * k] = value[k];
    }
    warp_barrier();
}

/* Sums of a warp: the C operand of its products (mma.h). Lanes 4 g … 4 g + 3 have 32 columns in
 * a row of each of two; A holds both rows of all eight such parts, B the inputs of all, so that of
 * the products of any part with any other those on the diagonal count: in lane 9 h of even g = 2 h
 * and 9 h + 4 of odd. */
struct sums {
    float c[4], more[4]; /* the second shortens the chain of sums */
};

/* Two rows of a lane's eight columns as pairs of FP16, times the input's. `low` and `high` may be one. */
STREAM_INLINE void add_eight(float low[4], float high[4], const uint32_t first[4],
                             const uint32_t second[4], vec4 x) {
    const uint32_t a[4] = {first[0], second[0], first[1], second[1]};
    const uint32_t b[4] = {first[2], second[2], first[3], second[3]};
    mma_f16(low, a, x[0], x[1]);
    mma_f16(high, b, x[2], x[3]);
}

/* BF16 has no product with FP16: each lane by itself, sums at c[0] and c[2]. */
STREAM_INLINE float dot8_bf16(vec4 w, vec4 x, float sum) {
    UNROLL
    for (int k = 0; k < 4; k++) {
        sum = fma_f32(float_of(w[k] << 16), half_low(x[k]), sum);
        sum = fma_f32(float_of(w[k] & 0xffff0000u), half_high(x[k]), sum);
    }
    return sum;
}

/* INT8's outliers, likewise: code / 128 by the exponent of FP16: 0x6400 | (code + 128) is 1152 + code. */
STREAM_INLINE float dot8_int8(vec2 w, vec4 x) {
    const half2 scale = pair_of(0.0078125f);
    const half2 bias = pair_of(-9.0f);
    half2 sum = pair_of(0.0f);
    UNROLL
    for (int k = 0; k < 2; k++) {
        const uint32_t u = w[k] ^ 0x80808080u;
        const half2 low = as_pair(byte_permute(u, 0x64646464u, 0x4140u)) * scale + bias;
        const half2 high = as_pair(byte_permute(u, 0x64646464u, 0x4342u)) * scale + bias;
        sum = low * as_pair(x[2 * k]) + sum;
        sum = high * as_pair(x[2 * k + 1]) + sum;
    }
    return pair_sum(sum);
}

/* Values of the two codes in byte k of w. */
STREAM_INLINE uint32_t nf4_pair(uint32_t w, uint32_t k, uint32_t lane_bytes) {
    const SHARED char *table = (const SHARED char *)shared_dynamic;
    if (is_small()) {
        const uint32_t byte = w >> (8 * k);
        const uint32_t low = *(const SHARED uint32_t *)(table + ((byte & 15) << 7 | lane_bytes));
        const uint32_t high = *(const SHARED uint32_t *)(table + ((byte & 240) << 3 | lane_bytes));
        return byte_permute(low, high, 0x5410u);
    }
    return *(const SHARED uint32_t *)(table + byte_permute(w, lane_bytes, 0x5504u | k << 4));
}

/* Pairs of FP16 of eight codes of four bits. Q4_0: a code is the subnormal number code 2^-24, and in
 * the second two pairs 16 code 2^-24 (add_tile mends that); the 8 to be taken off a code comes from
 * the input's sums. */
STREAM_INLINE void widen_nibbles(uint32_t w, uint32_t lane_bytes, uint32_t out[4]) {
    UNROLL
    for (uint32_t k = 0; k < 4; k++) {
        out[k] = is_nf4() ? nf4_pair(w, k, lane_bytes)
                          : (k % 2 == 0 ? w : w >> 8) & (k < 2 ? 0x000f000fu : 0x00f000f0u);
    }
}

/* Likewise of eight codes of eight bits: integers, or E4M3 by shifting its seven bits under FP16's
 * exponent, the value over 256, subnormals included. */
STREAM_INLINE void widen_bytes(vec2 w, uint32_t out[4]) {
    UNROLL
    for (int k = 0; k < 2; k++) {
        if (stream_format() == STREAM_FP8) {
            const uint32_t even = w[k] << 8;
            out[2 * k] = (even & 0x80008000u) | (even >> 1 & 0x3f803f80u);
            out[2 * k + 1] = (w[k] & 0x80008000u) | (w[k] >> 1 & 0x3f803f80u);
        } else {
            const uint32_t u = w[k] ^ 0x80808080u;
            out[2 * k] = half2_sub(byte_permute(u, 0x64646464u, 0x4140u), 0x64806480u); /* 1152 */
            out[2 * k + 1] = half2_sub(byte_permute(u, 0x64646464u, 0x4342u), 0x64806480u);
        }
    }
}

/* Adds what has a scale of its block: `scales` those of the step, of the first row. */
STREAM_INLINE void add_scaled(struct sums *s, const float block[4], const SHARED char *scales) {
    const uint32_t at = thread_index() % WARP / 4;
    const float first = (float)((const SHARED half *)scales)[at];
    const float second = (float)((const SHARED half *)(scales + slot_row_scales()))[at];
    s->c[0] = fma_f32(block[0], first, s->c[0]);
    s->c[1] = fma_f32(block[1], first, s->c[1]);
    s->c[2] = fma_f32(block[2], second, s->c[2]);
    s->c[3] = fma_f32(block[3], second, s->c[3]);
}

/* A step of 4-bit codes, eight rows of 256 columns. Lane 4 g + t has two blocks of 32 columns of row
 * g, t and t + 4, of which an odd row has the second first, so that reads do not meet in a bank. A
 * has them as rows g and g + 8. B has in its column n the input of block n, and zeros where a lane's
 * t is not n's: what A has of other blocks adds nothing. So of C[g] and C[g + 8] one has the row's
 * sums of blocks 0 to 3 and the other those of 4 to 7, and the lane two of either: those of blocks
 * 2 t and 2 t + 1 count. `x` holds zeros where the lane has no input. `offsets`: of each block,
 * -8 2^-24 times the input's sum. */
STREAM_INLINE float add_tile(float sum, const SHARED char *codes, const SHARED char *scales,
                             const SHARED vec4 *input, const SHARED float *offsets,
                             uint32_t lane_bytes, vec4 x[4]) {
    const uint32_t lane = thread_index() % WARP;
    const uint32_t row = lane / 4;
    const uint32_t t = lane % 4;
    const SHARED vec4 *at = (const SHARED vec4 *)(codes + row * slot_row_bytes()) + t;
    const vec4 a = at[row % 2 * 4];
    const vec4 b = at[4 - row % 2 * 4];
    float one[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    float other[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (!is_nf4()) {
        const vec2 both = ((const SHARED vec2 *)offsets)[t];
        one[0] = one[2] = float_of(both[0]);
        one[1] = one[3] = float_of(both[1]);
    }
    load_shared_if(x, input + row * 4, t == row % 4);
    UNROLL
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t w[4];
        uint32_t v[4];
        widen_nibbles(a[k], lane_bytes, w);
        widen_nibbles(b[k], lane_bytes, v);
        const uint32_t first[4] = {w[0], v[0], w[1], v[1]};
        const uint32_t second[4] = {w[2], v[2], w[3], v[3]};
        mma_f16(one, first, x[k][0], x[k][1]);
        mma_f16(other, second, x[k][2], x[k][3]);
    }
    const bool upper = t / 2 != row % 2;
    const float factor = is_nf4() ? 1.0f : 0.0625f;
    const float low = fma_f32(upper ? other[2] : other[0], factor, upper ? one[2] : one[0]);
    const float high = fma_f32(upper ? other[3] : other[1], factor, upper ? one[3] : one[1]);
    const uint32_t scale = ((const SHARED uint32_t *)(scales + row * slot_row_scales()))[t];
    if (is_nf4()) { /* one for 64 columns */
        return fma_f32(low + high, float_of(scale), sum);
    }
    return fma_f32(high, half_high(scale), fma_f32(low, half_low(scale), sum));
}

/* A step of 8 bits. */
STREAM_INLINE void add_bytes(struct sums *s, const SHARED char *codes, const SHARED char *scales,
                             const SHARED vec4 *input) {
    const uint32_t lane = thread_index() % WARP;
    uint32_t first[4], second[4];
    widen_bytes(*(const SHARED vec2 *)(codes + lane * 8), first);
    widen_bytes(*(const SHARED vec2 *)(codes + slot_row_bytes() + lane * 8), second);
    if (!has_block_scale()) {
        add_eight(s->c, s->more, first, second, input[lane]);
        return;
    }
    float block[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    add_eight(block, block, first, second, input[lane]);
    add_scaled(s, block, scales);
}

/* A step of 16 bits. */
STREAM_INLINE void add_wide(struct sums *s, const SHARED char *codes, const SHARED vec4 *input) {
    const uint32_t lane = thread_index() % WARP;
    const vec4 x = input[lane];
    const vec4 a = ((const SHARED vec4 *)codes)[lane];
    const vec4 b = ((const SHARED vec4 *)(codes + slot_row_bytes()))[lane];
    if (stream_format() == STREAM_BF16) {
        s->c[0] = dot8_bf16(a, x, s->c[0]);
        s->c[2] = dot8_bf16(b, x, s->c[2]);
        return;
    }
    const uint32_t first[4] = {a[0], a[1], a[2], a[3]};
    const uint32_t second[4] = {b[0], b[1], b[2], b[3]};
    add_eight(s->c, s->more, first, second, x);
}

#endif
