/* SPDX-License-Identifier: Apache-2.0
 *
 * The report of one arm against the baseline: what was run, on what, how. The numbers are in report_results.c.
 */
#include "protocol/summary_arm.h"

#include "core/sha256.h"
#include "ecocompute/task.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void head(const eco_session *session, eco_report *r) {
    const eco_plan *plan = session->plan;
    eco_report_begin(r, plan->batch, plan->run_id, plan->command);
    if (plan->session != NULL) {
        eco_report_set_string(r, ECO_FIELD_SESSION, ECO_TOP, plan->session);
    }
    eco_report_set_string(r, ECO_FIELD_PR_NOTE, ECO_TOP,
                          "every headline number follows from the traces named in power_trace; "
                          "this file is not signed");
}

/* An arm that quantizes activations has outliers planted in its model; the others have none. */
static void weights_note(const eco_session *session, uint32_t arm, eco_report *r) {
    const eco_plan *plan = session->plan;
    char text[256];
    if (eco_format_at(plan->arms[arm])->quantizes_activations) {
        snprintf(text, sizeof text,
                 "deterministic, near-normal (sum of eight uniforms), scaled by 1/sqrt(inputs); "
                 "outliers planted in %u of a thousand columns of the %s model, none in the other",
                 plan->outlier_permille, eco_format_at(plan->arms[arm])->name);
        eco_report_set_integer(r, ECO_FIELD_WL_OUTLIERS, ECO_TOP, plan->outlier_permille);
    } else {
        snprintf(text, sizeof text,
                 "deterministic, near-normal (sum of eight uniforms), scaled by 1/sqrt(inputs); no "
                 "outliers planted");
    }
    eco_report_set_string(r, ECO_FIELD_WL_WEIGHTS_NOTE, ECO_TOP, text);
}

static void system_and_workload(const eco_session *session, uint32_t arm, eco_report *r) {
    const eco_plan *plan = session->plan;
    const eco_engine_info *engine = &session->engine_info;
    const eco_device_record *device = &session->meter_info.device;
    const bool gpu = engine->boundary.kind == ECO_BOUNDARY_GPU;
    char text[256];
    const char *family =
        gpu ? eco_card_family(session->meter != NULL ? device->cc_major : -1,
                              session->meter != NULL ? device->cc_minor : -1, engine->device_name)
            : "cpu";
    eco_report_set_string(r, ECO_FIELD_SUT_GPU, ECO_TOP, engine->device_name);
    eco_report_set_string(r, ECO_FIELD_SUT_GPU_ARCH, ECO_TOP,
                          family != NULL ? family : engine->device_name);
    snprintf(text, sizeof text, "%s (shape only)", plan->shape->name);
    eco_report_set_string(r, ECO_FIELD_WL_MODEL, ECO_TOP, text);
    eco_report_set_number(r, ECO_FIELD_WL_PARAMS_B, ECO_TOP, plan->shape->params_b);
    eco_report_set_string(r, ECO_FIELD_WL_PRECISION, ECO_TOP, eco_format_at(plan->arms[arm])->name);
    eco_report_set_integer(r, ECO_FIELD_WL_BATCH, ECO_TOP, plan->batch);
    eco_report_set_integer(r, ECO_FIELD_WL_CONTEXT, ECO_TOP,
                           (int64_t)plan->n_prompt + plan->n_tokens);
    eco_report_set_string(r, ECO_FIELD_WL_DECODING, ECO_TOP, "greedy");
    eco_report_set_string(r, ECO_FIELD_WL_ENGINE, ECO_TOP, engine->name);
    eco_report_set_string(r, ECO_FIELD_WL_DEVICE, ECO_TOP, gpu ? "cuda" : "cpu");
    eco_report_set_string(r, ECO_FIELD_WL_WEIGHTS, ECO_TOP, "synthetic");
    weights_note(session, arm, r);
    eco_report_set_string(r, ECO_FIELD_WL_HEAD, ECO_TOP, eco_format_at(plan->head)->name);
    eco_report_set_integer(r, ECO_FIELD_WL_SEED, ECO_TOP, (int64_t)plan->seed);
    eco_report_set_integer(r, ECO_FIELD_WL_PROMPT, ECO_TOP, plan->n_prompt);
    eco_report_set_integer(r, ECO_FIELD_WL_TOKENS, ECO_TOP, plan->n_tokens);
    eco_report_set_string(r, ECO_FIELD_WL_PREFILL, ECO_TOP, session->arms[arm].info.prefill_method);
}

