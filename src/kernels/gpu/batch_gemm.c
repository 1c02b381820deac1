/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products for up to 64 rows of input at once, on tensor cores: every weight is read from
 * memory once for all of them. Ladder (docs/kernels-batch.md has predictions and outcomes):
 *   reference  src/kernels/cpu, a row after the other
 *   v1 to v4   all warps copy a stage, meet, and multiply 32 rows each; sums in FP32; blocks share
 *              the work evenly whatever the rows divide by, and what they share is joined in a fixed
 *              order; the order of columns within a sum is free, so that a lane's 16, 8 or 4 bytes
 *              of a row are its operands of two m16n8k16 steps
 *   v5         here: a warp multiplies 64 rows, so that half as much input is read from shared memory;
 *              warps meet at barriers of the stages only and may be one stage apart; warps that share
 *              rows add their sums pairwise; a tile's parts are joined warp by warp, from registers to
 *              registers
 *
 * A stage of a tile: [tile rows][row bytes] of weights, then [columns / 32][n_pad][32] of input, for
 * INT8 the input's codes after that. Shared memory: sums on their way between warps, barriers, the
 * input's scales (INT8) or NF4's values and table, stages.
 */
#include "batch_format.h"

enum {
    BATCH_STEP = 32,       /* columns that a warp multiplies at once */
    BATCH_M = 4,           /* sixteens of rows of a warp */
    TILES = BATCH_MAX / 8, /* column tiles of eight */
};

struct batch_work {
    const struct gpu_batch_gemm_args *a;
    SHARED vec4 *exchange;
    SHARED uint64_t *full, *empty; /* [n_stages] */
    SHARED float *input_scales;    /* INT8: [n_pad] */
    SHARED char *table;            /* NF4; NF4-DQ's map behind it */
    SHARED char *stages;
    uint32_t stage_bytes;
    uint32_t n_chunks;          /* stages of a tile */
    uint32_t begin, end, total; /* (tile, chunk) pairs: this block's, all */
    /* A warp's rows of a tile begin at warp_row; `share` is which of the warps with the same rows it
     * is: they take turns with the columns. Its sums i are those of sixteen i ^ swap. */
    uint32_t warp, warp_row, share, swap;
};

struct batch_place { /* a pair */
    uint32_t tile, chunk;
};

INLINE float float_of(uint32_t bits) {
    const union {
        uint32_t bits;
        float value;
    } f = {.bits = bits};
    return f.value;
}
INLINE uint32_t bits_of(float value) {
    const union {
        float value;
        uint32_t bits;
    } f = {.value = value};
    return f.bits;
}
INLINE void add_bits(float sums[4], const vec4 other) {
    UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        sums[i] += float_of(other[i]);
    }
}

/* A lane's four sums of a tile, as they are: to shared memory, and to other memory. */
#define PUT_SUM(to, c) \
    (*(to) = (vec4){bits_of((c)[0]), bits_of((c)[1]), bits_of((c)[2]), bits_of((c)[3])})

/* No divisions by what the text is specialised for: the driver's compiler takes them apart before it
 * knows the divisor. */
INLINE uint32_t n_shares_of(const struct gpu_batch_gemm_args *a) {
    return tile_rows_of(a) == 256 ? 2 : 4;
}
INLINE uint32_t stride_bytes_of(const struct gpu_batch_gemm_args *a) {
    return format_of(a) <= BATCH_BF16   ? a->stride * 2
           : format_of(a) <= BATCH_Q8_0 ? a->stride
                                        : a->stride / 2;
}
/* Pieces of 16 bytes of a row in a stage, as a power of two. */
INLINE uint32_t piece_shift_of(const struct gpu_batch_gemm_args *a) {
    const uint32_t bytes = row_bytes_of(a);
    return bytes == 512 ? 5 : bytes == 256 ? 4 : bytes == 128 ? 3 : 2;
}

