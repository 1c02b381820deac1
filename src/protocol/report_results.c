/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of a report: results, uncertainty, trials, explanation, warnings.
 */
#include "protocol/summary_arm.h"

#include <math.h>
#include <stdio.h>

enum { MATRIX_DECIMALS = 6 }; /* TFLOP/s, TOP/s: a slow CPU has thousandths of them */

typedef struct pair {
    eco_report *report;
    const eco_session *session;
    uint32_t arm;      /* under test; 0 = the baseline alone */
    uint32_t order[2]; /* arms of this report: the baseline, then the one under test */
    uint32_t n_arms;
    eco_arm_summary summary[2];
    double log_ratios[ECO_BLOCKS_MAX];
    uint32_t n_pairs;
    eco_mean ratio;
    eco_bound bounds[2];
    double bytes[2];
} pair;

static const char *arm_name(const pair *p, uint32_t i) {
    return eco_format_at(p->session->arms[p->order[i]].format)->name;
}

static void put(eco_report *report, eco_field field, eco_at at, double value, int decimals) {
    if (value > 0.0) {
        eco_report_set_rounded(report, field, at, value, decimals);
    } else {
        eco_report_set_null(report, field, at);
    }
}

static void results(const pair *p) {
    eco_report *r = p->report;
    const eco_arm_summary *own = &p->summary[p->n_arms - 1];
    const bool energy = own->mj_per_token > 0.0;
    const bool compared = energy && p->n_arms == 2 && p->n_pairs > 0;
    put(r, ECO_FIELD_RE_JOULES, ECO_TOP, own->joules_sum, 3);
    put(r, ECO_FIELD_RE_TOKENS, ECO_TOP, own->tokens_sum, 3);
    put(r, ECO_FIELD_RE_MJ, ECO_TOP, own->mj_per_token, 3);
    put(r, ECO_FIELD_RE_W, ECO_TOP, own->power_w, 3);
    put(r, ECO_FIELD_RE_TPS, ECO_TOP, own->tokens_per_s, 3);
    eco_report_set_string(r, ECO_FIELD_RE_BASIS, ECO_TOP,
                          eco_basis_name(energy ? own->energy_basis : ECO_BASIS_UNAVAILABLE));
    eco_report_set_string(r, ECO_FIELD_RE_TIME_BASIS, ECO_TOP, eco_basis_name(own->time_basis));
    if (p->n_arms == 2) {
        put(r, ECO_FIELD_RE_FP16_MJ, ECO_TOP, p->summary[0].mj_per_token, 3);
        if (compared) {
            eco_report_set_rounded(r, ECO_FIELD_RE_DELTA, ECO_TOP, eco_pct_of_log(p->ratio.mean),
                                   3);
        } else {
            eco_report_set_null(r, ECO_FIELD_RE_DELTA, ECO_TOP);
        }
        const eco_verdict verdict =
            compared ? eco_verdict_of(&p->ratio, p->session->plan->margin_pct) : ECO_VERDICT_NONE;
        eco_report_set_string(r, ECO_FIELD_RE_VERDICT, ECO_TOP, eco_verdict_name(verdict));
    }
    if (!energy && p->session->meter == NULL) {
        eco_report_set_string(r, ECO_FIELD_RE_NOTE, ECO_TOP, p->session->no_meter);
    } else if (own->n == 0) {
        eco_report_set_string(r, ECO_FIELD_RE_NOTE, ECO_TOP, p->session->fault.message);
    }
}

/* By how many places the arm came after the baseline, mean over blocks. */
static double order_shift(const pair *p) {
    double sum = 0.0;
    uint32_t n = 0;
    for (uint32_t block = 1; block <= p->session->blocks_finished; block++) {
        const eco_window *base = ecoi_window_find(&p->session->arms[0], (int32_t)block,
                                                  ecoi_headline_phase(p->session->plan));
        const eco_window *arm = ecoi_window_find(&p->session->arms[p->arm], (int32_t)block,
                                                 ecoi_headline_phase(p->session->plan));
        if (base != NULL && arm != NULL) {
            sum += (double)arm->order - (double)base->order;
            n++;
        }
    }
    return n > 0 ? sum / n : 0.0;
}

