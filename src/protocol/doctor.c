/* SPDX-License-Identifier: Apache-2.0
 *
 * The doctor: drivers and their agreement, meters, the chosen device and its neighbours, a short poll of its counter,
 * and the host. Each look is a row whether it found something or not, so that a clean bill shows what was looked at.
 */
#include "protocol/doctor_note.h"

#include "ecocompute/engine.h"
#include "ecocompute/run_command.h"

#include "core/num.h"
#include "core/str.h"
#include "kernels/cuda_driver.h"
#include "sys/clock.h"
#include "sys/dl.h"
#include "sys/host_facts.h"
#include "sys/signals.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t POLL_WINDOW_NS = 1300000000;
static const int64_t POLL_STEP_NS = 500000;
static const int64_t CHEAP_NS = 200000;
static const double STALL_WARN_S = 0.025;
static const double PERIOD_WARN_S = 0.25; /* twenty ticks would take five seconds and more */
static const double TEMP_WARN_C = 75.0;

enum { POLL_MAX = 4096, TENANTS_MAX = 4 };

const char *eco_finding_state_name(eco_finding_state state) {
    static const char *const names[] = {"ok", "unknown", "warn", "bad"};
    return (unsigned)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

void ecoi_doctor_note(eco_doctor_report *report, const char *code, eco_finding_state state,
                      const char *remedy, const char *format, ...) {
    if (report->n_findings == ECO_FINDINGS_MAX) {
        return;
    }
    eco_finding *finding = &report->findings[report->n_findings++];
    *finding = (eco_finding){
        .code = code, .state = state, .remedy = state == ECO_FINDING_OK ? "" : remedy};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(finding->seen, sizeof finding->seen, format, arguments);
    va_end(arguments);
    report->spoiled |= state == ECO_FINDING_BAD;
}

/* "%.1f" and its like follow the locale; messages of this file are made with this. */
typedef struct fixed_text {
    char text[ECOI_NUM_FIXED_MAX];
} fixed_text;
static fixed_text fixed(double value, int decimals) {
    fixed_text out;
    (void)ecoi_num_fixed(value, decimals, out.text);
    return out;
}

/* ---- drivers ---- */

/* What the look at the drivers leaves for later rows. */
typedef struct drivers {
    bool cuda, nvml;
    char cuda_path[256], nvml_path[256], nvml_driver[ECO_NAME_MAX];
    bool cuda_known, nvml_known;
    eco_boundary cuda_devices[ECO_RUN_METERS_MAX];
    uint32_t n_cuda;
} drivers;

static void look_at_cuda(drivers *d, eco_doctor_report *report) {
    static const char remedy[] =
        "install the NVIDIA driver; in a container start it with --gpus all and the compute "
        "capability (NVIDIA_DRIVER_CAPABILITIES=compute,utility)";
    ecoi_cuda cuda;
    eco_error error = {0};
    if (ecoi_cuda_load(&cuda, &error) != ECO_OK) {
        ecoi_doctor_note(report, "cuda", d->nvml ? ECO_FINDING_BAD : ECO_FINDING_WARN, remedy, "%s",
                         error.message);
        return;
    }
    d->cuda = true;
    (void)ecoi_str_copy(d->cuda_path, sizeof d->cuda_path, ecoi_dl_path(cuda.library));
    d->cuda_known = ecoi_dl_path_known(cuda.library);
    for (int i = 0; i < cuda.n_devices && d->n_cuda < ECO_RUN_METERS_MAX; i++) {
        int device = 0;
        cu_uuid uuid;
        eco_boundary *boundary = &d->cuda_devices[d->n_cuda];
        if (cuda.api.device_get(&device, i) == CU_SUCCESS &&
            cuda.api.device_uuid(&uuid, device) == CU_SUCCESS) {
            boundary->kind = ECO_BOUNDARY_GPU;
            ecoi_cuda_uuid_text(&uuid, boundary->uuid);
            /* Of a MIG instance the UUID is its own, and only the address is the card's. */
            if (cuda.api.device_pci_bus_id(boundary->pci_bus_id, ECO_PCI_MAX - 1, device) !=
                CU_SUCCESS) {
                boundary->pci_bus_id[0] = '\0';
            }
            d->n_cuda++;
        }
    }
    ecoi_doctor_note(report, "cuda", ECO_FINDING_OK, "", "driver API %d.%d, %d device%s, %s",
                     cuda.version / 1000, cuda.version % 1000 / 10, cuda.n_devices,
                     cuda.n_devices == 1 ? "" : "s", d->cuda_path);
    ecoi_cuda_unload(&cuda);
}

static const char *meter_remedy(const char *name) {
    return strcmp(name, "nvml") == 0
               ? "install the NVIDIA driver; in a container start it with --gpus all and the "
                 "utility capability; where its device files are closed, ask for access to "
                 "/dev/nvidia*"
           : strcmp(name, "rapl") == 0
               ? "let users read the counters by a udev rule: SUBSYSTEM==\"powercap\", "
                 "ACTION==\"add\", RUN+=\"/bin/chmod -R a+r /sys%p\"; a virtual machine often has "
                 "none"
               : "see `ecocompute meters`";
}

static void look_at_meters(drivers *d, eco_doctor_report *report) {
    for (size_t i = 0; i < eco_meter_count(); i++) {
        eco_meter_status status;
        eco_meter_info info;
        eco_error error = {0};
        eco_meter_probe(i, &status);
        const bool nvml = strcmp(status.name, "nvml") == 0;
        if (status.boundary == ECO_BOUNDARY_NONE) {
            continue; /* exec and replay: read what the user names, not what this machine has */
        }
        d->nvml |= nvml && status.usable;
        report->measurable |= status.usable && status.n_devices > 0;
        ecoi_doctor_note(report, status.name, status.usable ? ECO_FINDING_OK : ECO_FINDING_WARN,
                         meter_remedy(status.name), "%s", status.reason);
        if (nvml && status.usable && eco_meter_device(i, 0, &info, &error) == ECO_OK) {
            (void)ecoi_str_copy(d->nvml_path, sizeof d->nvml_path, info.device.library_path);
            (void)ecoi_str_copy(d->nvml_driver, sizeof d->nvml_driver, info.device.driver);
            d->nvml_known = info.device.library_known;
        }
    }
}

/* "…/libcuda.so.580.159.04" -> "580.159.04"; "" where the name holds no such version. */
static const char *library_version(const char *path) {
    const char *at = strstr(path, ".so.");
    return at != NULL && strchr(at + 4, '.') != NULL ? at + 4 : "";
}

static void compare_versions(const drivers *d, eco_doctor_report *report) {
    eco_host_facts host;
    ecoi_host_facts("", &host);
    const char *const versions[] = {library_version(d->cuda_path), library_version(d->nvml_path),
                                    d->nvml_driver, host.nvidia_module};
    const char *first = "";
    bool differ = false;
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        differ |= first[0] != '\0' && versions[i][0] != '\0' && strcmp(first, versions[i]) != 0;
        first = first[0] == '\0' ? versions[i] : first;
    }
    if (first[0] == '\0') {
        return; /* no driver at all, which the rows above say */
    }
    ecoi_doctor_note(report, "driver_versions", differ ? ECO_FINDING_BAD : ECO_FINDING_OK,
                     "reboot after a driver update, or install libcuda and libnvidia-ml of one "
                     "version",
                     "libcuda %s, libnvidia-ml %s, NVML says %s, kernel module %s",
                     versions[0][0] != '\0' ? versions[0] : "unnamed",
                     versions[1][0] != '\0' ? versions[1] : "unnamed",
                     versions[2][0] != '\0' ? versions[2] : "nothing",
                     versions[3][0] != '\0' ? versions[3] : "not shown");
}

