/* SPDX-License-Identifier: Apache-2.0
 *
 * The paired experiment: idles, sensor and ceilings, one uncounted burn-in of every arm, blocks in shuffled order, extra
 * windows, reports after every block. A fault or a signal ends it in order; what was finished is kept.
 */
#include "protocol/session.h"

#include "core/alloc.h"
#include "sys/clock.h"

#include <stdio.h>
#include <string.h>

static eco_status prepare(eco_session *session, eco_error *err) {
    ECO_TRY(ecoi_resume_begin(session, err));
    ecoi_devices_scan(session);
    ECO_TRY(eco_engine_open(&session->plan->engine, &session->engine, err));
    eco_engine_describe(session->engine, &session->engine_info);
    ECO_TRY(ecoi_devices_claim(session, err));
    ECO_TRY(ecoi_resume_device(session, err));
    ecoi_session_say(session, "device: %s (%s)", session->engine_info.device_name,
                     session->engine_info.detail);
    if (session->meter != NULL) {
        ecoi_session_say(session, "meter: %s, %s", session->meter_info.name,
                         session->meter_info.energy_field != NULL
                             ? session->meter_info.energy_field
                             : "integrated power (no energy counter)");
        if (session->meter_info.passed_over[0] != '\0') {
            ecoi_session_say(session, "meters passed over: %s", session->meter_info.passed_over);
        }
        bool settled = false;
        session->sensor.idle_context_w = ecoi_idle_settled(session->meter, &settled);
    } else {
        ecoi_session_say(session, "no energy: %s", session->no_meter);
    }
    ECO_TRY(ecoi_arms_open(session, err));
    if (session->resumption.probed) {
        return ecoi_resume_probes(session, err);
    }
    ecoi_idle_loaded(session);
    if (!session->resumption.planned) {
        session->origin_ns = ecoi_now_ns();
    }
    ECO_TRY(ecoi_journal_plan(session, err));
    ecoi_session_say(session, "probing read bandwidth and launch cost");
    ECO_TRY(ecoi_ceilings_probe(session, err));
    return ecoi_journal_probes(session, err);
}

static eco_status burn_in(eco_session *session, uint32_t index, eco_error *err) {
    ECO_TRY(ecoi_arm_ready(session, index, err));
    ecoi_sampler_mark(session->sampler, 0, ECO_PHASE_BURN_IN);
    eco_load *load = NULL;
    ECO_TRY(ecoi_load_start(session->arms[index].arm, ECO_WORK_DECODE, 0, &load, err));
    const int64_t step_ns = 5000000;
    int64_t started_ns = 0; /* of the first finished token */
    while (!ecoi_load_ended(load) && !ecoi_session_interrupted()) {
        const int64_t now_ns = ecoi_now_ns();
        if (started_ns == 0 &&
            __atomic_load_n(session->arms[index].info.progress, __ATOMIC_ACQUIRE) > 0) {
            started_ns = now_ns;
        }
        if (started_ns != 0 && (double)(now_ns - started_ns) * 1e-9 >= session->plan->burn_in_s) {
            break;
        }
        ecoi_sleep_until_ns(now_ns + step_ns);
    }
    const eco_status status = ecoi_load_stop(load, NULL, err);
    ecoi_sampler_mark(session->sampler, 0, ECO_PHASE_COOLDOWN);
    if (status == ECO_OK && ecoi_session_interrupted()) {
        return eco_error_set(err, ECO_E_INTERRUPTED, 0, "interrupted");
    }
    return status != ECO_OK ? status : ecoi_rows_keep(session, index, err);
}

static eco_status run_window(eco_session *session, const eco_window_request *request,
                             eco_error *err) {
    eco_session_arm *arm = &session->arms[request->arm];
    eco_window window;
    ECO_TRY(ecoi_window_run(session, request, &window, err));
    arm->windows[arm->n_windows++] = window;
    const eco_window_figures *f = &window.figures;
    const double units = request->block > 0 ? ecoi_units_per_token(session->plan) : 1.0;
    if (session->meter != NULL) {
        ecoi_session_say(session, "%s %-4s block %d: %.1f mJ/token, %.1f tokens/s, %.1f W",
                         eco_phase_name(window.phase), eco_format_at(arm->format)->name,
                         window.block, f->mj_per_token * units, f->tokens_per_s / units,
                         f->power_w);
    } else {
        ecoi_session_say(session, "%s %-4s block %d: %.2f tokens/s", eco_phase_name(window.phase),
                         eco_format_at(arm->format)->name, window.block, f->tokens_per_s / units);
    }
    return ECO_OK;
}

/* Of a block that is not finished the traces hold no whole window of every arm: what does not count must not look as if
 * it were left out. This happens where the journal could not take it, or where the end of its last window failed. Without
 * a counter nobody can tell a whole window from one that was cut short, and the rows stay. */
static void forget_whole_block(eco_session *session, int32_t block) {
    eco_window_figures figures;
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        const eco_session_arm *arm = &session->arms[i];
        if (!eco_window_figures_of(arm->rows, arm->n_rows, block,
                                   ecoi_headline_phase(session->plan), true, &figures) ||
            !figures.has_counter) {
            return;
        }
    }
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        eco_session_arm *arm = &session->arms[i];
        arm->n_rows = arm->n_rows_kept;
        while (arm->n_windows > 0 && arm->windows[arm->n_windows - 1].block == block) {
            arm->n_windows--;
        }
    }
}