INLINE struct batch_work work_of_block(const struct gpu_batch_gemm_args *a) {
    struct batch_work w = {.a = a};
    w.warp = thread_index() / WARP;
    w.warp_row = w.warp * BATCH_WARP_ROWS & (tile_rows_of(a) - 1);
    w.share = n_shares_of(a) == 2 ? w.warp / 4 : w.warp / 2;
    w.swap = (w.share & 1) * 2 + (w.share >> 1 & 1);
    w.n_chunks = (a->cols + columns_of(a) - 1) / columns_of(a);
    w.total = (a->rows + tile_rows_of(a) - 1) / tile_rows_of(a) * w.n_chunks;
    w.begin = w.total * block_index() / grid_size();
    w.end = w.total * (block_index() + 1) / grid_size();
    SHARED char *memory = (SHARED char *)shared_dynamic;
    w.exchange = (SHARED vec4 *)memory;
    memory += batch_exchange_bytes(n_pad_of(a));
    w.full = (SHARED uint64_t *)memory;
    w.empty = w.full + BATCH_STAGES_MAX;
    memory += BATCH_BARRIER_BYTES;
    w.input_scales = (SHARED float *)memory;
    memory += BATCH_VALUES_BYTES;
    w.table = memory;
    w.stages = memory + batch_table_bytes(format_of(a));
    w.stage_bytes = batch_stage_bytes(format_of(a), columns_of(a), tile_rows_of(a), n_pad_of(a));
    return w;
}

INLINE struct batch_place next_place(const struct batch_work *w, struct batch_place at) {
    const bool ends = at.chunk + 1 == w->n_chunks;
    return (struct batch_place){at.tile + (ends ? 1 : 0), ends ? 0 : at.chunk + 1};
}

/* Slots of the stages in turn, and the parity of the turn. */
struct batch_turn {
    uint32_t slot, parity;
};
INLINE struct batch_turn next_turn(const struct batch_work *w, struct batch_turn turn) {
    const bool wraps = turn.slot + 1 == n_stages_of(w->a);
    return (struct batch_turn){wraps ? 0 : turn.slot + 1, turn.parity ^ (wraps ? 1 : 0)};
}

/* MARK: - Copies, by all warps */

/* At most eight pieces a thread. */
INLINE void copy_all(SHARED char *to, const GLOBAL char *from, uint32_t n_bytes) {
    uint32_t p = thread_index() * 16;
    for (uint32_t i = 0; i < known(2); i++) {
        for (uint32_t k = 0; k < known(2); k++) {
            UNROLL
            for (uint32_t n = 0; n < 2; n++) {
                if (p < n_bytes) {
                    copy_async(to + p, from + p, true);
                }
                p += GPU_BLOCK * 16;
            }
        }
    }
}

/* A stage's weights: a thread has its piece of every n_slots-th row, of 16 at most; n_slots is 16, 32 or
 * 64. */
INLINE void copy_weights(const struct batch_work *w, SHARED char *stage, struct batch_place at) {
    const struct gpu_batch_gemm_args *a = w->a;
    const uint32_t shift = piece_shift_of(a);
    const uint32_t n_slots = GPU_BLOCK >> shift;
    const uint32_t c = thread_index() & ((1u << shift) - 1);
    const uint32_t offset = at.chunk * row_bytes_of(a) + c * 16;
    const bool take = offset < stride_bytes_of(a);
    uint32_t slot = thread_index() >> shift;
    uint32_t row = at.tile * tile_rows_of(a) + row_at(slot);
    const GLOBAL char *from =
        (const GLOBAL char *)a->weights + (uint64_t)row * stride_bytes_of(a) + offset;
    SHARED char *to = stage + slot * row_bytes_of(a) + piece_at(a, c, slot) * 16;
    for (uint32_t i = 0; i < known(2); i++) {
        for (uint32_t k = 0; k < known(2); k++) {
            UNROLL
            for (uint32_t n = 0; n < 4; n++) {
                if (slot < tile_rows_of(a)) {
                    copy_async(to, from, take && row < a->rows);
                }
                slot += n_slots;
                row += n_slots;
                from += n_slots * stride_bytes_of(a);
                to += GPU_BLOCK * 16;
            }
        }
    }
}

/* A stage's scales, [tile rows][columns / 64] words of one FP32 or two FP16: four a thread at most. */
INLINE void copy_scales(const struct batch_work *w, SHARED char *to, struct batch_place at) {
    const struct gpu_batch_gemm_args *a = w->a;
    const uint32_t shift = columns_of(a) == 128 ? 1 : 2;
    const uint32_t row_words = format_of(a) == BATCH_NF4 ? a->n_blocks : a->n_blocks / 2;
    const uint32_t word = (at.chunk << shift) + (thread_index() & ((1u << shift) - 1));
    uint32_t n = thread_index();
    for (uint32_t i = 0; i < known(2); i++) {
        for (uint32_t k = 0; k < known(2); k++) {
            const uint32_t row = at.tile * tile_rows_of(a) + (n >> shift);
            if (n < tile_rows_of(a) << shift) {
                copy_async_4(to + n * 4,
                             (const GLOBAL uint32_t *)a->scales + row * row_words + word,
                             row < a->rows && word < row_words);
            }
            n += GPU_BLOCK;
        }
    }
}

