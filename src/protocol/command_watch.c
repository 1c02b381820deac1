/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop around one child. Between its ends only power is read (and, of a meter without power, the counter, so that
 * it cannot wrap unseen); the counters are polled until two ticks have passed after the start, and again after the end
 * until each has ticked, unless the run was too short to be given an energy at all.
 */
#include "protocol/command_watch.h"

#include "core/alloc.h"
#include "sys/clock.h"

#include <math.h>

static const int64_t POLL_NS = 200000; /* between polls of a counter that costs little */
static const int64_t CHEAP_NS = 50000;
static const int64_t SHARP_NS = 3000000;
static const int64_t DOUBT_NS = 500000; /* ticks are not even to less */
static const double TICK_SLACK = 0.98;  /* a period is seen to a percent or so */
static const int64_t SEEK_AFTER_NS =
    50000000;                              /* a short command's end is not kept waiting by a read */
static const int64_t SEEK_NS = 3000000000; /* patience with the ticks after the start */
static const int64_t CLOSE_NS = 5000000000; /* and with the tick after the end */
static const int64_t SECOND_NS = 1000000000;

enum { ROWS_FIRST = 256, ROWS_MAX = 1 << 22, CHANNEL_ROOM = 4096, BEFORE_READS = 4 };

static void push_row(eco_watched *w, const eco_sample *row) {
    if (w->n_rows == w->capacity) {
        const size_t capacity = w->capacity == 0 ? ROWS_FIRST : w->capacity * 2;
        eco_sample *larger =
            capacity <= ROWS_MAX ? ecoi_realloc(w->rows, capacity * sizeof *larger) : NULL;
        if (larger == NULL) {
            w->rows_lost = true;
            return;
        }
        w->rows = larger;
        w->capacity = capacity;
    }
    w->rows[w->n_rows++] = *row;
}

/* One row. Of a meter without power it is the counter that is read. */
static eco_meter_sample take_row(eco_watched *w, uint32_t more) {
    eco_meter_sample sample;
    eco_meter_read(w->meter, (w->has_power ? ECO_READ_POWER : ECO_READ_ENERGY) | more, &sample);
    const eco_sample row = {.t_ns = sample.t_ns,
                            .power_w = sample.power_w,
                            .energy_j = sample.energy_j,
                            .temp_c = sample.temp_c,
                            .phase = ECO_PHASE_LOAD};
    w->device_lost |= sample.device_lost;
    const eco_reading main = w->has_power ? sample.power_w : sample.energy_j;
    if (!eco_reading_present(main)) {
        w->n_failed++;
        return sample;
    }
    if (w->last_power_ns != 0 && sample.t_ns - w->last_power_ns > w->longest_gap_ns) {
        w->longest_gap_ns = sample.t_ns - w->last_power_ns;
    }
    w->last_power_ns = sample.t_ns;
    if (sample.throttle_read == ECO_PRESENT) {
        w->throttle |= sample.throttle;
    }
    push_row(w, &row);
    return sample;
}

/* The counter until two reads in a row agree: no tick came between the two, so before_j is the counter at the instant
 * between them, however long a read takes. */
static void read_before(eco_watched *w) {
    eco_meter_sample sample;
    eco_meter_read(w->meter, ECO_READ_ENERGY, &sample);
    for (int i = 0; i < BEFORE_READS; i++) {
        const eco_reading last = sample.energy_j;
        w->before_ns = ecoi_now_ns();
        eco_meter_read(w->meter, ECO_READ_ENERGY, &sample);
        if (!eco_reading_present(last) || !eco_reading_present(sample.energy_j) ||
            !(sample.energy_j.value > last.value || sample.energy_j.value < last.value)) {
            break;
        }
    }
    w->before_j = sample.energy_j;
    w->last_j = sample.energy_j.value;
    w->last_ns = sample.t_ns;
    w->cost_ns = sample.cost_ns;
}

