/* SPDX-License-Identifier: Apache-2.0
 *
 * What the energy model counts of a model, a card and a software stack. Shapes come from the model table; two more
 * that were only ever measured by others stand here; a size without a name gets a typical shape. Pure.
 */
#include "model/energy_model_parts.h"

#include "core/num.h"

#include <math.h>
#include <string.h>

typedef struct named_shape {
    const char *name;
    double layers, linear_g, head_g,
        kv_values; /* kv_values: K and V numbers a layer and position */
    bool few_outliers;
} named_shape;

/* From the config.json of 01-ai/Yi-1.5-6B and microsoft/Phi-3-mini-4k-instruct. Phi-3 fuses q, k, v and gate, up: four
 * linears a layer for seven, so that LLM.int8 launches about as little on it as on a model without outliers. */
static const named_shape named_shapes[] = {
    {"Yi-1.5-6B", 32.0, 5.53648, 0.262144, 1024.0, false},
    {"Phi-3-mini", 32.0, 3.623879, 0.098501, 6144.0, true},
};

/* Layers and head of published models near a size (the model table; 32 and 70 billion: Qwen2.5-32B, Llama-3-70B; 175:
 * the GPT-3 paper). */
typedef struct typical_shape {
    double params_b, layers, head_g;
} typical_shape;
static const typical_shape typical_shapes[] = {
    {0.135, 30.0, 0.028}, {0.5, 24.0, 0.136}, {1.1, 22.0, 0.066},   {1.5, 28.0, 0.233},
    {3.0, 36.0, 0.311},   {7.0, 30.0, 0.34},  {9.0, 48.0, 0.262},   {14.0, 48.0, 0.779},
    {32.0, 64.0, 0.779},  {70.0, 80.0, 1.05}, {175.0, 96.0, 0.618},
};
enum { N_TYPICAL = sizeof typical_shapes / sizeof typical_shapes[0] };

static const char *const hbm_cards[] = {"A100",  "A800", "A30",  "H100", "H200", "H800", "H20",
                                        "GH200", "B100", "B200", "B300", "V100", "P100", "TITAN V"};

void ecoi_energy_copy(char *out, size_t size, const char *text) {
    size_t n = text != NULL ? strlen(text) : 0;
    n = n < size ? n : size - 1;
    if (n > 0) {
        memcpy(out, text, n);
    }
    out[n] = '\0';
}

void ecoi_energy_key_add(char key[ECOI_ENERGY_KEY_MAX], const char *part) {
    const size_t n = strlen(key);
    if (part[0] == '\0' || n + 2 >= ECOI_ENERGY_KEY_MAX) {
        return;
    }
    if (n > 0) {
        key[n] = '|';
    }
    ecoi_energy_copy(key + n + (n > 0), ECOI_ENERGY_KEY_MAX - n - (n > 0), part);
}

static void shape_of_table(const eco_model_shape *model, ecoi_energy_shape *out) {
    out->layers = (double)model->n_layers;
    out->linear_g = (double)eco_model_n_linear_params(model) / 1e9;
    out->head_g = (double)model->n_vocab * (double)model->d_model / 1e9;
    out->kv_gb =
        4.0 * (double)model->n_layers * (double)model->n_kv_heads * (double)model->d_head / 1e9;
    /* Of the models measured under LLM.int8 this one spends a quarter less a layer than the others. That it has few outlier
     * features is the likely reason, not a measured one. */
    out->few_outliers = strcmp(model->name, "TinyLlama-1.1B") == 0;
}

static void shape_of_size(double params_b, ecoi_energy_shape *out) {
    size_t hi = 1;
    while (hi + 1 < N_TYPICAL && typical_shapes[hi].params_b < params_b) {
        hi++;
    }
    const typical_shape *a = &typical_shapes[hi - 1], *b = &typical_shapes[hi];
    double f = log(params_b / a->params_b) / log(b->params_b / a->params_b);
    f = f < 0.0 ? 0.0 : f > 1.0 ? 1.0 : f;
    const double head_g = a->head_g + f * (b->head_g - a->head_g);
    out->layers = a->layers + f * (b->layers - a->layers);
    out->head_g = fmin(head_g, 0.25 * params_b);
    /* Small models tie the head to the embedding, large ones hold both. */
    out->linear_g = params_b - (params_b < 5.0 ? 1.0 : 2.0) * out->head_g;
    out->kv_gb = 4.0 * out->layers * 512.0 / 1e9;
    out->typical = true;
}

