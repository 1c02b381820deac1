/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the GPU kernels on the host, from the same source: each thread of a block is a fiber that
 * runs until it comes to a barrier or shuffle. Slow and exact in meaning: for tiny shapes, in
 * tests. Shared memory is filled with NaN before every block, as a real block finds anything there.
 */
#include "fake_cuda_kernels.h"

#define ECO_GPU_EMULATED 1
#include "kernels/gpu/args.h"
#include "kernels/gpu/stream_args.h"
#include "kernels/gpu/stream_device.h"
#include "kernels/gpu/mma.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* BLOCKS_MAX: of a kernel whose blocks wait for one another; all others' run one after another. */
enum {
    FIBERS_MAX = 2304,
    BLOCKS_MAX = 4,
    IDLE_ROUNDS_MAX = 16,
    PAIRS_MAX = 15,
    STACK_BYTES = 64 * 1024,
    SHARED_BYTES = FAKE_SHARED_BYTES
};

struct meeting { /* a barrier of some of a block's threads */
    uint32_t n_live, n_arrived, turn;
};

/* Another stack goes on where it left off. The C library's swapcontext does the same with two system calls, which is
 * too slow here; it serves where this assembly does not. */
#ifdef __x86_64__
typedef void *place;
void fake_switch(place *from, const place *to);
__asm__(".text\n"
        ".globl fake_switch\n"
        ".type fake_switch, @function\n"
        "fake_switch:\n"
        "  endbr64\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq (%rsi), %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size fake_switch, .-fake_switch\n"
        ".section .note.GNU-stack,\"\",@progbits\n"
        ".text\n");

static void place_new(place *out, char *stack, size_t size, void (*entry)(void)) {
    uintptr_t top = ((uintptr_t)stack + size) / 16 * 16 - 8; /* as after a call */
    top -= 7 * sizeof(void *);
    memset((void *)top, 0, 7 * sizeof(void *));
    memcpy((char *)top + 6 * sizeof(void *), &entry, sizeof entry);
    *out = (void *)top;
}
#else
#include <ucontext.h>
typedef ucontext_t place;
static void fake_switch(place *from, const place *to) {
    if (swapcontext(from, to) != 0) {
        abort();
    }
}

static void place_new(place *out, char *stack, size_t size, void (*entry)(void)) {
    if (getcontext(out) != 0) {
        abort();
    }
    out->uc_stack.ss_sp = stack;
    out->uc_stack.ss_size = size;
    out->uc_link = NULL;
    makecontext(out, entry, 0);
}
#endif

struct fiber {
    place at;
    char *stack;
    uint32_t n_shuffles;
    bool live;
};

static struct {
    const struct fake_kernel *kernel;
    const void *args;
    uint32_t grid_x, block_x, block_y, n_threads, shared_bytes;
    uint32_t n_together; /* blocks that run at once, from block_x on */
    uint32_t current;
    uint64_t
        n_moves; /* arrivals, words told and ends: none in many rounds means that nobody can go on */
    place scheduler;
    struct fiber fibers[FIBERS_MAX];
    struct meeting blocks[BLOCKS_MAX];
    struct meeting warps[FIBERS_MAX / WARP];
    struct meeting pairs[BLOCKS_MAX][PAIRS_MAX]; /* of two warps */
    uint32_t slots[2][FIBERS_MAX];
} gpu;

static vec4 shared_memory[BLOCKS_MAX][SHARED_BYTES / sizeof(vec4)];

static uint32_t current_block(void) { /* of those that run at once */
    return gpu.current / gpu.n_threads;
}
vec4 *shared_of_block(void) {
    return shared_memory[current_block()];
}

static void yield_fiber(void) {
    fake_switch(&gpu.fibers[gpu.current].at, &gpu.scheduler);
}

static void meet(struct meeting *meeting) {
    const uint32_t turn = meeting->turn;
    gpu.n_moves++;
    meeting->n_arrived++;
    if (meeting->n_arrived == meeting->n_live) {
        meeting->n_arrived = 0;
        meeting->turn++;
        return;
    }
    while (meeting->turn == turn) {
        yield_fiber();
    }
}

static void leave(struct meeting *meeting) {
    meeting->n_live--;
    if (meeting->n_live > 0 && meeting->n_arrived == meeting->n_live) {
        meeting->n_arrived = 0;
        meeting->turn++;
    }
}

