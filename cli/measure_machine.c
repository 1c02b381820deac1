/* SPDX-License-Identifier: Apache-2.0
 *
 * What a measurement would find on this machine: the checks of ecocompute measure --dry-run.
 */
#include "measure_options.h"

#include "measure_boards.h"

#include <string.h>

measure_machine measure_look(void) {
    measure_machine found = {0};
    eco_engine_status engine;
    eco_engine_probe(0, &engine);
    found.cuda = engine.cuda_usable;
    memcpy(found.cuda_reason, engine.cuda_reason, sizeof found.cuda_reason);
    for (size_t i = 0; i < eco_meter_count() && !found.gpu_meter; i++) {
        eco_meter_status meter;
        eco_meter_name(i, &meter);
        if (meter.boundary == ECO_BOUNDARY_GPU) {
            eco_meter_probe(i, &meter);
            found.gpu_meter = meter.usable;
            memcpy(found.meter_reason, meter.reason, sizeof found.meter_reason);
        }
    }
    return found;
}

void measure_look_for_meter(measure_machine *found, const cli_meter *meter, bool on_gpu) {
    const eco_meter_options wanted = {
        .name = meter->name,
        .work = {.kind = on_gpu ? ECO_BOUNDARY_GPU : ECO_BOUNDARY_CPU_PACKAGE},
        .config = meter->config};
    found->metered = eco_meter_choose(&wanted, &found->meter);
    found->replayed = found->metered && strcmp(found->meter.name, "replay") == 0;
}

static const char *energy_word(const measure_machine *found) {
    return !found->metered ? "unavailable" : found->replayed ? "replayed" : "measured";
}

static void print_checks(const measure_machine *found, bool on_gpu) {
    cli_out("device: %s\n", on_gpu ? "GPU" : "CPU");
    cli_out("check: CUDA %s%s\n",
            found->cuda ? "usable" : "not usable: ", found->cuda ? "" : found->cuda_reason);
    cli_out("check: NVML %s%s\n", found->gpu_meter ? "usable" : "not usable: ",
            found->gpu_meter ? "" : found->meter_reason);
    if (strcmp(found->meter.name, "nvml") != 0 && found->meter.name[0] != '\0') {
        cli_out("check: meter %s %s: %s\n", found->meter.name,
                found->metered ? "usable" : "not usable", found->meter.reason);
    }
    if (found->refusal.code != ECO_OK) {
        cli_out("check: arms do not run here: %s\n", found->refusal.message);
    } else {
        cli_out("check: arms run here: the largest wants %.3f GB, %.3f GB are free\n",
                (double)found->largest_bytes * 1e-9, (double)found->free_bytes * 1e-9);
    }
    const bool ready = !on_gpu || !found->gpu_meter || cli_boards_ready(&found->board, true);
    cli_out("energy: %s%s\n", ready ? energy_word(found) : "unavailable",
            ready && found->metered && !found->replayed ? "" : "; only time would be measured");
}

/* The checks and the plan as one document, for --dry-run --json. */
static void print_plan_json(const measure_machine *found, bool on_gpu, const eco_plan *plan) {
    uint32_t order[ECO_BLOCKS_MAX * ECO_ARMS_MAX];
    double shortest_s = 0.0;
    double longest_s = 0.0;
    eco_plan_order(plan, order);
    eco_plan_seconds(plan, &shortest_s, &longest_s);
    cli_out("{\n  ");
    cli_json_field("device", on_gpu ? "GPU" : "CPU", false);
    cli_out("\"cuda_usable\": %s, ", found->cuda ? "true" : "false");
    cli_json_field("cuda_reason", found->cuda_reason, false);
    cli_out("\"nvml_usable\": %s, ", found->gpu_meter ? "true" : "false");
    cli_json_field("nvml_reason", found->gpu_meter ? "" : found->meter_reason, false);
    cli_json_field("meter", found->meter.name, false);
    cli_out("\"meter_usable\": %s, ", found->metered ? "true" : "false");
    cli_json_field("meter_reason", found->meter.reason, false);
    cli_out("\"arms_run\": %s, ", found->refusal.code == ECO_OK ? "true" : "false");
    cli_json_field("arms_reason", found->refusal.message, false);
    cli_out("\"largest_arm_bytes\": %llu, \"memory_free_bytes\": %llu, ",
            (unsigned long long)found->largest_bytes, (unsigned long long)found->free_bytes);
    cli_json_field("energy",
                   !on_gpu || !found->gpu_meter || cli_boards_ready(&found->board, false)
                       ? energy_word(found)
                       : "unavailable",
                   false);
    cli_out("\n  ");
    cli_json_field("model", plan->shape->name, false);
    cli_out("\"prompt_tokens\": %u, \"tokens\": %u, \"blocks\": %u, ", plan->n_prompt,
            plan->n_tokens, plan->n_blocks);
    if (plan->protocol == ECO_PROTOCOL_PUBLISHED) {
        cli_out("\"protocol\": \"published\", \"iterations\": %u, \"warmup\": %u, ",
                plan->n_iterations, plan->n_warmup);
    } else {
        cli_out("\"protocol\": \"paired\", \"window_min_s\": %.9g, ", plan->window_s);
    }
    cli_json_field("thermal_mode", plan->thermal == ECO_THERMAL_STEADY ? "steady" : "cold", false);
    cli_out("\"order_seed\": \"%llu\",\n  \"order\": [", (unsigned long long)plan->order_seed);
    for (uint32_t i = 0; i < plan->n_blocks * plan->n_arms; i++) {
        const bool first = i % plan->n_arms == 0;
        cli_out("%s", !first ? ", " : i == 0 ? "[" : "], [");
        cli_json_string(eco_format_at(plan->arms[order[i]])->name);
    }
    cli_out("]],\n  \"shortest_s\": %.9g, \"longest_s\": %.9g, ", shortest_s, longest_s);
    cli_json_field("output_dir", plan->output_dir, true);
    cli_out("\n}\n");
}

void measure_print_plan(bool json, const measure_machine *found, bool on_gpu,
                        const eco_plan *plan) {
    if (json) {
        print_plan_json(found, on_gpu, plan);
        return;
    }
    eco_text text = {0};
    eco_plan_describe(plan, &text);
    print_checks(found, on_gpu);
    cli_print(&text);
    eco_text_free(&text);
}
