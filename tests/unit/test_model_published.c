/* SPDX-License-Identifier: Apache-2.0
 *
 * The published rules against the published answers, to the digit as JSON has it: 160 estimates, 120 optimizations, 9
 * questions, and the figures that the published description names.
 */
#include "ecocompute/estimate.h"
#include "ecocompute/optimize.h"
#include "ecocompute/query.h"

#include "core/json.h"
#include "golden_files.h"
#include "test_helpers.h"

#include <string.h>

enum { N_ESTIMATES = 160, N_OPTIMIZATIONS = 120, N_QUESTIONS = 9 };

static const ecoi_json *member(const ecoi_json *object, const char *key) {
    return ecoi_json_member(object, key, strlen(key));
}

static double number_of(const ecoi_json *object, const char *key, double otherwise) {
    const ecoi_json *value = member(object, key);
    return value != NULL ? value->number : otherwise;
}

static eco_reading limit_of(const ecoi_json *object, const char *key) {
    const ecoi_json *value = member(object, key);
    return value != NULL ? eco_reading_of(value->number) : eco_reading_absent(ECO_ABSENT_NOT_READ);
}

static void read_golden(const char *file, ecoi_json_doc *doc) {
    size_t length = 0;
    char *text = golden_load(file, &length);
    eco_error err = {0};
    ASSERT_OK(ecoi_json_read(text, length, file, doc, &err), &err);
    free(text);
}

/* Equal in type and, for numbers, in their text as the shortest digits. */
static bool same(const ecoi_json *got, const ecoi_json *want) {
    if (got == NULL || got->type != want->type || got->n != want->n) {
        return false;
    }
    if (want->type == ECOI_JSON_BOOL) {
        return got->boolean == want->boolean;
    }
    if (want->type == ECOI_JSON_NUMBER || want->type == ECOI_JSON_STRING) {
        return strcmp(got->text, want->text) == 0;
    }
    const ecoi_json *a = got->first;
    for (const ecoi_json *b = want->first; b != NULL; b = b->next, a = a->next) {
        if (!same(want->type == ECOI_JSON_OBJECT ? member(got, b->key) : a, b)) {
            return false;
        }
    }
    return true;
}

static void check_same(const ecoi_json *got, const ecoi_json *want, const char *what, unsigned i) {
    if (!same(got, want)) {
        eco_text a = {0};
        eco_text b = {0};
        if (got != NULL) {
            assert_true(ecoi_json_write(got, &a));
        }
        assert_true(ecoi_json_write(want, &b));
        print_error("case %u: %s: got %s want %s", i, what, a.data != NULL ? a.data : "nothing\n",
                    b.data);
        eco_text_free(&a);
        eco_text_free(&b);
        fail();
    }
}

static void check_estimate(const ecoi_json *asked, const ecoi_json *want, unsigned i) {
    const eco_estimate_query q = {.rules = ECO_RULES_PUBLISHED_1_1,
                                  .params_b = number_of(asked, "params_b", 0),
                                  .arch = member(asked, "arch")->text,
                                  .precision = member(asked, "precision")->text,
                                  .batch = number_of(asked, "batch", 1),
                                  .context = number_of(asked, "ctx", 2048)};
    eco_estimate e;
    eco_error err = {0};
    const eco_status status = eco_estimate_make(&q, &e, &err);
    if (member(want, "error") != NULL) {
        assert_int_equal(status, ECO_E_NOT_FOUND);
        return;
    }
    ASSERT_OK(status, &err);
    eco_text text = {0};
    ecoi_json_doc doc;
    ASSERT_OK(eco_estimate_json(&e, &text, &err), &err);
    ASSERT_OK(ecoi_json_read(text.data, text.length, "estimate", &doc, &err), &err);
    for (const ecoi_json *m = want->first; m != NULL; m = m->next) {
        check_same(member(doc.root, m->key), m, m->key, i);
    }
    ecoi_json_fini(&doc);
    eco_text_free(&text);
    eco_estimate_free(&e);
}

static void test_estimates(void **state) {
    (void)state;
    ecoi_json_doc doc;
    read_golden("published_cases.json", &doc);
    const ecoi_json *cases = member(doc.root, "estimate");
    assert_int_equal(cases->n, N_ESTIMATES);
    unsigned i = 0;
    for (const ecoi_json *c = cases->first; c != NULL; c = c->next) {
        check_estimate(member(c, "in"), member(c, "out"), i++);
    }
    ecoi_json_fini(&doc);
}

