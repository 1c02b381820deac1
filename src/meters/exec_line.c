/* SPDX-License-Identifier: Apache-2.0
 *
 * One line of a metering program: untrusted, so strict. "power_w 12.3": watts now; "energy_j 4567.8": joules since some
 * fixed time.
 */
#include "core/num.h"
#include "meters/exec_child.h"

#include <math.h>
#include <string.h>

bool ecoi_exec_line(const char *line, size_t length, eco_exec_kind *kind, double *value) {
    static const char *const words[ECO_EXEC_KINDS] = {
        [ECO_EXEC_POWER] = "power_w ", [ECO_EXEC_ENERGY] = "energy_j "};
    *kind = ECO_EXEC_POWER;
    *value = 0.0;
    for (int i = 0; i < ECO_EXEC_KINDS; i++) {
        const size_t n = strlen(words[i]);
        if (length > n && length <= ECO_EXEC_LINE_MAX && memcmp(line, words[i], n) == 0) {
            *kind = (eco_exec_kind)i;
            return ecoi_num_parse(line + n, length - n, value) == ECO_OK && isfinite(*value) &&
                   *value >= 0.0;
        }
    }
    return false;
}
