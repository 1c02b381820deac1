/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored size of a matrix in a weight format, the one place that knows it (docs/formats.md).
 */
#ifndef ECOCOMPUTE_ARCH_WEIGHT_FORMATS_H
#define ECOCOMPUTE_ARCH_WEIGHT_FORMATS_H

#include "ecocompute/arch.h"

/* Bytes of a row-major matrix, scales included; an unknown format has 0. The caller sees to it that
 * rows·columns fits 61 bits, as that of every eco_model_shape that passes the engine's check does.
 */
uint64_t ecoi_format_matrix_bytes(eco_format format, uint64_t rows, uint64_t columns);

#endif
