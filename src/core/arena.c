/* SPDX-License-Identifier: Apache-2.0
 *
 * Bump allocation in chunks that grow from 4 KiB to 1 MiB. Objects larger than a chunk get a chunk of their own.
 */
#include "core/arena.h"

#include "core/alloc.h"
#include "core/num.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

enum { CHUNK_FIRST = 4096, CHUNK_LAST = 1 << 20 };

struct ecoi_arena_chunk {
    struct ecoi_arena_chunk *next;
    size_t used, size;
    alignas(max_align_t) unsigned char data[];
};

static struct ecoi_arena_chunk *chunk_new(ecoi_arena *arena, size_t need) {
    if (arena->chunk_size_bytes == 0) {
        arena->chunk_size_bytes = CHUNK_FIRST;
    }
    const size_t size = need > arena->chunk_size_bytes ? need : arena->chunk_size_bytes;
    size_t total = 0;
    if (!ecoi_size_add(size, sizeof(struct ecoi_arena_chunk), &total)) {
        return NULL;
    }
    struct ecoi_arena_chunk *chunk = ecoi_malloc(total);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->used = 0;
    chunk->size = size;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    if (arena->chunk_size_bytes < CHUNK_LAST) {
        arena->chunk_size_bytes *= 2;
    }
    return chunk;
}

void *ecoi_arena_alloc(ecoi_arena *arena, size_t size) {
    assert(arena != NULL);
    const size_t align = alignof(max_align_t);
    size_t padded = 0;
    if (!ecoi_size_add(size, align - 1, &padded)) {
        return NULL;
    }
    padded -= padded % align;
    struct ecoi_arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || chunk->size - chunk->used < padded) {
        chunk = chunk_new(arena, padded);
        if (chunk == NULL) {
            return NULL;
        }
    }
    void *const memory = chunk->data + chunk->used;
    chunk->used += padded;
    memset(memory, 0, padded);
    return memory;
}

char *ecoi_arena_copy(ecoi_arena *arena, const char *text, size_t length) {
    size_t size = 0;
    if (!ecoi_size_add(length, 1, &size)) {
        return NULL;
    }
    char *const copy = ecoi_arena_alloc(arena, size);
    if (copy != NULL && length > 0) {
        memcpy(copy, text, length);
    }
    return copy;
}

void ecoi_arena_fini(ecoi_arena *arena) {
    if (arena == NULL) {
        return;
    }
    struct ecoi_arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        struct ecoi_arena_chunk *const next = chunk->next;
        ecoi_free(chunk);
        chunk = next;
    }
    *arena = (ecoi_arena){0};
}
