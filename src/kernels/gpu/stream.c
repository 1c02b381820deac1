/* SPDX-License-Identifier: Apache-2.0
 *
 * One decoded token in one launch, batch 1: a block a multiprocessor that stays until the token is
 * done. Ladder (docs/kernels.md has predictions and outcomes; times of TinyLlama-1.1B in FP16 and NF4, by loop):
 *   reference  src/kernels/cpu, the oracle
 *   v1         a kernel a phase, one warp a row: 1054, 1065 us. Every kernel begins with an empty memory
 *              pipe and ends with a draining one
 *   v2         a grid that stays, weights asked for ahead in registers: 913, 683. The compiler waits for
 *              both halves of such a double buffer at once
 *   v3         each warp has a ring in shared memory that the next weights are copied into meanwhile, of
 *              the next phase too: 768, 561 (828, 630 on a slower card)
 *   v4         products on tensor cores; blocks tell one another words with their turn instead of
 *              meeting; the text is specialised for the shape, since what a phase costs is mostly the
 *              fetching of its instructions: 710, 541 (706, 569 on the card of the next)
 *   v5         here: 668, 442. 4-bit weights by tiles of eight rows, so that a scale serves 256 columns
 *              at once; fewer instructions between the products
 * A block owns a contiguous range of tiles of rows, its warps contiguous parts of that, whatever the
 * row length. Sums of parts are added in a fixed order: two runs are equal to the bit.
 */
#include "choice.h"
#include "stream_attention.h"

/* MARK: - Inputs */

/* Sum over the block, in every thread. */
STREAM_INLINE float block_sum(float value, struct places p) {
    value = warp_sum(value);
    if (thread_index() % WARP == 0) {
        p.scratch[warp_of_block()] = value;
    }
    block_barrier();
    return sum_of_warps(p.scratch);
}

STREAM_INLINE float block_max(float value, struct places p) {
    UNROLL
    for (uint32_t mask = 16; mask > 0; mask >>= 1) {
        value = max_f32(value, shuffle_xor(value, mask));
    }
    if (thread_index() % WARP == 0) {
        p.scratch[16 + warp_of_block()] = value;
    }
    block_barrier();
    UNROLL
    for (uint32_t w = 0; w < STREAM_WARPS; w++) {
        value = max_f32(value, p.scratch[16 + w]);
    }
    return value;
}

enum { NORM_PARTS = STREAM_COLS_MAX / (4 * STREAM_BLOCK) };

/* Four columns from 4 (t + 512 i) on: a thread's part of a norm's gains. */
struct part {
    vec2 value[NORM_PARTS];
};

STREAM_INLINE uint32_t part_col(uint32_t i) {
    return 4 * (thread_index() + i * STREAM_BLOCK);
}
/* Whether any thread has a part i: known when the text is compiled. */
STREAM_INLINE bool part_used(uint32_t i) {
    return 4 * i * STREAM_BLOCK < stream_padded_cols(d_model());
}

STREAM_INLINE struct part ask_part(const GLOBAL half *from, uint32_t n) {
    struct part part = {{{0}}};
    UNROLL
    for (uint32_t i = 0; i < NORM_PARTS && part_used(i); i++) {
        const uint32_t e = part_col(i);
        part.value[i] = load_narrow_if((const GLOBAL char *)(from + e), e < n);
    }
    return part;
}

/* Q4_0 takes nibbles i and i + 4 of a word at once, so these lie side by side, pairs 0 and 2 of a
 * word before 1 and 3: of two lanes one has the even columns of both, the other the odd ones. Eight
 * lanes sum up a block of 32. */
STREAM_INLINE vec2 input_by_nibbles(struct places p, uint32_t e, vec2 v) {
    const bool odd = e / 4 % 2 == 1;
    float sum = (half_low(v[0]) + half_high(v[0])) + (half_low(v[1]) + half_high(v[1]));
    const uint32_t other = shuffle_xor_u32(odd ? v[0] : v[1], 1);
    UNROLL
    for (uint32_t mask = 1; mask < 8; mask <<= 1) {
        sum += shuffle_xor(sum, mask);
    }
    if (e % 32 == 0) {
        input_offsets(p)[e / 32] = sum * -0x8p-24f;
    }
    const uint32_t first = odd ? other : v[0];
    const uint32_t second = odd ? v[1] : other;
    return (vec2){byte_permute(first, second, 0x5410u), byte_permute(first, second, 0x7632u)};
}

/* FP8 takes bytes i and i + 2 of a word at once, so these lie side by side: even columns, then odd
 * ones; Q4_0 begins so, too. */
