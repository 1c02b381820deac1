/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention of stream.c: a block a query head, or a part of the positions of one where there are many
 * of them; groups of lanes take three positions each, online softmax in FP32, joined by shuffles, then
 * through shared memory. The newest key and value come from the products, not from the cache.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_STREAM_ATTENTION_H
#define ECOCOMPUTE_KERNELS_GPU_STREAM_ATTENTION_H

#include "stream_weights.h"

enum { ROUND = 3 }; /* positions a group of lanes takes at once */

#define LOWEST (-1e30f) /* below every score, finite so that differences are never NaN */

/* Online softmax of the positions one group of lanes has seen: lane `sub` of it holds values 8 sub
 * … 8 sub + 7. */
struct seen {
    float max, sum, value[8];
};

STREAM_INLINE void add_positions(struct seen *s, const float score[ROUND], const vec4 v[ROUND]) {
    float max = s->max;
    UNROLL
    for (uint32_t j = 0; j < ROUND; j++) {
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
    for (uint32_t j = 0; j < ROUND; j++) {
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
    uint32_t head, key_head, split, n_splits, first, last, n;
    uint64_t cache;      /* of its KV head and layer: halves from the caches' beginning */
    SHARED float *query; /* [d_head], rotated and scaled */
    SHARED half *key;    /* [GPU_HEAD_MAX], of the newest position */
    SHARED half *value;
    SHARED float *max; /* [STREAM_WARPS] */
    SHARED float *sum;
    SHARED float *values; /* [STREAM_WARPS][GPU_HEAD_MAX] */
};

STREAM_INLINE uint32_t used_splits(uint32_t n) {
    return min_u32((n + STREAM_SPLIT_POSITIONS - 1) / STREAM_SPLIT_POSITIONS, n_splits_max());
}

STREAM_INLINE uint32_t lanes(void) { /* that share a position */
    return 1u << lane_bits();
}

STREAM_INLINE struct head_part part_of(const SHARED struct gpu_stream_args *a, uint32_t layer,
                                       uint32_t item, SHARED half *room) {
    struct head_part h;
    h.n = a->position + 1;
    h.n_splits = used_splits(h.n);
    h.head = item;
    h.split = 0;
    h.first = 0;
    h.last = h.n;
    if (h.n_splits > 1) {
        h.head = item / h.n_splits;
        h.split = item - h.head * h.n_splits;
        const uint32_t each = (h.n + h.n_splits - 1) / h.n_splits;
        h.first = min_u32(h.split * each, h.n);
        h.last = min_u32(h.first + each, h.n);
    }
    h.key_head = times_inverse(h.head, key_inverse());
    h.cache = layer * a->cache_stride + (uint64_t)h.key_head * (a->capacity * d_stride());
    h.query = (SHARED float *)room;
    h.key = (SHARED half *)(h.query + GPU_HEAD_MAX);
    h.value = h.key + GPU_HEAD_MAX;
    h.max = (SHARED float *)(h.value + GPU_HEAD_MAX);
    h.sum = h.max + STREAM_WARPS;
    h.values = h.sum + STREAM_WARPS;
    return h;
}

/* Element d of a head turned with the one that is half a head away: pairs (i, i + d_head / 2). */
STREAM_INLINE float turned(float own, float other, const SHARED float *angles, uint32_t d) {
    const bool upper = d >= d_head() / 2;
    const SHARED float *angle = angles + 2 * (upper ? d - d_head() / 2 : d);
    return upper ? own * angle[0] + other * angle[1] : own * angle[0] - other * angle[1];
}

/* The query, and the newest key and value, which one block a KV head also writes to the cache; zeros
 * behind each. */
STREAM_INLINE void take_newest(const SHARED struct gpu_stream_args *a, const SHARED float *angles,
                               const struct head_part *h, uint32_t turn) {
    const uint32_t d = thread_index();
    if (d >= 8 * lanes()) {
        return;
    }
    float query = 0.0f;
    half key = (half)0.0f;
    half value = (half)0.0f;
    if (d < d_head()) {
        const GLOBAL uint64_t *queries = a->qkv + h->head * d_head();
        const GLOBAL uint64_t *keys = a->qkv + (n_heads() + h->key_head) * d_head();
        const uint32_t half_width = d_head() / 2;
        const uint32_t other = d >= half_width ? d - half_width : d + half_width;
        const GLOBAL uint64_t *const from[5] = {queries + d, queries + other, keys + d,
                                                keys + other, keys + n_kv_heads() * d_head() + d};
        float heard[5];
        bool all = false;
        for (uint32_t turns = 0; !all; wait_on(&turns)) {
            all = true;
            UNROLL
            for (uint32_t i = 0; i < 5; i++) {
                const vec2 word = hear_one(from[i]);
                heard[i] = float_of(word[0]);
                all = all && word[1] == turn;
            }
        }
        query = turned(heard[0], heard[1], angles, d) * a->scale;
        key = (half)turned(heard[2], heard[3], angles, d);
        value = (half)heard[4];
    }
    h->query[d] = query;
    h->key[d] = key;
    h->value[d] = value;
    if (h->last == h->n && h->head == h->key_head * heads_a_key() && d < d_stride()) {
        const uint64_t at = h->cache + (uint64_t)(h->n - 1) * d_stride() + d;
        a->k_cache[at] = key;
        a->v_cache[at] = value;
    }
}

/* Keys and values of some positions a group of lanes, taken from the last position down: of group g
 * the positions last - 1 - g - k n_groups. */
struct positions {
    vec4 k[ROUND], v[ROUND];
};

STREAM_INLINE uint32_t n_groups(void) {
    return STREAM_BLOCK >> lane_bits();
}

/* Those from `base` down, which is the group's own. The newest is not in the cache: it is put there
 * afterwards. What is not of the part keeps some other position's values, which are numbers. */
STREAM_INLINE void ask_positions(const SHARED struct gpu_stream_args *a, const struct head_part *h,
                                 int32_t base, struct positions *p) {
    const uint32_t sub = thread_index() & (lanes() - 1);
    const bool there =
        h->n > 1 && (d_stride() == 8 * lanes() || sub * 8 < d_stride()); /* none, or no such lane */
    const int32_t top = (int32_t)h->n - 2;                               /* in the cache */
    const GLOBAL vec4 *keys = (const GLOBAL vec4 *)(a->k_cache + h->cache) + sub;
    const GLOBAL vec4 *values = (const GLOBAL vec4 *)(a->v_cache + h->cache) + sub;
    const vec4 none = {0, 0, 0, 0};
    UNROLL
    for (uint32_t j = 0; j < ROUND; j++) {
        const int32_t wanted = base - (int32_t)(j * n_groups());
        const int32_t position = wanted < 0 ? 0 : wanted > top ? top : wanted;
        const uint32_t at = (uint32_t)position * (d_stride() / 8);
        p->k[j] = there ? keys[at] : none;
        p->v[j] = there ? values[at] : none;
    }
}

STREAM_INLINE void use_positions(const struct head_part *h, int32_t base, const float q[8],
                                 const struct positions *p, struct seen *s) {
    float score[ROUND];
    UNROLL
    for (uint32_t j = 0; j < ROUND; j++) {
        score[j] = 0.0f;
        UNROLL
        for (int i = 0; i < 4; i++) {
            score[j] = fma_f32(q[2 * i], half_low(p->k[j][i]), score[j]);
            score[j] = fma_f32(q[2 * i + 1], half_high(p->k[j][i]), score[j]);
        }
    }
    for (uint32_t mask = lanes() / 2; mask > 0; mask >>= 1) {
        UNROLL
        for (uint32_t j = 0; j < ROUND; j++) {
            score[j] += shuffle_xor(score[j], mask);
        }
    }
    UNROLL
    for (uint32_t j = 0; j < ROUND; j++) {
        const bool of_part = base - (int32_t)(j * n_groups()) >= (int32_t)h->first;
        score[j] = of_part ? score[j] : -__builtin_inff();
    }
    add_positions(s, score, p->v);
}

/* All positions of a part; the first of them are asked for already, and the newest is known now. */
STREAM_INLINE struct seen read_positions(const SHARED struct gpu_stream_args *a,
                                         const struct head_part *h, struct positions *p) {
    const uint32_t sub = thread_index() & (lanes() - 1);
    const uint32_t group = thread_index() >> lane_bits();
    struct seen s = {LOWEST, 0.0f, {0.0f}};
    float q[8];
    UNROLL
    for (uint32_t k = 0; k < 2; k++) {
        const vec4 v = ((const SHARED vec4 *)h->query)[2 * sub + k];
        UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            q[4 * k + i] = float_of(v[i]);
        }
    }
    if (h->last == h->n && group == 0) {
        p->k[0] = ((const SHARED vec4 *)h->key)[sub];
        p->v[0] = ((const SHARED vec4 *)h->value)[sub];
    }
    const int32_t own = (int32_t)(h->last - 1 - group);
    const int32_t n = (int32_t)(h->last - h->first);
    const int32_t round = (int32_t)(ROUND * n_groups());
    int32_t done = 0;
    NOT_UNROLLED
    do { /* as often for the whole block; written once, since what is written twice is fetched twice */
        use_positions(h, own - done, q, p, &s);
        done += round;
        if (done < n) {
            ask_positions(a, h, own - done, p);
        }
    } while (done < n);
    return s;
}

/* Sixteen numbers of a block's warps. */
STREAM_INLINE float highest_of_warps(const SHARED float *of) {
    float max = LOWEST;
    UNROLL
    for (uint32_t i = 0; i < STREAM_WARPS / 4; i++) {
        const vec4 v = ((const SHARED vec4 *)of)[i];
        max = max_f32(max_f32(max_f32(float_of(v[0]), float_of(v[1])),
                              max_f32(float_of(v[2]), float_of(v[3]))),
                      max);
    }
    return max;
}

/* A warp's part by the highest score of the block. Returns that. */
STREAM_INLINE float store_seen(struct seen s, const struct head_part *h) {
    const uint32_t lane = thread_index() % WARP;
    if (lane == 0) {
        h->max[warp_of_block()] = s.max;
    }
    block_barrier();
    const float max = highest_of_warps(h->max);
    const float keep = exp_fast(s.max - max);
    if (lane == 0) {
        h->sum[warp_of_block()] = s.sum * keep;
    }
    if (lane < lanes()) {
        UNROLL
        for (uint32_t k = 0; k < 8; k++) {
            h->values[warp_of_block() * GPU_HEAD_MAX + lane * 8 + k] = s.value[k] * keep;
        }
    }
    return max;
}

/* Joins the warps of the block and tells the head's output, or this split's part of it. */
STREAM_INLINE void join_warps(const SHARED struct gpu_stream_args *a, const struct head_part *h,
                              float max, uint32_t turn) {
    const uint32_t d = thread_index();
    if (d >= d_head()) {
        return;
    }
    const float sum = sum_of_warps(h->sum);
    float value = 0.0f;
    UNROLL
    for (uint32_t w = 0; w < STREAM_WARPS; w++) {
        value += h->values[w * GPU_HEAD_MAX + d];
    }
    if (h->n_splits == 1) {
        tell_half(a->attended + (uint64_t)h->head * d_head() + d, (half)div_fast(value, sum), turn);
        return;
    }
    GLOBAL uint64_t *part =
        a->part + ((uint64_t)h->head * n_splits_max() + h->split) * (d_head() + 2);
    tell(part + 2 + d, bits_of(value), turn);
    if (d == 0) {
        tell(part, bits_of(max), turn);
        tell(part + 1, bits_of(sum), turn);
    }
}

/* The block's heads, or parts of heads. */
STREAM_INLINE void attend(const SHARED struct gpu_stream_args *a, uint32_t layer, struct places p,
                          uint32_t turn) {
    const uint32_t n_items = n_heads() * used_splits(a->position + 1);
    for (uint32_t item = block_index(); item < n_items; item += grid_size()) {
        const struct head_part h = part_of(a, layer, item, p.input);
        struct positions first;
        ask_positions(a, &h, (int32_t)(h.last - 1 - (thread_index() >> lane_bits())), &first);
        take_newest(a, p.angles, &h, turn);
        block_barrier();
        struct seen s = read_positions(a, &h, &first);
        join_groups(&s, lanes());
        const float max = store_seen(s, &h);
        block_barrier();
        join_warps(a, &h, max, turn);
        block_barrier();
    }
}

/* The block's part of the cache comes nearer while it multiplies for query, key and value. */
STREAM_INLINE void prefetch_cache(const SHARED struct gpu_stream_args *a, uint32_t layer) {
    const struct head_part h = part_of(a, layer, block_index(), 0);
    if (warp_of_block() != STREAM_WARPS - 1 || h.head >= n_heads()) {
        return;
    }
    enum { LINE_HALVES = 64 };
    const uint64_t from = h.cache + (uint64_t)h.first * d_stride();
    const uint32_t n = (h.last - h.first) * d_stride();
    for (uint32_t i = thread_index() % WARP * LINE_HALVES; i < n; i += WARP * LINE_HALVES) {
        prefetch_second_cache(a->k_cache + from + i);
        prefetch_second_cache(a->v_cache + from + i);
    }
}

STREAM_INLINE float hear(const GLOBAL uint64_t *from, uint32_t turn) {
    vec2 word = hear_one(from);
    for (uint32_t turns = 0; word[1] != turn; wait_on(&turns)) {
        word = hear_one(from);
    }
    return float_of(word[0]);
}

/* Joins the splits of a head: a block a head. */
STREAM_OUTLINE void join_splits(const SHARED struct gpu_stream_args *a, uint32_t turn) {
    const uint32_t n_splits = used_splits(a->position + 1);
    const uint32_t part_size = d_head() + 2;
    const uint32_t d = thread_index();
    for (uint32_t head = block_index(); head < n_heads() && d < d_head(); head += grid_size()) {
        const GLOBAL uint64_t *part = a->part + (uint64_t)head * n_splits_max() * part_size;
        float max = LOWEST;
        for (uint32_t i = 0; i < n_splits; i++) {
            max = max_f32(max, hear(part + i * part_size, turn));
        }
        float sum = 0.0f;
        float value = 0.0f;
        for (uint32_t i = 0; i < n_splits; i++) {
            const float weight = exp_fast(hear(part + i * part_size, turn) - max);
            sum = fma_f32(hear(part + i * part_size + 1, turn), weight, sum);
            value = fma_f32(hear(part + i * part_size + 2 + d, turn), weight, value);
        }
        tell_half(a->attended + (uint64_t)head * d_head() + d, (half)div_fast(value, sum), turn);
    }
}

#endif
