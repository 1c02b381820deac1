/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products for up to 64 rows of input at once, on tensor cores: every weight is read from
 * memory once for all of them. Ladder (docs/kernels-batch.md has predictions and outcomes):
 *   reference  src/kernels/cpu, a row after the other
 *   v1         here: weights and input go to shared memory by copies that do not wait, several
 *              stages ahead; from there each lane takes 16, 8 or 4 bytes of a row (8 weights) and
 *              makes of them, in registers, what it feeds to two m16n8k16 steps, since the order of
 *              the columns within a sum is free; sums in FP32; blocks share the work evenly whatever
 *              the rows divide by, and what they share is joined in a fixed order
 *
 * Whole numbers and FP8 are exact in FP16, so scales of rows and blocks stay outside the products.
 * Only NF4's sixteen values are rounded to FP16 (by 2^-12 of their size at most).
 *
 * A stage of a tile: [tile rows][row bytes] of weights, then [columns / 32][n_pad][32] of input. Of
 * 16 rows in shared memory the first eight are the even ones of the matrix, so that a lane's sums
 * belong to neighbouring rows (gate and up). The 16-byte pieces of a row are exchanged by a rule of
 * the format's width, so that no two lanes of a load meet in a bank.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_BATCH_GEMM_H
#define ECOCOMPUTE_KERNELS_GPU_BATCH_GEMM_H

#include "batch_args.h"
#include "kernels/quant.h"
#include "mma.h"

enum { BATCH_WARPS = GPU_BLOCK / WARP, BATCH_STEP = 32 };

typedef uint32_t vec2 __attribute__((vector_size(8)));

/* What the text was specialised for: cuda_batch.c writes over these constants before the driver
 * compiles it for a format and a layout, so that code of others is gone then. */
#ifndef ECO_GPU_EMULATED
#define BATCH_CONSTANT(name, mark)                              \
    INLINE uint32_t name(const struct gpu_batch_gemm_args *a) { \
        uint32_t value;                                         \
        (void)a;                                                \
        __asm__("mov.u32 %0, " mark ";" : "=r"(value));         \
        return value;                                           \
    }
BATCH_CONSTANT(format_of, "0x0ec0f100")
BATCH_CONSTANT(tile_rows_of, "0x0ec0f101")
BATCH_CONSTANT(columns_of, "0x0ec0f102")
BATCH_CONSTANT(n_stages_of, "0x0ec0f103")
#else
#define BATCH_CONSTANT(name, field)                             \
    INLINE uint32_t name(const struct gpu_batch_gemm_args *a) { \
        return a->field;                                        \
    }
BATCH_CONSTANT(format_of, format)
BATCH_CONSTANT(tile_rows_of, tile_rows)
BATCH_CONSTANT(columns_of, columns)
BATCH_CONSTANT(n_stages_of, n_stages)
#endif
#undef BATCH_CONSTANT

INLINE float float_of(uint32_t bits) {
    const union {
        uint32_t bits;
        float value;
    } f = {.bits = bits};
    return f.value;
}

/* MARK: - From codes to pairs of FP16 */

/* Bytes 2 k, 2 k + 1 of a word of signed bytes: 1024 + 128 + b in FP16 has b's bits at its end. */
INLINE uint32_t pair_of_int8(uint32_t word, uint32_t k) {
    const uint32_t spread =
        byte_permute(word ^ 0x80808080u, 0x64646464u, k == 0 ? 0x4140u : 0x4342u);
    return half2_sub(spread, 0x64806480u);
}
/* E4M3 has FP16's layout, one bit of exponent less and a bias of 8 less: times 256 at the end. */
INLINE uint32_t pair_of_fp8(uint32_t word, uint32_t k) {
    const uint32_t spread = byte_permute(word, 0, k == 0 ? 0x1404u : 0x3424u);
    return (spread & 0x80008000u) | (spread >> 1 & 0x3f803f80u);
}
INLINE uint32_t pair_of_bf16(uint32_t word) {
    const union {
        uint32_t bits;
        float value;
    } low = {.bits = word << 16}, high = {.bits = word & 0xffff0000u};
    return half2_of(low.value, high.value);
}
/* Byte k of a word: low nibble - 8, high nibble - 8. In FP16 1024 + n and 1024 + 16 n have the
 * nibble's bits; times 1 and 1/16, less 1032 and 72, which is exact. */
