/* SPDX-License-Identifier: Apache-2.0
 *
 * How a block of stream.c comes by its weights: which rows are its own, which part of them a warp
 * takes, and the warp's ring of shared memory into which the next ones are copied meanwhile, across
 * the ends of phases.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_STREAM_WEIGHTS_H
#define ECOCOMPUTE_KERNELS_GPU_STREAM_WEIGHTS_H

#include "stream_format.h"

/* A block's tiles of a phase, of tile_rows() each. A tile is taken in groups of group_steps(). */
struct share {
    uint32_t first_row, n_pairs; /* of rows */
    uint32_t n_tiles;
    uint32_t n_groups;                     /* of a tile */
    uint32_t n_each;                       /* a warp's: its own are n_each * warp and on */
    uint32_t inverse_groups, inverse_each; /* inverse_of n_groups and n_each */
    uint32_t unused;
};

/* Where things lie in shared memory. */
struct places {
    const SHARED struct gpu_stream_args *args;
    const SHARED struct gpu_phase *phases;
    const SHARED struct share *shares; /* [n_phases] */
    SHARED float *scratch;             /* [64] */
    SHARED float *segments;            /* [n_segments][2], of a tile tile_rows() */
    SHARED float *angles;              /* [d_head / 2][2], of the position */
    SHARED half *input;                /* [input_bytes]; attention: struct head_part */
    SHARED char *ring;                 /* [n_workers()][n_slots()][slot_bytes()] */
};

STREAM_INLINE uint32_t slot_bytes(void) {
    return stream_slot_bytes(stream_format());
}

STREAM_INLINE uint32_t warp_of_block(void) {
    return thread_index() / WARP;
}

STREAM_INLINE struct share share_of(uint32_t rows, uint32_t stride) {
    const uint32_t tiles = (rows + tile_rows() - 1) / tile_rows();
    const uint32_t each = tiles / grid_size();
    const uint32_t more = tiles - each * grid_size(); /* blocks with one more */
    const uint32_t group_cols = group_steps() * STREAM_STEP_COLS;
    struct share share;
    share.n_tiles = each + (block_index() < more ? 1 : 0);
    share.first_row = tile_rows() * (block_index() * each + min_u32(block_index(), more));
    share.n_pairs = share.n_tiles == 0
                        ? 0
                        : (min_u32(share.n_tiles * tile_rows(), rows - share.first_row) + 1) / 2;
    share.n_groups = (stride + group_cols - 1) / group_cols;
    share.n_each = (share.n_tiles * share.n_groups + n_workers() - 1) / n_workers();
    share.inverse_groups = inverse_of(share.n_groups);
    share.inverse_each = share.n_each > 0 ? inverse_of(share.n_each) : 0;
    return share;
}

/* A warp's part of a phase: from group `group` of tile `tile` (of the block's) on. */
struct part_of_phase {
    uint32_t tile, group, n;
};

STREAM_INLINE struct part_of_phase warp_part(struct share share) {
    const uint32_t all = share.n_tiles * share.n_groups;
    const uint32_t first = min_u32(warp_of_block() * share.n_each, all);
    const uint32_t tile = times_inverse(first, share.inverse_groups);
    return (struct part_of_phase){.tile = tile,
                                  .group = first - tile * share.n_groups,
                                  .n = min_u32(share.n_each, all - first)};
}

