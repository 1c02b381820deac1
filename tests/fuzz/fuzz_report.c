/* SPDX-License-Identifier: Apache-2.0
 *
 * A report from outside: read, checked, re-derived, summarised, explained, made a row of a study, written. The input is the report's text and behind
 * each NUL the text of one trace, in the order of power_trace.files. For any input: a refusal has a code and a message;
 * what was read is written as something that reads back to the same text; findings are single lines.
 */
#include "fuzz_check.h"

#include "ecocompute/explain.h"
#include "ecocompute/report.h"
#include "ecocompute/study.h"

enum { TRACES_MAX = 8 };

static size_t section_length(const char *text, size_t size) {
    const char *const end = size > 0 ? memchr(text, '\0', size) : NULL;
    return end != NULL ? (size_t)(end - text) : size;
}

static void check_findings(const eco_findings *findings) {
    uint32_t n_lines = 0;
    for (size_t i = 0; i < findings->lines.length; i++) {
        const unsigned char c = (unsigned char)findings->lines.data[i];
        n_lines += c == '\n';
        FUZZ_DEMAND(c == '\n' || (c >= 0x20 && c != 0x7f));
    }
    FUZZ_DEMAND(findings->lines.failed || n_lines == findings->n);
}

static void recompute(const eco_report *report, const char *rest, size_t size) {
    eco_trace_text traces[TRACES_MAX] = {{0}};
    size_t n = 0;
    const uint32_t n_files = eco_report_array_size(report, ECO_FIELD_PF_FILE, ECO_TOP);
    for (uint32_t i = 0; i < n_files && n < TRACES_MAX && size > 0; i++) {
        rest++; /* the NUL */
        size--;
        const size_t length = section_length(rest, size);
        if (eco_report_string(report, ECO_FIELD_PF_FILE, ECO_AT1(i), &traces[n].file)) {
            traces[n].text = rest;
            traces[n].length = length;
            n++;
        }
        rest += length;
        size -= length;
    }
    eco_findings findings = {0};
    eco_report_recompute(report, traces, n, &findings);
    check_findings(&findings);
    eco_findings_free(&findings);
}

/* Shares and factors are finite and no text drives a terminal; a row comes back from its CSV. */
static void explain_and_export(const eco_report *report) {
    eco_explanation e;
    eco_error err = {0};
    eco_text text = {0};
    if (eco_report_explain(report, NULL, &e, &err) == ECO_OK) {
        eco_explanation_text(&e, &text);
        FUZZ_DEMAND(!text.failed && text.length > 0);
        for (size_t i = 0; i < text.length; i++) {
            const unsigned char c = (unsigned char)text.data[i];
            FUZZ_DEMAND(c == '\n' || (c >= 0x20 && c != 0x7f));
        }
        eco_text_free(&text);
        FUZZ_DEMAND(eco_explanation_json(&e, &text, &err) == ECO_OK);
        eco_text_free(&text);
        eco_explanation_free(&e);
    }
    eco_study *study = eco_study_new();
    eco_study *back = eco_study_new();
    FUZZ_DEMAND(study != NULL && back != NULL);
    FUZZ_DEMAND(eco_study_add_report(study, report, "report", true, &err) == ECO_OK);
    eco_study_write_csv(study, &text);
    const eco_status status = eco_study_add_csv(back, text.data, text.length, "csv", &err);
    FUZZ_DEMAND(status == ECO_E_RANGE || (status == ECO_OK && eco_study_size(back) == 1));
    eco_text_free(&text);
    eco_study_free(back);
    eco_study_free(study);
}

static void write_and_read_again(const eco_report *report) {
    eco_text once = {0};
    eco_text twice = {0};
    eco_error err = {0};
    eco_report *again = NULL;
    FUZZ_DEMAND(eco_report_write(report, &once, &err) == ECO_OK);
    FUZZ_DEMAND(eco_report_read(once.data, once.length, "again", &again, &err) == ECO_OK);
    FUZZ_DEMAND(eco_report_write(again, &twice, &err) == ECO_OK);
    FUZZ_DEMAND(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
    eco_report_free(again);
    eco_text_free(&once);
    eco_text_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = fuzz_copy(data, size);
    const size_t length = section_length(text, size);
    eco_report *report = NULL;
    eco_error err = {0};
    if (eco_report_read(text, length, "report", &report, &err) != ECO_OK) {
        FUZZ_DEMAND(report == NULL && err.code != ECO_OK && err.message[0] != '\0');
        free(text);
        return 0;
    }
    FUZZ_DEMAND(report != NULL);
    eco_findings findings = {0};
    eco_report_check_schema(report, &findings);
    check_findings(&findings);
    eco_findings_free(&findings);
    recompute(report, text + length, size - length);
    eco_text summary = {0};
    eco_report_summarise(report, &summary);
    FUZZ_DEMAND(!summary.failed && summary.length > 0);
    eco_text_free(&summary);
    explain_and_export(report);
    write_and_read_again(report);
    eco_report_free(report);
    free(text);
    return 0;
}