INLINE uint32_t pair_of_q4(uint32_t word, uint32_t k) {
    const uint32_t twice = byte_permute(word, 0, 0x4040u + 0x101u * k);
    return half2_fma((twice & 0x00f0000fu) | 0x64006400u, 0x2c003c00u, 0xd480e408u);
}

/* MARK: - A block's work */

INLINE uint32_t row_bytes_of(const struct gpu_batch_gemm_args *a) {
    return batch_row_bytes(format_of(a), columns_of(a));
}
/* Warps that share a row's columns. */
INLINE uint32_t n_shares_of(const struct gpu_batch_gemm_args *a) {
    return BATCH_WARPS * BATCH_WARP_ROWS / tile_rows_of(a);
}
/* Rows whose pieces the block takes at once, a multiple of 16. */
INLINE uint32_t n_slots_of(const struct gpu_batch_gemm_args *a) {
    return GPU_BLOCK * 16 / row_bytes_of(a);
}

struct batch_work {
    const struct gpu_batch_gemm_args *a;
    SHARED char *table; /* NF4: pairs of values, [256 bytes][32 lanes] */
    SHARED float *sums; /* a tile's, when it is finished: [n_pad][tile rows] */
    SHARED char *stages;
    const SHARED float *input_scales; /* INT8: [n_pad] */
    uint32_t stage_bytes;
    uint32_t n_chunks;          /* stages of a tile */
    uint32_t begin, end, total; /* (tile, chunk) pairs: this block's, all */
    uint32_t warp_row, share;
    /* This thread's pieces of a stage: the first one's row of the tile and places in memory and in the
     * stage; the others follow n_slots_of rows further each. */
    uint32_t copy_row, copy_from, copy_to, stride_bytes;
};

struct batch_place { /* a pair */
    uint32_t tile, chunk;
};

static SHARED bool batch_last;
static SHARED half batch_nf4_values[NF4_CODES];
static SHARED float batch_input_scales[BATCH_MAX];

/* Where piece c of the row at `slot` lies: lanes g = slot % 8 of a load take 64 bytes (16-bit), 32
 * (8-bit) or 16 each. */
INLINE uint32_t piece_at(const struct batch_work *w, uint32_t c, uint32_t slot) {
    if (format_of(w->a) <= BATCH_BF16) {
        return c ^ ((slot & 1) << 2);
    }
    return c ^ (row_bytes_of(w->a) == 64 ? slot >> 1 & 3 : (slot & 3) << 1);
}

/* The row of a tile that lies at `slot` in shared memory. */
INLINE uint32_t row_at(uint32_t slot) {
    return (slot & ~15u) + ((slot & 7) << 1) + (slot >> 3 & 1);
}

INLINE struct batch_work work_of_block(const struct gpu_batch_gemm_args *a, uint32_t n_pad) {
    struct batch_work w = {.a = a};
    const uint32_t warp = thread_index() / WARP;
    const uint32_t row_warps = tile_rows_of(a) / BATCH_WARP_ROWS;
    w.warp_row = warp % row_warps * BATCH_WARP_ROWS;
    w.share = warp / row_warps;
    w.n_chunks = (a->cols + columns_of(a) - 1) / columns_of(a);
    w.total = (a->rows + tile_rows_of(a) - 1) / tile_rows_of(a) * w.n_chunks;
    w.begin = w.total * block_index() / grid_size();
    w.end = w.total * (block_index() + 1) / grid_size();
    SHARED char *memory = (SHARED char *)shared_dynamic;
    w.stages = memory + batch_fixed_bytes(format_of(a), tile_rows_of(a), n_pad);
    w.stage_bytes = batch_stage_bytes(format_of(a), columns_of(a), tile_rows_of(a), n_pad);
    w.sums = (SHARED float *)memory;
    w.table = memory + tile_rows_of(a) * n_pad * 4;
    w.input_scales = batch_input_scales;
    const uint32_t n_pieces = row_bytes_of(a) / 16;
    const uint32_t slot = thread_index() / n_pieces;
    const uint32_t c = thread_index() % n_pieces;
    w.stride_bytes = (uint32_t)((uint64_t)a->stride * row_bytes_of(a) / columns_of(a));
    w.copy_row = row_at(slot);
    w.copy_from = c * 16;
    w.copy_to = slot * row_bytes_of(a) + piece_at(&w, c, slot) * 16;
    return w;
}

