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

#include "layout.h"
#include "window.h"

struct tl_balance {
    uint64_t held[TLSHM_UNITS];
    uint64_t due;
    uint64_t used[TLSHM_UNITS];
    uint64_t incarnation;
};

struct tl_window {
    uint64_t shape, bucket, start, marks;
};

/* The committed state of one cell in private memory, resolved as of `time`. Laid out as the sheet is. */
struct tl_view {
    alignas(16) struct tl_balance balance;
    struct tl_tail {
        uint64_t time, edge, offset, windows;
    } tail;
    struct tl_window window[TLSHM_LIMITS_MAX];
    uint64_t head;
    unsigned moved;                        /* windows whose bucket is newer than the sheet's: their old start ... */
    uint64_t old_bucket[TLSHM_LIMITS_MAX]; /* ... is here, and goes into the ring before anybody commits on top */
    uint64_t old_start[TLSHM_LIMITS_MAX];
};

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

/* Brings the view to `time`: opens buckets, with `balance.used` as it was before whatever happens at that time. */
TL_INLINE void tl_history_advance(const struct tl_map *map, struct tl_view *view, uint64_t time, int64_t offset)
{
    if (time > view->tail.time)
        view->tail.time = time;
    if (TL_UNLIKELY(view->tail.time >= view->tail.edge || tl_history_stepped(offset, view->tail.offset)))
        tl_history_roll(map, view, offset);
}

/* Use since the start of the bucket that is `back` before the current one. */
uint64_t tl_history_used_since(const struct tl_map *map, uint32_t cell, const struct tl_view *view, unsigned i,
                               unsigned back);

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
    const struct tl_window *w = &view->window[i];
    if (TL_UNLIKELY(tl_shape_kind(w->shape) != TLSHM_WINDOW_ROLLING || then >= view->tail.edge))
        return tl_history_used_later(map, cell, view, i, then);
    uint64_t inside = w->marks & tl_ones(tl_shape_slices(w->shape)); /* the newest buckets, the current one the first */
    return inside ? tl_history_used_since(map, cell, view, i, tl_top_bit(inside)) : 0;
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
TL_INLINE unsigned tl_history_ring(const struct tl_window *w)
{
    return (unsigned)(w->bucket >> TL_BUCKET_BITS) & 7;
}

/* How a window starts anew. */
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

/* Recomputes the view's edge from its windows. */
void tl_history_set_edge(struct tl_view *view);

/* W2: puts what `moved` tells into the ring. False: the head moved on, the commit would fail. */
bool tl_history_put(const struct tl_map *map, uint32_t cell, const struct tl_view *view);

/* The time zone of index `zone`, copied and checked; UTC when there is none. */
void tl_history_zone(const struct tl_map *map, unsigned zone, struct tl_zone *out);

#endif