/* What every block reads again and again, copied to where it is near. */
STREAM_INLINE struct places find_places(const struct gpu_stream_args *from) {
    SHARED char *at = (SHARED char *)shared_dynamic;
    at += table_bytes();
    struct places p;
    SHARED struct gpu_stream_args *args = (SHARED struct gpu_stream_args *)at;
    p.args = args;
    p.scratch = (SHARED float *)(at + STREAM_ARGS_BYTES);
    SHARED vec4 *phases = (SHARED vec4 *)(at + STREAM_ARGS_BYTES + STREAM_SCRATCH_BYTES);
    p.phases = (const SHARED struct gpu_phase *)phases;
    SHARED struct share *shares = (SHARED struct share *)(phases + 4 * from->n_phases);
    p.shares = shares;
    p.segments = (SHARED float *)(shares + from->n_phases);
    p.angles = p.segments + 2 * from->n_segments;
    p.input = (SHARED half *)(at + stream_input_offset(from->n_phases, from->n_segments));
    p.ring = (SHARED char *)p.input + from->input_bytes;
    const GLOBAL vec4 *table = (const GLOBAL vec4 *)from->phases;
    const uint32_t n = from->n_phases * (uint32_t)(sizeof(struct gpu_phase) / sizeof(vec4));
    for (uint32_t i = thread_index(); i < n; i += block_size()) {
        phases[i] = table[i];
    }
    for (uint32_t i = thread_index(); i < from->n_phases; i += block_size()) {
        shares[i] = share_of(from->phases[i].rows, from->phases[i].stride);
    }
    const uint32_t position = min_u32(from->state->position, from->capacity - 1);
    for (uint32_t i = thread_index(); i < from->d_head; i += block_size()) {
        p.angles[i] = from->angles[(uint64_t)position * from->d_head + i];
    }
    if (thread_index() == 0) {
        *args = *from;
        args->position = position;
        args->token = from->state->token;
        args->first_turn = *from->turn * 2 * from->n_layers + 1;
    }
    return p;
}

/* MARK: - The ring */

/* What a warp asks for next: the group that begins at `at`, of the first row of its tile, where the
 * lane copies from. */
struct reader {
    const GLOBAL char *at, *scale;
    uint32_t phase, group, n_groups, left;
    uint32_t row_bytes, scale_row_bytes;
    int32_t to_next, scale_to_next; /* from the end of a row to the first of the next tile */
    uint32_t rows_left;             /* from the tile's first row to the matrix's last */
    uint32_t slot;                  /* of the ring, to be written next */
};

/* Which row of a copy's is the lane's, of rows that take `1 << shift` lanes each, and which of those
 * it is. */
struct lane_place {
    uint32_t row, lane;
};
STREAM_INLINE struct lane_place lane_place(uint32_t shift) {
    const uint32_t lane = thread_index() % WARP;
    return (struct lane_place){lane >> shift, lane & ((1u << shift) - 1)};
}
/* Of codes, 16 bytes a lane: a warp copies two rows at once, or half of one. Of scales, 4 bytes. */
STREAM_INLINE uint32_t code_lanes(void) {
    return is_nibble() ? 4 : 5;
}
STREAM_INLINE uint32_t scale_lanes(void) {
    return is_nibble() ? 3 : 4;
}

STREAM_INLINE void reader_begin(struct reader *r, struct places p, uint32_t i) {
    const SHARED struct gpu_phase *phase = p.phases + i;
    const struct share share = p.shares[i];
    const struct part_of_phase part = warp_part(share);
    const uint32_t row = share.first_row + part.tile * tile_rows();
    r->phase = i;
    r->group = part.group;
    r->n_groups = share.n_groups;
    r->left = part.n;
    r->row_bytes = phase->stride / 8 * code_bits();
    r->scale_row_bytes = phase->n_blocks * (is_dq() ? 1 : is_nf4() ? 4 : 2);
    r->rows_left = phase->rows - row;
    r->to_next = (int32_t)(tile_rows() * r->row_bytes - r->n_groups * slot_row_bytes());
    r->scale_to_next =
        (int32_t)(tile_rows() * r->scale_row_bytes - r->n_groups * group_scale_bytes());
    const struct lane_place of = lane_place(code_lanes());
    const struct lane_place scale = lane_place(scale_lanes());
    r->at = (const GLOBAL char *)phase->weights + (uint64_t)(row + of.row) * r->row_bytes +
            r->group * slot_row_bytes() + of.lane * 16;
    r->scale = (const GLOBAL char *)phase->scales +
               (uint64_t)(row + scale.row) * r->scale_row_bytes + r->group * group_scale_bytes() +
               scale.lane * 4;
}

/* Rows of the matrix from the tile's row `row` on. */
STREAM_INLINE int32_t rows_from(const struct reader *r, uint32_t row) {
    return (int32_t)(r->rows_left - row);
}

