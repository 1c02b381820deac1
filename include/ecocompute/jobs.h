/* SPDX-License-Identifier: Apache-2.0
 *
 * The pure core as jobs by name: a JSON object in, one JSON document out. The page calls them through wasm/exports.c; they
 * are the same functions as the commands' and print the same digits. docs/wasm.md lists each job's members.
 */
#ifndef ECOCOMPUTE_JOBS_H
#define ECOCOMPUTE_JOBS_H

#include "ecocompute/status.h"
#include "ecocompute/trace.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ECO_JOB_REQUEST_MAX = 64 * 1024 * 1024 }; /* bytes */

typedef struct eco_job_info {
    const char *name, *summary; /* static */
} eco_job_info;

/* NULL behind the last. */
const eco_job_info *eco_job_at(size_t index);

/* Runs the job `name`. The request is untrusted: size and depth are capped, a member that the job does not know is an
 * error. Always adds one document with "\n" at its end to the empty `out`: the answer, or, with a status other than
 * ECO_OK, {"error": "…", "code": "ECO_E_…"}. After ECO_E_NO_MEMORY `out` may have failed instead. No state, no clock, no
 * file; threads may call it at the same time. */
eco_status eco_job_run(const char *name, const char *request, size_t length, eco_text *out);

#ifdef __cplusplus
}
#endif
#endif
