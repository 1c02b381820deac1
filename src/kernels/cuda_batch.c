/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches of the batched kernels: what a step of the batch and a chunk of the prompts consist of,
 * and how a product is laid over the device.
 */
#include "kernels/cuda_batch.h"

#include "core/alloc.h"
#include "kernels/cuda_batch_graph.h"
#include "kernels/cuda_model.h"
#include "kernels/ptx.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    ALIGN_BYTES = 256,
    TILE_ROWS = 128,
    TILE_ROWS_WIDE = 256,
    SPLIT_POSITIONS = 512,
    SPLITS_MAX = 32,
    ATTENTION_BLOCKS = 264, /* wanted: two for each multiprocessor of the largest cards */
    ROPE_BLOCK = 64,
    JOIN_BLOCK = 128,
    REGISTERS_MAX = 128 /* of the kernels between products: no block has more than 512 threads */
};

/* Rows of a product's input. */
static uint32_t pad_rows(uint32_t n) {
    return n <= 8 ? 8 : n <= 16 ? 16 : n <= 32 ? 32 : BATCH_MAX;
}

/* MARK: - Memory */

static uint64_t carve(uint64_t *next, uint64_t bytes) {
    const uint64_t address = *next;
    *next = (address + bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    return address;
}

static uint64_t carve_input(uint64_t *next, uint64_t n_columns) {
    return carve(next, (n_columns + BATCH_K_PAD - 1) / BATCH_K_PAD * BATCH_K_PAD * BATCH_MAX * 2);
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint32_t n_splits_for(const eco_model_shape *shape, uint32_t capacity, uint32_t n_rows) {
    const uint64_t n_blocks = (uint64_t)shape->n_kv_heads * n_rows;
    const uint64_t wanted = (ATTENTION_BLOCKS + n_blocks - 1) / n_blocks;
    const uint32_t most = (capacity + SPLIT_POSITIONS - 1) / SPLIT_POSITIONS;
    const uint64_t n = wanted < most ? wanted : most;
    return (uint32_t)(n < SPLITS_MAX ? n : SPLITS_MAX);
}

cuda_batch_memory ecoi_cuda_batch_plan(const eco_workload *workload, uint64_t *next) {
    const eco_model_shape *shape = workload->shape;
    const uint64_t n_query = (uint64_t)shape->n_heads * shape->d_head;
    const uint64_t n_qkv = n_query + 2ull * shape->n_kv_heads * shape->d_head;
    const uint32_t capacity = workload->n_prompt + workload->n_tokens;
    const uint64_t n_rows_most =
        larger(larger(n_qkv, shape->d_model), larger(2ull * shape->d_ff, shape->n_vocab));
    cuda_batch_memory memory = {.n_batch = workload->batch,
                                .n_arrived = (uint32_t)(n_rows_most / TILE_ROWS + 1) * BATCH_WARPS};
    memory.x = carve(next, 4ull * BATCH_MAX * shape->d_model);
    memory.qkv = carve(next, 4ull * BATCH_MAX * n_qkv);
    memory.normed = carve_input(next, shape->d_model);
    memory.attended = carve_input(next, n_query);
    memory.hidden = carve_input(next, shape->d_ff);
    memory.last = carve_input(next, shape->d_model);
    memory.codes = carve_input(next, larger(larger(n_query, shape->d_model), shape->d_ff));
    memory.scales = carve(next, 4ull * BATCH_MAX);
    memory.logits = carve(next, 4ull * pad_rows(workload->batch) * shape->n_vocab);
    memory.part = carve(next, 4ull * 3 * CUDA_BATCH_SM_MAX * TILE_ROWS_WIDE * BATCH_MAX);
    memory.arrived = carve(next, 4ull * memory.n_arrived);
    uint64_t n_parts = 0;
    for (uint32_t n = 1; n <= BATCH_MAX; n++) {
        n_parts = larger(n_parts, (uint64_t)n * n_splits_for(shape, capacity, n));
    }
    memory.attention_part = carve(next, 4ull * n_parts * shape->n_heads * (shape->d_head + 2));
    memory.best_value = carve(next, 4ull * BATCH_MAX * BATCH_ARGMAX_BLOCKS);
    memory.best_index = carve(next, 4ull * BATCH_MAX * BATCH_ARGMAX_BLOCKS);
    memory.tokens = carve(next, 4ull * BATCH_MAX);
    memory.prompts = carve(next, 4ull * workload->batch * capacity);
    memory.chunk = carve(next, 4);
    return memory;
}

/* MARK: - Whether and with what */

/* The kernels' name of a format. */
static uint32_t gemm_format(eco_format format) {
    switch (format) {
    case ECO_FORMAT_FP16:
        return BATCH_FP16;
    case ECO_FORMAT_BF16:
        return BATCH_BF16;
    case ECO_FORMAT_NF4:
        return BATCH_NF4;
    case ECO_FORMAT_W8A16:
        return BATCH_W8A16;
    case ECO_FORMAT_Q4_0:
        return BATCH_Q4_0;
    case ECO_FORMAT_Q8_0:
        return BATCH_Q8_0;
    case ECO_FORMAT_FP8:
        return BATCH_FP8;
    case ECO_FORMAT_INT8:
        return BATCH_INT8;
    case ECO_FORMAT_NF4_DQ:
        return BATCH_NF4_DQ;
    case ECO_FORMAT_COUNT:
        break;
    }
    return BATCH_FP16; /* a workload's formats are of the list */
}

static cuda_batch_layout layout_with(const cuda_device *device, uint32_t format, uint32_t tile_rows,
                                     uint32_t columns, uint32_t n_pad) {
    const uint32_t have = device->batch.shared_bytes;
    const uint32_t fixed = batch_fixed_bytes(format, n_pad);
    const uint32_t each = batch_stage_bytes(format, columns, tile_rows, n_pad);
    const uint32_t most = have > fixed ? (have - fixed) / each : 0;
    const uint32_t n = most < BATCH_STAGES_MAX ? most : BATCH_STAGES_MAX;
    return (cuda_batch_layout){.format = format,
                               .n_pad = n_pad,
                               .tile_rows = tile_rows,
                               .columns = columns,
                               .n_stages = n,
                               .shared_bytes = fixed + n * each};
}

/* Few rows: what counts is how much of a row of weights is read at once. Many: tiles of 128 rows,
 * of which a multiprocessor's last part is joined sooner; but wide ones where there is one for every
 * multiprocessor and input is a large part of the bytes (docs/kernels-batch.md has the times). */
static cuda_batch_layout layout_for(const cuda_device *device, uint32_t format,
                                    uint32_t n_matrix_rows, uint32_t n_pad) {
    const bool is_short = format > BATCH_BF16;
    if (n_pad <= 16) {
        const uint32_t columns = is_short && format != BATCH_NF4_DQ ? 256 : 128;
        const cuda_batch_layout few = layout_with(device, format, TILE_ROWS_WIDE, columns, n_pad);
        if (few.n_stages >= 3) {
            return few;
        }
    } else if (is_short && n_matrix_rows / TILE_ROWS_WIDE >= device->n_sm) {
        const cuda_batch_layout wide = layout_with(device, format, TILE_ROWS_WIDE, 128, n_pad);
        if (wide.n_stages >= 3) {
            return wide;
        }
    }
    const cuda_batch_layout usual = layout_with(device, format, TILE_ROWS, 128, n_pad);
    return usual.n_stages >= 3 || is_short ? usual
                                           : layout_with(device, format, TILE_ROWS, 64, n_pad);
}

static bool indices_fit(const eco_model_shape *shape) {
    const uint64_t n_rows = larger(2ull * shape->d_ff, shape->n_vocab);
    const uint64_t n_columns =
        larger(shape->d_ff, larger(shape->d_model, (uint64_t)shape->n_heads * shape->d_head));
    return (n_rows / TILE_ROWS + 1) * (n_columns / 64 + 1) < UINT32_MAX / (2 * CUDA_BATCH_SM_MAX);
}

bool ecoi_cuda_batch_usable(const cuda_device *device, const eco_workload *workload,
                            const char **reason) {
    *reason = NULL;
    if (device->cc_major < 8) {
        *reason = "the batched kernels need compute capability 8.0";
    } else if (!indices_fit(workload->shape)) {
        *reason = "the matrices are too large for the batched kernels";
    } else if (layout_for(device, gemm_format(workload->linear), 0, BATCH_MAX).n_stages < 2 ||
               layout_for(device, gemm_format(workload->head), 0, BATCH_MAX).n_stages < 2) {
        *reason = "the device has too little shared memory for the batched kernels";
    }
    return *reason == NULL;
}

static const struct {
    const char *name;
    uint32_t module;
} kernel_names[CUDA_BATCH_KERNEL_COUNT] = {
    [CUDA_BATCH_EMBED] = {"eco_batch_embed", 0},
    [CUDA_BATCH_NORM] = {"eco_batch_norm", 0},
    [CUDA_BATCH_QUANTIZE] = {"eco_batch_quantize", 0},
    [CUDA_BATCH_ROPE] = {"eco_batch_rope", 0},
    [CUDA_BATCH_ATTENTION] = {"eco_batch_attention", 0},
    [CUDA_BATCH_ATTENTION_JOIN] = {"eco_batch_attention_join", 0},
    [CUDA_BATCH_ARGMAX] = {"eco_batch_argmax", 0},
    [CUDA_BATCH_DONE] = {"eco_batch_done", 0},
    [CUDA_CHUNK_DONE] = {"eco_chunk_done", 0},
    [CUDA_RATE_FP16] = {"eco_rate_fp16", 1},
    [CUDA_RATE_INT8] = {"eco_rate_int8", 1},
};

/* All ask for the same division between first-level cache and shared memory: a multiprocessor that
 * changes it must come to rest first. */
static eco_status load_kernel(cuda_device *device, cu_module *module, uint32_t i, eco_error *err) {
    const ecoi_cuda_api *api = &device->cuda.api;
    cu_function **kernel = &device->batch.kernels[i];
    ECO_TRY(ecoi_cuda_done(device, api->module_function(kernel, module, kernel_names[i].name),
                           kernel_names[i].name, err));
    return ecoi_cuda_done(device,
                          api->function_attribute(*kernel, CU_FUNC_SHARED_CARVEOUT_PCT, 100),
                          "cuFuncSetAttribute", err);
}

/* One text and its kernels, once a device. */
static eco_status load_module(cuda_device *device, uint32_t module, eco_error *err) {
    static const char *const names[CUDA_BATCH_MODULE_COUNT] = {"batch", "rates"};
    const char *const texts[CUDA_BATCH_MODULE_COUNT] = {ecoi_ptx_batch, ecoi_ptx_rates};
    cuda_batch_device *batch = &device->batch;
    if (batch->modules[module] != NULL) {
        return ECO_OK;
    }
    cu_module *loaded = NULL;
    ECO_TRY(ecoi_cuda_compile(&device->cuda, names[module], texts[module], REGISTERS_MAX, &loaded,
                              err));
    eco_status status = ECO_OK;
    for (uint32_t i = 0; i < CUDA_BATCH_KERNEL_COUNT && status == ECO_OK; i++) {
        if (kernel_names[i].module == module) {
            status = load_kernel(device, loaded, i, err);
        }
    }
    if (status != ECO_OK) {
        (void)device->cuda.api.module_unload(loaded);
        return status;
    }
    batch->modules[module] = loaded;
    return ECO_OK;
}

eco_status ecoi_cuda_rate_kernel(cuda_device *device, bool int8, cu_function **out,
                                 eco_error *err) {
    *out = NULL;
    if (device->cc_major < 8) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                             "cuda: %s has compute capability %u.%u; the matrix rates need 8.0",
                             device->name, device->cc_major, device->cc_minor);
    }
    ECO_TRY(load_module(device, kernel_names[CUDA_RATE_FP16].module, err));
    *out = device->batch.kernels[int8 ? CUDA_RATE_INT8 : CUDA_RATE_FP16];
    return ECO_OK;
}

