/* SPDX-License-Identifier: MIT */
/*
 * atomic.h - every access to memory that other processes may change, as a closed list. The only <stdatomic.h>.
 *
 * ORDER
 *   Control words (heads, refs, seat words) are loaded seq_cst and changed by seq_cst compare-and-swap, which costs
 *   nothing extra on x86 and lets the explorer's sequentially consistent schedules stand for other machines.
 *   E1  publish: a seat's operation is written, then its `cur` is stored with release; whoever learns of the operation
 *       through a head that the owner swung afterwards (a seq_cst CAS) sees all of it.
 *   E2  close: `cur` is stored with release. A seat that looks open a little longer is always legal (helpers finish a
 *       decided operation: no-ops), and the owner's next CAS drains the store.
 *   E3  reuse: tl_fence_release() stands before the first store into a spare node. It orders the CAS that displaced
 *       the node before its reuse; the reader's tl_fence_acquire() and second look at the head are the other end.
 *   Data words (sheets, bodies) are copied in blocks between these fences. Nothing relies on more than each aligned
 *   8-byte word being read or written whole, which 16-byte vectors give on x86 and Armv8.
 *
 * TL_HOOKS builds (explorer, storm) call tl_hook() before each access; TL_WORDWISE builds (those and TSan) copy word by
 * word through atomics, so that tools see them.
 */
#ifndef TL_ATOMIC_H
#define TL_ATOMIC_H

#include <stdatomic.h>

#include "base.h"

typedef _Atomic uint64_t tl_word;

#if defined(__SANITIZE_THREAD__)
#define TL_WORDWISE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TL_WORDWISE 1
#endif
#endif

#ifdef TL_HOOKS
#ifndef TL_WORDWISE
#define TL_WORDWISE 1
#endif
enum tl_access { TL_READ, TL_WRITE, TL_SWAP };
/* Called before each access; a block of data words counts as one, at its start. */
void tl_hook(enum tl_access access, const volatile void *address);
/* Called after each compare-and-swap. */
void tl_hook_swapped(const volatile void *address, uint64_t expected, uint64_t desired, bool done);
#else
#define tl_hook(access, address) ((void)0)
#define tl_hook_swapped(address, expected, desired, done) ((void)0)
#endif

TL_INLINE uint64_t tl_load(const tl_word *p)
{
    tl_hook(TL_READ, p);
    return atomic_load_explicit((tl_word *)p, memory_order_seq_cst);
}

/* For hints, statistics and fields that a fence or a second look protects. */
TL_INLINE uint64_t tl_load_relaxed(const tl_word *p)
{
    return atomic_load_explicit((tl_word *)p, memory_order_relaxed);
}

/* A data word of a sheet or body that may be another's spare by now: a second look at the head tells (V2, V3). */
TL_INLINE uint64_t tl_peek(const tl_word *p)
{
    tl_hook(TL_READ, p);
#ifdef TL_WORDWISE
    return atomic_load_explicit((tl_word *)p, memory_order_acquire);
#else
    return atomic_load_explicit((tl_word *)p, memory_order_relaxed);
#endif
}

TL_INLINE void tl_store_relaxed(tl_word *p, uint64_t value)
{
    atomic_store_explicit(p, value, memory_order_relaxed);
}

/* E1, E2 and the words of one's own seat. */
TL_INLINE void tl_store_release(tl_word *p, uint64_t value)
{
    tl_hook(TL_WRITE, p);
    atomic_store_explicit(p, value, memory_order_release);
}

TL_INLINE bool tl_cas(tl_word *p, uint64_t expected, uint64_t desired)
{
    tl_hook(TL_SWAP, p);
    uint64_t seen = expected;
    bool done = atomic_compare_exchange_strong_explicit(p, &seen, desired, memory_order_seq_cst, memory_order_seq_cst);
    tl_hook_swapped(p, expected, desired, done);
    return done;
}

TL_INLINE uint64_t tl_add(tl_word *p, uint64_t n)
{
    tl_hook(TL_SWAP, p);
    return atomic_fetch_add_explicit(p, n, memory_order_relaxed);
}

/* A counter that only this thread writes: no locked instruction. */
TL_INLINE void tl_count(tl_word *p)
{
    tl_store_relaxed(p, tl_load_relaxed(p) + 1);
}

TL_INLINE void tl_fence_acquire(void)
{
#ifndef TL_WORDWISE /* there the words themselves are loaded with acquire: TSan does not follow fences */
    atomic_thread_fence(memory_order_acquire);
#endif
}

TL_INLINE void tl_fence_release(void)
{
#ifndef TL_WORDWISE
    atomic_thread_fence(memory_order_release);
#endif
}

#ifdef __clang__
#define TL_UNROLL _Pragma("clang loop unroll(full)")
#define TL_UNROLL_TWO _Pragma("clang loop unroll_count(2)")
#else
#define TL_UNROLL _Pragma("GCC unroll 32")
#define TL_UNROLL_TWO _Pragma("GCC unroll 2")
#endif

