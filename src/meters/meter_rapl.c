/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU energy: the RAPL counters of all packages of this host, by powercap, or by perf where powercap is closed. Core and
 * uncore lie inside a package, dram beside it, psys around it: only packages are added. A counter that may have wrapped
 * unseen steps back by a gigajoule, so that no window can hold a wrong number across it.
 */
#include "core/alloc.h"
#include "core/str.h"
#include "meters/driver.h"
#include "meters/rapl_zones.h"
#include "sys/clock.h"
#include "sys/cpu.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double rapl_step_back_j = 1e9; /* more than a host uses in a year */

typedef struct rapl_state {
    bool by_perf;
    eco_rapl_zones zones;
    eco_rapl_perf perf;
    uint32_t n_gaps;
    char root[256];
    char domains[160];
} rapl_state;

static const char *rapl_root(const eco_meter_config *config) {
    return config->system_root != NULL ? config->system_root : "";
}

/* ---- what is in the number ---- */

static void rapl_name_zones(const eco_rapl_zones *zones, const char *before, const char *between,
                            unsigned roles, char *out, size_t size) {
    bool first = true;
    for (uint32_t i = 0; i < zones->n; i++) {
        const eco_rapl_zone *zone = &zones->zones[i];
        const size_t used = strlen(out);
        if ((roles & (1u << zone->role)) != 0) {
            (void)snprintf(out + used, size - used, "%s%s", first ? before : between, zone->name);
            first = false;
        }
    }
}

static void rapl_name_domains(rapl_state *state) {
    char *out = state->domains;
    const size_t size = sizeof state->domains;
    if (state->by_perf) {
        (void)snprintf(out, size, "power/energy-pkg of %u package%s", state->perf.n,
                       state->perf.n == 1 ? "" : "s");
        return;
    }
    rapl_name_zones(&state->zones, "", " + ", 1u << RAPL_COUNTED, out, size);
    rapl_name_zones(&state->zones, "; inside: ", ", ", 1u << RAPL_INSIDE, out, size);
    rapl_name_zones(&state->zones, "; not counted: ", ", ",
                    1u << RAPL_APART | 1u << RAPL_PLATFORM | 1u << RAPL_TWIN, out, size);
}

/* ---- why not ---- */

/* What the kernel says of the machine: the usual reasons for no RAPL. */
static const char *rapl_excuse(const char *root) {
    char path[512];
    char text[512];
    (void)snprintf(path, sizeof path, "%s/proc/version", root);
    if (ecoi_rapl_line(path, text, sizeof text) == 0 &&
        (strstr(text, "icrosoft") != NULL || strstr(text, "WSL") != NULL)) {
        return "WSL gives its Linux no access to RAPL";
    }
    (void)snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *file = fopen(path, "re");
    bool guest = false;
    char line[4096];
    while (file != NULL && !guest && fgets(line, sizeof line, file) != NULL) {
        guest = ecoi_str_starts_with(line, "flags") && strstr(line, " hypervisor") != NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return guest ? "this is a virtual machine whose host passes no RAPL on"
                 : "the module intel_rapl_msr may not be loaded, or this CPU has no RAPL";
}

static eco_status rapl_refusal(const char *root, const eco_error *powercap, const eco_error *perf,
                               eco_error *err) {
    if (powercap->code == ECO_E_PERMISSION) {
        return eco_error_set(
            err, ECO_E_PERMISSION, powercap->native,
            "%s; perf: %s. Root may allow it for good: udev rule SUBSYSTEM==\"powercap\", "
            "RUN+=\"/bin/chmod a+r /sys%%p/energy_uj\", or perf_event_paranoid 0",
            powercap->message, perf->native != 0 ? strerror((int)perf->native) : "unusable");
    }
    if (powercap->code != ECO_E_NOT_FOUND) {
        return eco_error_set(err, powercap->code, powercap->native, "%s", powercap->message);
    }
    if (perf->code == ECO_E_PERMISSION) {
        return eco_error_set(err, ECO_E_PERMISSION, perf->native,
                             "%s, and no powercap zone; root may allow it: sysctl "
                             "kernel.perf_event_paranoid=0, or load intel_rapl_msr",
                             perf->message);
    }
    return eco_error_set(err, ECO_E_UNSUPPORTED, perf->native,
                         "rapl: no package in %s/sys/class/powercap, no perf event "
                         "power/energy-pkg: %s",
                         root, rapl_excuse(root));
}

/* ---- open and close ---- */

static void rapl_close(void *opened) {
    rapl_state *state = opened;
    if (state == NULL) {
        return;
    }
    ecoi_rapl_zones_close(&state->zones);
    ecoi_rapl_perf_close(&state->perf);
    ecoi_free(state);
}

static eco_status rapl_start(const eco_meter_config *config, rapl_state **out, eco_error *err) {
    *out = NULL;
    const char *root = rapl_root(config);
    rapl_state *state = ecoi_calloc(1, sizeof *state);
    if (state == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "rapl: out of memory");
    }
    eco_status status = ECO_OK;
    if (!ecoi_str_copy(state->root, sizeof state->root, root)) {
        status =
            eco_error_set(err, ECO_E_USAGE, 0, "rapl: the root's path is too long: %.80s…", root);
        goto done;
    }
    eco_error powercap = {0};
    eco_error perf = {0};
    if (ecoi_rapl_zones_open(root, &state->zones, &powercap) != ECO_OK) {
        state->by_perf = true;
        if (ecoi_rapl_perf_open(root, &state->perf, &perf) != ECO_OK) {
            status = rapl_refusal(root, &powercap, &perf, err);
            goto done;
        }
    }
    rapl_name_domains(state);
    *out = state;
    return ECO_OK;
done:
    rapl_close(state);
    return status;
}