static void meter_begin(eco_watched *w) {
    w->n_rows = 0;
    w->rows_lost = false;
    w->device_lost = false;
    w->stepped_back = false;
    w->throttle = 0;
    w->n_failed = 0;
    w->last_power_ns = 0;
    w->longest_gap_ns = 0;
    w->first_tick_ns = 0;
    w->first_half_width_ns = 0;
    w->close_j = eco_reading_absent(ECO_ABSENT_NOT_READ);
    w->before_j = eco_reading_absent(ECO_ABSENT_NOT_READ);
    const eco_meter_sample power = take_row(w, 0);
    w->before_w = power.power_w;
    if (w->has_counter) {
        read_before(w);
    }
    w->seeking = w->has_counter && eco_reading_present(w->before_j);
}

/* Where the ticks of a series are known, a start keeps clear of them: a read that falls on a tick cannot tell on which
 * side of it it was. */
static void keep_clear(const eco_watched *w) {
    if (w->period_ns <= 4 * SHARP_NS || w->period_basis_ns < SECOND_NS || w->known_tick_ns == 0) {
        return;
    }
    const int64_t now_ns = ecoi_now_ns();
    const int64_t guard_ns = w->cost_ns > SHARP_NS ? 2 * w->cost_ns : SHARP_NS;
    const int64_t since_ns = (now_ns - w->known_tick_ns) % w->period_ns;
    if (now_ns - w->known_tick_ns < 100 * SECOND_NS &&
        (since_ns < guard_ns || since_ns > w->period_ns - 2 * guard_ns)) {
        const int64_t past_ns = since_ns < guard_ns ? -since_ns : w->period_ns - since_ns;
        ecoi_sleep_until_ns(now_ns + past_ns + guard_ns);
    }
}

static void period_seen(eco_watched *w, int64_t period_ns, int64_t basis_ns) {
    if (period_ns > 0 && basis_ns >= w->period_basis_ns) {
        w->period_ns = period_ns;
        w->period_basis_ns = basis_ns;
    }
}

/* Reads the counter once; true when it has ticked since the last read, at *tick_ns. */
static bool poll_counter(eco_watched *w, int64_t *tick_ns, int64_t *half_width_ns) {
    eco_meter_sample sample;
    eco_meter_read(w->meter, ECO_READ_ENERGY, &sample);
    w->cost_ns = sample.cost_ns;
    w->device_lost |= sample.device_lost;
    if (!eco_reading_present(sample.energy_j)) {
        return false;
    }
    w->n_close_reads++;
    const double value = sample.energy_j.value;
    const bool ticked = value > w->last_j;
    w->stepped_back |= value < w->last_j;
    *half_width_ns = (sample.t_ns - w->last_ns) / 2;
    *tick_ns = w->last_ns + *half_width_ns;
    w->last_ns = sample.t_ns;
    w->last_j = value;
    return ticked;
}

/* Looks for two ticks in a row after the start, so that the period and with it the tick before the start are known. A
 * tick whose instant is not known well, because this thread was kept off its core, does not serve. */
static void seek_ticks(eco_watched *w, int64_t start_ns) {
    int64_t tick_ns = 0;
    int64_t half_width_ns = 0;
    if (poll_counter(w, &tick_ns, &half_width_ns)) {
        const bool sharp = half_width_ns <= SHARP_NS || half_width_ns <= w->cost_ns;
        if (w->first_tick_ns != 0 && sharp) {
            period_seen(w, tick_ns - w->first_tick_ns, tick_ns - w->first_tick_ns);
            w->seeking = false;
        } else {
            w->first_tick_ns = tick_ns > start_ns && sharp ? tick_ns : 0;
            w->first_half_width_ns = half_width_ns;
        }
    }
    w->seeking &= w->last_ns - start_ns < SEEK_NS && !w->device_lost;
}

