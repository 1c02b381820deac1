/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's part of stream.c. One text serves all formats and shapes: constants that stand for them
 * are written over before the driver compiles it, so that the code of the others is gone.
 */
#include "kernels/cuda_stream.h"

#include "core/alloc.h"
#include "kernels/gpu/stream_args.h"
#include "kernels/ptx.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct gpu_phase) == 64, "shared memory holds them as four vectors");
_Static_assert(sizeof(struct gpu_stream_args) <= STREAM_ARGS_BYTES, "room in shared memory");

static uint32_t stream_format(eco_format format) {
    switch (format) {
    case ECO_FORMAT_FP16:
        return STREAM_FP16;
    case ECO_FORMAT_BF16:
        return STREAM_BF16;
    case ECO_FORMAT_NF4:
        return STREAM_NF4;
    case ECO_FORMAT_W8A16:
        return STREAM_W8A16;
    case ECO_FORMAT_Q4_0:
        return STREAM_Q4_0;
    case ECO_FORMAT_Q8_0:
        return STREAM_Q8_0;
    case ECO_FORMAT_FP8:
        return STREAM_FP8;
    case ECO_FORMAT_INT8:
        return STREAM_INT8;
    case ECO_FORMAT_NF4_DQ:
        return STREAM_NF4_DQ;
    case ECO_FORMAT_COUNT:
        break;
    }
    return STREAM_FP16; /* a workload's formats are of the list */
}

/* Writes a value over a constant of stream_device.h; both are ten characters. */
static bool specialise(char *text, const char *mark, uint32_t value) {
    char digits[11];
    bool found = false;
    (void)snprintf(digits, sizeof digits, "0x%08x", (unsigned)value);
    for (char *at = strstr(text, mark); at != NULL; at = strstr(at, mark)) {
        memcpy(at, digits, sizeof digits - 1);
        found = true;
    }
    return found;
}

static eco_status compile(cuda_model *model, const struct gpu_stream_args *args,
                          cuda_stream_kernel *out, eco_error *err) {
    const cuda_device *device = model->device;
    const size_t n = strlen(ecoi_ptx_stream);
    char *text = ecoi_malloc(n + 1);
    if (text == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "cuda: no host memory for a kernel's text");
    }
    memcpy(text, ecoi_ptx_stream, n + 1);
    bool whole = specialise(text, "0x0ec0f003", args->n_slots - 2);
#define SPECIALISE(function, argument, mark) \
    whole = whole && specialise(text, mark, args->argument);
    STREAM_CONSTANTS(SPECIALISE)
#undef SPECIALISE
    const eco_status status =
        whole
            ? ecoi_cuda_compile(&device->cuda, "stream", text, STREAM_REGISTERS, &out->module, err)
            : eco_error_set(err, ECO_E_INVALID, 0,
                            "cuda: the kernel's text lacks a constant to be written over");
    ecoi_free(text);
    ECO_TRY(status);
    ECO_TRY(ecoi_cuda_done(
        device, device->cuda.api.module_function(&out->function, out->module, "eco_stream"),
        "eco_stream", err));
    return ecoi_cuda_done(device,
                          device->cuda.api.function_attribute(out->function,
                                                              CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                              (int)args->shared_bytes),
                          "cuFuncSetAttribute", err);
}

/* MARK: - Phases */

static struct gpu_phase phase_of(const cuda_matrix *matrix, uint32_t kind, uint32_t layer) {
    return (struct gpu_phase){.weights = matrix->weights,
                              .scales = matrix->scales,
                              .scales2 = matrix->scales2,
                              .kind = kind,
                              .rows = matrix->n_rows,
                              .cols = matrix->n_columns,
                              .stride = matrix->stride,
                              .n_blocks = matrix->n_blocks,
                              .layer = layer};
}

static void fill_phases(const cuda_model *model, struct gpu_phase *out) {
    for (uint32_t l = 0; l < model->shape.n_layers; l++) {
        const cuda_layer *layer = &model->layers[l];
        struct gpu_phase *at = out + (size_t)l * CUDA_LAYER_PHASES;
        at[0] = phase_of(&layer->qkv, PHASE_QKV, l);
        at[0].gain = layer->norm_attention;
        at[0].bias = layer->qkv_bias;
        at[1] = phase_of(&layer->o, PHASE_ADD_ATTENDED, l);
        at[2] = phase_of(&layer->gate_up, PHASE_GATE_UP, l);
        at[2].gain = layer->norm_ffn;
        at[3] = phase_of(&layer->down, PHASE_ADD_HIDDEN, l);
    }
    struct gpu_phase *head = out + (size_t)model->shape.n_layers * CUDA_LAYER_PHASES;
    *head = phase_of(&model->memory.head, PHASE_HEAD, model->shape.n_layers);
    head->gain = model->memory.norm_final;
}

