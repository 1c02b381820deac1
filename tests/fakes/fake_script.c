/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the script that drives the fakes: lines `key value…`, `#` starts a comment. The file is
 * read again when ECO_FAKE_SCRIPT names another one, so a test may change scripts; texts live until
 * then.
 *
 * Keys of the scripted NVML (default). Any of them may end in `.0` or `.1` for one physical board.
 * Seconds count from the first nvmlInit after the library was loaded. devices (1), nvml_order "1 0"
 * (physical board at each NVML index; "0 1"), name, driver, vbios, uuid (of a board) idle_bare_w
 * (78)              true power before the first event in the page update_ms (100), phase_ms (0) all
 * readings change at phase + k * update of CLOCK_MONOTONIC part_time "25/100" ("")       instant
 * power sees only the last 25 of each 100 ms; "" = the whole update period counter_base_j (0) the counter before time zero, counter_part (no) yes:
 * the counter sums those sampled parts instead of the whole gain (1.0), offset_w (0)      of every
 * power and of the counter power (yes | no | zero | denied), instant_field (yes | no), power_usage
 * (average1s | instant) counter (clean | none | denied | frozen [S] | reset_at_s S | step_back_at_s
 * S [J = 50]) energy_field (no)             yes: field 83 answers though the counter call does not
 * (counter none) read_cost_energy_us (4600), read_cost_power_us (2), read_cost_slow_us (20): busy
 * waiting of each read stall_every_s (0), stall_ms (0)                    every so often one read
 * takes that much longer fail_from_s, fail_for_s (0), fail_every_s (0), fail_code (999)   bursts in
 * which every reading fails lost_at_s (never)             from then on every call on the board
 * answers "lost"; so does `lost` in the page hang_at_s (never)  from then on no call returns temp_c (40), temp_c_per_w (0) temperature: base + rise
 * over idle power, of the last second; temp_rise_c_per_s (0), temp_rise_until_s (forever) and a climb; temp (yes | no)
 * throttle (0), throttle_from_s (0), throttle_for_s (forever)
 * NVML reason bits, any base sm_clock_mhz (1980), mem_clock_mhz (2619), sm_clock_drift_mhz_per_s
 * (0), sm_clock_max_mhz (1980) power_limit_w (700), power_limit_default_w (700), memory_mib
 * (143771), cc "9.0" ecc (on), persistence (on), mig (off)  on | off | none mig_uuid ("") a MIG
 * instance of the board other_tenant_pid (0), other_tenant_mib (100), other_tenant_from_s (0),
 * other_tenant_name ("") own_tenant (yes)              the process itself is in the process list,
 * as on a real card return.<symbol> CODE          that call returns CODE and does nothing, e.g.
 * return.nvmlInit_v2 9
 *
 * Of both libraries, LIB being nvml or cuda: fail_nth_call.LIB N (0)   the N-th call returns
 * fail_nth_code.LIB (999) and does nothing; with fail_nth_and_after.LIB 1 so do all after it.
 * ECO_FAKE_CALLS names a file; at the end FILE.LIB holds the number of calls and of failed ones.
 */
#define _GNU_SOURCE

#include "fake_page.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPT_LINES = 256, SCRIPT_KEY = 64, SCRIPT_VALUE = 192, SCRIPT_PATH = 1024 };

struct script_line {
    char key[SCRIPT_KEY];
    char value[SCRIPT_VALUE];
};

static pthread_mutex_t script_lock = PTHREAD_MUTEX_INITIALIZER;
static char script_path[SCRIPT_PATH];
static struct script_line script_lines[SCRIPT_LINES];
static size_t script_n;

static void script_die(const char *path, const char *what) {
    (void)fprintf(stderr, "fake script %s: %s\n", path, what);
    abort();
}