STREAM_INLINE bool evens_first(void) {
    return stream_format() == STREAM_FP8 || stream_format() == STREAM_Q4_0;
}

/* Columns e … e + 3 of the input, e a multiple of 4, in the order of evens_first. The warp's lanes
 * have neighbours. */
STREAM_INLINE void store_halves(struct places p, uint32_t e, vec2 v) {
    *(SHARED vec2 *)(p.input + e) = stream_format() == STREAM_Q4_0 ? input_by_nibbles(p, e, v) : v;
}

/* Likewise, rounded to FP16, then scaled. */
STREAM_INLINE void store_input(struct places p, uint32_t e, const float value[4]) {
    float x[4];
    UNROLL
    for (uint32_t k = 0; k < 4; k++) {
        x[k] = stream_format() == STREAM_INT8 ? (float)(half)value[k] * input_factor() : value[k];
    }
    const vec2 in_order = {half2_of(x[0], x[1]), half2_of(x[2], x[3])};
    const vec2 crossed = {half2_of(x[0], x[2]), half2_of(x[1], x[3])};
    store_halves(p, e, evens_first() ? crossed : in_order);
}

/* Likewise, of the lower halves of words. */
STREAM_INLINE void store_told(struct places p, uint32_t e, vec4 words) {
    if (stream_format() == STREAM_INT8) {
        const float value[4] = {half_low(words[0]), half_low(words[1]), half_low(words[2]),
                                half_low(words[3])};
        store_input(p, e, value);
        return;
    }
    const uint32_t second = evens_first() ? words[2] : words[1];
    const uint32_t third = evens_first() ? words[1] : words[2];
    const vec2 v = {byte_permute(words[0], second, 0x5410u),
                    byte_permute(third, words[3], 0x5410u)};
    store_halves(p, e, v);
}

/* Turns of what is told in a layer; the residual stream has two, behind attention and at the end. */
STREAM_INLINE uint32_t turn_of(const SHARED struct gpu_stream_args *a, uint32_t layer) {
    return a->first_turn + 2 * layer;
}
STREAM_INLINE uint32_t residual_turn(const SHARED struct gpu_stream_args *a,
                                     const SHARED struct gpu_phase *phase) {
    return turn_of(a, phase->layer) - (phase->kind == PHASE_GATE_UP ? 0 : 1);
}

/* A thread's parts of the residual stream, as bits, once they are of `turn`. What lies behind the last
 * column is not a number. */
STREAM_INLINE void hear_residual(const SHARED struct gpu_stream_args *a, uint32_t turn,
                                 vec4 x[NORM_PARTS]) {
    const uint32_t n = d_model();
    const bool by_fours = n % 4 == 0;
    uint32_t off = 1; /* bits by which a turn is another */
    for (uint32_t turns = 0; off != 0; wait_on(&turns)) {
        off = 0;
        UNROLL
        for (uint32_t i = 0; i < NORM_PARTS && part_used(i); i++) {
            const uint32_t e = part_col(i);
            if (e < n) {
                const vec4 low = hear_two(a->x + e);
                const vec4 high = hear_two(a->x + e + 2);
                x[i] = (vec4){low[0], low[2], high[0], high[2]};
                const uint32_t turn_of_word[4] = {low[1], low[3], high[1], high[3]};
                UNROLL
                for (uint32_t k = 0; k < 4; k++) {
                    off |= by_fours || e + k < n ? turn_of_word[k] ^ turn : 0;
                }
            }
        }
    }
}

/* RMSNorm of the residual stream, rounded to FP16, into shared memory; zeros behind it. The gains
 * were asked for before. */
