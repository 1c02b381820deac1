/* SPDX-License-Identifier: Apache-2.0
 *
 * A model on a GPU: one allocation that holds weights, cache and buffers, filled by kernels, and
 * one CUDA graph that decodes one token with no word from the host. The graph is recorded twice,
 * for two counters: the one the sampler watches, and a quiet one for prefills.
 */
#include "kernels/cuda_model.h"

#include "core/alloc.h"
#include "kernels/cuda_stream.h"
#include "kernels/gpu/stream_args.h"
#include "kernels/quant.h"
#include "kernels/synthetic.h"
#include "kernels/workload.h"
#include "sys/clock.h"
#include <math.h>
#include <string.h>

enum { ALIGN_BYTES = 256, BLOCKS_MAX = 1024 };

static uint64_t round_up(uint64_t n, uint64_t unit) {
    return (n + unit - 1) / unit * unit;
}
/* MARK: - Layout */

static uint64_t carve(uint64_t *next, uint64_t bytes) {
    const uint64_t address = *next;
    *next = round_up(address + bytes, ALIGN_BYTES);
    return address;
}

cuda_storage ecoi_cuda_storage(eco_format format) {
    static const cuda_storage table[ECO_FORMAT_COUNT] = {
        [ECO_FORMAT_FP16] = {.weight_bits = 16, .column_unit = 8, .fill = CUDA_FILL_FP16},
        [ECO_FORMAT_BF16] = {.weight_bits = 16, .column_unit = 8, .fill = CUDA_FILL_BF16},
        [ECO_FORMAT_NF4] = {4, 32, sizeof(float), NF4_BLOCK, CUDA_FILL_NF4},
        [ECO_FORMAT_NF4_DQ] = {4, 32, 1, NF4_BLOCK, CUDA_FILL_NF4},
        [ECO_FORMAT_INT8] = {8, 16, sizeof(float), 0, CUDA_FILL_INT8},
        [ECO_FORMAT_W8A16] = {8, 16, sizeof(float), 0, CUDA_FILL_INT8},
        [ECO_FORMAT_Q4_0] = {4, 32, sizeof(uint16_t), GGML_BLOCK, CUDA_FILL_Q4_0},
        [ECO_FORMAT_Q8_0] = {8, 16, sizeof(uint16_t), GGML_BLOCK, CUDA_FILL_Q8_0},
        [ECO_FORMAT_FP8] = {8, 16, sizeof(float), 0, CUDA_FILL_FP8},
    };
    return table[format];
}

/* What a matrix is made of: the first tensor has n_first of its rows. */
typedef struct matrix_rows {
    uint32_t n_rows, n_tensors, n_first;
} matrix_rows;

static cuda_matrix carve_matrix(uint64_t *next, eco_format format, matrix_rows rows,
                                uint32_t n_columns) {
    const uint32_t n_rows = rows.n_rows;
    const cuda_storage storage = ecoi_cuda_storage(format);
    cuda_matrix matrix = {.format = format,
                          .n_rows = n_rows,
                          .n_columns = n_columns,
                          .n_tensors = rows.n_tensors,
                          .n_first = rows.n_first,
                          .stride = (uint32_t)round_up(n_columns, storage.column_unit)};
    matrix.weights = carve(next, (uint64_t)n_rows * matrix.stride * storage.weight_bits / 8);
    if (storage.scale_bytes != 0) {
        matrix.n_blocks = storage.block == 0 ? 1 : (n_columns + storage.block - 1) / storage.block;
        /* Rows of scales begin at whole words: they are copied word by word. */
        matrix.n_blocks =
            (uint32_t)round_up(matrix.n_blocks, sizeof(uint32_t) / storage.scale_bytes);
        matrix.scales = carve(next, (uint64_t)n_rows * matrix.n_blocks * storage.scale_bytes);
    }
    if (format == ECO_FORMAT_NF4_DQ) {
        const uint32_t n_blocks = (n_columns + storage.block - 1) / storage.block;
        const uint64_t n_words = gpu_dq_words(rows.n_first, n_blocks);
        matrix.scales2 = carve(next, rows.n_tensors * n_words * sizeof(float));
    }
    return matrix;
}

/* All of it one tensor. */
static cuda_matrix carve_tensor(uint64_t *next, eco_format format, uint32_t n_rows,
                                uint32_t n_columns) {
    return carve_matrix(next, format, (matrix_rows){n_rows, 1, n_rows}, n_columns);
}

