/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run writes into its journal: the plan, what was probed, every finished block with its raw rows, how it ended.
 * resume.c reads it back; docs/journal.md is the format.
 */
#include "protocol/session.h"

#include "core/alloc.h"
#include "core/num.h"
#include "core/sha256.h"
#include "core/str.h"
#include "protocol/build_facts.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One record under construction; `failed` is sticky. */
typedef struct record {
    ecoi_json_doc doc;
    bool failed;
} record;

static void put(record *r, ecoi_json *object, const char *key, ecoi_json *value) {
    if (object == NULL || value == NULL || !ecoi_json_set(&r->doc, object, key, NULL, value)) {
        r->failed = true;
    }
}

static void put_string(record *r, ecoi_json *object, const char *key, const char *text) {
    put(r, object, key, ecoi_json_new_string(&r->doc, text, strlen(text)));
}

static void put_integer(record *r, ecoi_json *object, const char *key, int64_t value) {
    put(r, object, key, ecoi_json_new_integer(&r->doc, value));
}

static void put_number(record *r, ecoi_json *object, const char *key, double value) {
    put(r, object, key, ecoi_json_new_number(&r->doc, isfinite(value) ? value : 0.0));
}

static void put_bool(record *r, ecoi_json *object, const char *key, bool value) {
    put(r, object, key, ecoi_json_new_bool(&r->doc, value));
}

/* A number, or the name of why there is none. */
static void put_reading(record *r, ecoi_json *object, const char *key, eco_reading reading) {
    if (eco_reading_present(reading)) {
        put_number(r, object, key, reading.value);
    } else {
        put_string(r, object, key, eco_absence_name(reading.absence));
    }
}

static ecoi_json *put_container(record *r, ecoi_json *object, const char *key,
                                ecoi_json_type type) {
    ecoi_json *const value = ecoi_json_new(&r->doc, type);
    put(r, object, key, value);
    return r->failed ? NULL : value;
}

static ecoi_json *append_object(record *r, ecoi_json *array) {
    ecoi_json *const value = ecoi_json_new(&r->doc, ECOI_JSON_OBJECT);
    if (array == NULL || value == NULL) {
        r->failed = true;
        return NULL;
    }
    ecoi_json_append(array, value);
    return value;
}

static ecoi_json *record_begin(record *r, const char *name) {
    r->doc.root = ecoi_json_new(&r->doc, ECOI_JSON_OBJECT);
    put_string(r, r->doc.root, "record", name);
    return r->failed ? NULL : r->doc.root;
}

static eco_status record_end(eco_session *session, record *r, eco_error *err) {
    const eco_status status = r->failed
                                  ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "journal: out of memory")
                                  : ecoi_journal_append(session->journal, r->doc.root, err);
    ecoi_json_fini(&r->doc);
    return status;
}

/* ---- Who, where ------------------------------------------------------------------------------- */

/* The first 16 hex digits of the hash of `parts`, each with a line feed behind it but for the last. */
static void hash_parts(const char *const *parts, size_t n, char out[ECO_IDENTITY_MAX]) {
    unsigned char digest[ECOI_SHA256_SIZE];
    ecoi_sha256 sha;
    ecoi_sha256_init(&sha);
    for (size_t i = 0; i < n; i++) {
        ecoi_sha256_add(&sha, i > 0 ? "\n" : "", i > 0);
        ecoi_sha256_add(&sha, parts[i] != NULL ? parts[i] : "",
                        parts[i] != NULL ? strlen(parts[i]) : 0);
    }
    ecoi_sha256_final(&sha, digest);
    for (size_t i = 0; i < 8; i++) {
        (void)snprintf(out + 2 * i, ECO_IDENTITY_MAX - 2 * i, "%02x", digest[i]);
    }
}

static void hash_text(const char *text, char out[ECO_IDENTITY_MAX]) {
    hash_parts(&text, 1, out);
}

static void boot_id(char out[ECO_IDENTITY_MAX]) {
    static const char path[] = "/proc/sys/kernel/random/boot_id";
    const eco_file_limits limits = {.size_max = 4096};
    char *text = NULL;
    size_t length = 0;
    eco_error ignored;
    out[0] = '\0';
    if (ecoi_file_read(path, &limits, &text, &length, &ignored) == ECO_OK) {
        text[strcspn(text, "\n")] = '\0';
        (void)ecoi_str_copy(out, ECO_IDENTITY_MAX, text);
    }
    ecoi_free(text);
}

