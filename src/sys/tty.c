/* SPDX-License-Identifier: Apache-2.0
 *
 * Is there a person at the other end, and do they want colour? NO_COLOR as no-color.org has it: set
 * and not empty means no, whatever its value; an explicit --color always wins over it.
 */
#include "sys/tty.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool eco_color_parse(const char *text, eco_color_choice *out) {
    static const char *const names[] = {
        [ECO_COLOR_AUTO] = "auto", [ECO_COLOR_ALWAYS] = "always", [ECO_COLOR_NEVER] = "never"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (eco_color_choice)i;
            return true;
        }
    }
    return false;
}

bool ecoi_color_decide(eco_color_choice choice, const eco_tty_facts *facts) {
    if (choice != ECO_COLOR_AUTO) {
        return choice == ECO_COLOR_ALWAYS;
    }
    const bool refused = facts->no_color != NULL && facts->no_color[0] != '\0';
    const bool dumb = facts->term == NULL || strcmp(facts->term, "dumb") == 0;
    return facts->is_tty && !refused && !dumb;
}

bool eco_is_tty(int fd) {
    return isatty(fd) == 1;
}

bool eco_color_wanted(eco_color_choice choice, int fd) {
    const eco_tty_facts facts = {
        .is_tty = eco_is_tty(fd), .no_color = getenv("NO_COLOR"), .term = getenv("TERM")};
    return ecoi_color_decide(choice, &facts);
}
