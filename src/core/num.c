/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact conversion between doubles and decimal text. Reading takes the exact short way where mantissa and power
 * of ten are both exact doubles (W. D. Clinger, "How to read floating point numbers accurately", 1990), else long
 * division of big integers. Writing produces exact digits and keeps the fewest that read back.
 */
#include "core/num.h"

#include "core/big.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    /* The exact middle between two doubles has at most 767 significant digits; one more tells above from at. */
    DIGITS_MAX = 769,
    DIGITS_KEPT = 18, /* 17 suffice for every double, one more to round on */
    EXPONENT_TEXT_MAX = 1000000000
};

/* digits[0..n) as an integer, times 10^exponent. */
struct decimal {
    uint32_t n;
    int64_t exponent;
    uint8_t digits[DIGITS_MAX];
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t scan_digits(const char *text, size_t length, size_t at) {
    while (at < length && is_digit(text[at])) {
        at++;
    }
    return at;
}

size_t ecoi_num_scan(const char *text, size_t length) {
    size_t at = 0;
    if (at < length && text[at] == '-') {
        at++;
    }
    if (at >= length || !is_digit(text[at])) {
        return 0;
    }
    at = text[at] == '0' ? at + 1 : scan_digits(text, length, at);
    if (at < length && text[at] == '.') {
        const size_t end = scan_digits(text, length, at + 1);
        if (end == at + 1) {
            return 0;
        }
        at = end;
    }
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        size_t begin = at + 1;
        if (begin < length && (text[begin] == '+' || text[begin] == '-')) {
            begin++;
        }
        const size_t end = scan_digits(text, length, begin);
        if (end == begin) {
            return 0;
        }
        at = end;
    }
    return at;
}

/* Takes a scanned number without its sign apart; leading and trailing zeros are dropped. */
static void decimal_read(const char *text, size_t length, struct decimal *out) {
    out->n = 0;
    out->exponent = 0;
    bool seen_point = false, lost = false;
    size_t at = 0;
    for (; at < length && text[at] != 'e' && text[at] != 'E'; at++) {
        if (text[at] == '.') {
            seen_point = true;
            continue;
        }
        const uint8_t digit = (uint8_t)(text[at] - '0');
        if (seen_point) {
            out->exponent--;
        }
        if (out->n == 0 && digit == 0) {
            continue;
        }
        if (out->n < DIGITS_MAX) {
            out->digits[out->n++] = digit;
        } else {
            out->exponent++;
            lost = lost || digit != 0;
        }
    }
    if (lost && out->digits[DIGITS_MAX - 1] == 0) {
        out->digits[DIGITS_MAX - 1] = 1; /* something nonzero follows: above a tie, never at it */
    }
    while (out->n > 0 && out->digits[out->n - 1] == 0) {
        out->n--;
        out->exponent++;
    }
    if (at < length) {
        const bool negative = text[at + 1] == '-';
        at += is_digit(text[at + 1]) ? 1 : 2;
        int64_t value = 0;
        for (; at < length; at++) {
            value = value < EXPONENT_TEXT_MAX ? value * 10 + (text[at] - '0') : value;
        }
        out->exponent += negative ? -value : value;
    }
}

