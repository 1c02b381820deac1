/* SPDX-License-Identifier: Apache-2.0
 *
 * How often do the intervals of a report hold the truth? A thousand whole experiments a scenario on a virtual machine whose
 * truth is known, through the product's own idle band, probes, cooldown, ramp, sampler, windows, statistics, report and
 * warnings. Prints a table and fails where a promise is not kept.
 * coverage [EXPERIMENTS [SCENARIO]]: with fewer than 1,000 experiments nothing is judged but that all of them ran.
 */
#include "core/alloc.h"
#include "core/rng.h"
#include "protocol/summary_arm.h"
#include "sys/clock.h"
#include "virtual_machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXPERIMENTS = 1000 };
static const double PROMISED_PCT = 95.0;
static const double WRONG_PCT = 5.0;
static const double ALL_PCT = 100.0;
static const virtual_arm BASELINE = {.power_w = 495.0, .token_s = 0.0040};
static const double IDLE_W = 125.0;
static const virtual_arm UNDER_TEST = {.power_w = 327.0, .token_s = 0.0045};
static const double SMALL_CARD = 0.125; /* of a large one's power, arms and idle */

typedef struct scenario {
    const char *name;
    virtual_sensor sensor;
    uint32_t n_blocks;
    bool small_card;
    bool same;                     /* the arm under test is the baseline again */
    double drift_sd, drift_arm_sd; /* relative, over the run: of both arms, of one */
    double bursts_per_s, stalls_per_token;
    double gain_half, offset_half_w;     /* the sensor's errors are drawn from rectangles */
    double repeat_lo_pct, repeat_hi_pct; /* promise: coverage of the true change by ci95_repeat */
    double joules_pct; /* promise: joules of both arms within absolute and repeat */
} scenario;

#define EXACT \
    { .counter = true, .power_window_s = 0.010, .gain = 1.0 }
#define AVERAGE \
    { .counter = true, .power_window_s = 1.0, .gain = 1.0 }
#define PART_TIME \
    { .counter = true, .counter_looks_s = 0.025, .power_window_s = 0.025, .gain = 1.0 }
#define NO_COUNTER \
    { .power_window_s = 0.010, .gain = 1.0 }
#define NO_COUNTER_AVERAGE \
    { .power_window_s = 1.0, .gain = 1.0 }