static void look_at_paths(const drivers *d, eco_doctor_report *report) {
    const bool cuda_bad = d->cuda && !d->cuda_known;
    const bool nvml_bad = d->nvml_path[0] != '\0' && !d->nvml_known;
    if (!d->cuda && d->nvml_path[0] == '\0') {
        return;
    }
    ecoi_doctor_note(
        report, "driver_library_path", cuda_bad || nvml_bad ? ECO_FINDING_BAD : ECO_FINDING_OK,
        "check LD_LIBRARY_PATH; a stand-in library gives stand-in numbers", "%s%s%s%s",
        cuda_bad || nvml_bad ? "outside the known driver folders: " : "in known driver folders",
        cuda_bad ? d->cuda_path : "", cuda_bad && nvml_bad ? ", " : "",
        nvml_bad ? d->nvml_path : "");
}

/* Every CUDA device has a meter of its own, whatever the two orders are. */
static void look_at_mapping(const drivers *d, eco_doctor_report *report) {
    if (d->n_cuda == 0 || !d->nvml) {
        return;
    }
    char seen[ECO_FINDING_TEXT_MAX] = "";
    bool lost = false;
    for (uint32_t i = 0; i < d->n_cuda; i++) {
        const eco_meter_options options = {.name = "nvml", .work = d->cuda_devices[i]};
        eco_meter *meter = NULL;
        eco_error error = {0};
        const size_t n = strlen(seen);
        if (eco_meter_open(&options, &meter, &error) == ECO_OK) {
            eco_meter_info info;
            eco_meter_describe(meter, &info);
            (void)snprintf(seen + n, sizeof seen - n, "%scuda:%u is NVML %u", n > 0 ? ", " : "", i,
                           info.device.vendor_index);
        } else {
            lost = true;
            (void)snprintf(seen + n, sizeof seen - n, "%scuda:%u: %s", n > 0 ? ", " : "", i,
                           error.message);
        }
        eco_meter_close(meter);
    }
    ecoi_doctor_note(report, "device_mapping", lost ? ECO_FINDING_BAD : ECO_FINDING_OK,
                     "the card is hidden from one of the two libraries: give the container both "
                     "its compute and utility capability",
                     "%s", seen);
}

