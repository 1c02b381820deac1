/* SPDX-License-Identifier: Apache-2.0
 *
 * One GET by libcurl, which is loaded only when it is asked for: a machine without it loses nothing but the answer.
 */
#ifndef ECOI_HTTP_H
#define ECOI_HTTP_H

#include "ecocompute/status.h"
#include "ecocompute/trace.h"

typedef struct ecoi_http_get {
    const char *url;            /* http:// or https://; anything else is ECO_E_USAGE */
    const char *user_agent;     /* NULL = none */
    const char *const *headers; /* "Accept: application/json"; NULL ends; may be NULL */
    uint32_t timeout_ms;        /* of the whole exchange, above 0 */
    size_t size_max;            /* a longer body is ECO_E_RANGE */
} ecoi_http_get;

/* Adds the body to *out. Redirects are not followed, no proxy credentials or cookies are kept, certificates are checked.
 * ECO_E_UNSUPPORTED: no libcurl; ECO_E_TIMEOUT, ECO_E_IO: with libcurl's words. *status is the HTTP status, 0 where none
 * came; one above 299 is no failure. One thread at a time. */
ECO_NODISCARD eco_status ecoi_http_fetch(const ecoi_http_get *get, eco_text *out, long *status,
                                         eco_error *err);

#endif