static eco_status upload_phases(cuda_model *model, eco_error *err) {
    const size_t n = (size_t)model->shape.n_layers * CUDA_LAYER_PHASES + 1;
    const cuda_device *device = model->device;
    const ecoi_cuda_api *api = &device->cuda.api;
    struct gpu_phase *phases = ecoi_calloc(n, sizeof *phases);
    if (phases == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "cuda: no host memory for %zu phases", n);
    }
    fill_phases(model, phases);
    int result =
        api->copy_to_device(model->memory.phases, phases, n * sizeof *phases, model->stream);
    if (result == CU_SUCCESS) {
        result = api->set_words(model->memory.turn, 0, 1, model->stream);
    }
    if (result == CU_SUCCESS) { /* the table is freed */
        result = api->stream_synchronize(model->stream);
    }
    ecoi_free(phases);
    return ecoi_cuda_done(device, result, "copying the table of phases", err);
}

/* MARK: - Launches */

static uint32_t max_u32(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}
static uint32_t min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static struct gpu_stream_args common_args(const cuda_model *model) {
    const cuda_memory *memory = &model->memory;
    const eco_model_shape *shape = &model->shape;
    const uint32_t grid = model->device->n_sm;
    uint32_t lane_bits = 0;
    while (8u << lane_bits < memory->d_stride) {
        lane_bits++;
    }
    return (struct gpu_stream_args){
        .embedding = memory->embedding.weights,
        .angles = memory->angles,
        .k_cache = model->layers[0].k_cache,
        .v_cache = model->layers[0].v_cache,
        .x = memory->x,
        .qkv = memory->qkv,
        .part = memory->part,
        .attended = memory->attended,
        .hidden = memory->hidden,
        .logits = memory->logits,
        .best_value = memory->best_value,
        .best_index = memory->best_index,
        .turn = memory->turn,
        .state = memory->state,
        .dq_map = memory->dq_map,
        .cache_stride =
            shape->n_layers > 1 ? (model->layers[1].k_cache - model->layers[0].k_cache) / 2 : 0,
        .n_layers = shape->n_layers,
        .d_model = shape->d_model,
        .d_ff = shape->d_ff,
        .embedding_stride = memory->embedding.stride,
        .n_heads = shape->n_heads,
        .n_kv_heads = shape->n_kv_heads,
        .d_head = shape->d_head,
        .d_stride = memory->d_stride,
        .capacity = memory->capacity,
        .n_splits = max_u32(1, min_u32(memory->n_splits, grid / shape->n_heads)),
        .lane_bits = lane_bits,
        .heads_a_key = shape->n_heads / shape->n_kv_heads,
        .key_inverse = inverse_of(shape->n_heads / shape->n_kv_heads),
        .eps = (float)shape->norm_eps,
        .scale = (float)(1.0 / sqrt((double)shape->d_head)),
        .inverse_width = (float)(1.0 / shape->d_model)};
}

/* Of the table of phases: the head is the last. */
struct range {
    uint32_t first, n;
};

/* Row pairs of the tiles of a block in the largest of the phases, and of one more a warp. */
static uint32_t n_segments(const cuda_device *device, const eco_model_shape *shape, struct range of,
                           uint32_t format) {
    const uint32_t n_layers = shape->n_layers * CUDA_LAYER_PHASES;
    const uint32_t n_qkv = (shape->n_heads + 2 * shape->n_kv_heads) * shape->d_head;
    uint32_t rows = of.first + of.n > n_layers ? shape->n_vocab : 0;
    if (of.first < n_layers) {
        rows = max_u32(max_u32(rows, 2 * shape->d_ff), max_u32(n_qkv, shape->d_model));
    }
    const uint32_t tile = stream_tile_rows(format);
    const uint32_t tiles = (rows + tile - 1) / tile / device->n_sm + 1;
    return (tile / 2 * (tiles + STREAM_WORKERS_MAX) + 1) & ~1u;
}

/* As many slots a warp as the card's shared memory allows, and then as many warps. False: not even
 * the fewest. */
static bool fit_ring(struct gpu_stream_args *args, uint32_t have) {
    args->input_bytes = max_u32(stream_input_bytes(args->format, args->input_cols),
                                (uint32_t)STREAM_ATTENTION_BYTES);
    const uint32_t slot = stream_slot_bytes(args->format);
    const uint32_t most = stream_is_wide(args->format) ? STREAM_SLOTS_MAX : STREAM_SLOTS_MAX - 1;
    const uint32_t fixed = stream_table_bytes(args->format) +
                           stream_input_offset(args->n_phases, args->n_segments) +
                           args->input_bytes;
    for (uint32_t workers = STREAM_WORKERS_MAX; workers > 2; workers--) {
        for (uint32_t slots = most; slots >= STREAM_SLOTS_MIN; slots--) {
            if (fixed + workers * slots * slot <= have) {
                args->n_workers = workers;
                args->n_slots = slots;
                args->shared_bytes = fixed + workers * slots * slot;
                return true;
            }
        }
    }
    return false;
}

/* Shared memory for some phases: all of it that args has. A small table where a large one leaves room
 * for too few warps. */
