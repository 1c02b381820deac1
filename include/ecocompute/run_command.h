/* SPDX-License-Identifier: Apache-2.0
 *
 * The energy of any command: it is run as it stands, its streams untouched, while every meter of the machine is read.
 * Each meter keeps its own boundary; nothing is added across meters. Man page: docs/run.md.
 */
#ifndef ECOCOMPUTE_RUN_COMMAND_H
#define ECOCOMPUTE_RUN_COMMAND_H

#include "ecocompute/meter.h"
#include "ecocompute/report.h"
#include "ecocompute/stats.h"
#include "ecocompute/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ECO_RUN_METERS_MAX = 16,
    ECO_RUN_PHASES_MAX = 32,
    ECO_RUN_REPEATS_MAX = 1000,
    ECO_RUN_NAME_MAX = 64,
    ECO_RUN_WARNINGS_MAX = 24
};

/* Environment variable of the command: the number of the descriptor that takes marker lines. */
#define ECO_RUN_MARKER_VARIABLE "ECOCOMPUTE_MARKER_FD"

typedef struct eco_run_plan {
    char *const *commands[2]; /* argument arrays ended by NULL; [1] NULL = no comparison */
    uint32_t n_repeats;       /* of each command */
    const char *meters;       /* names parted by commas, the headline first where `device` does not
                                 choose; NULL = every usable sensor */
    eco_meter_config meter_config; /* of exec and replay, which are never taken unnamed */
    const char *device;    /* "auto", "cpu", "cuda", "cuda:1", "cuda:GPU-…": the headline meter */
    uint64_t order_seed;   /* of the order A, B */
    double margin_pct;     /* of "no difference" */
    double seconds_min;    /* a shorter run, or phase, ... */
    double ticks_min;      /* ... or one of fewer updates of its meter, gets no energy */
    double rate_hz;        /* power samples a second */
    bool stdout_to_stderr; /* the command's standard output; its bytes stay as they are */
    const char
        *output_dir; /* exists; a power trace a run and meter is written there; NULL = none */
    void (*progress)(void *user, const char *line); /* between runs; NULL = quiet */
    void *user;
} eco_run_plan;

/* What one meter saw of one run or phase. `energy_j` is absent for the reason `code` names. */
typedef struct eco_run_energy {
    eco_reading energy_j;
    const char *code; /* of warnings.def, or "unreadable"; "" when the energy is there; static */
    double edge_half_width_j; /* energy that the ends of the window may hold too much or lack */
    eco_reading window_j; /* counter between the two ticks around the run, before the correction */
    double gap_s, gap_j;  /* time from tick to start and from end to tick, and its idle energy */
    eco_reading integral_j;          /* power samples integrated over the same time */
    eco_reading counter_to_integral; /* between the two ticks */
    eco_reading mj_per_token;
    double longest_gap_s; /* between two samples of the run; an end seen late shows here too */
} eco_run_energy;

typedef struct eco_run_phase {
    char name[ECO_RUN_NAME_MAX];
    uint32_t n_times; /* begun and ended so often */
    double seconds;
    bool has_tokens;
    uint64_t tokens;
    eco_run_energy energies[ECO_RUN_METERS_MAX];
} eco_run_phase;

typedef struct eco_run_one {
    uint32_t command; /* 0 = A, 1 = B */
    uint32_t repeat;  /* from 1 */
    double start_s;   /* since the series began */
    double seconds, cpu_s;
    int exit_status, signal;
    bool counted;      /* ended with status 0, and no stop signal came meanwhile */
    bool left_running; /* processes that it started outlived it; their energy ends with it */
    bool has_tokens;
    uint64_t tokens;
    eco_run_energy energies[ECO_RUN_METERS_MAX];
    eco_run_phase *phases;
    uint32_t n_phases;
} eco_run_one;

typedef struct eco_run_meter {
    eco_meter_info info;
    eco_basis basis;
    eco_reading period_s; /* of the counter, seen at the starts of runs long enough */
    eco_reading idle_w;   /* just before the first run */
    size_t n_tenants_before, n_tenants_after;
    bool tenants_known;
} eco_run_meter;

/* Over the counted runs of one command; n = 0 where there is no energy. */
typedef struct eco_run_mean {
    eco_quantity energy_j;
    eco_quantity mj_per_token;
    double edge_half_width_j; /* the largest of a run */
} eco_run_mean;

/* Command B against A on one meter, from the runs of whole pairs. */
typedef struct eco_run_pairing {
    uint32_t n_pairs;
    double change_pct, lo_pct, hi_pct; /* valid when n_pairs > 0; the interval when > 1 */
    eco_verdict verdict;
} eco_run_pairing;

typedef struct eco_run_warning {
    eco_warning warning;
    char detail[160];
} eco_run_warning;

typedef struct eco_run_result {
    eco_run_meter meters[ECO_RUN_METERS_MAX]; /* the headline meter first */
    uint32_t n_meters, n_commands;
    char no_meter[ECO_ERROR_MESSAGE_MAX]; /* why there is none */
    char left_out
        [ECO_ERROR_MESSAGE_MAX]; /* why a device of a usable meter is not read; "" = all are */
    eco_run_one *runs;           /* in the order they ran */
    uint32_t n_runs, n_planned;
    eco_mean seconds[2]; /* of the counted runs */
    eco_run_mean means[2][ECO_RUN_METERS_MAX];
    eco_run_pairing pairings[ECO_RUN_METERS_MAX];
    eco_run_warning warnings[ECO_RUN_WARNINGS_MAX];
    uint32_t n_warnings;
    uint32_t n_markers_ignored; /* malformed lines, ends without a begin, names beyond the cap */
    double margin_pct;
    uint64_t order_seed;
    int interrupted; /* the stop signal, or 0 */
    int exit_status; /* of the program: the last child's own, 128 + signal; 125, 126, 127 */
    eco_error fault; /* why not all planned runs are there, when it was not a signal or a status */
} eco_run_result;

/* Runs the series. A child that fails ends it; its status is in result->exit_status. ECO_OK also when a run fell short;
 * fails when nothing could be started: ECO_E_NOT_FOUND (127), ECO_E_PERMISSION (126), else 125. ECO_E_USAGE: a meter or
 * device that does not exist. A meter of the list that cannot be opened fails the whole. The caller frees the result in every case. */
ECO_NODISCARD eco_status eco_run_command(const eco_run_plan *plan, eco_run_result *result,
                                         eco_error *err);
void eco_run_result_free(eco_run_result *result);

/* The summary for people, and the document that --json prints; `plan` gives the commands' words. */
void eco_run_result_text(const eco_run_plan *plan, const eco_run_result *result, eco_text *out);
ECO_NODISCARD eco_status eco_run_result_json(const eco_run_plan *plan, const eco_run_result *result,
                                             eco_text *out, eco_error *err);
/* run.json in plan->output_dir, whole or not at all. */
ECO_NODISCARD eco_status eco_run_result_write(const eco_run_plan *plan,
                                              const eco_run_result *result, eco_error *err);

/* Splits a text into words at blanks. '…' is literal; in "…" a backslash escapes " and \; outside quotes it escapes the
 * next character. Nothing is expanded. *words: an argument array ended by NULL, one allocation, the caller frees it
 * with free(). ECO_E_USAGE: a quote that does not end, or no word at all. */
ECO_NODISCARD eco_status eco_words_split(const char *text, char ***words, eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
