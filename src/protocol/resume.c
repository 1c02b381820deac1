/* SPDX-License-Identifier: Apache-2.0
 *
 * Going on with a run that was stopped: its journal is read back as untrusted input, compared with the plan and the
 * machine, and the session is set to where the last whole block ended. A record that does not fit leaves no trace in
 * the session, and nothing behind it is looked at.
 */
#include "protocol/session.h"

#include "core/alloc.h"
#include "core/num.h"
#include "core/str.h"
#include "sys/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct restore {
    eco_session *session;
    eco_plan *adopt; /* takes the order's seed from the journal; NULL = it must be the same */
    uint32_t order[ECO_BLOCKS_MAX * ECO_ARMS_MAX];
} restore;

/* ---- Reading values --------------------------------------------------------------------------- */

static const ecoi_json *member(const ecoi_json *object, const char *key) {
    return ecoi_json_member(object, key, strlen(key));
}

/* NULL when it is no string or holds a NUL. */
static const char *text_of(const ecoi_json *object, const char *key) {
    const ecoi_json *value = member(object, key);
    return value != NULL && value->type == ECOI_JSON_STRING &&
                   strlen(value->text) == value->text_length
               ? value->text
               : NULL;
}

static bool copy_text(const ecoi_json *object, const char *key, char *out, size_t size) {
    const char *text = text_of(object, key);
    return text != NULL && ecoi_str_copy(out, size, text);
}

static bool read_count(const ecoi_json *object, const char *key, int64_t max, int64_t *out) {
    return ecoi_json_integer(member(object, key), out) && *out >= 0 && *out <= max;
}

static bool read_number(const ecoi_json *object, const char *key, double *out) {
    const ecoi_json *value = member(object, key);
    *out = value != NULL && value->type == ECOI_JSON_NUMBER ? value->number : 0.0;
    return value != NULL && value->type == ECOI_JSON_NUMBER;
}

static bool read_bool(const ecoi_json *object, const char *key, bool *out) {
    const ecoi_json *value = member(object, key);
    *out = value != NULL && value->type == ECOI_JSON_BOOL && value->boolean;
    return value != NULL && value->type == ECOI_JSON_BOOL;
}

static bool read_reading(const ecoi_json *object, const char *key, eco_reading *out) {
    double value = 0.0;
    if (read_number(object, key, &value)) {
        *out = eco_reading_of(value);
        return true;
    }
    static const eco_absence absences[] = {ECO_ABSENT_NOT_READ, ECO_ABSENT_UNSUPPORTED,
                                           ECO_ABSENT_PERMISSION, ECO_ABSENT_STALE,
                                           ECO_ABSENT_FAILED};
    const char *name = text_of(object, key);
    for (size_t i = 0; name != NULL && i < sizeof absences / sizeof absences[0]; i++) {
        if (strcmp(name, eco_absence_name(absences[i])) == 0) {
            *out = eco_reading_absent(absences[i]);
            return true;
        }
    }
    return false;
}

/* The most a count or a duration in nanoseconds may be: sums of them over sessions cannot overflow. */
static const int64_t COUNT_MAX = INT64_C(1) << 60;

static bool read_totals(const ecoi_json *root, eco_resumption *out) {
    const ecoi_json *totals = member(root, "sampler");
    eco_sampler_stats t = {0};
    int64_t samples = 0;
    int64_t dropped = 0;
    int64_t errors = 0;
    int64_t energy = 0;
    const bool fine = read_count(totals, "samples", COUNT_MAX, &samples) &&
                      read_count(totals, "dropped", COUNT_MAX, &dropped) &&
                      read_count(totals, "read_errors", COUNT_MAX, &errors) &&
                      read_count(totals, "energy_reads", COUNT_MAX, &energy) &&
                      read_count(totals, "longest_read_ns", COUNT_MAX, &t.longest_read_ns) &&
                      read_count(totals, "cpu_ns", COUNT_MAX, &t.cpu_ns) &&
                      read_number(totals, "rate_hz", &t.rate_hz) && t.rate_hz >= 0.0 &&
                      read_number(totals, "wall_s", &out->before_wall_s) &&
                      out->before_wall_s >= 0.0;
    t.n_samples = (uint64_t)samples;
    t.n_dropped = (uint64_t)dropped;
    t.n_read_errors = (uint64_t)errors;
    t.n_energy_reads = (uint64_t)energy;
    out->before = t;
    return fine;
}

