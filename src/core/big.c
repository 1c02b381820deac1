/* SPDX-License-Identifier: Apache-2.0
 *
 * Schoolbook arithmetic on little-endian 32-bit words. Numbers here are small; simple beats fast.
 */
#include "core/big.h"

#include <assert.h>
#include <string.h>

static void big_trim(ecoi_big *big) {
    while (big->n > 0 && big->words[big->n - 1] == 0) {
        big->n--;
    }
}

void ecoi_big_set(ecoi_big *big, uint64_t value) {
    big->n = 2;
    big->words[0] = (uint32_t)value;
    big->words[1] = (uint32_t)(value >> 32);
    big_trim(big);
}

void ecoi_big_mul_add(ecoi_big *big, uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (uint32_t i = 0; i < big->n; i++) {
        carry += (uint64_t)big->words[i] * factor;
        big->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0) {
        assert(big->n < ECOI_BIG_WORDS);
        big->words[big->n++] = (uint32_t)carry;
    }
    big_trim(big);
}

void ecoi_big_mul_pow10(ecoi_big *big, uint32_t exponent) {
    for (; exponent >= 9; exponent -= 9) {
        ecoi_big_mul_add(big, 1000000000u, 0);
    }
    uint32_t factor = 1;
    for (; exponent > 0; exponent--) {
        factor *= 10;
    }
    ecoi_big_mul_add(big, factor, 0);
}

void ecoi_big_shift_left(ecoi_big *big, uint32_t n_bits) {
    const uint32_t n_words = n_bits / 32, rest = n_bits % 32;
    if (big->n == 0) {
        return;
    }
    if (rest != 0) {
        ecoi_big_mul_add(big, (uint32_t)1 << rest, 0);
    }
    if (n_words != 0) {
        assert(big->n + n_words <= ECOI_BIG_WORDS);
        memmove(big->words + n_words, big->words, big->n * sizeof big->words[0]);
        memset(big->words, 0, n_words * sizeof big->words[0]);
        big->n += n_words;
    }
}

bool ecoi_big_bit(const ecoi_big *big, uint32_t index) {
    const uint32_t word = index / 32;
    return word < big->n && ((big->words[word] >> (index % 32)) & 1u) != 0;
}

static bool big_any_bit_below(const ecoi_big *big, uint32_t index) {
    for (uint32_t i = 0; i < big->n && i * 32 < index; i++) {
        const uint32_t left = index - i * 32;
        const uint32_t mask = left >= 32 ? UINT32_MAX : ((uint32_t)1 << left) - 1;
        if ((big->words[i] & mask) != 0) {
            return true;
        }
    }
    return false;
}

int ecoi_big_shift_right(ecoi_big *big, uint32_t n_bits) {
    if (n_bits == 0) {
        return -1;
    }
    const bool half = ecoi_big_bit(big, n_bits - 1);
    const bool below = big_any_bit_below(big, n_bits - 1);
    const uint32_t n_words = n_bits / 32, rest = n_bits % 32;
    if (n_words >= big->n) {
        big->n = 0;
    } else {
        memmove(big->words, big->words + n_words, (big->n - n_words) * sizeof big->words[0]);
        big->n -= n_words;
        if (rest != 0) {
            for (uint32_t i = 0; i < big->n; i++) {
                const uint32_t above = i + 1 < big->n ? big->words[i + 1] : 0;
                big->words[i] = (big->words[i] >> rest) | (above << (32 - rest));
            }
        }
        big_trim(big);
    }
    if (!half) {
        return -1;
    }
    return below ? 1 : 0;
}

uint32_t ecoi_big_divide(ecoi_big *big, uint32_t divisor) {
    assert(divisor != 0);
    uint64_t remainder = 0;
    for (uint32_t i = big->n; i-- > 0;) {
        remainder = (remainder << 32) | big->words[i];
        big->words[i] = (uint32_t)(remainder / divisor);
        remainder %= divisor;
    }
    big_trim(big);
    return (uint32_t)remainder;
}

void ecoi_big_subtract(ecoi_big *big, const ecoi_big *smaller) {
    assert(ecoi_big_compare(big, smaller) >= 0);
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < big->n; i++) {
        const uint64_t take = (i < smaller->n ? smaller->words[i] : 0) + borrow;
        borrow = big->words[i] < take ? 1 : 0;
        big->words[i] = (uint32_t)(big->words[i] - take);
    }
    big_trim(big);
}

int ecoi_big_compare(const ecoi_big *a, const ecoi_big *b) {
    if (a->n != b->n) {
        return a->n < b->n ? -1 : 1;
    }
    for (uint32_t i = a->n; i-- > 0;) {
        if (a->words[i] != b->words[i]) {
            return a->words[i] < b->words[i] ? -1 : 1;
        }
    }
    return 0;
}

uint32_t ecoi_big_n_bits(const ecoi_big *big) {
    if (big->n == 0) {
        return 0;
    }
    uint32_t n = (big->n - 1) * 32;
    for (uint32_t top = big->words[big->n - 1]; top != 0; top >>= 1) {
        n++;
    }
    return n;
}
