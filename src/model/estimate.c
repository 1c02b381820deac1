/* SPDX-License-Identifier: Apache-2.0
 *
 * The estimator: anchors of just this size where there are some, else the class's curve, widened by how far the question
 * is from what was measured. Formulas: SPEC §4.2 of the published system (docs/estimator.md); the published rules are kept
 * to the digit, the current ones differ where a comment says so.
 */
#include "ecocompute/estimate.h"

#include "core/str.h"
#include "model/cell.h"
#include "model/energy_line.h"
#include "model/energy_model_parts.h"
#include "model/estimator.h"

#include <math.h>
#include <string.h>

static const double SIGMA_FLOOR_PCT = 2;
static const double Z95 = 1.96;
/* Sessions this far apart, or an interval this wide, leaves little known. Points; a judgement. */
static const double DISAGREE_PCT = 50;
/* Energies at the ends of the interval of a measured case, one over the other; judgements. */
static const double HIGH_RATIO = 1.5;
static const double MEDIUM_RATIO = 2.5;
/* Cards of one class with the same matrix rate and near enough memory are of one chip (A100 and A800): what one shows, the
 * other would. */
static const double TWIN_MATRIX = 0.02;
static const double TWIN_BANDWIDTH = 0.3;

/* How far the question lies from the data. */
typedef struct distance {
    double size;        /* |ln| of the ratio to the nearest end of the measured sizes, 0 inside */
    double guessed_pct; /* sigma of what batch and context did to the answer */
    bool far_workload;  /* they did so much that little is known */
} distance;

static void upper_case(char *to, size_t capacity, const char *from) {
    (void)ecoi_str_copy(to, capacity, from);
    for (char *c = to; *c != '\0'; c++) {
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    }
}

const char *eco_estimate_source_name(eco_estimate_source source) {
    switch (source) {
    case ECO_ESTIMATE_CURVE:
        return "curve";
    case ECO_ESTIMATE_ENERGY_MODEL:
        return "energy_model";
    case ECO_ESTIMATE_ANCHORS:
        break;
    }
    return "anchors";
}

const eco_curve *ecoi_estimate_curve(const eco_curve_set *set, const char *arch,
                                     const char *precision, bool *borrowed) {
    const eco_curve *curve = eco_curve_find(set, arch, precision);
    *borrowed = curve == NULL;
    const char *lender = curve == NULL ? eco_curve_borrows(set, arch) : NULL;
    return lender != NULL ? eco_curve_find(set, lender, precision) : curve;
}

/* Stands for the curve of a class and precision that has rows of measurement but no published curve. */
static const eco_curve no_curve = {.arch = "",
                                   .precision = "",
                                   .crossover_b = {0, ECO_ABSENT_UNSUPPORTED},
                                   .loo_mae_pct = {0, ECO_ABSENT_UNSUPPORTED}};

/* The tidy table goes with the published curves; whoever brings curves of his own is answered from them alone. */
static bool knows_table(const eco_curve_set *set, const eco_estimate *e) {
    return e->rules == ECO_RULES_CURRENT && set == eco_curves_published();
}

const char *ecoi_estimate_engine(const eco_estimate *e) {
    return e->engine[0] != '\0' ? e->engine : ECOI_CURVES_ENGINE;
}

bool ecoi_other_engine(const eco_estimate *e) {
    return strcmp(ecoi_estimate_engine(e), ECOI_CURVES_ENGINE) != 0;
}

static eco_status find_curve(const eco_curve_set *set, eco_estimate *e, eco_error *err) {
    e->curve = ecoi_estimate_curve(set, e->arch, e->precision, &e->borrowed);
    if (e->curve != NULL) {
        return ECO_OK;
    }
    if (knows_table(set, e) &&
        ecoi_count_rows(ECOI_CURVES_ENGINE, e->arch, e->precision, false) > 0) {
        e->curve = &no_curve;
        e->borrowed = false;
        return ECO_OK;
    }
    char known[160];
    ecoi_place_list(set, known, sizeof known);
    for (size_t i = 0; i < set->n_curves; i++) {
        const char *lender = eco_curve_borrows(set, e->arch);
        if (strcmp(set->curves[i].arch, e->arch) == 0 ||
            (lender != NULL && strcmp(set->curves[i].arch, lender) == 0)) {
            return ecoi_refuse_precision(e->arch, e->precision, err);
        }
    }
    return eco_error_set(err, ECO_E_NOT_FOUND, 0, "arch: no curve for '%s'; there is one for %s",
                         e->arch, known);
}

