/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute meters: every meter, why it can or cannot run here, and its devices; --characterize measures the sensor.
 */
#include "cli.h"

#include "ecocompute/plan.h"

#include <stdio.h>
#include <string.h>

enum { KEY_CHARACTERIZE = CLI_KEY_OWN, KEY_DEVICE };

typedef struct meters_input {
    cli_common common;
    bool characterize;
    const char *device;
} meters_input;

static const struct argp_option options[] = {
    {"characterize", KEY_CHARACTERIZE, 0, 0,
     "Measure the sensor on one load step (about 15 s, needs CUDA)", 0},
    {"device", KEY_DEVICE, "DEVICE", 0, "cuda, cuda:1 or cuda:GPU-… (with --characterize)", 0},
    CLI_COMMON_OPTIONS,
    {0}};

static const char *const later[] = {"watch", NULL};

static error_t parse(int key, char *argument, struct argp_state *state) {
    meters_input *input = state->input;
    switch (key) {
    case KEY_CHARACTERIZE:
        input->characterize = true;
        return 0;
    case KEY_DEVICE:
        input->device = argument;
        return 0;
    case ARGP_KEY_ARG:
        cli_usage_error("meters: unexpected argument '%s'", argument);
    default:
        return cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Lists every meter with the reason why it can or cannot run here.\v"
           "Example: ecocompute meters --characterize"};

static void print_device(size_t meter, uint32_t index) {
    eco_meter_info info;
    eco_error error = {0};
    if (eco_meter_device(meter, index, &info, &error) != ECO_OK) {
        printf("  device %u: %s\n", index, error.message);
        return;
    }
    printf("  device %u: %s, %s, PCI %s, driver %s\n", index, info.device.name,
           info.device.boundary.uuid, info.device.boundary.pci_bus_id, info.device.driver);
    printf("    power: %s; average: %s; energy counter: %s; scope: %s\n",
           info.power_field != NULL ? info.power_field : "none",
           info.average_field != NULL ? info.average_field : "none",
           info.energy_field != NULL ? info.energy_field : "none (energy is integrated from power)",
           info.scope != NULL ? info.scope : "unknown");
    printf("    library: %s%s\n", info.device.library_path,
           info.device.library_known ? "" : " (outside the known driver folders)");
}

static void print_meters(void) {
    for (size_t i = 0; i < eco_meter_count(); i++) {
        eco_meter_status status;
        eco_meter_probe(i, &status);
        printf("%s: %s\n  boundary: %s\n  %s: %s\n", status.name, status.summary,
               eco_boundary_kind_name(status.boundary), status.usable ? "usable" : "not usable",
               status.reason);
        for (uint32_t d = 0; status.usable && d < status.n_devices; d++) {
            print_device(i, d);
        }
    }
}

static void print_meters_json(void) {
    printf("[");
    for (size_t i = 0; i < eco_meter_count(); i++) {
        eco_meter_status status;
        eco_meter_probe(i, &status);
        printf("%s\n  {", i == 0 ? "" : ",");
        cli_json_field("name", status.name, false);
        cli_json_field("summary", status.summary, false);
        cli_json_field("boundary", eco_boundary_kind_name(status.boundary), false);
        printf("\"usable\": %s, ", status.usable ? "true" : "false");
        cli_json_field("reason", status.reason, false);
        printf("\"devices\": [");
        uint32_t printed = 0;
        for (uint32_t d = 0; status.usable && d < status.n_devices; d++) {
            eco_meter_info info;
            eco_error error = {0};
            if (eco_meter_device(i, d, &info, &error) != ECO_OK) {
                continue;
            }
            printf("%s\n    {", printed++ == 0 ? "" : ",");
            cli_json_field("name", info.device.name, false);
            cli_json_field("uuid", info.device.boundary.uuid, false);
            cli_json_field("pci_bus_id", info.device.boundary.pci_bus_id, false);
            cli_json_field("driver", info.device.driver, false);
            cli_json_field("power_field", info.power_field != NULL ? info.power_field : "", false);
            cli_json_field("average_field", info.average_field != NULL ? info.average_field : "",
                           false);
            cli_json_field("energy_field", info.energy_field != NULL ? info.energy_field : "",
                           false);
            cli_json_field("library_path", info.device.library_path, true);
            printf("}");
        }
        printf("]}");
    }
    printf("\n]\n");
}

static void print_reading(const char *what, eco_reading reading, double scale, const char *unit) {
    if (eco_reading_present(reading)) {
        printf("  %-44s %10.4g %s\n", what, reading.value * scale, unit);
    } else {
        printf("  %-44s %10s (%s)\n", what, "-", eco_absence_name(reading.absence));
    }
}

static void print_sensor(const eco_meter_info *meter, const eco_sensor *s) {
    printf("%s, driver %s, meter %s; one load step, %.1f s of load, n = 1\n", meter->device.name,
           meter->device.driver, meter->name, s->seconds);
    printf("  power reading: %s; trailing average: %s; counter: %s\n",
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
    printf("{");
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
    printf("\"load_s\": %.9g, \"n\": 1}\n", s->seconds);
}

static void say(void *user, const char *line) {
    (void)user;
    fprintf(stderr, "%s\n", line);
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
        eco_characterize(&engine, NULL, &hooks, &meter, &engine_info, &sensor, &error);
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
    cli_check_options(argc, argv, options, later);
    cli_parse(&argp, argc, argv, &input);
    if (input.characterize) {
        return characterize(&input);
    }
    if (input.device != NULL) {
        cli_usage_error("--device: only with --characterize");
    }
    if (input.common.json) {
        print_meters_json();
    } else {
        print_meters();
    }
    return EXIT_DONE;
}
