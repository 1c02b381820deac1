/* SPDX-License-Identifier: Apache-2.0
 *
 * Power and energy meters. A meter declares its boundary and what it can read; the protocol decides when.
 * An eco_meter is used by one thread at a time.
 */
#ifndef ECOCOMPUTE_METER_H
#define ECOCOMPUTE_METER_H

#include "ecocompute/record.h"
#include "ecocompute/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eco_meter eco_meter;

/* Which readings a call of eco_meter_read takes. */
enum {
    ECO_READ_POWER = 1u << 0, /* power_w: the least averaged power the device offers */
    ECO_READ_POWER_AVERAGE =
        1u << 1, /* power_average_w: the trailing average, where it is another reading */
    ECO_READ_ENERGY = 1u << 2, /* energy_j: cumulative counter */
    ECO_READ_TEMP = 1u << 3,
    ECO_READ_CLOCKS = 1u << 4,
    ECO_READ_THROTTLE = 1u << 5
};

/* Reasons a device runs below its clocks; a meter maps its vendor's bits onto these. */
enum {
    ECO_THROTTLE_POWER_CAP = 1u << 0,
    ECO_THROTTLE_THERMAL = 1u << 1,
    ECO_THROTTLE_POWER_BRAKE = 1u << 2, /* external hardware brake */
    ECO_THROTTLE_USER_CLOCKS = 1u << 3, /* application or locked clocks: informative */
    ECO_THROTTLE_OTHER = 1u << 4
};

typedef struct eco_meter_sample {
    int64_t t_ns;    /* middle of the reads */
    int64_t cost_ns; /* time all reads of this call took */
    eco_reading power_w, power_average_w, energy_j, temp_c, sm_clock_mhz, mem_clock_mhz;
    uint32_t throttle; /* ECO_THROTTLE_* bits, valid when throttle_read is ECO_PRESENT */
    eco_absence throttle_read;
    int64_t native_error; /* the vendor's code of the last failed read, 0 if none */
    bool device_lost;
} eco_meter_sample;

/* A row of `ecocompute meters`. */
typedef struct eco_meter_status {
    const char *name, *summary; /* static */
    bool usable;
    eco_boundary_kind boundary;
    char reason[ECO_ERROR_MESSAGE_MAX]; /* why it can or cannot run here; names the paths tried */
    uint32_t n_devices;
} eco_meter_status;

/* Identity and settings of the metered device, as recorded in a report. Absent text is "". */
typedef struct eco_device_record {
    char name[ECO_NAME_MAX], driver[ECO_NAME_MAX], vbios[ECO_NAME_MAX];
    eco_boundary boundary;
    char library_path[256];     /* the driver library really loaded */
    bool library_known;         /* it lies in a known driver folder */
    int32_t cc_major, cc_minor; /* compute capability, -1 = absent */
    eco_reading power_limit_w, power_limit_default_w, memory_bytes;
    eco_reading ecc_enabled, mig_enabled, persistence_enabled; /* 1 or 0 */
    eco_reading sm_clock_max_mhz, mem_clock_max_mhz;
    uint32_t vendor_index; /* the index in the vendor's own order, for people */
} eco_device_record;

/* The error of the sensor itself, which nothing on the machine can tell: half-widths of what is held possible. */
typedef struct eco_sensor_term {
    double gain;        /* ± share of the reading */
    double offset_w;    /* ± W */
    const char *source; /* where the two figures come from, a phrase for people, static */
} eco_sensor_term;

/* Which readings this device answered when it was opened. */
typedef struct eco_meter_info {
    const char *name; /* meter, static */
    eco_source source;
    eco_sensor_term declared;       /* by the driver, the same for all its devices */
    const char *power_field;        /* e.g. "NVML_FI_DEV_POWER_INSTANT", static; NULL = none */
    const char *average_field;      /* NULL = none */
    const char *energy_field;       /* NULL = no counter: energy comes from integrating power */
    const char *scope;              /* "gpu", "module", static */
    const char *method;             /* how energy is read, a phrase for people, static */
    const char *measurement_source; /* of the report: "direct-nvml", "direct-rapl", …, static */
    char domains[160];    /* what the number holds and what was left out; "" = the whole device */
    char overridden[256]; /* what the user put in place of the machine's own source; "" = nothing */
    char passed_over
        [ECO_ERROR_MESSAGE_MAX]; /* chosen from a list: the others, and why not; else "" */
    eco_device_record device;
} eco_meter_info;

