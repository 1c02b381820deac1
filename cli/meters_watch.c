/* SPDX-License-Identifier: Apache-2.0
 *
 * The live line. Power is read where there is a reading, else it is the counter's rise over the last second, and said to
 * be so. On a terminal the line is written over; elsewhere each is a line of its own.
 */
#define _POSIX_C_SOURCE 200809L

#include "meters_watch.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WATCHED_MAX = 16, PARTS_MAX = 32, STEPS_A_SECOND = 20 };

typedef struct watched {
    eco_meter *meter;
    eco_meter_info info;
    eco_meter_sample last;           /* energy and its time */
    eco_meter_part parts[PARTS_MAX]; /* as of `last` */
    size_t n_parts;
} watched;

typedef struct reading {
    eco_reading power_w, temp_c;
    bool derived;
    char parts[256]; /* "package-0 34.1 W, dram 4.0 W (not counted)"; "" = one counter */
} reading;

/* ---- which meters ---- */

static size_t add_meter(watched *list, size_t n, const eco_meter_options *wanted, eco_error *err) {
    if (n == WATCHED_MAX || eco_meter_open(wanted, &list[n].meter, err) != ECO_OK) {
        return n;
    }
    eco_meter_describe(list[n].meter, &list[n].info);
    return n + 1;
}

static size_t open_all(watched *list, const cli_meter *chosen, eco_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < eco_meter_count(); i++) {
        eco_meter_status status;
        eco_meter_probe_with(i, &chosen->config, &status);
        for (uint32_t d = 0; status.usable && d < status.n_devices; d++) {
            eco_meter_info info;
            if (eco_meter_device_with(i, &chosen->config, d, &info, err) != ECO_OK) {
                continue;
            }
            const eco_meter_options wanted = {
                .name = status.name, .work = info.device.boundary, .config = chosen->config};
            n = add_meter(list, n, &wanted, err);
        }
    }
    return n;
}

/* ---- one second ---- */

static void begin(watched *w) {
    eco_meter_read(w->meter, ECO_READ_ENERGY, &w->last);
    w->n_parts = eco_meter_parts(w->meter, w->parts, PARTS_MAX);
}

static eco_reading rise(eco_reading from_j, eco_reading to_j, double seconds) {
    if (!eco_reading_present(from_j) || !eco_reading_present(to_j)) {
        return eco_reading_present(from_j) ? to_j : from_j;
    }
    return seconds > 0.0 && to_j.value >= from_j.value
               ? eco_reading_of((to_j.value - from_j.value) / seconds)
               : eco_reading_absent(ECO_ABSENT_FAILED);
}

static void name_parts(const watched *w, const eco_meter_part *now, size_t n, double seconds,
                       char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && i < w->n_parts && used < size; i++) {
        const eco_reading power_w = rise(w->parts[i].energy_j, now[i].energy_j, seconds);
        char value[32] = "-";
        if (eco_reading_present(power_w)) {
            snprintf(value, sizeof value, "%.1f W", power_w.value);
        }
        const int length = snprintf(out + used, size - used, "%s%s %s%s", i > 0 ? ", " : "",
                                    now[i].name, value, now[i].counted ? "" : " (not counted)");
        used += length > 0 ? (size_t)length : 0;
    }
}

static reading take(watched *w) {
    reading out = {0};
    eco_meter_sample now;
    eco_meter_part parts[PARTS_MAX];
    eco_meter_read(w->meter, ECO_READ_POWER | ECO_READ_TEMP | ECO_READ_ENERGY, &now);
    const size_t n_parts = eco_meter_parts(w->meter, parts, PARTS_MAX);
    const double seconds = (double)(now.t_ns - w->last.t_ns) * 1e-9;
    out.temp_c = now.temp_c;
    out.power_w = now.power_w;
    if (w->info.power_field == NULL && w->info.energy_field != NULL) {
        out.derived = true;
        out.power_w = rise(w->last.energy_j, now.energy_j, seconds);
    }
    name_parts(w, parts, n_parts, seconds, out.parts, sizeof out.parts);
    memcpy(w->parts, parts, n_parts * sizeof parts[0]);
    w->n_parts = n_parts;
    w->last = now;
    return out;
}

