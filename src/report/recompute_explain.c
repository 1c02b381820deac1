/* SPDX-License-Identifier: Apache-2.0
 *
 * Re-deriving the explain block: the probed ceilings from the probe's rows in the baseline's trace, the bytes and
 * operations of a token from the workload, and from these and the arms' own figures the rooflines, the shares, what binds
 * each arm, and the sentences. The launch cost and the matrix rates have no rows; they are taken as printed. Older reports
 * do not say how many bytes a unit of the probe moved: their ceilings are taken as printed, held only against one another,
 * and of the sentences only the numbers count, since their words were others.
 */
#include "report/recompute.h"

#include "core/num.h"
#include "core/str.h"
#include "ecocompute/arch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Half a unit of the decimals with which the ceilings are printed, in GB/s, W, mJ/GB and us; of matrix rates in TFLOP/s and
 * TOP/s the same, although newer reports print three decimals more. */
static const double CEILING_ROUNDING = 0.5e-3;
static const double LAUNCH_ROUNDING_US = 0.5e-4;
static const double COUNT_TOLERANCE = 0.5; /* of bytes and operations: counted, so exact */
enum { NEARBY = 27, CONTEXT_BYTES = 20 };

typedef struct explanation {
    const ecoi_recomputation *r;
    bool from_trace; /* the ceilings */
    double read_gb_per_s, read_mj_per_gb, launch_us;
    double read_rounding, energy_rounding, launch_rounding; /* relative */
    double
        matrix_rounding[ECOI_RECOMPUTE_ARMS_MAX]; /* likewise, of the rate of each arm's products */
    eco_bound_input inputs[ECOI_RECOMPUTE_ARMS_MAX];
    eco_bound bounds[ECOI_RECOMPUTE_ARMS_MAX];
} explanation;

static double number_of(const ecoi_recomputation *r, eco_field field, eco_at at) {
    double value = 0.0;
    return eco_report_number(r->report, field, at, &value) ? value : 0.0;
}

/* What cannot be derived may not be printed; what is not printed is not missed. */
static void compare_or_none(const ecoi_recomputation *r, eco_field field, eco_at at, double derived,
                            int decimals, double relative) {
    if (derived > 0.0) {
        ecoi_compare_given(r, field, at, derived, decimals, relative * derived);
    } else {
        ecoi_compare_optional(r, field, at, 0.0, decimals);
    }
}

/* ---- Ceilings --------------------------------------------------------------------------------- */

static void ceilings_from_trace(explanation *x, const ecoi_arm_figures *base, double unit_bytes) {
    const ecoi_recomputation *const r = x->r;
    eco_window_figures probe;
    if (!eco_window_figures_of(base->rows, base->n_rows, 0, ECO_PHASE_PROBE, true, &probe)) {
        eco_findings_add(r->out, "explain.read_bandwidth_gb_per_s: %s holds no probe window",
                         base->file);
        return;
    }
    const double gb = probe.tokens * unit_bytes * 1e-9;
    x->read_gb_per_s = gb / probe.seconds;
    x->read_mj_per_gb = probe.energy_j / gb * 1e3;
    compare_or_none(r, ECO_FIELD_EX_BW, ECO_TOP, x->read_gb_per_s, ECOI_PLAIN_DECIMALS, 0.0);
    compare_or_none(r, ECO_FIELD_EX_BW_W, ECO_TOP, probe.power_w, ECOI_PLAIN_DECIMALS, 0.0);
    compare_or_none(r, ECO_FIELD_EX_MJ_GB, ECO_TOP, x->read_mj_per_gb, ECOI_PLAIN_DECIMALS, 0.0);
}

