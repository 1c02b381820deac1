/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan: is it possible, how long does it take, in what order do the arms run.
 */
#include "ecocompute/plan.h"

#include "core/alloc.h"
#include "core/rng.h"
#include "core/str.h"

#include <assert.h>
#include <math.h>

static const double DECODE_OVERHEAD_S = 0.35; /* tick alignment at both ends and the stop */
static const double PROBES_S = 9.0;           /* idles, sensor, bandwidth and launch probes */

static eco_status check_number(const char *option, double value, double lo, double hi,
                               eco_error *err) {
    if (!(value >= lo && value <= hi)) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "%s: %.10g is out of range; expected %.10g to %.10g", option, value,
                             lo, hi);
    }
    return ECO_OK;
}

eco_status eco_plan_check(const eco_plan *plan, eco_error *err) {
    if (plan->shape == NULL || plan->n_arms == 0 || plan->n_arms > ECO_ARMS_MAX) {
        return eco_error_set(err, ECO_E_USAGE, 0, "--precision: between 1 and %d arms are expected",
                             ECO_ARMS_MAX);
    }
    for (uint32_t i = 1; i < plan->n_arms; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (plan->arms[i] == plan->arms[j]) {
                return eco_error_set(err, ECO_E_USAGE, 0,
                                     "--precision: %s is named twice (the baseline counts)",
                                     eco_format_at(plan->arms[i])->name);
            }
        }
    }
    ECO_TRY(check_number("--blocks", plan->n_blocks, 1, ECO_BLOCKS_MAX, err));
    ECO_TRY(check_number("--window", plan->window_s, 0.2, 600, err));
    ECO_TRY(check_number("--cooldown-max", plan->cooldown_max_s, 0, 600, err));
    ECO_TRY(check_number("--margin", plan->margin_pct, 0, 100, err));
    ECO_TRY(check_number("--prompt-tokens", plan->n_prompt, 1, 1 << 20, err));
    ECO_TRY(check_number("--tokens", plan->n_tokens, 1, 1 << 20, err));
    if (plan->batch != 1) {
        return eco_error_set(err, ECO_E_USAGE, 0, "--batch: %u is not in this version; expected 1",
                             plan->batch);
    }
    const uint64_t positions = (uint64_t)plan->n_prompt + plan->n_tokens;
    if (positions > plan->shape->n_positions_max) {
        return eco_error_set(
            err, ECO_E_USAGE, 0, "--prompt-tokens + --tokens: %llu positions; %s has at most %u",
            (unsigned long long)positions, plan->shape->name, plan->shape->n_positions_max);
    }
    return ECO_OK;
}

void eco_plan_seconds(const eco_plan *plan, double *shortest_s, double *longest_s) {
    const double windows = (double)plan->n_arms * plan->n_blocks;
    const double extra = plan->extra_windows ? 2.0 * plan->n_arms : 0.0;
    const double each = plan->ramp_s + plan->window_s + DECODE_OVERHEAD_S;
    const double fixed = PROBES_S + plan->n_arms * (plan->burn_in_s + 0.2);
    *shortest_s = fixed + (windows + extra) * each;
    *longest_s = *shortest_s + (windows + extra) * plan->cooldown_max_s;
}

/* Rows of a cyclic Latin square over a random labelling, in random order, one square after another: after every whole
 * square each arm has stood once in each place. */
void eco_plan_order(const eco_plan *plan, uint32_t *order) {
    const uint32_t n = plan->n_arms;
    assert(n > 0);
    uint64_t state = plan->order_seed;
    uint32_t labels[ECO_ARMS_MAX] = {0};
    uint32_t shifts[ECO_ARMS_MAX] = {0};
    for (uint32_t block = 0; block < plan->n_blocks; block++) {
        if (block % n == 0) {
            for (uint32_t i = 0; i < n; i++) {
                labels[i] = i;
                shifts[i] = i;
            }
            if (plan->shuffle) {
                ecoi_rng_shuffle(&state, labels, n);
                ecoi_rng_shuffle(&state, shifts, n);
            }
        }
        const uint32_t shift = plan->shuffle ? shifts[block % n] : 0;
        for (uint32_t place = 0; place < n; place++) {
            order[(size_t)block * n + place] = labels[(place + shift) % n];
        }
    }
}

static void describe_order(const eco_plan *plan, eco_text *out) {
    uint32_t order[ECO_BLOCKS_MAX * ECO_ARMS_MAX];
    eco_plan_order(plan, order);
    ecoi_text_addf(out, "order (seed %llu):", (unsigned long long)plan->order_seed);
    for (uint32_t block = 0; block < plan->n_blocks; block++) {
        ecoi_text_addf(out, " [");
        for (uint32_t place = 0; place < plan->n_arms; place++) {
            const eco_format format = plan->arms[order[(size_t)block * plan->n_arms + place]];
            ecoi_text_addf(out, "%s%s", place == 0 ? "" : " ", eco_format_at(format)->name);
        }
        ecoi_text_addf(out, "]");
    }
    ecoi_text_addf(out, "\n");
}

void eco_plan_describe(const eco_plan *plan, eco_text *out) {
    double shortest_s = 0;
    double longest_s = 0;
    eco_plan_seconds(plan, &shortest_s, &longest_s);
    ecoi_text_addf(out, "model: %s (shape only), synthetic weights, seed %llu\n", plan->shape->name,
                   (unsigned long long)plan->seed);
    ecoi_text_addf(out, "arms:");
    for (uint32_t i = 0; i < plan->n_arms; i++) {
        const eco_token_bytes bytes = eco_model_token_bytes(plan->shape, plan->arms[i], plan->head,
                                                            plan->n_prompt + plan->n_tokens / 2.0);
        ecoi_text_addf(out, "%s %s%s (%.3f GB a token)", i == 0 ? "" : ",",
                       eco_format_at(plan->arms[i])->name, i == 0 ? " baseline" : "",
                       bytes.total * 1e-9);
    }
    ecoi_text_addf(out, "\nworkload: batch %u, positions %u to %u, head %s\n", plan->batch,
                   plan->n_prompt, plan->n_prompt + plan->n_tokens - 1,
                   eco_format_at(plan->head)->name);
    ecoi_text_addf(out,
                   "blocks: %u, window at least %.1f s, ramp at least %.1f s, cooldown up to %.1f "
                   "s, burn-in %.1f s an arm\n",
                   plan->n_blocks, plan->window_s, plan->ramp_s, plan->cooldown_max_s,
                   plan->burn_in_s);
    describe_order(plan, out);
    ecoi_text_addf(out, "extra windows: %s\n",
                   plan->extra_windows ? "one whole-generation and one looped-prefill window an arm"
                                       : "none");
    ecoi_text_addf(out, "time: %.0f to %.0f s, and loading\n", shortest_s, longest_s);
    ecoi_text_addf(out, "output: %s\n", plan->output_dir);
}