static const char *method_of(const eco_session *session) {
    if (session->meter == NULL) {
        return "time only: nothing to read energy with";
    }
    return session->meter_info.method;
}

static void measurement(const eco_session *session, eco_report *r) {
    const eco_plan *plan = session->plan;
    const bool metered = session->meter != NULL;
    const double rate_hz = metered ? session->totals.rate_hz : 0.0;
    eco_report_set_string(r, ECO_FIELD_ME_METHOD, ECO_TOP, method_of(session));
    eco_report_set_integer(r, ECO_FIELD_ME_RATE, ECO_TOP, (int64_t)floor(rate_hz + 0.005));
    eco_report_set_reading(
        r, ECO_FIELD_ME_RATE_ACHIEVED, ECO_TOP,
        rate_hz > 0.0 ? eco_reading_of(rate_hz) : eco_reading_absent(ECO_ABSENT_NOT_READ), 3);
    eco_report_set_string(r, ECO_FIELD_ME_ENERGY_SOURCE, ECO_TOP,
                          !metered                                   ? "none"
                          : session->meter_info.energy_field != NULL ? "counter"
                                                                     : "integrated power");
    eco_report_set_string(r, ECO_FIELD_ME_BOUNDARY, ECO_TOP,
                          eco_boundary_kind_name(metered ? session->meter_info.device.boundary.kind
                                                         : ECO_BOUNDARY_NONE));
    eco_report_set_number(r, ECO_FIELD_ME_MARGIN, ECO_TOP, plan->margin_pct);
    eco_report_set_string(r, ECO_FIELD_SOURCE, ECO_TOP,
                          metered ? session->meter_info.measurement_source : "none");
}

static void software(const eco_session *session, eco_report *r) {
    eco_report_set_string(r, ECO_FIELD_SW_ENGINE, ECO_TOP, session->engine_info.detail);
    if (session->engine_info.library_path[0] != '\0') {
        eco_report_set_string(r, ECO_FIELD_SW_CUDA_PATH, ECO_TOP,
                              session->engine_info.library_path);
    }
    if (session->meter != NULL && session->meter_info.device.library_path[0] != '\0') {
        eco_report_set_string(r, ECO_FIELD_SW_DRIVER, ECO_TOP, session->meter_info.device.driver);
        eco_report_set_string(r, ECO_FIELD_SW_NVML_PATH, ECO_TOP,
                              session->meter_info.device.library_path);
    }
}

static void set_flag(eco_report *r, eco_field field, eco_reading reading) {
    if (eco_reading_present(reading)) {
        eco_report_set_bool(r, field, ECO_TOP, reading.value > 0.5);
    }
}

static void siblings(const eco_session *session, eco_report *r) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < session->n_devices; i++) {
        if ((int32_t)i == session->device) {
            continue;
        }
        eco_report_set_string(r, ECO_FIELD_EN_SIBLING_NAME, ECO_AT1(n), session->devices[i].name);
        eco_report_set_reading(r, ECO_FIELD_EN_SIBLING_W, ECO_AT1(n), session->devices[i].power_w,
                               3);
        n++;
    }
}

