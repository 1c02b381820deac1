/* SPDX-License-Identifier: Apache-2.0
 *
 * From a report to its explanation. Everything is worked out again from the report's numbers: bytes by part from the
 * model's shape (shown only if they add up to the report's count), the bound from the ceilings the run probed.
 */
#include "ecocompute/explain.h"

#include "core/str.h"

#include <math.h>
#include <string.h>

static const double SAME_COUNT = 1e-3; /* relative; bytes are counted, not measured */

static double number_or_0(const eco_report *report, eco_field field, eco_at at) {
    /* Beyond these no quantity of a report can be, and within them products and quotients stay finite. */
    static const double least = 1e-30;
    static const double most = 1e30;
    double value = 0.0;
    return eco_report_number(report, field, at, &value) && value > least && value < most ? value
                                                                                         : 0.0;
}

static const char *string_or(const eco_report *report, eco_field field, eco_at at,
                             const char *otherwise) {
    const char *text = NULL;
    return eco_report_string(report, field, at, &text) ? text : otherwise;
}

/* The shape a report names: "Qwen2-7B (shape only)" is Qwen2-7B. */
static const eco_model_shape *shape_of(const char *model) {
    static const char suffix[] = " (shape only)";
    char name[ECO_NAME_MAX];
    if (!ecoi_str_copy(name, sizeof name, model)) {
        return NULL;
    }
    const size_t length = strlen(name);
    if (length > sizeof suffix - 1 && strcmp(name + length - (sizeof suffix - 1), suffix) == 0) {
        name[length - (sizeof suffix - 1)] = '\0';
    }
    return eco_model_find(name);
}

/* A window of a block that the arm's figures stand on. */
static bool is_headline(const eco_report *report, uint32_t arm, uint32_t w, const char *headline) {
    int64_t block = 0;
    return strcmp(string_or(report, ECO_FIELD_WI_KIND, ECO_AT2(arm, w), ""), headline) == 0 &&
           eco_report_integer(report, ECO_FIELD_WI_BLOCK, ECO_AT2(arm, w), &block) && block > 0;
}

static uint32_t headline_windows(const eco_report *report, uint32_t arm, const char *headline) {
    const uint32_t n = eco_report_array_size(report, ECO_FIELD_WI_KIND, ECO_AT2(arm, 0));
    uint32_t count = 0;
    for (uint32_t w = 0; w < n; w++) {
        count += is_headline(report, arm, w, headline) ? 1 : 0;
    }
    return count;
}

/* What a window of the headline says about clocks held back. */
static bool throttle_seen(const eco_report *report, uint32_t arm, const char *headline,
                          const char *reason) {
    const uint32_t n = eco_report_array_size(report, ECO_FIELD_WI_KIND, ECO_AT2(arm, 0));
    for (uint32_t w = 0; w < n; w++) {
        if (is_headline(report, arm, w, headline) &&
            eco_report_strings_hold(report, ECO_FIELD_WI_THROTTLE, ECO_AT2(arm, w), reason)) {
            return true;
        }
    }
    return false;
}

static void bytes_by_part(const eco_explanation *e, const eco_model_shape *shape, double units,
                          eco_format head, eco_explained_arm *arm) {
    eco_format format = ECO_FORMAT_FP16;
    if (shape == NULL || !eco_format_find(arm->precision, &format)) {
        return;
    }
    const double position = (e->position_first + e->position_last) / 2.0;
    eco_token_bytes b = eco_model_batch_token_bytes(shape, format, head, position, e->batch);
    double *const parts[] = {&b.linear, &b.head, &b.kv_read, &b.kv_write, &b.other, &b.total};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        *parts[i] *= units;
    }
    arm->split_known = fabs(b.total - arm->bytes_per_token) <= SAME_COUNT * arm->bytes_per_token;
    if (arm->split_known) {
        arm->bytes = b;
    }
    if (arm->flops_per_token <= 0.0) {
        arm->flops_per_token = units * eco_model_token_flops(shape, position);
    }
}

