/* SPDX-License-Identifier: Apache-2.0
 *
 * Re-deriving a report's headline numbers from its traces. The figures of a window come from the same function as
 * in the live run, on the rows as the trace prints them, so a printed number may differ by its own rounding only:
 * half a unit of its last printed decimal and one part in a million. What does not agree is a finding.
 */
#include "report/recompute.h"

#include "core/alloc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- Traces ----------------------------------------------------------------------------------- */

/* The place in power_trace.files of arm `arm`: that of its precision, where two share one that of its role too. */
static bool find_file(const ecoi_recomputation *r, uint32_t arm, uint32_t *out) {
    const bool baseline = ecoi_string_is(r->report, ECO_FIELD_AR_ROLE, ECO_AT1(arm), "baseline");
    const uint32_t n_files = eco_report_array_size(r->report, ECO_FIELD_PF_FILE, ECO_TOP);
    bool found = false;
    for (uint32_t i = 0; i < n_files; i++) {
        if (!ecoi_same_string(r->report, ECO_FIELD_PF_PRECISION, ECO_AT1(i), ECO_FIELD_AR_PRECISION,
                              ECO_AT1(arm))) {
            continue;
        }
        const bool same_role =
            ecoi_string_is(r->report, ECO_FIELD_PF_ROLE, ECO_AT1(i), "fp16_baseline") == baseline;
        if (!found || same_role) {
            *out = i;
            found = true;
        }
    }
    return found;
}

static bool load_trace(const ecoi_recomputation *r, uint32_t arm, const eco_trace_text *traces,
                       size_t n_traces) {
    ecoi_arm_figures *const figures = &r->arms[arm];
    uint32_t place = 0;
    if (!find_file(r, arm, &place) ||
        !eco_report_string(r->report, ECO_FIELD_PF_FILE, ECO_AT1(place), &figures->file)) {
        eco_findings_add(r->out, "trials.arms[%u]: power_trace.files names no trace for it",
                         (unsigned)arm);
        return false;
    }
    for (size_t i = 0; i < n_traces; i++) {
        if (strcmp(traces[i].file, figures->file) != 0) {
            continue;
        }
        eco_error err = {0};
        if (eco_trace_parse(traces[i].text, traces[i].length, traces[i].file, &figures->rows,
                            &figures->n_rows, &err) != ECO_OK) {
            eco_findings_add(r->out, "%s", err.message);
            return false;
        }
        ecoi_compare_count(r, ECO_FIELD_PF_SAMPLES, ECO_AT1(place), figures->n_rows);
        return true;
    }
    eco_findings_add(r->out, "%s: the trace was not given", figures->file);
    return false;
}

/* ---- Windows ---------------------------------------------------------------------------------- */

static void compare_window(const ecoi_recomputation *r, eco_at at, const eco_window_figures *f) {
    ecoi_compare(r, ECO_FIELD_WI_OPEN, at, (double)f->t_open_ns * 1e-9, ECOI_TIME_DECIMALS);
    ecoi_compare(r, ECO_FIELD_WI_CLOSE, at, (double)f->t_close_ns * 1e-9, ECOI_TIME_DECIMALS);
    ecoi_compare_positive(r, ECO_FIELD_WI_J, at, f->energy_j, ECOI_PLAIN_DECIMALS);
    ecoi_compare_optional(r, ECO_FIELD_WI_INTEGRAL_J, at, f->has_integral ? f->integral_j : 0.0,
                          ECOI_PLAIN_DECIMALS);
    ecoi_compare_optional(r, ECO_FIELD_WI_RATIO, at, f->counter_to_integral, ECOI_RATIO_DECIMALS);
    ecoi_compare_positive(r, ECO_FIELD_WI_TOKENS, at, f->tokens, ECOI_PLAIN_DECIMALS);
    ecoi_compare_positive(r, ECO_FIELD_WI_MJ, at, f->mj_per_token, ECOI_PLAIN_DECIMALS);
    ecoi_compare_positive(r, ECO_FIELD_WI_W, at, f->power_w, ECOI_PLAIN_DECIMALS);
    ecoi_compare_positive(r, ECO_FIELD_WI_TPS, at, f->tokens_per_s, ECOI_PLAIN_DECIMALS);
    ecoi_compare_reading(r, ECO_FIELD_WI_TEMP_START, at, f->temp_start_c);
    ecoi_compare_reading(r, ECO_FIELD_WI_TEMP_END, at, f->temp_end_c);
}

