/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention of one row's query heads that share a key and value head, on tensor cores; part of
 * batch.c. A warp takes 16 positions at once: S = Q K^T with up to eight heads as mma's rows (and what
 * FP16 loses of their queries as the other eight), then O^T = V^T P^T with heads as its columns. The
 * layouts fit: a lane's scores are its operand of the second product, and it reads keys and values
 * in pieces of 16 bytes, since the order of a head's columns is free in both.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_BATCH_ATTENTION_H
#define ECOCOMPUTE_KERNELS_GPU_BATCH_ATTENTION_H

enum {
    ATTEND_HEADS = 8,
    ATTEND_POSITIONS = 16,
    ATTEND_COLUMNS = 128, /* of a head at once: O's two sixty-fours are mma's rows g and g + 8 */
    ATTEND_WARPS = BATCH_ATTENTION_BLOCK / WARP
};

/* In shared memory, floats: of every warp O as [heads][columns], where a column lies at
 * 8 (d % 8) + d / 8 of its 64, so that lanes write to different banks; maxima and sums [heads]; before
 * that, queries [heads][GPU_HEAD_MAX]. Then queries as operands, [d / 32][high, low][lane] vec4. */
enum {
    ATTEND_PITCH = ATTEND_COLUMNS + 4,
    ATTEND_O = ATTEND_HEADS * ATTEND_PITCH,
    ATTEND_MAXIMA = ATTEND_WARPS * ATTEND_O,
    ATTEND_SUMS = ATTEND_MAXIMA + ATTEND_WARPS * ATTEND_HEADS,
    ATTEND_QUERIES = ATTEND_SUMS + ATTEND_WARPS * ATTEND_HEADS
};

struct batch_span { /* of positions */
    uint32_t first, last;
};

/* What a block works on. */
struct batch_attended {
    const struct gpu_batch_attention_args *a;
    uint32_t n, first_head, n_heads;  /* row; up to eight query heads */
    const GLOBAL half *keys, *values; /* [position][d_stride] */
    struct batch_span span;
    const SHARED vec4 *queries;
};

/* A warp's, as mma's C: O^T, and of head g = lane / 4 the maximum of its scores and this lane's part of
 * the sum of weights. */
struct batch_seen {
    float o[8][4];
    float max, sum;
};

INLINE void store_head(const struct gpu_batch_attention_args *a, uint32_t n, uint32_t head,
                       uint32_t d, float value, float sum) {
    a->out[batch_input_index(a->n_pad, n, head * a->d_head + d)] = (half)(value / sum);
}

/* Queries, rotated where that has not been done, as operands; by the whole block. */
INLINE void prepare_queries(const struct batch_attended *w, const GLOBAL float *angles) {
    const struct gpu_batch_attention_args *a = w->a;
    SHARED float *floats = (SHARED float *)shared_dynamic;
    SHARED uint32_t *operands = (SHARED uint32_t *)(floats + ATTEND_QUERIES);
    const uint32_t pairs = a->d_head / 2;
    for (uint32_t i = thread_index(); i < ATTEND_HEADS * GPU_HEAD_MAX; i += block_size()) {
        const uint32_t d = i % GPU_HEAD_MAX;
        const uint32_t h = i / GPU_HEAD_MAX;
        if (d >= a->d_head || h >= w->n_heads) {
            floats[i] = 0.0f;
        } else if (d < pairs) {
            const GLOBAL float *in = head_of(a, w->n, w->first_head + h);
            struct batch_pair pair = {in[d], in[d + pairs]};
            if (a->rotates != 0) {
                pair = rotate(angles, d, pair);
            }
            floats[i] = pair.low * a->scale;
            floats[i + pairs] = pair.high * a->scale;
        }
    }
    block_barrier();
    const uint32_t n_words =
        (a->d_head + ATTEND_COLUMNS - 1) / ATTEND_COLUMNS * (ATTEND_COLUMNS / 32 * WARP * 4);
    for (uint32_t i = thread_index(); i < n_words; i += block_size()) {
        const uint32_t lane = i / 4 % WARP;
        const SHARED float *from =
            floats + lane / 4 * GPU_HEAD_MAX + i / (4 * WARP) * 32 + lane % 4 * 8 + i % 4 * 2;
        const uint32_t high = half2_of(from[0], from[1]);
        SHARED uint32_t *to = operands + i / (4 * WARP) * (8 * WARP) + i % (4 * WARP);
        to[0] = high;
        to[4 * WARP] = half2_of(from[0] - half_low(high), from[1] - half_high(high));
    }
    block_barrier();
}

