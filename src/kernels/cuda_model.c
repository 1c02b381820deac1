/* SPDX-License-Identifier: Apache-2.0
 *
 * A model on a GPU: one allocation that holds weights, cache and buffers, filled by kernels, and
 * one CUDA graph that decodes one token with no word from the host. The graph is recorded twice,
 * for two counters: the one the sampler watches, and a quiet one for prefills.
 */
#include "kernels/cuda_model.h"

#include "core/alloc.h"
#include "kernels/quant.h"
#include "kernels/synthetic.h"
#include "kernels/workload.h"
#include "sys/clock.h"
#include <math.h>
#include <string.h>

enum { ALIGN_BYTES = 256, SPLIT_POSITIONS = 512, SPLITS_MAX = 32 };
enum {
    SHARED_DEFAULT_BYTES = 46 * 1024
}; /* dynamic, beside the kernels' static part, without opting in to more */
enum { BLOCKS_PER_SM = 8 };

static uint64_t round_up(uint64_t n, uint64_t unit) {
    return (n + unit - 1) / unit * unit;
}
static uint32_t pad_columns(uint32_t n) {
    return (uint32_t)round_up(n, GPU_PAD);
}

/* MARK: - Layout */

static uint64_t carve(uint64_t *next, uint64_t bytes) {
    const uint64_t address = *next;
    *next = round_up(address + bytes, ALIGN_BYTES);
    return address;
}

static cuda_matrix carve_matrix(uint64_t *next, eco_format format, uint32_t n_rows,
                                uint32_t n_columns) {
    cuda_matrix matrix = {.format = format, .n_rows = n_rows, .n_columns = n_columns};
    if (format == ECO_FORMAT_NF4) {
        matrix.stride = pad_columns(n_columns);
        matrix.n_blocks = (n_columns + NF4_BLOCK - 1) / NF4_BLOCK;
        matrix.weights = carve(next, (uint64_t)n_rows * (matrix.stride / 2));
        matrix.absmax = carve(next, (uint64_t)n_rows * matrix.n_blocks * sizeof(float));
    } else {
        matrix.stride = (uint32_t)round_up(n_columns, 8);
        matrix.weights = carve(next, (uint64_t)n_rows * matrix.stride * 2);
    }
    return matrix;
}

static void carve_layer(uint64_t *next, const eco_workload *workload, cuda_layer *layer) {
    const eco_model_shape *shape = workload->shape;
    const uint32_t n_query = shape->n_heads * shape->d_head;
    const uint32_t n_qkv = n_query + 2 * shape->n_kv_heads * shape->d_head;
    const eco_format format = workload->linear;
    layer->qkv = carve_matrix(next, format, n_qkv, shape->d_model);
    layer->o = carve_matrix(next, format, shape->d_model, n_query);
    layer->gate = carve_matrix(next, format, shape->d_ff, shape->d_model);
    layer->up = carve_matrix(next, format, shape->d_ff, shape->d_model);
    layer->down = carve_matrix(next, format, shape->d_model, shape->d_ff);
    layer->qkv_bias = shape->qkv_bias ? carve(next, 2ull * n_qkv) : 0;
    layer->norm_attention = carve(next, 2ull * shape->d_model);
    layer->norm_ffn = carve(next, 2ull * shape->d_model);
}

static void carve_buffers(uint64_t *next, const eco_workload *workload, cuda_memory *memory) {
    const eco_model_shape *shape = workload->shape;
    const uint32_t n_query = shape->n_heads * shape->d_head;
    const uint32_t n_qkv = n_query + 2 * shape->n_kv_heads * shape->d_head;
    memory->x = carve(next, 4ull * shape->d_model);
    memory->qkv = carve(next, 4ull * n_qkv);
    memory->attended = carve(next, 2ull * pad_columns(n_query));
    memory->hidden = carve(next, 2ull * pad_columns(shape->d_ff));
    memory->logits = carve(next, 4ull * shape->n_vocab);
    memory->part = carve(next, 4ull * shape->n_heads * memory->n_splits * (shape->d_head + 2));
    memory->best_value = carve(next, 4ull * GPU_ARGMAX_BLOCKS);
    memory->best_index = carve(next, 4ull * GPU_ARGMAX_BLOCKS);
    memory->forced = carve(next, 4ull * memory->capacity);
    memory->state = carve(next, sizeof(struct gpu_state));
    memory->sink = carve(next, 16);
}

