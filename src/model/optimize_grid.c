/* SPDX-License-Identifier: Apache-2.0
 *
 * The scores of one configuration: memory by counting bytes, time by a roofline on datasheet figures, energy from the
 * measured FP16 baseline, the estimator's change and what batch and context do. SPEC §4.3; every figure is rounded as it is
 * printed before it is compared, as published.
 */
#include "model/optimize_grid.h"

#include "ecocompute/anchors.h"
#include "model/estimator.h"
#include "model/published_round.h"

#include <math.h>
#include <string.h>

/* Published: shares of the datasheet's bandwidth and matrix rate that a step reaches, and memory besides weights and cache. */
static const double BANDWIDTH_SHARE = 0.70;
static const double MATRIX_SHARE = 0.30;
static const double OVERHEAD_BYTES = 0.8e9;
static const double OVERHEAD_SHARE = 0.05;
/* Published: energy per token at batch b is 0.65 + 0.35 / b of batch 1. */
static const double BATCH_FIXED = 0.65;
static const double BATCH_SHARED = 0.35;

typedef struct size_shape {
    double params_b, layers, width;
} size_shape;

static const size_shape published_shapes[] = {
    {0.5, 24, 896}, {1.1, 22, 2048}, {1.5, 28, 1536}, {3, 36, 2048},  {7, 32, 4096},
    {9, 48, 4096},  {14, 48, 5120},  {32, 64, 6656},  {70, 80, 8192},
};
enum { N_SHAPES = sizeof published_shapes / sizeof published_shapes[0] };

static double published_layers_x_width(double params_b) {
    const size_shape *last = &published_shapes[N_SHAPES - 1];
    if (params_b <= published_shapes[0].params_b) {
        return published_shapes[0].layers * published_shapes[0].width;
    }
    for (size_t i = 1; i < N_SHAPES; i++) {
        const size_shape *a = &published_shapes[i - 1];
        const size_shape *b = &published_shapes[i];
        if (params_b <= b->params_b) {
            const double t = (params_b - a->params_b) / (b->params_b - a->params_b);
            return ecoi_published_round_whole(a->layers + t * (b->layers - a->layers)) *
                   ecoi_published_round_whole(a->width + t * (b->width - a->width));
        }
    }
    return last->layers * last->width;
}

/* Published: its own, linear baseline; below the measured sizes in proportion, above along the last slope. */
static void published_base(ecoi_grid *g) {
    const eco_fp16_baseline *base = eco_curve_baseline(g->set, g->arch);
    g->base_basis = ECO_BASIS_UNAVAILABLE;
    if (base == NULL || base->n_anchors == 0) {
        return;
    }
    const eco_fp16_anchor *a = base->anchors;
    const double n = g->params_b;
    size_t right = 0;
    for (size_t i = 0; i < base->n_anchors; i++) {
        if (fabs(a[i].params_b - n) < ECOI_SIZE_SAME_B) {
            g->base_j1k = a[i].energy_j1k;
            g->base_basis = ecoi_fp16_anchor_basis(g->set, g->arch, n);
            return;
        }
        right += a[i].params_b < n;
    }
    const bool inside = right > 0 && right < base->n_anchors;
    g->base_basis = inside ? ECO_BASIS_INTERPOLATED : ECO_BASIS_ESTIMATED;
    if (right == 0 || base->n_anchors == 1) {
        g->base_j1k = ecoi_published_round(a[0].energy_j1k * n / a[0].params_b, 2);
        return;
    }
    const eco_fp16_anchor *hi = &a[inside ? right : base->n_anchors - 1];
    const eco_fp16_anchor *lo = hi - 1;
    double j1k = 0;
    if (inside) {
        const double t = (n - lo->params_b) / (hi->params_b - lo->params_b);
        j1k = lo->energy_j1k + t * (hi->energy_j1k - lo->energy_j1k);
    } else {
        const double slope = (hi->energy_j1k - lo->energy_j1k) / (hi->params_b - lo->params_b);
        j1k = hi->energy_j1k + slope * (n - hi->params_b);
    }
    g->base_j1k = ecoi_published_round(j1k, 2);
}

