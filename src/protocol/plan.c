/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan: is it possible, how long does it take, in what order do the arms run.
 */
#include "ecocompute/plan.h"

#include "core/rng.h"
#include "core/str.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double WINDOW_OVERHEAD_S = 0.35; /* tick alignment at both ends and the stop */
static const double PROBES_S = 10.0; /* idles, sensor, bandwidth, launch and matrix probes */

/* How long a step can take, from the bytes it reads: the fastest memory there is, and a slow device that reaches a
 * quarter of its own. */
static const double FASTEST_CUDA_BYTES_PER_S = 8e12;
static const double SLOWEST_CUDA_BYTES_PER_S = 0.075e12;
static const double FASTEST_CPU_BYTES_PER_S = 0.5e12;
static const double SLOWEST_CPU_BYTES_PER_S = 0.5e9;
/* A prompt goes through a GPU by chunks of 64 positions, each of which reads the weights once; a slow card reads them at
 * its whole 0.2 TB/s, for there is much to do with each. The CPU takes it token by token. */
static const double CUDA_CHUNK_POSITIONS = 64.0;
static const double SLOWEST_CUDA_CHUNK_BYTES_PER_S = 0.2e12;

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
    if (plan->protocol == ECO_PROTOCOL_PUBLISHED) {
        ECO_TRY(check_number("--iterations", plan->n_iterations, 1, ECO_ITERATIONS_MAX, err));
        ECO_TRY(check_number("--warmup", plan->n_warmup, 0, ECO_ITERATIONS_MAX, err));
    }
    if (plan->thermal == ECO_THERMAL_STEADY) {
        ECO_TRY(check_number("--steady-max", plan->steady_max_s, ECO_STEADY_MIN_S, 600, err));
    }
    ECO_TRY(check_number("--margin", plan->margin_pct, 0, 100, err));
    ECO_TRY(check_number("--prompt-tokens", plan->n_prompt, 1, 1 << 20, err));
    ECO_TRY(check_number("--tokens", plan->n_tokens, 1, 1 << 20, err));
    ECO_TRY(check_number("--batch", plan->batch, 1, ECO_BATCH_MAX, err));
    ECO_TRY(check_number("--outliers", plan->outlier_permille, 0, 1000, err));
    const uint64_t positions = (uint64_t)plan->n_prompt + plan->n_tokens;
    if (positions > plan->shape->n_positions_max) {
        return eco_error_set(
            err, ECO_E_USAGE, 0, "--prompt-tokens + --tokens: %llu positions; %s has at most %u",
            (unsigned long long)positions, plan->shape->name, plan->shape->n_positions_max);
    }
    return ECO_OK;
}

typedef struct span {
    double shortest_s, longest_s;
} span;

static bool on_cpu(const eco_plan *plan) {
    return strcmp(plan->engine.device, "cpu") == 0;
}

static double step_bytes(const eco_plan *plan, uint32_t arm, double position) {
    return plan->batch * eco_model_batch_token_bytes(plan->shape, plan->arms[arm], plan->head,
                                                     position, plan->batch)
                             .total;
}

/* `n` steps of the whole batch, one position each. */
static span steps_span(const eco_plan *plan, uint32_t arm, double n, double position) {
    const double bytes = n * step_bytes(plan, arm, position);
    return on_cpu(plan)
               ? (span){bytes / FASTEST_CPU_BYTES_PER_S, bytes / SLOWEST_CPU_BYTES_PER_S}
               : (span){bytes / FASTEST_CUDA_BYTES_PER_S, bytes / SLOWEST_CUDA_BYTES_PER_S};
}

/* The prompts of all sequences. */
static span prefill_span(const eco_plan *plan, uint32_t arm) {
    if (on_cpu(plan)) {
        return steps_span(plan, arm, plan->n_prompt, plan->n_prompt / 2.0);
    }
    const double chunks = (double)plan->batch * ceil((double)plan->n_prompt / CUDA_CHUNK_POSITIONS);
    const double bytes =
        chunks *
        eco_model_token_bytes(plan->shape, plan->arms[arm], plan->head, plan->n_prompt / 2.0).total;
    return (span){bytes / FASTEST_CUDA_BYTES_PER_S, bytes / SLOWEST_CUDA_CHUNK_BYTES_PER_S};
}

