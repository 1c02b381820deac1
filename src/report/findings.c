/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings of a check, one a line. Text from a report may stand in a finding, so control characters, which could
 * end the line or drive a terminal, become '?', and a finding has a longest length.
 */
#include "ecocompute/report.h"

#include "core/str.h"

#include <stdarg.h>
#include <stdio.h>

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
    size_t length = 0;
    while (line[length] != '\0') {
        const size_t n_bytes = ecoi_utf8_scan(line + length, sizeof line - length);
        if (n_bytes == 0) {
            line[length++] = '?'; /* a character cut at the end */
            continue;
        }
        const unsigned char c = (unsigned char)line[length];
        const bool c1 = c == 0xc2 && (unsigned char)line[length + 1] < 0xa0;
        if (c < 0x20 || c == 0x7f) {
            line[length] = '?';
        } else if (c1) {
            line[length] = '?';
            line[length + 1] = '?';
        }
        length += n_bytes;
    }
    findings->n++;
    ecoi_text_add(&findings->lines, line, length);
    ecoi_text_add_char(&findings->lines, '\n');
}