static double power_lag_s(const eco_sensor *sensor) {
    return (eco_reading_present(sensor->power_rise_s) ? sensor->power_rise_s.value : 0.0) +
           (eco_reading_present(sensor->power_period_s)     ? sensor->power_period_s.value
            : eco_reading_present(sensor->counter_period_s) ? sensor->counter_period_s.value
                                                            : 0.0);
}

static void bootstrap(const pair *p) {
    const uint64_t seed = p->session->plan->order_seed;
    double lo = 0.0;
    double hi = 0.0;
    if (!eco_bootstrap95(p->log_ratios, p->n_pairs, seed, &lo, &hi)) {
        return; /* fewer than ten blocks */
    }
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    eco_report_set_rounded(p->report, ECO_FIELD_UB_LO, ECO_TOP, eco_pct_of_log(lo), 3);
    eco_report_set_rounded(p->report, ECO_FIELD_UB_HI, ECO_TOP, eco_pct_of_log(hi), 3);
    eco_report_set_integer(p->report, ECO_FIELD_UB_N, ECO_TOP, ECO_BOOTSTRAP_RESAMPLES);
    eco_report_set_string(p->report, ECO_FIELD_UB_SEED, ECO_TOP, text);
}

/* Of a pair, or of the one arm there is: then base and own are the same. */
static eco_uncertainty_input uncertainty_input(const pair *p, uint32_t n_blocks) {
    const eco_arm_summary *base = &p->summary[0];
    const eco_arm_summary *own = &p->summary[p->n_arms - 1];
    const eco_sensor_term *declared = &p->session->meter_info.declared;
    return (eco_uncertainty_input){.n_blocks = n_blocks,
                                   .n_arms = p->session->plan->n_arms,
                                   .seconds = fmin(base->seconds_min, own->seconds_min),
                                   .edge_half_width_s =
                                       fmax(base->edge_half_width_s, own->edge_half_width_s),
                                   .tokens_arm = own->tokens_mean,
                                   .tokens_baseline = base->tokens_mean,
                                   .count_step = p->session->plan->batch,
                                   .power_arm_w = own->power_w,
                                   .power_baseline_w = base->power_w,
                                   .counter_integral_arm = own->counter_to_integral,
                                   .counter_integral_baseline = base->counter_to_integral,
                                   .drift_arm_log = own->drift_log,
                                   .drift_baseline_log = base->drift_log,
                                   .order_shift = order_shift(p),
                                   .power_sd_arm = own->power_sd,
                                   .power_sd_baseline = base->power_sd,
                                   .power_updates = fmin(base->power_updates, own->power_updates),
                                   .power_lag_s = power_lag_s(&p->session->sensor),
                                   .has_counter = p->session->meter_info.energy_field != NULL,
                                   .sensor_gain = declared->gain,
                                   .sensor_offset_w = declared->offset_w};
}

static void expanded(const pair *p) {
    eco_report *r = p->report;
    const eco_sensor_term *declared = &p->session->meter_info.declared;
    const bool compared = p->n_arms == 2;
    const eco_uncertainty_input input =
        uncertainty_input(p, compared ? p->n_pairs : p->summary[0].n);
    const eco_uncertainty u = compared ? eco_uncertainty_of(&input) : eco_uncertainty_alone(&input);
    if (compared) {
        eco_report_set_rounded(r, ECO_FIELD_UX_PCT, ECO_TOP, 100.0 * u.expanded_ratio, 4);
    } else {
        eco_report_set_null(r, ECO_FIELD_UX_PCT, ECO_TOP); /* there is no change */
    }
    eco_report_set_rounded(r, ECO_FIELD_UX_ABS_PCT, ECO_TOP, 100.0 * u.expanded_absolute, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_TICK, ECO_TOP, 100.0 * u.tick, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_READ, ECO_TOP, 100.0 * u.read, 4);
    if (compared) {
        eco_report_set_rounded(r, ECO_FIELD_UX_DRIFT, ECO_TOP, 100.0 * u.drift, 4);
    }
    eco_report_set_rounded(r, ECO_FIELD_UX_INTEGRAL, ECO_TOP, 100.0 * u.counter_integral, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_SAMPLING, ECO_TOP, 100.0 * u.sampling, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_OFFSET, ECO_TOP, 100.0 * u.sensor_offset, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_GAIN, ECO_TOP, 100.0 * u.sensor_gain, 4);
    eco_report_set_integer(r, ECO_FIELD_UX_COUNT_STEP, ECO_TOP, p->session->plan->batch);
    eco_report_set_rounded(r, ECO_FIELD_UX_DECLARED_GAIN, ECO_TOP, 100.0 * declared->gain, 4);
    eco_report_set_rounded(r, ECO_FIELD_UX_DECLARED_OFFSET, ECO_TOP, declared->offset_w, 4);
    eco_report_set_string(r, ECO_FIELD_UX_DECLARED_SOURCE, ECO_TOP, declared->source);
}