static eco_energy_query energy_query(const ecoi_grid *g, const char *precision) {
    return (eco_energy_query){.model = g->model,
                              .params_b = g->params_b,
                              .gpu = g->card[0] != '\0' ? g->card : NULL,
                              .arch = g->arch,
                              .precision = precision,
                              .batch = 1};
}

static eco_status find_rates(ecoi_grid *g, eco_error *err) {
    const eco_card *card = g->card[0] != '\0' ? eco_card_find(g->card) : NULL;
    const eco_class_hardware *hardware = eco_curve_hardware(g->set, g->arch);
    if (card == NULL && hardware == NULL) {
        return eco_error_set(err, ECO_E_NOT_FOUND, 0,
                             "arch: no bandwidth and matrix rate known for '%s'", g->arch);
    }
    g->bytes_per_s =
        (card != NULL ? card->mem_bw_gb_per_s : hardware->mem_bw_gb_per_s) * 1e9 * BANDWIDTH_SHARE;
    g->flops_per_s =
        (card != NULL ? card->fp16_tflops : hardware->fp16_tflops) * 1e12 * MATRIX_SHARE;
    return ECO_OK;
}

eco_status ecoi_grid_init(const eco_curve_set *set, const eco_optimum *asked, ecoi_grid *out,
                          eco_error *err) {
    *out = (ecoi_grid){.rules = asked->rules,
                       .set = set,
                       .arch = asked->arch,
                       .card = asked->card,
                       .model = asked->model,
                       .params_b = asked->params_b};
    ECO_TRY(find_rates(out, err));
    if (out->rules == ECO_RULES_PUBLISHED_1_1) {
        out->kv_bytes = 2 * published_layers_x_width(out->params_b) * 2;
        published_base(out);
    } else {
        out->kv_bytes = ecoi_model_kv_bytes(out->model, out->params_b);
        const eco_fp16_energy base =
            ecoi_fp16_energy_current(set, out->arch, out->card, out->model, out->params_b);
        out->base_j1k = base.j1k;
        out->base_basis = base.basis;
    }
    return ECO_OK;
}

static double published_bits(const char *precision) {
    return strcmp(precision, "FP16") == 0 ? 16 : strcmp(precision, "INT8") == 0 ? 8 : 4;
}

/* A row whose measured throughput tells of this grid's class, or of its card if one is named. */
static bool tells_time(const ecoi_grid *g, const char *card, const char *precision,
                       const eco_anchor *row) {
    return strcmp(row->arch, g->arch) == 0 && strcmp(row->precision, precision) == 0 &&
           strcmp(row->engine, "transformers") == 0 &&
           eco_reading_present(row->throughput_quant_tok_s) &&
           !(eco_reading_present(row->batch) && row->batch.value > 1) &&
           (card[0] == '\0' || eco_card_find(row->gpu) == eco_card_find(card));
}

/* Mean time a token and layer over the measured rows of the size nearest to the grid's from below (`side` −1) or above (1),
 * that size in *size_b; 0: there is none. */
static double nearest_time(const ecoi_grid *g, const char *card, const char *precision, int side,
                           double *size_b) {
    const eco_anchor_table *table = eco_anchors_builtin();
    double sum = 0;
    size_t n = 0;
    *size_b = 0;
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        const double beyond = (row->params_b - g->params_b) * side;
        if (!tells_time(g, card, precision, row) || beyond < -ECOI_SIZE_SAME_B) {
            continue;
        }
        const double nearer = n > 0 ? (*size_b - row->params_b) * side : 1;
        if (nearer > ECOI_SIZE_SAME_B) {
            *size_b = row->params_b;
            sum = 0;
            n = 0;
        }
        if (nearer > -ECOI_SIZE_SAME_B) {
            sum += 1 / (row->throughput_quant_tok_s.value *
                        ecoi_model_layers(row->model, row->params_b));
            n++;
        }
    }
    return n > 0 ? sum / (double)n : 0;
}

/* Measured time a token at this size: time a layer over the logarithm of the size, level beyond the measured sizes. 0: none
 * was measured. */
