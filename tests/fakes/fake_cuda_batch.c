/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels on tensor cores, compiled for the host: what mma.h declares, by the letter of the PTX
 * manual. A copy to shared memory happens only when its thread waits for it, so that a stage that
 * is read too early holds what it held before.
 */
#include "fake_cuda_kernels.h"

#define ECO_GPU_EMULATED 1
#include "kernels/gpu/mma.h"

#include <stdlib.h>
#include <string.h>

enum { COPIES_MAX = 1024, ARRIVALS_MAX = 16 };

struct copy {
    void *to;
    const void *from; /* NULL: zeros */
    uint32_t group, n_bytes;
};

struct arrival {
    uint64_t *barrier;
    uint32_t group; /* copies of groups before it come first */
};

static struct thread {
    struct arrival arrivals[ARRIVALS_MAX]; /* rings */
    uint32_t n_arrivals, n_arrived;
    struct copy copies[COPIES_MAX];
    uint32_t n_begun, n_done, group, n_products;
    float a[2][4][2], b[2][2][2]; /* of two products in turn, as pairs */
    int32_t a_bytes[2][4][4], b_bytes[2][2][4];
} threads[FAKE_THREADS_MAX];

void fake_batch_thread_begin(uint32_t thread) {
    threads[thread].n_arrivals = 0;
    threads[thread].n_arrived = 0;
    threads[thread].n_begun = 0;
    threads[thread].n_done = 0;
    threads[thread].group = 0;
    threads[thread].n_products = 0;
}

static struct thread *mine(void) {
    return &threads[fake_thread()];
}

static void begin_copy(void *to, const void *from, bool take, uint32_t n_bytes) {
    struct thread *t = mine();
    if (t->n_begun - t->n_done == COPIES_MAX || (uintptr_t)to % n_bytes != 0 ||
        (uintptr_t)from % n_bytes != 0) {
        abort();
    }
    t->copies[t->n_begun++ % COPIES_MAX] =
        (struct copy){.to = to, .from = take ? from : NULL, .group = t->group, .n_bytes = n_bytes};
}

void copy_async(void *to, const void *from, bool take) {
    begin_copy(to, from, take, 16);
}

void copy_async_4(void *to, const void *from, bool take) {
    begin_copy(to, from, take, 4);
}

void copy_commit(void) {
    mine()->group++;
}

/* The copies of groups before `end`. */
static void do_copies(struct thread *t, uint32_t end) {
    for (; t->n_done != t->n_begun; t->n_done++) {
        const struct copy *c = &t->copies[t->n_done % COPIES_MAX];
        if (c->group >= end) {
            return;
        }
        if (c->from == NULL) {
            memset(c->to, 0, c->n_bytes);
        } else {
            memcpy(c->to, c->from, c->n_bytes);
        }
    }
}

void copy_wait(uint32_t n) {
    struct thread *t = mine();
    do_copies(t, t->group > n ? t->group - n : 0);
}

/* MARK: - Barriers in shared memory */

/* In the barrier's 64 bits: arrivals of a phase, those still to come, and the number of phases that
 * have ended. A copying thread's arrival is counted when somebody waits, after its copies. */
struct barrier {
    uint16_t n_all, n_left;
    uint32_t n_ended;
};

static void arrive_at(uint64_t *at) {
    struct barrier b;
    memcpy(&b, at, sizeof b);
    if (b.n_all == 0 || b.n_all > FAKE_THREADS_MAX) {
        abort(); /* nobody made it a barrier */
    }
    if (--b.n_left == 0) {
        b.n_left = b.n_all;
        b.n_ended++;
    }
    memcpy(at, &b, sizeof b);
    fake_moved();
}

void barrier_init(uint64_t *barrier, uint32_t n) {
    const struct barrier b = {.n_all = (uint16_t)n, .n_left = (uint16_t)n};
    memcpy(barrier, &b, sizeof b);
}

void barrier_arrive(uint64_t *barrier) {
    arrive_at(barrier);
}

void barrier_arrive_copied(uint64_t *barrier) {
    struct thread *t = mine();
    if (t->n_arrivals - t->n_arrived == ARRIVALS_MAX) {
        abort();
    }
    t->arrivals[t->n_arrivals++ % ARRIVALS_MAX] = (struct arrival){barrier, ++t->group};
    fake_moved();
}

static void arrive_all(const uint64_t *barrier) {
    for (uint32_t i = 0; i < FAKE_THREADS_MAX; i++) {
        struct thread *t = &threads[i];
        while (t->n_arrived != t->n_arrivals &&
               t->arrivals[t->n_arrived % ARRIVALS_MAX].barrier == barrier) {
            const struct arrival *arrival = &t->arrivals[t->n_arrived++ % ARRIVALS_MAX];
            do_copies(t, arrival->group);
            arrive_at(arrival->barrier);
        }
    }
}

void barrier_wait(uint64_t *barrier, uint32_t parity) {
    for (;;) {
        struct barrier b;
        memcpy(&b, barrier, sizeof b);
        if (b.n_ended % 2 != parity) {
            fake_moved();
            return;
        }
        arrive_all(barrier);
        memcpy(&b, barrier, sizeof b);
        if (b.n_ended % 2 == parity) {
            fake_wait();
        }
    }
}

void warp_meet(void) {
    fake_warp_meet();
}

static half half_at(uint32_t pair, uint32_t i) {
    const union fp16_bits h = {.bits = (uint16_t)(pair >> (16 * i))};
    return h.value;
}

