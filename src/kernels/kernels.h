/* SPDX-License-Identifier: Apache-2.0
 *
 * One C interface to the native engine's devices. cpu/ holds the readable reference (the oracle of every other path)
 * and its threaded form; gpu/ holds kernels in C for the NVPTX target, driven by cuda_model.c through the driver API.
 *
 * Numerics, the same everywhere: weights in the formats of quant.h; the residual stream FP32; the input of each matrix product is
 * rounded to FP16 (after the norm, after attention, after SiLU·up); products accumulate in FP32; K and V are stored as
 * FP16; RMSNorm, RoPE, softmax in FP32; logits FP32. Greedy: the lowest index among equal maxima.
 *
 * Synthetic weights, bit-equal on every device (see synthetic.h): a function of (seed, tensor id, element index).
 */
#ifndef ECOCOMPUTE_KERNELS_KERNELS_H
#define ECOCOMPUTE_KERNELS_KERNELS_H

#include "ecocompute/engine.h"

/* A device of the native engine. `state` and `model` are the backend's own. */
typedef struct eco_backend {
    const char *name; /* "cpu", "cuda" */
    /* CUDA: is the driver there and usable; reason names the paths tried. CPU: true. */
    bool (*usable)(char *reason, size_t reason_size);
    /* `selector`: NULL or "" = first; "1" = ordinal; "GPU-…" or "MIG-…" = UUID. */
    eco_status (*open)(const char *selector, uint32_t n_threads, void **state, eco_error *err);
    void (*describe)(const void *state, eco_engine_info *out);
    /* Whether the device has kernels that multiply by this format, batch 1. */
    bool (*has_format)(eco_format format);
    /* ECO_E_UNSUPPORTED: the device lacks kernels for a checked workload; one line says which. */
    eco_status (*model_check)(const void *state, const eco_workload *workload, eco_error *err);
    uint64_t (*model_bytes)(const void *state, const eco_workload *workload);
    eco_status (*model_open)(void *state, const eco_workload *workload, void **model,
                             eco_error *err);
    void (*model_describe)(const void *model, eco_arm_info *out);
    eco_status (*work)(void *model, const eco_work *work, eco_work_result *out, eco_error *err);
    eco_status (*logits)(void *model, const uint32_t *tokens, size_t n, float *logits,
                         eco_error *err);
    void (*model_close)(void *model);
    void (*close)(void *state);
} eco_backend;

extern const eco_backend ecoi_backend_cpu;
extern const eco_backend ecoi_backend_cuda;

#endif
