/* SPDX-License-Identifier: Apache-2.0
 *
 * The colour rule apart from the host, so that it can be tested without a terminal.
 */
#ifndef ECOCOMPUTE_SYS_TTY_H
#define ECOCOMPUTE_SYS_TTY_H

#include "ecocompute/host.h"

typedef struct eco_tty_facts {
    bool is_tty;
    const char *no_color; /* value of NO_COLOR, NULL = unset */
    const char *term;     /* value of TERM, NULL = unset */
} eco_tty_facts;

bool ecoi_color_decide(eco_color_choice choice, const eco_tty_facts *facts);

#endif
