/* SPDX-License-Identifier: Apache-2.0
 *
 * One decoded token, batch 1. Ladder so far (docs/kernels.md has the predictions and outcomes):
 *   reference  src/kernels/cpu, the oracle
 *   v1         here: one warp a row (FP16) or two (NF4), 16-byte streaming loads, up to four in
 * flight, input in shared memory, norm fused in front, bias, residual and SiLU behind; flash-style
 * attention, 6 launches a layer
 */
#include "args.h"
#include "device.h"
#include "kernels/quant.h"

#define LOWEST (-1e30f) /* below every score, finite so that differences are never NaN */

/* MARK: - Input of a matrix product */

/* Slot, in halves, of element e of the input. FP16 rows are read in order. An NF4 lane reads 32
 * elements in a row as four 16-byte pieces: the pieces are kept apart so that neighbouring lanes
 * read neighbouring 16 bytes. */
static inline uint32_t slot_fp16(uint32_t e, uint32_t padded) {
    (void)padded;
    return e;
}

static inline uint32_t slot_nf4(uint32_t e, uint32_t padded) {
    return ((((e >> 3) & 3) * (padded / 32) + (e >> 5)) << 3) + (e & 7);
}

typedef uint32_t slot_function(uint32_t e, uint32_t padded);

static inline uint32_t pad(uint32_t n) {
    return (n + GPU_PAD - 1) / GPU_PAD * GPU_PAD;
}

static SHARED float block_part[GPU_WARPS];

/* RMSNorm of the residual stream, rounded to FP16, into shared memory. */
static inline void load_normed(const struct gpu_gemv_args *a, SHARED half *input,
                               slot_function *slot) {
    float sum = 0.0f;
    for (uint32_t e = thread_index(); e < a->cols; e += block_size()) {
        sum = fma_f32(a->x[e], a->x[e], sum);
    }
    sum = warp_sum(sum);
    if (thread_index() % WARP == 0) {
        block_part[thread_index() / WARP] = sum;
    }
    block_barrier();
    sum = 0.0f;
    for (uint32_t i = 0; i < block_size() / WARP; i++) {
        sum += block_part[i];
    }
    const float inverse = 1.0f / sqrt_rounded(sum / (float)a->cols + a->eps);
    const uint32_t padded = pad(a->cols);
    for (uint32_t e = thread_index(); e < padded; e += block_size()) {
        const float value = e < a->cols ? a->x[e] * inverse * (float)a->gain[e] : 0.0f;
        input[slot(e, padded)] = (half)value;
    }
    block_barrier();
}

/* FP16 input, already padded with zeros, into shared memory. */
static inline void load_plain(const struct gpu_gemv_args *a, SHARED half *input,
                              slot_function *slot) {
    const uint32_t padded = pad(a->cols);
    SHARED vec4 *to = (SHARED vec4 *)input;
    const GLOBAL vec4 *from = (const GLOBAL vec4 *)a->h;
    for (uint32_t i = thread_index(); i < padded / 8; i += block_size()) {
        to[slot(i * 8, padded) / 8] = from[i];
    }
    block_barrier();
}

/* MARK: - Dot products of a row with the input, one warp */

static inline float dot8_fp16(vec4 w, vec4 x, float sum) {
    UNROLL
    for (int k = 0; k < 4; k++) {
        sum = fma_f32(half_low(w[k]), half_low(x[k]), sum);
        sum = fma_f32(half_high(w[k]), half_high(x[k]), sum);
    }
    return sum;
}

static inline float dot_fp16(const GLOBAL vec4 *row, const SHARED vec4 *input, uint32_t n_vecs) {
    uint32_t i = thread_index() % WARP;
    float sum_a = 0.0f;
    float sum_b = 0.0f;
    for (; i + 3 * WARP < n_vecs; i += 4 * WARP) {
        const vec4 w0 = load_streaming(row + i);
        const vec4 w1 = load_streaming(row + i + WARP);
        const vec4 w2 = load_streaming(row + i + 2 * WARP);
        const vec4 w3 = load_streaming(row + i + 3 * WARP);
        sum_a = dot8_fp16(w0, input[i], sum_a);
        sum_b = dot8_fp16(w1, input[i + WARP], sum_b);
        sum_a = dot8_fp16(w2, input[i + 2 * WARP], sum_a);
        sum_b = dot8_fp16(w3, input[i + 3 * WARP], sum_b);
    }
    for (; i < n_vecs; i += WARP) {
        sum_a = dot8_fp16(load_streaming(row + i), input[i], sum_a);
    }
    return warp_sum(sum_a + sum_b);
}

