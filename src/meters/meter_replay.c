/* SPDX-License-Identifier: Apache-2.0
 *
 * Readings of an old trace, played against the clock from the moment of opening: for demonstrations and for trying the
 * protocol. Each reading holds until the trace's next; after the last there are none, it never starts again. Whatever
 * comes of it is called replayed, never measured.
 */
#include "core/alloc.h"
#include "ecocompute/trace.h"
#include "meters/driver.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <stdio.h>
#include <string.h>

enum { REPLAY_BYTES_MAX = 512 << 20 };

typedef struct replay_state {
    eco_sample *rows;
    size_t n_rows, next; /* `next` is the first row not played yet */
    int64_t opened_ns;
    eco_boundary boundary;
    bool has_power, has_energy, ended;
    eco_reading power_w, energy_j, temp_c; /* as of the last row played */
} replay_state;

static void replay_close(void *opened) {
    replay_state *state = opened;
    if (state != NULL) {
        ecoi_free(state->rows);
        ecoi_free(state);
    }
}

static eco_status replay_check_rows(replay_state *state, const char *path, eco_error *err) {
    for (size_t i = 0; i < state->n_rows; i++) {
        if (i > 0 && state->rows[i].t_ns < state->rows[i - 1].t_ns) {
            return eco_error_set(err, ECO_E_INVALID, 0, "replay: %s: row %zu goes back in time",
                                 path, i + 1);
        }
        state->has_power = state->has_power || eco_reading_present(state->rows[i].power_w);
        state->has_energy = state->has_energy || eco_reading_present(state->rows[i].energy_j);
    }
    if (!state->has_power && !state->has_energy) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0, "replay: %s holds neither power nor energy",
                             path);
    }
    return ECO_OK;
}

static eco_status replay_load(const eco_meter_config *config, replay_state **out, eco_error *err) {
    *out = NULL;
    const char *path = config->replay_path;
    if (path == NULL) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                             "replay: no trace was named (--meter-replay FILE)");
    }
    char *text = NULL;
    size_t size = 0;
    replay_state *state = ecoi_calloc(1, sizeof *state);
    if (state == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "replay: out of memory");
    }
    const eco_file_limits limits = {.size_max = REPLAY_BYTES_MAX};
    state->boundary = config->boundary;
    eco_status status = ecoi_file_read(path, &limits, &text, &size, err);
    if (status == ECO_OK) {
        status = eco_trace_parse(text, size, path, &state->rows, &state->n_rows, err);
    }
    ecoi_free(text);
    if (status == ECO_OK) {
        status = replay_check_rows(state, path, err);
    }
    if (status != ECO_OK) {
        replay_close(state);
        return status;
    }
    *out = state;
    return ECO_OK;
}

static eco_status replay_open_index(const eco_meter_config *config, uint32_t index, void **out,
                                    eco_error *err) {
    *out = NULL;
    if (index > 0) {
        return eco_error_set(err, ECO_E_RANGE, 0, "replay: no device %u (1 seen)", index);
    }
    replay_state *state = NULL;
    ECO_TRY(replay_load(config, &state, err));
    state->opened_ns = ecoi_now_ns();
    *out = state;
    return ECO_OK;
}

static eco_status replay_open(const eco_meter_options *options, void **out, eco_error *err) {
    *out = NULL;
    const eco_boundary *own = &options->config.boundary;
    if (options->config.replay_path != NULL && own->kind == ECO_BOUNDARY_NONE) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "replay: what the trace covered was not declared (--meter-boundary "
                             "gpu:<uuid>, cpu or host)");
    }
    if (options->config.replay_path != NULL && options->work.kind != ECO_BOUNDARY_NONE &&
        !eco_boundary_contains(own, &options->work)) {
        return eco_error_set(err, ECO_E_BOUNDARY_MISMATCH, 0,
                             "replay: declared to cover %s %s, not work on boundary %s %s",
                             eco_boundary_kind_name(own->kind), own->uuid,
                             eco_boundary_kind_name(options->work.kind), options->work.uuid);
    }
    return replay_open_index(&options->config, 0, out, err);
}

