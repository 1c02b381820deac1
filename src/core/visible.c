/* SPDX-License-Identifier: Apache-2.0
 *
 * Text from outside made fit for a terminal, in one place. What could drive a terminal, end the line or turn round the
 * order of what is shown is written as a JSON escape: C0 and C1 controls, DEL, bidirectional marks, embeddings,
 * overrides and isolates (UTR 36, "Trojan Source"), line separators, and characters that show nothing.
 * An escape is ASCII, so a JSON document stays the same document.
 */
#include "core/str.h"

#include <stdio.h>
#include <string.h>

typedef struct scalar_range {
    uint32_t first, last;
} scalar_range;

/* In order. */
static const scalar_range hidden[] = {
    {0x0000, 0x001f},   /* C0 */
    {0x007f, 0x009f},   /* DEL and C1 */
    {0x00ad, 0x00ad},   /* soft hyphen */
    {0x061c, 0x061c},   /* Arabic letter mark */
    {0x180e, 0x180e},   /* Mongolian vowel separator */
    {0x200b, 0x200f},   /* zero width characters, left-to-right and right-to-left marks */
    {0x2028, 0x202e},   /* line and paragraph separators, embeddings, overrides */
    {0x2060, 0x206f},   /* word joiner, isolates, deprecated format characters */
    {0xfeff, 0xfeff},   /* byte order mark */
    {0xfff9, 0xfffb},   /* interlinear annotations */
    {0xe0000, 0xe007f}, /* tags */
};

static bool is_hidden(uint32_t scalar) {
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        if (scalar <= hidden[i].last) {
            return scalar >= hidden[i].first;
        }
    }
    return false;
}

/* Of a valid sequence of n bytes. */
static uint32_t scalar_of(const char *text, size_t n) {
    const unsigned char lead = (unsigned char)text[0];
    uint32_t scalar = n == 1 ? lead : lead & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        scalar = scalar << 6 | ((unsigned char)text[i] & 0x3fu);
    }
    return scalar;
}

static void add_escape(eco_text *out, uint32_t scalar) {
    if (scalar < 0x10000) {
        ecoi_text_addf(out, "\\u%04x", (unsigned)scalar);
        return;
    }
    const uint32_t rest = scalar - 0x10000;
    ecoi_text_addf(out, "\\u%04x\\u%04x", (unsigned)(0xd800 | rest >> 10),
                   (unsigned)(0xdc00 | (rest & 0x3ff)));
}

static void add_visible(eco_text *out, const char *text, size_t length, bool keep_newlines) {
    size_t begin = 0;
    size_t i = 0;
    while (i < length) {
        const size_t n = ecoi_utf8_scan(text + i, length - i);
        const uint32_t scalar = n > 0 ? scalar_of(text + i, n) : 0;
        if (n > 0 && (!is_hidden(scalar) || (keep_newlines && scalar == '\n'))) {
            i += n;
            continue;
        }
        ecoi_text_add(out, text + begin, i - begin);
        if (n > 0) {
            add_escape(out, scalar);
        } else {
            ecoi_text_addf(out, "\\x%02x", (unsigned)(unsigned char)text[i]);
        }
        i += n > 0 ? n : 1;
        begin = i;
    }
    ecoi_text_add(out, text + begin, length - begin);
}

void eco_text_add_visible(eco_text *out, const char *text, size_t length) {
    add_visible(out, text, length, false);
}

void eco_text_add_visible_lines(eco_text *out, const char *text, size_t length) {
    add_visible(out, text, length, true);
}
