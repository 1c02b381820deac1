/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that list what is built in.
 */
#include "ecocompute/anchors.h"
#include "ecocompute/arch.h"
#include "jobs/job.h"
#include "model/energy_model_parts.h"
#include "model/json_maker.h"

#include <stdio.h>
#include <string.h>

static const double MEAN_POSITION = 256; /* of the default workload */

eco_status ecoi_job_models(const ecoi_json *request, eco_text *out, eco_error *err) {
    ECO_TRY(ecoi_members_read(request, "models", NULL, 0, NULL, err));
    ecoi_maker m = {0};
    ecoi_json *const list = ecoi_make_array(&m);
    for (size_t i = 0; i < eco_model_count(); i++) {
        const eco_model_shape *const shape = eco_model_at(i);
        ecoi_json *const row = ecoi_make_object(&m);
        ecoi_put_text(&m, row, "name", shape->name);
        ecoi_put_text(&m, row, "hf_id", shape->hf_id);
        ecoi_put_text(&m, row, "family", shape->family);
        ecoi_put_number(&m, row, "params_b", shape->params_b);
        ecoi_put_number(&m, row, "params", (double)eco_model_n_params(shape));
        ecoi_put_count(&m, row, "layers", shape->n_layers);
        ecoi_put_count(&m, row, "width", shape->d_model);
        ecoi_json *const bytes = ecoi_make_object(&m);
        for (eco_format f = 0; f < ECO_FORMAT_COUNT; f++) {
            const eco_token_bytes token =
                eco_model_token_bytes(shape, f, ECO_FORMAT_FP16, MEAN_POSITION);
            ecoi_put_number(&m, bytes, eco_format_at(f)->name, token.total);
        }
        ecoi_put(&m, row, "bytes_per_token", bytes);
        ecoi_append(&m, list, row);
    }
    return ecoi_make_end(&m, list, "models", out, err);
}

eco_status ecoi_job_cards(const ecoi_json *request, eco_text *out, eco_error *err) {
    ECO_TRY(ecoi_members_read(request, "cards", NULL, 0, NULL, err));
    ecoi_maker m = {0};
    ecoi_json *const list = ecoi_make_array(&m);
    for (size_t i = 0; i < eco_card_count(); i++) {
        const eco_card *const card = eco_card_at(i);
        ecoi_json *const row = ecoi_make_object(&m);
        ecoi_put_text(&m, row, "name", card->name);
        ecoi_put_text(&m, row, "family", card->family);
        ecoi_put_number(&m, row, "vram_gb", card->vram_gb);
        ecoi_put_number(&m, row, "mem_bw_gb_per_s", card->mem_bw_gb_per_s);
        ecoi_put_number(&m, row, "fp16_tflops", card->fp16_tflops);
        ecoi_put_number(&m, row, "tdp_w", card->tdp_w);
        ecoi_put_reading(&m, row, "idle_w", card->idle_w);
        ecoi_put_text(&m, row, "source", card->source);
        ecoi_append(&m, list, row);
    }
    return ecoi_make_end(&m, list, "cards", out, err);
}

static void put_anchor(ecoi_maker *m, ecoi_json *row, const eco_anchor *anchor) {
    const struct {
        const char *key, *text;
    } texts[] = {{"id", anchor->id},
                 {"gpu", anchor->gpu},
                 {"arch", anchor->arch},
                 {"model", anchor->model},
                 {"precision", anchor->precision},
                 {"engine", anchor->engine},
                 {"stack", anchor->stack},
                 {"session", anchor->session},
                 {"window", anchor->window},
                 {"doi", anchor->doi},
                 {"licence", anchor->licence},
                 {"note", anchor->note}};
    const struct {
        const char *key;
        eco_reading value;
    } readings[] = {{"vram_gb", anchor->vram_gb},
                    {"batch", anchor->batch},
                    {"context", anchor->context},
                    {"energy_fp16_j1k", anchor->energy_fp16_j1k},
                    {"energy_quant_j1k", anchor->energy_quant_j1k},
                    {"energy_fp16_sd_j1k", anchor->energy_fp16_sd_j1k},
                    {"energy_quant_sd_j1k", anchor->energy_quant_sd_j1k},
                    {"throughput_quant_tok_s", anchor->throughput_quant_tok_s},
                    {"power_quant_w", anchor->power_quant_w}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ecoi_put_text(m, row, texts[i].key, texts[i].text);
    }
    ecoi_put_number(m, row, "params_b", anchor->params_b);
    ecoi_put_count(m, row, "n_trials", anchor->n_trials);
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        ecoi_put_reading(m, row, readings[i].key, readings[i].value);
    }
    double delta_pct = 0;
    const bool known = eco_anchor_delta_pct(anchor, &delta_pct);
    ecoi_put_reading(m, row, "delta_pct",
                     known ? eco_reading_of(delta_pct)
                           : eco_reading_absent(ECO_ABSENT_UNSUPPORTED));
    ecoi_put_bool(m, row, "in_published_fit", anchor->in_published_fit);
}

