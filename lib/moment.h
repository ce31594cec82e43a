/* SPDX-License-Identifier: MIT */
/*
 * moment.h - numbers, lengths of time and dates as machines write them into headers and messages.
 *
 * Strict and bounded: a text is read as a whole number of characters or not at all, nothing wraps, no locale, no clock,
 * no allocation. Reading never goes beyond the length that was given; a NUL is a character like any other.
 *
 * INVARIANTS
 *   I1  Lengths of time are rounded up to a nanosecond, never down: who waits, waits long enough.
 *   I2  What does not fit into 64 bits is not read.
 */
#ifndef TL_MOMENT_H
#define TL_MOMENT_H

#include "base.h"

/* A piece of somebody else's text. */
struct tl_slice {
    const char *at;
    size_t n;
};

/* "17.399999999": digits, and maybe digits behind a point. */
struct tl_decimal {
    uint64_t whole;
    uint32_t nano; /* the first nine digits behind the point */
    bool finer;    /* more of them, not all zero */
};

TL_INLINE bool tl_moment_digit(char c)
{
    return c >= '0' && c <= '9';
}

TL_INLINE bool tl_moment_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

TL_INLINE char tl_moment_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Blanks at both ends left out. */
struct tl_slice tl_moment_trim(struct tl_slice text);

/* Is the text this lower-case word, or does it begin with it, in letters of either case? */
bool tl_moment_is(struct tl_slice text, const char *word);
bool tl_moment_begins(struct tl_slice text, const char *word);

/* Reads a number at the start; how many characters it takes, 0 for none. The second one takes "40,000" as a whole. */
size_t tl_moment_decimal(struct tl_slice text, struct tl_decimal *out);
size_t tl_moment_grouped(struct tl_slice text, struct tl_decimal *out);

/* The number times `unit`, rounded up. */
bool tl_moment_scale(const struct tl_decimal *number, uint64_t unit, uint64_t *out);

/* Reads "1m13.588s", "6ms", "7 seconds", "1 minute 30 seconds" at the start; how many characters it takes, or 0. */
size_t tl_moment_length(struct tl_slice text, uint64_t *ns);

/* The length that one word stands for, as in "per minute", "5h", "10s", "monthly"; a month has 30 days. */
bool tl_moment_window(struct tl_slice word, uint64_t *ns);

/* RFC 3339, or one of the three forms of an HTTP date, and nothing else; years 1970 to 2261. */
bool tl_moment_date(struct tl_slice text, int64_t *wall_ns);

#endif