/* Writes a value over a constant of batch_format.h; both are ten characters. */
static void specialise(char *text, const char *mark, uint32_t value) {
    char digits[11];
    (void)snprintf(digits, sizeof digits, "0x%08x", (unsigned)value);
    for (char *at = strstr(text, mark); at != NULL; at = strstr(at, mark)) {
        memcpy(at, digits, sizeof digits - 1);
    }
}

static eco_status compile_gemm(const cuda_device *device, cuda_batch_gemm *gemm, eco_error *err) {
    const cuda_batch_layout *layout = &gemm->layout;
    const char *source = ecoi_ptx_batch_gemm;
    const char *name = "eco_batch_gemm";
    const size_t n = strlen(source);
    const ecoi_cuda_api *api = &device->cuda.api;
    char *text = ecoi_malloc(n + 1);
    if (text == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "cuda: no host memory for a kernel's text");
    }
    memcpy(text, source, n + 1);
    specialise(text, "0x0ec0f100", layout->format);
    specialise(text, "0x0ec0f101", layout->tile_rows);
    specialise(text, "0x0ec0f102", layout->columns);
    specialise(text, "0x0ec0f103", layout->n_stages);
    specialise(text, "0x0ec0f104", layout->n_pad);
    const eco_status status = ecoi_cuda_compile(&device->cuda, name, text, 0, &gemm->module, err);
    ecoi_free(text);
    ECO_TRY(status);
    ECO_TRY(ecoi_cuda_done(device, api->module_function(&gemm->function, gemm->module, name), name,
                           err));
    ECO_TRY(ecoi_cuda_done(
        device, api->function_attribute(gemm->function, CU_FUNC_SHARED_CARVEOUT_PCT, 100),
        "cuFuncSetAttribute", err));
    return ecoi_cuda_done(device,
                          api->function_attribute(gemm->function,
                                                  CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                  (int)layout->shared_bytes),
                          "cuFuncSetAttribute", err);
}

