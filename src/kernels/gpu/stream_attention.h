/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention of stream.c: a block a query head, or a part of the positions of one where there are many
 * of them; groups of lanes take four positions each, online softmax in FP32, joined by shuffles, then
 * through shared memory. The newest key and value come from the products, not from the cache.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_STREAM_ATTENTION_H
#define ECOCOMPUTE_KERNELS_GPU_STREAM_ATTENTION_H

#include "stream_weights.h"

#define LOWEST (-1e30f) /* below every score, finite so that differences are never NaN */

/* Online softmax of the positions one group of lanes has seen: lane `sub` of it holds values 8 sub
 * … 8 sub + 7. */
struct seen {
    float max, sum, value[8];
};

STREAM_INLINE void add_positions(struct seen *s, const float score[4], const vec4 v[4]) {
    float max = s->max;
    UNROLL
    for (int j = 0; j < 4; j++) {
        max = max_f32(max, score[j]);
    }
    const float keep = exp_fast(s->max - max);
    s->max = max;
    s->sum *= keep;
    UNROLL
    for (int k = 0; k < 8; k++) {
        s->value[k] *= keep;
    }
    UNROLL
    for (int j = 0; j < 4; j++) {
        const float weight = exp_fast(score[j] - max);
        s->sum += weight;
        UNROLL
        for (int k = 0; k < 4; k++) {
            s->value[2 * k] = fma_f32(weight, half_low(v[j][k]), s->value[2 * k]);
            s->value[2 * k + 1] = fma_f32(weight, half_high(v[j][k]), s->value[2 * k + 1]);
        }
    }
}

/* Joins the groups of a warp. */
STREAM_INLINE void join_groups(struct seen *s, uint32_t lanes) {
    for (uint32_t mask = lanes; mask < WARP; mask <<= 1) {
        const float other_max = shuffle_xor(s->max, mask);
        const float other_sum = shuffle_xor(s->sum, mask);
        const float max = max_f32(s->max, other_max);
        const float keep = exp_fast(s->max - max);
        const float take = exp_fast(other_max - max);
        s->sum = s->sum * keep + other_sum * take;
        UNROLL
        for (int k = 0; k < 8; k++) {
            s->value[k] = s->value[k] * keep + shuffle_xor(s->value[k], mask) * take;
        }
        s->max = max;
    }
}

/* A head and a part of the positions; and where a block works at it (the input's place is free). */
struct head_part {
    uint32_t head, split, n_splits, first, last, n;
    uint64_t cache;      /* of its KV head and layer: halves from the caches' beginning */
    SHARED float *query; /* [d_head], rotated and scaled */
    SHARED half *key;    /* [GPU_HEAD_MAX], of the newest position */
    SHARED half *value;
    SHARED float *max; /* [STREAM_WARPS] */
    SHARED float *sum;
    SHARED float *values; /* [STREAM_WARPS][GPU_HEAD_MAX] */
};

STREAM_INLINE uint32_t used_splits(const SHARED struct gpu_stream_args *a, uint32_t n) {
    return min_u32((n + STREAM_SPLIT_POSITIONS - 1) / STREAM_SPLIT_POSITIONS, a->n_splits);
}

STREAM_INLINE struct head_part part_of(const SHARED struct gpu_stream_args *a, uint32_t layer,
                                       uint32_t item, SHARED half *room) {
    struct head_part h;
    h.n = a->position + 1;
    h.n_splits = used_splits(a, h.n);
    h.head = item / h.n_splits;
    h.split = item - h.head * h.n_splits;
    const uint32_t each = (h.n + h.n_splits - 1) / h.n_splits;
    h.first = min_u32(h.split * each, h.n);
    h.last = min_u32(h.first + each, h.n);
    const uint32_t kv_head = h.head / (a->n_heads / a->n_kv_heads);
    h.cache = layer * a->cache_stride + (uint64_t)kv_head * a->capacity * a->d_stride;
    h.query = (SHARED float *)room;
    h.key = (SHARED half *)(h.query + GPU_HEAD_MAX);
    h.value = h.key + GPU_HEAD_MAX;
    h.max = (SHARED float *)(h.value + GPU_HEAD_MAX);
    h.sum = h.max + STREAM_WARPS;
    h.values = h.sum + STREAM_WARPS;
    return h;
}

/* Element d of a head and the one it is turned with: pairs (i, i + d_head / 2). */
struct turning {
    float own, other;
};

STREAM_INLINE struct turning ask_turning(const GLOBAL float *head, uint32_t d, uint32_t d_head) {
    const uint32_t half_width = d_head / 2;
    return (struct turning){
        .own = load_shared_float(head + d),
        .other = load_shared_float(head + (d >= half_width ? d - half_width : d + half_width))};
}

