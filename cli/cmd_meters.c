/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute meters: every meter, why it can or cannot run here, and its devices; --characterize measures the sensor,
 * --watch shows what the meters read.
 */
#include "cli.h"
#include "meters_watch.h"

#include "ecocompute/plan.h"

#include <stdio.h>
#include <string.h>

enum { KEY_CHARACTERIZE = CLI_KEY_OWN, KEY_DEVICE, KEY_WATCH, KEY_COUNT };

typedef struct meters_input {
    cli_common common;
    cli_meter meter;
    bool characterize, watch;
    const char *device;
    uint64_t n_lines; /* of --watch, 0 = no end */
} meters_input;

static const struct argp_option options[] = {
    {"characterize", KEY_CHARACTERIZE, 0, 0,
     "Measure the sensor on one load step (about 15 s, needs CUDA)", 0},
    {"device", KEY_DEVICE, "DEVICE", 0,
     "cuda, cuda:1, cuda:GPU-… or cuda:MIG-… (with --characterize)", 0},
    {"watch", KEY_WATCH, 0, 0, "A line a second of what the meters read, until Ctrl-C", 0},
    {"count", KEY_COUNT, "N", 0, "End --watch after N lines", 0},
    CLI_METER_OPTIONS(1, "Only these meters, parted by commas"),
    CLI_COMMON_OPTIONS,
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    meters_input *input = state->input;
    switch (key) {
    case KEY_CHARACTERIZE:
        input->characterize = true;
        return 0;
    case KEY_DEVICE:
        input->device = argument;
        return 0;
    case KEY_WATCH:
        input->watch = true;
        return 0;
    case KEY_COUNT:
        input->n_lines = cli_integer("--count", argument, 0, 1000000);
        return 0;
    case ARGP_KEY_ARG:
        cli_usage_error("meters: unexpected argument '%s'", argument);
    default:
        return cli_meter_option(&input->meter, key, argument)
                   ? 0
                   : cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Lists every meter with the reason why it can or cannot run here.\v"
           "Example: ecocompute meters --characterize"};

static void print_device(size_t meter, const eco_meter_config *config, uint32_t index) {
    eco_meter_info info;
    eco_error error = {0};
    if (eco_meter_device_with(meter, config, index, &info, &error) != ECO_OK) {
        cli_out("  device %u: %s\n", index, error.message);
        return;
    }
    const eco_boundary *where = &info.device.boundary;
    cli_out("  device %u: %s%s%s%s%s%s%s\n", index, info.device.name,
            where->uuid[0] != '\0' ? ", " : "", where->uuid,
            where->pci_bus_id[0] != '\0' ? ", PCI " : "", where->pci_bus_id,
            info.device.driver[0] != '\0' ? ", driver " : "", info.device.driver);
    cli_out("    power: %s; average: %s; energy counter: %s; scope: %s\n",
            info.power_field != NULL ? info.power_field : "none",
            info.average_field != NULL ? info.average_field : "none",
            info.energy_field != NULL ? info.energy_field
                                      : "none (energy is integrated from power)",
            info.scope != NULL ? info.scope : "unknown");
    if (info.domains[0] != '\0') {
        cli_out("    counters: %s\n", info.domains);
    }
    if (info.overridden[0] != '\0') {
        cli_out("    read under %s, not from this machine\n", info.overridden);
    }
    if (info.device.library_path[0] != '\0') {
        cli_out("    library: %s%s\n", info.device.library_path,
                info.device.library_known ? "" : " (outside the known driver folders)");
    }
}

static bool is_wanted(size_t index, const cli_meter *meter) {
    eco_meter_status row;
    eco_meter_name(index, &row);
    return eco_meter_listed(meter->name, row.name);
}

static const char *boundary_text(const eco_meter_status *status) {
    return status->boundary == ECO_BOUNDARY_NONE ? "as declared with --meter-boundary"
                                                 : eco_boundary_kind_name(status->boundary);
}

static void print_meters(const cli_meter *meter) {
    for (size_t i = 0; i < eco_meter_count(); i++) {
        if (!is_wanted(i, meter)) {
            continue;
        }
        eco_meter_status status;
        eco_meter_probe_with(i, &meter->config, &status);
        cli_out("%s: %s\n  boundary: %s\n  %s: %s\n", status.name, status.summary,
                boundary_text(&status), status.usable ? "usable" : "not usable", status.reason);
        for (uint32_t d = 0; status.usable && d < status.n_devices; d++) {
            print_device(i, &meter->config, d);
        }
    }
}

static void print_meters_json(const cli_meter *meter) {
    cli_out("[");
    bool first = true;
    for (size_t i = 0; i < eco_meter_count(); i++) {
        if (!is_wanted(i, meter)) {
            continue;
        }
        eco_meter_status status;
        eco_meter_probe_with(i, &meter->config, &status);
        cli_out("%s\n  {", first ? "" : ",");
        first = false;
        cli_json_field("name", status.name, false);
        cli_json_field("summary", status.summary, false);
        cli_json_field("boundary", eco_boundary_kind_name(status.boundary), false);
        cli_out("\"usable\": %s, ", status.usable ? "true" : "false");
        cli_json_field("reason", status.reason, false);
        cli_out("\"devices\": [");
        uint32_t printed = 0;
        for (uint32_t d = 0; status.usable && d < status.n_devices; d++) {
            eco_meter_info info;
            eco_error error = {0};
            if (eco_meter_device_with(i, &meter->config, d, &info, &error) != ECO_OK) {
                continue;
            }
            cli_out("%s\n    {", printed++ == 0 ? "" : ",");
            cli_json_field("name", info.device.name, false);
            cli_json_field("uuid", info.device.boundary.uuid, false);
            cli_json_field("pci_bus_id", info.device.boundary.pci_bus_id, false);
            cli_json_field("driver", info.device.driver, false);
            cli_json_field("power_field", info.power_field != NULL ? info.power_field : "", false);
            cli_json_field("average_field", info.average_field != NULL ? info.average_field : "",
                           false);
            cli_json_field("energy_field", info.energy_field != NULL ? info.energy_field : "",
                           false);
            cli_json_field("counters", info.domains, false);
            cli_json_field("overridden", info.overridden, false);
            cli_json_field("library_path", info.device.library_path, true);
            cli_out("}");
        }
        cli_out("]}");
    }
    cli_out("\n]\n");
}

static void print_reading(const char *what, eco_reading reading, double scale, const char *unit) {
    if (eco_reading_present(reading)) {
        cli_out("  %-44s %10.4g %s\n", what, reading.value * scale, unit);
    } else {
        cli_out("  %-44s %10s (%s)\n", what, "-", eco_absence_name(reading.absence));
    }
}

static void print_sensor(const eco_meter_info *meter, const eco_sensor *s) {
    cli_out("%s, driver %s, meter %s; one load step, %.1f s of load, n = 1\n", meter->device.name,
            meter->device.driver, meter->name, s->seconds);
    cli_out("  power reading: %s; trailing average: %s; counter: %s\n",
            meter->power_field != NULL ? meter->power_field : "none",
            meter->average_field != NULL ? meter->average_field : "none",
            meter->energy_field != NULL ? meter->energy_field : "none");
    print_reading("counter update period", s->counter_period_s, 1e3, "ms (median)");
    print_reading("power update period", s->power_period_s, 1e3, "ms (median)");
    print_reading("average update period", s->average_period_s, 1e3, "ms (median)");
    print_reading("power reading: rise after the step", s->power_rise_s, 1e3,
                  "ms (0: within one update)");
    print_reading("averaging window of the trailing average", s->average_window_s, 1.0, "s");
    print_reading("cost of a counter read", s->counter_cost_s, 1e6, "us (median)");
    print_reading("cost of a power read", s->power_cost_s, 1e6, "us (median)");
    print_reading("counter over integrated power", s->counter_to_integral, 1.0, "");
    print_reading("idle, bare", s->idle_bare_w, 1.0, "W");
    print_reading("idle, with a context", s->idle_context_w, 1.0, "W");
    print_reading("idle, model loaded", s->idle_loaded_w, 1.0, "W");
}

static void print_sensor_json(const eco_meter_info *meter, const eco_sensor *s) {
    cli_out("{");
    cli_json_field("meter", meter->name, false);
    cli_json_field("device", meter->device.name, false);
    cli_json_field("driver", meter->device.driver, false);
    cli_json_reading("counter_update_period_s", s->counter_period_s, false);
    cli_json_reading("power_update_period_s", s->power_period_s, false);
    cli_json_reading("average_update_period_s", s->average_period_s, false);
    cli_json_reading("power_rise_s", s->power_rise_s, false);
    cli_json_reading("average_window_s", s->average_window_s, false);
    cli_json_reading("counter_read_cost_s", s->counter_cost_s, false);
    cli_json_reading("power_read_cost_s", s->power_cost_s, false);
    cli_json_reading("counter_to_integral", s->counter_to_integral, false);
    cli_json_reading("idle_bare_w", s->idle_bare_w, false);
    cli_json_reading("idle_context_w", s->idle_context_w, false);
    cli_json_reading("idle_loaded_w", s->idle_loaded_w, false);
    cli_out("\"load_s\": %.9g, \"n\": 1}\n", s->seconds);
}

static void say(void *user, const char *line) {
    (void)user;
    cli_err("%s\n", line);
}

static int characterize(const meters_input *input) {
    const eco_engine_options engine = {.name = "native",
                                       .device = input->device != NULL ? input->device : "cuda"};
    const eco_measure_hooks hooks = {.progress = input->common.quiet ? NULL : say};
    eco_meter_info meter;
    eco_engine_info engine_info;
    eco_sensor sensor;
    eco_error error = {0};
    const eco_status status =
        eco_characterize(&engine, input->meter.name, &hooks, &meter, &engine_info, &sensor, &error);
    if (status == ECO_E_UNSUPPORTED || status == ECO_E_BOUNDARY_MISMATCH ||
        status == ECO_E_NOT_FOUND) {
        (void)cli_fail(&error);
        return EXIT_UNMEASURED;
    }
    if (status != ECO_OK) {
        return cli_fail(&error);
    }
    if (input->common.json) {
        print_sensor_json(&meter, &sensor);
    } else {
        print_sensor(&meter, &sensor);
    }
    return EXIT_DONE;
}

int cmd_meters(int argc, char **argv) {
    meters_input input = {0};
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    cli_meter_settle(&input.meter);
    if (input.watch) {
        return meters_watch(&input.meter, input.n_lines, input.common.json);
    }
    if (input.n_lines != 0) {
        cli_usage_error("--count: only with --watch");
    }
    if (input.characterize) {
        return characterize(&input);
    }
    if (input.device != NULL) {
        cli_usage_error("--device: only with --characterize");
    }
    if (input.common.json) {
        print_meters_json(&input.meter);
    } else {
        print_meters(&input.meter);
    }
    return EXIT_DONE;
}