INLINE struct batch_place next_place(const struct batch_work *w, struct batch_place at) {
    const bool ends = at.chunk + 1 == w->n_chunks;
    return (struct batch_place){at.tile + (ends ? 1 : 0), ends ? 0 : at.chunk + 1};
}

/* At most 16 kB, by all threads. */
INLINE void copy_input(SHARED char *to, const GLOBAL char *from, uint32_t n_bytes) {
    UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t p = (i * GPU_BLOCK + thread_index()) * 16;
        if (p < n_bytes) {
            copy_async(to + p, from + p, true);
        }
    }
}

INLINE void fetch(const struct batch_work *w, uint32_t n_pad, SHARED char *stage,
                  struct batch_place at) {
    const struct gpu_batch_gemm_args *a = w->a;
    const uint32_t offset = at.chunk * row_bytes_of(w->a) + w->copy_from;
    const uint32_t row = at.tile * tile_rows_of(a) + w->copy_row;
    const GLOBAL char *from =
        (const GLOBAL char *)a->weights + (uint64_t)row * w->stride_bytes + offset;
    SHARED char *to_row = stage + w->copy_to;
    /* Written out, so that the driver's compiler keeps as many as there are. */
    UNROLL
    for (uint32_t i = 0; i < 8; i++) {
        if (i * n_slots_of(a) < tile_rows_of(a)) {
            copy_async(to_row + i * GPU_BLOCK * 16,
                       from + (uint64_t)(i * n_slots_of(a)) * w->stride_bytes,
                       offset < w->stride_bytes && row + i * n_slots_of(a) < a->rows);
        }
    }
    SHARED char *to = stage + tile_rows_of(a) * row_bytes_of(a);
    const uint32_t input_bytes = columns_of(a) * n_pad * 2;
    copy_input(to, (const GLOBAL char *)a->input + (uint64_t)at.chunk * input_bytes, input_bytes);
    if (format_of(a) == BATCH_INT8) {
        copy_input(to + input_bytes,
                   (const GLOBAL char *)a->input_codes + (uint64_t)at.chunk * (input_bytes / 2),
                   input_bytes / 2);
    }
}

INLINE void fill_table(SHARED char *table) {
    const float values[NF4_CODES] = {NF4_VALUES};
    if (thread_index() == 0) {
        UNROLL
        for (uint32_t code = 0; code < NF4_CODES; code++) {
            batch_nf4_values[code] = (half)values[code];
        }
    }
    block_barrier();
    SHARED half *pairs = (SHARED half *)table;
    for (uint32_t i = thread_index(); i < 256 * WARP; i += GPU_BLOCK) {
        pairs[2 * i] = batch_nf4_values[i / WARP & 15];
        pairs[2 * i + 1] = batch_nf4_values[i / WARP >> 4];
    }
}

/* MARK: - 32 columns of 32 rows, one warp */

/* A lane's weights: 16-column steps, halves of 16 rows, as mma's A. */
struct batch_operands {
    uint32_t a[2][2][4];
};

/* Pair k of row g + 8 i. */
INLINE void set_operand(struct batch_operands *o, uint32_t i, uint32_t k, uint32_t pair) {
    o->a[k / 2][i / 2][k % 2 * 2 + i % 2] = pair;
}

/* What a lane takes of its four rows g + 8 i: columns 8 t … 8 t + 7, 16, 8 or 4 bytes. */
struct batch_codes {
    uint32_t word[4][4];
};

