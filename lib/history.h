/* SPDX-License-Identifier: MIT */
/*
 * history.h - use inside a window, in constant time: plain arithmetic on a private copy of a sheet, and the ring.
 *
 * A unit's `used` only grows. Use in a window is `used` now minus `used` when the oldest bucket inside began. A sheet
 * carries, per window, the current bucket, `used` at its start, and 64 bits that say which of the last 64 buckets were
 * opened. The start of a bucket that is no longer current is in the ring.
 *
 * INVARIANTS
 *   W1  {bucket, start} of a resolved sheet is a committed fact, true for ever.
 *   W2  The ring word of a bucket is written before any head moves past a sheet that has it as its current bucket: by
 *       the committer, between its snapshot and its publication. A dead committer has written a true fact.
 *   W3  A late writer cannot spoil a word: within one tag a word's values only grow, so the word it expects is there
 *       only if nothing was used meanwhile, and then it is the same value. Every reset of a window takes a new tag.
 *   W4  What a reader of a head uses is intact while the head stays: it looks again.
 *   W5  A charge is dated between its decision and the close of its operation: never lost, late by at most the time
 *       that the operation was under way.
 */
#ifndef TL_HISTORY_H
#define TL_HISTORY_H

#include "view.h"

/* A window's bucket word is {tag:8 | ring:3 | bucket:53}, a ring's word {tag:8 | start:56}. */
#define TL_BUCKET_BITS 53
#define TL_START_BITS 56

/* A wall clock that moved by less against the boot clock has only been slewed. */
#define TL_SLEW_NS INT64_C(200000000)

TL_INLINE bool tl_history_stepped(int64_t offset, uint64_t known)
{
    int64_t step = (int64_t)((uint64_t)offset - known);
    return step > TL_SLEW_NS || step < -TL_SLEW_NS;
}

void tl_history_roll(const struct tl_map *map, struct tl_view *view, int64_t offset);

/* Brings the view to `time`: opens buckets, with the balance as it was before whatever happens at that time. */
TL_INLINE void tl_history_advance(const struct tl_map *map, struct tl_view *view, uint64_t time, int64_t offset)
{
    if (time > view->time)
        view->time = time;
    if (TL_UNLIKELY(view->time >= view->edge || tl_history_stepped(offset, view->offset)))
        tl_history_roll(map, view, offset);
}

/* Use of a unit since the start of the bucket that is `back` before the current one, of rolling window i. */
uint64_t tl_history_used_before(const struct tl_map *map, uint32_t cell, const struct tl_view *view, unsigned i,
                                unsigned unit, unsigned back);

/* Use of a unit in the newest buckets of rolling window i; `mask`: one bit for each, the lowest is the current one. */
TL_INLINE uint64_t tl_history_used_newest(const struct tl_map *map, uint32_t cell, const struct tl_view *view,
                                          unsigned i, unsigned unit, uint64_t mask)
{
    uint64_t inside = tl_peek(&view->window[i].marks) & mask;
    if (inside > 1)
        return tl_history_used_before(map, cell, view, i, unit, tl_top_bit(inside));
    return inside ? tl_view_used(view, unit) - tl_peek(&view->window[i].start) : 0;
}

/* Use inside window i at `then`, which lies beyond the current bucket, or of another kind than rolling. */
uint64_t tl_history_used_later(const struct tl_map *map, uint32_t cell, const struct tl_view *view, unsigned i,
                               uint64_t then);

/*
 * Use inside window i at the time `then`, now or later, if nothing happens until then. A time that is too early only
 * over-counts. The caller looks at the head again afterwards.
 */
TL_INLINE uint64_t tl_history_used(const struct tl_map *map, uint32_t cell, const struct tl_view *view, unsigned i,
                                   uint64_t then)
{
    uint64_t shape = tl_view_shape(view, i);
    if (TL_UNLIKELY(tl_shape_kind(shape) != TLSHM_WINDOW_ROLLING || then >= view->edge))
        return tl_history_used_later(map, cell, view, i, then);
    return tl_history_used_newest(map, cell, view, i, tl_shape_unit(shape), tl_ones(tl_shape_slices(shape)));
}

/* The first time after `now` at which use inside window i is less than it is now, if nothing happens; or TL_FOREVER. */
uint64_t tl_history_next_drop(const struct tl_map *map, uint32_t cell, const struct tl_view *view, unsigned i,
                              uint64_t now);

/*
 * The first time after `now` at which use inside window i may get smaller by itself: the end of the oldest opened bucket's
 * stay or of the period. TL_FOREVER: never.
 */
uint64_t tl_history_next_fall(const struct tl_view *view, unsigned i, uint64_t now);

/* The ring that a window's past buckets are in: it stays with the window when limits come and go beside it. */
TL_INLINE unsigned tl_history_ring(uint64_t bucket)
{
    return (unsigned)(bucket >> TL_BUCKET_BITS) & 7;
}

/* How a window starts anew, in a view that is its own. */
struct tl_restart {
    uint64_t shape;
    uint64_t carried; /* use that it begins with, in one bucket that begins now */
    uint64_t tag;     /* of its ring words from now on (W3) */
    unsigned ring;
    uint64_t time; /* now */
    int64_t offset;
};
void tl_history_restart(const struct tl_map *map, struct tl_view *view, unsigned i, const struct tl_restart *restart);

/* The clock went back for certain: every window keeps its use, as one bucket that starts at `now`. */
void tl_history_went_back(const struct tl_map *map, uint32_t cell, struct tl_view *view, uint64_t now, int64_t offset,
                          uint64_t tag);

/* Recomputes the edge of a view that is its own (tl_view_own) from its windows. */
void tl_history_set_edge(struct tl_view *view);

/* W2: puts what `moved` tells into the ring. False: the head moved on, the commit would fail. */
bool tl_history_put(const struct tl_map *map, uint32_t cell, const struct tl_view *view);

/* The time zone of index `zone`, copied and checked; UTC when there is none. */
void tl_history_zone(const struct tl_map *map, unsigned zone, struct tl_zone *out);

#endif
