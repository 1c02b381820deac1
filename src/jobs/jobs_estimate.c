/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs of the estimator: estimate, estimate_curve, optimize, query, check. Members have the names of the published API where it has them.
 * What is left out takes the values of the published measurements: NF4, batch 1, context 2048.
 */
#include "ecocompute/check.h"
#include "ecocompute/estimate.h"
#include "ecocompute/optimize.h"
#include "ecocompute/query.h"
#include "ecocompute/report.h"
#include "jobs/job.h"
#include "model/estimator.h"
#include "model/json_maker.h"

#include <math.h>
#include <string.h>

enum { AXIS_MAX = 256 };
static const char PRECISION_DEFAULT[] = "NF4";
static const double BATCH_DEFAULT = 1, K_DEFAULT = 2;

static double number_or(const ecoi_json *value, double fallback) {
    return value != NULL ? value->number : fallback;
}

static eco_reading limit(const ecoi_json *value) {
    return value != NULL ? eco_reading_of(value->number)
                         : eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
}

/* *file is the caller's, NULL where the built-in set is used. */
static eco_status read_curves(const ecoi_json *text, eco_curve_file **file,
                              const eco_curve_set **set, eco_error *err) {
    *file = NULL;
    *set = NULL;
    if (text != NULL) {
        ECO_TRY(eco_curves_read(text->text, text->text_length, "curves", file, err));
        *set = eco_curve_file_set(*file);
    }
    return ECO_OK;
}

/* What both jobs of an estimate take, but for the size. */
enum {
    ASK_SIZE,
    ASK_ARCH,
    ASK_PRECISION,
    ASK_BATCH,
    ASK_CONTEXT,
    ASK_MODEL,
    ASK_ENGINE,
    ASK_STACK,
    ASK_RULES,
    ASK_CURVES,
    ASKED
};
static const ecoi_member estimate_members[ASKED] = {
    [ASK_SIZE] = {"params_b", ECOI_MEMBER_NUMBER, true},
    [ASK_ARCH] = {"arch", ECOI_MEMBER_NAME, true},
    [ASK_PRECISION] = {"precision", ECOI_MEMBER_NAME, false},
    [ASK_BATCH] = {"batch", ECOI_MEMBER_NUMBER, false},
    [ASK_CONTEXT] = {"ctx", ECOI_MEMBER_NUMBER, false},
    [ASK_MODEL] = {"model", ECOI_MEMBER_NAME, false},
    [ASK_ENGINE] = {"engine", ECOI_MEMBER_NAME, false},
    [ASK_STACK] = {"stack", ECOI_MEMBER_NAME, false},
    [ASK_RULES] = {"rules", ECOI_MEMBER_NAME, false},
    [ASK_CURVES] = {"curves", ECOI_MEMBER_TEXT, false}};

/* The size is left 0. *file is the caller's, as in read_curves. */
static eco_status read_estimate(const ecoi_json *const *v, const char *job,
                                eco_estimate_query *query, eco_curve_file **file, eco_error *err) {
    *query =
        (eco_estimate_query){.arch = v[ASK_ARCH]->text,
                             .precision = ecoi_member_name(v[ASK_PRECISION], PRECISION_DEFAULT),
                             .model = ecoi_member_name(v[ASK_MODEL], NULL),
                             .engine = ecoi_member_name(v[ASK_ENGINE], NULL),
                             .stack = ecoi_member_name(v[ASK_STACK], NULL),
                             .batch = number_or(v[ASK_BATCH], BATCH_DEFAULT),
                             .context = number_or(v[ASK_CONTEXT], ECO_CONTEXT_PUBLISHED)};
    *file = NULL;
    ECO_TRY(ecoi_read_rules(v[ASK_RULES], job, ECO_RULES_CURRENT, &query->rules, err));
    return read_curves(v[ASK_CURVES], file, &query->curves, err);
}

