/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that list what is built in.
 */
#include "ecocompute/anchors.h"
#include "ecocompute/arch.h"
#include "jobs/job.h"
#include "model/json_maker.h"

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
