/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of energies and curves as files. Both are untrusted: regular files only, at most 16 MiB.
 */
#ifndef ECOCOMPUTE_MODEL_FILE_H
#define ECOCOMPUTE_MODEL_FILE_H

#include "ecocompute/anchors.h"
#include "ecocompute/curve.h"
#include "ecocompute/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As eco_anchors_read_csv and eco_curves_read, and ECO_E_NOT_FOUND, ECO_E_PERMISSION, ECO_E_INVALID (not a regular file),
 * ECO_E_RANGE (too large). */
ECO_NODISCARD eco_status eco_anchors_load(const char *path, eco_anchors **out, eco_error *err);
ECO_NODISCARD eco_status eco_curves_load(const char *path, eco_curve_file **out, eco_error *err);
/* Whole or not at all: a failure leaves what was there. */
ECO_NODISCARD eco_status eco_curves_save(const char *path, const eco_text *json, eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
