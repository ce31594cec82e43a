/* SPDX-License-Identifier: MIT */
/* random.h - a seeded generator: the same seed gives the same trace, the same crashes and the same kills. */
#ifndef REPLAY_RANDOM_H
#define REPLAY_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

uint64_t random_bits(struct random *r);

/* In [0, 1). */
double random_unit(struct random *r);

/* A lognormal variate: exp(log(median) + sigma * N(0, 1)). */
double random_lognormal(struct random *r, double median, double sigma);

/* A draw that depends on the arguments alone, for decisions that must not depend on the order of asking. */
uint64_t random_hash(uint64_t seed, uint64_t number);
double random_hash_unit(uint64_t seed, uint64_t number);

/* A text's number, for random_hash(). */
uint64_t random_text(const char *text);

/* 0 .. count - 1, where number k weighs (k + 1) to the power of -exponent. `unit` is in [0, 1). */
unsigned random_skewed(double unit, unsigned count, double exponent);

#endif