static eco_status find_gemm(cuda_device *device, const cuda_batch_layout *layout,
                            const cuda_batch_gemm **out, eco_error *err) {
    cuda_batch_device *batch = &device->batch;
    for (uint32_t i = 0; i < batch->n_gemms; i++) {
        if (memcmp(&batch->gemms[i].layout, layout, sizeof *layout) == 0) {
            *out = &batch->gemms[i];
            return ECO_OK;
        }
    }
    if (batch->n_gemms == CUDA_BATCH_GEMMS) {
        return eco_error_set(err, ECO_E_FAILED, 0, "cuda: more than %d layouts of products",
                             CUDA_BATCH_GEMMS);
    }
    cuda_batch_gemm gemm = {.layout = *layout};
    const eco_status status = compile_gemm(device, &gemm, err);
    if (status != ECO_OK) {
        if (gemm.module != NULL) {
            (void)device->cuda.api.module_unload(gemm.module);
        }
        return status;
    }
    batch->gemms[batch->n_gemms] = gemm;
    *out = &batch->gemms[batch->n_gemms++];
    return ECO_OK;
}

void ecoi_cuda_batch_unload(cuda_device *device) {
    for (uint32_t i = 0; i < device->batch.n_gemms; i++) {
        (void)device->cuda.api.module_unload(device->batch.gemms[i].module);
    }
    for (uint32_t i = 0; i < CUDA_BATCH_MODULE_COUNT; i++) {
        if (device->batch.modules[i] != NULL) {
            (void)device->cuda.api.module_unload(device->batch.modules[i]);
        }
    }
}

