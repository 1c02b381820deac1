/* SPDX-License-Identifier: Apache-2.0
 *
 * The physics of the scripted boards: exact integrals of the events in the page, seen through
 * update ticks, sampling windows, trailing averages, gain, offset and the failures the script asks
 * for.
 */
#define _GNU_SOURCE

#include "fake_nvml_board.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CODE_OK = 0, CODE_NOT_SUPPORTED = 3, CODE_NO_PERMISSION = 4, CODE_LOST = 15 };

enum counter_kind {
    COUNTER_CLEAN,
    COUNTER_NONE,
    COUNTER_DENIED,
    COUNTER_FROZEN,
    COUNTER_RESET,
    COUNTER_STEP
};

/* Parsed once a setup: reads must not cost more than the script says. */
struct board_config {
    double idle_w, update_s, phase_s, part_s, gain, offset_w;
    bool counter_part, temp, power, power_zero, power_denied, instant_field, usage_average,
        energy_field;
    enum counter_kind counter;
    double counter_s, counter_j, counter_base_j;
    double cost_energy_s, cost_power_s, cost_slow_s;
    double stall_every_s, stall_s;
    double fail_from_s, fail_for_s, fail_every_s, lost_s;
    int fail_code;
    double temp_c, temp_per_w, temp_rise, temp_rise_s, clock_mhz, clock_drift, mem_clock_mhz;
    double throttle_from_s, throttle_for_s;
    unsigned long long throttle;
};

struct board {
    int physical;
    bool mig;
    struct board_config config;
    uint32_t n_sums;
    double sums_j[FAKE_EVENTS]; /* true energy from time zero to each event */
    double part_j;              /* counter of sampled parts, up to tick part_tick */
    double part_tick;
    double shown_tick; /* a value once shown stays until the next tick, whatever arrives late in the
                          page */
    unsigned long long shown_mj;
    double stalled_s;
};

static pthread_mutex_t boards_lock = PTHREAD_MUTEX_INITIALIZER;
static struct board boards[FAKE_DEVICES];
static struct board boards_mig[FAKE_DEVICES];
static unsigned boards_order[FAKE_DEVICES];
static unsigned boards_n;
static double boards_start_s = -1.0;

static double now_s(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- script ---- */

const char *board_text(const struct board *board, const char *key, const char *otherwise) {
    char own[96];
    (void)snprintf(own, sizeof own, "%s.%d", key, board->physical);
    const char *text = fake_script_text(own, NULL);
    return text != NULL ? text : fake_script_text(key, otherwise);
}

double board_number(const struct board *board, const char *key, double otherwise) {
    char own[96];
    (void)snprintf(own, sizeof own, "%s.%d", key, board->physical);
    return fake_script_text(own, NULL) != NULL ? fake_script_number(own, otherwise)
                                               : fake_script_number(key, otherwise);
}

static bool board_is(const struct board *board, const char *key, const char *word,
                     const char *otherwise) {
    return strcmp(board_text(board, key, otherwise), word) == 0;
}

static void config_counter(const struct board *board, struct board_config *config) {
    static const struct {
        const char *word;
        enum counter_kind kind;
    } words[] = {{"clean", COUNTER_CLEAN},      {"none", COUNTER_NONE},
                 {"denied", COUNTER_DENIED},    {"frozen", COUNTER_FROZEN},
                 {"reset_at_s", COUNTER_RESET}, {"step_back_at_s", COUNTER_STEP}};
    const char *text = board_text(board, "counter", "clean");
    char word[32] = "";
    config->counter_s = 0.0;
    config->counter_j = 50.0;
    config->counter_base_j = board_number(board, "counter_base_j", 0.0);
    (void)sscanf(text, "%31s %lf %lf", word, &config->counter_s, &config->counter_j);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].word, word) == 0) {
            config->counter = words[i].kind;
            return;
        }
    }
    (void)fprintf(stderr, "fake nvml: counter '%s'?\n", text);
    abort();
}