/* ---- the chosen device ---- */

static void look_at_tenants(eco_meter *meter, eco_doctor_report *report) {
    eco_tenant tenants[TENANTS_MAX];
    size_t n = 0;
    eco_error error = {0};
    if (eco_meter_tenants(meter, tenants, TENANTS_MAX, &n, &error) != ECO_OK) {
        ecoi_doctor_note(report, "other_processes", ECO_FINDING_UNKNOWN,
                         "look with nvidia-smi that nothing else uses the card", "%s",
                         error.message);
        return;
    }
    char seen[ECO_FINDING_TEXT_MAX] = "none";
    size_t length = 0;
    for (size_t i = 0; i < n && i < TENANTS_MAX && length + 1 < sizeof seen; i++) {
        length += (size_t)snprintf(seen + length, sizeof seen - length, "%spid %u %.48s",
                                   i > 0 ? ", " : "", tenants[i].pid, tenants[i].name);
    }
    ecoi_doctor_note(report, "other_processes", n > 0 ? ECO_FINDING_BAD : ECO_FINDING_OK,
                     "stop them, or measure another card with --device", "%s%s", seen,
                     n > TENANTS_MAX ? " and more" : "");
}

static void note_switch(eco_doctor_report *report, const char *code, eco_reading reading,
                        bool wanted, eco_finding_state otherwise, const char *remedy) {
    if (!eco_reading_present(reading)) {
        ecoi_doctor_note(report, code, ECO_FINDING_OK, "", "not told by this device (%s)",
                         eco_absence_name(reading.absence));
        return;
    }
    const bool on = reading.value > 0.5;
    ecoi_doctor_note(report, code, on == wanted ? ECO_FINDING_OK : otherwise, remedy, "%s",
                     on ? "on" : "off");
}

