/* SPDX-License-Identifier: Apache-2.0
 *
 * core/num against the C library in the C locale (the slow oracle), and against texts known from the standards.
 */
#include "core/num.h"

#include "core/rng.h"
#include "test_helpers.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_RANDOM = 200000 };

static double of_bits(uint64_t bits) {
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of(double value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Significant digits of a number's text: signs, point, exponent, leading and trailing zeros apart. */
static size_t count_digits(const char *text) {
    size_t n = 0, zeros = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text == '0' && n > 0) {
            zeros++;
        } else if (*text >= '1' && *text <= '9') {
            n += zeros + 1;
            zeros = 0;
        }
    }
    return n;
}

static size_t oracle_digits(double value) {
    char text[64];
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    return count_digits(text);
}

static void check_round_trip(double value, bool power_of_two) {
    char text[ECOI_NUM_MAX];
    const size_t length = ecoi_num_write(value, text);
    assert_int_equal(length, strlen(text));
    double back = 0;
    assert_int_equal(ecoi_num_parse(text, length, &back), ECO_OK);
    assert_true(bits_of(back) == bits_of(value));
    assert_true(bits_of(strtod(text, NULL)) == bits_of(value));
    if (power_of_two) { /* the oracle looks at the nearest digits only, so it may need one more */
        assert_true(count_digits(text) <= oracle_digits(value));
    } else {
        assert_int_equal(count_digits(text), oracle_digits(value));
    }
}

static void test_random_doubles(void **state) {
    (void)state;
    uint64_t seed = 1;
    uint32_t n = 0;
    while (n < N_RANDOM) {
        const double value = of_bits(ecoi_rng_next(&seed));
        if (isfinite(value) && value != 0.0) {
            check_round_trip(value, (bits_of(value) << 12) == 0);
            n++;
        }
    }
}

/* Numbers as a report has them: few decimals, moderate size. */
static void test_random_decimals(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (uint32_t i = 0; i < N_RANDOM; i++) {
        const uint64_t r = ecoi_rng_next(&seed);
        const double value = (double)(int64_t)(r % 2000000000) / 1000.0 - 1000000.0;
        if (value != 0.0) {
            check_round_trip(value, false);
        }
    }
}

static void test_powers_and_neighbours(void **state) {
    (void)state;
    for (int exponent = -1074; exponent <= 1023; exponent++) {
        const double value = ldexp(1.0, exponent);
        check_round_trip(value, true);
        check_round_trip(nextafter(value, (double)INFINITY), false);
        if (value > 5e-324) {
            check_round_trip(nextafter(value, 0), false);
        }
    }
}

static void test_parse_long_texts(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (uint32_t i = 0; i < N_RANDOM; i++) {
        char text[96];
        size_t n = 0;
        const size_t n_digits = 1 + ecoi_rng_next(&seed) % 40;
        for (size_t k = 0; k < n_digits; k++) {
            text[n++] = (char)((k == 0 ? '1' : '0') + (int)(ecoi_rng_next(&seed) % 9));
        }
        n += (size_t)snprintf(text + n, sizeof text - n, "e%d",
                              (int)(ecoi_rng_next(&seed) % 700) - 360);
        double value = 0;
        const double oracle = strtod(text, NULL);
        const eco_status status = ecoi_num_parse(text, n, &value);
        if (isinf(oracle)) {
            assert_int_equal(status, ECO_E_RANGE);
        } else {
            assert_int_equal(status, ECO_OK);
            assert_true(bits_of(value) == bits_of(oracle));
        }
    }
}