/* ---- Rows ------------------------------------------------------------------------------------- */

static void rows_undo(eco_session *session) {
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        session->arms[i].n_rows = session->arms[i].n_rows_kept;
    }
}

static eco_status rows_add(eco_session_arm *arm, const eco_sample *rows, size_t n, eco_error *err) {
    if (arm->n_rows + n > arm->capacity_rows) {
        const size_t capacity = (arm->n_rows + n) * 2;
        eco_sample *larger = ecoi_realloc(arm->rows, capacity * sizeof *larger);
        if (larger == NULL) {
            return eco_error_set(err, ECO_E_NO_MEMORY, 0, "journal: out of memory for %zu rows",
                                 capacity);
        }
        arm->rows = larger;
        arm->capacity_rows = capacity;
    }
    memcpy(arm->rows + arm->n_rows, rows, n * sizeof *rows);
    arm->n_rows += n;
    return ECO_OK;
}

/* Rows belong to the block of their record or to none. */
static eco_status arm_rows(eco_session *session, eco_session_arm *arm, const ecoi_json *value,
                           int32_t block, eco_error *err) {
    if (value->type != ECOI_JSON_STRING) {
        return ECO_E_INVALID;
    }
    if (value->text_length == 0) {
        return ECO_OK;
    }
    eco_sample *rows = NULL;
    size_t n = 0;
    eco_status status = eco_trace_parse(value->text, value->text_length, "journal", &rows, &n, err);
    if (status == ECO_E_PARSE || status == ECO_E_RANGE || arm->n_rows + n > ECO_TRACE_ROWS_MAX) {
        status = ECO_E_INVALID;
    }
    for (size_t i = 0; status == ECO_OK && i < n; i++) {
        if (rows[i].block != 0 && rows[i].block != block) {
            status = ECO_E_INVALID;
        } else if (rows[i].t_ns > session->resumption.t_last_ns) {
            session->resumption.t_last_ns = rows[i].t_ns;
        }
    }
    if (status == ECO_OK) {
        status = rows_add(arm, rows, n, err);
    }
    ecoi_free(rows);
    return status;
}

static eco_status read_rows(eco_session *session, const ecoi_json *root, int32_t block,
                            eco_error *err) {
    const ecoi_json *rows = member(root, "rows");
    if (rows == NULL || rows->type != ECOI_JSON_ARRAY || rows->n != session->plan->n_arms) {
        return ECO_E_INVALID;
    }
    const int64_t t_last_ns = session->resumption.t_last_ns;
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        const eco_status status =
            arm_rows(session, &session->arms[i], ecoi_json_element(rows, i), block, err);
        if (status != ECO_OK) {
            session->resumption.t_last_ns = t_last_ns;
            rows_undo(session);
            return status;
        }
    }
    return ECO_OK;
}

static void rows_hold(eco_session *session) {
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        session->arms[i].n_rows_kept = session->arms[i].n_rows;
    }
}

/* ---- Records ---------------------------------------------------------------------------------- */

