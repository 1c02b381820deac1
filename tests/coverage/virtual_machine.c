/* SPDX-License-Identifier: Apache-2.0
 *
 * True power in cells of two milliseconds, generated as the clock passes; the sensor's readings are taken from their sum. What
 * costs time on a card costs virtual time here: a counter read 3 to 5 ms, a power read microseconds.
 */
#include "virtual_machine.h"

#include "core/rng.h"
#include "protocol/load.h"
#include "sys/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_NS = 2000000, CELLS_MAX = 300000 };
static const double CELL_S = 0.002;
static const double READ_LOAD = 1.13; /* the probe that reads memory: power over the baseline's */
static const double READ_UNIT_S = 0.0005;
static const double READ_UNIT_BYTES = 2e9;
static const double RISE_S = 0.06;
static const double FALL_S = 0.4;
static const double RIPPLE = 0.03; /* busy four fifths of a token; the rest is launches */
static const double TOKEN_JITTER = 0.01;
static const double TEMP_IDLE_C = 37.0;
static const double TEMP_C_PER_W = 0.02;
static const double TEMP_S = 3.0;
static const double BURST = 0.05;    /* relative, times a Student-t of two degrees of freedom */
static const double BURST_MAX = 1.0; /* a power limit */
static const double BURST_S = 0.5;
static const double STALL_TOKENS = 5.0;
static const int64_t TICK_NS = 100000000;
static const int64_t TICK_PHASE_NS = 37000000;
static const double TICK_JITTER_NS = 1000000.0;
static const double COUNTER_READ_S[2] = {0.003, 0.005};
static const double POWER_READ_S[2] = {2e-6, 6e-6};
static const double SLOW_READ_S[2] = {0.5e-3, 1.5e-3};

struct eco_load {
    uint32_t arm;
    eco_work_kind kind;
    int64_t start_ns;
};

/* The one machine; a test program is one machine at a time. */
static struct {
    virtual_world world;
    uint64_t random;
    int64_t now_ns;
    double cum_j[CELLS_MAX + 1]; /* true energy up to the end of each cell */
    size_t n_cells;
    bool loaded;
    struct eco_load load;
    double level_w, token_s;  /* of this run of the load */
    double memory, slow_step; /* of the slow noise, a cell */
    double smooth_w, slow, phase, temp_c;
    double burst;
    int64_t burst_cells;
    double next_token_ns;
    uint64_t progress;
    int64_t counter_tick; /* the last one that was added */
    double counter_j;
} machine;

