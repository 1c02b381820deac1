/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a report and the traces beside it, for checking and drawing; and a study's CSV.
 */
#include "ecocompute/report_file.h"

#include "core/alloc.h"
#include "sys/file.h"

#include <stdio.h>
#include <string.h>

enum { TRACES_MAX = 16 };
static const size_t REPORT_BYTES_MAX = 16u << 20;
static const size_t TRACE_BYTES_MAX = 256u << 20;
static const size_t STUDY_BYTES_MAX = 64u << 20;

eco_status eco_report_load(const char *path, eco_report **out, eco_error *err) {
    *out = NULL;
    const eco_file_limits limits = {.size_max = REPORT_BYTES_MAX};
    char *text = NULL;
    size_t size = 0;
    ECO_TRY(ecoi_file_read(path, &limits, &text, &size, err));
    const eco_status status = eco_report_read(text, size, path, out, err);
    ecoi_free(text);
    return status;
}

/* `name` beside `path`; false when it is not a bare file name or does not fit. */
static bool beside(const char *path, const char *name, char *out, size_t size) {
    const char *slash = strrchr(path, '/');
    const int folder = slash != NULL ? (int)(slash - path) + 1 : 0;
    if (name[0] == '\0' || strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0) {
        return false;
    }
    const int length = snprintf(out, size, "%.*s%s", folder, path, name);
    return length > 0 && (size_t)length < size;
}

static void read_trace(const eco_report *report, const char *report_path, uint32_t i,
                       eco_trace_text *trace, char **text, eco_findings *out) {
    const char *file = NULL;
    const char *sha256 = NULL;
    char path[4096];
    if (!eco_report_string(report, ECO_FIELD_PF_FILE, ECO_AT1(i), &file) ||
        !eco_report_string(report, ECO_FIELD_PF_SHA256, ECO_AT1(i), &sha256)) {
        eco_findings_add(out, "power_trace.files[%u]: file and sha256 are expected", i);
        return;
    }
    if (!beside(report_path, file, path, sizeof path)) {
        eco_findings_add(
            out, "power_trace.files[%u].file: a bare file name beside the report is expected", i);
        return;
    }
    const eco_file_limits limits = {.size_max = TRACE_BYTES_MAX, .refuse_symlink = true};
    eco_error error = {0};
    size_t size = 0;
    if (ecoi_file_read(path, &limits, text, &size, &error) != ECO_OK) {
        eco_findings_add(out, "power_trace.files[%u].file: %s", i, error.message);
        return;
    }
    if (eco_report_trace_matches(report, i, *text, &size, out)) {
        *trace = (eco_trace_text){.file = file, .text = *text, .length = size};
    }
}

eco_status eco_report_recompute_file(const eco_report *report, const char *path, eco_findings *out,
                                     eco_error *err) {
    const uint32_t n = eco_report_array_size(report, ECO_FIELD_PF_FILE, ECO_TOP);
    if (n == 0 || n > TRACES_MAX) {
        eco_findings_add(out, "power_trace.files: 1 to %d traces are expected, found %u",
                         TRACES_MAX, n);
        return ECO_OK;
    }
    eco_trace_text traces[TRACES_MAX] = {{0}};
    char *texts[TRACES_MAX] = {0};
    uint32_t found = 0;
    const uint32_t before = out->n;
    for (uint32_t i = 0; i < n; i++) {
        read_trace(report, path, i, &traces[found], &texts[i], out);
        found += traces[found].text != NULL;
    }
    if (out->n == before) {
        eco_report_recompute(report, traces, found, out);
    }
    for (uint32_t i = 0; i < n; i++) {
        ecoi_free(texts[i]);
    }
    return out->lines.failed ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", path)
                             : ECO_OK;
}

eco_status eco_report_trace_load(const eco_report *report, const char *path, uint32_t index,
                                 eco_sample **rows, size_t *n_rows, eco_error *err) {
    eco_trace_text trace = {0};
    eco_findings findings = {0};
    char *text = NULL;
    *rows = NULL;
    *n_rows = 0;
    read_trace(report, path, index, &trace, &text, &findings);
    eco_status status = ECO_OK;
    if (trace.text != NULL) {
        status = eco_trace_parse(trace.text, trace.length, trace.file, rows, n_rows, err);
    } else {
        const char *why = findings.lines.data != NULL ? findings.lines.data : "no trace\n";
        status =
            eco_error_set(err, ECO_E_INVALID, 0, "%s: %.*s", path, (int)strcspn(why, "\n"), why);
    }
    eco_findings_free(&findings);
    ecoi_free(text);
    return status;
}

eco_status eco_study_load_csv(eco_study *study, const char *path, eco_error *err) {
    const eco_file_limits limits = {.size_max = STUDY_BYTES_MAX};
    char *text = NULL;
    size_t size = 0;
    ECO_TRY(ecoi_file_read(path, &limits, &text, &size, err));
    const eco_status status = eco_study_add_csv(study, text, size, path, err);
    ecoi_free(text);
    return status;
}
