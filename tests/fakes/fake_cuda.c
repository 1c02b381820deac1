/* SPDX-License-Identifier: Apache-2.0
 *
 * A scripted libcuda.so.1: the driver entries that ecocompute uses, under their real names. Two
 * ways to run a graph: in scripted time, drawing scripted power (default), or truly, by the host
 * build of the kernels (`compute 1`).
 *
 * Keys, besides those in fake_script.c (devices, name, uuid, memory_mib, cc, idle_bare_w). Those
 * marked * may end in `.0` or `.1`, for one physical board.
 *
 *   cuda_order "0 1"   physical board at each CUDA ordinal; CUDA_VISIBLE_DEVICES is obeyed on top
 *   mig off *, mig_uuid ""   with both, the board shows this one instance of itself: its UUID, and the MIG forms of
 *                      CUDA_VISIBLE_DEVICES
 *   context_w 121 *    true power while a context is there and nothing runs
 *   step_us.fp16 800 *, step_us.nf4 700 *, step_us.read 1870 *   time of one graph: a token, a pass
 *   step_us.launch 2 * time of one kernel of the launch graph
 *   power_w.fp16 495 *, power_w.nf4 327 *, power_w.read 635 *, power_w.launch 180 *
 *                      true power while it runs
 *   drift_pct 0 *      each minute since loading makes steps longer by this much
 *   compute 0          1: kernels run for real; time and power are whatever they are
 *   n_sm 4 *           multiprocessors
 *   no_device 0        1: cuInit answers 100
 *   init_code 0        cuInit answers this (34 stub, 803 mismatch, 804 compatibility, …)
 *   retain_code 0      creating the context answers this (46, …)
 *   refuse_ptx 0       1: modules are refused, with a compiler log
 *   oom_at_bytes *     allocations beyond this total answer 2; default: the board's memory
 *   lost_at_launch 0   the n-th graph launch and everything after it answer lost_code
 *   lost_code 719
 */
#define _GNU_SOURCE

#include "fake_cuda.h"
#include "fake_cuda_kernels.h"
#include "fake_cuda_queue.h"
#include "fake_page.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

struct module {
    char *text;
};

struct stream;

static struct context contexts[FAKE_DEVICES];
_Thread_local struct context *fake_current;

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static bool initialized;
static uint32_t n_visible;
static uint32_t visible[FAKE_DEVICES]; /* physical board at each ordinal */
static struct allocation {
    void *memory;
    size_t bytes;
    uint32_t board;
} allocations[256];

/* MARK: - Script */

double fake_board_number(uint32_t board, const char *key, double otherwise) {
    char own[80];
    (void)snprintf(own, sizeof own, "%s.%u", key, board);
    return fake_script_number(own, fake_script_number(key, otherwise));
}

static const char *board_text(uint32_t board, const char *key, const char *otherwise) {
    char own[80];
    (void)snprintf(own, sizeof own, "%s.%u", key, board);
    return fake_script_text(own, fake_script_text(key, otherwise));
}

static void board_uuid(uint32_t board, char out[48]) {
    char key[16];
    char usual[48];
    (void)snprintf(key, sizeof key, "uuid.%u", board);
    (void)snprintf(usual, sizeof usual, "GPU-fa4e0000-0000-0000-0000-%012u", board);
    (void)snprintf(out, 48, "%s", fake_script_text(key, usual));
}

bool fake_scripted_compute(void) {
    return fake_script_number("compute", 0) > 0;
}

static uint32_t n_boards(void) {
    const double n = fake_script_number("devices", 1);
    return n >= 2 ? 2 : 1;
}

/* The UUID of the board's one MIG instance, "" when it is whole. */
static const char *board_instance(uint32_t board) {
    return strcmp(board_text(board, "mig", "off"), "on") == 0 ? board_text(board, "mig_uuid", "")
                                                              : "";
}

/* Whether an entry (GPU-… or MIG-…, abbreviated or not; MIG-GPU-UUID/instance/instance) names the board. */
static bool entry_names(const char *entry, size_t length, uint32_t board) {
    char uuid[48];
    board_uuid(board, uuid);
    const char *instance = board_instance(board);
    if (length > 8 && strncasecmp(entry, "MIG-GPU-", 8) == 0) {
        return instance[0] != '\0' && length > 4 + strlen(uuid) && entry[4 + strlen(uuid)] == '/' &&
               strncasecmp(entry + 4, uuid, strlen(uuid)) == 0;
    }
    const char *own = strncasecmp(entry, "MIG-", 4) == 0 ? instance : uuid;
    return length <= strlen(own) && strncasecmp(own, entry, length) == 0;
}

/* The board that one CUDA_VISIBLE_DEVICES entry names among the ordered ones; -1, which ends the list, for none and for
 * an abbreviation of more than one. */
