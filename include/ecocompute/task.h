/* SPDX-License-Identifier: Apache-2.0
 *
 * The published task energy_estimate: its inputs, by the same keys as flags and in a YAML parameters file, and what a
 * report says before any number stands in it. docs/energy-estimate.md.
 */
#ifndef ECOCOMPUTE_TASK_H
#define ECOCOMPUTE_TASK_H

#include "ecocompute/report.h"
#include "ecocompute/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ECO_TASK_TEXT_MAX = 1024 };

typedef struct eco_task {
    char model_name[ECO_TASK_TEXT_MAX]; /* Hugging Face id, name of a shape, or a path */
    char precision[8];                  /* "FP16", "NF4", "INT8" */
    char gpu_arch[ECO_NAME_MAX];        /* a class, a card, or "auto" */
    char quality_text[ECO_TASK_TEXT_MAX];
    eco_reading params_b; /* billions; absent: from the model's name */
    uint32_t batch_size, tokens, iterations, warmup, sample_rate_hz, context_length,
        quality_seq_len;
    bool quality_probe, steady, power_trace; /* steady: thermal mode */
} eco_task;

/* The keys, one a row: key, what is expected, in words. NULL behind the last. */
const char *eco_task_key(size_t index);
const char *eco_task_key_expected(size_t index);

/* Sets one input from its text: "NF4" in any case, "true", "null" for params_b. ECO_E_USAGE, the message without the key:
 * "'x' is not usable; expected …"; ECO_E_NOT_FOUND: no such key. The task is untouched by a failure. */
ECO_NODISCARD eco_status eco_task_set(eco_task *task, const char *key, const char *text,
                                      eco_error *err);

/* Lays a parameters file over the task: a flat mapping of the keys. Unknown keys are passed over and named in `notes`, one
 * a line, since the published program passes over them too. ECO_E_NOT_FOUND: no such file. ECO_E_USAGE, ECO_E_PARSE or
 * ECO_E_RANGE: "file:line:column: key: …". */
ECO_NODISCARD eco_status eco_task_load(eco_task *task, const char *path, eco_text *notes,
                                       eco_error *err);
/* The same of a text; `name` stands in messages. */
ECO_NODISCARD eco_status eco_task_parse(eco_task *task, const char *text, size_t length,
                                        const char *name, eco_text *notes, eco_error *err);

/* What every report of this program begins with: schema, scenario and its note, time (now, UTC), host, the program and its
 * build, the command (without what names a person), the notice. `run_id` and `command` are copied. */
void eco_report_begin(eco_report *report, uint32_t batch, const char *run_id, const char *command);

#ifdef __cplusplus
}
#endif
#endif
