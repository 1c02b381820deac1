/* SPDX-License-Identifier: Apache-2.0
 *
 * A probe as a document, and that document in the user's cache. What comes back is believed only where every field is
 * what a probe writes, and where it names the device, driver and program that were asked for.
 */
#include "protocol/probe_cache.h"

#include "core/alloc.h"
#include "core/json.h"
#include "core/num.h"
#include "core/sha256.h"
#include "core/str.h"
#include "protocol/build_facts.h"
#include "sys/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_PATH_MAX = 4096, CACHE_BYTES_MAX = 1 << 16 };
static const char *const SCHEMA = "ecocompute-probe/1";

/* ---- Document ---- */

typedef struct maker {
    ecoi_json_doc doc;
    bool failed;
} maker;

static void put(maker *m, ecoi_json *object, const char *key, ecoi_json *value) {
    if (object == NULL || value == NULL || !ecoi_json_set(&m->doc, object, key, NULL, value)) {
        m->failed = true;
    }
}

static void put_text(maker *m, ecoi_json *object, const char *key, const char *text) {
    put(m, object, key, ecoi_json_new_string(&m->doc, text, strlen(text)));
}

static void put_number(maker *m, ecoi_json *object, const char *key, double value) {
    put(m, object, key, ecoi_json_new_number(&m->doc, isfinite(value) ? value : 0.0));
}

static void put_value(maker *m, ecoi_json *root, eco_probe_item item, const eco_probe_value *v) {
    const eco_probe_info *info = eco_probe_at(item);
    ecoi_json *entry = ecoi_json_new(&m->doc, ECOI_JSON_OBJECT);
    put(m, root, info->key, entry);
    put_text(m, entry, "unit", info->unit);
    if (v->quantity.n == 0) {
        put(m, entry, "value", ecoi_json_new(&m->doc, ECOI_JSON_NULL));
        put_text(m, entry, "why_absent", v->why);
        return;
    }
    put_number(m, entry, "value", v->quantity.value / info->si);
    if (v->quantity.n > 1) {
        put_number(m, entry, "ci95_lo", v->quantity.lo / info->si);
        put_number(m, entry, "ci95_hi", v->quantity.hi / info->si);
    }
    put(m, entry, "n", ecoi_json_new_integer(&m->doc, v->quantity.n));
    put_text(m, entry, "basis", eco_basis_name(v->quantity.basis));
    put_text(m, entry, "method", v->method);
}

eco_status eco_probe_write(const eco_probe *probe, eco_text *out, eco_error *err) {
    maker m = {0};
    ecoi_json *root = ecoi_json_new(&m.doc, ECOI_JSON_OBJECT);
    m.failed = root == NULL;
    put_text(&m, root, "schema", SCHEMA);
    put_text(&m, root, "device", probe->device);
    put_text(&m, root, "device_hash", probe->device_hash);
    put_text(&m, root, "driver", probe->driver);
    put_text(&m, root, "meter", probe->meter);
    put_text(&m, root, "tool", probe->tool);
    put_text(&m, root, "probed_utc", probe->probed_utc);
    put(&m, root, "libraries_known", ecoi_json_new_bool(&m.doc, probe->libraries_known));
    put(&m, root, "cached", ecoi_json_new_bool(&m.doc, probe->cached));
    put_number(&m, root, "seconds", ecoi_num_round(probe->seconds, 3));
    for (size_t i = 0; i < ECO_PROBE_COUNT; i++) {
        put_value(&m, root, (eco_probe_item)i, &probe->values[i]);
    }
    const bool written = !m.failed && ecoi_json_write(root, out) && !out->failed;
    ecoi_json_fini(&m.doc);
    return written ? ECO_OK : eco_error_set(err, ECO_E_NO_MEMORY, 0, "probe: out of memory");
}

static const ecoi_json *member(const ecoi_json *object, const char *key) {
    return ecoi_json_member(object, key, strlen(key));
}

