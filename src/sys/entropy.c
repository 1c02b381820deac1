/* SPDX-License-Identifier: Apache-2.0
 *
 * getrandom, and the clocks where the kernel refuses it.
 */
#define _GNU_SOURCE
#include "sys/entropy.h"

#include "sys/clock.h"

#include <sys/random.h>
#include <unistd.h>

uint64_t ecoi_random_u64(void) {
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, 0) == (ssize_t)sizeof value) {
        return value;
    }
    return (uint64_t)ecoi_now_ns() * (uint64_t)0x9E3779B97F4A7C15 ^ (uint64_t)getpid();
}