cuda_memory ecoi_cuda_plan(const eco_workload *workload, uint64_t base, cuda_layer *layers) {
    const eco_model_shape *shape = workload->shape;
    cuda_memory memory = {.layers = layers,
                          .capacity = workload->n_prompt + workload->n_tokens,
                          .d_stride = (uint32_t)round_up(shape->d_head, 8)};
    const uint32_t n_splits = (memory.capacity + SPLIT_POSITIONS - 1) / SPLIT_POSITIONS;
    memory.n_splits = n_splits < SPLITS_MAX ? n_splits : SPLITS_MAX;
    uint64_t next = base;
    cuda_layer unused = {0};
    for (uint32_t l = 0; l < shape->n_layers; l++) {
        carve_layer(&next, workload, layers != NULL ? &layers[l] : &unused);
    }
    memory.embedding = carve_matrix(&next, ECO_FORMAT_FP16, shape->n_vocab, shape->d_model);
    const bool shared = shape->tied_embeddings && workload->head == ECO_FORMAT_FP16;
    memory.head = shared ? memory.embedding
                         : carve_matrix(&next, workload->head, shape->n_vocab, shape->d_model);
    memory.norm_final = carve(&next, 2ull * shape->d_model);
    memory.weight_bytes = next - base;
    const uint64_t cache_bytes = 2ull * shape->n_kv_heads * memory.capacity * memory.d_stride;
    for (uint32_t l = 0; l < shape->n_layers; l++) {
        cuda_layer *layer = layers != NULL ? &layers[l] : &unused;
        layer->k_cache = carve(&next, cache_bytes);
        layer->v_cache = carve(&next, cache_bytes);
    }
    memory.angles = carve(&next, 4ull * memory.capacity * shape->d_head);
    memory.buffers_begin = next;
    carve_buffers(&next, workload, &memory);
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
    const int result = device->cuda.api.launch(device->kernels[launch->kernel], launch->grid_x,
                                               launch->grid_y, 1, launch->block, 1, 1,
                                               launch->shared_bytes, model->stream, params, NULL);
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

/* MARK: - One token */

static uint32_t gemv_grid(const cuda_model *model, uint64_t n_warps) {
    const uint64_t n_blocks = (n_warps + GPU_WARPS - 1) / GPU_WARPS;
    const uint64_t n_most = (uint64_t)model->device->n_sm * BLOCKS_PER_SM;
    return (uint32_t)(n_blocks < n_most ? n_blocks : n_most);
}

/* Arguments that describe the matrix; the caller adds input and output. */
static struct gpu_gemv_args matrix_args(const cuda_matrix *matrix) {
    return (struct gpu_gemv_args){.weights = matrix->weights,
                                  .absmax = matrix->absmax,
                                  .rows = matrix->n_rows,
                                  .cols = matrix->n_columns,
                                  .stride = matrix->stride,
                                  .n_blocks = matrix->n_blocks};
}

static eco_status launch_gemv(cuda_model *model, const cuda_matrix *matrix, cuda_kernel fp16,
                              cuda_kernel nf4, struct gpu_gemv_args *args, eco_error *err) {
    const bool is_nf4 = matrix->format == ECO_FORMAT_NF4;
    const bool is_pair =
        fp16 ==
        CUDA_NORM_GATE_UP_FP16; /* an NF4 warp takes two rows: two of one matrix, or these */
    const uint64_t n_warps =
        is_nf4 && !is_pair ? ((uint64_t)matrix->n_rows + 1) / 2 : matrix->n_rows;
    const cuda_launch launch = {.kernel = is_nf4 ? nf4 : fp16,
                                .grid_x = gemv_grid(model, n_warps),
                                .grid_y = 1,
                                .block = GPU_BLOCK,
                                .shared_bytes = 2 * pad_columns(matrix->n_columns),
                                .args = args};
    return ecoi_cuda_launch(model, &launch, err);
}

/* y = matrix · norm(x) + bias */
static eco_status launch_norm_gemv(cuda_model *model, const cuda_matrix *matrix, uint64_t gain,
                                   uint64_t bias, uint64_t y, eco_error *err) {
    struct gpu_gemv_args args = matrix_args(matrix);
    args.x = model->memory.x;
    args.gain = gain;
    args.bias = bias;
    args.y = y;
    args.eps = (float)model->shape.norm_eps;
    return launch_gemv(model, matrix, CUDA_NORM_GEMV_FP16, CUDA_NORM_GEMV_NF4, &args, err);
}

/* x += matrix · h */
static eco_status launch_gemv_add(cuda_model *model, const cuda_matrix *matrix, uint64_t h,
                                  eco_error *err) {
    struct gpu_gemv_args args = matrix_args(matrix);
    args.h = h;
    args.y = model->memory.x;
    return launch_gemv(model, matrix, CUDA_GEMV_ADD_FP16, CUDA_GEMV_ADD_NF4, &args, err);
}

static eco_status launch_gate_up(cuda_model *model, const cuda_layer *layer, eco_error *err) {
    struct gpu_gemv_args args = matrix_args(&layer->gate);
    args.weights_up = layer->up.weights;
    args.absmax_up = layer->up.absmax;
    args.x = model->memory.x;
    args.gain = layer->norm_ffn;
    args.y_half = model->memory.hidden;
    args.eps = (float)model->shape.norm_eps;
    return launch_gemv(model, &layer->gate, CUDA_NORM_GATE_UP_FP16, CUDA_NORM_GATE_UP_NF4, &args,
                       err);
}

static eco_status launch_rope(cuda_model *model, const cuda_layer *layer, eco_error *err) {
    const cuda_memory *memory = &model->memory;
    const eco_model_shape *shape = &model->shape;
    struct gpu_rope_args args = {.qkv = memory->qkv,
                                 .angles = memory->angles,
                                 .k_cache = layer->k_cache,
                                 .v_cache = layer->v_cache,
                                 .state = memory->state,
                                 .n_heads = shape->n_heads,
                                 .n_kv_heads = shape->n_kv_heads,
                                 .d_head = shape->d_head,
                                 .d_stride = memory->d_stride,
                                 .capacity = memory->capacity};
    const cuda_launch launch = {.kernel = CUDA_ROPE_APPEND,
                                .grid_x = shape->n_heads + 2 * shape->n_kv_heads,
                                .grid_y = 1,
                                .block = 64,
                                .args = &args};
    return ecoi_cuda_launch(model, &launch, err);
}

static eco_status launch_attention(cuda_model *model, const cuda_layer *layer, eco_error *err) {
    const cuda_memory *memory = &model->memory;
    const eco_model_shape *shape = &model->shape;
    uint32_t lanes = 1;
    while (lanes * 8 < memory->d_stride) {
        lanes *= 2;
    }
    struct gpu_attention_args args = {.q = memory->qkv,
                                      .k_cache = layer->k_cache,
                                      .v_cache = layer->v_cache,
                                      .out = memory->attended,
                                      .part = memory->part,
                                      .state = memory->state,
                                      .n_heads = shape->n_heads,
                                      .n_kv_heads = shape->n_kv_heads,
                                      .d_head = shape->d_head,
                                      .d_stride = memory->d_stride,
                                      .capacity = memory->capacity,
                                      .n_splits = memory->n_splits,
                                      .lanes = lanes,
                                      .scale = (float)(1.0 / sqrt((double)shape->d_head))};
    const cuda_launch attention = {.kernel = CUDA_ATTENTION,
                                   .grid_x = shape->n_heads,
                                   .grid_y = memory->n_splits,
                                   .block = GPU_BLOCK,
                                   .args = &args};
    ECO_TRY(ecoi_cuda_launch(model, &attention, err));
    if (memory->n_splits == 1) {
        return ECO_OK;
    }
    const cuda_launch join = {.kernel = CUDA_ATTENTION_JOIN,
                              .grid_x = shape->n_heads,
                              .grid_y = 1,
                              .block = 128,
                              .args = &args};
    return ecoi_cuda_launch(model, &join, err);
}

static eco_status launch_embed(cuda_model *model, eco_error *err) {
    const cuda_memory *memory = &model->memory;
    struct gpu_embed_args args = {.table = memory->embedding.weights,
                                  .x = memory->x,
                                  .state = memory->state,
                                  .d_model = model->shape.d_model,
                                  .stride = memory->embedding.stride};
    const cuda_launch launch = {.kernel = CUDA_EMBED,
                                .grid_x = (model->shape.d_model + GPU_BLOCK - 1) / GPU_BLOCK,
                                .grid_y = 1,
                                .block = GPU_BLOCK,
                                .args = &args};
    return ecoi_cuda_launch(model, &launch, err);
}

static eco_status launch_choice(cuda_model *model, uint64_t counter, eco_error *err) {
    const cuda_memory *memory = &model->memory;
    struct gpu_argmax_args argmax = {.logits = memory->logits,
                                     .part_value = memory->best_value,
                                     .part_index = memory->best_index,
                                     .n = model->shape.n_vocab};
    const cuda_launch first = {.kernel = CUDA_ARGMAX,
                               .grid_x = GPU_ARGMAX_BLOCKS,
                               .grid_y = 1,
                               .block = GPU_BLOCK,
                               .args = &argmax};
    ECO_TRY(ecoi_cuda_launch(model, &first, err));
    struct gpu_token_done_args done = {.progress = counter,
                                       .state = memory->state,
                                       .forced = memory->forced,
                                       .part_value = memory->best_value,
                                       .part_index = memory->best_index,
                                       .n_parts = GPU_ARGMAX_BLOCKS};
    const cuda_launch second = {
        .kernel = CUDA_TOKEN_DONE, .grid_x = 1, .grid_y = 1, .block = 32, .args = &done};
    return ecoi_cuda_launch(model, &second, err);
}

eco_status ecoi_cuda_record_token(cuda_model *model, const void *user, eco_error *err) {
    const uint64_t *counter = user;
    const cuda_memory *memory = &model->memory;
    ECO_TRY(launch_embed(model, err));
    for (uint32_t l = 0; l < model->shape.n_layers; l++) {
        const cuda_layer *layer = &model->layers[l];
        ECO_TRY(launch_norm_gemv(model, &layer->qkv, layer->norm_attention, layer->qkv_bias,
                                 memory->qkv, err));
        ECO_TRY(launch_rope(model, layer, err));
        ECO_TRY(launch_attention(model, layer, err));
        ECO_TRY(launch_gemv_add(model, &layer->o, memory->attended, err));
        ECO_TRY(launch_gate_up(model, layer, err));
        ECO_TRY(launch_gemv_add(model, &layer->down, memory->hidden, err));
    }
    ECO_TRY(launch_norm_gemv(model, &memory->head, memory->norm_final, 0, memory->logits, err));
    return launch_choice(model, *counter, err);
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

/* The input of a product lies in shared memory; a wide one needs leave to use more of it. */
static eco_status allow_shared_memory(const cuda_model *model, eco_error *err) {
    const eco_model_shape *shape = &model->shape;
    const uint32_t n_query = shape->n_heads * shape->d_head;
    uint32_t widest = shape->d_model > shape->d_ff ? shape->d_model : shape->d_ff;
    widest = widest > n_query ? widest : n_query;
    const uint32_t bytes = 2 * pad_columns(widest);
    for (uint32_t i = CUDA_NORM_GEMV_FP16;
         bytes > SHARED_DEFAULT_BYTES && i <= CUDA_NORM_GATE_UP_NF4; i++) {
        const int result = model->device->cuda.api.function_attribute(
            model->device->kernels[i], CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
        if (result != CU_SUCCESS) {
            return eco_error_set(
                err, ECO_E_UNSUPPORTED, result,
                "cuda: model %s: rows of %u columns do not fit the shared memory of %s",
                shape->name, widest, model->device->name);
        }
    }
    return ECO_OK;
}

static eco_status open_model(cuda_model *model, eco_error *err) {
    const uint64_t counter = model->shared_address;
    ECO_TRY(allow_shared_memory(model, err));
    ECO_TRY(ecoi_cuda_fill(model, err));
    const uint64_t quiet = counter + offsetof(cuda_shared, quiet);
    ECO_TRY(ecoi_cuda_capture(model, ecoi_cuda_record_token, &quiet, &model->quiet_graph, err));
    ECO_TRY(ecoi_cuda_capture(model, ecoi_cuda_record_token, &counter, &model->token_graph, err));
    model->launches_per_token = model->n_launches;
    return ECO_OK;
}

eco_status ecoi_cuda_model_open(void *state, const eco_workload *workload, void **out,
                                eco_error *err) {
    *out = NULL;
    const int64_t begin_ns = ecoi_now_ns();
    ECO_TRY(ecoi_workload_check(workload, err));
    if (workload->shape->d_head > GPU_HEAD_MAX) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                             "cuda: model %s: heads of %u; the kernels take up to %d",
                             workload->shape->name, workload->shape->d_head, GPU_HEAD_MAX);
    }
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
    *out = (eco_arm_info){.progress = &model->shared->progress,
                          .weight_bytes = model->memory.weight_bytes,
                          .device_bytes = model->arena_bytes,
                          .launches_per_token = model->launches_per_token,
                          .prefill_method = "token-by-token",
                          .kernels = "plain GEMV, one warp a row (NF4: two), one graph a token",
                          .prepare_s = model->prepare_s};
}
