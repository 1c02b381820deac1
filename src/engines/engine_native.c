/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own engine: synthetic-weight decoders on the CPU or an NVIDIA GPU. A thin driver: it reads
 * the device string, checks the workload once for both devices, and hands on to the device's
 * backend.
 */
#include "engines/driver.h"

#include "core/alloc.h"
#include "kernels/kernels.h"
#include "kernels/workload.h"

#include <stdio.h>
#include <string.h>

typedef struct native_engine {
    const eco_backend *backend;
    void *state;
} native_engine;

typedef struct native_arm {
    const eco_backend *backend;
    void *model;
} native_arm;

static void native_formats(eco_engine_status *out) {
    for (eco_format i = 0; i < ECO_FORMAT_COUNT; i++) {
        out->cpu_formats[i] = ecoi_backend_cpu.has_format(i);
        out->cuda_formats[i] = ecoi_backend_cuda.has_format(i);
    }
}

static void native_probe(eco_engine_status *out) {
    char reason[ECO_ERROR_MESSAGE_MAX];
    out->cpu_usable = ecoi_backend_cpu.usable(reason, sizeof reason);
    out->cuda_usable = ecoi_backend_cuda.usable(out->cuda_reason, sizeof out->cuda_reason);
}

/* "cuda:" is followed by an ordinal of at most four digits or a UUID ("GPU-…", "MIG-…"). */
static bool selector_well_formed(const char *selector) {
    const size_t n_digits = strspn(selector, "0123456789");
    if (n_digits > 0) {
        return selector[n_digits] == '\0' && n_digits <= 4;
    }
    const bool prefixed = strncmp(selector, "GPU-", 4) == 0 || strncmp(selector, "MIG-", 4) == 0;
    return prefixed && selector[4] != '\0' && strlen(selector) < ECO_UUID_MAX;
}

typedef struct native_device {
    const eco_backend *backend;
    const char *selector; /* "" = first; into the caller's text */
} native_device;

static eco_status native_device_parse(const char *text, native_device *out, eco_error *err) {
    static const char *const names[] = {"auto", "cpu", "cuda"};
    *out = (native_device){.backend = &ecoi_backend_cpu, .selector = ""};
    if (text == NULL || text[0] == '\0' || strcmp(text, "auto") == 0) {
        char reason[ECO_ERROR_MESSAGE_MAX];
        if (ecoi_backend_cuda.usable(reason, sizeof reason)) {
            out->backend = &ecoi_backend_cuda;
        }
        return ECO_OK;
    }
    if (strcmp(text, "cpu") == 0) {
        return ECO_OK;
    }
    if (strcmp(text, "cuda") == 0) {
        out->backend = &ecoi_backend_cuda;
        return ECO_OK;
    }
    if (strncmp(text, "cuda:", 5) == 0 && selector_well_formed(text + 5)) {
        *out = (native_device){.backend = &ecoi_backend_cuda, .selector = text + 5};
        return ECO_OK;
    }
    const char *nearest = eco_nearest_name(text, names, sizeof names / sizeof names[0]);
    return eco_error_set(err, ECO_E_USAGE, 0,
                         "device \"%s\" is not auto, cpu, cuda, cuda:NUMBER, cuda:GPU-UUID or "
                         "cuda:MIG-UUID%s%s",
                         text, nearest == NULL ? "" : "; did you mean ",
                         nearest == NULL ? "" : nearest);
}

static eco_status native_open(const eco_engine_options *options, void **state, eco_error *err) {
    *state = NULL;
    native_device device;
    ECO_TRY(native_device_parse(options->device, &device, err));
    native_engine *engine = ecoi_calloc(1, sizeof *engine);
    if (engine == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "native engine: %zu bytes", sizeof *engine);
    }
    engine->backend = device.backend;
    const eco_status status =
        device.backend->open(device.selector, options->n_threads, &engine->state, err);
    if (status != ECO_OK) {
        ecoi_free(engine);
        return status;
    }
    *state = engine;
    return ECO_OK;
}

static void native_describe(const void *state, eco_engine_info *out) {
    const native_engine *engine = state;
    engine->backend->describe(engine->state, out);
}

static eco_status native_arm_check(const void *state, const eco_workload *workload,
                                   eco_error *err) {
    const native_engine *engine = state;
    ECO_TRY(ecoi_workload_check(workload, err));
    return engine->backend->model_check(engine->state, workload, err);
}

static uint64_t native_arm_bytes(const void *state, const eco_workload *workload) {
    const native_engine *engine = state;
    if (ecoi_workload_check(workload, NULL) != ECO_OK) {
        return 0;
    }
    return engine->backend->model_bytes(engine->state, workload);
}

static eco_status native_arm_open(void *state, const eco_workload *workload, void **out,
                                  eco_error *err) {
    *out = NULL;
    native_engine *engine = state;
    ECO_TRY(ecoi_workload_check(workload, err));
    native_arm *arm = ecoi_calloc(1, sizeof *arm);
    if (arm == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "native arm: %zu bytes", sizeof *arm);
    }
    arm->backend = engine->backend;
    const eco_status status =
        engine->backend->model_open(engine->state, workload, &arm->model, err);
    if (status != ECO_OK) {
        ecoi_free(arm);
        return status;
    }
    *out = arm;
    return ECO_OK;
}

static void native_arm_describe(const void *state, eco_arm_info *out) {
    const native_arm *arm = state;
    arm->backend->model_describe(arm->model, out);
}

static eco_status native_arm_work(void *state, const eco_work *work, eco_work_result *out,
                                  eco_error *err) {
    native_arm *arm = state;
    return arm->backend->work(arm->model, work, out, err);
}

static eco_status native_arm_logits(void *state, const uint32_t *tokens, size_t n, float *logits,
                                    eco_error *err) {
    native_arm *arm = state;
    return arm->backend->logits(arm->model, tokens, n, logits, err);
}

static void native_arm_close(void *state) {
    native_arm *arm = state;
    arm->backend->model_close(arm->model);
    ecoi_free(arm);
}

static void native_close(void *state) {
    native_engine *engine = state;
    engine->backend->close(engine->state);
    ecoi_free(engine);
}

extern const eco_engine_driver ecoi_engine_native;
const eco_engine_driver ecoi_engine_native = {
    .name = "native",
    .summary = "own kernels, synthetic weights; CPU and NVIDIA GPU",
    .formats = native_formats,
    .probe = native_probe,
    .open = native_open,
    .describe = native_describe,
    .arm_check = native_arm_check,
    .arm_bytes = native_arm_bytes,
    .arm_open = native_arm_open,
    .arm_describe = native_arm_describe,
    .arm_work = native_arm_work,
    .arm_logits = native_arm_logits,
    .arm_close = native_arm_close,
    .close = native_close};
