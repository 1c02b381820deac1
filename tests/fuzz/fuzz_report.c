/* SPDX-License-Identifier: Apache-2.0
 *
 * A report from outside: read, checked, re-derived, summarised, written. The input is the report's text and behind
 * each NUL the text of one trace, in the order of power_trace.files. For any input: a refusal has a code and a message;
 * what was read is written as something that reads back to the same text; findings are single lines.
 */
#include "fuzz_check.h"

#include "ecocompute/report.h"

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
    write_and_read_again(report);
    eco_report_free(report);
    free(text);
    return 0;
}