static double measured_time(const ecoi_grid *g, const char *card, const char *precision,
                            bool *inside) {
    double below_b = 0;
    double above_b = 0;
    const double below_s = nearest_time(g, card, precision, -1, &below_b);
    const double above_s = nearest_time(g, card, precision, 1, &above_b);
    *inside = below_s > 0 && above_s > 0;
    const double layers = ecoi_model_layers(g->model, g->params_b);
    if (!*inside) {
        return fmax(below_s, above_s) * layers;
    }
    const double span = log(above_b / below_b);
    const double t = span > 0 ? log(g->params_b / below_b) / span : 0;
    return (below_s + t * (above_s - below_s)) * layers;
}

/* No throughput of an FP16 arm is published: the roofline is a lower bound of its time and the fastest quantized arm an upper
 * one, and neither is a time. A card without times of its own waits for launches as its class does: the host's part. */
static void time_arm(const ecoi_grid *g, ecoi_arm *arm) {
    bool inside = false;
    if (strcmp(arm->precision, "FP16") == 0) {
        arm->untimed = true;
        arm->latency_basis = ECO_BASIS_UNAVAILABLE;
        return;
    }
    arm->floor_s = measured_time(g, g->card, arm->precision, &inside);
    if (arm->floor_s > 0) {
        arm->latency_basis = inside ? ECO_BASIS_INTERPOLATED : ECO_BASIS_EXTRAPOLATED;
        return;
    }
    arm->floor_s = measured_time(g, "", arm->precision, &inside);
    if (arm->floor_s > 0) {
        arm->latency_basis = ECO_BASIS_ESTIMATED;
    }
}

static void set_up_current(const ecoi_grid *g, ecoi_arm *arm) {
    const eco_energy_query q = energy_query(g, arm->precision);
    const double context = ecoi_energy_context(0);
    arm->weight_bytes = ecoi_model_weight_gb(g->model, g->params_b, arm->precision) * 1e9;
    arm->by_model = ecoi_energy_lines_of(&q, &arm->lines);
    if (arm->by_model) {
        arm->quant_share = 1 / ecoi_energy_line_at(&arm->lines.quant, 1, context);
        arm->fp16_share = 1 / ecoi_energy_line_at(&arm->lines.fp16, 1, context);
    }
    time_arm(g, arm);
}

static eco_status estimate_arm(const ecoi_grid *g, ecoi_arm *arm, eco_error *err) {
    const eco_estimate_query q = {.rules = g->rules,
                                  .curves = g->set,
                                  .params_b = g->params_b,
                                  .arch = g->card[0] != '\0' ? g->card : g->arch,
                                  .precision = arm->precision,
                                  .model = g->model,
                                  .batch = 1,
                                  .context = ECO_CONTEXT_PUBLISHED};
    eco_estimate e;
    ECO_TRY(ecoi_estimate_numbers(&q, &e, err));
    arm->delta_pct = ecoi_published_round(e.delta_pct, 1);
    arm->factor = 1 + (g->rules == ECO_RULES_CURRENT ? e.delta_pct : arm->delta_pct) / 100;
    arm->basis =
        g->base_basis == ECO_BASIS_UNAVAILABLE ? e.basis : eco_basis_weaker(e.basis, g->base_basis);
    if (e.n_exact > 1 && g->rules == ECO_RULES_CURRENT) { /* a mean times a mean */
        arm->basis = eco_basis_weaker(arm->basis, ECO_BASIS_INTERPOLATED);
    }
    /* Time is modelled, so nothing is of high confidence. */
    arm->confidence = e.confidence == ECO_CONFIDENCE_HIGH ? ECO_CONFIDENCE_MEDIUM : e.confidence;
    return ECO_OK;
}

eco_status ecoi_grid_arm(const ecoi_grid *g, const char *precision, ecoi_arm *out, eco_error *err) {
    *out = (ecoi_arm){.precision = precision,
                      .factor = 1,
                      .basis = g->base_basis,
                      .latency_basis = ECO_BASIS_MODELLED,
                      .confidence = ECO_CONFIDENCE_MEDIUM};
    out->weight_bytes = g->params_b * 1e9 * published_bits(precision) / 8;
    if (strcmp(precision, "FP16") != 0) {
        ECO_TRY(estimate_arm(g, out, err));
    }
    if (g->rules == ECO_RULES_CURRENT) {
        set_up_current(g, out);
    }
    return ECO_OK;
}

