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
#include "protocol/journal.h"
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
    eco_reading steady_c;    /* thermal mode steady: the temperature that stood still */
    bool steady;             /* ... and whether it did, before the budget was spent */
    double steady_s;         /* time under load until then */
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
    size_t n_rows_kept; /* of these, how many are in the journal */
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
    double read_unit_bytes; /* one work unit of the read load */
    double matrix_fp16_ops_per_s, matrix_int8_ops_per_s;
} eco_ceilings;

/* What must be the same for blocks to be pooled. Texts that name no machine. */
enum { ECO_IDENTITY_MAX = 80 };
typedef struct eco_identity {
    char tool[ECO_IDENTITY_MAX];   /* version, commit and build */
    char boot[ECO_IDENTITY_MAX];   /* "" where the system does not tell */
    char device[ECO_IDENTITY_MAX]; /* hash of the UUID, or of the CPU's name */
    char meter[ECO_IDENTITY_MAX];  /* name and energy field, "none" */
} eco_identity;

/* What a journal brought: nothing in a run that goes from its beginning to its end. */
enum { ECO_RESUMED_TEXT_MAX = 96 };
typedef struct eco_resumption {
    uint32_t n;                       /* times the run went on after a stop */
    char where[ECO_RESUMED_TEXT_MAX]; /* "at block 3, at block 5" */
    bool planned, probed;             /* records that stand in the journal already */
    bool extra_done;                  /* the windows after the blocks too */
    bool finished;                    /* nothing is left to do */
    eco_sampler_stats before;         /* sums over the stopped sessions; n_samples 0 = none */
    double before_wall_s;
    size_t n_tenants;  /* most seen before one of them */
    int64_t t_last_ns; /* the latest row, from the origin */
    char run_id[ECO_RUN_ID_MAX];
    eco_identity identity;
    eco_sensor sensor; /* as probed when the run began */
} eco_resumption;

typedef struct eco_session {
    const eco_plan *plan;
    const eco_measure_hooks *hooks;
    eco_engine *engine;
    eco_engine_info engine_info;
    eco_meter *meter; /* NULL = nothing to read energy with */
    eco_meter_info meter_info;
    char no_meter[ECO_ERROR_MESSAGE_MAX]; /* why */
    eco_status no_meter_code;
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
    bool stuck; /* a driver call hangs: no other is made, nothing of drivers is released */
    eco_error fault;
    eco_sampler_stats totals; /* at the end */
    double sampler_wall_s;
    int64_t sampler_start_ns;
    eco_journal *journal; /* NULL = nothing is kept, as in a characterisation */
    eco_resumption resumption;
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
eco_basis ecoi_basis_of_meter(const eco_meter_info *info); /* of joules read with this meter */
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
/* One ceiling in windows back to back under one load, for the command probe. The sampler is open. Each window has a
 * block of its own, from `first_block` on, so that the rows of several ceilings keep apart. */
enum { ECO_CEILING_WINDOWS = 3 };
typedef struct eco_ceiling_request {
    eco_work_kind kind;
    double ramp_s, seconds;
    uint32_t first_block; /* from 1 */
} eco_ceiling_request;
typedef struct eco_ceiling {
    uint32_t n;                        /* windows */
    double per_s[ECO_CEILING_WINDOWS]; /* bytes, operations or launches a second */
    double j_per[ECO_CEILING_WINDOWS]; /* joules for one of them; 0 without a meter */
    eco_basis energy_basis, time_basis;
} eco_ceiling;
ECO_NODISCARD eco_status ecoi_ceiling_run(eco_session *session, const eco_ceiling_request *request,
                                          eco_ceiling *out, eco_error *err);
/* Opens the sampler for the whole run; ecoi_ceilings_probe does it where the ceilings are probed. */
ECO_NODISCARD eco_status ecoi_sampler_start(eco_session *session, eco_error *err);
/* What the headline is made of, by the plan's protocol: the windows of the blocks, and how many of their work units (of
 * a generation window: steps) make one generated token. */
eco_work_kind ecoi_headline_work(const eco_plan *plan);
eco_phase ecoi_headline_phase(const eco_plan *plan);
double ecoi_units_per_token(const eco_plan *plan);
/* Copies the sampler's rows to the arm's trace, as printed, and clears the sampler. */
ECO_NODISCARD eco_status ecoi_rows_keep(eco_session *session, uint32_t arm, eco_error *err);

/* report_build.c, output.c */
eco_report *ecoi_report_build(const eco_session *session, uint32_t arm,
                              const char *const *trace_sha256, const char *const *trace_files);
ECO_NODISCARD eco_status ecoi_output_write(const eco_session *session, eco_measure_result *result,
                                           eco_error *err);

/* journal_records.c: each appends one record; nothing without a journal or where the record stands already. */
ECO_NODISCARD eco_status ecoi_journal_plan(eco_session *session, eco_error *err);
ECO_NODISCARD eco_status ecoi_journal_probes(eco_session *session, eco_error *err);
/* `block` from 1, every window of it in the session; 0 = the windows after the blocks. */
ECO_NODISCARD eco_status ecoi_journal_block(eco_session *session, uint32_t block, eco_error *err);
ECO_NODISCARD eco_status ecoi_journal_resume(eco_session *session, eco_error *err);
void ecoi_journal_end(eco_session *session); /* how the run ended; a failure is only said */
void ecoi_identity_of(const eco_session *session, eco_identity *out);
/* The options that must not differ, as texts: key in the journal, the option's name, the value. */
enum { ECO_PLAN_ROWS_MAX = 32, ECO_PLAN_VALUE_MAX = 96 };
typedef struct eco_plan_row {
    const char *key, *option;
    char value[ECO_PLAN_VALUE_MAX];
} eco_plan_row;
uint32_t ecoi_plan_rows(const eco_plan *plan, eco_plan_row rows[ECO_PLAN_ROWS_MAX]);

/* resume.c */
/* Takes the journal of plan->output_dir for this process alone; with plan->resume brings back what it holds.
 * ECO_E_BUSY: another run has it. */
ECO_NODISCARD eco_status ecoi_resume_begin(eco_session *session, eco_error *err);
/* After the device is known: is it the one, in the same boot? Then the run is noted as gone on. */
ECO_NODISCARD eco_status ecoi_resume_device(eco_session *session, eco_error *err);
/* Instead of probing: what the journal says, and the sampler is open. */
ECO_NODISCARD eco_status ecoi_resume_probes(eco_session *session, eco_error *err);
/* session->totals and sampler_wall_s up to now, the stopped sessions of this run included. */
void ecoi_resume_totals(eco_session *session);

/* output_folder.c: takes away what a killed run left half written. The folder's journal is held. */
void ecoi_output_sweep(const char *folder);

/* session.c */
void ecoi_session_say(const eco_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool ecoi_session_interrupted(void);
void ecoi_session_close(eco_session *session);

#endif
