/* SPDX-License-Identifier: Apache-2.0
 *
 * The closing lines of a measurement, from the report alone: table of arms, the sentence with the change, why, warnings.
 * Text of the report may come from outside: it is added so that it can neither end a line nor drive a terminal.
 */
#include "ecocompute/report.h"

#include "core/str.h"
#include "ecocompute/stats.h"

#include <math.h>
#include <string.h>

static const double WIDE = 0.2; /* half an interval over its middle, from where ± would mislead */

static const char *text_or(const eco_report *report, eco_field field, eco_at at,
                           const char *otherwise) {
    const char *text = NULL;
    return eco_report_string(report, field, at, &text) ? text : otherwise;
}

static void add_text(eco_text *out, const char *text) {
    eco_text_add_visible(out, text, strlen(text));
}

static void add_field(eco_text *out, const eco_report *report, eco_field field, eco_at at,
                      const char *otherwise) {
    add_text(out, text_or(report, field, at, otherwise));
}

static void add_cell(eco_text *out, bool present, double value, int decimals, int width) {
    eco_text cell = {0};
    if (present) {
        ecoi_text_add_fixed(&cell, value, decimals);
    } else {
        ecoi_text_add_z(&cell, "-");
    }
    ecoi_text_addf(out, "  %*s", width, cell.data != NULL ? cell.data : "");
    eco_text_free(&cell);
}

static void add_number(eco_text *out, const eco_report *report, eco_field field, eco_at at,
                       int decimals, int width) {
    double value = 0.0;
    const bool present = eco_report_number(report, field, at, &value);
    add_cell(out, present, value, decimals, width);
}

static void add_arm(const eco_report *report, uint32_t i, eco_text *out) {
    const eco_at at = ECO_AT1(i);
    double lo = 0.0;
    double hi = 0.0;
    const bool interval = eco_report_number(report, ECO_FIELD_AR_MJ_LO, at, &lo) &&
                          eco_report_number(report, ECO_FIELD_AR_MJ_HI, at, &hi);
    eco_text name = {0};
    add_field(&name, report, ECO_FIELD_AR_PRECISION, at, "?");
    ecoi_text_addf(out, "  %-8s", name.data != NULL ? name.data : "");
    eco_text_free(&name);
    add_number(out, report, ECO_FIELD_AR_MJ, at, 1, 12);
    if (interval &&
        hi - lo > WIDE * (hi + lo)) { /* of a mean of logarithms: far from symmetric when wide */
        ecoi_text_add_z(out, "  ");
        ecoi_text_add_fixed(out, lo, 1);
        ecoi_text_add_z(out, " to ");
        ecoi_text_add_fixed(out, hi, 1);
    } else {
        add_cell(out, interval, (hi - lo) / 2.0, 1, 10);
    }
    add_number(out, report, ECO_FIELD_AR_TPS, at, 1, 10);
    add_number(out, report, ECO_FIELD_AR_W, at, 1, 8);
    ecoi_text_add_z(out, "  ");
    add_field(out, report, ECO_FIELD_EA_BOUND, at, "-");
    ecoi_text_add_char(out, '\n');
}

/* No comparison: one arm's energy, or why there is none. */
static void add_alone(const eco_report *report, const char *arm, const char *basis, eco_text *out) {
    double mj = 0.0;
    if (!eco_report_number(report, ECO_FIELD_RE_MJ, ECO_TOP, &mj)) {
        ecoi_text_add_z(out, "energy: ");
        add_text(out, basis);
        ecoi_text_add_z(out, ". ");
        add_field(out, report, ECO_FIELD_RE_NOTE, ECO_TOP, "");
        ecoi_text_add_char(out, '\n');
        return;
    }
    add_text(out, arm);
    ecoi_text_add_z(out, " takes ");
    ecoi_text_add_fixed(out, mj, 1);
    ecoi_text_add_z(out, " mJ a token");
    double expanded = 0.0;
    if (eco_report_number(report, ECO_FIELD_UX_ABS_PCT, ECO_TOP, &expanded)) {
        ecoi_text_add_z(out, " (timing and sensor ±");
        ecoi_text_add_fixed(out, expanded, 2);
        ecoi_text_add_z(out, " %)");
    }
    ecoi_text_add_z(out, ", ");
    add_text(out, basis);
    ecoi_text_add_z(out, "; nothing to compare it with.\n");
}

bool eco_report_unsettled(const eco_report *report) {
    double delta = 0.0;
    const char *verdict = text_or(report, ECO_FIELD_RE_VERDICT, ECO_TOP, "none");
    return eco_report_number(report, ECO_FIELD_RE_DELTA, ECO_TOP, &delta) &&
           strcmp(verdict, "saves") != 0 && strcmp(verdict, "costs") != 0;
}

