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
    GPU_DQ_GROUP = 256,         /* NF4-DQ: blocks that share a scale of their absmax */
    GPU_DQ_MAP_BYTES = 256 * 4, /* of the values of the codes of absmax */
    GPU_PAD = 32                /* activations are padded with zeros to a multiple of this */
};

/* NF4-DQ: absmax of a block = map[its code] · scale of its 256 blocks + offset of its tensor, where blocks
 * are counted through all rows of a tensor. `scales2` [tensors][gpu_dq_words] holds a tensor's offset
 * and then its scales; a matrix is one tensor, or two with rows in turns (gate, up), or three one
 * behind the other (query; key and value, which are equally long). n_first: rows of the first, which none exceeds. */
struct gpu_dq_row {
    uint32_t tensor, first_block;
};
static inline struct gpu_dq_row gpu_dq_row_at(uint32_t row, uint32_t n_rows, uint32_t n_tensors,
                                              uint32_t n_first, uint32_t n_blocks) {
    if (n_tensors == 2) {
        return (struct gpu_dq_row){row & 1, (row >> 1) * n_blocks};
    }
    const uint32_t third = n_first + (n_rows - n_first) / 2;
    const uint32_t tensor = row < n_first ? 0 : row < third ? 1 : 2;
    const uint32_t begin = tensor == 0 ? 0 : tensor == 1 ? n_first : third;
    return (struct gpu_dq_row){tensor, (row - begin) * n_blocks};
}
static inline uint32_t gpu_dq_words(uint32_t n_first, uint32_t n_blocks) {
    return 1 + (n_first * n_blocks + GPU_DQ_GROUP - 1) / GPU_DQ_GROUP;
}

/* Where decoding stands; lives in device memory, advanced by eco_token_done. Positions run to
 * wrap_hi - 1, then go on at wrap_lo; the token at a position below n_forced is given, else it is
 * the one just decoded. */
struct gpu_state {
    uint64_t steps; /* finished since the work began */
    uint32_t position, token;
    uint32_t wrap_lo, wrap_hi;
    uint32_t n_forced, reserved;
};

struct gpu_token_done_args {
    DEV(uint64_t) progress; /* first by agreement with the scripted libcuda: pinned host memory */
    DEV(struct gpu_state) state;
    DEV(const uint32_t) forced; /* [n_forced] */
    DEV(const float) part_value;
    DEV(const uint32_t) part_index;
    DEV(uint32_t) turn; /* tokens the persistent kernel has done, never back; or null */
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

/* One synthetic tensor of `rows` rows, stored in the kernel's format as cuda_matrix says. Row i of
 * the tensor is row i · row_step of what `weights` and `scales` point to: tensors that interleave in
 * one matrix have steps above 1. */
struct gpu_fill_args {
    DEV(void) weights;
    DEV(void) scales; /* none for 16-bit formats */
    uint64_t key;
    uint64_t rows;
    uint32_t cols, stride, n_blocks, row_step;
    float offset, scale;  /* values are offset + scale · z; offset FP16 only */
    uint64_t outlier_key; /* columns planted as outliers, FP16 only: synthetic.h */
    uint32_t outlier_permille, reserved;
};

struct gpu_fill_random_args {
    DEV(uint64_t) out;
    uint64_t n_words;
};

#endif
