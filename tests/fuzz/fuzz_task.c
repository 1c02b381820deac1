/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters files of the published task and answers of the published estimator. A task that was taken holds values that a
 * run could be asked for; one that was refused is as it was.
 */
#include "fuzz_check.h"

#include "ecocompute/prefetch.h"
#include "ecocompute/task.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = fuzz_copy(data, size);
    eco_task task = {.model_name = "m",
                     .precision = "NF4",
                     .gpu_arch = "auto",
                     .batch_size = 1,
                     .tokens = 1,
                     .iterations = 1,
                     .sample_rate_hz = 1,
                     .context_length = 1,
                     .quality_seq_len = 2};
    const eco_task before = task;
    eco_text notes = {0};
    eco_error err = {0};
    if (eco_task_parse(&task, text, size, "input", &notes, &err) == ECO_OK) {
        FUZZ_DEMAND(task.batch_size >= 1 && task.batch_size <= 4096 && task.tokens >= 1);
        FUZZ_DEMAND(task.iterations >= 1 && task.iterations <= 1000 && task.warmup <= 1000);
        FUZZ_DEMAND(strcmp(task.precision, "FP16") == 0 || strcmp(task.precision, "NF4") == 0 ||
                    strcmp(task.precision, "INT8") == 0);
        FUZZ_DEMAND(task.model_name[0] != '\0' && task.gpu_arch[0] != '\0');
        FUZZ_DEMAND(!eco_reading_present(task.params_b) || task.params_b.value > 0.0);
    } else {
        FUZZ_DEMAND(err.message[0] != '\0');
        FUZZ_DEMAND(memcmp(&task, &before, sizeof task) == 0);
    }
    eco_text_free(&notes);
    eco_prefetch_answer answer;
    if (eco_prefetch_read(text, size, &answer, &err) == ECO_OK) {
        FUZZ_DEMAND(isfinite(answer.delta_pct));
        FUZZ_DEMAND(memchr(answer.basis, '\0', sizeof answer.basis) != NULL);
    }
    free(text);
    return 0;
}