/* Columns d … d + 7 at a position, the last of the span if that is beyond it. */
INLINE vec4 load_piece(const struct batch_attended *w, const GLOBAL half *cache, uint32_t position,
                       uint32_t d) {
    const uint32_t place = min_u32(position, w->span.last - 1) * w->a->d_stride + d;
    return load_if((const GLOBAL vec4 *)(cache + place), d < w->a->d_stride);
}

/* Scores of 16 positions from `base` on, of head g at positions 2 t, 2 t + 1 and those plus 8. */
INLINE void score(const struct batch_attended *w, uint32_t base, float out[4]) {
    const uint32_t lane = thread_index() % WARP;
    float c[2][4] = {{0.0f}};
    ROLLED
    for (uint32_t d = 0; d < w->a->d_head; d += ATTEND_COLUMNS) {
        for (uint32_t half_of = 0; half_of < known(2); half_of++) {
            for (uint32_t s = 0; s < known(2); s++) {
                const uint32_t at = d + half_of * 64 + s * 32;
                const SHARED vec4 *operands = w->queries + at * 2 + lane;
                const vec4 high = operands[0];
                const vec4 low = operands[WARP];
                UNROLL
                for (uint32_t i = 0; i < 2; i++) {
                    const vec4 k =
                        load_piece(w, w->keys, base + i * 8 + lane / 4, at + lane % 4 * 8);
                    UNROLL
                    for (uint32_t n = 0; n < 4; n += 2) {
                        const uint32_t q[4] = {high[n], low[n], high[n + 1], low[n + 1]};
                        mma_f16(c[i], q, k[n], k[n + 1]);
                    }
                }
            }
        }
    }
    UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t position = base + i / 2 * 8 + lane % 4 * 2 + i % 2;
        const float sum = c[i / 2][i % 2] + c[i / 2][2 + i % 2];
        out[i] = position < w->span.last ? sum : -__builtin_inff();
    }
}

/* A sixty-four of the values' columns at the lane's positions 2 t, 2 t + 1 and those plus 8. */
INLINE void load_values(const struct batch_attended *w, uint32_t base, uint32_t first_d,
                        uint32_t which, vec4 v[4][2]) {
    const uint32_t lane = thread_index() % WARP;
    UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        v[i][which] = load_piece(w, w->values, base + i / 2 * 8 + lane % 4 * 2 + i % 2,
                                 first_d + which * 64 + lane / 4 * 8);
    }
}

/* The values at 16 positions, weighed. */
INLINE void add_positions(struct batch_seen *seen, const float scores[4], vec4 v[4][2]) {
    const uint32_t t = thread_index() % 4;
    float max = max_f32(max_f32(scores[0], scores[1]), max_f32(scores[2], scores[3]));
    max = max_f32(max, shuffle_xor(max, 1));
    max = max_f32(seen->max, max_f32(max, shuffle_xor(max, 2)));
    const float keep = exp_fast(seen->max - max);
    float weight[4];
    seen->sum *= keep;
    UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        weight[i] = exp_fast(scores[i] - max);
        seen->sum += weight[i];
    }
    seen->max = max;
    const float keeps[2] = {shuffle_from(keep, 8 * t), shuffle_from(keep, 8 * t + 4)};
    const uint32_t b[2] = {half2_of(weight[0], weight[1]), half2_of(weight[2], weight[3])};
    UNROLL
    for (uint32_t j = 0; j < 8; j++) {
        const uint32_t pick = j % 2 == 0 ? 0x5410u : 0x7632u;
        const uint32_t a[4] = {byte_permute(v[0][0][j / 2], v[1][0][j / 2], pick),
                               byte_permute(v[0][1][j / 2], v[1][1][j / 2], pick),
                               byte_permute(v[2][0][j / 2], v[3][0][j / 2], pick),
                               byte_permute(v[2][1][j / 2], v[3][1][j / 2], pick)};
        UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            seen->o[j][i] *= keeps[i % 2];
        }
        mma_f16(seen->o[j], a, b[0], b[1]);
    }
}