static void environment(const eco_session *session, eco_report *r) {
    if (session->meter == NULL) {
        return;
    }
    const eco_device_record *d = &session->meter_info.device;
    char hash[ECOI_SHA256_HEX_MAX];
    char cc[32];
    if (d->boundary.uuid[0] != '\0') {
        ecoi_sha256_hex(d->boundary.uuid, strlen(d->boundary.uuid), hash);
        hash[16] = '\0';
        eco_report_set_string(r, ECO_FIELD_EN_UUID_HASH, ECO_TOP, hash);
    }
    eco_report_set_reading(r, ECO_FIELD_EN_LIMIT, ECO_TOP, d->power_limit_w, 3);
    eco_report_set_reading(r, ECO_FIELD_EN_LIMIT_DEFAULT, ECO_TOP, d->power_limit_default_w, 3);
    if (d->vbios[0] != '\0') {
        eco_report_set_string(r, ECO_FIELD_EN_VBIOS, ECO_TOP, d->vbios);
    }
    if (d->cc_major >= 0) {
        snprintf(cc, sizeof cc, "%d.%d", d->cc_major, d->cc_minor);
        eco_report_set_string(r, ECO_FIELD_EN_CC, ECO_TOP, cc);
    }
    set_flag(r, ECO_FIELD_EN_ECC, d->ecc_enabled);
    set_flag(r, ECO_FIELD_EN_MIG, d->mig_enabled);
    set_flag(r, ECO_FIELD_EN_PERSISTENCE, d->persistence_enabled);
    eco_report_set_reading(r, ECO_FIELD_EN_MEMORY, ECO_TOP, d->memory_bytes, 0);
    eco_report_set_reading(r, ECO_FIELD_EN_SM_MAX, ECO_TOP, d->sm_clock_max_mhz, 0);
    eco_report_set_reading(r, ECO_FIELD_EN_IDLE_BARE, ECO_TOP, session->sensor.idle_bare_w, 3);
    eco_report_set_reading(r, ECO_FIELD_EN_IDLE_CONTEXT, ECO_TOP, session->sensor.idle_context_w,
                           3);
    eco_report_set_reading(r, ECO_FIELD_EN_IDLE_LOADED, ECO_TOP, session->sensor.idle_loaded_w, 3);
    eco_report_set_reading(r, ECO_FIELD_EN_TEMP_LOADED, ECO_TOP, session->idle_temp_c, 1);
    if (session->device >= 0 && session->devices[session->device].tenants_known) {
        eco_report_set_integer(r, ECO_FIELD_EN_TENANTS_BEFORE, ECO_TOP,
                               (int64_t)session->devices[session->device].n_tenants);
    }
    if (session->tenants_known) {
        eco_report_set_integer(r, ECO_FIELD_EN_TENANTS_AFTER, ECO_TOP,
                               (int64_t)session->tenants_most);
    }
    siblings(session, r);
}

static void meters(const eco_session *session, eco_report *r) {
    if (session->meter == NULL) {
        return;
    }
    const eco_meter_info *m = &session->meter_info;
    const eco_sensor *s = &session->sensor;
    const eco_arm_summary base = ecoi_arm_summary(session, 0);
    eco_report_set_string(r, ECO_FIELD_MT_NAME, ECO_TOP, m->name);
    if (m->passed_over[0] != '\0') {
        eco_report_set_string(r, ECO_FIELD_MT_PASSED_OVER, ECO_TOP, m->passed_over);
    }
    if (m->power_field != NULL) {
        eco_report_set_string(r, ECO_FIELD_MT_POWER, ECO_TOP, m->power_field);
    }
    if (m->average_field != NULL) {
        eco_report_set_string(r, ECO_FIELD_MT_AVERAGE, ECO_TOP, m->average_field);
    }
    if (m->energy_field != NULL) {
        eco_report_set_string(r, ECO_FIELD_MT_ENERGY, ECO_TOP, m->energy_field);
    }
    eco_report_set_string(r, ECO_FIELD_MT_SCOPE, ECO_TOP, m->scope);
    if (m->domains[0] != '\0') {
        eco_report_set_string(r, ECO_FIELD_MT_DOMAINS, ECO_TOP, m->domains);
    }
    eco_report_set_reading(r, ECO_FIELD_MT_TICK, ECO_TOP, s->counter_period_s, 4);
    eco_report_set_reading(r, ECO_FIELD_MT_POWER_PERIOD, ECO_TOP, s->power_period_s, 4);
    eco_report_set_reading(r, ECO_FIELD_MT_POWER_RISE, ECO_TOP, s->power_rise_s, 3);
    eco_report_set_reading(r, ECO_FIELD_MT_AVG_WINDOW, ECO_TOP, s->average_window_s, 3);
    eco_report_set_reading(r, ECO_FIELD_MT_COST_ENERGY, ECO_TOP, s->counter_cost_s, 7);
    eco_report_set_reading(r, ECO_FIELD_MT_COST_POWER, ECO_TOP, s->power_cost_s, 7);
    if (base.counter_to_integral > 0.0) {
        eco_report_set_rounded(r, ECO_FIELD_MT_RATIO, ECO_TOP, base.counter_to_integral, 5);
    }
    eco_report_set_rounded(r, ECO_FIELD_MT_STALL, ECO_TOP,
                           (double)session->totals.longest_read_ns * 1e-9, 6);
    if (session->sampler_wall_s > 0.0) {
        eco_report_set_rounded(r, ECO_FIELD_MT_CPU, ECO_TOP,
                               (double)session->totals.cpu_ns * 1e-9 / session->sampler_wall_s, 5);
    }
    eco_report_set_integer(r, ECO_FIELD_MT_ERRORS, ECO_TOP, (int64_t)session->totals.n_read_errors);
}

