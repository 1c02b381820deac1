/* SPDX-License-Identifier: Apache-2.0
 *
 * A question to the published estimator over HTTP, before a run: GET BASE/v1/estimate. What it answers is told and enters
 * no report. Needs libcurl at run time; without it, or without an answer, a run goes on.
 */
#ifndef ECOCOMPUTE_PREFETCH_H
#define ECOCOMPUTE_PREFETCH_H

#include "ecocompute/status.h"
#include "ecocompute/trace.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ECO_PREFETCH_BASE "https://ecocompute-estimator.zhanghongping1982.workers.dev"
enum { ECO_PREFETCH_TIMEOUT_MS = 6000, ECO_PREFETCH_BYTES_MAX = 65536 };

typedef struct eco_prefetch_query {
    const char *base;      /* http:// or https:// */
    double params_b;       /* billions */
    const char *arch;      /* "" = unknown */
    const char *precision; /* "NF4" */
    uint32_t batch;
    uint32_t timeout_ms;
} eco_prefetch_query;

typedef struct eco_prefetch_answer {
    double delta_pct; /* change of energy per token against FP16 */
    char basis[32];   /* as the service says it; "" = it did not */
} eco_prefetch_answer;

/* The address asked: names are percent-encoded, an empty arch is "arch=". */
void eco_prefetch_url(const eco_prefetch_query *query, eco_text *out);
/* Reads an answer: ECO_E_PARSE, or ECO_E_NOT_FOUND with the service's own "error". */
ECO_NODISCARD eco_status eco_prefetch_read(const char *json, size_t length,
                                           eco_prefetch_answer *out, eco_error *err);
/* Asks and waits at most timeout_ms. Every failure is one line in *err: ECO_E_UNSUPPORTED without libcurl, ECO_E_TIMEOUT,
 * ECO_E_IO, and those of eco_prefetch_read. */
ECO_NODISCARD eco_status eco_prefetch_ask(const eco_prefetch_query *query, eco_prefetch_answer *out,
                                          eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
