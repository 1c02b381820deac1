/* SPDX-License-Identifier: Apache-2.0
 *
 * What bounds an arm: the time its bytes, its operations and its launches alone would take on this card, against the
 * time it took. The roofline is Williams, Waterman, Patterson (2009), here also for energy.
 */
#include "ecocompute/report.h"

#include "core/str.h"

#include <math.h>
#include <string.h>

static const double CEILING_BOUND =
    0.6; /* share of a probed ceiling from which an arm is called bound by it */
static const double ACCOUNTED =
    0.75; /* bytes and launches together explain the time from here on */
static const double FLOOR_SLACK = 0.9; /* the floor itself is n = 1 */

static const char *bound_name(const eco_bound_input *input, const eco_bound *bound) {
    if (input->throttled) {
        return "throttled";
    }
    if (input->power_capped) {
        return "power-capped";
    }
    if (!(bound->bandwidth_share > 0.0)) {
        return "unknown";
    }
    if (bound->compute_share >= CEILING_BOUND && bound->compute_share > bound->bandwidth_share) {
        return "compute-bound";
    }
    if (bound->bandwidth_share >= CEILING_BOUND) {
        return "bandwidth-bound";
    }
    if (bound->launch_share > 0.0 && bound->bandwidth_share + bound->launch_share >= ACCOUNTED) {
        return bound->launch_share > bound->bandwidth_share ? "launch-bound" : "bandwidth-bound";
    }
    return bound->launch_share > 0.5 ? "launch-bound" : "kernel-bound";
}

eco_bound eco_explain_bound(const eco_bound_input *input) {
    eco_bound out = {0};
    if (input->read_bytes_per_s > 0.0 && input->token_s > 0.0) {
        out.roofline_s = input->bytes_per_token / input->read_bytes_per_s;
        out.bandwidth_share = out.roofline_s / input->token_s;
        out.launch_share = input->launch_s * input->launches_per_token / input->token_s;
    }
    if (input->flops_per_token > 0.0 && input->matrix_flops_per_s > 0.0 && input->token_s > 0.0) {
        out.compute_s = input->flops_per_token / input->matrix_flops_per_s;
        out.compute_share = out.compute_s / input->token_s;
    }
    if (input->read_j_per_byte > 0.0 && input->mj_per_token > 0.0) {
        out.roofline_j = input->bytes_per_token * input->read_j_per_byte;
        out.energy_factor = input->mj_per_token * 1e-3 / out.roofline_j;
        out.below_floor = out.energy_factor < FLOOR_SLACK;
    }
    out.name = bound_name(input, &out);
    return out;
}

static void add_change(eco_text *out, double ratio, const char *less, const char *what) {
    ecoi_text_add_fixed(out, fabs(ratio - 1.0) * 100.0, 0);
    ecoi_text_addf(out, " %% %s %s", ratio < 1.0 ? less : "more", what);
}

void eco_explain_why(const eco_bound *baseline, const eco_bound *arm, const char *baseline_name,
                     const char *arm_name, double delta_pct, double bytes_ratio, double time_ratio,
                     double power_ratio, eco_text *out) {
    ecoi_text_addf(out, "%s reads ", arm_name);
    add_change(out, bytes_ratio, "fewer", "bytes a token than ");
    ecoi_text_addf(out, "%s, takes ", baseline_name);
    add_change(out, time_ratio, "less", "time and draws ");
    add_change(out, power_ratio, "less", "power");
    ecoi_text_addf(out, ": energy %s by ", delta_pct < 0.0 ? "falls" : "rises");
    ecoi_text_add_fixed(out, fabs(delta_pct), 1);
    ecoi_text_addf(out, " %%. %s is %s", baseline_name, baseline->name);
    if (baseline->bandwidth_share > 0.0 && arm->bandwidth_share > 0.0) {
        ecoi_text_addf(out, " (");
        ecoi_text_add_fixed(out, baseline->bandwidth_share * 100.0, 0);
        ecoi_text_addf(out, " %% of the probed bandwidth), %s is %s (", arm_name, arm->name);
        ecoi_text_add_fixed(out, arm->bandwidth_share * 100.0, 0);
        ecoi_text_addf(out, " %% of it).");
    } else {
        ecoi_text_addf(out, ", %s is %s.", arm_name, arm->name);
    }
}

void eco_explain_advice(const eco_bound *arm, const char *arm_name, eco_text *out) {
    static const struct {
        const char *bound, *advice;
    } rows[] = {
        {"launch-bound", "spends its time between kernels: a larger model, a larger batch or "
                         "fewer, fused kernels would "
                         "change the result more than the format does"},
        {"bandwidth-bound",
         "is limited by memory traffic: fewer bytes a token is what saves energy here"},
        {"compute-bound",
         "is limited by arithmetic: a smaller batch, or a format whose products run faster on this "
         "card, changes its time; fewer bytes do not"},
        {"kernel-bound",
         "spends its time inside kernels beyond what its bytes and launches need, on "
         "instructions and latency: faster kernels would lower its energy"},
        {"power-capped", "reached the power limit: the result holds for this limit only"},
        {"throttled", "was slowed down by heat: cool the card and measure again"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].bound, arm->name) == 0) {
            ecoi_text_addf(out, "%s %s.", arm_name, rows[i].advice);
            return;
        }
    }
    ecoi_text_addf(out, "no bandwidth probe: what limits %s is not known.", arm_name);
}