static void print_one(const watched *w, const reading *r) {
    cli_out("%s %s: ", w->info.name, w->info.device.name);
    if (eco_reading_present(r->power_w)) {
        cli_out("%.1f W%s", r->power_w.value, r->derived ? " from its counter" : "");
    } else {
        char why[160];
        eco_meter_trouble(w->meter, why, sizeof why);
        cli_out("- (%s%s%s)", eco_absence_name(r->power_w.absence), why[0] != '\0' ? ": " : "",
                why);
    }
    if (eco_reading_present(r->temp_c)) {
        cli_out(", %.0f °C", r->temp_c.value);
    }
    if (r->parts[0] != '\0') {
        cli_out(" [%s]", r->parts);
    }
}

static void print_one_json(const watched *w, const reading *r) {
    cli_out("{");
    cli_json_field("meter", w->info.name, false);
    cli_json_field("device", w->info.device.name, false);
    cli_json_reading("power_w", r->power_w, false);
    cli_out("\"from_counter\": %s, ", r->derived ? "true" : "false");
    cli_json_reading("temperature_c", r->temp_c, false);
    cli_json_field("absence", eco_absence_name(r->power_w.absence), false);
    cli_json_field("parts", r->parts, true);
    cli_out("}");
}

/* The one escape sequence of the program: to the line's start, and clear it. */
static void begin_line_again(FILE *stream) {
    fprintf(stream, "\r\033[K");
}

static void print_line(watched *list, size_t n, uint64_t line, bool json, bool live) {
    if (json) {
        cli_out("%s\n  [", line == 0 ? "[" : ",");
    } else if (live) {
        begin_line_again(stdout);
    }
    for (size_t i = 0; i < n; i++) {
        const reading r = take(&list[i]);
        if (json) {
            cli_out("%s", i > 0 ? ", " : "");
            print_one_json(&list[i], &r);
        } else {
            cli_out("%s", i > 0 ? " | " : "");
            print_one(&list[i], &r);
        }
    }
    cli_out("%s", json ? "]" : live ? "" : "\n");
    fflush(stdout);
}

/* A second, or less when a signal asks to stop. Counters without a power reading are looked at meanwhile, as a window
 * does it, so that none wraps unseen. */
static void wait_second(const watched *list, size_t n) {
    for (int i = 0; i < STEPS_A_SECOND && *eco_interrupted() == 0; i++) {
        const struct timespec step = {.tv_nsec = 1000000000 / STEPS_A_SECOND};
        (void)nanosleep(&step, NULL);
        for (size_t k = 0; k < n; k++) {
            eco_meter_sample unused;
            eco_meter_part parts[PARTS_MAX];
            if (list[k].info.power_field == NULL) {
                eco_meter_read(list[k].meter, ECO_READ_ENERGY, &unused);
                (void)eco_meter_parts(list[k].meter, parts, PARTS_MAX);
            }
        }
    }
}

int meters_watch(const cli_meter *chosen, uint64_t n_lines, bool json) {
    watched list[WATCHED_MAX] = {0};
    eco_error error = {0};
    size_t n = 0;
    if (chosen->name != NULL) {
        char name[ECO_NAME_MAX];
        const char *names = chosen->name;
        while (eco_meter_list_next(&names, name, sizeof name)) {
            const eco_meter_options wanted = {.name = name, .config = chosen->config};
            const size_t before = n;
            n = add_meter(list, n, &wanted, &error);
            if (n == before && strcmp(name, chosen->name) != 0) {
                cli_err("ecocompute: not watched: %s\n", error.message);
            }
        }
    } else {
        n = open_all(list, chosen, &error);
    }
    if (n == 0) {
        cli_err("ecocompute: no meter can be watched: %s\n",
                error.message[0] != '\0' ? error.message
                                         : "none is usable here; `ecocompute meters` says why");
        return EXIT_UNMEASURED;
    }
    for (size_t i = 0; i < n; i++) {
        begin(&list[i]);
    }
    const bool live = !json && eco_is_tty(STDOUT_FILENO);
    uint64_t line = 0;
    for (; n_lines == 0 || line < n_lines; line++) {
        wait_second(list, n);
        if (*eco_interrupted() != 0) {
            break;
        }
        print_line(list, n, line, json, live);
    }
    cli_out("%s", json ? line == 0 ? "[]\n" : "\n]\n" : live ? "\n" : "");
    for (size_t i = 0; i < n; i++) {
        eco_meter_close(list[i].meter);
    }
    return *eco_interrupted() != 0 ? 128 + *eco_interrupted() : EXIT_DONE;
}
