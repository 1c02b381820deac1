/* SPDX-License-Identifier: Apache-2.0
 *
 * uname without the node name.
 */
#include "sys/platform.h"

#include <stdio.h>
#include <sys/utsname.h>

void ecoi_platform_name(char *out, size_t size) {
    struct utsname name;
    if (uname(&name) != 0) {
        snprintf(out, size, "unknown");
        return;
    }
    snprintf(out, size, "%s %s %s", name.sysname, name.release, name.machine);
}