static void read_channel(eco_command_watch *watch, eco_command_run *run) {
    char data[CHANNEL_ROOM];
    const int64_t t_ns = ecoi_now_ns();
    size_t n = ecoi_proc_channel_read(watch->proc, data, sizeof data);
    if (n > 0) {
        for (uint32_t i = 0; i < watch->n_meters; i++) {
            if (!watch->meters[i].has_power) {
                (void)take_row(&watch->meters[i], 0); /* its counter here bounds the phase */
            }
        }
    }
    for (; n > 0; n = ecoi_proc_channel_read(watch->proc, data, sizeof data)) {
        ecoi_markers_feed(&run->markers, data, n, t_ns);
    }
}

/* Seeks ticks where they are still wanted; returns when to look again. */
static int64_t seek_all(eco_command_watch *watch, int64_t start_ns, int64_t due_ns) {
    int64_t until_ns = due_ns;
    if (ecoi_now_ns() - start_ns < SEEK_AFTER_NS) {
        return start_ns + SEEK_AFTER_NS < due_ns ? start_ns + SEEK_AFTER_NS : due_ns;
    }
    for (uint32_t i = 0; i < watch->n_meters; i++) {
        eco_watched *w = &watch->meters[i];
        if (!w->seeking) {
            continue;
        }
        seek_ticks(w, start_ns);
        const int64_t again_ns = w->cost_ns < CHEAP_NS ? ecoi_now_ns() + POLL_NS : ecoi_now_ns();
        until_ns = again_ns < until_ns ? again_ns : until_ns;
    }
    return until_ns;
}

static void watch_child(eco_command_watch *watch, eco_command_run *run) {
    const int64_t period_ns = (int64_t)(1e9 / watch->plan->rate_hz);
    int64_t due_ns = run->start_ns + period_ns;
    int64_t slow_ns = run->start_ns;
    for (;;) {
        int64_t now_ns = ecoi_now_ns();
        if (now_ns >= due_ns) {
            const bool slow = now_ns >= slow_ns;
            for (uint32_t i = 0; i < watch->n_meters; i++) {
                (void)take_row(&watch->meters[i], slow ? ECO_READ_THROTTLE | ECO_READ_TEMP : 0);
            }
            slow_ns = slow ? now_ns + SECOND_NS : slow_ns;
            now_ns = ecoi_now_ns();
            due_ns += ((now_ns - due_ns) / period_ns + 1) * period_ns;
        }
        const int64_t until_ns = seek_all(watch, run->start_ns, due_ns);
        const uint32_t seen = ecoi_proc_wait(watch->proc, until_ns, &run->end);
        if ((seen & (ECO_PROC_CHANNEL | ECO_PROC_ENDED)) != 0) {
            read_channel(watch, run);
        }
        if ((seen & ECO_PROC_ENDED) != 0) {
            return;
        }
    }
}

static bool too_short(const eco_command_watch *watch, const eco_watched *w, double seconds) {
    const double tick_s = w->has_counter ? (double)w->period_ns * 1e-9 : 1.0 / watch->plan->rate_hz;
    return seconds < watch->plan->seconds_min ||
           seconds < TICK_SLACK * watch->plan->ticks_min * tick_s;
}

static double seconds_of(const eco_command_run *run) {
    return (double)(run->end.t_ns - run->start_ns) * 1e-9;
}

static bool close_one(eco_watched *w) {
    int64_t tick_ns = 0;
    int64_t half_width_ns = 0;
    if (!poll_counter(w, &tick_ns, &half_width_ns)) {
        return w->device_lost || w->stepped_back;
    }
    w->close_j = eco_reading_of(w->last_j);
    w->close_ns = tick_ns;
    w->close_half_width_ns = half_width_ns;
    w->known_tick_ns = half_width_ns <= SHARP_NS || half_width_ns <= w->cost_ns ? tick_ns : 0;
    return true;
}