bool ecoi_card_measured(const eco_curve *curve, const char *card) {
    const eco_card *asked = card[0] != '\0' ? eco_card_find(card) : NULL;
    bool same = card[0] == '\0';
    for (size_t i = 0; i < curve->n_anchors && !same; i++) {
        same = asked != NULL && asked == eco_card_find(curve->anchors[i].gpu);
    }
    return same;
}

bool ecoi_card_like_measured(const eco_curve *curve, const char *card) {
    const eco_card *asked = card[0] != '\0' ? eco_card_find(card) : NULL;
    bool alike = card[0] == '\0';
    for (size_t i = 0; i < curve->n_anchors && !alike; i++) {
        const eco_card *have = asked != NULL ? eco_card_find(curve->anchors[i].gpu) : NULL;
        alike = have != NULL && fabs(asked->fp16_tflops / have->fp16_tflops - 1) < TWIN_MATRIX &&
                fabs(asked->mem_bw_gb_per_s / have->mem_bw_gb_per_s - 1) < TWIN_BANDWIDTH;
    }
    return alike;
}

/* Under current rules an anchor of another card does not answer for the card that was named. */
bool ecoi_estimate_exact(const eco_estimate *e, const eco_curve_anchor *anchor) {
    if (e->borrowed || !(fabs(anchor->params_b - e->params_b) < ECOI_SIZE_SAME_B)) {
        return false;
    }
    if (e->card[0] == '\0') {
        return true;
    }
    const eco_card *asked = eco_card_find(e->card);
    return asked != NULL && asked == eco_card_find(anchor->gpu);
}

ecoi_cell_query ecoi_estimate_case(const eco_estimate *e) {
    return (ecoi_cell_query){.arch = e->arch,
                             .card = e->card,
                             .precision = e->precision,
                             .engine = ecoi_estimate_engine(e),
                             .stack = e->stack,
                             .params_b = e->params_b,
                             .batch = e->rows_batch};
}

/* Rows of just the batch answer for it, at the contexts of the data; else those of batch 1, and the energy model says what the
 * batch does. */
static void choose_rows(const eco_curve_set *set, eco_estimate *e) {
    ecoi_cell_query q = ecoi_estimate_case(e);
    ecoi_cell cell;
    q.batch = e->batch;
    if (knows_table(set, e) && !(e->context > ECO_CONTEXT_PUBLISHED) &&
        ecoi_cell_find(eco_anchors_builtin(), &q, &cell)) {
        e->rows_batch = e->batch;
    }
}

/* All sessions of this card, size, precision and engine that the stack does not exclude. False: there is none. */
static bool use_cell(eco_estimate *e) {
    const ecoi_cell_query q = ecoi_estimate_case(e);
    ecoi_cell cell;
    if (!ecoi_cell_find(eco_anchors_builtin(), &q, &cell)) {
        return false;
    }
    e->n_exact = cell.n_rows;
    e->n_sessions = cell.n_sessions;
    e->n_stacks = cell.n_stacks;
    e->n_unnamed = cell.n_unnamed;
    e->single_trials = cell.single_trials;
    e->delta_pct = cell.delta_pct;
    e->spread_pct = cell.spread_pct;
    e->lo_pct = cell.lo_pct;
    e->hi_pct = cell.hi_pct;
    e->basis = cell.basis;
    return true;
}

