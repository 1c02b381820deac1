/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's part of the doctor: is there a core for the sampler, does the clock serve, is there room, is this build
 * one to measure with. Deadlines are really kept for a second, because load figures do not show what a thread gets.
 */
#include "protocol/doctor_note.h"

#include "protocol/build_facts.h"
#include "sys/clock.h"
#include "sys/cpu.h"
#include "sys/host_facts.h"
#include "sys/signals.h"

#include <string.h>

static const int64_t DEADLINE_NS = 50000000; /* the sampler's 20 Hz */
static const int64_t LATE_WARN_NS = 10000000;
static const int64_t LATE_BAD_NS = 250000000; /* with the period, five sampling periods */
static const double STEAL_WARN = 0.02;
static const uint64_t SPACE_BAD_BYTES = UINT64_C(64) << 20;
static const uint64_t SPACE_WARN_BYTES = UINT64_C(1) << 30;
static const uint64_t MEMORY_WARN_BYTES = UINT64_C(2) << 30;

enum { DEADLINES = 20 };

typedef struct deadlines {
    int64_t worst_ns;
    uint32_t n_late;
    double busy, stolen; /* parts of all cores meanwhile, -1 = unknown */
} deadlines;

static deadlines keep_deadlines(const char *root) {
    deadlines out = {.busy = -1.0, .stolen = -1.0};
    eco_cpu_times before;
    eco_cpu_times after;
    const bool known = ecoi_cpu_times(root, &before);
    int64_t due_ns = ecoi_now_ns();
    for (int i = 0; i < DEADLINES && *ecoi_interrupted() == 0; i++) {
        due_ns += DEADLINE_NS;
        ecoi_sleep_until_ns(due_ns);
        const int64_t late_ns = ecoi_now_ns() - due_ns;
        out.worst_ns = late_ns > out.worst_ns ? late_ns : out.worst_ns;
        out.n_late += late_ns > LATE_WARN_NS;
    }
    if (known && ecoi_cpu_times(root, &after) && after.total > before.total) {
        const double total = (double)(after.total - before.total);
        out.busy = (double)(after.busy - before.busy) / total;
        out.stolen = (double)(after.stolen - before.stolen) / total;
    }
    return out;
}

static void note_time(eco_doctor_report *report, const char *root, const eco_host_facts *host) {
    const uint32_t n_cores = ecoi_cpu_allowed();
    const deadlines kept = keep_deadlines(root);
    ecoi_doctor_note(report, "sampler_deadlines",
                     kept.worst_ns >= LATE_BAD_NS ? ECO_FINDING_BAD
                     : kept.n_late > 0            ? ECO_FINDING_WARN
                                                  : ECO_FINDING_OK,
                     "free a CPU core for the sampler: stop other work, or pin it to other cores",
                     "%u of %d deadlines at 20 Hz missed by more than 10 ms, worst %lld us",
                     kept.n_late, DEADLINES, (long long)(kept.worst_ns / 1000));
    if (kept.busy < 0.0) {
        ecoi_doctor_note(report, "cpu_load", ECO_FINDING_UNKNOWN, "mount procfs",
                         "the kernel gives no CPU times");
        return;
    }
    const bool crowded = kept.busy > 0.9 || host->load_1min > 1.5 * n_cores;
    ecoi_doctor_note(report, "cpu_load", crowded ? ECO_FINDING_WARN : ECO_FINDING_OK,
                     "stop other work on this machine",
                     "%d %% of the cores busy, load %d.%02d, %u cores for this process",
                     (int)(kept.busy * 100.0 + 0.5), (int)host->load_1min,
                     (int)(host->load_1min * 100.0) % 100, n_cores);
    ecoi_doctor_note(
        report, "cpu_steal", kept.stolen > STEAL_WARN ? ECO_FINDING_WARN : ECO_FINDING_OK,
        "the host of this virtual machine is crowded: choose a dedicated one",
        "%d %% of the cores' time was taken by the hypervisor", (int)(kept.stolen * 100.0 + 0.5));
}

