/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON tree: makers, changes, look-ups, and the writer, which walks the tree by its parent links.
 */
#include "core/json.h"

#include "core/num.h"
#include "core/str.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void ecoi_json_fini(ecoi_json_doc *doc) {
    if (doc == NULL) {
        return;
    }
    ecoi_arena_fini(&doc->arena);
    doc->root = NULL;
}

/* ---- Making ----------------------------------------------------------------------------------- */

ecoi_json *ecoi_json_new(ecoi_json_doc *doc, ecoi_json_type type) {
    ecoi_json *const value = ecoi_arena_alloc(&doc->arena, sizeof *value);
    if (value != NULL) {
        value->type = type;
    }
    return value;
}

ecoi_json *ecoi_json_new_bool(ecoi_json_doc *doc, bool boolean) {
    ecoi_json *const value = ecoi_json_new(doc, ECOI_JSON_BOOL);
    if (value != NULL) {
        value->boolean = boolean;
    }
    return value;
}

static ecoi_json *new_number_text(ecoi_json_doc *doc, double number, const char *text,
                                  size_t length) {
    ecoi_json *const value = ecoi_json_new(doc, ECOI_JSON_NUMBER);
    if (value == NULL) {
        return NULL;
    }
    value->number = number;
    value->text = ecoi_arena_copy(&doc->arena, text, length);
    value->text_length = length;
    return value->text == NULL ? NULL : value;
}

ecoi_json *ecoi_json_new_number(ecoi_json_doc *doc, double number) {
    assert(isfinite(number));
    char text[ECOI_NUM_MAX];
    const size_t length = ecoi_num_write(number, text);
    return new_number_text(doc, number, text, length);
}

ecoi_json *ecoi_json_new_integer(ecoi_json_doc *doc, int64_t integer) {
    char text[ECOI_NUM_MAX];
    const size_t length = ecoi_num_write_i64(integer, text);
    return new_number_text(doc, (double)integer, text, length);
}

/* A copy of `text` in which every byte that is no UTF-8 became U+FFFD. */
static char *copy_utf8(ecoi_json_doc *doc, const char *text, size_t length, size_t *out_length) {
    size_t size = 0;
    if (!ecoi_size_mul(length, 3, &size) || !ecoi_size_add(size, 1, &size)) {
        return NULL;
    }
    char *const copy = ecoi_arena_alloc(&doc->arena, size);
    if (copy == NULL) {
        return NULL;
    }
    size_t n = 0;
    for (size_t at = 0; at < length;) {
        const size_t n_bytes = ecoi_utf8_scan(text + at, length - at);
        if (n_bytes == 0) {
            n += ecoi_utf8_put(0xfffd, copy + n);
            at++;
        } else {
            memcpy(copy + n, text + at, n_bytes);
            n += n_bytes;
            at += n_bytes;
        }
    }
    *out_length = n;
    return copy;
}

ecoi_json *ecoi_json_new_string(ecoi_json_doc *doc, const char *text, size_t length) {
    ecoi_json *const value = ecoi_json_new(doc, ECOI_JSON_STRING);
    if (value == NULL) {
        return NULL;
    }
    value->text = copy_utf8(doc, text, length, &value->text_length);
    return value->text == NULL ? NULL : value;
}

/* ---- Changing --------------------------------------------------------------------------------- */

void ecoi_json_append(ecoi_json *container, ecoi_json *value) {
    assert(value->parent == NULL && value->next == NULL);
    value->parent = container;
    if (container->last == NULL) {
        container->first = value;
    } else {
        container->last->next = value;
    }
    container->last = value;
    container->n++;
}

/* The link that points to `value` in its parent's list. */
static ecoi_json **link_to(ecoi_json *container, const ecoi_json *value) {
    ecoi_json **link = &container->first;
    while (*link != value) {
        assert(*link != NULL);
        link = &(*link)->next;
    }
    return link;
}

static void replace(ecoi_json *object, ecoi_json *old, ecoi_json *value) {
    value->key = old->key;
    value->key_length = old->key_length;
    value->mark = old->mark;
    value->parent = object;
    value->next = old->next;
    *link_to(object, old) = value;
    if (object->last == old) {
        object->last = value;
    }
    old->parent = NULL;
    old->next = NULL;
}

bool ecoi_json_set(ecoi_json_doc *doc, ecoi_json *object, const char *key, ecoi_json *before,
                   ecoi_json *value) {
    assert(object->type == ECOI_JSON_OBJECT && value->parent == NULL);
    const size_t key_length = strlen(key);
    ecoi_json *const old = ecoi_json_member(object, key, key_length);
    if (old != NULL) {
        replace(object, old, value);
        return true;
    }
    value->key = ecoi_arena_copy(&doc->arena, key, key_length);
    value->key_length = key_length;
    if (value->key == NULL) {
        return false;
    }
    if (before == NULL) {
        ecoi_json_append(object, value);
    } else {
        assert(before->parent == object);
        *link_to(object, before) = value;
        value->next = before;
        value->parent = object;
        object->n++;
    }
    return true;
}

/* ---- Looking up ------------------------------------------------------------------------------- */

ecoi_json *ecoi_json_member(const ecoi_json *object, const char *key, size_t key_length) {
    if (object == NULL || object->type != ECOI_JSON_OBJECT) {
        return NULL;
    }
    for (ecoi_json *member = object->first; member != NULL; member = member->next) {
        if (member->key_length == key_length &&
            (key_length == 0 || memcmp(member->key, key, key_length) == 0)) {
            return member;
        }
    }
    return NULL;
}

