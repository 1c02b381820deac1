/* SPDX-License-Identifier: Apache-2.0
 *
 * dump_weights SHAPE: writes a golden shape, its tokens and its synthetic weights to standard output,
 * for tests/golden/make_hf_logits.py. A line of JSON, then for each tensor a line "name rows columns"
 * and its FP16 numbers, little-endian, row by row.
 */
#include "golden_shapes.h"
#include "kernels/cpu/cpu_model.h"

#include <stdio.h>
#include <string.h>

static void dump_rows(const char *name, const void *values, size_t stride, uint32_t n_rows,
                      uint32_t n_columns) {
    (void)printf("%s %u %u\n", name, n_rows, n_columns);
    for (size_t r = 0; r < n_rows; r++) {
        (void)fwrite((const uint16_t *)values + r * stride, 2, n_columns, stdout);
    }
}

static void dump_matrix(const char *name, const eco_cpu_matrix *m) {
    dump_rows(name, m->weights, m->stride, m->n_rows, m->n_columns);
}

static void dump_layer(const eco_cpu_model *model, uint32_t l) {
    const eco_cpu_layer *layer = &model->layers[l];
    const struct {
        const char *name;
        const eco_cpu_matrix *matrix;
    } matrices[] = {{"self_attn.q_proj.weight", &layer->q}, {"self_attn.k_proj.weight", &layer->k},
                    {"self_attn.v_proj.weight", &layer->v}, {"self_attn.o_proj.weight", &layer->o},
                    {"mlp.gate_proj.weight", &layer->gate}, {"mlp.up_proj.weight", &layer->up},
                    {"mlp.down_proj.weight", &layer->down}};
    const struct {
        const char *name;
        const uint16_t *values;
        uint32_t n;
    } vectors[] = {{"self_attn.q_proj.bias", layer->q_bias, model->n_query},
                   {"self_attn.k_proj.bias", layer->k_bias, model->n_kv},
                   {"self_attn.v_proj.bias", layer->v_bias, model->n_kv},
                   {"input_layernorm.weight", layer->norm_attention, model->shape.d_model},
                   {"post_attention_layernorm.weight", layer->norm_ffn, model->shape.d_model}};
    char name[96];
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++) {
        (void)snprintf(name, sizeof name, "model.layers.%u.%s", l, matrices[i].name);
        dump_matrix(name, matrices[i].matrix);
    }
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        if (vectors[i].values != NULL) {
            (void)snprintf(name, sizeof name, "model.layers.%u.%s", l, vectors[i].name);
            dump_rows(name, vectors[i].values, vectors[i].n, 1, vectors[i].n);
        }
    }
}

static void dump_head(const eco_model_shape *s) {
    (void)printf("{\"name\": \"%s\", \"family\": \"%s\", \"n_layers\": %u, \"d_model\": %u, "
                 "\"n_heads\": %u, \"n_kv_heads\": %u, \"d_head\": %u, \"d_ff\": %u, "
                 "\"n_vocab\": %u, \"n_positions_max\": %u, \"tied\": %s, \"rope_theta\": %g, "
                 "\"norm_eps\": %g, \"tokens\": [",
                 s->name, s->family, s->n_layers, s->d_model, s->n_heads, s->n_kv_heads, s->d_head,
                 s->d_ff, s->n_vocab, s->n_positions_max, s->tied_embeddings ? "true" : "false",
                 s->rope_theta, s->norm_eps);
    for (uint32_t i = 0; i < GOLDEN_TOKENS; i++) {
        (void)printf("%s%u", i == 0 ? "" : ", ", golden_token(s, i));
    }
    (void)printf("]}\n");
}

static int dump(const eco_model_shape *shape) {
    eco_error err = {0};
    eco_pool *pool = NULL;
    eco_cpu_model *model = NULL;
    const eco_workload workload = golden_workload(shape);
    if (ecoi_pool_open(1, &pool, &err) != ECO_OK ||
        ecoi_cpu_model_new(&workload, pool, &model, &err) != ECO_OK) {
        (void)fprintf(stderr, "dump_weights: %s\n", err.message);
        ecoi_pool_close(pool);
        return 1;
    }
    dump_head(shape);
    dump_matrix("model.embed_tokens.weight", &model->embedding);
    for (uint32_t l = 0; l < shape->n_layers; l++) {
        dump_layer(model, l);
    }
    dump_rows("model.norm.weight", model->norm_final, shape->d_model, 1, shape->d_model);
    if (!shape->tied_embeddings) {
        dump_matrix("lm_head.weight", &model->head);
    }
    ecoi_cpu_model_free(model);
    ecoi_pool_close(pool);
    return fflush(stdout) == 0 && ferror(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 2 && i < GOLDEN_SHAPES; i++) {
        if (strcmp(argv[1], golden_shapes[i].name) == 0) {
            return dump(&golden_shapes[i]);
        }
    }
    (void)fprintf(stderr, "usage: dump_weights tiny-llama|tiny-qwen2 > FILE\n");
    return 2;
}
