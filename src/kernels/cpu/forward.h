/* SPDX-License-Identifier: Apache-2.0
 *
 * The forward that work runs: the reference's steps with rows and heads shared out over a pool, and
 * with the inner sums exchangeable. Each row is summed by one thread in one fixed order, so the
 * result does not depend on the number of threads; with the portable sums it is the reference to
 * the bit.
 */
#ifndef ECOCOMPUTE_KERNELS_CPU_FORWARD_H
#define ECOCOMPUTE_KERNELS_CPU_FORWARD_H

#include "kernels/cpu/cpu_model.h"

/* The inner sums, as in reference.h. */
typedef struct eco_cpu_sums {
    const char *isa;     /* "avx2", static */
    const char *summary; /* for eco_arm_info.kernels, static */
    float (*dot_half)(const uint16_t *weights, const float *x, uint32_t n);
    float (*dot_nf4)(const uint8_t *codes, const float *absmax, const float *x, uint32_t n);
    void (*add_scaled)(float *out, float p, const uint16_t *values, uint32_t n);
} eco_cpu_sums;

extern const eco_cpu_sums ecoi_cpu_sums_portable;
const eco_cpu_sums *ecoi_cpu_sums_avx2(void); /* NULL where this CPU has no AVX2, FMA and F16C */
const eco_cpu_sums *ecoi_cpu_sums_best(void);

/* As ecoi_ref_step. */
void ecoi_cpu_step(eco_cpu_model *model, eco_pool *pool, const eco_cpu_sums *sums, uint32_t token,
                   uint32_t position, bool want_logits);

#endif