/* MARK: - Launches */

typedef struct batch_launch {
    cuda_batch_kernel kernel;
    cu_function *function; /* instead of `kernel`; NULL: that */
    uint32_t grid_x, grid_y, block, shared_bytes;
    void *args;
} batch_launch;

static eco_status launch(cuda_model *model, const batch_launch *l, eco_error *err) {
    const cuda_device *device = model->device;
    void *params[] = {l->args};
    const int result = device->cuda.api.launch(
        l->function != NULL ? l->function : device->batch.kernels[l->kernel], l->grid_x, l->grid_y,
        1, l->block, 1, 1, l->shared_bytes, model->stream, params, NULL);
    model->n_launches++;
    return ecoi_cuda_done(device, result, "cuLaunchKernel", err);
}

static eco_status launch_quantize(cuda_model *model, const cuda_matrix *matrix, uint32_t n_rows,
                                  struct gpu_batch_gemm_args *gemm, eco_error *err) {
    const cuda_batch_memory *batch = &model->memory.batch;
    struct gpu_batch_quantize_args args = {.input = gemm->input,
                                           .codes = batch->codes,
                                           .scales = batch->scales,
                                           .cols = matrix->n_columns,
                                           .n_pad = pad_rows(n_rows)};
    const batch_launch l = {.kernel = CUDA_BATCH_QUANTIZE,
                            .grid_x = n_rows,
                            .grid_y = 1,
                            .block = BATCH_NORM_BLOCK,
                            .args = &args};
    gemm->input_codes = batch->codes;
    gemm->input_scales = batch->scales;
    return launch(model, &l, err);
}

