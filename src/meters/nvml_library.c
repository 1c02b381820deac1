/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds and initialises NVML. Only what no measurement can do without is required of the library;
 * all else may be missing and shows as an absent reading, so one binary serves every driver
 * release. Availability is decided by the code a call returns, never by a table of architectures.
 */
#include "meters/nvml_table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Where drivers and container runtimes put the library when the loader does not know of it. */
static const char *const nvml_folders[] = {
#if defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu",
#else
    "/usr/lib/x86_64-linux-gnu",
#endif
    "/usr/lib64",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib/nvidia",
    "/run/opengl-driver/lib",
    "/usr/lib64/nvidia",
    NULL};

#define NVML_AT(member) offsetof(nvml_api, member)
#define NVML_PROCESSES(kind, k)                                                                  \
    {.names = {"nvmlDeviceGet" kind "RunningProcesses_v3"}, .offset = NVML_AT(processes_v3[k])}, \
        {.names = {"nvmlDeviceGet" kind "RunningProcesses_v2"},                                  \
         .offset = NVML_AT(processes_v2[k])},                                                    \
    {                                                                                            \
        .names = {"nvmlDeviceGet" kind "RunningProcesses"}, .offset = NVML_AT(processes_v1[k])   \
    }

static const eco_dl_symbol nvml_symbols[] = {
    {.names = {"nvmlInit_v2", "nvmlInit"}, .offset = NVML_AT(init), .required = true},
    {.names = {"nvmlShutdown"}, .offset = NVML_AT(shutdown), .required = true},
    {.names = {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"},
     .offset = NVML_AT(device_count),
     .required = true},
    {.names = {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"},
     .offset = NVML_AT(by_index),
     .required = true},
    {.names = {"nvmlErrorString"}, .offset = NVML_AT(error_text)},
    {.names = {"nvmlSystemGetDriverVersion"}, .offset = NVML_AT(driver_version)},
    {.names = {"nvmlSystemGetProcessName"}, .offset = NVML_AT(process_name)},
    {.names = {"nvmlDeviceGetHandleByUUID"}, .offset = NVML_AT(by_uuid)},
    {.names = {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle"}, .offset = NVML_AT(parent_of_mig)},
    {.names = {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"},
     .offset = NVML_AT(pci)},
    {.names = {"nvmlDeviceGetMemoryInfo"}, .offset = NVML_AT(memory)},
    {.names = {"nvmlDeviceGetCudaComputeCapability"}, .offset = NVML_AT(compute_capability)},
    {.names = {"nvmlDeviceGetFieldValues"}, .offset = NVML_AT(fields)},
    {.names = {"nvmlDeviceGetUUID"}, .offset = NVML_AT(uuid)},
    {.names = {"nvmlDeviceGetName"}, .offset = NVML_AT(name)},
    {.names = {"nvmlDeviceGetVbiosVersion"}, .offset = NVML_AT(vbios)},
    {.names = {"nvmlDeviceGetPowerUsage"}, .offset = NVML_AT(power)},
    {.names = {"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit"},
     .offset = NVML_AT(power_limit)},
    {.names = {"nvmlDeviceGetPowerManagementDefaultLimit"}, .offset = NVML_AT(power_limit_default)},
    {.names = {"nvmlDeviceGetPersistenceMode"}, .offset = NVML_AT(persistence)},
    {.names = {"nvmlDeviceGetTotalEnergyConsumption"}, .offset = NVML_AT(energy)},
    {.names = {"nvmlDeviceGetCurrentClocksEventReasons",
               "nvmlDeviceGetCurrentClocksThrottleReasons"},
     .offset = NVML_AT(throttle)},
    {.names = {"nvmlDeviceGetMigMode"}, .offset = NVML_AT(mig)},
    {.names = {"nvmlDeviceGetEccMode"}, .offset = NVML_AT(ecc)},
    {.names = {"nvmlDeviceGetTemperature"}, .offset = NVML_AT(temperature)},
    {.names = {"nvmlDeviceGetClockInfo"}, .offset = NVML_AT(clock)},
    {.names = {"nvmlDeviceGetMaxClockInfo"}, .offset = NVML_AT(clock_max)},
    NVML_PROCESSES("Compute", 0),
    NVML_PROCESSES("Graphics", 1),
    NVML_PROCESSES("MPSCompute", 2),
};

static const eco_dl_library nvml_dl = {
    .soname = "libnvidia-ml.so.1",
    .folders = nvml_folders,
    .symbols = nvml_symbols,
    .n_symbols = sizeof nvml_symbols / sizeof nvml_symbols[0],
};

static eco_status nvml_init_failed(const nvml_library *library, nvml_return result,
                                   eco_error *err) {
    const char *hint = "";
    if (result == NVML_RETURN_LIB_RM_VERSION_MISMATCH) {
        hint = "; the loaded kernel module is of another version: reboot, or reload it";
    } else if (result == NVML_RETURN_DRIVER_NOT_LOADED) {
        hint = "; in a container: --gpus all";
    } else if (result == NVML_RETURN_NO_PERMISSION) {
        hint = "; the device files /dev/nvidia* are closed to this user";
    }
    return eco_error_set(err, ecoi_nvml_status(result), result, "nvml: %s: init: %s%s",
                         ecoi_dl_path(library->dl), ecoi_nvml_text(&library->api, result), hint);
}

eco_status ecoi_nvml_load(nvml_library *out, eco_error *err) {
    memset(out, 0, sizeof *out);
    eco_error why = {0};
    const eco_status status = ecoi_dl_open(&nvml_dl, &out->api, &out->dl, &why);
    if (status != ECO_OK) {
        const char *hint =
            status == ECO_E_NOT_FOUND ? "; container: --gpus all, utility capability" : "";
        return eco_error_set(err, status, why.native, "%s%s", why.message, hint);
    }
    const nvml_return result = out->api.init();
    if (result != NVML_RETURN_SUCCESS) {
        const eco_status failed = nvml_init_failed(out, result, err);
        ecoi_dl_close(out->dl);
        memset(out, 0, sizeof *out);
        return failed;
    }
    return ECO_OK;
}

void ecoi_nvml_unload(nvml_library *library) {
    if (library->dl != NULL) {
        (void)library->api.shutdown();
        ecoi_dl_close(library->dl);
    }
    memset(library, 0, sizeof *library);
}

const char *ecoi_nvml_text(const nvml_api *api, nvml_return result) {
    const char *text = api->error_text != NULL ? api->error_text(result) : NULL;
    return text != NULL ? text : "NVML error";
}

bool ecoi_nvml_lost(nvml_return result) {
    return result == NVML_RETURN_GPU_IS_LOST || result == NVML_RETURN_RESET_REQUIRED ||
           result == NVML_RETURN_GPU_NOT_FOUND;
}

eco_absence ecoi_nvml_absence(nvml_return result) {
    switch (result) {
    case NVML_RETURN_SUCCESS:
        return ECO_PRESENT;
    case NVML_RETURN_NOT_SUPPORTED:
    case NVML_RETURN_FUNCTION_NOT_FOUND:
        return ECO_ABSENT_UNSUPPORTED;
    case NVML_RETURN_NO_PERMISSION:
        return ECO_ABSENT_PERMISSION;
    default:
        return ECO_ABSENT_FAILED; /* not ready, in use, unknown, lost: the caller may try again */
    }
}

eco_status ecoi_nvml_status(nvml_return result) {
    if (ecoi_nvml_lost(result)) {
        return ECO_E_DEVICE_LOST;
    }
    switch (result) {
    case NVML_RETURN_SUCCESS:
        return ECO_OK;
    case NVML_RETURN_NOT_SUPPORTED:
    case NVML_RETURN_FUNCTION_NOT_FOUND:
    case NVML_RETURN_DRIVER_NOT_LOADED:
    case NVML_RETURN_LIB_RM_VERSION_MISMATCH:
        return ECO_E_UNSUPPORTED;
    case NVML_RETURN_NO_PERMISSION:
        return ECO_E_PERMISSION;
    case NVML_RETURN_NOT_FOUND:
        return ECO_E_NOT_FOUND;
    default:
        return ECO_E_FAILED;
    }
}

bool ecoi_nvml_pci_normal(const char *text, char out[ECO_PCI_MAX]) {
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
    int end = 0;
    if (sscanf(text, "%8x:%2x:%2x%n", &domain, &bus, &device, &end) != 3) {
        domain = 0;
        end = 0;
        if (sscanf(text, "%2x:%2x%n", &bus, &device, &end) != 2) {
            return false;
        }
    }
    const char *rest = text + end;
    if (*rest != '\0' && !(rest[0] == '.' && isxdigit((unsigned char)rest[1]) && rest[2] == '\0')) {
        return false;
    }
    (void)snprintf(out, ECO_PCI_MAX, "%04x:%02x:%02x.0", domain, bus, device);
    return true;
}
