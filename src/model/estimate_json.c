/* SPDX-License-Identifier: Apache-2.0
 *
 * An estimate as JSON and for a person. Keys, order and rounding are the published ones (SPEC §4.2, §5.10); what the
 * current rules add stands behind them.
 */
#include "ecocompute/estimate.h"

#include "core/str.h"
#include "model/json_maker.h"
#include "model/published_round.h"

#include <math.h>

static void put_input(ecoi_maker *m, ecoi_json *root, const eco_estimate *e) {
    ecoi_json *input = ecoi_make_object(m);
    ecoi_put_number(m, input, "params_b", e->params_b);
    ecoi_put_text(m, input, "arch", e->arch);
    if (e->rules == ECO_RULES_CURRENT && e->card[0] != '\0') {
        ecoi_put_text(m, input, "card", e->card);
    }
    ecoi_put_text(m, input, "precision", e->precision);
    if (e->engine[0] != '\0') {
        ecoi_put_text(m, input, "engine", e->engine);
    }
    if (e->stack[0] != '\0') {
        ecoi_put_text(m, input, "stack", e->stack);
    }
    ecoi_put_number(m, input, "batch", e->batch);
    ecoi_put_number(m, input, "ctx", e->context);
    ecoi_put(m, root, "input", input);
}

static void put_anchors(ecoi_maker *m, ecoi_json *root, const eco_curve *curve) {
    ecoi_json *list = ecoi_make_array(m);
    for (size_t i = 0; i < curve->n_anchors; i++) {
        const eco_curve_anchor *a = &curve->anchors[i];
        ecoi_json *one = ecoi_make_object(m);
        ecoi_put_number(m, one, "N", a->params_b);
        ecoi_put_number(m, one, "dE", a->delta_pct);
        ecoi_put_text(m, one, "model", a->model);
        ecoi_put_text(m, one, "gpu", a->gpu);
        if (a->n_trials > 0) {
            ecoi_put_count(m, one, "n", a->n_trials);
        }
        ecoi_append(m, list, one);
    }
    ecoi_put(m, root, "anchors", list);
}

static void put_gate(ecoi_maker *m, ecoi_json *root, const eco_gate *gate) {
    ecoi_json *zone = ecoi_make_object(m);
    ecoi_put_text(m, zone, "zone", eco_gate_zone_name(gate->zone));
    ecoi_put_reading(m, zone, "threshold_b", gate->threshold_b);
    ecoi_put(m, root, "gate", zone);
}

static void put_energies(ecoi_maker *m, ecoi_json *root, const eco_estimate *e) {
    const bool priced = eco_reading_present(e->fp16_mj);
    ecoi_json *energy = ecoi_make_object(m);
    ecoi_put_rounded(m, energy, "fp16_mj_per_token", priced ? e->fp16_mj.value : (double)NAN, 1);
    ecoi_put_rounded(m, energy, "mj_per_token", priced ? e->quant_mj.value : (double)NAN, 1);
    ecoi_put_rounded(m, energy, "fp16_j_per_token", priced ? e->fp16_mj.value / 1000 : (double)NAN,
                     4);
    ecoi_put_rounded(m, energy, "j_per_token", priced ? e->quant_mj.value / 1000 : (double)NAN, 4);
    ecoi_put_text(m, energy, "basis",
                  eco_basis_name(priced ? e->energy_basis : ECO_BASIS_UNAVAILABLE));
    ecoi_put(m, root, "energy", energy);
}

eco_status eco_estimate_json(const eco_estimate *e, eco_text *out, eco_error *err) {
    ecoi_maker m = {0};
    ecoi_json *root = ecoi_make_object(&m);
    put_input(&m, root, e);
    ecoi_put_rounded(&m, root, "delta_pct", e->delta_pct, 1);
    ecoi_json *ci = ecoi_make_array(&m);
    ecoi_append(&m, ci, ecoi_make_rounded(&m, e->lo_pct, 1));
    ecoi_append(&m, ci, ecoi_make_rounded(&m, e->hi_pct, 1));
    ecoi_put(&m, root, "ci", ci);
    ecoi_put_text(&m, root, "basis", eco_basis_name(e->basis));
    ecoi_put_text(&m, root, "confidence", eco_confidence_name(e->confidence));
    ecoi_put_text(&m, root, "recommendation", eco_recommendation_name(e->recommendation));
    ecoi_put_text(&m, root, "verdict", e->verdict.data);
    ecoi_put_reading(&m, root, "crossover_b", e->crossover_b);
    put_anchors(&m, root, e->curve);
    const bool by_curve = e->source != ECO_ESTIMATE_ENERGY_MODEL && e->curve->arch[0] != '\0';
    ecoi_put_text(&m, root, "arch_used", by_curve ? e->curve->arch : e->arch);
    ecoi_put_bool(&m, root, "modelled", e->modelled);
    ecoi_put_rounded(&m, root, "weight_gb", e->weight_gb, 2);
    ecoi_put_rounded(&m, root, "weight_gb_fp16", e->weight_gb_fp16, 2);
    ecoi_put_lines(&m, root, "notes", &e->notes);
    if (e->rules == ECO_RULES_CURRENT) {
        ecoi_put_text(&m, root, "source", eco_estimate_source_name(e->source));
        put_gate(&m, root, &e->gate);
        put_energies(&m, root, e);
        ecoi_put_text(&m, root, "rules", eco_rules_name(e->rules));
    }
    return ecoi_make_end(&m, root, "estimate", out, err);
}

static void add_rounded(eco_text *out, double value, int decimals) {
    ecoi_text_add_number(out, ecoi_published_round(value, decimals));
}

void eco_estimate_text(const eco_estimate *e, eco_text *out) {
    ecoi_text_add_z(out, e->verdict.data != NULL ? e->verdict.data : "");
    ecoi_text_add_z(out, "\ninterval ");
    add_rounded(out, e->lo_pct, 1);
    ecoi_text_add_z(out, " to ");
    add_rounded(out, e->hi_pct, 1);
    ecoi_text_addf(out, " %% (%s), basis %s, confidence %s\n",
                   e->source == ECO_ESTIMATE_ENERGY_MODEL ? "as wide as held 95 % of held-out rows"
                   : e->n_sessions > 0                    ? "for one more session"
                                                          : "1.96 sigma of the curve",
                   eco_basis_name(e->basis), eco_confidence_name(e->confidence));
    ecoi_text_add_z(out, "crossover ");
    if (eco_reading_present(e->crossover_b)) {
        ecoi_text_add_number(out, e->crossover_b.value);
        ecoi_text_add_z(out, " B");
    } else {
        ecoi_text_add_z(out, "none known");
    }
    ecoi_text_addf(out, "; gate: %s\nweights ", eco_gate_zone_name(e->gate.zone));
    add_rounded(out, e->weight_gb, 2);
    ecoi_text_add_z(out, " GB, FP16 ");
    add_rounded(out, e->weight_gb_fp16, 2);
    ecoi_text_add_z(out, " GB\n");
    if (eco_reading_present(e->fp16_mj)) {
        ecoi_text_add_z(out, "energy ");
        add_rounded(out, e->quant_mj.value, 1);
        ecoi_text_add_z(out, " mJ/token against ");
        add_rounded(out, e->fp16_mj.value, 1);
        ecoi_text_addf(out, " mJ/token in FP16 (baseline %s)\n", eco_basis_name(e->fp16_basis));
    }
    ecoi_text_add_z(out, e->notes.data != NULL ? e->notes.data : "");
}
