/* SPDX-License-Identifier: Apache-2.0
 *
 * Lays a model out in one block and fills it with synthetic weights. The same carving runs twice:
 * once over no memory, to count, and once over the block, so the two cannot disagree.
 */
#include "kernels/cpu/cpu_model.h"

#include "core/alloc.h"
#include "kernels/half.h"
#include "kernels/quant.h"
#include "kernels/synthetic.h"
#include "kernels/workload.h"

#include <math.h>

enum { CPU_ALIGN_BYTES = 64 };

typedef struct carver {
    unsigned char *base; /* NULL: only counts */
    uint64_t n_bytes;
    bool overflow;
} carver;

static void *carve(carver *cut, uint64_t count, uint64_t size) {
    uint64_t bytes = 0;
    uint64_t end = 0;
    const uint64_t begin = cut->n_bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(begin, bytes, &end) ||
        end > SIZE_MAX - 2u * CPU_ALIGN_BYTES) {
        cut->overflow = true;
        return NULL;
    }
    cut->n_bytes = (end + CPU_ALIGN_BYTES - 1) / CPU_ALIGN_BYTES * CPU_ALIGN_BYTES;
    return cut->base == NULL ? NULL : cut->base + begin;
}

static eco_cpu_matrix carve_matrix(carver *cut, eco_format format, uint32_t n_rows,
                                   uint32_t n_columns) {
    eco_cpu_matrix matrix = ecoi_cpu_matrix_of(format, n_rows, n_columns);
    const uint64_t n_blocks = (uint64_t)n_rows * matrix.n_blocks;
    matrix.weights = carve(cut, n_rows, matrix.n_row_bytes);
    switch (format) {
    case ECO_FORMAT_NF4:
    case ECO_FORMAT_INT8:
    case ECO_FORMAT_W8A16:
    case ECO_FORMAT_FP8:
        matrix.scales = carve(cut, n_blocks, sizeof(float));
        break;
    case ECO_FORMAT_Q4_0:
    case ECO_FORMAT_Q8_0:
        matrix.half_scales = carve(cut, n_blocks, sizeof(uint16_t));
        break;
    case ECO_FORMAT_NF4_DQ:
        matrix.scale_codes = carve(cut, n_blocks, 1);
        matrix.scales2 = carve(cut, (n_blocks + NF4_DQ_BLOCK - 1) / NF4_DQ_BLOCK, sizeof(float));
        break;
    case ECO_FORMAT_FP16:
    case ECO_FORMAT_BF16:
    case ECO_FORMAT_COUNT:
        break;
    }
    return matrix;
}

static void carve_layer(carver *cut, const eco_cpu_model *model, eco_cpu_layer *layer) {
    const eco_model_shape *shape = &model->shape;
    const eco_format format = model->linear;
    layer->q = carve_matrix(cut, format, model->n_query, shape->d_model);
    layer->k = carve_matrix(cut, format, model->n_kv, shape->d_model);
    layer->v = carve_matrix(cut, format, model->n_kv, shape->d_model);
    layer->o = carve_matrix(cut, format, shape->d_model, model->n_query);
    layer->gate = carve_matrix(cut, format, shape->d_ff, shape->d_model);
    layer->up = carve_matrix(cut, format, shape->d_ff, shape->d_model);
    layer->down = carve_matrix(cut, format, shape->d_model, shape->d_ff);
    if (shape->qkv_bias) {
        layer->q_bias = carve(cut, model->n_query, sizeof(uint16_t));
        layer->k_bias = carve(cut, model->n_kv, sizeof(uint16_t));
        layer->v_bias = carve(cut, model->n_kv, sizeof(uint16_t));
    }
    layer->norm_attention = carve(cut, shape->d_model, sizeof(uint16_t));
    layer->norm_ffn = carve(cut, shape->d_model, sizeof(uint16_t));
}

static void carve_cache(carver *cut, const eco_cpu_model *model, eco_cpu_layer *layer) {
    const uint64_t n_values = (uint64_t)model->n_batch * model->n_positions * model->n_kv;
    layer->k_cache = carve(cut, n_values, sizeof(uint16_t));
    layer->v_cache = carve(cut, n_values, sizeof(uint16_t));
}

static size_t widest_row(const eco_cpu_model *model) {
    size_t n = model->shape.d_model;
    n = model->n_query > n ? model->n_query : n;
    return model->shape.d_ff > n ? model->shape.d_ff : n;
}

static uint64_t padded(size_t n) {
    return ((uint64_t)n + CPU_COLUMN_UNIT - 1) / CPU_COLUMN_UNIT * CPU_COLUMN_UNIT;
}

