/* SPDX-License-Identifier: Apache-2.0
 *
 * ASCII letters without a locale, for the name look-ups of this folder.
 */
#ifndef ECOCOMPUTE_ARCH_ARCH_TEXT_H
#define ECOCOMPUTE_ARCH_ARCH_TEXT_H

#include <stdbool.h>

static inline char ecoi_text_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool ecoi_text_equal_nocase(const char *a, const char *b) {
    while (*a != '\0' && ecoi_text_lower(*a) == ecoi_text_lower(*b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

#endif