/* One window of `arm` with what comes before it, the rest apart. */
static span window_span(const eco_plan *plan, uint32_t arm) {
    span ramp = {plan->ramp_s, plan->ramp_s};
    span work = {plan->window_s, plan->window_s};
    span prefill = {0.0, 0.0};
    if (plan->protocol == ECO_PROTOCOL_PUBLISHED) {
        const double steps = (double)plan->n_prompt + plan->n_tokens;
        const span generation = steps_span(plan, arm, steps, steps / 2.0);
        ramp.shortest_s = fmax(ramp.shortest_s, plan->n_warmup * generation.shortest_s);
        ramp.longest_s = fmax(ramp.longest_s, plan->n_warmup * generation.longest_s);
        work = (span){plan->n_iterations * generation.shortest_s,
                      plan->n_iterations * generation.longest_s};
    } else {
        prefill = prefill_span(plan, arm); /* before the first token, hence before the ramp */
    }
    if (plan->thermal == ECO_THERMAL_STEADY) {
        ramp.shortest_s = fmax(ramp.shortest_s, ECO_STEADY_MIN_S);
        ramp.longest_s = fmax(ramp.longest_s, plan->steady_max_s);
    }
    return (span){prefill.shortest_s + ramp.shortest_s + work.shortest_s + WINDOW_OVERHEAD_S,
                  prefill.longest_s + ramp.longest_s + work.longest_s + WINDOW_OVERHEAD_S};
}

void eco_plan_seconds(const eco_plan *plan, double *shortest_s, double *longest_s) {
    const double windows = plan->n_blocks + (plan->extra_windows ? 2.0 : 0.0);
    const double rest_s = plan->thermal == ECO_THERMAL_STEADY ? 0.0 : plan->cooldown_max_s;
    *shortest_s = PROBES_S;
    *longest_s = PROBES_S;
    for (uint32_t arm = 0; arm < plan->n_arms; arm++) {
        const span window = window_span(plan, arm);
        *shortest_s += windows * window.shortest_s;
        *longest_s += windows * (window.longest_s + rest_s);
        if (plan->protocol == ECO_PROTOCOL_PAIRED) { /* burn-in */
            const span prefill = prefill_span(plan, arm);
            *shortest_s += prefill.shortest_s + plan->burn_in_s + 0.2;
            *longest_s += prefill.longest_s + plan->burn_in_s + 0.2;
        }
    }
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

static void describe_windows(const eco_plan *plan, eco_text *out) {
    ecoi_text_addf(out, "blocks: %u, ", plan->n_blocks);
    if (plan->protocol == ECO_PROTOCOL_PUBLISHED) {
        ecoi_text_addf(out,
                       "window of %u whole generations (prefill and decode) after %u uncounted, "
                       "ramp at least %.1f s",
                       plan->n_iterations, plan->n_warmup, plan->ramp_s);
    } else {
        ecoi_text_addf(out, "window at least %.1f s, ramp at least %.1f s", plan->window_s,
                       plan->ramp_s);
    }
    if (plan->thermal == ECO_THERMAL_STEADY) {
        ecoi_text_addf(out, ", no cooldown, under load until steady or for %.1f s",
                       plan->steady_max_s);
    } else {
        ecoi_text_addf(out, ", cooldown up to %.1f s", plan->cooldown_max_s);
    }
    if (plan->protocol == ECO_PROTOCOL_PAIRED) {
        ecoi_text_addf(out, ", burn-in %.1f s an arm", plan->burn_in_s);
    }
    ecoi_text_addf(out, "\nprotocol: %s, thermal mode %s\n",
                   plan->protocol == ECO_PROTOCOL_PUBLISHED ? "published" : "paired",
                   plan->thermal == ECO_THERMAL_STEADY ? "steady" : "cold");
}

void eco_plan_describe(const eco_plan *plan, eco_text *out) {
    double shortest_s = 0;
    double longest_s = 0;
    eco_plan_seconds(plan, &shortest_s, &longest_s);
    ecoi_text_addf(out, "model: %s (shape only), synthetic weights, seed %llu\n", plan->shape->name,
                   (unsigned long long)plan->seed);
    ecoi_text_addf(out, "arms:");
    for (uint32_t i = 0; i < plan->n_arms; i++) {
        const eco_token_bytes bytes =
            eco_model_batch_token_bytes(plan->shape, plan->arms[i], plan->head,
                                        plan->n_prompt + plan->n_tokens / 2.0, plan->batch);
        ecoi_text_addf(out, "%s %s%s (%.3f GB a token)", i == 0 ? "" : ",",
                       eco_format_at(plan->arms[i])->name, i == 0 ? " baseline" : "",
                       bytes.total * 1e-9);
    }
    const bool published = plan->protocol == ECO_PROTOCOL_PUBLISHED;
    ecoi_text_addf(out, "\nworkload: batch %u, positions %u to %u, head %s\n", plan->batch,
                   published ? 0 : plan->n_prompt, plan->n_prompt + plan->n_tokens - 1,
                   eco_format_at(plan->head)->name);
    describe_windows(plan, out);
    describe_order(plan, out);
    ecoi_text_addf(out, "extra windows: %s\n",
                   plan->extra_windows ? "one whole-generation and one looped-prefill window an arm"
                                       : "none");
    ecoi_text_addf(out,
                   "time: %.0f to %.0f s, from the fastest to a slow device of this kind, and "
                   "loading\n",
                   shortest_s, longest_s);
    ecoi_text_addf(out, "output: %s\n", plan->output_dir);
}