STREAM_INLINE void input_normed(const SHARED struct gpu_stream_args *a,
                                const SHARED struct gpu_phase *phase, const struct part *gain,
                                struct places p) {
    const uint32_t n = d_model();
    const bool by_fours = n % 4 == 0;
    vec4 x[NORM_PARTS] = {{0}};
    if (phase->kind == PHASE_QKV && phase->layer == 0) {
        const struct part row =
            ask_part(a->embedding + (uint64_t)a->token * a->embedding_stride, n);
        UNROLL
        for (uint32_t i = 0; i < NORM_PARTS && part_used(i); i++) {
            const vec2 v = row.value[i];
            x[i] = (vec4){bits_of(half_low(v[0])), bits_of(half_high(v[0])),
                          bits_of(half_low(v[1])), bits_of(half_high(v[1]))};
        }
    } else {
        hear_residual(a, residual_turn(a, phase), x);
    }
    float sum = 0.0f;
    UNROLL
    for (uint32_t i = 0; i < NORM_PARTS && part_used(i); i++) {
        UNROLL
        for (uint32_t k = 0; k < 4; k++) { /* what lies behind the last column is not a number */
            x[i][k] = by_fours || part_col(i) + k < n ? x[i][k] : 0;
            sum = fma_f32(float_of(x[i][k]), float_of(x[i][k]), sum);
        }
    }
    sum = block_sum(sum, p);
    const float inverse = rsqrt_fast(sum * a->inverse_width + a->eps);
    const uint32_t padded = stream_padded_cols(n);
    UNROLL
    for (uint32_t i = 0; i < NORM_PARTS && part_used(i); i++) {
        const uint32_t e = part_col(i);
        const vec2 g = gain->value[i];
        if (e < padded) {
            float value[4];
            UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                const float gains = k % 2 == 0 ? half_low(g[k / 2]) : half_high(g[k / 2]);
                value[k] = by_fours || e + k < n ? float_of(x[i][k]) * inverse * gains : 0.0f;
            }
            store_input(p, e, value);
        }
    }
}

enum { HALF_PARTS = 5 };
/* Whether any input has so many: known when the text is compiled. */
STREAM_INLINE bool told_used(uint32_t i) {
    const uint32_t most = d_ff() > n_heads() * d_head() ? d_ff() : n_heads() * d_head();
    return i * 4 * STREAM_BLOCK < stream_padded_cols(most);
}

/* What other blocks told in FP16, once it is of `turn`, into shared memory; zeros behind it. */
STREAM_INLINE void input_told(const GLOBAL uint32_t *from, uint32_t cols, uint32_t turn,
                              struct places p) {
    const uint32_t padded = stream_padded_cols(cols);
    const bool by_fours = d_ff() % 4 == 0 && n_heads() * d_head() % 4 == 0;
    for (uint32_t first = 4 * thread_index(); first < padded;
         first += HALF_PARTS * 4 * STREAM_BLOCK) {
        vec4 words[HALF_PARTS] = {{0}};
        uint32_t off = 1u << 16; /* bits by which a turn is another */
        for (uint32_t turns = 0; off >> 16 != 0; wait_on(&turns)) {
            off = 0;
            UNROLL
            for (uint32_t i = 0; i < HALF_PARTS && told_used(i); i++) {
                const uint32_t e = first + i * 4 * STREAM_BLOCK;
                if (e < cols) {
                    words[i] = hear_halves(from + e);
                    UNROLL
                    for (uint32_t k = 0; k < 4; k++) {
                        const bool there = by_fours || e + k < cols;
                        words[i][k] = there ? words[i][k] : turn << 16;
                        off |= words[i][k] ^ turn << 16;
                    }
                }
            }
        }
        UNROLL
        for (uint32_t i = 0; i < HALF_PARTS && told_used(i); i++) {
            const uint32_t e = first + i * 4 * STREAM_BLOCK;
            if (e < padded) {
                store_told(p, e, words[i]);
            }
        }
    }
}

/* INT8: the input in two. Values of at least 6 stay (a flag says where) and the others become zero
 * there and a code, by the largest of their magnitudes. Values lie in shared memory over 8. */
STREAM_INLINE void quantize_input(struct places p, uint32_t cols) {
    const uint32_t n = stream_padded_cols(cols) / 4;
    const float limit = INT8_OUTLIER * 0.125f;
    float absmax = 0.0f;
    block_barrier();
    for (uint32_t i = thread_index(); i < n; i += STREAM_BLOCK) {
        UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            const float x = quant_magnitude((float)p.input[4 * i + k]);
            absmax = x < limit ? max_f32(absmax, x) : absmax;
        }
    }
    absmax = block_max(absmax, p);
    for (uint32_t i = thread_index(); i < n; i += STREAM_BLOCK) {
        uint32_t codes = 0;
        uint32_t flag = 0;
        UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            const float x = (float)p.input[4 * i + k];
            const bool outlier = !(quant_magnitude(x) < limit);
            const float scaled = div_rounded(mul_rounded(x, 127.0f), absmax);
            const int32_t code = outlier || absmax == 0.0f ? 0 : quant_nearest_even(scaled);
            codes |= ((uint32_t)code & 255u) << (8 * k);
            flag |= outlier ? 1u : 0u;
            p.input[4 * i + k] = outlier ? p.input[4 * i + k] : (half)0.0f;
        }
        ((SHARED uint32_t *)input_codes(p))[i] = codes;
        input_flags(p)[i] = (char)flag;
    }
    if (thread_index() == 0) {
        p.scratch[SCRATCH_ABSMAX] = 8.0f * absmax;
    }
}

