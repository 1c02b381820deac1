/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills a model's memory. First everything becomes NaN, so that a read of what was never written
 * cannot pass for a number; then weights by kernels (bit-equal to the host's), the rotary table
 * from doubles, and zeros where padding is read.
 */
#include "kernels/cuda_model.h"

#include "core/alloc.h"
#include "kernels/quant_dynamic.h"
#include "kernels/synthetic.h"
#include "kernels/workload.h"
#include <math.h>
#include <string.h>

enum { FILL_BLOCKS_PER_SM = 16, ANGLES_CHUNK = 64 };

static eco_status launch_fill(cuda_model *model, cuda_kernel kernel, void *args, eco_error *err) {
    const cuda_launch launch = {.kernel = kernel,
                                .grid_x = model->device->n_sm * FILL_BLOCKS_PER_SM,
                                .grid_y = 1,
                                .block = GPU_BLOCK,
                                .args = args};
    return ecoi_cuda_launch(model, &launch, err);
}

/* A tensor of a matrix: its row i is row first + i · step there. */
typedef struct part {
    uint32_t first, step, n_rows;
    uint64_t tensor;
    float scale;
} part;

static struct gpu_fill_args part_args(const cuda_model *model, const cuda_matrix *matrix,
                                      const part *p) {
    const cuda_storage storage = ecoi_cuda_storage(matrix->format);
    const uint64_t row_bytes = (uint64_t)matrix->stride * storage.weight_bits / 8;
    return (struct gpu_fill_args){.weights = matrix->weights + p->first * row_bytes,
                                  .scales = matrix->scales + (uint64_t)p->first * matrix->n_blocks *
                                                                 storage.scale_bytes,
                                  .key = syn_key(model->workload.seed, p->tensor),
                                  .rows = p->n_rows,
                                  .cols = matrix->n_columns,
                                  .stride = matrix->stride,
                                  .n_blocks = matrix->n_blocks,
                                  .row_step = p->step,
                                  .scale = p->scale};
}

/* MARK: - NF4-DQ: codes by the kernel of NF4; the FP32 absmax that it leaves in lent memory are quantized here, by the code
 * that the CPU's storage uses, a tensor at a time */

typedef struct dq_buffers {
    uint32_t n_blocks;          /* of a row, without padding */
    uint64_t lent;              /* FP32 absmax [n_rows][n_blocks] on the device */
    float *absmax;              /* the same here, */
    float *own;                 /* and those of one tensor, in its order */
    uint8_t *own_codes, *codes; /* of one tensor; [n_rows][matrix->n_blocks] */
    uint32_t n_words;           /* of a tensor in scales2 */
    float *scales2;             /* [tensors][n_words] */
} dq_buffers;

static void dq_free(cuda_model *model, dq_buffers *b) {
    if (b->lent != 0) {
        (void)model->device->cuda.api.mem_free(b->lent);
    }
    ecoi_free(b->absmax);
    ecoi_free(b->own);
    ecoi_free(b->own_codes);
    ecoi_free(b->codes);
    ecoi_free(b->scales2);
}

static eco_status dq_allocate(cuda_model *model, const cuda_matrix *matrix, dq_buffers *b,
                              eco_error *err) {
    const size_t n_rows = matrix->n_rows;
    *b = (dq_buffers){.n_blocks = (matrix->n_columns + NF4_BLOCK - 1) / NF4_BLOCK};
    b->n_words = gpu_dq_words(matrix->n_first, b->n_blocks);
    const size_t n = n_rows * b->n_blocks;
    b->absmax = ecoi_calloc(n, sizeof *b->absmax);
    b->own = ecoi_calloc(n, sizeof *b->own);
    b->own_codes = ecoi_calloc(n, sizeof *b->own_codes);
    b->codes = ecoi_calloc(n_rows, matrix->n_blocks);
    b->scales2 = ecoi_calloc((size_t)matrix->n_tensors * b->n_words, sizeof *b->scales2);
    if (b->absmax == NULL || b->own == NULL || b->own_codes == NULL || b->codes == NULL ||
        b->scales2 == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "cuda: no host memory for %zu absmax", n);
    }
    return ecoi_cuda_allocate(model->device, n * sizeof(float), "quantizing absmax", &b->lent, err);
}

/* Tensor `tensor` of the matrix, which is the part. */
static void dq_quantize(const cuda_matrix *matrix, const part *p, uint32_t tensor, dq_buffers *b) {
    float *offset = b->scales2 + (size_t)tensor * b->n_words;
    const size_t n_blocks = b->n_blocks;
    for (size_t i = 0; i < p->n_rows; i++) {
        memcpy(b->own + i * n_blocks, b->absmax + (p->first + i * p->step) * n_blocks,
               n_blocks * sizeof *b->own);
    }
    const size_t n = p->n_rows * n_blocks;
    ecoi_dynamic_quantize(b->own, n, b->own_codes, offset + 1, offset);
    for (size_t i = 0; i < p->n_rows; i++) {
        memcpy(b->codes + (p->first + i * p->step) * matrix->n_blocks, b->own_codes + i * n_blocks,
               n_blocks);
    }
}

