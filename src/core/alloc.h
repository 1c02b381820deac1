/* SPDX-License-Identifier: Apache-2.0
 *
 * The one door to the heap for the pure modules. A debug build (ECO_DEBUG_BUILD) can forbid allocation, to prove
 * that a measured window makes none, and can fail the n-th allocation, to sweep the out-of-memory paths.
 * In a release build the checks are compiled out and no global exists. Thread-safe.
 */
#ifndef ECOI_ALLOC_H
#define ECOI_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As malloc, calloc and realloc; a product that overflows gives NULL. ecoi_free(NULL) is fine. The memory is
 * the C library's: free() may release it. */
void *ecoi_malloc(size_t size);
void *ecoi_calloc(size_t n, size_t size);
void *ecoi_realloc(void *memory, size_t size);
void ecoi_free(void *memory);

bool ecoi_alloc_checked(void); /* true when the functions below have an effect */
/* While armed, every allocation of any thread still succeeds but is counted as a violation. Arming resets it. */
void ecoi_alloc_forbid(bool forbidden);
size_t ecoi_alloc_violations(void);
/* The nth allocation from now (1 = the next) and all after it fail; 0 = none. */
void ecoi_alloc_fail_from(uint64_t nth);

#endif
