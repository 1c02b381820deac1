/* SPDX-License-Identifier: Apache-2.0
 *
 * Geometric means over blocks. Only blocks in which every arm finished count, so that arms are compared on the same blocks.
 */
#include "protocol/summary_arm.h"

#include <math.h>

const eco_window *ecoi_window_find(const eco_session_arm *arm, int32_t block, eco_phase phase) {
    for (uint32_t i = 0; i < arm->n_windows; i++) {
        if (arm->windows[i].block == block && arm->windows[i].phase == phase) {
            return &arm->windows[i];
        }
    }
    return NULL;
}

eco_work_kind ecoi_headline_work(const eco_plan *plan) {
    return plan->protocol == ECO_PROTOCOL_PUBLISHED ? ECO_WORK_GENERATION : ECO_WORK_DECODE;
}

eco_phase ecoi_headline_phase(const eco_plan *plan) {
    return plan->protocol == ECO_PROTOCOL_PUBLISHED ? ECO_PHASE_GENERATION : ECO_PHASE_DECODE;
}

double ecoi_units_per_token(const eco_plan *plan) {
    return plan->protocol == ECO_PROTOCOL_PUBLISHED
               ? ((double)plan->n_prompt + plan->n_tokens) / plan->n_tokens
               : 1.0;
}

double ecoi_bytes_per_token(const eco_session *session, uint32_t index) {
    const eco_plan *plan = session->plan;
    const eco_session_arm *arm = &session->arms[index];
    const double first = plan->protocol == ECO_PROTOCOL_PUBLISHED ? 0.0 : plan->n_prompt;
    const double last = (double)plan->n_prompt + plan->n_tokens;
    return ecoi_units_per_token(plan) *
           eco_model_batch_token_bytes(plan->shape, arm->format, arm->workload.head,
                                       (first + last) / 2.0, plan->batch)
               .total;
}

double ecoi_flops_per_token(const eco_session *session) {
    const eco_plan *plan = session->plan;
    const double first = plan->protocol == ECO_PROTOCOL_PUBLISHED ? 0.0 : plan->n_prompt;
    const double last = (double)plan->n_prompt + plan->n_tokens;
    return ecoi_units_per_token(plan) * eco_model_token_flops(plan->shape, (first + last) / 2.0);
}

double ecoi_launches_per_token(const eco_session *session, uint32_t index) {
    return ecoi_units_per_token(session->plan) * session->arms[index].info.launches_per_token /
           session->plan->batch;
}

static void widen_clocks(eco_arm_summary *out, const eco_sampler_stats *stats) {
    if (eco_reading_present(stats->sm_clock_min_mhz)) {
        const double lo = stats->sm_clock_min_mhz.value;
        out->clock_lo_mhz = out->clock_lo_mhz > 0.0 ? fmin(out->clock_lo_mhz, lo) : lo;
    }
    if (eco_reading_present(stats->sm_clock_max_mhz)) {
        out->clock_hi_mhz = fmax(out->clock_hi_mhz, stats->sm_clock_max_mhz.value);
    }
}

eco_arm_summary ecoi_arm_summary(const eco_session *session, uint32_t index) {
    eco_arm_summary out = {0};
    double mj[ECO_BLOCKS_MAX];
    double log_mj[ECO_BLOCKS_MAX];
    double tps[ECO_BLOCKS_MAX];
    double watts[ECO_BLOCKS_MAX];
    double ratios[ECO_BLOCKS_MAX];
    const double units = ecoi_units_per_token(session->plan);
    for (uint32_t block = 1; block <= session->blocks_finished; block++) {
        const eco_window *window = ecoi_window_find(&session->arms[index], (int32_t)block,
                                                    ecoi_headline_phase(session->plan));
        if (window == NULL) {
            continue;
        }
        const eco_window_figures *f = &window->figures;
        mj[out.n] = f->mj_per_token * units;
        log_mj[out.n] = f->mj_per_token > 0.0 ? log(mj[out.n]) : 0.0;
        tps[out.n] = f->tokens_per_s / units;
        watts[out.n] = f->power_w;
        ratios[out.n] = f->counter_to_integral;
        out.power_sd += f->power_w > 0.0 ? f->power_sd_w / f->power_w : 0.0;
        out.power_updates += f->power_updates;
        out.joules_sum += f->energy_j;
        out.tokens_sum += f->tokens / units;
        out.seconds_mean += f->seconds;
        out.cooldown_mean_s += window->cooldown_s;
        out.tokens_min = out.n == 0 ? f->tokens / units : fmin(out.tokens_min, f->tokens / units);
        out.seconds_min = out.n == 0 ? f->seconds : fmin(out.seconds_min, f->seconds);
        out.edge_half_width_s = fmax(out.edge_half_width_s, window->edge_half_width_s);
        out.throttle |= window->stats.throttle_seen;
        out.energy_basis = out.n == 0 ? window->energy_basis
                                      : eco_basis_weaker(out.energy_basis, window->energy_basis);
        out.time_basis =
            out.n == 0 ? window->time_basis : eco_basis_weaker(out.time_basis, window->time_basis);
        widen_clocks(&out, &window->stats);
        out.n++;
    }
    if (out.n == 0) {
        return out;
    }
    out.mj_per_token = eco_geometric_mean(mj, out.n);
    out.log_mj = eco_mean_of(log_mj, out.n);
    out.drift_log = eco_drift_of(log_mj, out.n);
    out.power_sd /= out.n;
    out.power_updates /= out.n;
    out.tokens_per_s = eco_geometric_mean(tps, out.n);
    out.power_w = eco_geometric_mean(watts, out.n);
    out.counter_to_integral = eco_geometric_mean(ratios, out.n);
    out.seconds_mean /= out.n;
    out.cooldown_mean_s /= out.n;
    out.tokens_mean = out.tokens_sum / out.n;
    return out;
}

uint32_t ecoi_log_ratios(const eco_session *session, uint32_t index, double out[ECO_BLOCKS_MAX]) {
    uint32_t n = 0;
    for (uint32_t block = 1; block <= session->blocks_finished; block++) {
        const eco_window *base =
            ecoi_window_find(&session->arms[0], (int32_t)block, ecoi_headline_phase(session->plan));
        const eco_window *arm = ecoi_window_find(&session->arms[index], (int32_t)block,
                                                 ecoi_headline_phase(session->plan));
        if (base != NULL && arm != NULL && base->figures.mj_per_token > 0.0 &&
            arm->figures.mj_per_token > 0.0) {
            out[n++] = log(arm->figures.mj_per_token / base->figures.mj_per_token);
        }
    }
    return n;
}
