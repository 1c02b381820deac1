/* SPDX-License-Identifier: Apache-2.0
 *
 * What the persistent kernel of one token is given (stream.c): the phases of a token, each a matrix
 * product, in the order they run, and where activations lie between them.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_STREAM_ARGS_H
#define ECOCOMPUTE_KERNELS_GPU_STREAM_ARGS_H

#include "args.h"
#include <stdbool.h>

enum {
    STREAM_WARPS = 16, /* of a block, that multiply and do all else */
    STREAM_WORKERS_MAX = STREAM_WARPS,
    STREAM_BLOCK = STREAM_WARPS * 32,
    STREAM_REGISTERS = 128,   /* a thread, so that a block fits on every multiprocessor */
    STREAM_COLS_MAX = 8192,   /* of the residual stream: its normalisation is held in registers */
    STREAM_GROUP_COLS = 1024, /* inputs are padded with zeros to a multiple of this */
    STREAM_STEP_COLS = 256,   /* of a row that a warp multiplies at a step */
    STREAM_SLOTS_MIN = 2,     /* of a warp's ring: in flight, but for one */
    STREAM_SLOTS_MAX = 5,
    STREAM_ARGS_BYTES = 256,
    STREAM_SCRATCH_BYTES = 256,
    STREAM_SMALL_TABLE_BYTES = 16 * 32 * 4, /* NF4_SMALL: a value, twice, a nibble; a copy a lane */
    STREAM_TABLE_STRIDE = 256, /* NF4: a pair of values a byte of codes, a copy a lane */
    STREAM_TABLE_BYTES = 256 * STREAM_TABLE_STRIDE,
    STREAM_ATTENTION_BYTES = (GPU_HEAD_MAX + 2 * STREAM_WARPS + STREAM_WARPS * GPU_HEAD_MAX) * 4 +
                             2 * GPU_HEAD_MAX * 2, /* struct head_part */
    STREAM_SPLITS_MAX = 64,
    STREAM_SPLIT_POSITIONS = 512 /* that a block takes of a head before another joins it */
};

static inline uint32_t stream_padded_cols(uint32_t cols) {
    return (cols + STREAM_GROUP_COLS - 1) / STREAM_GROUP_COLS * STREAM_GROUP_COLS;
}

/* Bytes from the beginning (behind the table) to the input: arguments, scratch, phases and their
 * shares, sums, angles. What is copied to shared memory lies at whole lines of 128 bytes: at odd
 * multiples of 16 the copies take a quarter longer. */
static inline uint32_t stream_input_offset(uint32_t n_phases, uint32_t n_segments) {
    const uint32_t bytes = STREAM_ARGS_BYTES + STREAM_SCRATCH_BYTES + n_phases * 96 +
                           n_segments * 8 + GPU_HEAD_MAX * 4;
    return (bytes + 127) / 128 * 128;
}

/* Formats the kernels know, by width. */
enum gpu_stream_format {
    STREAM_FP16 = 0,
    STREAM_BF16,
    STREAM_W8A16,
    STREAM_Q8_0,
    STREAM_FP8,
    STREAM_INT8,
    STREAM_NF4 = 8,   /* these four differ by a bit each, which one comparison tells */
    STREAM_NF4_SMALL, /* as NF4, its table small: a value a nibble, for little shared memory */
    STREAM_NF4_DQ,    /* as NF4, its absmax values quantized */
    STREAM_NF4_DQ_SMALL,
    STREAM_Q4_0
};

static inline bool stream_is_nf4(uint32_t format) {
    return (format | 3) == STREAM_NF4_DQ_SMALL;
}
static inline bool stream_is_dq(uint32_t format) {
    return (format | 1) == STREAM_NF4_DQ_SMALL;
}
static inline bool stream_is_small(uint32_t format) {
    return (format | 2) == STREAM_NF4_DQ_SMALL;
}
/* The table in front of all else in shared memory: a multiple of 128. */
static inline uint32_t stream_table_bytes(uint32_t format) {
    return !stream_is_nf4(format)    ? 0
           : stream_is_small(format) ? STREAM_SMALL_TABLE_BYTES
                                     : STREAM_TABLE_BYTES;
}

/* Bytes of an input of `cols` padded columns. Behind the values, INT8 (FP16, of outliers alone) has a
 * code a column and a byte for every four of which one is an outlier; Q4_0 a float for every block of
 * 32. */
static inline uint32_t stream_input_bytes(uint32_t format, uint32_t cols) {
    return format == STREAM_INT8   ? 3 * cols + cols / 4
           : format == STREAM_Q4_0 ? 2 * cols + cols / 8
                                   : 2 * cols;
}

/* n > 0 as a factor of 2^-32, rounded up; 0 stands for 1. */
static inline uint32_t inverse_of(uint32_t n) {
    return 0xffffffffu / n + 1;
}
/* x / n by its inverse, for x n below 2^32. */
static inline uint32_t times_inverse(uint32_t x, uint32_t inverse) {
    return inverse == 0 ? x : (uint32_t)((uint64_t)x * inverse >> 32);
}

static inline bool stream_is_wide(uint32_t format) {
    return format <= STREAM_BF16;
}
static inline bool stream_is_nibble(uint32_t format) {
    return format >= STREAM_NF4;
}
/* Rows that a warp multiplies at once. */
static inline uint32_t stream_tile_rows(uint32_t format) {
    return stream_is_nibble(format) ? 8 : 2;
}
/* Bytes of one row that a warp multiplies at a step, and those of the scales of its blocks; 0: one
 * scale a row, or none. */
