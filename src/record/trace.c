/* SPDX-License-Identifier: Apache-2.0
 *
 * Power traces as CSV. Writing rounds to the printed decimals; reading is strict and locale-free, and what we wrote
 * reads back so that writing it again gives the same bytes.
 */
#include "ecocompute/trace.h"

#include "core/alloc.h"
#include "core/num.h"
#include "core/str.h"

#include <assert.h>
#include <string.h>

static const char trace_header[] = "t_s,power_w,energy_j,tokens,temp_c,block,phase";

enum {
    POWER_DECIMALS = 3,
    ENERGY_DECIMALS = 3,
    TOKENS_DECIMALS = 3,
    TEMP_DECIMALS = 1,
    TIME_DECIMALS = 6,
    TIME_DECIMALS_READ_MAX = 9,
    TIME_S_MAX = 1000000000, /* 31 years: beyond is nonsense, and below nothing overflows */
    N_COLUMNS = 7
};

/* ---- Writing ---------------------------------------------------------------------------------- */

void eco_trace_write_header(eco_text *out) {
    ecoi_text_add(out, trace_header, sizeof trace_header - 1);
    ecoi_text_add_char(out, '\n');
}

/* Seconds to 1 us, halves away from zero. */
static void write_time(eco_text *out, int64_t t_ns) {
    const uint64_t magnitude_ns = t_ns < 0 ? (uint64_t)0 - (uint64_t)t_ns : (uint64_t)t_ns;
    uint64_t t_us = magnitude_ns / 1000 + (magnitude_ns % 1000 >= 500 ? 1 : 0);
    if (t_ns < 0 && t_us != 0) {
        ecoi_text_add_char(out, '-');
    }
    char digits[ECOI_NUM_MAX];
    ecoi_text_add(out, digits, ecoi_num_write_u64(t_us / 1000000, digits));
    ecoi_text_add_char(out, '.');
    char fraction[TIME_DECIMALS];
    t_us %= 1000000;
    for (size_t i = TIME_DECIMALS; i-- > 0; t_us /= 10) {
        fraction[i] = (char)('0' + t_us % 10);
    }
    ecoi_text_add(out, fraction, sizeof fraction);
}

static void write_reading(eco_text *out, eco_reading reading, int decimals) {
    ecoi_text_add_char(out, ',');
    if (eco_reading_present(reading)) {
        ecoi_text_add_fixed(out, reading.value, decimals);
    }
}

void eco_trace_write_rows(eco_text *out, const eco_sample *rows, size_t n, int64_t origin_ns) {
    for (size_t i = 0; i < n; i++) {
        const eco_sample *const row = &rows[i];
        write_time(out, row->t_ns - origin_ns);
        write_reading(out, row->power_w, POWER_DECIMALS);
        write_reading(out, row->energy_j, ENERGY_DECIMALS);
        write_reading(out, row->tokens, TOKENS_DECIMALS);
        write_reading(out, row->temp_c, TEMP_DECIMALS);
        ecoi_text_add_char(out, ',');
        ecoi_text_add_i64(out, row->block);
        ecoi_text_add_char(out, ',');
        ecoi_text_add_z(out, eco_phase_name(row->phase));
        ecoi_text_add_char(out, '\n');
    }
}

/* ---- Reading ---------------------------------------------------------------------------------- */

typedef struct parser {
    const char *name;
    size_t line; /* from 1 */
    eco_error *err;
} parser;

typedef struct cell {
    const char *text;
    size_t length;
} cell;

static eco_status fail(const parser *in, const char *what, const char *message) {
    return eco_error_set(in->err, ECO_E_PARSE, 0, "%s:%zu: %s%s", in->name, in->line, what,
                         message);
}

/* Seconds with at most nine decimals, exactly; no binary fraction comes between. */
static bool parse_time(cell from, int64_t *t_ns) {
    *t_ns = 0;
    const bool negative = from.length > 0 && from.text[0] == '-';
    const char *text = from.text + (negative ? 1 : 0);
    size_t length = from.length - (negative ? 1 : 0);
    const char *const point = length == 0 ? NULL : memchr(text, '.', length);
    const size_t n_whole = point == NULL ? length : (size_t)(point - text);
    uint64_t whole_s = 0;
    if (ecoi_num_parse_u64(text, n_whole, &whole_s) != ECO_OK || whole_s > TIME_S_MAX) {
        return false;
    }
    int64_t fraction_ns = 0;
    if (point != NULL) {
        const size_t n_fraction = length - n_whole - 1;
        if (n_fraction == 0 || n_fraction > TIME_DECIMALS_READ_MAX) {
            return false;
        }
        for (size_t i = 0; i < TIME_DECIMALS_READ_MAX; i++) {
            const char c = i < n_fraction ? point[1 + i] : '0';
            if (c < '0' || c > '9') {
                return false;
            }
            fraction_ns = fraction_ns * 10 + (c - '0');
        }
    }
    const int64_t magnitude_ns = (int64_t)whole_s * 1000000000 + fraction_ns;
    *t_ns = negative ? -magnitude_ns : magnitude_ns;
    return true;
}