/* Where a sensor errs, ci95_repeat alone makes no promise: repetition cannot see it. */
static const scenario scenarios[] = {
    {.name = "clean", .sensor = EXACT, .repeat_lo_pct = 93, .repeat_hi_pct = 97, .joules_pct = 95},
    {.name = "same arm twice",
     .sensor = EXACT,
     .same = true,
     .repeat_lo_pct = 93,
     .repeat_hi_pct = 97,
     .joules_pct = 95},
    {.name = "averaging sensor",
     .sensor = AVERAGE,
     .repeat_lo_pct = 93,
     .repeat_hi_pct = 97,
     .joules_pct = 95},
    {.name = "part-time sensor",
     .sensor = PART_TIME,
     .repeat_lo_pct = 93,
     .repeat_hi_pct = 97,
     .joules_pct = 95},
    {.name = "drift",
     .sensor = EXACT,
     .drift_sd = 0.02,
     .drift_arm_sd = 0.003,
     .repeat_lo_pct = 93,
     .repeat_hi_pct = 97},
    {.name = "strong drift",
     .sensor = EXACT,
     .drift_sd = 0.10,
     .drift_arm_sd = 0.01,
     .repeat_lo_pct = 93,
     .repeat_hi_pct = 100},
    {.name = "heavy tails",
     .sensor = EXACT,
     .bursts_per_s = 0.1,
     .stalls_per_token = 1e-4,
     .repeat_lo_pct = 93,
     .repeat_hi_pct = 100},
    {.name = "gain error",
     .sensor = EXACT,
     .gain_half = 0.05,
     .repeat_lo_pct = 93,
     .repeat_hi_pct = 97,
     .joules_pct = 95},
    {.name = "offset error", .sensor = EXACT, .offset_half_w = 5.0, .joules_pct = 95},
    {.name = "offset, small card",
     .sensor = EXACT,
     .small_card = true,
     .offset_half_w = 5.0,
     .joules_pct = 95},
    {.name = "gain and offset",
     .sensor = EXACT,
     .gain_half = 0.05,
     .offset_half_w = 5.0,
     .joules_pct = 95},
    {.name = "no counter",
     .sensor = NO_COUNTER,
     .repeat_lo_pct = 93,
     .repeat_hi_pct = 97,
     .joules_pct = 95},
    {.name = "no counter, average",
     .sensor = NO_COUNTER_AVERAGE,
     .repeat_lo_pct = 93,
     .repeat_hi_pct = 97,
     .joules_pct = 95},
    {.name = "ten blocks",
     .sensor = EXACT,
     .n_blocks = 10,
     .repeat_lo_pct = 93,
     .repeat_hi_pct = 97,
     .joules_pct = 95},
};
enum { N_SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* What one experiment printed, against the truth. */
typedef struct outcome {
    double error, half_width, expanded; /* of the log-ratio */
    bool joules_held, joules_alone_held, bootstrapped, bootstrap_held, wrong_verdict, flagged;
} outcome;

typedef struct tally {
    uint32_t n, repeat, expanded, joules, joules_alone, bootstrapped, bootstrap, wrong, flagged;
    double error_sum, error_squares, half_width_sum, expanded_sum;
    uint32_t warnings[ECO_WARNING_COUNT];
} tally;

/* ---- one experiment ---- */

static double symmetric(uint64_t *state, double half_width) {
    return half_width * (2.0 * virtual_uniform(state) - 1.0);
}

static virtual_world make_world(const scenario *s, uint64_t *state) {
    virtual_world world = {.arms = {BASELINE, s->same ? BASELINE : UNDER_TEST},
                           .sensor = s->sensor,
                           .window_power_sd = 0.003,
                           .window_token_sd = 0.001,
                           .slow_sd = 0.015,
                           .slow_s = 0.2,
                           .fast_sd = 0.02,
                           .drift_s = 60.0,
                           .bursts_per_s = s->bursts_per_s,
                           .stalls_per_token = s->stalls_per_token};
    const double scale = s->small_card ? SMALL_CARD : 1.0;
    world.idle_w = scale * IDLE_W;
    world.arms[0].power_w *= scale;
    world.arms[1].power_w *= scale;
    world.seed = ecoi_rng_next(state);
    world.drift_log = s->drift_sd * virtual_normal(state);
    world.drift_arm_log_per_s = s->drift_arm_sd * virtual_normal(state) / 100.0;
    world.sensor.gain *= 1.0 + symmetric(state, s->gain_half);
    world.sensor.offset_w += symmetric(state, s->offset_half_w);
    return world;
}

static void must(eco_status status, const eco_error *err) {
    if (status != ECO_OK) {
        printf("an experiment failed: %s\n", err->message);
        exit(1);
    }
}

static void session_fill(eco_session *session, const eco_plan *plan) {
    session->plan = plan;
    session->meter = virtual_meter_new();
    eco_meter_describe(session->meter, &session->meter_info);
    session->engine_info.library_known = true;
    session->engine_info.boundary.kind = ECO_BOUNDARY_GPU;
    session->device = -1;
    for (uint32_t i = 0; i < plan->n_arms; i++) {
        eco_session_arm *arm = &session->arms[i];
        arm->format = plan->arms[i];
        arm->workload = (eco_workload){.shape = plan->shape,
                                       .linear = plan->arms[i],
                                       .head = plan->head,
                                       .batch = plan->batch,
                                       .n_prompt = plan->n_prompt,
                                       .n_tokens = plan->n_tokens};
        arm->arm = virtual_arm_handle(i);
        arm->info.progress = virtual_progress();
    }
}

static void burn_in(eco_session *session, uint32_t arm) {
    eco_error err = {0};
    eco_load *load = NULL;
    ecoi_sampler_mark(session->sampler, 0, ECO_PHASE_BURN_IN);
    must(ecoi_load_start(session->arms[arm].arm, ECO_WORK_DECODE, 0, &load, &err), &err);
    ecoi_sleep_until_ns(ecoi_now_ns() + (int64_t)(session->plan->burn_in_s * 1e9));
    must(ecoi_load_stop(load, NULL, &err), &err);
    ecoi_sampler_mark(session->sampler, 0, ECO_PHASE_COOLDOWN);
    must(ecoi_rows_keep(session, arm, &err), &err);
}

/* The steps of protocol/measure.c, without an engine to open and files to write. */
static void session_run(eco_session *session) {
    eco_error err = {0};
    const eco_plan *plan = session->plan;
    uint32_t order[ECO_BLOCKS_MAX * ECO_ARMS_MAX];
    ecoi_idle_loaded(session);
    session->origin_ns = ecoi_now_ns();
    must(ecoi_ceilings_probe(session, &err), &err);
    for (uint32_t i = 0; i < plan->n_arms; i++) {
        burn_in(session, i);
    }
    eco_plan_order(plan, order);
    for (uint32_t block = 0; block < plan->n_blocks; block++) {
        for (uint32_t place = 0; place < plan->n_arms; place++) {
            const eco_window_request request = {.arm = order[block * plan->n_arms + place],
                                                .kind = ECO_WORK_DECODE,
                                                .block = (int32_t)block + 1,
                                                .order = place + 1,
                                                .seconds = plan->window_s,
                                                .cool = true};
            eco_session_arm *arm = &session->arms[request.arm];
            must(ecoi_window_run(session, &request, &arm->windows[arm->n_windows++], &err), &err);
        }
        session->blocks_finished = block + 1;
    }
}

static void session_free(eco_session *session) {
    ecoi_sampler_close(session->sampler);
    eco_meter_close(session->meter);
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        ecoi_free(session->arms[i].rows);
    }
    ecoi_free(session);
}

