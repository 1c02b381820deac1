/* SPDX-License-Identifier: Apache-2.0
 *
 * The strict JSON reader. The open containers are the parent chain of the tree being built, so depth costs no
 * stack. Duplicate keys of an object are found when it closes, by sorting, so that many keys stay cheap.
 */
#include "core/json.h"

#include "core/alloc.h"
#include "core/num.h"
#include "core/str.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_QUADRATIC_MAX = 16 };

typedef struct reader {
    const char *text;
    size_t length, at;
    const char *name;
    ecoi_json_doc *doc;
    ecoi_json *open; /* innermost open container, NULL at top level */
    uint32_t depth, n_values;
    const char *key; /* of the member whose value comes next */
    size_t key_length;
    eco_error *err;
} reader;

/* ---- Messages --------------------------------------------------------------------------------- */

static eco_status fail_at(const reader *in, size_t at, eco_status status, const char *message) {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < in->length; i++) {
        if (in->text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)in->text[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    return eco_error_set(in->err, status, 0, "%s:%zu:%zu: %s", in->name, line, column, message);
}

static eco_status fail(const reader *in, const char *message) {
    return fail_at(in, in->at, ECO_E_PARSE, message);
}

static eco_status fail_memory(const reader *in) {
    return eco_error_set(in->err, ECO_E_NO_MEMORY, 0, "%s: out of memory", in->name);
}

/* ---- Strings ---------------------------------------------------------------------------------- */

static bool hex4(const reader *in, size_t at, uint32_t *out) {
    *out = 0;
    if (in->length - at < 4) {
        return false;
    }
    for (size_t i = at; i < at + 4; i++) {
        const char c = in->text[i];
        uint32_t digit = 0;
        if (c >= '0' && c <= '9') {
            digit = (uint32_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = (uint32_t)(c - 'a') + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = (uint32_t)(c - 'A') + 10;
        } else {
            return false;
        }
        *out = *out << 4 | digit;
    }
    return true;
}

/* At the four digits after "\u"; takes the second half of a surrogate pair too. */
static eco_status read_unicode_escape(reader *in, uint32_t *scalar) {
    if (!hex4(in, in->at, scalar)) {
        return fail(in, "expected four hexadecimal digits after \\u");
    }
    if (*scalar >= 0xdc00 && *scalar <= 0xdfff) {
        return fail(in, "a low surrogate without the high one before it");
    }
    in->at += 4;
    if (*scalar >= 0xd800 && *scalar <= 0xdbff) {
        uint32_t low = 0;
        if (in->length - in->at < 6 || in->text[in->at] != '\\' || in->text[in->at + 1] != 'u' ||
            !hex4(in, in->at + 2, &low) || low < 0xdc00 || low > 0xdfff) {
            return fail(in, "a high surrogate without the low one after it");
        }
        in->at += 6;
        *scalar = 0x10000 + ((*scalar - 0xd800) << 10) + (low - 0xdc00);
    }
    return ECO_OK;
}

static eco_status read_escape(reader *in, char *out, size_t *n) {
    in->at++;
    if (in->at >= in->length) {
        return fail(in, "the string does not end");
    }
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char c = in->text[in->at];
    if (c == 'u') {
        in->at++;
        uint32_t scalar = 0;
        ECO_TRY(read_unicode_escape(in, &scalar));
        *n += ecoi_utf8_put(scalar, out + *n);
        return ECO_OK;
    }
    const char *const found = c == '\0' ? NULL : strchr(names, c);
    if (found == NULL) {
        return fail(in, "unknown escape in a string");
    }
    out[(*n)++] = values[found - names];
    in->at++;
    return ECO_OK;
}

/* Length of the raw string body that begins at in->at, which is how much its decoded form needs at most. */
static size_t raw_string_length(const reader *in) {
    size_t at = in->at;
    while (at < in->length && in->text[at] != '"') {
        at += in->text[at] == '\\' && in->length - at > 1 ? 2 : 1;
    }
    return at - in->at;
}

/* At the opening quote. */
static eco_status read_string(reader *in, const char **out, size_t *out_length) {
    const size_t begin = in->at;
    in->at++;
    char *const decoded = ecoi_arena_alloc(&in->doc->arena, raw_string_length(in) + 1);
    if (decoded == NULL) {
        return fail_memory(in);
    }
    size_t n = 0;
    while (in->at < in->length && in->text[in->at] != '"') {
        const unsigned char c = (unsigned char)in->text[in->at];
        if (c < 0x20) {
            return fail(in, "a control character in a string must be escaped");
        }
        if (c == '\\') {
            ECO_TRY(read_escape(in, decoded, &n));
            continue;
        }
        const size_t n_bytes = ecoi_utf8_scan(in->text + in->at, in->length - in->at);
        if (n_bytes == 0) {
            return fail(in, "invalid UTF-8");
        }
        memcpy(decoded + n, in->text + in->at, n_bytes);
        n += n_bytes;
        in->at += n_bytes;
    }
    if (in->at >= in->length) {
        return fail_at(in, begin, ECO_E_PARSE, "the string does not end");
    }
    in->at++;
    *out = decoded;
    *out_length = n;
    return ECO_OK;
}

/* ---- Values ----------------------------------------------------------------------------------- */

static void skip_blanks(reader *in) {
    while (in->at < in->length && (in->text[in->at] == ' ' || in->text[in->at] == '\t' ||
                                   in->text[in->at] == '\n' || in->text[in->at] == '\r')) {
        in->at++;
    }
}

static bool at_char(const reader *in, char c) {
    return in->at < in->length && in->text[in->at] == c;
}

static eco_status add_value(reader *in, ecoi_json_type type, ecoi_json **out) {
    if (in->n_values >= ECO_JSON_VALUES_MAX) {
        return fail_at(in, in->at, ECO_E_RANGE, "too many values");
    }
    in->n_values++;
    ecoi_json *const value = ecoi_json_new(in->doc, type);
    if (value == NULL) {
        return fail_memory(in);
    }
    if (in->open == NULL) {
        in->doc->root = value;
    } else {
        ecoi_json_append(in->open, value);
        if (in->open->type == ECOI_JSON_OBJECT) {
            value->key = in->key;
            value->key_length = in->key_length;
        }
    }
    *out = value;
    return ECO_OK;
}

static bool take_word(reader *in, const char *word) {
    const size_t n = strlen(word);
    if (in->length - in->at < n || memcmp(in->text + in->at, word, n) != 0) {
        return false;
    }
    in->at += n;
    return true;
}

static eco_status read_number(reader *in) {
    const size_t n = ecoi_num_scan(in->text + in->at, in->length - in->at);
    if (n == 0) {
        return fail(in, "not a number");
    }
    ecoi_json *value = NULL;
    ECO_TRY(add_value(in, ECOI_JSON_NUMBER, &value));
    if (ecoi_num_parse(in->text + in->at, n, &value->number) != ECO_OK) {
        return fail(in, "a number beyond the range of a double");
    }
    value->text = ecoi_arena_copy(&in->doc->arena, in->text + in->at, n);
    value->text_length = n;
    in->at += n;
    return value->text == NULL ? fail_memory(in) : ECO_OK;
}

static eco_status read_open(reader *in, ecoi_json_type type) {
    if (in->depth >= ECO_JSON_DEPTH_MAX) {
        return fail_at(in, in->at, ECO_E_RANGE, "nested deeper than 64 levels");
    }
    ecoi_json *value = NULL;
    ECO_TRY(add_value(in, type, &value));
    in->at++;
    in->open = value;
    in->depth++;
    return ECO_OK;
}

/* Reads a value, of a container only its beginning. */
static eco_status read_value(reader *in) {
    if (in->at >= in->length) {
        return fail(in, "expected a value, found the end");
    }
    ecoi_json *value = NULL;
    switch (in->text[in->at]) {
    case '{':
        return read_open(in, ECOI_JSON_OBJECT);
    case '[':
        return read_open(in, ECOI_JSON_ARRAY);
    case '"':
        ECO_TRY(add_value(in, ECOI_JSON_STRING, &value));
        return read_string(in, &value->text, &value->text_length);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return read_number(in);
    default:
        break;
    }
    if (take_word(in, "null")) {
        return add_value(in, ECOI_JSON_NULL, &value);
    }
    const bool is_true = take_word(in, "true");
    if (is_true || take_word(in, "false")) {
        ECO_TRY(add_value(in, ECOI_JSON_BOOL, &value));
        assert(value != NULL);
        value->boolean = is_true;
        return ECO_OK;
    }
    return fail(in, "expected a value");
}

/* ---- Duplicate keys --------------------------------------------------------------------------- */

static int compare_keys(const ecoi_json *a, const ecoi_json *b) {
    if (a->key_length != b->key_length) {
        return a->key_length < b->key_length ? -1 : 1;
    }
    return a->key_length == 0 ? 0 : memcmp(a->key, b->key, a->key_length);
}

static int compare_members(const void *a, const void *b) {
    return compare_keys(*(ecoi_json *const *)a, *(ecoi_json *const *)b);
}

static eco_status fail_duplicate(const reader *in, const ecoi_json *member) {
    enum { SHOWN_MAX = 60 };
    char message[128];
    size_t n = 0;
    static const char before[] = "duplicate key \"", after[] = "\" in the object that ends here";
    memcpy(message, before, sizeof before - 1);
    n += sizeof before - 1;
    for (size_t i = 0; i < member->key_length && i < SHOWN_MAX; i++) {
        const char c = member->key[i];
        message[n++] = c >= ' ' && c <= '~' ? c : '?';
    }
    memcpy(message + n, after, sizeof after);
    return fail(in, message);
}

static eco_status check_keys(const reader *in, const ecoi_json *object) {
    if (object->n <= KEYS_QUADRATIC_MAX) {
        for (const ecoi_json *a = object->first; a != NULL; a = a->next) {
            for (const ecoi_json *b = a->next; b != NULL; b = b->next) {
                if (compare_keys(a, b) == 0) {
                    return fail_duplicate(in, b);
                }
            }
        }
        return ECO_OK;
    }
    ecoi_json **const sorted = ecoi_calloc(object->n, sizeof *sorted);
    if (sorted == NULL) {
        return fail_memory(in);
    }
    size_t n = 0;
    for (ecoi_json *member = object->first; member != NULL; member = member->next) {
        sorted[n++] = member;
    }
    qsort(sorted, n, sizeof *sorted, compare_members);
    eco_status status = ECO_OK;
    for (size_t i = 1; i < n && status == ECO_OK; i++) {
        if (compare_keys(sorted[i - 1], sorted[i]) == 0) {
            status = fail_duplicate(in, sorted[i]);
        }
    }
    ecoi_free(sorted);
    return status;
}

/* ---- The document ----------------------------------------------------------------------------- */

/* After a value: closes what ends here. *more = a further value of in->open follows. */
static eco_status read_after_value(reader *in, bool *more) {
    *more = false;
    while (in->open != NULL) {
        const bool object = in->open->type == ECOI_JSON_OBJECT;
        skip_blanks(in);
        if (at_char(in, ',')) {
            in->at++;
            *more = true;
            return ECO_OK;
        }
        if (!at_char(in, object ? '}' : ']')) {
            return fail(in, object ? "expected ',' or '}'" : "expected ',' or ']'");
        }
        if (object) {
            ECO_TRY(check_keys(in, in->open));
        }
        in->at++;
        in->open = in->open->parent;
        in->depth--;
    }
    return ECO_OK;
}

static eco_status read_key(reader *in) {
    skip_blanks(in);
    if (!at_char(in, '"')) {
        return fail(in, "expected a key in double quotes");
    }
    ECO_TRY(read_string(in, &in->key, &in->key_length));
    skip_blanks(in);
    if (!at_char(in, ':')) {
        return fail(in, "expected ':' after the key");
    }
    in->at++;
    return ECO_OK;
}

static bool at_empty_end(reader *in) {
    skip_blanks(in);
    return at_char(in, in->open->type == ECOI_JSON_OBJECT ? '}' : ']');
}

static eco_status read_document(reader *in) {
    for (bool more = true; more;) {
        if (in->open != NULL && in->open->type == ECOI_JSON_OBJECT) {
            ECO_TRY(read_key(in));
        }
        skip_blanks(in);
        const ecoi_json *const outer = in->open;
        ECO_TRY(read_value(in));
        if (in->open != outer && !at_empty_end(in)) {
            continue;
        }
        ECO_TRY(read_after_value(in, &more));
    }
    skip_blanks(in);
    return in->at == in->length ? ECO_OK : fail(in, "expected the end after the value");
}

eco_status ecoi_json_read(const char *text, size_t length, const char *name, ecoi_json_doc *doc,
                          eco_error *err) {
    assert(doc != NULL && name != NULL && (text != NULL || length == 0));
    *doc = (ecoi_json_doc){0};
    reader in = {.text = text, .length = length, .name = name, .doc = doc, .err = err};
    if (length > ECO_JSON_SIZE_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "%s: larger than 64 MiB", name);
    }
    eco_status status = ECO_OK;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        status = fail(&in, "a byte order mark is not allowed");
    } else {
        status = read_document(&in);
    }
    if (status != ECO_OK) {
        ecoi_json_fini(doc);
    }
    return status;
}
