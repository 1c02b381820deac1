/* SPDX-License-Identifier: Apache-2.0
 *
 * Re-deriving uncertainty.u_expanded and uncertainty.bootstrap95. Times and energies come from the traces; how exactly an
 * edge is known, the place of an arm in its block, the sensor's lag and what the meter declares are the report's own
 * fields, whose rounding is allowed for. A term whose inputs an older report does not have is taken as printed.
 */
#include "report/recompute.h"

#include "core/num.h"

#include <math.h>
#include <string.h>

/* What a meter declared before reports said so. */
static const double OLDER_GAIN_PCT = 5.0;
static const double OLDER_OFFSET_W = 5.0;
/* Half a unit of the decimals with which these inputs are printed. */
static const double EDGE_ROUNDING_S = 0.5e-6;
static const double LAG_ROUNDING_S = 0.5e-3 + 0.5e-4;
static const double PCT_ROUNDING = 0.5e-4;

/* What the report itself says of the headline windows. */
typedef struct printed_inputs {
    bool edges, places; /* every window tells its edge's half-width, its place in the block */
    bool current;       /* the report has the terms of today; older ones had fewer */
    double edge_half_width_s, order_shift;
    int64_t n_arms;
    double lag_s, gain_pct, offset_w, count_step;
} printed_inputs;

static double number_or(const ecoi_recomputation *r, eco_field field, double otherwise) {
    double value = 0.0;
    return eco_report_number(r->report, field, ECO_TOP, &value) ? value : otherwise;
}

static void note_block(const ecoi_recomputation *r, uint32_t base, uint32_t own, uint32_t block,
                       printed_inputs *in, double *shift) {
    const uint32_t arms[2] = {base, own};
    int64_t place[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        const eco_at at = ECO_AT2(arms[i], r->arms[arms[i]].blocks[block].window);
        double edge_s = 0.0;
        in->edges = eco_report_number(r->report, ECO_FIELD_WI_UT, at, &edge_s) && in->edges;
        in->edge_half_width_s = fmax(in->edge_half_width_s, edge_s);
        in->places = eco_report_integer(r->report, ECO_FIELD_WI_ORDER, at, &place[i]) && in->places;
    }
    *shift += (double)place[1] - (double)place[0];
}

static printed_inputs read_inputs(const ecoi_recomputation *r, uint32_t base, uint32_t own,
                                  uint32_t n) {
    printed_inputs in = {.edges = true, .places = true};
    double shift = 0.0;
    uint32_t n_both = 0;
    for (uint32_t block = 0; block < r->n_blocks; block++) {
        if (r->arms[base].blocks[block].present && r->arms[own].blocks[block].present) {
            note_block(r, base, own, block, &in, &shift);
            n_both++;
        }
    }
    in.order_shift = n_both > 0 ? shift / n_both : 0.0;
    if (!eco_report_integer(r->report, ECO_FIELD_TR_ARMS, ECO_TOP, &in.n_arms) || in.n_arms < 1) {
        in.n_arms = 1; /* counts only where a drift is left over */
        in.places = in.places && (n < 2 || !(fabs(in.order_shift) > 0.0));
    }
    in.current = ecoi_report_find(r->report, ECO_FIELD_UX_SAMPLING, ECO_TOP) != NULL;
    in.lag_s = number_or(r, ECO_FIELD_MT_POWER_RISE, 0.0) +
               number_or(r, ECO_FIELD_MT_POWER_PERIOD, number_or(r, ECO_FIELD_MT_TICK, 0.0));
    in.gain_pct = number_or(r, ECO_FIELD_UX_DECLARED_GAIN, OLDER_GAIN_PCT);
    in.count_step = number_or(r, ECO_FIELD_UX_COUNT_STEP, 1.0);
    in.offset_w = number_or(r, ECO_FIELD_UX_DECLARED_OFFSET, OLDER_OFFSET_W);
    return in;
}

static eco_uncertainty_input input_of(const printed_inputs *in, const ecoi_arm_figures *base,
                                      const ecoi_arm_figures *own, uint32_t n) {
    return (eco_uncertainty_input){.n_blocks = n,
                                   .n_arms = (uint32_t)in->n_arms,
                                   .seconds = fmin(base->seconds_min, own->seconds_min),
                                   .edge_half_width_s = in->edge_half_width_s,
                                   .tokens_arm = own->tokens_sum / own->n,
                                   .tokens_baseline = base->tokens_sum / base->n,
                                   .count_step = in->count_step,
                                   .power_arm_w = own->power_w,
                                   .power_baseline_w = base->power_w,
                                   .counter_integral_arm = own->counter_to_integral,
                                   .counter_integral_baseline = base->counter_to_integral,
                                   .drift_arm_log = own->drift_log,
                                   .drift_baseline_log = base->drift_log,
                                   .order_shift = in->order_shift,
                                   .power_sd_arm = own->power_sd,
                                   .power_sd_baseline = base->power_sd,
                                   .power_updates = fmin(base->power_updates, own->power_updates),
                                   .power_lag_s = in->lag_s,
                                   .has_counter = base->has_counter && own->has_counter,
                                   .sensor_gain = in->gain_pct / 100.0,
                                   .sensor_offset_w = in->offset_w};
}

