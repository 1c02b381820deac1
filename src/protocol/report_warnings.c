/* SPDX-License-Identifier: Apache-2.0
 *
 * Which coded warnings a measurement carries. Each says what was seen; none drops or keeps a run in silence.
 */
#include "protocol/summary_arm.h"

#include "protocol/build_facts.h"

#include <math.h>
#include <stdio.h>

static const double GAP_PERIODS = 5.0;
static const double SAMPLE_PERIOD_S = 0.05;
static const double SHORT_WINDOW_S = 1.95; /* 2 s asked for, less the rounding of a tick */
static const double SHORT_WINDOW_TICKS = 19.5;
static const double DISAGREE = 0.05;
static const double CLOCKS_MOVED = 0.05;
static const double TOKENS_MIN = 10.0;

/* Processes that came after our own context. Where we are not seen ourselves, in another process
 * namespace, the count taken then holds us. */
static bool newcomers(const eco_session *session) {
    return session->tenants_known && session->tenants_most > session->tenants_open;
}

static void warn_device(const eco_session *session, eco_report *r) {
    const eco_device_record *device = &session->meter_info.device;
    const eco_idle_device *scanned =
        session->device >= 0 ? &session->devices[session->device] : NULL;
    char detail[160];
    const bool before = scanned != NULL && scanned->tenants_known && scanned->n_tenants > 0;
    if (before || newcomers(session)) {
        snprintf(detail, sizeof detail, "%zu before, %zu with our own context, at most %zu later",
                 before ? scanned->n_tenants : 0, session->tenants_open, session->tenants_most);
        eco_report_warn(r, ECO_WARNING_CONTENDED, detail);
    }
    if (eco_reading_present(device->persistence_enabled) &&
        device->persistence_enabled.value < 0.5) {
        eco_report_warn(r, ECO_WARNING_PERSISTENCE_OFF, NULL);
    }
    if (eco_reading_present(device->mig_enabled) && device->mig_enabled.value > 0.5) {
        eco_report_warn(r, ECO_WARNING_MIG_SHARED, NULL);
    }
    if (session->meter != NULL && !device->library_known && device->library_path[0] != '\0') {
        eco_report_warn(r, ECO_WARNING_DRIVER_LIBRARY_PATH, device->library_path);
    }
    if (!session->engine_info.library_known && session->engine_info.library_path[0] != '\0') {
        eco_report_warn(r, ECO_WARNING_DRIVER_LIBRARY_PATH, session->engine_info.library_path);
    }
    if (session->meter != NULL && session->meter_info.source == ECO_SOURCE_REPLAY) {
        eco_report_warn(r, ECO_WARNING_REPLAYED, NULL);
    }
    if (session->meter != NULL && session->meter_info.source == ECO_SOURCE_EXEC) {
        eco_report_warn(r, ECO_WARNING_EXTERNAL_METER, device->name);
    }
    if (session->meter != NULL && session->meter_info.overridden[0] != '\0') {
        eco_report_warn(r, ECO_WARNING_SOURCE_OVERRIDDEN, session->meter_info.overridden);
    }
    if (session->meter == NULL && session->no_meter_code == ECO_E_BOUNDARY_MISMATCH) {
        eco_report_warn(r, ECO_WARNING_BOUNDARY_MISMATCH, session->no_meter);
    }
    if (session->meter != NULL && session->meter_info.energy_field == NULL) {
        snprintf(detail, sizeof detail, "%.60s: %.90s", device->name,
                 session->meter_info.method != NULL ? session->meter_info.method : "no counter");
        eco_report_warn(r, ECO_WARNING_NO_COUNTER, detail);
    }
    if (session->meter != NULL && session->meter_info.power_field == NULL) {
        eco_report_warn(r, ECO_WARNING_NO_CROSS_CHECK, NULL);
    } else if (session->meter != NULL && !session->idle_settled) {
        eco_report_warn(r, ECO_WARNING_CONTEXT_IDLE, NULL);
    }
    if (session->totals.n_read_errors > 0) {
        snprintf(detail, sizeof detail, "%llu of them",
                 (unsigned long long)session->totals.n_read_errors);
        eco_report_warn(r, ECO_WARNING_READ_ERRORS, detail);
    }
}

/* How wrong each window is in what has a size; the worst of all is told. */
static double gap_of(const eco_window *w) {
    return (double)w->stats.longest_gap_ns * 1e-9;
}
static double disagreement_of(const eco_window *w) {
    const double ratio = w->figures.counter_to_integral;
    return ratio > 0.0 ? fabs(ratio - 1.0) : 0.0;
}