static eco_status run_windows(eco_session *session, uint32_t block, const uint32_t *order,
                              eco_error *err) {
    for (uint32_t place = 0; place < session->plan->n_arms; place++) {
        const eco_window_request request = {.arm = order[place],
                                            .kind = ecoi_headline_work(session->plan),
                                            .block = (int32_t)block + 1,
                                            .order = place + 1,
                                            .seconds = session->plan->window_s,
                                            .cool = true};
        ECO_TRY(run_window(session, &request, err));
    }
    return ECO_OK;
}

static eco_status run_block(eco_session *session, uint32_t block, const uint32_t *order,
                            eco_error *err) {
    eco_status status = run_windows(session, block, order, err);
    if (status == ECO_OK) { /* before any report mentions it */
        status = ecoi_journal_block(session, block + 1, err);
    }
    if (status != ECO_OK) {
        forget_whole_block(session, (int32_t)block + 1);
        return status;
    }
    session->blocks_finished = block + 1;
    ecoi_devices_look(session);
    return ECO_OK;
}

static eco_status run_extra(eco_session *session, eco_error *err) {
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        static const eco_work_kind kinds[] = {ECO_WORK_GENERATION, ECO_WORK_PREFILL};
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            const eco_window_request request = {
                .arm = i, .kind = kinds[k], .seconds = session->plan->window_s, .cool = true};
            ECO_TRY(run_window(session, &request, err));
        }
    }
    return ECO_OK;
}

/* All that is counted; a report is written after each block, so that a crash costs one block at most. */
static eco_status run_all(eco_session *session, eco_measure_result *result, eco_error *err) {
    const bool extra = session->plan->extra_windows && !session->resumption.extra_done;
    const bool work_left = extra || session->blocks_finished < session->plan->n_blocks;
    /* The published protocol has its own warm-up before each window. */
    const bool burn = work_left && session->plan->protocol == ECO_PROTOCOL_PAIRED;
    for (uint32_t i = 0; burn && i < session->plan->n_arms; i++) {
        ecoi_session_say(session, "burn-in %s", eco_format_at(session->plan->arms[i])->name);
        ECO_TRY(burn_in(session, i, err));
    }
    uint32_t order[ECO_BLOCKS_MAX * ECO_ARMS_MAX];
    eco_plan_order(session->plan, order);
    session->partial = true; /* until the last window is in */
    for (uint32_t block = session->blocks_finished; block < session->plan->n_blocks; block++) {
        ECO_TRY(run_block(session, block, &order[(size_t)block * session->plan->n_arms], err));
        if (block + 1 < session->plan->n_blocks || session->plan->extra_windows) {
            ECO_TRY(ecoi_output_write(session, result, err));
        }
    }
    if (extra) {
        ECO_TRY(run_extra(session, err));
        ECO_TRY(ecoi_journal_block(session, 0, err));
    }
    session->partial = false;
    return ECO_OK;
}

/* What the meter itself knows of a fault. */
static void add_trouble(const eco_session *session, eco_error *fault) {
    char why[160] = "";
    if (fault == NULL || fault->code == ECO_OK || session->meter == NULL) {
        return;
    }
    eco_meter_trouble(session->meter, why, sizeof why);
    const size_t used = strlen(fault->message);
    if (why[0] != '\0') {
        snprintf(fault->message + used, sizeof fault->message - used, "; %s", why);
    }
}

static eco_status measure(eco_session *session, eco_measure_result *result, eco_error *err) {
    const eco_status prepared = prepare(session, err);
    if (prepared != ECO_OK) {
        add_trouble(session, err);
        return prepared;
    }
    session->sampler_start_ns = ecoi_now_ns();
    const eco_status status = run_all(session, result, &session->fault);
    session->partial = status != ECO_OK;
    add_trouble(session, &session->fault);
    ecoi_resume_totals(session);
    ecoi_devices_look(session);
    result->partial = session->partial;
    result->fault = session->fault;
    const eco_status written = ecoi_output_write(session, result, err);
    if (written != ECO_OK) {
        const eco_status first = session->fault.code;
        if (err != NULL &&
            (first == ECO_E_IO || first == ECO_E_PERMISSION || first == ECO_E_NOT_FOUND)) {
            *err = session->fault; /* what went wrong with the folder to begin with */
        }
        return written;
    }
    ecoi_journal_end(session);
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        for (uint32_t w = 0; w < session->arms[i].n_windows; w++) {
            result->energy_measured |=
                session->arms[i].windows[w].energy_basis == session->arms[i].windows[w].time_basis;
        }
    }
    return ECO_OK;
}

eco_status eco_measure(const eco_plan *plan, const eco_measure_hooks *hooks,
                       eco_measure_result *result, eco_error *err) {
    *result = (eco_measure_result){0};
    ECO_TRY(eco_plan_check(plan, err));
    eco_session *session = ecoi_calloc(1, sizeof *session);
    if (session == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "measure: out of memory");
    }
    session->plan = plan;
    session->hooks = hooks;
    const eco_status status = measure(session, result, err);
    if (status != ECO_OK && session->blocks_finished == 0) {
        ecoi_journal_close(session->journal, true); /* nothing was measured */
        session->journal = NULL;
    }
    ecoi_session_close(session);
    if (status != ECO_OK) {
        eco_measure_result_free(result);
    }
    return status;
}

void eco_measure_result_free(eco_measure_result *result) {
    for (uint32_t i = 0; i < ECO_ARMS_MAX; i++) {
        eco_report_free(result->reports[i]);
    }
    *result = (eco_measure_result){0};
}