/* NF4-DQ's, [tile rows][4] words: the row's codes (of this stage and its neighbour: two each), the
 * scales of the two blocks' 256, the offset. */
INLINE void copy_dq_scales(const struct batch_work *w, SHARED char *to, struct batch_place at) {
    const struct gpu_batch_gemm_args *a = w->a;
    const uint32_t n_blocks = (a->cols + NF4_BLOCK - 1) / NF4_BLOCK;
    const uint32_t n_words = gpu_dq_words(a->n_first, n_blocks);
    const uint32_t which = thread_index() & 3;
    const uint32_t block = at.chunk * 2 + which - 1;
    uint32_t n = thread_index();
    for (uint32_t i = 0; i < known(2); i++) {
        for (uint32_t k = 0; k < known(2); k++) {
            const uint32_t row = at.tile * tile_rows_of(a) + (n >> 2);
            const struct gpu_dq_row place =
                gpu_dq_row_at(row, a->rows, a->n_tensors, a->n_first, n_blocks);
            const uint32_t word = which == 3 ? 0 : 1 + (place.first_block + block) / GPU_DQ_GROUP;
            const GLOBAL char *from =
                which == 0 ? (const GLOBAL char *)a->scales + row * a->n_blocks + at.chunk / 2 * 4
                           : (const GLOBAL char *)(a->scales2 + place.tensor * n_words + word);
            if (n < tile_rows_of(a) << 2) {
                copy_async_4(to + n * 4, from,
                             row < a->rows && (which == 0 || which == 3 || block < n_blocks));
            }
            n += GPU_BLOCK;
        }
    }
}

/* What is fetched next, and where to. */
struct batch_coming {
    struct batch_place at;
    struct batch_turn turn;
    uint32_t n_left;
};

/* The next stage, into the slot of the one before the last that this warp has worked on. */
INLINE void fetch(const struct batch_work *w, struct batch_coming *coming) {
    const struct gpu_batch_gemm_args *a = w->a;
    if (coming->n_left == 0) {
        return;
    }
    const uint32_t chunk = coming->at.chunk;
    const uint32_t input_bytes = columns_of(a) * n_pad_of(a) * 2;
    SHARED char *stage = w->stages + coming->turn.slot * w->stage_bytes;
    SHARED char *input = stage + tile_rows_of(a) * row_bytes_of(a);
    barrier_wait(w->empty + coming->turn.slot, coming->turn.parity);
    copy_weights(w, stage, coming->at);
    copy_all(input, (const GLOBAL char *)a->input + (uint64_t)chunk * input_bytes, input_bytes);
    if (format_of(a) == BATCH_NF4_DQ) {
        copy_dq_scales(w, input + input_bytes, coming->at);
    } else if (has_blocks(a)) {
        copy_scales(w, input + input_bytes, coming->at);
    }
    if (format_of(a) == BATCH_INT8) {
        copy_all(input + input_bytes,
                 (const GLOBAL char *)a->input_codes + (uint64_t)chunk * (input_bytes / 2),
                 input_bytes / 2);
    }
    barrier_arrive_copied(w->full + coming->turn.slot);
    coming->turn = next_turn(w, coming->turn);
    coming->at = next_place(w, coming->at);
    coming->n_left--;
}

/* MARK: - Products */

/* Sums are worked on in groups: two sixteens by some column tiles. Registers cannot be counted through,
 * so the group at hand is moved to the front: the text says once what the driver's compiler, which
 * knows how often, writes out without a move. */
enum { GROUP = 2, GROUPS = TILES / GROUP };
struct batch_group {
    float c[2][GROUP][4];
};
struct batch_sums { /* [halves of the sixteens][GROUPS], beginning with the one at hand */
    struct batch_group q[2 * GROUPS];
};

/* Of sixteen i and column tile j, while the first group is at hand: mma's C. */
INLINE float *sums_of(struct batch_sums *sums, uint32_t i, uint32_t j) {
    return sums->q[i / 2 * GROUPS + j / GROUP].c[i % 2][j % GROUP];
}

INLINE void rotate_sums(struct batch_sums *sums) {
    const struct batch_group first = sums->q[0];
    UNROLL
    for (uint32_t i = 0; i + 1 < 2 * GROUPS; i++) {
        sums->q[i] = sums->q[i + 1];
    }
    sums->q[2 * GROUPS - 1] = first;
}

