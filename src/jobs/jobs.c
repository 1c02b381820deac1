/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds a job by its name, reads the request, and makes sure that one document comes out whatever happens.
 */
#include "ecocompute/jobs.h"

#include "core/str.h"
#include "ecocompute/arch.h"
#include "jobs/job.h"
#include "model/json_maker.h"

#include <string.h>

typedef struct job_row {
    eco_job_info info;
    eco_status (*run)(const ecoi_json *request, eco_text *out, eco_error *err);
} job_row;

static const job_row rows[] = {
#define ECO_JOB(name, summary) {{#name, summary}, ecoi_job_##name},
#include "jobs/jobs.def"
#undef ECO_JOB
};
enum { ROWS = sizeof rows / sizeof rows[0] };

const eco_job_info *eco_job_at(size_t index) {
    return index < ROWS ? &rows[index].info : NULL;
}

eco_status ecoi_job_jobs(const ecoi_json *request, eco_text *out, eco_error *err) {
    ECO_TRY(ecoi_members_read(request, "jobs", NULL, 0, NULL, err));
    ecoi_maker m = {0};
    ecoi_json *const list = ecoi_make_array(&m);
    for (size_t i = 0; i < ROWS; i++) {
        ecoi_json *const row = ecoi_make_object(&m);
        ecoi_put_text(&m, row, "name", rows[i].info.name);
        ecoi_put_text(&m, row, "summary", rows[i].info.summary);
        ecoi_append(&m, list, row);
    }
    return ecoi_make_end(&m, list, "jobs", out, err);
}

static eco_status refuse_job(const char *name, eco_error *err) {
    const char *names[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        names[i] = rows[i].info.name;
    }
    const char *const nearest = eco_nearest_name(name, names, ROWS);
    return eco_error_set(err, ECO_E_NOT_FOUND, 0, "unknown job '%.60s'%s%s%s", name,
                         nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                         nearest != NULL ? "'?" : "");
}

static eco_status run_job(const char *name, const char *request, size_t length, eco_text *out,
                          eco_error *err) {
    size_t i = 0;
    while (i < ROWS && strcmp(rows[i].info.name, name) != 0) {
        i++;
    }
    if (i == ROWS) {
        return refuse_job(name, err);
    }
    if (length > ECO_JOB_REQUEST_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "%s: a request has at most %d bytes", name,
                             ECO_JOB_REQUEST_MAX);
    }
    ecoi_json_doc doc = {0};
    ECO_TRY(ecoi_json_read(request, length, name, &doc, err));
    const eco_status status = rows[i].run(doc.root, out, err);
    ecoi_json_fini(&doc);
    return status;
}

eco_status eco_job_run(const char *name, const char *request, size_t length, eco_text *out) {
    eco_error error = {0};
    const eco_status status = run_job(name, request, length, out, &error);
    if (status == ECO_OK) {
        if (out->length == 0 || out->data[out->length - 1] != '\n') {
            ecoi_text_add_char(out, '\n');
        }
        return out->failed ? ECO_E_NO_MEMORY : ECO_OK;
    }
    eco_text_free(out); /* what a job had begun to write */
    ecoi_maker m = {0};
    ecoi_json *const root = ecoi_make_object(&m);
    ecoi_put_text(&m, root, "error", error.message);
    ecoi_put_text(&m, root, "code", eco_status_name(status));
    out->failed = ecoi_make_end(&m, root, name, out, &error) != ECO_OK;
    return status;
}