/* The windows made once an arm: looped prefill, and whole generations told per output token. */
static void compare_extra(const ecoi_recomputation *r, uint32_t arm, eco_phase phase,
                          const eco_window_figures *f) {
    if (phase == ECO_PHASE_PREFILL) {
        ecoi_compare_optional(r, ECO_FIELD_AR_PREFILL_MJ, ECO_AT1(arm), f->mj_per_token,
                              ECOI_PLAIN_DECIMALS);
        ecoi_compare_optional(r, ECO_FIELD_AR_PREFILL_TPS, ECO_AT1(arm), f->tokens_per_s,
                              ECOI_PLAIN_DECIMALS);
        return;
    }
    double n_prompt = 0, n_tokens = 0;
    if (eco_report_number(r->report, ECO_FIELD_WL_PROMPT, ECO_TOP, &n_prompt) &&
        eco_report_number(r->report, ECO_FIELD_WL_TOKENS, ECO_TOP, &n_tokens) && n_tokens > 0) {
        ecoi_compare_optional(r, ECO_FIELD_AR_GEN_MJ, ECO_AT1(arm),
                              f->mj_per_token * (n_prompt + n_tokens) / n_tokens,
                              ECOI_PLAIN_DECIMALS);
    }
}

/* The window holds the generations the report tells, to half a generation, or as near as a tick can be caught. */
static void check_iterations(const ecoi_recomputation *r, eco_at at, const eco_window_figures *f) {
    double tick_s = 0;
    (void)eco_report_number(r->report, ECO_FIELD_MT_TICK, ECO_TOP, &tick_s);
    int64_t iterations = 0;
    if (!(r->n_units > 0.0) ||
        !eco_report_integer(r->report, ECO_FIELD_ME_ITERATIONS, ECO_TOP, &iterations)) {
        return;
    }
    const double half = 0.5 * r->n_units / (double)iterations;
    if (!(fabs(f->tokens - r->n_units) <= fmax(half, 2.0 * tick_s * f->tokens_per_s))) {
        eco_findings_add(r->out,
                         "measurement.iterations: printed %lld, trials.arms[%u].windows[%u] holds "
                         "%.2f generations",
                         (long long)iterations, (unsigned)at.i, (unsigned)at.j,
                         f->tokens / r->n_units * (double)iterations);
    }
}

static void take_window(const ecoi_recomputation *r, uint32_t arm, uint32_t window) {
    ecoi_arm_figures *const figures = &r->arms[arm];
    const eco_at at = ECO_AT2(arm, window);
    const char *kind = NULL;
    int64_t block = 0;
    eco_phase phase = ECO_PHASE_DECODE;
    if (!eco_report_string(r->report, ECO_FIELD_WI_KIND, at, &kind) ||
        !eco_phase_parse(kind, strlen(kind), &phase) || phase < ECO_PHASE_DECODE ||
        !eco_report_integer(r->report, ECO_FIELD_WI_BLOCK, at, &block) || block < 0 ||
        block > ECOI_RECOMPUTE_WINDOWS_MAX) {
        eco_findings_add(r->out, "trials.arms[%u].windows[%u]: no kind or block to look for",
                         (unsigned)arm, (unsigned)window);
        return;
    }
    eco_window_figures derived;
    if (!eco_window_figures_of(figures->rows, figures->n_rows, (int32_t)block, phase, true,
                               &derived)) {
        eco_findings_add(r->out, "trials.arms[%u].windows[%u]: %s holds no %s window of block %d",
                         (unsigned)arm, (unsigned)window, figures->file, eco_phase_name(phase),
                         (int)block);
        return;
    }
    compare_window(r, at, &derived);
    if (phase != r->headline || (phase == ECO_PHASE_GENERATION && block == 0)) {
        compare_extra(r, arm, phase, &derived);
    } else if (block >= 1 && block <= r->n_blocks) {
        check_iterations(r, at, &derived);
        ecoi_block_figures *const kept = &figures->blocks[block - 1];
        if (kept->present) {
            eco_findings_add(r->out, "trials.arms[%u].windows[%u]: block %d is listed twice",
                             (unsigned)arm, (unsigned)window, (int)block);
        }
        *kept = (ecoi_block_figures){.present = true, .window = window, .figures = derived};
        kept->figures.tokens /= r->units_per_token;
        kept->figures.tokens_per_s /= r->units_per_token;
        kept->figures.mj_per_token *= r->units_per_token;
    }
}

