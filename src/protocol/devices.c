/* SPDX-License-Identifier: Apache-2.0
 *
 * Which device is measured, what else it is used for, and what its siblings draw. The scan comes before any context, so
 * that the bare idle is bare and every process found on a card is somebody else's.
 */
#include "protocol/session.h"

#include "sys/clock.h"

#include <stdio.h>
#include <string.h>

enum { IDLE_READS = 10 };
static const int64_t IDLE_STEP_NS = 100000000;

/* The registry row of the meter to use for GPU work, or false. */
static bool gpu_meter_row(const char *wanted, size_t *row, eco_meter_status *status) {
    for (size_t i = 0; i < eco_meter_count(); i++) {
        eco_meter_probe(i, status);
        if (status->usable && status->boundary == ECO_BOUNDARY_GPU &&
            eco_meter_listed(wanted, status->name)) {
            *row = i;
            return true;
        }
    }
    return false;
}

static void scan_one(eco_meter *meter, eco_idle_device *device) {
    eco_error ignored;
    device->tenants_known =
        eco_meter_tenants(meter, &device->tenant, 1, &device->n_tenants, &ignored) == ECO_OK;
}

void ecoi_devices_scan(eco_session *session) {
    session->device = -1;
    size_t row = 0;
    eco_meter_status status;
    if (!gpu_meter_row(session->plan->meter, &row, &status)) {
        return;
    }
    eco_meter *meters[ECO_SIBLINGS_MAX] = {0};
    for (uint32_t i = 0; i < status.n_devices && session->n_devices < ECO_SIBLINGS_MAX; i++) {
        eco_meter_info info;
        eco_error ignored;
        if (eco_meter_device(row, i, &info, &ignored) != ECO_OK) {
            continue;
        }
        const eco_meter_options options = {.name = status.name, .work = info.device.boundary};
        eco_meter **meter = &meters[session->n_devices];
        if (eco_meter_open(&options, meter, &ignored) != ECO_OK) {
            continue;
        }
        eco_idle_device *device = &session->devices[session->n_devices++];
        memcpy(device->name, info.device.name, sizeof device->name);
        device->boundary = info.device.boundary;
        scan_one(*meter, device);
    }
    double sums[ECO_SIBLINGS_MAX] = {0};
    uint32_t counts[ECO_SIBLINGS_MAX] = {0};
    int64_t next_ns = ecoi_now_ns();
    for (int read = 0; read < IDLE_READS; read++) {
        for (uint32_t i = 0; i < session->n_devices; i++) {
            eco_meter_sample sample;
            eco_meter_read(meters[i], ECO_READ_POWER, &sample);
            if (eco_reading_present(sample.power_w)) {
                sums[i] += sample.power_w.value;
                counts[i]++;
            }
        }
        next_ns += IDLE_STEP_NS;
        ecoi_sleep_until_ns(next_ns);
    }
    for (uint32_t i = 0; i < session->n_devices; i++) {
        session->devices[i].power_w = counts[i] > 0 ? eco_reading_of(sums[i] / counts[i])
                                                    : eco_reading_absent(ECO_ABSENT_FAILED);
        eco_meter_close(meters[i]);
    }
}

/* Mean power since `first`, from a counter that is read at once. */
static eco_reading power_since(eco_meter *meter, const eco_meter_sample *first) {
    eco_meter_sample last;
    eco_meter_read(meter, ECO_READ_ENERGY, &last);
    const double seconds = (double)(last.t_ns - first->t_ns) * 1e-9;
    if (!eco_reading_present(first->energy_j) || !eco_reading_present(last.energy_j) ||
        !(seconds > 0.0) || last.energy_j.value < first->energy_j.value) {
        return eco_reading_absent(ECO_ABSENT_FAILED);
    }
    return eco_reading_of((last.energy_j.value - first->energy_j.value) / seconds);
}

eco_reading ecoi_idle_power(eco_meter *meter, uint32_t n_reads) {
    double sum = 0.0;
    uint32_t count = 0;
    int64_t next_ns = ecoi_now_ns();
    eco_meter_info info;
    eco_meter_sample first;
    eco_meter_describe(meter, &info);
    const bool counter_only = info.power_field == NULL && info.energy_field != NULL;
    if (counter_only) {
        eco_meter_read(meter, ECO_READ_ENERGY, &first);
    }
    for (uint32_t i = 0; i < n_reads; i++) {
        eco_meter_sample sample;
        eco_meter_read(meter, ECO_READ_POWER, &sample);
        if (eco_reading_present(sample.power_w)) {
            sum += sample.power_w.value;
            count++;
        }
        next_ns += IDLE_STEP_NS;
        ecoi_sleep_until_ns(next_ns);
    }
    if (counter_only) {
        return power_since(meter, &first);
    }
    return count > 0 ? eco_reading_of(sum / count) : eco_reading_absent(ECO_ABSENT_FAILED);
}

static eco_status check_tenants(const eco_session *session, eco_error *err) {
    if (session->device < 0 || session->plan->force) {
        return ECO_OK;
    }
    const eco_idle_device *device = &session->devices[session->device];
    if (!device->tenants_known || device->n_tenants == 0) {
        return ECO_OK;
    }
    return eco_error_set(
        err, ECO_E_BUSY, 0,
        "%s is used by %zu other process%s (first: pid %u %s); stop them, choose another card with "
        "--device, or measure anyway with --force (flagged)",
        device->name, device->n_tenants, device->n_tenants == 1 ? "" : "es", device->tenant.pid,
        device->tenant.name);
}

eco_status ecoi_devices_claim(eco_session *session, eco_error *err) {
    const eco_boundary *work = &session->engine_info.boundary;
    for (uint32_t i = 0; i < session->n_devices; i++) {
        if (eco_boundary_contains(&session->devices[i].boundary, work)) {
            session->device = (int32_t)i;
            session->sensor.idle_bare_w = session->devices[i].power_w;
        }
    }
    ECO_TRY(check_tenants(session, err));
    const eco_meter_options options = {
        .name = session->plan->meter, .work = *work, .config = session->plan->meter_config};
    eco_error reason = {0};
    if (eco_meter_open(&options, &session->meter, &reason) != ECO_OK) {
        session->meter = NULL;
        session->no_meter_code = reason.code;
        snprintf(session->no_meter, sizeof session->no_meter, "%s", reason.message);
        return ECO_OK;
    }
    eco_meter_describe(session->meter, &session->meter_info);
    const eco_reading mig = session->meter_info.device.mig_enabled;
    if (eco_reading_present(mig) && mig.value > 0.5) {
        snprintf(
            session->no_meter, sizeof session->no_meter,
            "%s is in MIG mode: its power is the whole card's, so no energy is given for a slice",
            session->meter_info.device.name);
        eco_meter_close(session->meter);
        session->meter = NULL;
    }
    ecoi_devices_look(session);
    return ECO_OK;
}

void ecoi_devices_look(eco_session *session) {
    eco_tenant first;
    eco_error ignored;
    size_t n = 0;
    if (session->meter == NULL || session->stuck ||
        eco_meter_tenants(session->meter, &first, 1, &n, &ignored) != ECO_OK) {
        return;
    }
    if (!session->tenants_known) {
        session->tenants_known = true;
        session->tenants_open = n;
    }
    session->tenants_most = n > session->tenants_most ? n : session->tenants_most;
}