STREAM_INLINE float turned(struct turning t, const SHARED float *angles, uint32_t d,
                           uint32_t d_head) {
    const bool upper = d >= d_head / 2;
    const SHARED float *angle = angles + 2 * (upper ? d - d_head / 2 : d);
    return upper ? t.own * angle[0] + t.other * angle[1] : t.own * angle[0] - t.other * angle[1];
}

/* The query, and the newest key and value, which one block a KV head also writes to the cache. */
STREAM_INLINE void take_newest(const SHARED struct gpu_stream_args *a, const SHARED float *angles,
                               const struct head_part *h) {
    const uint32_t d = thread_index();
    if (d >= a->d_stride) {
        return;
    }
    const uint32_t group = a->n_heads / a->n_kv_heads;
    const GLOBAL float *keys = a->qkv + (uint64_t)(a->n_heads + h->head / group) * a->d_head;
    half key = (half)0.0f;
    half value = (half)0.0f;
    if (d < a->d_head) { /* all asked for before one is used */
        const struct turning q = ask_turning(a->qkv + (uint64_t)h->head * a->d_head, d, a->d_head);
        const struct turning k = ask_turning(keys, d, a->d_head);
        const float v = load_shared_float(keys + (uint64_t)a->n_kv_heads * a->d_head + d);
        h->query[d] = turned(q, angles, d, a->d_head) * a->scale;
        key = (half)turned(k, angles, d, a->d_head);
        value = (half)v;
    }
    h->key[d] = key;
    h->value[d] = value;
    if (h->last == h->n && h->head % group == 0) {
        const uint64_t at = h->cache + (uint64_t)(h->n - 1) * a->d_stride + d;
        a->k_cache[at] = key;
        a->v_cache[at] = value;
    }
}

/* Keys and values of four positions a group of lanes, from `base` on. */
struct positions {
    vec4 k[4], v[4];
};

/* Asked for long before they are used. The newest is not there yet. */
STREAM_INLINE struct positions ask_positions(const SHARED struct gpu_stream_args *a,
                                             const struct head_part *h, uint32_t base) {
    const uint32_t sub = thread_index() % a->lanes;
    const uint32_t group = thread_index() / a->lanes;
    const uint32_t n_groups = STREAM_BLOCK / a->lanes;
    const bool used = sub * 8 < a->d_stride && base < h->last;
    const GLOBAL vec4 *keys = (const GLOBAL vec4 *)(a->k_cache + h->cache);
    const GLOBAL vec4 *values = (const GLOBAL vec4 *)(a->v_cache + h->cache);
    const vec4 none = {0, 0, 0, 0};
    struct positions p;
    UNROLL
    for (uint32_t j = 0; j < 4; j++) {
        const uint32_t position = base + j * n_groups + group;
        const uint64_t at = (uint64_t)position * (a->d_stride / 8) + sub;
        const bool there = used && position < h->last && position + 1 < h->n;
        p.k[j] = there ? keys[at] : none;
        p.v[j] = there ? values[at] : none;
    }
    return p;
}

STREAM_INLINE void use_positions(const SHARED struct gpu_stream_args *a, const struct head_part *h,
                                 uint32_t base, const float q[8], struct positions p,
                                 struct seen *s) {
    const uint32_t sub = thread_index() % a->lanes;
    const uint32_t group = thread_index() / a->lanes;
    const uint32_t n_groups = STREAM_BLOCK / a->lanes;
    float score[4];
    UNROLL
    for (uint32_t j = 0; j < 4; j++) {
        if (base + j * n_groups + group + 1 == h->n && sub * 8 < a->d_stride) {
            p.k[j] = ((const SHARED vec4 *)h->key)[sub];
            p.v[j] = ((const SHARED vec4 *)h->value)[sub];
        }
        score[j] = 0.0f;
        UNROLL
        for (int i = 0; i < 4; i++) {
            score[j] = fma_f32(q[2 * i], half_low(p.k[j][i]), score[j]);
            score[j] = fma_f32(q[2 * i + 1], half_high(p.k[j][i]), score[j]);
        }
    }
    for (uint32_t mask = a->lanes / 2; mask > 0; mask >>= 1) {
        UNROLL
        for (uint32_t j = 0; j < 4; j++) {
            score[j] += shuffle_xor(score[j], mask);
        }
    }
    UNROLL
    for (uint32_t j = 0; j < 4; j++) {
        const bool there = base + j * n_groups + group < h->last;
        score[j] = there ? score[j] : -__builtin_inff();
    }
    add_positions(s, score, p.v);
}

/* All positions of a part; the first of them are asked for already. */
STREAM_INLINE struct seen read_positions(const SHARED struct gpu_stream_args *a,
                                         const struct head_part *h, struct positions first) {
    const uint32_t sub = thread_index() % a->lanes;
    const uint32_t n_groups = STREAM_BLOCK / a->lanes;
    struct seen s = {LOWEST, 0.0f, {0.0f}};
    float q[8];
    UNROLL
    for (uint32_t k = 0; k < 8; k++) {
        q[k] = sub * 8 + k < a->d_head ? h->query[sub * 8 + k] : 0.0f;
    }
    for (uint32_t base = h->first; base < h->last; base += 4 * n_groups) {
        use_positions(a, h, base, q, base == h->first ? first : ask_positions(a, h, base), &s);
    }
    return s;
}