/* The golden file has a configuration's energy basis beside the rest, the answer inside `basis`. */
static void check_config(const ecoi_json *got, const ecoi_json *want, unsigned i) {
    if (want->type == ECOI_JSON_NULL) {
        check_same(got, want, "configuration", i);
        return;
    }
    for (const ecoi_json *m = want->first; m != NULL; m = m->next) {
        const bool basis = strcmp(m->key, "energy_basis") == 0;
        check_same(basis ? member(member(got, "basis"), "energy") : member(got, m->key), m, m->key,
                   i);
    }
}

static void check_optimum(const ecoi_json *got, const ecoi_json *want, unsigned i) {
    static const char *const keys[] = {"precision", "batch", "context", "energy_j_per_1k_tokens",
                                       "latency_ms_per_token"};
    check_same(member(got, "feasible_count"), member(want, "feasible_count"), "feasible_count", i);
    check_same(member(member(got, "input"), "candidates"), member(want, "candidates"), "candidates",
               i);
    check_config(member(got, "recommended"), member(want, "recommended"), i);
    if (member(want, "closest_infeasible") != NULL) {
        check_config(member(got, "closest_infeasible"), member(want, "closest_infeasible"), i);
    }
    const ecoi_json *alternatives = member(got, "alternatives");
    const ecoi_json *wanted = member(want, "alternatives");
    assert_int_equal(alternatives->n, wanted->n);
    for (uint32_t a = 0; a < wanted->n; a++) {
        check_config(ecoi_json_element(alternatives, a), ecoi_json_element(wanted, a), i);
    }
    const ecoi_json *front = member(got, "pareto_energy_latency");
    wanted = member(want, "pareto");
    assert_int_equal(front->n, wanted->n);
    for (uint32_t p = 0; p < wanted->n; p++) {
        for (uint32_t k = 0; k < 5; k++) {
            check_same(member(ecoi_json_element(front, p), keys[k]),
                       ecoi_json_element(ecoi_json_element(wanted, p), k), keys[k], i);
        }
    }
}

static void optimize_json(const eco_optimize_query *q, ecoi_json_doc *doc) {
    eco_optimum o;
    eco_error err = {0};
    eco_text text = {0};
    ASSERT_OK(eco_optimize_make(q, &o, &err), &err);
    ASSERT_OK(eco_optimize_json(&o, &text, &err), &err);
    ASSERT_OK(ecoi_json_read(text.data, text.length, "optimize", doc, &err), &err);
    eco_text_free(&text);
    eco_optimum_free(&o);
}

static void test_optimizations(void **state) {
    (void)state;
    ecoi_json_doc golden;
    read_golden("published_cases.json", &golden);
    const ecoi_json *cases = member(golden.root, "optimize");
    assert_int_equal(cases->n, N_OPTIMIZATIONS);
    unsigned i = 0;
    for (const ecoi_json *c = cases->first; c != NULL; c = c->next, i++) {
        const ecoi_json *in = member(c, "in");
        const double batch = number_of(in, "batch", 0);
        const double context = number_of(in, "context", 0);
        const eco_optimize_query q = {.rules = ECO_RULES_PUBLISHED_1_1,
                                      .params_b = number_of(in, "params_b", 0),
                                      .arch = member(in, "arch")->text,
                                      .objective = member(in, "objective")->text,
                                      .latency_max_ms = limit_of(in, "max_latency_ms"),
                                      .vram_max_gb = limit_of(in, "max_vram_gb"),
                                      .throughput_min_tok_s = limit_of(in, "min_throughput"),
                                      .batches = &batch,
                                      .n_batches = batch > 0,
                                      .contexts = &context,
                                      .n_contexts = context > 0};
        ecoi_json_doc doc;
        optimize_json(&q, &doc);
        check_optimum(doc.root, member(c, "out"), i);
        ecoi_json_fini(&doc);
    }
    ecoi_json_fini(&golden);
}

static void check_said(eco_reading got, const ecoi_json *want, const char *what, unsigned i) {
    if (eco_reading_present(got) != (want != NULL) ||
        (want != NULL && fabs(got.value - want->number) > 0)) {
        print_error("question %u: %s: got %g\n", i, what, got.value);
        fail();
    }
}

static void check_word(const char *got, const ecoi_json *want, const char *what, unsigned i) {
    if ((got != NULL) != (want != NULL) || (want != NULL && strcmp(got, want->text) != 0)) {
        print_error("question %u: %s: got %s\n", i, what, got != NULL ? got : "nothing");
        fail();
    }
}