eco_status ecoi_job_estimate(const ecoi_json *request, eco_text *out, eco_error *err) {
    const ecoi_json *v[ASKED];
    ECO_TRY(ecoi_members_read(request, "estimate", estimate_members, ASKED, v, err));
    eco_estimate_query query;
    eco_curve_file *file = NULL;
    ECO_TRY(read_estimate(v, "estimate", &query, &file, err));
    query.params_b = v[ASK_SIZE]->number;
    eco_estimate estimate;
    eco_status status = eco_estimate_make(&query, &estimate, err);
    if (status == ECO_OK) {
        status = eco_estimate_json(&estimate, out, err);
        eco_estimate_free(&estimate);
    }
    eco_curve_file_free(file);
    return status;
}

/* A point of a curve, rounded as an estimate is. What depends on the size is told at the point; all else ends the job. */
static eco_status put_point(ecoi_maker *m, ecoi_json *points, const eco_estimate_query *query,
                            eco_error *err) {
    eco_estimate e;
    eco_error why = {0};
    const eco_status status = ecoi_estimate_numbers(query, &e, &why);
    if (status != ECO_OK && status != ECO_E_RANGE) {
        return eco_error_set(err, status, 0, "%s", why.message);
    }
    ecoi_json *const point = ecoi_make_object(m);
    ecoi_put_number(m, point, "params_b", query->params_b);
    if (status == ECO_OK) {
        ecoi_put_rounded(m, point, "delta_pct", e.delta_pct, 1);
        ecoi_json *const ci = ecoi_make_array(m);
        ecoi_append(m, ci, ecoi_make_rounded(m, e.lo_pct, 1));
        ecoi_append(m, ci, ecoi_make_rounded(m, e.hi_pct, 1));
        ecoi_put(m, point, "ci", ci);
        ecoi_put_text(m, point, "basis", eco_basis_name(e.basis));
        ecoi_put_text(m, point, "source", eco_estimate_source_name(e.source));
    } else {
        ecoi_put_text(m, point, "error", why.message);
    }
    ecoi_append(m, points, point);
    return ECO_OK;
}

static void put_range(ecoi_maker *m, ecoi_json *root, const eco_estimate_query *query) {
    double min_b = 0;
    double max_b = 0;
    ecoi_json *range = NULL;
    if (ecoi_estimate_sizes(query, &min_b, &max_b)) {
        range = ecoi_make_array(m);
        ecoi_append(m, range, ecoi_make_rounded(m, min_b, 3));
        ecoi_append(m, range, ecoi_make_rounded(m, max_b, 3));
        ecoi_put(m, root, "measured_range_b", range);
    } else {
        ecoi_put_text(m, root, "measured_range_b", NULL);
    }
}

static eco_status put_curve(const double *sizes, size_t n, eco_estimate_query *query, eco_text *out,
                            eco_error *err) {
    const char *const model = query->model;
    const eco_model_shape *const shape = eco_model_find(model);
    ecoi_maker m = {0};
    ecoi_json *const root = ecoi_make_object(&m);
    ecoi_json *const points = ecoi_make_array(&m);
    eco_status status = ECO_OK;
    for (size_t i = 0; i < n && status == ECO_OK; i++) {
        query->params_b = sizes[i];
        query->model = shape == NULL || fabs(shape->params_b - sizes[i]) < ECOI_SIZE_SAME_B
                           ? model /* its shape counts at its own size */
                           : NULL;
        status = put_point(&m, points, query, err);
    }
    if (status != ECO_OK) {
        ecoi_json_fini(&m.doc);
        return status;
    }
    ecoi_put(&m, root, "points", points);
    put_range(&m, root, query);
    return ecoi_make_end(&m, root, "estimate_curve", out, err);
}

static eco_status read_numbers(const ecoi_json *list, const char *where, double values[AXIS_MAX],
                               size_t *n, eco_error *err) {
    *n = 0;
    for (const ecoi_json *one = list != NULL ? list->first : NULL; one != NULL; one = one->next) {
        if (one->type != ECOI_JSON_NUMBER || *n == AXIS_MAX) {
            return eco_error_set(err, ECO_E_INVALID, 0, "%s: at most %d numbers are expected",
                                 where, AXIS_MAX);
        }
        values[(*n)++] = one->number;
    }
    return ECO_OK;
}