bool ecoi_energy_shape_of(const char *model, double params_b, ecoi_energy_shape *out) {
    *out = (ecoi_energy_shape){0};
    const eco_model_shape *known = eco_model_find(model);
    if (known != NULL) {
        shape_of_table(known, out);
        return true;
    }
    for (size_t i = 0; model != NULL && i < sizeof named_shapes / sizeof named_shapes[0]; i++) {
        const named_shape *s = &named_shapes[i];
        if (strcmp(model, s->name) == 0) {
            *out = (ecoi_energy_shape){.layers = s->layers,
                                       .linear_g = s->linear_g,
                                       .head_g = s->head_g,
                                       .kv_gb = 2.0 * s->layers * s->kv_values / 1e9,
                                       .few_outliers = s->few_outliers};
            return true;
        }
    }
    if (!(params_b > 0.0)) {
        return false;
    }
    shape_of_size(params_b, out);
    return true;
}

bool ecoi_energy_engine_known(const char *engine) {
    return strcmp(engine, "transformers") == 0 || strcmp(engine, "native") == 0 ||
           strcmp(engine, "llama.cpp") == 0;
}

void ecoi_energy_stack_of(const char *engine, const char *stack, char out[ECOI_ENERGY_KEY_MAX]) {
    static const char word[] = "bitsandbytes ";
    out[0] = '\0';
    if (strcmp(engine, "transformers") != 0) {
        ecoi_energy_copy(out, ECOI_ENERGY_KEY_MAX, engine);
        return;
    }
    const char *at = stack != NULL ? strstr(stack, word) : NULL;
    if (at == NULL) {
        return;
    }
    ecoi_energy_copy(out, ECOI_ENERGY_KEY_MAX, at + sizeof word - 1);
    out[strcspn(out, ";, ")] = '\0';
}

void ecoi_energy_card_of(const char *gpu, const char *arch, ecoi_energy_case *out) {
    const eco_card *card = gpu != NULL && gpu[0] != '\0' ? eco_card_find(gpu) : NULL;
    out->card_known = card != NULL;
    out->tdp_w = card != NULL ? card->tdp_w : 300.0;
    ecoi_energy_copy(out->gpu, sizeof out->gpu, card != NULL ? card->name : gpu);
    const char *family = arch != NULL && arch[0] != '\0' ? arch : card != NULL ? card->family : "";
    ecoi_energy_copy(out->arch, sizeof out->arch, family);
    out->hbm = strcmp(family, "hopper") == 0;
    for (size_t i = 0; i < sizeof hbm_cards / sizeof hbm_cards[0]; i++) {
        const size_t n = strlen(hbm_cards[i]);
        const char after = strncmp(out->gpu, hbm_cards[i], n) == 0 ? out->gpu[n] : '.';
        out->hbm = out->hbm || after == ' ' || after == '\0';
    }
}

bool ecoi_energy_case_of_row(const eco_anchor *row, ecoi_energy_case *out) {
    *out = (ecoi_energy_case){0};
    eco_format format;
    if (row->basis < ECO_BASIS_REPLAYED || /* an estimate teaches nothing */
        !eco_format_find(row->precision, &format) || format == ECO_FORMAT_FP16 ||
        !ecoi_energy_engine_known(row->engine) ||
        !ecoi_energy_shape_of(row->model, row->params_b, &out->shape)) {
        return false;
    }
    ecoi_energy_card_of(row->gpu, row->arch, out);
    ecoi_energy_stack_of(row->engine, row->stack, out->stack);
    ecoi_energy_copy(out->session, sizeof out->session, row->session);
    ecoi_energy_copy(out->engine, sizeof out->engine, row->engine);
    ecoi_energy_copy(out->precision, sizeof out->precision, row->precision);
    out->params_b = row->params_b;
    out->bytes_per_weight = eco_format_at(format)->bits_per_weight / 8.0;
    out->batch = eco_reading_present(row->batch) ? row->batch.value : 1.0;
    out->context = eco_reading_present(row->context) ? row->context.value : 139.0;
    return true;
}
