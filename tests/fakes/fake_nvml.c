/* SPDX-License-Identifier: Apache-2.0
 *
 * A libnvidia-ml.so.1 for tests: the vendor's names over the scripted boards. Its structures are
 * declared here a second time, apart from the program's own table, so that a wrong layout there
 * shows. The keys are listed in fake_script.c.
 */
#define _GNU_SOURCE

#include "fake_nvml_board.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    OK = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
};

enum { FIELD_ENERGY = 83, FIELD_POWER_AVERAGE = 185, FIELD_POWER_INSTANT = 186 };

struct fake_field {
    unsigned field, scope;
    long long timestamp, latency;
    int type, result;
    union {
        double d;
        unsigned u;
        unsigned long long ull;
    } value;
};

struct fake_pci {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};

struct fake_memory {
    unsigned long long total, free, used;
};

struct fake_process_old {
    unsigned pid;
    unsigned long long used;
};

struct fake_process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

static _Atomic int init_count;

/* Every call begins with this: the script's refusal, a call that never comes back, or one before init. */
static int gate(const char *symbol) {
    char key[96];
    while (init_count > 0 && board_seconds() >= fake_script_number("hang_at_s", 1e18)) {
        (void)pause();
    }
    const int fault = fake_call_fault("nvml");
    if (fault != OK) {
        return fault;
    }
    (void)snprintf(key, sizeof key, "return.%s", symbol);
    const int code = (int)fake_script_number(key, 0.0);
    return code != OK ? code : (init_count > 0 ? OK : UNINITIALIZED);
}

static int gate_board(const char *symbol, const struct board *board) {
    const int code = gate(symbol);
    return code != OK ? code : (board == NULL ? INVALID_ARGUMENT : board_lost(board));
}

#define GATE(...)                             \
    do {                                      \
        const int gate_code = gate(__func__); \
        if (gate_code != OK) {                \
            return gate_code;                 \
        }                                     \
    } while (0)
#define GATE_BOARD(board)                                  \
    do {                                                   \
        const int gate_code = gate_board(__func__, board); \
        if (gate_code != OK) {                             \
            return gate_code;                              \
        }                                                  \
    } while (0)

static int copy_text(char *out, unsigned size, const char *text) {
    if (strlen(text) >= size) {
        return INSUFFICIENT_SIZE;
    }
    memcpy(out, text, strlen(text) + 1);
    return OK;
}

/* ---- library ---- */

int nvmlInit_v2(void);
int nvmlInit_v2(void) {
    const int fault = fake_call_fault("nvml");
    const int code = fault != OK ? fault : (int)fake_script_number("return.nvmlInit_v2", 0.0);
    if (code != OK) {
        return code;
    }
    if (init_count == 0) {
        board_setup();
    }
    init_count++;
    return OK;
}

int nvmlShutdown(void);
int nvmlShutdown(void) {
    GATE();
    init_count--;
    return OK;
}

/* For tests: how many inits were not shut down. */
int eco_fake_nvml_init_count(void);
int eco_fake_nvml_init_count(void) {
    return init_count;
}

const char *nvmlErrorString(int code);
const char *nvmlErrorString(int code) {
    switch (code) {
    case OK:
        return "Success";
    case NOT_SUPPORTED:
        return "Not Supported";
    case 4:
        return "Insufficient Permissions";
    case NOT_FOUND:
        return "Not Found";
    case 9:
        return "Driver Not Loaded";
    case 13:
        return "Function Not Found";
    case 15:
        return "GPU is lost";
    case 18:
        return "Driver/library version mismatch";
    default:
        return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *out, unsigned size);
int nvmlSystemGetDriverVersion(char *out, unsigned size) {
    GATE();
    return copy_text(out, size, fake_script_text("driver", "580.159.04"));
}

int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size);
int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size) {
    GATE();
    const char *name = fake_script_text("other_tenant_name", "");
    if (pid != (unsigned)fake_script_number("other_tenant_pid", 0.0) || name[0] == '\0') {
        return NOT_FOUND;
    }
    return copy_text(out, size, name);
}

int nvmlDeviceGetCount_v2(unsigned *out);
int nvmlDeviceGetCount_v2(unsigned *out) {
    GATE();
    *out = board_count();
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct board **out);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct board **out) {
    GATE();
    struct board *board = board_at(index);
    if (board == NULL) {
        return INVALID_ARGUMENT;
    }
    *out = board;
    return board_lost(board);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, struct board **out);
int nvmlDeviceGetHandleByUUID(const char *uuid, struct board **out) {
    bool is_mig = false;
    GATE();
    *out = board_by_uuid(uuid, &is_mig);
    return *out != NULL ? OK : NOT_FOUND;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct board *mig, struct board **out);
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct board *mig, struct board **out) {
    GATE();
    if (mig == NULL || !board_is_mig(mig)) {
        return INVALID_ARGUMENT;
    }
    *out = board_parent(mig);
    return OK;
}

/* ---- identity ---- */

