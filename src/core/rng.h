/* SPDX-License-Identifier: Apache-2.0
 *
 * SplitMix64 (Steele, Lea, Flood 2014): small, seedable, the same on every machine. For shuffles, not for secrets.
 */
#ifndef ECOCOMPUTE_CORE_RNG_H
#define ECOCOMPUTE_CORE_RNG_H

#include <stdint.h>

static inline uint64_t ecoi_rng_next(uint64_t *state) {
    *state += 0x9E3779B97F4A7C15ull;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

/* Uniform in 0 … n-1, n > 0, without modulo bias. */
static inline uint32_t ecoi_rng_below(uint64_t *state, uint32_t n) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t z = ecoi_rng_next(state);
    while (z >= limit) {
        z = ecoi_rng_next(state);
    }
    return (uint32_t)(z % n);
}

static inline void ecoi_rng_shuffle(uint64_t *state, uint32_t *values, uint32_t n) {
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t j = ecoi_rng_below(state, i);
        const uint32_t kept = values[i - 1];
        values[i - 1] = values[j];
        values[j] = kept;
    }
}

#endif
