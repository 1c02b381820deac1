/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows. Every window of the product closes here, and only here is a number called measured. The load runs through
 * both ends; with an energy counter both ends are ticks of it.
 */
#include "protocol/session.h"

#include "core/alloc.h"
#include "sys/clock.h"
#include "sys/signals.h"

#include <math.h>

static const double PROGRESS_TIMEOUT_S =
    180.0; /* a load that finishes nothing for so long is broken */
static const double READ_WATCH_S = 1.7;
static const double READ_WINDOW_S = 1.5;
static const double LAUNCH_S = 0.3;
static const int64_t STEP_NS = 2000000;
static const int64_t POWER_AFTER_NS = 500000000; /* ten sampling periods */

/* A sensor's joules are measured; a replay's never are. Time comes from the one clock. */
static eco_basis energy_basis_of(const eco_session *session) {
    if (session->meter == NULL) {
        return ECO_BASIS_UNAVAILABLE;
    }
    return session->meter_info.source == ECO_SOURCE_SENSOR ? ECO_BASIS_MEASURED
                                                           : ECO_BASIS_REPLAYED;
}

static uint64_t progress_of(const eco_session_arm *arm) {
    return __atomic_load_n(arm->info.progress, __ATOMIC_ACQUIRE);
}

eco_status ecoi_rows_keep(eco_session *session, uint32_t index, eco_error *err) {
    eco_session_arm *arm = &session->arms[index];
    size_t n = 0;
    const eco_sample *rows = ecoi_sampler_rows(session->sampler, &n);
    if (arm->n_rows + n > arm->capacity_rows) {
        const size_t capacity = (arm->n_rows + n) * 2;
        eco_sample *larger = ecoi_realloc(arm->rows, capacity * sizeof *larger);
        if (larger == NULL) {
            return eco_error_set(err, ECO_E_NO_MEMORY, 0, "trace: out of memory for %zu rows",
                                 capacity);
        }
        arm->rows = larger;
        arm->capacity_rows = capacity;
    }
    for (size_t i = 0; i < n; i++) {
        arm->rows[arm->n_rows++] = eco_sample_as_printed(&rows[i], session->origin_ns);
    }
    ecoi_sampler_clear(session->sampler);
    return ECO_OK;
}

/* Until the first unit is done and the ramp is over. Gives the units a second seen meanwhile. */
static eco_status wait_ramp(const eco_session_arm *arm, const eco_load *load, double ramp_s,
                            double *units_per_s, eco_error *err) {
    const int64_t start_ns = ecoi_now_ns();
    int64_t first_ns = 0;
    uint64_t first = 0;
    for (;;) {
        const int64_t now_ns = ecoi_now_ns();
        const uint64_t units = progress_of(arm);
        if (ecoi_session_interrupted()) {
            return eco_error_set(err, ECO_E_INTERRUPTED, 0, "interrupted");
        }
        if (ecoi_load_ended(load)) {
            return eco_error_set(err, ECO_E_FAILED, 0,
                                 "the engine stopped before the window opened");
        }
        if (units > 0 && first_ns == 0) {
            first_ns = now_ns;
            first = units;
        }
        if (first_ns != 0 && (double)(now_ns - first_ns) * 1e-9 >= ramp_s) {
            *units_per_s = (double)(units - first) * 1e9 / (double)(now_ns - first_ns);
            return ECO_OK;
        }
        if (first_ns == 0 && (double)(now_ns - start_ns) * 1e-9 > PROGRESS_TIMEOUT_S) {
            return eco_error_set(err, ECO_E_TIMEOUT, 0,
                                 "the engine finished no unit of work in %.0f s",
                                 PROGRESS_TIMEOUT_S);
        }
        ecoi_sleep_until_ns(now_ns + STEP_NS);
    }
}

typedef struct hold {
    int32_t block;
    eco_phase phase;
    double ramp_s, seconds, unit_period, units_per_s;
} hold;

/* The power reading has forgotten the time before the load: its rise or averaging window, and two ticks. */
static double ramp_of(const eco_session *session) {
    const eco_reading rise_s = session->sensor.power_rise_s;
    const eco_reading tick_s = session->sensor.counter_period_s;
    const double needed_s = (eco_reading_present(rise_s) ? rise_s.value : 0.0) +
                            2.0 * (eco_reading_present(tick_s) ? tick_s.value : 0.0);
    return fmax(session->plan->ramp_s, needed_s);
}

