/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one running measurement, shared by the files of this folder. The session owns the engine, its arms, the
 * meter, the sampler and all rows; ecoi_session_close releases them in order.
 */
#ifndef ECOCOMPUTE_PROTOCOL_SESSION_H
#define ECOCOMPUTE_PROTOCOL_SESSION_H

#include "ecocompute/plan.h"
#include "ecocompute/stats.h"
#include "meters/sampler.h"
#include "protocol/load.h"

enum {
    ECO_WINDOWS_MAX = ECO_BLOCKS_MAX + 2, /* decode windows, one generation, one prefill */
    ECO_SIBLINGS_MAX = 16,
    ECO_SAMPLER_ROWS = 1 << 16 /* rows between two copies: 50 minutes at 20 Hz */
};

typedef struct eco_window {
    int32_t block;  /* 0 = after the blocks */
    uint32_t order; /* place in its block, from 1 */
    eco_phase phase;
    eco_window_figures figures;
    eco_basis energy_basis, time_basis;
    double edge_half_width_s;
    double cooldown_s;
    bool cooled;
    eco_sampler_stats stats; /* throttle, clocks, gap of this window */
    double unit_bytes;       /* READ loads only */
} eco_window;

typedef struct eco_session_arm {
    eco_format format;
    eco_workload workload;
    eco_arm *arm; /* NULL = not resident */
    eco_arm_info info;
    eco_window windows[ECO_WINDOWS_MAX];
    uint32_t n_windows;
    eco_sample *rows; /* as printed, relative to the origin */
    size_t n_rows, capacity_rows;
} eco_session_arm;

/* A device of the meter as seen before any context was made. */
typedef struct eco_idle_device {
    char name[ECO_NAME_MAX];
    eco_boundary boundary;
    eco_reading power_w;
    size_t n_tenants;
    eco_tenant tenant; /* the first, for the message */
    bool tenants_known;
} eco_idle_device;

/* The card's ceilings as probed in this run, n = 1 each; 0 = unknown. */
typedef struct eco_ceilings {
    double read_bytes_per_s, read_power_w, read_j_per_byte, launch_s;
} eco_ceilings;

typedef struct eco_session {
    const eco_plan *plan;
    const eco_measure_hooks *hooks;
    eco_engine *engine;
    eco_engine_info engine_info;
    eco_meter *meter; /* NULL = nothing to read energy with */
    eco_meter_info meter_info;
    char no_meter[ECO_ERROR_MESSAGE_MAX]; /* why */
    eco_sampler *sampler;
    int64_t origin_ns;
    eco_sensor sensor;
    eco_ceilings ceilings;
    eco_reading idle_temp_c;
    bool idle_settled;
    eco_idle_device devices[ECO_SIBLINGS_MAX];
    uint32_t n_devices;
    int32_t device;      /* index of the measured one in devices, -1 = unknown */
    size_t tenants_open; /* others once our own context was there */
    size_t tenants_most; /* the most seen later: after each block and at the end */
    bool tenants_known;
    eco_session_arm arms[ECO_ARMS_MAX];
    bool all_resident;
    uint32_t blocks_finished;
    bool partial;
    eco_error fault;
    eco_sampler_stats totals; /* at the end */
    double sampler_wall_s;
} eco_session;

/* devices.c */
void ecoi_devices_scan(eco_session *session); /* before the engine opens */
ECO_NODISCARD eco_status ecoi_devices_claim(eco_session *session,
                                            eco_error *err); /* after: meter, boundary, tenants */
/* Looks again who else uses the device; slow, so never inside a window. */
void ecoi_devices_look(eco_session *session);
eco_reading ecoi_idle_power(eco_meter *meter, uint32_t n_reads);

/* arms.c */
ECO_NODISCARD eco_status ecoi_arms_open(eco_session *session, eco_error *err);
ECO_NODISCARD eco_status ecoi_arm_ready(eco_session *session, uint32_t index, eco_error *err);

/* characterize.c */
/* Watches the meter for 0.3 s at rest, starts a memory-reading load, watches it for `seconds`, and leaves it running
 * in *load (the caller stops it). Fills session->sensor. The sampler is not open yet. */
ECO_NODISCARD eco_status ecoi_sensor_watch(eco_session *session, double seconds, eco_load **load,
                                           eco_error *err);

/* cooldown.c */
/* Idle power from 0.1 s reads, until two successive one-second means lie close; the last of them. */
eco_reading ecoi_idle_settled(eco_meter *meter, bool *settled);
void ecoi_idle_loaded(
    eco_session *session); /* model-loaded idle, settled if it can; the sampler is not open yet */
void ecoi_cooldown(eco_session *session, double *seconds, bool *reached);

/* run.c */
typedef struct eco_window_request {
    uint32_t arm;
    eco_work_kind kind;
    int32_t block;
    uint32_t order;
    double seconds;
    bool cool; /* cool down before */
} eco_window_request;
ECO_NODISCARD eco_status ecoi_window_run(eco_session *session, const eco_window_request *request,
                                         eco_window *out, eco_error *err);
ECO_NODISCARD eco_status ecoi_ceilings_probe(eco_session *session, eco_error *err);
/* Copies the sampler's rows to the arm's trace, as printed, and clears the sampler. */
ECO_NODISCARD eco_status ecoi_rows_keep(eco_session *session, uint32_t arm, eco_error *err);

/* report_build.c, output.c */
eco_report *ecoi_report_build(const eco_session *session, uint32_t arm,
                              const char *const *trace_sha256, const char *const *trace_files);
ECO_NODISCARD eco_status ecoi_output_write(const eco_session *session, eco_measure_result *result,
                                           eco_error *err);

/* session.c */
void ecoi_session_say(const eco_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool ecoi_session_interrupted(void);
void ecoi_session_close(eco_session *session);

#endif
