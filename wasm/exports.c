/* SPDX-License-Identifier: Apache-2.0
 *
 * What the WebAssembly module offers: memory for a request, and the jobs of ecocompute/jobs.h. The module imports nothing
 * and keeps nothing between calls but its heap. A call that traps (which none should) leaves the heap in an unknown state:
 * the wrapper then throws the instance away.
 */
#include "ecocompute/jobs.h"

#include <stddef.h>
#include <stdlib.h>

#define EXPORT(name) __attribute__((export_name(name)))

void *wasm_allocate(size_t size);
void wasm_release(void *memory);
char *wasm_call(const char *job, const char *request, size_t length);

/* NULL when there is no room. */
EXPORT("eco_allocate") void *wasm_allocate(size_t size) {
    return malloc(size > 0 ? size : 1);
}

EXPORT("eco_release") void wasm_release(void *memory) {
    free(memory);
}

/* The answer, NUL-terminated, for eco_release; NULL when not even an error could be written. `job` is NUL-terminated. */
EXPORT("eco_call") char *wasm_call(const char *job, const char *request, size_t length) {
    eco_text answer = {0};
    (void)eco_job_run(job, request, length, &answer);
    if (answer.failed) {
        eco_text_free(&answer);
        return NULL;
    }
    return answer.data;
}