static inline uint32_t stream_step_bytes(uint32_t format) {
    return stream_is_nibble(format) ? 128 : stream_is_wide(format) ? 512 : 256;
}
static inline uint32_t stream_step_scales(uint32_t format) {
    return stream_is_nibble(format) || format == STREAM_Q8_0 ? 16 : 0;
}
/* Steps of a tile that fill a slot of a ring. Asking costs as much for fewer. */
static inline uint32_t stream_group_steps(uint32_t format) {
    return stream_is_wide(format) || stream_is_nibble(format) ? 2 : 4;
}
/* A slot: codes of a tile's rows, then the scales of their blocks. */
static inline uint32_t stream_slot_bytes(uint32_t format) {
    return stream_tile_rows(format) * stream_group_steps(format) *
           (stream_step_bytes(format) + stream_step_scales(format));
}

/* What a phase does with the sums of a row pair. */
enum gpu_phase_kind {
    PHASE_QKV = 0,      /* norm in front; + bias → qkv; attention follows */
    PHASE_ADD_ATTENDED, /* input: attended; added to the residual stream */
    PHASE_GATE_UP,      /* norm in front; row 2i gate, row 2i + 1 up; SiLU(gate) · up → hidden */
    PHASE_ADD_HIDDEN,   /* input: hidden; added to the residual stream */
    PHASE_HEAD          /* norm in front; → logits, and the highest of each block */
};

/* One matrix product; layout as cuda_matrix says (cuda_model.h). 64 bytes. */
struct gpu_phase {
    DEV(const void) weights;
    DEV(const void) scales;
    DEV(const half) gain;     /* phases with a norm: [cols] */
    DEV(const half) bias;     /* PHASE_QKV: [rows] or null */
    DEV(const float) scales2; /* NF4-DQ: args.h */
    uint32_t kind, rows, cols, stride, n_blocks, layer;
};

struct gpu_stream_args {
    DEV(const struct gpu_phase) phases; /* [n_phases], the head last */
    DEV(const half) embedding;          /* [n_vocab][embedding_stride] */
    DEV(const float) angles;            /* [capacity][d_head / 2][2] */
    DEV(half) k_cache;                  /* of layer 0: [n_kv_heads][capacity][d_stride] */
    DEV(half) v_cache;
    /* What blocks tell one another: a float or FP16 with the turn it is of, in one word (stream_device.h);
     * as many words as a multiple of 4. */
    DEV(uint64_t) x;        /* [d_model] residual stream */
    DEV(uint64_t) qkv;      /* [(n_heads + 2 n_kv_heads) d_head], before rotation */
    DEV(uint64_t) part;     /* [n_heads][n_splits][d_head + 2]: max, sum, weighted values */
    DEV(uint32_t) attended; /* [n_heads d_head] */
    DEV(uint32_t) hidden;   /* [d_ff] */
    DEV(float) logits;      /* [n_vocab] */
    DEV(float) best_value;  /* [grid] */
    DEV(uint32_t) best_index;
    DEV(const uint32_t) turn; /* tokens done */
    DEV(const struct gpu_state) state;
    DEV(const float) dq_map;     /* NF4-DQ: the values of the codes of absmax */
    uint64_t cache_stride;       /* halves from one layer's cache to the next */
    uint32_t format;             /* enum gpu_stream_format of all phases */
    uint32_t n_slots, n_workers; /* of a warp's ring; warps that multiply */
    uint32_t shared_bytes;       /* of a block, for the launch */
    uint32_t n_layers, n_phases, d_model, d_ff, embedding_stride, n_heads, n_kv_heads, d_head,
        d_stride, capacity;
    uint32_t n_splits;    /* of the cache, at most; few positions use fewer */
    uint32_t lane_bits;   /* of how many lanes share a position: 8 << lane_bits >= d_stride */
    uint32_t heads_a_key; /* query heads of a KV head */
    uint32_t key_inverse; /* inverse_of that */
    uint32_t input_cols;  /* the widest input, padded as stream_padded_cols says */
    uint32_t input_bytes; /* room for that, or for attention's needs */
    uint32_t n_segments;  /* room for partial sums, in row pairs: a block's tiles + workers */
    uint32_t position, token, first_turn; /* the kernel's own: from the state and the turn */
    float eps, scale, inverse_width;      /* scale 1 / sqrt(d_head), inverse_width 1 / d_model */
};

/* What the text is specialised for (cuda_stream.c): a function of the kernels, the argument it stands
 * for, and the constant in the text that is written over. The less a multiprocessor has to fetch of the code,
 * the sooner a token is done. */
#define STREAM_CONSTANTS(X)                   \
    X(stream_format, format, "0x0ec0f000")    \
    X(n_slots, n_slots, "0x0ec0f001")         \
    X(n_workers, n_workers, "0x0ec0f002")     \
    X(d_model, d_model, "0x0ec0f004")         \
    X(d_head, d_head, "0x0ec0f005")           \
    X(d_stride, d_stride, "0x0ec0f006")       \
    X(n_heads, n_heads, "0x0ec0f007")         \
    X(n_kv_heads, n_kv_heads, "0x0ec0f008")   \
    X(lane_bits, lane_bits, "0x0ec0f009")     \
    X(n_splits_max, n_splits, "0x0ec0f00a")   \
    X(d_ff, d_ff, "0x0ec0f00b")               \
    X(heads_a_key, heads_a_key, "0x0ec0f00c") \
    X(key_inverse, key_inverse, "0x0ec0f00d")

#endif