static eco_status dq_copy(const cuda_model *model, const cuda_matrix *matrix, const dq_buffers *b,
                          eco_error *err) {
    const ecoi_cuda_api *api = &model->device->cuda.api;
    const size_t n_rows = matrix->n_rows;
    int result =
        api->copy_to_device(matrix->scales, b->codes, n_rows * matrix->n_blocks, model->stream);
    if (result == CU_SUCCESS) {
        result = api->copy_to_device(matrix->scales2, b->scales2,
                                     (size_t)matrix->n_tensors * b->n_words * sizeof *b->scales2,
                                     model->stream);
    }
    if (result == CU_SUCCESS) { /* the buffers are freed */
        result = api->stream_synchronize(model->stream);
    }
    return ecoi_cuda_done(model->device, result, "copying quantized absmax", err);
}

static eco_status dq_fill(cuda_model *model, const cuda_matrix *matrix, const part *parts,
                          uint32_t n, dq_buffers *b, eco_error *err) {
    const ecoi_cuda_api *api = &model->device->cuda.api;
    ECO_TRY(dq_allocate(model, matrix, b, err));
    for (uint32_t i = 0; i < n; i++) {
        struct gpu_fill_args args = part_args(model, matrix, &parts[i]);
        args.n_blocks = b->n_blocks;
        args.scales = b->lent + (uint64_t)parts[i].first * b->n_blocks * sizeof(float);
        ECO_TRY(launch_fill(model, CUDA_FILL_NF4, &args, err));
    }
    const size_t bytes = (size_t)matrix->n_rows * b->n_blocks * sizeof(float);
    int result = api->copy_to_host(b->absmax, b->lent, bytes, model->stream);
    if (result == CU_SUCCESS) {
        result = api->stream_synchronize(model->stream);
    }
    ECO_TRY(ecoi_cuda_done(model->device, result, "reading absmax", err));
    for (uint32_t i = 0; i < n; i++) {
        dq_quantize(matrix, &parts[i], i, b);
    }
    return dq_copy(model, matrix, b, err);
}

static eco_status fill_dq(cuda_model *model, const cuda_matrix *matrix, const part *parts,
                          uint32_t n, eco_error *err) {
    dq_buffers buffers;
    const eco_status status = dq_fill(model, matrix, parts, n, &buffers, err);
    dq_free(model, &buffers);
    return status;
}

/* MARK: - Matrices */

static eco_status fill_parts(cuda_model *model, const cuda_matrix *matrix, const part *parts,
                             uint32_t n, eco_error *err) {
    if (matrix->format == ECO_FORMAT_NF4_DQ) {
        return fill_dq(model, matrix, parts, n, err);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct gpu_fill_args args = part_args(model, matrix, &parts[i]);
        ECO_TRY(launch_fill(model, ecoi_cuda_storage(matrix->format).fill, &args, err));
    }
    return ECO_OK;
}

/* The whole matrix is the tensor. */
static eco_status fill_matrix(cuda_model *model, const cuda_matrix *matrix, uint64_t tensor,
                              float scale, eco_error *err) {
    const part all = {.step = 1, .n_rows = matrix->n_rows, .tensor = tensor, .scale = scale};
    return fill_parts(model, matrix, &all, 1, err);
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
    const float scale = ecoi_linear_scale(shape->d_model);
    const part parts[3] = {/* query, key, value: three tensors, one matrix */
                           {0, 1, n_query, syn_layer_tensor(l, SYN_Q), scale},
                           {n_query, 1, n_kv, syn_layer_tensor(l, SYN_K), scale},
                           {n_query + n_kv, 1, n_kv, syn_layer_tensor(l, SYN_V), scale}};
    ECO_TRY(fill_parts(model, &layer->qkv, parts, 3, err));
    for (uint32_t i = 0; i < 3 && layer->qkv_bias != 0; i++) {
        ECO_TRY(fill_bias(model, layer->qkv_bias + 2ull * parts[i].first, parts[i].n_rows,
                          syn_layer_tensor(l, SYN_Q_BIAS + i), err));
    }
    return ECO_OK;
}

static eco_status fill_layer(cuda_model *model, uint32_t l, eco_error *err) {
    const cuda_layer *layer = &model->layers[l];
    const eco_model_shape *shape = &model->shape;
    const eco_format format = model->workload.linear;
    ECO_TRY(fill_qkv(model, l, err));
    ECO_TRY(fill_linear(model, &layer->o, syn_layer_tensor(l, SYN_O), err));
    const float scale = ecoi_linear_scale(shape->d_model);
    const part in_turns[2] = {{0, 2, shape->d_ff, syn_layer_tensor(l, SYN_GATE), scale},
                              {1, 2, shape->d_ff, syn_layer_tensor(l, SYN_UP), scale}};
    ECO_TRY(fill_parts(model, &layer->gate_up, in_turns, 2, err));
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
    ECO_TRY(ecoi_cuda_done(device,
                           api->copy_to_device(model->memory.dq_map, ecoi_dynamic_values,
                                               sizeof ecoi_dynamic_values, model->stream),
                           "copying the values of NF4-DQ's absmax", err));
    for (uint32_t i = 0; i < model->workload.n_prompt; i++) {
        model->prompt[i] = syn_prompt_token(model->workload.seed, i, model->shape.n_vocab);
    }
    return ecoi_cuda_done(device, api->stream_synchronize(model->stream), "filling weights", err);
}
