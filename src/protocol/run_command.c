/* SPDX-License-Identifier: Apache-2.0
 *
 * A series of runs of one command, or of pairs of two in counterbalanced shuffled order, and what they say together.
 * A child that fails, a signal or a fault ends the series in order; the runs finished before are kept.
 */
#include "ecocompute/run_command.h"

#include "ecocompute/plan.h"

#include "core/alloc.h"
#include "core/str.h"
#include "protocol/build_facts.h"
#include "protocol/run_meters.h"
#include "protocol/session.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/lock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double DISAGREE = 0.05; /* counter against integral */
static const double GAP_PERIODS = 10.0;
enum { EXIT_OWN = 125, EXIT_CANNOT = 126, EXIT_NOT_FOUND = 127, SIGNAL_BASE = 128 };

static void warn(eco_run_result *result, eco_warning warning, const char *detail) {
    for (uint32_t i = 0; i < result->n_warnings; i++) {
        if (result->warnings[i].warning == warning) {
            return;
        }
    }
    if (result->n_warnings < ECO_RUN_WARNINGS_MAX) {
        eco_run_warning *to = &result->warnings[result->n_warnings++];
        to->warning = warning;
        (void)ecoi_str_copy(to->detail, sizeof to->detail, detail);
    }
}

static void warn_code(eco_run_result *result, const char *code, const char *detail) {
    for (int i = 0; i < ECO_WARNING_COUNT; i++) {
        if (strcmp(eco_warning_at((eco_warning)i)->code, code) == 0) {
            warn(result, (eco_warning)i, detail);
        }
    }
}

/* ---- before and after ---- */

static void count_tenants(const eco_watched *w, eco_run_result *result, eco_run_meter *meter,
                          bool after) {
    eco_tenant first = {0};
    eco_error ignored;
    size_t n = 0;
    if (eco_meter_tenants(w->meter, &first, 1, &n, &ignored) != ECO_OK) {
        return;
    }
    meter->tenants_known = true;
    *(after ? &meter->n_tenants_after : &meter->n_tenants_before) = n;
    if (n > 0) {
        char detail[160];
        (void)snprintf(detail, sizeof detail,
                       "%.60s: %zu other process%s %s the series, pid %u %.40s",
                       w->info.device.name, n, n == 1 ? "" : "es", after ? "after" : "before",
                       first.pid, first.name);
        warn(result, ECO_WARNING_CONTENDED, detail);
    }
}

static void describe_meter(const eco_watched *w, eco_run_result *result, eco_run_meter *meter) {
    const eco_device_record *device = &w->info.device;
    meter->info = w->info;
    meter->basis = ecoi_basis_of_meter(&w->info);
    meter->period_s = eco_reading_absent(ECO_ABSENT_NOT_READ);
    meter->idle_w = eco_reading_absent(ECO_ABSENT_NOT_READ);
    if (device->library_path[0] != '\0' && !device->library_known) {
        warn(result, ECO_WARNING_DRIVER_LIBRARY_PATH, device->library_path);
    }
    if (!w->has_counter) {
        warn(result, ECO_WARNING_NO_COUNTER, device->name);
    }
    if (w->info.source == ECO_SOURCE_REPLAY) {
        warn(result, ECO_WARNING_REPLAYED, w->info.name);
    }
    if (w->info.source == ECO_SOURCE_EXEC) {
        warn(result, ECO_WARNING_EXTERNAL_METER, device->name);
    }
    if (w->info.overridden[0] != '\0') {
        warn(result, ECO_WARNING_SOURCE_OVERRIDDEN, w->info.overridden);
    }
    if (eco_reading_present(device->persistence_enabled) &&
        device->persistence_enabled.value < 0.5) {
        warn(result, ECO_WARNING_PERSISTENCE_OFF, device->name);
    }
    if (eco_reading_present(device->mig_enabled) && device->mig_enabled.value > 0.5) {
        warn(result, ECO_WARNING_MIG_SHARED, device->name);
    }
    count_tenants(w, result, meter, false);
}

/* ---- one run ---- */

