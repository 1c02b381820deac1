/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads tables of energies and curves from files, and writes curves.
 */
#include "ecocompute/model_file.h"

#include "core/alloc.h"
#include "sys/file.h"

enum { MODEL_FILE_BYTES_MAX = 16 * 1024 * 1024 };

eco_status eco_anchors_load(const char *path, eco_anchors **out, eco_error *err) {
    const eco_file_limits limits = {.size_max = MODEL_FILE_BYTES_MAX};
    char *text = NULL;
    size_t size = 0;
    *out = NULL;
    ECO_TRY(ecoi_file_read(path, &limits, &text, &size, err));
    const eco_status status = eco_anchors_read_csv(text, size, path, out, err);
    ecoi_free(text);
    return status;
}

eco_status eco_curves_load(const char *path, eco_curve_file **out, eco_error *err) {
    const eco_file_limits limits = {.size_max = MODEL_FILE_BYTES_MAX};
    char *text = NULL;
    size_t size = 0;
    *out = NULL;
    ECO_TRY(ecoi_file_read(path, &limits, &text, &size, err));
    const eco_status status = eco_curves_read(text, size, path, out, err);
    ecoi_free(text);
    return status;
}

eco_status eco_curves_save(const char *path, const eco_text *json, eco_error *err) {
    if (json->failed || json->data == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", path);
    }
    return ecoi_file_write(path, json->data, json->length, err);
}
