/* SPDX-License-Identifier: Apache-2.0
 *
 * Text: the growing eco_text of the public API, bounded copies, UTF-8 checking. Locale-free. The functions that
 * add to an eco_text do nothing once it has failed, so a writer checks `failed` once at its end.
 */
#ifndef ECOI_STR_H
#define ECOI_STR_H

#include "ecocompute/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void ecoi_text_add(eco_text *text, const char *data, size_t length);
void ecoi_text_add_z(eco_text *text, const char *z);
void ecoi_text_add_char(eco_text *text, char c);
void ecoi_text_add_number(eco_text *text, double value); /* ecoi_num_write; "null" if not finite */
void ecoi_text_add_fixed(eco_text *text, double value, int decimals); /* ecoi_num_fixed; finite */
void ecoi_text_add_i64(eco_text *text, int64_t value);
/* For text and integers; %f, %g and their like follow the locale and are not for data. */
void ecoi_text_addf(eco_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies what fits of `from` (NULL = "") and ends it with NUL; capacity > 0. False if it was cut. */
bool ecoi_str_copy(char *to, size_t capacity, const char *from);
/* Equal but for the case of ASCII letters. */
bool ecoi_str_equal_nocase(const char *a, const char *b);
bool ecoi_str_starts_with(const char *text, const char *prefix);

/* Length of the valid UTF-8 sequence `text` begins with (no overlong form, surrogate, or beyond U+10FFFF); 0 if none. */
size_t ecoi_utf8_scan(const char *text, size_t length);
/* Writes a scalar value (at most U+10FFFF, no surrogate) as 1 to 4 bytes; returns how many. */
size_t ecoi_utf8_put(uint32_t scalar, char out[4]);

#endif
