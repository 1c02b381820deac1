/* SPDX-License-Identifier: Apache-2.0
 *
 * A model in host memory: weights, KV cache and the buffers of one token, in a single block.
 */
#ifndef ECOCOMPUTE_KERNELS_CPU_CPU_MODEL_H
#define ECOCOMPUTE_KERNELS_CPU_CPU_MODEL_H

#include "ecocompute/engine.h"
#include "kernels/cpu/thread_pool.h"

/* Columns of a row are padded to a multiple of this with codes of the value 0, and inputs with zeros,
 * so that no loop has a tail. */
enum { CPU_COLUMN_UNIT = 64 };

/* Row-major; `stride` in weights. FP16 is uint16_t. 4-bit codes: byte j of a group of 32 columns
 * holds column j low and column j + 16 high. */
typedef struct eco_cpu_matrix {
    eco_format format;
    uint32_t n_rows, n_columns, stride;
    uint32_t n_row_bytes; /* of weights */
    uint32_t n_blocks;    /* scales a row; 0 for 16-bit formats */
    void *weights;        /* FP16, BF16: uint16_t; INT8, W8A16, Q8_0: int8_t; FP8, nibbles: bytes */
    float *scales;        /* NF4, INT8, W8A16: absmax; FP8: scale */
    uint16_t *half_scales;  /* Q4_0, Q8_0: d */
    uint8_t *scale_codes;   /* NF4-DQ, and … */
    float *scales2, offset; /* … absmax a 256 of them, and the mean; see docs/formats.md */
} eco_cpu_matrix;

/* The input of a product, values rounded to FP16, zeros from n_columns to stride. For INT8 also its
 * quantized form. */
typedef struct eco_cpu_input {
    const float *x;
    const int16_t *codes; /* 0 at outliers */
    float absmax;         /* of what is no outlier */
    const uint32_t *outliers;
    uint32_t n_outliers;
} eco_cpu_input;

typedef struct eco_cpu_layer {
    eco_cpu_matrix q, k, v, o, gate, up, down;
    uint16_t *q_bias, *k_bias, *v_bias;  /* NULL where the model has none */
    uint16_t *norm_attention, *norm_ffn; /* [d_model] */
    uint16_t *k_cache, *v_cache;         /* [n_batch][positions][n_kv_heads · d_head] */
} eco_cpu_layer;

/* What a step works in: a row each for as many sequences as go together. */
typedef struct eco_cpu_buffer {
    float *values;
    size_t stride; /* from one sequence's to the next's */
} eco_cpu_buffer;

typedef struct eco_cpu_model {
    eco_model_shape shape;
    eco_workload workload; /* shape points to the copy above */
    eco_format linear, head_format;
    uint64_t seed;
    uint32_t n_batch,
        sequence; /* `sequence`: whose cache a step of one works on; the caller sets it */
    uint32_t n_prompt, n_tokens,
        n_positions;        /* n_positions = n_prompt + n_tokens: the cache's capacity */
    uint32_t n_query, n_kv; /* n_heads · d_head, n_kv_heads · d_head */

    eco_cpu_matrix embedding; /* FP16 [n_vocab][d_model] */
    eco_cpu_matrix head;      /* [n_vocab][d_model]; the embedding itself when tied and FP16 */
    uint16_t *norm_final;     /* [d_model] */
    eco_cpu_layer *layers;

    float *rope_cos, *rope_sin; /* [positions][d_head / 2] */
    uint32_t *prompt;           /* [n_batch][n_prompt] */
    /* [n_batch] of each; a step of one sequence uses the first. */
    eco_cpu_buffer residual;   /* [d_model] */
    eco_cpu_buffer input;      /* [d_model], padded: normed, values rounded to FP16 */
    eco_cpu_buffer query;      /* [n_heads][d_head] */
    eco_cpu_buffer key, value; /* [n_kv_heads][d_head] */
    eco_cpu_buffer attended;   /* [n_heads][d_head], padded, rounded to FP16 */
    eco_cpu_buffer scores;     /* [n_heads][positions] */
    eco_cpu_buffer hidden;     /* [d_ff], padded, rounded to FP16 */
    eco_cpu_buffer logits;     /* [n_vocab] */
    size_t widest;             /* input of a product, padded */
    int16_t *input_codes;      /* INT8: [n_batch][widest] */
    uint32_t *outliers;        /* INT8: [n_batch][widest] */

    void *block; /* owns all of the above but `layers` */
    uint64_t weight_bytes, block_bytes;
} eco_cpu_model;

/* Element of a layer's cache at which a position of a sequence begins. */
static inline size_t ecoi_cpu_cache_row(const eco_cpu_model *model, size_t sequence,
                                        size_t position) {
    return (sequence * model->n_positions + position) * model->n_kv;
}

/* Bytes of the block, 0 when they do not fit size_t. The workload has passed ecoi_workload_check.
 */
uint64_t ecoi_cpu_model_bytes(const eco_workload *workload);
/* Allocates and fills all weights, every thread its rows. ECO_E_NO_MEMORY names the bytes. */
ECO_NODISCARD eco_status ecoi_cpu_model_new(const eco_workload *workload, eco_pool *pool,
                                            eco_cpu_model **out, eco_error *err);
void ecoi_cpu_model_free(eco_cpu_model *model); /* NULL is fine */

/* MARK: - Storing (cpu_store.c) */

/* Sizes of a matrix without memory; the caller sets the pointers that the sizes ask for. */
eco_cpu_matrix ecoi_cpu_matrix_of(eco_format format, uint32_t n_rows, uint32_t n_columns);
/* Stores one row of n_columns FP16 numbers in the matrix's format. NF4-DQ: the FP32 absmax go to
 * `scales`, which the caller lends until ecoi_cpu_matrix_finish. */
void ecoi_cpu_matrix_store_row(eco_cpu_matrix *matrix, uint32_t row, const uint16_t *values);
/* NF4-DQ, after all rows: quantizes what is in `scales` and sets it NULL. Others: nothing to do. */
void ecoi_cpu_matrix_finish(eco_cpu_matrix *matrix);

#endif