/* Code values, one copy a lane: entry c of lane l at [c][l], so that look-ups never meet in a bank.
 */
static SHARED float nf4_table[NF4_CODES * WARP];

static inline void load_nf4_table(void) {
    const float values[NF4_CODES] = {NF4_VALUES};
    UNROLL
    for (uint32_t code = 0; code < NF4_CODES; code++) {
        if (thread_index() < WARP) {
            nf4_table[code * WARP + thread_index()] = values[code];
        }
    }
}

static inline float dot8_nf4(const SHARED float *table, uint32_t codes, vec4 x, float sum) {
    UNROLL
    for (int k = 0; k < 4; k++) {
        sum = fma_f32(table[((codes >> (8 * k)) & 15) * WARP], half_low(x[k]), sum);
        sum = fma_f32(table[((codes >> (8 * k + 4)) & 15) * WARP], half_high(x[k]), sum);
    }
    return sum;
}

struct pair {
    float a, b;
};

/* Two rows at once: the input is unpacked once for both. */
static inline struct pair dot2_nf4(const GLOBAL vec4 *row_a, const GLOBAL vec4 *row_b,
                                   const GLOBAL float *absmax_a, const GLOBAL float *absmax_b,
                                   const SHARED vec4 *input, uint32_t n_vecs, uint32_t n_pieces) {
    const uint32_t lane = thread_index() % WARP;
    const SHARED float *table = nf4_table + lane;
    struct pair sum = {0.0f, 0.0f};
    UNROLL_TWICE
    for (uint32_t i = lane; i < n_vecs; i += WARP) {
        const vec4 codes_a = load_streaming(row_a + i);
        const vec4 codes_b = load_streaming(row_b + i);
        const float scale_a = absmax_a[i / 2];
        const float scale_b = absmax_b[i / 2];
        float part_a = 0.0f;
        float part_b = 0.0f;
        UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            const vec4 x = input[k * n_pieces + i];
            part_a = dot8_nf4(table, codes_a[k], x, part_a);
            part_b = dot8_nf4(table, codes_b[k], x, part_b);
        }
        sum.a = fma_f32(part_a, scale_a, sum.a);
        sum.b = fma_f32(part_b, scale_b, sum.b);
    }
    sum.a = warp_sum(sum.a);
    sum.b = warp_sum(sum.b);
    return sum;
}

/* Row `row` of an FP16 or NF4 matrix. */
static inline const GLOBAL vec4 *row_fp16(DEV(const void) weights, const struct gpu_gemv_args *a,
                                          uint32_t row) {
    return (const GLOBAL vec4 *)weights + (uint64_t)row * (a->stride / 8);
}

static inline const GLOBAL vec4 *row_nf4(DEV(const void) weights, const struct gpu_gemv_args *a,
                                         uint32_t row) {
    return (const GLOBAL vec4 *)weights + (uint64_t)row * (a->stride / 32);
}

static inline uint32_t warp_first(void) {
    return block_index() * (block_size() / WARP) + thread_index() / WARP;
}
static inline uint32_t warp_count(void) {
    return grid_size() * (block_size() / WARP);
}
static inline bool is_first_lane(void) {
    return thread_index() % WARP == 0;
}

/* MARK: - Matrix products */

typedef void store_function(const struct gpu_gemv_args *a, uint32_t row, float value);

static inline void store_biased(const struct gpu_gemv_args *a, uint32_t row, float value) {
    a->y[row] = a->bias ? value + (float)a->bias[row] : value;
}

static inline void store_added(const struct gpu_gemv_args *a, uint32_t row, float value) {
    a->y[row] += value;
}

static inline void rows_fp16(const struct gpu_gemv_args *a, const SHARED half *input,
                             store_function *store) {
    for (uint32_t row = warp_first(); row < a->rows; row += warp_count()) {
        const float sum =
            dot_fp16(row_fp16(a->weights, a, row), (const SHARED vec4 *)input, a->stride / 8);
        if (is_first_lane()) {
            store(a, row, sum);
        }
    }
}