static void judge_meter(const eco_command_watch *watch, uint32_t index, const eco_run_one *one,
                        eco_run_result *result) {
    const eco_watched *w = &watch->meters[index];
    const eco_run_energy *energy = &one->energies[index];
    char detail[160];
    (void)snprintf(detail, sizeof detail, "%.60s, command %c, run %u", w->info.device.name,
                   one->command == 0 ? 'A' : 'B', one->repeat);
    if (energy->code[0] != '\0' && one->counted) {
        warn_code(result, energy->code, detail);
    }
    if (w->n_failed > 0) {
        const size_t length = strlen(detail);
        (void)snprintf(detail + length, sizeof detail - length, ": %u of them", w->n_failed);
        warn(result, ECO_WARNING_READ_ERRORS, detail);
        detail[length] = '\0';
    }
    if (!eco_reading_present(energy->energy_j)) {
        return;
    }
    if (eco_reading_present(energy->counter_to_integral) &&
        fabs(energy->counter_to_integral.value - 1.0) > DISAGREE) {
        warn(result, ECO_WARNING_COUNTER_INTEGRAL, detail);
    }
    if (energy->longest_gap_s > GAP_PERIODS / watch->plan->rate_hz) {
        warn(result, ECO_WARNING_SAMPLE_GAP, detail);
    }
    if ((w->throttle & (ECO_THROTTLE_THERMAL | ECO_THROTTLE_POWER_BRAKE)) != 0) {
        warn(result, ECO_WARNING_THROTTLED, detail);
    }
    if ((w->throttle & ECO_THROTTLE_POWER_CAP) != 0) {
        warn(result, ECO_WARNING_POWER_CAPPED, detail);
    }
}

static eco_status take_phases(const eco_command_watch *watch, const eco_command_run *run,
                              eco_run_one *one, eco_error *err) {
    const eco_markers *markers = &run->markers;
    if (markers->n_phases == 0) {
        return ECO_OK;
    }
    one->phases = ecoi_calloc(markers->n_phases, sizeof *one->phases);
    if (one->phases == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "run: out of memory for phases");
    }
    one->n_phases = markers->n_phases;
    for (uint32_t i = 0; i < markers->n_phases; i++) {
        eco_run_phase *phase = &one->phases[i];
        memcpy(phase->name, markers->phases[i].name, sizeof phase->name);
        phase->has_tokens = markers->phases[i].has_tokens;
        phase->tokens = markers->phases[i].tokens;
        for (uint32_t m = 0; m < watch->n_meters; m++) {
            phase->energies[m] = ecoi_phase_energy(watch, m, run, i);
        }
    }
    for (size_t i = 0; i < markers->n_intervals; i++) {
        const eco_marker_interval *interval = &markers->intervals[i];
        one->phases[interval->phase].n_times++;
        one->phases[interval->phase].seconds +=
            (double)(interval->end_ns - interval->begin_ns) * 1e-9;
    }
    return ECO_OK;
}

static eco_status write_traces(const eco_command_watch *watch, const eco_run_one *one,
                               const eco_command_run *run, eco_error *err) {
    for (uint32_t m = 0; watch->plan->output_dir != NULL && m < watch->n_meters; m++) {
        char path[ECO_FOLDER_MAX + 64];
        (void)snprintf(path, sizeof path, "%s/power_trace_%c_run%03u_meter%u.csv",
                       watch->plan->output_dir, one->command == 0 ? 'a' : 'b', one->repeat, m);
        for (size_t i = 0; i < watch->meters[m].n_rows; i++) {
            eco_sample *row = &watch->meters[m].rows[i];
            const bool inside = row->t_ns >= run->start_ns && row->t_ns <= run->end.t_ns;
            row->block = (int32_t)one->repeat;
            row->phase = inside ? ECO_PHASE_LOAD : ECO_PHASE_IDLE_BARE;
        }
        eco_text text = {0};
        eco_trace_write_header(&text);
        eco_trace_write_rows(&text, watch->meters[m].rows, watch->meters[m].n_rows, run->start_ns);
        const eco_status status =
            text.failed ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", path)
                        : ecoi_file_write(path, text.data, text.length, err);
        eco_text_free(&text);
        ECO_TRY(status);
    }
    return ECO_OK;
}