double virtual_uniform(uint64_t *state) {
    return ((double)(ecoi_rng_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

double virtual_normal(uint64_t *state) {
    const double radius = sqrt(-2.0 * log(virtual_uniform(state)));
    return radius * cos(6.283185307179586 * virtual_uniform(state));
}

/* Four 16-bit uniforms summed: variance 1, nearly normal, and cheap. */
static inline double rough_normal(void) {
    const uint64_t z = ecoi_rng_next(&machine.random);
    const uint64_t sum = (z & 0xFFFF) + ((z >> 16) & 0xFFFF) + ((z >> 32) & 0xFFFF) + (z >> 48);
    return ((double)sum / 65536.0 - 2.0) * 1.7320508075688772;
}

/* Two that are triangular, for the price of one. */
static void rough_pair(double *a, double *b) {
    const uint64_t z = ecoi_rng_next(&machine.random);
    const uint64_t first = (z & 0xFFFF) + ((z >> 16) & 0xFFFF);
    const uint64_t second = ((z >> 32) & 0xFFFF) + (z >> 48);
    *a = ((double)first / 65536.0 - 1.0) * 2.449489742783178;
    *b = ((double)second / 65536.0 - 1.0) * 2.449489742783178;
}

static double between(const double range[2]) {
    return range[0] + (range[1] - range[0]) * virtual_uniform(&machine.random);
}

/* |Student's t| of two degrees of freedom: without a variance. */
static double heavy(void) {
    return fabs(virtual_normal(&machine.random)) / sqrt(-log(virtual_uniform(&machine.random)));
}

/* ---- true power ---- */

static double drift_at(double t_s) {
    const virtual_world *w = &machine.world;
    double log_power = 0.0;
    if (fabs(w->drift_log) > 0.0) {
        log_power += w->drift_log * -expm1(-t_s / w->drift_s);
    }
    if (machine.load.arm == 1) {
        log_power += w->drift_arm_log_per_s * t_s;
    }
    return exp(log_power);
}

static double burst_factor(void) {
    if (machine.burst_cells > 0) {
        machine.burst_cells--;
    } else {
        machine.burst = 0.0;
        if (virtual_uniform(&machine.random) < machine.world.bursts_per_s * CELL_S) {
            machine.burst = fmin(BURST * heavy(), BURST_MAX);
            machine.burst_cells =
                (int64_t)(-log(virtual_uniform(&machine.random)) * BURST_S / CELL_S);
        }
    }
    return 1.0 + machine.burst;
}

static double loaded_power(double t_s) {
    const virtual_world *w = &machine.world;
    machine.slow = machine.slow * machine.memory + machine.slow_step * rough_normal();
    double fast = 0.0;
    double wander = 0.0;
    rough_pair(&fast, &wander);
    /* A phase that wanders, so that cells and tokens do not lock. */
    machine.phase += CELL_S / machine.token_s * (1.0 + 0.3 * wander);
    machine.phase -= floor(machine.phase);
    const double ripple = machine.phase < 0.8 ? 1.0 + RIPPLE : 1.0 - 4.0 * RIPPLE;
    double power_w = machine.smooth_w * ripple * (1.0 + machine.slow + w->fast_sd * fast);
    if (fabs(w->drift_log) > 0.0 || fabs(w->drift_arm_log_per_s) > 0.0) {
        power_w *= drift_at(t_s);
    }
    return w->bursts_per_s > 0.0 ? power_w * burst_factor() : power_w;
}

static void cell_add(void) {
    if (machine.n_cells == CELLS_MAX) {
        abort(); /* an experiment that never ends is a fault of the test */
    }
    const double target_w = machine.loaded ? machine.level_w : machine.world.idle_w;
    machine.smooth_w += (target_w - machine.smooth_w) * CELL_S / (machine.loaded ? RISE_S : FALL_S);
    const double power_w =
        machine.loaded ? loaded_power((double)machine.n_cells * CELL_S) : machine.smooth_w;
    const double settled_c = TEMP_IDLE_C + TEMP_C_PER_W * (power_w - machine.world.idle_w);
    machine.temp_c += (settled_c - machine.temp_c) * CELL_S / TEMP_S;
    machine.cum_j[machine.n_cells + 1] = machine.cum_j[machine.n_cells] + power_w * CELL_S;
    machine.n_cells++;
}

/* True energy from the start to t, which lies in the past. */
static double energy_at(double t_ns) {
    const double cell = fmax(t_ns, 0.0) / (double)CELL_NS;
    const size_t i = (size_t)cell;
    if (i >= machine.n_cells) {
        return machine.cum_j[machine.n_cells];
    }
    return machine.cum_j[i] + (cell - (double)i) * (machine.cum_j[i + 1] - machine.cum_j[i]);
}

static double mean_power(double t_ns, double seconds) {
    return (energy_at(t_ns) - energy_at(t_ns - seconds * 1e9)) / seconds;
}

/* ---- the clock ---- */

static double token_length_ns(void) {
    double tokens = 1.0 + TOKEN_JITTER * rough_normal();
    if (machine.world.stalls_per_token > 0.0 &&
        virtual_uniform(&machine.random) < machine.world.stalls_per_token) {
        tokens += STALL_TOKENS * heavy();
    }
    return machine.token_s * 1e9 * tokens;
}

void virtual_advance_ns(int64_t t_ns) {
    if (t_ns <= machine.now_ns) {
        return;
    }
    while ((int64_t)machine.n_cells * CELL_NS < t_ns) {
        cell_add();
    }
    while (machine.loaded && machine.next_token_ns <= (double)t_ns) {
        machine.progress++;
        machine.next_token_ns += token_length_ns();
    }
    machine.now_ns = t_ns;
}

int64_t virtual_now_ns(void) {
    return machine.now_ns;
}

const uint64_t *virtual_progress(void) {
    return &machine.progress;
}

void virtual_start(const virtual_world *world) {
    machine.world = *world;
    machine.random = world->seed;
    machine.now_ns = 0;
    machine.n_cells = 0;
    machine.loaded = false;
    machine.load = (struct eco_load){0};
    machine.memory = exp(-CELL_S / world->slow_s);
    machine.slow_step = world->slow_sd * sqrt(1.0 - machine.memory * machine.memory);
    machine.smooth_w = world->idle_w;
    machine.slow = 0.0;
    machine.phase = 0.0;
    machine.temp_c = TEMP_IDLE_C;
    machine.burst = 0.0;
    machine.burst_cells = 0;
    machine.progress = 0;
    machine.counter_tick = 0;
    machine.counter_j = 1234.5;
    virtual_advance_ns(2 * INT64_C(1000000000));
}

int64_t ecoi_now_ns(void) {
    return machine.now_ns;
}

int64_t ecoi_thread_cpu_ns(void) {
    return 0;
}

void ecoi_sleep_until_ns(int64_t t_ns) {
    virtual_sampler_until(t_ns);
    virtual_advance_ns(t_ns);
}

void ecoi_utc_iso(char out[ECO_UTC_MAX]) {
    strcpy(out, "2026-01-01T00:00:00.000000Z");
}

void ecoi_utc_compact(char out[ECO_UTC_MAX]) {
    strcpy(out, "20260101T000000Z");
}

/* ---- the sensor ---- */

/* Ticks come a little early or late, each by an amount of its own. */
static double tick_time_ns(int64_t tick) {
    uint64_t state = machine.world.seed ^ (uint64_t)tick * UINT64_C(0x9E3779B97F4A7C15);
    const double jitter_ns = TICK_JITTER_NS * (virtual_uniform(&state) - 0.5);
    return (double)(TICK_PHASE_NS + tick * TICK_NS) + jitter_ns;
}

static int64_t last_tick(void) {
    int64_t tick = (machine.now_ns - TICK_PHASE_NS) / TICK_NS + 1;
    while (tick_time_ns(tick) > (double)machine.now_ns) {
        tick--;
    }
    return tick;
}

static double shown_power(double t_ns, double seconds) {
    const virtual_sensor *sensor = &machine.world.sensor;
    return fmax(0.0, sensor->gain * mean_power(t_ns, seconds) + sensor->offset_w);
}

static double counter_now(void) {
    const double looks_s = machine.world.sensor.counter_looks_s;
    const int64_t last = last_tick();
    for (; machine.counter_tick < last; machine.counter_tick++) {
        const double from_ns = tick_time_ns(machine.counter_tick);
        const double to_ns = tick_time_ns(machine.counter_tick + 1);
        const double period_s = (to_ns - from_ns) * 1e-9;
        machine.counter_j += period_s * shown_power(to_ns, looks_s > 0.0 ? looks_s : period_s);
    }
    return floor(machine.counter_j * 1e3) * 1e-3;
}

void virtual_read(uint32_t what, eco_meter_sample *out) {
    const int64_t start_ns = machine.now_ns;
    double cost_s = 0.0;
    if ((what & (ECO_READ_POWER | ECO_READ_POWER_AVERAGE)) != 0) {
        const double tick_ns = tick_time_ns(last_tick());
        cost_s += between(POWER_READ_S);
        out->power_w = eco_reading_of(
            floor(shown_power(tick_ns, machine.world.sensor.power_window_s) * 1e3) * 1e-3);
        out->power_average_w = eco_reading_of(shown_power(tick_ns, 1.0));
    }
    if ((what & ECO_READ_ENERGY) != 0 && !machine.world.sensor.counter) {
        out->energy_j = eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    } else if ((what & ECO_READ_ENERGY) != 0) {
        /* The board answers at some moment of the call. */
        const double call_s = between(COUNTER_READ_S);
        const double before_s = call_s * virtual_uniform(&machine.random);
        virtual_advance_ns(start_ns + (int64_t)((cost_s + before_s) * 1e9));
        out->energy_j = eco_reading_of(counter_now());
        cost_s += call_s;
    }
    if ((what & (ECO_READ_TEMP | ECO_READ_CLOCKS | ECO_READ_THROTTLE)) != 0) {
        cost_s += between(SLOW_READ_S);
        out->temp_c = eco_reading_of(floor(machine.temp_c));
        out->sm_clock_mhz = eco_reading_of(1980.0);
        out->throttle_read = ECO_PRESENT;
    }
    virtual_advance_ns(start_ns + (int64_t)(cost_s * 1e9));
    out->cost_ns = machine.now_ns - start_ns;
    out->t_ns = start_ns + out->cost_ns / 2;
}

void virtual_describe(eco_meter_info *out) {
    out->power_field = "power";
    out->energy_field = machine.world.sensor.counter ? "energy" : NULL;
    out->scope = "gpu";
    out->device.boundary.kind = ECO_BOUNDARY_GPU;
    out->device.library_known = true;
}

/* ---- the load ---- */

static uint32_t arm_names[2];

eco_arm *virtual_arm_handle(uint32_t arm) {
    return (eco_arm *)(void *)&arm_names[arm];
}

eco_status ecoi_load_start(eco_arm *arm, eco_work_kind kind, uint64_t n_units_max, eco_load **out,
                           eco_error *err) {
    (void)n_units_max;
    (void)err;
    const virtual_world *w = &machine.world;
    machine.load = (struct eco_load){
        .arm = arm == virtual_arm_handle(1), .kind = kind, .start_ns = machine.now_ns};
    const virtual_arm *own = &w->arms[machine.load.arm];
    machine.level_w = own->power_w * exp(w->window_power_sd * virtual_normal(&machine.random));
    machine.token_s = own->token_s * exp(w->window_token_sd * virtual_normal(&machine.random));
    if (kind == ECO_WORK_READ || kind == ECO_WORK_LAUNCH) {
        machine.level_w = READ_LOAD * w->arms[0].power_w;
        machine.token_s = READ_UNIT_S;
    }
    machine.progress = 0;
    machine.loaded = true;
    machine.next_token_ns = (double)machine.now_ns + token_length_ns();
    *out = &machine.load;
    return ECO_OK;
}

bool ecoi_load_ended(const eco_load *load) {
    (void)load;
    return false;
}

eco_status ecoi_load_stop_within(eco_load *load, double seconds, eco_work_result *result,
                                 eco_error *err) {
    (void)seconds;
    return ecoi_load_stop(load, result, err);
}

eco_status ecoi_load_stop(eco_load *load, eco_work_result *result, eco_error *err) {
    (void)err;
    if (load != NULL && result != NULL) {
        *result = (eco_work_result){.n_units = machine.progress,
                                    .unit_bytes = READ_UNIT_BYTES,
                                    .busy_s = (double)(machine.now_ns - load->start_ns) * 1e-9};
    }
    machine.loaded = false;
    machine.progress = 0;
    return ECO_OK;
}