void ecoi_identity_of(const eco_session *session, eco_identity *out) {
    *out = (eco_identity){0};
    const eco_engine_info *engine = &session->engine_info;
    const eco_meter_info *meter = &session->meter_info;
    snprintf(out->tool, sizeof out->tool, "%s, commit %s, %s", ECO_VERSION, ECO_COMMIT,
             ECO_BUILD_TYPE);
    boot_id(out->boot);
    hash_text(engine->boundary.uuid[0] != '\0' ? engine->boundary.uuid : engine->device_name,
              out->device);
    if (session->meter == NULL) {
        (void)ecoi_str_copy(out->meter, sizeof out->meter, "none");
    } else {
        snprintf(out->meter, sizeof out->meter, "%.30s, %.40s", meter->name,
                 meter->energy_field != NULL ? meter->energy_field : "power only");
    }
}

/* ---- The plan --------------------------------------------------------------------------------- */

typedef struct row_list {
    eco_plan_row *rows;
    uint32_t n;
} row_list;

static void add_text(row_list *list, const char *key, const char *option, const char *value) {
    eco_plan_row *row = &list->rows[list->n++];
    row->key = key;
    row->option = option;
    (void)ecoi_str_copy(row->value, sizeof row->value, value != NULL ? value : "");
}

static void add_number(row_list *list, const char *key, const char *option, double value) {
    char text[ECOI_NUM_MAX];
    ecoi_num_write(value, text);
    add_text(list, key, option, text);
}

static void add_integer(row_list *list, const char *key, const char *option, uint64_t value) {
    char text[ECOI_NUM_MAX];
    ecoi_num_write_u64(value, text);
    add_text(list, key, option, text);
}

/* What a meter was told, without telling it: "" or a hash. */
static void meter_source(const eco_meter_config *c, char out[ECO_IDENTITY_MAX]) {
    char stale_s[ECOI_NUM_MAX] = "null";
    if (isfinite(c->stale_s)) {
        (void)ecoi_num_write(c->stale_s, stale_s);
    }
    const char *const parts[] = {c->system_root,   c->exec_command,
                                 c->replay_path,   eco_boundary_kind_name(c->boundary.kind),
                                 c->boundary.uuid, c->boundary.pci_bus_id,
                                 stale_s};
    hash_parts(parts, sizeof parts / sizeof parts[0], out);
}

uint32_t ecoi_plan_rows(const eco_plan *plan, eco_plan_row rows[ECO_PLAN_ROWS_MAX]) {
    row_list list = {.rows = rows};
    char arms[ECO_PLAN_VALUE_MAX];
    size_t used = 0;
    char source[ECO_IDENTITY_MAX];
    meter_source(&plan->meter_config, source);
    arms[0] = '\0';
    for (uint32_t i = 1; i < plan->n_arms && used < sizeof arms; i++) {
        used += (size_t)snprintf(arms + used, sizeof arms - used, "%s%s", i > 1 ? "," : "",
                                 eco_format_at(plan->arms[i])->name);
    }
    add_text(&list, "model", "--model", plan->shape->name);
    add_text(&list, "baseline", "--baseline", eco_format_at(plan->arms[0])->name);
    add_text(&list, "precision", "--precision", arms);
    add_text(&list, "head", "the output head", eco_format_at(plan->head)->name);
    add_text(&list, "engine", "--engine", plan->engine.name);
    add_text(&list, "meter", "--meter", plan->meter);
    add_text(&list, "meter_source", "what the meter reads (--meter-…)", source);
    add_integer(&list, "batch", "--batch", plan->batch);
    add_integer(&list, "outliers", "--outliers", plan->outlier_permille);
    add_integer(&list, "prompt_tokens", "--prompt-tokens", plan->n_prompt);
    add_integer(&list, "tokens", "--tokens", plan->n_tokens);
    add_integer(&list, "seed", "--seed", plan->seed);
    /* Of what --quick sets at once, this one names it; the others have options of their own. */
    add_number(&list, "window_ticks_min", "--quick", plan->window_ticks_min);
    add_integer(&list, "blocks", "--blocks", plan->n_blocks);
    add_number(&list, "window_s", "--window", plan->window_s);
    add_number(&list, "ramp_s", "--quick", plan->ramp_s);
    add_number(&list, "burn_in_s", "--quick", plan->burn_in_s);
    add_text(&list, "extra_windows", "--quick", plan->extra_windows ? "yes" : "no");
    add_number(&list, "cooldown_max_s", "--cooldown-max", plan->cooldown_max_s);
    add_number(&list, "margin_pct", "--margin", plan->margin_pct);
    add_text(&list, "protocol", "--protocol",
             plan->protocol == ECO_PROTOCOL_PUBLISHED ? "published" : "paired");
    add_integer(&list, "iterations", "--iterations", plan->n_iterations);
    add_integer(&list, "warmup", "--warmup", plan->n_warmup);
    add_text(&list, "thermal_mode", "--thermal-mode",
             plan->thermal == ECO_THERMAL_STEADY ? "steady" : "cold");
    add_number(&list, "steady_max_s", "--steady-max", plan->steady_max_s);
    add_text(&list, "order", "--order", plan->shuffle ? "shuffled" : "fixed");
    add_integer(&list, "order_seed", "--order-seed", plan->order_seed);
    return list.n;
}

