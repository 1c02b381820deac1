/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies between the products of batch_gemm.c: embedding, norm, rotary positions and cache,
 * attention, the next tokens. A launch works on rows (gpu_batch_rows): the sequences of a decoded
 * step, or consecutive tokens of the prompts. Ladder (docs/kernels-batch.md):
 *   reference  src/kernels/cpu, a sequence after the other
 *   v1 to v4   attention reads keys and values once for up to eight query heads that share them,
 *              groups of lanes a position, five shuffles a position and head; online softmax in FP32
 *   v5         here: attention on tensor cores (batch_attention.h), which rotates and appends itself
 *              where rows do not see one another
 */
#include "batch_args.h"
#include "kernels/quant.h"
#include "mma.h"

#define BATCH_LOWEST (-1e30f) /* below every score, finite so that differences are never NaN */

struct batch_where {
    uint32_t sequence, position;
};

INLINE struct batch_where where_is(const struct gpu_batch_rows *r, uint32_t n, uint32_t capacity) {
    if (r->is_prefill == 0) {
        return (struct batch_where){n, min_u32(r->state->position, capacity - 1)};
    }
    const uint32_t token = r->chunk[0] + n;
    return (struct batch_where){min_u32(token / r->n_prompt, r->n_batch - 1), token % r->n_prompt};
}

INLINE uint32_t pad_columns(uint32_t n) {
    return (n + BATCH_K_PAD - 1) / BATCH_K_PAD * BATCH_K_PAD;
}

static SHARED float batch_warp_sum[BATCH_NORM_BLOCK / WARP];

/* One block a row. */
KERNEL eco_batch_embed(const struct gpu_batch_embed_args a) {
    const uint32_t n = block_index();
    const uint32_t index = a.rows.is_prefill != 0 ? a.rows.chunk[0] + n : n;
    const uint32_t token = a.tokens[index];
    for (uint32_t e = thread_index(); e < a.d_model; e += block_size()) {
        a.x[(uint64_t)n * a.d_model + e] = (float)a.table[(uint64_t)token * a.stride + e];
    }
    for (uint32_t e = a.d_ff + thread_index(); e < pad_columns(a.d_ff); e += block_size()) {
        a.hidden[batch_input_index(a.n_pad, n, e)] = (half)0.0f;
    }
}

/* One block of BATCH_NORM_BLOCK threads a row: RMSNorm, rounded to FP16 as a product's input. */
KERNEL eco_batch_norm(const struct gpu_batch_norm_args a) {
    const uint32_t n = block_index();
    uint32_t to = n;
    if (a.only_last != 0) {
        const struct batch_where at = where_is(&a.rows, n, 1);
        if (at.position + 1 != a.rows.n_prompt) {
            return;
        }
        to = at.sequence;
    }
    const GLOBAL float *x = a.x + (uint64_t)n * a.d_model;
    float sum = 0.0f;
    UNROLL_TWICE
    for (uint32_t e = thread_index(); e < a.d_model; e += BATCH_NORM_BLOCK) {
        sum = fma_f32(x[e], x[e], sum);
    }
    sum = warp_sum(sum);
    if (thread_index() % WARP == 0) {
        batch_warp_sum[thread_index() / WARP] = sum;
    }
    block_barrier();
    sum = warp_sum(batch_warp_sum[thread_index() % (BATCH_NORM_BLOCK / WARP)]) /
          (float)(WARP / (BATCH_NORM_BLOCK / WARP)); /* each is there so many times */
    const float inverse = 1.0f / sqrt_rounded(sum / (float)a.d_model + a.eps);
    UNROLL_TWICE
    for (uint32_t e = thread_index(); e < pad_columns(a.d_model); e += BATCH_NORM_BLOCK) {
        const float value = e < a.d_model ? x[e] * inverse * (float)a.gain[e] : 0.0f;
        a.out[batch_input_index(a.n_pad, to, e)] = (half)value;
    }
}