/* The first tick of every counter after the end, and one more power sample. */
static void close_all(eco_command_watch *watch, const eco_command_run *run) {
    bool open[ECO_RUN_METERS_MAX] = {false};
    uint32_t n_open = 0;
    for (uint32_t i = 0; i < watch->n_meters; i++) {
        eco_watched *w = &watch->meters[i];
        (void)take_row(w, 0);
        if (w->has_counter && eco_reading_present(w->before_j) && !w->device_lost &&
            !too_short(watch, w, seconds_of(run))) {
            eco_meter_sample sample;
            eco_meter_read(w->meter, ECO_READ_ENERGY, &sample);
            w->stepped_back |=
                eco_reading_present(sample.energy_j) && sample.energy_j.value < w->last_j;
            w->last_j = eco_reading_present(sample.energy_j) ? sample.energy_j.value : w->last_j;
            w->last_ns = sample.t_ns;
            w->n_close_reads = 0;
            open[i] = true;
            n_open++;
        }
    }
    const int64_t give_up_ns = ecoi_now_ns() + CLOSE_NS;
    while (n_open > 0 && ecoi_now_ns() < give_up_ns) {
        bool cheap = true;
        for (uint32_t i = 0; i < watch->n_meters; i++) {
            if (open[i] && close_one(&watch->meters[i])) {
                open[i] = false;
                n_open--;
                (void)take_row(&watch->meters[i], 0);
            }
            cheap &= !open[i] || watch->meters[i].cost_ns < CHEAP_NS;
        }
        if (cheap && n_open > 0) {
            ecoi_sleep_until_ns(ecoi_now_ns() + POLL_NS);
        }
    }
}

/* A tick caught at both ends of a long run gives the period better than two neighbours do. */
static void refine_period(eco_watched *w) {
    if (!eco_reading_present(w->close_j) || w->first_tick_ns == 0 || w->period_ns <= 0) {
        return;
    }
    const int64_t span_ns = w->close_ns - w->first_tick_ns;
    const int64_t n = (span_ns + w->period_ns / 2) / w->period_ns;
    const double drift = (double)w->close_half_width_ns * (double)n;
    if (n > 0 && drift < 0.25 * (double)span_ns) {
        period_seen(w, span_ns / n, span_ns);
    }
}

eco_status ecoi_command_watch_run(eco_command_watch *watch, char *const *argv, eco_command_run *out,
                                  eco_error *err) {
    *out = (eco_command_run){0};
    for (uint32_t i = watch->n_meters; i > 0;
         i--) { /* the headline meter last, next to the start */
        if (i == 1) {
            keep_clear(&watch->meters[0]);
        }
        meter_begin(&watch->meters[i - 1]);
    }
    const eco_proc_options options = {.argv = argv,
                                      .stdout_to_stderr = watch->plan->stdout_to_stderr,
                                      .channel_name = ECO_RUN_MARKER_VARIABLE};
    ECO_TRY(ecoi_proc_start(watch->proc, &options, &out->start_ns, err));
    watch_child(watch, out);
    out->interrupted = ecoi_proc_interrupted(watch->proc) != 0;
    out->left_running = ecoi_proc_channel_held(watch->proc);
    ecoi_markers_end(&out->markers, out->end.t_ns);
    out->markers_error = ecoi_proc_channel_error(watch->proc);
    if (out->markers_error != 0) {
        ecoi_markers_fini(&out->markers);
        out->markers = (eco_markers){.n_ignored = 0};
    }
    close_all(watch, out);
    for (uint32_t i = 0; i < watch->n_meters; i++) {
        refine_period(&watch->meters[i]);
    }
    return ECO_OK;
}

/* ---- energies ---- */

static eco_run_energy no_energy(eco_absence why, const char *code) {
    const eco_reading absent = eco_reading_absent(why);
    return (eco_run_energy){.energy_j = absent,
                            .code = code,
                            .window_j = absent,
                            .integral_j = absent,
                            .counter_to_integral = absent,
                            .mj_per_token = absent};
}

static eco_reading integral_of(const eco_watched *w, int64_t from_ns, int64_t to_ns) {
    double joules = 0.0;
    if (!w->has_power || w->rows_lost ||
        !eco_integrate_power(w->rows, w->n_rows, from_ns, to_ns, &joules)) {
        return eco_reading_absent(w->has_power ? ECO_ABSENT_FAILED : ECO_ABSENT_UNSUPPORTED);
    }
    return eco_reading_of(joules);
}

