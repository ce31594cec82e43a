/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - what every fuzz target has: an entry that takes bytes, as libFuzzer calls it, and a reader of them.
 *
 * A target is linked twice: with libFuzzer (option `fuzz`, clang), and with replay.c for the ordinary tests, which feeds it
 * the kept corpus and a number of random inputs. What goes wrong aborts.
 */
#ifndef TLSHM_TESTS_FUZZ_H
#define TLSHM_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's names. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as it is read: zeroes when it is used up, so that every input means something. */
struct bytes {
    const uint8_t *at, *end;
};

static inline uint64_t bytes_take(struct bytes *b, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count && b->at < b->end; i++)
        value |= (uint64_t)*b->at++ << (8 * i);
    return value;
}

static inline unsigned bytes_8(struct bytes *b)
{
    return (unsigned)bytes_take(b, 1);
}

static inline unsigned bytes_16(struct bytes *b)
{
    return (unsigned)bytes_take(b, 2);
}

/* One of `count` choices. */
static inline unsigned bytes_below(struct bytes *b, unsigned count)
{
    return bytes_8(b) % count;
}

static inline size_t bytes_left(const struct bytes *b)
{
    return (size_t)(b->end - b->at);
}

#endif
