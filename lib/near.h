/* SPDX-License-Identifier: MIT */
/* near.h - which of the known words somebody may have meant who wrote another. */
#ifndef TL_NEAR_H
#define TL_NEAR_H

#include "base.h"

/*
 * Letters that must be put in, left out, replaced or swapped with their neighbour to turn one word into the other. Words
 * over 64 bytes are as far as can be from everything.
 */
unsigned tl_near_distance(const char *a, size_t a_len, const char *b, size_t b_len);

/* Whether so many changes may well be a slip of the pen in a word of this length. */
bool tl_near_enough(unsigned distance, size_t length);

/* The nearest of the names that is near enough, or NULL. */
const char *tl_near_name(const char *word, size_t len, const char *const *names, size_t count);

#endif
