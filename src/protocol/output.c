/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces and reports onto the disk: traces first, so that a report never names a file that is not there yet.
 */
#include "protocol/session.h"

#include "core/sha256.h"
#include "core/str.h"
#include "sys/file.h"

#include <stdio.h>

static void lower(const char *from, char *to, size_t size) {
    size_t n = 0;
    for (; from[n] != '\0' && n + 1 < size; n++) {
        const char c = from[n];
        to[n] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    to[n] = '\0';
}

static eco_status write_file(const eco_session *session, const char *name, const eco_text *text,
                             eco_error *err) {
    char path[4096];
    if (text->failed) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", name);
    }
    if (snprintf(path, sizeof path, "%s/%s", session->plan->output_dir, name) >= (int)sizeof path) {
        return eco_error_set(err, ECO_E_RANGE, 0, "%s/%s: the path is too long",
                             session->plan->output_dir, name);
    }
    return ecoi_file_write(path, text->data, text->length, err);
}

static eco_status write_trace(const eco_session *session, uint32_t arm, eco_measure_result *result,
                              char sha256[ECOI_SHA256_HEX_MAX], eco_error *err) {
    char name[32];
    lower(eco_format_at(session->plan->arms[arm])->name, name, sizeof name);
    if (session->plan->published_names && arm + 1 == session->plan->n_arms) {
        snprintf(result->traces[arm], sizeof result->traces[arm], "power_trace.csv");
    } else {
        snprintf(result->traces[arm], sizeof result->traces[arm], "power_trace_%s.csv", name);
    }
    eco_text text = {0};
    eco_trace_write_header(&text);
    eco_trace_write_rows(&text, session->arms[arm].rows, session->arms[arm].n_rows, 0);
    const eco_status status = write_file(session, result->traces[arm], &text, err);
    if (status == ECO_OK) {
        ecoi_sha256_hex(text.data, text.length, sha256);
    }
    eco_text_free(&text);
    return status;
}

static eco_status write_report(const eco_session *session, uint32_t slot,
                               eco_measure_result *result, eco_error *err) {
    eco_text text = {0};
    eco_status status = eco_report_write(result->reports[slot], &text, err);
    if (status == ECO_OK) {
        status = write_file(session, result->files[slot], &text, err);
    }
    eco_text_free(&text);
    return status;
}

eco_status ecoi_output_write(const eco_session *session, eco_measure_result *result,
                             eco_error *err) {
    const uint32_t n_arms = session->plan->n_arms;
    char hashes[ECO_ARMS_MAX][ECOI_SHA256_HEX_MAX] = {{0}};
    const char *sha256[ECO_ARMS_MAX] = {0};
    const char *files[ECO_ARMS_MAX] = {0};
    for (uint32_t i = 0; i < n_arms; i++) {
        ECO_TRY(write_trace(session, i, result, hashes[i], err));
        sha256[i] = hashes[i];
        files[i] = result->traces[i];
    }
    result->n_reports = n_arms == 1 ? 1 : n_arms - 1;
    for (uint32_t slot = 0; slot < result->n_reports; slot++) {
        const uint32_t arm = n_arms == 1 ? 0 : slot + 1;
        char name[32];
        lower(eco_format_at(session->plan->arms[arm])->name, name, sizeof name);
        if (result->n_reports == 1) {
            snprintf(result->files[slot], sizeof result->files[slot], "energy.json");
        } else {
            snprintf(result->files[slot], sizeof result->files[slot], "energy.%s.json", name);
        }
        eco_report_free(result->reports[slot]);
        result->reports[slot] = ecoi_report_build(session, arm, sha256, files);
        if (result->reports[slot] == NULL) {
            return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", result->files[slot]);
        }
        ECO_TRY(write_report(session, slot, result, err));
    }
    return ECO_OK;
}