uint32_t thread_index(void) {
    return gpu.current % gpu.n_threads;
}
uint32_t block_index(void) {
    return gpu.block_x + current_block();
}
uint32_t block_index_y(void) {
    return gpu.block_y;
}
uint32_t block_size(void) {
    return gpu.n_threads;
}
uint32_t grid_size(void) {
    return gpu.grid_x;
}

void block_barrier(void) {
    meet(&gpu.blocks[current_block()]);
}

#define CONSTANT(function, argument, mark)                           \
    uint32_t function(void) {                                        \
        return ((const struct gpu_stream_args *)gpu.args)->argument; \
    }
STREAM_CONSTANTS(CONSTANT)

void ring_wait(void) {
    copy_wait(n_slots() - 2);
}
void tell(uint64_t *to, uint32_t value, uint32_t turn) {
    *to = (uint64_t)turn << 32 | value;
    gpu.n_moves++;
}
void tell_half(uint32_t *to, half value, uint32_t turn) {
    const union fp16_bits bits = {.value = value};
    *to = turn << 16 | bits.bits;
    gpu.n_moves++;
}
void wait_on(uint32_t *turns) {
    *turns += 1;
    yield_fiber();
}

uint32_t fake_thread(void) {
    return gpu.current;
}
void fake_warp_meet(void) {
    meet(&gpu.warps[gpu.current / WARP]);
}

void fake_wait(void) {
    yield_fiber();
}
void fake_moved(void) {
    gpu.n_moves++;
}

/* The two warps of a pair are those that come first. */
void pair_meet(uint32_t id) {
    if (id == 0 || id > PAIRS_MAX) {
        abort();
    }
    meet(&gpu.pairs[current_block()][id - 1]);
}

void warp_barrier(void) {
    meet(&gpu.warps[gpu.current / WARP]);
}

/* What the thread `other` brings to this shuffle. Two sets of slots in turn: a lane can be one shuffle
 * ahead of another, never two. */
static uint32_t shuffle(uint32_t value, uint32_t other) {
    struct fiber *fiber = &gpu.fibers[gpu.current];
    const uint32_t set = fiber->n_shuffles++ % 2;
    gpu.slots[set][gpu.current] = value;
    meet(&gpu.warps[gpu.current / WARP]);
    return gpu.slots[set][other];
}

uint32_t shuffle_xor_u32(uint32_t value, uint32_t mask) {
    return shuffle(value, gpu.current ^ mask);
}

float shuffle_from(float value, uint32_t lane) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    bits = shuffle(bits, gpu.current / WARP * WARP + lane);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

float shuffle_xor(float value, uint32_t mask) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    bits = shuffle_xor_u32(bits, mask);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

float exp2_fast(float x) {
    return exp2f(x);
}
float sqrt_rounded(float x) {
    return sqrtf(x);
}
float mul_rounded(float a, float b) {
    return a * b;
}
float add_rounded(float a, float b) {
    return a + b;
}
float div_rounded(float a, float b) {
    return a / b;
}

void store_release_system(uint64_t *p, uint64_t value) {
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}

#include "kernels/gpu/decode.c"
#include "kernels/gpu/stream.c"
#include "kernels/gpu/probe.c"
#include "kernels/gpu/weights.c"

#define RUNNER(name, type)                     \
    static void run_##name(const void *args) { \
        name(*(const struct type *)args);      \
    }
RUNNER(eco_stream, gpu_stream_args)
RUNNER(eco_token_done, gpu_token_done_args)
RUNNER(eco_units_done, gpu_units_done_args)
RUNNER(eco_read, gpu_read_args)
RUNNER(eco_empty, gpu_empty_args)
RUNNER(eco_fill_fp16, gpu_fill_args)
RUNNER(eco_fill_bf16, gpu_fill_args)
RUNNER(eco_fill_nf4, gpu_fill_args)
RUNNER(eco_fill_int8, gpu_fill_args)
RUNNER(eco_fill_q4_0, gpu_fill_args)
RUNNER(eco_fill_q8_0, gpu_fill_args)
RUNNER(eco_fill_fp8, gpu_fill_args)
RUNNER(eco_fill_random, gpu_fill_random_args)

