/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to a fitted energy model: the energies, the change against FP16, its interval, and how far the question is
 * from what was measured. What was never seen (a card, a host, a stack) has its prior's mean and its prior's width. Pure.
 */
#include "model/energy_model_parts.h"

#include <math.h>
#include <string.h>

/* Spread of a new row's log ratio about the model, and what each natural logarithm beyond the measured adds to it. The last
 * three are judgements: nothing was measured that could test them. */
static const double ratio_sd = 0.05, size_sd = 0.2, batch_sd = 0.15, context_sd = 0.1;
static const double context_min = 64.0, context_max = 512.0;

/* clang-format off */
#include "model/energy_model.inc"
/* clang-format on */

static const eco_energy_params frozen = {
    .effects = frozen_effects,
    .correlation = frozen_correlation,
    .seen = frozen_seen,
    .multiples = frozen_multiples,
    .n_effects = sizeof frozen_effects / sizeof frozen_effects[0],
    .n_seen = sizeof frozen_seen / sizeof frozen_seen[0],
    .n_multiples = sizeof frozen_multiples / sizeof frozen_multiples[0],
};

const eco_energy_params *eco_energy_model_frozen(void) {
    return &frozen;
}

/* ---- Effects ---- */

static const ecoi_energy_effect *effect_find(const eco_energy_params *p, ecoi_energy_kind kind,
                                             const char *key) {
    for (size_t i = 0; i < p->n_effects; i++) {
        if (p->effects[i].kind == kind && strcmp(p->effects[i].key, key) == 0) {
            return &p->effects[i];
        }
    }
    return NULL;
}

/* ---- A sum, its logarithm's slopes ---- */

enum { SLOPES_MAX = 2 * ECOI_ENERGY_TERMS_MAX * ECOI_ENERGY_FACTORS_MAX };
typedef struct slopes {
    struct {
        const ecoi_energy_factor *factor;
        const ecoi_energy_effect *effect; /* NULL: never seen */
        double slope, sd;
    } of[SLOPES_MAX];
    size_t n;
} slopes;

static void slopes_add(const eco_energy_params *p, slopes *s, const ecoi_energy_factor *f,
                       double slope) {
    for (size_t i = 0; i < s->n; i++) {
        if (s->of[i].factor->kind == f->kind && strcmp(s->of[i].factor->key, f->key) == 0) {
            s->of[i].slope += slope;
            return;
        }
    }
    const ecoi_energy_effect *e = effect_find(p, f->kind, f->key);
    s->of[s->n].factor = f;
    s->of[s->n].effect = e;
    s->of[s->n].sd = e != NULL ? e->sd : ecoi_energy_prior_sd(f->kind, f->key);
    s->of[s->n++].slope = slope;
}

/* J per token; adds sign × the slopes of its logarithm. */
static double joules_of(const eco_energy_params *p, const ecoi_energy_sum *sum, double sign,
                        slopes *out) {
    double joules[ECOI_ENERGY_TERMS_MAX], total = 0.0;
    for (size_t t = 0; t < sum->n_terms; t++) {
        double x = 0.0;
        for (size_t i = 0; i < sum->terms[t].n_factors; i++) {
            const ecoi_energy_factor *f = &sum->terms[t].factors[i];
            const ecoi_energy_effect *e = effect_find(p, f->kind, f->key);
            x += f->power * (e != NULL ? e->value : ecoi_energy_prior_mean(f->kind, f->key));
        }
        joules[t] = sum->terms[t].amount * exp(x);
        total += joules[t];
    }
    for (size_t t = 0; t < sum->n_terms; t++) {
        for (size_t i = 0; i < sum->terms[t].n_factors; i++) {
            const ecoi_energy_factor *f = &sum->terms[t].factors[i];
            slopes_add(p, out, f, sign * joules[t] / total * f->power);
        }
    }
    return total;
}

/* Variance of the sum of slope × effect. What was never seen is independent of all else. */
static double variance_of(const eco_energy_params *p, const slopes *s) {
    double variance = 0.0;
    for (size_t i = 0; i < s->n; i++) {
        const double a = s->of[i].slope * s->of[i].sd;
        variance += a * a;
        for (size_t j = 0; j < i; j++) {
            if (s->of[i].effect == NULL || s->of[j].effect == NULL) {
                continue;
            }
            const size_t x = (size_t)(s->of[i].effect - p->effects);
            const size_t y = (size_t)(s->of[j].effect - p->effects);
            const size_t hi = x > y ? x : y, lo = x > y ? y : x;
            const size_t at = hi * (hi - 1) / 2 + lo;
            variance += 0.02 * p->correlation[at] * a * s->of[j].slope * s->of[j].sd;
        }
    }
    return fmax(variance, 0.0); /* correlations are rounded */
}

/* ---- Domain ---- */

