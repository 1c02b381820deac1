/* SPDX-License-Identifier: Apache-2.0
 *
 * Marker lines of a command under `run`. The same bytes fed at once and fed in pieces (the first byte says how long)
 * give the same phases, intervals and counts; no phase is left open at the end, no interval ends before it begins.
 */
#include "fuzz_check.h"

#include "protocol/markers.h"

static const int64_t END_NS = 1000;

static void check_result(const eco_markers *markers) {
    FUZZ_DEMAND(markers->n_phases <= ECO_RUN_PHASES_MAX);
    FUZZ_DEMAND(markers->n_intervals <= ECO_MARKER_INTERVALS_MAX);
    for (uint32_t i = 0; i < markers->n_phases; i++) {
        FUZZ_DEMAND(!markers->phases[i].open && markers->phases[i].name[0] != '\0');
        FUZZ_DEMAND(memchr(markers->phases[i].name, '\0', ECO_RUN_NAME_MAX) != NULL);
    }
    for (size_t i = 0; i < markers->n_intervals; i++) {
        const eco_marker_interval *const interval = &markers->intervals[i];
        FUZZ_DEMAND(interval->phase < markers->n_phases);
        FUZZ_DEMAND(interval->begin_ns <= interval->end_ns && interval->end_ns <= END_NS);
    }
}

static void check_same(const eco_markers *a, const eco_markers *b) {
    FUZZ_DEMAND(a->n_phases == b->n_phases && a->n_intervals == b->n_intervals);
    FUZZ_DEMAND(a->n_ignored == b->n_ignored && a->has_tokens == b->has_tokens);
    FUZZ_DEMAND(a->tokens == b->tokens);
    for (uint32_t i = 0; i < a->n_phases; i++) {
        FUZZ_DEMAND(strcmp(a->phases[i].name, b->phases[i].name) == 0);
        FUZZ_DEMAND(a->phases[i].tokens == b->phases[i].tokens);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    char *const text = fuzz_copy(data + 1, size - 1);
    const size_t piece = (size_t)data[0] + 1;
    eco_markers whole = {0};
    eco_markers pieces = {0};
    ecoi_markers_feed(&whole, text, size - 1, 1);
    ecoi_markers_end(&whole, END_NS);
    for (size_t i = 0; i < size - 1; i += piece) {
        const size_t left = size - 1 - i;
        ecoi_markers_feed(&pieces, text + i, left < piece ? left : piece, 1);
    }
    ecoi_markers_end(&pieces, END_NS);
    check_result(&whole);
    check_result(&pieces);
    check_same(&whole, &pieces);
    ecoi_markers_fini(&whole);
    ecoi_markers_fini(&pieces);
    free(text);
    return 0;
}
