/* SPDX-License-Identifier: Apache-2.0
 *
 * What a measurement is made of: readings with their absence, quantities with interval and basis,
 * samples, boundaries. Plain data; the structs own nothing. Units are last in every name.
 */
#ifndef ECOCOMPUTE_RECORD_H
#define ECOCOMPUTE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a sensor value is not there. A missing reading is never 0, -1 or NaN. */
typedef enum eco_absence {
    ECO_ABSENT_NOT_READ = 0, /* nobody asked */
    ECO_PRESENT,
    ECO_ABSENT_UNSUPPORTED,
    ECO_ABSENT_PERMISSION,
    ECO_ABSENT_STALE,
    ECO_ABSENT_FAILED
} eco_absence;

typedef struct eco_reading {
    double value; /* meaningful only when absence == ECO_PRESENT */
    eco_absence absence;
} eco_reading;

const char *eco_absence_name(eco_absence absence); /* "present", "unsupported", … */
eco_reading eco_reading_of(double value);          /* present; a non-finite value becomes FAILED */
eco_reading eco_reading_absent(eco_absence why);
bool eco_reading_present(eco_reading reading);

/* How a number came about, weakest first so that combining two takes the smaller. */
typedef enum eco_basis {
    ECO_BASIS_UNAVAILABLE = 0,
    ECO_BASIS_MODELLED,
    ECO_BASIS_ESTIMATED,
    ECO_BASIS_EXTRAPOLATED,
    ECO_BASIS_INTERPOLATED,
    ECO_BASIS_COMPUTED,
    ECO_BASIS_REPLAYED,
    ECO_BASIS_MEASURED
} eco_basis;

const char *eco_basis_name(eco_basis basis);
bool eco_basis_parse(const char *name, eco_basis *out);
eco_basis eco_basis_weaker(eco_basis a, eco_basis b);

typedef struct eco_quantity {
    double value, lo, hi; /* lo..hi: 95 % interval; equal to value when n = 1 (then `n` says so) */
    uint32_t n;           /* independent repeats behind the interval */
    eco_basis basis;
} eco_quantity;

/* Where readings come from. A replay can never be called measured; what a program of the user's prints is, with the
 * warning external_meter, which invalidates. */
typedef enum eco_source { ECO_SOURCE_SENSOR = 0, ECO_SOURCE_REPLAY, ECO_SOURCE_EXEC } eco_source;

/* What a meter sees, or where an engine's work happens. */
typedef enum eco_boundary_kind {
    ECO_BOUNDARY_NONE = 0,
    ECO_BOUNDARY_GPU,         /* one board, named by UUID */
    ECO_BOUNDARY_CPU_PACKAGE, /* all CPU packages of this host */
    ECO_BOUNDARY_HOST         /* the whole machine */
} eco_boundary_kind;

enum { ECO_UUID_MAX = 96, ECO_PCI_MAX = 32, ECO_NAME_MAX = 96 };

typedef struct eco_boundary {
    eco_boundary_kind kind;
    char uuid[ECO_UUID_MAX];      /* "GPU-xxxxxxxx-…" for a GPU, else "" */
    char pci_bus_id[ECO_PCI_MAX]; /* "0000:65:00.0" (lower case hex, 4-digit domain), else "" */
} eco_boundary;

const char *eco_boundary_kind_name(eco_boundary_kind kind);
/* True when all of the work's energy is seen by the meter. GPUs match by UUID, or by PCI where one UUID is empty. */
bool eco_boundary_contains(const eco_boundary *meter, const eco_boundary *work);

/* What the machine is doing while a sample is taken. Names are the `phase` column of a trace. */
typedef enum eco_phase {
    ECO_PHASE_IDLE_BARE = 0, /* before any context on the device */
    ECO_PHASE_IDLE_CONTEXT,
    ECO_PHASE_IDLE_LOADED, /* the model resident, nothing running */
    ECO_PHASE_LOAD,
    ECO_PHASE_PROBE, /* bandwidth and launch-cost loads */
    ECO_PHASE_BURN_IN,
    ECO_PHASE_COOLDOWN,
    ECO_PHASE_RAMP,       /* load running, window not open yet */
    ECO_PHASE_DECODE,     /* inside a decode window */
    ECO_PHASE_GENERATION, /* inside a whole-generation window */
    ECO_PHASE_PREFILL,    /* inside a looped-prefill window */
    ECO_PHASE_COUNT
} eco_phase;

const char *eco_phase_name(eco_phase phase);
bool eco_phase_parse(const char *name, size_t length, eco_phase *out);

/* One row of a power trace. Absent readings are empty cells. */
typedef struct eco_sample {
    int64_t t_ns; /* monotonic clock: middle of the read, or the estimated tick for a window edge */
    eco_reading power_w;  /* instantaneous where the meter has it */
    eco_reading energy_j; /* cumulative counter, present only at reads of it */
    eco_reading tokens;   /* finished work units since the load began */
    eco_reading temp_c;
    int32_t block; /* 1-based; 0 = outside the blocks */
    eco_phase phase;
} eco_sample;

#ifdef __cplusplus
}
#endif
#endif
