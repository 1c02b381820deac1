/* SPDX-License-Identifier: Apache-2.0
 *
 * The fit: the mode of the posterior of all effects, by Levenberg-Marquardt on logarithms. A row gives two residuals, the
 * ratio quantized to FP16 (a ratio on one card in one session is the surest thing a row says) and the FP16 energy. Each
 * effect gives one more, its distance from its prior. Deterministic: fixed start, fixed order of sums. Pure.
 */
#include "core/alloc.h"
#include "model/energy_model_parts.h"

#include <math.h>
#include <string.h>

enum { ITERATIONS_MAX = 100, SPARSE_MAX = 2 * ECOI_ENERGY_TERMS_MAX * ECOI_ENERGY_FACTORS_MAX };

/* Standard deviations of a row's logarithms. Restarts of one machine move a change by about 2 points, and the published
 * FP16 energies of one model and card by 3 to 15 % between days, most of which the session effect takes. */
static const double ratio_sd = 0.05, fp16_sd = 0.075;

/* A term with its factors' places among the effects. */
typedef struct placed_term {
    double amount, power[ECOI_ENERGY_FACTORS_MAX];
    uint16_t index[ECOI_ENERGY_FACTORS_MAX], n;
} placed_term;
typedef struct placed_sum {
    placed_term terms[ECOI_ENERGY_TERMS_MAX];
    size_t n;
} placed_sum;
typedef struct placed_row {
    placed_sum fp16, quant;
    double log_fp16_j, log_ratio; /* measured */
    bool has_fp16;                /* else the source gives the change alone */
} placed_row;

/* Everything of one fit, one block of memory each. */
typedef struct fit {
    ecoi_energy_effect *effects;
    int8_t *correlation;
    ecoi_energy_seen *seen;
    placed_row *rows;
    double *value, *trial, *matrix, *damped, *gradient;
    size_t n_effects, n_seen, n_rows;
} fit;

static void fit_fini(fit *f) {
    ecoi_free(f->effects);
    ecoi_free(f->correlation);
    ecoi_free(f->seen);
    ecoi_free(f->rows);
    ecoi_free(f->value);
    ecoi_free(f->trial);
    ecoi_free(f->matrix);
    ecoi_free(f->damped);
    ecoi_free(f->gradient);
    *f = (fit){0};
}

/* ---- Rows to places ---- */

static bool place_of(fit *f, const ecoi_energy_factor *factor, uint16_t *index) {
    for (size_t i = 0; i < f->n_effects; i++) {
        if (f->effects[i].kind == factor->kind && strcmp(f->effects[i].key, factor->key) == 0) {
            *index = (uint16_t)i;
            return true;
        }
    }
    if (f->n_effects == ECOI_ENERGY_EFFECTS_MAX) {
        return false;
    }
    ecoi_energy_effect *e = &f->effects[f->n_effects];
    e->kind = factor->kind;
    ecoi_energy_copy(e->key, sizeof e->key, factor->key);
    e->value = ecoi_energy_prior_mean(e->kind, e->key);
    e->sd = ecoi_energy_prior_sd(e->kind, e->key);
    *index = (uint16_t)f->n_effects++;
    return true;
}

static bool place_sum(fit *f, const ecoi_energy_sum *sum, placed_sum *out) {
    out->n = sum->n_terms;
    for (size_t t = 0; t < sum->n_terms; t++) {
        const ecoi_energy_term *from = &sum->terms[t];
        placed_term *to = &out->terms[t];
        to->amount = from->amount;
        to->n = (uint16_t)from->n_factors;
        for (size_t i = 0; i < from->n_factors; i++) {
            to->power[i] = from->factors[i].power;
            if (!place_of(f, &from->factors[i], &to->index[i])) {
                return false;
            }
        }
    }
    return true;
}

static void note_seen(fit *f, const ecoi_energy_case *c) {
    ecoi_energy_seen *s = NULL;
    for (size_t i = 0; i < f->n_seen && s == NULL; i++) {
        ecoi_energy_seen *at = &f->seen[i];
        if (strcmp(at->gpu, c->gpu) == 0 && strcmp(at->engine, c->engine) == 0 &&
            strcmp(at->precision, c->precision) == 0) {
            s = at;
        }
    }
    if (s == NULL) {
        s = &f->seen[f->n_seen++];
        *s = (ecoi_energy_seen){.params_b_min = c->params_b, .params_b_max = c->params_b};
        ecoi_energy_copy(s->gpu, sizeof s->gpu, c->gpu);
        ecoi_energy_copy(s->arch, sizeof s->arch, c->arch);
        ecoi_energy_copy(s->engine, sizeof s->engine, c->engine);
        ecoi_energy_copy(s->precision, sizeof s->precision, c->precision);
    }
    s->n_rows++;
    s->params_b_min = fmin(s->params_b_min, c->params_b);
    s->params_b_max = fmax(s->params_b_max, c->params_b);
    s->batch_max = fmax(s->batch_max, c->batch);
}

