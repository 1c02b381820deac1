/* SPDX-License-Identifier: Apache-2.0
 *
 * What sampling costs on the meter of this machine, or on a scripted one (LD_LIBRARY_PATH): CPU
 * time of the sampler a second at 20 Hz, the same with a window's two edges, the rate reached, and
 * the longest stall in the driver. A program to look at, not a test. Usage: bench_sampler [seconds,
 * default 5] [GPU uuid]
 */
#include "ecocompute/meter.h"
#include "meters/sampler.h"
#include "sys/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int report_failure(const char *what, const eco_error *error) {
    (void)fprintf(stderr, "bench_sampler: %s: %s\n", what, error->message);
    return 1;
}

static void print_cost(const char *what, const eco_sampler_stats *before,
                       const eco_sampler_stats *after, double s) {
    const double cpu_ms = (double)(after->cpu_ns - before->cpu_ns) / 1e6;
    (void)printf(
        "%-22s %6.2f s  %4llu samples  %5llu counter reads  CPU %8.3f ms  %7.3f ms a second\n",
        what, s, (unsigned long long)(after->n_samples - before->n_samples),
        (unsigned long long)(after->n_energy_reads - before->n_energy_reads), cpu_ms, cpu_ms / s);
}

static int bench(eco_sampler *sampler, double seconds) {
    eco_error error = {0};
    eco_sampler_stats stats[3];
    eco_edge open;
    eco_edge close;
    const int64_t span_ns = (int64_t)(seconds * 1e9);
    ecoi_sampler_stats(sampler, &stats[0]);
    const int64_t start_ns = ecoi_now_ns();
    ecoi_sleep_until_ns(start_ns + span_ns);
    ecoi_sampler_stats(sampler, &stats[1]);
    print_cost("sampling only", &stats[0], &stats[1], (double)(ecoi_now_ns() - start_ns) / 1e9);

    const int64_t window_ns = ecoi_now_ns();
    const eco_edge_request first = {.block = 1, .phase = ECO_PHASE_IDLE_BARE};
    if (ecoi_sampler_edge(sampler, &first, &open, &error) != ECO_OK) {
        return report_failure("opening edge", &error);
    }
    const eco_edge_condition condition = {.not_before_ns = open.t_ns + span_ns,
                                          .timeout_ns = 3000000000};
    const eco_edge_request last = {.condition = &condition,
                                   .block = 1,
                                   .phase = ECO_PHASE_IDLE_BARE,
                                   .after = ECO_PHASE_IDLE_BARE,
                                   .closing = true};
    if (ecoi_sampler_edge(sampler, &last, &close, &error) != ECO_OK) {
        return report_failure("closing edge", &error);
    }
    ecoi_sampler_stats(sampler, &stats[2]);
    print_cost("a window with edges", &stats[1], &stats[2],
               (double)(ecoi_now_ns() - window_ns) / 1e9);
    (void)printf(
        "rate %.2f Hz, longest gap %.2f ms, longest read %.3f ms, edges +- %.3f and +- %.3f ms",
        stats[2].rate_hz, (double)stats[2].longest_gap_ns / 1e6,
        (double)stats[2].longest_read_ns / 1e6, (double)open.u_t_ns / 1e6,
        (double)close.u_t_ns / 1e6);
    if (eco_reading_present(open.energy_j) && eco_reading_present(close.energy_j)) {
        (void)printf(", mean power %.2f W", (close.energy_j.value - open.energy_j.value) * 1e9 /
                                                (double)(close.t_ns - open.t_ns));
    }
    (void)printf("\n");
    return 0;
}

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 5.0;
    eco_meter_options options = {0};
    eco_meter_info info;
    eco_error error = {0};
    eco_meter *meter = NULL;
    eco_sampler *sampler = NULL;
    if (!(seconds >= 0.1 && seconds <= 3600.0)) {
        (void)fprintf(stderr, "usage: bench_sampler [seconds, 0.1 to 3600] [GPU uuid]\n");
        return 2;
    }
    if (argc > 2) {
        options.work.kind = ECO_BOUNDARY_GPU;
        (void)snprintf(options.work.uuid, sizeof options.work.uuid, "%s", argv[2]);
    }
    if (eco_meter_open(&options, &meter, &error) != ECO_OK) {
        return report_failure("meter", &error);
    }
    eco_meter_describe(meter, &info);
    (void)printf("%s: %s, driver %s, %s\n", info.name, info.device.name, info.device.driver,
                 info.device.library_path);
    const eco_sampler_options how = {.meter = meter, .rate_hz = 20.0, .capacity = 200000};
    int failed = 1;
    if (ecoi_sampler_open(&how, &sampler, &error) == ECO_OK) {
        failed = bench(sampler, seconds);
    } else {
        (void)report_failure("sampler", &error);
    }
    ecoi_sampler_close(sampler);
    eco_meter_close(meter);
    return failed;
}