/* Power is bandwidth times energy per byte: of three printed numbers none can be moved alone. */
static void ceilings_as_printed(explanation *x) {
    const ecoi_recomputation *const r = x->r;
    const double power_w = number_of(r, ECO_FIELD_EX_BW_W, ECO_TOP);
    x->read_gb_per_s = number_of(r, ECO_FIELD_EX_BW, ECO_TOP);
    x->read_mj_per_gb = number_of(r, ECO_FIELD_EX_MJ_GB, ECO_TOP);
    x->read_rounding = x->read_gb_per_s > 0.0 ? CEILING_ROUNDING / x->read_gb_per_s : 0.0;
    x->energy_rounding = x->read_mj_per_gb > 0.0 ? CEILING_ROUNDING / x->read_mj_per_gb : 0.0;
    if (x->read_gb_per_s > 0.0 && x->read_mj_per_gb > 0.0 && power_w > 0.0) {
        const double power_rounding = CEILING_ROUNDING / power_w;
        compare_or_none(r, ECO_FIELD_EX_BW_W, ECO_TOP, x->read_gb_per_s * x->read_mj_per_gb * 1e-3,
                        ECOI_PLAIN_DECIMALS, x->read_rounding + x->energy_rounding);
        compare_or_none(r, ECO_FIELD_EX_BW, ECO_TOP, power_w / x->read_mj_per_gb * 1e3,
                        ECOI_PLAIN_DECIMALS, power_rounding + x->energy_rounding);
        compare_or_none(r, ECO_FIELD_EX_MJ_GB, ECO_TOP, power_w / x->read_gb_per_s * 1e3,
                        ECOI_PLAIN_DECIMALS, power_rounding + x->read_rounding);
    }
}

static void read_ceilings(explanation *x, const ecoi_arm_figures *base) {
    const double unit_bytes = number_of(x->r, ECO_FIELD_EX_UNIT_BYTES, ECO_TOP);
    x->from_trace = unit_bytes > 0.0;
    if (x->from_trace) {
        ceilings_from_trace(x, base, unit_bytes);
    } else {
        ceilings_as_printed(x);
    }
    x->launch_us = number_of(x->r, ECO_FIELD_EX_LAUNCH_US, ECO_TOP);
    x->launch_rounding = x->launch_us > 0.0 ? LAUNCH_ROUNDING_US / x->launch_us : 0.0;
}

/* ---- Arms ------------------------------------------------------------------------------------- */

/* A generated token of the headline; 0 where the model or a format is none that this program knows. */
typedef struct token_counts {
    double bytes, flops;
} token_counts;

/* Weights are read once a step, so a token of a batch carries its share of them. */
static token_counts counted(const ecoi_recomputation *r, uint32_t arm) {
    static const char suffix[] = " (shape only)";
    const token_counts unknown = {0};
    const char *model = NULL, *linear = NULL, *head = NULL;
    char name[ECO_NAME_MAX];
    eco_format linear_format, head_format;
    double n_prompt = 0.0, n_tokens = 0.0;
    if (!eco_report_string(r->report, ECO_FIELD_WL_MODEL, ECO_TOP, &model) ||
        !eco_report_string(r->report, ECO_FIELD_WL_HEAD, ECO_TOP, &head) ||
        !eco_report_string(r->report, ECO_FIELD_AR_PRECISION, ECO_AT1(arm), &linear) ||
        !eco_report_number(r->report, ECO_FIELD_WL_PROMPT, ECO_TOP, &n_prompt) ||
        !eco_report_number(r->report, ECO_FIELD_WL_TOKENS, ECO_TOP, &n_tokens) ||
        !eco_format_find(linear, &linear_format) || !eco_format_find(head, &head_format) ||
        !ecoi_str_copy(name, sizeof name, model)) {
        return unknown;
    }
    const size_t n = strlen(name);
    if (n > sizeof suffix && strcmp(name + n - (sizeof suffix - 1), suffix) == 0) {
        name[n - (sizeof suffix - 1)] = '\0';
    }
    const eco_model_shape *const shape = eco_model_find(name);
    if (shape == NULL) {
        return unknown;
    }
    const double first = r->headline == ECO_PHASE_GENERATION ? 0.0 : n_prompt;
    const double position = (first + n_prompt + n_tokens) / 2.0;
    const eco_token_bytes bytes =
        eco_model_batch_token_bytes(shape, linear_format, head_format, position, r->batch);
    return (token_counts){.bytes = r->units_per_token * bytes.total,
                          .flops = r->units_per_token * eco_model_token_flops(shape, position)};
}

