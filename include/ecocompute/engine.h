/* SPDX-License-Identifier: Apache-2.0
 *
 * Engines prepare a model at a precision and generate an exact number of tokens. An engine knows nothing of
 * order, warm-up, power or statistics. An engine and its arms are used by one thread at a time, except that
 * `eco_work.stop` is set, and `eco_arm_info.progress` read, by others while eco_arm_work runs.
 */
#ifndef ECOCOMPUTE_ENGINE_H
#define ECOCOMPUTE_ENGINE_H

#include "ecocompute/arch.h"
#include "ecocompute/record.h"
#include "ecocompute/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eco_engine eco_engine;
typedef struct eco_arm eco_arm;

typedef struct eco_engine_options {
    const char *name;   /* "native" */
    const char *device; /* "auto", "cpu", "cuda", "cuda:1", "cuda:GPU-…", "cuda:MIG-…" */
    uint32_t n_threads; /* CPU; 0 = all allowed cores */
} eco_engine_options;

typedef struct eco_engine_info {
    const char *name;               /* static */
    eco_boundary boundary;          /* where the work happens */
    char device_name[ECO_NAME_MAX]; /* "NVIDIA H200", or the CPU's model name */
    char detail[256]; /* versions: "driver API 13.0, PTX 7.0 sm_70 embedded", "avx512, 2 threads" */
    char library_path[256]; /* libcuda really loaded; "" on CPU */
    bool library_known;
    uint32_t cuda_index; /* as CUDA numbers it; 0 on CPU */
    uint64_t memory_free_bytes, memory_total_bytes;
    double open_s, compile_s; /* time taken by context creation and PTX compilation; 0 on CPU */
} eco_engine_info;

typedef struct eco_engine_status {
    const char *name, *summary; /* static */
    bool cpu_usable, cuda_usable;
    /* Formats that the engine has kernels for, whether or not a device is usable here. */
    bool cpu_formats[ECO_FORMAT_COUNT], cuda_formats[ECO_FORMAT_COUNT];
    char cuda_reason
        [ECO_ERROR_MESSAGE_MAX]; /* why CUDA can or cannot run here; names the paths tried */
} eco_engine_status;

typedef struct eco_workload {
    const eco_model_shape *shape; /* borrowed: outlives the arm */
    eco_format linear, head;      /* head is FP16 unless asked otherwise */
    uint32_t batch;               /* 1 … 64 sequences in step, all of the same length */
    uint32_t n_prompt, n_tokens;  /* positions n_prompt … n_prompt + n_tokens - 1 are decoded */
    uint64_t seed;                /* of weights and prompt */
    uint32_t outlier_permille;    /* INT8: columns of a thousand that are made outliers */
} eco_workload;

/* What an arm does until it is told to stop. One progress unit is named for each. */
typedef enum eco_work_kind {
    ECO_WORK_DECODE =
        0, /* prefill once, then positions n_prompt … n_prompt+n_tokens-1 again and again; unit: a generated token */
    ECO_WORK_GENERATION, /* whole generations, prefill + decode; unit: a step of one sequence, batch · (n_prompt + n_tokens) a generation */
    ECO_WORK_PREFILL,    /* prefill of the prompt again and again; unit: a prompt token */
    ECO_WORK_READ, /* read device memory once and again (ceiling); unit: eco_work_result.unit_bytes bytes */
    ECO_WORK_LAUNCH, /* empty kernels in the engine's own way (ceiling); unit: a launch */
    ECO_WORK_MATRIX_FP16, /* FP16 products, FP32 sums, of random data (ceiling); unit: eco_work_result.unit_ops operations */
    ECO_WORK_MATRIX_INT8 /* the same of INT8 with INT32 sums */
} eco_work_kind;

typedef struct eco_work {
    eco_work_kind kind;
    const int *stop; /* read with acquire order; nonzero = return at the next unit */
    uint64_t
        n_units_max; /* 0 = until stop; a step of a batch or a chunk of a prompt is not divided and may pass it */
} eco_work;