static uint32_t pair_of(half low, half high) {
    const union fp16_bits l = {.value = low};
    const union fp16_bits h = {.value = high};
    return (uint32_t)l.bits | (uint32_t)h.bits << 16;
}

/* Threads of the warp: lane 4 g + t. */
static const struct thread *lane_of(uint32_t g, uint32_t t) {
    return &threads[fake_thread() / WARP * WARP + 4 * g + t];
}

void mma_f16(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1) {
    struct thread *self = mine();
    const uint32_t set = self->n_products++ % 2;
    const uint32_t b[2] = {b0, b1};
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            self->a[set][i][k] = (float)half_at(a[i], k);
            self->b[set][i / 2][k] = (float)half_at(b[i / 2], k);
        }
    }
    fake_warp_meet();
    const uint32_t g = fake_thread() % WARP / 4;
    const uint32_t t = fake_thread() % 4;
    for (uint32_t i = 0; i < 4; i++) { /* row g or g + 8, column 2 t or 2 t + 1 */
        float sum = 0.0f;
        for (uint32_t k = 0; k < 16; k++) {
            const float *row = lane_of(g, k / 2 % 4)->a[set][i / 2 + k / 8 * 2];
            const float *column = lane_of(2 * t + i % 2, k / 2 % 4)->b[set][k / 8];
            sum += row[k % 2] * column[k % 2];
        }
        c[i] += sum;
    }
}

void mma_s8(int32_t c[4], const uint32_t a[4], uint32_t b0, uint32_t b1) {
    struct thread *self = mine();
    const uint32_t set = self->n_products++ % 2;
    const uint32_t b[2] = {b0, b1};
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < 4; k++) {
            self->a_bytes[set][i][k] = (int8_t)(a[i] >> (8 * k));
            self->b_bytes[set][i / 2][k] = (int8_t)(b[i / 2] >> (8 * k));
        }
    }
    fake_warp_meet();
    const uint32_t g = fake_thread() % WARP / 4;
    const uint32_t t = fake_thread() % 4;
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < 32; k++) {
            const int32_t *row = lane_of(g, k / 4 % 4)->a_bytes[set][i / 2 + k / 16 * 2];
            const int32_t *column = lane_of(2 * t + i % 2, k / 4 % 4)->b_bytes[set][k / 16];
            c[i] += row[k % 4] * column[k % 4];
        }
    }
}

uint32_t byte_permute(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t out = 0;
    for (uint32_t i = 0; i < 4; i++) {
        out |= (uint32_t)(both >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
    }
    return out;
}

uint32_t half2_sub(uint32_t a, uint32_t b) {
    return pair_of((half)((float)half_at(a, 0) - (float)half_at(b, 0)),
                   (half)((float)half_at(a, 1) - (float)half_at(b, 1)));
}

uint32_t half2_fma(uint32_t a, uint32_t b, uint32_t c) {
    half out[2];
    for (uint32_t i = 0; i < 2; i++) { /* exact in double but for the last rounding */
        out[i] = (half)((double)half_at(a, i) * (double)half_at(b, i) + (double)half_at(c, i));
    }
    return pair_of(out[0], out[1]);
}

uint32_t half2_of(float low, float high) {
    return pair_of((half)low, (half)high);
}

uint32_t atomic_increment(uint32_t *p) {
    return (*p)++;
}

#include "kernels/gpu/batch.c"
#include "kernels/gpu/batch_gemm.c"
#include "kernels/gpu/rates.c"

#define RUNNER(name, type)                     \
    static void run_##name(const void *args) { \
        name(*(const struct type *)args);      \
    }
RUNNER(eco_batch_embed, gpu_batch_embed_args)
RUNNER(eco_batch_norm, gpu_batch_norm_args)
RUNNER(eco_batch_gemm, gpu_batch_gemm_args)
RUNNER(eco_batch_quantize, gpu_batch_quantize_args)
RUNNER(eco_batch_rope, gpu_batch_attention_args)
RUNNER(eco_batch_attention, gpu_batch_attention_args)
RUNNER(eco_batch_attention_join, gpu_batch_attention_args)
RUNNER(eco_batch_argmax, gpu_batch_argmax_args)
RUNNER(eco_batch_done, gpu_batch_done_args)
RUNNER(eco_chunk_done, gpu_chunk_done_args)
RUNNER(eco_rate_fp16, gpu_rate_args)
RUNNER(eco_rate_int8, gpu_rate_args)

#define ROW(name, type) \
    { #name, sizeof(struct type), run_##name }
static const struct fake_kernel kernels[] = {
    ROW(eco_batch_embed, gpu_batch_embed_args),
    ROW(eco_batch_norm, gpu_batch_norm_args),
    ROW(eco_batch_gemm, gpu_batch_gemm_args),
    ROW(eco_batch_quantize, gpu_batch_quantize_args),
    ROW(eco_batch_rope, gpu_batch_attention_args),
    ROW(eco_batch_attention, gpu_batch_attention_args),
    ROW(eco_batch_attention_join, gpu_batch_attention_args),
    ROW(eco_batch_argmax, gpu_batch_argmax_args),
    ROW(eco_batch_done, gpu_batch_done_args),
    ROW(eco_chunk_done, gpu_chunk_done_args),
    ROW(eco_rate_fp16, gpu_rate_args),
    ROW(eco_rate_int8, gpu_rate_args),
};

const struct fake_kernel *fake_batch_kernel_find(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (strcmp(kernels[i].name, name) == 0) {
            return &kernels[i];
        }
    }
    return NULL;
}