/* The matrix, and how the launch covers it; the caller adds input, output and epilogue. */
static eco_status launch_gemm(cuda_model *model, const cuda_matrix *matrix, uint32_t n_rows,
                              struct gpu_batch_gemm_args *args, eco_error *err) {
    cuda_device *device = model->device;
    const cuda_batch_layout layout =
        layout_for(device, gemm_format(matrix->format), matrix->n_rows, pad_rows(n_rows));
    const cuda_batch_gemm *gemm = NULL;
    ECO_TRY(find_gemm(device, &layout, &gemm, err));
    if (layout.format == BATCH_INT8) {
        ECO_TRY(launch_quantize(model, matrix, n_rows, args, err));
    }
    args->format = layout.format;
    args->tile_rows = layout.tile_rows;
    args->columns = layout.columns;
    args->n_stages = layout.n_stages;
    args->n_pad = layout.n_pad;
    args->weights = matrix->weights;
    args->scales = matrix->scales;
    args->scales2 = matrix->scales2;
    args->dq_map = model->memory.dq_map;
    args->n_tensors = matrix->n_tensors;
    args->n_first = matrix->n_first;
    args->part = model->memory.batch.part;
    args->arrived = model->memory.batch.arrived;
    args->rows = matrix->n_rows;
    args->cols = matrix->n_columns;
    args->stride = matrix->stride;
    args->n_blocks = matrix->n_blocks;
    args->out_stride = matrix->n_rows;
    const uint64_t n_units =
        (uint64_t)((matrix->n_rows + layout.tile_rows - 1) / layout.tile_rows) *
        ((matrix->n_columns + layout.columns - 1) / layout.columns);
    const uint32_t n_sm = device->n_sm < CUDA_BATCH_SM_MAX ? device->n_sm : CUDA_BATCH_SM_MAX;
    const batch_launch l = {.function = gemm->function,
                            .grid_x = n_units < n_sm ? (uint32_t)n_units : n_sm,
                            .grid_y = 1,
                            .block = GPU_BLOCK,
                            .shared_bytes = layout.shared_bytes,
                            .args = args};
    return launch(model, &l, err);
}

static struct gpu_batch_rows rows_args(const cuda_model *model, const cuda_batch_rows *rows) {
    return (struct gpu_batch_rows){.state = model->memory.state,
                                   .chunk = model->memory.batch.chunk,
                                   .is_prefill = rows->is_prefill ? 1 : 0,
                                   .n_rows = rows->n_rows,
                                   .n_prompt = rows->n_prompt,
                                   .n_batch = model->memory.batch.n_batch};
}