/* Mean and spread of the anchors of this size; the basis is the weakest of theirs. False: there is none. */
static bool use_anchors(const eco_curve_set *set, eco_estimate *e) {
    if (knows_table(set, e)) {
        return use_cell(e);
    }
    double sum = 0;
    double lo = (double)INFINITY;
    double hi = -(double)INFINITY;
    for (size_t i = 0; i < e->curve->n_anchors; i++) {
        const eco_curve_anchor *a = &e->curve->anchors[i];
        if (ecoi_estimate_exact(e, a)) {
            e->basis = e->n_exact == 0 ? a->basis : eco_basis_weaker(e->basis, a->basis);
            sum += a->delta_pct;
            lo = fmin(lo, a->delta_pct);
            hi = fmax(hi, a->delta_pct);
            e->n_exact++;
        }
    }
    if (e->n_exact > 0) {
        e->delta_pct = sum / (double)e->n_exact;
        e->spread_pct = hi - lo;
    }
    return e->n_exact > 0;
}

static bool size_inside(const eco_estimate *e) {
    return e->params_b >= e->curve->n_min_b && e->params_b <= e->curve->n_max_b;
}

static bool other_card(const eco_estimate *e) {
    return !ecoi_card_measured(e->curve, e->card);
}

/* Published words: outside the measured sizes is `estimated`, as is borrowed. Current: outside is `extrapolated`; borrowed
 * from another class, or measured on another card than the one named, is `estimated`. */
static eco_basis curve_basis(const eco_estimate *e) {
    if (e->borrowed) {
        return ECO_BASIS_ESTIMATED;
    }
    if (e->rules == ECO_RULES_PUBLISHED_1_1) {
        return size_inside(e) ? ECO_BASIS_INTERPOLATED : ECO_BASIS_ESTIMATED;
    }
    const eco_basis by_size = size_inside(e) ? ECO_BASIS_INTERPOLATED : ECO_BASIS_EXTRAPOLATED;
    return other_card(e) ? eco_basis_weaker(by_size, ECO_BASIS_ESTIMATED) : by_size;
}

static double size_distance(const eco_estimate *e) {
    if (e->params_b < e->curve->n_min_b) {
        return log(e->curve->n_min_b / e->params_b);
    }
    return e->params_b > e->curve->n_max_b ? log(e->params_b / e->curve->n_max_b) : 0;
}

/* Published: a saving fades with batch and context. As JavaScript has it, NaN goes through max() and leaves the answer
 * unmodelled. */
static double published_factor(double batch, double context) {
    if (isnan(batch) || isnan(context)) {
        return (double)NAN;
    }
    const double b = fmax(1, batch);
    const double c = fmax(ECO_CONTEXT_PUBLISHED, context);
    return 1 / (1 + (b - 1) / 8) * (1 / (1 + 0.12 * fmax(0, log2(c / ECO_CONTEXT_PUBLISHED))));
}

/* Published: max(residual, 2). Current: the leave-one-out error counts too, which the residual of a curve with three
 * parameters on three or four points hides. */
static double sigma_floor(const eco_estimate *e) {
    double floor_pct = fmax(e->curve->resid_std_pct, SIGMA_FLOOR_PCT);
    if (e->rules == ECO_RULES_CURRENT && eco_reading_present(e->curve->loo_mae_pct)) {
        floor_pct = fmax(floor_pct, e->curve->loo_mae_pct.value);
    }
    if (e->rules == ECO_RULES_CURRENT && e->n_exact == 0) { /* a curve is of few sessions */
        floor_pct = hypot(floor_pct, (100 + e->delta_pct) *
                                         ecoi_session_sd(ECOI_CURVES_ENGINE, e->precision, false));
    }
    return floor_pct;
}

static double sigma_of(const eco_estimate *e, const distance *far) {
    const double base = e->n_sessions > 0 ? (e->hi_pct - e->lo_pct) / (2 * Z95) : sigma_floor(e);
    if (e->n_sessions > 0) {
        return hypot(base, far->guessed_pct);
    }
    if (e->n_exact > 0 && !e->modelled) {
        return fmax(base / 2, e->spread_pct / 2);
    }
    const double beyond = (base + 4) * far->size * 1.2;
    const double lent = e->borrowed ? 10 : 0;
    return sqrt(base * base + beyond * beyond + lent * lent + far->guessed_pct * far->guessed_pct);
}

static bool single_trials_only(const eco_estimate *e) {
    for (size_t i = 0; i < e->curve->n_anchors; i++) {
        const eco_curve_anchor *a = &e->curve->anchors[i];
        if (ecoi_estimate_exact(e, a) && a->n_trials != 1) { /* 0: not stated, counted as 2 */
            return false;
        }
    }
    return true;
}

