/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA numbers the boards in one order and the meter in another, so a board is looked for by its UUID; the CUDA driver
 * is asked for that without making a context, which would wake the card.
 */
#include "protocol/run_meters.h"

#include "core/alloc.h"
#include "core/str.h"
#include "kernels/cuda_driver.h"

#include <stdio.h>
#include <string.h>

static eco_status cuda_boundary(const char *selector, eco_boundary *out, eco_error *err) {
    ecoi_cuda cuda;
    ECO_TRY(ecoi_cuda_load(&cuda, err));
    uint32_t ordinal = 0;
    int device = 0;
    cu_uuid uuid;
    eco_status status = ecoi_cuda_find(&cuda, selector, &ordinal, err);
    if (status == ECO_OK) {
        status =
            ecoi_cuda_check(&cuda, cuda.api.device_get(&device, (int)ordinal), "cuDeviceGet", err);
    }
    if (status == ECO_OK) {
        status =
            ecoi_cuda_check(&cuda, cuda.api.device_uuid(&uuid, device), "cuDeviceGetUuid", err);
    }
    if (status == ECO_OK) {
        out->kind = ECO_BOUNDARY_GPU;
        ecoi_cuda_uuid_text(&uuid, out->uuid);
        char pci[ECO_PCI_MAX] = "";
        if (cuda.api.device_pci_bus_id(pci, sizeof pci, device) == CU_SUCCESS) {
            for (size_t i = 0; pci[i] != '\0'; i++) {
                const char c = pci[i];
                out->pci_bus_id[i] = (char)(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
            }
        }
    }
    ecoi_cuda_unload(&cuda);
    return status;
}

eco_status ecoi_device_boundary(const char *device, eco_boundary *out, eco_error *err) {
    *out = (eco_boundary){0};
    if (device == NULL || strcmp(device, "auto") == 0) {
        eco_error ignored;
        if (cuda_boundary(NULL, out, &ignored) != ECO_OK) {
            *out = (eco_boundary){0};
        }
        return ECO_OK;
    }
    if (strcmp(device, "cpu") == 0) {
        out->kind = ECO_BOUNDARY_CPU_PACKAGE;
        return ECO_OK;
    }
    if (strcmp(device, "cuda") == 0 || ecoi_str_starts_with(device, "cuda:")) {
        const char *selector = device[4] == ':' ? device + 5 : NULL;
        if (selector != NULL && selector[0] == '\0') {
            return eco_error_set(err, ECO_E_USAGE, 0,
                                 "--device: '%s' names no device; expected cuda:1 or cuda:GPU-…",
                                 device);
        }
        return cuda_boundary(selector, out, err);
    }
    return eco_error_set(err, ECO_E_USAGE, 0,
                         "--device: unknown device '%.60s'; expected auto, cpu, cuda, cuda:1 or "
                         "cuda:GPU-…",
                         device);
}

static bool name_listed(const char *list, const char *name) {
    const size_t n = strlen(name);
    for (const char *at = list; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        if (length == n && strncmp(at, name, n) == 0) {
            return true;
        }
        at += length;
        at += *at == ',';
    }
    return false;
}

/* Every name of the list is a row that works here. */
static eco_status check_list(const char *list, eco_error *err) {
    for (const char *at = list; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        eco_meter_status status = {0};
        bool known = false;
        for (size_t i = 0; i < eco_meter_count() && !known; i++) {
            eco_meter_probe(i, &status);
            known = strlen(status.name) == length && strncmp(status.name, at, length) == 0;
        }
        if (!known) {
            return eco_error_set(err, ECO_E_USAGE, 0,
                                 "--meter: unknown meter '%.*s'; `ecocompute meters` lists them",
                                 (int)(length < 60 ? length : 60), at);
        }
        if (!status.usable) {
            return eco_error_set(err, ECO_E_UNSUPPORTED, 0, "--meter %s: %s", status.name,
                                 status.reason);
        }
        at += length;
        at += *at == ',';
    }
    return ECO_OK;
}

static void open_device(eco_command_watch *watch, size_t row, const char *name,
                        uint32_t device_index, bool named, char *why) {
    eco_meter_info info;
    eco_error error = {0};
    eco_meter *meter = NULL;
    if (watch->n_meters == ECO_RUN_METERS_MAX) {
        return;
    }
    if (eco_meter_device(row, device_index, &info, &error) == ECO_OK &&
        (named || info.source == ECO_SOURCE_SENSOR)) {
        const eco_meter_options options = {.name = name, .work = info.device.boundary};
        if (eco_meter_open(&options, &meter, &error) == ECO_OK) {
            eco_watched *w = &watch->meters[watch->n_meters++];
            *w = (eco_watched){.meter = meter};
            eco_meter_describe(meter, &w->info);
            w->has_counter = w->info.energy_field != NULL;
            w->has_power = w->info.power_field != NULL;
            return;
        }
    }
    if (error.message[0] != '\0') {
        (void)ecoi_str_copy(why, ECO_ERROR_MESSAGE_MAX, error.message);
    }
}

static void open_all(const eco_run_plan *plan, eco_command_watch *watch, char *why) {
    for (size_t row = 0; row < eco_meter_count(); row++) {
        eco_meter_status status;
        eco_meter_probe(row, &status);
        const bool named = plan->meters != NULL && name_listed(plan->meters, status.name);
        if (plan->meters != NULL && !named) {
            continue;
        }
        if (!status.usable) {
            if (why[0] == '\0') {
                (void)ecoi_str_copy(why, ECO_ERROR_MESSAGE_MAX, status.reason);
            }
            continue;
        }
        for (uint32_t i = 0; i < status.n_devices; i++) {
            open_device(watch, row, status.name, i, named, why);
        }
    }
}

/* Brings the meter that contains the device to the front. */
static bool headline(eco_command_watch *watch, const eco_boundary *work) {
    for (uint32_t i = 0; i < watch->n_meters; i++) {
        if (eco_boundary_contains(&watch->meters[i].info.device.boundary, work)) {
            const eco_watched found = watch->meters[i];
            memmove(&watch->meters[1], &watch->meters[0], i * sizeof watch->meters[0]);
            watch->meters[0] = found;
            return true;
        }
    }
    return false;
}

static bool asked(const char *device) {
    return device != NULL && strcmp(device, "auto") != 0;
}

static eco_status open_and_choose(const eco_run_plan *plan, eco_command_watch *watch,
                                  char *no_meter, eco_error *err) {
    eco_boundary work = {0};
    eco_error error = {0};
    if (plan->meters != NULL) {
        ECO_TRY(check_list(plan->meters, err));
    }
    open_all(plan, watch, no_meter);
    const eco_status found = ecoi_device_boundary(plan->device, &work, &error);
    if (found == ECO_E_USAGE || (found != ECO_OK && asked(plan->device))) {
        if (err != NULL) {
            *err = error;
        }
        return found;
    }
    const bool chosen = work.kind != ECO_BOUNDARY_NONE && headline(watch, &work);
    if (asked(plan->device) && !chosen) {
        return eco_error_set(err, ECO_E_BOUNDARY_MISMATCH, 0, "--device %s: no meter reads it%s%s",
                             plan->device, no_meter[0] != '\0' ? ": " : "", no_meter);
    }
    if (watch->n_meters > 0) {
        no_meter[0] = '\0';
    } else if (no_meter[0] == '\0') {
        (void)ecoi_str_copy(no_meter, ECO_ERROR_MESSAGE_MAX, "no meter is built in");
    }
    return ECO_OK;
}

eco_status ecoi_run_meters_open(const eco_run_plan *plan, eco_command_watch *watch,
                                char no_meter[ECO_ERROR_MESSAGE_MAX], eco_error *err) {
    no_meter[0] = '\0';
    const eco_status status = open_and_choose(plan, watch, no_meter, err);
    if (status != ECO_OK) {
        ecoi_run_meters_close(watch);
    }
    return status;
}

void ecoi_run_meters_close(eco_command_watch *watch) {
    for (uint32_t i = 0; i < watch->n_meters; i++) {
        eco_meter_close(watch->meters[i].meter);
        ecoi_free(watch->meters[i].rows);
    }
    watch->n_meters = 0;
}
