/* SPDX-License-Identifier: Apache-2.0
 *
 * What each kernel is given: one structure a kernel, passed by value, shared by the kernels and the
 * host code that launches them, so that neither order nor width of an argument can differ. Host
 * code sees addresses as integers.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_ARGS_H
#define ECOCOMPUTE_KERNELS_GPU_ARGS_H

#include <stdint.h>

#if defined(__NVPTX__) || defined(ECO_GPU_EMULATED)
#include "device.h"
#define DEV(type) GLOBAL type *
#else
#define DEV(type) uint64_t
#endif

/* Launch geometry that kernels rely on. */
enum {
    GPU_BLOCK = 256, /* threads of a GEMV, attention or fill block */
    GPU_WARPS = GPU_BLOCK / 32,
    GPU_HEAD_MAX = 256, /* widest attention head */
    GPU_ARGMAX_BLOCKS = 64,
    GPU_READ_BLOCK = 512,
    GPU_PAD = 32 /* activations are padded with zeros to a multiple of this */
};

/* Where decoding stands; lives in device memory, advanced by eco_token_done. Positions run to
 * wrap_hi - 1, then go on at wrap_lo; the token at a position below n_forced is given, else it is
 * the one just decoded. */
struct gpu_state {
    uint64_t steps; /* finished since the work began */
    uint32_t position, token;
    uint32_t wrap_lo, wrap_hi;
    uint32_t n_forced, reserved;
};

struct gpu_embed_args {
    DEV(const half) table; /* [n_vocab][stride] */
    DEV(float) x;          /* [d_model] */
    DEV(const struct gpu_state) state;
    uint32_t d_model, stride;
};

/* One matrix product. FP16 weights: [rows][stride] values, stride a multiple of 8. NF4:
 * [rows][stride / 2] bytes, even elements in the low nibble, stride a multiple of 32, absmax
 * [rows][n_blocks]. Padding holds zeros. */
struct gpu_gemv_args {
    DEV(const void) weights;
    DEV(const float) absmax;
    DEV(const void) weights_up; /* gate/up kernels only */
    DEV(const float) absmax_up;
    DEV(const float) x;   /* kernels with a norm: the residual stream [cols] */
    DEV(const half) gain; /* … and the norm's gains [cols] */
    DEV(const half) h;    /* kernels without: FP16 input [cols], zero-padded to GPU_PAD */
    DEV(const half) bias; /* [rows] or null */
    DEV(float) y;         /* [rows]; the residual kernels add to it */
    DEV(half) y_half;     /* gate/up kernels: [rows] */
    uint32_t rows, cols, stride, n_blocks;
    float eps;
    uint32_t reserved;
};

struct gpu_rope_args {
    DEV(float) qkv;          /* [(n_heads + 2 n_kv_heads) d_head]; q is rotated in place */
    DEV(const float) angles; /* [capacity][d_head / 2][2]: cosine, sine */
    DEV(half) k_cache;       /* [n_kv_heads][capacity][d_stride], padding written as zero */
    DEV(half) v_cache;
    DEV(const struct gpu_state) state;
    uint32_t n_heads, n_kv_heads, d_head, d_stride, capacity, reserved;
};

struct gpu_attention_args {
    DEV(const float) q; /* [n_heads][d_head] */
    DEV(const half) k_cache;
    DEV(const half) v_cache;
    DEV(half) out;   /* [n_heads][d_head], when n_splits is 1 */
    DEV(float) part; /* [n_heads][n_splits][d_head + 2]: max, sum, weighted values, otherwise */
    DEV(const struct gpu_state) state;
    uint32_t n_heads, n_kv_heads, d_head, d_stride, capacity, n_splits;
    uint32_t lanes; /* that share a position: a power of two, 8 lanes >= d_stride */
    float scale;    /* 1 / sqrt(d_head) */
};

struct gpu_argmax_args {
    DEV(const float) logits;
    DEV(float) part_value; /* [GPU_ARGMAX_BLOCKS] */
    DEV(uint32_t) part_index;
    uint32_t n, reserved;
};

struct gpu_token_done_args {
    DEV(uint64_t) progress; /* first by agreement with the scripted libcuda: pinned host memory */
    DEV(struct gpu_state) state;
    DEV(const uint32_t) forced; /* [n_forced] */
    DEV(const float) part_value;
    DEV(const uint32_t) part_index;
    uint32_t n_parts, reserved;
};

struct gpu_units_done_args {
    DEV(uint64_t) progress; /* first, as above; then how many units to add */
    uint64_t n_units;
    DEV(struct gpu_state) state;
};

struct gpu_read_args {
    DEV(const void) data;
    uint64_t n_vecs; /* of 16 bytes */
    DEV(uint32_t) sink;
};

struct gpu_empty_args {
    DEV(uint32_t) sink;
};

struct gpu_fill_fp16_args {
    DEV(half) out; /* [rows][stride] */
    uint64_t key;
    uint64_t rows;
    uint32_t cols, stride;
    float offset, scale;
};

struct gpu_fill_nf4_args {
    DEV(uint8_t) codes; /* [rows][stride / 2] */
    DEV(float) absmax;  /* [rows][n_blocks] */
    uint64_t key;
    uint64_t rows;
    uint32_t cols, stride, n_blocks;
    float scale;
};

struct gpu_fill_random_args {
    DEV(uint64_t) out;
    uint64_t n_words;
};

#endif