/* Scales of a lane's rows for 32 columns: even and odd rows of two sixteens. */
struct batch_scales {
    float of[2][2];
};

/* INT8: the codes' products, times the scales of the input's rows, which are the sums' columns. */
INLINE void multiply_codes(const vec2 codes[4], const SHARED vec2 *input,
                           const SHARED float *scales, struct batch_group *q) {
    UNROLL
    for (uint32_t j = 0; j < GROUP; j++) {
        const vec2 b = input[j * WARP];
        const float scale[2] = {scales[j * 8], scales[j * 8 + 1]};
        UNROLL
        for (uint32_t m = 0; m < 2; m++) {
            const uint32_t a[4] = {codes[2 * m][0], codes[2 * m + 1][0], codes[2 * m][1],
                                   codes[2 * m + 1][1]};
            int32_t part[4] = {0, 0, 0, 0};
            mma_s8(part, a, b[0], b[1]);
            UNROLL
            for (uint32_t i = 0; i < 4; i++) {
                q->c[m][j][i] = fma_f32((float)part[i], scale[i % 2], q->c[m][j][i]);
            }
        }
    }
}

/* Adds the products of two sixteens of weights and a group's column tiles of input; where a block has a
 * scale, times those of the even and odd rows. */
INLINE void multiply_group(bool is_scaled, const struct batch_operands *o, const SHARED vec4 *input,
                           float scales[2][2], struct batch_group *q) {
    struct batch_group part;
    vec4 b[GROUP];
    UNROLL
    for (uint32_t n = 0; n < 2 * GROUP * 4; n++) {
        const float sum = q->c[n / (4 * GROUP)][n / 4 % GROUP][n % 4];
        part.c[n / (4 * GROUP)][n / 4 % GROUP][n % 4] = is_scaled ? 0.0f : sum;
    }
    UNROLL
    for (uint32_t j = 0; j < GROUP; j++) {
        b[j] = input[j * WARP];
    }
    UNROLL
    for (uint32_t k = 0; k < 2; k++) {
        UNROLL
        for (uint32_t j = 0; j < GROUP; j++) {
            mma_f16(part.c[0][j], o->a[k][0], b[j][2 * k], b[j][2 * k + 1]);
            mma_f16(part.c[1][j], o->a[k][1], b[j][2 * k], b[j][2 * k + 1]);
        }
    }
    UNROLL
    for (uint32_t n = 0; n < 2 * GROUP * 4; n++) {
        const float got = part.c[n / (4 * GROUP)][n / 4 % GROUP][n % 4];
        float *sum = &q->c[n / (4 * GROUP)][n / 4 % GROUP][n % 4];
        *sum = is_scaled ? fma_f32(got, scales[n / (4 * GROUP)][n % 4 / 2], *sum) : got;
    }
}

/* Rows of sixteen i of the warp's, within a tile. */
INLINE uint32_t row_of_sums(const struct batch_work *w, uint32_t i) {
    return w->warp_row + ((i ^ w->swap) << 4);
}

/* The scale of a row's 32 columns from what copy_dq_scales has of it. */
INLINE float dq_scale(const struct batch_work *w, vec4 row, uint32_t chunk, uint32_t step) {
    const SHARED float *map = (const SHARED float *)(w->table + BATCH_PAIRS_BYTES);
    const uint32_t block = step / 2;
    const uint32_t code = row[0] >> (chunk % 2 * 16 + block * 8) & 255;
    const float scale = float_of(block == 0 ? row[1] : row[2]);
    return add_rounded(mul_rounded(map[code], scale), float_of(row[3]));
}

/* Of sixteens first, first + 1, from the scales of a tile's stage `chunk`; `step`: which 32 columns of it. */
INLINE struct batch_scales load_scales(const struct batch_work *w, const SHARED char *scales,
                                       uint32_t first, uint32_t chunk, uint32_t step) {
    const struct gpu_batch_gemm_args *a = w->a;
    const uint32_t row_bytes = batch_scale_bytes(format_of(a), columns_of(a));
    const uint32_t g = thread_index() % WARP / 4;
    struct batch_scales out;
    UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t row = row_of_sums(w, first + i / 2) + 2 * g + i % 2;
        const SHARED char *from = scales + row * row_bytes;
        out.of[i / 2][i % 2] =
            format_of(a) == BATCH_NF4_DQ ? dq_scale(w, *(const SHARED vec4 *)from, chunk, step)
            : format_of(a) == BATCH_NF4  ? ((const SHARED float *)from)[step / 2]
                                         : (float)((const SHARED half *)from)[step];
    }
    return out;
}

