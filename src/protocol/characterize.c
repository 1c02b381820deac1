/* SPDX-License-Identifier: Apache-2.0
 *
 * What this board's sensor does, seen on one load step: how often each reading changes, how fast the power reading
 * follows, how long the trailing average is, what a read costs, and how counter and integral agree.
 */
#include "protocol/session.h"

#include "core/alloc.h"
#include "sys/clock.h"

#include <stdlib.h>

enum { WATCH_ROWS_MAX = 8192, COST_READS = 9, CHANGES_MIN = 8 };
static const double REST_S = 0.3;
static const double SLOW_S = 4.0; /* longer, where the counter's period has not shown */

typedef struct watch {
    eco_sample *rows;  /* power_w and energy_j */
    double *average_w; /* the trailing average beside each row; negative = absent */
    size_t n, n_rest;  /* rows in all; rows before the load began */
    double scratch[WATCH_ROWS_MAX];
} watch;

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static eco_reading median_of(double *values, size_t n) {
    if (n == 0) {
        return eco_reading_absent(ECO_ABSENT_NOT_READ);
    }
    qsort(values, n, sizeof *values, compare_doubles);
    return eco_reading_of(n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2.0);
}

static void watch_until(eco_session *session, watch *w, int64_t until_ns) {
    while (w->n < WATCH_ROWS_MAX && ecoi_now_ns() < until_ns && !ecoi_session_interrupted()) {
        eco_meter_sample power;
        eco_meter_sample energy;
        eco_meter_read(session->meter, ECO_READ_POWER | ECO_READ_POWER_AVERAGE, &power);
        eco_meter_read(session->meter, ECO_READ_ENERGY, &energy);
        w->rows[w->n] =
            (eco_sample){.t_ns = power.t_ns, .power_w = power.power_w, .energy_j = energy.energy_j};
        if (!eco_reading_present(power.power_w)) {
            w->rows[w->n].t_ns = energy.t_ns;
        }
        w->average_w[w->n] =
            eco_reading_present(power.power_average_w) ? power.power_average_w.value : -1.0;
        w->n++;
        if (energy.cost_ns + power.cost_ns <
            200000) { /* free reads: do not fill the buffer in a moment */
            ecoi_sleep_until_ns(ecoi_now_ns() + 500000);
        }
    }
}

static double series_value(const watch *w, int series, size_t i, bool *present) {
    const eco_reading reading = series == 1 ? w->rows[i].energy_j : w->rows[i].power_w;
    if (series == 2) {
        *present = w->average_w[i] >= 0.0;
        return w->average_w[i];
    }
    *present = eco_reading_present(reading);
    return reading.value;
}

/* Median time between changes from row `from` on. series: 0 power, 1 counter, 2 average. */
static eco_reading change_period(watch *w, int series, size_t from) {
    size_t n = 0;
    int64_t last_change_ns = -1;
    double last = 0.0;
    bool have_last = false;
    for (size_t i = from; i < w->n; i++) {
        bool present = false;
        const double value = series_value(w, series, i, &present);
        if (!present) {
            continue;
        }
        if (have_last && (value < last || value > last)) {
            if (last_change_ns >= 0) {
                w->scratch[n++] = (double)(w->rows[i].t_ns - last_change_ns) * 1e-9;
            }
            last_change_ns = w->rows[i].t_ns;
        }
        last = value;
        have_last = true;
    }
    /* A nearly constant power changes now and then: that is not its update period. A counter moves with each. */
    return n >= (series == 1 ? 1 : CHANGES_MIN) ? median_of(w->scratch, n)
                                                : eco_reading_absent(ECO_ABSENT_FAILED);
}

static double series_mean(const watch *w, int series, size_t from, size_t to) {
    double sum = 0.0;
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        bool present = false;
        const double value = series_value(w, series, i, &present);
        sum += present ? value : 0.0;
        n += present;
    }
    return n > 0 ? sum / (double)n : -1.0;
}

/* Time from 10 % to 90 % of the step, scaled to the whole: the window of a trailing average, the rise of another. */
static eco_reading step_time(const watch *w, int series) {
    const size_t tail = w->n - (w->n - w->n_rest) / 4;
    const double low = series_mean(w, series, 0, w->n_rest);
    const double high = series_mean(w, series, tail, w->n);
    if (low < 0.0 || high < low + 20.0) {
        return eco_reading_absent(ECO_ABSENT_FAILED);
    }
    int64_t t10_ns = -1;
    for (size_t i = w->n_rest; i < w->n; i++) {
        bool present = false;
        const double value = series_value(w, series, i, &present);
        if (!present) {
            continue;
        }
        if (t10_ns < 0 && value >= low + 0.1 * (high - low)) {
            t10_ns = w->rows[i].t_ns;
        }
        if (value >= low + 0.9 * (high - low)) {
            return eco_reading_of((double)(w->rows[i].t_ns - t10_ns) * 1e-9 / 0.8);
        }
    }
    return eco_reading_absent(ECO_ABSENT_FAILED);
}

static eco_reading read_cost(eco_session *session, watch *w, uint32_t what) {
    for (int i = 0; i < COST_READS; i++) {
        eco_meter_sample sample;
        eco_meter_read(session->meter, what, &sample);
        w->scratch[i] = (double)sample.cost_ns * 1e-9;
    }
    return median_of(w->scratch, COST_READS);
}