static eco_status fit(const cuda_device *device, const eco_model_shape *shape, struct range of,
                      eco_format format, struct gpu_stream_args *args, eco_error *err) {
    const uint32_t have = device->batch.shared_bytes;
    const uint32_t n_query = shape->n_heads * shape->d_head;
    const uint32_t widest = max_u32(max_u32(shape->d_model, shape->d_ff), n_query);
    args->n_phases = of.n;
    args->format = stream_format(format);
    args->input_cols = stream_padded_cols(widest);
    args->n_segments = n_segments(device, shape, of, args->format);
    const bool has_table = args->format == STREAM_NF4 || args->format == STREAM_NF4_DQ;
    if (fit_ring(args, have) && (!has_table || args->n_workers == STREAM_WORKERS_MAX)) {
        return ECO_OK;
    }
    if (has_table) {
        args->format = args->format == STREAM_NF4 ? STREAM_NF4_SMALL : STREAM_NF4_DQ_SMALL;
        if (fit_ring(args, have)) {
            return ECO_OK;
        }
    }
    return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                         "cuda: model %s in %s does not fit the %u bytes of shared memory of %s",
                         shape->name, eco_format_at(format)->name, have, device->name);
}

/* Layers and head, or one of them. */
static eco_status some_phases(const cuda_model *model, struct range of, eco_format format,
                              struct gpu_stream_args *out, eco_error *err) {
    *out = common_args(model);
    out->phases = model->memory.phases + of.first * sizeof(struct gpu_phase);
    return fit(model->device, &model->shape, of, format, out, err);
}

static eco_status launch(cuda_model *model, const cuda_stream_kernel *kernel,
                         struct gpu_stream_args *args, eco_error *err) {
    const cuda_launch launch = {.function = kernel->function,
                                .grid_x = model->device->n_sm,
                                .grid_y = 1,
                                .block = STREAM_BLOCK,
                                .shared_bytes = args->shared_bytes,
                                .args = args};
    return ecoi_cuda_launch(model, &launch, err);
}

static eco_status launch_done(cuda_model *model, uint64_t counter, eco_error *err) {
    const cuda_memory *memory = &model->memory;
    struct gpu_token_done_args done = {.progress = counter,
                                       .state = memory->state,
                                       .forced = memory->forced,
                                       .part_value = memory->best_value,
                                       .part_index = memory->best_index,
                                       .turn = memory->turn,
                                       .n_parts = model->device->n_sm};
    const cuda_launch last = {
        .kernel = CUDA_TOKEN_DONE, .grid_x = 1, .grid_y = 1, .block = 32, .args = &done};
    return ecoi_cuda_launch(model, &last, err);
}

/* What is launched for a token: the layers, with the head where that has their format. */
typedef struct parts {
    struct gpu_stream_args layers, head;
    bool apart;
} parts;

static eco_status token_parts(const cuda_model *model, parts *out, eco_error *err) {
    const eco_format linear = model->workload.linear;
    const eco_format head = model->workload.head;
    const uint32_t n = model->shape.n_layers * CUDA_LAYER_PHASES;
    out->apart = head != linear;
    const struct range all = {0, out->apart ? n : n + 1};
    ECO_TRY(some_phases(model, all, linear, &out->layers, err));
    return out->apart ? some_phases(model, (struct range){n, 1}, head, &out->head, err) : ECO_OK;
}

eco_status ecoi_cuda_record_token(cuda_model *model, const void *user, eco_error *err) {
    const uint64_t *counter = user;
    parts p;
    ECO_TRY(token_parts(model, &p, err));
    ECO_TRY(launch(model, &model->stream_layers, &p.layers, err));
    if (p.apart) {
        ECO_TRY(launch(model, &model->stream_head, &p.head, err));
    }
    return launch_done(model, *counter, err);
}

eco_status ecoi_cuda_stream_check(const cuda_device *device, const eco_workload *workload,
                                  eco_error *err) {
    const eco_model_shape *shape = workload->shape;
    if (shape->d_model > STREAM_COLS_MAX) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                             "cuda: model %s is %u wide; the kernels take up to %d", shape->name,
                             shape->d_model, STREAM_COLS_MAX);
    }
    struct gpu_stream_args unused = {0};
    const uint32_t n = shape->n_layers * CUDA_LAYER_PHASES;
    if (workload->head == workload->linear) {
        return fit(device, shape, (struct range){0, n + 1}, workload->linear, &unused, err);
    }
    ECO_TRY(fit(device, shape, (struct range){0, n}, workload->linear, &unused, err));
    return fit(device, shape, (struct range){n, 1}, workload->head, &unused, err);
}

eco_status ecoi_cuda_stream_prepare(cuda_model *model, eco_error *err) {
    parts p;
    ECO_TRY(token_parts(model, &p, err));
    ECO_TRY(compile(model, &p.layers, &model->stream_layers, err));
    if (p.apart) {
        ECO_TRY(compile(model, &p.head, &model->stream_head, err));
    }
    return upload_phases(model, err);
}

void ecoi_cuda_stream_close(cuda_model *model) {
    const cuda_stream_kernel *const kernels[2] = {&model->stream_layers, &model->stream_head};
    for (uint32_t i = 0; i < 2; i++) {
        if (kernels[i]->module != NULL) {
            (void)model->device->cuda.api.module_unload(kernels[i]->module);
        }
    }
}