static eco_status launch_embed(cuda_model *model, const cuda_batch_rows *rows, eco_error *err) {
    const cuda_memory *memory = &model->memory;
    struct gpu_batch_embed_args args = {.rows = rows_args(model, rows),
                                        .table = memory->embedding.weights,
                                        .tokens = rows->is_prefill ? memory->batch.prompts
                                                                   : memory->batch.tokens,
                                        .x = memory->batch.x,
                                        .d_model = model->shape.d_model,
                                        .stride = memory->embedding.stride,
                                        .hidden = memory->batch.hidden,
                                        .d_ff = model->shape.d_ff,
                                        .n_pad = pad_rows(rows->n_rows)};
    const batch_launch l = {.kernel = CUDA_BATCH_EMBED,
                            .grid_x = rows->n_rows,
                            .grid_y = 1,
                            .block = GPU_BLOCK,
                            .args = &args};
    return launch(model, &l, err);
}

/* To `normed`; or, of a chunk's rows that end a prompt, to `last`. */
static eco_status launch_norm(cuda_model *model, const cuda_batch_rows *rows, uint64_t gain,
                              bool only_last, eco_error *err) {
    const cuda_batch_memory *batch = &model->memory.batch;
    struct gpu_batch_norm_args args = {.rows = rows_args(model, rows),
                                       .x = batch->x,
                                       .gain = gain,
                                       .out = only_last ? batch->last : batch->normed,
                                       .d_model = model->shape.d_model,
                                       .n_pad = pad_rows(only_last ? batch->n_batch : rows->n_rows),
                                       .only_last = only_last ? 1 : 0,
                                       .eps = (float)model->shape.norm_eps};
    const batch_launch l = {.kernel = CUDA_BATCH_NORM,
                            .grid_x = rows->n_rows,
                            .grid_y = 1,
                            .block = BATCH_NORM_BLOCK,
                            .args = &args};
    return launch(model, &l, err);
}

static struct gpu_batch_attention_args
attention_args(const cuda_model *model, const cuda_batch_rows *rows, const cuda_layer *layer) {
    const cuda_memory *memory = &model->memory;
    const eco_model_shape *shape = &model->shape;
    return (struct gpu_batch_attention_args){
        .rows = rows_args(model, rows),
        .qkv = memory->batch.qkv,
        .angles = memory->angles,
        .k_cache = layer->k_cache,
        .v_cache = layer->v_cache,
        .out = memory->batch.attended,
        .part = memory->batch.attention_part,
        .n_heads = shape->n_heads,
        .n_kv_heads = shape->n_kv_heads,
        .d_head = shape->d_head,
        .d_stride = memory->d_stride,
        .capacity = memory->capacity,
        .n_splits = n_splits_for(shape, memory->capacity, rows->n_rows),
        .rotates = rows->is_prefill ? 0 : 1,
        .n_pad = pad_rows(rows->n_rows),
        .scale = (float)(1.0 / sqrt((double)shape->d_head))};
}

/* Rotates, appends to the cache, attends. */
static eco_status launch_attention(cuda_model *model, const cuda_batch_rows *rows,
                                   const cuda_layer *layer, eco_error *err) {
    const eco_model_shape *shape = &model->shape;
    struct gpu_batch_attention_args args = attention_args(model, rows, layer);
    if (args.rotates == 0) {
        const batch_launch rope = {.kernel = CUDA_BATCH_ROPE,
                                   .grid_x = shape->n_heads + 2 * shape->n_kv_heads,
                                   .grid_y = rows->n_rows,
                                   .block = ROPE_BLOCK,
                                   .args = &args};
        ECO_TRY(launch(model, &rope, err));
    }
    const batch_launch attention = {.kernel = CUDA_BATCH_ATTENTION,
                                    .grid_x = shape->n_kv_heads,
                                    .grid_y = rows->n_rows * args.n_splits,
                                    .block = BATCH_ATTENTION_BLOCK,
                                    .shared_bytes = BATCH_ATTENTION_BYTES,
                                    .args = &args};
    ECO_TRY(launch(model, &attention, err));
    if (args.n_splits == 1) {
        return ECO_OK;
    }
    const batch_launch join = {.kernel = CUDA_BATCH_ATTENTION_JOIN,
                               .grid_x = shape->n_heads,
                               .grid_y = rows->n_rows,
                               .block = JOIN_BLOCK,
                               .args = &args};
    return launch(model, &join, err);
}

