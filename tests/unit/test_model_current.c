/* SPDX-License-Identifier: Apache-2.0
 *
 * The current rules: what they refuse, cards, bands, gate and crossover, batch and context, units; and what SPEC §7.4 asks
 * of both rules.
 */
#include "ecocompute/anchors.h"
#include "ecocompute/estimate.h"
#include "ecocompute/optimize.h"

#include "core/rng.h"
#include "model/cell.h"
#include "model/energy_line.h"
#include "model/estimator.h"
#include "test_helpers.h"

#include <stdio.h>
#include <string.h>

static const eco_estimate_query seven_ada = {.rules = ECO_RULES_CURRENT,
                                             .params_b = 7,
                                             .arch = "ada",
                                             .precision = "NF4",
                                             .batch = 1,
                                             .context = ECO_CONTEXT_PUBLISHED};
static const char *const archs[] = {"ada", "ampere", "blackwell", "turing", "hopper"};
static const char *const formats[] = {"NF4", "INT8"};

static eco_estimate estimate(const eco_estimate_query *q) {
    eco_estimate e;
    eco_error err = {0};
    ASSERT_OK(eco_estimate_make(q, &e, &err), &err);
    return e;
}

static void refused(const eco_estimate_query *q, const char *field, const char *also) {
    eco_estimate e;
    eco_error err = {0};
    const eco_status status = eco_estimate_make(q, &e, &err);
    if (status == ECO_OK || strncmp(err.message, field, strlen(field)) != 0 ||
        strstr(err.message, also) == NULL) {
        print_error("status %d, message '%s', expected one on %s with '%s'\n", status, err.message,
                    field, also);
        fail();
    }
}

static void test_refusals(void **state) {
    (void)state;
    static const double sizes[] = {0, -7, 1e-3, 1e5, (double)NAN, (double)INFINITY};
    static const double batches[] = {0, -1, 1.5, 4097, (double)NAN, (double)INFINITY};
    static const double contexts[] = {0, -1, 0.5, 1e9, (double)NAN, -(double)INFINITY};
    for (size_t i = 0; i < 6; i++) {
        eco_estimate_query q = seven_ada;
        q.params_b = sizes[i];
        refused(&q, "params_b: ", "expected");
        q = seven_ada;
        q.batch = batches[i];
        refused(&q, "batch: ", "whole number");
        q = seven_ada;
        q.context = contexts[i];
        refused(&q, "ctx: ", "whole number");
    }
    eco_estimate_query q = seven_ada;
    q.arch = NULL;
    refused(&q, "arch: ", "ada");
    q.arch = "amper";
    refused(&q, "arch: ", "did you mean 'ampere'?");
    q.arch = "zzz";
    refused(&q, "arch: ", "'zzz'");
    q.arch = "volta";
    refused(&q, "arch: ", "volta");
    q = seven_ada;
    q.precision = NULL;
    refused(&q, "precision: ", "NF4");
    q.precision = "FP16";
    refused(&q, "precision: ", "baseline");
    q.precision = "FP7";
    refused(&q, "precision: ", "FP7");
    q.arch = "turing";
    q.precision = "INT8";
    refused(&q, "precision: ", "turing");
    q = seven_ada;
    q.model = "Qwen2-8B";
    refused(&q, "model: ", "Qwen2-7B");
}

static void optimize_refused(const eco_optimize_query *q, const char *field, const char *also) {
    eco_optimum o;
    eco_error err = {0};
    assert_int_not_equal(eco_optimize_make(q, &o, &err), ECO_OK);
    if (strncmp(err.message, field, strlen(field)) != 0 || strstr(err.message, also) == NULL) {
        print_error("message '%s', expected one on %s with '%s'\n", err.message, field, also);
        fail();
    }
}