INLINE struct batch_codes load_codes(const struct batch_work *w, const SHARED char *rows,
                                     uint32_t step) {
    const uint32_t lane = thread_index() % WARP;
    const uint32_t t = lane % 4;
    const SHARED char *row = rows + lane / 4 * row_bytes_of(w->a);
    struct batch_codes codes;
    if (format_of(w->a) <= BATCH_BF16) {
        const SHARED char *at = row + piece_at(w, 4 * step + t, lane / 4) * 16;
        UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            const vec4 v = *(const SHARED vec4 *)(at + i * 8 * row_bytes_of(w->a));
            UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                codes.word[i][k] = v[k];
            }
        }
    } else if (row_bytes_of(w->a) == 128) {
        const SHARED char *at = row + piece_at(w, 2 * step + t / 2, lane / 4) * 16 + t % 2 * 8;
        UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            const vec2 v = *(const SHARED vec2 *)(at + i * 8 * row_bytes_of(w->a));
            codes.word[i][0] = v[0];
            codes.word[i][1] = v[1];
        }
    } else {
        const SHARED char *at = row + piece_at(w, step, lane / 4) * 16 + t * 4;
        UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            codes.word[i][0] = *(const SHARED uint32_t *)(at + i * 8 * row_bytes_of(w->a));
        }
    }
    return codes;
}

/* The format is asked once: loads of a format then go out together. */
INLINE struct batch_operands unpack(const struct batch_work *w, struct batch_codes codes) {
    const SHARED char *table = w->table + thread_index() % WARP * 4;
    struct batch_operands o;
#define EACH_PAIR(pair)                    \
    UNROLL                                 \
    for (uint32_t i = 0; i < 4; i++) {     \
        UNROLL                             \
        for (uint32_t k = 0; k < 4; k++) { \
            set_operand(&o, i, k, (pair)); \
        }                                  \
    }
    switch (format_of(w->a)) {
    case BATCH_FP16:
        EACH_PAIR(codes.word[i][k])
        break;
    case BATCH_BF16:
        EACH_PAIR(pair_of_bf16(codes.word[i][k]))
        break;
    case BATCH_FP8:
        EACH_PAIR(pair_of_fp8(codes.word[i][k / 2], k % 2))
        break;
    case BATCH_NF4:
        EACH_PAIR(*(const SHARED uint32_t *)(table + (codes.word[i][0] >> (8 * k) & 0xff) * 128))
        break;
    case BATCH_Q4_0:
        EACH_PAIR(pair_of_q4(codes.word[i][0], k))
        break;
    default: /* W8A16, INT8, Q8_0 */
        EACH_PAIR(pair_of_int8(codes.word[i][k / 2], k % 2))
        break;
    }
#undef EACH_PAIR
    return o;
}

/* A warp's sums, 32 rows by n_pad: as mma's C. */
struct batch_sums {
    float c[BATCH_MAX / 8][2][4];
};

INLINE bool has_blocks(const struct batch_work *w) {
    return format_of(w->a) >= BATCH_Q8_0;
}

/* Column tiles that are worked on together: their products do not wait for one another. */
enum { BATCH_TOGETHER = 4 };

INLINE void multiply_some(uint32_t n, const struct batch_operands *o, const vec4 b[BATCH_TOGETHER],
                          float c[BATCH_TOGETHER][2][4]) {
    UNROLL
    for (uint32_t k = 0; k < 2; k++) {
        UNROLL
        for (uint32_t i = 0; i < n; i++) {
            mma_f16(c[i][0], o->a[k][0], b[i][2 * k], b[i][2 * k + 1]);
            mma_f16(c[i][1], o->a[k][1], b[i][2 * k], b[i][2 * k + 1]);
        }
    }
}