/* The derived count, held against a printed one; where it cannot be derived, the printed one. */
static double count_of(const ecoi_recomputation *r, eco_field field, eco_at at, double derived) {
    if (derived > 0.0 && ecoi_report_find(r->report, field, at) != NULL) {
        ecoi_compare_within(r, field, at, derived, 0, COUNT_TOLERANCE * (1.0 + 1e-6));
    }
    return derived > 0.0 ? derived : number_of(r, field, at);
}

/* The ceiling of the arm's products, in units of 10^12 operations a second; 0 = not probed. */
static double matrix_rate(const ecoi_recomputation *r, uint32_t arm) {
    const char *precision = NULL;
    eco_format format;
    const bool int8 =
        eco_report_string(r->report, ECO_FIELD_AR_PRECISION, ECO_AT1(arm), &precision) &&
        eco_format_find(precision, &format) && eco_format_at(format)->quantizes_activations;
    return number_of(r, int8 ? ECO_FIELD_EX_INT8 : ECO_FIELD_EX_FP16, ECO_TOP);
}

/* Reasons for reduced clocks in the arm's headline windows, as the report lists them. */
static void read_throttle(const ecoi_recomputation *r, uint32_t arm, eco_bound_input *input) {
    for (uint32_t b = 0; b < r->n_blocks; b++) {
        const ecoi_block_figures *const block = &r->arms[arm].blocks[b];
        const ecoi_json *const reasons =
            block->present
                ? ecoi_report_find(r->report, ECO_FIELD_WI_THROTTLE, ECO_AT2(arm, block->window))
                : NULL;
        if (reasons == NULL || reasons->type != ECOI_JSON_ARRAY) {
            continue;
        }
        for (const ecoi_json *reason = reasons->first; reason != NULL; reason = reason->next) {
            if (reason->type != ECOI_JSON_STRING) {
                continue;
            }
            input->power_capped = input->power_capped || strcmp(reason->text, "power_cap") == 0;
            input->throttled = input->throttled || strcmp(reason->text, "thermal") == 0 ||
                               strcmp(reason->text, "power_brake") == 0;
        }
    }
}

static void read_arm(explanation *x, uint32_t arm) {
    const ecoi_recomputation *const r = x->r;
    const ecoi_arm_figures *const figures = &r->arms[arm];
    const eco_at at = ECO_AT1(arm);
    eco_bound_input *const input = &x->inputs[arm];
    const token_counts counts = counted(r, arm);
    const double rate = matrix_rate(r, arm);
    x->matrix_rounding[arm] = rate > 0.0 ? CEILING_ROUNDING / rate : 0.0;
    *input = (eco_bound_input){
        .bytes_per_token = count_of(r, ECO_FIELD_EA_BYTES, at, counts.bytes),
        .flops_per_token = count_of(r, ECO_FIELD_EA_FLOPS, at, counts.flops),
        .matrix_flops_per_s = rate * 1e12,
        .token_s = figures->tokens_per_s > 0.0 ? 1.0 / figures->tokens_per_s : 0.0,
        .mj_per_token = figures->mj_per_token,
        .read_bytes_per_s = x->read_gb_per_s * 1e9,
        .read_j_per_byte = x->read_mj_per_gb * 1e-12,
        .launch_s = x->launch_us * 1e-6,
        .launches_per_token =
            r->units_per_token * number_of(r, ECO_FIELD_AR_LAUNCHES, at) / r->batch};
    read_throttle(r, arm, input);
    x->bounds[arm] = eco_explain_bound(input);
}

/* The ceilings moved within their rounding: each by -1, 0 or 1 of it, in NEARBY ways. */
static eco_bound bound_nearby(const explanation *x, uint32_t arm, int way) {
    const int launch = way % 3 - 1;
    const int read = way / 3 % 3 - 1;
    const int matrix = way / 9 - 1;
    eco_bound_input input = x->inputs[arm];
    input.launch_s *= 1.0 + launch * x->launch_rounding;
    input.read_bytes_per_s *= 1.0 + read * x->read_rounding;
    input.matrix_flops_per_s *= 1.0 + matrix * x->matrix_rounding[arm];
    return eco_explain_bound(&input);
}