static inline void rows_nf4(const struct gpu_gemv_args *a, const SHARED half *input,
                            store_function *store) {
    for (uint32_t row = 2 * warp_first(); row < a->rows; row += 2 * warp_count()) {
        const uint32_t other = min_u32(row + 1, a->rows - 1);
        const struct pair sum = dot2_nf4(
            row_nf4(a->weights, a, row), row_nf4(a->weights, a, other),
            a->absmax + (uint64_t)row * a->n_blocks, a->absmax + (uint64_t)other * a->n_blocks,
            (const SHARED vec4 *)input, a->stride / 32, pad(a->cols) / 32);
        if (is_first_lane()) {
            store(a, row, sum.a);
            if (other != row) {
                store(a, other, sum.b);
            }
        }
    }
}

/* SiLU(gate) · up, rounded to FP16 as the input of the next product. */
static inline half gated(float gate, float up) {
    return (half)(gate / (1.0f + exp_fast(-gate)) * up);
}

/* y = W norm(x) + bias: query, key and value rows in one launch; the output head. */
KERNEL eco_norm_gemv_fp16(const struct gpu_gemv_args a) {
    SHARED half *input = (SHARED half *)shared_dynamic;
    load_normed(&a, input, slot_fp16);
    rows_fp16(&a, input, store_biased);
}

KERNEL eco_norm_gemv_nf4(const struct gpu_gemv_args a) {
    SHARED half *input = (SHARED half *)shared_dynamic;
    load_nf4_table();
    load_normed(&a, input, slot_nf4);
    rows_nf4(&a, input, store_biased);
}

/* y += W h: the attention output and the down projection, onto the residual stream. */
KERNEL eco_gemv_add_fp16(const struct gpu_gemv_args a) {
    SHARED half *input = (SHARED half *)shared_dynamic;
    load_plain(&a, input, slot_fp16);
    rows_fp16(&a, input, store_added);
}

KERNEL eco_gemv_add_nf4(const struct gpu_gemv_args a) {
    SHARED half *input = (SHARED half *)shared_dynamic;
    load_nf4_table();
    load_plain(&a, input, slot_nf4);
    rows_nf4(&a, input, store_added);
}

/* y_half = SiLU(W norm(x)) · (W_up norm(x)) */
KERNEL eco_norm_gate_up_fp16(const struct gpu_gemv_args a) {
    SHARED half *input = (SHARED half *)shared_dynamic;
    load_normed(&a, input, slot_fp16);
    const SHARED vec4 *x = (const SHARED vec4 *)input;
    for (uint32_t row = warp_first(); row < a.rows; row += warp_count()) {
        const float gate = dot_fp16(row_fp16(a.weights, &a, row), x, a.stride / 8);
        const float up = dot_fp16(row_fp16(a.weights_up, &a, row), x, a.stride / 8);
        if (is_first_lane()) {
            a.y_half[row] = gated(gate, up);
        }
    }
}

KERNEL eco_norm_gate_up_nf4(const struct gpu_gemv_args a) {
    SHARED half *input = (SHARED half *)shared_dynamic;
    load_nf4_table();
    load_normed(&a, input, slot_nf4);
    for (uint32_t row = warp_first(); row < a.rows; row += warp_count()) {
        const uint64_t block = (uint64_t)row * a.n_blocks;
        const struct pair sum = dot2_nf4(
            row_nf4(a.weights, &a, row), row_nf4(a.weights_up, &a, row), a.absmax + block,
            a.absmax_up + block, (const SHARED vec4 *)input, a.stride / 32, pad(a.cols) / 32);
        if (is_first_lane()) {
            a.y_half[row] = gated(sum.a, sum.b);
        }
    }
}

/* MARK: - Embedding, rotary positions, the cache */

KERNEL eco_embed(const struct gpu_embed_args a) {
    const uint32_t e = block_index() * block_size() + thread_index();
    if (e < a.d_model) {
        a.x[e] = (float)a.table[(uint64_t)a.state->token * a.stride + e];
    }
}

/* One block a query, key or value head: rotates pairs (i, i + d/2), appends keys and values to the
 * cache. */
