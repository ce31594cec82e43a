/* SPDX-License-Identifier: MIT */
/*
 * hit.h - a signal to oneself at the n-th access to shared words: stops or deaths between any two of them.
 *
 * Works in programs that are linked with the hooked library (TL_HOOKS); elsewhere arming does nothing and says so.
 */
#ifndef TLSHM_TESTS_HIT_H
#define TLSHM_TESTS_HIT_H

#include <stdbool.h>

/* From now on, before the access after the next `accesses` ones, the process sends itself `signal`, once. */
bool hit_arm(unsigned accesses, int signal);

/* The same, counting compare-and-swaps first, and from the last of them on so many accesses. */
bool hit_arm_swaps(unsigned swaps, unsigned accesses, int signal);

/* Takes it back. False if the signal was sent. */
bool hit_disarm(void);

#endif