static void uncertainty(const pair *p) {
    if (p->n_arms == 1 && p->summary[0].mj_per_token > 0.0) {
        expanded(p);
    }
    if (p->n_arms == 1 || p->n_pairs == 0) {
        return;
    }
    eco_report *r = p->report;
    const eco_mean *m = &p->ratio;
    if (m->n >= 2) {
        eco_report_set_rounded(r, ECO_FIELD_UN_LO, ECO_TOP, eco_pct_of_log(m->mean - m->half_width),
                               3);
        eco_report_set_rounded(r, ECO_FIELD_UN_HI, ECO_TOP, eco_pct_of_log(m->mean + m->half_width),
                               3);
        eco_report_set_rounded(r, ECO_FIELD_UN_HALF, ECO_TOP, m->half_width, 6);
        eco_report_set_rounded(r, ECO_FIELD_UN_SD, ECO_TOP, m->sd, 6);
    } else {
        eco_report_set_null(r, ECO_FIELD_UN_LO, ECO_TOP);
        eco_report_set_null(r, ECO_FIELD_UN_HI, ECO_TOP);
    }
    eco_report_set_rounded(r, ECO_FIELD_UN_MEAN, ECO_TOP, m->mean, 6);
    eco_report_set_integer(r, ECO_FIELD_UN_N, ECO_TOP, m->n);
    eco_report_set_string(
        r, ECO_FIELD_UN_METHOD, ECO_TOP,
        "Student's t on the paired log-ratios, back-transformed; n = 1 has no interval");
    bootstrap(p);
    expanded(p);
}

