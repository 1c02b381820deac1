/* SPDX-License-Identifier: Apache-2.0
 *
 * NF4-DQ on both devices with every second scale of 256 absmax eight times as large: a block that is
 * taken for one of the next 256 is off by its own size then, where synthetic weights have much the
 * same scale everywhere. The scripted device's memory is the host's.
 */
#ifndef ECO_TEST_UNEVEN_SCALES_H
#define ECO_TEST_UNEVEN_SCALES_H

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cuda_model.h"
#include "kernels/quant.h"

/* Of the tensor that is the `tensor`-th of the GPU's matrix. */
static inline void uneven_scales(const cuda_matrix *cuda, uint32_t tensor,
                                 const eco_cpu_matrix *cpu) {
    const uint32_t n_blocks = cpu->n_blocks;
    float *ours = (float *)(uintptr_t)cuda->scales2 +
                  (size_t)tensor * gpu_dq_words(cuda->n_first, n_blocks) + 1;
    const size_t n = (size_t)cpu->n_rows * n_blocks;
    for (size_t g = 1; g < (n + NF4_DQ_BLOCK - 1) / NF4_DQ_BLOCK; g += 2) {
        cpu->scales2[g] *= 8.0f;
        ours[g] = cpu->scales2[g];
    }
}

/* All linear layers of the model. */
static inline void uneven_model(const cuda_model *cuda, const eco_cpu_model *cpu) {
    for (uint32_t l = 0; l < cuda->shape.n_layers; l++) {
        const cuda_layer *ours = &cuda->layers[l];
        const eco_cpu_layer *theirs = &cpu->layers[l];
        uneven_scales(&ours->qkv, 0, &theirs->q);
        uneven_scales(&ours->qkv, 1, &theirs->k);
        uneven_scales(&ours->qkv, 2, &theirs->v);
        uneven_scales(&ours->o, 0, &theirs->o);
        uneven_scales(&ours->gate_up, 0, &theirs->gate);
        uneven_scales(&ours->gate_up, 1, &theirs->up);
        uneven_scales(&ours->down, 0, &theirs->down);
    }
}

#endif