/* INT8: the codes' products, times the scales of the input's rows, which are the sums' columns. */
INLINE void multiply_codes(const struct batch_work *w, uint32_t n_pad, const SHARED char *input,
                           const struct batch_codes *codes, struct batch_sums *sums) {
    const uint32_t lane = thread_index() % WARP;
    UNROLL
    for (uint32_t j = 0; j < n_pad / 8; j++) {
        const vec2 b = ((const SHARED vec2 *)input)[j * WARP + lane];
        const float scale[2] = {w->input_scales[j * 8 + lane % 4 * 2],
                                w->input_scales[j * 8 + lane % 4 * 2 + 1]};
        UNROLL
        for (uint32_t m = 0; m < 2; m++) {
            const uint32_t a[4] = {codes->word[2 * m][0], codes->word[2 * m + 1][0],
                                   codes->word[2 * m][1], codes->word[2 * m + 1][1]};
            int32_t part[4] = {0, 0, 0, 0};
            mma_s8(part, a, b[0], b[1]);
            UNROLL
            for (uint32_t i = 0; i < 4; i++) {
                sums->c[j][m][i] = fma_f32((float)part[i], scale[i % 2], sums->c[j][m][i]);
            }
        }
    }
}

INLINE void multiply(const struct batch_work *w, uint32_t n_pad, const SHARED char *stage,
                     uint32_t step, const float scales[4], struct batch_sums *sums) {
    const SHARED char *rows = stage + w->warp_row * row_bytes_of(w->a);
    const SHARED vec4 *input =
        (const SHARED vec4 *)(stage + tile_rows_of(w->a) * row_bytes_of(w->a)) + step * n_pad * 4 +
        thread_index() % WARP;
    const uint32_t n = n_pad / 8 < BATCH_TOGETHER ? n_pad / 8 : BATCH_TOGETHER;
    const struct batch_codes codes = load_codes(w, rows, step);
    const struct batch_operands o = unpack(w, codes);
    if (format_of(w->a) == BATCH_INT8) {
        const SHARED char *input_codes = stage + tile_rows_of(w->a) * row_bytes_of(w->a) +
                                         columns_of(w->a) * n_pad * 2 + step * n_pad * BATCH_STEP;
        multiply_codes(w, n_pad, input_codes, &codes, sums);
    }
    UNROLL
    for (uint32_t first = 0; first < n_pad / 8; first += n) {
        vec4 b[BATCH_TOGETHER];
        UNROLL
        for (uint32_t i = 0; i < n; i++) {
            b[i] = input[(first + i) * WARP];
        }
        if (!has_blocks(w)) {
            multiply_some(n, &o, b, sums->c + first);
            continue;
        }
        float part[BATCH_TOGETHER][2][4] = {{{0.0f}}};
        multiply_some(n, &o, b, part);
        UNROLL
        for (uint32_t i = 0; i < n * 8; i++) {
            float *c = &sums->c[first + i / 8][i / 4 % 2][i % 4];
            *c = fma_f32(part[i / 8][i / 4 % 2][i % 4], scales[i % 8 / 2], *c);
        }
    }
}

/* Scales of the lane's four rows for 32 columns. */
INLINE void load_scales(const struct batch_work *w, struct batch_place at, uint32_t step,
                        float out[4]) {
    const struct gpu_batch_gemm_args *a = w->a;
    const uint32_t columns = at.chunk * columns_of(w->a) + step * BATCH_STEP;
    const uint32_t block = columns / (format_of(a) == BATCH_NF4 ? NF4_BLOCK : GGML_BLOCK);
    const uint32_t first = at.tile * tile_rows_of(a) + w->warp_row + thread_index() % WARP / 4 * 2;
    UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t row = min_u32(first + 16 * (i / 2) + i % 2, a->rows - 1);
        const uint32_t place = row * a->n_blocks + min_u32(block, a->n_blocks - 1);
        const float scale = format_of(a) == BATCH_NF4
                                ? ((const GLOBAL float *)a->scales)[place]
                                : (float)((const GLOBAL half *)a->scales)[place];
        out[i] = block < a->n_blocks ? scale : 0.0f;
    }
}

/* MARK: - Joining and storing
 *
 * A tile's sums lie as [n_pad][tile rows]: what thread t holds in its register i at [i][t]. So they
 * are written and read by neighbouring threads side by side, and the loops over them need few
 * registers. */

