/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies between the products of batch_gemm.c: embedding, norm, rotary positions and cache,
 * attention, the next tokens. A launch works on rows (gpu_batch_rows): the sequences of a decoded
 * step, or consecutive tokens of the prompts. Ladder (docs/kernels-batch.md):
 *   reference  src/kernels/cpu, a sequence after the other
 *   v1         here: attention reads keys and values once for up to eight query heads that share
 *              them, groups of lanes a position, online softmax in FP32
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

/* Grid (heads of query, key and value, rows): rotates pairs (i, i + d/2), appends keys and values
 * to the row's place in the cache. */
KERNEL eco_batch_rope(const struct gpu_batch_attention_args a) {
    const uint32_t head = block_index();
    const uint32_t n = block_index_y();
    const struct batch_where at = where_is(&a.rows, n, a.capacity);
    const uint32_t pairs = a.d_head / 2;
    const uint32_t n_all = a.n_heads + 2 * a.n_kv_heads;
    const bool is_query = head < a.n_heads;
    const bool is_value = head >= a.n_heads + a.n_kv_heads;
    GLOBAL float *in = a.qkv + ((uint64_t)n * n_all + head) * a.d_head;
    const uint32_t kv_head = is_value ? head - a.n_heads - a.n_kv_heads : head - a.n_heads;
    const uint64_t row =
        (((uint64_t)at.sequence * a.n_kv_heads + kv_head) * a.capacity + at.position) * a.d_stride;
    const GLOBAL float *angles = a.angles + (uint64_t)at.position * a.d_head;
    for (uint32_t i = thread_index(); i < pairs; i += block_size()) {
        const float low = in[i];
        const float high = in[i + pairs];
        if (is_value) {
            a.v_cache[row + i] = (half)low;
            a.v_cache[row + i + pairs] = (half)high;
            continue;
        }
        const float cosine = angles[2 * i];
        const float sine = angles[2 * i + 1];
        const float turned_low = low * cosine - high * sine;
        const float turned_high = high * cosine + low * sine;
        if (is_query) {
            in[i] = turned_low;
            in[i + pairs] = turned_high;
        } else {
            a.k_cache[row + i] = (half)turned_low;
            a.k_cache[row + i + pairs] = (half)turned_high;
        }
    }
    for (uint32_t i = a.d_head + thread_index(); !is_query && i < a.d_stride; i += block_size()) {
        (is_value ? a.v_cache : a.k_cache)[row + i] = (half)0.0f;
    }
}

/* MARK: - Attention */

/* Online softmax of one query head over the positions a group of lanes has seen: lane `sub` of it
 * holds values 8 sub … 8 sub + 7. */
struct batch_seen {
    float max, sum, value[8];
};

INLINE void add_position(struct batch_seen *s, float score, vec4 v) {
    const float max = max_f32(s->max, score);
    const float keep = exp_fast(s->max - max);
    const float weight = exp_fast(score - max);
    s->max = max;
    s->sum = s->sum * keep + weight;
    UNROLL
    for (int k = 0; k < 4; k++) {
        s->value[2 * k] = fma_f32(weight, half_low(v[k]), s->value[2 * k] * keep);
        s->value[2 * k + 1] = fma_f32(weight, half_high(v[k]), s->value[2 * k + 1] * keep);
    }
}

struct batch_span { /* of positions */
    uint32_t first, last;
};

INLINE void store_head(const struct gpu_batch_attention_args *a, uint32_t n, uint32_t head,
                       uint32_t d, float value, float sum) {
    a->out[batch_input_index(a->n_pad, n, head * a->d_head + d)] = (half)(value / sum);
}

/* Joins what the groups of lanes have seen of the head's positions, [thread][8] with the maxima and
 * sums of all groups behind, and stores the head's output, or this split's part of it. */
INLINE void join_groups_of(const struct gpu_batch_attention_args *a, const SHARED float *seen,
                           uint32_t n, uint32_t head, uint32_t split) {
    const uint32_t n_groups = BATCH_ATTENTION_BLOCK / a->lanes;
    const SHARED float *maxima = seen + BATCH_ATTENTION_BLOCK * 8;
    const SHARED float *sums = maxima + BATCH_ATTENTION_BLOCK;
    float max = BATCH_LOWEST;
    for (uint32_t i = 0; i < n_groups; i++) {
        max = max_f32(max, maxima[i]);
    }
    for (uint32_t d = thread_index(); d < a->d_head; d += block_size()) {
        float sum = 0.0f;
        float value = 0.0f;
        for (uint32_t i = 0; i < n_groups; i++) {
            const float weight = exp_fast(maxima[i] - max);
            sum = fma_f32(sums[i], weight, sum);
            value = fma_f32(seen[i * a->lanes * 8 + d], weight, value);
        }
        if (a->n_splits == 1) {
            store_head(a, n, head, d, value, sum);
        } else {
            GLOBAL float *part =
                a->part +
                (((uint64_t)n * a->n_heads + head) * a->n_splits + split) * (a->d_head + 2);
            part[0] = max; /* every thread writes the same two */
            part[1] = sum;
            part[2 + d] = value;
        }
    }
}

struct batch_pair {
    vec4 k, v;
};

