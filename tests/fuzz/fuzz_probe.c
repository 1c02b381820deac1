/* SPDX-License-Identifier: Apache-2.0
 *
 * A probe's file in the cache. What is taken from it is written and read again to the same numbers, and is inside its
 * own interval.
 */
#include "fuzz_check.h"

#include "ecocompute/probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = fuzz_copy(data, size);
    eco_probe probe;
    eco_probe again;
    eco_error err = {0};
    eco_text out = {0};
    if (eco_probe_read(text, size, "input", &probe, &err) == ECO_OK) {
        FUZZ_DEMAND(eco_probe_write(&probe, &out, &err) == ECO_OK);
        for (size_t i = 0; i < ECO_PROBE_COUNT; i++) {
            const eco_quantity *q = &probe.values[i].quantity;
            FUZZ_DEMAND(q->n == 0 || (q->lo <= q->value && q->value <= q->hi));
        }
        if (probe.seconds >= 0.001) { /* written to 1 ms */
            FUZZ_DEMAND(eco_probe_read(out.data, out.length, "written", &again, &err) == ECO_OK);
            FUZZ_DEMAND(strcmp(again.device, probe.device) == 0);
        }
    } else {
        FUZZ_DEMAND(probe.device[0] == '\0' && err.message[0] != '\0');
    }
    eco_text_free(&out);
    free(text);
    return 0;
}
