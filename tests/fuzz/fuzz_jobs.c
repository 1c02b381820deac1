/* SPDX-License-Identifier: Apache-2.0
 *
 * A request from a page: the input's first line names the job, the rest is the request. Whatever comes in, one document
 * comes out that reads back, and it is an error exactly where the status is one.
 */
#include "fuzz_check.h"

#include "core/json.h"
#include "ecocompute/jobs.h"

static void check_answer(const eco_text *answer, eco_status status) {
    FUZZ_DEMAND(!answer->failed && answer->length > 0);
    FUZZ_DEMAND(answer->data[answer->length - 1] == '\n');
    FUZZ_DEMAND(strlen(answer->data) == answer->length); /* the page looks for the NUL */
    ecoi_json_doc doc = {0};
    eco_error err = {0};
    FUZZ_DEMAND(ecoi_json_read(answer->data, answer->length, "answer", &doc, &err) == ECO_OK);
    const ecoi_json *const error = ecoi_json_member(doc.root, "error", strlen("error"));
    FUZZ_DEMAND((error != NULL) == (status != ECO_OK));
    FUZZ_DEMAND(error == NULL || error->text_length > 0);
    ecoi_json_fini(&doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = fuzz_copy_z(data, size);
    const size_t n_name = strcspn(text, "\n");
    const size_t begin = n_name < size ? n_name + 1 : size;
    text[n_name] = '\0';
    /* Two thousand refits an input are too slow for a fuzzer. */
    if (strcmp(text, "fit") == 0 && strstr(text + begin, "\"bootstraps\": 0") == NULL) {
        free(text);
        return 0;
    }
    /* Behind the copy of the request nothing may be read. */
    char *const request = fuzz_copy((const uint8_t *)text + begin, size - begin);
    eco_text answer = {0};
    const eco_status status = eco_job_run(text, request, size - begin, &answer);
    check_answer(&answer, status);
    eco_text_free(&answer);
    free(request);
    free(text);
    return 0;
}
