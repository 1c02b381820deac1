/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the protocol start from: a temporary folder that a test works in, and the usual plan. Header only.
 */
#ifndef ECO_TEST_PROTOCOL_FIXTURE_H
#define ECO_TEST_PROTOCOL_FIXTURE_H

#include "ecocompute/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char fixture_home[64];

/* Setup and teardown: into a fresh folder, and out of it, gone with all it holds. */
static inline int fixture_enter(void **state) {
    (void)state;
    (void)snprintf(fixture_home, sizeof fixture_home, "/tmp/eco-protocol-XXXXXX");
    return mkdtemp(fixture_home) != NULL && chdir(fixture_home) == 0 ? 0 : -1;
}

static inline int fixture_leave(void **state) {
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", fixture_home);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1; // NOLINT(cert-env33-c)
}

/* Two arms of a small model in five shuffled blocks, as `measure` plans them on a card. */
static inline eco_plan fixture_plan(void) {
    return (eco_plan){.shape = eco_model_find("TinyLlama-1.1B"),
                      .arms = {ECO_FORMAT_FP16, ECO_FORMAT_NF4},
                      .n_arms = 2,
                      .head = ECO_FORMAT_FP16,
                      .engine = {.name = "native", .device = "cuda"},
                      .batch = 1,
                      .n_prompt = 128,
                      .n_tokens = 256,
                      .seed = 1,
                      .order_seed = 1,
                      .shuffle = true,
                      .n_blocks = 5,
                      .window_s = 5.0,
                      .window_ticks_min = 50.0,
                      .ramp_s = 1.2,
                      .burn_in_s = 1.5,
                      .cooldown_max_s = 5.0,
                      .margin_pct = 3.0,
                      .extra_windows = true,
                      .output_dir = "out"};
}

#endif