/* ---- what it printed ---- */

/* The true change: the ratio of the medians, and with a drift of one arm alone its mean over the blocks, each taken at the
 * middle of the block. */
static double true_log_ratio(const virtual_world *world, const eco_session *session) {
    const virtual_arm *a = &world->arms[1];
    const virtual_arm *b = &world->arms[0];
    double drift = 0.0;
    for (uint32_t block = 1; block <= session->blocks_finished; block++) {
        double middle_s = (double)session->origin_ns * 1e-9;
        for (uint32_t i = 0; i < 2; i++) {
            const eco_window_figures *f =
                &ecoi_window_find(&session->arms[i], (int32_t)block, ECO_PHASE_DECODE)->figures;
            middle_s += (double)(f->t_open_ns + f->t_close_ns) * 1e-9 / 4.0;
        }
        drift += world->drift_arm_log_per_s * middle_s;
    }
    return log(a->power_w * a->token_s / (b->power_w * b->token_s)) +
           drift / session->blocks_finished;
}

static double number(const eco_report *report, eco_field field, eco_at at) {
    double value = 0.0;
    if (!eco_report_number(report, field, at, &value)) {
        printf("%s is not in the report\n", eco_field_at(field)->path);
        exit(1);
    }
    return value;
}

static void judge_joules(const virtual_world *world, const eco_report *report, outcome *out) {
    const double absolute = log1p(number(report, ECO_FIELD_UX_ABS_PCT, ECO_TOP) / 100.0);
    out->joules_held = true;
    out->joules_alone_held = true;
    for (uint32_t i = 0; i < 2; i++) {
        const virtual_arm *arm = &world->arms[i];
        const double truth = log(arm->power_w * arm->token_s * 1e3);
        const double mean = log(number(report, ECO_FIELD_AR_MJ, ECO_AT1(i)));
        const double repeat = log(number(report, ECO_FIELD_AR_MJ_HI, ECO_AT1(i))) - mean;
        out->joules_held &= fabs(mean - truth) <= absolute + repeat;
        out->joules_alone_held &= fabs(mean - truth) <= absolute;
    }
}

