/* SPDX-License-Identifier: Apache-2.0
 *
 * An optimum as JSON (keys, order and rounding as published, SPEC §4.3; what the current rules add stands behind) and for a
 * person, with its notes.
 */
#include "model/optimize_grid.h"

#include "core/str.h"
#include "model/json_maker.h"
#include "model/published_round.h"

#include <math.h>
#include <string.h>

/* Does the grid leave the workload of the data? */
static bool leaves_workload(const eco_optimum *o) {
    bool away = false;
    for (size_t i = 0; i < o->n_batches; i++) {
        away = away || o->batches[i] > 1;
    }
    for (size_t i = 0; i < o->n_contexts; i++) {
        away = away || o->contexts[i] > ECO_CONTEXT_PUBLISHED;
    }
    return away;
}

static void note_current(eco_optimum *o) {
    if (leaves_workload(o)) {
        ecoi_text_add_z(&o->notes, "What batch and context do to energy is the energy model's, "
                                   "extrapolated: almost all rows are of batch 1.\n");
    }
    for (size_t i = 0; i < o->n_precisions; i++) {
        if (strcmp(o->precisions[i], "FP16") == 0) {
            ecoi_text_add_z(&o->notes,
                            "No time of an FP16 run was measured, so FP16 has none here, is out of "
                            "the front, and keeps no limit of latency or throughput.\n");
        }
    }
    ecoi_text_add_z(&o->notes, "Where no time of this class and format was measured, the roofline "
                               "is a lower bound: the measured eager stack spends its time on "
                               "launches.\n");
    ecoi_text_add_z(&o->notes, "A shorter context never costs more, so give the contexts you "
                               "need.\n");
}

void ecoi_optimize_notes(const ecoi_grid *g, eco_optimum *o) {
    eco_text *n = &o->notes;
    ecoi_text_add_z(n, "Energy is anchored in measurements at batch 1; time is a roofline on "
                       "datasheet figures; memory is counted.\n");
    ecoi_text_add_z(n, "The time to unpack quantized weights is not in the roofline.\n");
    if (g->base_basis == ECO_BASIS_UNAVAILABLE) {
        ecoi_text_addf(n,
                       "No FP16 energy was measured on %s: energies are null, and min_energy goes "
                       "by the change against FP16.\n",
                       o->arch);
    }
    if (o->rules == ECO_RULES_CURRENT) {
        note_current(o);
        return;
    }
    ecoi_text_add_z(n, "Energy per token at batch b is taken as 0.65 + 0.35 / b of batch 1; this "
                       "was not measured.\n");
}

static void add_rounded(eco_text *out, double value, int decimals) {
    ecoi_text_add_number(out, ecoi_published_round(value, decimals));
}

static void add_summary(eco_text *out, const eco_config *c) {
    ecoi_text_addf(out, "%s, batch ", c->precision);
    ecoi_text_add_number(out, c->batch);
    ecoi_text_add_z(out, ", context ");
    ecoi_text_add_number(out, c->context);
    ecoi_text_add_z(out, ": ");
    if (eco_reading_present(c->energy_j1k)) {
        ecoi_text_add_number(out, c->energy_j1k.value);
        ecoi_text_add_z(out, " J per 1000 tokens, ");
    }
    if (c->latency_basis == ECO_BASIS_UNAVAILABLE) {
        ecoi_text_add_z(out, "time not measured, ");
    } else {
        ecoi_text_add_number(out, c->latency_ms);
        ecoi_text_add_z(out, " ms a token, ");
        ecoi_text_add_number(out, c->throughput_tok_s);
        ecoi_text_add_z(out, " tokens/s, ");
    }
    ecoi_text_add_number(out, c->vram_gb);
    ecoi_text_add_z(out, " GB");
}

static void put_basis(ecoi_maker *m, ecoi_json *object, const eco_optimum *o, const eco_config *c) {
    ecoi_json *basis = ecoi_make_object(m);
    const bool none = c->energy_basis == ECO_BASIS_UNAVAILABLE;
    ecoi_put_text(m, basis, "energy",
                  none && o->rules == ECO_RULES_PUBLISHED_1_1 ? NULL
                                                              : eco_basis_name(c->energy_basis));
    ecoi_put_text(m, basis, "latency",
                  o->rules == ECO_RULES_PUBLISHED_1_1 ? "modelled (roofline)"
                                                      : eco_basis_name(c->latency_basis));
    ecoi_put_text(m, basis, "vram", eco_basis_name(ECO_BASIS_COMPUTED));
    ecoi_put(m, object, "basis", basis);
}