/* 128 columns of a head, from `first_d` on, of this warp's positions; to shared memory. */
INLINE void attend(const struct batch_attended *w, uint32_t first_d) {
    const uint32_t g = thread_index() % WARP / 4;
    const uint32_t t = thread_index() % 4;
    struct batch_seen seen = {.max = BATCH_LOWEST};
    ROLLED
    for (uint32_t base = w->span.first + thread_index() / WARP * ATTEND_POSITIONS;
         base < w->span.last; base += ATTEND_WARPS * ATTEND_POSITIONS) {
        vec4 v[4][2];
        float scores[4];
        load_values(w, base, first_d, 0, v); /* on their way while the scores are computed */
        score(w, base, scores);
        load_values(w, base, first_d, 1, v);
        add_positions(&seen, scores, v);
    }
    const uint32_t warp = thread_index() / WARP;
    SHARED float *floats = (SHARED float *)shared_dynamic;
    SHARED float *o = floats + warp * ATTEND_O;
    seen.sum += shuffle_xor(seen.sum, 1);
    seen.sum += shuffle_xor(seen.sum, 2);
    UNROLL
    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t head = 2 * t + i % 2;
        o[head * ATTEND_PITCH + i / 2 % 2 * 64 + i / 4 * 8 + g] = seen.o[i / 4][i % 4];
    }
    if (t == 0) {
        floats[ATTEND_MAXIMA + warp * ATTEND_HEADS + g] = seen.max;
        floats[ATTEND_SUMS + warp * ATTEND_HEADS + g] = seen.sum;
    }
}

/* What the warps have seen, joined and stored: the heads' output, or this split's part of it. */
INLINE void join_warps(const struct batch_attended *w, uint32_t first_d, uint32_t split) {
    const struct gpu_batch_attention_args *a = w->a;
    const SHARED float *floats = (const SHARED float *)shared_dynamic;
    for (uint32_t i = thread_index(); i < w->n_heads * ATTEND_COLUMNS; i += block_size()) {
        const uint32_t h = i / ATTEND_COLUMNS;
        const uint32_t at = i % ATTEND_COLUMNS;
        const uint32_t d = first_d + at / 64 * 64 + at % 8 * 8 + at / 8 % 8;
        float max = BATCH_LOWEST;
        UNROLL
        for (uint32_t warp = 0; warp < ATTEND_WARPS; warp++) {
            max = max_f32(max, floats[ATTEND_MAXIMA + warp * ATTEND_HEADS + h]);
        }
        float sum = 0.0f;
        float value = 0.0f;
        UNROLL
        for (uint32_t warp = 0; warp < ATTEND_WARPS; warp++) {
            const uint32_t of = warp * ATTEND_HEADS + h;
            const float weight = exp_fast(floats[ATTEND_MAXIMA + of] - max);
            sum = fma_f32(floats[ATTEND_SUMS + of], weight, sum);
            value = fma_f32(floats[warp * ATTEND_O + h * ATTEND_PITCH + at], weight, value);
        }
        if (d < a->d_head && a->n_splits == 1) {
            store_head(a, w->n, w->first_head + h, d, value, sum);
        } else if (d < a->d_head) {
            const uint64_t head = (uint64_t)w->n * a->n_heads + w->first_head + h;
            GLOBAL float *part = a->part + (head * a->n_splits + split) * (a->d_head + 2);
            part[0] = max; /* every thread writes the same two */
            part[1] = sum;
            part[2 + d] = value;
        }
    }
}

