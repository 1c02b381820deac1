/* SPDX-License-Identifier: Apache-2.0
 *
 * The boards of this machine as `measure --dry-run` sees them.
 */
#include "measure_boards.h"

#include "cli.h"

#include <stdio.h>

/* What the meter says of one board; true when it is the chosen one and its energy can be read. */
static bool board_ready(size_t row, uint32_t index, const eco_boundary *chosen, char *line,
                        size_t size) {
    eco_meter_info info;
    eco_error error = {0};
    if (eco_meter_device(row, index, &info, &error) != ECO_OK) {
        snprintf(line, size, "GPU %u not usable: %s", index, error.message);
        return false;
    }
    const eco_meter_options board = {.name = info.name, .work = info.device.boundary};
    eco_meter *meter = NULL;
    eco_tenant tenant;
    size_t tenants = 0;
    bool tenants_known = false;
    if (eco_meter_open(&board, &meter, &error) == ECO_OK) {
        tenants_known = eco_meter_tenants(meter, &tenant, 1, &tenants, &error) == ECO_OK;
    }
    eco_meter_close(meter);
    const eco_reading mig = info.device.mig_enabled;
    const bool in_mig = eco_reading_present(mig) && mig.value > 0.5;
    char others[32] = "unknown";
    if (tenants_known) {
        snprintf(others, sizeof others, "%zu", tenants);
    }
    snprintf(line, size, "%s: energy counter %s, power %s, MIG %s, other processes %s",
             info.device.name, info.energy_field != NULL ? "yes" : "no",
             info.power_field != NULL ? "yes" : "no", in_mig ? "on" : "off", others);
    return !in_mig && (info.energy_field != NULL || info.power_field != NULL) &&
           eco_boundary_contains(&info.device.boundary, chosen);
}

bool cli_boards_ready(const eco_boundary *chosen, bool print) {
    bool ready = false;
    for (size_t i = 0; i < eco_meter_count(); i++) {
        eco_meter_status status;
        eco_meter_probe(i, &status);
        for (uint32_t d = 0;
             status.usable && status.boundary == ECO_BOUNDARY_GPU && d < status.n_devices; d++) {
            char line[2 * ECO_ERROR_MESSAGE_MAX];
            ready |= board_ready(i, d, chosen, line, sizeof line);
            if (print) {
                cli_out("check: %s\n", line);
            }
        }
    }
    return ready;
}