/* 32 columns. Tiles beyond n_pad are nobody's: the driver's compiler drops what leads to them. */
INLINE void multiply(const struct batch_work *w, const SHARED char *stage, uint32_t chunk,
                     uint32_t step, struct batch_sums *sums) {
    const struct gpu_batch_gemm_args *a = w->a;
    const SHARED char *input = stage + tile_rows_of(a) * row_bytes_of(a);
    /* INT8: the input's codes; where blocks have scales: those. */
    const SHARED char *behind = input + columns_of(a) * n_pad_of(a) * 2;
    const uint32_t at = step * n_pad_of(a) * 4 + thread_index() % WARP;
    for (uint32_t pair = 0; pair < known(2); pair++) {
        const struct batch_rows rows =
            rows_of_lane(a, stage + row_of_sums(w, 2 * pair) * row_bytes_of(a),
                         stage + row_of_sums(w, 2 * pair + 1) * row_bytes_of(a), step);
        struct batch_scales scales = {0};
        vec2 codes[4];
        const struct batch_operands o = unpack(a, w->table, rows, codes);
        if (has_blocks(a)) {
            scales = load_scales(w, behind, 2 * pair, chunk, step);
        }
        for (uint32_t i = 0; i < known(2); i++) {
            for (uint32_t k = 0; k < known(GROUPS / 2); k++) {
                const uint32_t tile = (i * (GROUPS / 2) + k) * GROUP;
                if (format_of(a) == BATCH_INT8) {
                    multiply_codes(codes, (const SHARED vec2 *)behind + at + tile * WARP,
                                   w->input_scales + tile * 8 + thread_index() % 4 * 2,
                                   &sums->q[0]);
                }
                multiply_group(has_blocks(a), &o, (const SHARED vec4 *)input + at + tile * WARP,
                               scales.of, &sums->q[0]);
                rotate_sums(sums);
            }
        }
    }
}

/* MARK: - Joining and storing */

/* The block that has pair u: blocks begin at total · b / grid, rounded down. */
INLINE uint32_t block_of(const struct batch_work *w, uint32_t u) {
    return ((u + 1) * grid_size() - 1) / w->total;
}

/* Sums of tiles beyond n_pad are read and added, too, whatever is there: nobody stores them, so the
 * driver's compiler leaves it out. */

/* Sums of sixteens 2 and 3 go to another warp, its come to 0 and 1, by way of `memory`; with count 1 of
 * 2 alone, to 0. Who is first writes first and reads last: then nobody else uses that memory, and it
 * may write there again. */
INLINE void swap_sums(uint32_t n_tiles, uint32_t count, SHARED vec4 *memory, uint32_t barrier,
                      bool is_first, struct batch_sums *sums) {
    SHARED vec4 *mine = memory + thread_index() % WARP;
    ROLLED
    for (uint32_t turn = 0; turn < 2; turn++) {
        const bool writes = is_first == (turn == 0);
        if (writes) {
            UNROLL
            for (uint32_t n = 0; n < 2 * TILES; n++) {
                if (n / 2 < n_tiles && n % 2 < count) {
                    PUT_SUM(mine + n * WARP, sums_of(sums, 2 + n % 2, n / 2));
                }
            }
        }
        pair_meet(barrier);
        if (!writes) {
            UNROLL
            for (uint32_t n = 0; n < 2 * TILES; n++) {
                add_bits(sums_of(sums, n % 2, n / 2), mine[n * WARP]);
            }
        }
    }
}

/* Warps that share rows add their sums: of two each has two sixteens afterwards, of four one, the
 * first in `sums`. Who is second of two writes first; of four, who writes first with the first partner
 * does so with the second, too, in the memory it read last. */
INLINE void share_sums(const struct batch_work *w, struct batch_sums *sums) {
    const uint32_t n_tiles = n_pad_of(w->a) / 8;
    const uint32_t row_warps = tile_rows_of(w->a) / BATCH_WARP_ROWS;
    const uint32_t row_warp = w->warp & (row_warps - 1);
    const uint32_t high = w->share >> 1;
    const uint32_t odd = w->share & 1;
    const uint32_t n_swaps = n_shares_of(w->a) == 2 ? 1 : 2;
    ROLLED
    for (uint32_t i = 0; i < n_swaps; i++) {
        const uint32_t pair = (i == 0 ? high : odd ^ 1) * row_warps + row_warp;
        swap_sums(n_tiles, 2 - i, w->exchange + pair * (2 * n_tiles * WARP), 1 + 4 * i + pair,
                  (odd ^ high) != 0, sums);
        UNROLL
        for (uint32_t n = 0; n < TILES * 4; n++) { /* the second swap is of sixteen 1 */
            sums_of(sums, 2, n / 4)[n % 4] = sums_of(sums, 1, n / 4)[n % 4];
        }
    }
}