static eco_status compare_plan(const restore *in, const ecoi_json *options, eco_error *err) {
    eco_plan_row rows[ECO_PLAN_ROWS_MAX];
    const uint32_t n = ecoi_plan_rows(in->session->plan, rows);
    for (uint32_t i = 0; i < n; i++) {
        const char *before = text_of(options, rows[i].key);
        if (before == NULL) {
            return ECO_E_INVALID;
        }
        uint64_t seed = 0;
        if (in->adopt != NULL && strcmp(rows[i].key, "order_seed") == 0) {
            if (ecoi_num_parse_u64(before, strlen(before), &seed) != ECO_OK) {
                return ECO_E_INVALID;
            }
            in->adopt->order_seed = seed;
        } else if (strcmp(before, rows[i].value) != 0) {
            return eco_error_set(err, ECO_E_USAGE, 0,
                                 "--resume: %s differs (%s): the run in %.100s has '%.40s', this "
                                 "command '%.40s'",
                                 rows[i].option, rows[i].key, in->session->plan->output_dir, before,
                                 rows[i].value);
        }
    }
    return options->n == n ? ECO_OK : ECO_E_INVALID;
}

static eco_status take_plan(restore *in, const ecoi_json *root, char *reason, eco_error *err) {
    eco_session *session = in->session;
    eco_resumption *r = &session->resumption;
    const char *format = text_of(root, "format");
    if (r->planned) {
        return ECO_E_INVALID;
    }
    if (format != NULL && strcmp(format, ECO_JOURNAL_FORMAT) != 0) {
        snprintf(reason, ECO_JOURNAL_REASON_MAX, "has the format %.40s, this program reads %s",
                 format, ECO_JOURNAL_FORMAT);
        return ECO_E_INVALID;
    }
    const ecoi_json *options = member(root, "options");
    if (format == NULL || options == NULL || options->type != ECOI_JSON_OBJECT ||
        !copy_text(root, "run_id", r->run_id, sizeof r->run_id) || r->run_id[0] == '\0' ||
        !copy_text(root, "tool", r->identity.tool, sizeof r->identity.tool) ||
        !copy_text(root, "boot_id", r->identity.boot, sizeof r->identity.boot) ||
        !copy_text(root, "device", r->identity.device, sizeof r->identity.device) ||
        !copy_text(root, "meter", r->identity.meter, sizeof r->identity.meter) ||
        !read_count(root, "origin_ns", COUNT_MAX, &session->origin_ns)) {
        snprintf(reason, ECO_JOURNAL_REASON_MAX, "lacks a part of the plan");
        return ECO_E_INVALID;
    }
    ECO_TRY(compare_plan(in, options, err));
    eco_plan_order(session->plan, in->order);
    r->planned = true;
    return ECO_OK;
}

static bool read_sensor(const ecoi_json *root, eco_sensor *s) {
    const ecoi_json *sensor = member(root, "sensor");
    return read_reading(sensor, "counter_period_s", &s->counter_period_s) &&
           read_reading(sensor, "power_period_s", &s->power_period_s) &&
           read_reading(sensor, "average_period_s", &s->average_period_s) &&
           read_reading(sensor, "power_rise_s", &s->power_rise_s) &&
           read_reading(sensor, "average_window_s", &s->average_window_s) &&
           read_reading(sensor, "counter_cost_s", &s->counter_cost_s) &&
           read_reading(sensor, "power_cost_s", &s->power_cost_s) &&
           read_reading(sensor, "counter_to_integral", &s->counter_to_integral) &&
           read_reading(sensor, "idle_bare_w", &s->idle_bare_w) &&
           read_reading(sensor, "idle_context_w", &s->idle_context_w) &&
           read_reading(sensor, "idle_loaded_w", &s->idle_loaded_w) &&
           read_number(sensor, "seconds", &s->seconds);
}

static bool read_tenants(const ecoi_json *root, eco_resumption *r) {
    int64_t n = 0;
    if (!read_count(root, "other_processes", UINT32_MAX, &n)) {
        return false;
    }
    r->n_tenants = (size_t)n > r->n_tenants ? (size_t)n : r->n_tenants;
    return true;
}