static void traces(const eco_session *session, uint32_t arm, const char *const *sha256,
                   const char *const *files, eco_report *r) {
    static const char *const columns[] = {"t_s",    "power_w", "energy_j", "tokens",
                                          "temp_c", "block",   "phase"};
    const uint32_t order[2] = {arm, 0};
    eco_report_set_string(r, ECO_FIELD_PT_FORMAT, ECO_TOP, "csv");
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        eco_report_add_string(r, ECO_FIELD_PT_COLUMNS, ECO_TOP, columns[i]);
    }
    eco_report_set_number(r, ECO_FIELD_PT_RATE, ECO_TOP, 20);
    eco_report_set_string(r, ECO_FIELD_PT_WINDOW, ECO_TOP,
                          eco_phase_name(ecoi_headline_phase(session->plan)));
    for (uint32_t i = 0; i < (arm == 0 ? 1u : 2u); i++) {
        const uint32_t a = order[i];
        const eco_at at = ECO_AT1(i);
        eco_report_set_string(r, ECO_FIELD_PF_ROLE, at, i == 0 ? "primary" : "fp16_baseline");
        eco_report_set_string(r, ECO_FIELD_PF_PRECISION, at,
                              eco_format_at(session->plan->arms[a])->name);
        eco_report_set_string(r, ECO_FIELD_PF_FILE, at, files[a]);
        eco_report_set_integer(r, ECO_FIELD_PF_SAMPLES, at, (int64_t)session->arms[a].n_rows);
        eco_report_set_integer(
            r, ECO_FIELD_PF_DROPPED, at,
            (int64_t)(session->totals.n_dropped + session->totals.n_read_errors));
        eco_report_set_string(r, ECO_FIELD_PF_SHA256, at, sha256[a]);
    }
}

/* The first profile whose every rule the finished report keeps. */
static const char *profile_kept(const eco_report *report) {
    const char *kept = "none";
    for (size_t i = 0; eco_profile_name(i) != NULL; i++) {
        eco_findings findings = {0};
        const bool known = eco_report_check_profile(report, eco_profile_name(i), &findings);
        const bool keeps = known && findings.n == 0 && !findings.lines.failed;
        eco_findings_free(&findings);
        if (keeps) {
            kept = eco_profile_name(i);
            break;
        }
    }
    return kept;
}

eco_report *ecoi_report_build(const eco_session *session, uint32_t arm,
                              const char *const *trace_sha256, const char *const *trace_files) {
    eco_report *report = eco_report_new();
    if (report == NULL) {
        return NULL;
    }
    head(session, report);
    system_and_workload(session, arm, report);
    measurement(session, report);
    ecoi_report_protocol(session, arm, report);
    software(session, report);
    environment(session, report);
    ecoi_report_thermal(session, arm, report);
    meters(session, report);
    traces(session, arm, trace_sha256, trace_files, report);
    ecoi_report_results(session, arm, report);
    ecoi_report_warnings(session, arm, report);
    eco_report_set_string(report, ECO_FIELD_ME_PROFILE, ECO_TOP, profile_kept(report));
    return report;
}