static eco_confidence confidence_of(const eco_estimate *e, const distance *far) {
    const double width = e->hi_pct - e->lo_pct;
    eco_confidence confidence = ECO_CONFIDENCE_LOW;
    if (e->n_sessions > 0 && !e->modelled) {
        const double ratio = (100 + e->hi_pct) / (100 + e->lo_pct);
        return e->n_sessions > 1 && e->spread_pct <= ECOI_SESSIONS_AGREE_PCT && ratio <= HIGH_RATIO
                   ? ECO_CONFIDENCE_HIGH
               : e->spread_pct <= DISAGREE_PCT && ratio <= MEDIUM_RATIO ? ECO_CONFIDENCE_MEDIUM
                                                                        : ECO_CONFIDENCE_LOW;
    }
    if (e->n_exact > 0 && !e->modelled) {
        return e->spread_pct > 10 || single_trials_only(e) ? ECO_CONFIDENCE_MEDIUM
                                                           : ECO_CONFIDENCE_HIGH;
    }
    if (e->borrowed) {
        confidence = ECO_CONFIDENCE_LOW;
    } else if (e->basis == ECO_BASIS_INTERPOLATED) {
        const double medium_pct = e->rules == ECO_RULES_CURRENT ? DISAGREE_PCT : 22;
        confidence = width < 12           ? ECO_CONFIDENCE_HIGH
                     : width < medium_pct ? ECO_CONFIDENCE_MEDIUM
                                          : ECO_CONFIDENCE_LOW;
    } else if (far->size < 0.5 && width < 25) {
        confidence = ECO_CONFIDENCE_MEDIUM;
    }
    if ((e->modelled || ecoi_other_engine(e)) && confidence == ECO_CONFIDENCE_HIGH) {
        confidence = ECO_CONFIDENCE_MEDIUM;
    }
    return far->far_workload ? ECO_CONFIDENCE_LOW : confidence;
}

/* Away from the workload of the measurements. */
static bool moved_workload(const eco_estimate *e) {
    return e->batch > e->rows_batch || e->context > ECO_CONTEXT_PUBLISHED;
}

static eco_energy_query energy_query(const eco_estimate *e, const char *model) {
    return (eco_energy_query){.model = model,
                              .params_b = e->params_b,
                              .gpu = e->card[0] != '\0' ? e->card : NULL,
                              .arch = e->arch,
                              .precision = e->precision,
                              .engine = ecoi_estimate_engine(e),
                              .stack = e->stack[0] != '\0' ? e->stack : NULL,
                              .batch = 1};
}

/* Published: a saving fades, a penalty stays. */
static void move_published(eco_estimate *e, distance *far) {
    const double factor = published_factor(e->batch, e->context);
    e->modelled = factor < 0.999; /* false for NaN */
    if (e->modelled) {
        far->guessed_pct = fabs(e->delta_pct) * (1 - factor) * 0.5;
        far->far_workload = factor < 0.5;
        e->delta_pct *= e->delta_pct < 0 ? factor : 1;
    }
}

/* Current: the ratio of the two energies moves as the energy model says; nothing was measured there, so half the move and
 * the model's own width go into the interval and the basis is no better than extrapolated. */
static void move_current(eco_estimate *e, const char *model, distance *far) {
    e->modelled = moved_workload(e);
    if (!e->modelled) {
        return;
    }
    eco_energy_query q = energy_query(e, model);
    eco_energy_estimate near;
    eco_energy_estimate there;
    const eco_energy_params *params = eco_energy_model_frozen();
    q.context = ecoi_energy_context(0);
    bool known = eco_energy_model_predict(params, &q, &near, NULL) == ECO_OK;
    q.batch = e->batch;
    q.context = ecoi_energy_context(e->context);
    known = known && eco_energy_model_predict(params, &q, &there, NULL) == ECO_OK;
    if (!known) {
        move_published(e, far);
        e->modelled = true;
    } else {
        const double moved = log1p(there.delta_pct / 100) - log1p(near.delta_pct / 100);
        const double before = e->delta_pct;
        e->delta_pct = 100 * expm1(log1p(before / 100) + moved);
        far->guessed_pct =
            hypot((e->delta_pct - before) / 2, (there.hi_pct - there.lo_pct) / (2 * Z95));
        e->fp16_moved = there.fp16_energy_j_per_token / near.fp16_energy_j_per_token;
    }
    e->basis = eco_basis_weaker(e->basis, ECO_BASIS_EXTRAPOLATED);
}

