/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights that no model has, on both devices at once: a matrix's rows are made here as FP16 numbers, the CPU's store
 * quantizes them, and the GPU gets the same codes and scales in its own layout. Header only, for the device programs.
 */
#ifndef ECO_TEST_ADVERSARIAL_WEIGHTS_H
#define ECO_TEST_ADVERSARIAL_WEIGHTS_H

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cuda_model.h"
#include "kernels/half.h"
#include "kernels/quant.h"
#include "kernels/synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum adv_pattern {
    ADV_OUTLIERS =
        0, /* one in a row of 1e4 (or 1e3: what would overflow FP16 behind it), the rest usual */
    ADV_ZEROS,
    ADV_DENORMALS, /* FP16's smallest, and zeros among them */
    ADV_LARGEST,   /* ±65280: the largest that FP16 has and BF16 does not round up beyond it */
    ADV_ONE_HOT,
    ADV_PATTERNS
} adv_pattern;

static const char *const adv_names[ADV_PATTERNS] = {"outliers", "zeros", "denormals", "largest",
                                                    "one-hot"};

/* A matrix of a layer or the head, by what the model does with it. */
typedef enum adv_target {
    ADV_QK = 0,
    ADV_V,
    ADV_O,
    ADV_GATE_UP,
    ADV_DOWN,
    ADV_HEAD,
    ADV_TARGETS
} adv_target;

static const char *const adv_targets[ADV_TARGETS] = {"q k", "v", "o", "gate up", "down", "head"};

/* Query, key, value and the gated product are kept as FP16 or multiplied with each other: the largest numbers would give
 * infinities on both devices, and nothing to compare. */
static inline bool adv_applies(adv_pattern pattern, adv_target target) {
    return pattern != ADV_LARGEST || target == ADV_O || target == ADV_DOWN || target == ADV_HEAD;
}

static inline float adv_value(adv_pattern pattern, adv_target target, uint64_t key, uint32_t row,
                              uint32_t column, uint32_t n_columns) {
    const uint64_t i = (uint64_t)row * n_columns + column;
    const uint64_t bits = syn_mix(key + i * 0x9E3779B97F4A7C15ull);
    const float sign = (bits & 1) != 0 ? -1.0f : 1.0f;
    const float usual = syn_value(key, i, 0.0f, 1.0f / sqrtf((float)n_columns));
    switch (pattern) {
    case ADV_OUTLIERS:
        return column == (row * 31u + 5u) % n_columns ? sign * (target == ADV_GATE_UP ? 1e3f : 1e4f)
                                                      : usual;
    case ADV_DENORMALS:
        return sign * (float)(bits >> 8 & 15u) * 0x1p-24f;
    case ADV_LARGEST:
        return sign * 65280.0f;
    case ADV_ONE_HOT:
        return column == row * 7u % n_columns ? 1.0f : 0.0f;
    case ADV_ZEROS:
    case ADV_PATTERNS:
        break;
    }
    return 0.0f;
}

/* Rows of a tensor in a matrix of the GPU: row i to row first + i · step. */
typedef struct adv_place {
    uint32_t first, step;
} adv_place;

static inline uint32_t adv_cpu_nibble(const uint8_t *codes, uint32_t c) {
    return (uint32_t)codes[c / 32 * 16 + c % 16] >> (c % 32 < 16 ? 0 : 4) & 15u;
}

/* One row of codes as the GPU lays them out; padding has the code of 0. */
static inline void adv_row_codes(const eco_cpu_matrix *from, uint32_t row, const cuda_matrix *to,
                                 uint8_t *out) {
    const uint32_t bits = ecoi_cuda_storage(to->format).weight_bits;
    const uint8_t *codes = (const uint8_t *)from->weights + (size_t)row * from->n_row_bytes;
    const bool is_nf4 = to->format == ECO_FORMAT_NF4 || to->format == ECO_FORMAT_NF4_DQ;
    const uint32_t zero = is_nf4 ? NF4_ZERO : to->format == ECO_FORMAT_Q4_0 ? Q4_0_ZERO : 0;
    memset(out, 0, (size_t)to->stride * bits / 8);
    for (uint32_t c = 0; c < to->stride; c++) {
        const bool kept = c < to->n_columns;
        if (bits == 16) {
            memcpy(out + 2 * (size_t)c, codes + 2 * (size_t)c, kept ? 2 : 0);
        } else if (bits == 8) {
            out[c] = kept ? codes[c] : 0;
        } else {
            const uint32_t code = kept ? adv_cpu_nibble(codes, c) : zero;
            out[c / 2] = (uint8_t)(out[c / 2] | code << (c % 2 * 4));
        }
    }
}

