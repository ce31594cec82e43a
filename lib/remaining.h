/* SPDX-License-Identifier: MIT */
/*
 * remaining.h - what is left to a scope of a unit, in one go: by the ceiling that the thread remembers (ceiling.h) and the
 * balance of the installed sheet. At the first thing that is unusual the general look (look.h) is to answer.
 */
#ifndef TL_REMAINING_H
#define TL_REMAINING_H

#include "policy.h"
#include "segment.h"

/* What is left, in `out`, as tl_look_remaining() has it. False: look the general way. */
bool tl_remaining(struct tl_thread *thread, uint64_t handle, enum tlshm_unit unit, int64_t *out);

/* After that: remembers what the next one may want to know of the scope's limits. Writes nothing shared. */
void tl_remaining_learn(struct tl_thread *thread, uint64_t handle);

#endif
