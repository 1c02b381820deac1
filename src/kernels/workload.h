/* SPDX-License-Identifier: Apache-2.0
 *
 * What every device of the native engine demands of a workload, and the scales of its synthetic
 * tensors.
 */
#ifndef ECOCOMPUTE_KERNELS_WORKLOAD_H
#define ECOCOMPUTE_KERNELS_WORKLOAD_H

#include "ecocompute/engine.h"

enum { ECO_WORKLOAD_BATCH_MAX = 64 };

/* ECO_E_USAGE: no shape, unknown format; ECO_E_RANGE: a batch beyond the cap, a
 * dimension that is zero, does not divide or is beyond the caps below, or more positions than the
 * model has. After it, rows·columns of every tensor fits 48 bits. */
ECO_NODISCARD eco_status ecoi_workload_check(const eco_workload *workload, eco_error *err);

/* Outlier columns planted in front of a product with a matrix of this format, a thousand columns:
 * INT8 only, whose cost depends on them. */
uint32_t ecoi_outlier_permille(const eco_workload *workload, eco_format format);

/* Scale of a linear layer or an untied head: 1/sqrt(columns), rounded once to FP32. */
float ecoi_linear_scale(uint32_t n_columns);

#endif