static void carve_layer(uint64_t *next, const eco_workload *workload, cuda_layer *layer) {
    const eco_model_shape *shape = workload->shape;
    const uint32_t n_query = shape->n_heads * shape->d_head;
    const uint32_t n_qkv = n_query + 2 * shape->n_kv_heads * shape->d_head;
    const eco_format format = workload->linear;
    layer->qkv = carve_matrix(next, format, (matrix_rows){n_qkv, 3, n_query}, shape->d_model);
    layer->o = carve_tensor(next, format, shape->d_model, n_query);
    layer->gate_up =
        carve_matrix(next, format, (matrix_rows){2 * shape->d_ff, 2, shape->d_ff}, shape->d_model);
    layer->down = carve_tensor(next, format, shape->d_model, shape->d_ff);
    layer->qkv_bias = shape->qkv_bias ? carve(next, 2ull * n_qkv) : 0;
    layer->norm_attention = carve(next, 2ull * shape->d_model);
    layer->norm_ffn = carve(next, 2ull * shape->d_model);
}

static void carve_buffers(uint64_t *next, const eco_workload *workload, cuda_memory *memory) {
    const eco_model_shape *shape = workload->shape;
    const uint32_t n_query = shape->n_heads * shape->d_head;
    const uint32_t n_qkv = n_query + 2 * shape->n_kv_heads * shape->d_head;
    memory->x = carve(next, 8ull * shape->d_model);
    memory->qkv = carve(next, 8ull * n_qkv);
    memory->attended = carve(next, 4ull * n_query);
    memory->hidden = carve(next, 4ull * shape->d_ff);
    memory->logits = carve(next, 4ull * shape->n_vocab);
    memory->part = carve(next, 8ull * shape->n_heads * memory->n_splits * (shape->d_head + 2));
    memory->best_value = carve(next, 4ull * BLOCKS_MAX);
    memory->best_index = carve(next, 4ull * BLOCKS_MAX);
    memory->forced = carve(next, 4ull * memory->capacity);
    memory->state = carve(next, sizeof(struct gpu_state));
    memory->sink = carve(next, 16);
    memory->turn = carve(next, 4);
    memory->phases =
        carve(next, (1 + (uint64_t)CUDA_LAYER_PHASES * shape->n_layers) * sizeof(struct gpu_phase));
}

cuda_memory ecoi_cuda_plan(const eco_workload *workload, uint64_t base, cuda_layer *layers) {
    const eco_model_shape *shape = workload->shape;
    cuda_memory memory = {.layers = layers,
                          .capacity = workload->n_prompt + workload->n_tokens,
                          .d_stride = (uint32_t)round_up(shape->d_head, 8)};
    const uint32_t n_splits =
        (memory.capacity + STREAM_SPLIT_POSITIONS - 1) / STREAM_SPLIT_POSITIONS;
    memory.n_splits = n_splits < STREAM_SPLITS_MAX ? n_splits : STREAM_SPLITS_MAX;
    uint64_t next = base;
    cuda_layer unused = {0};
    for (uint32_t l = 0; l < shape->n_layers; l++) {
        carve_layer(&next, workload, layers != NULL ? &layers[l] : &unused);
    }
    memory.embedding = carve_tensor(&next, ECO_FORMAT_FP16, shape->n_vocab, shape->d_model);
    const bool shared = shape->tied_embeddings && workload->head == ECO_FORMAT_FP16;
    memory.head = shared ? memory.embedding
                         : carve_tensor(&next, workload->head, shape->n_vocab, shape->d_model);
    memory.norm_final = carve(&next, 2ull * shape->d_model);
    memory.weight_bytes = next - base;
    const uint64_t cache_bytes =
        2ull * workload->batch * shape->n_kv_heads * memory.capacity * memory.d_stride;
    for (uint32_t l = 0; l < shape->n_layers; l++) {
        cuda_layer *layer = layers != NULL ? &layers[l] : &unused;
        layer->k_cache = carve(&next, cache_bytes);
        layer->v_cache = carve(&next, cache_bytes);
    }
    memory.dq_map = carve(&next, GPU_DQ_MAP_BYTES);
    memory.angles = carve(&next, 4ull * memory.capacity * shape->d_head);
    memory.buffers_begin = next;
    carve_buffers(&next, workload, &memory);
    memory.batch = ecoi_cuda_batch_plan(workload, &next);
    memory.end = next;
    return memory;
}

