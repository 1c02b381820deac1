/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of every format as operands of tensor cores (batch_gemm.c): what a lane reads of its rows
 * in shared memory, and the pairs of FP16 that this becomes in registers. Whole numbers and FP8 are
 * exact in FP16, so scales of rows and blocks stay outside the products. Only NF4's sixteen values
 * are rounded to FP16 (by 2^-12 of their size at most).
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_BATCH_FORMAT_H
#define ECOCOMPUTE_KERNELS_GPU_BATCH_FORMAT_H

#include "batch_args.h"
#include "kernels/quant.h"
#include "mma.h"

typedef uint32_t vec2 __attribute__((vector_size(8)));

/* What the text was specialised for: cuda_batch.c writes over these constants before the driver
 * compiles it for a format and a layout, so that code of others is gone then. */
#ifndef ECO_GPU_EMULATED
#define BATCH_CONSTANT(name, mark)                              \
    INLINE uint32_t name(const struct gpu_batch_gemm_args *a) { \
        uint32_t value;                                         \
        (void)a;                                                \
        __asm__("mov.u32 %0, " mark ";" : "=r"(value));         \
        return value;                                           \
    }
BATCH_CONSTANT(format_of, "0x0ec0f100")
BATCH_CONSTANT(tile_rows_of, "0x0ec0f101")
BATCH_CONSTANT(columns_of, "0x0ec0f102")
BATCH_CONSTANT(n_stages_of, "0x0ec0f103")
BATCH_CONSTANT(n_pad_of, "0x0ec0f104")
#else
#define BATCH_CONSTANT(name, field)                             \
    INLINE uint32_t name(const struct gpu_batch_gemm_args *a) { \
        return a->field;                                        \
    }
BATCH_CONSTANT(format_of, format)
BATCH_CONSTANT(tile_rows_of, tile_rows)
BATCH_CONSTANT(columns_of, columns)
BATCH_CONSTANT(n_stages_of, n_stages)
BATCH_CONSTANT(n_pad_of, n_pad)
#endif
#undef BATCH_CONSTANT

INLINE uint32_t row_bytes_of(const struct gpu_batch_gemm_args *a) {
    return batch_row_bytes(format_of(a), columns_of(a));
}
INLINE bool is_nf4(const struct gpu_batch_gemm_args *a) {
    return format_of(a) == BATCH_NF4 || format_of(a) == BATCH_NF4_DQ;
}
INLINE bool has_blocks(const struct gpu_batch_gemm_args *a) {
    return format_of(a) >= BATCH_Q8_0;
}

/* Where piece c (16 bytes) of the row at `slot` lies, so that no two lanes of a load meet in a bank:
 * lanes g = slot % 8 of one take 64 bytes (16-bit), 32 (8-bit) or 16 of a row. */
INLINE uint32_t piece_at(const struct gpu_batch_gemm_args *a, uint32_t c, uint32_t slot) {
    if (format_of(a) <= BATCH_BF16) {
        return c ^ ((slot & 1) << 2);
    }
    if (format_of(a) <= BATCH_Q8_0) {
        return c ^ ((slot & 3) << 1);
    }
    return c ^ (row_bytes_of(a) == 64 ? slot >> 1 & 3 : slot & 7);
}

/* The row of a tile that lies at `slot` in shared memory: of 16 the first eight are the even ones, so
 * that a lane's sums belong to neighbouring rows (gate and up). A sum of parts for a sum of bits. */
INLINE uint32_t row_at(uint32_t slot) {
    return (slot & ~15u) + ((slot & 7) << 1) + (slot >> 3 & 1);
}

/* MARK: - From codes to pairs of FP16 */

/* Bytes 2 k, 2 k + 1 of a word of signed bytes: 1024 + 128 + b in FP16 has b's bits at its end. */
INLINE uint32_t pair_of_int8(uint32_t word, uint32_t k) {
    const uint32_t spread =
        byte_permute(word ^ 0x80808080u, 0x64646464u, k == 0 ? 0x4140u : 0x4342u);
    return half2_sub(spread, 0x64806480u);
}
/* E4M3 has FP16's layout, one bit of exponent less and a bias of 8 less: times 256 at the end. */
INLINE uint32_t pair_of_fp8(uint32_t word, uint32_t k) {
    const uint32_t spread = byte_permute(word, 0, k == 0 ? 0x1404u : 0x3424u);
    return (spread & 0x80008000u) | (spread >> 1 & 0x3f803f80u);
}
INLINE uint32_t pair_of_bf16(uint32_t word) {
    const union {
        uint32_t bits;
        float value;
    } low = {.bits = word << 16}, high = {.bits = word & 0xffff0000u};
    return half2_of(low.value, high.value);
}
/* Byte k of a word: low nibble - 8, high nibble - 8. In FP16 1024 + n and 1024 + 16 n have the
 * nibble's bits; times 1 and 1/16, less 1032 and 72, which is exact. */