/* MARK: - Results of a phase */

STREAM_INLINE half gated(float gate, float up) {
    return (half)(div_fast(gate, 1.0f + exp_fast(-gate)) * up);
}

/* What a thread needs for a pair of rows, of its first before the products: what is added to the sums and
 * the rows' scales; and where the sums of the warps lie that had some of the pair. */
struct pair_end {
    float first, second;             /* bias, or residual stream */
    float first_scale, second_scale; /* of the rows */
    uint32_t row, n_sums;
    const SHARED float *sums;
};

/* What is added, of the second row's no less than the matrix has. */
STREAM_INLINE void ask_added(const SHARED struct gpu_stream_args *a,
                             const SHARED struct gpu_phase *phase, struct pair_end *e) {
    const uint32_t row = e->row;
    const uint32_t other = min_u32(row + 1, phase->rows - 1);
    if (has_row_scale()) {
        const GLOBAL float *scales = (const GLOBAL float *)phase->scales;
        e->first_scale = scales[row];
        e->second_scale = scales[other];
    }
    if (phase->kind == PHASE_QKV && phase->bias) {
        e->first = (float)phase->bias[row];
        e->second = (float)phase->bias[other];
    }
    if (phase->kind == PHASE_ADD_ATTENDED && phase->layer == 0) {
        const GLOBAL half *from = a->embedding + (uint64_t)a->token * a->embedding_stride;
        e->first = (float)from[row];
        e->second = (float)from[other];
    } else if (phase->kind == PHASE_ADD_ATTENDED || phase->kind == PHASE_ADD_HIDDEN) {
        e->first = float_of(hear_one(a->x + row)[0]); /* this thread told it */
        e->second = float_of(hear_one(a->x + other)[0]);
    }
}

STREAM_INLINE struct pair_end ask_pair(const SHARED struct gpu_stream_args *a,
                                       const SHARED struct gpu_phase *phase, struct share share,
                                       struct places p, uint32_t i) {
    struct pair_end e = {.first_scale = 1.0f, .second_scale = 1.0f};
    if (i < share.n_pairs) {
        const uint32_t begin =
            (is_nibble() ? i / 4 : i) * share.n_groups; /* of the tile's groups */
        const uint32_t w = times_inverse(begin, share.inverse_each);
        e.n_sums = times_inverse(begin + share.n_groups - 1, share.inverse_each) - w + 1;
        e.sums = p.segments + 2 * i + tile_rows() * w;
        e.row = share.first_row + 2 * i;
        ask_added(a, phase, &e);
    }
    return e;
}

struct row_pair {
    float first, second;
};

/* In the order of the warps; four at once are on their way. */
STREAM_INLINE struct row_pair pair_sums(const SHARED float *sums, uint32_t n) {
    enum { AT_ONCE = 4 };
    struct row_pair all = {0.0f, 0.0f};
    const SHARED float *const end = sums + n * tile_rows();
    NOT_UNROLLED
    for (; sums < end; sums += AT_ONCE * tile_rows()) {
        vec2 some[AT_ONCE];
        UNROLL
        for (uint32_t j = 0; j < AT_ONCE; j++) {
            const SHARED float *at = sums + j * tile_rows();
            const vec2 none = {0, 0};
            some[j] = at < end ? *(const SHARED vec2 *)at : none;
        }
        UNROLL
        for (uint32_t j = 0; j < AT_ONCE; j++) {
            all.first += float_of(some[j][0]);
            all.second += float_of(some[j][1]);
        }
    }
    return all;
}

/* Tells a pair's sums, or stores the head's. The word behind the last row is there, and nobody's. */
STREAM_INLINE void store_pair(const SHARED struct gpu_stream_args *a,
                              const SHARED struct gpu_phase *phase, uint32_t row, float first,
                              float second) {
    const uint32_t turn = turn_of(a, phase->layer) + (phase->kind == PHASE_ADD_HIDDEN ? 1 : 0);
    if (phase->kind == PHASE_GATE_UP) {
        tell_half(a->hidden + row / 2, gated(first, second), turn);
        return;
    }
    if (phase->kind == PHASE_HEAD) {
        a->logits[row] = first;
        if (row + 1 < phase->rows) {
            a->logits[row + 1] = second;
        }
        return;
    }
    tell_two((phase->kind == PHASE_QKV ? a->qkv : a->x) + row, bits_of(first), bits_of(second),
             turn);
}