static void throttle_names(eco_report *r, eco_at at, uint32_t throttle) {
    static const struct {
        uint32_t bit;
        const char *name;
    } rows[] = {{ECO_THROTTLE_POWER_CAP, "power_cap"},
                {ECO_THROTTLE_THERMAL, "thermal"},
                {ECO_THROTTLE_POWER_BRAKE, "power_brake"},
                {ECO_THROTTLE_USER_CLOCKS, "user_clocks"},
                {ECO_THROTTLE_OTHER, "other"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((throttle & rows[i].bit) != 0) {
            eco_report_add_string(r, ECO_FIELD_WI_THROTTLE, at, rows[i].name);
        }
    }
}

static void one_window(const pair *p, const eco_window *w, eco_at at) {
    eco_report *r = p->report;
    const eco_window_figures *f = &w->figures;
    const bool metered = p->session->meter != NULL;
    const double tick_s = p->session->sensor.counter_period_s.value;
    eco_report_set_string(r, ECO_FIELD_WI_KIND, at, eco_phase_name(w->phase));
    eco_report_set_integer(r, ECO_FIELD_WI_BLOCK, at, w->block);
    if (w->order > 0) {
        eco_report_set_integer(r, ECO_FIELD_WI_ORDER, at, w->order);
    }
    eco_report_set_rounded(r, ECO_FIELD_WI_OPEN, at, (double)f->t_open_ns * 1e-9, 6);
    eco_report_set_rounded(r, ECO_FIELD_WI_CLOSE, at, (double)f->t_close_ns * 1e-9, 6);
    put(r, ECO_FIELD_WI_J, at, f->energy_j, 3);
    put(r, ECO_FIELD_WI_INTEGRAL_J, at, f->has_integral ? f->integral_j : 0.0, 3);
    put(r, ECO_FIELD_WI_RATIO, at, f->counter_to_integral, 5);
    eco_report_set_rounded(r, ECO_FIELD_WI_TOKENS, at, f->tokens, 3);
    put(r, ECO_FIELD_WI_MJ, at, f->mj_per_token, 3);
    put(r, ECO_FIELD_WI_W, at, f->power_w, 3);
    put(r, ECO_FIELD_WI_TPS, at, f->tokens_per_s, 3);
    if (!metered) {
        return;
    }
    if (f->has_counter && eco_reading_present(p->session->sensor.counter_period_s) &&
        tick_s > 0.0) {
        eco_report_set_rounded(r, ECO_FIELD_WI_TICKS, at, f->seconds / tick_s, 1);
    }
    eco_report_set_rounded(r, ECO_FIELD_WI_UT, at, w->edge_half_width_s, 6);
    eco_report_set_reading(r, ECO_FIELD_WI_TEMP_START, at, f->temp_start_c, 1);
    eco_report_set_reading(r, ECO_FIELD_WI_TEMP_END, at, f->temp_end_c, 1);
    eco_report_set_reading(r, ECO_FIELD_WI_CLOCK_MIN, at, w->stats.sm_clock_min_mhz, 0);
    eco_report_set_reading(r, ECO_FIELD_WI_CLOCK_MAX, at, w->stats.sm_clock_max_mhz, 0);
    if (p->session->plan->thermal == ECO_THERMAL_STEADY) {
        eco_report_set_reading(r, ECO_FIELD_WI_STEADY_C, at, w->steady_c, 1);
        eco_report_set_bool(r, ECO_FIELD_WI_STEADY, at, w->steady);
        eco_report_set_rounded(r, ECO_FIELD_WI_STEADY_S, at, w->steady_s, 3);
    } else {
        eco_report_set_rounded(r, ECO_FIELD_WI_COOLDOWN, at, w->cooldown_s, 3);
        eco_report_set_bool(r, ECO_FIELD_WI_COOLED, at, w->cooled);
    }
    eco_report_set_rounded(r, ECO_FIELD_WI_GAP, at, (double)w->stats.longest_gap_ns * 1e-9, 4);
    throttle_names(r, at, w->stats.throttle_seen);
}

static void extra_energies(const pair *p, uint32_t i, const eco_session_arm *arm) {
    eco_report *r = p->report;
    const eco_window *prefill = ecoi_window_find(arm, 0, ECO_PHASE_PREFILL);
    const eco_window *generation = ecoi_window_find(arm, 0, ECO_PHASE_GENERATION);
    if (prefill != NULL) {
        put(r, ECO_FIELD_AR_PREFILL_MJ, ECO_AT1(i), prefill->figures.mj_per_token, 3);
        put(r, ECO_FIELD_AR_PREFILL_TPS, ECO_AT1(i), prefill->figures.tokens_per_s, 3);
    }
    if (generation != NULL) {
        const double steps = (double)arm->workload.n_prompt + arm->workload.n_tokens;
        put(r, ECO_FIELD_AR_GEN_MJ, ECO_AT1(i),
            generation->figures.mj_per_token * steps / arm->workload.n_tokens, 3);
    }
}

static void one_arm(const pair *p, uint32_t i) {
    eco_report *r = p->report;
    const eco_at at = ECO_AT1(i);
    const eco_session_arm *arm = &p->session->arms[p->order[i]];
    const eco_arm_summary *s = &p->summary[i];
    eco_report_set_string(r, ECO_FIELD_AR_PRECISION, at, arm_name(p, i));
    eco_report_set_string(r, ECO_FIELD_AR_ROLE, at, i == 0 ? "baseline" : "under_test");
    put(r, ECO_FIELD_AR_MJ, at, s->mj_per_token, 3);
    if (s->mj_per_token > 0.0 && s->n >= 2) {
        put(r, ECO_FIELD_AR_MJ_LO, at, exp(s->log_mj.mean - s->log_mj.half_width), 3);
        put(r, ECO_FIELD_AR_MJ_HI, at, exp(s->log_mj.mean + s->log_mj.half_width), 3);
    }
    put(r, ECO_FIELD_AR_TPS, at, s->tokens_per_s, 3);
    put(r, ECO_FIELD_AR_W, at, s->power_w, 3);
    const eco_reading idle_w = p->session->sensor.idle_loaded_w;
    if (s->mj_per_token > 0.0 && eco_reading_present(idle_w)) {
        eco_report_set_rounded(r, ECO_FIELD_AR_NET_MJ, at,
                               s->mj_per_token - idle_w.value / s->tokens_per_s * 1e3, 3);
    }
    extra_energies(p, i, arm);
    put(r, ECO_FIELD_AR_WEIGHT_BYTES, at, (double)arm->info.weight_bytes, 0);
    eco_report_set_integer(r, ECO_FIELD_AR_LAUNCHES, at, arm->info.launches_per_token);
    eco_report_set_string(r, ECO_FIELD_AR_KERNELS, at, arm->info.kernels);
    for (uint32_t w = 0; w < arm->n_windows; w++) {
        one_window(p, &arm->windows[w], ECO_AT2(i, w));
    }
}

static void trials(const pair *p) {
    eco_report *r = p->report;
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)p->session->plan->order_seed);
    eco_report_set_integer(r, ECO_FIELD_TR_PLANNED, ECO_TOP, p->session->plan->n_blocks);
    eco_report_set_integer(r, ECO_FIELD_TR_DONE, ECO_TOP, p->session->blocks_finished);
    eco_report_set_integer(r, ECO_FIELD_TR_ARMS, ECO_TOP, p->session->plan->n_arms);
    eco_report_set_string(r, ECO_FIELD_TR_SEED, ECO_TOP, seed);
    if (p->session->resumption.n > 0) {
        eco_report_set_integer(r, ECO_FIELD_TR_RESUMED, ECO_TOP, p->session->resumption.n);
    }
    for (uint32_t i = 0; i < p->n_arms; i++) {
        one_arm(p, i);
    }
    for (uint32_t i = 0; i < p->n_pairs; i++) {
        eco_report_set_integer(r, ECO_FIELD_PA_BLOCK, ECO_AT1(i), (int64_t)i + 1);
        eco_report_set_rounded(r, ECO_FIELD_PA_LOG, ECO_AT1(i), p->log_ratios[i], 6);
    }
}

