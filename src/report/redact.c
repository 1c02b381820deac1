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

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Does the word begin with `start`, which is in small letters? */
static bool begins_with(const char *word, size_t length, const char *start) {
    size_t n = 0;
    while (n < length && start[n] != '\0' &&
           (word[n] == start[n] || (is_letter(word[n]) && (word[n] | 0x20) == start[n]))) {
        n++;
    }
    return start[n] == '\0';
}

/* 8-4-4-4-12 hexadecimal digits anywhere in the word, or 32 of them without dashes, no more and no fewer. */
static bool holds_uuid(const char *word, size_t length) {
    enum { UUID_LENGTH = 36, UUID_DIGITS = 32 };
    size_t run = 0; /* hexadecimal digits before `begin` */
    for (size_t begin = 0; begin < length; begin++) {
        run = is_hex(word[begin]) ? run + 1 : 0;
        if (run == UUID_DIGITS && (begin + 1 == length || !is_hex(word[begin + 1]))) {
            return true;
        }
    }
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

/* Four numbers of at most three digits, between dots: an IPv4 address. */
static bool holds_ipv4(const char *word, size_t length) {
    size_t digits = 0;
    size_t parts = 0; /* finished ones */
    for (size_t i = 0; i < length; i++) {
        if (is_digit(word[i])) {
            digits++;
            if (parts == 3 && (i + 1 == length || !(is_digit(word[i + 1]) || word[i + 1] == '.')) &&
                digits <= 3) {
                return true;
            }
        } else {
            parts = word[i] == '.' && digits >= 1 && digits <= 3 ? parts + 1 : 0;
            digits = 0;
        }
    }
    return false;
}

/* The domains of machines that have no public name: RFC 6762 (local), RFC 8375 (home.arpa), ICANN (internal), and usage. */
static bool holds_private_host(const char *word, size_t length) {
    static const char *const domains[] = {".local", ".home.arpa",   ".internal", ".lan",
                                          ".corp",  ".localdomain", ".intranet"};
    for (size_t i = 1; i < length; i++) {
        for (size_t d = 0; d < sizeof domains / sizeof domains[0]; d++) {
            const size_t n = strlen(domains[d]);
            if (begins_with(word + i, length - i, domains[d]) &&
                (i + n == length || !(is_letter(word[i + n]) || is_digit(word[i + n])))) {
                return true;
            }
        }
    }
    return false;
}

/* Where in the word a path or a URL begins; its length for nowhere. owner/model is none; a/b/c and x=/a hold one. */
static size_t path_in(const char *word, size_t length) {
    if (word[0] == '.' && length > 1 && (word[1] == '.' || is_separator(word[1]))) {
        return 0;
    }
    size_t n = 0;
    size_t inner = length; /* behind a sign that ends a word before it */
    for (size_t i = 0; i < length; i++) {
        const bool opens = i == 0 || strchr("=;,\"'`([{<|", word[i - 1]) != NULL;
        if (word[i] == '\\' || strncmp(word + i, "://", 3) == 0 ||
            (word[i] == '/' && i > 0 && word[i - 1] == ':')) {
            return 0;
        }
        if (inner == length && opens && (word[i] == '/' || word[i] == '~')) {
            inner = i;
        }
        n += word[i] == '/';
    }
    return inner < length ? inner : n > 1 ? 0 : length;
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

/* What says that a process, a person or a machine is named next; behind it '=' or ':', or the word ends. */
static size_t label_length(const char *word, size_t length) {
    static const char *const labels[] = {"pid", "uid", "user", "username", "host", "hostname"};
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        const size_t n = strlen(labels[i]);
        if (begins_with(word, length, labels[i]) &&
            (n == length || word[n] == '=' || word[n] == ':')) {
            return n;
        }
    }
    return 0;
}

static bool holds_label(const char *word, size_t length) {
    for (size_t i = 0; i < length; i++) {
        const size_t n = i == 0 || !is_letter(word[i - 1]) ? label_length(word + i, length - i) : 0;
        if (n > 0 && i + n + 1 < length) { /* with what it names in the same word */
            return true;
        }
    }
    return false;
}

/* Adds the words of a text in which no path begins. */
static void add_words(eco_text *out, const char *text, size_t length) {
    size_t i = 0;
    bool named = false; /* by the word before */
    while (i < length) {
        size_t n = 0;
        while (i + n < length && !is_blank(text[i + n])) {
            n++;
        }
        if (n == 0) {
            ecoi_text_add_char(out, text[i++]);
            continue;
        }
        const char *const word = text + i;
        if (named || holds_uuid(word, n) || memchr(word, '@', n) != NULL || holds_ipv4(word, n) ||
            holds_private_host(word, n) || holds_label(word, n)) {
            ecoi_text_add_z(out, REDACTED);
            named = false;
        } else {
            ecoi_text_add(out, word, n);
            const size_t skip = word[0] == '(' || word[0] == '[' ? 1 : 0;
            const size_t label = label_length(word + skip, n - skip);
            named = label > 0 && skip + label + 1 >= n;
        }
        i += n;
    }
}

static bool is_command_line(const char *text) {
    for (const char *c = text; *c != '\0'; c++) {
        if ((c == text || is_blank(c[-1])) && c[0] == '-' && c[1] == '-' && is_letter(c[2])) {
            return true;
        }
    }
    return false;
}

void ecoi_redact_text(eco_text *out, const char *text) {
    if (is_command_line(text)) {
        ecoi_text_add_z(out, REDACTED);
        return;
    }
    size_t begin = 0; /* of the first path */
    while (text[begin] != '\0') {
        const size_t n = word_length(text + begin);
        const size_t at = n > 0 ? path_in(text + begin, n) : 1;
        begin += at;
        if (at < n) {
            break;
        }
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
