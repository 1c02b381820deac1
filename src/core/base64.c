/* SPDX-License-Identifier: Apache-2.0
 *
 * base64url without padding (RFC 4648, section 5).
 */
#include "core/base64.h"

#include "core/str.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void ecoi_base64url_write(eco_text *out, const char *data, size_t length) {
    uint32_t bits = 0;
    unsigned n_bits = 0;
    for (size_t i = 0; i < length; i++) {
        bits = (bits << 8) | (unsigned char)data[i];
        for (n_bits += 8; n_bits >= 6; n_bits -= 6) {
            ecoi_text_add_char(out, digits[(bits >> (n_bits - 6)) & 63]);
        }
    }
    if (n_bits > 0) {
        ecoi_text_add_char(out, digits[(bits << (6 - n_bits)) & 63]);
    }
}

bool ecoi_base64url_read(eco_text *out, const char *text, size_t length, size_t *bad) {
    uint32_t bits = 0;
    unsigned n_bits = 0;
    for (size_t i = 0; i < length; i++) {
        const char *const digit = text[i] != '\0' ? strchr(digits, text[i]) : NULL;
        if (digit == NULL) {
            *bad = i;
            return false;
        }
        bits = (bits << 6) | (uint32_t)(digit - digits);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            ecoi_text_add_char(out, (char)(unsigned char)((bits >> n_bits) & 255));
        }
    }
    *bad = length;
    return n_bits < 6 && (bits & ((1U << n_bits) - 1)) == 0;
}