static eco_reading per_token(eco_reading energy_j, bool has_tokens, uint64_t tokens) {
    if (!has_tokens || tokens == 0 || !eco_reading_present(energy_j)) {
        return eco_reading_absent(ECO_ABSENT_NOT_READ);
    }
    return eco_reading_of(energy_j.value * 1e3 / (double)tokens);
}

/* The last tick at or before before_ns; ticks were seen. *doubt_ns: what the instant may be wrong by, a whole period
 * where a tick and before_ns fall together. */
static int64_t open_tick_ns(const eco_watched *w, int64_t *doubt_ns) {
    *doubt_ns = w->first_half_width_ns;
    const int64_t since_ns = w->first_tick_ns - w->before_ns;
    const int64_t n = since_ns > 0 ? (since_ns + w->period_ns - 1) / w->period_ns : 1;
    const int64_t open_ns = w->first_tick_ns - n * w->period_ns;
    const int64_t near_ns = DOUBT_NS + 2 * w->first_half_width_ns;
    const int64_t after_ns = w->before_ns - open_ns; /* 0 … period */
    if (after_ns < near_ns || w->period_ns - after_ns < near_ns) {
        *doubt_ns = w->period_ns;
    }
    return open_ns;
}

static eco_run_energy counter_energy(const eco_watched *w, const eco_command_run *run) {
    if (w->stepped_back ||
        (eco_reading_present(w->close_j) && w->close_j.value < w->before_j.value)) {
        return no_energy(ECO_ABSENT_FAILED, "counter_reset");
    }
    if (!eco_reading_present(w->before_j) || !eco_reading_present(w->close_j)) {
        const bool frozen = eco_reading_present(w->before_j) && w->n_close_reads > 0;
        return no_energy(ECO_ABSENT_FAILED, frozen ? "counter_frozen" : "unreadable");
    }
    if (w->first_tick_ns == 0 || w->period_ns <= 0) {
        return no_energy(ECO_ABSENT_FAILED, "sample_gap"); /* this thread was kept off its core */
    }
    eco_run_energy out = no_energy(ECO_ABSENT_FAILED, "");
    int64_t doubt_ns = 0;
    const int64_t open_ns = open_tick_ns(w, &doubt_ns);
    out.window_j = eco_reading_of(w->close_j.value - w->before_j.value);
    out.gap_s = (double)(run->start_ns - open_ns + w->close_ns - run->end.t_ns) * 1e-9;
    out.gap_s = fmax(out.gap_s, 0.0);
    out.gap_j = eco_reading_present(w->before_w) ? w->before_w.value * out.gap_s : 0.0;
    const double energy_j = out.window_j.value - out.gap_j;
    if (!(energy_j > 0.0)) {
        out.code = "unreadable";
        return out;
    }
    out.energy_j = eco_reading_of(energy_j);
    const double width_s = out.gap_s + (double)(w->close_half_width_ns + doubt_ns) * 1e-9;
    out.edge_half_width_j =
        width_s *
        fmax(energy_j / seconds_of(run), eco_reading_present(w->before_w) ? w->before_w.value : 0);
    out.integral_j = integral_of(w, run->start_ns, run->end.t_ns);
    const eco_reading same = integral_of(w, open_ns, w->close_ns);
    if (eco_reading_present(same) && same.value > 0.0) {
        out.counter_to_integral = eco_reading_of(out.window_j.value / same.value);
    }
    return out;
}

static eco_run_energy power_energy(const eco_command_watch *watch, const eco_watched *w,
                                   int64_t from_ns, int64_t to_ns) {
    eco_run_energy out = no_energy(ECO_ABSENT_FAILED, "unreadable");
    out.integral_j = integral_of(w, from_ns, to_ns);
    if (eco_reading_present(out.integral_j) && out.integral_j.value > 0.0) {
        out.energy_j = out.integral_j;
        out.code = "";
        out.edge_half_width_j =
            out.integral_j.value / ((double)(to_ns - from_ns) * 1e-9) * 2.0 / watch->plan->rate_hz;
    }
    return out;
}