/* Of the baseline and one arm; *name becomes its format. */
static const eco_window *worst_window(const eco_session *session, uint32_t arm,
                                      double (*of)(const eco_window *), const char **name) {
    const eco_window *worst = NULL;
    for (uint32_t a = 0; a <= arm; a += arm > 0 ? arm : 1) {
        for (uint32_t i = 0; i < session->arms[a].n_windows; i++) {
            const eco_window *w = &session->arms[a].windows[i];
            if (worst == NULL || of(w) > of(worst)) {
                worst = w;
                *name = eco_format_at(session->arms[a].format)->name;
            }
        }
    }
    return worst;
}

static void warn_worst(const eco_session *session, uint32_t arm, eco_report *r) {
    char detail[160];
    const char *name = NULL;
    const eco_window *w = worst_window(session, arm, disagreement_of, &name);
    if (w != NULL && disagreement_of(w) > DISAGREE) {
        snprintf(detail, sizeof detail, "%s %s block %d: ratio %.3f", name,
                 eco_phase_name(w->phase), w->block, w->figures.counter_to_integral);
        eco_report_warn(r, ECO_WARNING_COUNTER_INTEGRAL, detail);
    }
    w = worst_window(session, arm, gap_of, &name);
    if (w != NULL && session->meter != NULL && gap_of(w) > GAP_PERIODS * SAMPLE_PERIOD_S) {
        snprintf(detail, sizeof detail, "%s block %d: %.2f s", name, w->block, gap_of(w));
        eco_report_warn(r, ECO_WARNING_SAMPLE_GAP, detail);
    }
}

/* Integrated power is the window's only where the reading follows the load: a step seen, and soon enough. */
static void warn_stale_power(const eco_session *session, const eco_session_arm *arm,
                             const eco_window *w, eco_report *r) {
    const eco_sensor *sensor = &session->sensor;
    if (session->meter == NULL || session->meter_info.energy_field != NULL ||
        !(sensor->seconds > 0.0)) {
        return;
    }
    const char *name = eco_format_at(arm->format)->name;
    char detail[160];
    if (!eco_reading_present(sensor->power_rise_s)) {
        snprintf(detail, sizeof detail, "no rise in %.1f s of load", sensor->seconds);
        eco_report_warn(r, ECO_WARNING_POWER_STALE, detail);
        return;
    }
    const double lag_s =
        sensor->power_rise_s.value +
        (eco_reading_present(sensor->power_period_s) ? sensor->power_period_s.value : 0.0);
    if (lag_s > w->figures.seconds / 2.0) {
        snprintf(detail, sizeof detail, "%s block %d: %.2f s behind in %.2f s", name, w->block,
                 lag_s, w->figures.seconds);
        eco_report_warn(r, ECO_WARNING_POWER_STALE, detail);
    }
}

static void warn_window(const eco_session *session, const eco_session_arm *arm, const eco_window *w,
                        eco_report *r) {
    char detail[160];
    const char *name = eco_format_at(arm->format)->name;
    const eco_window_figures *f = &w->figures;
    if (w->stats.counter_stepped_back) {
        eco_report_warn(r, ECO_WARNING_COUNTER_RESET, name);
    }
    warn_stale_power(session, arm, w, r);
    if ((w->stats.throttle_seen & (ECO_THROTTLE_THERMAL | ECO_THROTTLE_POWER_BRAKE)) != 0) {
        eco_report_warn(r, ECO_WARNING_THROTTLED, name);
    }
    if ((w->stats.throttle_seen & ECO_THROTTLE_POWER_CAP) != 0) {
        eco_report_warn(r, ECO_WARNING_POWER_CAPPED, name);
    }
    const eco_reading tick_s = session->sensor.counter_period_s;
    const bool few_ticks = f->has_counter && eco_reading_present(tick_s) && tick_s.value > 0.0 &&
                           f->seconds / tick_s.value < SHORT_WINDOW_TICKS;
    if (f->seconds < SHORT_WINDOW_S || few_ticks) {
        snprintf(detail, sizeof detail, "%s block %d: %.2f s", name, w->block, f->seconds);
        eco_report_warn(r, ECO_WARNING_SHORT_WINDOW, detail);
    }
    /* Sequences of a batch finish their tokens together: a step is what can be cut at an edge. */
    const double steps = f->tokens / (double)(session->plan->batch > 0 ? session->plan->batch : 1);
    if (steps < TOKENS_MIN) {
        snprintf(detail, sizeof detail, "%s block %d: %.0f", name, w->block, steps);
        eco_report_warn(r, ECO_WARNING_TOKENS_SHORT, detail);
    }
    const bool steady_asked = session->plan->thermal == ECO_THERMAL_STEADY;
    if (steady_asked && session->meter != NULL && !w->steady) {
        snprintf(detail, sizeof detail, "%s %s block %d after %.1f s%s", name,
                 eco_phase_name(w->phase), w->block, w->steady_s,
                 eco_reading_present(f->temp_start_c) ? "" : ": no temperature sensor");
        eco_report_warn(r, ECO_WARNING_STEADY_NOT_REACHED, detail);
    }
    if (w->block > 0 && session->meter != NULL && !steady_asked && !w->cooled) {
        snprintf(detail, sizeof detail, "%s block %d after %.1f s", name, w->block, w->cooldown_s);
        eco_report_warn(r, ECO_WARNING_COOLDOWN_CAP, detail);
    }
}

