/* SPDX-License-Identifier: Apache-2.0
 *
 * Products for up to 16 rows of input (batch_gemm.h); a text of its own, since it is compiled once
 * a format and layout.
 */
#include "batch_gemm.h"

KERNEL eco_batch_gemm_16(const struct gpu_batch_gemm_args a) {
    batch_gemm(&a, 16);
}