static int visible_board(const char *entry, size_t length, const uint32_t *order, uint32_t n) {
    if (length == 1 && entry[0] >= '0' && entry[0] < '0' + (int)n) {
        return (int)order[entry[0] - '0'];
    }
    int found = -1;
    uint32_t n_found = 0;
    for (uint32_t i = 0; length > 4 && i < n; i++) {
        if (entry_names(entry, length, order[i])) {
            found = (int)order[i];
            n_found++;
        }
    }
    return n_found == 1 ? found : -1;
}

static void read_visible(void) {
    const uint32_t n = n_boards();
    uint32_t order[FAKE_DEVICES] = {0, 1};
    const char *text = fake_script_text("cuda_order", "");
    if (strcmp(text, "1 0") == 0 && n == 2) {
        order[0] = 1;
        order[1] = 0;
    }
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    n_visible = 0;
    for (uint32_t i = 0; list == NULL && i < n; i++) {
        visible[n_visible++] = order[i];
    }
    while (list != NULL && n_visible < n) {
        const size_t length = strcspn(list, ",");
        const int board = visible_board(list, length, order, n);
        if (board < 0) {
            return;
        }
        visible[n_visible++] = (uint32_t)board;
        if (list[length] == '\0') {
            return;
        }
        list += length + 1;
    }
}

/* MARK: - Driver and devices */

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
    FAKE_CALL();
    (void)flags;
    const int code = (int)fake_script_number("init_code", 0);
    if (code != 0) {
        return code;
    }
    (void)pthread_mutex_lock(&fake_lock);
    read_visible();
    const bool none = n_visible == 0 || fake_script_number("no_device", 0) > 0;
    initialized = !none;
    (void)pthread_mutex_unlock(&fake_lock);
    return none ? E_NO_DEVICE : 0;
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version) {
    FAKE_CALL();
    *version = 13000;
    return 0;
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {E_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {E_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {E_UNINITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {E_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {E_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {E_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {E_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {E_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "forward compatibility was attempted on non supported HW"},
    {E_CAPTURE, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

int cuGetErrorName(int result, const char **name);
int cuGetErrorName(int result, const char **name) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].code == result) {
            *name = errors[i].name;
            return 0;
        }
    }
    *name = NULL;
    return E_VALUE;
}

int cuGetErrorString(int result, const char **text);
int cuGetErrorString(int result, const char **text) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].code == result) {
            *text = errors[i].text;
            return 0;
        }
    }
    *text = NULL;
    return E_VALUE;
}

int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count) {
    FAKE_CALL();
    *count = (int)n_visible;
    return initialized ? 0 : E_UNINITIALIZED;
}

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal) {
    FAKE_CALL();
    if (!initialized) {
        return E_UNINITIALIZED;
    }
    if (ordinal < 0 || (uint32_t)ordinal >= n_visible) {
        return E_DEVICE;
    }
    *device = ordinal;
    return 0;
}

static bool known(int device) {
    return initialized && device >= 0 && (uint32_t)device < n_visible;
}

int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetName(char *name, int size, int device) {
    FAKE_CALL();
    if (!known(device) || size < 1) {
        return E_DEVICE;
    }
    (void)snprintf(name, (size_t)size, "%s", board_text(visible[device], "name", "NVIDIA H200"));
    return 0;
}

int cuDeviceGetUuid_v2(unsigned char uuid[16], int device);
int cuDeviceGetUuid_v2(unsigned char uuid[16], int device) {
    FAKE_CALL();
    if (!known(device)) {
        return E_DEVICE;
    }
    char text[48];
    const char *instance = board_instance(visible[device]);
    board_uuid(visible[device], text);
    if (instance[0] != '\0') {
        (void)snprintf(text, sizeof text, "%s", instance);
    }
    size_t n = 0;
    for (const char *c = text + 4; *c != '\0' && n < 32; c++) {
        if (*c == '-') {
            continue;
        }
        const unsigned digit = (unsigned)(*c <= '9' ? *c - '0' : (*c | 32) - 'a' + 10);
        uuid[n / 2] = (unsigned char)(n % 2 == 0 ? digit << 4 : uuid[n / 2] | digit);
        n++;
    }
    return 0;
}

int cuDeviceGetPCIBusId(char *id, int size, int device);
int cuDeviceGetPCIBusId(char *id, int size, int device) {
    FAKE_CALL();
    if (!known(device) || size < 13) {
        return E_VALUE;
    }
    (void)snprintf(id, (size_t)size, "0000:%02X:00.0", visible[device]);
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    FAKE_CALL();
    if (!known(device)) {
        return E_DEVICE;
    }
    const char *cc = board_text(visible[device], "cc", "9.0");
    switch (attribute) {
    case 16:
        *value = (int)fake_board_number(visible[device], "n_sm", 4);
        return 0;
    case 75:
        *value = atoi(cc);
        return 0;
    case 76:
        *value = strchr(cc, '.') != NULL ? atoi(strchr(cc, '.') + 1) : 0;
        return 0;
    case 97:
        *value = (int)fake_board_number(visible[device], "shared_bytes", FAKE_SHARED_BYTES);
        return 0;
    default:
        return E_VALUE;
    }
}

