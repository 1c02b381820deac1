/* SPDX-License-Identifier: Apache-2.0
 *
 * A measurement: what to compare, how long, in what order; and the run itself. Every field of a plan is set by the
 * caller (the program's defaults live in cli/).
 */
#ifndef ECOCOMPUTE_PLAN_H
#define ECOCOMPUTE_PLAN_H

#include "ecocompute/arch.h"
#include "ecocompute/engine.h"
#include "ecocompute/meter.h"
#include "ecocompute/report.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ECO_ARMS_MAX = 8,
    ECO_BATCH_MAX = 64,
    ECO_BLOCKS_MAX = 64,
    ECO_ITERATIONS_MAX = 1000,
    ECO_STEADY_MIN_S = 5
};

/* paired: decode windows of a length. published: windows of `n_iterations` whole generations after `n_warmup`. */
typedef enum eco_protocol { ECO_PROTOCOL_PAIRED = 0, ECO_PROTOCOL_PUBLISHED } eco_protocol;
/* cold: a rest before each arm. steady: no rest; the arm works until its temperature stands still. */
typedef enum eco_thermal_mode { ECO_THERMAL_COLD = 0, ECO_THERMAL_STEADY } eco_thermal_mode;

typedef struct eco_plan {
    const eco_model_shape *shape;
    eco_format arms[ECO_ARMS_MAX]; /* arms[0] is the baseline */
    uint32_t n_arms;               /* 1 = only the baseline, no comparison */
    eco_format head;
    eco_engine_options engine;
    const char *meter; /* as eco_meter_options.name: a name, a list of them, or NULL */
    eco_meter_config meter_config;
    uint32_t batch, n_prompt, n_tokens;
    uint32_t outlier_permille; /* INT8 arms: columns of a thousand planted as outliers */
    uint64_t seed;             /* weights and prompt */
    uint64_t order_seed;       /* shuffle */
    bool shuffle;
    uint32_t n_blocks;
    double window_s; /* shortest decode window; also at least `window_ticks_min` counter ticks */
    double window_ticks_min;
    double ramp_s; /* shortest load before a window opens */
    double burn_in_s;
    double cooldown_max_s;
    double margin_pct;
    eco_protocol protocol;
    uint32_t n_iterations, n_warmup; /* published only */
    eco_thermal_mode thermal;
    double steady_max_s;  /* steady only: longest time under load before a window */
    bool extra_windows;   /* one generation and one looped-prefill window an arm after the blocks */
    bool force;           /* measure although others use the device; flagged */
    bool resume;          /* go on with the journal in output_dir; see eco_resume_look */
    bool published_names; /* traces are power_trace.csv (under test) and power_trace_fp16.csv */
    const char *output_dir; /* exists and is writable */
    const char *command;    /* the options given, for the report */
    const char *run_id;
    const char *session; /* of runs made in one sitting, for the report; NULL = the run alone */
} eco_plan;

/* Unknown combinations and impossible numbers: ECO_E_USAGE, the option named. */
ECO_NODISCARD eco_status eco_plan_check(const eco_plan *plan, eco_error *err);
/* Wall time of the measuring part, from the plan alone: shortest and longest, seconds. Loading excluded. */
void eco_plan_seconds(const eco_plan *plan, double *shortest_s, double *longest_s);
/* Order of the arms in each block: order[block * n_arms + place] = arm. Each arm stands in each place equally often, to
 * within one; the same seed gives the same order. */
void eco_plan_order(const eco_plan *plan, uint32_t *order);
/* What this plan would do, line by line, for --dry-run. */
void eco_plan_describe(const eco_plan *plan, eco_text *out);

/* Whether every arm of the plan can run on the plan's device, now: the engine's own limits, and memory. Opens the engine
 * (on a GPU a context) and loads nothing. The error is that of eco_measure; *bytes of the largest arm and *free_bytes
 * (0 = not known) are filled in where the engine could be opened. */
ECO_NODISCARD eco_status eco_measure_check(const eco_plan *plan, uint64_t *bytes,
                                           uint64_t *free_bytes, eco_error *err);

typedef struct eco_measure_hooks {
    void (*progress)(void *user, const char *line); /* NULL = quiet; never called inside a window */
    void *user;
} eco_measure_hooks;

typedef struct eco_measure_result {
    uint32_t n_reports;
    eco_report *reports
        [ECO_ARMS_MAX]; /* one an arm under test; caller frees with eco_measure_result_free */
    char files[ECO_ARMS_MAX][64];  /* their names in output_dir */
    char traces[ECO_ARMS_MAX][64]; /* "" where there is none */
    bool energy_measured;          /* some energy was measured */
    bool partial; /* interrupted or cut short by a fault; the finished blocks are in the reports */
    eco_error fault; /* what cut it short; code ECO_OK if nothing did */
} eco_measure_result;

