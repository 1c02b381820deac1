/* SPDX-License-Identifier: Apache-2.0
 *
 * Deterministic synthetic weights, compiled unchanged for the host and for the GPU (freestanding: no includes but
 * stdint). Element i of tensor t under seed s is an Irwin–Hall approximation of a standard normal: the sum of eight
 * 16-bit uniforms taken from two SplitMix64 outputs, centred, scaled to unit variance; an integer until the one FP32
 * multiplication, hence bit-equal everywhere. Scales: linear layers 1/sqrt(columns), embedding 1, biases 0.1,
 * norm gains 1 + 0.1 z. Values are rounded to FP16 (nearest even); the other formats are made from the FP16 values.
 * INT8 models have planted outliers: the gains of a few columns multiplied, so that their activations reach past 6.
 */
#ifndef ECOCOMPUTE_KERNELS_SYNTHETIC_H
#define ECOCOMPUTE_KERNELS_SYNTHETIC_H

#include <stdint.h>

/* Tensor ids: 16 per layer, then the model-wide ones. Linear tensors are row-major [rows][columns], rows = outputs. */
enum {
    SYN_Q = 0,
    SYN_K,
    SYN_V,
    SYN_O,
    SYN_GATE,
    SYN_UP,
    SYN_DOWN, /* weights */
    SYN_Q_BIAS,
    SYN_K_BIAS,
    SYN_V_BIAS,
    SYN_NORM_ATTENTION,
    SYN_NORM_FFN,
    SYN_PER_LAYER = 16
};
enum { SYN_EMBEDDING = 0, SYN_HEAD, SYN_NORM_FINAL, SYN_PROMPT, SYN_OUTLIERS };

/* Gains of planted outlier columns are multiplied by this: a power of two, exact in FP16. */
#define SYN_OUTLIER_GAIN 32.0f

static inline uint64_t syn_layer_tensor(uint32_t layer, uint32_t kind) {
    return 16u + (uint64_t)layer * SYN_PER_LAYER + kind;
}

static inline uint64_t syn_mix(uint64_t z) { /* SplitMix64 finalizer (Steele, Lea, Flood 2014) */
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

/* Key of a tensor: mix once a tensor, not once an element. */
static inline uint64_t syn_key(uint64_t seed, uint64_t tensor) {
    return syn_mix(syn_mix(seed + 0x9E3779B97F4A7C15ull) ^ (tensor * 0xD1B54A32D192ED03ull));
}

static inline uint32_t syn_sum4(uint64_t h) {
    return (uint32_t)(h & 0xffff) + (uint32_t)((h >> 16) & 0xffff) +
           (uint32_t)((h >> 32) & 0xffff) + (uint32_t)(h >> 48);
}

/* Unit-variance value of element i; the sum's standard deviation is 65536 sqrt(8/12) = 53509.9. */
static inline float syn_normal(uint64_t key, uint64_t i) {
    const uint64_t a = syn_mix(key + (2 * i + 1) * 0x9E3779B97F4A7C15ull);
    const uint64_t b = syn_mix(key + (2 * i + 2) * 0x9E3779B97F4A7C15ull);
    const int32_t centred = (int32_t)(syn_sum4(a) + syn_sum4(b)) - 4 * 65535;
    return (float)centred * 1.868813e-5f;
}

/* Element i before rounding to FP16. Never contracted to a fused multiply-add: build with -ffp-contract=off. */
static inline float syn_value(uint64_t key, uint64_t i, float offset, float scale) {
    const float scaled = scale * syn_normal(key, i);
    return offset + scaled;
}

/* Whether `column` of every norm's gains is planted as an outlier; key is syn_key(seed, SYN_OUTLIERS). The same columns
 * in all layers, as Dettmers et al. (LLM.int8(), 2022) found them in trained models. */
static inline int syn_is_outlier(uint64_t key, uint64_t column, uint32_t permille) {
    return permille != 0 && syn_mix(key + column * 0x9E3779B97F4A7C15ull) % 1000 < permille;
}

/* Prompt token i of a vocabulary of n. */
static inline uint32_t syn_prompt_token(uint64_t seed, uint64_t i, uint32_t n_vocab) {
    return (uint32_t)(syn_mix(syn_key(seed, SYN_PROMPT) + i * 0x9E3779B97F4A7C15ull) % n_vocab);
}

/* Prompt token i of sequence b of a batch; sequence 0 has the prompt of batch 1. */
static inline uint32_t syn_batch_token(uint64_t seed, uint32_t b, uint64_t i, uint32_t n_vocab) {
    return syn_prompt_token(seed, ((uint64_t)b << 32) + i, n_vocab);
}

#endif
