/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA driver API by hand: the entries this program uses, loaded from libcuda.so.1 at run time,
 * so that one binary runs with and without a GPU and needs no CUDA toolkit to build. Names and
 * values follow NVIDIA's driver API reference.
 */
#ifndef ECOCOMPUTE_KERNELS_CUDA_DRIVER_H
#define ECOCOMPUTE_KERNELS_CUDA_DRIVER_H

#include "ecocompute/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The driver's handles: opaque. */
typedef struct cu_context cu_context;
typedef struct cu_module cu_module;
typedef struct cu_function cu_function;
typedef struct cu_stream cu_stream;
typedef struct cu_event cu_event;
typedef struct cu_graph cu_graph;
typedef struct cu_graph_exec cu_graph_exec;

typedef struct cu_uuid {
    unsigned char bytes[16];
} cu_uuid;

enum {
    CU_SUCCESS = 0,
    CU_ERROR_INVALID_VALUE = 1,
    CU_ERROR_OUT_OF_MEMORY = 2,
    CU_ERROR_DEINITIALIZED = 4,
    CU_ERROR_STUB_LIBRARY = 34,
    CU_ERROR_DEVICE_UNAVAILABLE = 46,
    CU_ERROR_NO_DEVICE = 100,
    CU_ERROR_INVALID_DEVICE = 101,
    CU_ERROR_INVALID_IMAGE = 200,
    CU_ERROR_NO_BINARY_FOR_GPU = 209,
    CU_ERROR_ECC_UNCORRECTABLE = 214,
    CU_ERROR_INVALID_PTX = 218,
    CU_ERROR_NVLINK_UNCORRECTABLE = 220,
    CU_ERROR_JIT_COMPILER_NOT_FOUND = 221,
    CU_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CU_ERROR_JIT_COMPILATION_DISABLED = 223,
    CU_ERROR_ILLEGAL_ADDRESS = 700,
    CU_ERROR_LAUNCH_TIMEOUT = 702,
    CU_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
    CU_ERROR_CONTEXT_IS_DESTROYED = 709,
    CU_ERROR_LAUNCH_FAILED = 719,
    CU_ERROR_NOT_PERMITTED = 800,
    CU_ERROR_NOT_SUPPORTED = 801,
    CU_ERROR_SYSTEM_NOT_READY = 802,
    CU_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
    CU_ERROR_COMPAT_NOT_SUPPORTED = 804,
    CU_ERROR_UNKNOWN = 999
};

enum { CU_CTX_SCHED_BLOCKING_SYNC = 4, CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2 };
enum { CU_MEMHOSTALLOC_PORTABLE = 1, CU_MEMHOSTALLOC_DEVICEMAP = 2 };
enum { CU_STREAM_CAPTURE_THREAD_LOCAL = 1 };
enum {
    CU_JIT_MAX_REGISTERS = 0,
    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};
enum { CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8, CU_FUNC_SHARED_CARVEOUT_PCT = 9 };
enum {
    CU_ATTRIBUTE_N_SM = 16,
    CU_ATTRIBUTE_CC_MAJOR = 75,
    CU_ATTRIBUTE_CC_MINOR = 76,
    CU_ATTRIBUTE_SHARED_OPTIN_BYTES = 97
};

