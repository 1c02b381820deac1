/* SPDX-License-Identifier: Apache-2.0
 *
 * A strict JSON (RFC 8259) document: read, built, changed and written. Reading refuses what others let pass:
 * duplicate keys, NaN, lone surrogates, bad UTF-8, a byte order mark, anything after the value. It does not
 * recurse and caps size, depth and the number of values. Numbers keep their source text and objects their key
 * order, so that a foreign document is written as it was read. One thread at a time a document; pure.
 */
#ifndef ECOI_JSON_H
#define ECOI_JSON_H

#include "core/arena.h"
#include "ecocompute/status.h"
#include "ecocompute/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ECO_JSON_DEPTH_MAX = 64,
    ECO_JSON_SIZE_MAX = 64 * 1024 * 1024, /* bytes of text */
    ECO_JSON_VALUES_MAX = 4 * 1024 * 1024
};

typedef enum ecoi_json_type {
    ECOI_JSON_NULL = 0,
    ECOI_JSON_BOOL,
    ECOI_JSON_NUMBER,
    ECOI_JSON_STRING,
    ECOI_JSON_ARRAY,
    ECOI_JSON_OBJECT
} ecoi_json_type;

/* A value. It belongs to its document and is reached through the fields below; they are changed only by the
 * functions of this header. */
typedef struct ecoi_json ecoi_json;
struct ecoi_json {
    ecoi_json_type type;
    bool boolean;
    uint32_t n;    /* elements or members */
    uint32_t mark; /* free for the document's user; 0 when made */
    double number;
    const char *text; /* STRING: decoded, may hold NULs; NUMBER: as written. NUL-terminated */
    size_t text_length;
    const char *key; /* of a member; NUL-terminated */
    size_t key_length;
    ecoi_json *parent, *next, *first, *last;
};

/* Zero-initialise; free with ecoi_json_fini. All values live as long as the document. */
typedef struct ecoi_json_doc {
    ecoi_arena arena;
    ecoi_json *root;
} ecoi_json_doc;

/* ECO_E_PARSE with "name:line:column: …" (from 1; columns count characters), ECO_E_RANGE over a cap, or
 * ECO_E_NO_MEMORY. On failure *doc is empty. */
ECO_NODISCARD eco_status ecoi_json_read(const char *text, size_t length, const char *name,
                                        ecoi_json_doc *doc, eco_error *err);
void ecoi_json_fini(ecoi_json_doc *doc);

/* Indent 2, one member or element a line, "\n" at the end. Escapes quotes, backslashes, control characters,
 * DEL, U+2028 and U+2029. False if deeper than ECO_JSON_DEPTH_MAX or out of memory. */
ECO_NODISCARD bool ecoi_json_write(const ecoi_json *value, eco_text *out);

/* Makers return NULL when out of memory; the value is in no container yet. Numbers are finite. A string is
 * valid UTF-8; invalid bytes become U+FFFD. */
ecoi_json *ecoi_json_new(ecoi_json_doc *doc, ecoi_json_type type); /* NULL, ARRAY or OBJECT */
ecoi_json *ecoi_json_new_bool(ecoi_json_doc *doc, bool value);
ecoi_json *ecoi_json_new_number(ecoi_json_doc *doc, double value);
ecoi_json *ecoi_json_new_integer(ecoi_json_doc *doc, int64_t value);
ecoi_json *ecoi_json_new_string(ecoi_json_doc *doc, const char *text, size_t length);

/* Containers take values made above; each value goes into one container once. False when out of memory. */
void ecoi_json_append(ecoi_json *array, ecoi_json *value);
/* Replaces the member `key` in its place, or adds it before `before` (a member of `object`; NULL = at the end). */
ECO_NODISCARD bool ecoi_json_set(ecoi_json_doc *doc, ecoi_json *object, const char *key,
                                 ecoi_json *before, ecoi_json *value);

/* NULL when the value is not of that type, or has no such member or element. */
ecoi_json *ecoi_json_member(const ecoi_json *object, const char *key, size_t key_length);
ecoi_json *ecoi_json_element(const ecoi_json *array, uint32_t index);
/* True for a number that is an integer in the range of int64_t ("256" and "256.0" alike). */
bool ecoi_json_integer(const ecoi_json *value, int64_t *out);
const char *ecoi_json_type_name(ecoi_json_type type); /* "number", … */

#endif
