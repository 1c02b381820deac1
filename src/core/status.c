/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and texts of the status codes, from the one map in status.h, and the one writer of an
 * eco_error. vsnprintf is the only libc call here, and its messages hold no decimal numbers, so no
 * locale can change them.
 */
#include "ecocompute/status.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

typedef struct status_row {
    eco_status status;
    const char *name, *text;
} status_row;

#define STATUS_ROW(name, number, text) {name, #name, text},
static const status_row status_rows[] = {ECO_STATUS_MAP(STATUS_ROW)};
#undef STATUS_ROW

static const status_row *status_find(eco_status status) {
    for (size_t i = 0; i < sizeof status_rows / sizeof status_rows[0]; i++) {
        if (status_rows[i].status == status) {
            return &status_rows[i];
        }
    }
    return NULL;
}

const char *eco_status_name(eco_status status) {
    const status_row *row = status_find(status);
    return row != NULL ? row->name : "ECO_E_UNKNOWN";
}

const char *eco_status_text(eco_status status) {
    const status_row *row = status_find(status);
    return row != NULL ? row->text : "unknown status";
}

/* A cut in the middle of a UTF-8 sequence would leave bytes that no reader accepts: drop the
 * incomplete tail. */
static void message_trim(char *message) {
    size_t length = 0;
    while (message[length] != '\0') {
        length++;
    }
    size_t start = length;
    while (start > 0 && ((unsigned char)message[start - 1] & 0xC0u) == 0x80u) {
        start--;
    }
    if (start == 0) {
        return;
    }
    const unsigned char lead = (unsigned char)message[start - 1];
    size_t need = 1;
    if (lead >= 0xF0u) {
        need = 4;
    } else if (lead >= 0xE0u) {
        need = 3;
    } else if (lead >= 0xC0u) {
        need = 2;
    }
    if (length - (start - 1) < need) {
        message[start - 1] = '\0';
    }
}

eco_status eco_error_set(eco_error *err, eco_status code, int64_t native, const char *format, ...) {
    if (err == NULL) {
        return code;
    }
    err->code = code;
    err->native = native;
    va_list arguments;
    va_start(arguments, format);
    const int written = vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    if (written < 0) {
        err->message[0] = '\0';
    } else if ((size_t)written >= sizeof err->message) {
        message_trim(err->message);
    }
    return code;
}
