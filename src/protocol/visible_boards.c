/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA itself is asked what CUDA_VISIBLE_DEVICES leaves: the variable has many forms, and only CUDA knows them all.
 */
#include "protocol/visible_boards.h"

#include "kernels/cuda_driver.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool board_of(const ecoi_cuda *cuda, int ordinal, eco_boundary *out) {
    int device = 0;
    cu_uuid uuid;
    if (cuda->api.device_get(&device, ordinal) != CU_SUCCESS ||
        cuda->api.device_uuid(&uuid, device) != CU_SUCCESS) {
        return false;
    }
    *out = (eco_boundary){.kind = ECO_BOUNDARY_GPU};
    ecoi_cuda_uuid_text(&uuid, out->uuid);
    if (cuda->api.device_pci_bus_id(out->pci_bus_id, ECO_PCI_MAX - 1, device) != CU_SUCCESS) {
        out->pci_bus_id[0] = '\0';
    }
    for (char *c = out->pci_bus_id; *c != '\0'; c++) {
        *c = (char)tolower((unsigned char)*c);
    }
    return true;
}

void ecoi_visible_boards(eco_visible_boards *out) {
    *out = (eco_visible_boards){.limited = false};
    if (getenv("CUDA_VISIBLE_DEVICES") == NULL) {
        return;
    }
    ecoi_cuda cuda;
    eco_error error = {0};
    if (ecoi_cuda_load(&cuda, &error) != ECO_OK) {
        out->limited = error.native == CU_ERROR_NO_DEVICE; /* all are hidden */
        return;
    }
    out->limited = true;
    for (int i = 0; i < cuda.n_devices && out->n < ECO_RUN_METERS_MAX; i++) {
        if (board_of(&cuda, i, &out->boards[out->n])) {
            out->n++;
        }
    }
    ecoi_cuda_unload(&cuda);
}

bool ecoi_board_visible(const eco_visible_boards *visible, const eco_boundary *board) {
    if (!visible->limited || board->kind != ECO_BOUNDARY_GPU) {
        return true;
    }
    for (uint32_t i = 0; i < visible->n; i++) {
        const eco_boundary *one = &visible->boards[i];
        /* Of a MIG instance CUDA tells the instance's UUID and the card's address. */
        if (strcmp(one->uuid, board->uuid) == 0 ||
            (board->pci_bus_id[0] != '\0' && strcmp(one->pci_bus_id, board->pci_bus_id) == 0)) {
            return true;
        }
    }
    return false;
}