uint64_t ecoi_cuda_model_bytes(const void *state, const eco_workload *workload) {
    (void)state;
    if (ecoi_workload_check(workload, NULL) != ECO_OK) {
        return 0;
    }
    return ecoi_cuda_plan(workload, 0, NULL).end;
}

/* MARK: - Launching and recording */

eco_status ecoi_cuda_launch(cuda_model *model, const cuda_launch *launch, eco_error *err) {
    const cuda_device *device = model->device;
    void *params[] = {launch->args};
    const int result = device->cuda.api.launch(
        launch->function != NULL ? launch->function : device->kernels[launch->kernel],
        launch->grid_x, launch->grid_y, 1, launch->block, 1, 1, launch->shared_bytes, model->stream,
        params, NULL);
    model->n_launches++;
    return ecoi_cuda_done(device, result, "cuLaunchKernel", err);
}

eco_status ecoi_cuda_capture(cuda_model *model, cuda_record *record, const void *user,
                             cu_graph_exec **out, eco_error *err) {
    *out = NULL;
    const cuda_device *device = model->device;
    const ecoi_cuda_api *api = &device->cuda.api;
    ECO_TRY(ecoi_cuda_done(device,
                           api->capture_begin(model->stream, CU_STREAM_CAPTURE_THREAD_LOCAL),
                           "cuStreamBeginCapture", err));
    model->n_launches = 0;
    eco_status status = record(model, user, err);
    cu_graph *graph = NULL;
    const int end_result =
        api->capture_end(model->stream, &graph); /* also after a failure: it frees the stream */
    if (status == ECO_OK) {
        status = ecoi_cuda_done(device, end_result, "cuStreamEndCapture", err);
    }
    if (status == ECO_OK) {
        status = ecoi_cuda_done(device, api->graph_instantiate(out, graph, 0), "cuGraphInstantiate",
                                err);
    }
    if (graph != NULL) {
        (void)api->graph_destroy(graph);
    }
    if (status != ECO_OK) {
        *out = NULL;
    }
    return status;
}

/* MARK: - Life */

void ecoi_cuda_model_close(void *opaque) {
    cuda_model *model = opaque;
    if (model == NULL) {
        return;
    }
    const ecoi_cuda_api *api = &model->device->cuda.api;
    /* A lost device fails each of these; there is nothing left to release on it then. */
    (void)api->ctx_set_current(model->device->context);
    if (model->stream != NULL) {
        (void)api->stream_synchronize(model->stream);
    }
    if (model->token_graph != NULL) {
        (void)api->graph_exec_destroy(model->token_graph);
    }
    if (model->quiet_graph != NULL) {
        (void)api->graph_exec_destroy(model->quiet_graph);
    }
    ecoi_cuda_batch_close(model);
    ecoi_cuda_stream_close(model);
    for (uint32_t i = 0; i < CUDA_IN_FLIGHT; i++) {
        if (model->events[i] != NULL) {
            (void)api->event_destroy(model->events[i]);
        }
    }
    if (model->stream != NULL) {
        (void)api->stream_destroy(model->stream);
    }
    if (model->shared != NULL) {
        (void)api->host_free(model->shared);
    }
    if (model->base != 0) {
        (void)api->mem_free(model->base);
    }
    ecoi_free(model->prompt);
    ecoi_free(model->layers);
    ecoi_free(model);
}

