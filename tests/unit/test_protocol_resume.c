/* SPDX-License-Identifier: Apache-2.0
 *
 * What a journal brings back: every row, window, probe and count as it was; another plan, device, meter, build or boot is
 * refused with the difference named; a record that does not belong is dropped and leaves nothing in the session.
 */
#include "core/alloc.h"
#include "core/str.h"
#include "protocol/session.h"
#include "protocol_fixture.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "test_helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_BLOCKS = 3, ROWS_A_WINDOW = 6 };

static eco_plan usual(const char *folder) {
    eco_plan plan = fixture_plan();
    plan.order_seed = UINT64_MAX - 1;
    plan.n_blocks = N_BLOCKS;
    plan.output_dir = folder;
    plan.run_id = "20260101T000000Z-abcdef";
    return plan;
}

/* A session that looks like one on a card; nothing is open in it. */
static eco_session *new_session(const eco_plan *plan) {
    eco_session *session = ecoi_calloc(1, sizeof *session);
    assert_non_null(session);
    session->plan = plan;
    session->device = -1;
    session->meter_info.name = "nvml";
    (void)ecoi_str_copy(session->engine_info.boundary.uuid,
                        sizeof session->engine_info.boundary.uuid, "GPU-1234");
    for (uint32_t i = 0; i < plan->n_arms; i++) {
        session->arms[i].format = plan->arms[i];
    }
    return session;
}

static void add_rows(eco_session *session, uint32_t arm, int32_t block, eco_phase phase,
                     double t_s) {
    eco_session_arm *a = &session->arms[arm];
    a->rows = ecoi_realloc(a->rows, (a->n_rows + ROWS_A_WINDOW) * sizeof *a->rows);
    assert_non_null(a->rows);
    for (int i = 0; i < ROWS_A_WINDOW; i++) {
        const eco_sample row = {.t_ns = (int64_t)((t_s + 0.05 * i) * 1e9) + 123456,
                                .power_w = eco_reading_of(300.123 + 10.0 * arm + i),
                                .energy_j = eco_reading_of(t_s * 400.0 + 17.3 * i),
                                .tokens = eco_reading_of(10.5 * i),
                                .temp_c = i == 0 ? eco_reading_of(41.2)
                                                 : eco_reading_absent(ECO_ABSENT_NOT_READ),
                                .block = block,
                                .phase = phase};
        a->rows[a->n_rows++] = eco_sample_as_printed(&row, 0);
    }
    a->capacity_rows = a->n_rows;
}

static void add_window(eco_session *session, uint32_t arm, int32_t block, uint32_t order,
                       eco_phase phase) {
    eco_session_arm *a = &session->arms[arm];
    add_rows(session, arm, block, phase, 10.0 * block + order + (double)phase);
    eco_window w = {.block = block,
                    .order = order,
                    .phase = phase,
                    .energy_basis = ECO_BASIS_REPLAYED,
                    .time_basis = ECO_BASIS_COMPUTED,
                    .edge_half_width_s = 0.0023,
                    .cooldown_s = 1.25 * order,
                    .cooled = order == 1,
                    .steady = block == 2,
                    .steady_s = 3.5,
                    .steady_c = eco_reading_of(55.5),
                    .stats = {.longest_gap_ns = 51000000 + block,
                              .throttle_seen = ECO_THROTTLE_POWER_CAP,
                              .sm_clock_min_mhz = eco_reading_absent(ECO_ABSENT_PERMISSION),
                              .sm_clock_max_mhz = eco_reading_of(1980),
                              .counter_stepped_back = block == 1}};
    assert_true(eco_window_figures_of(a->rows, a->n_rows, block, phase, false, &w.figures));
    a->windows[a->n_windows++] = w;
}

static void finish_block(eco_session *session, uint32_t block) {
    uint32_t order[ECO_BLOCKS_MAX * ECO_ARMS_MAX];
    eco_error err = {0};
    eco_plan_order(session->plan, order);
    for (uint32_t place = 0; place < session->plan->n_arms; place++) {
        add_window(session, order[(block - 1) * session->plan->n_arms + place], (int32_t)block,
                   place + 1, ECO_PHASE_DECODE);
    }
    ASSERT_OK(ecoi_journal_block(session, block, &err), &err);
    session->blocks_finished = block;
}

static void extra_windows(eco_session *session) {
    eco_error err = {0};
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        add_window(session, i, 0, 0, ECO_PHASE_GENERATION);
        add_window(session, i, 0, 0, ECO_PHASE_PREFILL);
    }
    ASSERT_OK(ecoi_journal_block(session, 0, &err), &err);
}