/* A row of n for each sequence; rows begin at cache lines, so that threads never share one. */
static eco_cpu_buffer carve_buffer(carver *cut, const eco_cpu_model *model, uint64_t n) {
    const uint64_t line = CPU_ALIGN_BYTES / sizeof(float);
    const uint64_t stride = (n + line - 1) / line * line;
    return (eco_cpu_buffer){.values = carve(cut, (uint64_t)model->n_batch * stride, sizeof(float)),
                            .stride = (size_t)stride};
}

static void carve_buffers(carver *cut, eco_cpu_model *model) {
    const eco_model_shape *shape = &model->shape;
    const uint64_t n_angles = (uint64_t)model->n_positions * (shape->d_head / 2);
    model->rope_cos = carve(cut, n_angles, sizeof(float));
    model->rope_sin = carve(cut, n_angles, sizeof(float));
    model->prompt = carve(cut, (uint64_t)model->n_batch * model->n_prompt, sizeof(uint32_t));
    model->residual = carve_buffer(cut, model, shape->d_model);
    model->input = carve_buffer(cut, model, padded(shape->d_model));
    model->query = carve_buffer(cut, model, model->n_query);
    model->key = carve_buffer(cut, model, model->n_kv);
    model->value = carve_buffer(cut, model, model->n_kv);
    model->attended = carve_buffer(cut, model, padded(model->n_query));
    model->scores = carve_buffer(cut, model, (uint64_t)shape->n_heads * model->n_positions);
    model->hidden = carve_buffer(cut, model, padded(shape->d_ff));
    model->widest = (size_t)padded(widest_row(model));
    if (model->linear == ECO_FORMAT_INT8 || model->head_format == ECO_FORMAT_INT8) {
        const uint64_t n = (uint64_t)model->n_batch * model->widest;
        model->input_codes = carve(cut, n, sizeof(int16_t));
        model->outliers = carve(cut, n, sizeof(uint32_t));
    }
    model->logits = carve_buffer(cut, model, shape->n_vocab);
}

/* All of the model; `layers` NULL = count only. */
static void carve_model(carver *cut, eco_cpu_model *model, eco_cpu_layer *layers) {
    const eco_model_shape *shape = &model->shape;
    eco_cpu_layer scratch = {0};
    for (uint32_t l = 0; l < shape->n_layers; l++) {
        carve_layer(cut, model, layers == NULL ? &scratch : &layers[l]);
    }
    model->embedding = carve_matrix(cut, ECO_FORMAT_FP16, shape->n_vocab, shape->d_model);
    const bool shared = shape->tied_embeddings && model->head_format == ECO_FORMAT_FP16;
    model->head = shared ? model->embedding
                         : carve_matrix(cut, model->head_format, shape->n_vocab, shape->d_model);
    model->norm_final = carve(cut, shape->d_model, sizeof(uint16_t));
    model->weight_bytes = cut->n_bytes;
    for (uint32_t l = 0; l < shape->n_layers; l++) {
        carve_cache(cut, model, layers == NULL ? &scratch : &layers[l]);
    }
    carve_buffers(cut, model);
}

static eco_cpu_model model_of(const eco_workload *workload) {
    const eco_model_shape *shape = workload->shape;
    return (eco_cpu_model){.shape = *shape,
                           .workload = *workload,
                           .linear = workload->linear,
                           .head_format = workload->head,
                           .seed = workload->seed,
                           .n_batch = workload->batch,
                           .n_prompt = workload->n_prompt,
                           .n_tokens = workload->n_tokens,
                           .n_positions = workload->n_prompt + workload->n_tokens,
                           .n_query = shape->n_heads * shape->d_head,
                           .n_kv = shape->n_kv_heads * shape->d_head};
}

uint64_t ecoi_cpu_model_bytes(const eco_workload *workload) {
    eco_cpu_model model = model_of(workload);
    carver cut = {0};
    carve_model(&cut, &model, NULL);
    return cut.overflow ? 0 : cut.n_bytes;
}

/* ---- synthetic weights ---- */

typedef struct fill_request {
    eco_cpu_matrix *matrix;
    uint64_t key;
    float scale;
    uint16_t *scratch; /* [n_threads][n_scratch] */
    size_t n_scratch;
} fill_request;

static void fill_part(void *context, uint32_t index, uint32_t n) {
    const fill_request *request = context;
    eco_cpu_matrix *matrix = request->matrix;
    uint16_t *values = request->scratch + index * request->n_scratch;
    const eco_range rows = ecoi_pool_share(matrix->n_rows, 1, index, n);
    for (size_t r = rows.begin; r < rows.end; r++) {
        const uint64_t first = (uint64_t)r * matrix->n_columns;
        for (uint32_t c = 0; c < matrix->n_columns; c++) {
            values[c] = half_from_float(syn_value(request->key, first + c, 0.0f, request->scale));
        }
        ecoi_cpu_matrix_store_row(matrix, (uint32_t)r, values);
    }
}