static inline void adv_row_scales(const eco_cpu_matrix *from, uint32_t row, const cuda_matrix *to,
                                  uint8_t *out) {
    const cuda_storage storage = ecoi_cuda_storage(to->format);
    const size_t n = storage.block == 0 ? 1 : from->n_blocks;
    memset(out, 0, (size_t)to->n_blocks * storage.scale_bytes);
    if (storage.scale_bytes == sizeof(uint16_t)) {
        memcpy(out, from->half_scales + (size_t)row * from->n_blocks, n * sizeof(uint16_t));
    } else if (storage.scale_bytes == 1) {
        memcpy(out, from->scale_codes + (size_t)row * n, n);
    } else if (storage.scale_bytes == sizeof(float)) {
        memcpy(out, from->scales + (size_t)row * n, n * sizeof(float));
    }
}

/* NF4-DQ: a tensor's offset and the scales of its absmax, as args.h says. */
static inline bool adv_copy_scales2(const cuda_model *model, const eco_cpu_matrix *from,
                                    const cuda_matrix *to, adv_place at) {
    const ecoi_cuda_api *api = &model->device->cuda.api;
    const uint32_t tensor =
        gpu_dq_row_at(at.first, to->n_rows, to->n_tensors, to->n_first, from->n_blocks).tensor;
    const uint64_t address =
        to->scales2 + 4ull * tensor * gpu_dq_words(to->n_first, from->n_blocks);
    const size_t n = ((size_t)from->n_rows * from->n_blocks + NF4_DQ_BLOCK - 1) / NF4_DQ_BLOCK;
    return api->copy_to_device(address, &from->offset, sizeof from->offset, model->stream) ==
               CU_SUCCESS &&
           api->copy_to_device(address + 4, from->scales2, n * sizeof *from->scales2,
                               model->stream) == CU_SUCCESS;
}

/* The tensor's codes and scales to where its rows are. `buffer` [n_rows][the longer of the two]. */
static inline bool adv_copy(const cuda_model *model, const eco_cpu_matrix *from,
                            const cuda_matrix *to, adv_place at, uint8_t *buffer) {
    const cuda_storage storage = ecoi_cuda_storage(to->format);
    const ecoi_cuda_api *api = &model->device->cuda.api;
    const size_t row_bytes = (size_t)to->stride * storage.weight_bits / 8;
    const size_t scale_bytes = (size_t)to->n_blocks * storage.scale_bytes;
    uint8_t *codes = buffer;
    uint8_t *scales = buffer + from->n_rows * row_bytes;
    bool good = true;
    for (uint32_t r = 0; good && r < from->n_rows; r++) {
        const uint64_t row = at.first + (uint64_t)r * at.step;
        adv_row_codes(from, r, to, codes + r * row_bytes);
        adv_row_scales(from, r, to, scales + r * scale_bytes);
        good = api->copy_to_device(to->weights + row * row_bytes, codes + r * row_bytes, row_bytes,
                                   model->stream) == CU_SUCCESS &&
               (scale_bytes == 0 ||
                api->copy_to_device(to->scales + row * scale_bytes, scales + r * scale_bytes,
                                    scale_bytes, model->stream) == CU_SUCCESS);
    }
    return good && (to->format != ECO_FORMAT_NF4_DQ || adv_copy_scales2(model, from, to, at)) &&
           api->stream_synchronize(model->stream) == CU_SUCCESS;
}