static bool take_text(const ecoi_json *object, const char *key, char *out, size_t size) {
    const ecoi_json *value = member(object, key);
    return value != NULL && value->type == ECOI_JSON_STRING &&
           strlen(value->text) == value->text_length && ecoi_str_copy(out, size, value->text);
}

static bool take_number(const ecoi_json *object, const char *key, double *out) {
    const ecoi_json *value = member(object, key);
    if (value == NULL || value->type != ECOI_JSON_NUMBER || !(value->number > 0.0) ||
        !(value->number < 1e15)) {
        return false;
    }
    *out = value->number;
    return true;
}

static bool take_value(const ecoi_json *root, eco_probe_item item, eco_probe_value *out) {
    const eco_probe_info *info = eco_probe_at(item);
    const ecoi_json *object = member(root, info->key);
    const ecoi_json *value = member(object, "value");
    char text[ECO_NAME_MAX];
    int64_t n = 0;
    if (!take_text(object, "unit", text, sizeof text) || strcmp(text, info->unit) != 0 ||
        value == NULL) {
        return false;
    }
    if (value->type == ECOI_JSON_NULL) {
        return take_text(object, "why_absent", out->why, sizeof out->why);
    }
    eco_quantity *q = &out->quantity;
    if (!take_number(object, "value", &q->value) || !ecoi_json_integer(member(object, "n"), &n) ||
        n < 1 || n > 1000 || !take_text(object, "basis", text, sizeof text) ||
        !eco_basis_parse(text, &q->basis) ||
        !take_text(object, "method", out->method, sizeof out->method)) {
        return false;
    }
    q->n = (uint32_t)n;
    q->lo = q->value;
    q->hi = q->value;
    const ecoi_json *lo = member(object, "ci95_lo"); /* may lie below 0 */
    if (n > 1 && (lo == NULL || lo->type != ECOI_JSON_NUMBER || !(fabs(lo->number) < 1e15) ||
                  !take_number(object, "ci95_hi", &q->hi))) {
        return false;
    }
    q->lo = n > 1 ? lo->number : q->lo;
    if (q->lo > q->value || q->hi < q->value) {
        return false;
    }
    q->value *= info->si;
    q->lo *= info->si;
    q->hi *= info->si;
    return true;
}

static bool take_probe(const ecoi_json *root, eco_probe *out) {
    char schema[32];
    const ecoi_json *known = member(root, "libraries_known");
    if (!take_text(root, "schema", schema, sizeof schema) || strcmp(schema, SCHEMA) != 0 ||
        !take_text(root, "device", out->device, sizeof out->device) ||
        !take_text(root, "device_hash", out->device_hash, sizeof out->device_hash) ||
        !take_text(root, "driver", out->driver, sizeof out->driver) ||
        !take_text(root, "meter", out->meter, sizeof out->meter) ||
        !take_text(root, "tool", out->tool, sizeof out->tool) ||
        !take_text(root, "probed_utc", out->probed_utc, sizeof out->probed_utc) ||
        strlen(out->probed_utc) < 10 || known == NULL || known->type != ECOI_JSON_BOOL ||
        !take_number(root, "seconds", &out->seconds)) {
        return false;
    }
    out->libraries_known = known->boolean;
    for (size_t i = 0; i < ECO_PROBE_COUNT; i++) {
        if (!take_value(root, (eco_probe_item)i, &out->values[i])) {
            return false;
        }
    }
    return true;
}

eco_status eco_probe_read(const char *text, size_t length, const char *name, eco_probe *out,
                          eco_error *err) {
    *out = (eco_probe){.seconds = 0.0};
    ecoi_json_doc doc;
    ECO_TRY(ecoi_json_read(text, length, name, &doc, err));
    const bool taken = take_probe(doc.root, out);
    ecoi_json_fini(&doc);
    if (!taken) {
        *out = (eco_probe){.seconds = 0.0};
        return eco_error_set(err, ECO_E_INVALID, 0, "%s: is not a probe of this program", name);
    }
    return ECO_OK;
}

/* ---- Cache ---- */

