/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs of the curves: the published ones, their classes, and a fit of any table. Defaults are the command line's.
 */
#include "ecocompute/anchors.h"
#include "ecocompute/curve.h"
#include "ecocompute/fit.h"
#include "jobs/job.h"

#include <string.h>

enum { SEED_DEFAULT = 1 };

static eco_status write_fit(const eco_anchor_table *rows, const eco_fit_options *options,
                            eco_text *out, eco_error *err) {
    eco_fit *fit = NULL;
    ECO_TRY(eco_fit_table(rows, options, &fit, err));
    const eco_status status = eco_fit_write_json(fit, out, err);
    eco_fit_free(fit);
    return status;
}

eco_status ecoi_job_curves(const ecoi_json *request, eco_text *out, eco_error *err) {
    ECO_TRY(ecoi_members_read(request, "curves", NULL, 0, NULL, err));
    return eco_curves_write_json(eco_curves_published(), out, err);
}

eco_status ecoi_job_architectures(const ecoi_json *request, eco_text *out, eco_error *err) {
    ECO_TRY(ecoi_members_read(request, "architectures", NULL, 0, NULL, err));
    return eco_curves_write_architectures(eco_curves_published(), out, err);
}

static eco_status read_count(const ecoi_json *value, const char *key, int64_t largest,
                             int64_t fallback, int64_t *out, eco_error *err) {
    *out = fallback;
    if (value != NULL && (!ecoi_json_integer(value, out) || *out < 0 || *out > largest)) {
        return eco_error_set(err, ECO_E_INVALID, 0,
                             "fit: %s: a whole number up to %lld is expected", key,
                             (long long)largest);
    }
    return ECO_OK;
}

static eco_status read_rows(const ecoi_json *value, bool *published, eco_error *err) {
    const char *const word = ecoi_member_name(value, "published");
    *published = strcmp(word, "published") == 0;
    if (!*published && strcmp(word, "all") != 0) {
        return eco_error_set(err, ECO_E_INVALID, 0,
                             "fit: rows: unknown '%.60s'; expected published or all", word);
    }
    return ECO_OK;
}

eco_status ecoi_job_fit(const ecoi_json *request, eco_text *out, eco_error *err) {
    enum { CSV, NAME, RULES, ENGINE, ROWS, SEED, BOOTSTRAPS, N };
    static const ecoi_member members[N] = {
        [CSV] = {"csv", ECOI_MEMBER_TEXT, false},
        [NAME] = {"name", ECOI_MEMBER_NAME, false},
        [RULES] = {"rules", ECOI_MEMBER_NAME, false},
        [ENGINE] = {"engine", ECOI_MEMBER_NAME, false},
        [ROWS] = {"rows", ECOI_MEMBER_NAME, false},
        [SEED] = {"seed", ECOI_MEMBER_NUMBER, false},
        [BOOTSTRAPS] = {"bootstraps", ECOI_MEMBER_NUMBER, false}};
    const ecoi_json *v[N];
    ECO_TRY(ecoi_members_read(request, "fit", members, N, v, err));
    eco_fit_options options = {.engine = ecoi_member_name(v[ENGINE], NULL)};
    int64_t seed = 0;
    int64_t n_bootstraps = 0;
    ECO_TRY(ecoi_read_rules(v[RULES], "fit", ECO_RULES_PUBLISHED_1_1, &options.rules, err));
    ECO_TRY(read_rows(v[ROWS], &options.published_rows, err));
    ECO_TRY(read_count(v[SEED], "seed", INT64_MAX, SEED_DEFAULT, &seed, err));
    ECO_TRY(read_count(v[BOOTSTRAPS], "bootstraps", ECO_FIT_BOOTSTRAPS, ECO_FIT_BOOTSTRAPS,
                       &n_bootstraps, err));
    options.seed = (uint64_t)seed;
    options.n_bootstraps = (uint32_t)n_bootstraps;
    if (v[CSV] == NULL) {
        return write_fit(eco_anchors_builtin(), &options, out, err);
    }
    eco_anchors *anchors = NULL;
    ECO_TRY(eco_anchors_read_csv(v[CSV]->text, v[CSV]->text_length,
                                 ecoi_member_name(v[NAME], "measured.csv"), &anchors, err));
    const eco_status status = write_fit(eco_anchors_rows(anchors), &options, out, err);
    eco_anchors_free(anchors);
    return status;
}