static void judge(const virtual_world *world, const eco_session *session, const eco_report *report,
                  outcome *out, uint32_t warnings[ECO_WARNING_COUNT]) {
    const double truth = true_log_ratio(world, session);
    const char *verdict = "";
    double lo_pct = 0.0;
    double hi_pct = 0.0;
    out->error = number(report, ECO_FIELD_UN_MEAN, ECO_TOP) - truth;
    out->half_width = number(report, ECO_FIELD_UN_HALF, ECO_TOP);
    out->expanded = log1p(number(report, ECO_FIELD_UX_PCT, ECO_TOP) / 100.0);
    judge_joules(world, report, out);
    out->bootstrapped = eco_report_number(report, ECO_FIELD_UB_LO, ECO_TOP, &lo_pct) &&
                        eco_report_number(report, ECO_FIELD_UB_HI, ECO_TOP, &hi_pct);
    out->bootstrap_held =
        out->bootstrapped && lo_pct <= eco_pct_of_log(truth) && eco_pct_of_log(truth) <= hi_pct;
    if (eco_report_string(report, ECO_FIELD_RE_VERDICT, ECO_TOP, &verdict)) {
        out->wrong_verdict = (strcmp(verdict, "saves") == 0 && !(truth < 0.0)) ||
                             (strcmp(verdict, "costs") == 0 && !(truth > 0.0)) ||
                             (strcmp(verdict, "no difference") == 0 &&
                              fabs(eco_pct_of_log(truth)) > session->plan->margin_pct);
    }
    for (uint32_t i = 0; i < ECO_WARNING_COUNT; i++) {
        /* These two speak of the build and the model, the next of the scenario itself. */
        if (i != ECO_WARNING_SYNTHETIC_WEIGHTS && i != ECO_WARNING_DEBUG_BUILD &&
            (i != ECO_WARNING_NO_COUNTER || world->sensor.counter) &&
            eco_report_has_warning(report, (eco_warning)i)) {
            warnings[i]++;
            out->flagged = true;
        }
    }
}

static outcome experiment(const scenario *s, uint64_t seed, uint32_t warnings[ECO_WARNING_COUNT]) {
    uint64_t state = seed;
    const virtual_world world = make_world(s, &state);
    const eco_plan plan = {.shape = eco_model_find("SmolLM2-135M"),
                           .arms = {ECO_FORMAT_FP16, ECO_FORMAT_NF4},
                           .n_arms = 2,
                           .head = ECO_FORMAT_FP16,
                           .batch = 1,
                           .n_prompt = 128,
                           .n_tokens = 256,
                           .order_seed = ecoi_rng_next(&state),
                           .shuffle = true,
                           .n_blocks = s->n_blocks > 0 ? s->n_blocks : 5,
                           .window_s = 5.0,
                           .window_ticks_min = 50.0,
                           .ramp_s = 1.2,
                           .burn_in_s = 1.5,
                           .cooldown_max_s = 5.0,
                           .margin_pct = 3.0};
    eco_session *session = ecoi_calloc(1, sizeof *session);
    eco_report *report = eco_report_new();
    outcome out = {0};
    if (session == NULL || report == NULL) {
        printf("out of memory\n");
        exit(1);
    }
    virtual_start(&world);
    session_fill(session, &plan);
    session_run(session);
    ecoi_report_results(session, 1, report);
    ecoi_report_warnings(session, 1, report);
    judge(&world, session, report, &out, warnings);
    eco_report_free(report);
    session_free(session);
    return out;
}

/* ---- the table ---- */

static double share_pct(uint32_t part, uint32_t whole) {
    return whole > 0 ? 100.0 * part / whole : 0.0;
}

static tally run_scenario(const scenario *s, uint32_t n_experiments, uint64_t seed) {
    tally t = {0};
    for (uint32_t e = 0; e < n_experiments; e++) {
        const outcome o = experiment(s, ecoi_rng_next(&seed), t.warnings);
        t.n++;
        t.repeat += fabs(o.error) <= o.half_width;
        t.expanded += fabs(o.error) <= o.half_width + o.expanded;
        t.joules += o.joules_held;
        t.joules_alone += o.joules_alone_held;
        t.bootstrapped += o.bootstrapped;
        t.bootstrap += o.bootstrap_held;
        t.wrong += o.wrong_verdict;
        t.flagged += o.flagged;
        t.error_sum += o.error;
        t.error_squares += o.error * o.error;
        t.half_width_sum += o.half_width;
        t.expanded_sum += o.expanded;
    }
    return t;
}

