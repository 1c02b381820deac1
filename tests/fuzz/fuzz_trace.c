/* SPDX-License-Identifier: Apache-2.0
 *
 * A power trace from outside. For any input: a refusal names the line and leaves nothing behind; rows that were read
 * hold finite numbers and known phases; written and read again they give the same text.
 */
#include "fuzz_check.h"

#include "ecocompute/trace.h"

#include <math.h>

/* Beyond this a written line may be longer than a line may be; no sensor reads a petawatt. */
static const double WRITABLE_MAX = 1e15;

static bool writable(eco_reading reading) {
    FUZZ_DEMAND(!eco_reading_present(reading) || isfinite(reading.value));
    return !eco_reading_present(reading) || fabs(reading.value) < WRITABLE_MAX;
}

static void write_rows(eco_text *out, const eco_sample *rows, size_t n) {
    eco_trace_write_header(out);
    eco_trace_write_rows(out, rows, n, 0);
    FUZZ_DEMAND(!out->failed);
}

static void write_and_read_again(const eco_sample *rows, size_t n) {
    eco_text once = {0};
    eco_text twice = {0};
    eco_error err = {0};
    eco_sample *again = NULL;
    size_t n_again = 0;
    write_rows(&once, rows, n);
    FUZZ_DEMAND(eco_trace_parse(once.data, once.length, "again", &again, &n_again, &err) == ECO_OK);
    FUZZ_DEMAND(n_again == n);
    write_rows(&twice, again, n);
    FUZZ_DEMAND(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
    free(again);
    eco_text_free(&once);
    eco_text_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = fuzz_copy(data, size);
    eco_sample *rows = NULL;
    size_t n = 0;
    eco_error err = {0};
    if (eco_trace_parse(text, size, "trace", &rows, &n, &err) != ECO_OK) {
        FUZZ_DEMAND(rows == NULL && n == 0 && strncmp(err.message, "trace", 5) == 0);
        free(text);
        return 0;
    }
    bool all_writable = true;
    for (size_t i = 0; i < n; i++) {
        FUZZ_DEMAND((unsigned)rows[i].phase < ECO_PHASE_COUNT && rows[i].block >= 0);
        const eco_reading readings[] = {rows[i].power_w, rows[i].energy_j, rows[i].tokens,
                                        rows[i].temp_c};
        for (size_t k = 0; k < sizeof readings / sizeof readings[0]; k++) {
            all_writable = writable(readings[k]) && all_writable;
        }
    }
    if (all_writable) {
        write_and_read_again(rows, n);
    }
    free(rows);
    free(text);
    return 0;
}
