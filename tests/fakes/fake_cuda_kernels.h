/* SPDX-License-Identifier: Apache-2.0
 *
 * The product's kernels, compiled for the host, and a small machine that runs them: one fiber a
 * thread of a block, blocks one after another. A barrier or shuffle that not all threads reach
 * aborts with the kernel's name.
 */
#ifndef ECO_FAKE_CUDA_KERNELS_H
#define ECO_FAKE_CUDA_KERNELS_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_SHARED_BYTES = 227 * 1024 }; /* of a block, as compute capability 9.0 has it */

struct fake_kernel {
    const char *name;
    size_t args_size; /* of the one structure it takes */
    void (*run)(const void *args);
};

const struct fake_kernel *fake_kernel_find(const char *name); /* NULL: no such kernel */
/* Runs the grid to its end. Not reentrant: the caller holds a lock. */
void fake_kernel_run(const struct fake_kernel *kernel, const void *args, uint32_t grid_x,
                     uint32_t grid_y, uint32_t block, uint32_t shared_bytes);

/* For kernels that are compiled apart (fake_cuda_batch.c): a thread's number among all that run at
 * once, and a barrier of its warp. */
enum { FAKE_THREADS_MAX = 2304 };
uint32_t fake_thread(void);
void fake_warp_meet(void);
/* The thread waits, and others go on; somebody has done what others may wait for. */
void fake_wait(void);
void fake_moved(void);
/* What that file adds: its kernels, and what a thread begins with. */
const struct fake_kernel *fake_batch_kernel_find(const char *name);
void fake_batch_thread_begin(uint32_t thread);

#endif