static eco_status open_resources(cuda_model *model, eco_error *err) {
    const cuda_device *device = model->device;
    const ecoi_cuda_api *api = &device->cuda.api;
    model->arena_bytes = ecoi_cuda_plan(&model->workload, 0, NULL).end;
    ECO_TRY(ecoi_cuda_allocate(device, model->arena_bytes, model->shape.name, &model->base, err));
    model->memory = ecoi_cuda_plan(&model->workload, model->base, model->layers);
    void *shared = NULL;
    ECO_TRY(ecoi_cuda_done(device,
                           api->host_alloc(&shared, sizeof *model->shared,
                                           CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
                           "cuMemHostAlloc", err));
    model->shared = shared;
    memset(model->shared, 0, sizeof *model->shared);
    ECO_TRY(ecoi_cuda_done(device, api->host_device_pointer(&model->shared_address, shared, 0),
                           "cuMemHostGetDevicePointer", err));
    ECO_TRY(ecoi_cuda_done(device, api->stream_create(&model->stream, CU_STREAM_NON_BLOCKING),
                           "cuStreamCreate", err));
    for (uint32_t i = 0; i < CUDA_IN_FLIGHT; i++) {
        const int result =
            api->event_create(&model->events[i], CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
        ECO_TRY(ecoi_cuda_done(device, result, "cuEventCreate", err));
    }
    return ECO_OK;
}

/* A step of one sequence: for decoding, and for prompts where they cannot go by chunks. */
static eco_status open_single(cuda_model *model, eco_error *err) {
    const uint64_t counter = model->shared_address;
    ECO_TRY(ecoi_cuda_stream_prepare(model, err));
    const uint64_t quiet = counter + offsetof(cuda_shared, quiet);
    ECO_TRY(ecoi_cuda_capture(model, ecoi_cuda_record_token, &quiet, &model->quiet_graph, err));
    ECO_TRY(ecoi_cuda_capture(model, ecoi_cuda_record_token, &counter, &model->token_graph, err));
    model->launches_per_token = model->n_launches;
    return ECO_OK;
}

static eco_status open_model(cuda_model *model, eco_error *err) {
    ECO_TRY(ecoi_cuda_fill(model, err));
    if (model->workload.batch == 1) {
        ECO_TRY(open_single(model, err));
    }
    const char *reason = NULL;
    return ecoi_cuda_batch_usable(model->device, &model->workload, &reason)
               ? ecoi_cuda_batch_open(model, err)
               : ECO_OK;
}

/* Many sequences need the batched kernels. */
static eco_status check_batch(const cuda_device *device, const eco_workload *workload,
                              eco_error *err) {
    const char *reason = NULL;
    if (ecoi_cuda_batch_usable(device, workload, &reason)) {
        return ECO_OK;
    }
    return eco_error_set(err, ECO_E_UNSUPPORTED, 0, "cuda: batch %u of %s on %s: %s",
                         workload->batch, eco_format_at(workload->linear)->name, device->name,
                         reason);
}

bool ecoi_cuda_has_format(eco_format format) {
    return ecoi_cuda_storage(format).weight_bits != 0;
}

eco_status ecoi_cuda_model_check(const void *state, const eco_workload *workload, eco_error *err) {
    const cuda_device *device = state;
    if (workload->shape->d_head > GPU_HEAD_MAX) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                             "cuda: model %s: heads of %u; the kernels take up to %d",
                             workload->shape->name, workload->shape->d_head, GPU_HEAD_MAX);
    }
    return workload->batch == 1 ? ecoi_cuda_stream_check(device, workload, err)
                                : check_batch(device, workload, err);
}

eco_status ecoi_cuda_model_open(void *state, const eco_workload *workload, void **out,
                                eco_error *err) {
    *out = NULL;
    const int64_t begin_ns = ecoi_now_ns();
    ECO_TRY(ecoi_workload_check(workload, err));
    ECO_TRY(ecoi_cuda_model_check(state, workload, err));
    cuda_device *device = state;
    ECO_TRY(ecoi_cuda_enter(device, err));
    cuda_model *model = ecoi_calloc(1, sizeof *model);
    if (model == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "cuda: no host memory for a model");
    }
    model->device = device;
    model->shape = *workload->shape;
    model->workload = *workload;
    model->workload.shape = &model->shape;
    model->layers = ecoi_calloc(model->shape.n_layers, sizeof *model->layers);
    model->prompt = ecoi_calloc(workload->n_prompt, sizeof *model->prompt);
    eco_status status = ECO_OK;
    if (model->layers == NULL || model->prompt == NULL) {
        status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "cuda: no host memory for a model");
    }
    if (status == ECO_OK) {
        status = open_resources(model, err);
    }
    if (status == ECO_OK) {
        status = open_model(model, err);
    }
    if (status != ECO_OK) {
        ecoi_cuda_model_close(model);
        return status;
    }
    model->prepare_s = (double)(ecoi_now_ns() - begin_ns) * 1e-9;
    *out = model;
    return ECO_OK;
}

void ecoi_cuda_model_describe(const void *opaque, eco_arm_info *out) {
    const cuda_model *model = opaque;
    *out = (eco_arm_info){
        .progress = &model->shared->progress,
        .weight_bytes = model->memory.weight_bytes,
        .device_bytes = model->arena_bytes,
        .launches_per_token = model->launches_per_token,
        .prefill_method = model->has_batch ? "batched, chunks of 64" : "token-by-token",
        .kernels = model->workload.batch > 1 ? "tensor cores, weights read once a step of the batch"
                   : model->stream_head.module != NULL
                       ? "persistent kernels, one for the layers and one for the head"
                       : "one persistent kernel a token, next weights asked for ahead",
        .prepare_s = model->prepare_s};
}
