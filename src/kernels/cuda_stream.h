/* SPDX-License-Identifier: Apache-2.0
 *
 * One token in one launch (gpu/stream.c): which phases, in how much shared memory, by which text.
 */
#ifndef ECOCOMPUTE_KERNELS_CUDA_STREAM_H
#define ECOCOMPUTE_KERNELS_CUDA_STREAM_H

#include "kernels/cuda_model.h"

/* Before anything is loaded. ECO_E_UNSUPPORTED: the model is wider than the kernels take, or does not
 * fit this card's shared memory. */
ECO_NODISCARD eco_status ecoi_cuda_stream_check(const cuda_device *device,
                                                const eco_workload *workload, eco_error *err);

/* Of a model that has been checked: compiles the kernels of its formats for this card's shared memory
 * and fills the table of phases. */
ECO_NODISCARD eco_status ecoi_cuda_stream_prepare(cuda_model *model, eco_error *err);

void ecoi_cuda_stream_close(cuda_model *model);

/* Records one token; *user is the address of the counter to advance. */
eco_status ecoi_cuda_record_token(cuda_model *model, const void *user, eco_error *err);

#endif
