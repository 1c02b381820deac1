/* SPDX-License-Identifier: Apache-2.0
 *
 * Model shapes (models.def) and what one decoded token of a shape costs in bytes and operations.
 * Exact counts, so that a roofline drawn from them is a bound and not a guess. Pure.
 */
#include "ecocompute/arch.h"

#include "arch/arch_text.h"
#include "arch/weight_formats.h"

#define ECO_MODEL(name_, id_, family_, params_, layers_, d_model_, heads_, kv_, d_head_, d_ff_, \
                  vocab_, positions_, tied_, bias_, theta_, eps_)                               \
    {.name = (name_),                                                                           \
     .hf_id = (id_),                                                                            \
     .family = (family_),                                                                       \
     .params_b = (params_),                                                                     \
     .n_layers = (layers_),                                                                     \
     .d_model = (d_model_),                                                                     \
     .n_heads = (heads_),                                                                       \
     .n_kv_heads = (kv_),                                                                       \
     .d_head = (d_head_),                                                                       \
     .d_ff = (d_ff_),                                                                           \
     .n_vocab = (vocab_),                                                                       \
     .n_positions_max = (positions_),                                                           \
     .tied_embeddings = (tied_),                                                                \
     .qkv_bias = (bias_),                                                                       \
     .rope_theta = (theta_),                                                                    \
     .norm_eps = (eps_)},
static const eco_model_shape model_table[] = {
#include "arch/models.def"
};
#undef ECO_MODEL

/* Rows and columns of one layer's seven linear tensors. */
typedef struct linear_dims {
    uint64_t rows, columns;
} linear_dims;

enum { LINEARS_PER_LAYER = 7 };

static void layer_linears(const eco_model_shape *shape, linear_dims out[LINEARS_PER_LAYER]) {
    const uint64_t d = shape->d_model;
    const uint64_t q = (uint64_t)shape->n_heads * shape->d_head;
    const uint64_t kv = (uint64_t)shape->n_kv_heads * shape->d_head;
    const uint64_t ff = shape->d_ff;
    const linear_dims dims[LINEARS_PER_LAYER] = {
        {q, d}, {kv, d}, {kv, d}, {d, q}, {ff, d}, {ff, d}, {d, ff}, /* q k v o gate up down */
    };
    for (size_t i = 0; i < LINEARS_PER_LAYER; i++) {
        out[i] = dims[i];
    }
}

/* RMSNorm gains (two a layer and the last) and the biases of q, k and v. */
static uint64_t n_vector_params(const eco_model_shape *shape) {
    const uint64_t gains = (2 * (uint64_t)shape->n_layers + 1) * shape->d_model;
    const uint64_t bias_a_layer =
        ((uint64_t)shape->n_heads + 2 * (uint64_t)shape->n_kv_heads) * shape->d_head;
    return gains + (shape->qkv_bias ? shape->n_layers * bias_a_layer : 0);
}

size_t eco_model_count(void) {
    return sizeof model_table / sizeof model_table[0];
}

const eco_model_shape *eco_model_at(size_t index) {
    return index < eco_model_count() ? &model_table[index] : NULL;
}

const eco_model_shape *eco_model_find(const char *name) {
    if (name == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < eco_model_count(); i++) {
        if (ecoi_text_equal_nocase(name, model_table[i].name) ||
            ecoi_text_equal_nocase(name, model_table[i].hf_id)) {
            return &model_table[i];
        }
    }
    return NULL;
}

uint64_t eco_model_n_linear_params(const eco_model_shape *shape) {
    linear_dims dims[LINEARS_PER_LAYER];
    layer_linears(shape, dims);
    uint64_t a_layer = 0;
    for (size_t i = 0; i < LINEARS_PER_LAYER; i++) {
        a_layer += dims[i].rows * dims[i].columns;
    }
    return shape->n_layers * a_layer;
}

uint64_t eco_model_n_params(const eco_model_shape *shape) {
    const uint64_t embedding = (uint64_t)shape->n_vocab * shape->d_model;
    return eco_model_n_linear_params(shape) + n_vector_params(shape) +
           (shape->tied_embeddings ? embedding : 2 * embedding);
}

eco_token_bytes eco_model_token_bytes(const eco_model_shape *shape, eco_format linear,
                                      eco_format head, double position) {
    linear_dims dims[LINEARS_PER_LAYER];
    layer_linears(shape, dims);
    uint64_t a_layer = 0;
    for (size_t i = 0; i < LINEARS_PER_LAYER; i++) {
        a_layer += ecoi_format_matrix_bytes(linear, dims[i].rows, dims[i].columns);
    }
    /* K and V of one position: two vectors of FP16 a layer. */
    const double kv_bytes =
        4.0 * (double)((uint64_t)shape->n_layers * shape->n_kv_heads * shape->d_head);
    eco_token_bytes out = {
        .linear = (double)(shape->n_layers * a_layer),
        .head = (double)ecoi_format_matrix_bytes(head, shape->n_vocab, shape->d_model),
        .kv_read = kv_bytes * position,
        .kv_write = kv_bytes,
        .other = 2.0 * (double)(n_vector_params(shape) + shape->d_model),
    };
    out.total = out.linear + out.head + out.kv_read + out.kv_write + out.other;
    return out;
}

eco_token_bytes eco_model_batch_token_bytes(const eco_model_shape *shape, eco_format linear,
                                            eco_format head, double position, uint32_t batch) {
    eco_token_bytes out = eco_model_token_bytes(shape, linear, head, position);
    const double share = batch > 1 ? 1.0 / batch : 1.0;
    out.linear *= share;
    out.head *= share;
    out.other = 2.0 * ((double)n_vector_params(shape) * share + (double)shape->d_model);
    out.total = out.linear + out.head + out.kv_read + out.kv_write + out.other;
    return out;
}

double eco_model_token_flops(const eco_model_shape *shape, double position) {
    const double matrices = (double)eco_model_n_linear_params(shape) +
                            (double)((uint64_t)shape->n_vocab * shape->d_model);
    /* q·k and p·v over the cached positions and the token's own. */
    const double attention = 2.0 *
                             (double)((uint64_t)shape->n_layers * shape->n_heads * shape->d_head) *
                             (position + 1.0);
    return 2.0 * (matrices + attention);
}