static double double_of_bits(uint64_t bits) {
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of_double(double value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The double nearest to num / den > 0, by binary long division. */
static eco_status divide_to_double(ecoi_big *num, ecoi_big *den, double *out) {
    const uint32_t num_bits = ecoi_big_n_bits(num), den_bits = ecoi_big_n_bits(den);
    int32_t exponent = (int32_t)num_bits - (int32_t)den_bits;
    if (exponent > 0) {
        ecoi_big_shift_left(den, (uint32_t)exponent);
    } else {
        ecoi_big_shift_left(num, (uint32_t)-exponent);
    }
    if (ecoi_big_compare(num, den) < 0) {
        ecoi_big_shift_left(num, 1);
        exponent--;
    }
    /* Now 1 <= num / den < 2 and the value is num / den * 2^exponent. */
    const bool subnormal = exponent < -1022;
    const int32_t n_bits = subnormal ? 53 - (-1022 - exponent) : 53;
    if (n_bits < 0) {
        *out = 0;
        return ECO_OK;
    }
    uint64_t mantissa = 0;
    for (int32_t i = 0; i < n_bits; i++) {
        mantissa <<= 1;
        if (ecoi_big_compare(num, den) >= 0) {
            ecoi_big_subtract(num, den);
            mantissa |= 1;
        }
        ecoi_big_shift_left(num, 1);
    }
    const int rest =
        num->n == 0 ? -1 : ecoi_big_compare(num, den); /* against half of the last bit */
    if (rest > 0 || (rest == 0 && (mantissa & 1) != 0)) {
        mantissa++;
    }
    /* A carry out of the mantissa runs into the exponent field, which is just what rounding up means. */
    const uint64_t base = subnormal ? 0 : (uint64_t)(exponent + 1022) << 52;
    const uint64_t bits = base + mantissa;
    if (bits >= (uint64_t)0x7ff << 52) {
        return ECO_E_RANGE;
    }
    *out = double_of_bits(bits);
    return ECO_OK;
}

static bool decimal_to_double_short(const struct decimal *decimal, double *out) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (decimal->n > 16 || decimal->exponent < -22 || decimal->exponent > 22) {
        return false;
    }
    uint64_t mantissa = 0;
    for (uint32_t i = 0; i < decimal->n; i++) {
        mantissa = mantissa * 10 + decimal->digits[i];
    }
    if (mantissa > (uint64_t)1 << 53) {
        return false;
    }
    const double exact = (double)mantissa;
    *out = decimal->exponent < 0 ? exact / powers[-decimal->exponent]
                                 : exact * powers[decimal->exponent];
    return true;
}

static eco_status decimal_to_double(const struct decimal *decimal, double *out) {
    *out = 0;
    if (decimal->n == 0 || decimal->exponent + decimal->n < -330) {
        return ECO_OK;
    }
    if (decimal->exponent + decimal->n > 310) {
        return ECO_E_RANGE;
    }
    if (decimal_to_double_short(decimal, out)) {
        return ECO_OK;
    }
    ecoi_big num, den;
    ecoi_big_set(&num, 0);
    for (uint32_t i = 0; i < decimal->n; i++) {
        ecoi_big_mul_add(&num, 10, decimal->digits[i]);
    }
    ecoi_big_set(&den, 1);
    if (decimal->exponent >= 0) {
        ecoi_big_mul_pow10(&num, (uint32_t)decimal->exponent);
    } else {
        ecoi_big_mul_pow10(&den, (uint32_t)-decimal->exponent);
    }
    return divide_to_double(&num, &den, out);
}

eco_status ecoi_num_parse(const char *text, size_t length, double *out) {
    *out = 0;
    if (length == 0 || ecoi_num_scan(text, length) != length) {
        return ECO_E_PARSE;
    }
    const bool negative = text[0] == '-';
    struct decimal decimal;
    decimal_read(text + (negative ? 1 : 0), length - (negative ? 1 : 0), &decimal);
    double value = 0;
    ECO_TRY(decimal_to_double(&decimal, &value));
    *out = negative ? -value : value;
    return ECO_OK;
}

eco_status ecoi_num_parse_u64(const char *text, size_t length, uint64_t *out) {
    *out = 0;
    if (length == 0 || scan_digits(text, length, 0) != length || (length > 1 && text[0] == '0')) {
        return ECO_E_PARSE;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        const uint64_t digit = (uint64_t)(text[i] - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return ECO_E_RANGE;
        }
        value = value * 10 + digit;
    }
    *out = value;
    return ECO_OK;
}

eco_status ecoi_num_parse_i64(const char *text, size_t length, int64_t *out) {
    *out = 0;
    const bool negative = length > 0 && text[0] == '-';
    const size_t skip = negative ? 1 : 0;
    uint64_t magnitude = 0;
    ECO_TRY(ecoi_num_parse_u64(text + skip, length - skip, &magnitude));
    const uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    if (magnitude > limit) {
        return ECO_E_RANGE;
    }
    if (negative) {
        *out = magnitude == limit ? INT64_MIN : -(int64_t)magnitude;
    } else {
        *out = (int64_t)magnitude;
    }
    return ECO_OK;
}

/* ---- Writing ---------------------------------------------------------------------------------- */

/* The exact leading digits of a positive double: value = 0.d0 d1 d2 … * 10^point. */
struct digits {
    uint8_t digits[DIGITS_KEPT];
    int32_t point;
    bool more; /* something nonzero follows the last digit */
};

/* value = *mantissa * 2^exponent for finite value >= 0 */
static int32_t take_apart(double value, uint64_t *mantissa) {
    const uint64_t bits = bits_of_double(value);
    const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    const int32_t biased = (int32_t)((bits >> 52) & 0x7ff);
    if (biased == 0) {
        *mantissa = fraction;
        return -1074;
    }
    *mantissa = fraction | (uint64_t)1 << 52;
    return biased - 1075;
}

static void digits_of_double(double value, struct digits *out) {
    uint64_t mantissa = 0;
    const int32_t exponent = take_apart(value, &mantissa);
    ecoi_big num, den;
    ecoi_big_set(&num, mantissa);
    ecoi_big_set(&den, 1);
    if (exponent >= 0) {
        ecoi_big_shift_left(&num, (uint32_t)exponent);
    } else {
        ecoi_big_shift_left(&den, (uint32_t)-exponent);
    }
    /* log10(2) = 0.30103…; the guess may be one off and is mended below. */
    const int32_t log2_floor = (int32_t)ecoi_big_n_bits(&num) - (int32_t)ecoi_big_n_bits(&den);
    int32_t log10_floor = log2_floor * 30103 / 100000;
    if (log10_floor >= 0) {
        ecoi_big_mul_pow10(&den, (uint32_t)log10_floor);
    } else {
        ecoi_big_mul_pow10(&num, (uint32_t)-log10_floor);
    }
    while (ecoi_big_compare(&num, &den) < 0) {
        ecoi_big_mul_add(&num, 10, 0);
        log10_floor--;
    }
    for (;;) {
        ecoi_big ten = den;
        ecoi_big_mul_add(&ten, 10, 0);
        if (ecoi_big_compare(&num, &ten) < 0) {
            break;
        }
        den = ten;
        log10_floor++;
    }
    for (uint32_t i = 0; i < DIGITS_KEPT; i++) {
        uint8_t digit = 0;
        while (ecoi_big_compare(&num, &den) >= 0) {
            ecoi_big_subtract(&num, &den);
            digit++;
        }
        out->digits[i] = digit;
        ecoi_big_mul_add(&num, 10, 0);
    }
    out->point = log10_floor + 1;
    out->more = num.n != 0;
}

/* The first `precision` digits, rounded to nearest with ties to even, or always up. */
static void digits_round(const struct digits *from, uint32_t precision, bool up,
                         struct decimal *out) {
    assert(precision >= 1 && precision < DIGITS_KEPT);
    memcpy(out->digits, from->digits, precision);
    out->n = precision;
    out->exponent = (int64_t)from->point - precision;
    bool rest = from->more;
    for (uint32_t i = precision + 1; i < DIGITS_KEPT; i++) {
        rest = rest || from->digits[i] != 0;
    }
    const uint8_t next = from->digits[precision];
    const bool odd = (from->digits[precision - 1] & 1) != 0;
    if (up || next > 5 || (next == 5 && (rest || odd))) {
        uint32_t i = precision;
        while (i > 0 && out->digits[i - 1] == 9) {
            out->digits[--i] = 0;
        }
        if (i > 0) {
            out->digits[i - 1]++;
        } else {
            out->digits[0] = 1; /* 99… became 100… */
            out->exponent++;
        }
    }
    while (out->n > 1 && out->digits[out->n - 1] == 0) {
        out->n--;
        out->exponent++;
    }
}

static bool reads_back(const struct decimal *decimal, double value) {
    double back = 0;
    return decimal_to_double(decimal, &back) == ECO_OK &&
           bits_of_double(back) == bits_of_double(value);
}

/* The fewest digits that read back as value > 0. A normal double that has a form of at most 15 digits shows it
 * when rounded to 15, zeros dropped; subnormals have fewer bits and are searched from one digit on. Just above
 * a power of two the gap is twice the gap below, so there the digits next above are tried too. */
static void shortest_digits(double value, struct decimal *out) {
    struct digits digits;
    digits_of_double(value, &digits);
    const uint64_t bits = bits_of_double(value);
    const bool power_of_two = (bits & (((uint64_t)1 << 52) - 1)) == 0;
    const bool normal = (bits >> 52) != 0;
    for (uint32_t precision = normal && !power_of_two ? 15 : 1; precision < 17; precision++) {
        digits_round(&digits, precision, false, out);
        if (reads_back(out, value)) {
            return;
        }
        if (power_of_two) {
            digits_round(&digits, precision, true, out);
            if (reads_back(out, value)) {
                return;
            }
        }
    }
    digits_round(&digits, 17, false, out);
}

static size_t put_digits(char *out, const uint8_t *digits, size_t n) {
    for (size_t i = 0; i < n; i++) {
        out[i] = (char)('0' + digits[i]);
    }
    return n;
}

static size_t put_zeros(char *out, size_t n) {
    memset(out, '0', n);
    return n;
}

/* ECMAScript Number::toString, steps 6 to 10, with k digits and the point after digit n. */
static size_t lay_out(const struct decimal *decimal, char *out) {
    const int32_t k = (int32_t)decimal->n;
    const int32_t n = (int32_t)decimal->exponent + k;
    const size_t n_digits = decimal->n;
    size_t length = 0;
    if (k <= n && n <= 21) {
        length += put_digits(out, decimal->digits, n_digits);
        length += put_zeros(out + length, (size_t)(n - k));
    } else if (0 < n && n <= 21) {
        length += put_digits(out, decimal->digits, (size_t)n);
        out[length++] = '.';
        length += put_digits(out + length, decimal->digits + n, (size_t)(k - n));
    } else if (-6 < n && n <= 0) {
        out[length++] = '0';
        out[length++] = '.';
        length += put_zeros(out + length, (size_t)-n);
        length += put_digits(out + length, decimal->digits, n_digits);
    } else {
        length += put_digits(out, decimal->digits, 1);
        if (k > 1) {
            out[length++] = '.';
            length += put_digits(out + length, decimal->digits + 1, n_digits - 1);
        }
        out[length++] = 'e';
        out[length++] = n > 0 ? '+' : '-';
        char exponent[ECOI_NUM_MAX];
        const size_t n_exponent = ecoi_num_write_u64((uint64_t)(n > 0 ? n - 1 : 1 - n), exponent);
        memcpy(out + length, exponent, n_exponent);
        length += n_exponent;
    }
    return length;
}

size_t ecoi_num_write(double value, char out[ECOI_NUM_MAX]) {
    assert(isfinite(value));
    size_t length = 0;
    if (value == 0.0) {
        out[length++] = '0';
    } else {
        if (value < 0) {
            out[length++] = '-';
        }
        struct decimal decimal;
        shortest_digits(fabs(value), &decimal);
        length += lay_out(&decimal, out + length);
    }
    out[length] = '\0';
    assert(length < ECOI_NUM_MAX);
    return length;
}

/* |value| * 10^decimals, rounded to an integer with ties to even. */
static void scaled_integer(double value, int decimals, ecoi_big *out) {
    uint64_t mantissa = 0;
    const int32_t exponent = take_apart(fabs(value), &mantissa);
    ecoi_big_set(out, mantissa);
    ecoi_big_mul_pow10(out, (uint32_t)decimals);
    if (exponent >= 0) {
        ecoi_big_shift_left(out, (uint32_t)exponent);
        return;
    }
    const int lost = ecoi_big_shift_right(out, (uint32_t)-exponent);
    if (lost > 0 || (lost == 0 && ecoi_big_bit(out, 0))) {
        ecoi_big_mul_add(out, 1, 1);
    }
}

size_t ecoi_num_fixed(double value, int decimals, char out[ECOI_NUM_FIXED_MAX]) {
    assert(isfinite(value) && decimals >= 0 && decimals <= ECOI_NUM_DECIMALS_MAX);
    ecoi_big big;
    scaled_integer(value, decimals, &big);
    const bool negative = value < 0 && big.n != 0;
    char reversed[ECOI_NUM_FIXED_MAX];
    size_t n = 0;
    while (big.n != 0) {
        reversed[n++] = (char)('0' + ecoi_big_divide(&big, 10));
    }
    while (n < (size_t)decimals + 1) {
        reversed[n++] = '0';
    }
    size_t length = 0;
    if (negative) {
        out[length++] = '-';
    }
    for (size_t i = n; i-- > 0;) {
        out[length++] = reversed[i];
        if (i == (size_t)decimals && decimals > 0) {
            out[length++] = '.';
        }
    }
    out[length] = '\0';
    assert(length < ECOI_NUM_FIXED_MAX);
    return length;
}

double ecoi_num_round(double value, int decimals) {
    char text[ECOI_NUM_FIXED_MAX];
    const size_t length = ecoi_num_fixed(value, decimals, text);
    double rounded = 0;
    const eco_status status = ecoi_num_parse(text, length, &rounded);
    return status == ECO_OK ? rounded : value;
}

size_t ecoi_num_write_u64(uint64_t value, char out[ECOI_NUM_MAX]) {
    char reversed[ECOI_NUM_MAX];
    size_t n = 0;
    do {
        reversed[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = 0; i < n; i++) {
        out[i] = reversed[n - 1 - i];
    }
    out[n] = '\0';
    return n;
}

size_t ecoi_num_write_i64(int64_t value, char out[ECOI_NUM_MAX]) {
    if (value >= 0) {
        return ecoi_num_write_u64((uint64_t)value, out);
    }
    char digits[ECOI_NUM_MAX];
    const size_t n = ecoi_num_write_u64((uint64_t)0 - (uint64_t)value, digits);
    out[0] = '-';
    memcpy(out + 1, digits, n + 1);
    return n + 1;
}

/* ---- Sizes ------------------------------------------------------------------------------------ */

bool ecoi_size_mul(size_t a, size_t b, size_t *out) {
    *out = 0;
    if (b != 0 && a > SIZE_MAX / b) {
        return false;
    }
    *out = a * b;
    return true;
}

bool ecoi_size_add(size_t a, size_t b, size_t *out) {
    *out = 0;
    if (a > SIZE_MAX - b) {
        return false;
    }
    *out = a + b;
    return true;
}
