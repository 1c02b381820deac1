/* SPDX-License-Identifier: Apache-2.0
 *
 * Five parallel regions a layer (q k v; heads; o; gate and up; down) and one for the output head;
 * what lies between them (norms, RoPE, cache) is a few microseconds and stays with the caller.
 */
#include "kernels/cpu/forward.h"

#include "kernels/cpu/reference.h"
#include "kernels/half.h"

#include <math.h>

/* Floats of a cache line: threads write whole lines of the output. */
enum { ROW_GRAIN = 16 };

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
    eco_cpu_input input; /* of the region's products */
    uint32_t position;
} region;

static float row_dot(const region *r, const eco_cpu_matrix *m, size_t row) {
    return r->sums->dots[m->format](m, row, &r->input);
}

static void multiply_part(const region *r, const eco_cpu_matrix *m, const uint16_t *bias,
                          float *out, uint32_t index, uint32_t n) {
    const eco_range rows = ecoi_pool_share(m->n_rows, ROW_GRAIN, index, n);
    for (size_t i = rows.begin; i < rows.end; i++) {
        const float sum = row_dot(r, m, i);
        out[i] = bias == NULL ? sum : sum + half_to_float(bias[i]);
    }
}

static void multiply_add_part(const region *r, const eco_cpu_matrix *m, uint32_t index,
                              uint32_t n) {
    const eco_range rows = ecoi_pool_share(m->n_rows, ROW_GRAIN, index, n);
    for (size_t i = rows.begin; i < rows.end; i++) {
        r->model->residual[i] += row_dot(r, m, i);
    }
}

static void qkv_part(void *context, uint32_t index, uint32_t n) {
    const region *r = context;
    const eco_cpu_layer *layer = r->layer;
    multiply_part(r, &layer->q, layer->q_bias, r->model->query, index, n);
    multiply_part(r, &layer->k, layer->k_bias, r->model->key, index, n);
    multiply_part(r, &layer->v, layer->v_bias, r->model->value, index, n);
}

static void attend(const region *r, size_t h) {
    eco_cpu_model *model = r->model;
    const uint32_t d_head = model->shape.d_head;
    const uint32_t group = model->shape.n_heads / model->shape.n_kv_heads;
    const float *query = model->query + h * d_head;
    const size_t offset = h / group * d_head;
    float *scores = model->scores + h * model->n_positions;
    for (size_t p = 0; p <= r->position; p++) {
        scores[p] = r->sums->dot_half(r->layer->k_cache + ecoi_cpu_cache_row(model, p) + offset,
                                      query, d_head);
    }
    ecoi_ref_softmax(scores, r->position + 1, 1.0f / sqrtf((float)d_head));
    float *out = model->attended + h * d_head;
    for (uint32_t i = 0; i < d_head; i++) {
        out[i] = 0.0f;
    }
    for (size_t p = 0; p <= r->position; p++) {
        r->sums->add_scaled(out, scores[p],
                            r->layer->v_cache + ecoi_cpu_cache_row(model, p) + offset, d_head);
    }
    for (uint32_t i = 0; i < d_head; i++) {
        out[i] = half_round(out[i]);
    }
}

static void heads_part(void *context, uint32_t index, uint32_t n) {
    const region *r = context;
    const eco_range heads = ecoi_pool_share(r->model->shape.n_heads, 1, index, n);
    for (size_t h = heads.begin; h < heads.end; h++) {
        attend(r, h);
    }
}

static void o_part(void *context, uint32_t index, uint32_t n) {
    const region *r = context;
    multiply_add_part(r, &r->layer->o, index, n);
}

static void gate_up_part(void *context, uint32_t index, uint32_t n) {
    const region *r = context;
    const eco_range rows = ecoi_pool_share(r->model->shape.d_ff, ROW_GRAIN, index, n);
    for (size_t i = rows.begin; i < rows.end; i++) {
        const float gate = row_dot(r, &r->layer->gate, i);
        r->model->hidden[i] = ecoi_ref_gated(gate, row_dot(r, &r->layer->up, i));
    }
}

static void down_part(void *context, uint32_t index, uint32_t n) {
    const region *r = context;
    multiply_add_part(r, &r->layer->down, index, n);
}

static void head_part(void *context, uint32_t index, uint32_t n) {
    const region *r = context;
    multiply_part(r, &r->model->head, NULL, r->model->logits, index, n);
}

/* Q and K turned to their position; K and V into the cache. */
static void place(const region *r) {
    eco_cpu_model *model = r->model;
    const eco_model_shape *shape = &model->shape;
    const size_t turn = (size_t)r->position * (shape->d_head / 2);
    ecoi_ref_rope(model->query, shape->n_heads, shape->d_head, model->rope_cos + turn,
                  model->rope_sin + turn);
    ecoi_ref_rope(model->key, shape->n_kv_heads, shape->d_head, model->rope_cos + turn,
                  model->rope_sin + turn);
    const size_t row = ecoi_cpu_cache_row(model, r->position);
    for (uint32_t i = 0; i < model->n_kv; i++) {
        r->layer->k_cache[row + i] = half_from_float(model->key[i]);
        r->layer->v_cache[row + i] = half_from_float(model->value[i]);
    }
}

/* A region of products with matrices of m's format and columns. */
static void run_products(region *r, eco_pool *pool, eco_pool_task *task, const eco_cpu_matrix *m,
                         const float *x) {
    r->input = ecoi_cpu_input_of(r->model, m, x);
    ecoi_pool_run(pool, task, r);
}

static void run_layer(region *r, eco_pool *pool) {
    eco_cpu_model *model = r->model;
    const eco_cpu_layer *layer = r->layer;
    const uint32_t d_model = model->shape.d_model;
    const float eps = (float)model->shape.norm_eps;
    ecoi_ref_norm(model->residual, layer->norm_attention, d_model, eps, model->input);
    run_products(r, pool, qkv_part, &layer->q, model->input);
    place(r);
    ecoi_pool_run(pool, heads_part, r);
    run_products(r, pool, o_part, &layer->o, model->attended);
    ecoi_ref_norm(model->residual, layer->norm_ffn, d_model, eps, model->input);
    run_products(r, pool, gate_up_part, &layer->gate, model->input);
    run_products(r, pool, down_part, &layer->down, model->hidden);
}

void ecoi_cpu_step(eco_cpu_model *model, eco_pool *pool, const eco_cpu_sums *sums, uint32_t token,
                   uint32_t position, bool want_logits) {
    const uint32_t d_model = model->shape.d_model;
    for (uint32_t i = 0; i < d_model; i++) {
        model->residual[i] = ecoi_cpu_weight(&model->embedding, token, i);
    }
    region r = {.model = model, .sums = sums, .position = position};
    for (uint32_t l = 0; l < model->shape.n_layers; l++) {
        r.layer = &model->layers[l];
        run_layer(&r, pool);
    }
    if (want_logits) {
        ecoi_ref_norm(model->residual, model->norm_final, d_model, (float)model->shape.norm_eps,
                      model->input);
        run_products(&r, pool, head_part, &model->head, model->input);
    }
}
