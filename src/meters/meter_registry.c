/* SPDX-License-Identifier: Apache-2.0
 *
 * The meters this program knows, from meters.def, and the public functions over them. A meter is
 * chosen by name or by boundary: one that does not contain the work is never opened for it.
 */
#include "ecocompute/meter.h"
#include "core/alloc.h"
#include "core/str.h"
#include "meters/driver.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct eco_meter {
    const eco_meter_driver *driver;
    void *state;
    char passed_over[ECO_ERROR_MESSAGE_MAX];
};

#define ECO_METER(name) extern const eco_meter_driver ecoi_meter_##name;
#include "meters/meters.def"
#undef ECO_METER

static const eco_meter_driver *const registry_rows[] = {
#define ECO_METER(name) &ecoi_meter_##name,
#include "meters/meters.def"
#undef ECO_METER
};

enum { REGISTRY_N = sizeof registry_rows / sizeof registry_rows[0] };

static const eco_meter_config registry_bare = {0};

/* By kind alone: the driver knows which device. */
static bool registry_fits(eco_boundary_kind meter, eco_boundary_kind work) {
    return work == ECO_BOUNDARY_NONE || meter == work || meter == ECO_BOUNDARY_HOST;
}

/* A meter whose boundary is declared by the user is judged when it is opened. */
static bool registry_may_contain(const eco_meter_driver *driver, const eco_boundary *work) {
    return driver->boundary == ECO_BOUNDARY_NONE || registry_fits(driver->boundary, work->kind);
}

/* `meter` NULL: none of them. */
static eco_status registry_mismatch(const char *meter, const eco_boundary *work, eco_error *err) {
    return eco_error_set(err, ECO_E_BOUNDARY_MISMATCH, 0, "no %s%s here sees the work on %s%s%s",
                         meter != NULL ? "device of " : "meter", meter != NULL ? meter : "",
                         eco_boundary_kind_name(work->kind), work->uuid[0] != '\0' ? " " : "",
                         work->uuid);
}

static void registry_describe(const eco_meter_driver *driver, const void *state,
                              eco_meter_info *out) {
    memset(out, 0, sizeof *out);
    out->device.cc_major = -1;
    out->device.cc_minor = -1;
    driver->describe(state, out);
    out->name = driver->name;
    out->source = driver->source;
    assert(driver->declared.source != NULL); /* every driver states what its sensor may err by */
    out->declared = driver->declared;
}

static eco_status registry_open(const eco_meter_driver *driver, const eco_meter_options *options,
                                eco_meter **out, eco_error *err) {
    if (!registry_may_contain(driver, &options->work)) {
        return registry_mismatch(driver->name, &options->work, err);
    }
    eco_meter *meter = ecoi_calloc(1, sizeof *meter);
    if (meter == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", driver->name);
    }
    const eco_status status = driver->open(options, &meter->state, err);
    if (status != ECO_OK) {
        ecoi_free(meter);
        return status;
    }
    meter->driver = driver;
    *out = meter;
    return ECO_OK;
}

static eco_status registry_unknown(const char *name, eco_error *err) {
    char names[ECO_NAME_MAX] = "";
    size_t used = 0;
    for (size_t i = 0; i < REGISTRY_N && used < sizeof names; i++) {
        const int n = snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                               registry_rows[i]->name);
        used += n > 0 ? (size_t)n : 0;
    }
    return eco_error_set(err, ECO_E_NOT_FOUND, 0, "no meter is called '%s' (known: %s)", name,
                         names);
}