/* Published: `energy_mj_per_token` holds J per token under the name of mJ. Current: each by its name. */
static void put_energy(ecoi_maker *m, ecoi_json *object, const eco_optimum *o,
                       const eco_config *c) {
    const double j1k = eco_reading_present(c->energy_j1k) ? c->energy_j1k.value : (double)NAN;
    ecoi_put_number(m, object, "energy_j_per_1k_tokens", j1k);
    if (o->rules == ECO_RULES_PUBLISHED_1_1) {
        ecoi_put_rounded(m, object, "energy_mj_per_token", j1k / 1000, 3);
    } else {
        ecoi_put_number(m, object, "energy_mj_per_token", j1k);
        ecoi_put_rounded(m, object, "energy_j_per_token", j1k / 1000, 4);
    }
    ecoi_put_number(m, object, "energy_rel_fp16", c->energy_rel_fp16);
    ecoi_put_number(m, object, "delta_pct_vs_fp16", c->delta_pct);
}

static ecoi_json *make_config(ecoi_maker *m, const eco_optimum *o, const eco_config *c,
                              const char *role) {
    ecoi_json *object = ecoi_make_object(m);
    eco_text summary = {0};
    add_summary(&summary, c);
    ecoi_put_text(m, object, "precision", c->precision);
    ecoi_put_number(m, object, "batch", c->batch);
    ecoi_put_number(m, object, "context", c->context);
    put_energy(m, object, o, c);
    ecoi_put_number(m, object, "latency_ms_per_token", c->latency_ms);
    ecoi_put_number(m, object, "throughput_tok_s", c->throughput_tok_s);
    ecoi_put_text(m, object, "bound", c->bound);
    ecoi_put_number(m, object, "vram_gb", c->vram_gb);
    put_basis(m, object, o, c);
    ecoi_put_text(m, object, "confidence", eco_confidence_name(c->confidence));
    ecoi_put_text(m, object, "role", role);
    ecoi_put_text(m, object, "summary", summary.data);
    m->failed = m->failed || summary.failed;
    eco_text_free(&summary);
    return object;
}

static void put_change(ecoi_maker *m, ecoi_json *object, const char *key, double value,
                       double reference) {
    ecoi_put_rounded(m, object, key, (value - reference) / reference * 100, 1);
}

static ecoi_json *make_alternative(ecoi_maker *m, const eco_optimum *o, const eco_config *c) {
    ecoi_json *object = make_config(m, o, c, "alternative");
    ecoi_json *versus = ecoi_make_object(m);
    const bool priced =
        eco_reading_present(c->energy_j1k) && eco_reading_present(o->best.energy_j1k);
    put_change(m, versus, "energy_pct", priced ? c->energy_j1k.value : (double)NAN,
               priced ? o->best.energy_j1k.value : 1);
    put_change(m, versus, "latency_pct", c->latency_ms, o->best.latency_ms);
    put_change(m, versus, "throughput_pct", c->throughput_tok_s, o->best.throughput_tok_s);
    put_change(m, versus, "vram_pct", c->vram_gb, o->best.vram_gb);
    ecoi_put(m, object, "vs_recommended", versus);
    return object;
}

static void put_numbers(ecoi_maker *m, ecoi_json *object, const char *key, const double *values,
                        size_t n) {
    ecoi_json *list = ecoi_make_array(m);
    for (size_t i = 0; i < n; i++) {
        ecoi_append(m, list, ecoi_make_rounded(m, values[i], 6));
    }
    ecoi_put(m, object, key, list);
}

static void put_input(ecoi_maker *m, ecoi_json *root, const eco_optimum *o) {
    ecoi_json *input = ecoi_make_object(m);
    ecoi_put_number(m, input, "params_b", o->params_b);
    ecoi_put_text(m, input, "arch", o->arch);
    if (o->card[0] != '\0') {
        ecoi_put_text(m, input, "card", o->card);
    }
    if (o->model != NULL) {
        ecoi_put_text(m, input, "model", o->model);
    }
    ecoi_put_text(m, input, "objective", eco_objective_name(o->objective));
    ecoi_json *limits = ecoi_make_object(m);
    ecoi_put_reading(m, limits, "max_latency_ms", o->latency_max_ms);
    ecoi_put_reading(m, limits, "max_vram_gb", o->vram_max_gb);
    ecoi_put_reading(m, limits, "min_throughput", o->throughput_min_tok_s);
    ecoi_put(m, input, "constraints", limits);
    ecoi_json *grid = ecoi_make_object(m);
    ecoi_json *precisions = ecoi_make_array(m);
    for (size_t i = 0; i < o->n_precisions; i++) {
        const char *name = o->precisions[i];
        ecoi_append(m, precisions, ecoi_json_new_string(&m->doc, name, strlen(name)));
    }
    ecoi_put(m, grid, "precisions", precisions);
    put_numbers(m, grid, "batches", o->batches, o->n_batches);
    put_numbers(m, grid, "contexts", o->contexts, o->n_contexts);
    ecoi_put(m, input, "grid", grid);
    ecoi_put_count(m, input, "candidates", o->n_candidates);
    ecoi_put(m, root, "input", input);
}

