/* SPDX-License-Identifier: Apache-2.0
 *
 * Between cuda_batch.c, which knows what a step consists of, and cuda_batch_work.c, which records
 * steps and runs them.
 */
#ifndef ECOCOMPUTE_KERNELS_CUDA_BATCH_GRAPH_H
#define ECOCOMPUTE_KERNELS_CUDA_BATCH_GRAPH_H

#include "kernels/cuda_model.h"

/* Parts of a layer, to be timed apart. */
enum {
    CUDA_PART_NORM = 1,
    CUDA_PART_QKV = 2,
    CUDA_PART_ATTENTION = 4,
    CUDA_PART_O = 8,
    CUDA_PART_GATE_UP = 16,
    CUDA_PART_DOWN = 32
};

/* The rows of a step, and the counter it advances. */
typedef struct cuda_batch_rows {
    bool is_prefill;
    uint32_t left_out; /* parts that are not recorded: 0 but in a timing */
    uint32_t n_rows;
    uint32_t n_prompt; /* of each sequence */
    uint64_t counter;
} cuda_batch_rows;

/* To be captured, or called to launch at once; `user` is the cuda_batch_rows.
 * batch: a decoded step of all sequences. chunk: the next n_rows tokens of the prompts. first: after
 * the last chunk, the first token of every sequence; is_prefill is set. */
eco_status ecoi_cuda_record_batch(cuda_model *model, const void *user, eco_error *err);
eco_status ecoi_cuda_record_chunk(cuda_model *model, const void *user, eco_error *err);
eco_status ecoi_cuda_record_first(cuda_model *model, const void *user, eco_error *err);

/* Compiles the kernels where needed, and zeroes what must be. */
ECO_NODISCARD eco_status ecoi_cuda_batch_prepare(cuda_model *model, eco_error *err);

#endif