static void say_run(const eco_run_plan *plan, const eco_run_result *result,
                    const eco_run_one *one) {
    if (plan->progress == NULL) {
        return;
    }
    eco_text line = {0};
    ecoi_text_addf(&line, "run %u of %u%s: ", result->n_runs, result->n_planned,
                   result->n_commands < 2 ? ""
                   : one->command == 0    ? " (A)"
                                          : " (B)");
    ecoi_text_add_fixed(&line, one->seconds, 3);
    ecoi_text_add_z(&line, " s");
    if (result->n_meters > 0 && eco_reading_present(one->energies[0].energy_j)) {
        ecoi_text_add_z(&line, ", ");
        ecoi_text_add_fixed(&line, one->energies[0].energy_j.value, 1);
        ecoi_text_add_z(&line, " J");
    }
    if (!line.failed) {
        plan->progress(plan->user, line.data);
    }
    eco_text_free(&line);
}

static eco_status run_once(eco_command_watch *watch, uint32_t command, uint32_t repeat,
                           int64_t origin_ns, eco_run_result *result, eco_error *err) {
    eco_command_run run = {0};
    eco_status status = ecoi_command_watch_run(watch, watch->plan->commands[command], &run, err);
    if (status != ECO_OK) {
        ecoi_markers_fini(&run.markers);
        return status;
    }
    eco_run_one *one = &result->runs[result->n_runs++];
    *one = (eco_run_one){.command = command,
                         .repeat = repeat,
                         .start_s = (double)(run.start_ns - origin_ns) * 1e-9,
                         .seconds = (double)(run.end.t_ns - run.start_ns) * 1e-9,
                         .cpu_s = run.end.cpu_s,
                         .exit_status = run.end.exit_status,
                         .signal = run.end.signal,
                         .counted =
                             run.end.exit_status == 0 && run.end.signal == 0 && !run.interrupted,
                         .left_running = run.left_running,
                         .has_tokens = run.markers.has_tokens,
                         .tokens = run.markers.tokens};
    result->n_markers_ignored += run.markers.n_ignored;
    for (uint32_t m = 0; m < watch->n_meters; m++) {
        one->energies[m] = ecoi_command_energy(watch, m, &run);
        judge_meter(watch, m, one, result);
        if (!eco_reading_present(result->meters[m].idle_w)) {
            result->meters[m].idle_w = watch->meters[m].before_w;
        }
    }
    if (run.markers_error != 0) {
        status = eco_error_set(err, ECO_E_FAILED, run.markers_error, "markers of run %u: %s",
                               result->n_runs, strerror(run.markers_error));
    }
    if (status == ECO_OK) {
        status = take_phases(watch, &run, one, err);
    }
    if (status == ECO_OK) {
        status = write_traces(watch, one, &run, err);
    }
    result->exit_status = one->signal != 0 ? SIGNAL_BASE + one->signal : one->exit_status;
    say_run(watch->plan, result, one);
    ecoi_markers_fini(&run.markers);
    return status;
}

/* ---- the series ---- */

/* Of a command that could not be started. */
static int own_status(const eco_error *error) {
    return error->code == ECO_E_NOT_FOUND    ? EXIT_NOT_FOUND
           : error->code == ECO_E_PERMISSION ? EXIT_CANNOT
                                             : EXIT_OWN;
}

/* How many runs count, and what ended the series. */
static void warn_partial(eco_run_result *result) {
    uint32_t n_counted = 0;
    for (uint32_t i = 0; i < result->n_runs; i++) {
        n_counted += result->runs[i].counted ? 1 : 0;
    }
    char detail[160];
    (void)snprintf(detail, sizeof detail, "%u of %u runs count; %s", n_counted, result->n_planned,
                   result->interrupted != 0 ? "a signal ended the series"
                   : n_counted < result->n_runs
                       ? "a command that did not end with status 0 ended the series"
                       : "a run that could not be made ended the series");
    warn(result, ECO_WARNING_PARTIAL, detail);
}

static void run_series(eco_command_watch *watch, const uint32_t *order, eco_run_result *result) {
    const int64_t origin_ns = ecoi_now_ns();
    uint32_t repeats[2] = {0, 0};
    for (uint32_t i = 0; i < result->n_planned; i++) {
        result->interrupted = ecoi_proc_interrupted(watch->proc);
        if (result->interrupted != 0) {
            break;
        }
        const uint32_t command = order[i];
        const uint32_t n_before = result->n_runs;
        const eco_status status =
            run_once(watch, command, ++repeats[command], origin_ns, result, &result->fault);
        if (status != ECO_OK) {
            result->exit_status =
                result->n_runs == n_before ? own_status(&result->fault) : EXIT_OWN;
            break;
        }
        if (!result->runs[result->n_runs - 1].counted) {
            break;
        }
    }
    result->interrupted = ecoi_proc_interrupted(watch->proc);
    if (result->interrupted != 0 && result->exit_status == 0 &&
        result->n_runs < result->n_planned) {
        result->exit_status = SIGNAL_BASE + result->interrupted;
    }
    if (result->n_runs < result->n_planned) {
        warn_partial(result);
    }
}