/* The lanes copy what lies in a row, zeros where it has ended: nothing is read there. */
STREAM_INLINE void copy_codes(const struct reader *r, SHARED char *slot) {
    enum { AT_ONCE = 16 * WARP, COPIES = 4 };
    const uint32_t lane = thread_index() % WARP;
    const struct lane_place of = lane_place(code_lanes());
    const uint32_t left = r->row_bytes - r->group * slot_row_bytes();
    const int32_t rows = rows_from(r, of.row);
    UNROLL
    for (uint32_t i = 0; i < COPIES; i++) {
        const uint32_t row = is_nibble() ? 2 * i : i / 2; /* beyond the lane's */
        const uint32_t first = is_nibble() ? 0 : i % 2 * AT_ONCE;
        const int32_t there = of.lane * 16 + first < left ? rows : 0;
        copy_async(slot + lane * 16 + i * AT_ONCE, rows_on(r->at, r->row_bytes, row) + first,
                   (int32_t)row < there);
    }
}

STREAM_INLINE void copy_scales(const struct reader *r, SHARED char *slot) {
    const struct lane_place of = lane_place(scale_lanes());
    const bool inside = r->group * slot_row_scales() + of.lane * 4 < r->scale_row_bytes;
    const int32_t there = inside ? rows_from(r, of.row) : 0;
    SHARED char *to = slot + tile_rows() * slot_row_bytes() + thread_index() % WARP * 4;
    copy_async_word(to, r->scale, there > 0);
    if (is_nibble()) {
        copy_async_word(to + WARP * 4, rows_on(r->scale, r->scale_row_bytes, 4), there > 4);
    }
}

/* NF4-DQ: struct dq_row of rows g and g + 4 of the tile by lanes 8 g and on, a word each, to `to`; `code`
 * is what the lane would copy as code of the former. `row`: the tile's first, `group`: of it. */
STREAM_OUTLINE void copy_dq_scales(const SHARED struct gpu_phase *phase, uint32_t row,
                                   uint32_t group, const GLOBAL char *code, SHARED char *to) {
    const struct lane_place of = lane_place(scale_lanes());
    const uint32_t n_blocks = (phase->cols + NF4_BLOCK - 1) / NF4_BLOCK;
    const bool in_turns = phase->kind == PHASE_GATE_UP;
    const uint32_t n_tensors = in_turns ? 2 : phase->kind == PHASE_QKV ? 3 : 1;
    const uint32_t n_first = in_turns                   ? phase->rows / 2
                             : phase->kind == PHASE_QKV ? n_heads() * d_head()
                                                        : phase->rows;
    const uint32_t n_words = gpu_dq_words(n_first, n_blocks);
    const bool is_code = of.lane < DQ_OFFSET;
    row += of.row;
    to += thread_index() % WARP * 4;
    NOT_UNROLLED
    for (uint32_t k = 0; k < 2; k++) {
        const struct gpu_dq_row at = gpu_dq_row_at(row, phase->rows, n_tensors, n_first, n_blocks);
        const uint32_t first = at.first_block + group * 8;
        const uint32_t word =
            of.lane == DQ_OFFSET ? 0 : 1 + first / GPU_DQ_GROUP + of.lane - DQ_SCALES;
        const GLOBAL char *from =
            is_code ? code : (const GLOBAL char *)(phase->scales2 + at.tensor * n_words + word);
        const bool inside = is_code ? group * 8 + of.lane * 4 < phase->n_blocks : word < n_words;
        if (of.lane < DQ_FIRST) {
            copy_async_word(to, from, inside && row < phase->rows);
        } else if (of.lane == DQ_FIRST) {
            *(SHARED uint32_t *)to = first % GPU_DQ_GROUP;
        }
        row += 4;
        code += 4 * phase->n_blocks;
        to += 4 * sizeof(struct dq_row);
    }
}

/* To the warp's next group, of this phase or one to come. False: there is none any more. */
STREAM_INLINE bool reader_find(struct reader *r, struct places p) {
    while (r->left == 0 && r->phase + 1 < p.args->n_phases) {
        reader_begin(r, p, r->phase + 1);
    }
    return r->left > 0;
}

STREAM_INLINE void reader_advance(struct reader *r) {
    r->left--;
    r->group++;
    r->at += slot_row_bytes();
    r->scale += group_scale_bytes();
    if (r->group == r->n_groups) { /* the next tile */
        r->group = 0;
        r->rows_left -= tile_rows();
        r->at += r->to_next;
        r->scale += r->scale_to_next;
    }
}