/* The block that has pair u: blocks begin at total · b / grid, rounded down. */
INLINE uint32_t block_of(const struct batch_work *w, uint32_t u) {
    return ((u + 1) * grid_size() - 1) / w->total;
}

INLINE GLOBAL float *part_of(const struct batch_work *w, uint32_t n_pad, uint32_t block,
                             bool is_second) {
    const uint64_t which = 2 * block + (is_second ? 1 : 0);
    return w->a->part + which * (tile_rows_of(w->a) * n_pad);
}

/* All warps' sums into shared memory; where warps share rows, one after the other. */
INLINE void collect(const struct batch_work *w, uint32_t n_pad, const struct batch_sums *sums) {
    SHARED float *mine = w->sums + (thread_index() & (tile_rows_of(w->a) - 1));
    for (uint32_t share = 0; share < n_shares_of(w->a); share++) {
        if (w->share == share) {
            const uint32_t keep = share == 0 ? 0 : 0xffffffffu;
            uint32_t others[BATCH_MAX]; /* all on their way before the first is needed */
            UNROLL
            for (uint32_t i = 0; i < n_pad; i++) {
                others[i] = ((const SHARED uint32_t *)mine)[i * tile_rows_of(w->a)] & keep;
            }
            UNROLL
            for (uint32_t i = 0; i < n_pad; i++) {
                mine[i * tile_rows_of(w->a)] =
                    float_of(others[i]) + sums->c[i / 8][i / 4 % 2][i % 4];
            }
        }
        block_barrier();
    }
}

/* Writes this block's part of a tile that several share; true in the block that comes last. */
INLINE bool arrive(const struct batch_work *w, uint32_t n_pad, uint32_t tile, bool is_second,
                   uint32_t n_others) {
    GLOBAL vec4 *mine = (GLOBAL vec4 *)part_of(w, n_pad, block_index(), is_second);
    for (uint32_t i = thread_index(); i < tile_rows_of(w->a) * n_pad / 4; i += GPU_BLOCK) {
        mine[i] = ((const SHARED vec4 *)w->sums)[i];
    }
    fence_gpu();
    block_barrier();
    if (thread_index() == 0) {
        batch_last = atomic_increment(w->a->arrived + tile) == n_others;
        if (batch_last) {
            w->a->arrived[tile] = 0; /* for the next launch */
        }
    }
    block_barrier();
    const bool is_last = batch_last;
    fence_gpu();
    return is_last;
}

INLINE float row_scale(const struct gpu_batch_gemm_args *a, uint32_t row) {
    if (format_of(a) == BATCH_W8A16 || format_of(a) == BATCH_INT8) {
        return ((const GLOBAL float *)a->scales)[row] * (1.0f / 127.0f);
    }
    return format_of(a) == BATCH_FP8 ? ((const GLOBAL float *)a->scales)[row] * 256.0f : 1.0f;
}

/* Sums of two neighbouring rows, the first an even one, for four rows n, n + 2, n + 4, n + 6 of the
 * input. */
struct batch_item {
    float even[4], odd[4];
};

/* What a thread finishes at once: 128 rows of a tile are BATCH_ITEMS of every thread at most, and
 * what it must read for them is on its way together. */
enum { BATCH_ITEMS = BATCH_MAX / 16, BATCH_ITEM_ROWS = 128 };

struct batch_item_place {
    uint32_t at; /* in the tile's sums: the even row's; the odd one's are two registers further */
    uint32_t row, n;
};

INLINE struct batch_item_place item_place(const struct batch_work *w, uint32_t tile,
                                          uint32_t item) {
    const uint32_t shift = tile_rows_of(w->a) == 128 ? 5 : 6; /* four rows an item */
    const uint32_t t = (item & ((1u << shift) - 1)) * 4;
    const uint32_t pair = item >> shift;
    return (struct batch_item_place){.at = (pair / 2 * 4 + pair % 2) * tile_rows_of(w->a) + t,
                                     .row = tile * tile_rows_of(w->a) + t / WARP * BATCH_WARP_ROWS +
                                            pair / 2 % 2 * 16 + t % WARP / 4 * 2,
                                     .n = pair / 4 * 8 + pair % 2};
}

