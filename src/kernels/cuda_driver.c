/* SPDX-License-Identifier: Apache-2.0
 *
 * libcuda.so.1 by dlopen: the symbol table, errors in words, device selection, PTX compilation. The
 * driver's own name of an error always reaches the message, because that is what its documentation
 * and forums speak of.
 */
#include "kernels/cuda_driver.h"
#include "sys/dl.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY(member, ...) \
    { .names = {__VA_ARGS__}, .offset = offsetof(ecoi_cuda_api, member), .required = true }

static const eco_dl_symbol symbols[] = {
    ENTRY(init, "cuInit"),
    ENTRY(driver_version, "cuDriverGetVersion"),
    ENTRY(error_name, "cuGetErrorName"),
    ENTRY(error_string, "cuGetErrorString"),
    ENTRY(device_count, "cuDeviceGetCount"),
    ENTRY(device_get, "cuDeviceGet"),
    ENTRY(device_name, "cuDeviceGetName"),
    ENTRY(device_uuid, "cuDeviceGetUuid_v2", "cuDeviceGetUuid"),
    ENTRY(device_pci_bus_id, "cuDeviceGetPCIBusId"),
    ENTRY(device_attribute, "cuDeviceGetAttribute"),
    ENTRY(primary_set_flags, "cuDevicePrimaryCtxSetFlags_v2", "cuDevicePrimaryCtxSetFlags"),
    ENTRY(primary_retain, "cuDevicePrimaryCtxRetain"),
    ENTRY(primary_release, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"),
    ENTRY(ctx_set_current, "cuCtxSetCurrent"),
    ENTRY(mem_info, "cuMemGetInfo_v2"),
    ENTRY(mem_alloc, "cuMemAlloc_v2"),
    ENTRY(mem_free, "cuMemFree_v2"),
    ENTRY(host_alloc, "cuMemHostAlloc"),
    ENTRY(host_free, "cuMemFreeHost"),
    ENTRY(host_device_pointer, "cuMemHostGetDevicePointer_v2"),
    ENTRY(copy_to_device, "cuMemcpyHtoDAsync_v2"),
    ENTRY(copy_to_host, "cuMemcpyDtoHAsync_v2"),
    ENTRY(set_words, "cuMemsetD32Async"),
    ENTRY(module_load, "cuModuleLoadDataEx"),
    ENTRY(module_function, "cuModuleGetFunction"),
    ENTRY(module_unload, "cuModuleUnload"),
    ENTRY(function_attribute, "cuFuncSetAttribute"),
    ENTRY(launch, "cuLaunchKernel"),
    ENTRY(stream_create, "cuStreamCreate"),
    ENTRY(stream_destroy, "cuStreamDestroy_v2"),
    ENTRY(stream_synchronize, "cuStreamSynchronize"),
    ENTRY(capture_begin, "cuStreamBeginCapture_v2"),
    ENTRY(capture_end, "cuStreamEndCapture"),
    ENTRY(graph_instantiate, "cuGraphInstantiateWithFlags"),
    ENTRY(graph_launch, "cuGraphLaunch"),
    ENTRY(graph_exec_destroy, "cuGraphExecDestroy"),
    ENTRY(graph_destroy, "cuGraphDestroy"),
    ENTRY(event_create, "cuEventCreate"),
    ENTRY(event_record, "cuEventRecord"),
    ENTRY(event_synchronize, "cuEventSynchronize"),
    ENTRY(event_destroy, "cuEventDestroy_v2"),
};

/* Where drivers and container runtimes put it, when the loader's own search does not find it. */
static const char *const folders[] = {
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",   "/run/opengl-driver/lib",     NULL,
};

static const eco_dl_library library = {
    .soname = "libcuda.so.1",
    .folders = folders,
    .symbols = symbols,
    .n_symbols = sizeof symbols / sizeof symbols[0],
};

static eco_status status_of(int result) {
    switch (result) {
    case CU_SUCCESS:
        return ECO_OK;
    case CU_ERROR_OUT_OF_MEMORY:
        return ECO_E_DEVICE_MEMORY;
    case CU_ERROR_NO_DEVICE:
    case CU_ERROR_INVALID_DEVICE:
        return ECO_E_NOT_FOUND;
    case CU_ERROR_STUB_LIBRARY:
    case CU_ERROR_INVALID_IMAGE:
    case CU_ERROR_NO_BINARY_FOR_GPU:
    case CU_ERROR_INVALID_PTX:
    case CU_ERROR_JIT_COMPILER_NOT_FOUND:
    case CU_ERROR_UNSUPPORTED_PTX_VERSION:
    case CU_ERROR_JIT_COMPILATION_DISABLED:
    case CU_ERROR_NOT_SUPPORTED:
    case CU_ERROR_SYSTEM_NOT_READY:
    case CU_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CU_ERROR_COMPAT_NOT_SUPPORTED:
        return ECO_E_UNSUPPORTED;
    case CU_ERROR_NOT_PERMITTED:
        return ECO_E_PERMISSION;
    /* After these the device or its context is gone: nothing more will come from it in this
     * process. */
    case CU_ERROR_DEINITIALIZED:
    case CU_ERROR_DEVICE_UNAVAILABLE:
    case CU_ERROR_ECC_UNCORRECTABLE:
    case CU_ERROR_NVLINK_UNCORRECTABLE:
    case CU_ERROR_LAUNCH_TIMEOUT:
    case CU_ERROR_CONTEXT_IS_DESTROYED:
    case CU_ERROR_LAUNCH_FAILED:
    case CU_ERROR_UNKNOWN:
        return ECO_E_DEVICE_LOST;
    default: /* wrong use by us, and faults of a kernel (700, 715 … 718) */
        return ECO_E_FAILED;
    }
}

/* What a user can do about it, where the driver's own text does not tell. */
static const char *advice_of(int result) {
    switch (result) {
    case CU_ERROR_STUB_LIBRARY:
        return "; this is the CUDA toolkit's stub library, not a driver";
    case CU_ERROR_SYSTEM_DRIVER_MISMATCH:
        return "; the driver library and the kernel module differ in version (reboot after a "
               "driver update, or "
               "mind a library mounted into a container)";
    case CU_ERROR_COMPAT_NOT_SUPPORTED:
        return "; a forward-compatibility libcuda is loaded that this GPU does not support";
    case CU_ERROR_SYSTEM_NOT_READY:
        return "; nvidia-fabricmanager may not be running";
    case CU_ERROR_DEVICE_UNAVAILABLE:
        return "; in use exclusively by another process, or it fell off the bus";
    default:
        return "";
    }
}

eco_status ecoi_cuda_check(const ecoi_cuda *cuda, int result, const char *what, eco_error *err) {
    if (result == CU_SUCCESS) {
        return ECO_OK;
    }
    const char *name = NULL;
    const char *text = NULL;
    if (cuda->api.error_name(result, &name) != CU_SUCCESS || name == NULL) {
        name = "unnamed error";
    }
    if (cuda->api.error_string(result, &text) != CU_SUCCESS || text == NULL) {
        text = "no text";
    }
    return eco_error_set(err, status_of(result), result, "cuda: %s: %s %d (%s)%s", what, name,
                         result, text, advice_of(result));
}

void ecoi_cuda_unload(ecoi_cuda *cuda) {
    ecoi_dl_close(cuda->library);
    *cuda = (ecoi_cuda){0};
}

eco_status ecoi_cuda_load(ecoi_cuda *cuda, eco_error *err) {
    *cuda = (ecoi_cuda){0};
    ECO_TRY(ecoi_dl_open(&library, &cuda->api, &cuda->library, err));
    eco_status status = ecoi_cuda_check(cuda, cuda->api.init(0), "cuInit", err);
    if (status != ECO_OK) {
        goto failed;
    }
    status =
        ecoi_cuda_check(cuda, cuda->api.driver_version(&cuda->version), "cuDriverGetVersion", err);
    if (status != ECO_OK) {
        goto failed;
    }
    status =
        ecoi_cuda_check(cuda, cuda->api.device_count(&cuda->n_devices), "cuDeviceGetCount", err);
    if (status != ECO_OK) {
        goto failed;
    }
    if (cuda->n_devices < 1) {
        status = eco_error_set(err, ECO_E_NOT_FOUND, CU_ERROR_NO_DEVICE, "cuda: %s sees no device",
                               ecoi_dl_path(cuda->library));
        goto failed;
    }
    return ECO_OK;
failed:
    ecoi_cuda_unload(cuda);
    return status;
}

void ecoi_cuda_uuid_text(const cu_uuid *uuid, char out[ECOI_CUDA_UUID_MAX]) {
    static const char digits[] = "0123456789abcdef";
    size_t length = 4;
    memcpy(out, "GPU-", 4);
    for (size_t i = 0; i < sizeof uuid->bytes; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            out[length++] = '-';
        }
        out[length++] = digits[uuid->bytes[i] >> 4];
        out[length++] = digits[uuid->bytes[i] & 15];
    }
    out[length] = '\0';
}