/* Current: where the curve would have to reach beyond its data (another class, a card unlike the measured, sizes outside)
 * or the stack is named, which no curve knows, the energy model answers, for batch and context as well. Held out by size it
 * misses the published anchors outside the sizes that are left by less than the curve does, and those inside by no less
 * (tests/unit/test_model_choice.c); held out by session, with the stack named, by a third (docs/energy-model.md). Another
 * engine than the curves' has no curve at all. */
static bool is_for_model(const eco_estimate *e) {
    return e->rules == ECO_RULES_CURRENT &&
           (ecoi_other_engine(e) || e->stack[0] != '\0' || e->borrowed || !size_inside(e) ||
            !ecoi_card_like_measured(e->curve, e->card));
}

/* False: it refuses. */
static bool answer_by_model(const char *model, eco_estimate *e) {
    const eco_energy_params *params = eco_energy_model_frozen();
    eco_energy_query q = energy_query(e, model);
    eco_energy_estimate near;
    eco_energy_estimate there;
    q.context = ecoi_energy_context(0);
    if (eco_energy_model_predict(params, &q, &near, NULL) != ECO_OK) {
        return false;
    }
    q.batch = e->batch;
    q.context = ecoi_energy_context(e->context);
    e->modelled = moved_workload(e);
    there = near;
    if (e->modelled && eco_energy_model_predict(params, &q, &there, NULL) != ECO_OK) {
        return false;
    }
    e->source = ECO_ESTIMATE_ENERGY_MODEL;
    e->delta_pct = there.delta_pct;
    e->lo_pct = there.lo_pct;
    e->hi_pct = there.hi_pct;
    e->sigma_pct = (there.hi_pct - there.lo_pct) / (2 * Z95);
    e->basis = ecoi_other_engine(e) ? there.basis : eco_basis_weaker(there.basis, curve_basis(e));
    e->fp16_moved = there.fp16_energy_j_per_token / near.fp16_energy_j_per_token;
    e->stack_unseen = (there.domain & ECO_ENERGY_STACK_UNSEEN) != 0;
    return true;
}

/* The answer of curve and anchors at batch 1, then what batch and context do to it. */
static void answer_by_curve(const eco_curve_set *set, const char *model, eco_estimate *e,
                            distance *far) {
    const double cap_pct = eco_curve_cap_pct(set, e->precision);
    if (e->n_exact == 0 && !use_anchors(set, e)) {
        e->source = ECO_ESTIMATE_CURVE;
        e->delta_pct = fmax(eco_curve_value(e->curve, e->params_b), -cap_pct);
        e->basis = curve_basis(e);
    }
    if (e->rules == ECO_RULES_PUBLISHED_1_1) {
        move_published(e, far);
    } else {
        move_current(e, model, far);
    }
    e->sigma_pct = sigma_of(e, far);
    if (e->n_sessions > 0 && !e->modelled) {
        return; /* the interval of the sessions */
    }
    e->lo_pct = fmax(e->delta_pct - Z95 * e->sigma_pct, -cap_pct);
    e->lo_pct = fmin(e->lo_pct,
                     e->delta_pct); /* current: the energy model may move a change beyond the cap */
    e->hi_pct = e->delta_pct + Z95 * e->sigma_pct;
}

/* Is the crossover of the curve that of the answer? Not if something else answered, or the sessions say otherwise. */
static bool crossover_is_of(const eco_estimate *e) {
    return !e->modelled && !(e->rows_batch > 1) && !e->borrowed &&
           e->source != ECO_ESTIMATE_ENERGY_MODEL && eco_reading_present(e->curve->crossover_b) &&
           (e->params_b >= e->curve->crossover_b.value) == (e->delta_pct <= 0);
}

