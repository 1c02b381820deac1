/* SPDX-License-Identifier: Apache-2.0
 *
 * The published estimator's answer before a run. The service is outside: what it says is capped, read strictly and only
 * shown.
 */
#include "ecocompute/prefetch.h"

#include "core/json.h"
#include "core/str.h"
#include "sys/http.h"

#include <string.h>

static void add_encoded(eco_text *out, const char *text) {
    static const char hex[] = "0123456789ABCDEF";
    for (const char *c = text; *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c;
        if ((byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
            (byte >= 'A' && byte <= 'Z') || strchr("-._~", *c) != NULL) {
            ecoi_text_add_char(out, *c);
        } else {
            const char triple[3] = {'%', hex[byte >> 4], hex[byte & 15]};
            ecoi_text_add(out, triple, sizeof triple);
        }
    }
}

void eco_prefetch_url(const eco_prefetch_query *query, eco_text *out) {
    size_t length = strlen(query->base);
    while (length > 0 && query->base[length - 1] == '/') {
        length--;
    }
    ecoi_text_add(out, query->base, length);
    ecoi_text_add_z(out, "/v1/estimate?params_b=");
    ecoi_text_add_number(out, query->params_b);
    ecoi_text_add_z(out, "&arch=");
    add_encoded(out, query->arch);
    ecoi_text_add_z(out, "&precision=");
    add_encoded(out, query->precision);
    ecoi_text_addf(out, "&batch=%u", query->batch);
}

static const ecoi_json *member(const ecoi_json *object, const char *key, ecoi_json_type type) {
    const ecoi_json *value = ecoi_json_member(object, key, strlen(key));
    return value != NULL && value->type == type ? value : NULL;
}

eco_status eco_prefetch_read(const char *json, size_t length, eco_prefetch_answer *out,
                             eco_error *err) {
    *out = (eco_prefetch_answer){.basis = ""};
    ecoi_json_doc doc = {.root = NULL};
    ECO_TRY(ecoi_json_read(json, length, "answer", &doc, err));
    const ecoi_json *delta = member(doc.root, "delta_pct", ECOI_JSON_NUMBER);
    const ecoi_json *basis = member(doc.root, "basis", ECOI_JSON_STRING);
    const ecoi_json *error = member(doc.root, "error", ECOI_JSON_STRING);
    eco_status status = ECO_OK;
    if (delta != NULL) {
        out->delta_pct = delta->number;
        (void)ecoi_str_copy(out->basis, sizeof out->basis, basis != NULL ? basis->text : "");
    } else if (error != NULL) {
        status = eco_error_set(err, ECO_E_NOT_FOUND, 0, "%.150s", error->text);
    } else {
        status = eco_error_set(err, ECO_E_PARSE, 0, "answer: delta_pct: expected a number");
    }
    ecoi_json_fini(&doc);
    return status;
}

eco_status eco_prefetch_ask(const eco_prefetch_query *query, eco_prefetch_answer *out,
                            eco_error *err) {
    static const char *const headers[] = {"Accept: application/json", NULL};
    eco_text url = {0};
    eco_text body = {0};
    long http = 0;
    *out = (eco_prefetch_answer){.basis = ""};
    eco_prefetch_url(query, &url);
    if (url.failed) {
        eco_text_free(&url);
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "out of memory");
    }
    const ecoi_http_get get = {
        .url = url.data,
        .user_agent = "ecocompute-mlcube/1.0 (+https://github.com/hongping-zh/ecocompute-mlcube)",
        .headers = headers,
        .timeout_ms = query->timeout_ms,
        .size_max = ECO_PREFETCH_BYTES_MAX};
    eco_status status = ecoi_http_fetch(&get, &body, &http, err);
    if (status == ECO_OK) {
        status = eco_prefetch_read(body.data != NULL ? body.data : "", body.length, out, err);
    }
    if (status == ECO_E_PARSE && http != 200) {
        status = eco_error_set(err, ECO_E_IO, http, "HTTP status %ld", http);
    }
    eco_text_free(&url);
    eco_text_free(&body);
    return status;
}