/* A power sample past the closing edge, the load still on: the integral's last piece needs it. */
static void wait_power_after(const eco_session *session, int64_t edge_ns) {
    const int64_t give_up_ns = ecoi_now_ns() + POWER_AFTER_NS;
    while (session->meter != NULL && ecoi_now_ns() < give_up_ns) {
        size_t n = 0;
        const eco_sample *rows = ecoi_sampler_rows(session->sampler, &n);
        for (size_t i = n; i > 0 && rows[i - 1].t_ns > edge_ns; i--) {
            if (eco_reading_present(rows[i - 1].power_w)) {
                return;
            }
        }
        ecoi_sleep_until_ns(ecoi_now_ns() + STEP_NS);
    }
}

/* Opens at a tick, closes at a tick; nothing is allocated, logged or locked in between. */
static eco_status hold_window(eco_session *session, const hold *h, eco_window *out,
                              eco_error *err) {
    const double tick_s = eco_reading_present(session->sensor.counter_period_s)
                              ? session->sensor.counter_period_s.value
                              : 0.0;
    eco_edge_request request = {.block = h->block,
                                .phase = h->phase,
                                .after = ECO_PHASE_RAMP,
                                .interrupted = ecoi_interrupted()};
    eco_edge open;
    eco_edge close;
    ecoi_sampler_reset_extremes(session->sampler);
    ecoi_alloc_forbid(true);
    eco_status status = ecoi_sampler_edge(session->sampler, &request, &open, err);
    if (status == ECO_OK) {
        const double seconds = fmax(h->seconds, session->plan->window_ticks_min * tick_s);
        const eco_edge_condition condition = {
            .not_before_ns = open.t_ns + (int64_t)(seconds * 1e9),
            .tokens_open = open.tokens,
            .unit_period = h->unit_period,
            .slack = fmax(1.0, 0.6 * tick_s * h->units_per_s),
            .timeout_ns = 2000000000 + (int64_t)(h->unit_period / fmax(h->units_per_s, 0.1) * 1e9)};
        request.closing = true;
        request.condition = &condition;
        status = ecoi_sampler_edge(session->sampler, &request, &close, err);
    }
    ecoi_alloc_forbid(false);
    if (status != ECO_OK) {
        return status;
    }
    wait_power_after(session, close.t_ns);
    if (ecoi_alloc_violations() != 0) {
        return eco_error_set(err, ECO_E_FAILED, 0,
                             "%zu allocations were made inside a window (a fault of this program)",
                             ecoi_alloc_violations());
    }
    ecoi_sampler_stats(session->sampler, &out->stats);
    out->edge_half_width_s =
        (double)(open.u_t_ns > close.u_t_ns ? open.u_t_ns : close.u_t_ns) * 1e-9;
    return ECO_OK;
}

static eco_phase phase_of(eco_work_kind kind) {
    switch (kind) {
    case ECO_WORK_DECODE:
        return ECO_PHASE_DECODE;
    case ECO_WORK_GENERATION:
        return ECO_PHASE_GENERATION;
    case ECO_WORK_PREFILL:
        return ECO_PHASE_PREFILL;
    case ECO_WORK_READ:
    case ECO_WORK_LAUNCH:
        return ECO_PHASE_PROBE;
    }
    return ECO_PHASE_PROBE;
}

/* The load is running: ramp, window, stop, rows. A fault of the load outranks what it did to the window. */
static eco_status window_under_load(eco_session *session, uint32_t index, eco_load *load, hold *h,
                                    eco_window *out, eco_error *err) {
    eco_session_arm *arm = &session->arms[index];
    ecoi_sampler_mark(session->sampler, h->block, ECO_PHASE_RAMP);
    ecoi_sampler_follow(session->sampler, arm->info.progress);
    eco_status status = wait_ramp(arm, load, h->ramp_s, &h->units_per_s, err);
    if (status == ECO_OK) {
        status = hold_window(session, h, out, err);
    }
    const bool ended = ecoi_load_ended(load);
    ecoi_sampler_follow(session->sampler, NULL);
    eco_work_result result;
    eco_error load_error;
    const eco_status load_status = ecoi_load_stop(load, &result, &load_error);
    ecoi_sampler_mark(session->sampler, 0, ECO_PHASE_COOLDOWN);
    eco_error keep_error;
    const eco_status kept = ecoi_rows_keep(session, index, &keep_error);
    out->unit_bytes = result.unit_bytes;
    if (load_status != ECO_OK) {
        if (err != NULL) {
            *err = load_error;
        }
        return load_status;
    }
    if (status == ECO_OK && ended) {
        return eco_error_set(err, ECO_E_FAILED, 0, "the engine stopped inside a window");
    }
    if (status == ECO_OK && kept != ECO_OK && err != NULL) {
        *err = keep_error;
    }
    return status != ECO_OK ? status : kept;
}