/* Zeros from the last head to the end of the product's input. */
INLINE void pad_attended(const struct gpu_batch_attention_args *a, uint32_t n) {
    const uint32_t n_columns = a->n_heads * a->d_head;
    for (uint32_t e = n_columns + thread_index(); e < pad_columns(n_columns); e += block_size()) {
        a->out[batch_input_index(a->n_pad, n, e)] = (half)0.0f;
    }
}

/* Grid (n_kv_heads, rows · n_splits), BATCH_ATTENTION_BLOCK threads. Where `rotates`, rows do not see
 * one another: a block appends its key and value itself. */
KERNEL eco_batch_attention(const struct gpu_batch_attention_args a) {
    const uint32_t kv_head = block_index();
    const uint32_t n = block_index_y() / a.n_splits;
    const uint32_t split = block_index_y() % a.n_splits;
    const struct batch_where at = where_is(&a.rows, n, a.capacity);
    const uint32_t n_positions = at.position + 1;
    const uint32_t each = (n_positions + a.n_splits - 1) / a.n_splits;
    const uint32_t first = min_u32(split * each, n_positions);
    const uint32_t n_shared = a.n_heads / a.n_kv_heads;
    struct batch_attended w = {
        .a = &a, .n = n, .span = {first, min_u32(first + each, n_positions)}};
    const uint64_t row = cache_row(&a, at.sequence, kv_head);
    w.keys = a.k_cache + row * a.d_stride;
    w.values = a.v_cache + row * a.d_stride;
    w.queries = (const SHARED vec4 *)((const SHARED float *)shared_dynamic + ATTEND_QUERIES);
    const GLOBAL float *angles = a.angles + (uint64_t)at.position * a.d_head;
    if (kv_head == 0 && split == 0) {
        pad_attended(&a, n);
    }
    if (a.rotates != 0 && w.span.first < w.span.last && w.span.last == n_positions) {
        const bool is_key = thread_index() < BATCH_ATTENTION_BLOCK / 2;
        append(&a, is_key ? a.k_cache : a.v_cache, row + at.position,
               head_of(&a, n, a.n_heads + (is_key ? 0 : a.n_kv_heads) + kv_head), angles, is_key,
               thread_index() % (BATCH_ATTENTION_BLOCK / 2), BATCH_ATTENTION_BLOCK / 2);
    }
    ROLLED
    for (uint32_t h = 0; h < n_shared; h += ATTEND_HEADS) {
        w.first_head = kv_head * n_shared + h;
        w.n_heads = min_u32(ATTEND_HEADS, n_shared - h);
        prepare_queries(&w, angles);
        ROLLED
        for (uint32_t d = 0; d < a.d_head; d += ATTEND_COLUMNS) {
            attend(&w, d);
            block_barrier();
            join_warps(&w, d, split);
            block_barrier(); /* the next ones use the same memory */
        }
    }
}

/* Grid (n_heads, rows): joins the splits. */
KERNEL eco_batch_attention_join(const struct gpu_batch_attention_args a) {
    const uint32_t head = block_index();
    const uint32_t n = block_index_y();
    const uint32_t width = a.d_head + 2;
    const GLOBAL float *part = a.part + ((uint64_t)n * a.n_heads + head) * a.n_splits * width;
    float max = BATCH_LOWEST;
    for (uint32_t i = 0; i < a.n_splits; i++) {
        max = max_f32(max, part[i * width]);
    }
    for (uint32_t d = thread_index(); d < a.d_head; d += block_size()) {
        float sum = 0.0f;
        float value = 0.0f;
        for (uint32_t i = 0; i < a.n_splits; i++) {
            const float weight = exp_fast(part[i * width] - max);
            sum = fma_f32(part[i * width + 1], weight, sum);
            value = fma_f32(part[i * width + 2 + d], weight, value);
        }
        store_head(&a, n, head, d, value, sum);
    }
}

#endif
