/* SPDX-License-Identifier: MIT */
/*
 * latch.h - limits that stop a scope, or everything, once they are reached: until a person resumes it.
 *
 * A latch ("cost $10k per 1d then shutoff") is reached when as much was used in its window as it allows. What is held does
 * not count: an estimate that is too large must not need a person. A reserve that asks for its unit is admitted while it is
 * not reached, decided by the same compare-and-swap as everything else: so of the calls that name the scope none is
 * admitted on top of a state in which it is. Whoever is refused by it, and the reaper, sets the switch that a person
 * could have set: of the scope `global:` that of the whole segment, of any other its own.
 *
 * A1  The switch is set by a compare-and-swap from the word as it was read before the clock by which the latch is
 *     reached. A person's change of switches gives the segment's word a new count, one of switches or limits gives a policy
 *     word a new version: so who was stopped in between does not stop what a person has resumed since.
 *
 * COST  Straight calls see a latch in their ceilings and know nothing else of it; near it they go the general way. Segments
 * that never had one pay for a bit (SHM_LATCHES), looked at when a straight call is refused and when the reaper passes.
 */
#ifndef TL_LATCH_H
#define TL_LATCH_H

#include "limits.h"

/* May some scope have a latch? */
TL_INLINE bool tl_latch_any(const struct tl_map *map)
{
    return (tl_load_relaxed(&map->header->flags) & SHM_LATCHES) != 0;
}

/* Looks at a scope, and sets the switch of a latch that is reached. False: none is. For who is being refused by one. */
bool tl_latch_look(struct tl_hand *hand, uint64_t handle);

/* Looks at all scopes, and sets the switches of latches that are reached. For the reaper. */
void tl_latch_all(struct tl_hand *hand);

#endif