typedef struct filler {
    eco_pool *pool;
    uint64_t seed;
    uint16_t *scratch;
    size_t n_scratch;
    float *absmax; /* NF4-DQ: of the largest matrix, before they are quantized themselves */
} filler;

static void fill_matrix(const filler *fill, eco_cpu_matrix *matrix, uint64_t tensor, float scale) {
    fill_request request = {.matrix = matrix,
                            .key = syn_key(fill->seed, tensor),
                            .scale = scale,
                            .scratch = fill->scratch,
                            .n_scratch = fill->n_scratch};
    if (matrix->format == ECO_FORMAT_NF4_DQ) {
        matrix->scales = fill->absmax;
    }
    ecoi_pool_run(fill->pool, fill_part, &request);
    ecoi_cpu_matrix_finish(matrix);
}

static void fill_linear(const filler *fill, eco_cpu_matrix *matrix, uint64_t tensor) {
    fill_matrix(fill, matrix, tensor, ecoi_linear_scale(matrix->n_columns));
}

static void fill_bias(const filler *fill, uint16_t *out, uint32_t n, uint64_t tensor) {
    const uint64_t key = syn_key(fill->seed, tensor);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = half_from_float(syn_value(key, i, 0.0f, 0.1f));
    }
}

/* Gains of a norm whose output is multiplied by a matrix of this format. */
static void fill_gains(const filler *fill, const eco_cpu_model *model, uint16_t *out,
                       uint64_t tensor, eco_format format) {
    const uint64_t key = syn_key(fill->seed, tensor);
    const uint64_t outlier_key = syn_key(fill->seed, SYN_OUTLIERS);
    const uint32_t permille = ecoi_outlier_permille(&model->workload, format);
    for (uint32_t i = 0; i < model->shape.d_model; i++) {
        out[i] = half_from_float(syn_value(key, i, 1.0f, 0.1f));
        if (syn_is_outlier(outlier_key, i, permille)) {
            out[i] = half_from_float(half_to_float(out[i]) * SYN_OUTLIER_GAIN);
        }
    }
}

static void fill_layer(const filler *fill, const eco_cpu_model *model, eco_cpu_layer *layer,
                       uint32_t l) {
    fill_linear(fill, &layer->q, syn_layer_tensor(l, SYN_Q));
    fill_linear(fill, &layer->k, syn_layer_tensor(l, SYN_K));
    fill_linear(fill, &layer->v, syn_layer_tensor(l, SYN_V));
    fill_linear(fill, &layer->o, syn_layer_tensor(l, SYN_O));
    fill_linear(fill, &layer->gate, syn_layer_tensor(l, SYN_GATE));
    fill_linear(fill, &layer->up, syn_layer_tensor(l, SYN_UP));
    fill_linear(fill, &layer->down, syn_layer_tensor(l, SYN_DOWN));
    if (model->shape.qkv_bias) {
        fill_bias(fill, layer->q_bias, model->n_query, syn_layer_tensor(l, SYN_Q_BIAS));
        fill_bias(fill, layer->k_bias, model->n_kv, syn_layer_tensor(l, SYN_K_BIAS));
        fill_bias(fill, layer->v_bias, model->n_kv, syn_layer_tensor(l, SYN_V_BIAS));
    }
    fill_gains(fill, model, layer->norm_attention, syn_layer_tensor(l, SYN_NORM_ATTENTION),
               model->linear);
    fill_gains(fill, model, layer->norm_ffn, syn_layer_tensor(l, SYN_NORM_FFN), model->linear);
}

static void fill_weights(const filler *fill, eco_cpu_model *model) {
    for (uint32_t l = 0; l < model->shape.n_layers; l++) {
        fill_layer(fill, model, &model->layers[l], l);
    }
    fill_matrix(fill, &model->embedding, SYN_EMBEDDING, 1.0f);
    if (!model->shape.tied_embeddings) {
        fill_linear(fill, &model->head, SYN_HEAD);
    } else if (model->head_format !=
               ECO_FORMAT_FP16) { /* the embedding's values once more, quantized */
        fill_matrix(fill, &model->head, SYN_EMBEDDING, 1.0f);
    }
    fill_gains(fill, model, model->norm_final, SYN_NORM_FINAL, model->head_format);
}

/* What is read beyond the end of an input, as large as its padding: zeros. */
static void zero_padding(const eco_cpu_model *model, eco_cpu_buffer x, size_t n) {
    for (uint32_t b = 0; b < model->n_batch; b++) {
        for (size_t i = n; i < padded(n); i++) {
            x.values[b * x.stride + i] = 0.0f;
        }
    }
}

