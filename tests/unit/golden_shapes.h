/* SPDX-License-Identifier: Apache-2.0
 *
 * The two small models whose logits by HF transformers are kept in tests/golden/hf_logits_<name>.txt:
 * the weights that tests/tools/dump_weights writes, and the tokens that are fed.
 */
#ifndef ECOCOMPUTE_TESTS_GOLDEN_SHAPES_H
#define ECOCOMPUTE_TESTS_GOLDEN_SHAPES_H

#include "ecocompute/engine.h"
#include "kernels/synthetic.h"

enum { GOLDEN_SEED = 2026, GOLDEN_TOKENS = 24, GOLDEN_SHAPES = 2, GOLDEN_VOCAB_MAX = 320 };

static const eco_model_shape golden_shapes[GOLDEN_SHAPES] = {
    {.name = "tiny-llama",
     .family = "llama",
     .n_layers = 2,
     .d_model = 96,
     .n_heads = 6,
     .n_kv_heads = 2,
     .d_head = 16,
     .d_ff = 256,
     .n_vocab = 256,
     .n_positions_max = 64,
     .rope_theta = 1e4,
     .norm_eps = 1e-5},
    {.name = "tiny-qwen2",
     .family = "qwen2",
     .n_layers = 3,
     .d_model = 112,
     .n_heads = 14,
     .n_kv_heads = 2,
     .d_head = 8,
     .d_ff = 304,
     .n_vocab = 320,
     .n_positions_max = 64,
     .tied_embeddings = true,
     .qkv_bias = true,
     .rope_theta = 1e6,
     .norm_eps = 1e-6},
};

static inline uint32_t golden_token(const eco_model_shape *shape, uint32_t i) {
    return syn_prompt_token(GOLDEN_SEED, i, shape->n_vocab);
}

static inline eco_workload golden_workload(const eco_model_shape *shape) {
    return (eco_workload){.shape = shape,
                          .linear = ECO_FORMAT_FP16,
                          .head = ECO_FORMAT_FP16,
                          .batch = 1,
                          .n_prompt = 4,
                          .n_tokens = GOLDEN_TOKENS - 4,
                          .seed = GOLDEN_SEED};
}

#endif
