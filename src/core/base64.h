/* SPDX-License-Identifier: Apache-2.0
 *
 * base64url without padding (RFC 4648, section 5). Strict: another character, a length that no bytes give, or bits left
 * over that are not zero are refused, so that a text has one encoding only. Pure.
 */
#ifndef ECOI_BASE64_H
#define ECOI_BASE64_H

#include "ecocompute/trace.h"

#include <stdbool.h>
#include <stddef.h>

void ecoi_base64url_write(eco_text *out, const char *data, size_t length);
/* Adds the bytes to `out`. False: not base64url; *bad = the first place that is wrong, `length` where the end is. */
bool ecoi_base64url_read(eco_text *out, const char *text, size_t length, size_t *bad);

#endif