/* A run that stopped after `n_blocks`; N_BLOCKS + 1 also has the windows after them. */
static eco_session *stopped_run(const eco_plan *plan, uint32_t n_blocks) {
    eco_error err = {0};
    eco_session *session = new_session(plan);
    ASSERT_OK(ecoi_folder_make(plan->output_dir, &err), &err);
    ASSERT_OK(ecoi_resume_begin(session, &err), &err);
    ASSERT_OK(ecoi_resume_device(session, &err), &err);
    session->origin_ns = ecoi_now_ns() - INT64_C(200000000000);
    ASSERT_OK(ecoi_journal_plan(session, &err), &err);
    session->sensor = (eco_sensor){.counter_period_s = eco_reading_of(0.1),
                                   .power_rise_s = eco_reading_absent(ECO_ABSENT_FAILED),
                                   .idle_bare_w = eco_reading_of(78.5),
                                   .counter_cost_s = eco_reading_absent(ECO_ABSENT_UNSUPPORTED),
                                   .seconds = 1.7};
    session->ceilings = (eco_ceilings){4.1e12, 512.25, 1.3e-10, 2.5e-6, 8.2e9, 8.5e14, 1.6e15};
    session->idle_temp_c = eco_reading_of(33.5);
    session->idle_settled = true;
    add_rows(session, 0, 0, ECO_PHASE_PROBE, 1.0);
    ASSERT_OK(ecoi_journal_probes(session, &err), &err);
    for (uint32_t block = 1; block <= n_blocks && block <= N_BLOCKS; block++) {
        add_rows(session, 1, 0, ECO_PHASE_BURN_IN, 2.0);
        finish_block(session, block);
    }
    if (n_blocks > N_BLOCKS) {
        extra_windows(session);
    }
    return session;
}

static void let_go(eco_session *session) {
    ecoi_journal_close(session->journal, false);
    session->journal = NULL;
}

static void same_reading(eco_reading a, eco_reading b) {
    assert_int_equal(a.absence, b.absence);
    ASSERT_NEAR(a.value, b.value, 0.0);
}

static void same_window(const eco_window *a, const eco_window *b) {
    assert_int_equal(a->block, b->block);
    assert_int_equal(a->order, b->order);
    assert_int_equal(a->phase, b->phase);
    assert_int_equal(a->energy_basis, b->energy_basis);
    assert_int_equal(a->time_basis, b->time_basis);
    ASSERT_NEAR(a->edge_half_width_s, b->edge_half_width_s, 0.0);
    ASSERT_NEAR(a->cooldown_s, b->cooldown_s, 0.0);
    ASSERT_NEAR(a->steady_s, b->steady_s, 0.0);
    assert_int_equal(a->cooled, b->cooled);
    assert_int_equal(a->steady, b->steady);
    same_reading(a->steady_c, b->steady_c);
    assert_int_equal(a->stats.longest_gap_ns, b->stats.longest_gap_ns);
    assert_int_equal(a->stats.throttle_seen, b->stats.throttle_seen);
    assert_int_equal(a->stats.counter_stepped_back, b->stats.counter_stepped_back);
    same_reading(a->stats.sm_clock_min_mhz, b->stats.sm_clock_min_mhz);
    same_reading(a->stats.sm_clock_max_mhz, b->stats.sm_clock_max_mhz);
    assert_int_equal(a->figures.t_open_ns, b->figures.t_open_ns);
    ASSERT_NEAR(a->figures.energy_j, b->figures.energy_j, 0.0);
    ASSERT_NEAR(a->figures.mj_per_token, b->figures.mj_per_token, 0.0);
    ASSERT_NEAR(a->figures.integral_j, b->figures.integral_j, 0.0);
}