static void answer(const eco_curve_set *set, const char *model, eco_estimate *e) {
    distance far = {.size = size_distance(e)};
    const bool moved_away =
        ecoi_other_engine(e) && moved_workload(e); /* the model knows its batches */
    const bool anchored =
        !moved_away && (e->stack[0] == '\0' || knows_table(set, e)) && use_anchors(set, e);
    if (anchored || !is_for_model(e) || !answer_by_model(model, e)) {
        answer_by_curve(set, model, e, &far);
    }
    far.far_workload = far.far_workload || (e->rules == ECO_RULES_CURRENT && e->modelled);
    e->confidence = confidence_of(e, &far);
    e->recommendation = e->hi_pct < 0   ? ECO_RECOMMEND_QUANTIZE
                        : e->lo_pct > 0 ? ECO_RECOMMEND_KEEP_FP16
                                        : ECO_RECOMMEND_DEPENDS;
    e->crossover_b = e->curve->crossover_b;
    if (e->rules == ECO_RULES_CURRENT && !crossover_is_of(e)) {
        e->crossover_b = eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
}

/* Published: every weight at 16, 8 or 4 bits. Current: the linear layers in their format with its scales, embedding and
 * head in FP16, as bitsandbytes has it. */
static void weigh(const char *model, eco_estimate *e) {
    e->weight_gb_fp16 = e->params_b * 2;
    if (e->rules == ECO_RULES_PUBLISHED_1_1) {
        e->weight_gb = e->params_b * (strcmp(e->precision, "INT8") == 0 ? 8 : 4) / 8;
    } else {
        e->weight_gb = ecoi_model_weight_gb(model, e->params_b, e->precision);
    }
}

/* FP16 energy at batch 1 of another engine without rows of just the question: the energy model's. */
static eco_fp16_energy engine_baseline(const char *model, const eco_estimate *e) {
    eco_energy_query q = energy_query(e, model);
    eco_energy_estimate near;
    q.context = ecoi_energy_context(0);
    if (eco_energy_model_predict(eco_energy_model_frozen(), &q, &near, NULL) != ECO_OK) {
        return (eco_fp16_energy){0, ECO_BASIS_UNAVAILABLE};
    }
    return (eco_fp16_energy){near.fp16_energy_j_per_token * 1000,
                             eco_basis_weaker(near.basis, ECO_BASIS_ESTIMATED)};
}

/* Where measurements of one engine and stack, or of a larger batch, answer, their own FP16 energy does, too: that of another
 * stack or batch is another number. */
static bool own_baseline(const eco_estimate *e, eco_fp16_energy *out) {
    const ecoi_cell_query cell_query = ecoi_estimate_case(e);
    ecoi_cell cell;
    if (e->source != ECO_ESTIMATE_ANCHORS ||
        (!ecoi_other_engine(e) && e->stack[0] == '\0' && !(e->rows_batch > 1)) ||
        !ecoi_cell_find(eco_anchors_builtin(), &cell_query, &cell) ||
        !eco_reading_present(cell.fp16_j1k)) {
        return false;
    }
    *out = (eco_fp16_energy){cell.fp16_j1k.value, cell.basis};
    return true;
}

static eco_fp16_energy baseline(const eco_curve_set *set, const char *model,
                                const eco_estimate *e) {
    eco_fp16_energy base;
    if (e->rules == ECO_RULES_PUBLISHED_1_1) {
        return eco_fp16_energy_at(set, e->arch, e->params_b);
    }
    if (own_baseline(e, &base)) {
        return base;
    }
    base = ecoi_other_engine(e)
               ? engine_baseline(model, e)
               : ecoi_fp16_energy_current(set, e->arch, e->card, model, e->params_b);
    /* One of the class, so that formats can be compared (optimize); the sessions that answer measured another. */
    if (e->n_sessions > 0) {
        base.basis = eco_basis_weaker(base.basis, ECO_BASIS_INTERPOLATED);
    }
    return base;
}

static void price(const eco_curve_set *set, const char *model, eco_estimate *e) {
    const eco_fp16_energy base = baseline(set, model, e);
    e->fp16_basis = base.basis;
    e->fp16_mj = eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    e->quant_mj = e->fp16_mj;
    if (base.basis != ECO_BASIS_UNAVAILABLE) {
        e->fp16_mj = eco_reading_of(base.j1k * e->fp16_moved);
        e->quant_mj = eco_reading_of(e->fp16_mj.value * (1 + e->delta_pct / 100));
        e->fp16_basis = e->rules == ECO_RULES_CURRENT && e->modelled
                            ? eco_basis_weaker(base.basis, ECO_BASIS_EXTRAPOLATED)
                            : base.basis;
        e->energy_basis = eco_basis_weaker(e->fp16_basis, e->basis);
        if (e->n_exact > 1 && e->rules == ECO_RULES_CURRENT) { /* a mean times a mean */
            e->energy_basis = eco_basis_weaker(e->energy_basis, ECO_BASIS_INTERPOLATED);
        }
    }
}

/* Stacks differ by their bitsandbytes, so a text without one tells nothing. */
static eco_status take_stack(const eco_estimate_query *q, eco_estimate *e, eco_error *err) {
    char version[ECOI_ENERGY_KEY_MAX];
    if (q->stack == NULL || q->stack[0] == '\0') {
        return ECO_OK;
    }
    if (q->rules != ECO_RULES_CURRENT) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "stack: the rules published-1.1 know no stacks; leave it out");
    }
    if (ecoi_other_engine(e)) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "stack: engine %s has no bitsandbytes; leave stack or engine out",
                             e->engine);
    }
    ecoi_energy_stack_of(ECOI_CURVES_ENGINE, q->stack, version);
    if (version[0] == '\0') {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "stack: no version of bitsandbytes in '%.60s'; expected such as "
                             "'bitsandbytes 0.45.5'",
                             q->stack);
    }
    (void)ecoi_str_copy(e->stack, sizeof e->stack, q->stack);
    return ECO_OK;
}