/* 0 where the key is missing: this ceiling was not probed. */
static bool read_optional(const ecoi_json *object, const char *key, double *out) {
    *out = 0.0;
    return member(object, key) == NULL || read_number(object, key, out);
}

static eco_status take_probes(restore *in, const ecoi_json *root, eco_error *err) {
    eco_session *session = in->session;
    eco_resumption *r = &session->resumption;
    eco_ceilings *c = &session->ceilings;
    const ecoi_json *ceilings = member(root, "ceilings");
    const eco_resumption before = *r;
    if (!r->planned || r->probed || !read_sensor(root, &r->sensor) ||
        !read_number(ceilings, "read_bytes_per_s", &c->read_bytes_per_s) ||
        !read_number(ceilings, "read_power_w", &c->read_power_w) ||
        !read_number(ceilings, "read_j_per_byte", &c->read_j_per_byte) ||
        !read_number(ceilings, "launch_s", &c->launch_s) ||
        !read_number(ceilings, "read_unit_bytes", &c->read_unit_bytes) ||
        !read_optional(ceilings, "matrix_fp16_ops_per_s", &c->matrix_fp16_ops_per_s) ||
        !read_optional(ceilings, "matrix_int8_ops_per_s", &c->matrix_int8_ops_per_s) ||
        !read_reading(root, "idle_temp_c", &session->idle_temp_c) ||
        !read_bool(root, "idle_settled", &session->idle_settled) || !read_tenants(root, r) ||
        !read_totals(root, r)) {
        *r = before;
        return ECO_E_INVALID;
    }
    const eco_status status = read_rows(session, root, 0, err);
    if (status != ECO_OK) {
        *r = before;
        return status;
    }
    rows_hold(session);
    r->probed = true;
    return ECO_OK;
}

static bool read_basis(const ecoi_json *object, const char *key, eco_basis *out) {
    const char *name = text_of(object, key);
    return name != NULL && eco_basis_parse(name, out);
}

/* The window's figures come from its rows, as in the live run; the record gives what rows cannot. */
static bool read_window(restore *in, const ecoi_json *object, int32_t block, bool time_only) {
    eco_session *session = in->session;
    const uint32_t n_arms = session->plan->n_arms;
    eco_window w = {.block = block};
    int64_t arm_index = 0;
    int64_t order = 0;
    int64_t throttle = 0;
    const char *phase = text_of(object, "phase");
    if (!read_count(object, "arm", n_arms - 1, &arm_index) ||
        !read_count(object, "order", n_arms, &order) ||
        !read_count(object, "throttle", UINT32_MAX, &throttle) ||
        !read_count(object, "longest_gap_ns", COUNT_MAX, &w.stats.longest_gap_ns) ||
        !read_number(object, "edge_half_width_s", &w.edge_half_width_s) ||
        !read_number(object, "cooldown_s", &w.cooldown_s) ||
        !read_bool(object, "cooled", &w.cooled) ||
        !read_bool(object, "counter_stepped_back", &w.stats.counter_stepped_back) ||
        !read_reading(object, "sm_clock_min_mhz", &w.stats.sm_clock_min_mhz) ||
        !read_reading(object, "sm_clock_max_mhz", &w.stats.sm_clock_max_mhz) ||
        !read_reading(object, "steady_c", &w.steady_c) || !read_bool(object, "steady", &w.steady) ||
        !read_number(object, "steady_s", &w.steady_s) ||
        !read_basis(object, "energy_basis", &w.energy_basis) ||
        !read_basis(object, "time_basis", &w.time_basis) || phase == NULL ||
        !eco_phase_parse(phase, strlen(phase), &w.phase)) {
        return false;
    }
    if (block > 0 &&
        (order == 0 || in->order[(size_t)(block - 1) * n_arms + (size_t)order - 1] != arm_index)) {
        return false; /* not the order of this run */
    }
    w.order = (uint32_t)order;
    w.stats.throttle_seen = (uint32_t)throttle;
    eco_session_arm *arm = &session->arms[arm_index];
    for (uint32_t i = 0; i < arm->n_windows; i++) {
        if (arm->windows[i].block == block && (block > 0 || arm->windows[i].phase == w.phase)) {
            return false; /* twice */
        }
    }
    if (arm->n_windows == ECO_WINDOWS_MAX ||
        !eco_window_figures_of(arm->rows, arm->n_rows, block, w.phase, time_only, &w.figures)) {
        return false;
    }
    arm->windows[arm->n_windows++] = w;
    return true;
}