/* The ceiling for this arm's products: its own report's, else a lent one. */
static double matrix_rate(const eco_report *report, const eco_explain_lent *lent,
                          eco_explanation *e, const char *precision) {
    eco_format format = ECO_FORMAT_FP16;
    const bool int8 =
        eco_format_find(precision, &format) && eco_format_at(format)->quantizes_activations;
    const double own =
        1e12 * number_or_0(report, int8 ? ECO_FIELD_EX_INT8 : ECO_FIELD_EX_FP16, ECO_TOP);
    if (own > 0.0 || lent == NULL) {
        return own;
    }
    const double other = int8 ? lent->matrix_int8_ops_per_s : lent->matrix_fp16_ops_per_s;
    if (other > 0.0) {
        e->lent = true;
        (void)ecoi_str_copy(e->lent_from, sizeof e->lent_from, lent->from);
    }
    return other;
}

static void explain_arm(const eco_report *report, const eco_explain_lent *lent,
                        const eco_model_shape *shape, uint32_t i, eco_explanation *e) {
    eco_explained_arm *arm = &e->arms[i];
    const eco_at at = ECO_AT1(i);
    const char *headline = e->published ? "generation" : "decode";
    const double tokens = e->position_last - (e->published ? 0.0 : e->position_first);
    const double generated = number_or_0(report, ECO_FIELD_WL_TOKENS, ECO_TOP);
    const double units = e->published && generated > 0.0 ? tokens / generated : 1.0;
    eco_format head = ECO_FORMAT_FP16;
    (void)eco_format_find(string_or(report, ECO_FIELD_WL_HEAD, ECO_TOP, "FP16"), &head);
    arm->precision = string_or(report, ECO_FIELD_AR_PRECISION, at, "?");
    arm->role = string_or(report, ECO_FIELD_AR_ROLE, at, "");
    arm->kernels = string_or(report, ECO_FIELD_AR_KERNELS, at, NULL);
    arm->stored_bound = string_or(report, ECO_FIELD_EA_BOUND, at, NULL);
    arm->bytes_per_token = number_or_0(report, ECO_FIELD_EA_BYTES, at);
    arm->flops_per_token = number_or_0(report, ECO_FIELD_EA_FLOPS, at);
    const double tps = number_or_0(report, ECO_FIELD_AR_TPS, at);
    arm->token_s = tps > 0.0 ? 1.0 / tps : 0.0;
    arm->step_s = arm->token_s * e->batch / units;
    arm->layer_s = e->n_layers > 0 ? arm->step_s / e->n_layers : 0.0;
    arm->mj_per_token = number_or_0(report, ECO_FIELD_AR_MJ, at);
    arm->mj_lo = number_or_0(report, ECO_FIELD_AR_MJ_LO, at);
    arm->mj_hi = number_or_0(report, ECO_FIELD_AR_MJ_HI, at);
    arm->n_windows = headline_windows(report, i, headline);
    arm->power_w = number_or_0(report, ECO_FIELD_AR_W, at);
    arm->launches_per_step = number_or_0(report, ECO_FIELD_AR_LAUNCHES, at);
    bytes_by_part(e, shape, units, head, arm);
    arm->matrix_flops_per_s = matrix_rate(report, lent, e, arm->precision);
    const eco_bound_input input = {.bytes_per_token = arm->bytes_per_token,
                                   .token_s = arm->token_s,
                                   .mj_per_token = arm->mj_per_token,
                                   .read_bytes_per_s = e->read_bytes_per_s,
                                   .read_j_per_byte = e->read_j_per_byte,
                                   .launch_s = e->launch_s,
                                   .launches_per_token = arm->launches_per_step * units / e->batch,
                                   .flops_per_token = arm->flops_per_token,
                                   .matrix_flops_per_s = arm->matrix_flops_per_s,
                                   .power_capped = throttle_seen(report, i, headline, "power_cap"),
                                   .throttled = throttle_seen(report, i, headline, "thermal") ||
                                                throttle_seen(report, i, headline, "power_brake")};
    arm->bound = eco_explain_bound(&input);
}

