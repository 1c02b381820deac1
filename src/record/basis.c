/* SPDX-License-Identifier: Apache-2.0
 *
 * The name tables of record.h and the small functions on its plain data: readings, bases, boundaries, phases.
 * Mapping a name to a basis gives no right to claim it: only the protocol may call a number measured.
 */
#include "ecocompute/record.h"

#include "core/str.h"

#include <math.h>
#include <string.h>

const char *eco_absence_name(eco_absence absence) {
    switch (absence) {
    case ECO_ABSENT_NOT_READ:
        return "not_read";
    case ECO_PRESENT:
        return "present";
    case ECO_ABSENT_UNSUPPORTED:
        return "unsupported";
    case ECO_ABSENT_PERMISSION:
        return "permission";
    case ECO_ABSENT_STALE:
        return "stale";
    case ECO_ABSENT_FAILED:
        return "failed";
    }
    return "unknown";
}

eco_reading eco_reading_of(double value) {
    if (!isfinite(value)) {
        return eco_reading_absent(ECO_ABSENT_FAILED);
    }
    return (eco_reading){.value = value, .absence = ECO_PRESENT};
}

eco_reading eco_reading_absent(eco_absence why) {
    return (eco_reading){.value = 0, .absence = why == ECO_PRESENT ? ECO_ABSENT_FAILED : why};
}

bool eco_reading_present(eco_reading reading) {
    return reading.absence == ECO_PRESENT;
}

static const char *const basis_names[] = {
    [ECO_BASIS_UNAVAILABLE] = "unavailable",   [ECO_BASIS_MODELLED] = "modelled",
    [ECO_BASIS_ESTIMATED] = "estimated",       [ECO_BASIS_EXTRAPOLATED] = "extrapolated",
    [ECO_BASIS_INTERPOLATED] = "interpolated", [ECO_BASIS_COMPUTED] = "computed",
    [ECO_BASIS_REPLAYED] = "replayed",         [ECO_BASIS_MEASURED] = "measured",
};

enum { N_BASES = sizeof basis_names / sizeof basis_names[0] };

const char *eco_basis_name(eco_basis basis) {
    return (unsigned)basis < N_BASES ? basis_names[basis] : basis_names[ECO_BASIS_UNAVAILABLE];
}

bool eco_basis_parse(const char *name, eco_basis *out) {
    *out = ECO_BASIS_UNAVAILABLE;
    for (unsigned i = 0; i < N_BASES; i++) {
        if (strcmp(name, basis_names[i]) == 0) {
            *out = (eco_basis)i;
            return true;
        }
    }
    return false;
}

eco_basis eco_basis_weaker(eco_basis a, eco_basis b) {
    return a < b ? a : b;
}

const char *eco_boundary_kind_name(eco_boundary_kind kind) {
    switch (kind) {
    case ECO_BOUNDARY_NONE:
        return "none";
    case ECO_BOUNDARY_GPU:
        return "gpu";
    case ECO_BOUNDARY_CPU_PACKAGE:
        return "cpu-package";
    case ECO_BOUNDARY_HOST:
        return "host";
    }
    return "unknown";
}

static bool same_gpu(const eco_boundary *a, const eco_boundary *b) {
    if (a->uuid[0] != '\0' && b->uuid[0] != '\0') {
        return ecoi_str_equal_nocase(a->uuid, b->uuid);
    }
    return a->pci_bus_id[0] != '\0' && ecoi_str_equal_nocase(a->pci_bus_id, b->pci_bus_id);
}

bool eco_boundary_contains(const eco_boundary *meter, const eco_boundary *work) {
    if (work->kind == ECO_BOUNDARY_NONE) {
        return false;
    }
    switch (meter->kind) {
    case ECO_BOUNDARY_NONE:
        return false;
    case ECO_BOUNDARY_GPU:
        return work->kind == ECO_BOUNDARY_GPU && same_gpu(meter, work);
    case ECO_BOUNDARY_CPU_PACKAGE:
        return work->kind == ECO_BOUNDARY_CPU_PACKAGE;
    case ECO_BOUNDARY_HOST:
        return true;
    }
    return false;
}

static const char *const phase_names[ECO_PHASE_COUNT] = {
    [ECO_PHASE_IDLE_BARE] = "idle_bare",
    [ECO_PHASE_IDLE_CONTEXT] = "idle_context",
    [ECO_PHASE_IDLE_LOADED] = "idle_loaded",
    [ECO_PHASE_LOAD] = "load",
    [ECO_PHASE_PROBE] = "probe",
    [ECO_PHASE_BURN_IN] = "burn_in",
    [ECO_PHASE_COOLDOWN] = "cooldown",
    [ECO_PHASE_RAMP] = "ramp",
    [ECO_PHASE_DECODE] = "decode",
    [ECO_PHASE_GENERATION] = "generation",
    [ECO_PHASE_PREFILL] = "prefill",
};

const char *eco_phase_name(eco_phase phase) {
    return (unsigned)phase < ECO_PHASE_COUNT ? phase_names[phase] : "unknown";
}

bool eco_phase_parse(const char *name, size_t length, eco_phase *out) {
    *out = ECO_PHASE_IDLE_BARE;
    for (unsigned i = 0; i < ECO_PHASE_COUNT; i++) {
        if (strlen(phase_names[i]) == length && memcmp(name, phase_names[i], length) == 0) {
            *out = (eco_phase)i;
            return true;
        }
    }
    return false;
}