/* From the rows as printed, so that the trace alone gives the same numbers. */
static eco_status conclude(const eco_session *session, uint32_t index, const hold *h,
                           eco_window *out, eco_error *err) {
    const eco_session_arm *arm = &session->arms[index];
    out->block = h->block;
    out->phase = h->phase;
    if (!eco_window_figures_of(arm->rows, arm->n_rows, h->block, h->phase, session->meter == NULL,
                               &out->figures)) {
        return eco_error_set(err, ECO_E_FAILED, 0, "%s, block %d: the window holds no usable %s",
                             eco_format_at(arm->format)->name, h->block,
                             session->meter == NULL ? "time and tokens"
                                                    : "energy, time and tokens");
    }
    out->energy_basis = energy_basis_of(session);
    out->time_basis = ECO_BASIS_MEASURED;
    return ECO_OK;
}

eco_status ecoi_window_run(eco_session *session, const eco_window_request *request, eco_window *out,
                           eco_error *err) {
    *out = (eco_window){.order = request->order};
    ECO_TRY(ecoi_arm_ready(session, request->arm, err));
    eco_session_arm *arm = &session->arms[request->arm];
    ecoi_sampler_mark(session->sampler, request->block, ECO_PHASE_COOLDOWN);
    if (request->cool) {
        ecoi_cooldown(session, &out->cooldown_s, &out->cooled);
    }
    if (ecoi_session_interrupted()) {
        return eco_error_set(err, ECO_E_INTERRUPTED, 0, "interrupted");
    }
    eco_load *load = NULL;
    ECO_TRY(ecoi_load_start(arm->arm, request->kind, 0, &load, err));
    hold h = {.block = request->block,
              .phase = phase_of(request->kind),
              .ramp_s = ramp_of(session),
              .seconds = request->seconds,
              .unit_period = request->kind == ECO_WORK_GENERATION
                                 ? (double)arm->workload.n_prompt + arm->workload.n_tokens
                                 : 0.0};
    ECO_TRY(window_under_load(session, request->arm, load, &h, out, err));
    return conclude(session, request->arm, &h, out, err);
}

static eco_status open_sampler(eco_session *session, eco_error *err) {
    const eco_sampler_options options = {.meter = session->meter,
                                         .rate_hz = 20.0,
                                         .capacity = ECO_SAMPLER_ROWS,
                                         .origin_ns = session->origin_ns};
    return ecoi_sampler_open(&options, &session->sampler, err);
}

static eco_status probe_launch(eco_session *session, eco_error *err) {
    eco_load *load = NULL;
    ECO_TRY(ecoi_load_start(session->arms[0].arm, ECO_WORK_LAUNCH, 0, &load, err));
    ecoi_sleep_until_ns(ecoi_now_ns() + (int64_t)(LAUNCH_S * 1e9));
    eco_work_result result;
    ECO_TRY(ecoi_load_stop(load, &result, err));
    if (result.n_units > 0 && result.busy_s > 0.0) {
        session->ceilings.launch_s = result.busy_s / (double)result.n_units;
    }
    return ECO_OK;
}

/* Bandwidth, energy per byte and launch cost of this card now; opens the sampler for the whole run. */
eco_status ecoi_ceilings_probe(eco_session *session, eco_error *err) {
    eco_load *load = NULL;
    eco_status status = ECO_OK;
    if (session->meter != NULL) {
        status = ecoi_sensor_watch(session, READ_WATCH_S, &load, err);
    } else {
        status = ecoi_load_start(session->arms[0].arm, ECO_WORK_READ, 0, &load, err);
    }
    if (status == ECO_OK) {
        status = open_sampler(session, err);
    }
    if (status != ECO_OK) {
        const eco_status stopped = ecoi_load_stop(load, NULL, NULL);
        (void)stopped; /* the first fault is the one told */
        return status;
    }
    hold h = {.block = 0, .phase = ECO_PHASE_PROBE, .seconds = READ_WINDOW_S};
    eco_window window = {0};
    ECO_TRY(window_under_load(session, 0, load, &h, &window, err));
    ECO_TRY(conclude(session, 0, &h, &window, err));
    const double bytes = window.figures.tokens * window.unit_bytes;
    session->ceilings.read_bytes_per_s = bytes / window.figures.seconds;
    session->ceilings.read_power_w = window.figures.power_w;
    session->ceilings.read_j_per_byte = window.figures.energy_j / bytes;
    ecoi_sampler_mark(session->sampler, 0, ECO_PHASE_PROBE);
    ECO_TRY(probe_launch(session, err));
    ecoi_sampler_mark(session->sampler, 0, ECO_PHASE_COOLDOWN);
    ecoi_sampler_clear(session->sampler);
    return ECO_OK;
}
