/* SPDX-License-Identifier: Apache-2.0
 *
 * For clang-tidy only (tools/run_tidy.sh puts it before each file but status.c): eco_error_set as the analyzer may know
 * it. The analyzer sees one file at a time and looks into no variadic function; without this it takes the status of a
 * failure for one that might be ECO_OK and follows paths that do not exist.
 */
#define _GNU_SOURCE
#include "ecocompute/status.h"

void eco_error_words(const char *format, ...);

static inline eco_status eco_error_model(eco_error *err, eco_status code, int64_t native) {
    (void)err;
    (void)native;
    return code;
}

#define eco_error_set(err, code, native, ...)                                                      \
    (eco_error_words(__VA_ARGS__), eco_error_model((err), (code), (native)))