/* One of several counters behind a meter. */
typedef struct eco_meter_part {
    char name[32];
    bool counted; /* in energy_j; else it lies inside a counted one, or apart */
    eco_reading energy_j;
} eco_meter_part;

typedef struct eco_tenant {
    uint32_t pid;
    char name[ECO_NAME_MAX]; /* "" when it cannot be read */
    eco_reading memory_bytes;
} eco_tenant;

/* What a meter may be told beside the work; zeroed, it is the machine as it is. Text is borrowed
 * until the call returns. */
typedef struct eco_meter_config {
    const char
        *system_root; /* rapl: the folder with sys/ and proc/, instead of "/"; marks the run */
    const char
        *exec_command; /* exec: a program and its arguments, parted by blanks; never a shell */
    const char *replay_path; /* replay: a trace of this program */
    eco_boundary boundary;   /* exec, replay: what the readings cover; kind NONE = not declared */
    double stale_s;          /* exec: an older reading is STALE; 0 = 5 s */
    double first_s;          /* exec: patience with the first line; 0 = 10 s */
} eco_meter_config;

typedef struct eco_meter_options {
    const char
        *name; /* "nvml", or "nvml,rapl": in order of preference, the first that contains `work`;
                         NULL = that of all but exec and replay */
    eco_boundary work; /* where the engine's work happens; kind NONE = the meter's first device */
    eco_meter_config config;
} eco_meter_options;

size_t eco_meter_count(void);
/* Name, summary and boundary of row `index`; looks at nothing. */
void eco_meter_name(size_t index, eco_meter_status *out);
/* Row `index` of the registry, probed. Never fails: what is missing is in `reason`. No side effects on the device. */
void eco_meter_probe(size_t index, eco_meter_status *out);
void eco_meter_probe_with(size_t index, const eco_meter_config *config, eco_meter_status *out);
/* Device `device_index` of meter `index`, in the vendor's order; for listings. */
ECO_NODISCARD eco_status eco_meter_device(size_t index, uint32_t device_index, eco_meter_info *out,
                                          eco_error *err);
ECO_NODISCARD eco_status eco_meter_device_with(size_t index, const eco_meter_config *config,
                                               uint32_t device_index, eco_meter_info *out,
                                               eco_error *err);
/* Is `name` one of a list parted by commas? Of no list (NULL) every name is. */
bool eco_meter_listed(const char *list, const char *name);
/* The list's next name, at most `size` - 1 bytes of it, and *list moved behind it; false at the end. */
bool eco_meter_list_next(const char **list, char *name, size_t size);
/* Would eco_meter_open find a meter for work of this kind? Opens nothing and needs no device named.
 * *out is the meter found, or the one whose reason tells most; out->name is "" if no row fits. */
bool eco_meter_choose(const eco_meter_options *options, eco_meter_status *out);
/* "gpu:GPU-…" or "gpu:0000:65:00.0", "cpu", "host"; false for anything else. */
bool eco_meter_boundary_parse(const char *text, eco_boundary *out);

/* Opens the meter whose boundary contains options->work; ECO_E_BOUNDARY_MISMATCH if none does,
 * ECO_E_UNSUPPORTED if the device has neither power nor energy. The caller closes. */
ECO_NODISCARD eco_status eco_meter_open(const eco_meter_options *options, eco_meter **out,
                                        eco_error *err);
void eco_meter_close(eco_meter *meter); /* NULL is fine */
void eco_meter_describe(const eco_meter *meter, eco_meter_info *out);
/* `what`: ECO_READ_* bits. All else in *out is ECO_ABSENT_NOT_READ. Never allocates, logs or blocks longer than the driver. */
void eco_meter_read(eco_meter *meter, uint32_t what, eco_meter_sample *out);
/* Other processes with a context on the device, at most `capacity`; *n_out is how many there are.
 * ECO_E_UNSUPPORTED where the device cannot tell. Slow: never inside a window. */
ECO_NODISCARD eco_status eco_meter_tenants(eco_meter *meter, eco_tenant *out, size_t capacity,
                                           size_t *n_out, eco_error *err);
/* The counters behind the meter, at most `capacity`; returns how many were filled, 0 where there is only one. */
size_t eco_meter_parts(eco_meter *meter, eco_meter_part *out, size_t capacity);
/* Why the meter gives nothing any more ("the program ended with status 1"); "" while nothing is known to be wrong. */
void eco_meter_trouble(const eco_meter *meter, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
