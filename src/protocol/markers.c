/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines are gathered in a fixed buffer; a line that does not fit is dropped whole. A wrong line changes nothing but the
 * count of ignored ones.
 */
#include "protocol/markers.h"

#include "core/alloc.h"
#include "core/str.h"

#include <string.h>

static eco_marker_phase *phase_named(eco_markers *markers, const char *name, bool make) {
    for (uint32_t i = 0; i < markers->n_phases; i++) {
        if (strcmp(markers->phases[i].name, name) == 0) {
            return &markers->phases[i];
        }
    }
    if (!make || markers->n_phases == ECO_RUN_PHASES_MAX) {
        return NULL;
    }
    eco_marker_phase *phase = &markers->phases[markers->n_phases++];
    *phase = (eco_marker_phase){0};
    (void)ecoi_str_copy(phase->name, sizeof phase->name, name);
    return phase;
}

static bool name_valid(const char *name) {
    const size_t n = strlen(name);
    if (n == 0 || n >= ECO_RUN_NAME_MAX) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (name[i] <= ' ' || name[i] > '~') {
            return false;
        }
    }
    return true;
}

static bool begin(eco_markers *markers, const char *name, int64_t t_ns) {
    eco_marker_phase *phase = name_valid(name) ? phase_named(markers, name, true) : NULL;
    if (phase == NULL || phase->open) {
        return false;
    }
    phase->open = true;
    phase->begin_ns = t_ns;
    return true;
}

static bool end_phase(eco_markers *markers, eco_marker_phase *phase, int64_t t_ns) {
    phase->open = false;
    if (markers->n_intervals == markers->capacity) {
        const size_t capacity = markers->capacity == 0 ? 64 : markers->capacity * 2;
        eco_marker_interval *larger =
            capacity <= ECO_MARKER_INTERVALS_MAX
                ? ecoi_realloc(markers->intervals, capacity * sizeof *larger)
                : NULL;
        if (larger == NULL) {
            return false;
        }
        markers->intervals = larger;
        markers->capacity = capacity;
    }
    markers->intervals[markers->n_intervals++] = (eco_marker_interval){
        .phase = (uint32_t)(phase - markers->phases), .begin_ns = phase->begin_ns, .end_ns = t_ns};
    return true;
}

static bool end_named(eco_markers *markers, const char *name, int64_t t_ns) {
    eco_marker_phase *phase = phase_named(markers, name, false);
    return phase != NULL && phase->open && end_phase(markers, phase, t_ns);
}

static bool add_tokens(eco_markers *markers, const char *digits) {
    uint64_t n = 0;
    if (digits[0] == '\0' || strlen(digits) > 12) {
        return false;
    }
    for (const char *c = digits; *c != '\0'; c++) {
        if (*c < '0' || *c > '9') {
            return false;
        }
        n = n * 10 + (uint64_t)(*c - '0');
    }
    if (n > (UINT64_C(1) << 50) - markers->tokens) { /* beyond what a double counts exactly */
        return false;
    }
    markers->has_tokens = true;
    markers->tokens += n;
    for (uint32_t i = 0; i < markers->n_phases; i++) {
        if (markers->phases[i].open) {
            markers->phases[i].has_tokens = true;
            markers->phases[i].tokens += n;
        }
    }
    return true;
}

static bool take_line(eco_markers *markers, const char *line, int64_t t_ns) {
    static const char *const words[] = {"ecocompute:begin ", "ecocompute:end ",
                                        "ecocompute:tokens "};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (ecoi_str_starts_with(line, words[i])) {
            const char *rest = line + strlen(words[i]);
            return i == 0   ? begin(markers, rest, t_ns)
                   : i == 1 ? end_named(markers, rest, t_ns)
                            : add_tokens(markers, rest);
        }
    }
    return false;
}

void ecoi_markers_feed(eco_markers *markers, const char *data, size_t size, int64_t t_ns) {
    for (size_t i = 0; i < size; i++) {
        if (data[i] != '\n') {
            if (markers->n_line + 1 < sizeof markers->line && data[i] != '\0') {
                markers->line[markers->n_line++] = data[i];
            } else {
                markers->skipping = true;
            }
            continue;
        }
        markers->line[markers->n_line] = '\0';
        if (markers->n_line > 0 && markers->line[markers->n_line - 1] == '\r') {
            markers->line[markers->n_line - 1] = '\0';
        }
        if (markers->skipping || !take_line(markers, markers->line, t_ns)) {
            markers->n_ignored++;
        }
        markers->n_line = 0;
        markers->skipping = false;
    }
}

void ecoi_markers_end(eco_markers *markers, int64_t t_ns) {
    if (markers->n_line > 0 || markers->skipping) {
        markers->n_ignored++;
    }
    markers->n_line = 0;
    markers->skipping = false;
    for (uint32_t i = 0; i < markers->n_phases; i++) {
        if (markers->phases[i].open && !end_phase(markers, &markers->phases[i], t_ns)) {
            markers->n_ignored++;
        }
    }
}

void ecoi_markers_fini(eco_markers *markers) {
    ecoi_free(markers->intervals);
    markers->intervals = NULL;
    markers->n_intervals = 0;
    markers->capacity = 0;
}