/* Angles in double, kept as FP32: pair i of position p turns by p · theta^(-2i / d_head). */
static void fill_tables(eco_cpu_model *model) {
    zero_padding(model, model->input, model->shape.d_model);
    zero_padding(model, model->attended, model->n_query);
    zero_padding(model, model->hidden, model->shape.d_ff);
    const uint32_t n_pairs = model->shape.d_head / 2;
    for (uint32_t i = 0; i < n_pairs; i++) {
        const double turn = pow(model->shape.rope_theta, -2.0 * i / model->shape.d_head);
        for (uint32_t p = 0; p < model->n_positions; p++) {
            model->rope_cos[(size_t)p * n_pairs + i] = (float)cos(p * turn);
            model->rope_sin[(size_t)p * n_pairs + i] = (float)sin(p * turn);
        }
    }
    for (uint32_t i = 0; i < model->n_batch * model->n_prompt; i++) {
        model->prompt[i] = syn_batch_token(model->seed, i / model->n_prompt, i % model->n_prompt,
                                           model->shape.n_vocab);
    }
}

static eco_status no_memory(const char *model_name, uint64_t n_bytes, eco_error *err) {
    return eco_error_set(err, ECO_E_NO_MEMORY, 0, "model %s: no memory for its %llu bytes",
                         model_name, (unsigned long long)n_bytes);
}

/* FP32 absmax of the largest NF4-DQ matrix; 0 where there is none. */
static size_t lent_absmax(const eco_cpu_model *model) {
    const eco_model_shape *shape = &model->shape;
    const uint64_t d_model = padded(shape->d_model) / NF4_BLOCK;
    uint64_t n = 0;
    if (model->linear == ECO_FORMAT_NF4_DQ) {
        const uint64_t query = padded(model->n_query) / NF4_BLOCK * shape->d_model;
        const uint64_t down = padded(shape->d_ff) / NF4_BLOCK * shape->d_model;
        const uint64_t rows = shape->d_ff > model->n_query ? shape->d_ff : model->n_query;
        n = query > down ? query : down;
        n = rows * d_model > n ? rows * d_model : n;
    }
    if (model->head_format == ECO_FORMAT_NF4_DQ && shape->n_vocab * d_model > n) {
        n = shape->n_vocab * d_model;
    }
    return (size_t)n;
}

static void fill_model(eco_cpu_model *model, filler *fill) {
    unsigned char *block = model->block;
    const uintptr_t unaligned = (uintptr_t)block % CPU_ALIGN_BYTES;
    carver cut = {.base = block + (unaligned == 0 ? 0 : CPU_ALIGN_BYTES - unaligned)};
    carve_model(&cut, model, model->layers);
    model->block_bytes = cut.n_bytes;
    fill_weights(fill, model);
    fill_tables(model);
}

eco_status ecoi_cpu_model_new(const eco_workload *workload, eco_pool *pool, eco_cpu_model **out,
                              eco_error *err) {
    *out = NULL;
    const char *name = workload->shape->name;
    const uint64_t n_bytes = ecoi_cpu_model_bytes(workload);
    if (n_bytes == 0) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0,
                             "model %s: more bytes than this machine can address", name);
    }
    eco_cpu_model *model = ecoi_calloc(1, sizeof *model);
    if (model == NULL) {
        return no_memory(name, n_bytes, err);
    }
    *model = model_of(workload);
    model->workload.shape = &model->shape;
    model->layers = ecoi_calloc(model->shape.n_layers, sizeof *model->layers);
    model->block = ecoi_malloc((size_t)n_bytes + CPU_ALIGN_BYTES);
    filler fill = {.pool = pool, .seed = model->seed, .n_scratch = widest_row(model)};
    fill.scratch = ecoi_calloc(ecoi_pool_n_threads(pool), fill.n_scratch * sizeof *fill.scratch);
    const size_t n_absmax = lent_absmax(model);
    fill.absmax = n_absmax == 0 ? NULL : ecoi_calloc(n_absmax, sizeof *fill.absmax);
    const bool enough = fill.scratch != NULL && (n_absmax == 0 || fill.absmax != NULL) &&
                        model->layers != NULL && model->block != NULL;
    if (enough) {
        fill_model(model, &fill);
    }
    ecoi_free(fill.scratch);
    ecoi_free(fill.absmax);
    if (!enough) {
        ecoi_cpu_model_free(model);
        return no_memory(name, n_bytes, err);
    }
    *out = model;
    return ECO_OK;
}

void ecoi_cpu_model_free(eco_cpu_model *model) {
    if (model != NULL) {
        ecoi_free(model->block);
        ecoi_free(model->layers);
        ecoi_free(model);
    }
}
