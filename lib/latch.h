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
 * A1  The switch is set by a compare-and-swap from the word as it was read while the latch was reached. A person's
 *     change of switches gives the segment's word a new count, one of limits gives a policy word a new version: so who
 *     was stopped in between does not stop what a person has resumed since.
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

/*
 * Sets the switch of a latch of this shape, reached while the segment's flags were `flags` and the policy word of the
 * scope was `policy`. Nothing if either has changed since.
 */
void tl_latch_set(struct tl_hand *hand, uint64_t handle, uint64_t shape, uint64_t flags, uint64_t policy);

/* Looks at all scopes, and sets the switches of latches that are reached. For the reaper. */
void tl_latch_all(struct tl_hand *hand);

#endif
