/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a trace at hand is the one that a report was made from: by its SHA-256.
 */
#include "ecocompute/report.h"

#include "core/sha256.h"

#include <string.h>

/* The bytes of the first `n_rows` rows and the header; 0 when there are not so many. */
static size_t rows_length(const char *text, size_t size, int64_t n_rows) {
    size_t at = 0;
    for (int64_t line = 0; line <= n_rows; line++) {
        const char *end = at < size ? memchr(text + at, '\n', size - at) : NULL;
        if (end == NULL) {
            return 0;
        }
        at = (size_t)(end - text) + 1;
    }
    return at;
}

static bool hashed_beginning(const eco_report *report, uint32_t i, const char *text, size_t *size,
                             const char *sha256) {
    char hex[ECOI_SHA256_HEX_MAX];
    int64_t n_rows = 0;
    if (!eco_report_integer(report, ECO_FIELD_PF_SAMPLES, ECO_AT1(i), &n_rows) || n_rows < 0) {
        return false;
    }
    const size_t length = rows_length(text, *size, n_rows);
    ecoi_sha256_hex(text, length, hex);
    if (length == 0 || strcmp(hex, sha256) != 0) {
        return false;
    }
    *size = length;
    return true;
}

bool eco_report_trace_matches(const eco_report *report, uint32_t index, const char *text,
                              size_t *length, eco_findings *out) {
    const char *sha256 = NULL;
    char hex[ECOI_SHA256_HEX_MAX];
    if (!eco_report_string(report, ECO_FIELD_PF_SHA256, ECO_AT1(index), &sha256)) {
        eco_findings_add(out, "power_trace.files[%u]: file and sha256 are expected", index);
        return false;
    }
    ecoi_sha256_hex(text, *length, hex);
    if (strcmp(hex, sha256) != 0 && !hashed_beginning(report, index, text, length, sha256)) {
        eco_findings_add(out,
                         "power_trace.files[%u].sha256: the report says %.64s, the file has %s",
                         index, sha256, hex);
        return false;
    }
    return true;
}