INLINE void add_item(struct batch_item *item, const vec4 even, const vec4 odd) {
    UNROLL
    for (uint32_t c = 0; c < 4; c++) {
        item->even[c] += float_of(even[c]);
        item->odd[c] += float_of(odd[c]);
    }
}

/* What the output holds, or the bias. */
INLINE void load_base(const struct gpu_batch_gemm_args *a, const struct batch_item_place *p,
                      struct batch_item *out) {
    *out = (struct batch_item){{0.0f}, {0.0f}};
    if (a->epilogue == BATCH_GATED || p->row >= a->rows) {
        return;
    }
    const bool has_odd = p->row + 1 < a->rows;
    if (a->epilogue == BATCH_STORE) {
        const float even = a->bias ? (float)a->bias[p->row] : 0.0f;
        const float odd = a->bias && has_odd ? (float)a->bias[p->row + 1] : 0.0f;
        UNROLL
        for (uint32_t c = 0; c < 4; c++) {
            out->even[c] = even;
            out->odd[c] = odd;
        }
        return;
    }
    const GLOBAL float *from = a->out + (uint64_t)p->n * a->out_stride + p->row;
    UNROLL
    for (uint32_t c = 0; c < 4; c++) {
        if (p->n + 2 * c < a->n_rows) {
            out->even[c] = from[0];
            out->odd[c] = has_odd ? from[1] : 0.0f;
        }
        from += 2 * a->out_stride;
    }
}

INLINE void store_item(const struct gpu_batch_gemm_args *a, uint32_t n_pad,
                       const struct batch_item_place *p, struct batch_item sum,
                       const struct batch_item *base) {
    if (p->row >= a->rows) {
        return;
    }
    const bool has_odd = p->row + 1 < a->rows;
    const float even_scale = row_scale(a, p->row);
    const float odd_scale = row_scale(a, has_odd ? p->row + 1 : p->row);
    GLOBAL float *to = a->out + (uint64_t)p->n * a->out_stride + p->row;
    GLOBAL half *to_half = a->out_half + batch_input_index(n_pad, p->n, p->row / 2);
    UNROLL
    for (uint32_t c = 0; c < 4; c++) {
        sum.even[c] = fma_f32(sum.even[c], even_scale, base->even[c]);
        sum.odd[c] = fma_f32(sum.odd[c], odd_scale, base->odd[c]);
        if (p->n + 2 * c < a->n_rows) {
            if (a->epilogue == BATCH_GATED) {
                to_half[2 * c * 32] =
                    (half)(sum.even[c] / (1.0f + exp_fast(-sum.even[c])) * sum.odd[c]);
            } else {
                to[0] = sum.even[c];
                if (has_odd) {
                    to[1] = sum.odd[c];
                }
            }
        }
        to += 2 * a->out_stride;
    }
}

/* The parts of blocks first … last, in this order, added to the items. */
INLINE void add_parts(const struct batch_work *w, uint32_t n_pad, uint32_t tile_begin,
                      uint32_t first, uint32_t last,
                      const struct batch_item_place place[BATCH_ITEMS],
                      struct batch_item sum[BATCH_ITEMS]) {
    UNROLL_TWICE
    for (uint32_t b = first; b <= last; b++) {
        const GLOBAL float *part = part_of(w, n_pad, b, w->total * b / grid_size() < tile_begin);
        vec4 even[BATCH_ITEMS];
        vec4 odd[BATCH_ITEMS];
        UNROLL
        for (uint32_t i = 0; i < n_pad / 16; i++) {
            even[i] = *(const GLOBAL vec4 *)(part + place[i].at);
            odd[i] = *(const GLOBAL vec4 *)(part + place[i].at + 2 * tile_rows_of(w->a));
        }
        UNROLL
        for (uint32_t i = 0; i < n_pad / 16; i++) {
            add_item(&sum[i], even[i], odd[i]);
        }
    }
}