/* Rows compare by their print: that is what a trace and its hash are made of. */
static void same_session(const eco_session *a, const eco_session *b) {
    assert_int_equal(a->blocks_finished, b->blocks_finished);
    assert_int_equal(a->origin_ns, b->origin_ns);
    ASSERT_NEAR(a->ceilings.read_j_per_byte, b->ceilings.read_j_per_byte, 0.0);
    ASSERT_NEAR(a->ceilings.launch_s, b->ceilings.launch_s, 0.0);
    ASSERT_NEAR(a->ceilings.read_unit_bytes, b->ceilings.read_unit_bytes, 0.0);
    ASSERT_NEAR(a->ceilings.matrix_fp16_ops_per_s, b->ceilings.matrix_fp16_ops_per_s, 0.0);
    ASSERT_NEAR(a->ceilings.matrix_int8_ops_per_s, b->ceilings.matrix_int8_ops_per_s, 0.0);
    same_reading(a->idle_temp_c, b->idle_temp_c);
    assert_int_equal(a->idle_settled, b->idle_settled);
    for (uint32_t i = 0; i < a->plan->n_arms; i++) {
        eco_text text_a = {0};
        eco_text text_b = {0};
        eco_trace_write_rows(&text_a, a->arms[i].rows, a->arms[i].n_rows, 0);
        eco_trace_write_rows(&text_b, b->arms[i].rows, b->arms[i].n_rows, 0);
        assert_int_equal(a->arms[i].n_rows, b->arms[i].n_rows);
        if (text_a.data != NULL && text_b.data != NULL) {
            assert_string_equal(text_a.data, text_b.data);
        }
        eco_text_free(&text_a);
        eco_text_free(&text_b);
        assert_int_equal(a->arms[i].n_windows, b->arms[i].n_windows);
        for (uint32_t w = 0; w < a->arms[i].n_windows; w++) {
            same_window(&a->arms[i].windows[w], &b->arms[i].windows[w]);
        }
    }
}

static void comes_back(void **state) {
    (void)state;
    for (uint32_t n = 0; n <= N_BLOCKS + 1; n++) {
        char folder[16];
        eco_error err = {0};
        eco_resume look;
        (void)snprintf(folder, sizeof folder, "run%u", n);
        eco_plan plan = usual(folder);
        eco_session *before = stopped_run(&plan, n);
        let_go(before);
        plan.resume = true;
        ASSERT_OK(eco_resume_look(&plan, true, &look, &err), &err);
        assert_int_equal(look.blocks_finished, n < N_BLOCKS ? n : N_BLOCKS);
        assert_false(look.finished);
        assert_string_equal(look.run_id, plan.run_id);
        assert_string_equal(look.note, "");
        eco_session *after = new_session(&plan);
        ASSERT_OK(ecoi_resume_begin(after, &err), &err);
        ASSERT_OK(ecoi_resume_device(after, &err), &err);
        same_session(before, after);
        assert_int_equal(after->resumption.extra_done, n > N_BLOCKS);
        assert_int_equal(after->resumption.n, 1);
        same_reading(after->resumption.sensor.counter_period_s, eco_reading_of(0.1));
        same_reading(after->resumption.sensor.power_rise_s, eco_reading_absent(ECO_ABSENT_FAILED));
        same_reading(after->resumption.sensor.counter_cost_s,
                     eco_reading_absent(ECO_ABSENT_UNSUPPORTED));
        /* And on: the rest of the run, then once more from the disk. */
        for (uint32_t block = n + 1; block <= N_BLOCKS; block++) {
            finish_block(after, block);
        }
        if (n <= N_BLOCKS) {
            extra_windows(after);
        }
        ecoi_journal_end(after);
        let_go(after);
        ASSERT_OK(eco_resume_look(&plan, true, &look, &err), &err);
        assert_true(look.finished);
        assert_int_equal(look.blocks_finished, N_BLOCKS);
        eco_session *late = new_session(&plan);
        assert_int_equal(ecoi_resume_begin(late, &err), ECO_E_FAILED);
        same_session(after, late);
        ecoi_session_close(late);
        ecoi_session_close(after);
        ecoi_session_close(before);
    }
}

/* Counts of stopped sessions go on; the sampler's rate is that over all of them. */
static void totals(void **state) {
    (void)state;
    eco_plan plan = usual("run");
    eco_session *session = new_session(&plan);
    session->resumption.before = (eco_sampler_stats){.n_samples = 200,
                                                     .n_dropped = 3,
                                                     .n_read_errors = 5,
                                                     .longest_read_ns = 77,
                                                     .cpu_ns = 1000,
                                                     .rate_hz = 20.0};
    session->resumption.before_wall_s = 12.5;
    ecoi_resume_totals(session);
    assert_int_equal(session->totals.n_samples, 200);
    assert_int_equal(session->totals.n_dropped, 3);
    assert_int_equal(session->totals.n_read_errors, 5);
    assert_int_equal(session->totals.longest_read_ns, 77);
    ASSERT_NEAR(session->totals.rate_hz, 20.0, 1e-12);
    ASSERT_NEAR(session->sampler_wall_s, 12.5, 0.0);
    ecoi_session_close(session);
}