static void note_cpu(eco_doctor_report *report, const eco_host_facts *host) {
    if (host->governor[0] == '\0') {
        ecoi_doctor_note(report, "cpu_governor", ECO_FINDING_OK, "",
                         "the system shows no frequency governor");
    } else {
        const bool fixed = strcmp(host->governor, "performance") == 0 && !host->governors_differ;
        ecoi_doctor_note(report, "cpu_governor", fixed ? ECO_FINDING_OK : ECO_FINDING_WARN,
                         "for CPU work choose the performance governor (cpupower frequency-set -g "
                         "performance)",
                         "%s%s", host->governor,
                         host->governors_differ ? ", and others on other cores" : "");
    }
    if (host->cgroup_cpus < 0.0) {
        ecoi_doctor_note(report, "cgroup_cpu", ECO_FINDING_UNKNOWN, "mount the cgroup file system",
                         "no CPU controller can be read");
    } else if (host->cgroup_cpus > 0.0) {
        const int hundredths = (int)(host->cgroup_cpus * 100.0 + 0.5);
        ecoi_doctor_note(report, "cgroup_cpu",
                         host->cgroup_cpus < 2.0 ? ECO_FINDING_BAD : ECO_FINDING_WARN,
                         "raise the container's CPU limit: a throttled group misses deadlines",
                         "limited to %d.%02d cores", hundredths / 100, hundredths % 100);
    } else {
        ecoi_doctor_note(report, "cgroup_cpu", ECO_FINDING_OK, "", "no CPU limit");
    }
}

static void note_kind(eco_doctor_report *report, const eco_host_facts *host) {
    if (host->wsl) {
        ecoi_doctor_note(
            report, "virtual_machine", ECO_FINDING_WARN,
            "measure under Linux itself: other programs of Windows use the card unseen",
            "Windows Subsystem for Linux");
    } else {
        ecoi_doctor_note(report, "virtual_machine", ECO_FINDING_OK, "", "%s",
                         host->hypervisor ? "a virtual machine" : "no hypervisor seen");
    }
    ecoi_doctor_note(report, "container", ECO_FINDING_OK, "", "%s%s",
                     host->container[0] != '\0' ? host->container : "none seen",
                     host->container[0] != '\0'
                         ? ": processes outside are not seen by name, other limits may apply"
                         : "");
}

static void note_room(eco_doctor_report *report, const char *output_dir) {
    const eco_host_memory memory = ecoi_host_memory();
    uint64_t free_bytes = 0;
    bool writable = false;
    if (memory.total_bytes == 0) {
        ecoi_doctor_note(report, "memory", ECO_FINDING_UNKNOWN, "mount procfs",
                         "the kernel does not say");
    } else {
        ecoi_doctor_note(report, "memory",
                         memory.available_bytes < MEMORY_WARN_BYTES ? ECO_FINDING_WARN
                                                                    : ECO_FINDING_OK,
                         "free memory: a large model is prepared in host memory",
                         "%llu MiB available", (unsigned long long)(memory.available_bytes >> 20));
    }
    if (!ecoi_folder_space(output_dir, &free_bytes, &writable)) {
        ecoi_doctor_note(report, "disk_space", ECO_FINDING_BAD,
                         "make the folder, or choose another", "%.200s: cannot be looked at",
                         output_dir);
        return;
    }
    ecoi_doctor_note(report, "disk_space",
                     !writable || free_bytes < SPACE_BAD_BYTES ? ECO_FINDING_BAD
                     : free_bytes < SPACE_WARN_BYTES           ? ECO_FINDING_WARN
                                                               : ECO_FINDING_OK,
                     "choose a folder that can be written and has room (--output-dir)",
                     "%.200s: %llu MiB free%s", output_dir, (unsigned long long)(free_bytes >> 20),
                     writable ? "" : ", not writable");
}

void ecoi_doctor_host(eco_doctor_report *report, const char *root, const char *output_dir) {
    eco_host_facts host;
    int64_t resolution_ns = 0;
    int64_t step_ns = 0;
    char source[32];
    ecoi_host_facts(root, &host);
    note_time(report, root, &host);
    note_cpu(report, &host);
    note_kind(report, &host);
    note_room(report, output_dir);
    ecoi_clock_facts(&resolution_ns, &step_ns, source, sizeof source);
    ecoi_doctor_note(report, "clock",
                     resolution_ns > 1000 || step_ns > 100000 ? ECO_FINDING_WARN : ECO_FINDING_OK,
                     "use a kernel with high-resolution timers",
                     "CLOCK_MONOTONIC: resolution %lld ns, smallest step seen %lld ns, source %s",
                     (long long)resolution_ns, (long long)step_ns,
                     source[0] != '\0' ? source : "unknown");
    ecoi_doctor_note(report, "build", ECO_CHECKED_BUILD ? ECO_FINDING_BAD : ECO_FINDING_OK,
                     "build with the release preset", "%s",
                     ECO_CHECKED_BUILD ? "a debug or sanitizer build" : "a release build");
}
