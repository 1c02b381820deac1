/* SPDX-License-Identifier: Apache-2.0
 *
 * Redaction. Paths may hold blanks, so that a path is taken to reach as far as the last separator of the text.
 */
#include "report/redact.h"

#include "core/str.h"

#include <stdbool.h>
#include <string.h>

static const char REDACTED[] = "[redacted]";

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_separator(char c) {
    return c == '/' || c == '\\';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* 8-4-4-4-12 hexadecimal digits anywhere in the word. */
static bool holds_uuid(const char *word, size_t length) {
    enum { UUID_LENGTH = 36 };
    for (size_t begin = 0; begin + UUID_LENGTH <= length; begin++) {
        size_t i = 0;
        while (i < UUID_LENGTH &&
               (i == 8 || i == 13 || i == 18 || i == 23 ? word[begin + i] == '-'
                                                        : is_hex(word[begin + i]))) {
            i++;
        }
        if (i == UUID_LENGTH) {
            return true;
        }
    }
    return false;
}

/* Does the word begin a path or a URL? owner/model does not; a/b/c does. */
static bool begins_path(const char *word, size_t length) {
    if (is_separator(word[0]) || word[0] == '~') {
        return true;
    }
    if (word[0] == '.' && length > 1 && (word[1] == '.' || is_separator(word[1]))) {
        return true;
    }
    if (length > 2 && is_letter(word[0]) && word[1] == ':' && is_separator(word[2])) {
        return true;
    }
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '\\' || strncmp(word + i, "://", 3) == 0) {
            return true;
        }
        n += word[i] == '/';
    }
    return n > 1;
}

static size_t word_length(const char *word) {
    size_t n = 0;
    while (word[n] != '\0' && !is_blank(word[n])) {
        n++;
    }
    return n;
}

/* "/home/ann" and "C:\Users\ann": the last part is a person. */
static bool is_home(const char *path, size_t last) {
    static const char *const parents[] = {"home", "Users", "root"};
    size_t end = last; /* behind the separator before the last part */
    while (end > 0 && is_separator(path[end - 1])) {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && !is_separator(path[begin - 1])) {
        begin--;
    }
    for (size_t i = 0; i < sizeof parents / sizeof parents[0]; i++) {
        const size_t n = strlen(parents[i]);
        if (end - begin == n && strncmp(path + begin, parents[i], n) == 0) {
            return true;
        }
    }
    return path[0] == '~' && last <= 1;
}

/* Adds the words of a text in which no path begins. */
static void add_words(eco_text *out, const char *text, size_t length) {
    size_t i = 0;
    while (i < length) {
        size_t n = 0;
        while (i + n < length && !is_blank(text[i + n])) {
            n++;
        }
        if (n == 0) {
            ecoi_text_add_char(out, text[i++]);
            continue;
        }
        if (holds_uuid(text + i, n) || memchr(text + i, '@', n) != NULL) {
            ecoi_text_add_z(out, REDACTED);
        } else {
            ecoi_text_add(out, text + i, n);
        }
        i += n;
    }
}

void ecoi_redact_text(eco_text *out, const char *text) {
    size_t begin = 0; /* of the first path */
    while (text[begin] != '\0') {
        const size_t n = word_length(text + begin);
        if (n > 0 && begins_path(text + begin, n)) {
            break;
        }
        begin += n > 0 ? n : 1;
    }
    add_words(out, text, begin);
    if (text[begin] == '\0') {
        return;
    }
    const char *const path = text + begin;
    size_t end = strlen(path);
    while (end > 0 && (is_separator(path[end - 1]) || is_blank(path[end - 1]))) {
        end--;
    }
    size_t last = end;
    while (last > 0 && !is_separator(path[last - 1])) {
        last--;
    }
    if (last == end || is_home(path, last)) {
        ecoi_text_add_z(out, REDACTED);
    } else {
        add_words(out, path + last, end - last);
    }
}