int nvmlDeviceGetUUID(struct board *board, char *out, unsigned size);
int nvmlDeviceGetUUID(struct board *board, char *out, unsigned size) {
    char uuid[96];
    GATE_BOARD(board);
    board_uuid(board, uuid, sizeof uuid);
    return copy_text(out, size, uuid);
}

int nvmlDeviceGetName(struct board *board, char *out, unsigned size);
int nvmlDeviceGetName(struct board *board, char *out, unsigned size) {
    GATE_BOARD(board);
    return copy_text(out, size, board_text(board, "name", "NVIDIA Scripted GPU"));
}

int nvmlDeviceGetVbiosVersion(struct board *board, char *out, unsigned size);
int nvmlDeviceGetVbiosVersion(struct board *board, char *out, unsigned size) {
    GATE_BOARD(board);
    return copy_text(out, size, board_text(board, "vbios", "96.00.FA.4E.00"));
}

int nvmlDeviceGetPciInfo_v3(struct board *board, struct fake_pci *out);
int nvmlDeviceGetPciInfo_v3(struct board *board, struct fake_pci *out) {
    GATE_BOARD(board);
    memset(out, 0, sizeof *out);
    out->bus = (unsigned)board_physical(board);
    (void)snprintf(out->legacy, sizeof out->legacy, "0000:%02X:00.0", out->bus);
    (void)snprintf(out->id, sizeof out->id, "00000000:%02X:00.0", out->bus);
    return OK;
}

int nvmlDeviceGetMemoryInfo(struct board *board, struct fake_memory *out);
int nvmlDeviceGetMemoryInfo(struct board *board, struct fake_memory *out) {
    GATE_BOARD(board);
    out->total = (unsigned long long)board_number(board, "memory_mib", 143771.0) * 1048576;
    out->used = 0;
    out->free = out->total;
    return OK;
}

int nvmlDeviceGetCudaComputeCapability(struct board *board, int *major, int *minor);
int nvmlDeviceGetCudaComputeCapability(struct board *board, int *major, int *minor) {
    GATE_BOARD(board);
    return sscanf(board_text(board, "cc", "9.0"), "%d.%d", major, minor) == 2 ? OK : NOT_SUPPORTED;
}

/* ---- settings ---- */

static int mode_of(const struct board *board, const char *key, const char *otherwise,
                   unsigned *out) {
    const char *mode = board_text(board, key, otherwise);
    *out = strcmp(mode, "on") == 0 ? 1 : 0;
    return strcmp(mode, "none") == 0 ? NOT_SUPPORTED : OK;
}

int nvmlDeviceGetEnforcedPowerLimit(struct board *board, unsigned *out);
int nvmlDeviceGetEnforcedPowerLimit(struct board *board, unsigned *out) {
    GATE_BOARD(board);
    *out = (unsigned)lround(board_number(board, "power_limit_w", 700.0) * 1e3);
    return OK;
}

int nvmlDeviceGetPowerManagementDefaultLimit(struct board *board, unsigned *out);
int nvmlDeviceGetPowerManagementDefaultLimit(struct board *board, unsigned *out) {
    GATE_BOARD(board);
    *out = (unsigned)lround(board_number(board, "power_limit_default_w", 700.0) * 1e3);
    return OK;
}

int nvmlDeviceGetPersistenceMode(struct board *board, unsigned *out);
int nvmlDeviceGetPersistenceMode(struct board *board, unsigned *out) {
    GATE_BOARD(board);
    return mode_of(board, "persistence", "on", out);
}

int nvmlDeviceGetMigMode(struct board *board, unsigned *current, unsigned *pending);
int nvmlDeviceGetMigMode(struct board *board, unsigned *current, unsigned *pending) {
    GATE_BOARD(board);
    const int code = mode_of(board, "mig", "off", current);
    *pending = *current;
    return code;
}

int nvmlDeviceGetEccMode(struct board *board, unsigned *current, unsigned *pending);
int nvmlDeviceGetEccMode(struct board *board, unsigned *current, unsigned *pending) {
    GATE_BOARD(board);
    const int code = mode_of(board, "ecc", "on", current);
    *pending = *current;
    return code;
}

int nvmlDeviceGetMaxClockInfo(struct board *board, unsigned type, unsigned *out);
int nvmlDeviceGetMaxClockInfo(struct board *board, unsigned type, unsigned *out) {
    GATE_BOARD(board);
    *out = (unsigned)lround(type == 2 ? board_number(board, "mem_clock_mhz", 2619.0)
                                      : board_number(board, "sm_clock_max_mhz", 1980.0));
    return OK;
}

/* ---- readings ---- */

static int read_u32(struct board *board, enum board_reading what, unsigned *out) {
    unsigned long long value = 0;
    const int code = board_read(board, what, &value);
    *out = (unsigned)value;
    return code;
}

int nvmlDeviceGetPowerUsage(struct board *board, unsigned *out);
int nvmlDeviceGetPowerUsage(struct board *board, unsigned *out) {
    GATE_BOARD(board);
    return read_u32(board, BOARD_POWER_USAGE, out);
}

