/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes out of a short text what names a machine or a person, before it travels.
 */
#ifndef ECOI_REDACT_H
#define ECOI_REDACT_H

#include "ecocompute/trace.h"

/* Adds `text` so that a path or URL has its last part only (and "[redacted]" where that is a home folder, or nothing is
 * left), and that a word that holds a UUID or an address (x@y) is "[redacted]". Names of the form owner/model stay. */
void ecoi_redact_text(eco_text *out, const char *text);

#endif