static eco_status place_rows(fit *f, const eco_anchor_table *table, const bool *skip,
                             eco_error *err) {
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        ecoi_energy_case c;
        double delta_pct;
        if ((skip != NULL && skip[i]) || !eco_anchor_delta_pct(row, &delta_pct) ||
            !(delta_pct > -100.0) || !isfinite(delta_pct) || !ecoi_energy_case_of_row(row, &c)) {
            continue; /* of another engine, or a change that is none */
        }
        placed_row *to = &f->rows[f->n_rows++];
        ecoi_energy_sum fp16, quant;
        ecoi_energy_sum_of(&c, false, &fp16);
        ecoi_energy_sum_of(&c, true, &quant);
        if (!place_sum(f, &fp16, &to->fp16) || !place_sum(f, &quant, &to->quant)) {
            return eco_error_set(err, ECO_E_RANGE, 0,
                                 "energy model: row %s: more than %d effects of cards, sessions "
                                 "and stacks",
                                 row->id, (int)ECOI_ENERGY_EFFECTS_MAX);
        }
        to->log_ratio = log1p(delta_pct / 100.0);
        to->has_fp16 = eco_reading_present(row->energy_fp16_j1k);
        to->log_fp16_j = to->has_fp16 ? log(row->energy_fp16_j1k.value / 1000.0) : 0.0;
        note_seen(f, &c);
    }
    if (f->n_rows < 4) {
        return eco_error_set(err, ECO_E_INVALID, 0,
                             "energy model: %zu usable rows; at least 4 are needed", f->n_rows);
    }
    return ECO_OK;
}

static eco_status fit_init(fit *f, const eco_anchor_table *table, eco_error *err) {
    *f = (fit){0};
    if (table->n > ECOI_ENERGY_ROWS_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "energy model: %zu rows; at most %d", table->n,
                             (int)ECOI_ENERGY_ROWS_MAX);
    }
    const size_t max = ECOI_ENERGY_EFFECTS_MAX;
    f->effects = ecoi_calloc(max, sizeof *f->effects);
    f->correlation = ecoi_calloc(max * (max - 1) / 2, sizeof *f->correlation);
    f->seen = ecoi_calloc(table->n + 1, sizeof *f->seen);
    f->rows = ecoi_calloc(table->n + 1, sizeof *f->rows);
    f->value = ecoi_calloc(max, sizeof *f->value);
    f->trial = ecoi_calloc(max, sizeof *f->trial);
    f->gradient = ecoi_calloc(max, sizeof *f->gradient);
    f->matrix = ecoi_calloc(max * max, sizeof *f->matrix);
    f->damped = ecoi_calloc(max * max, sizeof *f->damped);
    if (f->effects == NULL || f->correlation == NULL || f->seen == NULL || f->rows == NULL ||
        f->value == NULL || f->trial == NULL || f->gradient == NULL || f->matrix == NULL ||
        f->damped == NULL) {
        fit_fini(f);
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "energy model: out of memory");
    }
    return ECO_OK;
}

/* ---- Residuals ---- */

/* A residual and the few effects that it depends on. */
typedef struct sparse {
    double value, slope[SPARSE_MAX];
    uint16_t index[SPARSE_MAX];
    size_t n;
} sparse;

static void sparse_add(sparse *s, uint16_t index, double slope) {
    for (size_t i = 0; i < s->n; i++) {
        if (s->index[i] == index) {
            s->slope[i] += slope;
            return;
        }
    }
    s->index[s->n] = index;
    s->slope[s->n++] = slope;
}

/* Adds scale × (log of the sum and its slopes). */
static void add_log_sum(const placed_sum *sum, const double *value, double scale, sparse *out) {
    double joules[ECOI_ENERGY_TERMS_MAX], total = 0.0;
    for (size_t t = 0; t < sum->n; t++) {
        double x = 0.0;
        for (size_t i = 0; i < sum->terms[t].n; i++) {
            x += sum->terms[t].power[i] * value[sum->terms[t].index[i]];
        }
        joules[t] = sum->terms[t].amount * exp(x);
        total += joules[t];
    }
    out->value += scale * log(total);
    for (size_t t = 0; t < sum->n; t++) {
        for (size_t i = 0; i < sum->terms[t].n; i++) {
            sparse_add(out, sum->terms[t].index[i],
                       scale * joules[t] / total * sum->terms[t].power[i]);
        }
    }
}

/* One residual, or two. */
static size_t row_residuals(const placed_row *row, const double *value, sparse out[2]) {
    out[0] = (sparse){.value = -row->log_ratio / ratio_sd};
    add_log_sum(&row->quant, value, 1.0 / ratio_sd, &out[0]);
    add_log_sum(&row->fp16, value, -1.0 / ratio_sd, &out[0]);
    if (!row->has_fp16) {
        return 1;
    }
    out[1] = (sparse){.value = -row->log_fp16_j / fp16_sd};
    add_log_sum(&row->fp16, value, 1.0 / fp16_sd, &out[1]);
    return 2;
}

