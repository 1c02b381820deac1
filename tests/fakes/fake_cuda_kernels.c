/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the GPU kernels on the host, from the same source: each thread of a block is a fiber that
 * runs until it comes to a barrier or shuffle. Slow and exact in meaning: for tiny shapes, in
 * tests. Shared memory is filled with NaN before every block, as a real block finds anything there.
 */
#include "fake_cuda_kernels.h"

#define ECO_GPU_EMULATED 1
#include "kernels/gpu/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIBERS_MAX = 512, STACK_BYTES = 64 * 1024, SHARED_BYTES = 96 * 1024 };

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
    uint32_t current;
    uint64_t n_moves; /* arrivals and ends: none in a whole round means that nobody can go on */
    place scheduler;
    struct fiber fibers[FIBERS_MAX];
    struct meeting block;
    struct meeting warps[FIBERS_MAX / WARP];
    uint32_t slots[2][FIBERS_MAX];
} gpu;

vec4 shared_dynamic[SHARED_BYTES / sizeof(vec4)];

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
    return gpu.current;
}
uint32_t block_index(void) {
    return gpu.block_x;
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
    meet(&gpu.block);
}

/* Two sets of slots in turn: a lane can be one shuffle ahead of another, never two. */
uint32_t shuffle_xor_u32(uint32_t value, uint32_t mask) {
    struct fiber *fiber = &gpu.fibers[gpu.current];
    const uint32_t set = fiber->n_shuffles++ % 2;
    gpu.slots[set][gpu.current] = value;
    meet(&gpu.warps[gpu.current / WARP]);
    return gpu.slots[set][gpu.current ^ mask];
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
#include "kernels/gpu/probe.c"
#include "kernels/gpu/weights.c"

#define RUNNER(name, type)                     \
    static void run_##name(const void *args) { \
        name(*(const struct type *)args);      \
    }
RUNNER(eco_embed, gpu_embed_args)
RUNNER(eco_norm_gemv_fp16, gpu_gemv_args)
RUNNER(eco_norm_gemv_nf4, gpu_gemv_args)
RUNNER(eco_gemv_add_fp16, gpu_gemv_args)
RUNNER(eco_gemv_add_nf4, gpu_gemv_args)
RUNNER(eco_norm_gate_up_fp16, gpu_gemv_args)
RUNNER(eco_norm_gate_up_nf4, gpu_gemv_args)
RUNNER(eco_rope_append, gpu_rope_args)
RUNNER(eco_attention, gpu_attention_args)
RUNNER(eco_attention_join, gpu_attention_args)
RUNNER(eco_argmax, gpu_argmax_args)
RUNNER(eco_token_done, gpu_token_done_args)
RUNNER(eco_units_done, gpu_units_done_args)
RUNNER(eco_read, gpu_read_args)
RUNNER(eco_empty, gpu_empty_args)
RUNNER(eco_fill_fp16, gpu_fill_fp16_args)
RUNNER(eco_fill_nf4, gpu_fill_nf4_args)
RUNNER(eco_fill_random, gpu_fill_random_args)

#define ROW(name, type) \
    { #name, sizeof(struct type), run_##name }
static const struct fake_kernel kernels[] = {
    ROW(eco_embed, gpu_embed_args),           ROW(eco_norm_gemv_fp16, gpu_gemv_args),
    ROW(eco_norm_gemv_nf4, gpu_gemv_args),    ROW(eco_gemv_add_fp16, gpu_gemv_args),
    ROW(eco_gemv_add_nf4, gpu_gemv_args),     ROW(eco_norm_gate_up_fp16, gpu_gemv_args),
    ROW(eco_norm_gate_up_nf4, gpu_gemv_args), ROW(eco_rope_append, gpu_rope_args),
    ROW(eco_attention, gpu_attention_args),   ROW(eco_attention_join, gpu_attention_args),
    ROW(eco_argmax, gpu_argmax_args),         ROW(eco_token_done, gpu_token_done_args),
    ROW(eco_units_done, gpu_units_done_args), ROW(eco_read, gpu_read_args),
    ROW(eco_empty, gpu_empty_args),           ROW(eco_fill_fp16, gpu_fill_fp16_args),
    ROW(eco_fill_nf4, gpu_fill_nf4_args),     ROW(eco_fill_random, gpu_fill_random_args),
};

const struct fake_kernel *fake_kernel_find(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (strcmp(kernels[i].name, name) == 0) {
            return &kernels[i];
        }
    }
    return NULL;
}

static void die(const char *what) {
    (void)fprintf(stderr, "fake cuda: kernel %s: %s\n", gpu.kernel->name, what);
    abort();
}

static void fiber_main(void) {
    gpu.kernel->run(gpu.args);
    gpu.fibers[gpu.current].live = false;
    gpu.n_moves++;
    leave(&gpu.block);
    leave(&gpu.warps[gpu.current / WARP]);
    yield_fiber();
}

static void prepare_fiber(struct fiber *fiber) {
    fiber->live = true;
    fiber->n_shuffles = 0;
    if (fiber->stack == NULL) {
        fiber->stack = malloc(STACK_BYTES);
    }
    if (fiber->stack == NULL) {
        die("no memory for a thread");
    }
    place_new(&fiber->at, fiber->stack, STACK_BYTES, fiber_main);
}

static void start_block(void) {
    memset(shared_dynamic, 0xff, gpu.shared_bytes);
    gpu.block = (struct meeting){.n_live = gpu.n_threads};
    for (uint32_t w = 0; w * WARP < gpu.n_threads; w++) {
        const uint32_t left = gpu.n_threads - w * WARP;
        gpu.warps[w] = (struct meeting){.n_live = left < WARP ? left : WARP};
    }
    for (uint32_t t = 0; t < gpu.n_threads; t++) {
        prepare_fiber(&gpu.fibers[t]);
    }
}

static void run_block(void) {
    start_block();
    while (gpu.block.n_live > 0) {
        const uint64_t before = gpu.n_moves;
        for (uint32_t t = 0; t < gpu.n_threads; t++) {
            gpu.current = t;
            if (gpu.fibers[t].live) {
                fake_switch(&gpu.scheduler, &gpu.fibers[t].at);
            }
        }
        if (gpu.n_moves == before) {
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
    if (block == 0 || block > FIBERS_MAX || shared_bytes > SHARED_BYTES) {
        die("more threads or shared memory than the fake has");
    }
    for (gpu.block_y = 0; gpu.block_y < grid_y; gpu.block_y++) {
        for (gpu.block_x = 0; gpu.block_x < grid_x; gpu.block_x++) {
            run_block();
        }
    }
}

/* Loaded and unloaded with the library: leak checkers see nothing left. */
__attribute__((destructor)) static void free_stacks(void) {
    for (uint32_t t = 0; t < FIBERS_MAX; t++) {
        free(gpu.fibers[t].stack);
    }
}