static void add_sentence(const eco_report *report, eco_text *out) {
    double delta = 0.0;
    double lo = 0.0;
    double hi = 0.0;
    const char *arm = text_or(report, ECO_FIELD_WL_PRECISION, ECO_TOP, "?");
    const char *basis = text_or(report, ECO_FIELD_RE_BASIS, ECO_TOP, "unavailable");
    if (!eco_report_number(report, ECO_FIELD_RE_DELTA, ECO_TOP, &delta)) {
        add_alone(report, arm, basis, out);
        return;
    }
    int64_t n = 0;
    (void)eco_report_integer(report, ECO_FIELD_UN_N, ECO_TOP, &n);
    const char *verdict = text_or(report, ECO_FIELD_RE_VERDICT, ECO_TOP, "none");
    add_text(out, arm);
    ecoi_text_addf(out, "%s energy per token: %s",
                   eco_report_unsettled(report) ? ","
                   : delta < 0.0                ? " lowers"
                                                : " raises",
                   delta > 0.0 ? "+" : "");
    ecoi_text_add_fixed(out, delta, 2);
    ecoi_text_add_z(out, " % against ");
    add_field(out, report, ECO_FIELD_AR_PRECISION, ECO_AT1(0), "?");
    ecoi_text_add_z(out, " (");
    if (n >= 2 && eco_report_number(report, ECO_FIELD_UN_LO, ECO_TOP, &lo) &&
        eco_report_number(report, ECO_FIELD_UN_HI, ECO_TOP, &hi)) {
        ecoi_text_addf(out, "95 %% interval ");
        ecoi_text_add_fixed(out, lo, 2);
        ecoi_text_addf(out, " to ");
        ecoi_text_add_fixed(out, hi, 2);
        ecoi_text_addf(out, " %%, %lld blocks", (long long)n);
    } else {
        ecoi_text_addf(out, "n = 1, spread unknown");
    }
    double expanded = 0.0;
    if (eco_report_number(report, ECO_FIELD_UX_PCT, ECO_TOP, &expanded)) {
        ecoi_text_addf(out, "; timing and sensor ±");
        ecoi_text_add_fixed(out, expanded, 2);
        ecoi_text_addf(out, " %%");
    }
    ecoi_text_add_z(out, "), ");
    add_text(out, basis);
    ecoi_text_add_z(out, ". Verdict: ");
    add_text(out, verdict);
    ecoi_text_add_z(out, ".\n");
}

/* ln of the arm's tokens/s over the baseline's in the decode windows of a finished block. */
static uint32_t speed_ratios(const eco_report *report, double *out, uint32_t capacity) {
    uint32_t n = 0;
    int64_t finished = INT64_MAX;
    (void)eco_report_integer(report, ECO_FIELD_TR_DONE, ECO_TOP, &finished);
    const uint32_t n_base = eco_report_array_size(report, ECO_FIELD_WI_TPS, ECO_AT1(0));
    const uint32_t n_arm = eco_report_array_size(report, ECO_FIELD_WI_TPS, ECO_AT1(1));
    for (uint32_t i = 0; i < n_base; i++) {
        for (uint32_t j = 0; j < n_arm && n < capacity; j++) {
            int64_t block = 0;
            int64_t other = 0;
            double base = 0.0;
            double arm = 0.0;
            if (eco_report_integer(report, ECO_FIELD_WI_BLOCK, ECO_AT2(0, i), &block) &&
                block > 0 && block <= finished &&
                eco_report_integer(report, ECO_FIELD_WI_BLOCK, ECO_AT2(1, j), &other) &&
                block == other &&
                eco_report_number(report, ECO_FIELD_WI_TPS, ECO_AT2(0, i), &base) &&
                eco_report_number(report, ECO_FIELD_WI_TPS, ECO_AT2(1, j), &arm) && base > 0.0 &&
                arm > 0.0) {
                out[n++] = log(arm / base);
            }
        }
    }
    return n;
}

