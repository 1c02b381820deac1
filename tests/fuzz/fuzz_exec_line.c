/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of a metering program. For any line: it is refused, or it is a known word, one blank and a JSON number, whose
 * value is finite, not negative and the one the C library reads.
 */
#include "fuzz_check.h"

#include "meters/exec_child.h"

#include <math.h>

static void check_line(const char *line, size_t length) {
    eco_exec_kind kind = ECO_EXEC_KINDS;
    double value = -1;
    char *const bare = fuzz_copy((const uint8_t *)line, length);
    const bool taken = ecoi_exec_line(bare, length, &kind, &value);
    free(bare);
    if (!taken) {
        return;
    }
    char text[ECO_EXEC_LINE_MAX + 1];
    FUZZ_DEMAND(length <= ECO_EXEC_LINE_MAX && isfinite(value) && value >= 0.0);
    memcpy(text, line, length);
    text[length] = '\0';
    const char *const word = kind == ECO_EXEC_POWER ? "power_w " : "energy_j ";
    const size_t n_word = strlen(word);
    FUZZ_DEMAND((unsigned)kind < ECO_EXEC_KINDS && strncmp(text, word, n_word) == 0);
    char *end = NULL;
    const double wanted = strtod(text + n_word, &end);
    FUZZ_DEMAND(end == text + length && !(wanted < value) && !(wanted > value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    while (size > 0) {
        const char *const end = memchr(text, '\n', size);
        const size_t n = end != NULL ? (size_t)(end - text) : size;
        check_line(text, n);
        const size_t step = end != NULL ? n + 1 : n;
        text += step;
        size -= step;
    }
    return 0;
}
