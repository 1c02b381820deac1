/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing text and bounded string helpers. An eco_text doubles, so n appended bytes cost O(n).
 */
#include "core/str.h"

#include "core/alloc.h"
#include "core/num.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_FIRST = 256 };

void eco_text_free(eco_text *text) {
    if (text == NULL) {
        return;
    }
    ecoi_free(text->data);
    *text = (eco_text){0};
}

/* Room for `more` bytes and the NUL. */
static bool text_reserve(eco_text *text, size_t more) {
    if (text->failed) {
        return false;
    }
    size_t need = 0;
    bool ok = ecoi_size_add(text->length, more, &need) && ecoi_size_add(need, 1, &need);
    if (ok && need > text->capacity) {
        size_t capacity = text->capacity < TEXT_FIRST ? TEXT_FIRST : text->capacity;
        while (ok && capacity < need) {
            ok = ecoi_size_mul(capacity, 2, &capacity);
        }
        char *const data = ok ? ecoi_realloc(text->data, capacity) : NULL;
        ok = data != NULL;
        if (ok) {
            text->data = data;
            text->capacity = capacity;
        }
    }
    text->failed = !ok;
    return ok;
}

void ecoi_text_add(eco_text *text, const char *data, size_t length) {
    if (!text_reserve(text, length)) {
        return;
    }
    if (length > 0) {
        memcpy(text->data + text->length, data, length);
    }
    text->length += length;
    text->data[text->length] = '\0';
}

void ecoi_text_add_z(eco_text *text, const char *z) {
    ecoi_text_add(text, z, strlen(z));
}

void ecoi_text_add_char(eco_text *text, char c) {
    ecoi_text_add(text, &c, 1);
}

void ecoi_text_add_number(eco_text *text, double value) {
    if (!isfinite(value)) {
        ecoi_text_add_z(text, "null");
        return;
    }
    char digits[ECOI_NUM_MAX];
    ecoi_text_add(text, digits, ecoi_num_write(value, digits));
}

void ecoi_text_add_fixed(eco_text *text, double value, int decimals) {
    char digits[ECOI_NUM_FIXED_MAX];
    ecoi_text_add(text, digits, ecoi_num_fixed(value, decimals, digits));
}

void ecoi_text_add_i64(eco_text *text, int64_t value) {
    char digits[ECOI_NUM_MAX];
    ecoi_text_add(text, digits, ecoi_num_write_i64(value, digits));
}

void ecoi_text_addf(eco_text *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, args);
    if (length < 0) {
        text->failed = true;
    } else if (text_reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

bool ecoi_str_copy(char *to, size_t capacity, const char *from) {
    assert(capacity > 0);
    const size_t length = from == NULL ? 0 : strlen(from);
    const size_t n = length < capacity ? length : capacity - 1;
    if (n > 0) {
        memcpy(to, from, n);
    }
    to[n] = '\0';
    return n == length;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool ecoi_str_equal_nocase(const char *a, const char *b) {
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}

bool ecoi_str_starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

size_t ecoi_utf8_scan(const char *text, size_t length) {
    if (length == 0) {
        return 0;
    }
    const unsigned char first = (unsigned char)text[0];
    if (first < 0x80) {
        return 1;
    }
    const size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || n > length) {
        return 0;
    }
    /* Unicode 15, table 3-7: only the second byte has narrower ranges. */
    const unsigned char second = (unsigned char)text[1];
    const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (second < least || second > most) {
        return 0;
    }
    for (size_t i = 2; i < n; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return n;
}

size_t ecoi_utf8_put(uint32_t scalar, char out[4]) {
    if (scalar < 0x80) {
        out[0] = (char)scalar;
        return 1;
    }
    if (scalar < 0x800) {
        out[0] = (char)(0xc0 | (scalar >> 6));
        out[1] = (char)(0x80 | (scalar & 0x3f));
        return 2;
    }
    if (scalar < 0x10000) {
        out[0] = (char)(0xe0 | (scalar >> 12));
        out[1] = (char)(0x80 | ((scalar >> 6) & 0x3f));
        out[2] = (char)(0x80 | (scalar & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (scalar >> 18));
    out[1] = (char)(0x80 | ((scalar >> 12) & 0x3f));
    out[2] = (char)(0x80 | ((scalar >> 6) & 0x3f));
    out[3] = (char)(0x80 | (scalar & 0x3f));
    return 4;
}