static void differing_plans(void **state) {
    (void)state;
    eco_error err = {0};
    eco_resume look;
    eco_plan plan = usual("run");
    eco_session *before = stopped_run(&plan, 1);
    let_go(before);
    eco_plan other = plan;
    /* A number or a name for each option; what it was goes back before the next. */
#define DIFFERS(field, value, option)                                              \
    do {                                                                           \
        other = plan;                                                              \
        other.field = value;                                                       \
        err = (eco_error){0};                                                      \
        assert_int_equal(eco_resume_look(&other, true, &look, &err), ECO_E_USAGE); \
        if (strstr(err.message, "--resume: " option) == NULL) {                    \
            fail_msg("%s: %s", option, err.message);                               \
        }                                                                          \
    } while (0)
    DIFFERS(shape, eco_model_find("Qwen2-7B"), "--model");
    DIFFERS(n_arms, 1, "--precision");
    DIFFERS(meter, "nvml", "--meter");
    DIFFERS(meter_config.exec_command, "other", "what the meter reads");
    DIFFERS(n_prompt, 129, "--prompt-tokens");
    DIFFERS(n_tokens, 255, "--tokens");
    DIFFERS(seed, 2, "--seed");
    DIFFERS(n_blocks, 4, "--blocks");
    DIFFERS(window_s, 5.000000000000001, "--window");
    DIFFERS(window_ticks_min, 20, "--quick");
    DIFFERS(extra_windows, false, "--quick");
    DIFFERS(cooldown_max_s, 4, "--cooldown-max");
    DIFFERS(margin_pct, 2, "--margin");
    DIFFERS(shuffle, false, "--order");
    DIFFERS(order_seed, 7, "--order-seed");
    DIFFERS(protocol, ECO_PROTOCOL_PUBLISHED, "--protocol");
    DIFFERS(thermal, ECO_THERMAL_STEADY, "--thermal-mode");
#undef DIFFERS
    /* The seed counts only when it was given; then the journal's is taken. */
    other = plan;
    other.order_seed = 7;
    ASSERT_OK(eco_resume_look(&other, false, &look, &err), &err);
    assert_true(look.order_seed == plan.order_seed);
    assert_int_equal(look.blocks_finished, 1);
    ecoi_session_close(before);
}

/* ---- Records rewritten ------------------------------------------------------------------------ */

typedef struct rewrite {
    const char *from, *to; /* text in record `index`; the first occurrence */
    uint32_t index;
    eco_journal *journal;
    bool done;
} rewrite;

/* Every record into another journal, with its own checksums. */
static eco_status rewrite_record(void *user, uint32_t index, const ecoi_json *payload,
                                 char reason[ECO_JOURNAL_REASON_MAX], eco_error *err) {
    (void)reason;
    rewrite *r = user;
    eco_text text = {0};
    assert_true(ecoi_json_write(payload, &text));
    char *at = index == r->index ? strstr(text.data, r->from) : NULL;
    eco_text changed = {0};
    if (at != NULL) {
        ecoi_text_add(&changed, text.data, (size_t)(at - text.data));
        ecoi_text_add_z(&changed, r->to);
        ecoi_text_add_z(&changed, at + strlen(r->from));
        r->done = true;
    } else {
        ecoi_text_add_z(&changed, text.data);
    }
    ecoi_json_doc doc = {0};
    ASSERT_OK(ecoi_json_read(changed.data, changed.length, "rewrite", &doc, err), err);
    ASSERT_OK(ecoi_journal_append(r->journal, doc.root, err), err);
    ecoi_json_fini(&doc);
    eco_text_free(&text);
    eco_text_free(&changed);
    return ECO_OK;
}

static void rewrite_journal(const char *from_folder, const char *to_folder, uint32_t index,
                            const char *from, const char *to) {
    eco_error err = {0};
    eco_journal_scan scan;
    rewrite r = {.from = from, .to = to, .index = index};
    ASSERT_OK(ecoi_folder_make(to_folder, &err), &err);
    ASSERT_OK(ecoi_journal_open(to_folder, &r.journal, &err), &err);
    ASSERT_OK(ecoi_journal_cut(r.journal, &err), &err);
    ASSERT_OK(ecoi_journal_look(from_folder, rewrite_record, &r, &scan, &err), &err);
    ecoi_journal_close(r.journal, false);
    if (!r.done) {
        fail_msg("'%s' is not in record %u", from, index);
    }
}

