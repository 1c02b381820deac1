/* SPDX-License-Identifier: Apache-2.0
 *
 * How many multiply-adds a core does from registers: the ceiling of arithmetic that the probe asks
 * for. FP16 stands for what this engine does with FP16 weights on a CPU: FP32 multiply-adds of
 * widened values.
 */
#ifndef ECOCOMPUTE_KERNELS_CPU_CPU_RATES_H
#define ECOCOMPUTE_KERNELS_CPU_CPU_RATES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct eco_cpu_rate {
    const char *instruction; /* "vfmadd231ps, 512 bits", static */
    uint32_t ops_per_turn;   /* 2 a multiply-add */
    /* Operands from 256 random bytes; what it returns depends on every product. */
    uint32_t (*run)(const uint8_t *random, uint32_t n_turns);
} eco_cpu_rate;

/* The widest that this CPU and this build have. */
eco_cpu_rate ecoi_cpu_rate(bool int8);

#endif
