/* SPDX-License-Identifier: MIT */
/*
 * horizon.h - when the first hold of a block of reservations ends: what lets a walk pass over a block unread.
 *
 * The time is early at most (I7): settles leave it as it is. Whoever walks into a block whose time has come sets it anew.
 *
 * STATES of a horizon
 *   trusted   nothing that is HELD in the block ends before its time
 *   doubted   somebody is about to set it anew, or died at it: its time covers only what was decided since
 *
 * LOWERING H1  Whoever is about to decide an operation that leaves a record HELD, owner or helper, looks at the horizon
 * first, after the operation's seat was seen open, and lowers it to the deadline if it is later. So a hold is never
 * there before its horizon is.
 *
 * RAISING  A look that finds the time early enough writes nothing, so who raises it must learn of such looks:
 *   H2  doubt it, with the time at "never" and a version of one's own;
 *   H3  look at every seat: for each operation that is open and will leave a record HELD, lower its horizon. An operation
 *       that is not open yet looks at the horizon later (H1), and finds it doubted and late;
 *   H4  read the block;
 *   H5  trust it again, unless the version says that somebody else doubted it since, with the earliest of what was read
 *       and what it was lowered to meanwhile.
 *
 * CRASH  Between H2 and H5 it stays doubted: everybody reads the block until somebody has set it anew.
 */
#ifndef TL_HORIZON_H
#define TL_HORIZON_H

#include "body.h"

#define TL_HORIZON_TIME_SHIFT 20
#define TL_HORIZON_GRAIN 19 /* bits of a time that are left out: half a millisecond */
#define TL_HORIZON_NEVER (TL_FOREVER >> TL_HORIZON_TIME_SHIFT)
#define TL_HORIZON_DOUBTED (UINT64_C(1) << 19)
#define TL_HORIZON_TIED (UINT64_C(1) << 18)
#define TL_HORIZON_VERSION (TL_HORIZON_TIED - 1)

/* A time as a horizon has it: rounded down. */
TL_INLINE uint64_t tl_horizon_grain(uint64_t time)
{
    return time == TL_FOREVER ? TL_HORIZON_NEVER : tl_min(time >> TL_HORIZON_GRAIN, TL_HORIZON_NEVER - 1);
}

/* The time of a horizon, TL_FOREVER if nothing is held; 0 if it is doubted. */
TL_INLINE uint64_t tl_horizon_time(uint64_t word)
{
    uint64_t grain = word >> TL_HORIZON_TIME_SHIFT;
    if (word & TL_HORIZON_DOUBTED)
        return 0;
    return grain == TL_HORIZON_NEVER ? TL_FOREVER : grain << TL_HORIZON_GRAIN;
}

/* Is a hold with this deadline known? */
TL_INLINE bool tl_horizon_covers(uint64_t word, uint64_t deadline, bool tied)
{
    uint64_t grain = tl_min(deadline >> TL_HORIZON_GRAIN, TL_HORIZON_NEVER - 1);
    return word >> TL_HORIZON_TIME_SHIFT <= grain && (!tied || (word & TL_HORIZON_TIED));
}

TL_INLINE bool tl_horizon_ties(uint64_t info)
{
    return (info >> 8 & TLSHM_FREE_ON_DEATH) != 0;
}

/* Lowers a horizon to cover a hold. */
void tl_horizon_lower(tl_word *horizon, uint64_t deadline, bool tied);

/* H1 for a hold whose record is in range. */
TL_INLINE void tl_horizon_meet_hold(const struct tl_map *map, uint32_t record, uint64_t deadline, bool tied)
{
    tl_word *horizon = &map->horizons[record / SHM_BLOCK];
    if (TL_UNLIKELY(!tl_horizon_covers(tl_load(horizon), deadline, tied)))
        tl_horizon_lower(horizon, deadline, tied);
}

/*
 * H1, before the decision that gives `record` the head `to`, whose index and node are in range. A body that is another's
 * by now lowers a horizon too far at most.
 */
TL_INLINE void tl_horizon_meet(const struct tl_map *map, uint32_t record, uint64_t to)
{
    if (shm_status(to) != SHM_HELD || TL_UNLIKELY(record >= map->reservations))
        return;
    const struct shm_body *body = &map->bodies[shm_node(to)];
    uint64_t deadline = tl_peek(&body->deadline);
    tl_horizon_meet_hold(map, record, deadline, tl_horizon_ties(tl_peek(&body->info)));
}

/* H2. The word that it has now. */
uint64_t tl_horizon_doubt(tl_word *horizon);

/* H3, for any number of doubted horizons at once. */
void tl_horizon_meet_all(const struct tl_map *map);

/* H5: `doubted` is what tl_horizon_doubt() gave, `first` and `tied` what was read since tl_horizon_meet_all(). */
void tl_horizon_trust(tl_word *horizon, uint64_t doubted, uint64_t first, bool tied);

#endif
