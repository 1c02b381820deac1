/* SPDX-License-Identifier: Apache-2.0
 *
 * Model shapes, weight formats and card families. Tables are static; pointers live for the program.
 */
#ifndef ECOCOMPUTE_ARCH_H
#define ECOCOMPUTE_ARCH_H

#include "ecocompute/record.h"
#include "ecocompute/rules.h"
#include "ecocompute/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A decoder-only transformer of the Llama family: RMSNorm, RoPE (half-split pairs), grouped-query attention, SwiGLU. */
typedef struct eco_model_shape {
    const char *name;   /* "TinyLlama-1.1B" */
    const char *hf_id;  /* "TinyLlama/TinyLlama-1.1B-Chat-v1.0" */
    const char *family; /* "llama", "qwen2", "mistral" */
    double params_b;    /* billions, as the published tables label the model */
    uint32_t n_layers, d_model, n_heads, n_kv_heads, d_head, d_ff, n_vocab, n_positions_max;
    bool tied_embeddings; /* the head is the embedding matrix */
    bool qkv_bias;
    double rope_theta, norm_eps;
} eco_model_shape;

typedef enum eco_format {
    ECO_FORMAT_FP16 = 0,
    ECO_FORMAT_BF16,
    ECO_FORMAT_NF4,
    ECO_FORMAT_NF4_DQ,
    ECO_FORMAT_INT8,
    ECO_FORMAT_W8A16,
    ECO_FORMAT_Q4_0,
    ECO_FORMAT_Q8_0,
    ECO_FORMAT_FP8,
    ECO_FORMAT_COUNT
} eco_format;

typedef struct eco_format_info {
    const char *name;       /* "NF4" */
    const char *summary;    /* one line */
    double bits_per_weight; /* stored bits including scales of blocks, e.g. NF4 4.5; a scale a row
                               (INT8, W8A16, FP8) adds 32 / columns and is left out */
    bool quantizes_activations; /* the input of a product is not FP16 throughout */
} eco_format_info;

size_t eco_model_count(void);
const eco_model_shape *eco_model_at(size_t index);
/* By name or hf_id, case-insensitive; NULL if unknown. */
const eco_model_shape *eco_model_find(const char *name);
/* Billions of parameters that a name tells, "Qwen2-7B": its first decimal before a b or B at a word's end; else absent. */
eco_reading eco_model_size_in_name(const char *name);
uint64_t eco_model_n_params(const eco_model_shape *shape); /* exact, tied weights once */
uint64_t eco_model_n_linear_params(
    const eco_model_shape
        *shape); /* in quantizable linear layers (no head, embedding, norm, bias) */

const eco_format_info *eco_format_at(eco_format format);
bool eco_format_find(const char *name, eco_format *out); /* case-insensitive */

/* Bytes a decode step at `position` (tokens already in the cache) must read or write at least once, batch 1.
 * Embedding: one row. Norms and biases included. */
typedef struct eco_token_bytes {
    double linear, head, kv_read, kv_write, other, total;
} eco_token_bytes;
eco_token_bytes eco_model_token_bytes(const eco_model_shape *shape, eco_format linear,
                                      eco_format head, double position);
/* The same of one token of `batch` sequences that decode in step: what all share (weights, norms) is read once a step,
 * so a token carries 1/batch of it; its cache and its embedding row are its own. */
eco_token_bytes eco_model_batch_token_bytes(const eco_model_shape *shape, eco_format linear,
                                            eco_format head, double position, uint32_t batch);
double eco_model_token_flops(const eco_model_shape *shape,
                             double position); /* 2 per multiply-add */

/* Family of an NVIDIA card ("hopper", "pascal"): by compute capability where it is known (cc_major > 0), else by name and
 * the current rules; NULL if neither tells. */
const char *eco_card_family(int32_t cc_major, int32_t cc_minor, const char *name);
/* By name alone, as the published release reads it or as we do (H20, L20, RTX PRO, GTX 16xx and others more). NULL is
 * allowed and of no family. */
const char *eco_card_family_by_name(eco_rules rules, const char *name);
/* The family of a run: `given` itself unless it is NULL, "" or "auto"; then the card's family, else its name as it is,
 * else "unknown". Returns one of its arguments or a static text. Under published rules the capability is not looked at. */
const char *eco_arch_resolve(eco_rules rules, const char *given, int32_t cc_major, int32_t cc_minor,
                             const char *card_name);
/* The published second reading, of an architecture's name or a card's in a look-up of curves: lower case, without "rtx",
 * the first alias found anywhere in it; turing, ada, blackwell, ampere or NULL. */
const char *eco_arch_curve_class(const char *text);

/* A card as its datasheet has it: data/cards.csv. */
typedef struct eco_card {
    const char *name;   /* "RTX 4090" */
    const char *family; /* "ada" */
    int32_t cc_major, cc_minor;
    double vram_gb;         /* GB as sold */
    double mem_bw_gb_per_s; /* peak, 1e9 bytes a second */
    double fp16_tflops;     /* dense, tensor cores with FP32 sums where it has them; no sparsity */
    double tdp_w;           /* the default power limit */
    eco_reading idle_w;     /* without a context, where somebody measured it */
    const char *source;
} eco_card;

size_t eco_card_count(void);
const eco_card *eco_card_at(size_t index);
/* The card with the most words of its pattern in `name`; "Laptop", "Ti" and their like must agree. NULL if none. */
const eco_card *eco_card_find(const char *name);

/* The nearest of `n` names to `wrong` by edit distance, for "did you mean"; NULL if none is near. */
const char *eco_nearest_name(const char *wrong, const char *const *names, size_t n);

#ifdef __cplusplus
}
#endif
#endif
