/* SPDX-License-Identifier: Apache-2.0
 *
 * Building the JSON answers of this folder: members in the order they are put, a failure is sticky and told at the end.
 */
#ifndef ECOI_JSON_MAKER_H
#define ECOI_JSON_MAKER_H

#include "core/json.h"
#include "ecocompute/record.h"

typedef struct ecoi_maker {
    ecoi_json_doc doc;
    bool failed;
} ecoi_maker;

ecoi_json *ecoi_make_object(ecoi_maker *m);
ecoi_json *ecoi_make_array(ecoi_maker *m);
void ecoi_put(ecoi_maker *m, ecoi_json *object, const char *key, ecoi_json *value);
void ecoi_put_text(ecoi_maker *m, ecoi_json *object, const char *key,
                   const char *text); /* NULL = null */
void ecoi_put_bool(ecoi_maker *m, ecoi_json *object, const char *key, bool value);
void ecoi_put_count(ecoi_maker *m, ecoi_json *object, const char *key, size_t value);
/* What is not finite, or not there, is null. */
void ecoi_put_number(ecoi_maker *m, ecoi_json *object, const char *key, double value);
void ecoi_put_reading(ecoi_maker *m, ecoi_json *object, const char *key, eco_reading value);
/* Rounded as published (published_round.h). */
void ecoi_put_rounded(ecoi_maker *m, ecoi_json *object, const char *key, double value,
                      int decimals);
void ecoi_append(ecoi_maker *m, ecoi_json *array, ecoi_json *value);
ecoi_json *ecoi_make_rounded(ecoi_maker *m, double value, int decimals);
/* The lines of a text as an array of strings. */
void ecoi_put_lines(ecoi_maker *m, ecoi_json *object, const char *key, const eco_text *lines);
/* Writes the document and ends the maker; ECO_E_NO_MEMORY naming `what`. */
ECO_NODISCARD eco_status ecoi_make_end(ecoi_maker *m, const ecoi_json *root, const char *what,
                                       eco_text *out, eco_error *err);

#endif
