/* SPDX-License-Identifier: Apache-2.0
 *
 * The command probe: the smallest model on the device, its idles, then one ceiling after the other in three windows back
 * to back each. Everything stays under 20 s.
 */
#include "ecocompute/probe.h"

#include "core/alloc.h"
#include "core/str.h"
#include "protocol/build_facts.h"
#include "protocol/probe_cache.h"
#include "protocol/session.h"
#include "sys/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { IDLE_READS = 10 };
static const double WATCH_S = 1.5; /* sensor, on the first load step */
static const double READ_WINDOW_S = 0.8;
static const double SHORT_WINDOW_S = 0.4;
static const double RAMP_READ_S = 1.0;
static const double RAMP_SHORT_S = 0.4;

static const eco_probe_info infos[ECO_PROBE_COUNT] = {
#define ECO_PROBE_ITEM(id, key_, unit_, si_, text_) \
    {.key = key_, .unit = unit_, .text = text_, .si = si_},
    ECO_PROBE_ITEMS(ECO_PROBE_ITEM)
#undef ECO_PROBE_ITEM
};

const eco_probe_info *eco_probe_at(eco_probe_item item) {
    return &infos[item];
}

static void absent(eco_probe *probe, eco_probe_item item, const char *why) {
    probe->values[item] = (eco_probe_value){.quantity = {.basis = ECO_BASIS_UNAVAILABLE}};
    (void)ecoi_str_copy(probe->values[item].why, sizeof probe->values[item].why, why);
}

static void put_windows(eco_probe *probe, eco_probe_item item, const double *values, uint32_t n,
                        eco_basis basis, const char *method) {
    const eco_mean mean = eco_mean_of(values, n);
    eco_probe_value *value = &probe->values[item];
    *value = (eco_probe_value){.quantity = {.value = mean.mean,
                                            .lo = mean.mean - mean.half_width,
                                            .hi = mean.mean + mean.half_width,
                                            .n = mean.n,
                                            .basis = basis}};
    (void)ecoi_str_copy(value->method, sizeof value->method, method);
}

static void put_idle(const eco_session *session, eco_probe *probe, eco_probe_item item,
                     eco_reading reading, const char *method) {
    if (session->meter == NULL) {
        absent(probe, item, session->no_meter);
    } else if (!eco_reading_present(reading)) {
        absent(probe, item, "the meter gave no power at rest");
    } else {
        put_windows(probe, item, &reading.value, 1, ecoi_basis_of_meter(&session->meter_info),
                    method);
    }
}

/* Two one-second means at most, so that the whole stays short; the later one counts. */
static eco_reading idle_now(const eco_session *session) {
    if (session->meter == NULL) {
        return eco_reading_absent(ECO_ABSENT_NOT_READ);
    }
    (void)ecoi_idle_power(session->meter, IDLE_READS / 2);
    return ecoi_idle_power(session->meter, IDLE_READS);
}

static eco_status ceiling(eco_session *session, eco_probe *probe,
                          const eco_ceiling_request *request, eco_ceiling *out, eco_probe_item item,
                          eco_error *err) {
    eco_error own = {0};
    ecoi_session_say(session, "probing: %s", infos[item].text);
    const eco_status status = ecoi_ceiling_run(session, request, out, &own);
    if (status == ECO_E_UNSUPPORTED) {
        absent(probe, item, own.message);
        out->n = 0;
        return ECO_OK;
    }
    if (status != ECO_OK && err != NULL) {
        *err = own;
    }
    return status;
}

static eco_status read_ceiling(eco_session *session, eco_probe *probe, eco_error *err) {
    const eco_ceiling_request request = {
        .kind = ECO_WORK_READ, .ramp_s = RAMP_READ_S, .seconds = READ_WINDOW_S, .first_block = 1};
    eco_ceiling c;
    ECO_TRY(ceiling(session, probe, &request, &c, ECO_PROBE_READ_RATE, err));
    put_windows(probe, ECO_PROBE_READ_RATE, c.per_s, c.n, c.time_basis,
                "windows of at least 0.8 s under one reading load, beyond the caches");
    if (session->meter == NULL) {
        absent(probe, ECO_PROBE_READ_ENERGY, session->no_meter);
    } else {
        put_windows(probe, ECO_PROBE_READ_ENERGY, c.j_per, c.n, c.energy_basis,
                    "energy of the same windows, idle included, over the bytes read");
    }
    return ECO_OK;
}

static eco_status short_ceilings(eco_session *session, eco_probe *probe, eco_error *err) {
    static const struct {
        eco_work_kind kind;
        eco_probe_item item;
        const char *method;
    } rows[] = {
        {ECO_WORK_MATRIX_FP16, ECO_PROBE_MATRIX_FP16, "windows of at least 0.4 s, random data"},
        {ECO_WORK_MATRIX_INT8, ECO_PROBE_MATRIX_INT8, "windows of at least 0.4 s, random data"},
        {ECO_WORK_LAUNCH, ECO_PROBE_LAUNCH,
         "windows of at least 0.4 s of empty launches in the engine's own way"}};
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eco_ceiling_request request = {.kind = rows[i].kind,
                                             .ramp_s = RAMP_SHORT_S,
                                             .seconds = SHORT_WINDOW_S,
                                             .first_block = (i + 1) * ECO_CEILING_WINDOWS + 1};
        eco_ceiling c;
        ECO_TRY(ceiling(session, probe, &request, &c, rows[i].item, err));
        for (uint32_t w = 0; rows[i].item == ECO_PROBE_LAUNCH && w < c.n; w++) {
            c.per_s[w] = 1.0 / c.per_s[w];
        }
        if (c.n > 0) {
            put_windows(probe, rows[i].item, c.per_s, c.n, c.time_basis, rows[i].method);
        }
    }
    return ECO_OK;
}

