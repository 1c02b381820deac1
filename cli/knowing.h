/* SPDX-License-Identifier: Apache-2.0
 *
 * What estimate, optimize and check share: numbers that stay text until all options are known (so that their errors can be
 * JSON too), and the end of a command.
 */
#ifndef ECOCOMPUTE_KNOWING_H
#define ECOCOMPUTE_KNOWING_H

#include "cli.h"

#include "ecocompute/rules.h"

/* NULL text leaves *out as it is. ECO_E_USAGE naming the option; infinities and NaN are the library's to judge. */
ECO_NODISCARD eco_status knowing_number(const char *option, const char *text, double *out,
                                        eco_error *err);
/* The same as a limit: absent without the option. */
ECO_NODISCARD eco_status knowing_limit(const char *option, const char *text, eco_reading *out,
                                       eco_error *err);
void knowing_rules(const char *text, eco_rules *out); /* --rules; ends the program */

/* {"error": "…"} on standard output with --json, the line on standard error; 2 where the question was wrong, else 1. */
int knowing_fail(const cli_common *common, const eco_error *error);
/* The answer on standard output, or knowing_fail where it could not be written. Frees the text. */
int knowing_print(const cli_common *common, eco_status status, eco_text *text,
                  const eco_error *error);

#endif