typedef struct eco_work_result {
    uint64_t n_units;  /* finished */
    double unit_bytes; /* ECO_WORK_READ only */
    double unit_ops;   /* ECO_WORK_MATRIX_… only: 2 a multiply-add */
    double busy_s;     /* wall time in the loop */
} eco_work_result;

typedef struct eco_arm_info {
    const uint64_t *
        progress; /* finished units of the running work, 0 when none runs; read with acquire order */
    uint64_t weight_bytes; /* resident */
    uint64_t device_bytes; /* all memory of the arm */
    uint32_t
        launches_per_token; /* GPU kernels (graph nodes) a decode step, which is a token at batch 1; 0 on CPU */
    const char *prefill_method; /* "token-by-token", static */
    const char *kernels;        /* "plain GEMV, one warp a row", static */
    double prepare_s;
} eco_arm_info;

size_t eco_engine_count(void);
/* Name, summary and formats of row `index`; looks at nothing, so no driver wakes a card. */
void eco_engine_name(size_t index, eco_engine_status *out);
void eco_engine_probe(size_t index, eco_engine_status *out);

/* ECO_E_USAGE: unknown engine or malformed device; ECO_E_NOT_FOUND: no such device; ECO_E_UNSUPPORTED: no CUDA, the reason in err. */
ECO_NODISCARD eco_status eco_engine_open(const eco_engine_options *options, eco_engine **out,
                                         eco_error *err);
/* The boundary that a device text ("cuda", "cuda:1", "cuda:GPU-…", "cpu", "auto" or NULL) means, without a context; kind
 * NONE for "auto" where there is nothing to choose. ECO_E_USAGE: malformed; ECO_E_NOT_FOUND: no such device. */
ECO_NODISCARD eco_status eco_device_find(const char *device, eco_boundary *out, eco_error *err);
void eco_engine_close(eco_engine *engine); /* NULL is fine; arms must be closed before */
void eco_engine_describe(const eco_engine *engine, eco_engine_info *out);

/* Whether the engine's device can run an arm of this workload: as eco_arm_open, but for memory, and without making it.
 * ECO_E_UNSUPPORTED: no kernels for a format or shape, one line says which; ECO_E_RANGE, ECO_E_USAGE: the workload. */
ECO_NODISCARD eco_status eco_arm_check(const eco_engine *engine, const eco_workload *workload,
                                       eco_error *err);
/* Memory an arm of this workload will take on the device, bytes; without making it. */
uint64_t eco_arm_bytes(const eco_engine *engine, const eco_workload *workload);
ECO_NODISCARD eco_status eco_arm_open(eco_engine *engine, const eco_workload *workload,
                                      eco_arm **out, eco_error *err);
void eco_arm_close(eco_arm *arm); /* NULL is fine */
void eco_arm_describe(const eco_arm *arm, eco_arm_info *out);
/* Blocks until stop or n_units_max. For READ and LAUNCH the arm lends its device and buffers. */
ECO_NODISCARD eco_status eco_arm_work(eco_arm *arm, const eco_work *work, eco_work_result *out,
                                      eco_error *err);
/* What a start took: the engine, the model with its weights, the prompt and the first decoded token. */
typedef struct eco_engine_started {
    eco_engine_info engine;
    eco_arm_info arm; /* without progress */
    double open_s, load_s, token_s;
    int64_t begun_ns, first_token_ns; /* CLOCK_MONOTONIC, of the call and of the token */
    eco_reading process_s;            /* from the process's own start to the token, to 0.01 s */
} eco_engine_started;
/* Opens an engine and an arm, decodes one token, closes both. */
ECO_NODISCARD eco_status eco_engine_start(const eco_engine_options *options,
                                          const eco_workload *workload, eco_engine_started *out,
                                          eco_error *err);
/* Logits [batch][n_vocab] after feeding tokens [batch][n] at positions 0 … n-1; for tests and checks, allocates. */
ECO_NODISCARD eco_status eco_arm_logits(eco_arm *arm, const uint32_t *tokens, size_t n,
                                        float *logits, eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
