/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes out of a short text what names a machine or a person, before it travels.
 */
#ifndef ECOI_REDACT_H
#define ECOI_REDACT_H

#include "ecocompute/trace.h"

/* Adds `text` so that a path or URL has its last part only (and "[redacted]" where that is a home folder, or nothing is
 * left), and that a word is "[redacted]" that holds a UUID, an address (x@y, 192.0.2.7) or a host of a private domain
 * (x.local), or that stands behind pid, uid, user, host or hostname. A text with options in it (--x) is a command line and
 * goes whole. Names of the form owner/model stay, as do hosts that look like nothing but a word. */
void ecoi_redact_text(eco_text *out, const char *text);

#endif