static void look_at_settings(const eco_device_record *device, eco_doctor_report *report) {
    note_switch(report, "persistence", device->persistence_enabled, true, ECO_FINDING_WARN,
                "switch it on if you may (nvidia-smi -pm 1): the driver unloads between programs");
    note_switch(report, "mig", device->mig_enabled, false, ECO_FINDING_BAD,
                "measure a card without MIG: the energy read is the whole card's");
    note_switch(report, "ecc", device->ecc_enabled, true, ECO_FINDING_WARN,
                "say so with the result: memory without ECC is a little faster");
    if (eco_reading_present(device->power_limit_w) &&
        eco_reading_present(device->power_limit_default_w)) {
        const double limit_w = device->power_limit_w.value;
        const double usual_w = device->power_limit_default_w.value;
        ecoi_doctor_note(report, "power_limit",
                         fabs(limit_w - usual_w) > 1.0 ? ECO_FINDING_WARN : ECO_FINDING_OK,
                         "the result holds for this limit only; nvidia-smi -pl sets it",
                         "%s W, default %s W", fixed(limit_w, 0).text, fixed(usual_w, 0).text);
    }
}

static void look_at_throttle(const eco_meter_sample *sample, const eco_device_record *device,
                             eco_doctor_report *report) {
    const uint32_t bits = sample->throttle;
    if (sample->throttle_read != ECO_PRESENT) {
        ecoi_doctor_note(report, "throttle", ECO_FINDING_UNKNOWN,
                         "watch the clocks with nvidia-smi while measuring", "not told (%s)",
                         eco_absence_name(sample->throttle_read));
    } else {
        const bool hard = (bits & (ECO_THROTTLE_THERMAL | ECO_THROTTLE_POWER_BRAKE)) != 0;
        const bool soft = (bits & (ECO_THROTTLE_POWER_CAP | ECO_THROTTLE_OTHER)) != 0;
        ecoi_doctor_note(report, "throttle",
                         hard   ? ECO_FINDING_BAD
                         : soft ? ECO_FINDING_WARN
                                : ECO_FINDING_OK,
                         "improve cooling and power supply, and wait", "%s%s%s%s%s",
                         (bits & ECO_THROTTLE_THERMAL) != 0 ? "slowed by heat; " : "",
                         (bits & ECO_THROTTLE_POWER_BRAKE) != 0 ? "slowed by a hardware brake; "
                                                                : "",
                         (bits & ECO_THROTTLE_POWER_CAP) != 0 ? "at its power limit; " : "",
                         (bits & ECO_THROTTLE_OTHER) != 0 ? "slowed for another reason; " : "",
                         hard || soft ? "now" : "no reason active now");
        ecoi_doctor_note(report, "clocks_locked",
                         (bits & ECO_THROTTLE_USER_CLOCKS) != 0 ? ECO_FINDING_WARN : ECO_FINDING_OK,
                         "the result holds for these clocks only; nvidia-smi -rgc and -rac give "
                         "them back",
                         "%s, SM clock %s of %s MHz",
                         (bits & ECO_THROTTLE_USER_CLOCKS) != 0 ? "set by a user" : "free",
                         eco_reading_present(sample->sm_clock_mhz)
                             ? fixed(sample->sm_clock_mhz.value, 0).text
                             : "?",
                         eco_reading_present(device->sm_clock_max_mhz)
                             ? fixed(device->sm_clock_max_mhz.value, 0).text
                             : "?");
    }
    if (eco_reading_present(sample->temp_c)) {
        ecoi_doctor_note(report, "temperature",
                         sample->temp_c.value > TEMP_WARN_C ? ECO_FINDING_WARN : ECO_FINDING_OK,
                         "let the card cool, and look at its cooling", "%s °C",
                         fixed(sample->temp_c.value, 0).text);
    }
}

/* What a second and a bit of reading showed. */
typedef struct poll_result {
    double periods_s[POLL_MAX], costs_s[POLL_MAX];
    size_t n_periods, n_costs, n_reads, n_failed_power, n_failed_counter;
    double longest_s;
    bool stepped_back, lost;
} poll_result;

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n) {
    qsort(values, n, sizeof *values, compare_doubles);
    return values[n / 2];
}

