/* SPDX-License-Identifier: Apache-2.0
 *
 * Share links: a report's point out, and links of any origin in.
 */
#include "ecocompute/share.h"

#include "core/base64.h"
#include "core/json.h"
#include "core/num.h"
#include "core/str.h"
#include "report/redact.h"

#include <math.h>
#include <string.h>

static const char NO_MODEL[] = "your model", NO_PRECISION[] = "NF4";
static const double PARAMS_B_MAX = 1e6;
enum { PARAMS_DECIMALS = 4, DELTA_DECIMALS = 2 };

/* ---- From a report ---- */

/* What fits of `text`, cut between characters; bytes that are no UTF-8 are left out. */
static void copy_text(char to[ECO_SHARE_TEXT_MAX], const char *text, size_t length) {
    size_t n = 0;
    for (size_t i = 0; i < length;) {
        const size_t size = ecoi_utf8_scan(text + i, length - i);
        if (size == 0 || text[i] == '\0') {
            i++;
            continue;
        }
        if (n + size >= ECO_SHARE_TEXT_MAX) {
            break;
        }
        memcpy(to + n, text + i, size);
        n += size;
        i += size;
    }
    to[n] = '\0';
}

static eco_status take_text(const eco_report *report, eco_field field, const char *otherwise,
                            char to[ECO_SHARE_TEXT_MAX], eco_error *err) {
    const char *text = NULL;
    if (!eco_report_string(report, field, ECO_TOP, &text) || text[0] == '\0') {
        text = otherwise;
    }
    eco_text kept = {0};
    ecoi_redact_text(&kept, text);
    if (kept.failed) {
        eco_text_free(&kept);
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "share: out of memory");
    }
    copy_text(to, kept.data != NULL ? kept.data : "", kept.length);
    eco_text_free(&kept);
    return ECO_OK;
}

static eco_status take_texts(const eco_report *report, eco_share_point *out, eco_error *err) {
    ECO_TRY(take_text(report, ECO_FIELD_WL_MODEL, NO_MODEL, out->model, err));
    ECO_TRY(take_text(report, ECO_FIELD_SUT_GPU_ARCH, "", out->arch, err));
    ECO_TRY(take_text(report, ECO_FIELD_WL_PRECISION, NO_PRECISION, out->precision, err));
    ECO_TRY(take_text(report, ECO_FIELD_SUT_GPU, "", out->gpu, err));
    ECO_TRY(take_text(report, ECO_FIELD_WL_ENGINE, "", out->engine, err));
    return take_text(report, ECO_FIELD_WL_WEIGHTS, "", out->weights, err);
}

static eco_status check_numbers(const eco_share_point *point, const char *what, const char *params,
                                const char *delta, eco_error *err) {
    if (!(point->params_b > 0.0 && point->params_b <= PARAMS_B_MAX)) {
        return eco_error_set(err, ECO_E_INVALID, 0,
                             "%s: %s: a number above 0 and at most 1000000 is expected", what,
                             params);
    }
    if (!(point->delta_pct > -100.0 && isfinite(point->delta_pct))) {
        return eco_error_set(err, ECO_E_INVALID, 0, "%s: %s: a number above -100 is expected", what,
                             delta);
    }
    return ECO_OK;
}

eco_status eco_share_point_of(const eco_report *report, eco_share_point *out, eco_error *err) {
    *out = (eco_share_point){.basis = ECO_BASIS_UNAVAILABLE};
    const char *basis = NULL;
    if (!eco_report_number(report, ECO_FIELD_RE_DELTA, ECO_TOP, &out->delta_pct)) {
        return eco_error_set(err, ECO_E_NOT_FOUND, 0,
                             "no link: results.vs_fp16_energy_pct: the report has no change of "
                             "energy against FP16");
    }
    if (!eco_report_number(report, ECO_FIELD_WL_PARAMS_B, ECO_TOP, &out->params_b) ||
        out->params_b == 0.0) {
        return eco_error_set(err, ECO_E_NOT_FOUND, 0,
                             "no link: workload.params_b: the report does not tell the model's "
                             "size");
    }
    ECO_TRY(check_numbers(out, "report", "workload.params_b", "results.vs_fp16_energy_pct", err));
    ECO_TRY(take_texts(report, out, err));
    if (ecoi_str_equal_nocase(out->precision, "FP16")) {
        return eco_error_set(err, ECO_E_NOT_FOUND, 0,
                             "no link: workload.precision: FP16 is what the others are compared "
                             "with");
    }
    if (eco_report_string(report, ECO_FIELD_RE_BASIS, ECO_TOP, &basis) &&
        !eco_basis_parse(basis, &out->basis)) {
        return eco_error_set(err, ECO_E_INVALID, 0, "report: results.basis: '%.40s' is no basis",
                             basis);
    }
    return ECO_OK;
}