static eco_status take_engine(const eco_estimate_query *q, eco_estimate *e, eco_error *err) {
    if (q->engine == NULL || q->engine[0] == '\0') {
        return ECO_OK;
    }
    if (q->rules != ECO_RULES_CURRENT) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "engine: the rules published-1.1 know no engines; leave it out");
    }
    const char *name = ecoi_engine_find(q->engine);
    if (name == NULL) {
        return ecoi_refuse_engine(q->engine, err);
    }
    (void)ecoi_str_copy(e->engine, sizeof e->engine, name);
    if (q->curves != NULL && q->curves != eco_curves_published() && ecoi_other_engine(e)) {
        return eco_error_set(
            err, ECO_E_USAGE, 0,
            "engine: curves of your own do not say whose they are; leave engine or "
            "curves out");
    }
    return ECO_OK;
}

static eco_status take_query(const eco_estimate_query *q, const eco_curve_set *set, eco_estimate *e,
                             eco_error *err) {
    *e = (eco_estimate){.rules = q->rules,
                        .params_b = q->params_b,
                        .batch = q->batch,
                        .context = q->context,
                        .rows_batch = 1,
                        .fp16_moved = 1};
    if (q->rules == ECO_RULES_CURRENT) {
        ECO_TRY(ecoi_estimate_check_model(q->model, err));
        ECO_TRY(ecoi_estimate_check_size(q->params_b, err));
        ECO_TRY(ecoi_estimate_check_batch(q->batch, err));
        ECO_TRY(ecoi_estimate_check_context(q->context, err));
    } else if (!(q->params_b > 0)) {
        return eco_error_set(err, ECO_E_RANGE, 0,
                             "params_b: a size above 0 is expected, in billions of parameters");
    }
    ecoi_place place;
    ECO_TRY(ecoi_place_find(q->rules, set, q->arch, &place, err));
    (void)ecoi_str_copy(e->arch, sizeof e->arch, place.arch);
    (void)ecoi_str_copy(e->card, sizeof e->card, place.card);
    if (q->precision == NULL || q->precision[0] == '\0') {
        return eco_error_set(err, ECO_E_USAGE, 0, "precision: NF4 or INT8 is expected");
    }
    upper_case(e->precision, sizeof e->precision, q->precision);
    if (strcmp(e->precision, "FP16") == 0) {
        return eco_error_set(err, q->rules == ECO_RULES_CURRENT ? ECO_E_USAGE : ECO_E_NOT_FOUND, 0,
                             "precision: FP16 is the baseline; NF4 or INT8 is expected");
    }
    if (q->rules == ECO_RULES_CURRENT) {
        ECO_TRY(ecoi_estimate_check_format(e->precision, err));
    }
    ECO_TRY(take_engine(q, e, err));
    return take_stack(q, e, err);
}

