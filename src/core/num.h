/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text, exact and without locale: correctly rounded reading, the shortest digits that read back,
 * fixed decimals, integers with overflow checks, checked size arithmetic. Pure; nothing here allocates.
 */
#ifndef ECOI_NUM_H
#define ECOI_NUM_H

#include "ecocompute/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for any result of ecoi_num_write and ecoi_num_fixed, NUL included. */
enum { ECOI_NUM_MAX = 32, ECOI_NUM_FIXED_MAX = 352, ECOI_NUM_DECIMALS_MAX = 20 };

/* Length of the JSON number (RFC 8259 grammar) that `text` begins with; 0 if it begins with none. */
size_t ecoi_num_scan(const char *text, size_t length);
/* The whole text must be one JSON number. The nearest double, ties to even. ECO_E_PARSE: not a number;
 * ECO_E_RANGE: larger than the largest double. What is too small becomes 0. */
ECO_NODISCARD eco_status ecoi_num_parse(const char *text, size_t length, double *out);
/* Whole text, decimal digits with an optional '-' for the signed; no plus sign, blank or leading zero.
 * ECO_E_PARSE or ECO_E_RANGE. */
ECO_NODISCARD eco_status ecoi_num_parse_u64(const char *text, size_t length, uint64_t *out);
ECO_NODISCARD eco_status ecoi_num_parse_i64(const char *text, size_t length, int64_t *out);

/* All writers return the length without the NUL. */
/* The shortest digits that read back as `value`, the closest to it among these, laid out as ECMAScript's
 * Number::toString: 0.000001, 1e-7, 100000000000000000000, 1e+21. -0 gives "0". `value` is finite. */
size_t ecoi_num_write(double value, char out[ECOI_NUM_MAX]);
/* Exactly `decimals` (0..ECOI_NUM_DECIMALS_MAX) digits after the point: the double's exact value rounded, a tie
 * to the even digit (as printf in round-to-nearest). No sign on a result of zero. `value` is finite. */
size_t ecoi_num_fixed(double value, int decimals, char out[ECOI_NUM_FIXED_MAX]);
size_t ecoi_num_write_u64(uint64_t value, char out[ECOI_NUM_MAX]);
size_t ecoi_num_write_i64(int64_t value, char out[ECOI_NUM_MAX]);
/* `value` rounded as ecoi_num_fixed does, as the double nearest to that decimal. */
double ecoi_num_round(double value, int decimals);

/* *out = a * b or a + b; false, and *out = 0, where that overflows. */
bool ecoi_size_mul(size_t a, size_t b, size_t *out);
bool ecoi_size_add(size_t a, size_t b, size_t *out);

#endif