/* ---- Out ---- */

/* A JSON string in ASCII, so that a reader that takes bytes for characters reads the same. */
static void add_string(eco_text *out, const char *text) {
    ecoi_text_add_char(out, '"');
    for (size_t i = 0; text[i] != '\0';) {
        const unsigned char c = (unsigned char)text[i];
        const size_t size = ecoi_utf8_scan(text + i, strlen(text + i));
        if (c >= 0x20 && c < 0x7f) {
            if (c == '"' || c == '\\') {
                ecoi_text_add_char(out, '\\');
            }
            ecoi_text_add_char(out, (char)c);
        } else {
            static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
            uint32_t scalar = size > 0 ? c & lead_bits[size] : 0xfffdU;
            for (size_t k = 1; k < size; k++) {
                scalar = (scalar << 6) | ((unsigned char)text[i + k] & 0x3fU);
            }
            if (scalar > 0xffff) {
                ecoi_text_addf(out, "\\u%04x", 0xd800U + ((scalar - 0x10000U) >> 10));
                scalar = 0xdc00U + ((scalar - 0x10000U) & 0x3ffU);
            }
            ecoi_text_addf(out, "\\u%04x", scalar);
        }
        i += size > 0 ? size : 1;
    }
    ecoi_text_add_char(out, '"');
}

static void add_member(eco_text *out, const char *key, const char *text) {
    ecoi_text_addf(out, ",\"%s\":", key);
    add_string(out, text);
}

static bool site_is_usable(const char *site) {
    const char *host = NULL;
    if (ecoi_str_starts_with(site, "https://")) {
        host = site + strlen("https://");
    } else if (ecoi_str_starts_with(site, "http://")) {
        host = site + strlen("http://");
    }
    if (host == NULL || host[0] == '\0' || host[0] == '/' || strlen(site) > ECO_SHARE_BLOB_MAX) {
        return false;
    }
    for (const char *c = host; *c != '\0'; c++) {
        if (*c <= ' ' || *c == 0x7f || strchr("?#\"'<>\\^`{|}@", *c) != NULL) {
            return false;
        }
    }
    return true;
}

eco_status eco_share_url(const eco_share_point *point, const char *site, eco_text *out,
                         eco_error *err) {
    const char *const at = site != NULL ? site : ECO_SHARE_SITE;
    if (!site_is_usable(at)) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "share: site '%.80s': http:// or https:// and a host is expected, "
                             "without query",
                             at);
    }
    ECO_TRY(check_numbers(point, "share", "params_b", "delta_pct", err));
    const eco_share_point rounded = {.params_b = ecoi_num_round(point->params_b, PARAMS_DECIMALS),
                                     .delta_pct = ecoi_num_round(point->delta_pct, DELTA_DECIMALS)};
    ECO_TRY(check_numbers(&rounded, "share", "params_b", "delta_pct", err));
    size_t n_site = strlen(at);
    while (at[n_site - 1] == '/') {
        n_site--;
    }
    eco_text json = {0};
    ecoi_text_add_z(&json, "{\"m\":");
    add_string(&json, point->model);
    ecoi_text_add_z(&json, ",\"N\":");
    ecoi_text_add_number(&json, rounded.params_b);
    add_member(&json, "a", point->arch);
    add_member(&json, "p", point->precision);
    ecoi_text_add_z(&json, ",\"e\":");
    ecoi_text_add_number(&json, rounded.delta_pct);
    add_member(&json, "b", eco_basis_name(point->basis));
    add_member(&json, "g", point->gpu);
    if (point->engine[0] != '\0') {
        add_member(&json, "x", point->engine);
    }
    if (point->weights[0] != '\0') {
        add_member(&json, "w", point->weights);
    }
    ecoi_text_add_char(&json, '}');
    ecoi_text_add(out, at, n_site);
    ecoi_text_add_z(out, "/?tab=run&overlay=");
    if (!json.failed) {
        ecoi_base64url_write(out, json.data, json.length);
    }
    const bool failed = json.failed || out->failed;
    eco_text_free(&json);
    return failed ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "share: out of memory") : ECO_OK;
}