/* Energy and change of one place under current rules; the published ones keep the change and discount energy by batch. */
static void price_spot(const ecoi_grid *g, const ecoi_arm *arm, ecoi_spot *s) {
    double j1k = 0;
    s->factor = arm->factor;
    if (arm->by_model) {
        const double context = ecoi_energy_context(s->context);
        const double quant =
            ecoi_energy_line_at(&arm->lines.quant, s->batch, context) * arm->quant_share;
        j1k = g->base_j1k * s->factor * quant;
        s->factor *=
            quant / (ecoi_energy_line_at(&arm->lines.fp16, s->batch, context) * arm->fp16_share);
    } else {
        j1k = g->base_j1k * s->factor * (BATCH_FIXED + BATCH_SHARED / s->batch);
    }
    s->has_energy = g->base_basis != ECO_BASIS_UNAVAILABLE;
    /* Without energies the published order goes by the change, as it is printed. */
    s->energy_j1k = s->has_energy ? ecoi_published_round(j1k, 1) : 0;
    s->energy_key = s->has_energy ? s->energy_j1k : ecoi_published_round(s->factor, 3) * 1e9;
}

void ecoi_grid_spot(const ecoi_grid *g, const ecoi_arm *arm, uint32_t index, double batch,
                    double context, ecoi_spot *out) {
    const double kv_bytes = g->kv_bytes * context * batch;
    const double read_s = (arm->weight_bytes + kv_bytes) / g->bytes_per_s;
    const double compute_s = batch * 2 * g->params_b * 1e9 / g->flops_per_s;
    double step_s = isnan(read_s) || isnan(compute_s) ? (double)NAN : fmax(read_s, compute_s);
    *out = (ecoi_spot){.batch = batch, .context = context, .arm = index};
    out->compute_bound = compute_s > read_s;
    if (arm->floor_s > step_s) {
        step_s = arm->floor_s;
        out->launch_bound = true;
    }
    if (arm->untimed) {
        out->untimed = true;
        step_s = (double)NAN;
    }
    out->latency_ms = ecoi_published_round(1000 * step_s, 2);
    out->throughput_tok_s = ecoi_published_round(batch / step_s, 1);
    out->vram_gb = ecoi_published_round(
        (arm->weight_bytes + kv_bytes + OVERHEAD_BYTES + OVERHEAD_SHARE * arm->weight_bytes) / 1e9,
        2);
    price_spot(g, arm, out);
}

eco_config ecoi_grid_config(const ecoi_grid *g, const ecoi_arm *arm, const ecoi_spot *spot) {
    const bool away =
        g->rules == ECO_RULES_CURRENT && (spot->batch > 1 || spot->context > ECO_CONTEXT_PUBLISHED);
    return (eco_config){
        .precision = arm->precision,
        .batch = spot->batch,
        .context = spot->context,
        .energy_j1k = spot->has_energy ? (eco_reading){spot->energy_j1k, ECO_PRESENT}
                                       : eco_reading_absent(ECO_ABSENT_UNSUPPORTED),
        .energy_rel_fp16 = ecoi_published_round(spot->factor, 3),
        .delta_pct =
            arm->by_model ? ecoi_published_round(100 * (spot->factor - 1), 1) : arm->delta_pct,
        .latency_ms = spot->latency_ms,
        .throughput_tok_s = spot->throughput_tok_s,
        .vram_gb = spot->vram_gb,
        .bound = spot->untimed         ? NULL
                 : spot->launch_bound  ? "launch"
                 : spot->compute_bound ? "compute"
                                       : "memory",
        .energy_basis = away ? eco_basis_weaker(arm->basis, ECO_BASIS_EXTRAPOLATED) : arm->basis,
        .latency_basis = spot->untimed                 ? ECO_BASIS_UNAVAILABLE
                         : away || !spot->launch_bound ? ECO_BASIS_MODELLED
                                                       : arm->latency_basis,
        .confidence = away ? ECO_CONFIDENCE_LOW : arm->confidence};
}
