/* SPDX-License-Identifier: Apache-2.0
 *
 * Unsigned big integers of fixed capacity, just enough for exact conversion between doubles and decimals:
 * a decimal of 770 digits over 10^1112 needs 3,760 bits. Overflow is our own error and asserted. Pure.
 */
#ifndef ECOI_BIG_H
#define ECOI_BIG_H

#include <stdbool.h>
#include <stdint.h>

enum { ECOI_BIG_WORDS = 128 };

typedef struct ecoi_big {
    uint32_t n; /* words in use; the highest is not zero */
    uint32_t words[ECOI_BIG_WORDS];
} ecoi_big;

void ecoi_big_set(ecoi_big *big, uint64_t value);
void ecoi_big_mul_add(ecoi_big *big, uint32_t factor, uint32_t addend);
void ecoi_big_mul_pow10(ecoi_big *big, uint32_t exponent);
void ecoi_big_shift_left(ecoi_big *big, uint32_t n_bits);
/* Shifts right; returns how the lost part compares with half a unit: -1 less, 0 equal, 1 more. */
int ecoi_big_shift_right(ecoi_big *big, uint32_t n_bits);
uint32_t ecoi_big_divide(ecoi_big *big, uint32_t divisor); /* returns the remainder */
void ecoi_big_subtract(ecoi_big *big, const ecoi_big *smaller);
int ecoi_big_compare(const ecoi_big *a, const ecoi_big *b); /* -1, 0, 1 */
uint32_t ecoi_big_n_bits(const ecoi_big *big);
bool ecoi_big_bit(const ecoi_big *big, uint32_t index);

#endif
