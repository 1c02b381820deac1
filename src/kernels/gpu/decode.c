/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a token: which one it is, where decoding stands, and the word to the host.
 */
#include "args.h"
#include "choice.h"
#include "device.h"

/* One warp. Chooses the token, moves on, and tells the host that one more is done. */
KERNEL eco_token_done(const struct gpu_token_done_args a) {
    struct best mine = {-__builtin_inff(), 0xffffffffu};
    for (uint32_t i = thread_index(); i < a.n_parts; i += WARP) {
        mine = better(mine, (struct best){a.part_value[i], a.part_index[i]});
    }
    mine = warp_best(mine);
    if (thread_index() != 0) {
        return;
    }
    if (a.turn) {
        *a.turn += 1;
    }
    const uint32_t next = a.state->position + 1;
    const uint32_t position = next >= a.state->wrap_hi ? a.state->wrap_lo : next;
    /* Logits that are all NaN choose nothing: token 0, never an address outside the table. */
    const uint32_t chosen = mine.index == 0xffffffffu ? 0 : mine.index;
    a.state->token = position < a.state->n_forced ? a.forced[position] : chosen;
    a.state->position = position;
    const uint64_t steps = a.state->steps + 1;
    a.state->steps = steps;
    store_release_system(a.progress, steps);
}
