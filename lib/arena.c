/* SPDX-License-Identifier: MIT */
/* arena.c - memory that is given back as a whole. */
#include "arena.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct tl_arena_block {
    struct tl_arena_block *next;
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

static struct tl_arena_block *add_block(struct tl_arena *arena, size_t least)
{
    size_t size = least > BLOCK_BYTES ? least : BLOCK_BYTES;
    struct tl_arena_block *block = calloc(1, sizeof *block + size);
    if (!block)
        return NULL;
    block->size = size;
    block->next = arena->block;
    arena->block = block;
    return block;
}

void *tl_arena_take(struct tl_arena *arena, size_t size)
{
    struct tl_arena_block *block = arena->block;
    if (size > SIZE_MAX / 2) {
        arena->failed = true;
        return NULL;
    }
    size = (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    if (!block || block->size - block->used < size)
        block = add_block(arena, size);
    if (!block) {
        arena->failed = true;
        return NULL;
    }
    void *piece = block->bytes + block->used;
    block->used += size;
    return piece;
}

char *tl_arena_copy(struct tl_arena *arena, const char *text, size_t length)
{
    char *copy = tl_arena_take(arena, length + 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

void tl_arena_free(struct tl_arena *arena)
{
    for (struct tl_arena_block *block = arena->block, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *arena = (struct tl_arena){0};
}
