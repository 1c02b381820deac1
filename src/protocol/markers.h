/* SPDX-License-Identifier: Apache-2.0
 *
 * Marker lines that a command writes to its channel: "ecocompute:begin NAME", "ecocompute:end NAME",
 * "ecocompute:tokens N" (N more are finished). Untrusted input: names, counts and lengths are capped, and what does not
 * fit is counted, never guessed. Phases may nest and come again; tokens belong to every open phase and to the run.
 */
#ifndef ECOCOMPUTE_PROTOCOL_MARKERS_H
#define ECOCOMPUTE_PROTOCOL_MARKERS_H

#include "ecocompute/run_command.h"

enum { ECO_MARKER_LINE_MAX = 160, ECO_MARKER_INTERVALS_MAX = 65536 };

typedef struct eco_marker_interval {
    uint32_t phase;
    int64_t begin_ns, end_ns;
} eco_marker_interval;

typedef struct eco_marker_phase {
    char name[ECO_RUN_NAME_MAX];
    bool open, has_tokens;
    int64_t begin_ns;
    uint64_t tokens;
} eco_marker_phase;

typedef struct eco_markers {
    char line[ECO_MARKER_LINE_MAX];
    size_t n_line;
    bool skipping; /* the line was too long */
    eco_marker_phase phases[ECO_RUN_PHASES_MAX];
    uint32_t n_phases;
    eco_marker_interval *intervals;
    size_t n_intervals, capacity;
    bool has_tokens;
    uint64_t tokens;
    uint32_t n_ignored;
} eco_markers; /* zero-initialise; free with ecoi_markers_fini */

/* Bytes that arrived at t_ns; lines may be cut anywhere. */
void ecoi_markers_feed(eco_markers *markers, const char *data, size_t size, int64_t t_ns);
/* The command has ended: open phases end with it, half a line is ignored. */
void ecoi_markers_end(eco_markers *markers, int64_t t_ns);
void ecoi_markers_fini(eco_markers *markers);

#endif