static eco_status sampler_begin(eco_session *session, eco_error *err) {
    if (session->meter != NULL) {
        eco_load *load = NULL;
        const eco_status status = ecoi_sensor_watch(session, WATCH_S, &load, err);
        const eco_status stopped = ecoi_load_stop(load, NULL, status == ECO_OK ? err : NULL);
        ECO_TRY(status != ECO_OK ? status : stopped);
    }
    session->origin_ns = ecoi_now_ns();
    return ecoi_sampler_start(session, err);
}

static void identify(const eco_session *session, eco_probe *probe) {
    eco_identity identity;
    const bool metered = session->meter != NULL;
    ecoi_identity_of(session, &identity);
    (void)ecoi_str_copy(probe->device, sizeof probe->device, session->engine_info.device_name);
    (void)ecoi_str_copy(probe->device_hash, sizeof probe->device_hash, identity.device);
    (void)ecoi_str_copy(probe->driver, sizeof probe->driver,
                        metered ? session->meter_info.device.driver : "");
    (void)ecoi_str_copy(probe->meter, sizeof probe->meter, metered ? session->meter_info.name : "");
    (void)ecoi_str_copy(probe->tool, sizeof probe->tool, identity.tool);
    probe->libraries_known = session->engine_info.library_known &&
                             (!metered || session->meter_info.device.library_path[0] == '\0' ||
                              session->meter_info.device.library_known);
    ecoi_utc_iso(probe->probed_utc);
}

static eco_status probe_session(eco_session *session, bool refresh, eco_probe *probe,
                                eco_error *err) {
    const int64_t begun_ns = ecoi_now_ns();
    ecoi_devices_scan(session);
    ECO_TRY(eco_engine_open(&session->plan->engine, &session->engine, err));
    eco_engine_describe(session->engine, &session->engine_info);
    ECO_TRY(ecoi_devices_claim(session, err));
    identify(session, probe);
    const eco_meter_config *c = &session->plan->meter_config;
    const bool own_sensor =
        c->system_root == NULL && c->exec_command == NULL && c->replay_path == NULL;
    if (!refresh && own_sensor && ecoi_probe_cached(probe)) {
        return ECO_OK;
    }
    ecoi_session_say(session, "device: %s (%s)", session->engine_info.device_name,
                     session->engine_info.detail);
    if (session->meter == NULL) {
        ecoi_session_say(session, "no energy: %s", session->no_meter);
    }
    const bool gpu = session->engine_info.boundary.kind == ECO_BOUNDARY_GPU;
    put_idle(session, probe, ECO_PROBE_IDLE_BARE, session->sensor.idle_bare_w,
             "mean of 1 s of power readings");
    if (!gpu) {
        absent(probe, ECO_PROBE_IDLE_BARE, "a CPU has no context to be without");
    }
    put_idle(session, probe, ECO_PROBE_IDLE_CONTEXT, idle_now(session),
             "mean of 1 s of power readings");
    if (!gpu) {
        absent(probe, ECO_PROBE_IDLE_CONTEXT, "a CPU has no context");
    }
    ECO_TRY(ecoi_arms_open(session, err));
    put_idle(session, probe, ECO_PROBE_IDLE_LOADED, idle_now(session),
             "mean of 1 s of power readings");
    ECO_TRY(sampler_begin(session, err));
    ECO_TRY(read_ceiling(session, probe, err));
    ECO_TRY(short_ceilings(session, probe, err));
    probe->seconds = (double)(ecoi_now_ns() - begun_ns) * 1e-9;
    eco_error why;
    if (own_sensor && ecoi_probe_keep(probe, &why) != ECO_OK) {
        ecoi_session_say(session, "not kept in the cache: %s", why.message);
    }
    return ECO_OK;
}

eco_status eco_probe_run(const eco_probe_request *request, const eco_measure_hooks *hooks,
                         eco_probe *out, eco_error *err) {
    *out = (eco_probe){.seconds = 0.0};
    const eco_plan plan = {.shape = eco_model_find("SmolLM2-135M"),
                           .arms = {ECO_FORMAT_FP16},
                           .n_arms = 1,
                           .head = ECO_FORMAT_FP16,
                           .engine = request->engine,
                           .meter = request->meter,
                           .meter_config = request->meter_config,
                           .batch = 1,
                           .n_prompt = 1,
                           .n_tokens = 1,
                           .seed = 1,
                           .force = request->force};
    eco_session *session = ecoi_calloc(1, sizeof *session);
    if (session == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "probe: out of memory");
    }
    session->plan = &plan;
    session->hooks = hooks;
    const eco_status status = probe_session(session, request->refresh, out, err);
    ecoi_session_close(session);
    if (status == ECO_OK && ecoi_session_interrupted()) {
        return eco_error_set(err, ECO_E_INTERRUPTED, 0, "interrupted");
    }
    return status;
}