static void test_optimize_refusals(void **state) {
    (void)state;
    const eco_optimize_query base = {
        .rules = ECO_RULES_CURRENT, .params_b = 7, .arch = "ada", .objective = "min_enery"};
    optimize_refused(&base, "objective: ", "did you mean 'min_energy'?");
    eco_optimize_query q = base;
    q.rules = ECO_RULES_PUBLISHED_1_1; /* there it is min_energy, silently */
    eco_optimum o;
    eco_error err = {0};
    ASSERT_OK(eco_optimize_make(&q, &o, &err), &err);
    assert_int_equal(o.objective, ECO_OBJECTIVE_MIN_ENERGY);
    eco_optimum_free(&o);
    q.objective =
        NULL; /* a limit of 0 is broken by all, without end: the first of the grid is as near as any */
    q.latency_max_ms = eco_reading_of(0);
    ASSERT_OK(eco_optimize_make(&q, &o, &err), &err);
    assert_int_equal(o.n_feasible, 0);
    assert_string_equal(o.best.precision, "FP16");
    ASSERT_NEAR(o.best.batch, 1, 0.0);
    eco_optimum_free(&o);
    q = base;
    q.objective = NULL;
    q.params_b = (double)NAN;
    optimize_refused(&q, "params_b: ", "not a number");
    q.params_b = 7;
    q.vram_max_gb = eco_reading_of(0);
    optimize_refused(&q, "max_vram_gb: ", "above 0");
    q.vram_max_gb = eco_reading_absent(ECO_ABSENT_NOT_READ);
    q.latency_max_ms = (eco_reading){(double)NAN, ECO_PRESENT};
    optimize_refused(&q, "max_latency_ms: ", "above 0");
    q.latency_max_ms = eco_reading_absent(ECO_ABSENT_NOT_READ);
    static const double batches[] = {1, 0};
    q.batches = batches;
    q.n_batches = 2;
    optimize_refused(&q, "batch: 0 ", "whole number");
    static const char *const precisions[] = {"FP8"};
    q.n_batches = 0;
    q.precisions = precisions;
    q.n_precisions = 1;
    optimize_refused(&q, "no precision can be scored: ", "FP8");
    static double many[ECO_OPTIMIZE_AXIS_MAX + 1];
    q.n_precisions = 0;
    q.contexts = many;
    q.n_contexts = ECO_OPTIMIZE_AXIS_MAX + 1;
    optimize_refused(&q, "grid: ", "4096");
}

/* SPEC §4.2 step 5, later version: the floor of sigma is the largest of residual, leave-one-out error and 2; a curve is of
 * few sessions, so what differs between sessions is added. */
static void test_band(void **state) {
    (void)state;
    static const struct {
        const char *arch;
        double params_b, floor_pct;
    } rows[] = {{"blackwell", 5, 4.846}, /* leave-one-out */
                {"turing", 2, 5.262},    /* leave-one-out, over 1.316 */
                {"ampere", 13, 2.7146}}; /* no leave-one-out error: the residual */
    eco_estimate_query q = seven_ada;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        q.arch = rows[i].arch;
        q.params_b = rows[i].params_b;
        eco_estimate e = estimate(&q);
        const double between_pct =
            ecoi_session_sd("transformers", "NF4", false) * (100 + e.delta_pct);
        ASSERT_NEAR(e.sigma_pct, hypot(rows[i].floor_pct, between_pct), 1e-9);
        ASSERT_NEAR(e.hi_pct - e.delta_pct, 1.96 * e.sigma_pct, 1e-9);
        assert_string_equal(eco_basis_name(e.basis), "interpolated");
        eco_estimate_free(&e);
    }
    q = seven_ada; /* measured: July and August on RTX 4090 cards, February on the RTX 4090D */
    eco_estimate e = estimate(&q);
    assert_int_equal(e.n_sessions, 3);
    assert_int_equal(e.n_exact, 4);
    ASSERT_NEAR(e.spread_pct, 39.04 - 23.75, 0.01);
    assert_true(e.lo_pct < -39.04 && e.hi_pct > -23.75);
    assert_string_equal(eco_basis_name(e.basis), "measured");
    eco_estimate_free(&e);
}