INLINE uint32_t pair_of_q4(uint32_t word, uint32_t k) {
    const uint32_t twice = byte_permute(word, 0, 0x4040u + 0x101u * k);
    return half2_fma((twice & 0x00f0000fu) | 0x64006400u, 0x2c003c00u, 0xd480e408u);
}

/* NF4: pairs of values by the byte that codes them, a copy for every lane: [256][32].
 * `values` is memory for the sixteen. */
INLINE void fill_table(SHARED char *table, SHARED half *values) {
    const float nf4[NF4_CODES] = {NF4_VALUES};
    if (thread_index() == 0) {
        UNROLL
        for (uint32_t code = 0; code < NF4_CODES; code++) {
            values[code] = (half)nf4[code];
        }
    }
    block_barrier();
    SHARED half *pairs = (SHARED half *)table;
    for (uint32_t i = thread_index(); i < 256 * WARP; i += GPU_BLOCK) {
        pairs[2 * i] = values[i / WARP & 15];
        pairs[2 * i + 1] = values[i / WARP >> 4];
    }
}

/* NF4-DQ: the values of the codes of absmax. */
INLINE void fill_map(const struct gpu_batch_gemm_args *a, SHARED float *map) {
    map[thread_index()] = a->dq_map[thread_index()];
}
_Static_assert((int)DYNAMIC_CODES == (int)GPU_BLOCK, "a value a thread");

/* MARK: - 32 columns of 32 rows, one warp */

/* A lane's weights: 16-column steps, halves of 16 rows, as mma's A. */
struct batch_operands {
    uint32_t a[2][2][4];
};

/* Pair k of row g + 8 i. */
INLINE void set_operand(struct batch_operands *o, uint32_t i, uint32_t k, uint32_t pair) {
    o->a[k / 2][i / 2][k % 2 * 2 + i % 2] = pair;
}

/* What a lane takes of its four rows: columns 8 t … 8 t + 7, as they lie. */
struct batch_rows {
    const SHARED char *of[4];
};

/* Of rows g and g + 8 at `low`, and the same at `high`; step: which 32 columns. */
INLINE struct batch_rows rows_of_lane(const struct gpu_batch_gemm_args *a, const SHARED char *low,
                                      const SHARED char *high, uint32_t step) {
    const uint32_t g = thread_index() % WARP / 4;
    const uint32_t t = thread_index() % 4;
    uint32_t at = g * row_bytes_of(a);
    if (format_of(a) <= BATCH_BF16) {
        at += piece_at(a, 4 * step + t, g) * 16;
    } else if (format_of(a) <= BATCH_Q8_0) {
        at += piece_at(a, 2 * step + t / 2, g) * 16 + t % 2 * 8;
    } else {
        at += piece_at(a, step, g) * 16 + t * 4;
    }
    const uint32_t eight = 8 * row_bytes_of(a);
    return (struct batch_rows){{low + at, low + at + eight, high + at, high + at + eight}};
}

/* Operands of the lane's weights, and for INT8 the codes as they are. `table`: fill_table's. */
INLINE struct batch_operands unpack(const struct gpu_batch_gemm_args *a, const SHARED char *table,
                                    struct batch_rows rows, vec2 codes[4]) {
    const SHARED char *mine = table + thread_index() % WARP * 4;
    struct batch_operands o;
/* The format is asked once: loads of a format then go out together. */
#define EACH_PAIR(type, pair)                               \
    UNROLL                                                  \
    for (uint32_t i = 0; i < 4; i++) {                      \
        const type word = *(const SHARED type *)rows.of[i]; \
        UNROLL                                              \
        for (uint32_t k = 0; k < 4; k++) {                  \
            set_operand(&o, i, k, (pair));                  \
        }                                                   \
    }
    switch (format_of(a)) {
    case BATCH_FP16:
        EACH_PAIR(vec4, word[k])
        break;
    case BATCH_BF16:
        EACH_PAIR(vec4, pair_of_bf16(word[k]))
        break;
    case BATCH_FP8:
        EACH_PAIR(vec2, pair_of_fp8(word[k / 2], k % 2))
        break;
    case BATCH_NF4:
    case BATCH_NF4_DQ:
        EACH_PAIR(uint32_t, *(const SHARED uint32_t *)(mine + (word >> (8 * k) & 0xff) * 128))
        break;
    case BATCH_Q4_0:
        EACH_PAIR(uint32_t, pair_of_q4(word, k))
        break;
    default: /* W8A16, INT8, Q8_0 */
        UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            codes[i] = *(const SHARED vec2 *)rows.of[i];
        }
        EACH_PAIR(vec2, pair_of_int8(word[k / 2], k % 2))
        break;
    }
#undef EACH_PAIR
    return o;
}

#endif