ecoi_json *ecoi_json_element(const ecoi_json *array, uint32_t index) {
    if (array == NULL || array->type != ECOI_JSON_ARRAY || index >= array->n) {
        return NULL;
    }
    ecoi_json *element = array->first;
    for (uint32_t i = 0; i < index; i++) {
        element = element->next;
    }
    return element;
}

bool ecoi_json_integer(const ecoi_json *value, int64_t *out) {
    *out = 0;
    if (value == NULL || value->type != ECOI_JSON_NUMBER) {
        return false;
    }
    if (ecoi_num_parse_i64(value->text, value->text_length, out) == ECO_OK) {
        return true;
    }
    /* "256.0", "2.56e2": beyond 2^53 such a text need not name the integer it reads as. */
    const double exact_max = 9007199254740992.0;
    if (fabs(value->number) > exact_max || value->number != floor(value->number)) {
        return false;
    }
    *out = (int64_t)value->number;
    return true;
}

const char *ecoi_json_type_name(ecoi_json_type type) {
    switch (type) {
    case ECOI_JSON_NULL:
        return "null";
    case ECOI_JSON_BOOL:
        return "boolean";
    case ECOI_JSON_NUMBER:
        return "number";
    case ECOI_JSON_STRING:
        return "string";
    case ECOI_JSON_ARRAY:
        return "array";
    case ECOI_JSON_OBJECT:
        return "object";
    }
    return "unknown";
}

/* ---- Writing ---------------------------------------------------------------------------------- */

static void write_escape(eco_text *out, unsigned c) {
    static const char digits[] = "0123456789abcdef";
    const char escape[] = {
        '\\', 'u', digits[c >> 12 & 15], digits[c >> 8 & 15], digits[c >> 4 & 15], digits[c & 15]};
    ecoi_text_add(out, escape, sizeof escape);
}

/* Length of what cannot stand in a string as it is, 0 if the next character can; its escape is written. */
static size_t write_special(eco_text *out, const char *text, size_t length) {
    static const char plain[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    const unsigned char c = (unsigned char)text[0];
    const char *const found = c == '\0' ? NULL : strchr(plain, (char)c);
    if (found != NULL) {
        ecoi_text_add_char(out, '\\');
        ecoi_text_add_char(out, names[found - plain]);
        return 1;
    }
    if (c < 0x20 || c == 0x7f) {
        write_escape(out, c);
        return 1;
    }
    /* The line separators, which JavaScript once took for line ends. */
    if (c == 0xe2 && length >= 3 && (unsigned char)text[1] == 0x80 &&
        ((unsigned char)text[2] | 1) == 0xa9) {
        write_escape(out, 0x2000u | ((unsigned char)text[2] & 0x3fu));
        return 3;
    }
    return 0;
}

static void write_string(eco_text *out, const char *text, size_t length) {
    ecoi_text_add_char(out, '"');
    size_t begin = 0, at = 0;
    while (at < length) {
        const unsigned char c = (unsigned char)text[at];
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f && c != 0xe2) {
            at++;
            continue;
        }
        ecoi_text_add(out, text + begin, at - begin);
        begin = at;
        const size_t n = write_special(out, text + at, length - at);
        at += n == 0 ? 1 : n;
        begin += n;
    }
    ecoi_text_add(out, text + begin, length - begin);
    ecoi_text_add_char(out, '"');
}

static void write_scalar(eco_text *out, const ecoi_json *value) {
    switch (value->type) {
    case ECOI_JSON_NULL:
        ecoi_text_add_z(out, "null");
        break;
    case ECOI_JSON_BOOL:
        ecoi_text_add_z(out, value->boolean ? "true" : "false");
        break;
    case ECOI_JSON_NUMBER:
        ecoi_text_add(out, value->text, value->text_length);
        break;
    case ECOI_JSON_STRING:
        write_string(out, value->text, value->text_length);
        break;
    case ECOI_JSON_ARRAY:
        ecoi_text_add_z(out, "[]");
        break;
    case ECOI_JSON_OBJECT:
        ecoi_text_add_z(out, "{}");
        break;
    }
}

static void write_line(eco_text *out, uint32_t depth) {
    static const char blanks[] = "                ";
    ecoi_text_add_char(out, '\n');
    for (uint32_t n = 2 * depth; n > 0;) {
        const uint32_t step = n < sizeof blanks - 1 ? n : (uint32_t)(sizeof blanks - 1);
        ecoi_text_add(out, blanks, step);
        n -= step;
    }
}

static void write_key(eco_text *out, const ecoi_json *value) {
    if (value->parent->type == ECOI_JSON_OBJECT) {
        write_string(out, value->key, value->key_length);
        ecoi_text_add_z(out, ": ");
    }
}

bool ecoi_json_write(const ecoi_json *root, eco_text *out) {
    const ecoi_json *value = root;
    uint32_t depth = 0;
    while (value != NULL) {
        if (value->first != NULL) {
            if (depth == ECO_JSON_DEPTH_MAX) {
                return false;
            }
            ecoi_text_add_char(out, value->type == ECOI_JSON_ARRAY ? '[' : '{');
            depth++;
            value = value->first;
            write_line(out, depth);
            write_key(out, value);
            continue;
        }
        write_scalar(out, value);
        while (value != root && value->next == NULL) {
            value = value->parent;
            depth--;
            write_line(out, depth);
            ecoi_text_add_char(out, value->type == ECOI_JSON_ARRAY ? ']' : '}');
        }
        if (value == root) {
            break;
        }
        ecoi_text_add_char(out, ',');
        value = value->next;
        write_line(out, depth);
        write_key(out, value);
    }
    ecoi_text_add_char(out, '\n');
    return !out->failed;
}
