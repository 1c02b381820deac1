/* SPDX-License-Identifier: Apache-2.0
 *
 * What the batched kernels are given, as args.h has it for the others. A launch works on n_rows
 * rows: the sequences of one decoded step, or consecutive tokens of a prompt ("chunk"). Arrays that
 * a product reads are padded to n_pad rows.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_BATCH_ARGS_H
#define ECOCOMPUTE_KERNELS_GPU_BATCH_ARGS_H

#include "args.h"

enum {
    BATCH_MAX = 64,          /* rows of a launch */
    BATCH_WARPS = GPU_WARPS, /* of a product's block */
    BATCH_WARP_ROWS = 64,    /* weight rows of one */
    BATCH_STAGES_MAX = 8,
    BATCH_BARRIER_BYTES = 2 * BATCH_STAGES_MAX * 8, /* of shared memory: two a stage */
    BATCH_VALUES_BYTES = BATCH_MAX * 4,             /* input scales, or NF4's values */
    BATCH_PAIRS_BYTES = 256 * 32 * 4,               /* NF4's table: pairs of values */
    BATCH_K_PAD = 256, /* inputs of products are padded with zeros to a multiple of this */
    BATCH_ARGMAX_BLOCKS = 16,
    BATCH_NORM_BLOCK = 512,
    BATCH_ATTENTION_BLOCK = 256,
    /* Shared memory: for each of 8 warps 8 heads of 132 floats with maximum and sum, and the queries. */
    BATCH_ATTENTION_BYTES = 8 * 8 * (132 + 2) * 4 + GPU_HEAD_MAX / 32 * 2 * 32 * 16
};

/* The formats in an order that the functions below ask for: 16-bit ones, bytes, nibbles; from Q8_0 on
 * with a scale a block. */
enum {
    BATCH_FP16 = 0,
    BATCH_BF16,
    BATCH_W8A16,
    BATCH_INT8,
    BATCH_FP8,
    BATCH_Q8_0,
    BATCH_NF4,
    BATCH_Q4_0,
    BATCH_NF4_DQ
};

/* Input of a product, [ceil(cols / BATCH_K_PAD) · 4][n_pad][32] FP16: what a warp feeds to two
 * tensor-core steps lies together. Place of column k of a row. */
static inline uint32_t batch_input_index(uint32_t n_pad, uint32_t row, uint32_t k) {
    return (k / 32 * n_pad + row) * 32 + k % 32;
}

enum { BATCH_STORE = 0, BATCH_ADD, BATCH_GATED };

/* out = matrix · input, tiles of weight rows on tensor cores. Weights and scales as cuda_matrix
 * says. The launch's blocks share the (tile, stage) pairs evenly, in order; where a tile is shared
 * by several blocks each writes its sums to `part` and the last one to arrive adds them, in the
 * order of the blocks. */
struct gpu_batch_gemm_args {
    uint32_t format; /* first, by agreement with the scripted libcuda: BATCH_… */
    uint32_t reserved;
    DEV(const void) weights;       /* [rows][stride] */
    DEV(const void) scales;        /* [rows][n_blocks] */
    DEV(const float) scales2;      /* NF4-DQ: args.h */
    DEV(const float) dq_map;       /* likewise: the values of the codes of absmax */
    DEV(const half) input;         /* as batch_input_index says; zeros from cols on */
    DEV(const int8_t) input_codes; /* INT8: as `input`, which then holds the outliers only */
    DEV(const float) input_scales; /* INT8: [n_pad], absmax / 127 */
    DEV(const half) bias;          /* [rows] or null; with BATCH_STORE */
    DEV(float) out;                /* BATCH_STORE, BATCH_ADD: [n_pad][out_stride] */
    DEV(half) out_half;    /* BATCH_GATED: SiLU(row 2i) · row 2i+1, as input of a product */
    DEV(float) part;       /* [grid][3 of a block][n_pad · 256 rows] */
    DEV(uint32_t) arrived; /* [tiles][BATCH_WARPS], zeros before and after */
    uint32_t rows, cols, stride, n_blocks;
    uint32_t out_stride;
    uint32_t tile_rows; /* 256 or 128: two or four of the 8 warps share a row's columns */
    uint32_t n_stages;  /* of shared memory: 2 … BATCH_STAGES_MAX */
    uint32_t columns;   /* of a stage: 64 (16 bits), 128 or 256 (neither 16 bits nor NF4-DQ) */
    uint32_t n_pad;     /* rows of the input: 8, 16, 32 or 64 */
    uint32_t epilogue;
    uint32_t n_tensors, n_first; /* NF4-DQ */
};

