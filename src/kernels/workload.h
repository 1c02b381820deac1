/* SPDX-License-Identifier: Apache-2.0
 *
 * What every device of the native engine demands of a workload, and the scales of its synthetic
 * tensors.
 */
#ifndef ECOCOMPUTE_KERNELS_WORKLOAD_H
#define ECOCOMPUTE_KERNELS_WORKLOAD_H

#include "ecocompute/engine.h"

/* ECO_E_USAGE: no shape, unknown format; ECO_E_UNSUPPORTED: batch other than 1; ECO_E_RANGE: a
 * dimension that is zero, does not divide or is beyond the caps below, or more positions than the
 * model has. After it, rows·columns of every tensor fits 48 bits. */
ECO_NODISCARD eco_status ecoi_workload_check(const eco_workload *workload, eco_error *err);

/* Scale of a linear layer or an untied head: 1/sqrt(columns), rounded once to FP32. */
float ecoi_linear_scale(uint32_t n_columns);

#endif