/* ---- what the runs say together ---- */

static eco_quantity quantity_of(const double *values, size_t n, eco_basis basis) {
    const eco_mean mean = eco_mean_of(values, n);
    return (eco_quantity){.value = mean.mean,
                          .lo = mean.mean - mean.half_width,
                          .hi = mean.mean + mean.half_width,
                          .n = mean.n,
                          .basis = n > 0 ? basis : ECO_BASIS_UNAVAILABLE};
}

static void mean_meter(eco_run_result *result, uint32_t command, uint32_t meter, double *values) {
    eco_run_mean *mean = &result->means[command][meter];
    const eco_basis basis = result->meters[meter].basis;
    for (int tokens = 0; tokens < 2; tokens++) {
        size_t n = 0;
        for (uint32_t i = 0; i < result->n_runs; i++) {
            const eco_run_one *one = &result->runs[i];
            const eco_run_energy *energy = &one->energies[meter];
            const eco_reading reading = tokens == 0 ? energy->energy_j : energy->mj_per_token;
            if (one->command == command && one->counted && eco_reading_present(reading)) {
                values[n++] = reading.value;
                mean->edge_half_width_j = fmax(mean->edge_half_width_j, energy->edge_half_width_j);
            }
        }
        *(tokens == 0 ? &mean->energy_j : &mean->mj_per_token) = quantity_of(values, n, basis);
    }
}

static const eco_run_one *run_of(const eco_run_result *result, uint32_t command, uint32_t repeat) {
    for (uint32_t i = 0; i < result->n_runs; i++) {
        const eco_run_one *one = &result->runs[i];
        if (one->command == command && one->repeat == repeat && one->counted) {
            return one;
        }
    }
    return NULL;
}

static void pair_meter(eco_run_result *result, uint32_t meter, double *values) {
    eco_run_pairing *pairing = &result->pairings[meter];
    for (uint32_t repeat = 1; repeat <= result->n_planned / 2; repeat++) {
        const eco_run_one *a = run_of(result, 0, repeat);
        const eco_run_one *b = run_of(result, 1, repeat);
        if (a != NULL && b != NULL && eco_reading_present(a->energies[meter].energy_j) &&
            eco_reading_present(b->energies[meter].energy_j)) {
            values[pairing->n_pairs++] =
                log(b->energies[meter].energy_j.value / a->energies[meter].energy_j.value);
        }
    }
    if (pairing->n_pairs == 0) {
        return;
    }
    const eco_mean mean = eco_mean_of(values, pairing->n_pairs);
    pairing->change_pct = eco_pct_of_log(mean.mean);
    pairing->lo_pct = eco_pct_of_log(mean.mean - mean.half_width);
    pairing->hi_pct = eco_pct_of_log(mean.mean + mean.half_width);
    pairing->verdict = eco_verdict_of(&mean, result->margin_pct);
}

static void conclude(eco_command_watch *watch, eco_run_result *result, double *values) {
    for (uint32_t m = 0; m < watch->n_meters; m++) {
        eco_run_meter *meter = &result->meters[m];
        if (watch->meters[m].period_ns > 0) {
            meter->period_s = eco_reading_of((double)watch->meters[m].period_ns * 1e-9);
        }
        count_tenants(&watch->meters[m], result, meter, true);
    }
    for (uint32_t c = 0; c < result->n_commands; c++) {
        size_t n = 0;
        for (uint32_t i = 0; i < result->n_runs; i++) {
            if (result->runs[i].command == c && result->runs[i].counted) {
                values[n++] = result->runs[i].seconds;
            }
        }
        result->seconds[c] = eco_mean_of(values, n);
        for (uint32_t m = 0; m < result->n_meters; m++) {
            mean_meter(result, c, m, values);
        }
    }
    for (uint32_t m = 0; result->n_commands == 2 && m < result->n_meters; m++) {
        pair_meter(result, m, values);
    }
}