static void compare_bound(const explanation *x, uint32_t arm) {
    const ecoi_recomputation *const r = x->r;
    const char *printed = NULL;
    const char *const derived = x->bounds[arm].name;
    if (!eco_report_string(r->report, ECO_FIELD_EA_BOUND, ECO_AT1(arm), &printed)) {
        return;
    }
    bool agrees = !x->from_trace && strcmp(derived, "kernel-bound") == 0 &&
                  strcmp(printed, "compute-bound") == 0; /* its name in older reports */
    for (int nearby = 0; nearby < NEARBY && !agrees; nearby++) {
        agrees = strcmp(printed, bound_nearby(x, arm, nearby).name) == 0;
    }
    if (!agrees) {
        char name[ECOI_FIELD_NAME_BYTES];
        ecoi_field_name(ECO_FIELD_EA_BOUND, ECO_AT1(arm), name);
        eco_findings_add(r->out, "%s: printed \"%.40s\", re-derived \"%s\"", name, printed,
                         derived);
    }
}

static void compare_arm(const explanation *x, uint32_t arm) {
    const ecoi_recomputation *const r = x->r;
    const eco_bound *const bound = &x->bounds[arm];
    const eco_at at = ECO_AT1(arm);
    const double token_us = x->inputs[arm].token_s * 1e6;
    if (ecoi_report_find(r->report, ECO_FIELD_EA_PRECISION, at) != NULL &&
        !ecoi_same_string(r->report, ECO_FIELD_EA_PRECISION, at, ECO_FIELD_AR_PRECISION, at)) {
        eco_findings_add(r->out, "explain.arms[%u].precision: is not that of trials.arms[%u]",
                         (unsigned)arm, (unsigned)arm);
    }
    compare_or_none(r, ECO_FIELD_EA_TOKEN_US, at, token_us, ECOI_PLAIN_DECIMALS, 0.0);
    compare_or_none(r, ECO_FIELD_EA_ROOF_US, at, bound->roofline_s * 1e6, ECOI_PLAIN_DECIMALS,
                    x->read_rounding);
    compare_or_none(r, ECO_FIELD_EA_ROOF_MJ, at, bound->roofline_j * 1e3, ECOI_PLAIN_DECIMALS,
                    x->energy_rounding);
    compare_or_none(r, ECO_FIELD_EA_BW_SHARE, at, bound->bandwidth_share, ECOI_PCT_DECIMALS,
                    x->read_rounding);
    compare_or_none(r, ECO_FIELD_EA_LAUNCH_SHARE, at, bound->launch_share, ECOI_PCT_DECIMALS,
                    x->launch_rounding);
    compare_or_none(r, ECO_FIELD_EA_COMPUTE_SHARE, at, bound->compute_share, ECOI_PCT_DECIMALS,
                    x->matrix_rounding[arm]);
    compare_or_none(r, ECO_FIELD_EA_ENERGY_FACTOR, at, bound->energy_factor, ECOI_PLAIN_DECIMALS,
                    x->energy_rounding);
    compare_bound(x, arm);
}

/* ---- Sentences -------------------------------------------------------------------------------- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The same digits in the same order, whatever stands between. */
static bool same_digits(const char *a, const char *b) {
    for (;; a++, b++) {
        while (*a != '\0' && !is_digit(*a)) {
            a++;
        }
        while (*b != '\0' && !is_digit(*b)) {
            b++;
        }
        if (*a != *b || *a == '\0') {
            return *a == *b;
        }
    }
}

/* Takes `text`. */
static bool sentence_agrees(const explanation *x, const char *printed, eco_text *text) {
    const bool agrees = text->data != NULL && (x->from_trace ? strcmp(printed, text->data) == 0
                                                             : same_digits(printed, text->data));
    eco_text_free(text);
    return agrees;
}

