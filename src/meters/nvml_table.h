/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of NVML's binary interface that we call, declared here so that no vendor header is
 * needed, and the loaded library. A function pointer is NULL where this driver has no such symbol.
 */
#ifndef ECOCOMPUTE_METERS_NVML_TABLE_H
#define ECOCOMPUTE_METERS_NVML_TABLE_H

#include "ecocompute/record.h"
#include "ecocompute/status.h"
#include "sys/dl.h"

typedef int nvml_return;
enum {
    NVML_RETURN_SUCCESS = 0,
    NVML_RETURN_UNINITIALIZED = 1,
    NVML_RETURN_INVALID_ARGUMENT = 2,
    NVML_RETURN_NOT_SUPPORTED = 3,
    NVML_RETURN_NO_PERMISSION = 4,
    NVML_RETURN_NOT_FOUND = 6,
    NVML_RETURN_INSUFFICIENT_SIZE = 7,
    NVML_RETURN_DRIVER_NOT_LOADED = 9,
    NVML_RETURN_FUNCTION_NOT_FOUND = 13,
    NVML_RETURN_GPU_IS_LOST = 15,
    NVML_RETURN_RESET_REQUIRED = 16,
    NVML_RETURN_LIB_RM_VERSION_MISMATCH = 18,
    NVML_RETURN_GPU_NOT_FOUND = 28
};

enum { NVML_FIELD_TOTAL_ENERGY = 83, NVML_FIELD_POWER_INSTANT = 186 };
enum { NVML_SCOPE_GPU = 0, NVML_SENSOR_GPU = 0, NVML_CLOCK_OF_SM = 1, NVML_CLOCK_OF_MEM = 2 };

typedef struct nvml_handle_target *nvml_handle;

/* How a field's value is to be read. */
enum {
    NVML_TYPE_DOUBLE = 0,
    NVML_TYPE_UINT = 1,
    NVML_TYPE_ULONG = 2,
    NVML_TYPE_ULLONG = 3,
    NVML_TYPE_LLONG = 4,
    NVML_TYPE_INT = 5,
    NVML_TYPE_USHORT = 6
};

typedef struct nvml_field {
    uint32_t field_id;
    uint32_t scope_id;
    int64_t timestamp_us;
    int64_t latency_us;
    uint32_t type; /* NVML_TYPE_* */
    nvml_return result;
    union {
        double d;
        uint32_t u;
        unsigned long ul;
        uint64_t ull;
        int64_t ll;
        int32_t i;
        uint16_t us;
    } value;
} nvml_field;

/* Newest layout. Older ones are shorter and agree up to `device`; their text form of the id is not
 * used. */
typedef struct nvml_pci {
    char bus_id_old[16];
    uint32_t domain, bus, device;
    uint32_t device_id, subsystem_id;
    char bus_id[32];
} nvml_pci;

typedef struct nvml_memory {
    uint64_t total_bytes, free_bytes, used_bytes;
} nvml_memory;

/* What the unversioned process calls fill. */
typedef struct nvml_process_v1 {
    uint32_t pid;
    uint64_t used_bytes; /* all ones = not known */
} nvml_process_v1;

/* What _v2 and _v3 fill. */
typedef struct nvml_process_v2 {
    uint32_t pid;
    uint64_t used_bytes;
    uint32_t gpu_instance_id, compute_instance_id;
} nvml_process_v2;

enum {
    NVML_REASON_GPU_IDLE = 0x1,
    NVML_REASON_APPLICATION_CLOCKS = 0x2,
    NVML_REASON_SW_POWER_CAP = 0x4,
    NVML_REASON_HW_SLOWDOWN = 0x8,
    NVML_REASON_SYNC_BOOST = 0x10,
    NVML_REASON_SW_THERMAL = 0x20,
    NVML_REASON_HW_THERMAL = 0x40,
    NVML_REASON_HW_POWER_BRAKE = 0x80,
    NVML_REASON_DISPLAY_CLOCKS = 0x100
};

typedef nvml_return nvml_read_u32(nvml_handle device, uint32_t *out);
typedef nvml_return nvml_read_u64(nvml_handle device, unsigned long long *out);
typedef nvml_return nvml_read_mode(nvml_handle device, uint32_t *current, uint32_t *pending);
typedef nvml_return nvml_read_of(nvml_handle device, uint32_t which, uint32_t *out);
typedef nvml_return nvml_read_text(nvml_handle device, char *out, uint32_t size);
typedef nvml_return nvml_read_processes_v1(nvml_handle device, uint32_t *count,
                                           nvml_process_v1 *out);
typedef nvml_return nvml_read_processes_v2(nvml_handle device, uint32_t *count,
                                           nvml_process_v2 *out);

/* Compute, graphics and MPS clients each have their own list. */
enum { NVML_PROCESS_LISTS = 3 };

typedef struct nvml_api {
    nvml_return (*init)(void);
    nvml_return (*shutdown)(void);
    const char *(*error_text)(nvml_return result);
    nvml_return (*driver_version)(char *out, uint32_t size);
    nvml_return (*process_name)(uint32_t pid, char *out, uint32_t size);
    nvml_return (*device_count)(uint32_t *out);
    nvml_return (*by_index)(uint32_t index, nvml_handle *out);
    nvml_return (*by_uuid)(const char *uuid, nvml_handle *out);
    nvml_return (*parent_of_mig)(nvml_handle mig, nvml_handle *out);
    nvml_return (*pci)(nvml_handle device, nvml_pci *out);
    nvml_return (*memory)(nvml_handle device, nvml_memory *out);
    nvml_return (*compute_capability)(nvml_handle device, int *major, int *minor);
    nvml_return (*fields)(nvml_handle device, int count, nvml_field *fields);
    nvml_read_text *uuid, *name, *vbios;
    nvml_read_u32 *power, *power_limit, *power_limit_default, *persistence;
    nvml_read_u64 *energy, *throttle;
    nvml_read_mode *mig, *ecc;
    nvml_read_of *temperature, *clock, *clock_max;
    nvml_read_processes_v2 *processes_v3[NVML_PROCESS_LISTS], *processes_v2[NVML_PROCESS_LISTS];
    nvml_read_processes_v1 *processes_v1[NVML_PROCESS_LISTS];
} nvml_api;

typedef struct nvml_library {
    eco_dl *dl;
    nvml_api api;
} nvml_library;

/* Loads and initialises the library; on failure nothing stays loaded or initialised. */
ECO_NODISCARD eco_status ecoi_nvml_load(nvml_library *out, eco_error *err);
void ecoi_nvml_unload(nvml_library *library);
/* The library's words for a code, or ours where it has none. */
const char *ecoi_nvml_text(const nvml_api *api, nvml_return result);
/* A vendor code as a status, and as the reason a reading is not there. */
eco_status ecoi_nvml_status(nvml_return result);
eco_absence ecoi_nvml_absence(nvml_return result);
bool ecoi_nvml_lost(nvml_return result);
/* "[domain:]bus:device[.function]" in any case and width, as "0000:65:00.0"; false if it is not of that form. */
bool ecoi_nvml_pci_normal(const char *text, char out[ECO_PCI_MAX]);

#endif
