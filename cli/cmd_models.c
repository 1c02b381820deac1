/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute models: the shapes built in, with the bytes a token reads at each format.
 */
#include "cli.h"

#include "ecocompute/arch.h"

#include <stdio.h>

static const struct argp_option options[] = {CLI_COMMON_OPTIONS, {0}};
static const double MEAN_POSITION = 256; /* of the default workload */

static error_t parse(int key, char *argument, struct argp_state *state) {
    return cli_common_option(state->input, key, argument);
}

static const struct argp argp = {.options = options,
                                 .parser = parse,
                                 .doc = "Lists the model shapes the native engine can build, with "
                                        "the gigabytes a decoded token must move at "
                                        "position 256.\v"
                                        "Example: ecocompute models"};

static double gigabytes(const eco_model_shape *shape, eco_format format) {
    return eco_model_token_bytes(shape, format, ECO_FORMAT_FP16, MEAN_POSITION).total * 1e-9;
}

static void print_json(void) {
    cli_out("[");
    for (size_t i = 0; i < eco_model_count(); i++) {
        const eco_model_shape *shape = eco_model_at(i);
        cli_out("%s\n  {", i == 0 ? "" : ",");
        cli_json_field("name", shape->name, false);
        cli_json_field("hf_id", shape->hf_id, false);
        cli_json_field("family", shape->family, false);
        cli_out("\"params_b\": %.9g, \"params\": %llu, \"layers\": %u, \"width\": %u, \"heads\": "
                "%u, \"kv_heads\": %u, "
                "\"ffn\": %u, \"vocabulary\": %u, \"tied_embeddings\": %s, \"qkv_bias\": %s",
                shape->params_b, (unsigned long long)eco_model_n_params(shape), shape->n_layers,
                shape->d_model, shape->n_heads, shape->n_kv_heads, shape->d_ff, shape->n_vocab,
                shape->tied_embeddings ? "true" : "false", shape->qkv_bias ? "true" : "false");
        for (eco_format f = 0; f < ECO_FORMAT_COUNT; f++) {
            cli_out(", \"gb_per_token_%s\": %.6g", eco_format_at(f)->name, gigabytes(shape, f));
        }
        cli_out("}");
    }
    cli_out("\n]\n");
}

int cmd_models(int argc, char **argv) {
    cli_common common = {0};
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &common);
    if (common.json) {
        print_json();
        return EXIT_DONE;
    }
    cli_out("%-16s %8s %7s %6s %9s %7s %8s %s", "model", "params", "layers", "width", "heads/kv",
            "ffn", "vocab", "head");
    for (eco_format f = 0; f < ECO_FORMAT_COUNT; f++) {
        cli_out("  GB/token %s", eco_format_at(f)->name);
    }
    cli_out("\n");
    for (size_t i = 0; i < eco_model_count(); i++) {
        const eco_model_shape *shape = eco_model_at(i);
        char heads[24];
        snprintf(heads, sizeof heads, "%u/%u", shape->n_heads, shape->n_kv_heads);
        cli_out("%-16s %7.3fB %7u %6u %9s %7u %8u %s", shape->name,
                (double)eco_model_n_params(shape) * 1e-9, shape->n_layers, shape->d_model, heads,
                shape->d_ff, shape->n_vocab, shape->tied_embeddings ? "tied" : "own ");
        for (eco_format f = 0; f < ECO_FORMAT_COUNT; f++) {
            cli_out("  %13.3f", gigabytes(shape, f));
        }
        cli_out("\n");
    }
    return EXIT_DONE;
}