/* A block writes its sums of a tile to one of three places: of its first tile and of its last one, if
 * others share it, and of one that is all its own. */
enum { PART_FIRST = 0, PART_LAST, PART_OWN, PARTS };

/* This warp's part: [column tiles][two sixteens][lane]. */
INLINE GLOBAL vec4 *part_of(const struct batch_work *w, uint32_t block, uint32_t which) {
    const uint32_t at = (PARTS * block + which) * BATCH_WARPS + w->warp;
    return (GLOBAL vec4 *)w->a->part + (uint64_t)at * (n_pad_of(w->a) / 8 * 2 * WARP) +
           thread_index() % WARP;
}

INLINE void write_part(const struct batch_work *w, uint32_t which, struct batch_sums *sums) {
    GLOBAL vec4 *mine = part_of(w, block_index(), which);
    UNROLL
    for (uint32_t n = 0; n < 2 * TILES; n++) {
        if (n / 2 * 8 < n_pad_of(w->a) && (n % 2 == 0 || n_shares_of(w->a) == 2)) {
            PUT_SUM(mine + n * WARP, sums_of(sums, n % 2, n / 2));
        }
    }
}

/* The blocks that share a tile, and where the first one's part is: only that one may have begun before
 * the tile. */
struct batch_sharers {
    uint32_t first, last, first_part;
};
INLINE struct batch_sharers sharers_of(const struct batch_work *w, uint32_t tile) {
    const uint32_t begin = tile * w->n_chunks;
    const uint32_t first = block_of(w, begin);
    return (struct batch_sharers){first, block_of(w, begin + w->n_chunks - 1),
                                  w->total * first / grid_size() < begin ? PART_LAST : PART_FIRST};
}

/* A sixteen's sums: the sharers' parts, in this order. Two are on their way together. */
INLINE void add_parts(const struct batch_work *w, uint32_t sixteen, struct batch_sharers of,
                      float c[TILES][4]) {
    uint32_t which = of.first_part;
    ROLLED
    for (uint32_t b = of.first; b <= of.last; b += 2) {
        const GLOBAL vec4 *from[2] = {part_of(w, b, which),
                                      part_of(w, min_u32(b + 1, of.last), PART_FIRST)};
        vec4 part[2][TILES];
        UNROLL
        for (uint32_t n = 0; n < 2 * TILES; n++) {
            part[n % 2][n / 2] = load_l2(from[n % 2] + (n / 2 * 2 + sixteen) * WARP);
        }
        UNROLL
        for (uint32_t j = 0; j < TILES; j++) {
            add_bits(c[j], part[0][j]);
        }
        if (b < of.last) {
            UNROLL
            for (uint32_t j = 0; j < TILES; j++) {
                add_bits(c[j], part[1][j]);
            }
        }
        which = PART_FIRST;
    }
}

INLINE float row_scale(const struct gpu_batch_gemm_args *a, uint32_t row) {
    if (format_of(a) == BATCH_W8A16 || format_of(a) == BATCH_INT8) {
        return ((const GLOBAL float *)a->scales)[row] * (1.0f / 127.0f);
    }
    return format_of(a) == BATCH_FP8 ? ((const GLOBAL float *)a->scales)[row] * 256.0f : 1.0f;
}

/* What a lane stores of a sixteen: two neighbouring rows of the matrix, the first an even one, for the
 * rows 8 j + 2 t and the next of the input. Outputs have room for n_pad rows. */
struct batch_store {
    float scale[2], bias[2];
    GLOBAL float *to; /* of the first column tile */
    GLOBAL half *to_half;
    uint32_t odd; /* 1; 0: there is no odd row */
};

INLINE struct batch_store store_of(const struct gpu_batch_gemm_args *a, uint32_t row) {
    const uint32_t n_first = thread_index() % 4 * 2;
    const uint32_t odd = row + 1 < a->rows ? 1 : 0;
    return (struct batch_store){
        .scale = {row_scale(a, row), row_scale(a, row + odd)},
        .bias = {a->bias ? (float)a->bias[row] : 0.0f, a->bias ? (float)a->bias[row + odd] : 0.0f},
        .to = a->out + (uint64_t)n_first * a->out_stride + row,
        .to_half = a->out_half + batch_input_index(n_pad_of(a), n_first, row / 2),
        .odd = odd};
}