static eco_status rapl_open_index(const eco_meter_config *config, uint32_t index, void **out,
                                  eco_error *err) {
    *out = NULL;
    if (index > 0) {
        return eco_error_set(err, ECO_E_RANGE, 0, "rapl: no device %u (1 seen)", index);
    }
    rapl_state *state = NULL;
    ECO_TRY(rapl_start(config, &state, err));
    *out = state;
    return ECO_OK;
}

static eco_status rapl_open(const eco_meter_options *options, void **out, eco_error *err) {
    *out = NULL;
    const eco_boundary own = {.kind = ECO_BOUNDARY_CPU_PACKAGE};
    if (options->work.kind != ECO_BOUNDARY_NONE && !eco_boundary_contains(&own, &options->work)) {
        return eco_error_set(err, ECO_E_BOUNDARY_MISMATCH, 0,
                             "rapl: sees the CPU packages, not work on boundary %s",
                             eco_boundary_kind_name(options->work.kind));
    }
    return rapl_open_index(&options->config, 0, out, err);
}

static void rapl_describe(const void *opened, eco_meter_info *out) {
    const rapl_state *state = opened;
    out->scope = "cpu-package";
    out->measurement_source = "direct-rapl";
    out->energy_field =
        state->by_perf ? "perf power/energy-pkg" : "powercap intel-rapl:*/energy_uj";
    out->method = state->by_perf
                      ? "RAPL package energy counters (perf) between ticks, nothing to check with"
                      : "RAPL package energy counters (powercap) between ticks, nothing to check "
                        "with";
    memcpy(out->domains, state->domains, sizeof out->domains);
    memcpy(out->overridden, state->root, sizeof out->overridden);
    out->device.boundary.kind = ECO_BOUNDARY_CPU_PACKAGE;
    ecoi_cpu_model_name(out->device.name, sizeof out->device.name);
}

static void rapl_probe(const eco_meter_config *config, eco_meter_status *out) {
    eco_error why = {0};
    rapl_state *state = NULL;
    if (rapl_start(config, &state, &why) != ECO_OK) {
        memcpy(out->reason, why.message, sizeof out->reason);
        return;
    }
    assert(state != NULL);
    out->usable = true;
    out->n_devices = 1;
    double patience_s = (double)INFINITY;
    for (uint32_t i = 0; i < state->zones.n; i++) {
        const eco_rapl_zone *zone = &state->zones.zones[i];
        if (zone->role == RAPL_COUNTED) {
            patience_s = fmin(patience_s, ecoi_rapl_patience_s(zone->track.range_uj));
        }
    }
    if (isfinite(patience_s)) {
        (void)snprintf(out->reason, sizeof out->reason,
                       "%s by powercap; wrap-around is followed if read every %.3g s",
                       state->domains, patience_s);
    } else {
        (void)snprintf(out->reason, sizeof out->reason, "%s by %s", state->domains,
                       state->by_perf ? "perf" : "powercap");
    }
    rapl_close(state);
}

/* ---- reading ---- */

/* Reads the zone and follows its counter; false for a gap. */
static bool zone_follow(eco_rapl_zone *zone) {
    uint64_t now_uj = 0;
    zone->failed = ecoi_rapl_zone_read(zone, &now_uj);
    const bool whole = zone->failed != 0 || ecoi_rapl_advance(&zone->track, now_uj, ecoi_now_ns());
    zone->n_gaps += whole ? 0 : 1;
    return whole;
}

