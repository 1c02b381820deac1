/* SPDX-License-Identifier: Apache-2.0
 *
 * The meter for one NVIDIA GPU. Devices are found by UUID or PCI address, because CUDA's order is
 * not NVML's. What the card can read is found out once, at open, by asking; the least averaged
 * power is taken, and which field it came from is kept. A power of exactly zero on a working card
 * is a failed read, never zero watts.
 */
#include "ecocompute/meter.h"
#include "core/alloc.h"
#include "meters/driver.h"
#include "meters/nvml_table.h"
#include "sys/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NVML_ASK_TRIES = 5, /* at open, for calls that answer "not ready" */
    NVML_ASK_PAUSE_NS = 20 * 1000 * 1000,
    NVML_LIST_TRIES = 4,
    NVML_LIST_FIRST = 64,
    NVML_LIST_MAX = 65536
};

static const double nvml_power_w_max = 100e3;

typedef enum nvml_energy_way {
    NVML_ENERGY_NONE = 0,
    NVML_ENERGY_CALL,
    NVML_ENERGY_FIELD
} nvml_energy_way;

typedef struct nvml_state {
    nvml_library library;
    nvml_handle device;
    eco_device_record record;
    bool has_instant, has_usage;
    nvml_energy_way energy;
    eco_absence no_counter; /* why, where energy is NVML_ENERGY_NONE */
} nvml_state;

/* ---- single readings ---- */

/* Files a result in the sample: what is missing, the vendor's code, and whether the device is gone.
 */
static eco_reading nvml_miss(nvml_return result, eco_meter_sample *sample) {
    const eco_absence absence = ecoi_nvml_absence(result);
    if (absence == ECO_ABSENT_FAILED) {
        sample->native_error = result;
    }
    sample->device_lost = sample->device_lost || ecoi_nvml_lost(result);
    return eco_reading_absent(absence);
}

static bool nvml_field_number(const nvml_field *field, double *out) {
    switch (field->type) {
    case NVML_TYPE_DOUBLE:
        *out = field->value.d;
        return true;
    case NVML_TYPE_UINT:
        *out = (double)field->value.u;
        return true;
    case NVML_TYPE_ULONG:
        *out = (double)field->value.ul;
        return true;
    case NVML_TYPE_ULLONG:
        *out = (double)field->value.ull;
        return true;
    case NVML_TYPE_LLONG:
        *out = (double)field->value.ll;
        return true;
    case NVML_TYPE_INT:
        *out = (double)field->value.i;
        return true;
    case NVML_TYPE_USHORT:
        *out = (double)field->value.us;
        return true;
    default:
        return false;
    }
}

