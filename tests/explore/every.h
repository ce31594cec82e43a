/* SPDX-License-Identifier: MIT */
/*
 * every.h - included before each file of the library in the explorer's build: relaxed accesses and the single words of
 * blocks are announced as well, so that the explorer may stop a fibre before any of them.
 */
#ifndef TLSHM_EXPLORE_EVERY_H
#define TLSHM_EXPLORE_EVERY_H

#include "atomic.h"

/* Blocks are copied word by word, each a step. */
extern bool every_word;

/* Called before each relaxed access. */
void every_hook(enum tl_access access, const volatile void *address);

TL_INLINE uint64_t every_load_relaxed(const tl_word *p)
{
    every_hook(TL_READ, p);
    return tl_load_relaxed(p);
}

TL_INLINE void every_store_relaxed(tl_word *p, uint64_t value)
{
    every_hook(TL_WRITE, p);
    tl_store_relaxed(p, value);
}

TL_INLINE void every_copy_in(uint64_t *to, const tl_word *from, unsigned words)
{
    unsigned piece = every_word ? 1 : words;
    for (unsigned i = 0; i < words; i += piece)
        tl_copy_in(to + i, from + i, piece);
}

TL_INLINE void every_words_out(tl_word *to, const uint64_t *from, unsigned words)
{
    unsigned piece = every_word ? 1 : words;
    for (unsigned i = 0; i < words; i += piece)
        tl_words_out(to + i, from + i, piece);
}

TL_INLINE void every_copy_across(tl_word *to, const tl_word *from, unsigned words)
{
    unsigned piece = every_word ? 1 : words;
    for (unsigned i = 0; i < words; i += piece)
        tl_copy_across(to + i, from + i, piece);
}

TL_INLINE uint64_t every_step_out(tl_word *before, tl_word *after, const tl_word *from, const uint64_t *delta,
                                  unsigned words)
{
    uint64_t any = 0;
    if (!every_word)
        return tl_step_out(before, after, from, delta, words);
    for (unsigned i = 0; i < words; i++) {
        uint64_t sum = tl_step_out(before + i, after + i, from + i, delta + i, 1);
        any |= i % 4 == 3 ? 0 : sum;
    }
    return any;
}

TL_INLINE void every_line_in(struct tl_line *to, const tl_word *from)
{
    if (!every_word)
        tl_line_in(to, from);
    for (unsigned i = 0; every_word && i < 8; i++) {
        uint64_t word;
        tl_copy_in(&word, from + i, 1);
        to->at[i / 2][i % 2] = word;
    }
}

TL_INLINE void every_line_out(tl_word *to, const struct tl_line *from)
{
    if (!every_word)
        tl_line_out(to, from);
    for (unsigned i = 0; every_word && i < 8; i++) {
        uint64_t word = from->at[i / 2][i % 2];
        tl_words_out(to + i, &word, 1);
    }
}

#define tl_load_relaxed(p) every_load_relaxed(p)
#define tl_store_relaxed(p, value) every_store_relaxed(p, value)
#define tl_copy_in(to, from, words) every_copy_in(to, from, words)
#define tl_words_out(to, from, words) every_words_out(to, from, words)
#define tl_copy_across(to, from, words) every_copy_across(to, from, words)
#define tl_step_out(before, after, from, delta, words) every_step_out(before, after, from, delta, words)
#define tl_line_in(to, from) every_line_in(to, from)
#define tl_line_out(to, from) every_line_out(to, from)

#endif