static void poll_meter(eco_meter *meter, const eco_meter_info *info, poll_result *out) {
    const int64_t end_ns = ecoi_now_ns() + POLL_WINDOW_NS;
    double last_j = -1.0;
    int64_t last_tick_ns = 0;
    while (ecoi_now_ns() < end_ns && out->n_reads < POLL_MAX && *ecoi_interrupted() == 0) {
        eco_meter_sample sample;
        int64_t cost_ns = 0;
        out->n_reads++;
        if (info->power_field != NULL) {
            eco_meter_read(meter, ECO_READ_POWER, &sample);
            out->n_failed_power += !eco_reading_present(sample.power_w);
            out->longest_s = fmax(out->longest_s, (double)sample.cost_ns * 1e-9);
            out->lost |= sample.device_lost;
            cost_ns += sample.cost_ns;
        }
        if (info->energy_field != NULL) {
            eco_meter_read(meter, ECO_READ_ENERGY, &sample);
            out->longest_s = fmax(out->longest_s, (double)sample.cost_ns * 1e-9);
            out->costs_s[out->n_costs++] = (double)sample.cost_ns * 1e-9;
            out->lost |= sample.device_lost;
            cost_ns += sample.cost_ns;
            out->n_failed_counter += !eco_reading_present(sample.energy_j);
            const double now_j = sample.energy_j.value;
            if (eco_reading_present(sample.energy_j)) {
                out->stepped_back |= now_j < last_j;
                if (last_j >= 0.0 && now_j > last_j) {
                    if (last_tick_ns != 0) {
                        out->periods_s[out->n_periods++] =
                            (double)(sample.t_ns - last_tick_ns) * 1e-9;
                    }
                    last_tick_ns = sample.t_ns;
                }
                last_j = now_j;
            }
        }
        if (cost_ns < CHEAP_NS) {
            ecoi_sleep_until_ns(ecoi_now_ns() + POLL_STEP_NS);
        }
    }
}

static void note_reads(const eco_meter_info *info, poll_result *polled, eco_doctor_report *report) {
    if (info->power_field == NULL) {
        ecoi_doctor_note(report, "power_readable",
                         info->energy_field != NULL ? ECO_FINDING_OK : ECO_FINDING_BAD,
                         "this device can only be timed", "no power reading");
    } else {
        const bool many = polled->n_failed_power * 10 > polled->n_reads;
        ecoi_doctor_note(report, "power_readable",
                         many                         ? ECO_FINDING_BAD
                         : polled->n_failed_power > 0 ? ECO_FINDING_WARN
                                                      : ECO_FINDING_OK,
                         "look at the kernel log for messages of the driver",
                         "%s, %zu of %zu reads failed", info->power_field, polled->n_failed_power,
                         polled->n_reads);
        const bool trailing = info->average_field == NULL &&
                              strcmp(info->power_field, "nvmlDeviceGetPowerUsage") == 0;
        ecoi_doctor_note(report, "power_field", trailing ? ECO_FINDING_WARN : ECO_FINDING_OK,
                         "newer drivers offer an instant field; on recent boards this one is a "
                         "trailing average of a second",
                         "%s%s", info->power_field, trailing ? " is all there is" : "");
    }
    ecoi_doctor_note(
        report, "read_cost", polled->longest_s > STALL_WARN_S ? ECO_FINDING_WARN : ECO_FINDING_OK,
        "free CPU cores; other monitors of the card can hold the driver's lock",
        "counter read %s us (median), longest read of any kind %s us",
        polled->n_costs > 0 ? fixed(median(polled->costs_s, polled->n_costs) * 1e6, 0).text : "-",
        fixed(polled->longest_s * 1e6, 0).text);
}

static void note_counter(const eco_meter_info *info, poll_result *polled,
                         eco_doctor_report *report) {
    if (info->energy_field == NULL) {
        ecoi_doctor_note(report, "energy_counter", ECO_FINDING_WARN,
                         "energy will be integrated from power, which is less sure",
                         "this device has none");
        return;
    }
    const bool still = polled->n_periods == 0;
    const bool many = polled->n_failed_counter * 10 > polled->n_costs;
    ecoi_doctor_note(report, "energy_counter",
                     still || many || polled->stepped_back || polled->lost ? ECO_FINDING_BAD
                     : polled->n_failed_counter > 0                        ? ECO_FINDING_WARN
                                                                           : ECO_FINDING_OK,
                     "reload the driver or reboot; if it stays so, report the card and driver",
                     "%s %s, %zu of %zu reads failed", info->energy_field,
                     polled->lost           ? "is lost"
                     : polled->stepped_back ? "stepped back"
                     : still                ? "did not move in 1.3 s"
                                            : "moves",
                     polled->n_failed_counter, polled->n_costs);
    if (!still) {
        const double period_s = median(polled->periods_s, polled->n_periods);
        ecoi_doctor_note(
            report, "counter_update", period_s > PERIOD_WARN_S ? ECO_FINDING_WARN : ECO_FINDING_OK,
            "use longer windows (--window): twenty updates are the least",
            "every %s ms (median of %zu)", fixed(period_s * 1e3, 1).text, polled->n_periods);
    }
}