eco_run_energy ecoi_command_energy(const eco_command_watch *watch, uint32_t meter,
                                   const eco_command_run *run) {
    const eco_watched *w = &watch->meters[meter];
    if (w->device_lost) {
        return no_energy(ECO_ABSENT_FAILED, "device_lost");
    }
    if (too_short(watch, w, seconds_of(run))) {
        return no_energy(ECO_ABSENT_NOT_READ, "short_window");
    }
    eco_run_energy out = w->has_counter ? counter_energy(w, run)
                                        : power_energy(watch, w, run->start_ns, run->end.t_ns);
    out.mj_per_token = per_token(out.energy_j, run->markers.has_tokens, run->markers.tokens);
    out.longest_gap_s = (double)w->longest_gap_ns * 1e-9;
    return out;
}

/* The counter at t, between the rows around it. */
static bool counter_at(const eco_watched *w, int64_t t_ns, double *joules) {
    for (size_t i = 1; i < w->n_rows; i++) {
        const eco_sample *a = &w->rows[i - 1];
        const eco_sample *b = &w->rows[i];
        if (a->t_ns <= t_ns && t_ns <= b->t_ns && b->t_ns > a->t_ns) {
            const double part = (double)(t_ns - a->t_ns) / (double)(b->t_ns - a->t_ns);
            *joules = a->energy_j.value + part * (b->energy_j.value - a->energy_j.value);
            return !w->rows_lost;
        }
    }
    return false;
}

static bool interval_energy(const eco_watched *w, const eco_marker_interval *interval,
                            double *joules) {
    if (w->has_power) {
        const eco_reading integral = integral_of(w, interval->begin_ns, interval->end_ns);
        *joules = integral.value;
        return eco_reading_present(integral);
    }
    double from_j = 0.0;
    double to_j = 0.0;
    const bool known =
        counter_at(w, interval->begin_ns, &from_j) && counter_at(w, interval->end_ns, &to_j);
    *joules = to_j - from_j;
    return known && to_j >= from_j;
}

eco_run_energy ecoi_phase_energy(const eco_command_watch *watch, uint32_t meter,
                                 const eco_command_run *run, uint32_t phase) {
    const eco_watched *w = &watch->meters[meter];
    const eco_markers *markers = &run->markers;
    double sum_j = 0.0;
    double seconds = 0.0;
    uint32_t n = 0;
    bool known = true;
    for (size_t i = 0; i < markers->n_intervals; i++) {
        const eco_marker_interval *interval = &markers->intervals[i];
        seconds +=
            interval->phase == phase ? (double)(interval->end_ns - interval->begin_ns) * 1e-9 : 0.0;
        n += interval->phase == phase;
    }
    if (w->device_lost) {
        return no_energy(ECO_ABSENT_FAILED, "device_lost");
    }
    if (n == 0 || too_short(watch, w, seconds / n)) {
        return no_energy(ECO_ABSENT_NOT_READ, "short_window");
    }
    for (size_t i = 0; i < markers->n_intervals && known; i++) {
        double joules = 0.0;
        if (markers->intervals[i].phase == phase) {
            known = interval_energy(w, &markers->intervals[i], &joules);
            sum_j += joules;
        }
    }
    eco_run_energy out = no_energy(ECO_ABSENT_FAILED, "unreadable");
    if (known && sum_j > 0.0) {
        out.energy_j = eco_reading_of(sum_j);
        out.code = "";
        /* Either end lies between two samples, or two ticks. */
        const double step_s = fmax(1.0 / watch->plan->rate_hz, (double)w->period_ns * 1e-9);
        out.edge_half_width_j = 2.0 * n * step_s * sum_j / seconds;
    }
    out.integral_j = w->has_power ? out.energy_j : out.integral_j;
    out.mj_per_token =
        per_token(out.energy_j, markers->phases[phase].has_tokens, markers->phases[phase].tokens);
    return out;
}
