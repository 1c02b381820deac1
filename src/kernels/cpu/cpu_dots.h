/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of a stored row with an input, by format: docs/formats.md in C.
 */
#ifndef ECOCOMPUTE_KERNELS_CPU_CPU_DOTS_H
#define ECOCOMPUTE_KERNELS_CPU_CPU_DOTS_H

#include "kernels/cpu/cpu_model.h"

/* Row `row` of the matrix times the input, in FP32. */
typedef float eco_cpu_dot(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in);

/* The reference: sums in column order. */
extern eco_cpu_dot *const ecoi_ref_dots[ECO_FORMAT_COUNT];

/* The value of one stored weight. */
float ecoi_cpu_weight(const eco_cpu_matrix *m, size_t row, uint32_t column);
/* NF4-DQ: absmax of block `block` of the whole matrix, row · n_blocks + index in the row. */
float ecoi_cpu_dq_absmax(const eco_cpu_matrix *m, size_t block);
/* INT8: from the sum of weight code · input code over all columns. */
float ecoi_cpu_int8_result(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in,
                           int64_t sum);

/* INT8: fills the quantized form of in->x [n]: codes [n, padded] and outliers [n] are the caller's. */
void ecoi_cpu_input_quantize(eco_cpu_input *in, uint32_t n, int16_t *codes, uint32_t *outliers);
/* The input of a product with `m`; its quantized form lies in this slot of the model's buffers until the next. */
eco_cpu_input ecoi_cpu_input_of(const eco_cpu_model *model, size_t slot, const eco_cpu_matrix *m,
                                const float *x);

#endif
