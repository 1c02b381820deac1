/* SPDX-License-Identifier: Apache-2.0
 *
 * What the fuzz targets share. A target gets bytes from outside, feeds one reader and demands what must hold for any
 * input; a demand that does not hold ends the process, which is what a fuzzer looks for. The same targets run without
 * a fuzzer: fuzz_replay.c feeds them their corpus.
 */
#ifndef ECO_FUZZ_CHECK_H
#define ECO_FUZZ_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The entry that libFuzzer calls; its name is fixed there. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_DEMAND(condition)                                                                   \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                             \
        }                                                                                        \
    } while (0)

/* A copy of exactly `size` bytes without a NUL behind, so that reading past its end is seen; free() it. */
static inline char *fuzz_copy(const uint8_t *data, size_t size) {
    char *copy = calloc(size > 0 ? size : 1, 1);
    if (copy == NULL) {
        abort();
    }
    if (size > 0) {
        memcpy(copy, data, size);
    }
    return copy;
}

/* The same with a NUL behind. */
static inline char *fuzz_copy_z(const uint8_t *data, size_t size) {
    char *copy = calloc(size + 1, 1);
    if (copy == NULL) {
        abort();
    }
    if (size > 0) {
        memcpy(copy, data, size);
    }
    return copy;
}

#endif