/* Joins the warps of the block and stores the head's output, or this split's part of it. */
STREAM_INLINE void join_warps(const SHARED struct gpu_stream_args *a, const struct head_part *h) {
    const uint32_t d = thread_index();
    if (d >= a->d_head) {
        return;
    }
    float max = LOWEST;
    float sum = 0.0f;
    float value = 0.0f;
    UNROLL
    for (uint32_t w = 0; w < STREAM_WARPS; w++) {
        max = max_f32(max, h->max[w]);
    }
    UNROLL
    for (uint32_t w = 0; w < STREAM_WARPS; w++) {
        const float weight = exp_fast(h->max[w] - max);
        sum = fma_f32(h->sum[w], weight, sum);
        value = fma_f32(h->values[w * GPU_HEAD_MAX + d], weight, value);
    }
    if (h->n_splits == 1) {
        a->attended[(uint64_t)h->head * a->d_head + d] = (half)div_fast(value, sum);
        return;
    }
    GLOBAL float *part = a->part + ((uint64_t)h->head * a->n_splits + h->split) * (a->d_head + 2);
    part[2 + d] = value;
    if (d == 0) {
        part[0] = max;
        part[1] = sum;
    }
}

STREAM_INLINE uint32_t head_parts(const SHARED struct gpu_stream_args *a) {
    return a->n_heads * used_splits(a, a->position + 1);
}

/* The block's heads, or parts of heads; the first positions of the first are asked for already. */
STREAM_INLINE void attend(const SHARED struct gpu_stream_args *a, uint32_t layer, struct places p,
                          struct positions first) {
    const uint32_t lane = thread_index() % WARP;
    for (uint32_t item = block_index(); item < head_parts(a); item += grid_size()) {
        const struct head_part h = part_of(a, layer, item, p.input);
        if (item != block_index()) {
            first = ask_positions(a, &h, h.first);
        }
        take_newest(a, p.angles, &h);
        block_barrier();
        struct seen s = read_positions(a, &h, first);
        join_groups(&s, a->lanes);
        if (lane < a->lanes) {
            UNROLL
            for (uint32_t k = 0; k < 8; k++) {
                h.values[warp_of_block() * GPU_HEAD_MAX + lane * 8 + k] = s.value[k];
            }
        }
        if (lane == 0) {
            h.max[warp_of_block()] = s.max;
            h.sum[warp_of_block()] = s.sum;
        }
        block_barrier();
        join_warps(a, &h);
        block_barrier();
    }
}

/* The block's part of the cache comes nearer while it multiplies for query, key and value. */
STREAM_INLINE void prefetch_cache(const SHARED struct gpu_stream_args *a, uint32_t layer) {
    const struct head_part h = part_of(a, layer, block_index(), 0);
    if (warp_of_block() != STREAM_WORKERS_MAX || h.head >= a->n_heads) {
        return;
    }
    enum { LINE_HALVES = 64 };
    const uint64_t from = h.cache + (uint64_t)h.first * a->d_stride;
    const uint32_t n = (h.last - h.first) * a->d_stride;
    for (uint32_t i = thread_index() % WARP * LINE_HALVES; i < n; i += WARP * LINE_HALVES) {
        prefetch_second_cache(a->k_cache + from + i);
        prefetch_second_cache(a->v_cache + from + i);
    }
}

/* Joins the splits of a head: a block a head. */
STREAM_OUTLINE void join_splits(const SHARED struct gpu_stream_args *a) {
    const uint32_t n_splits = used_splits(a, a->position + 1);
    const uint32_t part_size = a->d_head + 2;
    const uint32_t d = thread_index();
    for (uint32_t head = block_index(); head < a->n_heads && d < a->d_head; head += grid_size()) {
        const GLOBAL float *part = a->part + (uint64_t)head * a->n_splits * part_size;
        float max = LOWEST;
        for (uint32_t i = 0; i < n_splits; i++) {
            max = max_f32(max, load_shared_float(part + i * part_size));
        }
        float sum = 0.0f;
        float value = 0.0f;
        for (uint32_t i = 0; i < n_splits; i++) {
            const float weight = exp_fast(load_shared_float(part + i * part_size) - max);
            sum = fma_f32(load_shared_float(part + i * part_size + 1), weight, sum);
            value = fma_f32(load_shared_float(part + i * part_size + 2 + d), weight, value);
        }
        a->attended[(uint64_t)head * a->d_head + d] = (half)div_fast(value, sum);
    }
}

#endif