/* A headline window that the trace holds in a finished block may not be left out of the report. */
static void check_left_out(const ecoi_recomputation *r, uint32_t arm) {
    const ecoi_arm_figures *const figures = &r->arms[arm];
    bool seen[ECOI_RECOMPUTE_WINDOWS_MAX] = {false};
    for (size_t i = 0; i < figures->n_rows; i++) {
        const eco_sample *const row = &figures->rows[i];
        if (row->phase == r->headline && row->block >= 1 && (uint32_t)row->block <= r->n_blocks) {
            seen[row->block - 1] = true;
        }
    }
    for (uint32_t b = 0; b < r->n_blocks; b++) {
        if (!figures->blocks[b].present) {
            eco_findings_add(r->out, "trials.arms[%u].windows: finished block %u is not listed%s",
                             (unsigned)arm, (unsigned)b + 1,
                             seen[b] ? ", but the trace holds it" : "");
        }
    }
}

/* ---- Arms ------------------------------------------------------------------------------------- */

static double mean_over_blocks(const ecoi_recomputation *r, const ecoi_arm_figures *arm,
                               size_t offset) {
    uint32_t n = 0;
    for (uint32_t b = 0; b < r->n_blocks; b++) {
        if (arm->blocks[b].present) {
            memcpy(&r->scratch[n++], (const char *)&arm->blocks[b].figures + offset,
                   sizeof(double));
        }
    }
    return eco_geometric_mean(r->scratch, n);
}

static void sum_arm(const ecoi_recomputation *r, ecoi_arm_figures *arm) {
    uint32_t n_energy = 0;
    arm->n = 0;
    arm->has_counter = true;
    for (uint32_t b = 0; b < r->n_blocks; b++) {
        const eco_window_figures *const f = &arm->blocks[b].figures;
        if (!arm->blocks[b].present) {
            continue;
        }
        arm->n++;
        arm->joules_sum += f->energy_j;
        arm->tokens_sum += f->tokens;
        arm->seconds_min = arm->n == 1 ? f->seconds : fmin(arm->seconds_min, f->seconds);
        arm->power_sd += f->power_w > 0.0 ? f->power_sd_w / f->power_w : 0.0;
        arm->power_updates += f->power_updates;
        arm->has_counter = arm->has_counter && f->has_counter;
        if (f->mj_per_token > 0.0) {
            r->scratch[n_energy++] = log(f->mj_per_token);
        }
    }
    arm->log_mj = eco_mean_of(r->scratch, n_energy);
    arm->drift_log = eco_drift_of(r->scratch, n_energy);
    arm->power_sd /= arm->n > 0 ? arm->n : 1;
    arm->power_updates /= arm->n > 0 ? arm->n : 1;
    arm->mj_per_token = mean_over_blocks(r, arm, offsetof(eco_window_figures, mj_per_token));
    arm->tokens_per_s = mean_over_blocks(r, arm, offsetof(eco_window_figures, tokens_per_s));
    arm->power_w = mean_over_blocks(r, arm, offsetof(eco_window_figures, power_w));
    arm->counter_to_integral =
        mean_over_blocks(r, arm, offsetof(eco_window_figures, counter_to_integral));
}