/* Highest logit of the block. */
STREAM_INLINE void store_best(const SHARED struct gpu_stream_args *a, struct best mine,
                              struct places p) {
    SHARED uint32_t *index = (SHARED uint32_t *)(p.scratch + 32);
    mine = warp_best(mine);
    if (thread_index() % WARP == 0) {
        p.scratch[warp_of_block()] = mine.value;
        index[warp_of_block()] = mine.index;
    }
    block_barrier();
    if (thread_index() == 0) {
        for (uint32_t w = 1; w < STREAM_WARPS; w++) {
            mine = better(mine, (struct best){p.scratch[w], index[w]});
        }
        a->best_value[block_index()] = mine.value;
        a->best_index[block_index()] = mine.index;
    }
}

STREAM_INLINE void finish(const SHARED struct gpu_stream_args *a,
                          const SHARED struct gpu_phase *phase, struct share share,
                          struct pair_end e, struct places p) {
    const float factor = sum_factor();
    struct best best = {-__builtin_inff(), 0xffffffffu};
    block_barrier();
    for (uint32_t i = thread_index(); i < share.n_pairs; i += STREAM_BLOCK) {
        if (i != thread_index()) {
            e = ask_pair(a, phase, share, p, i);
        }
        const struct row_pair sum = pair_sums(e.sums, e.n_sums);
        const float first = fma_f32(sum.first, factor * e.first_scale, e.first);
        const float second = fma_f32(sum.second, factor * e.second_scale, e.second);
        store_pair(a, phase, e.row, first, second);
        if (phase->kind == PHASE_HEAD) {
            best = better(best, (struct best){first, e.row});
            if (e.row + 1 < phase->rows) {
                best = better(best, (struct best){second, e.row + 1});
            }
        }
    }
    if (phase->kind == PHASE_HEAD) {
        store_best(a, best, p);
    }
}

/* MARK: - One token */

/* Attention: a block a head, or a part of one; parts are joined behind it. */
STREAM_INLINE void attention(const SHARED struct gpu_stream_args *a, uint32_t layer,
                             struct places p) {
    const uint32_t turn = turn_of(a, layer);
    attend(a, layer, p, turn);
    if (used_splits(a->position + 1) > 1) {
        join_splits(a, turn);
    }
}

STREAM_INLINE void take_input(const SHARED struct gpu_stream_args *a,
                              const SHARED struct gpu_phase *phase, const struct part *gain,
                              struct places p) {
    if (phase->kind == PHASE_ADD_ATTENDED || phase->kind == PHASE_ADD_HIDDEN) {
        input_told(phase->kind == PHASE_ADD_HIDDEN ? a->hidden : a->attended, phase->cols,
                   turn_of(a, phase->layer), p);
    } else {
        input_normed(a, phase, gain, p);
    }
    if (stream_format() == STREAM_INT8) {
        quantize_input(p, phase->cols);
    }
    block_barrier();
}

/* A block without rows in a phase must not take its input either: who hears has something to tell
 * that whoever tells next waits for. */
STREAM_INLINE void run_phases(struct places p) {
    const SHARED struct gpu_stream_args *const a = p.args;
    const bool multiplies = warp_of_block() < n_workers();
    struct reader r = {0};
    uint32_t slot = 0;
    if (multiplies) {
        r = ring_begin(p);
    }
    for (uint32_t i = 0; i < a->n_phases; i++) {
        const SHARED struct gpu_phase *phase = p.phases + i;
        if (p.shares[i].n_pairs > 0) {
            const struct part gain = ask_part(phase->gain, phase->gain ? d_model() : 0);
            const struct pair_end mine = ask_pair(a, phase, p.shares[i], p, thread_index());
            take_input(a, phase, &gain, p);
            if (phase->kind == PHASE_QKV) {
                prefetch_cache(a, phase->layer);
            }
            if (multiplies) {
                multiply(i, &r, &slot, p);
            }
            finish(a, phase, p.shares[i], mine, p);
        } else if (phase->kind == PHASE_HEAD) {
            store_best(a, (struct best){-__builtin_inff(), 0xffffffffu}, p);
        }
        if (phase->kind == PHASE_QKV) {
            attention(a, phase->layer, p);
        }
    }
}

KERNEL eco_stream(const struct gpu_stream_args args) {
    const struct places p = find_places(&args);
    if (is_nf4()) {
        fill_table();
    }
    block_barrier();
    run_phases(p);
}
