/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool of threads that live as long as the engine and run one parallel region at a time. Between
 * regions a worker spins for some tens of microseconds, so that a token's many short regions cost
 * little, and then sleeps, so that an idle engine takes no power. One thread at a time calls run.
 */
#ifndef ECOCOMPUTE_KERNELS_CPU_THREAD_POOL_H
#define ECOCOMPUTE_KERNELS_CPU_THREAD_POOL_H

#include "ecocompute/status.h"

#include <stddef.h>

enum { ECO_POOL_THREADS_MAX = 1024 };

typedef struct eco_pool eco_pool;
/* Part `index` of `n` of a region. */
typedef void eco_pool_task(void *context, uint32_t index, uint32_t n);

/* n_threads counts the caller: 1 starts none. ECO_E_RANGE above ECO_POOL_THREADS_MAX or for 0. */
ECO_NODISCARD eco_status ecoi_pool_open(uint32_t n_threads, eco_pool **out, eco_error *err);
void ecoi_pool_close(eco_pool *pool); /* joins; NULL is fine */
uint32_t ecoi_pool_n_threads(const eco_pool *pool);
/* Runs the task once in every thread, the caller as index 0; returns when all are done. What one
 * region wrote, the next sees, whatever the thread. */
void ecoi_pool_run(eco_pool *pool, eco_pool_task *task, void *context);

/* Rows [begin, end) of part `index` of `n`: contiguous, sizes differ by at most `grain`. */
typedef struct eco_range {
    size_t begin, end;
} eco_range;
eco_range ecoi_pool_share(size_t n_rows, size_t grain, uint32_t index, uint32_t n);

#endif