/* MARK: - Contexts */

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags);
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    FAKE_CALL();
    (void)flags;
    return known(device) ? 0 : E_DEVICE;
}

int cuDevicePrimaryCtxRetain(struct context **context, int device);
int cuDevicePrimaryCtxRetain(struct context **context, int device) {
    FAKE_CALL();
    if (!known(device)) {
        return E_DEVICE;
    }
    const int code = (int)fake_script_number("retain_code", 0);
    if (code != 0) {
        return code;
    }
    (void)pthread_mutex_lock(&fake_lock);
    const uint32_t board = visible[device];
    contexts[board].board = board;
    if (contexts[board].n_retained++ == 0) {
        fake_queue_open(board, fake_board_number(board, "context_w", 121));
    }
    (void)pthread_mutex_unlock(&fake_lock);
    *context = &contexts[board];
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device) {
    if (!known(device) || contexts[visible[device]].n_retained == 0) {
        return E_CONTEXT;
    }
    const uint32_t board = visible[device];
    (void)pthread_mutex_lock(&fake_lock);
    const bool last = --contexts[board].n_retained == 0;
    (void)pthread_mutex_unlock(&fake_lock);
    if (last) {
        fake_queue_close(board, fake_board_number(board, "idle_bare_w", 78));
    }
    FAKE_CALL_AFTER(0);
}

int cuCtxSetCurrent(struct context *context);
int cuCtxSetCurrent(struct context *context) {
    FAKE_CALL();
    if (context != NULL && context->n_retained == 0) {
        return E_CONTEXT;
    }
    fake_current = context;
    return 0;
}

/* 0, or why nothing can be done: no context in this thread, or its board is lost. */
int fake_trouble(void) {
    if (fake_current == NULL) {
        return E_CONTEXT;
    }
    return fake_queue_lost(fake_current->board) ? (int)fake_script_number("lost_code", 719) : 0;
}

/* Everything that is not a graph takes no time, after all that came before. */
void fake_drain(void) {
    fake_queue_wait(fake_current->board, fake_queue_last(fake_current->board));
}

/* MARK: - Memory */

static uint64_t allocated(uint32_t board) {
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof allocations / sizeof allocations[0]; i++) {
        if (allocations[i].memory != NULL && allocations[i].board == board) {
            sum += allocations[i].bytes;
        }
    }
    return sum;
}

static uint64_t total_bytes(uint32_t board) {
    return (uint64_t)fake_board_number(board, "memory_mib", 143771) << 20;
}

static uint64_t usable_bytes(uint32_t board) {
    const uint64_t context_bytes = 512ull << 20;
    const uint64_t total = total_bytes(board);
    const double limit = fake_board_number(board, "oom_at_bytes", 1e18);
    const uint64_t rest = total > context_bytes ? total - context_bytes : 0;
    return limit < (double)rest ? (uint64_t)limit : rest;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    FAKE_CALL();
    const int code = fake_trouble();
    if (code != 0) {
        return code;
    }
    (void)pthread_mutex_lock(&fake_lock);
    *total = total_bytes(fake_current->board);
    *free_bytes = usable_bytes(fake_current->board) - allocated(fake_current->board);
    (void)pthread_mutex_unlock(&fake_lock);
    return 0;
}

/* Address space only: pages that nobody touches cost nothing. */
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    FAKE_CALL();
    int code = fake_trouble();
    if (code != 0) {
        return code;
    }
    (void)pthread_mutex_lock(&fake_lock);
    struct allocation *free_slot = NULL;
    for (size_t i = 0; i < sizeof allocations / sizeof allocations[0]; i++) {
        if (allocations[i].memory == NULL) {
            free_slot = &allocations[i];
        }
    }
    const bool fits =
        bytes > 0 && bytes <= usable_bytes(fake_current->board) - allocated(fake_current->board);
    void *memory = MAP_FAILED;
    if (free_slot != NULL && fits) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (memory == MAP_FAILED) {
        code = E_MEMORY;
    } else {
        *free_slot = (struct allocation){memory, bytes, fake_current->board};
        *address = (uint64_t)(uintptr_t)memory;
    }
    (void)pthread_mutex_unlock(&fake_lock);
    return code;
}

