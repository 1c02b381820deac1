/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of `fit --validate`.
 */
#ifndef ECOCOMPUTE_CLI_FIT_VALIDATE_H
#define ECOCOMPUTE_CLI_FIT_VALIDATE_H

#include "ecocompute/fit.h"

/* Prints what the rules say of rows they have not seen, by session and by card: the published ones, and the model of
 * docs/energy-model.md, both fitted to the rows that `options` chooses. */
ECO_NODISCARD eco_status fit_validate(const eco_anchor_table *rows, const eco_fit_options *options,
                                      bool json, eco_error *err);

#endif