static eco_reading nvml_read_field(const nvml_state *state, uint32_t id, eco_meter_sample *sample) {
    if (state->library.api.fields == NULL) {
        return eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
    nvml_field field = {.field_id = id, .scope_id = NVML_SCOPE_GPU};
    nvml_return result = state->library.api.fields(state->device, 1, &field);
    if (result == NVML_RETURN_SUCCESS) {
        /* A driver that does not know the field calls it a wrong argument. */
        result =
            field.result == NVML_RETURN_INVALID_ARGUMENT ? NVML_RETURN_NOT_SUPPORTED : field.result;
    }
    if (result != NVML_RETURN_SUCCESS) {
        return nvml_miss(result, sample);
    }
    double number = 0.0;
    return nvml_field_number(&field, &number) ? eco_reading_of(number)
                                              : eco_reading_absent(ECO_ABSENT_FAILED);
}

static eco_reading nvml_plausible_w(eco_reading power_mw) {
    if (!eco_reading_present(power_mw)) {
        return power_mw;
    }
    const double power_w = power_mw.value / 1e3;
    if (!(power_w > 0.0) || power_w > nvml_power_w_max) {
        return eco_reading_absent(ECO_ABSENT_FAILED);
    }
    return eco_reading_of(power_w);
}

static eco_reading nvml_read_usage_w(const nvml_state *state, eco_meter_sample *sample) {
    uint32_t power_mw = 0;
    if (state->library.api.power == NULL) {
        return eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
    const nvml_return result = state->library.api.power(state->device, &power_mw);
    if (result != NVML_RETURN_SUCCESS) {
        return nvml_miss(result, sample);
    }
    return nvml_plausible_w(eco_reading_of((double)power_mw));
}

static eco_reading nvml_read_instant_w(const nvml_state *state, eco_meter_sample *sample) {
    return nvml_plausible_w(nvml_read_field(state, NVML_FIELD_POWER_INSTANT, sample));
}

static eco_reading nvml_joules(eco_reading energy_mj) {
    if (!eco_reading_present(energy_mj)) {
        return energy_mj;
    }
    return energy_mj.value < 0.0 ? eco_reading_absent(ECO_ABSENT_FAILED)
                                 : eco_reading_of(energy_mj.value / 1e3);
}

static eco_reading nvml_read_counter_j(const nvml_state *state, eco_meter_sample *sample) {
    unsigned long long energy_mj = 0;
    if (state->library.api.energy == NULL) {
        return eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
    const nvml_return result = state->library.api.energy(state->device, &energy_mj);
    return result == NVML_RETURN_SUCCESS ? nvml_joules(eco_reading_of((double)energy_mj))
                                         : nvml_miss(result, sample);
}

static eco_reading nvml_read_energy_field_j(const nvml_state *state, eco_meter_sample *sample) {
    return nvml_joules(nvml_read_field(state, NVML_FIELD_TOTAL_ENERGY, sample));
}

static eco_reading nvml_read_energy_j(const nvml_state *state, eco_meter_sample *sample) {
    switch (state->energy) {
    case NVML_ENERGY_CALL:
        return nvml_read_counter_j(state, sample);
    case NVML_ENERGY_FIELD:
        return nvml_read_energy_field_j(state, sample);
    case NVML_ENERGY_NONE:
    default:
        return eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
}

static eco_reading nvml_read_number_of(const nvml_state *state, nvml_read_of *call, uint32_t which,
                                       eco_meter_sample *sample) {
    uint32_t value = 0;
    if (call == NULL) {
        return eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
    const nvml_return result = call(state->device, which, &value);
    return result == NVML_RETURN_SUCCESS ? eco_reading_of((double)value)
                                         : nvml_miss(result, sample);
}

static eco_reading nvml_read_number(const nvml_state *state, nvml_read_u32 *call) {
    uint32_t value = 0;
    if (call == NULL) {
        return eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
    const nvml_return result = call(state->device, &value);
    return result == NVML_RETURN_SUCCESS ? eco_reading_of((double)value)
                                         : eco_reading_absent(ecoi_nvml_absence(result));
}

static eco_reading nvml_read_current(const nvml_state *state, nvml_read_mode *call) {
    uint32_t current = 0;
    uint32_t pending = 0;
    if (call == NULL) {
        return eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
    const nvml_return result = call(state->device, &current, &pending);
    return result == NVML_RETURN_SUCCESS ? eco_reading_of(current != 0 ? 1.0 : 0.0)
                                         : eco_reading_absent(ecoi_nvml_absence(result));
}

static uint32_t nvml_throttle_bits(unsigned long long reasons) {
    static const struct {
        uint32_t reason, bit;
    } map[] = {
        {NVML_REASON_GPU_IDLE, 0}, /* idle is no throttle */
        {NVML_REASON_APPLICATION_CLOCKS, ECO_THROTTLE_USER_CLOCKS},
        {NVML_REASON_SW_POWER_CAP, ECO_THROTTLE_POWER_CAP},
        {NVML_REASON_HW_SLOWDOWN, ECO_THROTTLE_OTHER},
        {NVML_REASON_SYNC_BOOST, ECO_THROTTLE_OTHER},
        {NVML_REASON_SW_THERMAL, ECO_THROTTLE_THERMAL},
        {NVML_REASON_HW_THERMAL, ECO_THROTTLE_THERMAL},
        {NVML_REASON_HW_POWER_BRAKE, ECO_THROTTLE_POWER_BRAKE},
        {NVML_REASON_DISPLAY_CLOCKS, ECO_THROTTLE_USER_CLOCKS},
    };
    /* The hardware slowdown bit is a summary: it says more only where neither of its causes is
     * named. */
    if ((reasons & (NVML_REASON_HW_THERMAL | NVML_REASON_HW_POWER_BRAKE)) != 0) {
        reasons &= ~(unsigned long long)NVML_REASON_HW_SLOWDOWN;
    }
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++) {
        if ((reasons & map[i].reason) != 0) {
            bits |= map[i].bit;
            reasons &= ~(unsigned long long)map[i].reason;
        }
    }
    return reasons != 0 ? bits | ECO_THROTTLE_OTHER : bits;
}

static void nvml_read_throttle(const nvml_state *state, eco_meter_sample *sample) {
    unsigned long long reasons = 0;
    if (state->library.api.throttle == NULL) {
        sample->throttle_read = ECO_ABSENT_UNSUPPORTED;
        return;
    }
    const nvml_return result = state->library.api.throttle(state->device, &reasons);
    if (result != NVML_RETURN_SUCCESS) {
        sample->throttle_read = nvml_miss(result, sample).absence;
        return;
    }
    sample->throttle_read = ECO_PRESENT;
    sample->throttle = nvml_throttle_bits(reasons);
}

static void nvml_read(void *opened, uint32_t what, eco_meter_sample *out) {
    const nvml_state *state = opened;
    const nvml_api *api = &state->library.api;
    const int64_t start_ns = ecoi_now_ns();
    if ((what & ECO_READ_POWER) != 0) {
        out->power_w =
            state->has_instant ? nvml_read_instant_w(state, out) : nvml_read_usage_w(state, out);
    }
    if ((what & ECO_READ_POWER_AVERAGE) != 0) {
        out->power_average_w = state->has_instant && state->has_usage
                                   ? nvml_read_usage_w(state, out)
                                   : eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
    if ((what & ECO_READ_ENERGY) != 0) {
        out->energy_j = nvml_read_energy_j(state, out);
    }
    if ((what & ECO_READ_TEMP) != 0) {
        out->temp_c = nvml_read_number_of(state, api->temperature, NVML_SENSOR_GPU, out);
    }
    if ((what & ECO_READ_CLOCKS) != 0) {
        out->sm_clock_mhz = nvml_read_number_of(state, api->clock, NVML_CLOCK_OF_SM, out);
        out->mem_clock_mhz = nvml_read_number_of(state, api->clock, NVML_CLOCK_OF_MEM, out);
    }
    if ((what & ECO_READ_THROTTLE) != 0) {
        nvml_read_throttle(state, out);
    }
    const int64_t end_ns = ecoi_now_ns();
    out->t_ns = start_ns + (end_ns - start_ns) / 2;
    out->cost_ns = end_ns - start_ns;
}

/* ---- identity ---- */

static void nvml_text_of(const nvml_state *state, nvml_read_text *call, char *out, size_t size) {
    out[0] = '\0';
    if (call != NULL && call(state->device, out, (uint32_t)size) != NVML_RETURN_SUCCESS) {
        out[0] = '\0';
    }
    out[size - 1] = '\0';
}

static void nvml_pci_of(const nvml_state *state, char out[ECO_PCI_MAX]) {
    nvml_pci pci;
    memset(&pci, 0, sizeof pci);
    out[0] = '\0';
    if (state->library.api.pci != NULL &&
        state->library.api.pci(state->device, &pci) == NVML_RETURN_SUCCESS) {
        /* A GPU is always function 0 of its slot. */
        (void)snprintf(out, ECO_PCI_MAX, "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
    }
}

static void nvml_identity(nvml_state *state, uint32_t index) {
    const nvml_api *api = &state->library.api;
    eco_device_record *record = &state->record;
    memset(record, 0, sizeof *record);
    record->boundary.kind = ECO_BOUNDARY_GPU;
    record->vendor_index = index;
    nvml_text_of(state, api->uuid, record->boundary.uuid, sizeof record->boundary.uuid);
    nvml_pci_of(state, record->boundary.pci_bus_id);
    nvml_text_of(state, api->name, record->name, sizeof record->name);
}

static void nvml_record(nvml_state *state) {
    const nvml_api *api = &state->library.api;
    eco_device_record *record = &state->record;
    eco_meter_sample unused = {0};
    nvml_memory memory = {0};
    nvml_text_of(state, api->vbios, record->vbios, sizeof record->vbios);
    if (api->driver_version != NULL &&
        api->driver_version(record->driver, sizeof record->driver) != NVML_RETURN_SUCCESS) {
        record->driver[0] = '\0';
    }
    (void)snprintf(record->library_path, sizeof record->library_path, "%s",
                   ecoi_dl_path(state->library.dl));
    record->library_known = ecoi_dl_path_known(state->library.dl);
    if (api->compute_capability == NULL ||
        api->compute_capability(state->device, &record->cc_major, &record->cc_minor) !=
            NVML_RETURN_SUCCESS) {
        record->cc_major = -1;
        record->cc_minor = -1;
    }
    record->power_limit_w = nvml_plausible_w(nvml_read_number(state, api->power_limit));
    record->power_limit_default_w =
        nvml_plausible_w(nvml_read_number(state, api->power_limit_default));
    const nvml_return result =
        api->memory != NULL ? api->memory(state->device, &memory) : NVML_RETURN_NOT_SUPPORTED;
    record->memory_bytes = result == NVML_RETURN_SUCCESS
                               ? eco_reading_of((double)memory.total_bytes)
                               : eco_reading_absent(ecoi_nvml_absence(result));
    record->ecc_enabled = nvml_read_current(state, api->ecc);
    record->mig_enabled = nvml_read_current(state, api->mig);
    record->persistence_enabled = nvml_read_number(state, api->persistence);
    record->sm_clock_max_mhz =
        nvml_read_number_of(state, api->clock_max, NVML_CLOCK_OF_SM, &unused);
    record->mem_clock_max_mhz =
        nvml_read_number_of(state, api->clock_max, NVML_CLOCK_OF_MEM, &unused);
}

/* ---- finding the device ---- */

static eco_status nvml_handle_at(nvml_state *state, uint32_t index, eco_error *err) {
    const nvml_return result = state->library.api.by_index(index, &state->device);
    if (result != NVML_RETURN_SUCCESS) {
        return eco_error_set(err, ecoi_nvml_status(result), result, "nvml: device %u: %s", index,
                             ecoi_nvml_text(&state->library.api, result));
    }
    nvml_identity(state, index);
    return ECO_OK;
}

static eco_status nvml_count(const nvml_library *library, uint32_t *out, eco_error *err) {
    *out = 0;
    const nvml_return result = library->api.device_count(out);
    if (result != NVML_RETURN_SUCCESS) {
        return eco_error_set(err, ecoi_nvml_status(result), result, "nvml: device count: %s",
                             ecoi_nvml_text(&library->api, result));
    }
    if (*out == 0) {
        return eco_error_set(err, ECO_E_NOT_FOUND, 0, "nvml: %s sees no GPU",
                             ecoi_dl_path(library->dl));
    }
    return ECO_OK;
}

/* The UUID of the whole GPU that a MIG instance is cut from. Old ids spell it, new ones must be
 * asked for. */
static eco_status nvml_mig_parent(nvml_state *state, const char *mig, char out[ECO_UUID_MAX],
                                  eco_error *err) {
    static const char old_form[] = "MIG-GPU-";
    const nvml_api *api = &state->library.api;
    if (strncmp(mig, old_form, sizeof old_form - 1) == 0) {
        const char *parent = mig + 4;
        (void)snprintf(out, ECO_UUID_MAX, "%.*s", (int)strcspn(parent, "/"), parent);
        return ECO_OK;
    }
    nvml_handle instance = NULL;
    nvml_return result = NVML_RETURN_FUNCTION_NOT_FOUND;
    if (api->by_uuid != NULL && api->parent_of_mig != NULL && api->uuid != NULL) {
        result = api->by_uuid(mig, &instance);
        if (result == NVML_RETURN_SUCCESS) {
            result = api->parent_of_mig(instance, &state->device);
        }
    }
    if (result == NVML_RETURN_SUCCESS) {
        result = api->uuid(state->device, out, ECO_UUID_MAX);
    }
    if (result != NVML_RETURN_SUCCESS) {
        return eco_error_set(err, ECO_E_BOUNDARY_MISMATCH, result,
                             "nvml: the GPU of MIG instance %s: %s", mig,
                             ecoi_nvml_text(api, result));
    }
    return ECO_OK;
}

typedef enum nvml_match { NVML_MATCH_NO = 0, NVML_MATCH_PREFIX, NVML_MATCH_EXACT } nvml_match;

static nvml_match nvml_match_of(const eco_boundary *here, const char *uuid, const char *pci) {
    if (uuid[0] != '\0' && here->uuid[0] != '\0') {
        if (strcmp(here->uuid, uuid) == 0) {
            return NVML_MATCH_EXACT;
        }
        const bool prefix = strlen(uuid) > 4 && strncmp(here->uuid, uuid, strlen(uuid)) == 0;
        return prefix ? NVML_MATCH_PREFIX : NVML_MATCH_NO;
    }
    return pci[0] != '\0' && strcmp(here->pci_bus_id, pci) == 0 ? NVML_MATCH_EXACT : NVML_MATCH_NO;
}

/* In MIG mode CUDA tells the UUID of the instance (CUDA driver API, cuDeviceGetUuid_v2), which is no GPU's; the PCI
 * address is still the whole card's. Leaves the state on that card. */
static bool nvml_find_sliced(nvml_state *state, const char *pci, uint32_t n_devices) {
    for (uint32_t i = 0; pci[0] != '\0' && i < n_devices; i++) {
        if (nvml_handle_at(state, i, NULL) == ECO_OK &&
            strcmp(state->record.boundary.pci_bus_id, pci) == 0) {
            const eco_reading mig = nvml_read_current(state, state->library.api.mig);
            return eco_reading_present(mig) && mig.value > 0.5;
        }
    }
    return false;
}

/* Goes through all devices; leaves the state on the one that *work names. */
static eco_status nvml_find(nvml_state *state, const eco_boundary *work, eco_error *err) {
    uint32_t n_devices = 0;
    uint32_t n_matches = 0;
    uint32_t found = 0;
    char uuid[ECO_UUID_MAX];
    char pci[ECO_PCI_MAX] = "";
    ECO_TRY(nvml_count(&state->library, &n_devices, err));
    (void)snprintf(uuid, sizeof uuid, "%s", work->uuid);
    if (strncmp(uuid, "MIG-", 4) == 0) {
        ECO_TRY(nvml_mig_parent(state, work->uuid, uuid, err));
    }
    if (work->pci_bus_id[0] != '\0' && !ecoi_nvml_pci_normal(work->pci_bus_id, pci)) {
        return eco_error_set(err, ECO_E_PARSE, 0, "nvml: '%s' is not a PCI address (0000:65:00.0)",
                             work->pci_bus_id);
    }
    for (uint32_t i = 0; i < n_devices; i++) {
        if (nvml_handle_at(state, i, NULL) != ECO_OK) {
            continue; /* a lost sibling is no reason to refuse this one */
        }
        const nvml_match match = nvml_match_of(&state->record.boundary, uuid, pci);
        if (match == NVML_MATCH_EXACT) {
            return ECO_OK;
        }
        if (match == NVML_MATCH_PREFIX) {
            n_matches++;
            found = i;
        }
    }
    if (n_matches == 1) {
        return nvml_handle_at(state, found, err);
    }
    if (n_matches == 0 && nvml_find_sliced(state, pci, n_devices)) {
        return ECO_OK;
    }
    return eco_error_set(err, ECO_E_BOUNDARY_MISMATCH, 0, "nvml: %s GPU is %s%s%s (%u seen)",
                         n_matches > 1 ? "more than one" : "no", uuid,
                         uuid[0] != '\0' && pci[0] != '\0' ? " at " : "", pci, n_devices);
}

/* ---- what the device can read ---- */

typedef eco_reading nvml_reader(const nvml_state *state, eco_meter_sample *sample);

/* Asks until it answers or refuses: a card can say "not ready" for a moment after a reset. */
static eco_reading nvml_ask(const nvml_state *state, nvml_reader *reader,
                            eco_meter_sample *sample) {
    eco_reading reading = eco_reading_absent(ECO_ABSENT_NOT_READ);
    for (int i = 0; i < NVML_ASK_TRIES; i++) {
        sample->native_error = 0;
        reading = reader(state, sample);
        if (reading.absence != ECO_ABSENT_FAILED || sample->device_lost) {
            break;
        }
        if (i + 1 < NVML_ASK_TRIES) {
            ecoi_sleep_until_ns(ecoi_now_ns() + NVML_ASK_PAUSE_NS);
        }
    }
    return reading;
}

static eco_status nvml_capabilities(nvml_state *state, eco_error *err) {
    eco_meter_sample sample = {0};
    const eco_device_record *record = &state->record;
    const eco_reading instant = nvml_ask(state, nvml_read_instant_w, &sample);
    const eco_reading usage = nvml_ask(state, nvml_read_usage_w, &sample);
    const int64_t power_error = sample.native_error;
    const eco_reading counter = nvml_ask(state, nvml_read_counter_j, &sample);
    state->has_instant = eco_reading_present(instant);
    state->has_usage = eco_reading_present(usage);
    state->no_counter = counter.absence;
    eco_reading field = eco_reading_absent(ECO_ABSENT_NOT_READ);
    if (eco_reading_present(counter)) {
        state->energy = NVML_ENERGY_CALL;
    } else {
        field = nvml_ask(state, nvml_read_energy_field_j, &sample);
        state->energy = eco_reading_present(field) ? NVML_ENERGY_FIELD : NVML_ENERGY_NONE;
    }
    if (sample.device_lost) {
        return eco_error_set(err, ECO_E_DEVICE_LOST, sample.native_error,
                             "nvml: %s %s: device lost", record->name, record->boundary.uuid);
    }
    if (state->has_instant || state->has_usage || state->energy != NVML_ENERGY_NONE) {
        return ECO_OK;
    }
    if (usage.absence == ECO_ABSENT_PERMISSION || counter.absence == ECO_ABSENT_PERMISSION) {
        return eco_error_set(err, ECO_E_PERMISSION, NVML_RETURN_NO_PERMISSION,
                             "nvml: %s %s: no permission to read power or energy", record->name,
                             record->boundary.uuid);
    }
    return eco_error_set(err, ECO_E_UNSUPPORTED, power_error,
                         "nvml: %s %s offers neither power (%s) nor an energy counter (%s)",
                         record->name, record->boundary.uuid, eco_absence_name(usage.absence),
                         eco_absence_name(counter.absence));
}

/* ---- the driver ---- */

static void nvml_close(void *opened) {
    nvml_state *state = opened;
    if (state != NULL) {
        ecoi_nvml_unload(&state->library);
        ecoi_free(state);
    }
}

static eco_status nvml_start(nvml_state **out, eco_error *err) {
    *out = NULL;
    nvml_state *state = ecoi_calloc(1, sizeof *state);
    if (state == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "nvml: out of memory");
    }
    const eco_status status = ecoi_nvml_load(&state->library, err);
    if (status != ECO_OK) {
        ecoi_free(state);
        return status;
    }
    *out = state;
    return ECO_OK;
}

static eco_status nvml_open_index(const eco_meter_config *config, uint32_t index, void **out,
                                  eco_error *err) {
    (void)config; /* the loader finds the library; nothing is told */
    *out = NULL;
    nvml_state *state = NULL;
    uint32_t n_devices = 0;
    ECO_TRY(nvml_start(&state, err));
    eco_status status = nvml_count(&state->library, &n_devices, err);
    if (status == ECO_OK && index >= n_devices) {
        status =
            eco_error_set(err, ECO_E_RANGE, 0, "nvml: no device %u (%u seen)", index, n_devices);
    }
    if (status == ECO_OK) {
        status = nvml_handle_at(state, index, err);
    }
    if (status == ECO_OK) {
        nvml_record(state);
        status = nvml_capabilities(state, err);
    }
    if (status != ECO_OK) {
        nvml_close(state);
        return status;
    }
    *out = state;
    return ECO_OK;
}

static eco_status nvml_open(const eco_meter_options *options, void **out, eco_error *err) {
    const eco_boundary *work = &options->work;
    *out = NULL;
    if (work->kind == ECO_BOUNDARY_NONE) {
        return nvml_open_index(&options->config, 0, out, err);
    }
    if (work->kind != ECO_BOUNDARY_GPU) {
        return eco_error_set(err, ECO_E_BOUNDARY_MISMATCH, 0, "nvml: sees one GPU, not a %s",
                             eco_boundary_kind_name(work->kind));
    }
    nvml_state *state = NULL;
    ECO_TRY(nvml_start(&state, err));
    eco_status status = nvml_find(state, work, err);
    if (status == ECO_OK) {
        nvml_record(state);
        status = nvml_capabilities(state, err);
    }
    if (status != ECO_OK) {
        nvml_close(state);
        return status;
    }
    *out = state;
    return ECO_OK;
}

static void nvml_describe(const void *opened, eco_meter_info *out) {
    const nvml_state *state = opened;
    out->scope = "gpu";
    out->measurement_source = "direct-nvml";
    out->method = state->energy != NVML_ENERGY_NONE
                      ? "NVML energy counter between ticks, integrated NVML power as check"
                  : state->no_counter == ECO_ABSENT_UNSUPPORTED
                      ? "integrated NVML power (no energy counter)"
                  : state->no_counter == ECO_ABSENT_PERMISSION
                      ? "integrated NVML power (no permission to read the energy counter)"
                      : "integrated NVML power (the energy counter answers with an error)";
    out->device = state->record;
    if (state->has_instant) {
        out->power_field = "NVML_FI_DEV_POWER_INSTANT";
        out->average_field = state->has_usage ? "nvmlDeviceGetPowerUsage" : NULL;
    } else if (state->has_usage) {
        out->power_field = "nvmlDeviceGetPowerUsage";
    }
    if (state->energy == NVML_ENERGY_CALL) {
        out->energy_field = "nvmlDeviceGetTotalEnergyConsumption";
    } else if (state->energy == NVML_ENERGY_FIELD) {
        out->energy_field = "NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION";
    }
}

static void nvml_probe(const eco_meter_config *config, eco_meter_status *out) {
    (void)config;
    nvml_library library;
    eco_error why = {0};
    if (ecoi_nvml_load(&library, &why) != ECO_OK) {
        (void)snprintf(out->reason, sizeof out->reason, "%s", why.message);
        return;
    }
    char driver[ECO_NAME_MAX] = "";
    if (nvml_count(&library, &out->n_devices, &why) != ECO_OK) {
        (void)snprintf(out->reason, sizeof out->reason, "%s", why.message);
    } else {
        if (library.api.driver_version != NULL) {
            (void)library.api.driver_version(driver, sizeof driver);
        }
        out->usable = true;
        (void)snprintf(out->reason, sizeof out->reason, "driver %s, %s",
                       driver[0] != '\0' ? driver : "unknown", ecoi_dl_path(library.dl));
    }
    ecoi_nvml_unload(&library);
}

/* ---- other users of the device ---- */

/* One process list in the newest form the driver has; *out is malloc'ed. */
static nvml_return nvml_list(const nvml_state *state, size_t which, nvml_process_v2 **out,
                             uint32_t *n_out) {
    const nvml_api *api = &state->library.api;
    nvml_read_processes_v2 *const newer[] = {api->processes_v3[which], api->processes_v2[which]};
    nvml_return result = NVML_RETURN_FUNCTION_NOT_FOUND;
    uint32_t room = NVML_LIST_FIRST;
    *out = NULL;
    *n_out = 0;
    for (int i = 0; i < NVML_LIST_TRIES && room <= NVML_LIST_MAX; i++) {
        nvml_process_v2 *list = ecoi_calloc(room, sizeof *list);
        if (list == NULL) {
            return NVML_RETURN_INSUFFICIENT_SIZE;
        }
        uint32_t n = room;
        result = NVML_RETURN_FUNCTION_NOT_FOUND;
        for (size_t k = 0; k < 2 && result == NVML_RETURN_FUNCTION_NOT_FOUND; k++) {
            n = room;
            result = newer[k] != NULL ? newer[k](state->device, &n, list) : result;
        }
        if (result == NVML_RETURN_FUNCTION_NOT_FOUND && api->processes_v1[which] != NULL) {
            nvml_process_v1 *old = ecoi_calloc(room, sizeof *old);
            n = room;
            result = old != NULL ? api->processes_v1[which](state->device, &n, old)
                                 : NVML_RETURN_INSUFFICIENT_SIZE;
            for (uint32_t k = 0; result == NVML_RETURN_SUCCESS && k < n && k < room; k++) {
                list[k] = (nvml_process_v2){.pid = old[k].pid, .used_bytes = old[k].used_bytes};
            }
            ecoi_free(old);
        }
        if (result == NVML_RETURN_SUCCESS) {
            *out = list;
            *n_out = n < room ? n : room;
            return result;
        }
        ecoi_free(list);
        if (result != NVML_RETURN_INSUFFICIENT_SIZE) {
            return result;
        }
        room =
            n > room ? n + NVML_LIST_FIRST : room * 2; /* processes may start between two calls */
    }
    return result;
}

static void nvml_process_name(const nvml_state *state, uint32_t pid, char out[ECO_NAME_MAX]) {
    char path[64];
    out[0] = '\0';
    if (state->library.api.process_name != NULL &&
        state->library.api.process_name(pid, out, ECO_NAME_MAX) == NVML_RETURN_SUCCESS &&
        out[0] != '\0') {
        out[ECO_NAME_MAX - 1] = '\0';
        return;
    }
    out[0] = '\0';
    (void)snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    if (fgets(out, ECO_NAME_MAX, file) == NULL) {
        out[0] = '\0';
    }
    out[strcspn(out, "\n")] = '\0';
    (void)fclose(file);
}

static bool nvml_pid_seen(const nvml_process_v2 *seen, size_t n_seen, uint32_t pid) {
    for (size_t i = 0; i < n_seen; i++) {
        if (seen[i].pid == pid) {
            return true;
        }
    }
    return false;
}

/* Appends what `list` has that *all has not; false when out of memory. */
static bool nvml_union(nvml_process_v2 **all, size_t *n_all, const nvml_process_v2 *list,
                       uint32_t n_list) {
    if (n_list == 0) {
        return true;
    }
    nvml_process_v2 *grown = ecoi_realloc(*all, (*n_all + n_list) * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    *all = grown;
    for (uint32_t i = 0; i < n_list; i++) {
        if (list[i].pid != 0 && list[i].pid != (uint32_t)getpid() &&
            !nvml_pid_seen(*all, *n_all, list[i].pid)) {
            grown[(*n_all)++] = list[i];
        }
    }
    return true;
}

static eco_status nvml_tenants(void *opened, eco_tenant *out, size_t capacity, size_t *n_out,
                               eco_error *err) {
    const nvml_state *state = opened;
    nvml_process_v2 *all = NULL;
    size_t n_all = 0;
    bool answered = false;
    eco_status status = ECO_OK;
    nvml_return refused = NVML_RETURN_FUNCTION_NOT_FOUND;
    for (size_t which = 0; which < NVML_PROCESS_LISTS && status == ECO_OK; which++) {
        nvml_process_v2 *list = NULL;
        uint32_t n_list = 0;
        const nvml_return result = nvml_list(state, which, &list, &n_list);
        answered = answered || result == NVML_RETURN_SUCCESS;
        refused = result != NVML_RETURN_SUCCESS && which == 0 ? result : refused;
        if (!nvml_union(&all, &n_all, list, n_list)) {
            status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "nvml: process list: out of memory");
        }
        ecoi_free(list);
    }
    if (status == ECO_OK && !answered) {
        status = eco_error_set(err, ecoi_nvml_status(refused), refused,
                               "nvml: %s: process list: %s", state->record.boundary.uuid,
                               ecoi_nvml_text(&state->library.api, refused));
    }
    for (size_t i = 0; status == ECO_OK && i < n_all && i < capacity; i++) {
        out[i].pid = all[i].pid;
        out[i].memory_bytes = all[i].used_bytes == UINT64_MAX
                                  ? eco_reading_absent(ECO_ABSENT_UNSUPPORTED)
                                  : eco_reading_of((double)all[i].used_bytes);
        nvml_process_name(state, all[i].pid, out[i].name);
    }
    *n_out = status == ECO_OK ? n_all : 0;
    ecoi_free(all);
    return status;
}

extern const eco_meter_driver ecoi_meter_nvml;
const eco_meter_driver ecoi_meter_nvml = {
    .name = "nvml",
    .summary = "NVIDIA GPU: board power and energy counter",
    .source = ECO_SOURCE_SENSOR,
    .boundary = ECO_BOUNDARY_GPU,
    .declared = {0.05, 5.0, "assumed for the board; NVML documents ±5 % for Fermi and Kepler only"},
    .probe = nvml_probe,
    .open = nvml_open,
    .open_index = nvml_open_index,
    .describe = nvml_describe,
    .read = nvml_read,
    .tenants = nvml_tenants,
    .close = nvml_close,
};
