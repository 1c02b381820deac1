/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs on an energy.json: {"report": its text, "name": what messages call it}, and what else each takes.
 */
#include "ecocompute/explain.h"
#include "ecocompute/report.h"
#include "jobs/job.h"
#include "model/json_maker.h"

#include <string.h>

enum { TRACES_MAX = 16 };

static eco_status read_report(const ecoi_json *text, const ecoi_json *name, eco_report **out,
                              eco_error *err) {
    return eco_report_read(text->text, text->text_length, ecoi_member_name(name, "energy.json"),
                           out, err);
}

static bool is_profile(const char *name) {
    for (size_t i = 0; eco_profile_name(i) != NULL; i++) {
        if (strcmp(eco_profile_name(i), name) == 0) {
            return true;
        }
    }
    return false;
}

eco_status ecoi_job_validate(const ecoi_json *request, eco_text *out, eco_error *err) {
    static const ecoi_member members[] = {{"report", ECOI_MEMBER_TEXT, true},
                                          {"name", ECOI_MEMBER_NAME, false},
                                          {"profile", ECOI_MEMBER_NAME, false}};
    const ecoi_json *values[3];
    ECO_TRY(ecoi_members_read(request, "validate", members, 3, values, err));
    const char *const profile = ecoi_member_name(values[2], NULL);
    if (profile != NULL && !is_profile(profile)) {
        return eco_error_set(err, ECO_E_INVALID, 0, "validate: profile: unknown profile '%.60s'",
                             profile);
    }
    eco_report *report = NULL;
    ECO_TRY(read_report(values[0], values[1], &report, err));
    eco_findings findings = {0};
    eco_report_check_schema(report, &findings);
    const uint32_t n_schema = findings.n;
    if (profile != NULL) {
        (void)eco_report_check_profile(report, profile, &findings);
    }
    eco_report_free(report);
    ecoi_maker m = {0};
    ecoi_json *const root = ecoi_make_object(&m);
    ecoi_put_bool(&m, root, "valid", findings.n == 0);
    if (profile != NULL) {
        ecoi_put_text(&m, root, "profile", profile);
        ecoi_put_text(&m, root, "verdict", eco_profile_verdict(profile, n_schema, findings.n));
    }
    ecoi_put_lines(&m, root, "findings", &findings.lines);
    m.failed |= findings.lines.failed;
    eco_findings_free(&findings);
    return ecoi_make_end(&m, root, "validate", out, err);
}

/* The traces of the request in the order of the report's list, each once and each what the report hashed. */
static eco_status match_traces(const eco_report *report, const ecoi_json *list,
                               eco_trace_text traces[TRACES_MAX], eco_findings *findings,
                               eco_error *err) {
    static const ecoi_member members[] = {{"file", ECOI_MEMBER_NAME, true},
                                          {"text", ECOI_MEMBER_TEXT, true}};
    const ecoi_json *given[TRACES_MAX][2];
    if (list->n > TRACES_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "recompute: traces: at most %d", TRACES_MAX);
    }
    uint32_t n_given = 0;
    for (const ecoi_json *one = list->first; one != NULL; one = one->next) {
        ECO_TRY(ecoi_members_read(one, "recompute: traces", members, 2, given[n_given++], err));
    }
    const uint32_t n = eco_report_array_size(report, ECO_FIELD_PF_FILE, ECO_TOP);
    if (n == 0 || n > TRACES_MAX) {
        eco_findings_add(findings, "power_trace.files: 1 to %d traces are expected, found %u",
                         TRACES_MAX, n);
        return ECO_OK;
    }
    for (uint32_t i = 0; i < n; i++) {
        const char *file = NULL;
        (void)eco_report_string(report, ECO_FIELD_PF_FILE, ECO_AT1(i), &file);
        uint32_t at = 0;
        while (at < n_given && (file == NULL || strcmp(given[at][0]->text, file) != 0)) {
            at++;
        }
        if (at == n_given) {
            eco_findings_add(findings, "power_trace.files[%u].file: this trace was not given", i);
            continue;
        }
        traces[i] = (eco_trace_text){file, given[at][1]->text, given[at][1]->text_length};
        (void)eco_report_trace_matches(report, i, traces[i].text, &traces[i].length, findings);
    }
    return ECO_OK;
}

eco_status ecoi_job_recompute(const ecoi_json *request, eco_text *out, eco_error *err) {
    static const ecoi_member members[] = {{"report", ECOI_MEMBER_TEXT, true},
                                          {"name", ECOI_MEMBER_NAME, false},
                                          {"traces", ECOI_MEMBER_LIST, true}};
    const ecoi_json *values[3];
    ECO_TRY(ecoi_members_read(request, "recompute", members, 3, values, err));
    eco_report *report = NULL;
    ECO_TRY(read_report(values[0], values[1], &report, err));
    eco_trace_text traces[TRACES_MAX] = {{0}};
    eco_findings findings = {0};
    const eco_status status = match_traces(report, values[2], traces, &findings, err);
    if (status == ECO_OK && findings.n == 0) {
        eco_report_recompute(report, traces,
                             eco_report_array_size(report, ECO_FIELD_PF_FILE, ECO_TOP), &findings);
    }
    eco_report_free(report);
    if (status != ECO_OK) {
        eco_findings_free(&findings);
        return status;
    }
    ecoi_maker m = {0};
    ecoi_json *const root = ecoi_make_object(&m);
    ecoi_put_bool(&m, root, "follows", findings.n == 0);
    ecoi_put_lines(&m, root, "findings", &findings.lines);
    m.failed |= findings.lines.failed;
    eco_findings_free(&findings);
    return ecoi_make_end(&m, root, "recompute", out, err);
}

static const ecoi_member report_members[] = {{"report", ECOI_MEMBER_TEXT, true},
                                             {"name", ECOI_MEMBER_NAME, false}};

eco_status ecoi_job_summary(const ecoi_json *request, eco_text *out, eco_error *err) {
    const ecoi_json *values[2];
    ECO_TRY(ecoi_members_read(request, "summary", report_members, 2, values, err));
    eco_report *report = NULL;
    ECO_TRY(read_report(values[0], values[1], &report, err));
    eco_text text = {0};
    eco_report_summarise(report, &text);
    eco_report_free(report);
    ecoi_maker m = {0};
    ecoi_json *const root = ecoi_make_object(&m);
    ecoi_put_lines(&m, root, "lines", &text);
    m.failed |= text.failed;
    eco_text_free(&text);
    return ecoi_make_end(&m, root, "summary", out, err);
}

eco_status ecoi_job_explain(const ecoi_json *request, eco_text *out, eco_error *err) {
    const ecoi_json *values[2];
    ECO_TRY(ecoi_members_read(request, "explain", report_members, 2, values, err));
    eco_report *report = NULL;
    ECO_TRY(read_report(values[0], values[1], &report, err));
    eco_explanation explanation;
    eco_status status = eco_report_explain(report, NULL, &explanation, err);
    if (status == ECO_OK) {
        bool failed = explanation.why.failed;
        for (uint32_t i = 0; i < ECO_EXPLAIN_ARMS_MAX; i++) {
            failed |= explanation.advice[i].failed;
        }
        status = failed ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "explain: out of memory")
                        : eco_explanation_json(&explanation, out, err);
        eco_explanation_free(&explanation);
    }
    eco_report_free(report);
    return status;
}