static bool read_windows(restore *in, const ecoi_json *root, int32_t block) {
    eco_session *session = in->session;
    const ecoi_json *windows = member(root, "windows");
    const uint32_t n = block > 0 ? session->plan->n_arms : 2 * session->plan->n_arms;
    uint32_t before[ECO_ARMS_MAX];
    if (windows == NULL || windows->type != ECOI_JSON_ARRAY || windows->n != n) {
        return false;
    }
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        before[i] = session->arms[i].n_windows;
    }
    const bool time_only = strcmp(session->resumption.identity.meter, "none") == 0;
    bool fine = true;
    for (const ecoi_json *w = windows->first; fine && w != NULL; w = w->next) {
        fine = read_window(in, w, block, time_only);
    }
    for (uint32_t i = 0; !fine && i < session->plan->n_arms; i++) {
        session->arms[i].n_windows = before[i];
    }
    return fine;
}

static eco_status take_block(restore *in, const ecoi_json *root, char *reason, eco_error *err) {
    eco_session *session = in->session;
    eco_resumption *r = &session->resumption;
    int64_t block = 0;
    const bool all = session->blocks_finished == session->plan->n_blocks;
    if (!r->probed || r->extra_done || !read_count(root, "block", ECO_BLOCKS_MAX, &block) ||
        (all ? block != 0 || !session->plan->extra_windows
             : block != (int64_t)session->blocks_finished + 1)) {
        return ECO_E_INVALID;
    }
    const eco_resumption before = *r;
    const eco_status status = read_rows(session, root, (int32_t)block, err);
    if (status == ECO_E_INVALID) {
        snprintf(reason, ECO_JOURNAL_REASON_MAX, "has rows that do not belong to block %d",
                 (int)block);
    }
    ECO_TRY(status);
    if (!read_totals(root, r) || !read_windows(in, root, (int32_t)block)) {
        snprintf(reason, ECO_JOURNAL_REASON_MAX, "has windows that are not those of block %d",
                 (int)block);
        *r = before;
        rows_undo(session);
        return ECO_E_INVALID;
    }
    rows_hold(session);
    if (block == 0) {
        r->extra_done = true;
    } else {
        session->blocks_finished = (uint32_t)block;
    }
    return ECO_OK;
}

/* Notes in words at which block the run went on. */
static void note_resumed(eco_session *session) {
    eco_resumption *r = &session->resumption;
    const size_t used = strlen(r->where);
    char place[32] = "after the last block";
    if (session->blocks_finished < session->plan->n_blocks) {
        snprintf(place, sizeof place, "at block %u", session->blocks_finished + 1);
    }
    if (used + sizeof place + 2 < sizeof r->where) {
        snprintf(r->where + used, sizeof r->where - used, "%s%s", used > 0 ? ", " : "", place);
    }
    r->n++;
}

static eco_status take_resume(restore *in, const ecoi_json *root) {
    eco_resumption *r = &in->session->resumption;
    int64_t block = 0;
    if (!r->probed || !read_count(root, "block", ECO_BLOCKS_MAX + 1, &block) ||
        block != (int64_t)in->session->blocks_finished + 1 || !read_tenants(root, r)) {
        return ECO_E_INVALID;
    }
    note_resumed(in->session);
    return ECO_OK;
}