/* Scaled, and with the bias or what the output holds: all loads before the first store. */
INLINE void complete_tile(const struct gpu_batch_gemm_args *a, const struct batch_store *s,
                          uint32_t tile, float c[4]) {
    const GLOBAL float *from = s->to + (uint64_t)(tile * 8) * a->out_stride;
    UNROLL
    for (uint32_t n = 0; n < 2; n++) {
        const float even = a->epilogue == BATCH_ADD ? from[0] : s->bias[0];
        const float odd = a->epilogue == BATCH_ADD ? from[s->odd] : s->bias[1];
        c[n] = fma_f32(c[n], s->scale[0], even);
        c[2 + n] = fma_f32(c[2 + n], s->scale[1], odd);
        from += a->out_stride;
    }
}

/* As it is; or SiLU(gate) · up, where even rows are gates. */
INLINE void store_tile(const struct gpu_batch_gemm_args *a, const struct batch_store *s,
                       uint32_t tile, const float c[4]) {
    GLOBAL float *to = s->to + (uint64_t)(tile * 8) * a->out_stride;
    UNROLL
    for (uint32_t n = 0; n < 2; n++) {
        if (a->epilogue == BATCH_GATED) {
            const float gated = div_near(c[n], 1.0f + exp_fast(-c[n])) * c[2 + n];
            s->to_half[(tile * 8 + n) * 32] = (half)gated;
            continue;
        }
        to[0] = c[n];
        if (s->odd != 0) {
            to[1] = c[2 + n];
        }
        to += a->out_stride;
    }
}

/* A sixteen's rows, a column tile after the other, in two turns. */
INLINE void store_rows(const struct gpu_batch_gemm_args *a, uint32_t row, float c[TILES][4]) {
    const struct batch_store s = store_of(a, row);
    for (uint32_t turn = 0; turn < known(2); turn++) {
        for (uint32_t tile = 0; tile < known(TILES); tile++) {
            if (tile * 8 < n_pad_of(a)) {
                if (turn == 0) {
                    complete_tile(a, &s, tile, c[0]);
                } else {
                    store_tile(a, &s, tile, c[0]);
                }
            }
            UNROLL
            for (uint32_t i = 0; i < 4; i++) { /* the next one to the front */
                const float first = c[0][i];
                UNROLL
                for (uint32_t j = 0; j + 1 < TILES; j++) {
                    c[j][i] = c[j + 1][i];
                }
                c[TILES - 1][i] = first;
            }
        }
    }
}

/* At the end of a block's work, once for its first and its last tile. Bits 0 and 1: this warp is the last
 * to arrive there, of those with the same rows. */
INLINE uint32_t arrive(const struct batch_work *w) {
    const uint32_t lane = thread_index() % WARP;
    const uint32_t first_tile = w->begin / w->n_chunks;
    const uint32_t tile = lane == 0 ? first_tile : (w->end - 1) / w->n_chunks;
    const struct batch_sharers of = sharers_of(w, tile);
    uint32_t lasts = 0;
    fence_gpu();
    warp_meet();
    if (of.first != of.last && (lane == 0 || (lane == 1 && tile != first_tile))) {
        GLOBAL uint32_t *arrived = w->a->arrived + tile * BATCH_WARPS + w->warp;
        if (atomic_increment(arrived) == of.last - of.first) {
            *arrived = 0; /* for the next launch */
            lasts = 1u << lane;
        }
    }
    lasts = warp_or(lasts);
    fence_gpu();
    return lasts;
}

/* A tile is done as far as this block is concerned; `ends`: the last one of the block. Here is all that
 * joins and stores: once in the text, so that a tile that is the block's own goes by way of its part. */
