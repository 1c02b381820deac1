/* SPDX-License-Identifier: Apache-2.0
 *
 * Options that choose a meter. exec and replay are never taken by themselves: naming their source names them.
 */
#include "meter_options.h"

#include "ecocompute/arch.h"

#include <string.h>

bool cli_meter_option(cli_meter *meter, int key, const char *argument) {
    switch (key) {
    case CLI_KEY_METER:
        meter->name = argument;
        return true;
    case CLI_KEY_METER_EXEC:
        meter->config.exec_command = argument;
        return true;
    case CLI_KEY_METER_REPLAY:
        meter->config.replay_path = argument;
        return true;
    case CLI_KEY_METER_BOUNDARY:
        if (!eco_meter_boundary_parse(argument, &meter->config.boundary)) {
            cli_usage_error("--meter-boundary: '%s' is not known; expected gpu:GPU-… (or gpu: and "
                            "a PCI bus id), cpu or host",
                            argument);
        }
        return true;
    case CLI_KEY_METER_STALE:
        meter->config.stale_s = cli_number("--meter-stale", argument, 0.1, 600);
        return true;
    case CLI_KEY_METER_ROOT:
        meter->config.system_root = argument;
        return true;
    default:
        return false;
    }
}

static void check_name(const char *name) {
    const char *names[16];
    size_t n = 0;
    for (size_t i = 0; i < eco_meter_count() && n < 16; i++) {
        eco_meter_status status;
        eco_meter_name(i, &status);
        if (strcmp(name, status.name) == 0) {
            return;
        }
        names[n++] = status.name;
    }
    const char *nearest = eco_nearest_name(name, names, n);
    cli_usage_error("--meter: unknown meter '%s'%s%s%s; `ecocompute meters` lists them", name,
                    nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                    nearest != NULL ? "'?" : "");
}

/* Every name of the list is a meter, and stands in it once. */
static void check_list(const char *list) {
    char name[ECO_NAME_MAX];
    const char *at = list;
    if (list[0] == '\0' || list[0] == ',' || list[strlen(list) - 1] == ',' ||
        strstr(list, ",,") != NULL) {
        cli_usage_error("--meter: '%s' holds an empty name; expected a list such as nvml,rapl",
                        list);
    }
    while (eco_meter_list_next(&at, name, sizeof name)) {
        check_name(name);
        if (*at != '\0' && eco_meter_listed(at, name)) {
            cli_usage_error("--meter: '%s' is listed twice", name);
        }
    }
}

static bool is_listed(const cli_meter *meter, const char *name) {
    return meter->name != NULL && eco_meter_listed(meter->name, name);
}

/* `option` was given, so the meter is `implied`; a list without it contradicts that. */
static void imply(cli_meter *meter, const char *option, const char *implied) {
    if (meter->name == NULL) {
        meter->name = implied;
    } else if (!is_listed(meter, implied)) {
        cli_usage_error("%s: goes with --meter %s, not with %s", option, implied, meter->name);
    }
}

void cli_meter_settle(cli_meter *meter) {
    const eco_meter_config *config = &meter->config;
    if (meter->name != NULL) {
        check_list(meter->name);
    }
    if (config->exec_command != NULL) {
        imply(meter, "--meter-exec", "exec");
    }
    if (config->replay_path != NULL) {
        imply(meter, "--meter-replay", "replay");
    }
    const bool exec = is_listed(meter, "exec");
    const bool replay = is_listed(meter, "replay");
    if (config->boundary.kind != ECO_BOUNDARY_NONE && !exec && !replay) {
        cli_usage_error("--meter-boundary: goes with --meter-exec or --meter-replay");
    }
    if (exec && config->exec_command == NULL) {
        cli_usage_error("--meter exec: name the program with --meter-exec 'CMD ARG'");
    }
    if (replay && config->replay_path == NULL) {
        cli_usage_error("--meter replay: name the trace with --meter-replay FILE");
    }
    if ((exec || replay) && config->boundary.kind == ECO_BOUNDARY_NONE) {
        cli_usage_error("--meter-boundary: say what meter %s covers: gpu:GPU-…, cpu or host",
                        exec ? "exec" : "replay");
    }
}

bool cli_meter_private(const char *given) {
    static const char *const options[] = {"--meter-exec", "--meter-replay", "--meter-root"};
    const size_t length = strcspn(given, "=");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (length > strlen("--meter-") && strncmp(given, options[i], length) == 0) {
            return true;
        }
    }
    return false;
}
