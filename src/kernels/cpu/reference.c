/* SPDX-License-Identifier: Apache-2.0
 *
 * A Llama-family decoder, one token at a time, as plainly as it can be written. Read it beside the
 * numerics in kernels.h: residual in FP32, the input of each matrix product rounded to FP16, sums
 * in FP32, K and V kept in FP16.
 */
#include "kernels/cpu/reference.h"

#include "kernels/cpu/cpu_dots.h"
#include "kernels/half.h"

#include <math.h>

float ecoi_ref_dot_half(const uint16_t *values, const float *x, uint32_t n) {
    float sum = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        sum += half_to_float(values[i]) * x[i];
    }
    return sum;
}

void ecoi_ref_add_scaled(float *out, float p, const uint16_t *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] += p * half_to_float(values[i]);
    }
}

void ecoi_ref_norm(const float *x, const uint16_t *gain, uint32_t n, float eps, float *out) {
    float squares = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        squares += x[i] * x[i];
    }
    const float scale = 1.0f / sqrtf(squares / (float)n + eps);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = half_round(x[i] * scale * half_to_float(gain[i]));
    }
}

void ecoi_ref_rope(float *heads, uint32_t n_heads, uint32_t d_head, const float *cosines,
                   const float *sines) {
    const uint32_t n_pairs = d_head / 2;
    for (uint32_t h = 0; h < n_heads; h++) {
        float *first = heads + (size_t)h * d_head;
        float *second = first + n_pairs;
        for (uint32_t i = 0; i < n_pairs; i++) {
            const float a = first[i];
            const float b = second[i];
            first[i] = a * cosines[i] - b * sines[i];
            second[i] = b * cosines[i] + a * sines[i];
        }
    }
}

void ecoi_ref_softmax(float *scores, uint32_t n, float scale) {
    float highest = -INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        scores[i] *= scale;
        highest = fmaxf(highest, scores[i]);
    }
    float sum = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        scores[i] = expf(scores[i] - highest);
        sum += scores[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        scores[i] /= sum;
    }
}

float ecoi_ref_gated(float gate, float up) {
    return half_round(gate / (1.0f + expf(-gate)) * up);
}

uint32_t ecoi_ref_argmax(const float *logits, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        if (logits[i] > logits[best]) {
            best = i;
        }
    }
    return best;
}

/* out[r] = row r · x (+ bias[r]) */
static void multiply(const eco_cpu_model *model, const eco_cpu_matrix *m, const uint16_t *bias,
                     const float *x, float *out) {
    const eco_cpu_input in = ecoi_cpu_input_of(model, 0, m, x);
    for (uint32_t r = 0; r < m->n_rows; r++) {
        const float sum = ecoi_ref_dots[m->format](m, r, &in);
        out[r] = bias == NULL ? sum : sum + half_to_float(bias[r]);
    }
}

/* residual[r] += row r · x */
static void multiply_add(const eco_cpu_model *model, const eco_cpu_matrix *m, const float *x) {
    const eco_cpu_input in = ecoi_cpu_input_of(model, 0, m, x);
    for (uint32_t r = 0; r < m->n_rows; r++) {
        model->residual.values[r] += ecoi_ref_dots[m->format](m, r, &in);
    }
}

void ecoi_ref_attend(eco_cpu_model *model, const eco_cpu_layer *layer, uint32_t h,
                     uint32_t position) {
    const uint32_t d_head = model->shape.d_head;
    const uint32_t group = model->shape.n_heads / model->shape.n_kv_heads;
    const float *query = model->query.values + (size_t)h * d_head;
    const size_t offset = (size_t)(h / group) * d_head;
    float *scores = model->scores.values + (size_t)h * model->n_positions;
    for (uint32_t p = 0; p <= position; p++) {
        scores[p] = ecoi_ref_dot_half(
            layer->k_cache + ecoi_cpu_cache_row(model, model->sequence, p) + offset, query, d_head);
    }
    ecoi_ref_softmax(scores, position + 1, 1.0f / sqrtf((float)d_head));
    float *out = model->attended.values + (size_t)h * d_head;
    for (uint32_t i = 0; i < d_head; i++) {
        out[i] = 0.0f;
    }
    for (uint32_t p = 0; p <= position; p++) {
        ecoi_ref_add_scaled(out, scores[p],
                            layer->v_cache + ecoi_cpu_cache_row(model, model->sequence, p) + offset,
                            d_head);
    }
    for (uint32_t i = 0; i < d_head; i++) {
        out[i] = half_round(out[i]);
    }
}

static void attention_block(eco_cpu_model *model, eco_cpu_layer *layer, uint32_t position) {
    const eco_model_shape *shape = &model->shape;
    const size_t turn = (size_t)position * (shape->d_head / 2);
    const float *cosines = model->rope_cos + turn;
    const float *sines = model->rope_sin + turn;
    ecoi_ref_norm(model->residual.values, layer->norm_attention, shape->d_model,
                  (float)shape->norm_eps, model->input.values);
    multiply(model, &layer->q, layer->q_bias, model->input.values, model->query.values);
    multiply(model, &layer->k, layer->k_bias, model->input.values, model->key.values);
    multiply(model, &layer->v, layer->v_bias, model->input.values, model->value.values);
    ecoi_ref_rope(model->query.values, shape->n_heads, shape->d_head, cosines, sines);
    ecoi_ref_rope(model->key.values, shape->n_kv_heads, shape->d_head, cosines, sines);
    for (uint32_t i = 0; i < model->n_kv; i++) {
        layer->k_cache[ecoi_cpu_cache_row(model, model->sequence, position) + i] =
            half_from_float(model->key.values[i]);
        layer->v_cache[ecoi_cpu_cache_row(model, model->sequence, position) + i] =
            half_from_float(model->value.values[i]);
    }
    for (uint32_t h = 0; h < shape->n_heads; h++) {
        ecoi_ref_attend(model, layer, h, position);
    }
    multiply_add(model, &layer->o, model->attended.values);
}

static void feed_forward_block(eco_cpu_model *model, const eco_cpu_layer *layer) {
    const eco_model_shape *shape = &model->shape;
    ecoi_ref_norm(model->residual.values, layer->norm_ffn, shape->d_model, (float)shape->norm_eps,
                  model->input.values);
    const eco_cpu_input in = ecoi_cpu_input_of(model, 0, &layer->gate, model->input.values);
    for (uint32_t r = 0; r < shape->d_ff; r++) {
        model->hidden.values[r] =
            ecoi_ref_gated(ecoi_ref_dots[layer->gate.format](&layer->gate, r, &in),
                           ecoi_ref_dots[layer->up.format](&layer->up, r, &in));
    }
    multiply_add(model, &layer->down, model->hidden.values);
}

void ecoi_ref_step(eco_cpu_model *model, uint32_t token, uint32_t position, bool want_logits) {
    const uint32_t d_model = model->shape.d_model;
    for (uint32_t i = 0; i < d_model; i++) {
        model->residual.values[i] = ecoi_cpu_weight(&model->embedding, token, i);
    }
    for (uint32_t l = 0; l < model->shape.n_layers; l++) {
        attention_block(model, &model->layers[l], position);
        feed_forward_block(model, &model->layers[l]);
    }
    if (want_logits) {
        ecoi_ref_norm(model->residual.values, model->norm_final, d_model,
                      (float)model->shape.norm_eps, model->input.values);
        multiply(model, &model->head, NULL, model->input.values, model->logits.values);
    }
}
