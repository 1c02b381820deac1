/* SPDX-License-Identifier: Apache-2.0
 *
 * Raw power traces: CSV with the columns t_s,power_w,energy_j,tokens,temp_c,block,phase. Times in seconds from the
 * experiment's origin to 1 us; energy to 1 mJ; power to 1 mW; tokens to 0.001; temperature to 0.1; an absent reading is an empty cell.
 * A trace is untrusted input: sizes and line lengths are capped.
 */
#ifndef ECOCOMPUTE_TRACE_H
#define ECOCOMPUTE_TRACE_H

#include "ecocompute/record.h"
#include "ecocompute/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ECO_TRACE_ROWS_MAX = 4000000, ECO_TRACE_LINE_MAX = 256 };

/* A growing text; zero-initialise, free with eco_text_free. `failed` is sticky after an allocation failure. */
typedef struct eco_text {
    char *data; /* NUL-terminated when not NULL */
    size_t length, capacity;
    bool failed;
} eco_text;
void eco_text_free(eco_text *text);
/* Adds text of any origin so that a terminal shows it and nothing else happens: control characters (C0, C1, DEL),
 * bidirectional overrides and what shows nothing become \u001b, bytes that are no UTF-8 \xff. JSON stays the same
 * document. The first makes one line of it; the second leaves "\n" as it is. */
void eco_text_add_visible(eco_text *out, const char *text, size_t length);
void eco_text_add_visible_lines(eco_text *out, const char *text, size_t length);

void eco_trace_write_header(eco_text *out);
void eco_trace_write_rows(eco_text *out, const eco_sample *rows, size_t n, int64_t origin_ns);
/* Parses a whole file into *rows (malloc'ed, caller frees). `name` is used in messages: "name:line: …". */
ECO_NODISCARD eco_status eco_trace_parse(const char *text, size_t length, const char *name,
                                         eco_sample **rows, size_t *n_rows, eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
