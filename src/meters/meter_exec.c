/* SPDX-License-Identifier: Apache-2.0
 *
 * Readings printed by a program of the user: a wall meter, a BMC, another vendor's card. What they cover is what the
 * user declares; this program cannot vouch for them, and the report says so.
 */
#include "core/alloc.h"
#include "core/str.h"
#include "meters/driver.h"
#include "meters/exec_child.h"
#include "sys/clock.h"

#include <stdio.h>
#include <string.h>

static const double exec_stale_s = 5.0;
static const double exec_first_s = 10.0;

typedef struct exec_state {
    eco_exec_child *child;
    eco_boundary boundary;
    double stale_s;
    bool has_power, has_energy;
} exec_state;

static void exec_close(void *opened) {
    exec_state *state = opened;
    if (state != NULL) {
        ecoi_exec_stop(state->child);
        ecoi_free(state);
    }
}

static eco_status exec_told(const eco_meter_config *config, eco_error *err) {
    if (config->exec_command == NULL) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                             "exec: no program was named (--meter-exec 'CMD ARG')");
    }
    if (config->boundary.kind == ECO_BOUNDARY_NONE) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "exec: what the program's readings cover was not declared "
                             "(--meter-boundary gpu:<uuid>, cpu or host)");
    }
    return ECO_OK;
}

static eco_status exec_open_index(const eco_meter_config *config, uint32_t index, void **out,
                                  eco_error *err) {
    *out = NULL;
    if (index > 0) {
        return eco_error_set(err, ECO_E_RANGE, 0, "exec: no device %u (1 seen)", index);
    }
    ECO_TRY(exec_told(config, err));
    exec_state *state = ecoi_calloc(1, sizeof *state);
    if (state == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "exec: out of memory");
    }
    state->boundary = config->boundary;
    state->stale_s = config->stale_s > 0.0 ? config->stale_s : exec_stale_s;
    const eco_status status =
        ecoi_exec_start(config->exec_command,
                        config->first_s > 0.0 ? config->first_s : exec_first_s, &state->child, err);
    if (status != ECO_OK) {
        exec_close(state);
        return status;
    }
    state->has_power = ecoi_exec_gives(state->child, ECO_EXEC_POWER);
    state->has_energy = ecoi_exec_gives(state->child, ECO_EXEC_ENERGY);
    *out = state;
    return ECO_OK;
}

static eco_status exec_open(const eco_meter_options *options, void **out, eco_error *err) {
    *out = NULL;
    ECO_TRY(
        exec_told(&options->config, err)); /* nothing is started for a boundary that does not fit */
    if (options->work.kind != ECO_BOUNDARY_NONE &&
        !eco_boundary_contains(&options->config.boundary, &options->work)) {
        return eco_error_set(err, ECO_E_BOUNDARY_MISMATCH, 0,
                             "exec: declared to see %s %s, not work on boundary %s %s",
                             eco_boundary_kind_name(options->config.boundary.kind),
                             options->config.boundary.uuid,
                             eco_boundary_kind_name(options->work.kind), options->work.uuid);
    }
    return exec_open_index(&options->config, 0, out, err);
}

static void exec_describe(const void *opened, eco_meter_info *out) {
    const exec_state *state = opened;
    out->scope = eco_boundary_kind_name(state->boundary.kind);
    out->measurement_source = "exec";
    out->power_field = state->has_power ? "power_w line" : NULL;
    out->energy_field = state->has_energy ? "energy_j line" : NULL;
    out->method = state->has_energy ? "energy printed by an external program, between its steps"
                                    : "integrated power printed by an external program";
    out->device.boundary = state->boundary;
    (void)ecoi_str_copy(out->device.name, sizeof out->device.name, ecoi_exec_program(state->child));
}

static void exec_probe(const eco_meter_config *config, eco_meter_status *out) {
    eco_error why = {0};
    out->boundary = config->boundary.kind;
    if (exec_told(config, &why) != ECO_OK) {
        memcpy(out->reason, why.message, sizeof out->reason);
        return;
    }
    out->usable = true;
    out->n_devices = 1;
    (void)snprintf(out->reason, sizeof out->reason, "the program is started when it is measured");
}

static void exec_read(void *opened, uint32_t what, eco_meter_sample *out) {
    exec_state *state = opened;
    const eco_reading none = eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    const int64_t start_ns = ecoi_now_ns();
    if ((what & ECO_READ_POWER) != 0) {
        out->power_w = state->has_power
                           ? ecoi_exec_latest(state->child, ECO_EXEC_POWER, state->stale_s)
                           : none;
    }
    if ((what & ECO_READ_ENERGY) != 0) {
        out->energy_j = state->has_energy
                            ? ecoi_exec_latest(state->child, ECO_EXEC_ENERGY, state->stale_s)
                            : none;
    }
    const int64_t end_ns = ecoi_now_ns();
    out->t_ns = start_ns + (end_ns - start_ns) / 2;
    out->cost_ns = end_ns - start_ns;
    out->power_average_w = (what & ECO_READ_POWER_AVERAGE) != 0 ? none : out->power_average_w;
    out->temp_c = (what & ECO_READ_TEMP) != 0 ? none : out->temp_c;
    out->sm_clock_mhz = (what & ECO_READ_CLOCKS) != 0 ? none : out->sm_clock_mhz;
    out->mem_clock_mhz = (what & ECO_READ_CLOCKS) != 0 ? none : out->mem_clock_mhz;
    out->throttle_read =
        (what & ECO_READ_THROTTLE) != 0 ? ECO_ABSENT_UNSUPPORTED : out->throttle_read;
    out->device_lost = ecoi_exec_ended(state->child); /* nothing will come any more */
}

static void exec_trouble(const void *opened, char *out, size_t size) {
    const exec_state *state = opened;
    ecoi_exec_reason(state->child, out, size);
}

extern const eco_meter_driver ecoi_meter_exec;
const eco_meter_driver ecoi_meter_exec = {
    .name = "exec",
    .summary = "any meter: watts or joules printed by a program of yours, one reading a line",
    .source = ECO_SOURCE_EXEC,
    .boundary = ECO_BOUNDARY_NONE,
    .named_only = true,
    .declared = {0.10, 5.0,
                 "declared by default; what the program's readings are worth is not known"},
    .probe = exec_probe,
    .open = exec_open,
    .open_index = exec_open_index,
    .describe = exec_describe,
    .read = exec_read,
    .trouble = exec_trouble,
    .close = exec_close,
};
