/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute probe: this device's ceilings, each with its interval or "n = 1".
 */
#include "cli.h"
#include "meter_options.h"

#include "ecocompute/probe.h"

#include <stdio.h>

enum { KEY_DEVICE = CLI_KEY_OWN, KEY_REFRESH, KEY_FORCE };

typedef struct probe_input {
    cli_common common;
    cli_meter meter;
    const char *device;
    bool refresh, force;
} probe_input;

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "DEVICE", 0,
     "auto, cpu, cuda, cuda:1, cuda:GPU-… or cuda:MIG-… (default: auto)", 1},
    {"refresh", KEY_REFRESH, 0, 0, "Probe anew, whatever the cache holds", 1},
    {"force", KEY_FORCE, 0, 0, "Probe although others use the device", 1},
    CLI_METER_OPTIONS(2,
                      "Meters in order of preference, parted by commas: the first that can run and "
                      "sees the work (default: found by the work)"),
    CLI_COMMON_OPTIONS,
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    probe_input *input = state->input;
    switch (key) {
    case KEY_DEVICE:
        input->device = argument;
        return 0;
    case KEY_REFRESH:
        input->refresh = true;
        return 0;
    case KEY_FORCE:
        input->force = true;
        return 0;
    case ARGP_KEY_ARG:
        cli_usage_error("probe: unexpected argument '%s'", argument);
    default:
        return cli_meter_option(&input->meter, key, argument)
                   ? 0
                   : cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Probes the ceilings of a device in under 20 s: read bandwidth and energy per gigabyte, "
           "matrix rates, the cost of a launch, the idles. The result is kept in "
           "$XDG_CACHE_HOME/ecocompute for `ecocompute explain`; a measurement never uses it and "
           "probes anew.\v"
           "Example: ecocompute probe --refresh"};

static void say(void *user, const char *line) {
    (void)user;
    cli_err("%s\n", line);
}

static void print_value(const eco_probe *probe, eco_probe_item item) {
    const eco_probe_info *info = eco_probe_at(item);
    const eco_quantity *q = &probe->values[item].quantity;
    if (q->n == 0) {
        cli_out("  %-13s  %10s  %-8s  %-24s  %s\n", info->key, "-", info->unit, "",
                probe->values[item].why);
        return;
    }
    char spread[64] = "n = 1";
    if (q->n > 1) {
        snprintf(spread, sizeof spread, "%.4g to %.4g, n = %u", q->lo / info->si, q->hi / info->si,
                 q->n);
    }
    cli_out("  %-13s  %10.4g  %-8s  %-24s  %s; %s\n", info->key, q->value / info->si, info->unit,
            spread, info->text, probe->values[item].method);
}

static int print_probe(const probe_input *input, const eco_probe *probe) {
    if (input->common.json) {
        eco_text text = {0};
        eco_error error = {0};
        if (eco_probe_write(probe, &text, &error) != ECO_OK) {
            return cli_fail(&error);
        }
        cli_print(&text);
        eco_text_free(&text);
        return EXIT_DONE;
    }
    cli_out("%s%s%s%s%s\n", probe->device, probe->driver[0] != '\0' ? ", driver " : "",
            probe->driver, probe->meter[0] != '\0' ? ", meter " : ", no meter", probe->meter);
    if (probe->cached) {
        cli_out("from the cache, probed at %s; --refresh probes anew\n", probe->probed_utc);
    } else {
        cli_out("probed now, in %.1f s\n", probe->seconds);
    }
    if (!probe->libraries_known) {
        cli_out("warning: a driver library was loaded from outside the known driver folders\n");
    }
    cli_out("  %-13s  %10s  %-8s  %-24s  %s\n", "ceiling", "value", "unit", "95 % interval",
            "what, and how");
    for (size_t i = 0; i < ECO_PROBE_COUNT; i++) {
        print_value(probe, (eco_probe_item)i);
    }
    return EXIT_DONE;
}

int cmd_probe(int argc, char **argv) {
    probe_input input = {.device = "auto"};
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    cli_check_device(input.device);
    cli_meter_settle(&input.meter);
    const eco_probe_request request = {.engine = {.name = "native", .device = input.device},
                                       .meter = input.meter.name,
                                       .meter_config = input.meter.config,
                                       .refresh = input.refresh,
                                       .force = input.force};
    const eco_measure_hooks hooks = {.progress = input.common.quiet ? NULL : say};
    eco_probe probe;
    eco_error error = {0};
    if (eco_probe_run(&request, &hooks, &probe, &error) != ECO_OK) {
        return error.code == ECO_E_UNSUPPORTED
                   ? (cli_err("ecocompute: %s\n", error.message), EXIT_UNMEASURED)
                   : cli_fail(&error);
    }
    return print_probe(&input, &probe);
}
