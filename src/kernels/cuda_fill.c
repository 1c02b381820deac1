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

/* Rows first_row … first_row + n_rows - 1 of the matrix become the tensor. */
static eco_status fill_rows(cuda_model *model, const cuda_matrix *matrix, uint32_t first_row,
                            uint32_t n_rows, uint64_t tensor, float scale, eco_error *err) {
    const uint64_t key = syn_key(model->workload.seed, tensor);
    if (matrix->format == ECO_FORMAT_NF4) {
        struct gpu_fill_nf4_args args = {
            .codes = matrix->weights + (uint64_t)first_row * (matrix->stride / 2),
            .absmax = matrix->absmax + 4ull * first_row * matrix->n_blocks,
            .key = key,
            .rows = n_rows,
            .cols = matrix->n_columns,
            .stride = matrix->stride,
            .n_blocks = matrix->n_blocks,
            .scale = scale};
        return launch_fill(model, CUDA_FILL_NF4, &args, err);
    }
    struct gpu_fill_fp16_args args = {.out = matrix->weights + 2ull * first_row * matrix->stride,
                                      .key = key,
                                      .rows = n_rows,
                                      .cols = matrix->n_columns,
                                      .stride = matrix->stride,
                                      .offset = 0.0f,
                                      .scale = scale};
    return launch_fill(model, CUDA_FILL_FP16, &args, err);
}

static eco_status fill_linear(cuda_model *model, const cuda_matrix *matrix, uint64_t tensor,
                              eco_error *err) {
    return fill_rows(model, matrix, 0, matrix->n_rows, tensor, ecoi_linear_scale(matrix->n_columns),
                     err);
}

static eco_status fill_vector(cuda_model *model, uint64_t address, uint32_t n, uint64_t tensor,
                              float offset, eco_error *err) {
    struct gpu_fill_fp16_args args = {.out = address,
                                      .key = syn_key(model->workload.seed, tensor),
                                      .rows = 1,
                                      .cols = n,
                                      .stride = n,
                                      .offset = offset,
                                      .scale = 0.1f};
    return launch_fill(model, CUDA_FILL_FP16, &args, err);
}

static eco_status fill_layer(cuda_model *model, uint32_t l, eco_error *err) {
    const cuda_layer *layer = &model->layers[l];
    const eco_model_shape *shape = &model->shape;
    const uint32_t n_query = shape->n_heads * shape->d_head;
    const uint32_t n_kv = shape->n_kv_heads * shape->d_head;
    const uint32_t first[3] = {0, n_query, n_query + n_kv};
    const uint32_t n[3] = {n_query, n_kv, n_kv};
    for (uint32_t i = 0; i < 3; i++) { /* query, key, value: three tensors, one matrix */
        ECO_TRY(fill_rows(model, &layer->qkv, first[i], n[i], syn_layer_tensor(l, SYN_Q + i),
                          ecoi_linear_scale(shape->d_model), err));
        if (layer->qkv_bias != 0) {
            ECO_TRY(fill_vector(model, layer->qkv_bias + 2ull * first[i], n[i],
                                syn_layer_tensor(l, SYN_Q_BIAS + i), 0.0f, err));
        }
    }
    ECO_TRY(fill_linear(model, &layer->o, syn_layer_tensor(l, SYN_O), err));
    ECO_TRY(fill_linear(model, &layer->gate, syn_layer_tensor(l, SYN_GATE), err));
    ECO_TRY(fill_linear(model, &layer->up, syn_layer_tensor(l, SYN_UP), err));
    ECO_TRY(fill_linear(model, &layer->down, syn_layer_tensor(l, SYN_DOWN), err));
    ECO_TRY(fill_vector(model, layer->norm_attention, shape->d_model,
                        syn_layer_tensor(l, SYN_NORM_ATTENTION), 1.0f, err));
    return fill_vector(model, layer->norm_ffn, shape->d_model, syn_layer_tensor(l, SYN_NORM_FFN),
                       1.0f, err);
}

static eco_status fill_ends(cuda_model *model, eco_error *err) {
    const cuda_memory *memory = &model->memory;
    const cuda_matrix *head = &memory->head;
    ECO_TRY(fill_rows(model, &memory->embedding, 0, memory->embedding.n_rows, SYN_EMBEDDING, 1.0f,
                      err));
    if (!model->shape.tied_embeddings) {
        ECO_TRY(fill_linear(model, head, SYN_HEAD, err));
    } else if (head->weights !=
               memory->embedding.weights) { /* the embedding's values once more, quantized */
        ECO_TRY(fill_rows(model, head, 0, head->n_rows, SYN_EMBEDDING, 1.0f, err));
    }
    return fill_vector(model, memory->norm_final, model->shape.d_model, SYN_NORM_FINAL, 1.0f, err);
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
    const cuda_memory *memory = &model->memory;
    ECO_TRY(ecoi_cuda_done(
        device,
        api->set_words(model->base, 0xffffffffu, (size_t)(model->arena_bytes / 4), model->stream),
        "cuMemsetD32", err));
    ECO_TRY(ecoi_cuda_done(
        device,
        api->set_words(memory->attended, 0, (memory->logits - memory->attended) / 4, model->stream),
        "cuMemsetD32", err)); /* attended and hidden: their padding is read */
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