static void config_sensor(const struct board *board, struct board_config *config) {
    double on_ms = 0.0;
    double of_ms = 0.0;
    config->idle_w = board_number(board, "idle_bare_w", 78.0);
    config->update_s = board_number(board, "update_ms", 100.0) / 1e3;
    config->phase_s = board_number(board, "phase_ms", 0.0) / 1e3;
    config->part_s = config->update_s;
    if (sscanf(board_text(board, "part_time", ""), "%lf/%lf", &on_ms, &of_ms) == 2) {
        config->part_s = config->update_s * on_ms / of_ms;
    }
    config->counter_part = board_is(board, "counter_part", "yes", "no");
    config->gain = board_number(board, "gain", 1.0);
    config->offset_w = board_number(board, "offset_w", 0.0);
    config->power = !board_is(board, "power", "no", "yes");
    config->power_zero = board_is(board, "power", "zero", "yes");
    config->power_denied = board_is(board, "power", "denied", "yes");
    config->instant_field = board_is(board, "instant_field", "yes", "yes");
    config->usage_average = board_is(board, "power_usage", "average1s", "average1s");
    config->energy_field = board_is(board, "energy_field", "yes", "no");
    config->temp_c = board_number(board, "temp_c", 40.0);
    config->temp_per_w = board_number(board, "temp_c_per_w", 0.0);
    config->temp = !board_is(board, "temp", "no", "yes");
    config->temp_rise = board_number(board, "temp_rise_c_per_s", 0.0);
    config->temp_rise_s = board_number(board, "temp_rise_until_s", 1e18);
    config->clock_mhz = board_number(board, "sm_clock_mhz", 1980.0);
    config->clock_drift = board_number(board, "sm_clock_drift_mhz_per_s", 0.0);
    config->mem_clock_mhz = board_number(board, "mem_clock_mhz", 2619.0);
}

static void config_trouble(const struct board *board, struct board_config *config) {
    config->cost_energy_s = board_number(board, "read_cost_energy_us", 4600.0) / 1e6;
    config->cost_power_s = board_number(board, "read_cost_power_us", 2.0) / 1e6;
    config->cost_slow_s = board_number(board, "read_cost_slow_us", 20.0) / 1e6;
    config->stall_every_s = board_number(board, "stall_every_s", 0.0);
    config->stall_s = board_number(board, "stall_ms", 0.0) / 1e3;
    config->fail_from_s = board_number(board, "fail_from_s", 0.0);
    config->fail_for_s = board_number(board, "fail_for_s", 0.0);
    config->fail_every_s = board_number(board, "fail_every_s", 0.0);
    config->fail_code = (int)board_number(board, "fail_code", 999.0);
    config->lost_s = board_number(board, "lost_at_s", 1e18);
    config->throttle = (unsigned long long)board_number(board, "throttle", 0.0);
    config->throttle_from_s = board_number(board, "throttle_from_s", 0.0);
    config->throttle_for_s = board_number(board, "throttle_for_s", 1e18);
}

void board_setup(void) {
    (void)pthread_mutex_lock(&boards_lock);
    if (boards_start_s < 0.0) {
        boards_start_s = now_s();
    }
    boards_n = (unsigned)fake_script_number("devices", 1.0);
    boards_n = boards_n < FAKE_DEVICES ? boards_n : FAKE_DEVICES;
    boards_order[0] = 0;
    boards_order[1] = 1;
    (void)sscanf(fake_script_text("nvml_order", "0 1"), "%u %u", &boards_order[0],
                 &boards_order[1]);
    for (int i = 0; i < FAKE_DEVICES; i++) {
        boards[i].physical = i;
        boards[i].shown_tick = -1.0;
        boards[i].shown_mj = 0;
        boards[i].part_tick = -1.0;
        config_counter(&boards[i], &boards[i].config);
        config_sensor(&boards[i], &boards[i].config);
        config_trouble(&boards[i], &boards[i].config);
        boards_mig[i].physical = i;
        boards_mig[i].mig = true;
    }
    (void)pthread_mutex_unlock(&boards_lock);
}

double board_seconds(void) {
    return now_s() - boards_start_s;
}

/* ---- identity ---- */

unsigned board_count(void) {
    return boards_n;
}

struct board *board_at(unsigned index) {
    return index < boards_n && boards_order[index] < FAKE_DEVICES ? &boards[boards_order[index]]
                                                                  : NULL;
}

bool board_is_mig(const struct board *board) {
    return board->mig;
}

int board_physical(const struct board *board) {
    return board->physical;
}

struct board *board_parent(struct board *board) {
    return &boards[board->physical];
}

void board_uuid(const struct board *board, char *out, size_t size) {
    char own[96];
    (void)snprintf(own, sizeof own, "GPU-fa4e0000-0000-0000-0000-%012d", board->physical);
    (void)snprintf(out, size, "%s", board_text(board, board->mig ? "mig_uuid" : "uuid", own));
}

