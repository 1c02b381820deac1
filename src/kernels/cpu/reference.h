/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference forward: what every other path is held to. One thread, sums in index order, nothing
 * clever. The pieces are shared with the threaded form where speed does not matter.
 */
#ifndef ECOCOMPUTE_KERNELS_CPU_REFERENCE_H
#define ECOCOMPUTE_KERNELS_CPU_REFERENCE_H

#include "kernels/cpu/cpu_model.h"

/* Sum of value · x over n FP16 values, in FP32, first to last. */
float ecoi_ref_dot_half(const uint16_t *values, const float *x, uint32_t n);
/* out[i] += p · values[i] */
void ecoi_ref_add_scaled(float *out, float p, const uint16_t *values, uint32_t n);

/* out = x / rms(x) · gain, rounded to FP16. */
void ecoi_ref_norm(const float *x, const uint16_t *gain, uint32_t n, float eps, float *out);
/* Turns each head's pairs (i, i + d_head/2) by the angles of one position: cosines and sines
 * [d_head / 2]. */
void ecoi_ref_rope(float *heads, uint32_t n_heads, uint32_t d_head, const float *cosines,
                   const float *sines);
/* scores[n] become softmax(scores · scale). */
void ecoi_ref_softmax(float *scores, uint32_t n, float scale);
/* SiLU(gate) · up, rounded to FP16. */
float ecoi_ref_gated(float gate, float up);
uint32_t ecoi_ref_argmax(const float *logits, uint32_t n); /* the lowest index among equals */

/* Query head h attends to positions 0 … position of the cache; heads of a group share K and V. */
void ecoi_ref_attend(eco_cpu_model *model, const eco_cpu_layer *layer, uint32_t h,
                     uint32_t position);

/* Feeds `token` at `position`, whose predecessors are in the cache; fills model->logits if wanted.
 */
void ecoi_ref_step(eco_cpu_model *model, uint32_t token, uint32_t position, bool want_logits);

#endif
