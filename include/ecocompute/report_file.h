/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports and their traces as files. Both are untrusted: size caps, regular files only; a trace is opened only beside
 * its report, by its bare name, and never through a symbolic link.
 */
#ifndef ECOCOMPUTE_REPORT_FILE_H
#define ECOCOMPUTE_REPORT_FILE_H

#include "ecocompute/report.h"
#include "ecocompute/study.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ECO_E_NOT_FOUND, ECO_E_PERMISSION, ECO_E_INVALID (not a regular file), ECO_E_RANGE (too large), ECO_E_PARSE. */
ECO_NODISCARD eco_status eco_report_load(const char *path, eco_report **out, eco_error *err);

/* Finds the traces the report at `path` names, compares their SHA-256, re-derives every headline number and adds what
 * does not agree to `out`. A report without traces is a finding. */
ECO_NODISCARD eco_status eco_report_recompute_file(const eco_report *report, const char *path,
                                                   eco_findings *out, eco_error *err);

/* Rows of the report's trace `index` (power_trace.files), after its SHA-256 was compared: *rows malloc'ed, the caller
 * frees. ECO_E_INVALID: no such trace, or not the file the report was made from. */
ECO_NODISCARD eco_status eco_report_trace_load(const eco_report *report, const char *path,
                                               uint32_t index, eco_sample **rows, size_t *n_rows,
                                               eco_error *err);

/* Adds the rows of a CSV file to a study. */
ECO_NODISCARD eco_status eco_study_load_csv(eco_study *study, const char *path, eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