struct board *board_by_uuid(const char *uuid, bool *is_mig) {
    *is_mig = false;
    for (unsigned i = 0; i < boards_n; i++) {
        char own[96];
        struct board *board = board_at(i);
        board_uuid(board, own, sizeof own);
        if (strcmp(own, uuid) == 0) {
            return board;
        }
        const char *mig = board_text(board, "mig_uuid", "");
        if (mig[0] != '\0' && strcmp(mig, uuid) == 0) {
            *is_mig = true;
            return &boards_mig[board->physical];
        }
    }
    return NULL;
}

int board_lost(const struct board *board) {
    const struct fake_device *device = &fake_page_map()->devices[board->physical];
    const bool lost =
        atomic_load(&device->lost) != 0 || board_seconds() >= boards[board->physical].config.lost_s;
    return lost ? CODE_LOST : CODE_OK;
}

/* ---- truth ---- */

/* True energy from time zero to t_s. */
static double board_true_j(struct board *board, double t_s) {
    const struct fake_device *device = &fake_page_map()->devices[board->physical];
    const uint32_t n = atomic_load_explicit(&device->n_events, memory_order_acquire);
    for (; board->n_sums < n; board->n_sums++) {
        const uint32_t i = board->n_sums;
        const double at_s = (double)device->events[i].t_ns / 1e9;
        const double before_s = i > 0 ? (double)device->events[i - 1].t_ns / 1e9 : 0.0;
        const double before_w = i > 0 ? device->events[i - 1].power_w : board->config.idle_w;
        board->sums_j[i] = (i > 0 ? board->sums_j[i - 1] : 0.0) + before_w * (at_s - before_s);
    }
    uint32_t low = 0;
    uint32_t high = n; /* events [0, low) are at or before t */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if ((double)device->events[middle].t_ns / 1e9 <= t_s) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return board->config.idle_w * t_s;
    }
    const struct fake_event *last = &device->events[low - 1];
    return board->sums_j[low - 1] + last->power_w * (t_s - (double)last->t_ns / 1e9);
}

static double board_mean_w(struct board *board, double end_s, double width_s) {
    return (board_true_j(board, end_s) - board_true_j(board, end_s - width_s)) / width_s;
}

/* ---- what the sensor makes of it ---- */

static double board_tick(const struct board *board, double t_s) {
    return floor((t_s - board->config.phase_s) / board->config.update_s);
}

static double board_tick_s(const struct board *board, double tick) {
    return board->config.phase_s + tick * board->config.update_s;
}

/* The counter of sampled parts: each period counts as long as it is, at the mean of its sampled
 * end. */
static double board_parts_j(struct board *board, double tick) {
    const struct board_config *config = &board->config;
    if (board->part_tick < 0.0 || tick - board->part_tick > 1e6) {
        board->part_tick = tick;
        board->part_j = board_true_j(board, board_tick_s(board, tick));
    }
    while (board->part_tick < tick) {
        board->part_tick += 1.0;
        board->part_j +=
            board_mean_w(board, board_tick_s(board, board->part_tick), config->part_s) *
            config->update_s;
    }
    return board->part_j;
}

static double board_counter_at(struct board *board, double tick) {
    const struct board_config *config = &board->config;
    const double at_s = board_tick_s(board, tick);
    const double j = config->counter_part ? board_parts_j(board, tick) : board_true_j(board, at_s);
    return config->counter_base_j + config->gain * j + config->offset_w * (at_s - boards_start_s);
}

static unsigned long long board_counter_mj(struct board *board, double t_s) {
    const struct board_config *config = &board->config;
    double tick = board_tick(board, t_s);
    const double change_tick = board_tick(board, boards_start_s + config->counter_s);
    if (config->counter == COUNTER_FROZEN && tick > change_tick) {
        tick = change_tick;
    }
    if (tick == board->shown_tick) {
        return board->shown_mj;
    }
    double j = board_counter_at(board, tick);
    if (config->counter == COUNTER_RESET && tick > change_tick) {
        j -= board_true_j(board, board_tick_s(board, change_tick)) * config->gain;
    }
    if (config->counter == COUNTER_STEP && tick > change_tick) {
        j -= config->counter_j;
    }
    /* The end of a load may reach the page late; a counter that has counted on meanwhile waits, it does not go back. Only
     * the script's own reset or step may lower it, once. */
    const bool may_fall = (config->counter == COUNTER_RESET || config->counter == COUNTER_STEP) &&
                          tick > change_tick && board->shown_tick <= change_tick;
    const unsigned long long mj = j > 0.0 ? (unsigned long long)(j * 1e3) : 0;
    board->shown_tick = tick;
    board->shown_mj = mj < board->shown_mj && !may_fall ? board->shown_mj : mj;
    return board->shown_mj;
}

