/* SPDX-License-Identifier: Apache-2.0
 *
 * libcurl by dlopen. The numbers of its options are part of its stable ABI (curl/curl.h, include since 7.1); only what is
 * used is named here.
 */
#define _GNU_SOURCE

#include "sys/http.h"

#include "core/str.h"
#include "sys/dl.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum {
    HTTP_OPT_WRITEDATA = 10001,
    HTTP_OPT_URL = 10002,
    HTTP_OPT_ERRORBUFFER = 10010,
    HTTP_OPT_USERAGENT = 10018,
    HTTP_OPT_HTTPHEADER = 10023,
    HTTP_OPT_NOSIGNAL = 99,
    HTTP_OPT_TIMEOUT_MS = 155,
    HTTP_OPT_PROTOCOLS = 181,
    HTTP_OPT_WRITEFUNCTION = 20011,
    HTTP_INFO_RESPONSE_CODE = 0x200002,
    HTTP_PROTO_HTTP_AND_HTTPS = 3,
    HTTP_CODE_WRITE_ERROR = 23,
    HTTP_CODE_TIMED_OUT = 28,
    HTTP_ERROR_BYTES = 256
};

typedef struct http_table {
    void *(*easy_init)(void);
    int (*easy_setopt)(void *handle, int option, ...);
    int (*easy_perform)(void *handle);
    int (*easy_getinfo)(void *handle, int info, ...);
    void (*easy_cleanup)(void *handle);
    const char *(*easy_strerror)(int code);
    void *(*slist_append)(void *list, const char *text);
    void (*slist_free_all)(void *list);
} http_table;

#define HTTP_SYMBOL(name_, member_) \
    { .names = {name_}, .offset = offsetof(http_table, member_), .required = true }
static const eco_dl_symbol http_symbols[] = {
    HTTP_SYMBOL("curl_easy_init", easy_init),
    HTTP_SYMBOL("curl_easy_setopt", easy_setopt),
    HTTP_SYMBOL("curl_easy_perform", easy_perform),
    HTTP_SYMBOL("curl_easy_getinfo", easy_getinfo),
    HTTP_SYMBOL("curl_easy_cleanup", easy_cleanup),
    HTTP_SYMBOL("curl_easy_strerror", easy_strerror),
    HTTP_SYMBOL("curl_slist_append", slist_append),
    HTTP_SYMBOL("curl_slist_free_all", slist_free_all),
};

typedef struct http_body {
    eco_text *out;
    size_t size, size_max;
    bool too_large;
} http_body;

static size_t http_take(char *data, size_t size, size_t n, void *user) {
    http_body *body = user;
    const size_t length = size * n; /* size is 1, by libcurl's contract */
    if (length > body->size_max - body->size) {
        body->too_large = true;
        return 0;
    }
    ecoi_text_add(body->out, data, length);
    body->size += length;
    return body->out->failed ? 0 : length;
}

static bool http_set(const http_table *curl, void *handle, const ecoi_http_get *get, void *headers,
                     http_body *body, char *why) {
    return curl->easy_setopt(handle, HTTP_OPT_URL, get->url) == 0 &&
           curl->easy_setopt(handle, HTTP_OPT_PROTOCOLS, (long)HTTP_PROTO_HTTP_AND_HTTPS) == 0 &&
           curl->easy_setopt(handle, HTTP_OPT_TIMEOUT_MS, (long)get->timeout_ms) == 0 &&
           curl->easy_setopt(handle, HTTP_OPT_NOSIGNAL, 1L) == 0 &&
           curl->easy_setopt(handle, HTTP_OPT_ERRORBUFFER, why) == 0 &&
           curl->easy_setopt(handle, HTTP_OPT_WRITEFUNCTION, http_take) == 0 &&
           curl->easy_setopt(handle, HTTP_OPT_WRITEDATA, body) == 0 &&
           (get->user_agent == NULL ||
            curl->easy_setopt(handle, HTTP_OPT_USERAGENT, get->user_agent) == 0) &&
           (headers == NULL || curl->easy_setopt(handle, HTTP_OPT_HTTPHEADER, headers) == 0);
}

static eco_status http_perform(const http_table *curl, void *handle, const ecoi_http_get *get,
                               void *headers, eco_text *out, long *status, eco_error *err) {
    char why[HTTP_ERROR_BYTES] = "";
    http_body body = {.out = out, .size_max = get->size_max};
    if (!http_set(curl, handle, get, headers, &body, why)) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0, "libcurl refused an option");
    }
    const int code = curl->easy_perform(handle);
    (void)curl->easy_getinfo(handle, HTTP_INFO_RESPONSE_CODE, status);
    if (body.too_large) {
        return eco_error_set(err, ECO_E_RANGE, code, "the answer is longer than %zu bytes",
                             get->size_max);
    }
    if (out->failed) {
        return eco_error_set(err, ECO_E_NO_MEMORY, code, "out of memory");
    }
    if (code != 0) {
        return eco_error_set(err, code == HTTP_CODE_TIMED_OUT ? ECO_E_TIMEOUT : ECO_E_IO, code,
                             "%s", why[0] != '\0' ? why : curl->easy_strerror(code));
    }
    return ECO_OK;
}

static eco_status http_exchange(const http_table *curl, const ecoi_http_get *get, eco_text *out,
                                long *status, eco_error *err) {
    void *list = NULL;
    eco_status result = ECO_OK;
    void *handle = curl->easy_init();
    if (handle == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "libcurl gave no handle");
    }
    for (size_t i = 0; get->headers != NULL && get->headers[i] != NULL; i++) {
        void *const longer = curl->slist_append(list, get->headers[i]);
        if (longer == NULL) {
            result = eco_error_set(err, ECO_E_NO_MEMORY, 0, "out of memory");
            goto done;
        }
        list = longer;
    }
    result = http_perform(curl, handle, get, list, out, status, err);
done:
    curl->easy_cleanup(handle);
    curl->slist_free_all(list);
    return result;
}

eco_status ecoi_http_fetch(const ecoi_http_get *get, eco_text *out, long *status, eco_error *err) {
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    http_table curl;
    eco_dl *dl = NULL;
    eco_status found = ECO_E_NOT_FOUND;
    *status = 0;
    if (strncmp(get->url, "http://", 7) != 0 && strncmp(get->url, "https://", 8) != 0) {
        return eco_error_set(err, ECO_E_USAGE, 0, "'%.60s' is no http:// or https:// address",
                             get->url);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0] && found != ECO_OK; i++) {
        const eco_dl_library library = {.soname = names[i],
                                        .symbols = http_symbols,
                                        .n_symbols = sizeof http_symbols / sizeof http_symbols[0]};
        found = ecoi_dl_open(&library, &curl, &dl, err);
    }
    if (found != ECO_OK) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0, "libcurl is not on this machine");
    }
    /* A name look-up that ran out of time may still run in a thread of libcurl: its code must stay. */
    void *const kept = dlopen(ecoi_dl_path(dl), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    const eco_status result = http_exchange(&curl, get, out, status, err);
    if (kept != NULL) {
        (void)dlclose(kept);
    }
    ecoi_dl_close(dl);
    return result;
}