/* What hides devices, for a message about one that is not found. */
static const char *visible_devices(char *out, size_t size) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible == NULL) {
        return "";
    }
    (void)snprintf(out, size, " (CUDA_VISIBLE_DEVICES=%.80s)", visible);
    return out;
}

static eco_status find_ordinal(const ecoi_cuda *cuda, const char *selector, uint32_t *ordinal,
                               eco_error *err) {
    uint32_t value = 0;
    for (const char *c = selector; *c != '\0'; c++) {
        if (!isdigit((unsigned char)*c) || c - selector > 4) {
            return eco_error_set(
                err, ECO_E_USAGE, 0,
                "cuda: device '%.60s': expected a number as CUDA counts, or a UUID (GPU-… or "
                "MIG-…)",
                selector);
        }
        value = value * 10 + (uint32_t)(*c - '0');
    }
    if (value >= (uint32_t)cuda->n_devices) {
        char hidden[128];
        return eco_error_set(err, ECO_E_NOT_FOUND, 0,
                             "cuda: no device %u: %d visible, counted from 0%s", value,
                             cuda->n_devices, visible_devices(hidden, sizeof hidden));
    }
    *ordinal = value;
    return ECO_OK;
}

static bool begins_with(const char *text, const char *beginning) {
    while (*beginning != '\0') {
        if (tolower((unsigned char)*text++) != tolower((unsigned char)*beginning++)) {
            return false;
        }
    }
    return true;
}

