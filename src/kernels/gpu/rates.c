/* SPDX-License-Identifier: Apache-2.0
 *
 * The card's ceilings in arithmetic: products on tensor cores whose operands stay in registers.
 * Ladder (docs/kernels-batch.md):
 *   v1  here: a warp multiplies two weight fragments with four input fragments in turn, eight sums
 *       that do not wait for one another; every operand is random, since zeros draw less power, and
 *       every second product has another one, so that the inputs of the multipliers change
 */
#include "batch_args.h"
#include "kernels/synthetic.h"
#include "mma.h"

enum { RATE_A = 2, RATE_B = 4 };

struct rate_operands {
    uint32_t a[RATE_A][4], b[RATE_B][2];
};

/* Bits `keep` of each word are random, the others as in `set`. */
INLINE struct rate_operands random_operands(uint32_t keep, uint32_t set) {
    struct rate_operands o;
    const uint64_t thread = (uint64_t)block_index() * block_size() + thread_index();
    UNROLL
    for (uint32_t i = 0; i < RATE_A * 4; i++) {
        const uint32_t word = (uint32_t)syn_mix((thread * 16 + i) * 0x9E3779B97F4A7C15ull);
        o.a[i / 4][i % 4] = (word & keep) | set;
    }
    UNROLL
    for (uint32_t i = 0; i < RATE_B * 2; i++) {
        const uint32_t word = (uint32_t)syn_mix((thread * 16 + 8 + i) * 0x9E3779B97F4A7C15ull);
        o.b[i / 2][i % 2] = (word & keep) | set;
    }
    return o;
}

/* FP16 values of 1 to 2 with either sign, FP32 sums. */
KERNEL eco_rate_fp16(const struct gpu_rate_args a) {
    const struct rate_operands o = random_operands(0x83ff83ffu, 0x3c003c00u);
    float c[RATE_A][RATE_B][4] = {{{0.0f}}};
    for (uint32_t n = 0; n < a.n_turns; n++) {
        UNROLL
        for (uint32_t i = 0; i < RATE_A * RATE_B; i++) {
            mma_f16(c[i / RATE_B][i % RATE_B], o.a[i / RATE_B], o.b[i % RATE_B][0],
                    o.b[i % RATE_B][1]);
        }
    }
    float sum = 0.0f;
    UNROLL
    for (uint32_t i = 0; i < RATE_A * RATE_B * 4; i++) {
        sum += c[i / 4 / RATE_B][i / 4 % RATE_B][i % 4];
    }
    a.sink[(uint64_t)block_index() * block_size() + thread_index()] = (uint32_t)(int32_t)sum;
}

/* Signed bytes, INT32 sums, which may turn over. */
KERNEL eco_rate_int8(const struct gpu_rate_args a) {
    const struct rate_operands o = random_operands(0xffffffffu, 0);
    int32_t c[RATE_A][RATE_B][4] = {{{0}}};
    for (uint32_t n = 0; n < a.n_turns; n++) {
        UNROLL
        for (uint32_t i = 0; i < RATE_A * RATE_B; i++) {
            mma_s8(c[i / RATE_B][i % RATE_B], o.a[i / RATE_B], o.b[i % RATE_B][0],
                   o.b[i % RATE_B][1]);
        }
    }
    uint32_t sum = 0;
    UNROLL
    for (uint32_t i = 0; i < RATE_A * RATE_B * 4; i++) {
        sum += (uint32_t)c[i / 4 / RATE_B][i / 4 % RATE_B][i % 4];
    }
    a.sink[(uint64_t)block_index() * block_size() + thread_index()] = sum;
}