/* What was not measured is not called so: another card of the class, outside the sizes, batch, context. */
static void test_basis(void **state) {
    (void)state;
    static const struct {
        const char *arch;
        double params_b, batch, context;
        const char *basis, *source;
    } rows[] = {
        {"ada", 7, 1, 2048, "measured", "anchors"},
        {"RTX 4090", 7, 1, 2048, "measured", "anchors"},
        {"RTX 4090D", 3, 1, 2048, "measured", "anchors"},
        {"RTX 4090", 2, 1, 2048, "interpolated", "curve"},
        {"L4", 7, 1, 2048, "estimated", "energy_model"},
        {"A100", 7, 1, 2048, "estimated", "curve"}, /* the chip of the A800 */
        {"RTX 3090", 7, 1, 2048, "estimated", "energy_model"},
        {"B200", 7, 1, 2048, "estimated", "energy_model"},
        {"hopper", 7, 1, 2048, "estimated", "energy_model"},
        {"ada", 7, 8, 2048, "extrapolated", "anchors"},
        {"ada", 7, 1, 8192, "extrapolated", "anchors"},
        {"ada", 5, 8, 2048, "extrapolated", "curve"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        eco_estimate_query q = seven_ada;
        q.arch = rows[i].arch;
        q.params_b = rows[i].params_b;
        q.batch = rows[i].batch;
        q.context = rows[i].context;
        eco_estimate e = estimate(&q);
        assert_string_equal(eco_basis_name(e.basis), rows[i].basis);
        assert_string_equal(eco_estimate_source_name(e.source), rows[i].source);
        assert_int_equal(e.modelled, rows[i].batch > 1 || rows[i].context > 2048);
        eco_estimate_free(&e);
    }
    eco_estimate_query q = seven_ada;
    q.params_b = 70;
    eco_estimate e = estimate(&q);
    assert_true(e.basis < ECO_BASIS_INTERPOLATED);
    eco_estimate_free(&e);
    q.arch = "RTX 4090D"; /* only its own anchor, not the mean with the other card's */
    q.params_b = 3;
    e = estimate(&q);
    assert_int_equal(e.n_exact, 1);
    ASSERT_NEAR(e.delta_pct, 100 * (3743.12 / 2989.22 - 1), 1e-9);
    eco_estimate_free(&e);
}

/* LLM.int8 of bitsandbytes 0.43.3 cost 105.8 % more on this card (August), July's stack 49.5 %: without a stack both are in
 * the answer, with one its own rows are, and a stack without rows is the energy model's. */
static void test_stack(void **state) {
    (void)state;
    eco_estimate_query q = seven_ada;
    q.arch = "RTX 4090";
    q.model = "Qwen2-7B";
    q.precision = "INT8";
    eco_estimate e = estimate(&q);
    assert_int_equal(e.n_sessions, 3);
    assert_int_equal(e.n_stacks, 2);
    assert_true(e.lo_pct < 49.54 && e.hi_pct > 105.87);
    eco_estimate_free(&e);
    q.stack = "bitsandbytes 0.43.3";
    e = estimate(&q);
    assert_int_equal(e.source, ECO_ESTIMATE_ANCHORS);
    assert_int_equal(e.n_sessions, 2);
    ASSERT_NEAR(e.delta_pct, 105.82, 0.1);
    eco_estimate_free(&e);
    q.precision = "NF4"; /* one session: its own two energies, and not another session's FP16 */
    e = estimate(&q);
    ASSERT_NEAR(e.fp16_mj.value, 6571.6, 0.05);
    ASSERT_NEAR(e.quant_mj.value, 4006.3, 0.05);
    assert_int_equal(e.energy_basis, ECO_BASIS_MEASURED);
    eco_estimate_free(&e);
    q.precision = "INT8";
    q.stack = "foo";
    refused(&q, "stack: ", "'foo'");
    q.stack = "bitsandbytes 0.43.3";
    q.params_b = 5;
    q.model = NULL;
    e = estimate(&q);
    assert_int_equal(e.source, ECO_ESTIMATE_ENERGY_MODEL);
    assert_true(e.basis < ECO_BASIS_MEASURED && !e.stack_unseen);
    eco_estimate_free(&e);
    q.params_b = 7;
    q.stack = "bitsandbytes 9.9";
    e = estimate(&q);
    assert_true(e.stack_unseen);
    assert_non_null(strstr(e.notes.data, "stack was not measured"));
    eco_estimate_free(&e);
    q.rules = ECO_RULES_PUBLISHED_1_1;
    q.arch = "ada";
    refused(&q, "stack: ", "know no stacks");
}

static void check_gate(const eco_estimate *e) {
    const bool locked = e->gate.zone == ECO_GATE_LOCK_FP16;
    const bool allowed = e->gate.zone == ECO_GATE_ALLOW_QUANT;
    const bool known = eco_reading_present(e->crossover_b);
    if ((locked && e->recommendation == ECO_RECOMMEND_QUANTIZE) ||
        (allowed && e->recommendation == ECO_RECOMMEND_KEEP_FP16) ||
        (known && locked && e->params_b >= e->crossover_b.value) ||
        (known && allowed && e->params_b < e->crossover_b.value) ||
        known != eco_reading_present(e->gate.threshold_b)) {
        print_error("%s %s %g B batch %g: gate %s against crossover %g, %s\n", e->arch,
                    e->precision, e->params_b, e->batch, eco_gate_zone_name(e->gate.zone),
                    known ? e->crossover_b.value : (double)NAN,
                    eco_recommendation_name(e->recommendation));
        fail();
    }
    if (known) {
        ASSERT_NEAR(e->gate.threshold_b.value, e->crossover_b.value, 0.0);
    }
}

/* Gate, crossover and recommendation never contradict each other, on any card, size or batch: the gate is undecided just where
 * the verdict is. */
static void test_gate(void **state) {
    (void)state;
    static const char *const places[] = {"ada",  "ampere",   "blackwell", "turing", "hopper",
                                         "L40S", "RTX 3090", "RTX 4090D", "A100"};
    for (size_t a = 0; a < sizeof places / sizeof places[0]; a++) {
        for (size_t f = 0; f < 2; f++) {
            for (int i = 0; i < 60; i++) {
                eco_estimate_query q = seven_ada;
                q.arch = places[a];
                q.precision = formats[f];
                q.params_b = 0.1 * exp(i * 0.115);
                q.batch = i % 7 == 0 ? 8 : 1;
                eco_estimate e;
                eco_error err = {0};
                if (eco_estimate_make(&q, &e, &err) != ECO_OK) {
                    assert_int_equal(f, 1); /* INT8 was not measured everywhere */
                    continue;
                }
                check_gate(&e);
                assert_int_equal(e.gate.zone == ECO_GATE_UNDECIDED,
                                 e.recommendation == ECO_RECOMMEND_DEPENDS);
                eco_estimate_free(&e);
            }
        }
    }
}

static void test_published_gate(void **state) {
    (void)state;
    static const struct {
        const char *arch;
        double threshold_b;
    } rows[] = {{"ada", 3.9}, {"blackwell", 5.2}, {"turing", 3.2}, {"ampere", 3.7}, {"hopper", 4}};
    for (size_t i = 0; i < 5; i++) {
        eco_gate gate = eco_gate_published(rows[i].arch, rows[i].threshold_b - 0.01);
        assert_string_equal(eco_gate_zone_name(gate.zone), "lock_fp16");
        ASSERT_NEAR(gate.threshold_b.value, rows[i].threshold_b, 0.0);
        gate = eco_gate_published(rows[i].arch, rows[i].threshold_b);
        assert_string_equal(eco_gate_zone_name(gate.zone), "allow_quant");
        ASSERT_NEAR(gate.axis_max_b, 16, 0.0);
        gate = eco_gate_published(rows[i].arch, 100);
        ASSERT_NEAR(gate.axis_max_b, 150, 0.0);
    }
}

/* SPEC §7.4: no answer below minus the cap, published rules to the letter, current where the curve answers. */
static void test_floor(void **state) {
    (void)state;
    static const double sizes[] = {0.3, 1, 3, 7, 14, 30, 70, 175};
    for (size_t a = 0; a < 5; a++) {
        for (size_t f = 0; f < 2; f++) {
            for (size_t n = 0; n < 8; n++) {
                for (int r = ECO_RULES_CURRENT; r <= ECO_RULES_PUBLISHED_1_1; r++) {
                    eco_estimate_query q = seven_ada;
                    eco_estimate e;
                    eco_error err = {0};
                    q.rules = (eco_rules)r;
                    q.arch = archs[a];
                    q.precision = formats[f];
                    q.params_b = sizes[n];
                    if (eco_estimate_make(&q, &e, &err) != ECO_OK) {
                        continue;
                    }
                    const double cap = f == 0 ? 75 : 50;
                    assert_true(e.lo_pct <= e.delta_pct && e.delta_pct <= e.hi_pct);
                    assert_true(e.source == ECO_ESTIMATE_ENERGY_MODEL ? e.lo_pct > -100
                                                                      : e.lo_pct >= -cap);
                    eco_estimate_free(&e);
                }
            }
        }
    }
}

/* SPEC §7.4: every anchor lies inside the band of its own estimate, 29 of 29; and which class's smallest model saves. */
static void test_anchors_inside(void **state) {
    (void)state;
    const eco_curve_set *set = eco_curves_published();
    for (int r = ECO_RULES_CURRENT; r <= ECO_RULES_PUBLISHED_1_1; r++) {
        size_t n = 0;
        size_t n_inside = 0;
        for (size_t c = 0; c < set->n_curves; c++) {
            const eco_curve *curve = &set->curves[c];
            for (size_t i = 0; i < curve->n_anchors; i++, n++) {
                eco_estimate_query q = seven_ada;
                q.rules = (eco_rules)r;
                q.arch = curve->arch;
                q.precision = curve->precision;
                q.params_b = curve->anchors[i].params_b;
                eco_estimate e = estimate(&q);
                n_inside += curve->anchors[i].delta_pct >= e.lo_pct &&
                            curve->anchors[i].delta_pct <= e.hi_pct;
                eco_estimate_free(&e);
            }
            const bool saves = curve->anchors[0].delta_pct < 0;
            assert_int_equal(saves, strcmp(curve->arch, "ampere") == 0 &&
                                        strcmp(curve->precision, "NF4") == 0);
        }
        assert_int_equal(n, 29);
        assert_int_equal(n_inside, 29);
    }
}

/* The four numbers of an energy line are the energy model at any batch and context. */
static void test_energy_lines(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (size_t a = 0; a < 5; a++) {
        for (size_t f = 0; f < 2; f++) {
            eco_energy_query q = {.params_b = 6.5, .arch = archs[a], .precision = formats[f]};
            ecoi_energy_lines lines;
            assert_true(ecoi_energy_lines_of(&q, &lines));
            for (int i = 0; i < 20; i++) {
                q.batch = 1 + ecoi_rng_below(&seed, i % 2 == 0 ? 2 : 500);
                q.context = 1 + ecoi_rng_below(&seed, 100000);
                eco_energy_estimate e;
                eco_error err = {0};
                ASSERT_OK(eco_energy_model_predict(eco_energy_model_frozen(), &q, &e, &err), &err);
                ASSERT_NEAR_REL(ecoi_energy_line_at(&lines.quant, q.batch, q.context),
                                e.energy_j_per_token, 1e-9);
                ASSERT_NEAR_REL(ecoi_energy_line_at(&lines.fp16, q.batch, q.context),
                                e.fp16_energy_j_per_token, 1e-9);
            }
        }
    }
    const eco_energy_query unknown = {.params_b = 7, .arch = "ada", .precision = "Q9"};
    ecoi_energy_lines lines;
    assert_false(ecoi_energy_lines_of(&unknown, &lines));
}

static eco_optimum optimize(const eco_optimize_query *q) {
    eco_optimum o;
    eco_error err = {0};
    ASSERT_OK(eco_optimize_make(q, &o, &err), &err);
    return o;
}

static eco_config one_config(const char *arch, const char *model, const char *precision,
                             double params_b, double batch, double context) {
    const eco_optimize_query q = {.rules = ECO_RULES_CURRENT,
                                  .params_b = params_b,
                                  .arch = arch,
                                  .model = model,
                                  .precisions = &precision,
                                  .batches = &batch,
                                  .contexts = &context,
                                  .n_precisions = 1,
                                  .n_batches = 1,
                                  .n_contexts = 1};
    eco_optimum o = optimize(&q);
    assert_int_equal(o.n_candidates, 1);
    eco_config best = o.best;
    best.precision = precision;
    eco_optimum_free(&o);
    return best;
}

/* One model for both: the optimizer's change and energy at a batch and context are the estimator's. */
static void test_one_model(void **state) {
    (void)state;
    static const double batches[] = {1, 4, 32};
    static const double contexts[] = {1024, 2048, 16384};
    for (size_t a = 0; a < 5; a++) {
        for (size_t b = 0; b < 3; b++) {
            for (size_t c = 0; c < 3; c++) {
                eco_estimate_query q = seven_ada;
                q.arch = archs[a];
                q.batch = batches[b];
                q.context = contexts[c];
                eco_estimate e = estimate(&q);
                const eco_config config =
                    one_config(archs[a], NULL, "NF4", 7, batches[b], contexts[c]);
                ASSERT_NEAR(config.delta_pct, e.delta_pct, 0.25); /* the optimizer rounds first */
                ASSERT_NEAR_REL(config.energy_j1k.value, e.quant_mj.value, 0.002);
                assert_true(config.energy_basis <= e.basis);
                eco_estimate_free(&e);
            }
        }
    }
}

/* Keys and values by the model's own heads: Qwen2-7B has 28 layers of 4 heads of 128, in FP16. */
static void test_heads(void **state) {
    (void)state;
    const double bytes = 28.0 * 2 * 4 * 128 * 2;
    const eco_config a = one_config("ada", "Qwen2-7B", "NF4", 7, 4, 2048);
    const eco_config b = one_config("ada", "Qwen2-7B", "NF4", 7, 4, 32768);
    ASSERT_NEAR(b.vram_gb - a.vram_gb, bytes * 4 * (32768 - 2048) / 1e9, 0.011);
    const eco_estimate_query q = {.rules = ECO_RULES_CURRENT,
                                  .params_b = 7,
                                  .arch = "ada",
                                  .precision = "NF4",
                                  .model = "Qwen2-7B",
                                  .batch = 1,
                                  .context = 2048};
    eco_estimate e = estimate(&q);
    const eco_model_shape *shape = eco_model_find("Qwen2-7B");
    const double linear = (double)eco_model_n_linear_params(shape);
    ASSERT_NEAR(e.weight_gb, (linear * 4.5 / 8 + (7e9 - linear) * 2) / 1e9, 1e-9);
    eco_estimate_free(&e);
}

static bool timed(const eco_anchor *row) {
    return strcmp(row->arch, "ada") == 0 && strcmp(row->engine, "transformers") == 0 &&
           eco_reading_present(row->throughput_quant_tok_s);
}

/* Time where it was measured: at an anchor's size, the mean time a layer of the rows of that size; never below the roofline. */
static void test_measured_time(void **state) {
    (void)state;
    size_t n = 0;
    const eco_anchor_table *table = eco_anchors_builtin();
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        if (!timed(row)) {
            continue;
        }
        double sum_s = 0;
        size_t n_same = 0;
        for (size_t j = 0; j < table->n; j++) {
            const eco_anchor *other = &table->rows[j];
            if (timed(other) && strcmp(other->precision, row->precision) == 0 &&
                fabs(other->params_b - row->params_b) < 1e-6) {
                sum_s += 1 / (other->throughput_quant_tok_s.value *
                              ecoi_model_layers(other->model, other->params_b));
                n_same++;
            }
        }
        if (eco_model_find(row->model) == NULL) {
            continue; /* a model that only the data know */
        }
        const eco_config c = one_config("ada", row->model, row->precision, row->params_b, 1, 512);
        assert_string_equal(c.bound, "launch");
        const double layers = ecoi_model_layers(row->model, row->params_b);
        ASSERT_NEAR(c.latency_ms, 1000 * layers * sum_s / (double)n_same, 0.0051);
        assert_string_equal(eco_basis_name(c.latency_basis), "interpolated");
        n++;
    }
    assert_true(n >= 10);
    const eco_config far = one_config("ada", NULL, "NF4", 7, 1, 1000000);
    assert_string_equal(far.bound, "memory");
    /* No time of that card was measured: its class's, and called estimated. FP16 has none at all. */
    const eco_config other = one_config("RTX 4070", NULL, "NF4", 7, 1, 512);
    const eco_config class_own = one_config("ada", NULL, "NF4", 7, 1, 512);
    assert_string_equal(other.bound, "launch");
    ASSERT_NEAR(other.latency_ms, class_own.latency_ms, 0.0);
    assert_string_equal(eco_basis_name(other.latency_basis), "estimated");
    const eco_config fp16 = one_config("ada", NULL, "FP16", 7, 1, 512);
    assert_true(isnan(fp16.latency_ms) && isnan(fp16.throughput_tok_s) && fp16.bound == NULL);
    assert_string_equal(eco_basis_name(fp16.latency_basis), "unavailable");
}