static void compare_arm(const ecoi_recomputation *r, uint32_t i) {
    const ecoi_arm_figures *const arm = &r->arms[i];
    const eco_at at = ECO_AT1(i);
    ecoi_compare_positive(r, ECO_FIELD_AR_MJ, at, arm->mj_per_token, ECOI_PLAIN_DECIMALS);
    ecoi_compare_positive(r, ECO_FIELD_AR_TPS, at, arm->tokens_per_s, ECOI_PLAIN_DECIMALS);
    ecoi_compare_positive(r, ECO_FIELD_AR_W, at, arm->power_w, ECOI_PLAIN_DECIMALS);
    if (arm->log_mj.n >= 2) {
        const eco_mean *const m = &arm->log_mj;
        ecoi_compare_optional(r, ECO_FIELD_AR_MJ_LO, at, exp(m->mean - m->half_width),
                              ECOI_PLAIN_DECIMALS);
        ecoi_compare_optional(r, ECO_FIELD_AR_MJ_HI, at, exp(m->mean + m->half_width),
                              ECOI_PLAIN_DECIMALS);
    }
    double idle_w = 0;
    if (arm->mj_per_token > 0.0 &&
        eco_report_number(r->report, ECO_FIELD_EN_IDLE_LOADED, ECO_TOP, &idle_w) &&
        ecoi_report_find(r->report, ECO_FIELD_AR_NET_MJ, at) != NULL) {
        /* The idle is printed to 1 mW, so this one may be off by that much a token. */
        const double net = arm->mj_per_token - idle_w / arm->tokens_per_s * 1e3;
        double printed = 0;
        const double slack =
            0.0005 / arm->tokens_per_s * 1e3 + ecoi_compare_tolerance(net, ECOI_PLAIN_DECIMALS);
        if (!eco_report_number(r->report, ECO_FIELD_AR_NET_MJ, at, &printed) ||
            !(fabs(printed - net) <= slack)) {
            ecoi_compare(r, ECO_FIELD_AR_NET_MJ, at, net, ECOI_PLAIN_DECIMALS);
        }
    }
}

static bool recompute_arm(const ecoi_recomputation *r, uint32_t i, const eco_trace_text *traces,
                          size_t n_traces) {
    const uint32_t n_windows = eco_report_array_size(r->report, ECO_FIELD_WI_KIND, ECO_AT1(i));
    if (n_windows > ECOI_RECOMPUTE_WINDOWS_MAX) {
        eco_findings_add(r->out, "trials.arms[%u].windows: more than %d", (unsigned)i,
                         ECOI_RECOMPUTE_WINDOWS_MAX);
        return false;
    }
    if (!load_trace(r, i, traces, n_traces)) {
        return false;
    }
    for (uint32_t w = 0; w < n_windows; w++) {
        take_window(r, i, w);
    }
    check_left_out(r, i);
    sum_arm(r, &r->arms[i]);
    compare_arm(r, i);
    return true;
}

/* ---- Results ---------------------------------------------------------------------------------- */

