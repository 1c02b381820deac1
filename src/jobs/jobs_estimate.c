/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs of the estimator: estimate, optimize, query, check. Members have the names of the published API where it has them.
 * What is left out takes the values of the published measurements: NF4, batch 1, context 2048.
 */
#include "ecocompute/check.h"
#include "ecocompute/estimate.h"
#include "ecocompute/optimize.h"
#include "ecocompute/query.h"
#include "ecocompute/report.h"
#include "jobs/job.h"
#include "model/json_maker.h"

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

eco_status ecoi_job_estimate(const ecoi_json *request, eco_text *out, eco_error *err) {
    enum { PARAMS, ARCH, PRECISION, BATCH, CONTEXT, MODEL, RULES, CURVES, N };
    static const ecoi_member members[N] = {[PARAMS] = {"params_b", ECOI_MEMBER_NUMBER, true},
                                           [ARCH] = {"arch", ECOI_MEMBER_NAME, true},
                                           [PRECISION] = {"precision", ECOI_MEMBER_NAME, false},
                                           [BATCH] = {"batch", ECOI_MEMBER_NUMBER, false},
                                           [CONTEXT] = {"ctx", ECOI_MEMBER_NUMBER, false},
                                           [MODEL] = {"model", ECOI_MEMBER_NAME, false},
                                           [RULES] = {"rules", ECOI_MEMBER_NAME, false},
                                           [CURVES] = {"curves", ECOI_MEMBER_TEXT, false}};
    const ecoi_json *v[N];
    ECO_TRY(ecoi_members_read(request, "estimate", members, N, v, err));
    eco_estimate_query query = {.params_b = v[PARAMS]->number,
                                .arch = v[ARCH]->text,
                                .precision = ecoi_member_name(v[PRECISION], PRECISION_DEFAULT),
                                .model = ecoi_member_name(v[MODEL], NULL),
                                .batch = number_or(v[BATCH], BATCH_DEFAULT),
                                .context = number_or(v[CONTEXT], ECO_CONTEXT_PUBLISHED)};
    ECO_TRY(ecoi_read_rules(v[RULES], "estimate", ECO_RULES_CURRENT, &query.rules, err));
    eco_curve_file *file = NULL;
    ECO_TRY(read_curves(v[CURVES], &file, &query.curves, err));
    eco_estimate estimate;
    eco_status status = eco_estimate_make(&query, &estimate, err);
    if (status == ECO_OK) {
        status = eco_estimate_json(&estimate, out, err);
        eco_estimate_free(&estimate);
    }
    eco_curve_file_free(file);
    return status;
}

static eco_status read_numbers(const ecoi_json *list, const char *key, double values[AXIS_MAX],
                               size_t *n, eco_error *err) {
    *n = 0;
    for (const ecoi_json *one = list != NULL ? list->first : NULL; one != NULL; one = one->next) {
        if (one->type != ECOI_JSON_NUMBER || *n == AXIS_MAX) {
            return eco_error_set(err, ECO_E_INVALID, 0,
                                 "optimize: %s: at most %d numbers are expected", key, AXIS_MAX);
        }
        values[(*n)++] = one->number;
    }
    return ECO_OK;
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
    ECO_TRY(read_numbers(v[BATCHES], "batches", batches, &query.n_batches, err));
    ECO_TRY(read_numbers(v[CONTEXTS], "contexts", contexts, &query.n_contexts, err));
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