/* One block of BATCH_NORM_BLOCK threads a row. */
KERNEL eco_batch_quantize(const struct gpu_batch_quantize_args a) {
    const uint32_t n = block_index();
    float absmax = 0.0f;
    for (uint32_t e = thread_index(); e < a.cols; e += BATCH_NORM_BLOCK) {
        const float x = quant_magnitude((float)a.input[batch_input_index(a.n_pad, n, e)]);
        absmax = x < INT8_OUTLIER ? max_f32(absmax, x) : absmax;
    }
    for (uint32_t mask = 16; mask > 0; mask >>= 1) {
        absmax = max_f32(absmax, shuffle_xor(absmax, mask));
    }
    if (thread_index() % WARP == 0) {
        batch_warp_sum[thread_index() / WARP] = absmax;
    }
    block_barrier();
    for (uint32_t i = 0; i < BATCH_NORM_BLOCK / WARP; i++) {
        absmax = max_f32(absmax, batch_warp_sum[i]);
    }
    for (uint32_t e = thread_index(); e < pad_columns(a.cols); e += BATCH_NORM_BLOCK) {
        const uint32_t at = batch_input_index(a.n_pad, n, e);
        const float x = (float)a.input[at];
        const bool is_outlier = quant_magnitude(x) >= INT8_OUTLIER;
        a.codes[at] = (int8_t)(is_outlier ? 0 : int8_code(x, absmax));
        a.input[at] = (half)(is_outlier ? x : 0.0f);
    }
    if (thread_index() == 0) {
        a.scales[n] = absmax / 127.0f;
    }
}

/* Of a pair (i, i + d/2) of a head at a position. */
struct batch_pair {
    float low, high;
};

INLINE struct batch_pair rotate(const GLOBAL float *angles, uint32_t i, struct batch_pair in) {
    const float cosine = angles[2 * i];
    const float sine = angles[2 * i + 1];
    return (struct batch_pair){in.low * cosine - in.high * sine, in.high * cosine + in.low * sine};
}

/* A row's key or value of a head, by n threads: keys are rotated. */
INLINE void append(const struct gpu_batch_attention_args *a, GLOBAL half *cache, uint64_t row,
                   const GLOBAL float *in, const GLOBAL float *angles, bool is_key, uint32_t thread,
                   uint32_t n_threads) {
    const uint32_t pairs = a->d_head / 2;
    GLOBAL half *to = cache + row * a->d_stride;
    for (uint32_t i = thread; i < pairs; i += n_threads) {
        struct batch_pair pair = {in[i], in[i + pairs]};
        if (is_key) {
            pair = rotate(angles, i, pair);
        }
        to[i] = (half)pair.low;
        to[i + pairs] = (half)pair.high;
    }
    for (uint32_t i = a->d_head + thread; i < a->d_stride; i += n_threads) {
        to[i] = (half)0.0f;
    }
}

/* Where a row's keys and values of a head are, in rows of the cache: its sequence's first. */
INLINE uint64_t cache_row(const struct gpu_batch_attention_args *a, uint32_t sequence,
                          uint32_t kv_head) {
    return ((uint64_t)sequence * a->n_kv_heads + kv_head) * a->capacity;
}

INLINE GLOBAL float *head_of(const struct gpu_batch_attention_args *a, uint32_t n, uint32_t head) {
    return a->qkv + ((uint64_t)n * (a->n_heads + 2 * a->n_kv_heads) + head) * a->d_head;
}

/* Grid (heads of query, key and value, rows), for rows that see one another: rotates queries in place,
 * appends keys and values to the row's place in the cache. */
KERNEL eco_batch_rope(const struct gpu_batch_attention_args a) {
    const uint32_t head = block_index();
    const uint32_t n = block_index_y();
    const struct batch_where at = where_is(&a.rows, n, a.capacity);
    const uint32_t pairs = a.d_head / 2;
    GLOBAL float *in = head_of(&a, n, head);
    const GLOBAL float *angles = a.angles + (uint64_t)at.position * a.d_head;
    if (head >= a.n_heads) {
        const bool is_key = head < a.n_heads + a.n_kv_heads;
        const uint32_t kv_head = head - a.n_heads - (is_key ? 0 : a.n_kv_heads);
        append(&a, is_key ? a.k_cache : a.v_cache,
               cache_row(&a, at.sequence, kv_head) + at.position, in, angles, is_key,
               thread_index(), block_size());
        return;
    }
    for (uint32_t i = thread_index(); i < pairs; i += block_size()) {
        const struct batch_pair turned =
            rotate(angles, i, (struct batch_pair){in[i], in[i + pairs]});
        in[i] = turned.low;
        in[i + pairs] = turned.high;
    }
}

