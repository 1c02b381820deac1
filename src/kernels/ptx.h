/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU kernels as PTX text, embedded by the build from gpu/ptx/. NUL-terminated; `_size` is the
 * length without it.
 */
#ifndef ECOCOMPUTE_KERNELS_PTX_H
#define ECOCOMPUTE_KERNELS_PTX_H

#include <stddef.h>

extern const char ecoi_ptx_decode[];
extern const size_t ecoi_ptx_decode_size;
extern const char ecoi_ptx_stream[];
extern const size_t ecoi_ptx_stream_size;
extern const char ecoi_ptx_weights[];
extern const size_t ecoi_ptx_weights_size;
extern const char ecoi_ptx_batch[];
extern const size_t ecoi_ptx_batch_size;
extern const char ecoi_ptx_batch_gemm[];
extern const size_t ecoi_ptx_batch_gemm_size;
extern const char ecoi_ptx_rates[];
extern const size_t ecoi_ptx_rates_size;
extern const char ecoi_ptx_probe[];
extern const size_t ecoi_ptx_probe_size;

#endif