static bool all_done(const eco_session *session) {
    return session->blocks_finished == session->plan->n_blocks &&
           (session->resumption.extra_done || !session->plan->extra_windows);
}

static eco_status take_end(restore *in, const ecoi_json *root) {
    const char *how = text_of(root, "how");
    if (how == NULL || !in->session->resumption.planned) {
        return ECO_E_INVALID;
    }
    if (strcmp(how, "finished") == 0 && all_done(in->session)) {
        in->session->resumption.finished = true;
        return ECO_OK;
    }
    return strcmp(how, "interrupted") == 0 ? ECO_OK : ECO_E_INVALID;
}

static eco_status take(void *user, uint32_t index, const ecoi_json *root,
                       char reason[ECO_JOURNAL_REASON_MAX], eco_error *err) {
    restore *in = user;
    const char *name = text_of(root, "record");
    if (name == NULL || in->session->resumption.finished ||
        (index == 0) != (strcmp(name, "plan") == 0)) {
        return ECO_E_INVALID;
    }
    if (index == 0) {
        return take_plan(in, root, reason, err);
    }
    if (strcmp(name, "probes") == 0) {
        return take_probes(in, root, err);
    }
    if (strcmp(name, "block") == 0) {
        return take_block(in, root, reason, err);
    }
    if (strcmp(name, "resume") == 0) {
        return take_resume(in, root);
    }
    return strcmp(name, "end") == 0 ? take_end(in, root) : ECO_E_INVALID;
}

/* ---- Looking, without taking the journal ------------------------------------------------------ */

eco_status eco_resume_look(const eco_plan *plan, bool order_seed_given, eco_resume *out,
                           eco_error *err) {
    *out = (eco_resume){.order_seed = plan->order_seed};
    eco_plan own = *plan;
    restore in = {.session = ecoi_calloc(1, sizeof *in.session),
                  .adopt = order_seed_given ? NULL : &own};
    if (in.session == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "resume: out of memory");
    }
    in.session->plan = &own;
    eco_journal_scan scan;
    const eco_status status = ecoi_journal_look(plan->output_dir, take, &in, &scan, err);
    if (status == ECO_OK) {
        out->blocks_finished = in.session->blocks_finished;
        out->finished = in.session->resumption.finished;
        out->order_seed = own.order_seed;
        (void)ecoi_str_copy(out->run_id, sizeof out->run_id, in.session->resumption.run_id);
        if (scan.dropped_bytes > 0) {
            snprintf(out->note, sizeof out->note,
                     "the journal is good to byte %zu; %s: the last %zu bytes are dropped",
                     scan.good_bytes, scan.reason, scan.dropped_bytes);
        }
    }
    ecoi_session_close(in.session);
    return status;
}

/* ---- Going on --------------------------------------------------------------------------------- */

/* Any record of a journal will do: it is to be written over. */
static eco_status accept(void *user, uint32_t index, const ecoi_json *root,
                         char reason[ECO_JOURNAL_REASON_MAX], eco_error *err) {
    (void)user;
    (void)index;
    (void)root;
    (void)err;
    reason[0] = '\0';
    return ECO_OK;
}

eco_status ecoi_resume_begin(eco_session *session, eco_error *err) {
    const eco_plan *plan = session->plan;
    eco_journal_scan scan;
    ECO_TRY(ecoi_journal_open(plan->output_dir, &session->journal, err));
    if (!plan->resume) {
        return ecoi_journal_look(plan->output_dir, accept, NULL, &scan, err);
    }
    restore in = {.session = session};
    ECO_TRY(ecoi_journal_load(session->journal, take, &in, &scan, err));
    if (session->resumption.finished) {
        return eco_error_set(err, ECO_E_FAILED, 0, "%s: the run was finished by another process",
                             plan->output_dir);
    }
    return ECO_OK;
}

