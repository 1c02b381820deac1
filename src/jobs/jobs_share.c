/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs on links and on several reports: share_encode, share_decode, compare.
 */
#include "ecocompute/compare.h"
#include "ecocompute/share.h"
#include "jobs/job.h"
#include "model/json_maker.h"

eco_status ecoi_job_share_encode(const ecoi_json *request, eco_text *out, eco_error *err) {
    static const ecoi_member members[] = {{"report", ECOI_MEMBER_TEXT, true},
                                          {"name", ECOI_MEMBER_NAME, false},
                                          {"site", ECOI_MEMBER_NAME, false}};
    const ecoi_json *values[3];
    ECO_TRY(ecoi_members_read(request, "share_encode", members, 3, values, err));
    eco_report *report = NULL;
    ECO_TRY(eco_report_read(values[0]->text, values[0]->text_length,
                            ecoi_member_name(values[1], "energy.json"), &report, err));
    eco_share_point point;
    eco_error why = {0};
    eco_text url = {0};
    eco_status status = eco_share_point_of(report, &point, &why);
    eco_report_free(report);
    if (status == ECO_OK) {
        status = eco_share_url(&point, ecoi_member_name(values[2], NULL), &url, &why);
    }
    if (status != ECO_OK && status != ECO_E_NOT_FOUND) {
        eco_text_free(&url);
        return eco_error_set(err, status, 0, "%s", why.message);
    }
    ecoi_maker m = {0};
    ecoi_json *const root = ecoi_make_object(&m);
    ecoi_put_text(&m, root, "share_url", status == ECO_OK ? url.data : NULL);
    ecoi_put_text(&m, root, "reason", status == ECO_OK ? NULL : why.message);
    eco_text_free(&url);
    return ecoi_make_end(&m, root, "share_encode", out, err);
}

eco_status ecoi_job_share_decode(const ecoi_json *request, eco_text *out, eco_error *err) {
    static const ecoi_member members[] = {{"url", ECOI_MEMBER_TEXT, true}};
    const ecoi_json *values[1];
    ECO_TRY(ecoi_members_read(request, "share_decode", members, 1, values, err));
    eco_share_point points[ECO_SHARE_POINTS_MAX];
    size_t n = 0;
    ECO_TRY(eco_share_decode(values[0]->text, values[0]->text_length, points, &n, err));
    return eco_share_json(points, n, out, err);
}

/* The reports of the list, read; those that were read before a failure too. */
static eco_status read_reports(const ecoi_json *list, eco_report *reports[ECO_COMPARE_MAX],
                               eco_compared compared[ECO_COMPARE_MAX], eco_error *err) {
    static const ecoi_member members[] = {{"report", ECOI_MEMBER_TEXT, true},
                                          {"name", ECOI_MEMBER_NAME, false}};
    if (list->n < 2 || list->n > ECO_COMPARE_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "compare: reports: 2 to %d are expected",
                             ECO_COMPARE_MAX);
    }
    size_t i = 0;
    for (const ecoi_json *one = list->first; one != NULL; one = one->next, i++) {
        const ecoi_json *values[2];
        ECO_TRY(ecoi_members_read(one, "compare: reports", members, 2, values, err));
        const char *const name = ecoi_member_name(values[1], "energy.json");
        ECO_TRY(eco_report_read(values[0]->text, values[0]->text_length, name, &reports[i], err));
        compared[i] = (eco_compared){.report = reports[i], .name = name};
    }
    return ECO_OK;
}

eco_status ecoi_job_compare(const ecoi_json *request, eco_text *out, eco_error *err) {
    static const ecoi_member members[] = {{"reports", ECOI_MEMBER_LIST, true},
                                          {"across_stacks", ECOI_MEMBER_BOOL, false}};
    const ecoi_json *values[2];
    ECO_TRY(ecoi_members_read(request, "compare", members, 2, values, err));
    const eco_compare_options options = {.across_stacks = values[1] != NULL && values[1]->boolean};
    eco_report *reports[ECO_COMPARE_MAX] = {NULL};
    eco_compared compared[ECO_COMPARE_MAX];
    eco_compare_result worst = ECO_COMPARE_SOUND;
    eco_status status = read_reports(values[0], reports, compared, err);
    if (status == ECO_OK) {
        status = eco_compare_json(compared, values[0]->n, &options, out, &worst, err);
    }
    for (size_t i = 0; i < ECO_COMPARE_MAX; i++) {
        eco_report_free(reports[i]);
    }
    return status;
}
