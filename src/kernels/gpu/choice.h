/* SPDX-License-Identifier: Apache-2.0
 *
 * The highest of many values, the lowest index among equals.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_CHOICE_H
#define ECOCOMPUTE_KERNELS_GPU_CHOICE_H

#include "device.h"

struct best {
    float value;
    uint32_t index;
};

/* Lowest index among equal values. */
static inline struct best better(struct best a, struct best b) {
    const bool take_b = b.value > a.value || (b.value == a.value && b.index < a.index);
    return take_b ? b : a;
}

static inline struct best warp_best(struct best mine) {
    for (uint32_t mask = 16; mask > 0; mask >>= 1) {
        const struct best other = {shuffle_xor(mine.value, mask),
                                   shuffle_xor_u32(mine.index, mask)};
        mine = better(mine, other);
    }
    return mine;
}

#endif