enum { UUID_PREFIX = 4 }; /* "GPU-" or "MIG-" */

static eco_status uuid_not_found(const ecoi_cuda *cuda, const char *selector, eco_error *err) {
    char hidden[128];
    const bool instance = begins_with(selector, "MIG-");
    return eco_error_set(err, ECO_E_NOT_FOUND, 0,
                         "cuda: no device '%.60s' among the %d visible%s%s", selector,
                         cuda->n_devices, visible_devices(hidden, sizeof hidden),
                         instance ? "; of a MIG card CUDA shows one instance, the one that "
                                    "CUDA_VISIBLE_DEVICES names"
                                  : "");
}

/* Of a MIG instance CUDA tells the instance's own UUID (CUDA driver API, cuDeviceGetUuid_v2), and no prefix. The form of
 * drivers before R470, MIG-GPU-UUID/instance/instance, no UUID can be held against. */
eco_status ecoi_cuda_find(const ecoi_cuda *cuda, const char *selector, uint32_t *ordinal,
                          eco_error *err) {
    *ordinal = 0;
    if (selector == NULL || selector[0] == '\0') {
        return ECO_OK;
    }
    if (!begins_with(selector, "GPU-") && !begins_with(selector, "MIG-")) {
        return find_ordinal(cuda, selector, ordinal, err);
    }
    uint32_t n_found = 0;
    for (int i = 0; i < cuda->n_devices; i++) {
        int device = 0;
        cu_uuid uuid = {{0}};
        char text[ECOI_CUDA_UUID_MAX];
        ECO_TRY(ecoi_cuda_check(cuda, cuda->api.device_get(&device, i), "cuDeviceGet", err));
        ECO_TRY(
            ecoi_cuda_check(cuda, cuda->api.device_uuid(&uuid, device), "cuDeviceGetUuid", err));
        ecoi_cuda_uuid_text(&uuid, text);
        if (begins_with(text + UUID_PREFIX, selector + UUID_PREFIX)) {
            *ordinal = (uint32_t)i;
            n_found++;
        }
    }
    if (n_found == 1) {
        return ECO_OK;
    }
    *ordinal = 0;
    if (n_found > 1) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "cuda: device '%.60s' is the beginning of %u UUIDs", selector,
                             n_found);
    }
    return uuid_not_found(cuda, selector, err);
}

eco_status ecoi_cuda_compile(const ecoi_cuda *cuda, const char *name, const char *ptx,
                             uint32_t n_registers, cu_module **out, eco_error *err) {
    *out = NULL;
    char log[4096] = "";
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                     CU_JIT_MAX_REGISTERS};
    void *values[] = {/* the driver takes integers as pointers here */
                      log, (void *)(uintptr_t)sizeof log, (void *)(uintptr_t)n_registers};
    const int result = cuda->api.module_load(out, ptx, n_registers == 0 ? 2 : 3, options, values);
    if (result == CU_SUCCESS) {
        return ECO_OK;
    }
    *out = NULL;
    log[sizeof log - 1] = '\0';
    char *first = log + strspn(log, " \t\r\n");
    first[strcspn(first, "\r\n")] = '\0';
    char what[200];
    (void)snprintf(what, sizeof what, "compiling kernels '%s'%s%.120s", name,
                   first[0] != '\0' ? ": " : "", first);
    return ecoi_cuda_check(cuda, result, what, err);
}