static void add_time_sentence(const eco_report *report, eco_text *out) {
    double delta = 0.0;
    double ratios[64];
    if (eco_report_number(report, ECO_FIELD_RE_DELTA, ECO_TOP, &delta) ||
        eco_report_array_size(report, ECO_FIELD_AR_PRECISION, ECO_TOP) < 2) {
        return;
    }
    const eco_mean mean = eco_mean_of(ratios, speed_ratios(report, ratios, 64));
    if (mean.n == 0) {
        return;
    }
    ecoi_text_add_z(out, "time only: ");
    add_field(out, report, ECO_FIELD_AR_PRECISION, ECO_AT1(1), "?");
    ecoi_text_add_z(out, " runs at ");
    ecoi_text_add_fixed(out, exp(mean.mean), 2);
    ecoi_text_add_z(out, " times the speed of ");
    add_field(out, report, ECO_FIELD_AR_PRECISION, ECO_AT1(0), "?");
    ecoi_text_add_z(out, " (");
    if (mean.n >= 2) {
        ecoi_text_addf(out, "95 %% interval ");
        ecoi_text_add_fixed(out, exp(mean.mean - mean.half_width), 2);
        ecoi_text_addf(out, " to ");
        ecoi_text_add_fixed(out, exp(mean.mean + mean.half_width), 2);
        ecoi_text_addf(out, ", %u blocks).\n", mean.n);
    } else {
        ecoi_text_addf(out, "n = 1, spread unknown).\n");
    }
}

static void add_why(const eco_report *report, eco_text *out) {
    const char *why = text_or(report, ECO_FIELD_EX_WHY, ECO_TOP, NULL);
    const char *advice = text_or(report, ECO_FIELD_EX_ADVICE, ECO_TOP, NULL);
    if (why == NULL && advice == NULL) {
        return;
    }
    ecoi_text_addf(
        out, "why%s:", eco_report_unsettled(report) ? " (of a change that is not settled)" : "");
    if (why != NULL) {
        ecoi_text_add_char(out, ' ');
        add_text(out, why);
    }
    if (advice != NULL) {
        ecoi_text_add_char(out, ' ');
        add_text(out, advice);
    }
    ecoi_text_add_char(out, '\n');
}

static void add_warning(const eco_report *report, uint32_t i, eco_text *out) {
    const char *detail = text_or(report, ECO_FIELD_WA_DETAIL, ECO_AT1(i), NULL);
    ecoi_text_add_z(out, "warning [");
    add_field(out, report, ECO_FIELD_WA_CODE, ECO_AT1(i), "?");
    ecoi_text_add_z(out, "]: ");
    add_field(out, report, ECO_FIELD_WA_TEXT, ECO_AT1(i), "?");
    if (detail != NULL) {
        ecoi_text_add_z(out, " (");
        add_text(out, detail);
        ecoi_text_add_char(out, ')');
    }
    ecoi_text_add_z(out, "; ");
    add_field(out, report, ECO_FIELD_WA_ADVICE, ECO_AT1(i), "?");
    ecoi_text_add_char(out, '\n');
}

/* Energy per generated token and per token of the whole context differ several times. */
static void add_token_meaning(const eco_report *report, eco_text *out) {
    int64_t n_prompt = 0;
    int64_t n_tokens = 0;
    if (eco_report_integer(report, ECO_FIELD_WL_PROMPT, ECO_TOP, &n_prompt) &&
        eco_report_integer(report, ECO_FIELD_WL_TOKENS, ECO_TOP, &n_tokens)) {
        ecoi_text_addf(out, "%lld prompt + %lld generated tokens (mJ per generated token), ",
                       (long long)n_prompt, (long long)n_tokens);
    }
}

void eco_report_summarise(const eco_report *report, eco_text *out) {
    add_field(out, report, ECO_FIELD_WL_MODEL, ECO_TOP, "?");
    ecoi_text_add_z(out, " on ");
    add_field(out, report, ECO_FIELD_SUT_GPU, ECO_TOP, "?");
    int64_t batch = 0;
    if (eco_report_integer(report, ECO_FIELD_WL_BATCH, ECO_TOP, &batch)) {
        ecoi_text_addf(out, ", batch %lld", (long long)batch);
    }
    ecoi_text_add_z(out, ", ");
    add_token_meaning(report, out);
    add_field(out, report, ECO_FIELD_ME_METHOD, ECO_TOP, "?");
    /* Widths count bytes, and "±" is two. */
    ecoi_text_addf(out, "\n  %-8s  %12s  %11s  %10s  %8s  %s\n", "arm", "mJ/token", "± (95 %)",
                   "tokens/s", "W", "bound");
    const uint32_t n = eco_report_array_size(report, ECO_FIELD_AR_PRECISION, ECO_TOP);
    for (uint32_t i = 0; i < n; i++) {
        add_arm(report, i, out);
    }
    add_sentence(report, out);
    add_time_sentence(report, out);
    add_why(report, out);
    const uint32_t warnings = eco_report_array_size(report, ECO_FIELD_WA_CODE, ECO_TOP);
    for (uint32_t i = 0; i < warnings; i++) {
        add_warning(report, i, out);
    }
}