/* Both rules read the published questions alike. */
static void test_questions(void **state) {
    (void)state;
    ecoi_json_doc doc;
    read_golden("published_queries.json", &doc);
    assert_int_equal(doc.root->n, N_QUESTIONS);
    for (int rules = ECO_RULES_CURRENT; rules <= ECO_RULES_PUBLISHED_1_1; rules++) {
        unsigned i = 0;
        for (const ecoi_json *c = doc.root->first; c != NULL; c = c->next, i++) {
            const ecoi_json *text = member(c, "q");
            const ecoi_json *want = member(c, "out");
            const eco_query q = eco_query_parse((eco_rules)rules, text->text, text->text_length);
            check_said(q.params_b, member(want, "N"), "N", i);
            check_said(q.batch, member(want, "batch"), "batch", i);
            check_said(q.context, member(want, "ctx"), "ctx", i);
            check_word(q.arch, member(want, "arch"), "arch", i);
            check_word(q.precision, member(want, "precision"), "precision", i);
        }
    }
    ecoi_json_fini(&doc);
}

typedef struct named_estimate {
    double params_b;
    const char *arch, *precision;
    double batch, context, delta, lo, hi;
    const char *basis, *confidence; /* NULL: not named */
} named_estimate;

static const named_estimate named[] = {
    {7, "blackwell", "NF4", 1, 2048, -11.4, -14.2, -8.7, "measured", "high"},
    {5, "blackwell", "NF4", 1, 2048, -1.3, -6.8, 4.2, "interpolated", "high"},
    {0.7, "blackwell", "NF4", 1, 2048, 35, 26, 44.1, "estimated", "medium"},
    {13, "ampere", "NF4", 1, 2048, -1, -6.3, 4.3, "interpolated", "high"},
    {13, "ampere", "INT8", 1, 2048, 108.8, 104, 113.5, NULL, "high"},
    {13, "ampere", "INT8", 32, 8192, 108.8, 19.7, 197.9, NULL, "low"},
    {3, "ada", "NF4", 1, 2048, 13, -11, 37, "measured", "medium"},
    {0.5, "ada", "NF4", 1, 2048, 45.9, 25.8, 65.9, NULL, NULL},
    {1.1, "ada", "INT8", 1, 2048, 142, 115.9, 168.1, NULL, NULL},
    {7, "ada", "NF4", 1, 2048, -28.5, -39.7, -17.2, NULL, NULL},
    {70, "ada", "NF4", 1, 2048, -67.7, -75, 19.2, NULL, "low"},
    {2, "turing", "NF4", 1, 2048, 0.4, -3.5, 4.3, NULL, NULL},
    {13, "hopper", "NF4", 1, 2048, -1, -21.3, 19.3, NULL, "low"},
    {7, "hopper", "INT8", 1, 2048, 128.4, 108.2, 148.6, NULL, NULL},
    {7, "blackwell", "NF4", 32, 8192, -1.9, -12.8, 9, "measured", "low"},
    {30, "ada", "INT8", 1, 2048, 30, -50, 146.9, NULL, NULL},
    {4, "ada", "NF4", 1, 2048, -2.2, -24.8, 20.3, NULL, "low"},
    {5, "ada", "INT8", 1, 2048, 78.8, 26.7, 131, NULL, NULL},
};

static void test_named_estimates(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        const named_estimate *n = &named[i];
        const eco_estimate_query q = {.rules = ECO_RULES_PUBLISHED_1_1,
                                      .params_b = n->params_b,
                                      .arch = n->arch,
                                      .precision = n->precision,
                                      .batch = n->batch,
                                      .context = n->context};
        eco_estimate e;
        eco_error err = {0};
        ASSERT_OK(eco_estimate_make(&q, &e, &err), &err);
        ASSERT_NEAR(e.delta_pct, n->delta, 0.0500001);
        ASSERT_NEAR(e.lo_pct, n->lo, 0.0500001);
        ASSERT_NEAR(e.hi_pct, n->hi, 0.0500001);
        if (n->basis != NULL) {
            assert_string_equal(eco_basis_name(e.basis), n->basis);
        }
        if (n->confidence != NULL) {
            assert_string_equal(eco_confidence_name(e.confidence), n->confidence);
        }
        assert_int_equal(e.modelled, n->batch > 1);
        eco_estimate_free(&e);
    }
}

static void test_baseline(void **state) {
    (void)state;
    static const struct {
        double params_b;
        const char *arch;
        double j1k;
    } rows[] = {{2, "ada", 2634.8},
                {13, "ampere", 6997.2},
                {10, "blackwell", 6763.8},
                {0.3, "turing", 1215.8}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eco_fp16_energy e =
            eco_fp16_energy_at(eco_curves_published(), rows[i].arch, rows[i].params_b);
        ASSERT_NEAR(e.j1k, rows[i].j1k, 0.0500001);
    }
    assert_int_equal(eco_fp16_energy_at(eco_curves_published(), "hopper", 7).basis,
                     ECO_BASIS_UNAVAILABLE);
    const eco_fp16_energy exact = eco_fp16_energy_at(eco_curves_published(), "ampere", 9);
    ASSERT_NEAR(exact.j1k, 5445.12, 0.0);
    assert_string_equal(eco_basis_name(exact.basis), "measured");
}