/* Pairs in the order a plan of two arms has: shuffled, each command as often first as the other to within one. */
static void order_runs(const eco_run_plan *plan, uint32_t n_commands, uint32_t *order) {
    const eco_plan pairs = {.n_arms = n_commands,
                            .n_blocks = plan->n_repeats,
                            .order_seed = plan->order_seed,
                            .shuffle = true};
    eco_plan_order(&pairs, order);
}

static eco_status run_watched(const eco_run_plan *plan, eco_command_watch *watch,
                              eco_run_result *result, eco_error *err) {
    ECO_TRY(ecoi_run_meters_open(plan, watch, result->no_meter, err));
    result->n_meters = watch->n_meters;
    memcpy(result->left_out, watch->left_out, sizeof result->left_out);
    for (uint32_t m = 0; m < watch->n_meters; m++) {
        describe_meter(&watch->meters[m], result, &result->meters[m]);
    }
    if (ECO_CHECKED_BUILD) {
        warn(result, ECO_WARNING_DEBUG_BUILD, "");
    }
    uint32_t *order = ecoi_calloc(result->n_planned, sizeof *order);
    double *values = ecoi_calloc(result->n_planned, sizeof *values);
    result->runs = ecoi_calloc(result->n_planned, sizeof *result->runs);
    eco_status status = ECO_OK;
    if (order == NULL || values == NULL || result->runs == NULL) {
        status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "run: out of memory for %u runs",
                               result->n_planned);
        goto done;
    }
    order_runs(plan, result->n_commands, order);
    run_series(watch, order, result);
    conclude(watch, result, values);
    if (result->n_runs == 0 && result->fault.code != ECO_OK) {
        status = result->fault.code;
        if (err != NULL) {
            *err = result->fault;
        }
    }
done:
    ecoi_free(order);
    ecoi_free(values);
    return status;
}

/* Two series in one folder would take each other's files. Where a folder cannot be locked nothing is refused; the report
 * is not written over in any case. */
static eco_status take_folder(const eco_run_plan *plan, int *fd, eco_error *err) {
    *fd = -1;
    if (plan->output_dir != NULL && ecoi_lock_folder(plan->output_dir, fd) == EAGAIN) {
        return eco_error_set(err, ECO_E_BUSY, 0, "%s: another run is at work in this folder",
                             plan->output_dir);
    }
    return ECO_OK;
}

eco_status eco_run_command(const eco_run_plan *plan, eco_run_result *result, eco_error *err) {
    *result = (eco_run_result){.exit_status = 0};
    if (plan->n_repeats == 0 || plan->n_repeats > ECO_RUN_REPEATS_MAX ||
        plan->commands[0] == NULL || plan->commands[0][0] == NULL || !(plan->rate_hz > 0.0)) {
        result->exit_status = EXIT_OWN;
        return eco_error_set(err, ECO_E_USAGE, 0, "-r: between 1 and %d runs of a command",
                             ECO_RUN_REPEATS_MAX);
    }
    result->n_commands = plan->commands[1] != NULL ? 2 : 1;
    result->n_planned = plan->n_repeats * result->n_commands;
    result->margin_pct = plan->margin_pct;
    result->order_seed = plan->order_seed;
    eco_command_watch *watch = ecoi_calloc(1, sizeof *watch);
    eco_error fault = {0};
    eco_status status = ECO_E_NO_MEMORY;
    if (watch != NULL) {
        watch->plan = plan;
        int folder_fd = -1;
        status = take_folder(plan, &folder_fd, &fault);
        if (status == ECO_OK) {
            status = ecoi_proc_watch_open(&watch->proc, &fault);
        }
        if (status == ECO_OK) {
            status = run_watched(plan, watch, result, &fault);
        }
        if (folder_fd >= 0) {
            (void)close(folder_fd);
        }
        ecoi_proc_watch_close(watch->proc);
        ecoi_run_meters_close(watch);
    } else {
        (void)eco_error_set(&fault, ECO_E_NO_MEMORY, 0, "run: out of memory");
    }
    ecoi_free(watch);
    if (status != ECO_OK) {
        result->exit_status =
            result->n_runs == 0 && result->fault.code != ECO_OK ? own_status(&fault) : EXIT_OWN;
        if (err != NULL) {
            *err = fault;
        }
    }
    return status;
}

void eco_run_result_free(eco_run_result *result) {
    for (uint32_t i = 0; i < result->n_runs; i++) {
        ecoi_free(result->runs[i].phases);
    }
    ecoi_free(result->runs);
    *result = (eco_run_result){0};
}