/* The exact middle between neighbours has up to 767 digits: at it, just above, just below. */
static void test_parse_middles(void **state) {
    (void)state;
    uint64_t seed = 4;
    static char text[2048], moved[2048];
    for (uint32_t i = 0; i < 3000; i++) {
        uint64_t bits = ecoi_rng_next(&seed) & (UINT64_MAX >> 1);
        if (i % 3 == 0) {
            bits &= ((uint64_t)1 << 52) - 1; /* subnormal */
        }
        const double low = of_bits(bits), high = of_bits(bits + 1);
        if (!isfinite(low) || !isfinite(high)) {
            continue;
        }
        const long double middle = ((long double)low + (long double)high) / 2; /* exact: 64 bits */
        const int n = snprintf(text, sizeof text, "%.800Le", middle);
        assert_true(n > 0 && (size_t)n < sizeof text);
        for (int shift = -1; shift <= 1; shift++) {
            memcpy(moved, text, (size_t)n + 1);
            char *digit = strchr(moved, 'e') - 1;
            assert_int_equal(*digit, '0'); /* the middle needs fewer digits than printed */
            for (; shift < 0 && *digit == '0'; digit--) {
                *digit = '9';
            }
            *digit = (char)(*digit + shift);
            double value = 0;
            assert_int_equal(ecoi_num_parse(moved, (size_t)n, &value), ECO_OK);
            const bool up =
                shift > 0 || (shift == 0 && (bits & 1) != 0); /* a tie goes to the even one */
            assert_true(bits_of(value) == bits_of(up ? high : low));
        }
    }
}