/* Natural logarithm of how far `x` is outside; 0 inside. */
static double log_outside(double x, double min, double max) {
    return x < min ? log(min / x) : x > max ? log(x / max) : 0.0;
}

static double domain_of(const eco_energy_params *p, const ecoi_energy_case *c, uint32_t *domain) {
    const bool fp16 = strcmp(c->precision, "FP16") == 0;
    double size_min = HUGE_VAL, size_max = 0.0, batch_max = 1.0;
    *domain = ECO_ENERGY_CARD_UNSEEN | ECO_ENERGY_CLASS_UNSEEN | ECO_ENERGY_PAIR_UNSEEN |
              (c->shape.typical ? ECO_ENERGY_SHAPE_TYPICAL : 0u);
    for (size_t i = 0; i < p->n_seen; i++) {
        const ecoi_energy_seen *s = &p->seen[i];
        if (strcmp(s->engine, c->engine) != 0) {
            continue;
        }
        const bool pair = fp16 || strcmp(s->precision, c->precision) == 0;
        const bool arch = strcmp(s->arch, c->arch) == 0;
        const bool card = strcmp(s->gpu, c->gpu) == 0;
        *domain &= ~(arch ? (uint32_t)ECO_ENERGY_CLASS_UNSEEN : 0u);
        *domain &= ~(arch && pair ? (uint32_t)ECO_ENERGY_PAIR_UNSEEN : 0u);
        *domain &= ~(card ? (uint32_t)ECO_ENERGY_CARD_UNSEEN : 0u);
        if (pair) {
            size_min = fmin(size_min, s->params_b_min);
            size_max = fmax(size_max, s->params_b_max);
            batch_max = card ? fmax(batch_max, s->batch_max) : batch_max;
        }
    }
    char host[ECOI_ENERGY_KEY_MAX] = "";
    ecoi_energy_key_add(host, c->gpu);
    ecoi_energy_key_add(host, c->stack);
    if (c->stack[0] == '\0' || effect_find(p, ECOI_ENERGY_HOST, host) == NULL) {
        *domain |= ECO_ENERGY_STACK_UNSEEN;
    }
    const double size = log_outside(c->params_b, size_min, size_max);
    const double batch = log_outside(c->batch, 1.0, batch_max);
    const double context = log_outside(c->context, context_min, context_max);
    *domain |= (size > 0.0 ? (uint32_t)ECO_ENERGY_SIZE_OUTSIDE : 0u) |
               (batch > 0.0 ? (uint32_t)ECO_ENERGY_BATCH_OUTSIDE : 0u) |
               (context > 0.0 ? (uint32_t)ECO_ENERGY_CONTEXT_OUTSIDE : 0u);
    return size_sd * size_sd * size * size + batch_sd * batch_sd * batch * batch +
           context_sd * context_sd * context * context;
}

void ecoi_energy_answer_of(const eco_energy_params *params, const ecoi_energy_case *c,
                           ecoi_energy_answer *out) {
    const bool quantized = strcmp(c->precision, "FP16") != 0;
    ecoi_energy_sum fp16, quant;
    slopes s = {.n = 0};
    ecoi_energy_sum_of(c, false, &fp16);
    ecoi_energy_sum_of(c, quantized, &quant);
    out->quant_j = joules_of(params, &quant, 1.0, &s);
    out->fp16_j = joules_of(params, &fp16, -1.0, &s);
    out->log_ratio = quantized ? log(out->quant_j / out->fp16_j) : 0.0;
    const double variance =
        ratio_sd * ratio_sd + domain_of(params, c, &out->domain) + variance_of(params, &s);
    out->sd = quantized ? sqrt(variance) : 0.0;
}

void ecoi_energy_estimate_of(const ecoi_energy_answer *a, double quantile,
                             eco_energy_estimate *out) {
    *out = (eco_energy_estimate){.energy_j_per_token = a->quant_j,
                                 .fp16_energy_j_per_token = a->fp16_j,
                                 .delta_pct = 100.0 * expm1(a->log_ratio),
                                 .lo_pct = 100.0 * expm1(a->log_ratio - quantile * a->sd),
                                 .hi_pct = 100.0 * expm1(a->log_ratio + quantile * a->sd),
                                 .basis = ECO_BASIS_INTERPOLATED,
                                 .domain = a->domain};
    if ((a->domain &
         (ECO_ENERGY_SIZE_OUTSIDE | ECO_ENERGY_BATCH_OUTSIDE | ECO_ENERGY_CONTEXT_OUTSIDE)) != 0) {
        out->basis = ECO_BASIS_EXTRAPOLATED;
    }
    if ((a->domain & (ECO_ENERGY_CARD_UNSEEN | ECO_ENERGY_CLASS_UNSEEN | ECO_ENERGY_PAIR_UNSEEN)) !=
        0) {
        out->basis = eco_basis_weaker(out->basis, ECO_BASIS_ESTIMATED);
    }
}

/* ---- Questions ---- */