/* Every entry is required: all are there from driver R470 (CUDA 11.4) on. Results are CUresult. */
typedef struct ecoi_cuda_api {
    int (*init)(unsigned flags);
    int (*driver_version)(int *version);
    int (*error_name)(int result, const char **name);
    int (*error_string)(int result, const char **text);
    int (*device_count)(int *count);
    int (*device_get)(int *device, int ordinal);
    int (*device_name)(char *name, int size, int device);
    int (*device_uuid)(cu_uuid *uuid, int device);
    int (*device_pci_bus_id)(char *id, int size, int device);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*primary_set_flags)(int device, unsigned flags);
    int (*primary_retain)(cu_context **context, int device);
    int (*primary_release)(int device);
    int (*ctx_set_current)(cu_context *context);
    int (*mem_info)(size_t *free_bytes, size_t *total_bytes);
    int (*mem_alloc)(uint64_t *address, size_t bytes);
    int (*mem_free)(uint64_t address);
    int (*host_alloc)(void **memory, size_t bytes, unsigned flags);
    int (*host_free)(void *memory);
    int (*host_device_pointer)(uint64_t *address, void *memory, unsigned flags);
    int (*copy_to_device)(uint64_t to, const void *from, size_t bytes, cu_stream *stream);
    int (*copy_to_host)(void *to, uint64_t from, size_t bytes, cu_stream *stream);
    int (*set_words)(uint64_t to, unsigned value, size_t n_words, cu_stream *stream);
    int (*module_load)(cu_module **module, const void *image, unsigned n_options, int *options,
                       void **values);
    int (*module_function)(cu_function **function, cu_module *module, const char *name);
    int (*module_unload)(cu_module *module);
    int (*function_attribute)(cu_function *function, int attribute, int value);
    int (*launch)(cu_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  cu_stream *stream, void **params, void **extra);
    int (*stream_create)(cu_stream **stream, unsigned flags);
    int (*stream_destroy)(cu_stream *stream);
    int (*stream_synchronize)(cu_stream *stream);
    int (*capture_begin)(cu_stream *stream, int mode);
    int (*capture_end)(cu_stream *stream, cu_graph **graph);
    int (*graph_instantiate)(cu_graph_exec **exec, cu_graph *graph, unsigned long long flags);
    int (*graph_launch)(cu_graph_exec *exec, cu_stream *stream);
    int (*graph_exec_destroy)(cu_graph_exec *exec);
    int (*graph_destroy)(cu_graph *graph);
    int (*event_create)(cu_event **event, unsigned flags);
    int (*event_record)(cu_event *event, cu_stream *stream);
    int (*event_synchronize)(cu_event *event);
    int (*event_destroy)(cu_event *event);
} ecoi_cuda_api;

typedef struct ecoi_cuda {
    ecoi_cuda_api api;
    struct eco_dl *library;
    int version;   /* 13000 = CUDA 13.0 */
    int n_devices; /* that CUDA_VISIBLE_DEVICES leaves */
} ecoi_cuda;

/* Loads the library and initialises the driver. ECO_E_NOT_FOUND: no library (paths tried are named)
 * or no device; ECO_E_UNSUPPORTED: a stub, a driver too old, or one that does not match its kernel
 * module. */
ECO_NODISCARD eco_status ecoi_cuda_load(ecoi_cuda *cuda, eco_error *err);
void ecoi_cuda_unload(ecoi_cuda *cuda);

/* Turns a CUresult into a status and one line "cuda: WHAT: NAME (TEXT)"; CU_SUCCESS gives ECO_OK.
 */
ECO_NODISCARD eco_status ecoi_cuda_check(const ecoi_cuda *cuda, int result, const char *what,
                                         eco_error *err);

/* "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" */
enum { ECOI_CUDA_UUID_MAX = 41 };
void ecoi_cuda_uuid_text(const cu_uuid *uuid, char out[ECOI_CUDA_UUID_MAX]);

/* Finds the device a selector means: NULL or "" = the first; "1" = ordinal; "GPU-…" = UUID, "MIG-…" =
 * that of an instance, or an unambiguous beginning of one, in either case. ECO_E_USAGE: malformed or ambiguous;
 * ECO_E_NOT_FOUND: no such device among those visible. */
ECO_NODISCARD eco_status ecoi_cuda_find(const ecoi_cuda *cuda, const char *selector,
                                        uint32_t *ordinal, eco_error *err);

/* Compiles PTX text for the current context's device, with at most n_registers a thread (0: as many
 * as the compiler likes). A refusal quotes the first line of the
 * compiler's log. */
ECO_NODISCARD eco_status ecoi_cuda_compile(const ecoi_cuda *cuda, const char *name, const char *ptx,
                                           uint32_t n_registers, cu_module **out, eco_error *err);

#endif