/* Reads every counted zone, whatever was asked for: a counter must be seen before it can wrap twice. */
static eco_reading rapl_follow(rapl_state *state, int64_t *native_error) {
    uint64_t total_uj = 0;
    bool whole = true;
    int failed = 0;
    for (uint32_t i = 0; i < state->zones.n; i++) {
        eco_rapl_zone *zone = &state->zones.zones[i];
        if (zone->role != RAPL_COUNTED) {
            continue;
        }
        whole = zone_follow(zone) && whole;
        failed = zone->failed != 0 ? zone->failed : failed;
        total_uj += zone->track.total_uj;
    }
    state->n_gaps += whole ? 0 : 1;
    *native_error = failed;
    if (failed != 0) {
        return eco_reading_absent(failed == EACCES || failed == EPERM ? ECO_ABSENT_PERMISSION
                                                                      : ECO_ABSENT_FAILED);
    }
    return eco_reading_of((double)total_uj * 1e-6 - rapl_step_back_j * state->n_gaps);
}

static void rapl_read(void *opened, uint32_t what, eco_meter_sample *out) {
    rapl_state *state = opened;
    const int64_t start_ns = ecoi_now_ns();
    eco_reading energy_j = eco_reading_absent(ECO_ABSENT_NOT_READ);
    if (!state->by_perf) {
        energy_j = rapl_follow(state, &out->native_error);
    } else if ((what & ECO_READ_ENERGY) != 0) {
        double joules = 0.0;
        const int failed = ecoi_rapl_perf_read(&state->perf, &joules);
        energy_j = failed == 0 ? eco_reading_of(joules) : eco_reading_absent(ECO_ABSENT_FAILED);
        out->native_error = failed;
    }
    const int64_t end_ns = ecoi_now_ns();
    out->t_ns = start_ns + (end_ns - start_ns) / 2;
    out->cost_ns = end_ns - start_ns;
    const eco_reading none = eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    out->energy_j = (what & ECO_READ_ENERGY) != 0 ? energy_j : out->energy_j;
    out->power_w = (what & ECO_READ_POWER) != 0 ? none : out->power_w;
    out->power_average_w = (what & ECO_READ_POWER_AVERAGE) != 0 ? none : out->power_average_w;
    out->temp_c = (what & ECO_READ_TEMP) != 0 ? none : out->temp_c;
    out->sm_clock_mhz = (what & ECO_READ_CLOCKS) != 0 ? none : out->sm_clock_mhz;
    out->mem_clock_mhz = (what & ECO_READ_CLOCKS) != 0 ? none : out->mem_clock_mhz;
    out->throttle_read =
        (what & ECO_READ_THROTTLE) != 0 ? ECO_ABSENT_UNSUPPORTED : out->throttle_read;
}

static size_t rapl_parts(void *opened, eco_meter_part *out, size_t capacity) {
    rapl_state *state = opened;
    size_t n = 0;
    for (uint32_t i = 0; i < state->zones.n && n < capacity; i++) {
        eco_rapl_zone *zone = &state->zones.zones[i];
        if (zone->fd < 0) {
            continue;
        }
        eco_meter_part *part = &out[n++];
        *part = (eco_meter_part){.counted = zone->role == RAPL_COUNTED};
        memcpy(part->name, zone->name, sizeof part->name);
        if (!part->counted) { /* a counted zone is followed by rapl_read, which alone may move it */
            (void)zone_follow(zone);
        }
        part->energy_j = zone->failed != 0 ? eco_reading_absent(ECO_ABSENT_FAILED)
                                           : eco_reading_of((double)zone->track.total_uj * 1e-6 -
                                                            rapl_step_back_j * zone->n_gaps);
    }
    return n;
}

static void rapl_trouble(const void *opened, char *out, size_t size) {
    const rapl_state *state = opened;
    if (state->n_gaps > 0) {
        (void)snprintf(out, size,
                       "%u time%s a package counter was reset, or read so late that it may have "
                       "wrapped unseen",
                       state->n_gaps, state->n_gaps == 1 ? "" : "s");
    }
}

extern const eco_meter_driver ecoi_meter_rapl;
const eco_meter_driver ecoi_meter_rapl = {
    .name = "rapl",
    .summary = "CPU: RAPL energy counters of all packages, by powercap or perf",
    .source = ECO_SOURCE_SENSOR,
    .boundary = ECO_BOUNDARY_CPU_PACKAGE,
    /* A model before Haswell, measured since (Hackenberg et al. 2015, doi:10.1109/IPDPSW.2015.70). Studies hold it against
     * meters of the whole machine; no bound for a package alone is known here, so none is used. */
    .declared = {0.10, 2.0, "assumed; no published bound for RAPL package energy is used"},
    .probe = rapl_probe,
    .open = rapl_open,
    .open_index = rapl_open_index,
    .describe = rapl_describe,
    .read = rapl_read,
    .parts = rapl_parts,
    .trouble = rapl_trouble,
    .close = rapl_close,
};
