/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of tests/golden, for the tests that read them. Header only.
 */
#ifndef ECO_TEST_GOLDEN_FILES_H
#define ECO_TEST_GOLDEN_FILES_H

#include "test_helpers.h"

#include <stdio.h>
#include <stdlib.h>

/* Its path, in the source folder that ECO_SOURCE_DIR names. */
static inline void golden_path(const char *file, char *out, size_t size) {
    const char *const root = getenv("ECO_SOURCE_DIR");
    (void)snprintf(out, size, "%s/tests/golden/%s", root != NULL ? root : ".", file);
}

/* Its bytes with a NUL behind them, to be freed by the caller; fails the test where it cannot be read. */
static inline char *golden_load(const char *file, size_t *length) {
    enum { GOLDEN_BYTES_MAX = 1 << 20 };
    char path[1024];
    golden_path(file, path, sizeof path);
    FILE *const in = fopen(path, "rb");
    if (in == NULL) {
        print_error("%s: cannot be opened; set ECO_SOURCE_DIR to the source folder\n", path);
        fail();
    }
    char *const text = calloc(1, GOLDEN_BYTES_MAX);
    assert_non_null(text);
    *length = fread(text, 1, GOLDEN_BYTES_MAX - 1, in);
    (void)fclose(in);
    assert_true(*length > 0 && *length < GOLDEN_BYTES_MAX - 1);
    return text;
}

#endif
