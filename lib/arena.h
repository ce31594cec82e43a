/* SPDX-License-Identifier: MIT */
/* arena.h - memory that is taken piece by piece and given back as a whole: what it holds never moves. */
#ifndef TL_ARENA_H
#define TL_ARENA_H

#include "base.h"

struct tl_arena_block;

/* All zero is empty. */
struct tl_arena {
    struct tl_arena_block *block;
    bool failed; /* some piece was not to be had: whoever filled the arena asks once, at the end */
};

/* `size` bytes of zeros, aligned for anything; NULL without memory. */
void *tl_arena_take(struct tl_arena *arena, size_t size);

/* A NUL-terminated copy; NULL without memory. */
char *tl_arena_copy(struct tl_arena *arena, const char *text, size_t length);

void tl_arena_free(struct tl_arena *arena);

#endif
