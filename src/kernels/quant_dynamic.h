/* SPDX-License-Identifier: Apache-2.0
 *
 * The 8-bit code of NF4-DQ's absmax values (Dettmers et al., 8-bit optimizers, 2021, and QLoRA,
 * 2023). On the host only.
 */
#ifndef ECOCOMPUTE_KERNELS_QUANT_DYNAMIC_H
#define ECOCOMPUTE_KERNELS_QUANT_DYNAMIC_H

#include "kernels/quant.h"

extern const float ecoi_dynamic_values[DYNAMIC_CODES]; /* ascending */

/* Code of the value nearest to x, |x| <= 1; the lower one of two as near. */
uint32_t ecoi_dynamic_encode(float x);

#endif
