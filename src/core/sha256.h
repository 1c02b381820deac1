/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 (FIPS 180-4), incremental. Pure.
 */
#ifndef ECOI_SHA256_H
#define ECOI_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { ECOI_SHA256_SIZE = 32, ECOI_SHA256_HEX_MAX = 65 };

typedef struct ecoi_sha256 {
    uint32_t state[8];
    uint64_t n_bytes;
    unsigned char block[64];
} ecoi_sha256;

void ecoi_sha256_init(ecoi_sha256 *sha);
void ecoi_sha256_add(ecoi_sha256 *sha, const void *data, size_t length);
void ecoi_sha256_final(ecoi_sha256 *sha, unsigned char digest[ECOI_SHA256_SIZE]);
/* The digest of `data` as 64 lower-case hex digits. */
void ecoi_sha256_hex(const void *data, size_t length, char hex[ECOI_SHA256_HEX_MAX]);

#endif
