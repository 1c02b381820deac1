/* SPDX-License-Identifier: Apache-2.0
 *
 * The platform's name as a report may show it: system, release and machine type, never the host's name.
 */
#ifndef ECOCOMPUTE_SYS_PLATFORM_H
#define ECOCOMPUTE_SYS_PLATFORM_H

#include <stddef.h>

void ecoi_platform_name(char *out,
                        size_t size); /* "Linux 6.1.0-30-amd64 x86_64"; "unknown" when not told */

#endif