static eco_status refuse(const eco_session *session, const char *what, eco_error *err) {
    return eco_error_set(err, ECO_E_FAILED, 0,
                         "--resume: %.100s was begun %s; blocks of two sessions like these are not "
                         "pooled: measure anew into another folder",
                         session->plan->output_dir, what);
}

static eco_status same_machine(const eco_session *session, eco_error *err) {
    const eco_identity *before = &session->resumption.identity;
    eco_identity now;
    char what[128];
    ecoi_identity_of(session, &now);
    if (strcmp(before->device, now.device) != 0) {
        return refuse(session, "on another device", err);
    }
    if (strcmp(before->meter, now.meter) != 0) {
        snprintf(what, sizeof what, "with another meter (%.40s, now %.40s)", before->meter,
                 now.meter);
        return refuse(session, what, err);
    }
    if (strcmp(before->tool, now.tool) != 0) {
        snprintf(what, sizeof what, "by another build of ecocompute (%.40s)", before->tool);
        return refuse(session, what, err);
    }
    if (now.boot[0] == '\0') {
        return refuse(session, "in a boot that this system does not name", err);
    }
    if (strcmp(before->boot, now.boot) != 0 ||
        ecoi_now_ns() < session->origin_ns + session->resumption.t_last_ns) {
        return refuse(session, "before this machine was booted again", err);
    }
    return ECO_OK;
}

eco_status ecoi_resume_device(eco_session *session, eco_error *err) {
    eco_resumption *r = &session->resumption;
    if (session->journal == NULL || !session->plan->resume) {
        return ECO_OK;
    }
    if (r->planned) {
        ECO_TRY(same_machine(session, err));
    }
    ecoi_output_sweep(session->plan->output_dir);
    ECO_TRY(ecoi_journal_cut(session->journal, err));
    if (!r->probed) {
        return ECO_OK; /* nothing of it was measured yet */
    }
    if (session->device >= 0) {
        eco_idle_device *device = &session->devices[session->device];
        device->n_tenants = r->n_tenants > device->n_tenants ? r->n_tenants : device->n_tenants;
    }
    ECO_TRY(ecoi_journal_resume(session, err));
    note_resumed(session);
    ecoi_session_say(session, "going on after block %u of %u", session->blocks_finished,
                     session->plan->n_blocks);
    return ECO_OK;
}

eco_status ecoi_resume_probes(eco_session *session, eco_error *err) {
    session->sensor = session->resumption.sensor;
    return ecoi_sampler_start(session, err);
}

void ecoi_resume_totals(eco_session *session) {
    const eco_resumption *r = &session->resumption;
    eco_sampler_stats now = {0};
    if (session->sampler != NULL) {
        ecoi_sampler_stats(session->sampler, &now);
    }
    /* The rate over all sessions: samples over the time each took for its own. */
    const double here_s = now.rate_hz > 0.0 ? (double)now.n_samples / now.rate_hz : 0.0;
    const double before_s =
        r->before.rate_hz > 0.0 ? (double)r->before.n_samples / r->before.rate_hz : 0.0;
    if (here_s + before_s > 0.0) {
        now.rate_hz = ((here_s > 0.0 ? (double)now.n_samples : 0.0) +
                       (before_s > 0.0 ? (double)r->before.n_samples : 0.0)) /
                      (here_s + before_s);
    }
    now.n_samples += r->before.n_samples;
    now.n_dropped += r->before.n_dropped;
    now.n_read_errors += r->before.n_read_errors;
    now.n_energy_reads += r->before.n_energy_reads;
    now.cpu_ns += r->before.cpu_ns;
    if (r->before.longest_read_ns > now.longest_read_ns) {
        now.longest_read_ns = r->before.longest_read_ns;
    }
    session->totals = now;
    session->sampler_wall_s = r->before_wall_s;
    if (session->sampler_start_ns != 0) {
        session->sampler_wall_s += (double)(ecoi_now_ns() - session->sampler_start_ns) * 1e-9;
    }
}
