/* SPDX-License-Identifier: Apache-2.0
 *
 * Share links: one result of a report as a point that the page overlays on the published curves,
 * SITE/?tab=run&overlay=BLOB. The blob is compact JSON in base64url without padding, with the published keys in the published
 * order (m N a p e b g) and two of ours behind them (x engine, w weights). What names a machine or a person is taken out
 * of the texts. A link is untrusted and unsigned: what it says is a claim. Pure.
 */
#ifndef ECOCOMPUTE_SHARE_H
#define ECOCOMPUTE_SHARE_H

#include "ecocompute/report.h"
#include "ecocompute/status.h"
#include "ecocompute/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ECO_SHARE_TEXT_MAX = 128, /* bytes of a text, NUL included */
    ECO_SHARE_BLOB_MAX = 8192,
    ECO_SHARE_URL_MAX = 65536,
    ECO_SHARE_POINTS_MAX = 16 /* overlays of one link */
};
#define ECO_SHARE_SITE "https://quantenergy.tech"

/* One result. Texts are UTF-8; "" where nothing is said. */
typedef struct eco_share_point {
    char model[ECO_SHARE_TEXT_MAX];
    char arch[ECO_SHARE_TEXT_MAX];
    char precision[ECO_SHARE_TEXT_MAX];
    char gpu[ECO_SHARE_TEXT_MAX];
    char engine[ECO_SHARE_TEXT_MAX];
    char weights[ECO_SHARE_TEXT_MAX];
    char source[ECO_SHARE_TEXT_MAX]; /* read from links of others; never written */
    double params_b;                 /* 1e9 parameters, above 0 */
    double delta_pct;                /* change of energy per token against FP16, above -100 */
    eco_basis basis;                 /* copied */
} eco_share_point;

/* The point of a report. ECO_E_NOT_FOUND with the field: there is nothing to share (no change, no size, or FP16, which is
 * what others are compared with). ECO_E_INVALID: a field of the report is out of range. */
ECO_NODISCARD eco_status eco_share_point_of(const eco_report *report, eco_share_point *out,
                                            eco_error *err);

/* Adds the link. `site` NULL: ECO_SHARE_SITE; else http:// or https:// without query, ECO_E_USAGE otherwise. params_b is
 * rounded to 4 decimals, delta_pct to 2. */
ECO_NODISCARD eco_status eco_share_url(const eco_share_point *point, const char *site,
                                       eco_text *out, eco_error *err);

/* Every overlay of a link, or one bare blob. ECO_E_PARSE, ECO_E_RANGE or ECO_E_INVALID "link: …" in one line; *n = 0. The
 * long keys of the published page are read too; what is unknown is passed over. */
ECO_NODISCARD eco_status eco_share_decode(const char *link, size_t length,
                                          eco_share_point points[ECO_SHARE_POINTS_MAX], size_t *n,
                                          eco_error *err);

/* The points for a person, and as a JSON array. */
void eco_share_text(const eco_share_point *points, size_t n, eco_text *out);
ECO_NODISCARD eco_status eco_share_json(const eco_share_point *points, size_t n, eco_text *out,
                                        eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