bool eco_meter_list_next(const char **list, char *name, size_t size) {
    if (**list == '\0') {
        return false;
    }
    const size_t length = strcspn(*list, ",");
    (void)snprintf(name, size, "%.*s", (int)(length < size ? length : size - 1), *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

bool eco_meter_listed(const char *list, const char *name) {
    char one[ECO_NAME_MAX];
    bool found = list == NULL;
    while (!found && eco_meter_list_next(&list, one, sizeof one)) {
        found = strcmp(one, name) == 0;
    }
    return found;
}

static size_t registry_row(const char *name) {
    size_t row = 0;
    while (row < REGISTRY_N && strcmp(registry_rows[row]->name, name) != 0) {
        row++;
    }
    return row;
}

/* The rows to try, in order: those of the list, each once, or all that may be taken unnamed. */
static size_t registry_candidates(const char *list, size_t rows[REGISTRY_N]) {
    char name[ECO_NAME_MAX];
    bool taken[REGISTRY_N] = {false};
    size_t n = 0;
    for (size_t i = 0; list == NULL && i < REGISTRY_N; i++) {
        if (!registry_rows[i]->named_only) {
            rows[n++] = i;
        }
    }
    while (list != NULL && eco_meter_list_next(&list, name, sizeof name)) {
        const size_t row = registry_row(name);
        if (row < REGISTRY_N && !taken[row]) {
            taken[row] = true;
            rows[n++] = row;
        }
    }
    return n;
}

size_t eco_meter_count(void) {
    return REGISTRY_N;
}

void eco_meter_name(size_t index, eco_meter_status *out) {
    memset(out, 0, sizeof *out);
    const bool known = index < REGISTRY_N;
    out->name = known ? registry_rows[index]->name : "";
    out->summary = known ? registry_rows[index]->summary : "";
    out->boundary = known ? registry_rows[index]->boundary : ECO_BOUNDARY_NONE;
}

void eco_meter_probe(size_t index, eco_meter_status *out) {
    eco_meter_probe_with(index, &registry_bare, out);
}

void eco_meter_probe_with(size_t index, const eco_meter_config *config, eco_meter_status *out) {
    eco_meter_name(index, out);
    if (index >= REGISTRY_N) {
        (void)snprintf(out->reason, sizeof out->reason, "no meter has index %zu", index);
        return;
    }
    registry_rows[index]->probe(config, out);
}

bool eco_meter_choose(const eco_meter_options *options, eco_meter_status *out) {
    memset(out, 0, sizeof *out);
    out->name = "";
    out->summary = "";
    size_t rows[REGISTRY_N];
    const size_t n = registry_candidates(options->name, rows);
    const bool named = options->name != NULL;
    for (size_t i = 0; i < n; i++) {
        const eco_meter_driver *driver = registry_rows[rows[i]];
        eco_meter_status tried;
        eco_meter_probe_with(rows[i], &options->config, &tried);
        const bool fits = registry_fits(tried.boundary, options->work.kind);
        if (!fits && named && (tried.usable || driver->boundary != ECO_BOUNDARY_NONE)) {
            tried.usable = false;
            (void)snprintf(tried.reason, sizeof tried.reason,
                           "%s: does not see work on boundary %s", driver->name,
                           eco_boundary_kind_name(options->work.kind));
        }
        if ((fits || named) && (tried.usable || out->name[0] == '\0')) {
            *out = tried;
        }
        if (fits && tried.usable) {
            return true;
        }
    }
    return false;
}

eco_status eco_meter_device(size_t index, uint32_t device_index, eco_meter_info *out,
                            eco_error *err) {
    return eco_meter_device_with(index, &registry_bare, device_index, out, err);
}

eco_status eco_meter_device_with(size_t index, const eco_meter_config *config,
                                 uint32_t device_index, eco_meter_info *out, eco_error *err) {
    memset(out, 0, sizeof *out);
    if (index >= REGISTRY_N) {
        return eco_error_set(err, ECO_E_RANGE, 0, "no meter has index %zu", index);
    }
    const eco_meter_driver *driver = registry_rows[index];
    void *state = NULL;
    ECO_TRY(driver->open_index(config, device_index, &state, err));
    registry_describe(driver, state, out);
    driver->close(state);
    return ECO_OK;
}

static void registry_join(char joined[ECO_ERROR_MESSAGE_MAX], const char *reason) {
    if (joined[0] != '\0') {
        (void)ecoi_str_copy(joined + strlen(joined), ECO_ERROR_MESSAGE_MAX - strlen(joined), "; ");
    }
    (void)ecoi_str_copy(joined + strlen(joined), ECO_ERROR_MESSAGE_MAX - strlen(joined), reason);
}

/* The first of the list that opens; why the others did not, or were not tried, goes with it. */
static eco_status registry_open_listed(const eco_meter_options *options, eco_meter **out,
                                       eco_error *err) {
    char reasons[ECO_ERROR_MESSAGE_MAX] = "";
    char name[ECO_NAME_MAX];
    const char *list = options->name;
    while (eco_meter_list_next(&list, name, sizeof name)) {
        if (registry_row(name) == REGISTRY_N) {
            return registry_unknown(name, err);
        }
    }
    size_t rows[REGISTRY_N];
    const size_t n = registry_candidates(options->name, rows);
    eco_error first = {0};
    for (size_t i = 0; i < n; i++) {
        const eco_meter_driver *driver = registry_rows[rows[i]];
        eco_error why = {0};
        if (*out != NULL) {
            (void)snprintf(why.message, sizeof why.message, "%s: not needed", driver->name);
        } else if (registry_open(driver, options, out, &why) == ECO_OK) {
            continue;
        }
        first = first.code == ECO_OK && *out == NULL ? why : first;
        registry_join(reasons, why.message);
    }
    if (*out != NULL) {
        memcpy((*out)->passed_over, reasons, sizeof reasons);
        return ECO_OK;
    }
    return n == 0 ? registry_unknown(options->name, err)
                  : eco_error_set(err, first.code, first.native, "%s", reasons);
}

eco_status eco_meter_open(const eco_meter_options *options, eco_meter **out, eco_error *err) {
    *out = NULL;
    if (options->name != NULL) {
        return registry_open_listed(options, out, err);
    }
    /* The first meter that may contain the work says why it cannot; later ones only help. */
    eco_error first = {0};
    eco_status status = ECO_OK;
    for (size_t i = 0; i < REGISTRY_N; i++) {
        if (registry_rows[i]->named_only ||
            !registry_may_contain(registry_rows[i], &options->work)) {
            continue;
        }
        eco_error why = {0};
        const eco_status tried = registry_open(registry_rows[i], options, out, &why);
        if (tried == ECO_OK) {
            return ECO_OK;
        }
        if (status == ECO_OK) {
            status = tried;
            first = why;
        }
    }
    if (status == ECO_OK) {
        return registry_mismatch(NULL, &options->work, err);
    }
    if (err != NULL) {
        *err = first;
    }
    return status;
}

void eco_meter_close(eco_meter *meter) {
    if (meter == NULL) {
        return;
    }
    meter->driver->close(meter->state);
    ecoi_free(meter);
}

void eco_meter_describe(const eco_meter *meter, eco_meter_info *out) {
    registry_describe(meter->driver, meter->state, out);
    memcpy(out->passed_over, meter->passed_over, sizeof out->passed_over);
}

void eco_meter_read(eco_meter *meter, uint32_t what, eco_meter_sample *out) {
    memset(out, 0, sizeof *out); /* all ECO_ABSENT_NOT_READ */
    meter->driver->read(meter->state, what, out);
}

eco_status eco_meter_tenants(eco_meter *meter, eco_tenant *out, size_t capacity, size_t *n_out,
                             eco_error *err) {
    *n_out = 0;
    if (meter->driver->tenants == NULL) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0, "%s: cannot tell who else uses its device",
                             meter->driver->name);
    }
    return meter->driver->tenants(meter->state, out, capacity, n_out, err);
}

