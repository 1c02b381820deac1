/* SPDX-License-Identifier: Apache-2.0
 *
 * A bump allocator: many small objects that die together. Zero-initialise, free with ecoi_arena_fini.
 * One thread at a time.
 */
#ifndef ECOI_ARENA_H
#define ECOI_ARENA_H

#include <stddef.h>

typedef struct ecoi_arena {
    struct ecoi_arena_chunk *chunks; /* newest first */
    size_t chunk_size_bytes;         /* size of the next chunk, doubled up to a cap */
} ecoi_arena;

/* Zeroed memory aligned for any type, NULL when out of memory. Lives until ecoi_arena_fini. */
void *ecoi_arena_alloc(ecoi_arena *arena, size_t size);
/* A NUL-terminated copy of `length` bytes. */
char *ecoi_arena_copy(ecoi_arena *arena, const char *text, size_t length);
void ecoi_arena_fini(ecoi_arena *arena);

#endif
