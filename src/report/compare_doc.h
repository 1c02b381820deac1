/* SPDX-License-Identifier: Apache-2.0
 *
 * What judging and printing a comparison share: values of a report by path, and as short text.
 */
#ifndef ECOI_COMPARE_DOC_H
#define ECOI_COMPARE_DOC_H

#include "core/json.h"
#include "ecocompute/compare.h"

enum { ECOI_COMPARE_CELL = 48 };

/* The value at a path of keys joined by dots; NULL where a key is missing or the value is null. */
const ecoi_json *ecoi_compare_find(const eco_report *report, const char *path);
/* A value in one line, cut between characters; "-" for NULL, "{…}" for a container. False, and "", without memory. */
ECO_NODISCARD bool ecoi_compare_cell(const ecoi_json *value, char out[ECOI_COMPARE_CELL]);

#endif