/* The change with what it rests on. */
static void explain_change(const eco_report *report, eco_explanation *e) {
    int64_t n = 0;
    e->has_change =
        e->n_arms == 2 && eco_report_number(report, ECO_FIELD_RE_DELTA, ECO_TOP, &e->delta_pct);
    e->unsettled = e->has_change && eco_report_unsettled(report);
    e->verdict = string_or(report, ECO_FIELD_RE_VERDICT, ECO_TOP, "none");
    e->basis = string_or(report, ECO_FIELD_RE_BASIS, ECO_TOP, "unavailable");
    e->expanded_pct = number_or_0(report, ECO_FIELD_UX_PCT, ECO_TOP);
    if (eco_report_integer(report, ECO_FIELD_UN_N, ECO_TOP, &n) && n > 0 && n <= UINT32_MAX) {
        e->n_blocks = eco_report_number(report, ECO_FIELD_UN_LO, ECO_TOP, &e->lo_pct) &&
                              eco_report_number(report, ECO_FIELD_UN_HI, ECO_TOP, &e->hi_pct)
                          ? (uint32_t)n
                          : 1;
    }
}

static void explain_pair(const eco_report *report, eco_explanation *e) {
    const eco_explained_arm *base = &e->arms[0];
    const eco_explained_arm *arm = &e->arms[1];
    explain_change(report, e);
    if (e->has_change && base->bytes_per_token > 0.0 && base->token_s > 0.0 &&
        base->power_w > 0.0) {
        eco_explain_why(&base->bound, &arm->bound, base->precision, arm->precision, e->delta_pct,
                        arm->bytes_per_token / base->bytes_per_token, arm->token_s / base->token_s,
                        arm->power_w / base->power_w, &e->why);
    }
    for (uint32_t i = 0; i < e->n_arms; i++) {
        eco_explain_advice(&e->arms[i].bound, e->arms[i].precision, &e->advice[i]);
    }
}

eco_status eco_report_explain(const eco_report *report, const eco_explain_lent *lent,
                              eco_explanation *out, eco_error *err) {
    *out = (eco_explanation){.batch = 1};
    const uint32_t n = eco_report_array_size(report, ECO_FIELD_AR_PRECISION, ECO_TOP);
    if (n == 0 || number_or_0(report, ECO_FIELD_AR_TPS, ECO_TOP) <= 0.0) {
        return eco_error_set(err, ECO_E_INVALID, 0,
                             "trials.arms: no arm with a speed, so there is nothing to explain");
    }
    const double batch = number_or_0(report, ECO_FIELD_WL_BATCH, ECO_TOP);
    out->batch = batch >= 1.0 && batch <= 65536.0 ? (uint32_t)batch : 1;
    out->model = string_or(report, ECO_FIELD_WL_MODEL, ECO_TOP, "?");
    out->gpu = string_or(report, ECO_FIELD_SUT_GPU, ECO_TOP, "?");
    out->engine = string_or(report, ECO_FIELD_WL_ENGINE, ECO_TOP, "?");
    out->published =
        strcmp(string_or(report, ECO_FIELD_ME_PROTOCOL, ECO_TOP, "paired"), "published") == 0;
    const double prompt = number_or_0(report, ECO_FIELD_WL_PROMPT, ECO_TOP);
    out->position_first = out->published ? 0.0 : prompt;
    out->position_last = prompt + number_or_0(report, ECO_FIELD_WL_TOKENS, ECO_TOP);
    out->read_bytes_per_s = 1e9 * number_or_0(report, ECO_FIELD_EX_BW, ECO_TOP);
    out->read_j_per_byte = 1e-12 * number_or_0(report, ECO_FIELD_EX_MJ_GB, ECO_TOP);
    out->launch_s = 1e-6 * number_or_0(report, ECO_FIELD_EX_LAUNCH_US, ECO_TOP);
    out->power_limit_w = number_or_0(report, ECO_FIELD_EN_LIMIT, ECO_TOP);
    const eco_model_shape *shape = shape_of(out->model);
    out->n_layers = shape != NULL ? shape->n_layers : 0;
    out->n_arms = n < ECO_EXPLAIN_ARMS_MAX ? n : ECO_EXPLAIN_ARMS_MAX;
    for (uint32_t i = 0; i < out->n_arms; i++) {
        explain_arm(report, lent, shape, i, out);
    }
    explain_pair(report, out);
    return ECO_OK;
}

void eco_explanation_free(eco_explanation *explanation) {
    eco_text_free(&explanation->why);
    for (uint32_t i = 0; i < ECO_EXPLAIN_ARMS_MAX; i++) {
        eco_text_free(&explanation->advice[i]);
    }
    *explanation = (eco_explanation){.n_arms = 0};
}
