/* SPDX-License-Identifier: MIT */
/*
 * ground.h - the segment that fuzzing stands on: a small file that is put back to one of several states before each input,
 * and damaged through a mapping of its own.
 *
 * STATES  The first is a segment at rest that has been used: live, overdue and ended reservations, tiers, limits of several
 * windows, a paused scope. The others are the same in the middle of a call, as a worker leaves them that is killed or
 * stopped there: copies taken before its compare-and-swaps.
 *
 * WHAT IS LEFT ALONE  The mutex of a seat that this process holds: the C library's and the kernel's lists of held mutexes
 * lead through it, and neither can be taught to doubt them. Mutexes of other seats are damaged like everything else.
 */
#ifndef TLSHM_TESTS_GROUND_H
#define TLSHM_TESTS_GROUND_H

#include "fuzz.h"

#include "segment.h"

extern const char *const ground_keys[];
#define GROUND_KEYS 8

/* Makes file and states at the first call, then puts state `number` (modulo their count) into the file. */
void ground_reset(unsigned number);

const char *ground_path(void);

/* Reads one change from the input and makes it. */
void ground_damage(struct bytes *b);

/* Makes it at the n-th access from now, inside of whatever call that is. */
void ground_damage_later(struct bytes *b, unsigned accesses);

/* Makes the header look genuine after what was done to it. */
void ground_reseal(void);

/*
 * Before each call. One that makes more accesses than any call of a sound segment by far is in an endless loop, and ends
 * the program.
 */
void ground_begin_call(const char *name);

#endif