#define ROW(name, type) \
    { #name, sizeof(struct type), run_##name }
static const struct fake_kernel kernels[] = {
    ROW(eco_stream, gpu_stream_args),         ROW(eco_token_done, gpu_token_done_args),
    ROW(eco_units_done, gpu_units_done_args), ROW(eco_read, gpu_read_args),
    ROW(eco_empty, gpu_empty_args),           ROW(eco_fill_fp16, gpu_fill_args),
    ROW(eco_fill_bf16, gpu_fill_args),        ROW(eco_fill_int8, gpu_fill_args),
    ROW(eco_fill_q4_0, gpu_fill_args),        ROW(eco_fill_q8_0, gpu_fill_args),
    ROW(eco_fill_fp8, gpu_fill_args),

    ROW(eco_fill_nf4, gpu_fill_args),         ROW(eco_fill_random, gpu_fill_random_args),
};

const struct fake_kernel *fake_kernel_find(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (strcmp(kernels[i].name, name) == 0) {
            return &kernels[i];
        }
    }
    return fake_batch_kernel_find(name);
}

static void die(const char *what) {
    (void)fprintf(stderr, "fake cuda: kernel %s: %s\n", gpu.kernel->name, what);
    abort();
}

static void fiber_main(void) {
    gpu.kernel->run(gpu.args);
    gpu.fibers[gpu.current].live = false;
    gpu.n_moves++;
    leave(&gpu.blocks[current_block()]);
    leave(&gpu.warps[gpu.current / WARP]);
    yield_fiber();
}

static void prepare_fiber(struct fiber *fiber) {
    fiber->live = true;
    fiber->n_shuffles = 0;
    fake_batch_thread_begin((uint32_t)(fiber - gpu.fibers));
    if (fiber->stack == NULL) {
        fiber->stack = malloc(STACK_BYTES);
    }
    if (fiber->stack == NULL) {
        die("no memory for a thread");
    }
    place_new(&fiber->at, fiber->stack, STACK_BYTES, fiber_main);
}

static void start_blocks(void) {
    const uint32_t n = gpu.n_together * gpu.n_threads;
    for (uint32_t b = 0; b < gpu.n_together; b++) {
        memset(shared_memory[b], 0xff, gpu.shared_bytes);
        gpu.blocks[b] = (struct meeting){.n_live = gpu.n_threads};
        for (uint32_t p = 0; p < PAIRS_MAX; p++) {
            gpu.pairs[b][p] = (struct meeting){.n_live = 2 * WARP};
        }
    }
    for (uint32_t w = 0; w * WARP < n; w++) {
        const uint32_t left = n - w * WARP;
        gpu.warps[w] = (struct meeting){.n_live = left < WARP ? left : WARP};
    }
    for (uint32_t t = 0; t < n; t++) {
        prepare_fiber(&gpu.fibers[t]);
    }
}

static bool some_live(void) {
    for (uint32_t b = 0; b < gpu.n_together; b++) {
        if (gpu.blocks[b].n_live > 0) {
            return true;
        }
    }
    return false;
}

static void run_blocks(void) {
    start_blocks();
    uint32_t n_idle =
        0; /* rounds: who hears what was told in the one before may only go on to hear more */
    while (some_live()) {
        const uint64_t before = gpu.n_moves;
        for (uint32_t t = 0; t < gpu.n_together * gpu.n_threads; t++) {
            gpu.current = t;
            if (gpu.fibers[t].live) {
                fake_switch(&gpu.scheduler, &gpu.fibers[t].at);
            }
        }
        n_idle = gpu.n_moves == before ? n_idle + 1 : 0;
        if (n_idle == IDLE_ROUNDS_MAX) {
            die("some threads wait at a barrier or shuffle that others never reach");
        }
    }
}

void fake_kernel_run(const struct fake_kernel *kernel, const void *args, uint32_t grid_x,
                     uint32_t grid_y, uint32_t block, uint32_t shared_bytes) {
    gpu.kernel = kernel;
    gpu.args = args;
    gpu.grid_x = grid_x;
    gpu.n_threads = block;
    gpu.shared_bytes = shared_bytes;
    gpu.n_together = strcmp(kernel->name, "eco_stream") == 0 ? grid_x : 1;
    if (block == 0 || gpu.n_together > BLOCKS_MAX || gpu.n_together * block > FIBERS_MAX ||
        shared_bytes > SHARED_BYTES) {
        die("more threads or shared memory than the fake has");
    }
    for (gpu.block_y = 0; gpu.block_y < grid_y; gpu.block_y++) {
        for (gpu.block_x = 0; gpu.block_x < grid_x; gpu.block_x += gpu.n_together) {
            run_blocks();
        }
    }
}

/* Loaded and unloaded with the library: leak checkers see nothing left. */
__attribute__((destructor)) static void free_stacks(void) {
    for (uint32_t t = 0; t < FIBERS_MAX; t++) {
        free(gpu.fibers[t].stack);
    }
}
