/* SPDX-License-Identifier: Apache-2.0
 *
 * Which rules answer: the published release, digit for digit, or ours. docs/estimator.md lists the differences.
 */
#ifndef ECOCOMPUTE_RULES_H
#define ECOCOMPUTE_RULES_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum eco_rules { ECO_RULES_CURRENT = 0, ECO_RULES_PUBLISHED_1_1 } eco_rules;

const char *eco_rules_name(eco_rules rules);            /* "current", "published-1.1" */
bool eco_rules_parse(const char *name, eco_rules *out); /* exact; *out untouched by a miss */

#ifdef __cplusplus
}
#endif
#endif
