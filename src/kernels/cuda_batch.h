/* SPDX-License-Identifier: Apache-2.0
 *
 * Several rows at once on tensor cores: decoding of 2 to 64 sequences in step, and prompts in chunks
 * of up to 64 tokens, also for a single sequence. Needs compute capability 8.0.
 *
 * Sequence b's prompt is synthetic: token i is syn_batch_token(seed, b, i). All sequences have the
 * same length and stand at the same position; each has its own part of the cache,
 * [n_batch][n_kv_heads][capacity][d_stride] in every layer.
 */
#ifndef ECOCOMPUTE_KERNELS_CUDA_BATCH_H
#define ECOCOMPUTE_KERNELS_CUDA_BATCH_H

#include "ecocompute/engine.h"
#include "kernels/cuda_driver.h"
#include "kernels/gpu/batch_args.h"

typedef enum cuda_batch_kernel {
    CUDA_BATCH_EMBED = 0,
    CUDA_BATCH_NORM,
    CUDA_BATCH_QUANTIZE,
    CUDA_BATCH_ROPE,
    CUDA_BATCH_ATTENTION,
    CUDA_BATCH_ATTENTION_JOIN,
    CUDA_BATCH_ARGMAX,
    CUDA_BATCH_DONE,
    CUDA_CHUNK_DONE,
    CUDA_RATE_FP16,
    CUDA_RATE_INT8,
    CUDA_BATCH_KERNEL_COUNT
} cuda_batch_kernel;

enum { CUDA_BATCH_MODULE_COUNT = 2, CUDA_BATCH_SM_MAX = 160, CUDA_BATCH_GEMMS = 128 };

/* How a product is laid over the device: rows of a tile, columns of a stage, stages.
 * n_stages below 2: it is not. */
typedef struct cuda_batch_layout {
    uint32_t format, n_pad, tile_rows, columns, n_stages, shared_bytes;
} cuda_batch_layout;

/* A product, compiled for a format and a layout. */
typedef struct cuda_batch_gemm {
    cuda_batch_layout layout;
    cu_module *module;
    cu_function *function;
} cuda_batch_gemm;

/* What the batched kernels need of a device; compiled when the first model asks for them. */
typedef struct cuda_batch_device {
    cu_module *modules[CUDA_BATCH_MODULE_COUNT];
    cu_function *kernels[CUDA_BATCH_KERNEL_COUNT];
    cuda_batch_gemm gemms[CUDA_BATCH_GEMMS];
    uint32_t n_gemms;
    uint32_t shared_bytes; /* dynamic shared memory that a block may have */
} cuda_batch_device;

/* Addresses, inside the model's one allocation. Inputs of products as batch_input_index says. */
typedef struct cuda_batch_memory {
    uint64_t x;                        /* [BATCH_MAX][d_model], FP32 */
    uint64_t qkv;                      /* [BATCH_MAX][n_qkv], FP32 */
    uint64_t normed, attended, hidden; /* inputs of products */
    uint64_t last;                     /* input of the head, a row a sequence */
    uint64_t codes, scales;            /* INT8: of the input at hand */
    uint64_t logits;                   /* [n_batch][n_vocab], FP32 */
    uint64_t part, arrived;            /* of products, gpu_batch_gemm_args */
    uint64_t attention_part;
    uint64_t best_value, best_index;
    uint64_t tokens;  /* [n_batch]: what is decoded next */
    uint64_t prompts; /* [n_batch][capacity] at most */
    uint64_t chunk;
    uint32_t n_batch, n_arrived;
} cuda_batch_memory;

/* Takes the memory from *next on. */
cuda_batch_memory ecoi_cuda_batch_plan(const eco_workload *workload, uint64_t *next);

struct cuda_device;
struct cuda_model;

/* Whether the device and the formats allow it; if not, why, for a person. */
bool ecoi_cuda_batch_usable(const struct cuda_device *device, const eco_workload *workload,
                            const char **reason);
/* Once, when the device is opened: the most shared memory that a block can be given. */
void ecoi_cuda_batch_limits(struct cuda_device *device, uint32_t shared_optin_bytes);
void ecoi_cuda_batch_unload(struct cuda_device *device);

/* The kernel of a matrix rate, compiled where needed. ECO_E_UNSUPPORTED: the device is too old. */
ECO_NODISCARD eco_status ecoi_cuda_rate_kernel(struct cuda_device *device, bool int8,
                                               cu_function **out, eco_error *err);

/* After the model's memory is filled: compiles where needed, uploads the prompts, records the graphs.
 * model->batch is set then, and ecoi_cuda_batch_work and _logits may be called. */
ECO_NODISCARD eco_status ecoi_cuda_batch_open(struct cuda_model *model, eco_error *err);
void ecoi_cuda_batch_close(struct cuda_model *model);

/* DECODE, GENERATION and PREFILL. A step of the batch, or a chunk, is not divided: n_units may pass
 * n_units_max by less than one. */
ECO_NODISCARD eco_status ecoi_cuda_batch_work(struct cuda_model *model, const eco_work *work,
                                              eco_work_result *out, eco_error *err);
/* Logits [n_batch][n_vocab] after tokens [n_batch][n]: all but the last as a prompt, in chunks, the
 * last one as a decoded step; or, if `all_as_prompt`, the last one too. */
ECO_NODISCARD eco_status ecoi_cuda_batch_logits(struct cuda_model *model, const uint32_t *tokens,
                                                uint32_t n, bool all_as_prompt, float *logits,
                                                eco_error *err);

#endif
