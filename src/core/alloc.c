/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation through one place. The two counters below are the only mutable globals of core and exist only in
 * debug builds; they are atomics because sampler and engine run in different threads.
 */
#include "core/alloc.h"

#include "core/num.h"

#include <stdlib.h>

#ifdef ECO_DEBUG_BUILD
#include <stdatomic.h>

static atomic_bool alloc_forbidden;
static atomic_size_t alloc_n_violations;
static atomic_uint_fast64_t alloc_countdown; /* 0 = never fail; 1 = fail from now on */

static bool alloc_permitted(void) {
    if (atomic_load_explicit(&alloc_forbidden, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&alloc_n_violations, 1, memory_order_relaxed);
    }
    uint_fast64_t left = atomic_load_explicit(&alloc_countdown, memory_order_relaxed);
    while (left > 1) {
        if (atomic_compare_exchange_weak(&alloc_countdown, &left, left - 1)) {
            return true;
        }
    }
    return left == 0;
}

bool ecoi_alloc_checked(void) {
    return true;
}

void ecoi_alloc_forbid(bool forbidden) {
    if (forbidden) {
        atomic_store(&alloc_n_violations, 0);
    }
    atomic_store(&alloc_forbidden, forbidden);
}

size_t ecoi_alloc_violations(void) {
    return atomic_load(&alloc_n_violations);
}

void ecoi_alloc_fail_from(uint64_t nth) {
    atomic_store(&alloc_countdown, nth);
}

#else

static bool alloc_permitted(void) {
    return true;
}

bool ecoi_alloc_checked(void) {
    return false;
}

void ecoi_alloc_forbid(bool forbidden) {
    (void)forbidden;
}

size_t ecoi_alloc_violations(void) {
    return 0;
}

void ecoi_alloc_fail_from(uint64_t nth) {
    (void)nth;
}

#endif

void *ecoi_malloc(size_t size) {
    if (!alloc_permitted()) {
        return NULL;
    }
    return malloc(size == 0 ? 1 : size);
}

void *ecoi_calloc(size_t n, size_t size) {
    size_t total = 0;
    if (!ecoi_size_mul(n, size, &total) || !alloc_permitted()) {
        return NULL;
    }
    return calloc(total == 0 ? 1 : total, 1);
}

void *ecoi_realloc(void *memory, size_t size) {
    if (!alloc_permitted()) {
        return NULL;
    }
    return realloc(memory, size == 0 ? 1 : size);
}

void ecoi_free(void *memory) {
    free(memory);
}