int cuMemFree_v2(uint64_t address);
int cuMemFree_v2(uint64_t address) {
    if (fake_current == NULL) {
        return E_CONTEXT;
    }
    fake_drain();
    int code = E_VALUE;
    (void)pthread_mutex_lock(&fake_lock);
    for (size_t i = 0; i < sizeof allocations / sizeof allocations[0]; i++) {
        if (address != 0 && (uint64_t)(uintptr_t)allocations[i].memory == address) {
            (void)munmap(allocations[i].memory, allocations[i].bytes);
            allocations[i] = (struct allocation){0};
            code = 0;
        }
    }
    (void)pthread_mutex_unlock(&fake_lock);
    FAKE_CALL_AFTER(code);
}

int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags);
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    FAKE_CALL();
    (void)flags;
    const int code = fake_trouble();
    if (code != 0) {
        return code;
    }
    *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return *memory == NULL ? E_MEMORY : 0;
}

int cuMemFreeHost(void *memory);
int cuMemFreeHost(void *memory) {
    /* As the driver does, and whatever the program was told before: no work still writes to what is given back. */
    for (uint32_t board = 0; board < n_boards(); board++) {
        fake_queue_wait(board, fake_queue_last(board));
    }
    free(memory);
    FAKE_CALL_AFTER(0);
}

int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags);
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags) {
    FAKE_CALL();
    (void)flags;
    *address = (uint64_t)(uintptr_t)memory;
    return fake_trouble();
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, struct stream *stream);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, struct stream *stream) {
    FAKE_CALL();
    (void)stream;
    const int code = fake_trouble();
    if (code == 0) {
        fake_drain();
        memcpy((void *)(uintptr_t)to, from, bytes);
    }
    return code;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, struct stream *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, struct stream *stream) {
    FAKE_CALL();
    (void)stream;
    const int code = fake_trouble();
    if (code == 0) {
        fake_drain();
        memcpy(to, (const void *)(uintptr_t)from, bytes);
    }
    return code;
}

int cuMemsetD32Async(uint64_t to, unsigned value, size_t n_words, struct stream *stream);
int cuMemsetD32Async(uint64_t to, unsigned value, size_t n_words, struct stream *stream) {
    FAKE_CALL();
    (void)stream;
    const int code = fake_trouble();
    if (code != 0) {
        return code;
    }
    fake_drain();
    if (fake_scripted_compute()) { /* else nobody looks, and it may be gigabytes */
        unsigned *words = (unsigned *)(uintptr_t)to;
        for (size_t i = 0; i < n_words; i++) {
            words[i] = value;
        }
    }
    return 0;
}

/* MARK: - Modules */

int cuModuleLoadDataEx(struct module **module, const void *image, unsigned n_options, int *options,
                       void **values);
int cuModuleLoadDataEx(struct module **module, const void *image, unsigned n_options, int *options,
                       void **values) {
    FAKE_CALL();
    const int code = fake_trouble();
    if (code != 0) {
        return code;
    }
    const char *text = image;
    if (fake_script_number("refuse_ptx", 0) > 0 || strstr(text, ".version ") == NULL) {
        for (unsigned i = 0; i < n_options; i++) {
            if (options[i] == 5) { /* the error log; its size follows */
                (void)snprintf(
                    values[i], (size_t)(uintptr_t)values[i + 1], "%s",
                    "ptxas application ptx input, line 5; fatal   : Unsupported .version 7.0; "
                    "current "
                    "version is '6.5'\nptxas fatal   : Ptx assembly aborted due to errors\n");
            }
        }
        return E_PTX_VERSION;
    }
    *module = calloc(1, sizeof **module);
    if (*module == NULL) {
        return E_MEMORY;
    }
    (*module)->text = strdup(text);
    return 0;
}

int cuModuleUnload(struct module *module);
int cuModuleUnload(struct module *module) {
    free(module->text);
    free(module);
    FAKE_CALL_AFTER(0);
}

/* There only when the PTX text has the entry and the host build has the kernel. */
int cuModuleGetFunction(const struct fake_kernel **function, struct module *module,
                        const char *name);
int cuModuleGetFunction(const struct fake_kernel **function, struct module *module,
                        const char *name) {
    FAKE_CALL();
    char entry[128];
    (void)snprintf(entry, sizeof entry, ".visible .entry %s(", name);
    *function = fake_kernel_find(name);
    return *function != NULL && strstr(module->text, entry) != NULL ? 0 : E_NOT_FOUND;
}

int cuFuncSetAttribute(const struct fake_kernel *function, int attribute, int value);
int cuFuncSetAttribute(const struct fake_kernel *function, int attribute, int value) {
    FAKE_CALL();
    (void)function;
    return (attribute == 8 && value <= FAKE_SHARED_BYTES) || (attribute == 9 && value <= 100)
               ? 0
               : E_VALUE;
}
