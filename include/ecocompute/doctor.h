/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything that could spoil a measurement on this machine, with what was seen and the remedy. Changes nothing, makes
 * no context on a card, takes about three seconds. Man page: docs/doctor.md.
 */
#ifndef ECOCOMPUTE_DOCTOR_H
#define ECOCOMPUTE_DOCTOR_H

#include "ecocompute/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum eco_finding_state {
    ECO_FINDING_OK = 0,
    ECO_FINDING_UNKNOWN, /* could not be looked at; says why */
    ECO_FINDING_WARN,    /* worth knowing: a result holds, but only as seen here */
    ECO_FINDING_BAD      /* would spoil a measurement */
} eco_finding_state;
const char *eco_finding_state_name(eco_finding_state state); /* "ok", "unknown", "warn", "bad" */

enum { ECO_FINDINGS_MAX = 64, ECO_FINDING_TEXT_MAX = 320 };

typedef struct eco_finding {
    const char *code; /* static */
    eco_finding_state state;
    char seen[ECO_FINDING_TEXT_MAX];
    const char *remedy; /* static; "" where the state is ok */
} eco_finding;

typedef struct eco_doctor_options {
    const char *device;     /* "auto", "cpu", "cuda", "cuda:1", "cuda:GPU-…" */
    const char *output_dir; /* the folder whose space is looked at */
} eco_doctor_options;

typedef struct eco_doctor_report {
    eco_finding findings[ECO_FINDINGS_MAX];
    uint32_t n_findings;
    bool measurable; /* some meter gives power or energy */
    bool spoiled;    /* some finding is bad */
} eco_doctor_report;

/* ECO_E_USAGE: the device text is malformed; ECO_E_NOT_FOUND: there is no such device; ECO_E_INTERRUPTED. */
ECO_NODISCARD eco_status eco_doctor(const eco_doctor_options *options, eco_doctor_report *out,
                                    eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
