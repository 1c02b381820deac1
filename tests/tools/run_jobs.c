/* SPDX-License-Identifier: Apache-2.0
 *
 * run_jobs: the jobs of ecocompute/jobs.h by the native library, for tests/wasm. Standard input holds job names and
 * requests in turn, each with a NUL behind it; standard output gets each answer with a NUL behind it.
 */
#include "ecocompute/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(FILE *from, size_t *length) {
    size_t capacity = 1u << 20;
    char *text = malloc(capacity);
    *length = 0;
    while (text != NULL) {
        const size_t n = fread(text + *length, 1, capacity - *length, from);
        *length += n;
        if (n == 0) {
            break;
        }
        if (*length == capacity) {
            capacity *= 2;
            char *const larger = realloc(text, capacity);
            if (larger == NULL) {
                free(text);
            }
            text = larger;
        }
    }
    return text;
}

int main(void) {
    size_t length = 0;
    char *const text = read_all(stdin, &length);
    if (text == NULL) {
        (void)fprintf(stderr, "run_jobs: out of memory\n");
        return 1;
    }
    int status = 0;
    for (size_t at = 0; at < length && status == 0;) {
        const char *const job = text + at;
        const char *const end = memchr(job, '\0', length - at);
        const char *const request = end != NULL ? end + 1 : job;
        const char *const last =
            end != NULL ? memchr(request, '\0', length - (size_t)(request - text)) : NULL;
        if (last == NULL) {
            (void)fprintf(stderr,
                          "run_jobs: a name and a request, each ended by NUL, are expected\n");
            status = 2;
            break;
        }
        eco_text answer = {0};
        (void)eco_job_run(job, request, (size_t)(last - request), &answer);
        if (answer.failed || fwrite(answer.data, 1, answer.length + 1, stdout) <= answer.length) {
            (void)fprintf(stderr, "run_jobs: %s: the answer could not be written\n", job);
            status = 1;
        }
        eco_text_free(&answer);
        at = (size_t)(last - text) + 1;
    }
    free(text);
    return fflush(stdout) == 0 ? status : 1;
}
