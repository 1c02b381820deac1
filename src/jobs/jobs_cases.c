/* SPDX-License-Identifier: Apache-2.0
 *
 * Results in cases (a card, model, precision, engine, batch, context and window each) with their sessions, and how far these
 * agree: those of the request, or the tidy table's.
 */
#include "core/alloc.h"
#include "ecocompute/anchors.h"
#include "jobs/job.h"
#include "model/agreement.h"
#include "model/cell.h"
#include "model/energy_model_parts.h"
#include "model/json_maker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RESULTS_MAX = 1024, DECIMALS = 3 };

typedef struct case_result {
    const char *id, *gpu, *model, *precision, *engine, *window, *session;
    char stack[ECOI_JOB_NAME_MAX + 1]; /* "" = not recorded */
    double params_b, delta_pct;
    eco_reading batch, context; /* absent: not said */
    eco_reading lo_pct, hi_pct, expanded_pct;
    bool told; /* its case was put */
} case_result;

typedef struct result_list {
    case_result *items;
    size_t n;
} result_list;

/* A batch that no source tells is 1: the published protocol has no other. */
static double batch_of(const case_result *r) {
    return eco_reading_present(r->batch) ? r->batch.value : 1;
}

/* A context that a source does not tell forbids no comparison. */
static bool same_context(eco_reading a, eco_reading b) {
    return !eco_reading_present(a) || !eco_reading_present(b) || fabs(a.value - b.value) < 0.5;
}

static bool same_case(const case_result *a, const case_result *b) {
    return strcmp(a->gpu, b->gpu) == 0 && strcmp(a->model, b->model) == 0 &&
           strcmp(a->precision, b->precision) == 0 && strcmp(a->engine, b->engine) == 0 &&
           strcmp(a->window, b->window) == 0 && fabs(batch_of(a) - batch_of(b)) < 0.5 &&
           same_context(a->context, b->context);
}

static eco_status make_list(size_t n, result_list *list, eco_error *err) {
    list->n = 0;
    list->items = ecoi_calloc(n > 0 ? n : 1, sizeof *list->items);
    return list->items != NULL ? ECO_OK
                               : eco_error_set(err, ECO_E_NO_MEMORY, 0, "cases: out of memory");
}

static void take_anchor(result_list *list, const eco_anchor *row) {
    case_result *const r = &list->items[list->n];
    *r = (case_result){.id = row->id,
                       .gpu = row->gpu,
                       .model = row->model,
                       .precision = row->precision,
                       .engine = row->engine,
                       .window = row->window,
                       .session = row->session,
                       .params_b = row->params_b,
                       .batch = row->batch,
                       .context = row->context,
                       .lo_pct = eco_reading_absent(ECO_ABSENT_UNSUPPORTED),
                       .hi_pct = eco_reading_absent(ECO_ABSENT_UNSUPPORTED),
                       .expanded_pct = eco_reading_absent(ECO_ABSENT_UNSUPPORTED)};
    char stack[ECOI_ENERGY_KEY_MAX];
    ecoi_energy_stack_of(row->engine, row->stack, stack);
    (void)snprintf(r->stack, sizeof r->stack, "%s", stack);
    if (eco_anchor_delta_pct(row, &r->delta_pct)) {
        list->n++;
    }
}

