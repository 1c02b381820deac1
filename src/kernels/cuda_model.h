/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the CUDA backend share: the opened device, and a model's memory, graphs and
 * stream. Addresses on the device are uint64_t. Everything here belongs to one thread at a time.
 */
#ifndef ECOCOMPUTE_KERNELS_CUDA_MODEL_H
#define ECOCOMPUTE_KERNELS_CUDA_MODEL_H

#include "ecocompute/engine.h"
#include "kernels/cuda_driver.h"
#include "kernels/gpu/args.h"

typedef enum cuda_kernel {
    CUDA_EMBED = 0,
    CUDA_NORM_GEMV_FP16,
    CUDA_NORM_GEMV_NF4,
    CUDA_GEMV_ADD_FP16,
    CUDA_GEMV_ADD_NF4,
    CUDA_NORM_GATE_UP_FP16,
    CUDA_NORM_GATE_UP_NF4,
    CUDA_ROPE_APPEND,
    CUDA_ATTENTION,
    CUDA_ATTENTION_JOIN,
    CUDA_ARGMAX,
    CUDA_TOKEN_DONE,
    CUDA_FILL_FP16,
    CUDA_FILL_NF4,
    CUDA_FILL_RANDOM,
    CUDA_READ,
    CUDA_EMPTY,
    CUDA_UNITS_DONE,
    CUDA_KERNEL_COUNT
} cuda_kernel;

enum { CUDA_MODULE_COUNT = 3 };

typedef struct cuda_device {
    ecoi_cuda cuda;
    int device;
    uint32_t ordinal, n_sm, cc_major, cc_minor;
    cu_context *context; /* primary, retained */
    cu_module *modules[CUDA_MODULE_COUNT];
    cu_function *kernels[CUDA_KERNEL_COUNT];
    char name[ECO_NAME_MAX];
    eco_boundary boundary;
    uint64_t memory_free_bytes, memory_total_bytes; /* when opened, with the context */
    double open_s, compile_s;
} cuda_device;

/* Makes the device's context the calling thread's. Every entry of the backend begins with it. */
ECO_NODISCARD eco_status ecoi_cuda_enter(const cuda_device *device, eco_error *err);
/* As ecoi_cuda_check, for an entry called on `device`. */
ECO_NODISCARD eco_status ecoi_cuda_done(const cuda_device *device, int result, const char *what,
                                        eco_error *err);
/* Memory on the device; exhausted: ECO_E_DEVICE_MEMORY with bytes wanted and free. */
ECO_NODISCARD eco_status ecoi_cuda_allocate(const cuda_device *device, uint64_t bytes,
                                            const char *what, uint64_t *address, eco_error *err);

/* One matrix on the device; layout as gpu_gemv_args says. */
typedef struct cuda_matrix {
    eco_format format;
    uint32_t n_rows, n_columns, stride, n_blocks;
    uint64_t weights, absmax;
} cuda_matrix;

typedef struct cuda_layer {
    cuda_matrix qkv, o, gate, up, down; /* qkv: query, key, value rows in this order */
    uint64_t qkv_bias;                  /* 0: none */
    uint64_t norm_attention, norm_ffn;
    uint64_t k_cache, v_cache; /* [n_kv_heads][capacity][d_stride] */
} cuda_layer;

typedef struct cuda_memory {
    cuda_layer *layers; /* [n_layers], owned by the model; NULL: only counted */
    cuda_matrix embedding, head;
    uint64_t norm_final, angles;
    uint64_t x, qkv, attended, hidden, logits, part, best_value, best_index, forced, state, sink;
    uint64_t buffers_begin,
        end; /* buffers_begin … end hold activations; all addresses lie in base … end */
    uint64_t weight_bytes;
    uint32_t capacity, d_stride, n_splits;
} cuda_memory;

/* Gives every tensor its address from `base` on. `layers` NULL = count only. The workload has been
 * checked. */
cuda_memory ecoi_cuda_plan(const eco_workload *workload, uint64_t base, cuda_layer *layers);

enum { CUDA_IN_FLIGHT = 8 };

/* Words the device writes and the host reads, in pinned memory, each on a cache line of its own. */
typedef struct cuda_shared {
    uint64_t progress;
    uint64_t unused[15];
    uint64_t quiet; /* counts the steps of a prefill, which nobody watches */
} cuda_shared;

typedef struct cuda_model {
    cuda_device *device;
    eco_model_shape shape;
    eco_workload workload; /* shape points to the copy above */
    cuda_memory memory;
    cuda_layer *layers;
    uint64_t base, arena_bytes;
    cuda_shared *shared;
    uint64_t shared_address; /* as the device sees it */
    uint32_t *prompt;        /* [n_prompt] */
    cu_stream *stream;
    cu_event *events[CUDA_IN_FLIGHT];
    cu_graph_exec *token_graph, *quiet_graph;
    uint32_t n_launches; /* kernels of the graph recorded last */
    uint32_t launches_per_token;
    double prepare_s;
} cuda_model;

/* Launches one kernel on the model's stream; `args` is the kernel's argument structure. */
typedef struct cuda_launch {
    cuda_kernel kernel;
    uint32_t grid_x, grid_y, block, shared_bytes;
    void *args;
} cuda_launch;
ECO_NODISCARD eco_status ecoi_cuda_launch(cuda_model *model, const cuda_launch *launch,
                                          eco_error *err);

/* Records what `record` launches into a graph. */
typedef eco_status cuda_record(cuda_model *model, const void *user, eco_error *err);
ECO_NODISCARD eco_status ecoi_cuda_capture(cuda_model *model, cuda_record *record, const void *user,
                                           cu_graph_exec **out, eco_error *err);

/* Fills weights, tables and zeros of a freshly allocated model. */
ECO_NODISCARD eco_status ecoi_cuda_fill(cuda_model *model, eco_error *err);
/* Records one token; *user is the address of the counter to advance. */
eco_status ecoi_cuda_record_token(cuda_model *model, const void *user, eco_error *err);

ECO_NODISCARD eco_status ecoi_cuda_work(void *model, const eco_work *work, eco_work_result *out,
                                        eco_error *err);
ECO_NODISCARD eco_status ecoi_cuda_logits(void *model, const uint32_t *tokens, size_t n,
                                          float *logits, eco_error *err);

/* Model life cycle, for the backend table. */
uint64_t ecoi_cuda_model_bytes(const void *state, const eco_workload *workload);
ECO_NODISCARD eco_status ecoi_cuda_model_open(void *state, const eco_workload *workload,
                                              void **model, eco_error *err);
void ecoi_cuda_model_describe(const void *model, eco_arm_info *out);
void ecoi_cuda_model_close(void *model);

#endif
