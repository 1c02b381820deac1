/* SPDX-License-Identifier: Apache-2.0
 *
 * Seeds from the system.
 */
#ifndef ECOCOMPUTE_SYS_ENTROPY_H
#define ECOCOMPUTE_SYS_ENTROPY_H

#include <stdint.h>

uint64_t ecoi_random_u64(void); /* from the kernel; where it has none to give, from the clocks */

#endif
