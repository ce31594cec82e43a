/* SPDX-License-Identifier: MIT */
/*
 * ceiling.h - how far held + used of a scope may rise, by unit: all its limits in one number each, remembered by a thread.
 *
 * A limit admits while (used - B) + held + need <= cap, where B is `used` at the start of the oldest bucket inside its
 * window. B stays the same until the next edge of the sheet's windows. So held + used + need <= cap + B decides, with the
 * least cap + B of a unit's limits, for as long as the policy words, the windows (by their stamp, view.h) and the edge
 * stand.
 */
#ifndef TL_CEILING_H
#define TL_CEILING_H

#include "limits.h"

#define TL_CEILINGS 64                      /* a power of two */
#define TL_CEILING_MOST (UINT64_C(1) << 62) /* no ceiling is higher, and no sum is */

struct tl_ceiling {
    uint32_t of;    /* cell + 1; 0: nobody's */
    uint16_t words; /* 0: nothing is known yet */
    bool requests;  /* some limits are on single requests: those below */
    uint64_t notes; /* grows whenever it becomes another */
    uint64_t stamp;
    const tl_word *word[4]; /* the policy words that its limits come from (with one only, twice) ... */
    uint64_t seen[4];       /* ... as they were */
    union {
        uint64_t of[TLSHM_UNITS];
        tl_pair pair[2]; /* tokens and cost, requests and concurrency */
    } most;
    uint64_t cap[TLSHM_UNITS];     /* the least of a unit: what is above it never fits */
    uint64_t request[TLSHM_UNITS]; /* what a single request may ask for of a unit */
    uint64_t time;                 /* and how long it may hold it */
};

/* Is it that of the cell, whose windows have this stamp? */
TL_INLINE bool tl_ceiling_is_of(const struct tl_ceiling *c, uint32_t cell, uint64_t stamp)
{
    return c->of == cell + 1 && c->words && c->stamp == stamp;
}

/* Are its limits in force still? */
TL_INLINE bool tl_ceiling_in_force(const struct tl_ceiling *c)
{
    bool same = tl_load(c->word[0]) == c->seen[0] && tl_load(c->word[1]) == c->seen[1];
    for (unsigned i = 2; TL_UNLIKELY(i < c->words); i++)
        same &= tl_load(c->word[i]) == c->seen[i];
    return same;
}

TL_INLINE const struct tl_ceiling *tl_ceiling_of(const struct tl_ceiling *all, uint32_t cell)
{
    return &all[cell % TL_CEILINGS];
}

/*
 * What the limits leave of units on a balance's first line, `after` it has what is wanted: as signed numbers, since no sum
 * is near its end. It does not fit if a sign bit is set. Tokens and cost that are not asked for do not matter: `asked` has
 * the amounts of both, each with its sign changed.
 */
TL_INLINE tl_pair tl_ceiling_left(const struct tl_ceiling *c, const struct tl_line *after, tl_pair asked)
{
    tl_pair two = c->most.pair[0] - (after->at[0] + after->at[2]); /* the places as in layout.h */
    return (two & asked) | (c->most.pair[1] - (tl_pair){after->at[3][0], after->at[1][0]});
}

/*
 * Is `need` within the limits on single requests? Shortens `ttl` to what they allow. `need` has units of a balance's first
 * line only; what is above, or allowed no time at all, is told the general way.
 */
TL_INLINE bool tl_ceiling_allows(const struct tl_ceiling *c, const uint64_t *need, uint64_t *ttl)
{
    if (TL_LIKELY(!c->requests))
        return true;
    *ttl = tl_min(*ttl, c->time);
    return need[TLSHM_TOKENS] <= c->request[TLSHM_TOKENS] && need[TLSHM_COST] <= c->request[TLSHM_COST] &&
           need[TLSHM_REQUESTS] <= c->request[TLSHM_REQUESTS] && c->time > 0;
}

/* Is it more than a limit itself? `need` has units of a balance's first line only. */
TL_INLINE bool tl_ceiling_never(const struct tl_ceiling *c, const uint64_t *need)
{
    bool never = false;
    for (unsigned unit = 0; unit <= TLSHM_CONCURRENCY; unit++)
        never |= need[unit] > c->cap[unit];
    return never;
}

/*
 * Remembers the ceiling of a cell that `view` was found in and `memo` holds the limits of, read just before. The first
 * time only that the cell was met: who never comes back pays nothing.
 */
void tl_ceiling_note(struct tl_ceiling *all, const struct tl_map *map, uint32_t cell, const struct tl_view *view,
                     const struct tl_limits_memo *memo, uint64_t now);

#endif