static eco_status record_attention(cuda_model *model, const cuda_batch_rows *rows,
                                   const cuda_layer *layer, eco_error *err) {
    const cuda_batch_memory *batch = &model->memory.batch;
    struct gpu_batch_gemm_args qkv = {.input = batch->normed,
                                      .bias = layer->qkv_bias,
                                      .out = batch->qkv,
                                      .epilogue = BATCH_STORE};
    struct gpu_batch_gemm_args o = {
        .input = batch->attended, .out = batch->x, .epilogue = BATCH_ADD};
    if ((rows->left_out & CUDA_PART_NORM) == 0) {
        ECO_TRY(launch_norm(model, rows, layer->norm_attention, false, err));
    }
    if ((rows->left_out & CUDA_PART_QKV) == 0) {
        ECO_TRY(launch_gemm(model, &layer->qkv, rows->n_rows, &qkv, err));
    }
    if ((rows->left_out & CUDA_PART_ATTENTION) == 0) {
        ECO_TRY(launch_attention(model, rows, layer, err));
    }
    return (rows->left_out & CUDA_PART_O) == 0
               ? launch_gemm(model, &layer->o, rows->n_rows, &o, err)
               : ECO_OK;
}

static eco_status record_feed_forward(cuda_model *model, const cuda_batch_rows *rows,
                                      const cuda_layer *layer, eco_error *err) {
    const cuda_batch_memory *batch = &model->memory.batch;
    struct gpu_batch_gemm_args gate_up = {
        .input = batch->normed, .out_half = batch->hidden, .epilogue = BATCH_GATED};
    struct gpu_batch_gemm_args down = {
        .input = batch->hidden, .out = batch->x, .epilogue = BATCH_ADD};
    if ((rows->left_out & CUDA_PART_NORM) == 0) {
        ECO_TRY(launch_norm(model, rows, layer->norm_ffn, false, err));
    }
    if ((rows->left_out & CUDA_PART_GATE_UP) == 0) {
        ECO_TRY(launch_gemm(model, &layer->gate_up, rows->n_rows, &gate_up, err));
    }
    return (rows->left_out & CUDA_PART_DOWN) == 0
               ? launch_gemm(model, &layer->down, rows->n_rows, &down, err)
               : ECO_OK;
}

static eco_status record_layers(cuda_model *model, const cuda_batch_rows *rows, eco_error *err) {
    ECO_TRY(launch_embed(model, rows, err));
    for (uint32_t l = 0; l < model->shape.n_layers; l++) {
        ECO_TRY(record_attention(model, rows, &model->layers[l], err));
        ECO_TRY(record_feed_forward(model, rows, &model->layers[l], err));
    }
    return ECO_OK;
}

/* The head on `input`, the choice, and the end of a step. */
static eco_status record_choice(cuda_model *model, uint64_t input, const cuda_batch_rows *rows,
                                eco_error *err) {
    const cuda_batch_memory *batch = &model->memory.batch;
    struct gpu_batch_gemm_args head = {
        .input = input, .out = batch->logits, .epilogue = BATCH_STORE};
    ECO_TRY(launch_gemm(model, &model->memory.head, batch->n_batch, &head, err));
    struct gpu_batch_argmax_args argmax = {.logits = batch->logits,
                                           .part_value = batch->best_value,
                                           .part_index = batch->best_index,
                                           .n = model->shape.n_vocab};
    const batch_launch first = {.kernel = CUDA_BATCH_ARGMAX,
                                .grid_x = BATCH_ARGMAX_BLOCKS,
                                .grid_y = batch->n_batch,
                                .block = GPU_BLOCK,
                                .args = &argmax};
    ECO_TRY(launch(model, &first, err));
    struct gpu_batch_done_args done = {.progress = rows->counter,
                                       .n_units = rows->is_prefill ? 0 : batch->n_batch,
                                       .state = model->memory.state,
                                       .tokens = batch->tokens,
                                       .part_value = batch->best_value,
                                       .part_index = batch->best_index,
                                       .n_batch = batch->n_batch,
                                       .start_position = rows->n_prompt,
                                       .starts = rows->is_prefill ? 1 : 0};
    const batch_launch second = {
        .kernel = CUDA_BATCH_DONE, .grid_x = 1, .grid_y = 1, .block = BATCH_MAX, .args = &done};
    return launch(model, &second, err);
}

