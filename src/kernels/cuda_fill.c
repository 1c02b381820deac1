/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills a model's memory. First everything becomes NaN, so that a read of what was never written
 * cannot pass for a number; then weights by kernels (bit-equal to the host's), the rotary table
 * from doubles, and zeros where padding is read.
 */
#include "kernels/cuda_model.h"

#include "core/alloc.h"
#include "kernels/synthetic.h"
#include "kernels/workload.h"
#include <math.h>

enum { FILL_BLOCKS_PER_SM = 16, ANGLES_CHUNK = 64 };

static eco_status launch_fill(cuda_model *model, cuda_kernel kernel, void *args, eco_error *err) {
    const cuda_launch launch = {.kernel = kernel,
                                .grid_x = model->device->n_sm * FILL_BLOCKS_PER_SM,
                                .grid_y = 1,
                                .block = GPU_BLOCK,
                                .args = args};
    return ecoi_cuda_launch(model, &launch, err);
}

/* Where a tensor goes in a matrix: row i of it to row first + i · step. */
typedef struct placement {
    uint32_t first, step, n_rows;
} placement;

static eco_status fill_rows(cuda_model *model, const cuda_matrix *matrix, placement at,
                            uint64_t tensor, float scale, eco_error *err) {
    const cuda_storage storage = ecoi_cuda_storage(matrix->format);
    const uint64_t row_bytes = (uint64_t)matrix->stride * storage.weight_bits / 8;
    struct gpu_fill_args args = {.weights = matrix->weights + at.first * row_bytes,
                                 .scales = matrix->scales + (uint64_t)at.first * matrix->n_blocks *
                                                                storage.scale_bytes,
                                 .key = syn_key(model->workload.seed, tensor),
                                 .rows = at.n_rows,
                                 .cols = matrix->n_columns,
                                 .stride = matrix->stride,
                                 .n_blocks = matrix->n_blocks,
                                 .row_step = at.step,
                                 .scale = scale};
    return launch_fill(model, storage.fill, &args, err);
}

/* The whole matrix is the tensor. */
static eco_status fill_matrix(cuda_model *model, const cuda_matrix *matrix, uint64_t tensor,
                              float scale, eco_error *err) {
    const placement all = {.step = 1, .n_rows = matrix->n_rows};
    return fill_rows(model, matrix, all, tensor, scale, err);
}

static eco_status fill_linear(cuda_model *model, const cuda_matrix *matrix, uint64_t tensor,
                              eco_error *err) {
    return fill_matrix(model, matrix, tensor, ecoi_linear_scale(matrix->n_columns), err);
}

static eco_status fill_bias(cuda_model *model, uint64_t address, uint32_t n, uint64_t tensor,
                            eco_error *err) {
    struct gpu_fill_args args = {.weights = address,
                                 .key = syn_key(model->workload.seed, tensor),
                                 .rows = 1,
                                 .cols = n,
                                 .stride = n,
                                 .row_step = 1,
                                 .scale = 0.1f};
    return launch_fill(model, CUDA_FILL_FP16, &args, err);
}

/* Gains of a norm whose output is multiplied by a matrix of this format. */
static eco_status fill_gains(cuda_model *model, uint64_t address, uint64_t tensor,
                             eco_format format, eco_error *err) {
    const uint32_t n = model->shape.d_model;
    struct gpu_fill_args args = {.weights = address,
                                 .key = syn_key(model->workload.seed, tensor),
                                 .rows = 1,
                                 .cols = n,
                                 .stride = n,
                                 .row_step = 1,
                                 .offset = 1.0f,
                                 .scale = 0.1f,
                                 .outlier_key = syn_key(model->workload.seed, SYN_OUTLIERS),
                                 .outlier_permille =
                                     ecoi_outlier_permille(&model->workload, format)};
    return launch_fill(model, CUDA_FILL_FP16, &args, err);
}

static eco_status fill_qkv(cuda_model *model, uint32_t l, eco_error *err) {
    const cuda_layer *layer = &model->layers[l];
    const eco_model_shape *shape = &model->shape;
    const uint32_t n_query = shape->n_heads * shape->d_head;
    const uint32_t n_kv = shape->n_kv_heads * shape->d_head;
    const placement at[3] = {{.step = 1, .n_rows = n_query},
                             {.first = n_query, .step = 1, .n_rows = n_kv},
                             {.first = n_query + n_kv, .step = 1, .n_rows = n_kv}};
    for (uint32_t i = 0; i < 3; i++) { /* query, key, value: three tensors, one matrix */
        ECO_TRY(fill_rows(model, &layer->qkv, at[i], syn_layer_tensor(l, SYN_Q + i),
                          ecoi_linear_scale(shape->d_model), err));
        if (layer->qkv_bias != 0) {
            ECO_TRY(fill_bias(model, layer->qkv_bias + 2ull * at[i].first, at[i].n_rows,
                              syn_layer_tensor(l, SYN_Q_BIAS + i), err));
        }
    }
    return ECO_OK;
}

static eco_status fill_layer(cuda_model *model, uint32_t l, eco_error *err) {
    const cuda_layer *layer = &model->layers[l];
    const eco_model_shape *shape = &model->shape;
    const eco_format format = model->workload.linear;
    ECO_TRY(fill_qkv(model, l, err));
    ECO_TRY(fill_linear(model, &layer->o, syn_layer_tensor(l, SYN_O), err));
    for (uint32_t i = 0; i < 2; i++) { /* gate and up in turns */
        const placement at = {.first = i, .step = 2, .n_rows = shape->d_ff};
        ECO_TRY(fill_rows(model, &layer->gate_up, at, syn_layer_tensor(l, SYN_GATE + i),
                          ecoi_linear_scale(shape->d_model), err));
    }
    ECO_TRY(fill_linear(model, &layer->down, syn_layer_tensor(l, SYN_DOWN), err));
    ECO_TRY(fill_gains(model, layer->norm_attention, syn_layer_tensor(l, SYN_NORM_ATTENTION),
                       format, err));
    return fill_gains(model, layer->norm_ffn, syn_layer_tensor(l, SYN_NORM_FFN), format, err);
}

static eco_status fill_ends(cuda_model *model, eco_error *err) {
    const cuda_memory *memory = &model->memory;
    const cuda_matrix *head = &memory->head;
    ECO_TRY(fill_matrix(model, &memory->embedding, SYN_EMBEDDING, 1.0f, err));
    if (!model->shape.tied_embeddings) {
        ECO_TRY(fill_linear(model, head, SYN_HEAD, err));
    } else if (head->weights !=
               memory->embedding.weights) { /* the embedding's values once more, quantized */
        ECO_TRY(fill_matrix(model, head, SYN_EMBEDDING, 1.0f, err));
    }
    return fill_gains(model, memory->norm_final, SYN_NORM_FINAL, head->format, err);
}

/* Cosine and sine of every position and pair, computed in double. */
static eco_status fill_angles(cuda_model *model, eco_error *err) {
    const cuda_device *device = model->device;
    const eco_model_shape *shape = &model->shape;
    const uint32_t n_pairs = shape->d_head / 2;
    const size_t row_bytes = sizeof(float) * shape->d_head;
    float *rows = ecoi_calloc(ANGLES_CHUNK, row_bytes);
    double *turns = ecoi_calloc(n_pairs, sizeof *turns);
    eco_status status = ECO_OK;
    if (rows == NULL || turns == NULL) {
        status =
            eco_error_set(err, ECO_E_NO_MEMORY, 0, "cuda: no host memory for the rotary table");
        goto done;
    }
    for (uint32_t i = 0; i < n_pairs; i++) {
        turns[i] = pow(shape->rope_theta, -2.0 * i / shape->d_head);
    }
    for (uint32_t first = 0; first < model->memory.capacity && status == ECO_OK;
         first += ANGLES_CHUNK) {
        const uint32_t left = model->memory.capacity - first;
        const uint32_t n = left < ANGLES_CHUNK ? left : ANGLES_CHUNK;
        for (uint32_t p = 0; p < n; p++) {
            for (uint32_t i = 0; i < n_pairs; i++) {
                rows[(size_t)p * shape->d_head + 2 * i] = (float)cos((first + p) * turns[i]);
                rows[(size_t)p * shape->d_head + 2 * i + 1] = (float)sin((first + p) * turns[i]);
            }
        }
        int result = device->cuda.api.copy_to_device(model->memory.angles + first * row_bytes, rows,
                                                     n * row_bytes, model->stream);
        if (result == CU_SUCCESS) { /* the chunk is used again */
            result = device->cuda.api.stream_synchronize(model->stream);
        }
        status = ecoi_cuda_done(device, result, "copying the rotary table", err);
    }
done:
    ecoi_free(turns);
    ecoi_free(rows);
    return status;
}

eco_status ecoi_cuda_fill(cuda_model *model, eco_error *err) {
    const cuda_device *device = model->device;
    const ecoi_cuda_api *api = &device->cuda.api;
    ECO_TRY(ecoi_cuda_done(
        device,
        api->set_words(model->base, 0xffffffffu, (size_t)(model->arena_bytes / 4), model->stream),
        "cuMemsetD32", err));
    for (uint32_t l = 0; l < model->shape.n_layers; l++) {
        ECO_TRY(fill_layer(model, l, err));
    }
    ECO_TRY(fill_ends(model, err));
    ECO_TRY(fill_angles(model, err));
    for (uint32_t i = 0; i < model->workload.n_prompt; i++) {
        model->prompt[i] = syn_prompt_token(model->workload.seed, i, model->shape.n_vocab);
    }
    return ecoi_cuda_done(device, api->stream_synchronize(model->stream), "filling weights", err);
}