static void bound_arm(pair *p, uint32_t i) {
    const eco_session *session = p->session;
    const eco_arm_summary *s = &p->summary[i];
    p->bytes[i] = ecoi_bytes_per_token(session, p->order[i]);
    const eco_bound_input input = {
        .bytes_per_token = p->bytes[i],
        .token_s = s->tokens_per_s > 0.0 ? 1.0 / s->tokens_per_s : 0.0,
        .mj_per_token = s->mj_per_token,
        .read_bytes_per_s = session->ceilings.read_bytes_per_s,
        .read_j_per_byte = session->ceilings.read_j_per_byte,
        .launch_s = session->ceilings.launch_s,
        .launches_per_token = ecoi_launches_per_token(session, p->order[i]),
        .flops_per_token = ecoi_flops_per_token(session),
        .matrix_flops_per_s =
            eco_format_at(session->arms[p->order[i]].format)->quantizes_activations
                ? session->ceilings.matrix_int8_ops_per_s
                : session->ceilings.matrix_fp16_ops_per_s,
        .power_capped = (s->throttle & ECO_THROTTLE_POWER_CAP) != 0,
        .throttled = (s->throttle & (ECO_THROTTLE_THERMAL | ECO_THROTTLE_POWER_BRAKE)) != 0};
    p->bounds[i] = eco_explain_bound(&input);
}