eco_status ecoi_journal_plan(eco_session *session, eco_error *err) {
    if (session->journal == NULL || session->resumption.planned) {
        return ECO_OK;
    }
    ECO_TRY(ecoi_journal_cut(session->journal, err)); /* of an earlier run, or torn */
    record r = {0};
    eco_identity identity;
    eco_plan_row rows[ECO_PLAN_ROWS_MAX];
    ecoi_identity_of(session, &identity);
    ecoi_json *const root = record_begin(&r, "plan");
    put_string(&r, root, "format", ECO_JOURNAL_FORMAT);
    put_string(&r, root, "run_id", session->plan->run_id);
    put_string(&r, root, "tool", identity.tool);
    put_string(&r, root, "boot_id", identity.boot);
    put_string(&r, root, "device", identity.device);
    put_string(&r, root, "meter", identity.meter);
    put_integer(&r, root, "origin_ns", session->origin_ns);
    ecoi_json *const options = put_container(&r, root, "options", ECOI_JSON_OBJECT);
    const uint32_t n = ecoi_plan_rows(session->plan, rows);
    for (uint32_t i = 0; i < n; i++) {
        put_string(&r, options, rows[i].key, rows[i].value);
    }
    return record_end(session, &r, err);
}

/* ---- What was measured ------------------------------------------------------------------------ */

/* Rows that no record holds yet, as the trace prints them; "" where an arm has none. */
static void put_rows(record *r, ecoi_json *root, const eco_session *session) {
    ecoi_json *const rows = put_container(r, root, "rows", ECOI_JSON_ARRAY);
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        const eco_session_arm *arm = &session->arms[i];
        eco_text text = {0};
        if (arm->n_rows > arm->n_rows_kept) {
            eco_trace_write_header(&text);
            eco_trace_write_rows(&text, arm->rows + arm->n_rows_kept,
                                 arm->n_rows - arm->n_rows_kept, 0);
        }
        ecoi_json *const value =
            text.failed
                ? NULL
                : ecoi_json_new_string(&r->doc, text.data != NULL ? text.data : "", text.length);
        eco_text_free(&text);
        if (rows == NULL || value == NULL) {
            r->failed = true;
            return;
        }
        ecoi_json_append(rows, value);
    }
}

static void rows_are_kept(eco_session *session) {
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        session->arms[i].n_rows_kept = session->arms[i].n_rows;
    }
}

static void put_totals(record *r, ecoi_json *root, const eco_session *session) {
    const eco_sampler_stats *t = &session->totals;
    ecoi_json *const totals = put_container(r, root, "sampler", ECOI_JSON_OBJECT);
    put_integer(r, totals, "samples", (int64_t)t->n_samples);
    put_integer(r, totals, "dropped", (int64_t)t->n_dropped);
    put_integer(r, totals, "read_errors", (int64_t)t->n_read_errors);
    put_integer(r, totals, "energy_reads", (int64_t)t->n_energy_reads);
    put_integer(r, totals, "longest_read_ns", t->longest_read_ns);
    put_integer(r, totals, "cpu_ns", t->cpu_ns);
    put_number(r, totals, "rate_hz", t->rate_hz);
    put_number(r, totals, "wall_s", session->sampler_wall_s);
}

static void put_sensor(record *r, ecoi_json *root, const eco_sensor *s) {
    ecoi_json *const sensor = put_container(r, root, "sensor", ECOI_JSON_OBJECT);
    put_reading(r, sensor, "counter_period_s", s->counter_period_s);
    put_reading(r, sensor, "power_period_s", s->power_period_s);
    put_reading(r, sensor, "average_period_s", s->average_period_s);
    put_reading(r, sensor, "power_rise_s", s->power_rise_s);
    put_reading(r, sensor, "average_window_s", s->average_window_s);
    put_reading(r, sensor, "counter_cost_s", s->counter_cost_s);
    put_reading(r, sensor, "power_cost_s", s->power_cost_s);
    put_reading(r, sensor, "counter_to_integral", s->counter_to_integral);
    put_reading(r, sensor, "idle_bare_w", s->idle_bare_w);
    put_reading(r, sensor, "idle_context_w", s->idle_context_w);
    put_reading(r, sensor, "idle_loaded_w", s->idle_loaded_w);
    put_number(r, sensor, "seconds", s->seconds);
}