static eco_reading counter_to_integral(const watch *w) {
    const size_t from = w->n - (w->n - w->n_rest) / 2;
    const eco_sample *first = NULL;
    const eco_sample *last = NULL;
    for (size_t i = from; i < w->n; i++) {
        const eco_reading now = w->rows[i].energy_j;
        const eco_reading before = w->rows[i > 0 ? i - 1 : 0].energy_j;
        if (eco_reading_present(now) && eco_reading_present(before) && now.value > before.value) {
            first = first == NULL ? &w->rows[i] : first;
            last = &w->rows[i];
        }
    }
    double joules = 0.0;
    if (first == last || !eco_integrate_power(w->rows, w->n, first->t_ns, last->t_ns, &joules) ||
        joules <= 0.0) {
        return eco_reading_absent(ECO_ABSENT_FAILED);
    }
    return eco_reading_of((last->energy_j.value - first->energy_j.value) / joules);
}

static void conclude(eco_session *session, watch *w) {
    eco_sensor *sensor = &session->sensor;
    sensor->counter_period_s = change_period(w, 1, w->n_rest);
    sensor->power_period_s = change_period(w, 0, w->n_rest);
    sensor->average_period_s = change_period(w, 2, w->n_rest);
    sensor->power_rise_s = step_time(w, 0);
    sensor->average_window_s = step_time(w, 2);
    sensor->counter_to_integral = counter_to_integral(w);
    sensor->power_cost_s = session->meter_info.power_field != NULL
                               ? read_cost(session, w, ECO_READ_POWER)
                               : eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    sensor->counter_cost_s = session->meter_info.energy_field != NULL
                                 ? read_cost(session, w, ECO_READ_ENERGY)
                                 : eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
}

eco_status ecoi_sensor_watch(eco_session *session, double seconds, eco_load **load,
                             eco_error *err) {
    *load = NULL;
    watch *w = ecoi_calloc(1, sizeof *w);
    eco_status status = ECO_OK;
    if (w != NULL) {
        w->rows = ecoi_calloc(WATCH_ROWS_MAX, sizeof *w->rows);
        w->average_w = ecoi_calloc(WATCH_ROWS_MAX, sizeof *w->average_w);
    }
    if (w == NULL || w->rows == NULL || w->average_w == NULL) {
        status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "sensor: out of memory");
        goto done;
    }
    watch_until(session, w, ecoi_now_ns() + (int64_t)(REST_S * 1e9));
    w->n_rest = w->n;
    status = ecoi_load_start(session->arms[0].arm, ECO_WORK_READ, 0, load, err);
    if (status != ECO_OK) {
        goto done;
    }
    watch_until(session, w, ecoi_now_ns() + (int64_t)(seconds * 1e9));
    if (session->meter_info.energy_field != NULL &&
        !eco_reading_present(change_period(w, 1, w->n_rest))) {
        watch_until(session, w, ecoi_now_ns() + (int64_t)(SLOW_S * 1e9));
    }
    session->sensor.seconds = seconds;
    if (w->n > w->n_rest + 8) {
        conclude(session, w);
    }
done:
    if (w != NULL) {
        ecoi_free(w->rows);
        ecoi_free(w->average_w);
    }
    ecoi_free(w);
    return status;
}

/* The smallest model at one precision, only to own a device to load. */
static eco_status characterize_session(eco_session *session, eco_error *err) {
    ecoi_devices_scan(session);
    ECO_TRY(eco_engine_open(&session->plan->engine, &session->engine, err));
    eco_engine_describe(session->engine, &session->engine_info);
    ECO_TRY(ecoi_devices_claim(session, err));
    if (session->meter == NULL) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0, "%s", session->no_meter);
    }
    bool settled = false;
    session->sensor.idle_context_w = ecoi_idle_settled(session->meter, &settled);
    ECO_TRY(ecoi_arms_open(session, err));
    ecoi_idle_loaded(session);
    ecoi_session_say(session, "watching the sensor on one load step");
    eco_load *load = NULL;
    const eco_status status = ecoi_sensor_watch(session, 4.0, &load, err);
    const eco_status stopped = ecoi_load_stop(load, NULL, status == ECO_OK ? err : NULL);
    return status != ECO_OK ? status : stopped;
}

eco_status eco_characterize(const eco_engine_options *engine, const char *meter,
                            const eco_measure_hooks *hooks, eco_meter_info *meter_info,
                            eco_engine_info *engine_info, eco_sensor *out, eco_error *err) {
    *out = (eco_sensor){0};
    *meter_info = (eco_meter_info){0};
    *engine_info = (eco_engine_info){0};
    const eco_plan plan = {.shape = eco_model_find("SmolLM2-135M"),
                           .arms = {ECO_FORMAT_FP16},
                           .n_arms = 1,
                           .head = ECO_FORMAT_FP16,
                           .engine = *engine,
                           .meter = meter,
                           .batch = 1,
                           .n_prompt = 1,
                           .n_tokens = 1,
                           .seed = 1,
                           .force = true};
    eco_session *session = ecoi_calloc(1, sizeof *session);
    if (session == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "characterize: out of memory");
    }
    session->plan = &plan;
    session->hooks = hooks;
    const eco_status status = characterize_session(session, err);
    *out = session->sensor;
    *meter_info = session->meter_info;
    *engine_info = session->engine_info;
    ecoi_session_close(session);
    return status;
}
