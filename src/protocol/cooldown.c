/* SPDX-License-Identifier: Apache-2.0
 *
 * The idle band. Before each arm the card rests until power and temperature are near those of the idle with the models
 * loaded, or until a cap; what was reached is recorded.
 */
#include "protocol/session.h"

#include "sys/clock.h"

#include <math.h>

static const double BAND_W = 6.0;
static const double BAND_C = 5.0;
static const double SETTLED_W = 2.0; /* two successive one-second means closer than this */
enum { SETTLE_READS = 10, SETTLE_ROUNDS = 4 };
static const int64_t STEP_NS = 20000000;

eco_reading ecoi_idle_settled(eco_meter *meter, bool *settled) {
    *settled = false;
    eco_reading last = ecoi_idle_power(meter, SETTLE_READS);
    for (int round = 0; round < SETTLE_ROUNDS && !*settled && !ecoi_session_interrupted();
         round++) {
        const eco_reading now = ecoi_idle_power(meter, SETTLE_READS);
        *settled = eco_reading_present(last) && eco_reading_present(now) &&
                   fabs(now.value - last.value) < SETTLED_W;
        last = now;
    }
    return last;
}

void ecoi_idle_loaded(eco_session *session) {
    if (session->meter == NULL) {
        return;
    }
    session->sensor.idle_loaded_w = ecoi_idle_settled(session->meter, &session->idle_settled);
    eco_meter_sample sample;
    eco_meter_read(session->meter, ECO_READ_TEMP, &sample);
    session->idle_temp_c = sample.temp_c;
}

static bool in_band(const eco_session *session) {
    eco_reading power_w;
    eco_reading temp_c;
    ecoi_sampler_latest(session->sampler, &power_w, &temp_c);
    const eco_reading idle_w = session->sensor.idle_loaded_w;
    if (!eco_reading_present(power_w) && !eco_reading_present(temp_c)) {
        return false; /* nothing to tell it by: the card rests until the cap */
    }
    const bool power_ok = !eco_reading_present(idle_w) || !eco_reading_present(power_w) ||
                          power_w.value <= idle_w.value + BAND_W;
    const bool temp_ok = !eco_reading_present(session->idle_temp_c) ||
                         !eco_reading_present(temp_c) ||
                         temp_c.value <= session->idle_temp_c.value + BAND_C;
    return power_ok && temp_ok;
}

void ecoi_cooldown(eco_session *session, double *seconds, bool *reached) {
    *seconds = 0.0;
    *reached = true;
    if (session->meter == NULL) {
        return;
    }
    const int64_t start_ns = ecoi_now_ns();
    const int64_t cap_ns = (int64_t)(session->plan->cooldown_max_s * 1e9);
    int64_t now_ns = start_ns;
    *reached = in_band(session);
    while (!*reached && now_ns - start_ns < cap_ns && !ecoi_session_interrupted()) {
        ecoi_sleep_until_ns(now_ns + STEP_NS);
        now_ns = ecoi_now_ns();
        *reached = in_band(session);
    }
    *seconds = (double)(now_ns - start_ns) * 1e-9;
}
