/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests may see of a CPU arm beyond the backend's interface.
 */
#ifndef ECOCOMPUTE_KERNELS_CPU_CPU_BACKEND_H
#define ECOCOMPUTE_KERNELS_CPU_CPU_BACKEND_H

#include "kernels/cpu/cpu_model.h"

/* The model behind a `model` pointer of ecoi_backend_cpu; its logits are those of the last step
 * that made any. */
const eco_cpu_model *ecoi_cpu_arm_model(const void *model);

#endif