/* The change where a term could not be derived: the root-sum of the terms as printed. */
static void compare_sum(const ecoi_recomputation *r) {
    static const eco_field terms[] = {ECO_FIELD_UX_TICK,     ECO_FIELD_UX_READ,
                                      ECO_FIELD_UX_DRIFT,    ECO_FIELD_UX_INTEGRAL,
                                      ECO_FIELD_UX_SAMPLING, ECO_FIELD_UX_OFFSET};
    const size_t n = sizeof terms / sizeof terms[0];
    double squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double term = number_or(r, terms[i], 0.0);
        squares += term * term;
    }
    ecoi_compare_given(r, ECO_FIELD_UX_PCT, ECO_TOP, 2.0 * sqrt(squares), ECOI_PCT_DECIMALS,
                       2.0 * sqrt((double)n) * PCT_ROUNDING);
}

static void compare_expanded(const ecoi_recomputation *r, const printed_inputs *in, bool alone,
                             const eco_uncertainty *u, const eco_uncertainty *edge) {
    const bool whole = in->current && in->edges && in->places && !alone;
    const struct {
        eco_field field;
        bool derived;
        double value, at_the_edge;
    } rows[] = {
        {ECO_FIELD_UX_TICK, in->edges, u->tick, edge->tick},
        {ECO_FIELD_UX_READ, true, u->read, edge->read},
        {ECO_FIELD_UX_DRIFT, in->current && in->places && !alone, u->drift, edge->drift},
        {ECO_FIELD_UX_INTEGRAL, true, u->counter_integral, edge->counter_integral},
        {ECO_FIELD_UX_SAMPLING, true, u->sampling, edge->sampling},
        {ECO_FIELD_UX_OFFSET, true, u->sensor_offset, edge->sensor_offset},
        {ECO_FIELD_UX_GAIN, true, u->sensor_gain, edge->sensor_gain},
        {ECO_FIELD_UX_PCT, whole, u->expanded_ratio, edge->expanded_ratio},
        {ECO_FIELD_UX_ABS_PCT, in->current && in->edges, u->expanded_absolute,
         edge->expanded_absolute},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].derived) {
            ecoi_compare_given(r, rows[i].field, ECO_TOP, 100.0 * rows[i].value, ECOI_PCT_DECIMALS,
                               100.0 * fabs(rows[i].at_the_edge - rows[i].value));
        }
    }
    if (!whole && !alone) {
        compare_sum(r);
    }
}

static void recompute_bootstrap(const ecoi_recomputation *r, const double *log_ratios, uint32_t n) {
    static const eco_field ends[] = {ECO_FIELD_UB_LO, ECO_FIELD_UB_HI};
    double interval[2] = {0.0, 0.0};
    const char *seed_text = NULL;
    uint64_t seed = 0;
    if (ecoi_report_find(r->report, ECO_FIELD_UB_LO, ECO_TOP) == NULL &&
        ecoi_report_find(r->report, ECO_FIELD_UB_HI, ECO_TOP) == NULL) {
        return;
    }
    if (n < ECO_BOOTSTRAP_MIN) {
        eco_findings_add(r->out, "uncertainty.bootstrap95: printed, from %u blocks; expected %d",
                         (unsigned)n, (int)ECO_BOOTSTRAP_MIN);
        return;
    }
    ecoi_compare_count(r, ECO_FIELD_UB_N, ECO_TOP, ECO_BOOTSTRAP_RESAMPLES);
    if (!eco_report_string(r->report, ECO_FIELD_UB_SEED, ECO_TOP, &seed_text) ||
        ecoi_num_parse_u64(seed_text, strlen(seed_text), &seed) != ECO_OK) {
        eco_findings_add(r->out, "uncertainty.bootstrap95.seed: is no seed to draw with");
        return;
    }
    if (!ecoi_same_string(r->report, ECO_FIELD_UB_SEED, ECO_TOP, ECO_FIELD_TR_SEED, ECO_TOP)) {
        const char *order = "nothing";
        (void)eco_report_string(r->report, ECO_FIELD_TR_SEED, ECO_TOP, &order);
        eco_findings_add(r->out,
                         "uncertainty.bootstrap95.seed: printed %.40s, trials.order_seed is %.40s",
                         seed_text, order);
    }
    if (!eco_bootstrap95(log_ratios, n, seed, &interval[0], &interval[1])) {
        eco_findings_add(r->out, "uncertainty.bootstrap95: out of memory");
        return;
    }
    for (int i = 0; i < 2; i++) {
        ecoi_compare(r, ends[i], ECO_TOP, eco_pct_of_log(interval[i]), ECOI_PLAIN_DECIMALS);
    }
}

static void recompute_expanded(const ecoi_recomputation *r, uint32_t base, uint32_t own,
                               uint32_t n) {
    const bool alone = base == own;
    eco_uncertainty (*const derive)(const eco_uncertainty_input *) =
        alone ? eco_uncertainty_alone : eco_uncertainty_of;
    const printed_inputs in = read_inputs(r, base, own, n);
    eco_uncertainty_input input = input_of(&in, &r->arms[base], &r->arms[own], n);
    const eco_uncertainty u = derive(&input);
    input.edge_half_width_s += EDGE_ROUNDING_S;
    input.power_lag_s += LAG_ROUNDING_S;
    const eco_uncertainty edge = derive(&input);
    compare_expanded(r, &in, alone, &u, &edge);
}

void ecoi_recompute_uncertainty(const ecoi_recomputation *r, uint32_t base, uint32_t own,
                                const double *log_ratios, uint32_t n) {
    recompute_expanded(r, base, own, n);
    recompute_bootstrap(r, log_ratios, n);
}

void ecoi_recompute_uncertainty_alone(const ecoi_recomputation *r, uint32_t arm) {
    if (r->arms[arm].n > 0) {
        recompute_expanded(r, arm, arm, r->arms[arm].n);
    }
}
