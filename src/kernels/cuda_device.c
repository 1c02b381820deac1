/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU of the native engine: driver loaded, device chosen, primary context retained, kernels
 * compiled. The context waits by blocking (no spinning host core), so that the host's own power
 * stays out of the picture.
 */
#include "kernels/cuda_model.h"

#include "core/alloc.h"
#include "kernels/kernels.h"
#include "kernels/ptx.h"
#include "sys/clock.h"
#include "sys/dl.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct kernel_name {
    const char *name;
    uint32_t module;
} kernel_name;

enum { MODULE_DECODE = 0, MODULE_WEIGHTS, MODULE_PROBE };

static const kernel_name kernel_names[CUDA_KERNEL_COUNT] = {
    [CUDA_TOKEN_DONE] = {"eco_token_done", MODULE_DECODE},
    [CUDA_FILL_FP16] = {"eco_fill_fp16", MODULE_WEIGHTS},
    [CUDA_FILL_BF16] = {"eco_fill_bf16", MODULE_WEIGHTS},
    [CUDA_FILL_NF4] = {"eco_fill_nf4", MODULE_WEIGHTS},
    [CUDA_FILL_INT8] = {"eco_fill_int8", MODULE_WEIGHTS},
    [CUDA_FILL_Q4_0] = {"eco_fill_q4_0", MODULE_WEIGHTS},
    [CUDA_FILL_Q8_0] = {"eco_fill_q8_0", MODULE_WEIGHTS},
    [CUDA_FILL_FP8] = {"eco_fill_fp8", MODULE_WEIGHTS},
    [CUDA_FILL_RANDOM] = {"eco_fill_random", MODULE_WEIGHTS},
    [CUDA_READ] = {"eco_read", MODULE_PROBE},
    [CUDA_EMPTY] = {"eco_empty", MODULE_PROBE},
    [CUDA_UNITS_DONE] = {"eco_units_done", MODULE_PROBE},
};

eco_status ecoi_cuda_done(const cuda_device *device, int result, const char *what, eco_error *err) {
    return ecoi_cuda_check(&device->cuda, result, what, err);
}

eco_status ecoi_cuda_enter(const cuda_device *device, eco_error *err) {
    return ecoi_cuda_done(device, device->cuda.api.ctx_set_current(device->context),
                          "cuCtxSetCurrent", err);
}

eco_status ecoi_cuda_allocate(const cuda_device *device, uint64_t bytes, const char *what,
                              uint64_t *address, eco_error *err) {
    *address = 0;
    const int result = device->cuda.api.mem_alloc(address, (size_t)bytes);
    if (result == CU_SUCCESS) {
        return ECO_OK;
    }
    *address = 0;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (result != CU_ERROR_OUT_OF_MEMORY ||
        device->cuda.api.mem_info(&free_bytes, &total_bytes) != CU_SUCCESS) {
        return ecoi_cuda_done(device, result, what, err);
    }
    return eco_error_set(err, ECO_E_DEVICE_MEMORY, result,
                         "cuda: %s wants %llu bytes; %s has %llu free of %llu", what,
                         (unsigned long long)bytes, device->name, (unsigned long long)free_bytes,
                         (unsigned long long)total_bytes);
}