static void other_machine(void **state) {
    (void)state;
    eco_plan plan = usual("run");
    eco_session *before = stopped_run(&plan, 1);
    let_go(before);
    ecoi_session_close(before);
    static const struct {
        const char *from, *to, *message;
    } rows[] = {{"\"device\": \"", "\"device\": \"0", "on another device"},
                {"\"meter\": \"none", "\"meter\": \"rapl", "with another meter (rapl, now none)"},
                {"\"tool\": \"", "\"tool\": \"9.", "by another build of ecocompute (9."},
                {"\"boot_id\": \"", "\"boot_id\": \"f", "before this machine was booted again"},
                {"\"origin_ns\": ", "\"origin_ns\": 9", "before this machine was booted"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        eco_error err = {0};
        plan = usual("other");
        plan.resume = true;
        rewrite_journal("run", "other", 0, rows[i].from, rows[i].to);
        char *first = NULL;
        char *second = NULL;
        size_t size = 0;
        const eco_file_limits limits = {.size_max = 1 << 20};
        ASSERT_OK(ecoi_file_read("other/journal", &limits, &first, &size, &err), &err);
        eco_session *after = new_session(&plan);
        ASSERT_OK(ecoi_resume_begin(after, &err), &err);
        assert_int_equal(ecoi_resume_device(after, &err), ECO_E_FAILED);
        if (strstr(err.message, rows[i].message) == NULL ||
            strstr(err.message, "not pooled") == NULL) {
            fail_msg("%s", err.message);
        }
        /* Refused and untouched. */
        ASSERT_OK(ecoi_file_read("other/journal", &limits, &second, &size, &err), &err);
        assert_string_equal(first, second);
        ecoi_free(first);
        ecoi_free(second);
        ecoi_session_close(after);
    }
}

/* Record 3 is block 2: what is wrong in it is dropped, and the session is what it was after block 1. */
static void records_that_do_not_belong(void **state) {
    (void)state;
    eco_plan plan = usual("run");
    eco_session *whole = stopped_run(&plan, 2);
    eco_plan one_plan = usual("one");
    eco_session *one = stopped_run(&one_plan, 1);
    let_go(whole);
    let_go(one);
    one->origin_ns = whole->origin_ns;
    static const struct {
        uint32_t index;
        const char *from, *to;
    } rows[] = {{3, "\"block\": 2", "\"block\": 1"},
                {3, "\"block\": 2", "\"block\": 3"},
                {3, "\"block\": 2", "\"block\": 0"},
                {3, "\"block\": 2", "\"block\": -1"},
                {3, "\"block\": 2", "\"block\": 2.5"},
                {3, "\"record\": \"block\"", "\"record\": \"plan\""},
                {3, "\"record\": \"block\"", "\"record\": \"probes\""},
                {3, "\"record\": \"block\"", "\"record\": \"end\""},
                {3, "\"record\": \"block\"", "\"record\": \"nonsense\""},
                {3, "\"arm\": 0", "\"arm\": 1"},
                {3, "\"arm\": 1", "\"arm\": 8"},
                {3, "\"order\": 1", "\"order\": 2"},
                {3, "\"order\": 1", "\"order\": 0"},
                {3, "\"phase\": \"decode\"", "\"phase\": \"ramp\""},
                {3, "\"phase\": \"decode\"", "\"phase\": \"nap\""},
                {3, "\"energy_basis\": \"replayed\"", "\"energy_basis\": \"sworn\""},
                {3, "\"longest_gap_ns\": 5", "\"longest_gap_ns\": -5"},
                {3, "\"cooled\": true", "\"cooled\": 1"},
                {3, "\"sm_clock_min_mhz\": \"permission\"", "\"sm_clock_min_mhz\": null"},
                {3, "\"samples\": 0", "\"samples\": 9223372036854775807"},
                {3, ",2,decode\\n", ",1,decode\\n"},
                {3, ",2,decode\\n", ",9,decode\\n"},
                {3, ",2,decode\\n", ",2,decode"},
                {3, "t_s,power_w", "power_w,t_s"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        eco_error err = {0};
        eco_resume look;
        eco_plan other = usual("other");
        other.resume = true;
        rewrite_journal("run", "other", rows[i].index, rows[i].from, rows[i].to);
        ASSERT_OK(eco_resume_look(&other, true, &look, &err), &err);
        if (look.blocks_finished != 1 || strstr(look.note, "record 3") == NULL) {
            fail_msg("%s: %u blocks, %s", rows[i].to, look.blocks_finished, look.note);
        }
        eco_session *after = new_session(&other);
        ASSERT_OK(ecoi_resume_begin(after, &err), &err);
        one->plan = &other;
        same_session(one, after);
        assert_int_equal(after->resumption.t_last_ns,
                         one->arms[0].rows[one->arms[0].n_rows - 1].t_ns >
                                 one->arms[1].rows[one->arms[1].n_rows - 1].t_ns
                             ? one->arms[0].rows[one->arms[0].n_rows - 1].t_ns
                             : one->arms[1].rows[one->arms[1].n_rows - 1].t_ns);
        /* Going on writes block 2 in its place. */
        ASSERT_OK(ecoi_resume_device(after, &err), &err);
        finish_block(after, 2);
        let_go(after);
        ASSERT_OK(eco_resume_look(&other, true, &look, &err), &err);
        assert_int_equal(look.blocks_finished, 2);
        assert_string_equal(look.note, "");
        ecoi_session_close(after);
    }
    ecoi_session_close(whole);
    ecoi_session_close(one);
}

/* A first record that is not this program's: nothing is taken over and nothing is cut. */
static void other_formats(void **state) {
    (void)state;
    eco_plan plan = usual("run");
    ecoi_session_close(stopped_run(&plan, 1));
    static const char *const to[] = {"\"format\": \"ecocompute-journal/2\"", "\"formal\": \"x\"",
                                     "\"format\": 1"};
    for (size_t i = 0; i < sizeof to / sizeof to[0]; i++) {
        eco_error err = {0};
        eco_resume look;
        eco_plan other = usual("other");
        rewrite_journal("run", "other", 0, "\"format\": \"ecocompute-journal/1\"", to[i]);
        assert_int_equal(eco_resume_look(&other, true, &look, &err), ECO_E_INVALID);
        assert_non_null(strstr(err.message, "other/journal: not a journal of this program"));
    }
}

/* Before its first record a run has nothing that others may not have; a fresh one in a used folder cuts the old journal
 * only when it begins to measure. */
static void fresh_and_empty(void **state) {
    (void)state;
    eco_error err = {0};
    eco_resume look;
    eco_plan plan = usual("run");
    ecoi_session_close(stopped_run(&plan, 2));
    eco_session *fresh = new_session(&plan);
    ASSERT_OK(ecoi_resume_begin(fresh, &err), &err);
    ASSERT_OK(ecoi_resume_device(fresh, &err), &err);
    ASSERT_OK(eco_resume_look(&plan, true, &look, &err), &err);
    assert_int_equal(look.blocks_finished, 2);
    ecoi_journal_close(fresh->journal, true); /* it gave up: the old one is still there */
    fresh->journal = NULL;
    assert_true(ecoi_file_exists("run/journal"));
    ASSERT_OK(ecoi_resume_begin(fresh, &err), &err);
    ASSERT_OK(ecoi_journal_plan(fresh, &err), &err);
    ASSERT_OK(eco_resume_look(&plan, true, &look, &err), &err);
    assert_int_equal(look.blocks_finished, 0);
    ecoi_session_close(fresh);

    eco_plan empty = usual("empty");
    empty.resume = true;
    ASSERT_OK(ecoi_folder_make("empty", &err), &err);
    ASSERT_OK(ecoi_file_write("empty/journal", "", 0, &err), &err);
    ASSERT_OK(ecoi_file_write("empty/energy.json.tmp-1-2-0", "half", 4, &err), &err);
    ASSERT_OK(ecoi_file_write("empty/notes.tmp-1", "mine", 4, &err), &err);
    ASSERT_OK(eco_resume_look(&empty, true, &look, &err), &err);
    assert_int_equal(look.blocks_finished, 0);
    assert_string_equal(look.run_id, "");
    eco_session *session = new_session(&empty);
    ASSERT_OK(ecoi_resume_begin(session, &err), &err);
    ASSERT_OK(ecoi_resume_device(session, &err), &err);
    assert_int_equal(session->resumption.n, 0);
    assert_false(session->resumption.planned);
    assert_false(ecoi_file_exists("empty/energy.json.tmp-1-2-0"));
    assert_true(ecoi_file_exists("empty/notes.tmp-1"));
    ecoi_session_close(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(comes_back, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(totals, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(differing_plans, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(other_machine, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(records_that_do_not_belong, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(other_formats, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(fresh_and_empty, fixture_enter, fixture_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