static void print_row(const scenario *s, const tally *t) {
    printf("| %-19s | %+6.3f | %5.3f | %5.3f | %5.3f | %5.1f | %5.1f | %5.1f | %5.1f | %4.1f | ",
           s->name, 100.0 * t->error_sum / t->n, 100.0 * sqrt(t->error_squares / t->n),
           100.0 * t->half_width_sum / t->n, 100.0 * t->expanded_sum / t->n,
           share_pct(t->repeat, t->n), share_pct(t->expanded, t->n),
           share_pct(t->joules_alone, t->n), share_pct(t->joules, t->n), share_pct(t->wrong, t->n));
    printf("%4.1f |\n", share_pct(t->flagged, t->n));
    (void)fflush(stdout);
}

static uint32_t promise(const char *scenario_name, const char *what, double got_pct, double lo_pct,
                        double hi_pct) {
    if (got_pct >= lo_pct && got_pct <= hi_pct) {
        return 0;
    }
    printf("NOT KEPT: %s: %s: %.1f %%, promised %.1f to %.1f %%\n", scenario_name, what, got_pct,
           lo_pct, hi_pct);
    return 1;
}

static uint32_t judge_scenario(const scenario *s, const tally *t) {
    uint32_t n_broken = 0;
    if (s->repeat_hi_pct > 0.0) {
        n_broken += promise(s->name, "true change in ci95_repeat", share_pct(t->repeat, t->n),
                            s->repeat_lo_pct, s->repeat_hi_pct);
    }
    n_broken += promise(s->name, "true change in ci95_repeat and u_expanded",
                        share_pct(t->expanded, t->n), PROMISED_PCT, ALL_PCT);
    if (s->joules_pct > 0.0) {
        n_broken += promise(s->name, "true joules of both arms in absolute_pct and repeat",
                            share_pct(t->joules, t->n), s->joules_pct, ALL_PCT);
    }
    const double bootstrapped_pct = s->n_blocks >= ECO_BOOTSTRAP_MIN ? ALL_PCT : 0.0;
    n_broken += promise(s->name, "reports with a bootstrap", share_pct(t->bootstrapped, t->n),
                        bootstrapped_pct, bootstrapped_pct);
    n_broken += promise(s->name, "wrong verdicts", share_pct(t->wrong, t->n), 0.0, WRONG_PCT);
    n_broken += promise(s->name, "flagged", share_pct(t->flagged, t->n), 0.0, WRONG_PCT);
    return n_broken;
}

int main(int argc, char **argv) {
    const uint32_t n_experiments = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : EXPERIMENTS;
    uint32_t n_broken = 0;
    uint32_t n_run = 0;
    printf("%u experiments a scenario; percent everywhere.\n\n", n_experiments);
    printf("| scenario | mean error | rms error | ± repeat | ± expanded | in repeat | in both | "
           "joules in absolute | and repeat | wrong verdict | flagged |\n");
    printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (uint32_t i = 0; i < N_SCENARIOS && n_experiments > 0; i++) {
        const scenario *s = &scenarios[i];
        if (argc > 2 && strcmp(argv[2], s->name) != 0) {
            continue;
        }
        const tally t = run_scenario(s, n_experiments, i + 1);
        print_row(s, &t);
        for (uint32_t w = 0; w < ECO_WARNING_COUNT; w++) {
            if (t.warnings[w] > 0) {
                printf("(%s: %u times %s)\n", s->name, t.warnings[w],
                       eco_warning_at((eco_warning)w)->code);
            }
        }
        if (t.bootstrapped > 0) {
            printf("(%s: bootstrap95 holds %.1f)\n", s->name,
                   share_pct(t.bootstrap, t.bootstrapped));
        }
        n_broken += n_experiments >= EXPERIMENTS ? judge_scenario(s, &t) : 0;
        n_run++;
    }
    printf("\n%u scenarios, %u promises not kept%s\n", n_run, n_broken,
           n_experiments >= EXPERIMENTS ? "" : "; too few experiments to judge");
    return n_broken == 0 && n_run > 0 ? 0 : 1;
}
