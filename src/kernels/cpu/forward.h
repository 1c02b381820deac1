/* SPDX-License-Identifier: Apache-2.0
 *
 * The forward that work runs: the reference's steps with rows and heads shared out over a pool, and
 * with the inner sums exchangeable. Each row is summed by one thread in one fixed order, so the
 * result does not depend on the number of threads; with the portable sums it is the reference to
 * the bit.
 */
#ifndef ECOCOMPUTE_KERNELS_CPU_FORWARD_H
#define ECOCOMPUTE_KERNELS_CPU_FORWARD_H

#include "kernels/cpu/cpu_dots.h"
#include "kernels/cpu/cpu_model.h"

enum { CPU_READ_WORDS = 32 };

/* The inner sums: rows of stored weights, and for attention rows of the cache, as in reference.h. */
typedef struct eco_cpu_sums {
    const char *isa;          /* "avx2", static */
    const char *summary;      /* for eco_arm_info.kernels, static */
    eco_cpu_dot *const *dots; /* [ECO_FORMAT_COUNT], static */
    float (*dot_half)(const uint16_t *values, const float *x, uint32_t n);
    void (*add_scaled)(float *out, float p, const uint16_t *values, uint32_t n);
    /* Sum of n words, n a multiple of CPU_READ_WORDS: the read ceiling, with the loads of the above. */
    uint64_t (*read)(const uint64_t *words, size_t n);
} eco_cpu_sums;

extern const eco_cpu_sums ecoi_cpu_sums_portable;
/* NULL where this CPU, or this build, has not what they need. */
const eco_cpu_sums *ecoi_cpu_sums_avx2(void);   /* AVX2, FMA, F16C */
const eco_cpu_sums *ecoi_cpu_sums_avx512(void); /* AVX-512 F, BW, VL, and the above */
const eco_cpu_sums *ecoi_cpu_sums_neon(void);   /* any AArch64 */
/* The fastest this CPU runs. */
const eco_cpu_sums *ecoi_cpu_sums_best(void);

/* As ecoi_ref_step: one position of model->sequence, in slot 0 of the buffers. */
void ecoi_cpu_step(eco_cpu_model *model, eco_pool *pool, const eco_cpu_sums *sums, uint32_t token,
                   uint32_t position, bool want_logits);

/* One position of every sequence of the batch, its token each, in slot = sequence of the buffers: the weights are read
 * once, and each sequence comes out as it does alone. */
void ecoi_cpu_step_all(eco_cpu_model *model, eco_pool *pool, const eco_cpu_sums *sums,
                       const uint32_t *tokens, uint32_t position, bool want_logits);

#endif