static void compare_pairs(const ecoi_recomputation *r, const double *log_ratios,
                          const uint32_t *blocks, uint32_t n) {
    ecoi_compare_count(r, ECO_FIELD_UN_N, ECO_TOP, n);
    const uint32_t n_printed = eco_report_array_size(r->report, ECO_FIELD_PA_LOG, ECO_TOP);
    if (n_printed != n) {
        eco_findings_add(r->out, "trials.pairs: printed %u, re-derived %u", (unsigned)n_printed,
                         (unsigned)n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        ecoi_compare_count(r, ECO_FIELD_PA_BLOCK, ECO_AT1(i), blocks[i]);
        ecoi_compare(r, ECO_FIELD_PA_LOG, ECO_AT1(i), log_ratios[i], ECOI_LOG_DECIMALS);
    }
}

static void compare_change(const ecoi_recomputation *r, const eco_mean *m) {
    ecoi_compare(r, ECO_FIELD_RE_DELTA, ECO_TOP, eco_pct_of_log(m->mean), ECOI_PLAIN_DECIMALS);
    ecoi_compare(r, ECO_FIELD_UN_MEAN, ECO_TOP, m->mean, ECOI_LOG_DECIMALS);
    if (m->n >= 2) {
        ecoi_compare(r, ECO_FIELD_UN_LO, ECO_TOP, eco_pct_of_log(m->mean - m->half_width),
                     ECOI_PLAIN_DECIMALS);
        ecoi_compare(r, ECO_FIELD_UN_HI, ECO_TOP, eco_pct_of_log(m->mean + m->half_width),
                     ECOI_PLAIN_DECIMALS);
        ecoi_compare(r, ECO_FIELD_UN_HALF, ECO_TOP, m->half_width, ECOI_LOG_DECIMALS);
        ecoi_compare(r, ECO_FIELD_UN_SD, ECO_TOP, m->sd, ECOI_LOG_DECIMALS);
    }
    double margin_pct = 0;
    const char *printed = NULL;
    if (!eco_report_number(r->report, ECO_FIELD_ME_MARGIN, ECO_TOP, &margin_pct)) {
        eco_findings_add(r->out, "measurement.margin_pct: is missing, so no verdict follows");
        return;
    }
    const char *const derived = eco_verdict_name(eco_verdict_of(m, margin_pct));
    if (!eco_report_string(r->report, ECO_FIELD_RE_VERDICT, ECO_TOP, &printed)) {
        eco_findings_add(r->out, "results.verdict: is missing, re-derived \"%s\"", derived);
    } else if (strcmp(printed, derived) != 0) {
        eco_findings_add(r->out, "results.verdict: printed \"%.40s\", re-derived \"%s\"", printed,
                         derived);
    }
}

/* The paired change of arm `own` against the baseline; false if there is none. */
static bool recompute_change(const ecoi_recomputation *r, uint32_t base_place, uint32_t own_place,
                             eco_mean *change) {
    const ecoi_arm_figures *const base = &r->arms[base_place];
    const ecoi_arm_figures *const own = &r->arms[own_place];
    uint32_t blocks[ECOI_RECOMPUTE_WINDOWS_MAX];
    uint32_t n = 0;
    for (uint32_t b = 0; b < r->n_blocks; b++) {
        const double mj_base = base->blocks[b].figures.mj_per_token;
        const double mj_own = own->blocks[b].figures.mj_per_token;
        if (base->blocks[b].present && own->blocks[b].present && mj_base > 0.0 && mj_own > 0.0) {
            r->scratch[n] = log(mj_own / mj_base);
            blocks[n++] = b + 1;
        }
    }
    ecoi_compare_positive(r, ECO_FIELD_RE_FP16_MJ, ECO_TOP, base->mj_per_token,
                          ECOI_PLAIN_DECIMALS);
    double printed = 0;
    if (n == 0) {
        if (eco_report_number(r->report, ECO_FIELD_RE_DELTA, ECO_TOP, &printed)) {
            eco_findings_add(
                r->out, "results.vs_fp16_energy_pct: printed a number, no block has both energies");
        }
        return false;
    }
    compare_pairs(r, r->scratch, blocks, n);
    *change = eco_mean_of(r->scratch, n);
    compare_change(r, change);
    ecoi_recompute_uncertainty(r, base_place, own_place, r->scratch, n);
    return true;
}

/* One arm is the baseline and at most one is under test; what the headline calls its precision is that arm's, and a
 * comparison is printed only where there are two arms. */
static void check_structure(const ecoi_recomputation *r, uint32_t own) {
    static const eco_field of_a_pair[] = {ECO_FIELD_RE_DELTA, ECO_FIELD_RE_FP16_MJ,
                                          ECO_FIELD_UN_LO,    ECO_FIELD_UN_HI,
                                          ECO_FIELD_UN_MEAN,  ECO_FIELD_UX_PCT};
    uint32_t n_base = 0;
    uint32_t n_own = 0;
    for (uint32_t i = 0; i < r->n_arms; i++) {
        n_base += ecoi_string_is(r->report, ECO_FIELD_AR_ROLE, ECO_AT1(i), "baseline");
        n_own += ecoi_string_is(r->report, ECO_FIELD_AR_ROLE, ECO_AT1(i), "under_test");
    }
    if (n_base != 1 || n_own > 1 || n_base + n_own != r->n_arms) {
        eco_findings_add(r->out,
                         "trials.arms: one baseline and at most one arm under test are expected, "
                         "found %u and %u of %u",
                         (unsigned)n_base, (unsigned)n_own, (unsigned)r->n_arms);
    }
    for (size_t i = 0; n_own == 0 && i < sizeof of_a_pair / sizeof of_a_pair[0]; i++) {
        double printed = 0.0;
        if (eco_report_number(r->report, of_a_pair[i], ECO_TOP, &printed)) {
            eco_findings_add(r->out, "%s: printed a number, there is one arm",
                             eco_field_at(of_a_pair[i])->path);
        }
    }
    if (!ecoi_same_string(r->report, ECO_FIELD_WL_PRECISION, ECO_TOP, ECO_FIELD_AR_PRECISION,
                          ECO_AT1(own))) {
        eco_findings_add(r->out, "workload.precision: is not that of the arm it reports");
    }
}

/* Every block that was planned is finished, or the report says that it is partial. */
static void check_blocks_planned(const ecoi_recomputation *r) {
    int64_t planned = 0;
    if (!eco_report_integer(r->report, ECO_FIELD_TR_PLANNED, ECO_TOP, &planned) || planned < 1) {
        eco_findings_add(r->out, "trials.blocks_planned: is missing");
    } else if (planned < (int64_t)r->n_blocks) {
        eco_findings_add(r->out, "trials.blocks_planned: %lld, but %u are finished",
                         (long long)planned, (unsigned)r->n_blocks);
    } else if (planned > (int64_t)r->n_blocks &&
               !eco_report_has_warning(r->report, ECO_WARNING_PARTIAL)) {
        eco_findings_add(r->out, "trials.blocks_finished: %u of %lld, and no warning says partial",
                         (unsigned)r->n_blocks, (long long)planned);
    }
}

/* A run that was stopped may have been within a block: whole for these arms, not for others of the run. */
static bool has_cut_block(const ecoi_recomputation *r, bool partial) {
    int64_t n_arms = 0;
    return partial && eco_report_integer(r->report, ECO_FIELD_TR_ARMS, ECO_TOP, &n_arms) &&
           n_arms > (int64_t)r->n_arms;
}

/* A block that is whole in every trace counts; one number left out would be a choice of blocks. */
static void check_no_block_more(const ecoi_recomputation *r) {
    const bool partial = eco_report_has_warning(r->report, ECO_WARNING_PARTIAL);
    const int32_t n_known = (int32_t)r->n_blocks + (has_cut_block(r, partial) ? 1 : 0);
    int32_t last = 0;
    for (size_t i = 0; i < r->arms[0].n_rows; i++) {
        const int32_t block = r->arms[0].rows[i].block;
        if (block <= n_known || block == last) {
            continue;
        }
        last = block;
        bool whole = true;
        for (uint32_t a = 0; whole && a < r->n_arms; a++) {
            /* Without a counter a window cut short looks like a whole one: partial reports have them. */
            eco_window_figures figures;
            whole = eco_window_figures_of(r->arms[a].rows, r->arms[a].n_rows, block, r->headline,
                                          true, &figures) &&
                    (figures.has_counter || !partial);
        }
        if (whole) {
            eco_findings_add(r->out,
                             "trials.blocks_finished: %u, but the traces hold a whole block %d",
                             (unsigned)r->n_blocks, (int)block);
            return;
        }
    }
}

static void recompute_results(const ecoi_recomputation *r) {
    uint32_t base = ECOI_RECOMPUTE_ARMS_MAX, own = ECOI_RECOMPUTE_ARMS_MAX;
    for (uint32_t i = r->n_arms; i-- > 0;) {
        base = ecoi_string_is(r->report, ECO_FIELD_AR_ROLE, ECO_AT1(i), "baseline") ? i : base;
        own = ecoi_string_is(r->report, ECO_FIELD_AR_ROLE, ECO_AT1(i), "under_test") ? i : own;
    }
    if (own == ECOI_RECOMPUTE_ARMS_MAX) {
        own = base;
    }
    if (own == ECOI_RECOMPUTE_ARMS_MAX) {
        eco_findings_add(r->out, "trials.arms: no arm has the role under_test or baseline");
        return;
    }
    check_structure(r, own);
    check_blocks_planned(r);
    check_no_block_more(r);
    const ecoi_arm_figures *const arm = &r->arms[own];
    ecoi_compare_positive(r, ECO_FIELD_RE_JOULES, ECO_TOP, arm->joules_sum, ECOI_PLAIN_DECIMALS);
    ecoi_compare_positive(r, ECO_FIELD_RE_TOKENS, ECO_TOP, arm->tokens_sum, ECOI_PLAIN_DECIMALS);
    ecoi_compare_positive(r, ECO_FIELD_RE_MJ, ECO_TOP, arm->mj_per_token, ECOI_PLAIN_DECIMALS);
    ecoi_compare_positive(r, ECO_FIELD_RE_W, ECO_TOP, arm->power_w, ECOI_PLAIN_DECIMALS);
    ecoi_compare_positive(r, ECO_FIELD_RE_TPS, ECO_TOP, arm->tokens_per_s, ECOI_PLAIN_DECIMALS);
    if (base != ECOI_RECOMPUTE_ARMS_MAX) {
        ecoi_compare_optional(r, ECO_FIELD_MT_RATIO, ECO_TOP, r->arms[base].counter_to_integral,
                              ECOI_RATIO_DECIMALS);
    }
    eco_mean change = {0};
    const bool compared =
        base != own && base != ECOI_RECOMPUTE_ARMS_MAX && recompute_change(r, base, own, &change);
    if (r->n_arms == 1) {
        ecoi_recompute_uncertainty_alone(r, own);
    }
    ecoi_recompute_explain(r, base != ECOI_RECOMPUTE_ARMS_MAX ? base : own, own,
                           compared ? &change : NULL);
}

static void recompute(const ecoi_recomputation *r, const eco_trace_text *traces, size_t n_traces) {
    bool complete = true;
    for (uint32_t i = 0; i < r->n_arms; i++) {
        complete = recompute_arm(r, i, traces, n_traces) && complete;
    }
    if (complete) {
        recompute_results(r);
    }
}

/* What the headline is made of: whole generations, told per generated token, or decode windows. */
static bool find_headline(ecoi_recomputation *r) {
    r->headline = ECO_PHASE_DECODE;
    r->units_per_token = 1.0;
    if (!ecoi_string_is(r->report, ECO_FIELD_ME_WINDOW, ECO_TOP, "generation")) {
        return true;
    }
    int64_t n_prompt = 0, n_tokens = 0, iterations = 0;
    if (!eco_report_integer(r->report, ECO_FIELD_WL_PROMPT, ECO_TOP, &n_prompt) ||
        !eco_report_integer(r->report, ECO_FIELD_WL_TOKENS, ECO_TOP, &n_tokens) ||
        !eco_report_integer(r->report, ECO_FIELD_ME_ITERATIONS, ECO_TOP, &iterations) ||
        n_prompt < 0 || n_tokens < 1 || iterations < 1) {
        eco_findings_add(r->out, "measurement.window: generation, but workload.prompt_tokens, "
                                 "workload.generated_tokens or measurement.iterations does not "
                                 "say of what");
        return false;
    }
    const double steps = (double)n_prompt + (double)n_tokens;
    r->headline = ECO_PHASE_GENERATION;
    r->units_per_token = steps / (double)n_tokens;
    r->n_units = (double)iterations * steps * r->batch;
    return true;
}

void eco_report_recompute(const eco_report *report, const eco_trace_text *traces, size_t n_traces,
                          eco_findings *out) {
    assert(report != NULL && out != NULL && (traces != NULL || n_traces == 0));
    ecoi_recomputation r = {.report = report, .out = out};
    int64_t n_blocks = 0;
    r.n_arms = eco_report_array_size(report, ECO_FIELD_AR_PRECISION, ECO_TOP);
    if (r.n_arms == 0 || !eco_report_integer(report, ECO_FIELD_TR_DONE, ECO_TOP, &n_blocks)) {
        eco_findings_add(
            out, "trials: no arms or no count of finished blocks; nothing can be re-derived");
        return;
    }
    if (r.n_arms > ECOI_RECOMPUTE_ARMS_MAX || n_blocks < 0 ||
        n_blocks > ECOI_RECOMPUTE_WINDOWS_MAX) {
        eco_findings_add(out, "trials: more than %d arms or %d blocks", ECOI_RECOMPUTE_ARMS_MAX,
                         ECOI_RECOMPUTE_WINDOWS_MAX);
        return;
    }
    r.n_blocks = (uint32_t)n_blocks;
    int64_t batch = 1;
    (void)eco_report_integer(report, ECO_FIELD_WL_BATCH, ECO_TOP, &batch);
    r.batch = batch >= 1 && batch <= UINT32_MAX ? (uint32_t)batch : 1;
    if (!find_headline(&r)) {
        return;
    }
    r.arms = ecoi_calloc(r.n_arms, sizeof *r.arms);
    r.scratch = ecoi_calloc(ECOI_RECOMPUTE_WINDOWS_MAX, sizeof *r.scratch);
    if (r.arms == NULL || r.scratch == NULL) {
        eco_findings_add(out, "trials: out of memory");
    } else {
        recompute(&r, traces, n_traces);
    }
    for (uint32_t i = 0; r.arms != NULL && i < r.n_arms; i++) {
        ecoi_free(r.arms[i].rows);
    }
    ecoi_free(r.arms);
    ecoi_free(r.scratch);
}