/* Runs the plan and writes reports and traces into plan->output_dir, again after every finished block. Fails (and writes
 * nothing) only when nothing could be started; a fault later is in result->fault. ECO_E_BUSY: others use the device. */
ECO_NODISCARD eco_status eco_measure(const eco_plan *plan, const eco_measure_hooks *hooks,
                                     eco_measure_result *result, eco_error *err);
void eco_measure_result_free(eco_measure_result *result);

/* Where a run's files go. `wanted` NULL: a folder of the run's own, "ecocompute-out/<UTC time>-<id>", and the link
 * ecocompute-out/latest; else that folder, which must hold no report or journal unless `force`. */
enum { ECO_FOLDER_MAX = 3072, ECO_RUN_ID_MAX = 48 };
typedef struct eco_output {
    char folder[ECO_FOLDER_MAX];
    char run_id[ECO_RUN_ID_MAX];
    bool own;                      /* a folder of the run's own */
    char previous[ECO_RUN_ID_MAX]; /* what ecocompute-out/latest named before; "" = nothing */
} eco_output;
/* Chooses the names; touches nothing. */
ECO_NODISCARD eco_status eco_output_choose(const char *wanted, bool force, eco_output *out,
                                           eco_error *err);
/* Whether the folder could be made or written, from what is there; touches nothing. */
ECO_NODISCARD eco_status eco_output_check(const eco_output *output, eco_error *err);
/* Makes the folder, shows by doing that files fit in it, and points ecocompute-out/latest at it if it is the run's own:
 * a run that is killed is found again by that link. */
ECO_NODISCARD eco_status eco_output_prepare(eco_output *output, eco_error *err);
/* Points ecocompute-out/latest at the run, if the folder is its own. */
ECO_NODISCARD eco_status eco_output_latest(const eco_output *output, eco_error *err);
/* Removes the folder if it is the run's own and still empty: nothing was measured. */
void eco_output_abandon(const eco_output *output);
/* Writes a file of that bare name into the folder, whole or not at all. */
ECO_NODISCARD eco_status eco_output_put(const eco_output *output, const char *name,
                                        const eco_text *text, eco_error *err);
/* The folder of a run to go on with: `wanted`, or NULL: the one ecocompute-out/latest names. ECO_E_NOT_FOUND when it
 * holds no journal. */
ECO_NODISCARD eco_status eco_output_resume(const char *wanted, eco_output *out, eco_error *err);

/* What the journal of a stopped run says; docs/journal.md. */
typedef struct eco_resume {
    uint32_t blocks_finished;
    bool finished;               /* nothing is left to do */
    uint64_t order_seed;         /* the run's, where it had one yet */
    char run_id[ECO_RUN_ID_MAX]; /* the run's, "" where it had none yet */
    char note
        [ECO_ERROR_MESSAGE_MAX]; /* what of the journal is not usable and will be dropped; "" = nothing */
} eco_resume;
/* Reads the journal in plan->output_dir and compares its plan with this one. ECO_E_USAGE: an option differs, named;
 * the order's seed counts only if `order_seed_given`. ECO_E_INVALID: not a journal. Changes nothing. */
ECO_NODISCARD eco_status eco_resume_look(const eco_plan *plan, bool order_seed_given,
                                         eco_resume *out, eco_error *err);

uint64_t eco_random_seed(void); /* from the system's random source */

/* The program's own version, commit, build type and compiler; static. */
const char *eco_version(void);
const char *eco_build_description(void);

/* What one board's sensor does; absent where it could not be seen. n = 1 load step. */
typedef struct eco_sensor {
    eco_reading counter_period_s, power_period_s,
        average_period_s;                     /* median time between changes */
    eco_reading power_rise_s;                 /* load step to 90 % in power_w */
    eco_reading average_window_s;             /* averaging window of power_average_w */
    eco_reading counter_cost_s, power_cost_s; /* median time of a read */
    eco_reading counter_to_integral;          /* over the characterising load */
    eco_reading idle_bare_w, idle_context_w, idle_loaded_w;
    double seconds; /* of load watched */
} eco_sensor;

/* Characterises the meter of the engine's device, with a memory-reading load. */
ECO_NODISCARD eco_status eco_characterize(const eco_engine_options *engine, const char *meter,
                                          const eco_measure_hooks *hooks,
                                          eco_meter_info *meter_info, eco_engine_info *engine_info,
                                          eco_sensor *out, eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
