/* SPDX-License-Identifier: MIT */
/*
 * jitter.h - makes calls of a thread slow in a random way, so that they overlap with others on few processors, and kills
 * the process between two accesses to shared words. Needs the hooked library.
 */
#ifndef TLSHM_TESTS_JITTER_H
#define TLSHM_TESTS_JITTER_H

#include <stdint.h>

#define JITTER_NO_DEATH UINT64_MAX

/* From now on, for this thread; SIGKILL before the access after the next `life` ones. */
void jitter_begin(uint64_t seed, uint64_t life);
void jitter_end(void);

/* A number below n from a generator of the caller's. */
uint64_t jitter_below(uint64_t *random, uint64_t n);

#endif