eco_status ecoi_cuda_record_batch(cuda_model *model, const void *user, eco_error *err) {
    const cuda_batch_rows *rows = user;
    ECO_TRY(record_layers(model, rows, err));
    ECO_TRY(launch_norm(model, rows, model->memory.norm_final, false, err));
    return record_choice(model, model->memory.batch.normed, rows, err);
}

eco_status ecoi_cuda_record_chunk(cuda_model *model, const void *user, eco_error *err) {
    const cuda_batch_rows *rows = user;
    ECO_TRY(record_layers(model, rows, err));
    ECO_TRY(launch_norm(model, rows, model->memory.norm_final, true, err));
    struct gpu_chunk_done_args args = {.progress = rows->counter,
                                       .n_units = rows->n_rows,
                                       .state = model->memory.state,
                                       .chunk = model->memory.batch.chunk,
                                       .n_rows = rows->n_rows,
                                       .n_total = model->memory.batch.n_batch * rows->n_prompt};
    const batch_launch done = {
        .kernel = CUDA_CHUNK_DONE, .grid_x = 1, .grid_y = 1, .block = 1, .args = &args};
    return launch(model, &done, err);
}

eco_status ecoi_cuda_record_first(cuda_model *model, const void *user, eco_error *err) {
    return record_choice(model, model->memory.batch.last, user, err);
}

/* MARK: - Life */

/* All products of the model with launches of every size: a driver compiles nothing during a capture. */
static eco_status compile_gemms(cuda_model *model, eco_error *err) {
    cuda_device *device = model->device;
    const cuda_layer *layer = &model->layers[0];
    const cuda_matrix *const matrices[] = {&layer->qkv, &layer->o, &layer->gate_up, &layer->down,
                                           &model->memory.head};
    const uint64_t n_rows = (uint64_t)model->workload.batch * model->workload.n_prompt;
    const uint32_t rest = (uint32_t)(n_rows % BATCH_MAX);
    const uint32_t pads[3] = {pad_rows(model->workload.batch), n_rows >= BATCH_MAX ? BATCH_MAX : 0,
                              rest > 0 ? pad_rows(rest) : 0};
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++) {
        const uint32_t format = gemm_format(matrices[i]->format);
        for (size_t k = 0; k < sizeof pads / sizeof pads[0]; k++) {
            const cuda_batch_gemm *unused = NULL;
            const cuda_batch_layout layout =
                layout_for(device, format, matrices[i]->n_rows, pads[k]);
            if (pads[k] != 0) {
                ECO_TRY(find_gemm(device, &layout, &unused, err));
            }
        }
    }
    return ECO_OK;
}

eco_status ecoi_cuda_batch_prepare(cuda_model *model, eco_error *err) {
    cuda_device *device = model->device;
    const cuda_batch_memory *batch = &model->memory.batch;
    const ecoi_cuda_api *api = &device->cuda.api;
    ECO_TRY(load_module(device, kernel_names[CUDA_BATCH_EMBED].module, err));
    ECO_TRY(compile_gemms(model, err));
    ECO_TRY(ecoi_cuda_done(device,
                           api->set_words(batch->arrived, 0, batch->n_arrived, model->stream),
                           "cuMemsetD32", err));
    return ecoi_cuda_done(device, api->set_words(batch->chunk, 0, 1, model->stream), "cuMemsetD32",
                          err);
}

void ecoi_cuda_batch_limits(cuda_device *device, uint32_t shared_optin_bytes) {
    device->batch.shared_bytes = shared_optin_bytes;
}