static void explain(pair *p) {
    eco_report *r = p->report;
    const eco_ceilings *c = &p->session->ceilings;
    put(r, ECO_FIELD_EX_BW, ECO_TOP, c->read_bytes_per_s * 1e-9, 3);
    put(r, ECO_FIELD_EX_BW_W, ECO_TOP, c->read_power_w, 3);
    put(r, ECO_FIELD_EX_MJ_GB, ECO_TOP, c->read_j_per_byte * 1e12, 3);
    put(r, ECO_FIELD_EX_UNIT_BYTES, ECO_TOP, c->read_unit_bytes, 0);
    put(r, ECO_FIELD_EX_LAUNCH_US, ECO_TOP, c->launch_s * 1e6, 4);
    if (c->matrix_fp16_ops_per_s > 0.0) {
        put(r, ECO_FIELD_EX_FP16, ECO_TOP, c->matrix_fp16_ops_per_s * 1e-12, MATRIX_DECIMALS);
    }
    if (c->matrix_int8_ops_per_s > 0.0) {
        put(r, ECO_FIELD_EX_INT8, ECO_TOP, c->matrix_int8_ops_per_s * 1e-12, MATRIX_DECIMALS);
    }
    for (uint32_t i = 0; i < p->n_arms; i++) {
        bound_arm(p, i);
        const eco_bound *b = &p->bounds[i];
        const eco_at at = ECO_AT1(i);
        eco_report_set_string(r, ECO_FIELD_EA_PRECISION, at, arm_name(p, i));
        eco_report_set_rounded(r, ECO_FIELD_EA_BYTES, at, p->bytes[i], 0);
        put(r, ECO_FIELD_EA_TOKEN_US, at,
            p->summary[i].tokens_per_s > 0 ? 1e6 / p->summary[i].tokens_per_s : 0, 3);
        put(r, ECO_FIELD_EA_ROOF_US, at, b->roofline_s * 1e6, 3);
        put(r, ECO_FIELD_EA_ROOF_MJ, at, b->roofline_j * 1e3, 3);
        put(r, ECO_FIELD_EA_BW_SHARE, at, b->bandwidth_share, 4);
        put(r, ECO_FIELD_EA_LAUNCH_SHARE, at, b->launch_share, 4);
        eco_report_set_rounded(r, ECO_FIELD_EA_FLOPS, at, ecoi_flops_per_token(p->session), 0);
        if (b->compute_share > 0.0) {
            put(r, ECO_FIELD_EA_COMPUTE_SHARE, at, b->compute_share, 4);
        }
        put(r, ECO_FIELD_EA_ENERGY_FACTOR, at, b->energy_factor, 3);
        eco_report_set_string(r, ECO_FIELD_EA_BOUND, at, b->name);
    }
    eco_text text = {0};
    const eco_arm_summary *base = &p->summary[0];
    const eco_arm_summary *own = &p->summary[p->n_arms - 1];
    if (p->n_arms == 2 && p->n_pairs > 0 && base->power_w > 0.0 && own->tokens_per_s > 0.0) {
        eco_explain_why(&p->bounds[0], &p->bounds[1], arm_name(p, 0), arm_name(p, 1),
                        eco_pct_of_log(p->ratio.mean), p->bytes[1] / p->bytes[0],
                        base->tokens_per_s / own->tokens_per_s, own->power_w / base->power_w,
                        &text);
        eco_report_set_string(r, ECO_FIELD_EX_WHY, ECO_TOP, text.data);
    }
    eco_text_free(&text);
    if (own->n > 0 && own->mj_per_token > 0.0) {
        eco_explain_advice(&p->bounds[p->n_arms - 1], arm_name(p, p->n_arms - 1), &text);
        eco_report_set_string(r, ECO_FIELD_EX_ADVICE, ECO_TOP, text.data);
    }
    eco_text_free(&text);
}

void ecoi_report_results(const eco_session *session, uint32_t arm, eco_report *report) {
    pair p = {.report = report,
              .session = session,
              .arm = arm,
              .order = {0, arm},
              .n_arms = arm == 0 ? 1 : 2};
    for (uint32_t i = 0; i < p.n_arms; i++) {
        p.summary[i] = ecoi_arm_summary(session, p.order[i]);
    }
    if (p.n_arms == 2) {
        p.n_pairs = ecoi_log_ratios(session, arm, p.log_ratios);
        p.ratio = eco_mean_of(p.log_ratios, p.n_pairs);
    }
    results(&p);
    uncertainty(&p);
    trials(&p);
    explain(&p);
}