/* Asks for the warp's next group, if there is one; one commit a call in any case, so that the waits can
 * count. */
STREAM_INLINE void ask(struct reader *r, struct places p) {
    if (reader_find(r, p)) {
        SHARED char *slot = p.ring + (warp_of_block() * n_slots() + r->slot) * slot_bytes();
        copy_codes(r, slot);
        if (is_dq()) {
            const SHARED struct gpu_phase *phase = p.phases + r->phase;
            copy_dq_scales(phase, phase->rows - r->rows_left, r->group, r->scale,
                           slot + tile_rows() * slot_row_bytes());
        } else if (has_block_scale()) {
            copy_scales(r, slot);
        }
        reader_advance(r);
    }
    copy_commit();
    r->slot = r->slot + 1 == n_slots() ? 0 : r->slot + 1;
}

/* Fills the ring but for one slot. */
STREAM_INLINE struct reader ring_begin(struct places p) {
    struct reader r;
    reader_begin(&r, p, 0);
    r.slot = 0;
    for (uint32_t i = 1; i < n_slots(); i++) {
        ask(&r, p);
    }
    return r;
}

/* MARK: - Products */

/* The warp's part of a pair is complete: half a warp has the first row's sum, the other the
 * second's. */
STREAM_INLINE void sums_store(struct sums s, SHARED float *segment) {
    const uint32_t lane = thread_index() % WARP;
    const bool upper = lane >= 16;
    float first = s.c[0] + s.more[0];
    float second = s.c[2] + s.more[2];
    if (is_diagonal()) {
        const bool odd = lane / 4 % 2 == 1;
        const bool mine = lane % 4 == lane / 8;
        first = mine ? (odd ? s.c[1] + s.more[1] : first) : 0.0f;
        second = mine ? (odd ? s.c[3] + s.more[3] : second) : 0.0f;
    }
    float sum = upper ? second : first;
    sum += shuffle_xor(upper ? first : second, 16);
    UNROLL
    for (uint32_t mask = 8; mask > 0; mask >>= 1) {
        sum += shuffle_xor(sum, mask);
    }
    if (lane % 16 == 0) {
        segment[lane / 16] = sum;
    }
}

/* Likewise of a tile of eight rows: four lanes have a row's. */
STREAM_INLINE void tile_store(float sum, SHARED float *segment) {
    const uint32_t lane = thread_index() % WARP;
    sum += shuffle_xor(sum, 1);
    sum += shuffle_xor(sum, 2);
    if (lane % 4 == 0) {
        segment[lane / 4] = sum;
    }
}

/* The products of two steps of a group, from step k on. What is not there has weights of zero, and
 * inputs that are numbers. */
STREAM_INLINE void use_two(const SHARED char *codes, const SHARED vec4 *input, uint32_t k,
                           struct sums *s) {
    UNROLL
    for (uint32_t i = k; i < k + 2; i++) {
        const SHARED vec4 *x = input + i * (STREAM_STEP_COLS / 8);
        if (is_wide()) {
            add_wide(s, codes + i * step_bytes(), x);
        } else {
            add_bytes(s, codes + i * step_bytes(),
                      codes + 2 * slot_row_bytes() + i * scale_step_bytes(), x);
        }
    }
}

/* Where an INT8 input lies: codes and flags behind the values. */
STREAM_INLINE SHARED char *input_codes(struct places p) {
    return (SHARED char *)p.input + 2 * p.args->input_cols;
}
STREAM_INLINE SHARED char *input_flags(struct places p) {
    return (SHARED char *)p.input + 3 * p.args->input_cols;
}
enum { SCRATCH_ABSMAX = 48 }; /* of an INT8 input */

/* Where the sums of a Q4_0 input's blocks lie, behind the values. */
STREAM_INLINE SHARED float *input_offsets(struct places p) {
    return (SHARED float *)(p.input + p.args->input_cols);
}

/* The products of a group of 4-bit codes, of `n` steps. In a loop, since a step is long: what is not
 * unrolled is fetched once. */
