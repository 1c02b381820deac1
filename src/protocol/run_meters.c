/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA numbers the boards in one order and the meter in another, so a board is looked for by its UUID; the CUDA driver
 * is asked for that without making a context, which would wake the card.
 */
#include "protocol/run_meters.h"

#include "ecocompute/engine.h"

#include "core/alloc.h"
#include "core/str.h"
#include "kernels/cuda_driver.h"
#include "protocol/visible_boards.h"

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

eco_status eco_device_find(const char *device, eco_boundary *out, eco_error *err) {
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
                         "--device: unknown device '%.60s'; expected auto, cpu, cuda, cuda:1, "
                         "cuda:GPU-… or cuda:MIG-…",
                         device);
}

/* Every name of the list is a row that works here. */
static eco_status check_list(const eco_run_plan *plan, eco_error *err) {
    char name[ECO_NAME_MAX];
    for (const char *list = plan->meters; eco_meter_list_next(&list, name, sizeof name);) {
        eco_meter_status status = {0};
        bool known = false;
        for (size_t i = 0; i < eco_meter_count() && !known; i++) {
            eco_meter_probe_with(i, &plan->meter_config, &status);
            known = strcmp(status.name, name) == 0;
        }
        if (!known) {
            return eco_error_set(err, ECO_E_USAGE, 0,
                                 "--meter: unknown meter '%.60s'; `ecocompute meters` lists them",
                                 name);
        }
        if (!status.usable) {
            return eco_error_set(err, ECO_E_UNSUPPORTED, 0, "--meter %s: %s", status.name,
                                 status.reason);
        }
    }
    return ECO_OK;
}

static void open_one(eco_command_watch *watch, const eco_meter_options *options, eco_error *err) {
    eco_meter *meter = NULL;
    if (watch->n_meters == ECO_RUN_METERS_MAX || eco_meter_open(options, &meter, err) != ECO_OK) {
        return;
    }
    eco_watched *w = &watch->meters[watch->n_meters++];
    *w = (eco_watched){.meter = meter};
    eco_meter_describe(meter, &w->info);
    w->has_counter = w->info.energy_field != NULL;
    w->has_power = w->info.power_field != NULL;
}

/* A device of a usable meter that cannot be read does not spoil the others, and is told. */
static void leave_out(eco_command_watch *watch, const eco_error *why, eco_error *err) {
    if (why->code != ECO_OK) {
        (void)ecoi_str_copy(watch->left_out, sizeof watch->left_out, why->message);
        *err = *why;
    }
}

/* Every device of a usable row; of one whose boundary is declared there is one, and it is not opened just to be
 * described, which would start a program twice. */
static void open_row(const eco_run_plan *plan, eco_command_watch *watch, size_t row,
                     const eco_meter_status *status, eco_error *err) {
    eco_meter_status fixed;
    eco_meter_name(row, &fixed);
    eco_meter_options options = {
        .name = status->name, .work = plan->meter_config.boundary, .config = plan->meter_config};
    if (fixed.boundary == ECO_BOUNDARY_NONE) {
        open_one(watch, &options, err);
        return;
    }
    eco_visible_boards visible = {.limited = false};
    if (plan->meters == NULL && fixed.boundary == ECO_BOUNDARY_GPU) {
        ecoi_visible_boards(&visible);
    }
    for (uint32_t i = 0; i < status->n_devices; i++) {
        eco_meter_info info;
        eco_error error = {0};
        if (eco_meter_device_with(row, &plan->meter_config, i, &info, &error) != ECO_OK) {
            leave_out(watch, &error, err);
        } else if (!ecoi_board_visible(&visible, &info.device.boundary)) {
            (void)eco_error_set(err, ECO_E_BOUNDARY_MISMATCH, 0,
                                "%s: CUDA_VISIBLE_DEVICES hides %s from the command", status->name,
                                info.device.name);
        } else if (plan->meters != NULL || info.source == ECO_SOURCE_SENSOR) {
            options.work = info.device.boundary;
            open_one(watch, &options, &error);
            leave_out(watch, &error, err);
        }
    }
}

/* Rows called `name`, or all. A named one of which nothing opens is a failure; else `why` keeps the reason. */
static eco_status open_rows(const eco_run_plan *plan, eco_command_watch *watch, const char *name,
                            char *why, eco_error *err) {
    for (size_t row = 0; row < eco_meter_count(); row++) {
        eco_meter_status status;
        eco_error error = {0};
        eco_meter_name(row, &status);
        if (name != NULL && strcmp(status.name, name) != 0) {
            continue;
        }
        eco_meter_probe_with(row, &plan->meter_config, &status);
        if (!status.usable) {
            if (why[0] == '\0') {
                (void)ecoi_str_copy(why, ECO_ERROR_MESSAGE_MAX, status.reason);
            }
            continue;
        }
        const uint32_t n_before = watch->n_meters;
        open_row(plan, watch, row, &status, &error);
        if (error.message[0] != '\0') {
            (void)ecoi_str_copy(why, ECO_ERROR_MESSAGE_MAX, error.message);
        }
        if (name != NULL && watch->n_meters == n_before) {
            return eco_error_set(err, error.code != ECO_OK ? error.code : ECO_E_UNSUPPORTED,
                                 error.native, "--meter %s: %s", name,
                                 error.message[0] != '\0' ? error.message : "no device opens");
        }
    }
    return ECO_OK;
}

static eco_status open_all(const eco_run_plan *plan, eco_command_watch *watch, char *why,
                           eco_error *err) {
    char name[ECO_NAME_MAX];
    if (plan->meters == NULL) {
        return open_rows(plan, watch, NULL, why, err);
    }
    for (const char *list = plan->meters; eco_meter_list_next(&list, name, sizeof name);) {
        ECO_TRY(open_rows(plan, watch, name, why, err));
    }
    return ECO_OK;
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
        ECO_TRY(check_list(plan, err));
    }
    ECO_TRY(open_all(plan, watch, no_meter, err));
    const eco_status found = eco_device_find(plan->device, &work, &error);
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