KERNEL eco_rope_append(const struct gpu_rope_args a) {
    const uint32_t head = block_index();
    const uint32_t pairs = a.d_head / 2;
    const uint32_t position = min_u32(a.state->position, a.capacity - 1);
    const bool is_query = head < a.n_heads;
    const bool is_value = head >= a.n_heads + a.n_kv_heads;
    GLOBAL float *in = a.qkv + (uint64_t)head * a.d_head;
    const uint32_t kv_head = is_value ? head - a.n_heads - a.n_kv_heads : head - a.n_heads;
    const uint64_t row = ((uint64_t)kv_head * a.capacity + position) * a.d_stride;
    const GLOBAL float *angles = a.angles + (uint64_t)position * a.d_head;
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

/* Online softmax of the positions one group of lanes has seen: lane `sub` of it holds values 8 sub
 * … 8 sub + 7. */
struct seen {
    float max, sum, value[8];
};

static inline void add_positions(struct seen *s, const float score[4], const vec4 v[4]) {
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
static inline void join_groups(struct seen *s, uint32_t lanes) {
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

static SHARED float warp_max[GPU_WARPS];
static SHARED float warp_total[GPU_WARPS];
static SHARED float warp_value[GPU_WARPS * GPU_HEAD_MAX];

/* Joins the warps of the block and stores the head's output, or this split's part of it. */
static inline void join_warps(const struct gpu_attention_args *a, const struct seen *s,
                              uint32_t head, uint32_t split) {
    const uint32_t lane = thread_index() % WARP;
    const uint32_t warp = thread_index() / WARP;
    if (lane < a->lanes) {
        for (uint32_t k = 0; k < 8; k++) {
            warp_value[warp * GPU_HEAD_MAX + lane * 8 + k] = s->value[k];
        }
    }
    if (lane == 0) {
        warp_max[warp] = s->max;
        warp_total[warp] = s->sum;
    }
    block_barrier();
    float max = LOWEST;
    float sum = 0.0f;
    for (uint32_t w = 0; w < GPU_WARPS; w++) {
        max = max_f32(max, warp_max[w]);
    }
    for (uint32_t w = 0; w < GPU_WARPS; w++) {
        sum += warp_total[w] * exp_fast(warp_max[w] - max);
    }
    for (uint32_t d = thread_index(); d < a->d_head; d += block_size()) {
        float value = 0.0f;
        for (uint32_t w = 0; w < GPU_WARPS; w++) {
            value = fma_f32(warp_value[w * GPU_HEAD_MAX + d], exp_fast(warp_max[w] - max), value);
        }
        if (a->n_splits == 1) {
            a->out[(uint64_t)head * a->d_head + d] = (half)(value / sum);
        } else {
            GLOBAL float *part = a->part + ((uint64_t)head * a->n_splits + split) * (a->d_head + 2);
            part[0] = max; /* every thread writes the same two */
            part[1] = sum;
            part[2 + d] = value;
        }
    }
}

/* Grid (n_heads, n_splits), GPU_BLOCK threads. A group of `lanes` lanes takes four positions at a
 * time. */
KERNEL eco_attention(const struct gpu_attention_args a) {
    const uint32_t head = block_index();
    const uint32_t split = block_index_y();
    const uint32_t n = min_u32(a.state->position, a.capacity - 1) + 1;
    const uint32_t each = (n + a.n_splits - 1) / a.n_splits;
    const uint32_t first = split * each;
    const uint32_t last = min_u32(first + each, n);
    const uint32_t kv_head = head / (a.n_heads / a.n_kv_heads);
    const uint32_t sub = thread_index() % a.lanes;
    const uint32_t group = thread_index() / a.lanes;
    const uint32_t n_groups = GPU_BLOCK / a.lanes;
    const bool used = sub * 8 < a.d_stride;
    float q[8];
    for (uint32_t k = 0; k < 8; k++) {
        const uint32_t d = sub * 8 + k;
        q[k] = d < a.d_head ? a.q[(uint64_t)head * a.d_head + d] * a.scale : 0.0f;
    }
    struct seen s = {LOWEST, 0.0f, {0.0f}};
    const uint64_t cache = (uint64_t)kv_head * a.capacity;
    for (uint32_t base = first; base < last; base += 4 * n_groups) {
        vec4 k[4];
        vec4 v[4];
        UNROLL
        for (uint32_t j = 0; j < 4; j++) {
            const uint32_t position = min_u32(base + j * n_groups + group, last - 1);
            const uint64_t at = ((cache + position) * a.d_stride) / 8 + sub;
            const vec4 none = {0, 0, 0, 0};
            k[j] = used ? ((const GLOBAL vec4 *)a.k_cache)[at] : none;
            v[j] = used ? ((const GLOBAL vec4 *)a.v_cache)[at] : none;
        }
        float score[4];
        UNROLL
        for (uint32_t j = 0; j < 4; j++) {
            float sum = 0.0f;
            UNROLL
            for (int i = 0; i < 4; i++) {
                sum = fma_f32(q[2 * i], half_low(k[j][i]), sum);
                sum = fma_f32(q[2 * i + 1], half_high(k[j][i]), sum);
            }
            for (uint32_t mask = a.lanes / 2; mask > 0; mask >>= 1) {
                sum += shuffle_xor(sum, mask);
            }
            score[j] = base + j * n_groups + group < last ? sum : -__builtin_inff();
        }
        add_positions(&s, score, v);
    }
    join_groups(&s, a.lanes);
    join_warps(&a, &s, head, split);
}

/* One block a head: joins the splits. */
KERNEL eco_attention_join(const struct gpu_attention_args a) {
    const uint32_t head = block_index();
    const uint32_t width = a.d_head + 2;
    const GLOBAL float *part = a.part + (uint64_t)head * a.n_splits * width;
    float max = LOWEST;
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
        a.out[(uint64_t)head * a.d_head + d] = (half)(value / sum);
    }
}

/* MARK: - The next token */

struct best {
    float value;
    uint32_t index;
};

/* Lowest index among equal values. */
static inline struct best better(struct best a, struct best b) {
    const bool take_b = b.value > a.value || (b.value == a.value && b.index < a.index);
    return take_b ? b : a;
}

static inline struct best warp_best(struct best mine) {
    for (uint32_t mask = 16; mask > 0; mask >>= 1) {
        const struct best other = {shuffle_xor(mine.value, mask),
                                   shuffle_xor_u32(mine.index, mask)};
        mine = better(mine, other);
    }
    return mine;
}

static SHARED float best_value[GPU_WARPS];
static SHARED uint32_t best_index[GPU_WARPS];

KERNEL eco_argmax(const struct gpu_argmax_args a) {
    struct best mine = {-__builtin_inff(), 0xffffffffu};
    const uint32_t step = grid_size() * block_size();
    for (uint32_t i = block_index() * block_size() + thread_index(); i < a.n; i += step) {
        mine = better(mine, (struct best){a.logits[i], i});
    }
    mine = warp_best(mine);
    if (is_first_lane()) {
        best_value[thread_index() / WARP] = mine.value;
        best_index[thread_index() / WARP] = mine.index;
    }
    block_barrier();
    if (thread_index() == 0) {
        for (uint32_t w = 1; w < GPU_WARPS; w++) {
            mine = better(mine, (struct best){best_value[w], best_index[w]});
        }
        a.part_value[block_index()] = mine.value;
        a.part_index[block_index()] = mine.index;
    }
}

/* One warp. Chooses the token, moves on, and tells the host that one more is done. */
KERNEL eco_token_done(const struct gpu_token_done_args a) {
    struct best mine = {-__builtin_inff(), 0xffffffffu};
    for (uint32_t i = thread_index(); i < a.n_parts; i += WARP) {
        mine = better(mine, (struct best){a.part_value[i], a.part_index[i]});
    }
    mine = warp_best(mine);
    if (thread_index() != 0) {
        return;
    }
    const uint32_t next = a.state->position + 1;
    const uint32_t position = next >= a.state->wrap_hi ? a.state->wrap_lo : next;
    /* Logits that are all NaN choose nothing: token 0, never an address outside the table. */
    const uint32_t chosen = mine.index == 0xffffffffu ? 0 : mine.index;
    a.state->token = position < a.state->n_forced ? a.forced[position] : chosen;
    a.state->position = position;
    const uint64_t steps = a.state->steps + 1;
    a.state->steps = steps;
    store_release_system(a.progress, steps);
}