static eco_status parse_reading(const parser *in, const char *column, cell from, eco_reading *out) {
    *out = eco_reading_absent(ECO_ABSENT_NOT_READ);
    if (from.length == 0) {
        return ECO_OK;
    }
    double value = 0;
    if (ecoi_num_parse(from.text, from.length, &value) != ECO_OK) {
        return fail(in, column, ": expected a number or nothing");
    }
    *out = eco_reading_of(value);
    return ECO_OK;
}

static eco_status split_line(const parser *in, const char *line, size_t length,
                             cell cells[N_COLUMNS]) {
    if (memchr(line, '\r', length) != NULL) {
        return fail(in, "", "carriage return: lines must end with a line feed only");
    }
    size_t n = 0, begin = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && line[i] != ',') {
            continue;
        }
        if (n == N_COLUMNS) {
            return fail(in, "", "more than 7 columns");
        }
        cells[n++] = (cell){.text = line + begin, .length = i - begin};
        begin = i + 1;
    }
    return n == N_COLUMNS ? ECO_OK : fail(in, "", "fewer than 7 columns");
}

static eco_status parse_row(const parser *in, const char *line, size_t length, eco_sample *row) {
    cell cells[N_COLUMNS];
    ECO_TRY(split_line(in, line, length, cells));
    *row = (eco_sample){0};
    if (!parse_time(cells[0], &row->t_ns)) {
        return fail(in, "t_s", ": expected seconds, at most 9 decimals");
    }
    ECO_TRY(parse_reading(in, "power_w", cells[1], &row->power_w));
    ECO_TRY(parse_reading(in, "energy_j", cells[2], &row->energy_j));
    ECO_TRY(parse_reading(in, "tokens", cells[3], &row->tokens));
    ECO_TRY(parse_reading(in, "temp_c", cells[4], &row->temp_c));
    int64_t block = 0;
    if (ecoi_num_parse_i64(cells[5].text, cells[5].length, &block) != ECO_OK || block < 0 ||
        block > INT32_MAX) {
        return fail(in, "block", ": expected 0 or a block number");
    }
    row->block = (int32_t)block;
    if (!eco_phase_parse(cells[6].text, cells[6].length, &row->phase)) {
        return fail(in, "phase", ": unknown phase");
    }
    return ECO_OK;
}

static eco_status check_header(const parser *in, const char *line, size_t length) {
    if (length > 0 && line[length - 1] == '\r') {
        return fail(in, "", "carriage return: lines must end with a line feed only");
    }
    if (length != sizeof trace_header - 1 || memcmp(line, trace_header, length) != 0) {
        return fail(in, "expected the columns ", trace_header);
    }
    return ECO_OK;
}

static size_t count_lines(const char *text, size_t length) {
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        n += text[i] == '\n' ? 1 : 0;
    }
    return n;
}

/* `rows` has room for every line but the header. */
static eco_status parse_lines(parser *in, const char *text, size_t length, eco_sample *rows) {
    for (size_t begin = 0; begin < length;) {
        const char *const line = text + begin;
        const size_t left = length - begin;
        const size_t look = left < ECO_TRACE_LINE_MAX + 1 ? left : ECO_TRACE_LINE_MAX + 1;
        const char *const end = memchr(line, '\n', look);
        in->line++;
        if (end == NULL) {
            return fail(in, "",
                        left > ECO_TRACE_LINE_MAX ? "line longer than 256 bytes"
                                                  : "the last line is cut: no line feed");
        }
        const size_t n = (size_t)(end - line);
        if (in->line == 1) {
            ECO_TRY(check_header(in, line, n));
        } else {
            ECO_TRY(parse_row(in, line, n, &rows[in->line - 2]));
        }
        begin += n + 1;
    }
    return ECO_OK;
}

eco_status eco_trace_parse(const char *text, size_t length, const char *name, eco_sample **rows,
                           size_t *n_rows, eco_error *err) {
    assert(rows != NULL && n_rows != NULL && name != NULL && (text != NULL || length == 0));
    *rows = NULL;
    *n_rows = 0;
    parser in = {.name = name, .err = err};
    const size_t n_lines = count_lines(text, length);
    if (length == 0) {
        in.line = 1;
        return fail(&in, "", "the file is empty");
    }
    if (n_lines > (size_t)ECO_TRACE_ROWS_MAX + 1) {
        return eco_error_set(err, ECO_E_RANGE, 0, "%s: more than %d rows", name,
                             ECO_TRACE_ROWS_MAX);
    }
    eco_sample *const parsed = ecoi_calloc(n_lines + 1, sizeof *parsed);
    if (parsed == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", name);
    }
    const eco_status status = parse_lines(&in, text, length, parsed);
    if (status != ECO_OK) {
        ecoi_free(parsed);
        return status;
    }
    *rows = parsed;
    *n_rows = n_lines - 1;
    return ECO_OK;
}