static unsigned long long board_power_mw(struct board *board, double t_s, double width_s) {
    const double mean_w = board_mean_w(board, board_tick_s(board, board_tick(board, t_s)), width_s);
    const double shown_w = board->config.gain * mean_w + board->config.offset_w;
    return board->config.power_zero || shown_w < 0.0 ? 0
                                                     : (unsigned long long)llround(shown_w * 1e3);
}

static bool board_failing(const struct board_config *config, double since_s) {
    double in_s = since_s - config->fail_from_s;
    if (config->fail_for_s <= 0.0 || in_s < 0.0) {
        return false;
    }
    if (config->fail_every_s > 0.0) {
        in_s = fmod(in_s, config->fail_every_s);
    }
    return in_s < config->fail_for_s;
}

static int board_refusal(const struct board_config *config, enum board_reading what) {
    switch (what) {
    case BOARD_POWER_INSTANT:
    case BOARD_POWER_USAGE:
        if (config->power_denied) {
            return CODE_NO_PERMISSION;
        }
        return config->power && (what == BOARD_POWER_USAGE || config->instant_field)
                   ? CODE_OK
                   : CODE_NOT_SUPPORTED;
    case BOARD_ENERGY_CALL:
        if (config->counter == COUNTER_DENIED) {
            return CODE_NO_PERMISSION;
        }
        return config->counter == COUNTER_NONE ? CODE_NOT_SUPPORTED : CODE_OK;
    case BOARD_ENERGY_FIELD:
        return config->energy_field ? CODE_OK : CODE_NOT_SUPPORTED;
    case BOARD_TEMP:
        return config->temp ? CODE_OK : CODE_NOT_SUPPORTED;
    case BOARD_SM_CLOCK:
    case BOARD_MEM_CLOCK:
    case BOARD_THROTTLE:
    default:
        return CODE_OK;
    }
}

static unsigned long long board_value(struct board *board, enum board_reading what, double t_s) {
    const struct board_config *config = &board->config;
    const double since_s = t_s - boards_start_s;
    switch (what) {
    case BOARD_POWER_INSTANT:
        return board_power_mw(board, t_s, config->part_s);
    case BOARD_POWER_USAGE:
        return board_power_mw(board, t_s, config->usage_average ? 1.0 : config->part_s);
    case BOARD_ENERGY_CALL:
    case BOARD_ENERGY_FIELD:
        return board_counter_mj(board, t_s);
    case BOARD_TEMP:
        return (unsigned long long)llround(
            config->temp_c + config->temp_per_w * (board_mean_w(board, t_s, 1.0) - config->idle_w) +
            config->temp_rise * fmin(since_s, config->temp_rise_s));
    case BOARD_SM_CLOCK:
        return (unsigned long long)llround(config->clock_mhz + config->clock_drift * since_s);
    case BOARD_MEM_CLOCK:
        return (unsigned long long)llround(config->mem_clock_mhz);
    case BOARD_THROTTLE:
    default:
        return since_s >= config->throttle_from_s &&
                       since_s < config->throttle_from_s + config->throttle_for_s
                   ? config->throttle
                   : 0;
    }
}

static double board_cost_s(struct board *board, enum board_reading what, double t_s) {
    const struct board_config *config = &board->config;
    double cost_s = config->cost_slow_s;
    if (what == BOARD_POWER_INSTANT || what == BOARD_POWER_USAGE) {
        cost_s = config->cost_power_s;
    } else if (what == BOARD_ENERGY_CALL || what == BOARD_ENERGY_FIELD) {
        cost_s = config->cost_energy_s;
    }
    if (config->stall_every_s > 0.0 && t_s - board->stalled_s >= config->stall_every_s) {
        board->stalled_s = t_s;
        cost_s += config->stall_s;
    }
    return cost_s;
}

static void board_spin(double until_s) {
    while (now_s() < until_s) {
    }
}

int board_read(struct board *board, enum board_reading what, unsigned long long *out) {
    const double start_s = now_s();
    *out = 0;
    const int lost = board_lost(board);
    if (lost != CODE_OK) {
        return lost;
    }
    const int refusal = board_refusal(&board->config, what);
    if (refusal != CODE_OK) {
        return refusal;
    }
    if (board_failing(&board->config, start_s - boards_start_s)) {
        return board->config.fail_code;
    }
    (void)pthread_mutex_lock(&boards_lock);
    const double cost_s = board_cost_s(board, what, start_s);
    board_spin(start_s + cost_s / 2.0);
    *out = board_value(board, what, now_s());
    (void)pthread_mutex_unlock(&boards_lock);
    board_spin(start_s + cost_s);
    return CODE_OK;
}