static void test_known_texts(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0.0, "0"},
        {-0.0, "0"},
        {0.1, "0.1"},
        {0.30000000000000004, "0.30000000000000004"},
        {5e-324, "5e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {1e21, "1e+21"},
        {123456789012345680000.0, "123456789012345680000"},
        {1e-6, "0.000001"},
        {1e-7, "1e-7"},
        {1.5e-7, "1.5e-7"},
        {-12.5, "-12.5"},
        {1e23, "1e+23"},
        {9007199254740993.0, "9007199254740992"},
        {5.684341886080802e-14,
         "5.684341886080802e-14"}, /* 2^-44: nearest 16 digits do not read back */
        {100, "100"},
        {4.35, "4.35"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[ECOI_NUM_MAX];
        ecoi_num_write(rows[i].value, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void test_fixed_against_printf(void **state) {
    (void)state;
    uint64_t seed = 5;
    static char ours[ECOI_NUM_FIXED_MAX], theirs[512];
    for (uint32_t i = 0; i < N_RANDOM; i++) {
        const uint64_t r = ecoi_rng_next(&seed);
        const double value = i % 2 == 0 ? of_bits(r) : (double)(int64_t)r / 1e15;
        if (!isfinite(value)) {
            continue;
        }
        const int decimals = (int)(ecoi_rng_next(&seed) % 21);
        ecoi_num_fixed(value, decimals, ours);
        snprintf(theirs, sizeof theirs, "%.*f", decimals, value);
        const bool zero = strspn(theirs, "-0.") == strlen(theirs);
        assert_string_equal(ours, zero && theirs[0] == '-' ? theirs + 1 : theirs);
    }
}

static void test_fixed_ties_go_to_even(void **state) {
    (void)state;
    char text[ECOI_NUM_FIXED_MAX];
    static const struct {
        double value;
        int decimals;
        const char *text;
    } rows[] = {{0.5, 0, "0"},
                {1.5, 0, "2"},
                {2.5, 0, "2"},
                {0.125, 2, "0.12"},
                {0.375, 2, "0.38"},
                {-0.5, 0, "0"},
                {-1.5, 0, "-2"},
                {-0.0004, 3, "0.000"},
                {2.675, 2, "2.67"},
                {999.9996, 3, "1000.000"},
                {1e22, 1, "10000000000000000000000.0"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ecoi_num_fixed(rows[i].value, rows[i].decimals, text);
        assert_string_equal(text, rows[i].text);
    }
    assert_true(ecoi_num_round(12.34567, 3) == 12.346);
    assert_true(ecoi_num_round(-0.2, 0) == 0.0);
}

static void test_grammar(void **state) {
    (void)state;
    static const char *const bad[] = {"",         "-",   "+1",   "01",    "-01", ".5",  "5.",
                                      "1e",       "1e+", "1,5",  " 1",    "1 ",  "0x1", "NaN",
                                      "Infinity", "--1", "1.e3", "1e1.5", "1_0", "٣"};
    double value = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(ecoi_num_parse(bad[i], strlen(bad[i]), &value), ECO_E_PARSE);
    }
    assert_int_equal(ecoi_num_parse("1e309", 5, &value), ECO_E_RANGE);
    assert_int_equal(ecoi_num_parse("1e99999999999999999999", 22, &value), ECO_E_RANGE);
    assert_int_equal(ecoi_num_parse("1e-99999999999999999999", 23, &value), ECO_OK);
    assert_true(value == 0.0);
    assert_int_equal(ecoi_num_parse("0e99999999999999999999", 22, &value), ECO_OK);
    assert_int_equal(ecoi_num_parse("-0", 2, &value), ECO_OK);
    assert_true(signbit(value) != 0);
    assert_int_equal(ecoi_num_parse("1.7976931348623158e308", 22, &value), ECO_OK);
    assert_true(value == DBL_MAX);
    assert_int_equal(ecoi_num_parse("1.7976931348623159e308", 22, &value), ECO_E_RANGE);
    assert_int_equal(ecoi_num_parse("2.4703282292062327e-324", 23, &value), ECO_OK);
    assert_true(value == 0.0);
    assert_int_equal(ecoi_num_parse("2.4703282292062328e-324", 23, &value), ECO_OK);
    assert_true(value == 5e-324);
}

static void test_integers(void **state) {
    (void)state;
    char text[ECOI_NUM_MAX];
    uint64_t u = 0;
    int64_t s = 0;
    ecoi_num_write_u64(UINT64_MAX, text);
    assert_string_equal(text, "18446744073709551615");
    assert_int_equal(ecoi_num_parse_u64(text, strlen(text), &u), ECO_OK);
    assert_true(u == UINT64_MAX);
    assert_int_equal(ecoi_num_parse_u64("18446744073709551616", 20, &u), ECO_E_RANGE);
    ecoi_num_write_i64(INT64_MIN, text);
    assert_string_equal(text, "-9223372036854775808");
    assert_int_equal(ecoi_num_parse_i64(text, strlen(text), &s), ECO_OK);
    assert_true(s == INT64_MIN);
    assert_int_equal(ecoi_num_parse_i64("-9223372036854775809", 20, &s), ECO_E_RANGE);
    assert_int_equal(ecoi_num_parse_i64("9223372036854775808", 19, &s), ECO_E_RANGE);
    static const char *const bad[] = {"", "-", "+1", "1.0", "01", "1 ", "-x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(ecoi_num_parse_i64(bad[i], strlen(bad[i]), &s), ECO_E_PARSE);
    }
}

static void test_sizes(void **state) {
    (void)state;
    size_t size = 1;
    assert_true(ecoi_size_mul(SIZE_MAX / 3, 3, &size));
    assert_true(size == SIZE_MAX / 3 * 3);
    assert_false(ecoi_size_mul(SIZE_MAX / 3 + 1, 3, &size));
    assert_true(size == 0);
    assert_true(ecoi_size_mul(0, SIZE_MAX, &size) && ecoi_size_mul(SIZE_MAX, 0, &size));
    assert_true(ecoi_size_add(SIZE_MAX, 0, &size) && size == SIZE_MAX);
    assert_false(ecoi_size_add(SIZE_MAX, 1, &size));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_doubles),
        cmocka_unit_test(test_random_decimals),
        cmocka_unit_test(test_powers_and_neighbours),
        cmocka_unit_test(test_parse_long_texts),
        cmocka_unit_test(test_parse_middles),
        cmocka_unit_test(test_known_texts),
        cmocka_unit_test(test_fixed_against_printf),
        cmocka_unit_test(test_fixed_ties_go_to_even),
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