static eco_status read_identity(cuda_device *device, eco_error *err) {
    const ecoi_cuda_api *api = &device->cuda.api;
    cu_uuid uuid = {{0}};
    int n_sm = 0;
    int major = 0;
    int minor = 0;
    char *pci = device->boundary.pci_bus_id;
    ECO_TRY(ecoi_cuda_done(device, api->device_get(&device->device, (int)device->ordinal),
                           "cuDeviceGet", err));
    ECO_TRY(ecoi_cuda_done(device, api->device_name(device->name, ECO_NAME_MAX - 1, device->device),
                           "cuDeviceGetName", err));
    ECO_TRY(
        ecoi_cuda_done(device, api->device_uuid(&uuid, device->device), "cuDeviceGetUuid", err));
    ECO_TRY(ecoi_cuda_done(device, api->device_pci_bus_id(pci, ECO_PCI_MAX - 1, device->device),
                           "cuDeviceGetPCIBusId", err));
    ECO_TRY(ecoi_cuda_done(device, api->device_attribute(&n_sm, CU_ATTRIBUTE_N_SM, device->device),
                           "cuDeviceGetAttribute", err));
    ECO_TRY(ecoi_cuda_done(device,
                           api->device_attribute(&major, CU_ATTRIBUTE_CC_MAJOR, device->device),
                           "cuDeviceGetAttribute", err));
    ECO_TRY(ecoi_cuda_done(device,
                           api->device_attribute(&minor, CU_ATTRIBUTE_CC_MINOR, device->device),
                           "cuDeviceGetAttribute", err));
    device->n_sm = n_sm > 0 ? (uint32_t)n_sm : 1;
    device->cc_major = (uint32_t)major;
    device->cc_minor = (uint32_t)minor;
    int shared_bytes = 0;
    ECO_TRY(ecoi_cuda_done(
        device,
        api->device_attribute(&shared_bytes, CU_ATTRIBUTE_SHARED_OPTIN_BYTES, device->device),
        "cuDeviceGetAttribute", err));
    ecoi_cuda_batch_limits(device, shared_bytes > 0 ? (uint32_t)shared_bytes : 0);
    device->boundary.kind = ECO_BOUNDARY_GPU;
    ecoi_cuda_uuid_text(&uuid, device->boundary.uuid);
    for (char *c = pci; *c != '\0'; c++) {
        *c = (char)tolower((unsigned char)*c);
    }
    if (major < 8) {
        return eco_error_set(
            err, ECO_E_UNSUPPORTED, 0,
            "cuda: %s has compute capability %d.%d; the kernels need 8.0 (Ampere) or newer",
            device->name, major, minor);
    }
    return ECO_OK;
}

static eco_status compile_kernels(cuda_device *device, eco_error *err) {
    static const char *const module_names[CUDA_MODULE_COUNT] = {"decode", "weights", "probe"};
    const char *const texts[CUDA_MODULE_COUNT] = {ecoi_ptx_decode, ecoi_ptx_weights,
                                                  ecoi_ptx_probe};
    for (uint32_t i = 0; i < CUDA_MODULE_COUNT; i++) {
        ECO_TRY(ecoi_cuda_compile(&device->cuda, module_names[i], texts[i], 0, &device->modules[i],
                                  err));
    }
    for (uint32_t i = 0; i < CUDA_KERNEL_COUNT; i++) {
        const int result = device->cuda.api.module_function(
            &device->kernels[i], device->modules[kernel_names[i].module], kernel_names[i].name);
        ECO_TRY(ecoi_cuda_done(device, result, kernel_names[i].name, err));
    }
    return ECO_OK;
}

static void cuda_close(void *state) {
    cuda_device *device = state;
    if (device == NULL) {
        return;
    }
    const ecoi_cuda_api *api = &device->cuda.api;
    /* Failures of releases are of no use to anybody: the process is done with the device. */
    if (device->context != NULL) {
        (void)api->ctx_set_current(device->context);
        for (uint32_t i = 0; i < CUDA_MODULE_COUNT; i++) {
            if (device->modules[i] != NULL) {
                (void)api->module_unload(device->modules[i]);
            }
        }
        ecoi_cuda_batch_unload(device);
        (void)api->ctx_set_current(NULL);
        (void)api->primary_release(device->device);
    }
    ecoi_cuda_unload(&device->cuda);
    ecoi_free(device);
}

static eco_status open_context(cuda_device *device, eco_error *err) {
    const ecoi_cuda_api *api = &device->cuda.api;
    const int flags_result = api->primary_set_flags(device->device, CU_CTX_SCHED_BLOCKING_SYNC);
    /* Older drivers refuse to change flags of a context that somebody in this process already
     * holds. */
    if (flags_result != CU_ERROR_PRIMARY_CONTEXT_ACTIVE) {
        ECO_TRY(ecoi_cuda_done(device, flags_result, "cuDevicePrimaryCtxSetFlags", err));
    }
    cu_context *context = NULL;
    const int result = api->primary_retain(&context, device->device);
    if (result != CU_SUCCESS) {
        const eco_status status = ecoi_cuda_done(device, result, "cuDevicePrimaryCtxRetain", err);
        if (result != CU_ERROR_DEVICE_UNAVAILABLE) {
            return status;
        }
        if (err != NULL) { /* nothing was lost: it never was ours */
            err->code = ECO_E_BUSY;
        }
        return ECO_E_BUSY;
    }
    device->context = context;
    return ecoi_cuda_enter(device, err);
}