/* The class's card with most rows of the engine, or of any where there are none; "" if there is no card. */
static const char *typical_card(const eco_energy_params *p, const char *arch, const char *engine) {
    const char *best = "";
    uint32_t most = 0;
    for (size_t i = 0; i < p->n_seen; i++) {
        uint32_t n = 1;
        for (size_t j = 0; j < p->n_seen; j++) {
            const ecoi_energy_seen *s = &p->seen[j];
            n += strcmp(p->seen[i].gpu, s->gpu) == 0 && strcmp(s->engine, engine) == 0 ? s->n_rows
                                                                                       : 0;
        }
        if (strcmp(p->seen[i].arch, arch) == 0 && n > most) {
            best = p->seen[i].gpu;
            most = n;
        }
    }
    return best;
}

static eco_status number_in(const char *field, double value, double min, double max,
                            eco_error *err) {
    if (value >= min && value <= max) {
        return ECO_OK;
    }
    return eco_error_set(err, ECO_E_INVALID, 0, "%s: a number from %g to %g is wanted", field, min,
                         max);
}

bool ecoi_energy_is_seen(const eco_energy_params *params, const ecoi_energy_case *c) {
    for (size_t i = 0; i < params->n_seen; i++) {
        if (strcmp(params->seen[i].engine, c->engine) == 0 &&
            (strcmp(c->precision, "FP16") == 0 ||
             strcmp(params->seen[i].precision, c->precision) == 0)) {
            return true;
        }
    }
    return false;
}

double ecoi_energy_multiple_of(const eco_energy_params *params, const char *engine) {
    double largest = 0.0;
    for (size_t i = 0; i < params->n_multiples; i++) {
        if (strcmp(params->multiples[i].engine, engine) == 0) {
            return params->multiples[i].value;
        }
        largest = fmax(largest, params->multiples[i].value);
    }
    return largest > 0.0 ? largest : 1.96;
}

static eco_status precision_of(const eco_energy_params *p, const eco_energy_query *q,
                               ecoi_energy_case *c, eco_error *err) {
    const char *engine = q->engine != NULL ? q->engine : "transformers";
    eco_format format;
    if (q->precision == NULL || !eco_format_find(q->precision, &format)) {
        return eco_error_set(err, ECO_E_INVALID, 0, "precision: \"%s\" is no weight format",
                             q->precision != NULL ? q->precision : "");
    }
    ecoi_energy_copy(c->engine, sizeof c->engine, engine);
    ecoi_energy_copy(c->precision, sizeof c->precision, eco_format_at(format)->name);
    c->bytes_per_weight = eco_format_at(format)->bits_per_weight / 8.0;
    if (ecoi_energy_is_seen(p, c)) {
        return ECO_OK;
    }
    return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                         "energy model: %s under engine %s was never measured", c->precision,
                         engine);
}

static eco_status case_of_query(const eco_energy_params *p, const eco_energy_query *q,
                                ecoi_energy_case *c, eco_error *err) {
    *c = (ecoi_energy_case){0};
    ECO_TRY(precision_of(p, q, c, err));
    const eco_model_shape *known = eco_model_find(q->model);
    c->params_b = q->params_b > 0.0 || known == NULL ? q->params_b : known->params_b;
    ECO_TRY(number_in("params_b", c->params_b, 0.05, 1000.0, err));
    c->batch = q->batch;
    ECO_TRY(number_in("batch", c->batch, 1.0, 4096.0, err));
    c->context = q->context == 0.0 ? 139.0 : q->context;
    ECO_TRY(number_in("context", c->context, 1.0, 1e7, err));
    (void)ecoi_energy_shape_of(q->model, c->params_b, &c->shape);
    ecoi_energy_card_of(q->gpu, q->arch, c);
    if (c->gpu[0] == '\0' && c->arch[0] == '\0') {
        return eco_error_set(err, ECO_E_INVALID, 0, "gpu, arch: one of them is wanted");
    }
    if (c->gpu[0] == '\0') {
        ecoi_energy_card_of(typical_card(p, c->arch, c->engine), q->arch, c);
    }
    ecoi_energy_stack_of(c->engine, q->stack, c->stack);
    return ECO_OK;
}

eco_status eco_energy_model_predict(const eco_energy_params *params, const eco_energy_query *query,
                                    eco_energy_estimate *out, eco_error *err) {
    *out = (eco_energy_estimate){.basis = ECO_BASIS_UNAVAILABLE};
    ecoi_energy_case c;
    ecoi_energy_answer answer;
    ECO_TRY(case_of_query(params, query, &c, err));
    ecoi_energy_answer_of(params, &c, &answer);
    if (query->gpu == NULL || query->gpu[0] == '\0') {
        answer.domain |= ECO_ENERGY_CARD_TYPICAL;
    }
    ecoi_energy_estimate_of(&answer, ecoi_energy_multiple_of(params, c.engine), out);
    return ECO_OK;
}
