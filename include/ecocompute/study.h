/* SPDX-License-Identifier: Apache-2.0
 *
 * A study: one row a result, from reports or from a CSV of such rows. The first twelve columns are those of the published
 * data set (measured.csv), so that one table holds both; J per 1000 tokens and mJ per token are the same number.
 */
#ifndef ECOCOMPUTE_STUDY_H
#define ECOCOMPUTE_STUDY_H

#include "ecocompute/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(enumerator, column, is a number, decimals) */
#define ECO_STUDY_COLUMNS(X)                             \
    X(GPU, "gpu", false, 0)                              \
    X(ARCH, "arch", false, 0)                            \
    X(VRAM, "vram_gb", true, 0)                          \
    X(MODEL, "model", false, 0)                          \
    X(PARAMS, "params_b", true, 3)                       \
    X(PRECISION, "precision", false, 0)                  \
    X(BASE_MJ, "energy_fp16_j1k", true, 3)               \
    X(MJ, "energy_quant_j1k", true, 3)                   \
    X(RUNS, "n_runs", true, 0)                           \
    X(TRIALS, "n_trials", true, 0)                       \
    X(STD, "energy_quant_std_j1k", true, 3)              \
    X(NOTE, "note", false, 0)                            \
    X(ENGINE, "engine", false, 0)                        \
    X(BATCH, "batch", true, 0)                           \
    X(CONTEXT, "context", true, 1)                       \
    X(BYTES, "bytes_per_token", true, 0)                 \
    X(DELTA, "delta_pct", true, 3)                       \
    X(LO, "ci95_lo_pct", true, 3)                        \
    X(HI, "ci95_hi_pct", true, 3)                        \
    X(U_RATIO, "u_expanded_ratio_pct", true, 4)          \
    X(U_ABSOLUTE, "u_expanded_absolute_pct", true, 4)    \
    X(VERDICT, "verdict", false, 0)                      \
    X(BASIS, "basis", false, 0)                          \
    X(BASE_MJ_LO, "energy_fp16_lo_j1k", true, 3)         \
    X(BASE_MJ_HI, "energy_fp16_hi_j1k", true, 3)         \
    X(MJ_LO, "energy_quant_lo_j1k", true, 3)             \
    X(MJ_HI, "energy_quant_hi_j1k", true, 3)             \
    X(BASE_TPS, "tokens_per_s_fp16", true, 3)            \
    X(TPS, "tokens_per_s_quant", true, 3)                \
    X(BASE_W, "power_fp16_w", true, 3)                   \
    X(W, "power_quant_w", true, 3)                       \
    X(BASE_BYTES, "bytes_per_token_fp16", true, 0)       \
    X(BASE_SHARE, "bandwidth_share_fp16", true, 4)       \
    X(SHARE, "bandwidth_share_quant", true, 4)           \
    X(BASE_FACTOR, "energy_over_roofline_fp16", true, 3) \
    X(FACTOR, "energy_over_roofline_quant", true, 3)     \
    X(BASE_BOUND, "bound_fp16", false, 0)                \
    X(BOUND, "bound_quant", false, 0)                    \
    X(READ_GBS, "read_bandwidth_gb_per_s", true, 3)      \
    X(READ_MJ_GB, "read_mj_per_gb", true, 3)             \
    X(PROTOCOL, "protocol", false, 0)                    \
    X(WINDOW, "window", false, 0)                        \
    X(WEIGHTS, "weights", false, 0)                      \
    X(DRIVER, "driver", false, 0)                        \
    X(CARD, "card", false, 0)                            \
    X(TOOL, "tool", false, 0)                            \
    X(SESSION, "session", false, 0)                      \
    X(RUN, "run_id", false, 0)                           \
    X(REPORT, "report", false, 0)

typedef enum eco_study_column {
#define ECO_STUDY_COLUMN(id, name, number, decimals) ECO_STUDY_##id,
    ECO_STUDY_COLUMNS(ECO_STUDY_COLUMN)
#undef ECO_STUDY_COLUMN
        ECO_STUDY_COLUMN_COUNT
} eco_study_column;

enum {
    ECO_STUDY_ROWS_MAX = 100000,
    ECO_STUDY_CELL_MAX = 4096, /* bytes of a cell */
    ECO_STUDY_FIELDS_MAX = 256 /* columns of a foreign CSV, unknown ones counted */
};

typedef struct eco_study eco_study;
eco_study *eco_study_new(void); /* NULL when out of memory */
void eco_study_free(eco_study *study);

/* One row. `path` is what the report is called in it. `redact` takes out of every text what names a person or a machine
 * (docs/share.md), and of the path all but the file and the folder of a run. */
ECO_NODISCARD eco_status eco_study_add_report(eco_study *study, const eco_report *report,
                                              const char *path, bool redact, eco_error *err);
/* Rows of a CSV (RFC 4180) whose first line names columns; unknown ones are passed over. ECO_E_PARSE "name:line: …",
 * ECO_E_RANGE over a cap; rows before the fault stay. */
ECO_NODISCARD eco_status eco_study_add_csv(eco_study *study, const char *text, size_t length,
                                           const char *name, eco_error *err);

uint32_t eco_study_size(const eco_study *study);
bool eco_study_number(const eco_study *study, uint32_t row, eco_study_column column, double *out);
/* "" where the cell is empty; lives as long as the study. */
const char *eco_study_text(const eco_study *study, uint32_t row, eco_study_column column);

/* CSV: header and rows; a text that a spreadsheet would take for a formula gets an apostrophe before it, which
 * eco_study_add_csv takes away again. JSONL: an object a line, empty cells null. Markdown: a table of the columns people
 * compare. */
void eco_study_write_csv(const eco_study *study, eco_text *out);
ECO_NODISCARD eco_status eco_study_write_jsonl(const eco_study *study, eco_text *out,
                                               eco_error *err);
void eco_study_write_markdown(const eco_study *study, eco_text *out);

#ifdef __cplusplus
}
#endif
#endif