static void put_front(ecoi_maker *m, ecoi_json *root, const eco_optimum *o) {
    ecoi_json *list = ecoi_make_array(m);
    for (size_t i = 0; i < o->n_front; i++) {
        const eco_config *c = &o->front[i];
        ecoi_json *one = ecoi_make_object(m);
        ecoi_put_text(m, one, "precision", c->precision);
        ecoi_put_number(m, one, "batch", c->batch);
        ecoi_put_number(m, one, "context", c->context);
        ecoi_put_reading(m, one, "energy_j_per_1k_tokens", c->energy_j1k);
        ecoi_put_number(m, one, "latency_ms_per_token", c->latency_ms);
        ecoi_append(m, list, one);
    }
    ecoi_put(m, root, "pareto_energy_latency", list);
}

static void put_basis_texts(ecoi_maker *m, ecoi_json *root) {
    ecoi_json *basis = ecoi_make_object(m);
    ecoi_put_text(m, basis, "energy",
                  "the weaker of the FP16 baseline's and the change's: measured, interpolated, "
                  "extrapolated, estimated");
    ecoi_put_text(m, basis, "latency", "modelled: roofline on datasheet figures");
    ecoi_put_text(m, basis, "vram", "computed: weights, cache and a fixed overhead");
    ecoi_put(m, root, "basis", basis);
}

eco_status eco_optimize_json(const eco_optimum *o, eco_text *out, eco_error *err) {
    ecoi_maker m = {0};
    const bool feasible = o->n_feasible > 0;
    ecoi_json *root = ecoi_make_object(&m);
    put_input(&m, root, o);
    put_basis_texts(&m, root);
    ecoi_put_count(&m, root, "feasible_count", o->n_feasible);
    ecoi_put(&m, root, "recommended",
             feasible ? make_config(&m, o, &o->best, "recommended")
                      : ecoi_json_new(&m.doc, ECOI_JSON_NULL));
    ecoi_put(&m, root, "closest_infeasible",
             feasible ? ecoi_json_new(&m.doc, ECOI_JSON_NULL)
                      : make_config(&m, o, &o->best, "closest_infeasible"));
    ecoi_json *alternatives = ecoi_make_array(&m);
    for (size_t i = 0; i < o->n_alternatives; i++) {
        ecoi_append(&m, alternatives, make_alternative(&m, o, &o->alternatives[i]));
    }
    ecoi_put(&m, root, "alternatives", alternatives);
    put_front(&m, root, o);
    ecoi_put_lines(&m, root, "notes", &o->notes);
    if (o->rules == ECO_RULES_CURRENT) {
        ecoi_put_text(&m, root, "rules", eco_rules_name(o->rules));
    }
    return ecoi_make_end(&m, root, "optimize", out, err);
}

static void add_config(eco_text *out, const char *label, const eco_config *c) {
    ecoi_text_addf(out, "%-12s", label);
    add_summary(out, c);
    ecoi_text_addf(out, " (energy %s, time %s, confidence %s)\n", eco_basis_name(c->energy_basis),
                   eco_basis_name(c->latency_basis), eco_confidence_name(c->confidence));
}

void eco_optimize_text(const eco_optimum *o, eco_text *out) {
    const bool feasible = o->n_feasible > 0;
    ecoi_text_addf(out, "%s for ", eco_objective_name(o->objective));
    add_rounded(out, o->params_b, 3);
    ecoi_text_addf(out, " B on %s: %zu of %zu candidates keep the limits\n",
                   o->card[0] != '\0' ? o->card : o->arch, o->n_feasible, o->n_candidates);
    add_config(out, feasible ? "best" : "closest", &o->best);
    for (size_t i = 0; i < o->n_alternatives; i++) {
        add_config(out, "or", &o->alternatives[i]);
    }
    if (o->n_front > 0) {
        ecoi_text_addf(out, "front of energy against latency, %zu:\n", o->n_front);
    }
    for (size_t i = 0; i < o->n_front; i++) {
        add_config(out, "", &o->front[i]);
    }
    ecoi_text_add_z(out, o->notes.data != NULL ? o->notes.data : "");
}
