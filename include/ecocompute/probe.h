/* SPDX-License-Identifier: Apache-2.0
 *
 * A device's ceilings: how fast it reads and multiplies, what a launch costs, what it draws at rest. A probe is a small
 * measurement of its own; its file in the user's cache lends numbers to `explain` and never to a measurement, which
 * probes anew. That file is outside data: it is checked when read, and a wrong one counts as none.
 */
#ifndef ECOCOMPUTE_PROBE_H
#define ECOCOMPUTE_PROBE_H

#include "ecocompute/explain.h"
#include "ecocompute/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(enumerator, key, unit, SI per unit, what it is) */
#define ECO_PROBE_ITEMS(X)                                                                      \
    X(READ_RATE, "read_bandwidth", "GB/s", 1e9, "read bandwidth of memory")                     \
    X(READ_ENERGY, "read_energy", "mJ/GB", 1e-12, "energy per gigabyte read")                   \
    X(MATRIX_FP16, "matrix_fp16", "TFLOP/s", 1e12, "FP16 matrix rate, FP32 sums")               \
    X(MATRIX_INT8, "matrix_int8", "TOP/s", 1e12, "INT8 matrix rate, INT32 sums")                \
    X(LAUNCH, "launch", "us", 1e-6, "cost of a launch (CPU: of handing work to all threads)")   \
    X(IDLE_BARE, "idle_bare", "W", 1.0, "idle before this program had a context on the device") \
    X(IDLE_CONTEXT, "idle_context", "W", 1.0, "idle with a context")                            \
    X(IDLE_LOADED, "idle_loaded", "W", 1.0, "idle with a small model loaded")

typedef enum eco_probe_item {
#define ECO_PROBE_ITEM(id, key, unit, si, text) ECO_PROBE_##id,
    ECO_PROBE_ITEMS(ECO_PROBE_ITEM)
#undef ECO_PROBE_ITEM
        ECO_PROBE_COUNT
} eco_probe_item;

typedef struct eco_probe_info {
    const char *key, *unit, *text;
    double si; /* SI value of one unit */
} eco_probe_info;
const eco_probe_info *eco_probe_at(eco_probe_item item);

enum { ECO_PROBE_WHY_MAX = 160, ECO_PROBE_METHOD_MAX = 96, ECO_PROBE_HASH_MAX = 24 };

typedef struct eco_probe_value {
    eco_quantity quantity; /* in SI; n = 0: absent, `why` says the reason; n = 1: no interval */
    char why[ECO_PROBE_WHY_MAX];
    char method[ECO_PROBE_METHOD_MAX];
} eco_probe_value;

typedef struct eco_probe {
    char device[ECO_NAME_MAX];
    char device_hash
        [ECO_PROBE_HASH_MAX];  /* 16 hex digits, as environment.gpu_uuid_hash; CPU: of its name */
    char driver[ECO_NAME_MAX]; /* "" on a CPU */
    char meter[ECO_NAME_MAX];  /* "" = nothing to read energy with */
    char tool[ECO_NAME_MAX];
    char probed_utc[40];
    bool libraries_known; /* every driver library came from a known driver folder */
    bool cached;          /* read back, not measured now */
    double seconds;       /* the probe took */
    eco_probe_value values[ECO_PROBE_COUNT];
} eco_probe;

typedef struct eco_probe_request {
    eco_engine_options engine;
    const char *meter; /* NULL = the first that contains the work */
    eco_meter_config meter_config;
    bool refresh; /* look at no cache */
    bool force;   /* although others use the device */
} eco_probe_request;

/* Probes the device, or gives the cached probe of the same device, driver and program. A fresh probe goes into the cache;
 * that it could not be kept is said through the hooks and is no failure. */
ECO_NODISCARD eco_status eco_probe_run(const eco_probe_request *request,
                                       const eco_measure_hooks *hooks, eco_probe *out,
                                       eco_error *err);

/* The document of --json and of the cache file. */
ECO_NODISCARD eco_status eco_probe_write(const eco_probe *probe, eco_text *out, eco_error *err);
/* ECO_E_PARSE, ECO_E_INVALID: not such a document. *out is then zeroed. */
ECO_NODISCARD eco_status eco_probe_read(const char *text, size_t length, const char *name,
                                        eco_probe *out, eco_error *err);
/* What the cache knows of the device a report names; false if nothing. */
bool eco_probe_lend(const eco_report *report, eco_explain_lent *out);

#ifdef __cplusplus
}
#endif
#endif