static void warn_arm(const eco_session *session, uint32_t index, eco_report *r) {
    const eco_session_arm *arm = &session->arms[index];
    for (uint32_t i = 0; i < arm->n_windows; i++) {
        warn_window(session, arm, &arm->windows[i], r);
    }
    const eco_arm_summary s = ecoi_arm_summary(session, index);
    if (s.clock_lo_mhz > 0.0 && s.clock_hi_mhz / s.clock_lo_mhz - 1.0 > CLOCKS_MOVED) {
        char detail[160];
        snprintf(detail, sizeof detail, "%s: %.0f to %.0f MHz", eco_format_at(arm->format)->name,
                 s.clock_lo_mhz, s.clock_hi_mhz);
        eco_report_warn(r, ECO_WARNING_CLOCKS_MOVED, detail);
    }
    const eco_bound_input input = {.bytes_per_token = ecoi_bytes_per_token(session, index),
                                   .mj_per_token = s.mj_per_token,
                                   .read_j_per_byte = session->ceilings.read_j_per_byte};
    if (eco_explain_bound(&input).below_floor) {
        eco_report_warn(r, ECO_WARNING_BELOW_FLOOR, eco_format_at(arm->format)->name);
    }
}

static void warn_run(const eco_session *session, eco_report *r) {
    if (session->partial) {
        char detail[ECO_ERROR_MESSAGE_MAX + 64];
        snprintf(detail, sizeof detail, "%u of %u blocks%s%s", session->blocks_finished,
                 session->plan->n_blocks, session->fault.message[0] != '\0' ? ": " : "",
                 session->fault.message);
        eco_report_warn(r, ECO_WARNING_PARTIAL, detail);
    }
    if (session->resumption.n > 0) {
        char detail[ECO_RESUMED_TEXT_MAX + 64];
        snprintf(detail, sizeof detail, "%u time%s: %s of %u", session->resumption.n,
                 session->resumption.n == 1 ? "" : "s", session->resumption.where,
                 session->plan->n_blocks);
        eco_report_warn(r, ECO_WARNING_RESUMED, detail);
    }
    if (session->fault.code == ECO_E_DEVICE_LOST) {
        eco_report_warn(r, ECO_WARNING_DEVICE_LOST, session->fault.message);
    }
    if (session->fault.code == ECO_E_STUCK) {
        eco_report_warn(r, ECO_WARNING_DRIVER_STUCK, session->fault.message);
    }
    if (session->fault.code == ECO_E_TIMEOUT) {
        eco_report_warn(r, ECO_WARNING_COUNTER_FROZEN, session->fault.message);
    }
    if (session->fault.code == ECO_E_INVALID) {
        eco_report_warn(r, ECO_WARNING_COUNTER_RESET, session->fault.message);
    }
    if (session->blocks_finished > 0 && session->blocks_finished < 5) {
        eco_report_warn(r, ECO_WARNING_FEW_BLOCKS, NULL);
    }
    if (ECO_CHECKED_BUILD) {
        eco_report_warn(r, ECO_WARNING_DEBUG_BUILD, ECO_BUILD_TYPE);
    }
    eco_report_warn(r, ECO_WARNING_SYNTHETIC_WEIGHTS, NULL);
}

void ecoi_report_warnings(const eco_session *session, uint32_t arm, eco_report *report) {
    warn_run(session, report);
    warn_device(session, report);
    warn_worst(session, arm, report);
    warn_arm(session, 0, report);
    if (arm != 0) {
        warn_arm(session, arm, report);
    }
}