enum {
    R_ID,
    R_GPU,
    R_MODEL,
    R_SIZE,
    R_PRECISION,
    R_ENGINE,
    R_STACK,
    R_SESSION,
    R_WINDOW,
    R_BATCH,
    R_CONTEXT,
    R_DELTA,
    R_CI,
    R_EXPANDED,
    RESULT_MEMBERS
};
static const ecoi_member result_members[RESULT_MEMBERS] = {
    [R_ID] = {"id", ECOI_MEMBER_NAME, true},
    [R_GPU] = {"gpu", ECOI_MEMBER_NAME, true},
    [R_MODEL] = {"model", ECOI_MEMBER_NAME, true},
    [R_SIZE] = {"params_b", ECOI_MEMBER_NUMBER, true},
    [R_PRECISION] = {"precision", ECOI_MEMBER_NAME, true},
    [R_ENGINE] = {"engine", ECOI_MEMBER_NAME, true},
    [R_STACK] = {"stack", ECOI_MEMBER_NAME, false},
    [R_SESSION] = {"session", ECOI_MEMBER_NAME, true},
    [R_WINDOW] = {"window", ECOI_MEMBER_NAME, true},
    [R_BATCH] = {"batch", ECOI_MEMBER_NUMBER, false},
    [R_CONTEXT] = {"context", ECOI_MEMBER_NUMBER, false},
    [R_DELTA] = {"delta_pct", ECOI_MEMBER_NUMBER, true},
    [R_CI] = {"ci95_pct", ECOI_MEMBER_LIST, false},
    [R_EXPANDED] = {"expanded_pct", ECOI_MEMBER_NUMBER, false}};

static eco_reading reading_of(const ecoi_json *value) {
    return value != NULL ? eco_reading_of(value->number)
                         : eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
}

static bool is_change(const ecoi_json *value) {
    return value != NULL && value->type == ECOI_JSON_NUMBER && value->number > -100;
}

static eco_status take_result(result_list *list, const ecoi_json *object, eco_error *err) {
    const ecoi_json *v[RESULT_MEMBERS];
    ECO_TRY(ecoi_members_read(object, "cases: results", result_members, RESULT_MEMBERS, v, err));
    if (!is_change(v[R_DELTA])) {
        return eco_error_set(err, ECO_E_RANGE, 0,
                             "cases: results: delta_pct: a number above -100 is expected");
    }
    const ecoi_json *const lo = v[R_CI] != NULL ? v[R_CI]->first : NULL;
    const ecoi_json *const hi = lo != NULL ? lo->next : NULL;
    if (v[R_CI] != NULL &&
        (v[R_CI]->n != 2 || !is_change(lo) || !is_change(hi) || hi->number < lo->number)) {
        return eco_error_set(
            err, ECO_E_RANGE, 0,
            "cases: results: ci95_pct: two rising numbers above -100 are expected");
    }
    if (v[R_EXPANDED] != NULL && v[R_EXPANDED]->number < 0) {
        return eco_error_set(err, ECO_E_RANGE, 0,
                             "cases: results: expanded_pct: a number from 0 is expected");
    }
    case_result *const r = &list->items[list->n++];
    *r = (case_result){.id = v[R_ID]->text,
                       .gpu = v[R_GPU]->text,
                       .model = v[R_MODEL]->text,
                       .precision = v[R_PRECISION]->text,
                       .engine = v[R_ENGINE]->text,
                       .window = v[R_WINDOW]->text,
                       .session = v[R_SESSION]->text,
                       .params_b = v[R_SIZE]->number,
                       .delta_pct = v[R_DELTA]->number,
                       .batch = reading_of(v[R_BATCH]),
                       .context = reading_of(v[R_CONTEXT]),
                       .lo_pct = reading_of(lo),
                       .hi_pct = reading_of(hi),
                       .expanded_pct = reading_of(v[R_EXPANDED])};
    (void)snprintf(r->stack, sizeof r->stack, "%s", ecoi_member_name(v[R_STACK], ""));
    return ECO_OK;
}

static eco_status read_results(const ecoi_json *given, result_list *list, eco_error *err) {
    if (given == NULL) {
        const eco_anchor_table *const table = eco_anchors_builtin();
        ECO_TRY(make_list(table->n, list, err));
        for (size_t i = 0; i < table->n; i++) {
            take_anchor(list, &table->rows[i]);
        }
        return ECO_OK;
    }
    if (given->n > RESULTS_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "cases: results: at most %d are expected",
                             RESULTS_MAX);
    }
    ECO_TRY(make_list(given->n, list, err));
    for (const ecoi_json *one = given->first; one != NULL; one = one->next) {
        ECO_TRY(take_result(list, one, err));
    }
    return ECO_OK;
}