#include "batch_attention.h"

/* MARK: - The next tokens */

struct batch_best {
    float value;
    uint32_t index;
};

/* Lowest index among equal values. */
INLINE struct batch_best better_of(struct batch_best a, struct batch_best b) {
    const bool take_b = b.value > a.value || (b.value == a.value && b.index < a.index);
    return take_b ? b : a;
}

INLINE struct batch_best best_of_warp(struct batch_best mine) {
    ROLLED
    for (uint32_t mask = 16; mask > 0; mask >>= 1) {
        const struct batch_best other = {shuffle_xor(mine.value, mask),
                                         shuffle_xor_u32(mine.index, mask)};
        mine = better_of(mine, other);
    }
    return mine;
}

static SHARED float batch_best_value[GPU_WARPS];
static SHARED uint32_t batch_best_index[GPU_WARPS];

/* Grid (BATCH_ARGMAX_BLOCKS, sequences), GPU_BLOCK threads. */
KERNEL eco_batch_argmax(const struct gpu_batch_argmax_args a) {
    const GLOBAL float *logits = a.logits + (uint64_t)block_index_y() * a.n;
    struct batch_best mine = {-__builtin_inff(), 0xffffffffu};
    const uint32_t step = grid_size() * block_size();
    for (uint32_t i = block_index() * block_size() + thread_index(); i < a.n; i += step) {
        mine = better_of(mine, (struct batch_best){logits[i], i});
    }
    mine = best_of_warp(mine);
    if (thread_index() % WARP == 0) {
        batch_best_value[thread_index() / WARP] = mine.value;
        batch_best_index[thread_index() / WARP] = mine.index;
    }
    block_barrier();
    if (thread_index() == 0) {
        for (uint32_t w = 1; w < GPU_WARPS; w++) {
            mine = better_of(mine, (struct batch_best){batch_best_value[w], batch_best_index[w]});
        }
        const uint32_t to = block_index_y() * BATCH_ARGMAX_BLOCKS + block_index();
        a.part_value[to] = mine.value;
        a.part_index[to] = mine.index;
    }
}

/* One block, a thread a sequence; then the state, once, and what the host watches. */
KERNEL eco_batch_done(const struct gpu_batch_done_args a) {
    const uint32_t b = thread_index();
    if (b < a.n_batch) {
        struct batch_best mine = {-__builtin_inff(), 0xffffffffu};
        for (uint32_t i = 0; i < BATCH_ARGMAX_BLOCKS; i++) {
            const uint32_t at = b * BATCH_ARGMAX_BLOCKS + i;
            mine = better_of(mine, (struct batch_best){a.part_value[at], a.part_index[at]});
        }
        /* Logits that are all NaN choose nothing: token 0, never an address outside the table. */
        const uint32_t token = mine.index == 0xffffffffu ? 0 : mine.index;
        a.tokens[b] = token;
        if (b == 0) {
            a.state->token = token;
        }
    }
    block_barrier();
    if (b != 0) {
        return;
    }
    const uint32_t next = a.state->position + 1;
    const uint32_t turned = next >= a.state->wrap_hi ? a.state->wrap_lo : next;
    a.state->position = a.starts != 0 ? a.start_position : turned;
    const uint64_t steps = a.state->steps + a.n_units;
    a.state->steps = steps;
    store_release_system(a.progress, steps);
}

/* One thread. */
KERNEL eco_chunk_done(const struct gpu_chunk_done_args a) {
    const uint32_t next = a.chunk[0] + a.n_rows;
    a.chunk[0] = next >= a.n_total ? 0 : next;
    const uint64_t steps = a.state->steps + a.n_units;
    a.state->steps = steps;
    store_release_system(a.progress, steps);
}
