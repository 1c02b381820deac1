/* SPDX-License-Identifier: Apache-2.0
 *
 * Energies of a quantized model and of its own FP16 run, a row a result: the tidy table data/anchors.csv, which is built
 * in, or the same columns read from a CSV of the user's. Energies are in J per 1000 tokens (= mJ per token). A change in
 * percent is always derived from the two energies; where a source gives only the percentage, the energies are absent and
 * delta_pct_only is present. docs/data.md names every source, licence and correction.
 */
#ifndef ECOCOMPUTE_ANCHORS_H
#define ECOCOMPUTE_ANCHORS_H

#include "ecocompute/record.h"
#include "ecocompute/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Texts are never NULL; "" where the source does not say. */
typedef struct eco_anchor {
    const char *id;        /* unique in its table: "p-4090-jul-qwen2-0.5b-nf4" */
    const char *gpu;       /* "RTX 4090" */
    const char *arch;      /* "ada" */
    const char *model;     /* "Qwen2-0.5B" */
    const char *precision; /* "NF4", "INT8", … */
    const char *engine;    /* "transformers" (bitsandbytes), "llama.cpp", "native" */
    const char *stack;     /* versions, as far as they are known */
    const char *session;   /* one machine in one sitting: what shares a session shares its faults */
    const char *window;    /* "generation", "decode" */
    const char *doi, *licence, *note;
    double params_b;                     /* billions, as the source labels the model */
    eco_reading vram_gb, batch, context; /* context: mean position of a generated token */
    uint32_t n_trials;                   /* independent repeats; 0 = the source does not say */
    eco_reading energy_fp16_j1k, energy_quant_j1k;       /* J per 1000 tokens */
    eco_reading energy_fp16_sd_j1k, energy_quant_sd_j1k; /* standard deviation over the trials */
    eco_reading delta_pct_only;                          /* %, only where no energies are given */
    eco_reading throughput_quant_tok_s, power_quant_w;
    eco_basis basis;       /* of the energies, or of the change where there are none */
    bool in_published_fit; /* one of the 29 points behind the published curves */
} eco_anchor;

typedef struct eco_anchor_table {
    const eco_anchor *rows;
    size_t n;
} eco_anchor_table;

/* data/anchors.csv as built in; static. */
const eco_anchor_table *eco_anchors_builtin(void);

/* 100 (quant − fp16) / fp16 from the energies, else delta_pct_only; false if the row has neither. */
bool eco_anchor_delta_pct(const eco_anchor *row, double *delta_pct);

/* A CSV with a header: gpu, arch, model, params_b, precision, energy_fp16_j1k and energy_quant_j1k are required, the other
 * names of eco_anchor and the published measured.csv (n_trials, energy_quant_std_j1k, note, …) are read where they are
 * there, unknown columns are passed over. Untrusted: sizes are capped, numbers must be finite and in their range. Without a
 * column `session` a card is a session; without `in_published_fit` every row is in; without `engine` it is "transformers";
 * without `basis` it is measured, since that is all the published table holds.
 * ECO_E_PARSE or ECO_E_RANGE with "name:line: column: …", ECO_E_NO_MEMORY. On success *out is the caller's:
 * eco_anchors_free. */
typedef struct eco_anchors eco_anchors;
ECO_NODISCARD eco_status eco_anchors_read_csv(const char *text, size_t length, const char *name,
                                              eco_anchors **out, eco_error *err);
const eco_anchor_table *eco_anchors_rows(const eco_anchors *anchors); /* as long as `anchors` */
void eco_anchors_free(eco_anchors *anchors);

#ifdef __cplusplus
}
#endif
#endif