typedef struct named_optimum {
    const char *arch, *objective;
    double params_b, latency_max, vram_max, batch, context; /* 0: none */
    size_t n_feasible, n_candidates, n_front;               /* n_front 0: not named */
    const char *precision;
    double best_batch, best_context, energy, throughput, latency, vram; /* 0: not named */
} named_optimum;

static const named_optimum optima[] = {
    {"ada", "min_energy", 7, 50, 16, 0, 0, 36, 90, 6, "NF4", 32, 512, 2584.0, 1867.6, 17.13, 13.06},
    {"blackwell", "min_energy", 7, 0, 32, 0, 0, 44, 60, 0, "NF4", 32, 512, 3225.8, 0, 0, 0},
    {"turing", "max_throughput", 3, 0, 16, 0, 0, 0, 60, 0, "NF4", 32, 512, 7343.0, 1132.1, 0, 0},
    {"ampere", "min_latency", 14, 0, 80, 0, 0, 78, 90, 0, "NF4", 1, 512, 7544.0, 0, 5.26, 0},
    {"blackwell", "min_vram", 1.5, 0, 0, 0, 0, 60, 60, 0, "NF4", 1, 512, 3120.0, 0, 0, 1.68},
    {"ampere", "min_energy", 7, 0, 0, 8, 4096, 3, 3, 0, "NF4", 8, 4096, 2929.0, 0, 0, 0},
    {"hopper", "min_energy", 13, 0, 0, 0, 0, 90, 90, 0, "NF4", 1, 512, 0, 0, 0, 0},
    {"ada", "min_energy", 7, 0, 4, 0, 0, 0, 90, 0, "NF4", 1, 512, 0, 0, 0, 4.74},
};

static eco_reading limit(double value) {
    return value > 0 ? eco_reading_of(value) : eco_reading_absent(ECO_ABSENT_NOT_READ);
}

static void check_named(double got, double want) {
    if (want > 0) {
        ASSERT_NEAR(got, want, 1e-9);
    }
}

static void test_named_optima(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof optima / sizeof optima[0]; i++) {
        const named_optimum *n = &optima[i];
        const eco_optimize_query q = {.rules = ECO_RULES_PUBLISHED_1_1,
                                      .params_b = n->params_b,
                                      .arch = n->arch,
                                      .objective = n->objective,
                                      .latency_max_ms = limit(n->latency_max),
                                      .vram_max_gb = limit(n->vram_max),
                                      .batches = &n->batch,
                                      .n_batches = n->batch > 0,
                                      .contexts = &n->context,
                                      .n_contexts = n->context > 0};
        eco_optimum o;
        eco_error err = {0};
        ASSERT_OK(eco_optimize_make(&q, &o, &err), &err);
        assert_string_equal(o.best.precision, n->precision);
        ASSERT_NEAR(o.best.batch, n->best_batch, 0);
        ASSERT_NEAR(o.best.context, n->best_context, 0);
        assert_int_equal(o.n_candidates, n->n_candidates);
        if (strcmp(n->arch, "turing") != 0) {
            assert_int_equal(o.n_feasible, n->n_feasible);
        }
        if (n->n_front > 0) {
            assert_int_equal(o.n_front, n->n_front);
        }
        assert_int_equal(eco_reading_present(o.best.energy_j1k), strcmp(n->arch, "hopper") != 0);
        check_named(o.best.energy_j1k.value, n->energy);
        check_named(o.best.throughput_tok_s, n->throughput);
        check_named(o.best.latency_ms, n->latency);
        check_named(o.best.vram_gb, n->vram);
        for (size_t p = 1; p < o.n_front; p++) { /* latency never rises as energy does */
            assert_true(o.front[p].energy_j1k.value >= o.front[p - 1].energy_j1k.value);
            assert_true(o.front[p].latency_ms <= o.front[p - 1].latency_ms);
        }
        if (o.n_feasible == 0) {
            assert_int_equal(o.n_alternatives + o.n_front, 0);
        }
        eco_optimum_free(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimates),    cmocka_unit_test(test_optimizations),
        cmocka_unit_test(test_questions),    cmocka_unit_test(test_named_estimates),
        cmocka_unit_test(test_named_optima), cmocka_unit_test(test_baseline),
    };
    return cmocka_run_group_tests_name("model_published", tests, NULL, NULL);
}