eco_status ecoi_job_estimate_curve(const ecoi_json *request, eco_text *out, eco_error *err) {
    ecoi_member members[ASKED];
    memcpy(members, estimate_members, sizeof members);
    members[ASK_SIZE] = (ecoi_member){"sizes", ECOI_MEMBER_LIST, true};
    const ecoi_json *v[ASKED];
    ECO_TRY(ecoi_members_read(request, "estimate_curve", members, ASKED, v, err));
    double sizes[AXIS_MAX];
    size_t n = 0;
    ECO_TRY(read_numbers(v[ASK_SIZE], "estimate_curve: sizes", sizes, &n, err));
    eco_estimate_query query;
    eco_curve_file *file = NULL;
    ECO_TRY(read_estimate(v, "estimate_curve", &query, &file, err));
    const eco_status status = put_curve(sizes, n, &query, out, err);
    eco_curve_file_free(file);
    return status;
}

static eco_status read_precisions(const ecoi_json *list,
                                  const char *names[ECO_OPTIMIZE_PRECISIONS_MAX], size_t *n,
                                  eco_error *err) {
    *n = 0;
    for (const ecoi_json *one = list != NULL ? list->first : NULL; one != NULL; one = one->next) {
        if (one->type != ECOI_JSON_STRING || strlen(one->text) != one->text_length ||
            *n == ECO_OPTIMIZE_PRECISIONS_MAX) {
            return eco_error_set(err, ECO_E_INVALID, 0,
                                 "optimize: precisions: at most %d names are expected",
                                 ECO_OPTIMIZE_PRECISIONS_MAX);
        }
        names[(*n)++] = one->text;
    }
    return ECO_OK;
}

eco_status ecoi_job_optimize(const ecoi_json *request, eco_text *out, eco_error *err) {
    enum {
        PARAMS,
        ARCH,
        MODEL,
        OBJECTIVE,
        LATENCY,
        VRAM,
        THROUGHPUT,
        PRECISIONS,
        BATCHES,
        CONTEXTS,
        RULES,
        CURVES,
        N
    };
    static const ecoi_member members[N] = {
        [PARAMS] = {"params_b", ECOI_MEMBER_NUMBER, true},
        [ARCH] = {"arch", ECOI_MEMBER_NAME, true},
        [MODEL] = {"model", ECOI_MEMBER_NAME, false},
        [OBJECTIVE] = {"objective", ECOI_MEMBER_NAME, false},
        [LATENCY] = {"max_latency_ms", ECOI_MEMBER_NUMBER, false},
        [VRAM] = {"max_vram_gb", ECOI_MEMBER_NUMBER, false},
        [THROUGHPUT] = {"min_throughput", ECOI_MEMBER_NUMBER, false},
        [PRECISIONS] = {"precisions", ECOI_MEMBER_LIST, false},
        [BATCHES] = {"batches", ECOI_MEMBER_LIST, false},
        [CONTEXTS] = {"contexts", ECOI_MEMBER_LIST, false},
        [RULES] = {"rules", ECOI_MEMBER_NAME, false},
        [CURVES] = {"curves", ECOI_MEMBER_TEXT, false}};
    const ecoi_json *v[N];
    ECO_TRY(ecoi_members_read(request, "optimize", members, N, v, err));
    const char *precisions[ECO_OPTIMIZE_PRECISIONS_MAX];
    double batches[AXIS_MAX];
    double contexts[AXIS_MAX];
    eco_optimize_query query = {.params_b = v[PARAMS]->number,
                                .arch = v[ARCH]->text,
                                .model = ecoi_member_name(v[MODEL], NULL),
                                .objective = ecoi_member_name(v[OBJECTIVE], NULL),
                                .latency_max_ms = limit(v[LATENCY]),
                                .vram_max_gb = limit(v[VRAM]),
                                .throughput_min_tok_s = limit(v[THROUGHPUT]),
                                .precisions = precisions,
                                .batches = batches,
                                .contexts = contexts};
    ECO_TRY(read_precisions(v[PRECISIONS], precisions, &query.n_precisions, err));
    ECO_TRY(read_numbers(v[BATCHES], "optimize: batches", batches, &query.n_batches, err));
    ECO_TRY(read_numbers(v[CONTEXTS], "optimize: contexts", contexts, &query.n_contexts, err));
    ECO_TRY(ecoi_read_rules(v[RULES], "optimize", ECO_RULES_CURRENT, &query.rules, err));
    eco_curve_file *file = NULL;
    ECO_TRY(read_curves(v[CURVES], &file, &query.curves, err));
    eco_optimum optimum;
    eco_status status = eco_optimize_make(&query, &optimum, err);
    if (status == ECO_OK) {
        status = eco_optimize_json(&optimum, out, err);
        eco_optimum_free(&optimum);
    }
    eco_curve_file_free(file);
    return status;
}