size_t eco_meter_parts(eco_meter *meter, eco_meter_part *out, size_t capacity) {
    return meter->driver->parts != NULL ? meter->driver->parts(meter->state, out, capacity) : 0;
}

void eco_meter_trouble(const eco_meter *meter, char *out, size_t size) {
    out[0] = '\0';
    if (meter->driver->trouble != NULL) {
        meter->driver->trouble(meter->state, out, size);
    }
}

bool eco_meter_boundary_parse(const char *text, eco_boundary *out) {
    memset(out, 0, sizeof *out);
    if (strcmp(text, "cpu") == 0) {
        out->kind = ECO_BOUNDARY_CPU_PACKAGE;
        return true;
    }
    if (strcmp(text, "host") == 0) {
        out->kind = ECO_BOUNDARY_HOST;
        return true;
    }
    if (strncmp(text, "gpu:", 4) != 0 || text[4] == '\0') {
        return false;
    }
    const char *device = text + 4;
    const bool pci = strlen(device) == 12 && device[4] == ':' && device[7] == ':';
    if (!pci && strncmp(device, "GPU-", 4) != 0) {
        return false;
    }
    out->kind = ECO_BOUNDARY_GPU;
    return pci ? ecoi_str_copy(out->pci_bus_id, sizeof out->pci_bus_id, device)
               : ecoi_str_copy(out->uuid, sizeof out->uuid, device);
}