typedef uint64_t tl_pair __attribute__((vector_size(16), may_alias));

/* A line of data words in private. */
struct tl_line {
    tl_pair at[4];
};

/* A pair of private words. What was just written word by word is not read in larger pieces: see tl_copy_private(). */
TL_INLINE tl_pair tl_pair_of(const uint64_t *words)
{
    const volatile uint64_t *one_by_one = words;
    return (tl_pair){one_by_one[0], one_by_one[1]};
}

/* Private words into a spare. */
TL_INLINE void tl_words_out(tl_word *to, const uint64_t *from, unsigned words)
{
    tl_hook(TL_WRITE, to);
    for (unsigned i = 0; i < words; i++)
#ifdef TL_WORDWISE
        atomic_store_explicit(&to[i], from[i], memory_order_release);
#else
        atomic_store_explicit(&to[i], from[i], memory_order_relaxed);
#endif
}

#ifdef TL_WORDWISE

TL_INLINE void tl_copy_in(uint64_t *to, const tl_word *from, unsigned words)
{
    tl_hook(TL_READ, from);
    for (unsigned i = 0; i < words; i++)
        to[i] = atomic_load_explicit((tl_word *)&from[i], memory_order_acquire);
}

#define TL_COPY_MOST 16

TL_INLINE void tl_copy_across(tl_word *to, const tl_word *from, unsigned words)
{
    uint64_t word[TL_COPY_MOST];
    tl_copy_in(word, from, words);
    tl_words_out(to, word, words);
}

/*
 * before[i] = from[i], after[i] = from[i] + delta[i]. Returns the sums or-ed together, but for each fourth word, which is
 * none.
 */
TL_INLINE uint64_t tl_step_out(tl_word *before, tl_word *after, const tl_word *from, const uint64_t *delta,
                               unsigned words)
{
    uint64_t word[TL_COPY_MOST], any = 0;
    tl_copy_in(word, from, words);
    tl_words_out(before, word, words);
    for (unsigned i = 0; i < words; i++) {
        word[i] += delta[i];
        any |= i % 4 == 3 ? 0 : word[i];
    }
    tl_words_out(after, word, words);
    return any;
}

TL_INLINE void tl_line_in(struct tl_line *to, const tl_word *from)
{
    uint64_t word[8];
    tl_copy_in(word, from, 8);
    for (unsigned i = 0; i < 4; i++)
        to->at[i] = (tl_pair){word[2 * i], word[2 * i + 1]};
}

TL_INLINE void tl_line_out(tl_word *to, const struct tl_line *from)
{
    uint64_t word[8];
    for (unsigned i = 0; i < 8; i++)
        word[i] = from->at[i / 2][i % 2];
    tl_words_out(to, word, 8);
}

#else

/* 16 bytes at a time: half of the stores, which every CAS has to wait for (the largest single gain measured). */
TL_INLINE tl_pair tl_pair_at(const tl_word *p)
{
    return *(const volatile tl_pair *)(const volatile void *)p;
}

/* Both sides 16-byte aligned, an even number of words. */
TL_INLINE void tl_copy_in(uint64_t *to, const tl_word *from, unsigned words)
{
    for (unsigned i = 0; i < words; i += 2)
        *(tl_pair *)(to + i) = tl_pair_at(from + i);
}

TL_INLINE void tl_copy_across(tl_word *to, const tl_word *from, unsigned words)
{
    TL_UNROLL
    for (unsigned i = 0; i < words; i += 2)
        *(volatile tl_pair *)(volatile void *)(to + i) = tl_pair_at(from + i);
}

TL_INLINE uint64_t tl_step_out(tl_word *before, tl_word *after, const tl_word *from, const uint64_t *delta,
                               unsigned words)
{
    tl_pair any = {0, 0};
    TL_UNROLL
    for (unsigned i = 0; i < words; i += 2) {
        tl_pair was = tl_pair_at(from + i), sum = was + tl_pair_of(delta + i);
        *(volatile tl_pair *)(volatile void *)(before + i) = was;
        *(volatile tl_pair *)(volatile void *)(after + i) = sum;
        any |= i % 4 == 2 ? (tl_pair){sum[0], 0} : sum;
    }
    return any[0] | any[1];
}

/* Both 16-byte aligned. */
TL_INLINE void tl_line_in(struct tl_line *to, const tl_word *from)
{
    TL_UNROLL
    for (unsigned i = 0; i < 4; i++)
        to->at[i] = tl_pair_at(from + 2 * i);
}

TL_INLINE void tl_line_out(tl_word *to, const struct tl_line *from)
{
    TL_UNROLL
    for (unsigned i = 0; i < 4; i++)
        *(volatile tl_pair *)(volatile void *)(to + 2 * i) = from->at[i];
}

#endif

/* Tells the processor that this is a waiting loop. */
TL_INLINE void tl_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
