/* SPDX-License-Identifier: Apache-2.0
 *
 * The 8-bit code of NF4-DQ's absmax values (Dettmers et al., 8-bit optimizers, 2021, and QLoRA,
 * 2023). On the host only.
 */
#ifndef ECOCOMPUTE_KERNELS_QUANT_DYNAMIC_H
#define ECOCOMPUTE_KERNELS_QUANT_DYNAMIC_H

#include "kernels/quant.h"

#include <stddef.h>
#include <stdint.h>

extern const float ecoi_dynamic_values[DYNAMIC_CODES]; /* ascending */

/* Code of the value nearest to x, |x| <= 1; the lower one of two as near. */
uint32_t ecoi_dynamic_encode(float x);

/* NF4-DQ: the absmax [n] of a tensor's blocks, row by row, into codes [n], the absmax of every NF4_DQ_BLOCK of them less
 * their mean, and that mean. A block's absmax then is value[code] · scales2[block / NF4_DQ_BLOCK] + *offset. */
void ecoi_dynamic_quantize(const float *absmax, size_t n, uint8_t *codes, float *scales2,
                           float *offset);

#endif