/* Gives a tensor its numbers on both devices; false: the driver said no, or there is no memory. */
static inline bool adv_store(cuda_model *model, eco_cpu_matrix *cpu, const cuda_matrix *cuda,
                             adv_place at, adv_pattern pattern, adv_target target, uint64_t key) {
    const cuda_storage storage = ecoi_cuda_storage(cuda->format);
    const size_t n_bytes = (size_t)cuda->stride * storage.weight_bits / 8 +
                           (size_t)cuda->n_blocks * storage.scale_bytes;
    uint16_t *values = calloc(cpu->n_columns, sizeof *values);
    uint8_t *buffer = calloc(cpu->n_rows, n_bytes);
    float *absmax = calloc((size_t)cpu->n_rows * cpu->n_blocks + 1, sizeof *absmax);
    bool good = values != NULL && buffer != NULL && absmax != NULL;
    if (cpu->format == ECO_FORMAT_NF4_DQ) {
        cpu->scales = absmax; /* until it is quantized itself */
    }
    for (uint32_t r = 0; good && r < cpu->n_rows; r++) {
        for (uint32_t c = 0; c < cpu->n_columns; c++) {
            values[c] = half_from_float(adv_value(pattern, target, key, r, c, cpu->n_columns));
        }
        ecoi_cpu_matrix_store_row(cpu, r, values);
    }
    if (good) {
        ecoi_cpu_matrix_finish(cpu);
        good = adv_copy(model, cpu, cuda, at, buffer);
    }
    free(values);
    free(buffer);
    free(absmax);
    return good;
}

static inline bool adv_store_layer(cuda_model *model, const eco_cpu_model *cpu, uint32_t l,
                                   adv_pattern pattern, adv_target target) {
    eco_cpu_layer *a = &cpu->layers[l];
    cuda_layer *b = &model->layers[l];
    const uint64_t key = syn_key(77, 1000u + 10u * l + (uint32_t)target);
    switch (target) {
    case ADV_QK:
        return adv_store(model, &a->q, &b->qkv, (adv_place){0, 1}, pattern, target, key) &&
               adv_store(model, &a->k, &b->qkv, (adv_place){cpu->n_query, 1}, pattern, target,
                         key + 1);
    case ADV_V:
        return adv_store(model, &a->v, &b->qkv, (adv_place){cpu->n_query + cpu->n_kv, 1}, pattern,
                         target, key);
    case ADV_O:
        return adv_store(model, &a->o, &b->o, (adv_place){0, 1}, pattern, target, key);
    case ADV_GATE_UP:
        return adv_store(model, &a->gate, &b->gate_up, (adv_place){0, 2}, pattern, target, key) &&
               adv_store(model, &a->up, &b->gate_up, (adv_place){1, 2}, ADV_ONE_HOT, target,
                         key + 1);
    case ADV_DOWN:
        return adv_store(model, &a->down, &b->down, (adv_place){0, 1}, pattern, target, key);
    case ADV_HEAD:
    case ADV_TARGETS:
        break;
    }
    return true;
}

/* Every matrix of this kind in the model. */
static inline bool adv_store_all(cuda_model *model, eco_cpu_model *cpu, adv_pattern pattern,
                                 adv_target target) {
    if (target == ADV_HEAD) {
        return adv_store(model, &cpu->head, &model->memory.head, (adv_place){0, 1}, pattern, target,
                         syn_key(77, 5));
    }
    for (uint32_t l = 0; l < cpu->shape.n_layers; l++) {
        if (!adv_store_layer(model, cpu, l, pattern, target)) {
            return false;
        }
    }
    return true;
}

/* NaN where only what a step itself has written may be read. */
static inline bool adv_poison(const cuda_model *model) {
    const ecoi_cuda_api *api = &model->device->cuda.api;
    const cuda_memory *m = &model->memory;
    return api->set_words(m->x, 0xffffffffu, (size_t)(m->attended - m->x) / 4, model->stream) ==
               CU_SUCCESS &&
           api->set_words(m->logits, 0xffffffffu, (size_t)(m->best_value - m->logits) / 4,
                          model->stream) == CU_SUCCESS &&
           api->stream_synchronize(model->stream) == CU_SUCCESS;
}

#endif
