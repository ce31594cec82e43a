/* SPDX-License-Identifier: MIT */
/* base.h - the few words that every file of the library uses. */
#ifndef TL_BASE_H
#define TL_BASE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tlshm/error.h>

#define TL_LIKELY(x) __builtin_expect(!!(x), 1)
#define TL_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TL_COLD __attribute__((noinline, cold))
#define TL_INLINE static inline __attribute__((always_inline))

#define TL_LINE 64 /* bytes of a cache line, on every machine that we know of or a divisor of it */
#define TL_FOREVER UINT64_MAX

TL_INLINE uint64_t tl_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

TL_INLINE uint64_t tl_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*
 * Copies private words one by one. What was just written word by word must not be read in larger pieces: the processor
 * would wait for those stores to reach the cache.
 */
TL_INLINE void tl_copy_private(uint64_t *to, const uint64_t *from, unsigned words)
{
    const volatile uint64_t *one_by_one = from;
    for (unsigned i = 0; i < words; i++)
        to[i] = one_by_one[i];
}

/* The lowest n bits set, n 0..64. */
TL_INLINE uint64_t tl_ones(unsigned n)
{
    return n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
}

/* Index of the highest bit of a word that is not 0. */
TL_INLINE unsigned tl_top_bit(uint64_t word)
{
    return 63u - (unsigned)__builtin_clzll(word);
}

#endif
