/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the doctor: how a finding is noted, and the part about the host.
 */
#ifndef ECOCOMPUTE_PROTOCOL_DOCTOR_NOTE_H
#define ECOCOMPUTE_PROTOCOL_DOCTOR_NOTE_H

#include "ecocompute/doctor.h"

/* `remedy` is static, kept only where the state is not ok. */
void ecoi_doctor_note(eco_doctor_report *report, const char *code, eco_finding_state state,
                      const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void ecoi_doctor_host(eco_doctor_report *report, const char *root, const char *output_dir);

#endif