static eco_status open_device(cuda_device *device, const char *selector, eco_error *err) {
    const int64_t begin_ns = ecoi_now_ns();
    ECO_TRY(ecoi_cuda_load(&device->cuda, err));
    ECO_TRY(ecoi_cuda_find(&device->cuda, selector, &device->ordinal, err));
    ECO_TRY(read_identity(device, err));
    ECO_TRY(open_context(device, err));
    const int64_t context_ns = ecoi_now_ns();
    ECO_TRY(compile_kernels(device, err));
    device->open_s = (double)(context_ns - begin_ns) * 1e-9;
    device->compile_s = (double)(ecoi_now_ns() - context_ns) * 1e-9;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    ECO_TRY(ecoi_cuda_done(device, device->cuda.api.mem_info(&free_bytes, &total_bytes),
                           "cuMemGetInfo", err));
    device->memory_free_bytes = free_bytes;
    device->memory_total_bytes = total_bytes;
    return ECO_OK;
}

static eco_status cuda_open(const char *selector, uint32_t n_threads, void **state,
                            eco_error *err) {
    (void)n_threads;
    *state = NULL;
    cuda_device *device = ecoi_calloc(1, sizeof *device);
    if (device == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "cuda: no memory for a device");
    }
    const eco_status status = open_device(device, selector, err);
    if (status != ECO_OK) {
        cuda_close(device);
        return status;
    }
    *state = device;
    return ECO_OK;
}

static bool cuda_usable(char *reason, size_t reason_size) {
    ecoi_cuda cuda;
    eco_error err = {0};
    if (ecoi_cuda_load(&cuda, &err) != ECO_OK) {
        (void)snprintf(reason, reason_size, "%s", err.message);
        return false;
    }
    (void)snprintf(reason, reason_size, "%d device%s through %s", cuda.n_devices,
                   cuda.n_devices == 1 ? "" : "s", ecoi_dl_path(cuda.library));
    ecoi_cuda_unload(&cuda);
    return true;
}

static void cuda_describe(const void *state, eco_engine_info *out) {
    const cuda_device *device = state;
    *out = (eco_engine_info){
        .name = "native",
        .boundary = device->boundary,
        .library_known = ecoi_dl_path_known(device->cuda.library),
        .cuda_index = device->ordinal,
        .memory_free_bytes = device->memory_free_bytes,
        .memory_total_bytes = device->memory_total_bytes,
        .open_s = device->open_s,
        .compile_s = device->compile_s,
    };
    (void)snprintf(out->device_name, sizeof out->device_name, "%s", device->name);
    (void)snprintf(out->library_path, sizeof out->library_path, "%s",
                   ecoi_dl_path(device->cuda.library));
    (void)snprintf(out->detail, sizeof out->detail,
                   "CUDA driver API %d.%d, PTX 7.0 sm_70 compiled for compute capability %u.%u, %u "
                   "multiprocessors",
                   device->cuda.version / 1000, device->cuda.version % 1000 / 10, device->cc_major,
                   device->cc_minor, device->n_sm);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (ecoi_cuda_enter(device, NULL) == ECO_OK &&
        device->cuda.api.mem_info(&free_bytes, &total_bytes) == CU_SUCCESS) {
        out->memory_free_bytes = free_bytes;
        out->memory_total_bytes = total_bytes;
    }
}

const eco_backend ecoi_backend_cuda = {
    .name = "cuda",
    .usable = cuda_usable,
    .open = cuda_open,
    .describe = cuda_describe,
    .has_format = ecoi_cuda_has_format,
    .model_check = ecoi_cuda_model_check,
    .model_bytes = ecoi_cuda_model_bytes,
    .model_open = ecoi_cuda_model_open,
    .model_describe = ecoi_cuda_model_describe,
    .work = ecoi_cuda_work,
    .logits = ecoi_cuda_logits,
    .model_close = ecoi_cuda_model_close,
    .close = cuda_close,
};