static void replay_describe(const void *opened, eco_meter_info *out) {
    const replay_state *state = opened;
    out->scope = eco_boundary_kind_name(state->boundary.kind);
    out->measurement_source = "replay";
    out->power_field = state->has_power ? "power_w column" : NULL;
    out->energy_field = state->has_energy ? "energy_j column" : NULL;
    out->method = state->has_energy ? "energy replayed from a trace file, nothing was measured"
                                    : "integrated power replayed from a trace file, nothing was "
                                      "measured";
    out->device.boundary = state->boundary;
    (void)snprintf(out->device.name, sizeof out->device.name, "a trace of %zu rows", state->n_rows);
}

static void replay_probe(const eco_meter_config *config, eco_meter_status *out) {
    eco_error why = {0};
    replay_state *state = NULL;
    out->boundary = config->boundary.kind;
    if (replay_load(config, &state, &why) != ECO_OK) {
        memcpy(out->reason, why.message, sizeof out->reason);
        return;
    }
    out->usable = true;
    out->n_devices = 1;
    (void)snprintf(out->reason, sizeof out->reason,
                   "%zu rows over %.3f s; results are called replayed", state->n_rows,
                   (double)(state->rows[state->n_rows - 1].t_ns - state->rows[0].t_ns) * 1e-9);
    replay_close(state);
}

/* Plays all rows up to now. */
static void replay_advance(replay_state *state, int64_t now_ns) {
    const int64_t t_ns = now_ns - state->opened_ns + state->rows[0].t_ns;
    while (state->next < state->n_rows && state->rows[state->next].t_ns <= t_ns) {
        const eco_sample *row = &state->rows[state->next++];
        state->power_w = eco_reading_present(row->power_w) ? row->power_w : state->power_w;
        state->energy_j = eco_reading_present(row->energy_j) ? row->energy_j : state->energy_j;
        state->temp_c = eco_reading_present(row->temp_c) ? row->temp_c : state->temp_c;
    }
    state->ended = state->rows[state->n_rows - 1].t_ns < t_ns;
}

static eco_reading replay_value(const replay_state *state, bool has, eco_reading reading) {
    if (!has) {
        return eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
    return state->ended ? eco_reading_absent(ECO_ABSENT_STALE) : reading;
}

static void replay_read(void *opened, uint32_t what, eco_meter_sample *out) {
    replay_state *state = opened;
    const int64_t now_ns = ecoi_now_ns();
    const eco_reading none = eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    replay_advance(state, now_ns);
    out->t_ns = now_ns;
    if ((what & ECO_READ_POWER) != 0) {
        out->power_w = replay_value(state, state->has_power, state->power_w);
    }
    if ((what & ECO_READ_ENERGY) != 0) {
        out->energy_j = replay_value(state, state->has_energy, state->energy_j);
    }
    if ((what & ECO_READ_TEMP) != 0) {
        out->temp_c = replay_value(state, true, state->temp_c);
    }
    out->power_average_w = (what & ECO_READ_POWER_AVERAGE) != 0 ? none : out->power_average_w;
    out->sm_clock_mhz = (what & ECO_READ_CLOCKS) != 0 ? none : out->sm_clock_mhz;
    out->mem_clock_mhz = (what & ECO_READ_CLOCKS) != 0 ? none : out->mem_clock_mhz;
    out->throttle_read =
        (what & ECO_READ_THROTTLE) != 0 ? ECO_ABSENT_UNSUPPORTED : out->throttle_read;
    out->device_lost = state->ended;
    out->cost_ns = ecoi_now_ns() - now_ns;
}

static void replay_trouble(const void *opened, char *out, size_t size) {
    const replay_state *state = opened;
    if (state->ended) {
        (void)snprintf(out, size, "the trace ended after %.3f s and is not played again",
                       (double)(state->rows[state->n_rows - 1].t_ns - state->rows[0].t_ns) * 1e-9);
    }
}

extern const eco_meter_driver ecoi_meter_replay;
const eco_meter_driver ecoi_meter_replay = {
    .name = "replay",
    .summary = "an old trace played again; its results are called replayed, never measured",
    .source = ECO_SOURCE_REPLAY,
    .boundary = ECO_BOUNDARY_NONE,
    .named_only = true,
    .declared = {0.10, 5.0, "declared by default; what the trace's meter was worth is not known"},
    .probe = replay_probe,
    .open = replay_open,
    .open_index = replay_open_index,
    .describe = replay_describe,
    .read = replay_read,
    .trouble = replay_trouble,
    .close = replay_close,
};