/* Both, from a little before where they part. Takes `text`. */
static void add_sentence(const ecoi_recomputation *r, eco_field field, const char *printed,
                         eco_text *text) {
    const char *const derived = text->data != NULL ? text->data : "";
    size_t same = 0;
    while (printed[same] != '\0' && printed[same] == derived[same]) {
        same++;
    }
    const size_t from = same > CONTEXT_BYTES ? same - CONTEXT_BYTES : 0;
    eco_findings_add(r->out, "%s: printed \"%.80s\", re-derived \"%.80s\"",
                     eco_field_at(field)->path, printed + from, derived + from);
    eco_text_free(text);
}

static void compare_why(const explanation *x, uint32_t base, uint32_t own, const eco_mean *change) {
    const ecoi_recomputation *const r = x->r;
    const ecoi_arm_figures *const a = &r->arms[base];
    const ecoi_arm_figures *const b = &r->arms[own];
    const char *printed = NULL, *base_name = NULL, *own_name = NULL;
    if (!eco_report_string(r->report, ECO_FIELD_EX_WHY, ECO_TOP, &printed) || change == NULL ||
        !eco_report_string(r->report, ECO_FIELD_AR_PRECISION, ECO_AT1(base), &base_name) ||
        !eco_report_string(r->report, ECO_FIELD_AR_PRECISION, ECO_AT1(own), &own_name) ||
        !(a->power_w > 0.0) || !(b->tokens_per_s > 0.0) ||
        !(x->inputs[base].bytes_per_token > 0.0)) {
        return;
    }
    eco_text text = {0};
    for (int nearby = 0; nearby < NEARBY; nearby++) {
        const eco_bound base_bound = bound_nearby(x, base, nearby);
        const eco_bound own_bound = bound_nearby(x, own, nearby);
        text = (eco_text){0};
        eco_explain_why(&base_bound, &own_bound, base_name, own_name, eco_pct_of_log(change->mean),
                        x->inputs[own].bytes_per_token / x->inputs[base].bytes_per_token,
                        a->tokens_per_s / b->tokens_per_s, b->power_w / a->power_w, &text);
        if (sentence_agrees(x, printed, &text)) {
            return;
        }
    }
    text = (eco_text){0};
    eco_explain_why(&x->bounds[base], &x->bounds[own], base_name, own_name,
                    eco_pct_of_log(change->mean),
                    x->inputs[own].bytes_per_token / x->inputs[base].bytes_per_token,
                    a->tokens_per_s / b->tokens_per_s, b->power_w / a->power_w, &text);
    add_sentence(r, ECO_FIELD_EX_WHY, printed, &text);
}

static void compare_advice(const explanation *x, uint32_t own) {
    const ecoi_recomputation *const r = x->r;
    const char *printed = NULL, *own_name = NULL;
    if (!eco_report_string(r->report, ECO_FIELD_EX_ADVICE, ECO_TOP, &printed) ||
        !eco_report_string(r->report, ECO_FIELD_AR_PRECISION, ECO_AT1(own), &own_name)) {
        return;
    }
    eco_text text = {0};
    for (int nearby = 0; nearby < NEARBY; nearby++) {
        const eco_bound bound = bound_nearby(x, own, nearby);
        text = (eco_text){0};
        eco_explain_advice(&bound, own_name, &text);
        if (sentence_agrees(x, printed, &text)) {
            return;
        }
    }
    text = (eco_text){0};
    eco_explain_advice(&x->bounds[own], own_name, &text);
    add_sentence(r, ECO_FIELD_EX_ADVICE, printed, &text);
}

void ecoi_recompute_explain(const ecoi_recomputation *r, uint32_t base, uint32_t own,
                            const eco_mean *change) {
    if (eco_report_array_size(r->report, ECO_FIELD_EA_PRECISION, ECO_TOP) == 0) {
        return;
    }
    explanation x = {.r = r};
    read_ceilings(&x, &r->arms[base]);
    for (uint32_t arm = 0; arm < r->n_arms; arm++) {
        read_arm(&x, arm);
        compare_arm(&x, arm);
    }
    compare_why(&x, base, own, change);
    compare_advice(&x, own);
}
