/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the rules. Pure.
 */
#include "ecocompute/rules.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
    [ECO_RULES_CURRENT] = "current",
    [ECO_RULES_PUBLISHED_1_1] = "published-1.1",
};

const char *eco_rules_name(eco_rules rules) {
    return names[rules];
}

bool eco_rules_parse(const char *name, eco_rules *out) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (name != NULL && strcmp(name, names[i]) == 0) {
            *out = (eco_rules)i;
            return true;
        }
    }
    return false;
}