static void look_at_device(eco_meter *meter, eco_doctor_report *report) {
    eco_meter_info info;
    eco_meter_sample sample;
    eco_meter_describe(meter, &info);
    const bool gpu = info.device.boundary.kind == ECO_BOUNDARY_GPU;
    const char *bus_id = info.device.boundary.pci_bus_id;
    ecoi_doctor_note(report, "device", ECO_FINDING_OK, "", "%s: %s, %s %s", info.name,
                     info.device.name, eco_boundary_kind_name(info.device.boundary.kind),
                     gpu && bus_id[0] == '\0' ? "(bus id not told)" : bus_id);
    if (gpu) {
        look_at_tenants(meter, report);
        look_at_settings(&info.device, report);
        eco_meter_read(meter, ECO_READ_THROTTLE | ECO_READ_CLOCKS | ECO_READ_TEMP, &sample);
        look_at_throttle(&sample, &info.device, report);
    }
    static const size_t size = sizeof(poll_result);
    poll_result *polled = calloc(1, size);
    if (polled == NULL) {
        ecoi_doctor_note(report, "energy_counter", ECO_FINDING_UNKNOWN, "free memory",
                         "out of memory");
        return;
    }
    poll_meter(meter, &info, polled);
    note_reads(&info, polled, report);
    note_counter(&info, polled, report);
    free(polled);
}

/* The meter of the chosen device; of "auto" on a machine without CUDA the first there is. */
static void find_device(const eco_boundary *work, eco_doctor_report *report) {
    eco_meter *meter = NULL;
    eco_error error = {0};
    const eco_meter_options options = {.name = NULL, .work = *work};
    if (work->kind != ECO_BOUNDARY_NONE) {
        if (eco_meter_open(&options, &meter, &error) != ECO_OK) {
            ecoi_doctor_note(report, "device", ECO_FINDING_BAD,
                             "choose a device that has a meter (--device)", "%s", error.message);
        }
    } else {
        for (size_t i = 0; i < eco_meter_count() && meter == NULL; i++) {
            eco_meter_status status;
            eco_meter_probe(i, &status);
            const eco_meter_options any = {.name = status.name};
            if (status.usable && status.boundary != ECO_BOUNDARY_NONE &&
                eco_meter_open(&any, &meter, &error) != ECO_OK) {
                ecoi_doctor_note(report, "device", ECO_FINDING_BAD, "see `ecocompute meters`", "%s",
                                 error.message);
            }
        }
    }
    report->measurable = meter != NULL;
    if (meter != NULL) {
        look_at_device(meter, report);
    }
    eco_meter_close(meter);
}

eco_status eco_doctor(const eco_doctor_options *options, eco_doctor_report *out, eco_error *err) {
    *out = (eco_doctor_report){0};
    drivers d = {0};
    eco_boundary work;
    const char *folder = options->output_dir != NULL ? options->output_dir : ".";
    ECO_TRY(eco_device_find(options->device, &work, err));
    look_at_meters(&d, out);
    look_at_cuda(&d, out);
    compare_versions(&d, out);
    look_at_paths(&d, out);
    look_at_mapping(&d, out);
    find_device(&work, out);
    ecoi_doctor_host(out, "", folder);
    if (*ecoi_interrupted() != 0) {
        return eco_error_set(err, ECO_E_INTERRUPTED, 0, "interrupted");
    }
    return ECO_OK;
}