/* Another engine has no curve: it must have rows of just the question, or the energy model must know it and reach the
 * question. */
static eco_status find_engine(const char *model, eco_estimate *e, eco_error *err) {
    const ecoi_cell_query cell_query = ecoi_estimate_case(e);
    eco_energy_query q = energy_query(e, model);
    eco_energy_estimate there;
    ecoi_cell cell;
    eco_error why = {0};
    e->curve = &no_curve;
    q.batch = e->batch;
    q.context = ecoi_energy_context(e->context);
    const eco_status status = eco_energy_model_predict(eco_energy_model_frozen(), &q, &there, &why);
    if (status == ECO_OK ||
        (!moved_workload(e) && ecoi_cell_find(eco_anchors_builtin(), &cell_query, &cell))) {
        return ECO_OK;
    }
    return status == ECO_E_UNSUPPORTED
               ? ecoi_refuse_unmeasured(e->engine, e->precision, err)
               : eco_error_set(err, ECO_E_RANGE, 0, "engine %s: %s", e->engine, why.message);
}

eco_status ecoi_estimate_numbers(const eco_estimate_query *query, eco_estimate *out,
                                 eco_error *err) {
    const eco_curve_set *set = query->curves != NULL ? query->curves : eco_curves_published();
    ECO_TRY(take_query(query, set, out, err));
    choose_rows(set, out);
    ECO_TRY(ecoi_other_engine(out) ? find_engine(query->model, out, err)
                                   : find_curve(set, out, err));
    answer(set, query->model, out);
    if (out->curve == &no_curve && out->source == ECO_ESTIMATE_CURVE) {
        return eco_error_set(err, ECO_E_RANGE, 0,
                             "params_b: too far from the measured sizes of %s in %s", out->arch,
                             out->precision);
    }
    weigh(query->model, out);
    price(set, query->model, out);
    out->gate = out->rules == ECO_RULES_PUBLISHED_1_1
                    ? eco_gate_published(out->arch, out->params_b)
                    : eco_gate_current(out->crossover_b, out->params_b, out->recommendation);
    return ECO_OK;
}

bool ecoi_estimate_sizes(const eco_estimate_query *query, double *min_b, double *max_b) {
    const eco_curve_set *set = query->curves != NULL ? query->curves : eco_curves_published();
    eco_estimate_query any = *query;
    eco_estimate e;
    bool borrowed = false;
    any.params_b = 1; /* for the checks only */
    if (take_query(&any, set, &e, NULL) != ECO_OK) {
        return false;
    }
    if (knows_table(set, &e)) {
        const ecoi_cell_query q = ecoi_estimate_case(&e);
        return ecoi_cell_sizes(eco_anchors_builtin(), &q, min_b, max_b);
    }
    const eco_curve *curve = ecoi_estimate_curve(set, e.arch, e.precision, &borrowed);
    if (curve != NULL && !borrowed) {
        *min_b = curve->n_min_b;
        *max_b = curve->n_max_b;
    }
    return curve != NULL && !borrowed;
}

eco_status eco_estimate_make(const eco_estimate_query *query, eco_estimate *out, eco_error *err) {
    const eco_status status = ecoi_estimate_numbers(query, out, err);
    if (status == ECO_OK) {
        ecoi_estimate_write_texts(out);
        if (out->verdict.failed || out->notes.failed) {
            eco_estimate_free(out);
            return eco_error_set(err, ECO_E_NO_MEMORY, 0, "estimate: out of memory");
        }
        return ECO_OK;
    }
    *out = (eco_estimate){0};
    return status;
}

void eco_estimate_free(eco_estimate *estimate) {
    if (estimate != NULL) {
        eco_text_free(&estimate->verdict);
        eco_text_free(&estimate->notes);
        *estimate = (eco_estimate){0};
    }
}