/* Sum of squares at `value`; with `normal`, the normal equations too. */
static double cost_of(fit *f, const double *value, bool normal) {
    const size_t n = f->n_effects;
    double cost = 0.0;
    if (normal) {
        memset(f->matrix, 0, n * n * sizeof *f->matrix);
        memset(f->gradient, 0, n * sizeof *f->gradient);
    }
    for (size_t r = 0; r < f->n_rows; r++) {
        sparse residuals[2];
        const size_t n_residuals = row_residuals(&f->rows[r], value, residuals);
        for (size_t k = 0; k < n_residuals; k++) {
            const sparse *s = &residuals[k];
            cost += s->value * s->value;
            for (size_t i = 0; normal && i < s->n; i++) {
                f->gradient[s->index[i]] += s->slope[i] * s->value;
                for (size_t j = 0; j < s->n; j++) {
                    f->matrix[s->index[i] * n + s->index[j]] += s->slope[i] * s->slope[j];
                }
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        const double sd = ecoi_energy_prior_sd(f->effects[i].kind, f->effects[i].key);
        const double away =
            (value[i] - ecoi_energy_prior_mean(f->effects[i].kind, f->effects[i].key)) / sd;
        cost += away * away;
        if (normal) {
            f->gradient[i] += away / sd;
            f->matrix[i * n + i] += 1.0 / (sd * sd);
        }
    }
    return cost;
}

/* ---- The descent ---- */

static bool step(fit *f, double damping) {
    const size_t n = f->n_effects;
    memcpy(f->damped, f->matrix, n * n * sizeof *f->damped);
    for (size_t i = 0; i < n; i++) {
        f->damped[i * n + i] *= 1.0 + damping;
        f->trial[i] = f->gradient[i];
    }
    if (!ecoi_energy_factorize(f->damped, n)) {
        return false;
    }
    ecoi_energy_solve(f->damped, n, f->trial);
    for (size_t i = 0; i < n; i++) {
        f->trial[i] = f->value[i] - f->trial[i];
    }
    return true;
}

static void descend(fit *f) {
    double damping = 1e-3;
    double cost = cost_of(f, f->value, true);
    for (int i = 0; i < ITERATIONS_MAX && damping < 1e12; i++) {
        const double tried = step(f, damping) ? cost_of(f, f->trial, false) : HUGE_VAL;
        if (!(tried < cost)) {
            damping *= 8.0;
            continue;
        }
        const bool settled = cost - tried < 1e-13 * cost;
        memcpy(f->value, f->trial, f->n_effects * sizeof *f->value);
        cost = cost_of(f, f->value, true);
        damping = fmax(damping / 8.0, 1e-12);
        if (settled) {
            break;
        }
    }
}

/* Values and, from the inverse of the normal matrix, standard deviations and correlations. */
static void keep_posterior(fit *f) {
    const size_t n = f->n_effects;
    memcpy(f->damped, f->matrix, n * n * sizeof *f->damped);
    if (!ecoi_energy_factorize(f->damped, n)) {
        return; /* not reached: every prior adds to the diagonal. The prior's widths would stand. */
    }
    for (size_t i = 0; i < n; i++) {
        f->effects[i].value = f->value[i];
        memset(f->trial, 0, n * sizeof *f->trial);
        f->trial[i] = 1.0;
        ecoi_energy_solve(f->damped, n, f->trial);
        f->effects[i].sd = sqrt(f->trial[i]);
        for (size_t j = 0; j < i; j++) {
            const double percent = 100.0 * f->trial[j] / (f->effects[i].sd * f->effects[j].sd);
            f->correlation[i * (i - 1) / 2 + j] =
                (int8_t)lround(fmin(fmax(percent, -100.0), 100.0));
        }
    }
}

static eco_status hand_over(fit *f, eco_energy_params **out, eco_error *err) {
    eco_energy_params *p = ecoi_calloc(1, sizeof *p);
    if (p == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "energy model: out of memory");
    }
    p->effects = f->effects;
    p->correlation = f->correlation;
    p->seen = f->seen;
    p->n_effects = f->n_effects;
    p->n_seen = f->n_seen;
    f->effects = NULL;
    f->correlation = NULL;
    f->seen = NULL;
    *out = p;
    return ECO_OK;
}

eco_status ecoi_energy_fit_without(const eco_anchor_table *rows, const bool *skip,
                                   eco_energy_params **out, eco_error *err) {
    *out = NULL;
    fit f;
    ECO_TRY(fit_init(&f, rows, err));
    eco_status status = place_rows(&f, rows, skip, err);
    if (status == ECO_OK) {
        for (size_t i = 0; i < f.n_effects; i++) {
            f.value[i] = f.effects[i].value;
        }
        descend(&f);
        keep_posterior(&f);
        status = hand_over(&f, out, err);
    }
    fit_fini(&f);
    return status;
}

/* What hand_over gave away; the parameters hold it read-only, as they do the frozen tables. */
static void free_read_only(const void *memory) {
    union {
        const void *read_only;
        void *owned;
    } both = {.read_only = memory};
    ecoi_free(both.owned);
}

void eco_energy_params_free(eco_energy_params *params) {
    if (params == NULL) {
        return;
    }
    free_read_only(params->effects);
    free_read_only(params->correlation);
    free_read_only(params->seen);
    free_read_only(params->multiples);
    ecoi_free(params);
}