/* An XDG folder that is not absolute is to be ignored (XDG Base Directory Specification 0.8). */
static bool cache_folder(char *out, size_t size) {
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (cache != NULL && cache[0] == '/') {
        length = snprintf(out, size, "%s/ecocompute", cache);
    } else if (home != NULL && home[0] == '/') {
        length = snprintf(out, size, "%s/.cache/ecocompute", home);
    }
    return length > 0 && (size_t)length < size;
}

static bool cache_path(const eco_probe *key, char *out, size_t size) {
    char folder[CACHE_PATH_MAX - 64];
    char text[3 * ECO_NAME_MAX];
    char hex[ECOI_SHA256_HEX_MAX];
    if (!cache_folder(folder, sizeof folder)) {
        return false;
    }
    snprintf(text, sizeof text, "%s\n%s\n%s", key->device_hash, key->driver, key->tool);
    ecoi_sha256_hex(text, strlen(text), hex);
    hex[16] = '\0';
    const int length = snprintf(out, size, "%s/probe-%s.json", folder, hex);
    return length > 0 && (size_t)length < size;
}

bool ecoi_probe_cached(eco_probe *probe) {
    const eco_file_limits limits = {.size_max = CACHE_BYTES_MAX};
    char path[CACHE_PATH_MAX];
    char *text = NULL;
    size_t length = 0;
    eco_error ignored;
    if (!cache_path(probe, path, sizeof path) ||
        ecoi_file_read(path, &limits, &text, &length, &ignored) != ECO_OK) {
        return false;
    }
    eco_probe found;
    const bool good = eco_probe_read(text, length, path, &found, &ignored) == ECO_OK &&
                      strcmp(found.device_hash, probe->device_hash) == 0 &&
                      strcmp(found.driver, probe->driver) == 0 &&
                      strcmp(found.tool, probe->tool) == 0;
    ecoi_free(text);
    if (good) {
        *probe = found;
        probe->cached = true;
    }
    return good;
}

eco_status ecoi_probe_keep(const eco_probe *probe, eco_error *err) {
    char path[CACHE_PATH_MAX];
    char folder[CACHE_PATH_MAX];
    if (!cache_path(probe, path, sizeof path) || !cache_folder(folder, sizeof folder)) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                             "neither XDG_CACHE_HOME nor HOME names a folder");
    }
    ECO_TRY(ecoi_folder_make(folder, err));
    eco_text text = {0};
    eco_status status = eco_probe_write(probe, &text, err);
    if (status == ECO_OK) {
        status = ecoi_file_write(path, text.data, text.length, err);
    }
    eco_text_free(&text);
    return status;
}

bool eco_probe_lend(const eco_report *report, eco_explain_lent *out) {
    const char *hash = NULL;
    const char *driver = NULL;
    eco_probe probe = {.seconds = 0.0};
    *out = (eco_explain_lent){.matrix_fp16_ops_per_s = 0.0};
    if (!eco_report_string(report, ECO_FIELD_EN_UUID_HASH, ECO_TOP, &hash) ||
        !eco_report_string(report, ECO_FIELD_SW_DRIVER, ECO_TOP, &driver)) {
        return false;
    }
    (void)ecoi_str_copy(probe.device_hash, sizeof probe.device_hash, hash);
    (void)ecoi_str_copy(probe.driver, sizeof probe.driver, driver);
    snprintf(probe.tool, sizeof probe.tool, "%s, commit %s, %s", ECO_VERSION, ECO_COMMIT,
             ECO_BUILD_TYPE);
    if (!ecoi_probe_cached(&probe)) {
        return false;
    }
    out->matrix_fp16_ops_per_s = probe.values[ECO_PROBE_MATRIX_FP16].quantity.value;
    out->matrix_int8_ops_per_s = probe.values[ECO_PROBE_MATRIX_INT8].quantity.value;
    snprintf(out->from, sizeof out->from, "probe of %.10s, not of this run", probe.probed_utc);
    return true;
}