/* The answer's `request` is what estimate takes; what the question does not say is null. */
eco_status ecoi_job_query(const ecoi_json *request, eco_text *out, eco_error *err) {
    enum { TEXT, RULES, N };
    static const ecoi_member members[N] = {
        [TEXT] = {"text", ECOI_MEMBER_TEXT, true}, [RULES] = {"rules", ECOI_MEMBER_NAME, false}};
    const ecoi_json *v[N];
    ECO_TRY(ecoi_members_read(request, "query", members, N, v, err));
    eco_rules rules = ECO_RULES_CURRENT;
    ECO_TRY(ecoi_read_rules(v[RULES], "query", ECO_RULES_CURRENT, &rules, err));
    const eco_query query = eco_query_parse(rules, v[TEXT]->text, v[TEXT]->text_length);
    ecoi_maker m = {0};
    ecoi_json *const root = ecoi_make_object(&m);
    ecoi_json *const found = ecoi_make_object(&m);
    ecoi_put_reading(&m, found, "params_b", query.params_b);
    ecoi_put_text(&m, found, "arch", query.arch);
    ecoi_put_text(&m, found, "precision", query.precision);
    ecoi_put_reading(&m, found, "batch", query.batch);
    ecoi_put_reading(&m, found, "ctx", query.context);
    ecoi_put_text(&m, found, "model", query.model);
    if (query.engine != NULL) {
        ecoi_put_text(&m, found, "engine", query.engine);
    }
    if (query.stack[0] != '\0') {
        ecoi_put_text(&m, found, "stack", query.stack);
    }
    ecoi_put(&m, root, "request", found);
    ecoi_put_text(&m, root, "card", query.card[0] != '\0' ? query.card : NULL);
    if (query.unread[0] != '\0') { /* the question cannot be answered as it was meant */
        ecoi_put_text(&m, root, "unread", query.unread);
    }
    return ecoi_make_end(&m, root, "query", out, err);
}

eco_status ecoi_job_check(const ecoi_json *request, eco_text *out, eco_error *err) {
    enum { REPORT, NAME, K, ACROSS, RULES, CURVES, N };
    static const ecoi_member members[N] = {[REPORT] = {"report", ECOI_MEMBER_TEXT, true},
                                           [NAME] = {"name", ECOI_MEMBER_NAME, false},
                                           [K] = {"k", ECOI_MEMBER_NUMBER, false},
                                           [ACROSS] = {"across_stacks", ECOI_MEMBER_BOOL, false},
                                           [RULES] = {"rules", ECOI_MEMBER_NAME, false},
                                           [CURVES] = {"curves", ECOI_MEMBER_TEXT, false}};
    const ecoi_json *v[N];
    ECO_TRY(ecoi_members_read(request, "check", members, N, v, err));
    eco_check_options options = {.k = number_or(v[K], K_DEFAULT),
                                 .across_stacks = v[ACROSS] != NULL && v[ACROSS]->boolean};
    if (!(options.k > 0)) {
        return eco_error_set(err, ECO_E_INVALID, 0, "check: k: a number above 0 is expected");
    }
    ECO_TRY(ecoi_read_rules(v[RULES], "check", ECO_RULES_CURRENT, &options.rules, err));
    eco_curve_file *file = NULL;
    ECO_TRY(read_curves(v[CURVES], &file, &options.curves, err));
    eco_report *report = NULL;
    eco_status status = eco_report_read(v[REPORT]->text, v[REPORT]->text_length,
                                        ecoi_member_name(v[NAME], "energy.json"), &report, err);
    if (status == ECO_OK) {
        const eco_check_subject subject = eco_check_subject_of(report);
        const eco_check check = eco_check_make(&subject, &options);
        status = eco_check_json(&check, out, err);
    }
    eco_report_free(report);
    eco_curve_file_free(file);
    return status;
}
