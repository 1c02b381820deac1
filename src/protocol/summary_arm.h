/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of one arm over its finished blocks, and of a pair of arms; shared by the two files that fill a report.
 */
#ifndef ECOCOMPUTE_PROTOCOL_SUMMARY_ARM_H
#define ECOCOMPUTE_PROTOCOL_SUMMARY_ARM_H

#include "protocol/session.h"

typedef struct eco_arm_summary {
    uint32_t n;                                 /* headline windows in finished blocks */
    double mj_per_token, tokens_per_s, power_w; /* geometric means; 0 = none */
    eco_mean log_mj;
    double drift_log; /* rise of ln energy per token from the first block to the last, fitted */
    double power_sd,
        power_updates;          /* of the power readings in a window: relative scatter, changes */
    double counter_to_integral; /* geometric mean, 0 = unknown */
    double joules_sum, tokens_sum, seconds_mean, tokens_mean, edge_half_width_s, cooldown_mean_s;
    double tokens_min, seconds_min;
    double clock_lo_mhz, clock_hi_mhz; /* over the windows; 0 = unknown */
    uint32_t throttle;
    eco_basis energy_basis, time_basis;
} eco_arm_summary;

eco_arm_summary ecoi_arm_summary(const eco_session *session, uint32_t arm);
/* ln of energy per token of `arm` over arm 0's, one a finished block; returns how many. */
uint32_t ecoi_log_ratios(const eco_session *session, uint32_t arm, double out[ECO_BLOCKS_MAX]);
/* What a generated token of the headline must move, and the kernels it takes; a published one carries its share of the
 * prefill. */
double ecoi_bytes_per_token(const eco_session *session, uint32_t arm);
double ecoi_flops_per_token(const eco_session *session);
double ecoi_launches_per_token(const eco_session *session, uint32_t arm);
/* The window of this block and phase, or NULL. */
const eco_window *ecoi_window_find(const eco_session_arm *arm, int32_t block, eco_phase phase);

/* report_protocol.c: how windows were made and how warm the device was. */
void ecoi_report_protocol(const eco_session *session, uint32_t arm, eco_report *report);
void ecoi_report_thermal(const eco_session *session, uint32_t arm, eco_report *report);
/* report_warnings.c */
void ecoi_report_warnings(const eco_session *session, uint32_t arm, eco_report *report);
/* report_results.c: results, uncertainty, trials and explain of the pair (arm 0, `arm`). */
void ecoi_report_results(const eco_session *session, uint32_t arm, eco_report *report);

#endif