static void test_units(void **state) {
    (void)state;
    const eco_optimize_query q = {.rules = ECO_RULES_CURRENT, .params_b = 7, .arch = "ada"};
    eco_optimum o = optimize(&q);
    eco_text text = {0};
    eco_error err = {0};
    ASSERT_OK(eco_optimize_json(&o, &text, &err), &err);
    double j1k = 0;
    double mj = 0;
    double j = 0;
    const char *at = strstr(text.data, "\"energy_j_per_1k_tokens\": ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"energy_j_per_1k_tokens\": %lf", &j1k), 1);
    at = strstr(text.data, "\"energy_mj_per_token\": ");
    assert_int_equal(sscanf(at, "\"energy_mj_per_token\": %lf", &mj), 1);
    at = strstr(text.data, "\"energy_j_per_token\": ");
    assert_int_equal(sscanf(at, "\"energy_j_per_token\": %lf", &j), 1);
    ASSERT_NEAR(mj, j1k, 0.0); /* mJ a token is J a thousand tokens */
    ASSERT_NEAR(j, mj / 1000, 5e-5);
    assert_true(j1k > 100);
    eco_text_free(&text);
    eco_optimum_free(&o);
}

/* Limits hold, the front is a front, and what is recommended is the best of a brute search. */
static void test_front(void **state) {
    (void)state;
    const eco_optimize_query q = {.rules = ECO_RULES_CURRENT,
                                  .params_b = 9,
                                  .arch = "RTX 3090",
                                  .objective = "max_throughput",
                                  .latency_max_ms = eco_reading_of(90),
                                  .vram_max_gb = eco_reading_of(16)};
    eco_optimum o = optimize(&q);
    assert_true(o.n_feasible > 0 && o.n_feasible < o.n_candidates);
    double best = 0;
    size_t n = 0;
    for (size_t p = 0; p < o.n_precisions; p++) {
        for (size_t b = 0; b < o.n_batches; b++) {
            for (size_t c = 0; c < o.n_contexts; c++) {
                const eco_config one =
                    one_config("RTX 3090", NULL, o.precisions[p], 9, o.batches[b], o.contexts[c]);
                const bool keeps = one.latency_ms <= 90 && one.vram_gb <= 16;
                n += keeps;
                best = keeps ? fmax(best, one.throughput_tok_s) : best;
                for (size_t i = 0; i < o.n_front; i++) { /* nothing dominates the front */
                    assert_false(one.energy_j1k.value < o.front[i].energy_j1k.value &&
                                 one.latency_ms < o.front[i].latency_ms);
                }
            }
        }
    }
    assert_int_equal(n, o.n_feasible);
    ASSERT_NEAR(o.best.throughput_tok_s, best, 0.0);
    for (size_t i = 1; i < o.n_front; i++) {
        assert_true(o.front[i].energy_j1k.value >= o.front[i - 1].energy_j1k.value);
        assert_true(o.front[i].latency_ms <= o.front[i - 1].latency_ms);
    }
    eco_optimum_free(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_optimize_refusals),
        cmocka_unit_test(test_band),           cmocka_unit_test(test_basis),
        cmocka_unit_test(test_stack),          cmocka_unit_test(test_gate),
        cmocka_unit_test(test_published_gate), cmocka_unit_test(test_floor),
        cmocka_unit_test(test_anchors_inside), cmocka_unit_test(test_energy_lines),
        cmocka_unit_test(test_one_model),      cmocka_unit_test(test_heads),
        cmocka_unit_test(test_measured_time),  cmocka_unit_test(test_units),
        cmocka_unit_test(test_front),
    };
    return cmocka_run_group_tests_name("model_current", tests, NULL, NULL);
}