STREAM_INLINE float use_tile(float sum, const SHARED char *slot, const SHARED vec4 *input,
                             const SHARED float *offsets, uint32_t n, vec4 x[4]) {
    const SHARED char *scales = slot + tile_rows() * slot_row_bytes();
    const uint32_t lane_bytes = thread_index() % WARP * 4;
    uint32_t i = 0;
    NOT_UNROLLED
    do {
        sum = add_tile(sum, slot + i * step_bytes(), scales + i * scale_step_bytes(),
                       input + i * (STREAM_STEP_COLS / 8), offsets + i * (STREAM_STEP_COLS / 32),
                       lane_bytes, x);
    } while (++i < n);
    return sum;
}

/* As use_two: bytes with bytes; columns with an outlier among them also as FP16. `unit` turns the
 * integer sum into the others' measure. */
STREAM_INLINE void use_two_int8(const SHARED char *slot, uint32_t k, uint32_t step, struct places p,
                                float unit, struct sums *s) {
    const uint32_t lane = thread_index() % WARP;
    UNROLL
    for (uint32_t i = k; i < k + 2; i++) {
        const uint32_t col = (step + i) * STREAM_STEP_COLS + lane * 8;
        const SHARED char *code = slot + i * step_bytes() + lane * 8;
        const vec2 x = *(const SHARED vec2 *)(input_codes(p) + col);
        const vec2 a = *(const SHARED vec2 *)code;
        const vec2 b = *(const SHARED vec2 *)(code + slot_row_bytes());
        s->c[0] = fma_f32((float)dot_bytes(a[1], x[1], dot_bytes(a[0], x[0], 0)), unit, s->c[0]);
        s->c[2] = fma_f32((float)dot_bytes(b[1], x[1], dot_bytes(b[0], x[0], 0)), unit, s->c[2]);
        if (*(const SHARED uint16_t *)(input_flags(p) + col / 4) != 0) {
            const vec4 values = *(const SHARED vec4 *)(p.input + col);
            s->c[0] += dot8_int8(a, values);
            s->c[2] += dot8_int8(b, values);
        }
    }
}

/* All of a warp's groups of phase i; on the way it asks for as many that follow. */
STREAM_INLINE void multiply(uint32_t i, struct reader *r, uint32_t *slot, struct places p) {
    const struct sums none = {{0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}};
    struct part_of_phase part = warp_part(p.shares[i]);
    const uint32_t n_groups = p.shares[i].n_groups;
    const uint32_t n_steps = (p.phases[i].stride + STREAM_STEP_COLS - 1) / STREAM_STEP_COLS;
    const float unit = p.scratch[SCRATCH_ABSMAX] * (1.0f / (127.0f * 1024.0f));
    SHARED float *segment = p.segments + tile_rows() * (part.tile + warp_of_block());
    SHARED char *ring = p.ring + warp_of_block() * n_slots() * slot_bytes();
    struct sums s = none;
    const SHARED float *offsets = input_offsets(p);
    vec4 x[4] = {{0}};
    while (part.n > 0) { /* the same for the whole warp */
        ring_wait();
        warp_barrier(); /* all lanes' copies are there, and all have done with the slot before */
        ask(r, p);
        const uint32_t step = part.group * group_steps();
        const SHARED vec4 *input = (const SHARED vec4 *)p.input + step * (STREAM_STEP_COLS / 8);
        SHARED char *codes = ring + *slot * slot_bytes();
        if (is_dq()) {
            decode_scales(codes, p.args->dq_map);
        }
        const uint32_t n = min_u32(group_steps(), n_steps - step);
        if (is_nibble()) {
            s.c[0] = use_tile(s.c[0], codes, input, offsets + step * (STREAM_STEP_COLS / 32), n, x);
        } else if (stream_format() == STREAM_INT8) {
            use_two_int8(codes, 0, step, p, unit, &s);
            if (n > 2) {
                use_two_int8(codes, 2, step, p, unit, &s);
            }
        } else {
            use_two(codes, input, 0, &s);
            if (group_steps() > 2 && n > 2) {
                use_two(codes, input, 2, &s);
            }
        }
        *slot = *slot + 1 == n_slots() ? 0 : *slot + 1;
        part.n--;
        part.group++;
        if (part.group == n_groups || part.n == 0) {
            if (is_nibble()) {
                tile_store(s.c[0], segment);
            } else {
                sums_store(s, segment);
            }
            segment += tile_rows();
            s = none;
            part.group = 0;
        }
    }
}

#endif
