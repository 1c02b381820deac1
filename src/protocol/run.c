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
#include <stdio.h>
#include <string.h>

static const double PROGRESS_TIMEOUT_S =
    180.0; /* a load that finishes nothing for so long is broken */
static const double READ_WATCH_S = 1.7;
static const double READ_WINDOW_S = 1.5;
static const double SHORT_PROBE_S = 0.3;
static const double NO_SENSOR_S = 3.5; /* the sampler reads the temperature once a second */
static const int64_t STEADY_STEP_NS = 50000000;
static const double STUCK_LOAD_S = 5.0; /* patience with a load beside a driver call that hangs */
static const double CLOSING_S = 0.5;    /* the closing edge is left to the sampler so long before */
static const double RATE_SHARE = 0.1;   /* of a window's work, from where its own rate is known */
static const int64_t STEP_NS = 2000000;
static const int64_t POWER_AFTER_NS = 500000000; /* ten sampling periods */

/* A sensor's joules are measured, those of a user's program too, with a warning; a replay's never are. Time comes from
 * the one clock. */
eco_basis ecoi_basis_of_meter(const eco_meter_info *info) {
    return info->source == ECO_SOURCE_REPLAY ? ECO_BASIS_REPLAYED : ECO_BASIS_MEASURED;
}

static eco_basis energy_basis_of(const eco_session *session) {
    return session->meter == NULL ? ECO_BASIS_UNAVAILABLE
                                  : ecoi_basis_of_meter(&session->meter_info);
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

typedef struct hold {
    int32_t block;
    eco_phase phase;
    double ramp_s, seconds, unit_period, units_per_s;
    double ramp_units, units; /* published: warm-up, and work of the window; 0 = by time */
    double steady_max_s;      /* 0 = the temperature does not matter */
} hold;

/* What ends any waiting under load: a signal, a driver that hangs, the load's end, or no unit of work for too long. */
typedef struct patience {
    uint64_t units; /* last seen */
    int64_t since_ns;
} patience;

static eco_status check_load(const eco_session *session, const eco_load *load, uint64_t units,
                             int64_t now_ns, patience *p, eco_error *err) {
    if (ecoi_session_interrupted()) {
        return eco_error_set(err, ECO_E_INTERRUPTED, 0, "interrupted");
    }
    ECO_TRY(ecoi_sampler_check(session->sampler, err));
    if (ecoi_load_ended(load)) {
        return eco_error_set(err, ECO_E_FAILED, 0, "the engine stopped before the window closed");
    }
    if (units != p->units || p->since_ns == 0) {
        *p = (patience){.units = units, .since_ns = now_ns};
    }
    if ((double)(now_ns - p->since_ns) * 1e-9 > PROGRESS_TIMEOUT_S) {
        return eco_error_set(err, ECO_E_STUCK, 0, "the engine finished no unit of work in %.0f s",
                             PROGRESS_TIMEOUT_S);
    }
    return ECO_OK;
}

/* Until the first unit is done and the ramp is over. Gives the units a second seen meanwhile. */
static eco_status wait_ramp(const eco_session *session, const eco_session_arm *arm,
                            const eco_load *load, hold *h, eco_error *err) {
    int64_t first_ns = 0;
    uint64_t first = 0;
    patience p = {0};
    for (;;) {
        const int64_t now_ns = ecoi_now_ns();
        const uint64_t units = progress_of(arm);
        ECO_TRY(check_load(session, load, units, now_ns, &p, err));
        if (units > 0 && first_ns == 0) {
            first_ns = now_ns;
            first = units;
        }
        if (first_ns != 0 && (double)(now_ns - first_ns) * 1e-9 >= h->ramp_s &&
            (double)units >= h->ramp_units) {
            h->units_per_s = (double)(units - first) * 1e9 / (double)(now_ns - first_ns);
            return ECO_OK;
        }
        ecoi_sleep_until_ns(now_ns + STEP_NS);
    }
}

/* The newest temperature readings since the load began, in order of time; at most as many as fit. */
static size_t recent_temperatures(const eco_session *session, int64_t since_ns, double *t_s,
                                  double *temp_c, size_t capacity) {
    size_t n_rows = 0;
    size_t n = 0;
    const eco_sample *rows = ecoi_sampler_rows(session->sampler, &n_rows);
    for (size_t i = n_rows; i > 0 && n < capacity && rows[i - 1].t_ns >= since_ns; i--) {
        if (eco_reading_present(rows[i - 1].temp_c)) {
            n++;
            t_s[capacity - n] = (double)(rows[i - 1].t_ns - since_ns) * 1e-9;
            temp_c[capacity - n] = rows[i - 1].temp_c.value;
        }
    }
    memmove(t_s, t_s + capacity - n, n * sizeof *t_s);
    memmove(temp_c, temp_c + capacity - n, n * sizeof *temp_c);
    return n;
}

/* Until the temperature stands still, the time is up, or it is plain that there is no sensor. */
static eco_status wait_steady(const eco_session *session, const eco_session_arm *arm,
                              const eco_load *load, const hold *h, int64_t start_ns,
                              eco_window *out, eco_error *err) {
    double t_s[2 * ECO_STEADY_READINGS];
    double temp_c[2 * ECO_STEADY_READINGS] = {0};
    patience p = {0};
    for (;;) {
        const int64_t now_ns = ecoi_now_ns();
        ECO_TRY(check_load(session, load, progress_of(arm), now_ns, &p, err));
        const size_t n =
            recent_temperatures(session, start_ns, t_s, temp_c, sizeof t_s / sizeof t_s[0]);
        out->steady_s = (double)(now_ns - start_ns) * 1e-9;
        out->steady = eco_temperature_steady(t_s, temp_c, n);
        if (out->steady && n > 0) {
            out->steady_c = eco_reading_of(temp_c[n - 1]);
            return ECO_OK;
        }
        if (out->steady_s >= h->steady_max_s || (n == 0 && out->steady_s >= NO_SENSOR_S)) {
            return ECO_OK;
        }
        ecoi_sleep_until_ns(now_ns + STEADY_STEP_NS);
    }
}

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
    const bool powered = session->meter != NULL && session->meter_info.power_field != NULL;
    while (powered && ecoi_now_ns() < give_up_ns) {
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

/* Where a window is as long as its work: waits until that is nearly done, so that the counter is polled only around the
 * closing edge, and asks for the tick nearest to its end. A tick missed there is not waited for again. */
static eco_status close_by_units(const eco_session *session, const eco_session_arm *arm,
                                 const eco_load *load, const eco_edge *open, const hold *h,
                                 double tick_s, eco_edge_condition *condition, eco_error *err) {
    patience p = {0};
    double left_s = 0.0;
    for (;;) {
        const int64_t now_ns = ecoi_now_ns();
        const uint64_t units = progress_of(arm);
        ECO_TRY(check_load(session, load, units, now_ns, &p, err));
        const double done = (double)units - open->tokens;
        const double seconds = (double)(now_ns - open->t_ns) * 1e-9;
        /* A unit that ends just after the edge says nothing of the rate yet; the ramp has seen more of them. */
        const double per_s = done > RATE_SHARE * h->units ? done / seconds : h->units_per_s;
        left_s = per_s > 0.0 ? (h->units - done) / per_s : CLOSING_S + 1.0;
        eco_sampler_stats stats;
        ecoi_sampler_stats(session->sampler, &stats);
        if (left_s <= CLOSING_S || stats.device_lost) { /* a lost device: the edge says so */
            break;
        }
        ecoi_sleep_until_ns(now_ns + STEP_NS);
    }
    condition->not_before_ns = ecoi_now_ns() + (int64_t)((left_s - tick_s) * 1e9);
    condition->unit_period = h->units;
    condition->timeout_ns = (int64_t)((2.5 * tick_s + 0.05) * 1e9);
    return ECO_OK;
}

/* Opens at a tick, closes at a tick; nothing is allocated, logged or locked in between. */
static eco_status hold_window(eco_session *session, const eco_session_arm *arm,
                              const eco_load *load, const hold *h, eco_window *out,
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
    eco_edge_condition condition;
    ecoi_sampler_reset_extremes(session->sampler);
    ecoi_alloc_forbid(true);
    eco_status status = ecoi_sampler_edge(session->sampler, &request, &open, err);
    if (status == ECO_OK) {
        const double seconds = fmax(h->seconds, session->plan->window_ticks_min * tick_s);
        condition = (eco_edge_condition){
            .not_before_ns = open.t_ns + (int64_t)(seconds * 1e9),
            .tokens_open = open.tokens,
            .unit_period = h->unit_period,
            .slack = fmax(1.0, 0.6 * tick_s * h->units_per_s),
            .timeout_ns = 2000000000 + (int64_t)(h->unit_period / fmax(h->units_per_s, 0.1) * 1e9)};
        request.closing = true;
        request.condition = &condition;
        if (h->units > 0.0) {
            status = close_by_units(session, arm, load, &open, h, tick_s, &condition, err);
        }
    }
    if (status == ECO_OK) {
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
    case ECO_WORK_MATRIX_FP16:
    case ECO_WORK_MATRIX_INT8:
        return ECO_PHASE_PROBE;
    }
    return ECO_PHASE_PROBE;
}

/* The load may hang like the call that does: it is given a moment to end, and the hanging call is what is told. */
static eco_status end_stuck(eco_session *session, uint32_t index, eco_load *load, eco_status status,
                            eco_work_result *result, eco_error *err) {
    eco_error ignored;
    eco_status left = ecoi_load_stop_within(load, STUCK_LOAD_S, result, &ignored);
    ecoi_sampler_mark(session->sampler, 0, ECO_PHASE_COOLDOWN);
    left = ecoi_rows_keep(session, index, &ignored);
    (void)left;
    return status == ECO_E_STUCK ? status : ecoi_sampler_check(session->sampler, err);
}

/* Stops the load and keeps the rows. `status` is what came of the windows; a fault of the load outranks it. */
static eco_status end_load(eco_session *session, uint32_t index, eco_load *load, eco_status status,
                           eco_work_result *result, eco_error *err) {
    const bool ended = ecoi_load_ended(load);
    ecoi_sampler_follow(session->sampler, NULL);
    eco_error load_error;
    session->stuck = status == ECO_E_STUCK || ecoi_sampler_stuck(session->sampler);
    if (session->stuck) {
        return end_stuck(session, index, load, status, result, err);
    }
    const eco_status load_status = ecoi_load_stop(load, result, &load_error);
    ecoi_sampler_mark(session->sampler, 0, ECO_PHASE_COOLDOWN);
    eco_error keep_error;
    const eco_status kept = ecoi_rows_keep(session, index, &keep_error);
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

/* The load is running: ramp, window, stop, rows. */
static eco_status window_under_load(eco_session *session, uint32_t index, eco_load *load, hold *h,
                                    eco_window *out, eco_error *err) {
    eco_session_arm *arm = &session->arms[index];
    ecoi_sampler_mark(session->sampler, h->block, ECO_PHASE_RAMP);
    ecoi_sampler_follow(session->sampler, arm->info.progress);
    const int64_t start_ns = ecoi_now_ns();
    eco_status status = wait_ramp(session, arm, load, h, err);
    if (status == ECO_OK && h->steady_max_s > 0.0 && session->meter != NULL) {
        status = wait_steady(session, arm, load, h, start_ns, out, err);
    }
    if (status == ECO_OK) {
        status = hold_window(session, arm, load, h, out, err);
    }
    eco_work_result result;
    status = end_load(session, index, load, status, &result, err);
    out->unit_bytes = result.unit_bytes;
    return status;
}

/* From the rows as printed, so that the trace alone gives the same numbers. */
static eco_status conclude(const eco_session *session, uint32_t index, const hold *h,
                           eco_window *out, eco_error *err) {
    const eco_session_arm *arm = &session->arms[index];
    out->block = h->block;
    out->phase = h->phase;
    if (!eco_window_figures_of(arm->rows, arm->n_rows, h->block, h->phase, session->meter == NULL,
                               &out->figures)) {
        const eco_window_figures *f = &out->figures;
        const char *name = eco_format_at(arm->format)->name;
        if (session->meter != NULL && f->tokens_per_s > 0.0 &&
            (f->has_counter || f->has_integral)) {
            const double power_w = (f->has_counter ? f->energy_j : f->integral_j) / f->seconds;
            char reads[32] = "no finite power";
            if (isfinite(power_w)) {
                (void)snprintf(reads, sizeof reads, "%.6g W", power_w);
            }
            return eco_error_set(err, ECO_E_FAILED, 0,
                                 "%s, block %d: the window holds no usable energy: the meter reads "
                                 "%s under load; a power above 0 is expected",
                                 name, h->block, reads);
        }
        return eco_error_set(
            err, ECO_E_FAILED, 0, "%s, block %d: the window holds no usable %s", name, h->block,
            session->meter == NULL ? "time and tokens" : "energy, time and tokens");
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
    const bool steady = session->plan->thermal == ECO_THERMAL_STEADY;
    if (request->cool && !steady) {
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
                                 ? ((double)arm->workload.n_prompt + arm->workload.n_tokens) *
                                       arm->workload.batch
                                 : 0.0,
              .steady_max_s = request->cool && steady ? session->plan->steady_max_s : 0.0};
    if (session->plan->protocol == ECO_PROTOCOL_PUBLISHED) {
        h.ramp_units = session->plan->n_warmup * h.unit_period;
        h.units = session->plan->n_iterations * h.unit_period;
    }
    ECO_TRY(window_under_load(session, request->arm, load, &h, out, err));
    return conclude(session, request->arm, &h, out, err);
}

/* A counter whose period did not show under load (it stands still, as on some virtual GPUs, or nearly so) is not used
 * where power can be read. */
static void judge_counter(eco_session *session) {
    eco_meter_info *info = &session->meter_info;
    if (session->meter != NULL && info->energy_field != NULL && info->power_field != NULL &&
        session->sensor.counter_period_s.absence == ECO_ABSENT_FAILED) {
        info->energy_field = NULL;
        info->method = "integrated power (the energy counter does not move under load)";
    }
}

eco_status ecoi_sampler_start(eco_session *session, eco_error *err) {
    judge_counter(session);
    const eco_sampler_options options = {.meter = session->meter,
                                         .power_only = session->meter_info.energy_field == NULL,
                                         .rate_hz = 20.0,
                                         .capacity = ECO_SAMPLER_ROWS};
    return ecoi_sampler_open(&options, &session->sampler, err);
}

/* Runs work of one kind for a moment, timed by itself. */
static eco_status probe_short(eco_session *session, eco_work_kind kind, eco_work_result *out,
                              eco_error *err) {
    eco_load *load = NULL;
    *out = (eco_work_result){0};
    ECO_TRY(ecoi_load_start(session->arms[0].arm, kind, 0, &load, err));
    const int64_t until_ns = ecoi_now_ns() + (int64_t)(SHORT_PROBE_S * 1e9);
    while (ecoi_now_ns() < until_ns && !ecoi_load_ended(load)) {
        ecoi_sleep_until_ns(ecoi_now_ns() + STEP_NS);
    }
    return ecoi_load_stop(load, out, err);
}

static eco_status probe_launch(eco_session *session, eco_error *err) {
    eco_work_result result;
    ECO_TRY(probe_short(session, ECO_WORK_LAUNCH, &result, err));
    if (result.n_units > 0 && result.busy_s > 0.0) {
        session->ceilings.launch_s = result.busy_s / (double)result.n_units;
    }
    return ECO_OK;
}

/* An engine or device without this kind of work leaves the rate unknown. */
static eco_status probe_matrix(eco_session *session, eco_work_kind kind, double *ops_per_s,
                               eco_error *err) {
    eco_work_result result;
    eco_error own = {0};
    const eco_status status = probe_short(session, kind, &result, &own);
    if (status != ECO_OK && status != ECO_E_UNSUPPORTED) {
        if (err != NULL) {
            *err = own;
        }
        return status;
    }
    if (status == ECO_OK && result.busy_s > 0.0) {
        *ops_per_s = (double)result.n_units * result.unit_ops / result.busy_s;
    }
    return ECO_OK;
}

eco_status ecoi_ceiling_run(eco_session *session, const eco_ceiling_request *request,
                            eco_ceiling *out, eco_error *err) {
    *out =
        (eco_ceiling){.energy_basis = energy_basis_of(session), .time_basis = ECO_BASIS_MEASURED};
    eco_session_arm *arm = &session->arms[0];
    eco_load *load = NULL;
    ECO_TRY(ecoi_load_start(arm->arm, request->kind, 0, &load, err));
    ecoi_sampler_mark(session->sampler, 0, ECO_PHASE_RAMP);
    ecoi_sampler_follow(session->sampler, arm->info.progress);
    hold h = {.phase = ECO_PHASE_PROBE, .ramp_s = request->ramp_s, .seconds = request->seconds};
    eco_status status = wait_ramp(session, arm, load, &h, err);
    for (uint32_t i = 0; status == ECO_OK && i < ECO_CEILING_WINDOWS; i++) {
        eco_window window = {0};
        h.block = (int32_t)(request->first_block + i);
        status = hold_window(session, arm, load, &h, &window, err);
    }
    eco_work_result result;
    ECO_TRY(end_load(session, 0, load, status, &result, err));
    const double unit = result.unit_ops > 0.0 ? result.unit_ops : result.unit_bytes;
    for (uint32_t i = 0; i < ECO_CEILING_WINDOWS; i++) {
        eco_window window = {0};
        h.block = (int32_t)(request->first_block + i);
        ECO_TRY(conclude(session, 0, &h, &window, err));
        const double amount = window.figures.tokens * (unit > 0.0 ? unit : 1.0);
        out->per_s[i] = amount / window.figures.seconds;
        out->j_per[i] = window.figures.energy_j / amount;
        out->n++;
    }
    return ECO_OK;
}

/* Bandwidth, energy per byte, launch cost and matrix rates of this card now; opens the sampler for the whole run. */
eco_status ecoi_ceilings_probe(eco_session *session, eco_error *err) {
    eco_load *load = NULL;
    eco_status status = ECO_OK;
    if (session->meter != NULL) {
        status = ecoi_sensor_watch(session, READ_WATCH_S, &load, err);
    } else {
        status = ecoi_load_start(session->arms[0].arm, ECO_WORK_READ, 0, &load, err);
    }
    if (status == ECO_OK) {
        status = ecoi_sampler_start(session, err);
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
    session->ceilings.read_unit_bytes = window.unit_bytes;
    session->ceilings.read_power_w = window.figures.power_w;
    session->ceilings.read_j_per_byte = window.figures.energy_j / bytes;
    ecoi_sampler_mark(session->sampler, 0, ECO_PHASE_PROBE);
    ECO_TRY(probe_launch(session, err));
    eco_ceilings *c = &session->ceilings;
    ECO_TRY(probe_matrix(session, ECO_WORK_MATRIX_FP16, &c->matrix_fp16_ops_per_s, err));
    ECO_TRY(probe_matrix(session, ECO_WORK_MATRIX_INT8, &c->matrix_int8_ops_per_s, err));
    ecoi_sampler_mark(session->sampler, 0, ECO_PHASE_COOLDOWN);
    ecoi_sampler_clear(session->sampler);
    return ECO_OK;
}
