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

struct fake_kernel {
    const char *name;
    size_t args_size; /* of the one structure it takes */
    void (*run)(const void *args);
};

const struct fake_kernel *fake_kernel_find(const char *name); /* NULL: no such kernel */
/* Runs the grid to its end. Not reentrant: the caller holds a lock. */
void fake_kernel_run(const struct fake_kernel *kernel, const void *args, uint32_t grid_x,
                     uint32_t grid_y, uint32_t block, uint32_t shared_bytes);

#endif