INLINE void finish(const struct batch_work *w, uint32_t tile, bool ends, struct batch_sums *sums) {
    const uint32_t n_own = n_shares_of(w->a) == 2 ? 2 : 1;
    const struct batch_sharers here = sharers_of(w, tile);
    const bool is_own = here.first == here.last;
    const uint32_t part = tile == w->begin / w->n_chunks ? PART_FIRST : PART_LAST;
    share_sums(w, sums);
    write_part(w, is_own ? PART_OWN : part, sums);
    uint32_t jobs = is_own ? 1u << PART_OWN : 0;
    if (ends) {
        jobs |= arrive(w);
    }
    ROLLED
    for (uint32_t n = 0; n < PARTS * n_own; n++) {
        const uint32_t job = n_own == 2 ? n / 2 : n;
        const uint32_t sixteen = n_own == 2 ? n % 2 : 0;
        if ((jobs >> job & 1) == 0) {
            continue;
        }
        const uint32_t joined = job == PART_OWN     ? tile
                                : job == PART_FIRST ? w->begin / w->n_chunks
                                                    : (w->end - 1) / w->n_chunks;
        struct batch_sharers of = sharers_of(w, joined);
        of.first_part = job == PART_OWN ? PART_OWN : of.first_part;
        float c[TILES][4] = {{0.0f}};
        add_parts(w, sixteen, of, c);
        const uint32_t row =
            joined * tile_rows_of(w->a) + row_of_sums(w, sixteen) + thread_index() % WARP / 4 * 2;
        if (row < w->a->rows) {
            store_rows(w->a, row, c);
        }
    }
}

/* Waits for a stage, and lets it go. Warps that share rows take turns with the steps of a tile; where
 * a stage has fewer steps than sharers, from one stage to the next. */
INLINE void multiply_stage(const struct batch_work *w, uint32_t chunk, struct batch_turn turn,
                           struct batch_sums *sums) {
    const SHARED char *stage = w->stages + turn.slot * w->stage_bytes;
    const uint32_t n_steps = columns_of(w->a) / BATCH_STEP;
    const uint32_t n_shares = n_shares_of(w->a);
    const bool all_busy = n_steps >= n_shares;
    const uint32_t n_mine = all_busy ? n_steps >> (n_shares == 2 ? 1 : 2) : 1;
    const uint32_t first = all_busy ? w->share : (w->share - chunk * n_steps) & (n_shares - 1);
    barrier_wait(w->full + turn.slot, turn.parity);
    ROLLED /* twice as much at once was slower: registers */
        for (uint32_t i = 0; i < n_mine; i++) {
        if (all_busy || first < n_steps) {
            multiply(w, stage, chunk, first + i * n_shares, sums);
        }
    }
    warp_meet();
    if (thread_index() % WARP == 0) {
        barrier_arrive(w->empty + turn.slot);
    }
}

INLINE void multiply_stages(const struct batch_work *w) {
    const struct gpu_batch_gemm_args *a = w->a;
    struct batch_sums sums;
    struct batch_place at = {w->begin / w->n_chunks, w->begin % w->n_chunks};
    struct batch_turn turn = {0, 0};
    struct batch_coming coming = {at, {0, 1}, w->end - w->begin};
    uint32_t is_fresh = known(1); /* no sums yet */
    const uint32_t n_before =
        n_stages_of(a) - 1; /* stages that are fetched before the first product */
    for (uint32_t i = 0; i < w->end - w->begin + n_before; i++) {
        const struct batch_place after = next_place(w, at);
        if (i >= n_before) {
            if (is_fresh != 0) {
                sums = (struct batch_sums){0};
                is_fresh = 0;
            }
            multiply_stage(w, at.chunk, turn, &sums);
        }
        fetch(w, &coming);
        if (i < n_before) {
            continue;
        }
        if (after.tile != at.tile || i + 1 == w->end - w->begin + n_before) {
            finish(w, at.tile, i + 1 == w->end - w->begin + n_before, &sums);
            is_fresh = 1;
        }
        turn = next_turn(w, turn);
        at = after;
    }
}

/* A grid of any size, GPU_BLOCK threads. */
KERNEL eco_batch_gemm(const struct gpu_batch_gemm_args a) {
    const struct batch_work w = work_of_block(&a);
    if (is_nf4(&a)) {
        fill_table(w.table, (SHARED half *)w.input_scales);
    }
    if (format_of(&a) == BATCH_NF4_DQ) {
        fill_map(&a, (SHARED float *)(w.table + BATCH_PAIRS_BYTES));
    }
    if (format_of(&a) == BATCH_INT8 && thread_index() < n_pad_of(&a)) {
        w.input_scales[thread_index()] = a.input_scales[thread_index()];
    }
    if (thread_index() < n_stages_of(&a)) {
        barrier_init(w.full + thread_index(), GPU_BLOCK);
        barrier_init(w.empty + thread_index(), BATCH_WARPS);
    }
    block_barrier();
    multiply_stages(&w);
}
