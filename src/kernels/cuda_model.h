/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the CUDA backend share: the opened device, and a model's memory, graphs and
 * stream. Addresses on the device are uint64_t. Everything here belongs to one thread at a time.
 */
#ifndef ECOCOMPUTE_KERNELS_CUDA_MODEL_H
#define ECOCOMPUTE_KERNELS_CUDA_MODEL_H

#include "ecocompute/engine.h"
#include "kernels/cuda_batch.h"
#include "kernels/cuda_driver.h"
#include "kernels/gpu/args.h"

typedef enum cuda_kernel {
    CUDA_TOKEN_DONE = 0,
    CUDA_FILL_FP16,
    CUDA_FILL_BF16,
    CUDA_FILL_NF4,
    CUDA_FILL_INT8,
    CUDA_FILL_Q4_0,
    CUDA_FILL_Q8_0,
    CUDA_FILL_FP8,
    CUDA_FILL_RANDOM,
    CUDA_READ,
    CUDA_EMPTY,
    CUDA_UNITS_DONE,
    CUDA_KERNEL_COUNT
} cuda_kernel;

enum { CUDA_MODULE_COUNT = 3 };

enum { CUDA_LAYER_PHASES = 4 };

typedef struct cuda_device {
    ecoi_cuda cuda;
    int device;
    uint32_t ordinal, n_sm, cc_major, cc_minor;
    cu_context *context; /* primary, retained */
    cu_module *modules[CUDA_MODULE_COUNT];
    cu_function *kernels[CUDA_KERNEL_COUNT];
    cuda_batch_device batch;
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

/* One matrix on the device, row-major, of at most CUDA_TENSORS_MAX tensors (query, key, value).
 * `stride` in weights, padded with codes of the value 0: to a multiple of 8 (16 bits), 16 (8 bits) or 32 (4 bits, the even column in the low nibble). Scales
 * [rows][n_blocks]: NF4 FP32 absmax a 64, Q4_0 and Q8_0 FP16 d a 32; W8A16 and INT8 FP32 absmax,
 * FP8 FP32 scale, one a row; none with 16 bits. NF4-DQ: codes of the absmax, a byte each, rows
 * beginning at whole words; scales2 as args.h says. */
enum { CUDA_TENSORS_MAX = 3 };
typedef struct cuda_matrix {
    eco_format format;
    uint32_t n_rows, n_columns, stride, n_blocks;
    uint64_t weights, scales;
    uint32_t n_tensors, n_first; /* n_first: rows of the first, which no other exceeds */
    uint64_t scales2;            /* NF4-DQ only */
} cuda_matrix;

/* How the device stores a format. */
typedef struct cuda_storage {
    uint32_t weight_bits, column_unit; /* stride is a multiple of the unit */
    uint32_t scale_bytes, block;       /* block 0: one scale a row */
    cuda_kernel fill;
} cuda_storage;
cuda_storage ecoi_cuda_storage(eco_format format);

typedef struct cuda_layer {
    cuda_matrix qkv;     /* query, key, value rows in this order */
    cuda_matrix gate_up; /* 2 d_ff rows: gate i is row 2 i, up i is row 2 i + 1 */
    cuda_matrix o, down;
    uint64_t qkv_bias; /* 0: none */
    uint64_t norm_attention, norm_ffn;
    uint64_t k_cache, v_cache; /* [n_batch][n_kv_heads][capacity][d_stride] */
} cuda_layer;

typedef struct cuda_memory {
    cuda_layer *layers; /* [n_layers], owned by the model; NULL: only counted */
    cuda_matrix embedding, head;
    uint64_t norm_final, angles;
    uint64_t dq_map; /* ecoi_dynamic_values */
    uint64_t x, qkv, attended, hidden, logits, part, best_value, best_index, forced, state, sink,
        phases, turn;
    uint64_t buffers_begin,
        end; /* buffers_begin … end hold activations; all addresses lie in base … end */
    uint64_t weight_bytes;
    uint32_t capacity, d_stride, n_splits;
    cuda_batch_memory batch;
} cuda_memory;

/* Gives every tensor its address from `base` on. `layers` NULL = count only. The workload has been
 * checked. */
cuda_memory ecoi_cuda_plan(const eco_workload *workload, uint64_t base, cuda_layer *layers);

/* Prompts by chunks: a whole chunk, what is left of the last one, and the first tokens. */
typedef struct cuda_prefill_graphs {
    cu_graph_exec *chunk, *rest, *first;
} cuda_prefill_graphs;

enum { CUDA_IN_FLIGHT = 8 };

/* Words the device writes and the host reads, in pinned memory, each on a cache line of its own. */
typedef struct cuda_shared {
    uint64_t progress;
    uint64_t unused[15];
    uint64_t quiet; /* counts the steps of a prefill, which nobody watches */
} cuda_shared;

typedef struct cuda_stream_kernel {
    cu_module *module;
    cu_function *function;
} cuda_stream_kernel;

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
    cuda_stream_kernel stream_layers, stream_head; /* specialised text; head: where apart */
    cu_graph_exec *token_graph, *quiet_graph;
    cuda_prefill_graphs prefill, quiet_prefill;
    bool has_batch;      /* prompts go by chunks; token_graph is a step of all sequences */
    uint32_t n_launches; /* kernels of the graph recorded last */
    uint32_t launches_per_token;
    double prepare_s;
} cuda_model;

/* Launches one kernel on the model's stream; `args` is the kernel's argument structure. */
typedef struct cuda_launch {
    cuda_kernel kernel;
    cu_function *function; /* instead of `kernel`; NULL: that */
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

ECO_NODISCARD eco_status ecoi_cuda_work(void *model, const eco_work *work, eco_work_result *out,
                                        eco_error *err);
ECO_NODISCARD eco_status ecoi_cuda_logits(void *model, const uint32_t *tokens, size_t n,
                                          float *logits, eco_error *err);

/* Model life cycle, for the backend table. */
bool ecoi_cuda_has_format(eco_format format);
ECO_NODISCARD eco_status ecoi_cuda_model_check(const void *state, const eco_workload *workload,
                                               eco_error *err);
uint64_t ecoi_cuda_model_bytes(const void *state, const eco_workload *workload);
ECO_NODISCARD eco_status ecoi_cuda_model_open(void *state, const eco_workload *workload,
                                              void **model, eco_error *err);
void ecoi_cuda_model_describe(const void *model, eco_arm_info *out);
void ecoi_cuda_model_close(void *model);

#endif
