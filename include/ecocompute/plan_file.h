/* SPDX-License-Identifier: Apache-2.0
 *
 * Plan files (YAML, docs/plan.md): a list of experiments for `measure --plan`, and the index that says which of them are
 * done. A plan names models, formats and numbers; it cannot name a command, a file or a server.
 */
#ifndef ECOCOMPUTE_PLAN_FILE_H
#define ECOCOMPUTE_PLAN_FILE_H

#include "ecocompute/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ECO_EXPERIMENTS_MAX = 256, ECO_EXPERIMENT_NAME_MAX = 64, ECO_PLAN_NAME_MAX = 64 };

/* Numbers an experiment may set; each row: enumerator, key in the file, least, most, whole. */
#define ECO_PLAN_NUMBERS(X)                                   \
    X(PROMPT, "prompt_tokens", 1, 1048576, true)              \
    X(TOKENS, "tokens", 1, 1048576, true)                     \
    X(BLOCKS, "blocks", 1, ECO_BLOCKS_MAX, true)              \
    X(WINDOW, "window", 0.2, 600, false)                      \
    X(MARGIN, "margin", 0, 100, false)                        \
    X(COOLDOWN, "cooldown_max", 0, 600, false)                \
    X(OUTLIERS, "outliers", 0, 1000, true)                    \
    X(ITERATIONS, "iterations", 1, ECO_ITERATIONS_MAX, true)  \
    X(WARMUP, "warmup", 0, ECO_ITERATIONS_MAX, true)          \
    X(STEADY_MAX, "steady_max", ECO_STEADY_MIN_S, 600, false) \
    X(SEED, "seed", 0, 9007199254740991.0, true)              \
    X(ORDER_SEED, "order_seed", 0, 9007199254740991.0, true)

typedef enum eco_plan_number {
#define ECO_PLAN_NUMBER(id, key, least, most, whole) ECO_PLAN_##id,
    ECO_PLAN_NUMBERS(ECO_PLAN_NUMBER)
#undef ECO_PLAN_NUMBER
        ECO_PLAN_NUMBER_COUNT
} eco_plan_number;

/* One model at one batch with all its precisions. */
typedef struct eco_experiment {
    char name[ECO_EXPERIMENT_NAME_MAX]; /* "03-qwen2-7b-b1": its folder */
    uint32_t line;                      /* of the entry in the file */
    const eco_model_shape *shape;
    eco_format baseline, precisions[ECO_ARMS_MAX];
    uint32_t n_precisions; /* the baseline not counted; 0 = the baseline alone */
    uint32_t batch;
    double numbers[ECO_PLAN_NUMBER_COUNT]; /* negative = not given */
    bool quick, published, steady, fixed_order;
} eco_experiment;

typedef struct eco_plan_file {
    char name[ECO_PLAN_NAME_MAX]; /* "" = none given */
    char sha256[72];              /* of the file's bytes, hex */
    uint32_t n;
    eco_experiment *experiments; /* malloc'ed */
} eco_plan_file;

/* ECO_E_PARSE, ECO_E_RANGE or ECO_E_USAGE with "file:line:column: …"; what file reading gives. */
ECO_NODISCARD eco_status eco_plan_file_load(const char *path, eco_plan_file *out, eco_error *err);
/* The same of a text; `name` stands in messages. */
ECO_NODISCARD eco_status eco_plan_file_parse(const char *text, size_t length, const char *name,
                                             eco_plan_file *out, eco_error *err);
void eco_plan_file_free(eco_plan_file *file);

/* ---- The index: plan.json in the output folder, rewritten whole (temporary file, rename) at each change ---- */

typedef enum eco_experiment_state {
    ECO_EXPERIMENT_PENDING = 0,
    ECO_EXPERIMENT_RUNNING, /* begun; read back: the program ended without a word */
    ECO_EXPERIMENT_DONE,
    ECO_EXPERIMENT_UNMEASURED, /* ran, but no energy could be read */
    ECO_EXPERIMENT_FAILED,
    ECO_EXPERIMENT_INTERRUPTED
} eco_experiment_state;
const char *eco_experiment_state_name(eco_experiment_state state);

typedef struct eco_plan_index eco_plan_index;
/* `folder` exists. Without `resume` it must hold no index (ECO_E_USAGE); with it, one of the same plan (ECO_E_NOT_FOUND,
 * ECO_E_USAGE when the plan's bytes have changed). `plan` is borrowed. */
ECO_NODISCARD eco_status eco_plan_index_open(const char *folder, const eco_plan_file *plan,
                                             bool resume, eco_plan_index **out, eco_error *err);
void eco_plan_index_free(eco_plan_index *index); /* NULL is fine */
eco_experiment_state eco_plan_index_state(const eco_plan_index *index, uint32_t experiment);
/* Notes a new attempt; *folder (name inside the output folder) is new: what an earlier attempt left stays. */
ECO_NODISCARD eco_status eco_plan_index_begin(eco_plan_index *index, uint32_t experiment,
                                              char folder[ECO_EXPERIMENT_NAME_MAX + 16],
                                              eco_error *err);
/* How the attempt ended: the program's exit status for it, and the reason where there is one (NULL = none). */
ECO_NODISCARD eco_status eco_plan_index_end(eco_plan_index *index, uint32_t experiment,
                                            eco_experiment_state state, int exit_status,
                                            const char *reason, eco_error *err);
/* The index as it stands on disk. */
ECO_NODISCARD eco_status eco_plan_index_text(const eco_plan_index *index, eco_text *out,
                                             eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
