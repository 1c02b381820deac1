/* SPDX-License-Identifier: Apache-2.0
 *
 * A model in host memory: weights, KV cache and the buffers of one token, in a single block. FP16
 * is uint16_t. NF4 keeps two codes a byte, the even column in the high half, and one FP32 absmax a
 * block of 64 columns; each row begins on a byte of its own.
 */
#ifndef ECOCOMPUTE_KERNELS_CPU_CPU_MODEL_H
#define ECOCOMPUTE_KERNELS_CPU_CPU_MODEL_H

#include "ecocompute/engine.h"
#include "kernels/cpu/thread_pool.h"

typedef struct eco_cpu_matrix {
    eco_format format;
    uint32_t n_rows, n_columns;
    uint16_t *half;       /* FP16: [rows][columns] */
    uint8_t *codes;       /* NF4: [rows][ceil(columns / 2)] */
    float *absmax;        /* NF4: [rows][n_blocks] */
    uint32_t n_row_bytes; /* of codes */
    uint32_t n_blocks;    /* a row */
} eco_cpu_matrix;

typedef struct eco_cpu_layer {
    eco_cpu_matrix q, k, v, o, gate, up, down;
    uint16_t *q_bias, *k_bias, *v_bias;  /* NULL where the model has none */
    uint16_t *norm_attention, *norm_ffn; /* [d_model] */
    uint16_t *k_cache, *v_cache;         /* [positions][n_kv_heads · d_head] */
} eco_cpu_layer;

typedef struct eco_cpu_model {
    eco_model_shape shape;
    eco_format linear, head_format;
    uint64_t seed;
    uint32_t n_prompt, n_tokens,
        n_positions;        /* n_positions = n_prompt + n_tokens: the cache's capacity */
    uint32_t n_query, n_kv; /* n_heads · d_head, n_kv_heads · d_head */

    eco_cpu_matrix embedding; /* FP16 [n_vocab][d_model] */
    eco_cpu_matrix head;      /* [n_vocab][d_model]; the embedding itself when tied and FP16 */
    uint16_t *norm_final;     /* [d_model] */
    eco_cpu_layer *layers;

    float *rope_cos, *rope_sin; /* [positions][d_head / 2] */
    uint32_t *prompt;           /* [n_prompt] */
    float *residual;            /* [d_model] */
    float *input;               /* [d_model]: normed, values rounded to FP16 */
    float *query;               /* [n_heads][d_head] */
    float *key, *value;         /* [n_kv_heads][d_head] */
    float *attended;            /* [n_heads][d_head], rounded to FP16 */
    float *scores;              /* [n_heads][positions] */
    float *hidden;              /* [d_ff], rounded to FP16 */
    float *logits;              /* [n_vocab] */

    void *block; /* owns all of the above but `layers` */
    uint64_t weight_bytes, block_bytes;
} eco_cpu_model;

/* Bytes of the block, 0 when they do not fit size_t. The workload has passed ecoi_workload_check.
 */
uint64_t ecoi_cpu_model_bytes(const eco_workload *workload);
/* Allocates and fills all weights, every thread its rows. ECO_E_NO_MEMORY names the bytes. */
ECO_NODISCARD eco_status ecoi_cpu_model_new(const eco_workload *workload, eco_pool *pool,
                                            eco_cpu_model **out, eco_error *err);
void ecoi_cpu_model_free(eco_cpu_model *model); /* NULL is fine */

/* Stores one row of values, which are FP16 numbers, in the matrix's format. */
void ecoi_cpu_matrix_store_row(eco_cpu_matrix *matrix, uint32_t row, const uint16_t *values);

#endif
