/* SPDX-License-Identifier: MIT */
/*
 * chance.h - random numbers for property tests: the same in each run, unless the environment says otherwise.
 *
 *   TLSHM_SEED    a number, or "random" for another one each time
 *   TLSHM_ROUNDS  how many times as many rounds as usual
 *
 * The seed is printed, so that what failed once can be had again.
 */
#ifndef TLSHM_TESTS_CHANCE_H
#define TLSHM_TESTS_CHANCE_H

#include <stddef.h>
#include <stdint.h>

struct chance {
    uint64_t state;
};

/* Seeds it, apart for each name, and prints how. Returns `rounds`, or so many times as many as were asked for. */
unsigned chance_begin(struct chance *c, const char *name, unsigned rounds);

uint64_t chance_word(struct chance *c);

/* Evenly in [0, below); 0 for 0. */
uint64_t chance_below(struct chance *c, uint64_t below);

/* In [low, high], each size of number as often as any other; and often an end of the range or a number beside one. */
uint64_t chance_edgy(struct chance *c, uint64_t low, uint64_t high);

/* True once in n times. */
int chance_one_in(struct chance *c, unsigned n);

#endif