/* Bytes of a row's scales in a stage. NF4-DQ: a word of codes, the scale of each of two blocks, the offset. */
static inline uint32_t batch_scale_bytes(uint32_t format, uint32_t columns) {
    return format == BATCH_NF4_DQ ? 16 : format >= BATCH_Q8_0 ? columns / 64 * 4 : 0;
}
/* Bytes of a row in a stage of so many columns; bytes of shared memory of a stage, and beside them. */
static inline uint32_t batch_row_bytes(uint32_t format, uint32_t columns) {
    return format <= BATCH_BF16 ? columns * 2 : format <= BATCH_Q8_0 ? columns : columns / 2;
}
static inline uint32_t batch_stage_bytes(uint32_t format, uint32_t columns, uint32_t tile_rows,
                                         uint32_t n_pad) {
    const uint32_t input_bytes = format == BATCH_INT8 ? 3 : 2; /* codes besides FP16 */
    return tile_rows * (batch_row_bytes(format, columns) + batch_scale_bytes(format, columns)) +
           columns * n_pad * input_bytes;
}
static inline uint32_t batch_exchange_bytes(uint32_t n_pad) {
    return BATCH_WARPS * BATCH_WARP_ROWS / 4 * n_pad * 4; /* a quarter of the sums of all warps */
}
static inline uint32_t batch_table_bytes(uint32_t format) {
    return format == BATCH_NF4      ? BATCH_PAIRS_BYTES
           : format == BATCH_NF4_DQ ? BATCH_PAIRS_BYTES + GPU_DQ_MAP_BYTES
                                    : 0;
}
static inline uint32_t batch_fixed_bytes(uint32_t format, uint32_t n_pad) {
    return batch_exchange_bytes(n_pad) + BATCH_BARRIER_BYTES + BATCH_VALUES_BYTES +
           batch_table_bytes(format);
}

/* Where a row of a launch stands: sequence and position. */
struct gpu_batch_rows {
    DEV(const struct gpu_state) state; /* decode: all at state->position */
    DEV(const uint32_t) chunk;         /* prefill: the chunk's first of all prompts' tokens */
    uint32_t is_prefill, n_rows;
    uint32_t n_prompt; /* tokens of a sequence's prompt; prompts follow one another */
    uint32_t n_batch;
};

struct gpu_batch_embed_args {
    struct gpu_batch_rows rows;
    DEV(const half) table;      /* [n_vocab][stride] */
    DEV(const uint32_t) tokens; /* decode: [n_batch]; prefill: [n_batch][n_prompt] */
    DEV(float) x;               /* [n_rows][d_model] */
    DEV(half) hidden;           /* input of the down projection: zeros from d_ff on */
    uint32_t d_model, stride, d_ff, n_pad;
};

struct gpu_batch_norm_args {
    struct gpu_batch_rows rows;
    DEV(const float) x; /* [n_rows][d_model] */
    DEV(const half) gain;
    DEV(half) out; /* [k_blocks][n_pad][32]; K-padding written as zero */
    uint32_t d_model, n_pad;
    uint32_t only_last; /* prefill: only the rows that end a prompt, each to its sequence's row */
    float eps;
};

/* INT8: the input of a product in two. Values of at least 6 stay, the others become 0 there and a
 * signed byte in `codes`, nearest to 127 value / absmax of the row's others. */
struct gpu_batch_quantize_args {
    DEV(half) input;   /* as batch_input_index says */
    DEV(int8_t) codes; /* the same places */
    DEV(float) scales; /* [rows]: absmax / 127 */
    uint32_t cols, n_pad;
};

struct gpu_batch_attention_args {
    struct gpu_batch_rows rows;
    DEV(float) qkv;          /* [n_rows][(n_heads + 2 n_kv_heads) d_head]; q is rotated in place */
    DEV(const float) angles; /* [capacity][d_head / 2][2] */
    DEV(half) k_cache;       /* [n_batch][n_kv_heads][capacity][d_stride] */
    DEV(half) v_cache;
    DEV(half) out;   /* [k_blocks][n_pad][32] as input of a product; K-padding written as zero */
    DEV(float) part; /* [n_rows][n_heads][n_splits][d_head + 2] when n_splits > 1 */
    uint32_t n_heads, n_kv_heads, d_head, d_stride, capacity, n_splits;
    uint32_t rotates; /* attention rotates and appends; else eco_batch_rope has */
    uint32_t n_pad;
    float scale;
    uint32_t reserved;
};

struct gpu_batch_argmax_args {
    DEV(const float) logits; /* [n_batch][n] */
    DEV(float) part_value;   /* [n_batch][BATCH_ARGMAX_BLOCKS] */
    DEV(uint32_t) part_index;
    uint32_t n, reserved;
};

/* Chooses the next token of every sequence and moves on; or, after the prompts, stands behind them.
 */
struct gpu_batch_done_args {
    DEV(uint64_t) progress; /* first, then the units to add: as gpu_units_done_args */
    uint64_t n_units;
    DEV(struct gpu_state) state;
    DEV(uint32_t) tokens; /* [n_batch] */
    DEV(const float) part_value;
    DEV(const uint32_t) part_index;
    uint32_t n_batch;
    uint32_t start_position; /* set when `starts`: the position after the prompts */
    uint32_t starts, reserved;
};

/* A turn of a warp: RATE_PRODUCTS products of 16 by 8 by 16 (FP16) or 32 (INT8). */
enum { RATE_PRODUCTS = 8, RATE_BLOCKS_PER_SM = 2 };
struct gpu_rate_args {
    DEV(uint32_t) sink; /* [threads] */
    uint32_t n_turns, reserved;
};

struct gpu_chunk_done_args {
    DEV(uint64_t) progress; /* as above */
    uint64_t n_units;
    DEV(struct gpu_state) state;
    DEV(uint32_t) chunk; /* moves by n_rows; back to 0 after the last of n_total */
    uint32_t n_rows, n_total;
};

#endif