eco_status ecoi_job_anchors(const ecoi_json *request, eco_text *out, eco_error *err) {
    ECO_TRY(ecoi_members_read(request, "anchors", NULL, 0, NULL, err));
    const eco_anchor_table *const table = eco_anchors_builtin();
    ecoi_maker m = {0};
    ecoi_json *const list = ecoi_make_array(&m);
    for (size_t i = 0; i < table->n; i++) {
        ecoi_json *const row = ecoi_make_object(&m);
        put_anchor(&m, row, &table->rows[i]);
        ecoi_append(&m, list, row);
    }
    return ecoi_make_end(&m, list, "anchors", out, err);
}

enum { STACKS_MAX = 32, NAMES_MAX = 32 };

typedef struct name_list {
    const char *names[NAMES_MAX];
    size_t n;
} name_list;

typedef struct stack_row {
    const char *engine;
    char stack[ECOI_ENERGY_KEY_MAX]; /* of bitsandbytes; "" = none named, or another engine */
    size_t n_rows;
    name_list sessions, cards, precisions;
} stack_row;

/* False: the list is full. */
static bool add_once(name_list *list, const char *name) {
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->names[i], name) == 0) {
            return true;
        }
    }
    if (list->n < NAMES_MAX) {
        list->names[list->n++] = name;
        return true;
    }
    return false;
}

/* What the energy model takes for one stack. False: a list is full. */
static bool add_stack(stack_row *rows, size_t *n, const eco_anchor *anchor) {
    char stack[ECOI_ENERGY_KEY_MAX] = "";
    if (strcmp(anchor->engine, "transformers") == 0) {
        ecoi_energy_stack_of(anchor->engine, anchor->stack, stack);
    }
    size_t at = 0;
    while (at < *n &&
           (strcmp(rows[at].engine, anchor->engine) != 0 || strcmp(rows[at].stack, stack) != 0)) {
        at++;
    }
    if (at == STACKS_MAX) {
        return false;
    }
    if (at == *n) {
        rows[at] = (stack_row){.engine = anchor->engine};
        memcpy(rows[at].stack, stack, sizeof stack);
        (*n)++;
    }
    rows[at].n_rows++;
    return add_once(&rows[at].sessions, anchor->session) &&
           add_once(&rows[at].cards, anchor->gpu) &&
           add_once(&rows[at].precisions, anchor->precision);
}

static void put_names(ecoi_maker *m, ecoi_json *row, const char *key, const name_list *list) {
    ecoi_json *const names = ecoi_make_array(m);
    for (size_t i = 0; i < list->n; i++) {
        ecoi_append(m, names,
                    ecoi_json_new_string(&m->doc, list->names[i], strlen(list->names[i])));
    }
    ecoi_put(m, row, key, names);
}

static void put_stack(ecoi_maker *m, ecoi_json *list, const stack_row *stack) {
    char name[ECOI_ENERGY_KEY_MAX + sizeof "bitsandbytes "];
    (void)snprintf(name, sizeof name, "bitsandbytes %s", stack->stack);
    ecoi_json *const row = ecoi_make_object(m);
    ecoi_put_text(m, row, "engine", stack->engine);
    ecoi_put_text(m, row, "stack", stack->stack[0] != '\0' ? name : NULL);
    ecoi_put_count(m, row, "rows", stack->n_rows);
    ecoi_put_count(m, row, "sessions", stack->sessions.n);
    put_names(m, row, "cards", &stack->cards);
    put_names(m, row, "precisions", &stack->precisions);
    ecoi_append(m, list, row);
}

eco_status ecoi_job_stacks(const ecoi_json *request, eco_text *out, eco_error *err) {
    ECO_TRY(ecoi_members_read(request, "stacks", NULL, 0, NULL, err));
    const eco_anchor_table *const table = eco_anchors_builtin();
    stack_row rows[STACKS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < table->n; i++) {
        if (!add_stack(rows, &n, &table->rows[i])) {
            return eco_error_set(err, ECO_E_RANGE, 0, "stacks: the table has too many names");
        }
    }
    ecoi_maker m = {0};
    ecoi_json *const list = ecoi_make_array(&m);
    for (size_t i = 0; i < n; i++) {
        put_stack(&m, list, &rows[i]);
    }
    return ecoi_make_end(&m, list, "stacks", out, err);
}