static void script_add(char *text, const char *path) {
    text[strcspn(text, "#\n")] = '\0';
    char *key = text + strspn(text, " \t");
    const size_t n_key = strcspn(key, " \t");
    if (n_key == 0) {
        return;
    }
    char *value = key + n_key;
    value += strspn(value, " \t");
    size_t n_value = strlen(value);
    while (n_value > 0 && (value[n_value - 1] == ' ' || value[n_value - 1] == '\t')) {
        n_value--;
    }
    if (n_value >= 2 && value[0] == '"' && value[n_value - 1] == '"') {
        value++;
        n_value -= 2;
    }
    if (script_n == SCRIPT_LINES || n_key >= SCRIPT_KEY || n_value >= SCRIPT_VALUE) {
        script_die(path, "too many or too long lines");
    }
    struct script_line *line = &script_lines[script_n++];
    memcpy(line->key, key, n_key);
    line->key[n_key] = '\0';
    memcpy(line->value, value, n_value);
    line->value[n_value] = '\0';
}

static void script_load(void) {
    const char *path = getenv("ECO_FAKE_SCRIPT");
    path = path != NULL ? path : "";
    if (strcmp(path, script_path) == 0) {
        return;
    }
    if (strlen(path) >= sizeof script_path) {
        script_die(path, "path too long");
    }
    script_n = 0;
    memcpy(script_path, path, strlen(path) + 1);
    if (path[0] == '\0') {
        return;
    }
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        script_die(path,
                   "cannot be read"); /* a test with a mistyped script must not pass on defaults */
        return;
    }
    char text[SCRIPT_KEY + SCRIPT_VALUE + 64];
    while (fgets(text, sizeof text, file) != NULL) {
        script_add(text, path);
    }
    (void)fclose(file);
}

const char *fake_script_text(const char *key, const char *otherwise) {
    const char *found = otherwise;
    (void)pthread_mutex_lock(&script_lock);
    script_load();
    for (size_t i = 0; i < script_n; i++) {
        if (strcmp(script_lines[i].key, key) == 0) {
            found = script_lines[i].value; /* the last line counts */
        }
    }
    (void)pthread_mutex_unlock(&script_lock);
    return found;
}

static _Atomic(const char *) fault_library; /* of this copy of the file; NULL: no call yet */

static struct fake_calls *fault_calls(const char *library) {
    return strcmp(library, "nvml") == 0 ? &fake_page_map()->nvml : &fake_page_map()->cuda;
}

static double fault_number(const char *key, const char *library, double otherwise) {
    char own[SCRIPT_KEY];
    (void)snprintf(own, sizeof own, "%s.%s", key, library);
    return fake_script_number(own, otherwise);
}

int fake_call_fault(const char *library) {
    struct fake_calls *calls = fault_calls(library);
    const uint64_t n = ++calls->n;
    fault_library = library;
    const double nth = fault_number("fail_nth_call", library, 0.0);
    const bool after = fault_number("fail_nth_and_after", library, 0.0) > 0.0;
    if (nth < 1.0 || (double)n < nth || ((double)n > nth && !after)) {
        return 0;
    }
    calls->n_failed++;
    return (int)fault_number("fail_nth_code", library, 999.0);
}

__attribute__((destructor)) static void fault_tell(void) {
    const char *path = getenv("ECO_FAKE_CALLS");
    const char *library = fault_library;
    if (path == NULL || library == NULL) {
        return;
    }
    char own[SCRIPT_PATH];
    (void)snprintf(own, sizeof own, "%s.%s", path, library);
    FILE *file = fopen(own, "w");
    if (file != NULL) {
        const struct fake_calls *calls = fault_calls(library);
        (void)fprintf(file, "%llu %llu\n", (unsigned long long)calls->n,
                      (unsigned long long)calls->n_failed);
        (void)fclose(file);
    }
}

double fake_script_number(const char *key, double otherwise) {
    const char *text = fake_script_text(key, NULL);
    if (text == NULL) {
        return otherwise;
    }
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0') {
        if (strncmp(text, "0x", 2) == 0) {
            return (double)strtoull(text, NULL, 16);
        }
        script_die(key, "not a number");
    }
    return value;
}