/* A lane's part of a position, the last of the span if that is beyond it. */
INLINE struct batch_pair load_pair(const struct gpu_batch_attention_args *a, uint64_t cache,
                                   struct batch_span span, uint32_t position, uint32_t sub) {
    const vec4 none = {0, 0, 0, 0};
    if (sub * 8 >= a->d_stride || span.first == span.last) {
        return (struct batch_pair){none, none};
    }
    const uint64_t row = cache + min_u32(position, span.last - 1);
    const uint64_t at = row * a->d_stride / 8 + sub;
    return (struct batch_pair){((const GLOBAL vec4 *)a->k_cache)[at],
                               ((const GLOBAL vec4 *)a->v_cache)[at]};
}

/* Query heads first_head … of one row that share a key and value head: n_heads of `most`, a constant.
 */
INLINE void attend(const struct gpu_batch_attention_args *a, uint32_t n, struct batch_span span,
                   uint64_t cache, uint32_t first_head, uint32_t n_heads, uint32_t most) {
    const uint32_t sub = thread_index() % a->lanes;
    const uint32_t group = thread_index() / a->lanes;
    const uint32_t n_groups = BATCH_ATTENTION_BLOCK / a->lanes;
    const uint32_t n_all = a->n_heads + 2 * a->n_kv_heads;
    float q[8][8];
    struct batch_seen s[8];
    UNROLL
    for (uint32_t h = 0; h < most; h++) {
        const uint32_t head = first_head + min_u32(h, n_heads - 1);
        const GLOBAL float *query = a->qkv + ((uint64_t)n * n_all + head) * a->d_head;
        UNROLL
        for (uint32_t k = 0; k < 8; k++) {
            q[h][k] = sub * 8 + k < a->d_head ? query[sub * 8 + k] * a->scale : 0.0f;
        }
        s[h] = (struct batch_seen){BATCH_LOWEST, 0.0f, {0.0f}};
    }
    struct batch_pair next = load_pair(a, cache, span, span.first + group, sub);
    for (uint32_t base = span.first; base < span.last; base += n_groups) {
        const bool counts = base + group < span.last;
        const vec4 k = next.k;
        const vec4 v = next.v;
        next = load_pair(a, cache, span, base + n_groups + group, sub); /* on its way meanwhile */
        UNROLL
        for (uint32_t h = 0; h < most; h++) {
            float sum = 0.0f;
            UNROLL
            for (int i = 0; i < 4; i++) {
                sum = fma_f32(q[h][2 * i], half_low(k[i]), sum);
                sum = fma_f32(q[h][2 * i + 1], half_high(k[i]), sum);
            }
            for (uint32_t mask = a->lanes / 2; mask > 0; mask >>= 1) {
                sum += shuffle_xor(sum, mask);
            }
            add_position(&s[h], counts ? sum : -__builtin_inff(), v);
        }
    }
    SHARED float *seen = (SHARED float *)shared_dynamic;
    UNROLL
    for (uint32_t h = 0; h < most; h++) {
        SHARED float *mine = seen + h * BATCH_SEEN + thread_index() * 8;
        UNROLL
        for (uint32_t k = 0; k < 8; k++) {
            mine[k] = s[h].value[k];
        }
        if (sub == 0) {
            seen[h * BATCH_SEEN + BATCH_ATTENTION_BLOCK * 8 + group] = s[h].max;
            seen[h * BATCH_SEEN + BATCH_ATTENTION_BLOCK * 9 + group] = s[h].sum;
        }
    }
    block_barrier();
    for (uint32_t h = 0; h < n_heads; h++) {
        join_groups_of(a, seen + h * BATCH_SEEN, n, first_head + h, block_index_y() % a->n_splits);
    }
    block_barrier(); /* the next heads use the same memory */
}

/* Zeros from the last head to the end of the product's input. */
INLINE void pad_attended(const struct gpu_batch_attention_args *a, uint32_t n) {
    const uint32_t n_columns = a->n_heads * a->d_head;
    for (uint32_t e = n_columns + thread_index(); e < pad_columns(n_columns); e += block_size()) {
        a->out[batch_input_index(a->n_pad, n, e)] = (half)0.0f;
    }
}

/* Grid (n_kv_heads, rows · n_splits), BATCH_ATTENTION_BLOCK threads. */
INLINE void batch_attention(const struct gpu_batch_attention_args *a, uint32_t most) {
    const uint32_t kv_head = block_index();
    const uint32_t n = block_index_y() / a->n_splits;
    const uint32_t split = block_index_y() % a->n_splits;
    const struct batch_where at = where_is(&a->rows, n, a->capacity);
    const uint32_t n_positions = at.position + 1;
    const uint32_t each = (n_positions + a->n_splits - 1) / a->n_splits;
    const uint32_t first = min_u32(split * each, n_positions);
    const struct batch_span span = {first, min_u32(first + each, n_positions)};
    const uint64_t cache = ((uint64_t)at.sequence * a->n_kv_heads + kv_head) * a->capacity;
    const uint32_t n_shared = a->n_heads / a->n_kv_heads;
    if (kv_head == 0 && split == 0) {
        pad_attended(a, n);
    }
    for (uint32_t h = 0; h < n_shared; h += most) {
        attend(a, n, span, cache, kv_head * n_shared + h, min_u32(most, n_shared - h), most);
    }
}

KERNEL eco_batch_attention_1(const struct gpu_batch_attention_args a) {
    batch_attention(&a, 1);
}
KERNEL eco_batch_attention_8(const struct gpu_batch_attention_args a) {
    batch_attention(&a, 8);
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
