/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of a command under the eyes of several meters, from one thread: the process is waited for, its markers are
 * read, power is sampled on absolute deadlines, and counter ticks are caught at both ends. A run is never made to wait
 * for a tick: the counter read just before the start holds the last tick's value, and that tick's time follows from the
 * ticks seen after the start.
 */
#ifndef ECOCOMPUTE_PROTOCOL_COMMAND_WATCH_H
#define ECOCOMPUTE_PROTOCOL_COMMAND_WATCH_H

#include "protocol/markers.h"
#include "sys/proc.h"

typedef struct eco_watched {
    eco_meter *meter; /* owned by who opened it */
    eco_meter_info info;
    bool has_counter, has_power;
    int64_t period_ns;       /* between ticks, 0 = not seen yet */
    int64_t period_basis_ns; /* the time over which it was seen; a longer one replaces it */
    int64_t known_tick_ns;   /* a tick whose instant is well known, 0 = none */
    /* of the run at hand */
    eco_reading before_w, before_j, close_j;
    int64_t before_ns; /* before_j is the counter at this instant */
    int64_t close_ns, close_half_width_ns;
    double last_j;
    int64_t last_ns, first_tick_ns; /* last read; first tick after the start, 0 = none yet */
    int64_t first_half_width_ns;    /* of its instant */
    bool seeking, device_lost, stepped_back;
    int64_t cost_ns; /* of the last counter read */
    uint32_t throttle;
    uint32_t n_failed, n_close_reads; /* failed reads; good ones since the end */
    int64_t last_power_ns, longest_gap_ns;
    eco_sample *rows;
    size_t n_rows, capacity;
    bool rows_lost;
} eco_watched;

typedef struct eco_command_watch {
    const eco_run_plan *plan;
    eco_proc_watch *proc;
    eco_watched meters[ECO_RUN_METERS_MAX];
    uint32_t n_meters;
    char left_out
        [ECO_ERROR_MESSAGE_MAX]; /* why a device of a usable meter is not among them; "" = none */
} eco_command_watch;

typedef struct eco_command_run {
    int64_t start_ns;
    eco_proc_end end;
    bool interrupted;  /* a stop signal came before its end */
    bool left_running; /* it ended, and processes that it started have not */
    int markers_error; /* errno of a failed read; `markers` is empty then, for it cannot be whole */
    eco_markers markers; /* the caller frees */
} eco_command_run;

/* Runs argv once. Fails only when it could not be started. */
ECO_NODISCARD eco_status ecoi_command_watch_run(eco_command_watch *watch, char *const *argv,
                                                eco_command_run *out, eco_error *err);
/* What the meter saw of the run, and of the intervals of one phase of it. */
eco_run_energy ecoi_command_energy(const eco_command_watch *watch, uint32_t meter,
                                   const eco_command_run *run);
eco_run_energy ecoi_phase_energy(const eco_command_watch *watch, uint32_t meter,
                                 const eco_command_run *run, uint32_t phase);

#endif