static void put_facts(ecoi_maker *m, ecoi_json *to, const case_result *r) {
    ecoi_put_text(m, to, "gpu", r->gpu);
    ecoi_put_text(m, to, "model", r->model);
    ecoi_put_number(m, to, "params_b", r->params_b);
    ecoi_put_text(m, to, "precision", r->precision);
    ecoi_put_text(m, to, "engine", r->engine);
    ecoi_put_text(m, to, "window", r->window);
    ecoi_put_number(m, to, "batch", batch_of(r));
    ecoi_put_reading(m, to, "context", r->context);
}

static void put_spread(ecoi_maker *m, ecoi_json *to, const ecoi_session_spread *s) {
    ecoi_put_count(m, to, "sessions", s->n_sessions);
    ecoi_put_count(m, to, "stacks", s->n_stacks);
    ecoi_put_rounded(m, to, "lo_pct", s->lo_pct, DECIMALS);
    ecoi_put_rounded(m, to, "hi_pct", s->hi_pct, DECIMALS);
    ecoi_put_rounded(m, to, "spread_pct", s->hi_pct - s->lo_pct, DECIMALS);
    ecoi_put_count(m, to, "pairs_stated", s->n_stated);
    ecoi_put_count(m, to, "pairs_beyond", s->n_beyond);
    ecoi_put_text(m, to, "agreement", ecoi_agreement_name(s->agreement));
    ecoi_put_text(m, to, "same_stack", ecoi_agreement_name(s->same_stack));
    ecoi_put_number(m, to, "differ_above_pct", ECOI_SESSIONS_AGREE_PCT);
}

/* The case that the result at `first` begins. `results` has room for all. */
static void put_case(ecoi_maker *m, ecoi_json *to, result_list *list, size_t first,
                     ecoi_session_result *results) {
    ecoi_json *const ids = ecoi_make_array(m);
    case_result *const head = &list->items[first];
    size_t n = 0;
    for (size_t i = first; i < list->n; i++) {
        case_result *const r = &list->items[i];
        if (!r->told && same_case(head, r)) {
            r->told = true;
            if (!eco_reading_present(head->context)) {
                head->context = r->context; /* the first that is told is the case's */
            }
            results[n++] = (ecoi_session_result){.session = r->session,
                                                 .stack = r->stack,
                                                 .delta_pct = r->delta_pct,
                                                 .lo_pct = r->lo_pct,
                                                 .hi_pct = r->hi_pct,
                                                 .expanded_pct = r->expanded_pct};
            ecoi_append(m, ids, ecoi_json_new_string(&m->doc, r->id, strlen(r->id)));
        }
    }
    const ecoi_session_spread spread = ecoi_sessions_compare(results, n);
    put_facts(m, to, head);
    put_spread(m, to, &spread);
    ecoi_put(m, to, "rows", ids);
}

static eco_status put_cases(result_list *list, eco_text *out, eco_error *err) {
    ecoi_session_result *const results = ecoi_calloc(list->n > 0 ? list->n : 1, sizeof *results);
    if (results == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "cases: out of memory");
    }
    ecoi_maker m = {0};
    ecoi_json *const root = ecoi_make_array(&m);
    for (size_t i = 0; i < list->n; i++) {
        if (!list->items[i].told) {
            ecoi_json *const one = ecoi_make_object(&m);
            put_case(&m, one, list, i, results);
            ecoi_append(&m, root, one);
        }
    }
    ecoi_free(results);
    return ecoi_make_end(&m, root, "cases", out, err);
}

eco_status ecoi_job_cases(const ecoi_json *request, eco_text *out, eco_error *err) {
    static const ecoi_member members[] = {{"results", ECOI_MEMBER_LIST, false}};
    const ecoi_json *values[1];
    ECO_TRY(ecoi_members_read(request, "cases", members, 1, values, err));
    result_list list = {0};
    eco_status status = read_results(values[0], &list, err);
    if (status == ECO_OK) {
        status = put_cases(&list, out, err);
    }
    ecoi_free(list.items);
    return status;
}
