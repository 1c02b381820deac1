/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings of a check, one a line. Text from a report may stand in a finding, so what could end the line or drive a
 * terminal is escaped, and a finding has a longest length.
 */
#include "ecocompute/report.h"

#include "core/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FINDING_MAX = 512 };

void eco_findings_free(eco_findings *findings) {
    if (findings == NULL) {
        return;
    }
    eco_text_free(&findings->lines);
    findings->n = 0;
}

void eco_findings_add(eco_findings *findings, const char *format, ...) {
    char line[FINDING_MAX];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0) {
        ecoi_str_copy(line, sizeof line, "a finding could not be written");
    }
    findings->n++;
    eco_text_add_visible(&findings->lines, line, strlen(line));
    ecoi_text_add_char(&findings->lines, '\n');
}