static size_t tenants_before(const eco_session *session) {
    const size_t now = session->device >= 0 && session->devices[session->device].tenants_known
                           ? session->devices[session->device].n_tenants
                           : 0;
    return now > session->resumption.n_tenants ? now : session->resumption.n_tenants;
}

eco_status ecoi_journal_probes(eco_session *session, eco_error *err) {
    if (session->journal == NULL || session->resumption.probed) {
        return ECO_OK;
    }
    record r = {0};
    const eco_ceilings *c = &session->ceilings;
    ecoi_resume_totals(session);
    ecoi_json *const root = record_begin(&r, "probes");
    put_sensor(&r, root, &session->sensor);
    ecoi_json *const ceilings = put_container(&r, root, "ceilings", ECOI_JSON_OBJECT);
    put_number(&r, ceilings, "read_bytes_per_s", c->read_bytes_per_s);
    put_number(&r, ceilings, "read_power_w", c->read_power_w);
    put_number(&r, ceilings, "read_j_per_byte", c->read_j_per_byte);
    put_number(&r, ceilings, "matrix_fp16_ops_per_s", c->matrix_fp16_ops_per_s);
    put_number(&r, ceilings, "matrix_int8_ops_per_s", c->matrix_int8_ops_per_s);
    put_number(&r, ceilings, "launch_s", c->launch_s);
    put_number(&r, ceilings, "read_unit_bytes", c->read_unit_bytes);
    put_reading(&r, root, "idle_temp_c", session->idle_temp_c);
    put_bool(&r, root, "idle_settled", session->idle_settled);
    put_integer(&r, root, "other_processes", (int64_t)tenants_before(session));
    put_totals(&r, root, session);
    put_rows(&r, root, session);
    ECO_TRY(record_end(session, &r, err));
    rows_are_kept(session);
    return ECO_OK;
}

static void put_window(record *r, ecoi_json *object, uint32_t arm, const eco_window *w) {
    put_integer(r, object, "arm", arm);
    put_string(r, object, "phase", eco_phase_name(w->phase));
    put_integer(r, object, "order", w->order);
    put_string(r, object, "energy_basis", eco_basis_name(w->energy_basis));
    put_string(r, object, "time_basis", eco_basis_name(w->time_basis));
    put_number(r, object, "edge_half_width_s", w->edge_half_width_s);
    put_number(r, object, "cooldown_s", w->cooldown_s);
    put_bool(r, object, "cooled", w->cooled);
    put_integer(r, object, "longest_gap_ns", w->stats.longest_gap_ns);
    put_integer(r, object, "throttle", w->stats.throttle_seen);
    put_reading(r, object, "sm_clock_min_mhz", w->stats.sm_clock_min_mhz);
    put_reading(r, object, "sm_clock_max_mhz", w->stats.sm_clock_max_mhz);
    put_bool(r, object, "counter_stepped_back", w->stats.counter_stepped_back);
    put_reading(r, object, "steady_c", w->steady_c);
    put_bool(r, object, "steady", w->steady);
    put_number(r, object, "steady_s", w->steady_s);
}

eco_status ecoi_journal_block(eco_session *session, uint32_t block, eco_error *err) {
    if (session->journal == NULL) {
        return ECO_OK;
    }
    record r = {0};
    ecoi_resume_totals(session);
    ecoi_json *const root = record_begin(&r, "block");
    put_integer(&r, root, "block", block);
    ecoi_json *const windows = put_container(&r, root, "windows", ECOI_JSON_ARRAY);
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        const eco_session_arm *arm = &session->arms[i];
        for (uint32_t w = 0; w < arm->n_windows; w++) {
            if (arm->windows[w].block == (int32_t)block) {
                put_window(&r, append_object(&r, windows), i, &arm->windows[w]);
            }
        }
    }
    put_totals(&r, root, session);
    put_rows(&r, root, session);
    ECO_TRY(record_end(session, &r, err));
    rows_are_kept(session);
    return ECO_OK;
}

/* ---- Going on, ending ------------------------------------------------------------------------- */

eco_status ecoi_journal_resume(eco_session *session, eco_error *err) {
    record r = {0};
    ecoi_json *const root = record_begin(&r, "resume");
    put_integer(&r, root, "block", (int64_t)session->blocks_finished + 1);
    put_integer(&r, root, "other_processes", (int64_t)tenants_before(session));
    return record_end(session, &r, err);
}

void ecoi_journal_end(eco_session *session) {
    if (session->journal == NULL) {
        return;
    }
    record r = {0};
    eco_error error = {0};
    ecoi_json *const root = record_begin(&r, "end");
    put_string(&r, root, "how", session->partial ? "interrupted" : "finished");
    put_string(&r, root, "by", session->fault.message);
    if (record_end(session, &r, &error) != ECO_OK) {
        ecoi_session_say(session, "%s", error.message);
    }
}