int nvmlDeviceGetTotalEnergyConsumption(struct board *board, unsigned long long *out);
int nvmlDeviceGetTotalEnergyConsumption(struct board *board, unsigned long long *out) {
    GATE_BOARD(board);
    return board_read(board, BOARD_ENERGY_CALL, out);
}

int nvmlDeviceGetFieldValues(struct board *board, int count, struct fake_field *fields);
int nvmlDeviceGetFieldValues(struct board *board, int count, struct fake_field *fields) {
    GATE_BOARD(board);
    for (int i = 0; i < count; i++) {
        struct fake_field *field = &fields[i];
        unsigned long long value = 0;
        switch (field->field) {
        case FIELD_POWER_INSTANT:
            field->result =
                field->scope == 0 ? board_read(board, BOARD_POWER_INSTANT, &value) : NOT_SUPPORTED;
            field->type = 1;
            field->value.u = (unsigned)value;
            break;
        case FIELD_POWER_AVERAGE:
            field->result = board_read(board, BOARD_POWER_USAGE, &value);
            field->type = 1;
            field->value.u = (unsigned)value;
            break;
        case FIELD_ENERGY:
            field->result = board_read(board, BOARD_ENERGY_FIELD, &value);
            field->type = 3;
            field->value.ull = value;
            break;
        default:
            field->result = INVALID_ARGUMENT;
            break;
        }
    }
    return OK;
}

int nvmlDeviceGetTemperature(struct board *board, unsigned sensor, unsigned *out);
int nvmlDeviceGetTemperature(struct board *board, unsigned sensor, unsigned *out) {
    GATE_BOARD(board);
    return sensor == 0 ? read_u32(board, BOARD_TEMP, out) : INVALID_ARGUMENT;
}

int nvmlDeviceGetClockInfo(struct board *board, unsigned type, unsigned *out);
int nvmlDeviceGetClockInfo(struct board *board, unsigned type, unsigned *out) {
    GATE_BOARD(board);
    return read_u32(board, type == 2 ? BOARD_MEM_CLOCK : BOARD_SM_CLOCK, out);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct board *board, unsigned long long *out);
int nvmlDeviceGetCurrentClocksThrottleReasons(struct board *board, unsigned long long *out) {
    GATE_BOARD(board);
    return board_read(board, BOARD_THROTTLE, out);
}

/* ---- processes ---- */

/* The scripted other tenant and, as on a real card, the process itself; compute and graphics both
 * list the other. */
static int processes(const struct board *board, bool compute, unsigned *count,
                     struct fake_process *out) {
    struct fake_process all[2];
    unsigned n = 0;
    const unsigned other = (unsigned)board_number(board, "other_tenant_pid", 0.0);
    const unsigned long long mib =
        (unsigned long long)board_number(board, "other_tenant_mib", 100.0);
    memset(all, 0, sizeof all);
    if (compute && strcmp(fake_script_text("own_tenant", "yes"), "yes") == 0) {
        all[n++] = (struct fake_process){.pid = (unsigned)getpid(), .used = 1u << 20};
    }
    if (other != 0 && board_seconds() >= board_number(board, "other_tenant_from_s", 0.0)) {
        all[n++] = (struct fake_process){.pid = other, .used = mib * 1048576};
    }
    const unsigned room = *count;
    *count = n;
    if (n > room) {
        return INSUFFICIENT_SIZE;
    }
    if (n > 0) {
        memcpy(out, all, n * sizeof all[0]);
    }
    return OK;
}

static int processes_old(const struct board *board, bool compute, unsigned *count,
                         struct fake_process_old *out) {
    struct fake_process all[2];
    unsigned n = 2;
    const unsigned room = *count;
    (void)processes(board, compute, &n, all);
    *count = n;
    for (unsigned i = 0; n <= room && i < n; i++) {
        out[i] = (struct fake_process_old){.pid = all[i].pid, .used = all[i].used};
    }
    return n <= room ? OK : INSUFFICIENT_SIZE;
}

#define PROCESS_CALL(symbol, compute)                                            \
    int symbol(struct board *board, unsigned *count, struct fake_process *out);  \
    int symbol(struct board *board, unsigned *count, struct fake_process *out) { \
        GATE_BOARD(board);                                                       \
        return processes(board, compute, count, out);                            \
    }
#define PROCESS_CALL_OLD(symbol, compute)                                            \
    int symbol(struct board *board, unsigned *count, struct fake_process_old *out);  \
    int symbol(struct board *board, unsigned *count, struct fake_process_old *out) { \
        GATE_BOARD(board);                                                           \
        return processes_old(board, compute, count, out);                            \
    }

PROCESS_CALL(nvmlDeviceGetComputeRunningProcesses_v3, true)
PROCESS_CALL(nvmlDeviceGetComputeRunningProcesses_v2, true)
PROCESS_CALL(nvmlDeviceGetGraphicsRunningProcesses_v3, false)
PROCESS_CALL(nvmlDeviceGetGraphicsRunningProcesses_v2, false)
PROCESS_CALL_OLD(nvmlDeviceGetComputeRunningProcesses, true)
PROCESS_CALL_OLD(nvmlDeviceGetGraphicsRunningProcesses, false)
