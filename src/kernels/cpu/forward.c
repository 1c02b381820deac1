/* SPDX-License-Identifier: Apache-2.0
 *
 * Five parallel regions a layer (q k v; heads; o; gate and up; down) and one for the output head;
 * what lies between them (norms, RoPE, cache) is a few microseconds and stays with the caller, but
 * for the norms of many sequences.
 */
#include "kernels/cpu/forward.h"

#include "kernels/cpu/reference.h"
#include "kernels/half.h"
#include "kernels/workload.h"

#include <math.h>

/* Floats of a cache line: threads write whole lines of the output. */
enum { ROW_GRAIN = 16 };
/* Of weights that all sequences use before the next ones come: a part of any second-level cache of today. */
enum { BLOCK_BYTES = 128 << 10 };

static uint64_t read_words(const uint64_t *words, size_t n) {
    uint64_t sums[4] = {0};
    for (size_t i = 0; i < n; i += 4) {
        for (size_t k = 0; k < 4; k++) {
            sums[k] += words[i + k];
        }
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

const eco_cpu_sums ecoi_cpu_sums_portable = {.isa = "portable",
                                             .summary = "portable GEMV, rows over threads",
                                             .dots = ecoi_ref_dots,
                                             .dot_half = ecoi_ref_dot_half,
                                             .add_scaled = ecoi_ref_add_scaled,
                                             .read = read_words};

const eco_cpu_sums *ecoi_cpu_sums_best(void) {
    const eco_cpu_sums *const fast[] = {ecoi_cpu_sums_avx512(), ecoi_cpu_sums_avx2(),
                                        ecoi_cpu_sums_neon()};
    for (size_t i = 0; i < sizeof fast / sizeof fast[0]; i++) {
        if (fast[i] != NULL) {
            return fast[i];
        }
    }
    return &ecoi_cpu_sums_portable;
}

typedef struct region {
    eco_cpu_model *model;
    eco_cpu_layer *layer;
    const eco_cpu_sums *sums;
    uint32_t first, n; /* slot s of the buffers holds sequence first + s, for n slots */
    uint32_t position;
    /* Of the products to come: their matrices' format and columns, and what becomes of the buffers before them. */
    const eco_cpu_matrix *matrix;
    const uint16_t *gains; /* NULL: no norm */
    eco_cpu_buffer from;
    eco_cpu_input inputs[ECO_WORKLOAD_BATCH_MAX];
} region;

static float *slot_of(eco_cpu_buffer buffer, size_t slot) {
    return buffer.values + slot * buffer.stride;
}

/* MARK: - Products: rows in blocks that stay in a core's cache, and for each block all sequences, so that weights come
 * from memory once a step. A sequence's sums are what they are alone. */

typedef void row_task(const region *r, size_t row, size_t slot);

static void rows_part(const region *r, const eco_cpu_matrix *m, row_task *task, uint32_t index,
                      uint32_t n) {
    const eco_range rows = ecoi_pool_share(m->n_rows, ROW_GRAIN, index, n);
    const size_t block = m->n_row_bytes < BLOCK_BYTES ? BLOCK_BYTES / m->n_row_bytes : 1;
    for (size_t begin = rows.begin; begin < rows.end; begin += block) {
        const size_t end = begin + block < rows.end ? begin + block : rows.end;
        for (size_t slot = 0; slot < r->n; slot++) {
            for (size_t i = begin; i < end; i++) {
                task(r, i, slot);
            }
        }
    }
}

static float row_dot(const region *r, const eco_cpu_matrix *m, size_t row, size_t slot) {
    return r->sums->dots[m->format](m, row, &r->inputs[slot]);
}

static float biased(float sum, const uint16_t *bias, size_t row) {
    return bias == NULL ? sum : sum + half_to_float(bias[row]);
}

static void q_row(const region *r, size_t row, size_t slot) {
    slot_of(r->model->query, slot)[row] =
        biased(row_dot(r, &r->layer->q, row, slot), r->layer->q_bias, row);
}

static void k_row(const region *r, size_t row, size_t slot) {
    slot_of(r->model->key, slot)[row] =
        biased(row_dot(r, &r->layer->k, row, slot), r->layer->k_bias, row);
}

static void v_row(const region *r, size_t row, size_t slot) {
    slot_of(r->model->value, slot)[row] =
        biased(row_dot(r, &r->layer->v, row, slot), r->layer->v_bias, row);
}

static void qkv_part(void *context, uint32_t index, uint32_t n) {
    const region *r = context;
    rows_part(r, &r->layer->q, q_row, index, n);
    rows_part(r, &r->layer->k, k_row, index, n);
    rows_part(r, &r->layer->v, v_row, index, n);
}

static void o_row(const region *r, size_t row, size_t slot) {
    slot_of(r->model->residual, slot)[row] += row_dot(r, &r->layer->o, row, slot);
}

static void o_part(void *context, uint32_t index, uint32_t n) {
    const region *r = context;
    rows_part(r, &r->layer->o, o_row, index, n);
}

static void gate_up_row(const region *r, size_t row, size_t slot) {
    const float gate = row_dot(r, &r->layer->gate, row, slot);
    slot_of(r->model->hidden, slot)[row] =
        ecoi_ref_gated(gate, row_dot(r, &r->layer->up, row, slot));
}

static void gate_up_part(void *context, uint32_t index, uint32_t n) {
    const region *r = context;
    rows_part(r, &r->layer->gate, gate_up_row, index, n);
}

static void down_row(const region *r, size_t row, size_t slot) {
    slot_of(r->model->residual, slot)[row] += row_dot(r, &r->layer->down, row, slot);
}

static void down_part(void *context, uint32_t index, uint32_t n) {
    const region *r = context;
    rows_part(r, &r->layer->down, down_row, index, n);
}

static void head_row(const region *r, size_t row, size_t slot) {
    slot_of(r->model->logits, slot)[row] = row_dot(r, &r->model->head, row, slot);
}

static void head_part(void *context, uint32_t index, uint32_t n) {
    const region *r = context;
    rows_part(r, &r->model->head, head_row, index, n);
}

/* MARK: - Between the products */

static void ready_slot(region *r, uint32_t slot) {
    const eco_cpu_model *model = r->model;
    float *x = slot_of(r->from, slot);
    if (r->gains != NULL) {
        float *normed = slot_of(model->input, slot);
        ecoi_ref_norm(x, r->gains, model->shape.d_model, (float)model->shape.norm_eps, normed);
        x = normed;
    }
    r->inputs[slot] = ecoi_cpu_input_of(model, slot, r->matrix, x);
}

static void ready_part(void *context, uint32_t index, uint32_t n) {
    region *r = context;
    const eco_range slots = ecoi_pool_share(r->n, 1, index, n);
    for (size_t slot = slots.begin; slot < slots.end; slot++) {
        ready_slot(r, (uint32_t)slot);
    }
}

/* A region of products with matrices of m's format and columns, of `from` as it is or, with gains, normed. */
static void run_products(region *r, eco_pool *pool, eco_pool_task *task, const eco_cpu_matrix *m,
                         eco_cpu_buffer from, const uint16_t *gains) {
    r->matrix = m;
    r->from = from;
    r->gains = gains;
    if (r->n == 1) {
        ready_slot(r, 0);
    } else {
        ecoi_pool_run(pool, ready_part, r);
    }
    ecoi_pool_run(pool, task, r);
}

/* Q and K turned to their position; K and V into the cache. */
static void place(const region *r, uint32_t slot) {
    eco_cpu_model *model = r->model;
    const eco_model_shape *shape = &model->shape;
    const size_t turn = (size_t)r->position * (shape->d_head / 2);
    float *key = slot_of(model->key, slot);
    const float *value = slot_of(model->value, slot);
    ecoi_ref_rope(slot_of(model->query, slot), shape->n_heads, shape->d_head,
                  model->rope_cos + turn, model->rope_sin + turn);
    ecoi_ref_rope(key, shape->n_kv_heads, shape->d_head, model->rope_cos + turn,
                  model->rope_sin + turn);
    const size_t row = ecoi_cpu_cache_row(model, r->first + slot, r->position);
    for (uint32_t i = 0; i < model->n_kv; i++) {
        r->layer->k_cache[row + i] = half_from_float(key[i]);
        r->layer->v_cache[row + i] = half_from_float(value[i]);
    }
}

static void attend(const region *r, uint32_t slot, size_t h) {
    eco_cpu_model *model = r->model;
    const uint32_t d_head = model->shape.d_head;
    const uint32_t group = model->shape.n_heads / model->shape.n_kv_heads;
    const float *query = slot_of(model->query, slot) + h * d_head;
    const size_t offset = ecoi_cpu_cache_row(model, r->first + slot, 0) + h / group * d_head;
    float *scores = slot_of(model->scores, slot) + h * model->n_positions;
    for (size_t p = 0; p <= r->position; p++) {
        scores[p] = r->sums->dot_half(r->layer->k_cache + offset + p * model->n_kv, query, d_head);
    }
    ecoi_ref_softmax(scores, r->position + 1, 1.0f / sqrtf((float)d_head));
    float *out = slot_of(model->attended, slot) + h * d_head;
    for (uint32_t i = 0; i < d_head; i++) {
        out[i] = 0.0f;
    }
    for (size_t p = 0; p <= r->position; p++) {
        r->sums->add_scaled(out, scores[p], r->layer->v_cache + offset + p * model->n_kv, d_head);
    }
    for (uint32_t i = 0; i < d_head; i++) {
        out[i] = half_round(out[i]);
    }
}

static void heads_part(void *context, uint32_t index, uint32_t n) {
    const region *r = context;
    const uint32_t n_heads = r->model->shape.n_heads;
    const eco_range heads = ecoi_pool_share((size_t)r->n * n_heads, 1, index, n);
    for (size_t h = heads.begin; h < heads.end; h++) {
        attend(r, (uint32_t)(h / n_heads), h % n_heads);
    }
}

static void run_layer(region *r, eco_pool *pool) {
    eco_cpu_model *model = r->model;
    const eco_cpu_layer *layer = r->layer;
    run_products(r, pool, qkv_part, &layer->q, model->residual, layer->norm_attention);
    for (uint32_t slot = 0; slot < r->n; slot++) {
        place(r, slot);
    }
    ecoi_pool_run(pool, heads_part, r);
    run_products(r, pool, o_part, &layer->o, model->attended, NULL);
    run_products(r, pool, gate_up_part, &layer->gate, model->residual, layer->norm_ffn);
    run_products(r, pool, down_part, &layer->down, model->hidden, NULL);
}

static void run_step(region *r, eco_pool *pool, const uint32_t *tokens, bool want_logits) {
    eco_cpu_model *model = r->model;
    for (uint32_t slot = 0; slot < r->n; slot++) {
        float *residual = slot_of(model->residual, slot);
        for (uint32_t i = 0; i < model->shape.d_model; i++) {
            residual[i] = ecoi_cpu_weight(&model->embedding, tokens[slot], i);
        }
    }
    for (uint32_t l = 0; l < model->shape.n_layers; l++) {
        r->layer = &model->layers[l];
        run_layer(r, pool);
    }
    if (want_logits) {
        run_products(r, pool, head_part, &model->head, model->residual, model->norm_final);
    }
}

void ecoi_cpu_step(eco_cpu_model *model, eco_pool *pool, const eco_cpu_sums *sums, uint32_t token,
                   uint32_t position, bool want_logits) {
    region r = {
        .model = model, .sums = sums, .first = model->sequence, .n = 1, .position = position};
    run_step(&r, pool, &token, want_logits);
}

void ecoi_cpu_step_all(eco_cpu_model *model, eco_pool *pool, const eco_cpu_sums *sums,
                       const uint32_t *tokens, uint32_t position, bool want_logits) {
    region r = {.model = model, .sums = sums, .n = model->n_batch, .position = position};
    run_step(&r, pool, tokens, want_logits);
}