INLINE void finish(const struct batch_work *w, uint32_t n_pad, uint32_t tile, bool is_second,
                   const struct batch_sums *sums) {
    const struct gpu_batch_gemm_args *a = w->a;
    const uint32_t tile_begin = tile * w->n_chunks;
    const uint32_t first = block_of(w, tile_begin);
    const uint32_t last = block_of(w, tile_begin + w->n_chunks - 1);
    collect(w, n_pad, sums);
    if (first != last && !arrive(w, n_pad, tile, is_second, last - first)) {
        return;
    }
    for (uint32_t rows = 0; rows < tile_rows_of(a); rows += BATCH_ITEM_ROWS) {
        struct batch_item_place place[BATCH_ITEMS];
        struct batch_item base[BATCH_ITEMS];
        struct batch_item sum[BATCH_ITEMS] = {0};
        UNROLL
        for (uint32_t i = 0; i < n_pad / 16; i++) {
            const uint32_t item = (rows / BATCH_ITEM_ROWS * (n_pad / 16) + i) * GPU_BLOCK;
            place[i] = item_place(w, tile, item + thread_index());
            load_base(a, &place[i], &base[i]);
        }
        if (first != last) {
            add_parts(w, n_pad, tile_begin, first, last, place, sum);
        } else {
            UNROLL
            for (uint32_t i = 0; i < n_pad / 16; i++) {
                add_item(&sum[i], *(const SHARED vec4 *)(w->sums + place[i].at),
                         *(const SHARED vec4 *)(w->sums + place[i].at + 2 * tile_rows_of(a)));
            }
        }
        UNROLL
        for (uint32_t i = 0; i < n_pad / 16; i++) {
            store_item(a, n_pad, &place[i], sum[i], &base[i]);
        }
    }
}

/* A grid of any size, GPU_BLOCK threads. */
INLINE void batch_gemm(const struct gpu_batch_gemm_args *a, uint32_t n_pad) {
    const struct batch_work w = work_of_block(a, n_pad);
    const uint32_t n_steps = columns_of(a) / BATCH_STEP;
    const uint32_t n_ahead = n_stages_of(a) - 1;
    const uint32_t n_units = w.end - w.begin;
    if (format_of(a) == BATCH_NF4) {
        fill_table(w.table);
    }
    if (format_of(a) == BATCH_INT8 && thread_index() < n_pad) {
        batch_input_scales[thread_index()] = a->input_scales[thread_index()];
    }
    struct batch_sums sums = {0};
    struct batch_place at = {w.begin / w.n_chunks, w.begin % w.n_chunks};
    struct batch_place coming = at; /* what is fetched next, and where to */
    uint32_t now = 0;
    uint32_t free = 0;
    bool is_second = false; /* this block has finished a tile */
    float scales[4] = {0.0f};
    if (has_blocks(&w) && n_units > 0) {
        load_scales(&w, at, w.share, scales);
    }
    for (uint32_t i = 0; i < n_units + n_ahead; i++) {
        copy_wait(n_ahead - 1);
        block_barrier();
        if (i < n_units) {
            fetch(&w, n_pad, w.stages + free * w.stage_bytes, coming);
            coming = next_place(&w, coming);
            free = free == n_ahead ? 0 : free + 1;
        }
        copy_commit();
        if (i < n_ahead) {
            continue;
        }
        const SHARED char *stage = w.stages + now * w.stage_bytes;
        const struct batch_place after = next_place(&w, at);
        for (uint32_t step = w.share; step < n_steps; step += n_shares_of(a)) {
            float later[4] = {0.0f}; /* the next step's scales are on their way during this one */
            const bool here = step + n_shares_of(a) < n_steps;
            if (has_blocks(&w)) {
                load_scales(&w, here ? at : after, here ? step + n_shares_of(a) : w.share, later);
            }
            multiply(&w, n_pad, stage, step, scales, &sums);
            UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                scales[k] = later[k];
            }
        }
        now = now == n_ahead ? 0 : now + 1;
        if (after.tile != at.tile || i + 1 == n_units + n_ahead) {
            finish(&w, n_pad, at.tile, is_second, &sums);
            sums = (struct batch_sums){0};
            is_second = true;
        }
        at = after;
    }
}

#endif
