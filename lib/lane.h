/* SPDX-License-Identifier: MIT */
/*
 * lane.h - a cell as a thread met it or left it: while the head and the ref of its sheet are still the same, all that is
 * remembered here stands, and need not be read again.
 *
 * An installed sheet changes in nothing but its ref, and no head comes back. A spare is written by its thread alone; an
 * operation on the general way may write it or change it for another, and then the lanes are forgotten (hand->written).
 */
#ifndef TL_LANE_H
#define TL_LANE_H

#include "ceiling.h"
#include "txn.h"

struct tl_lane {
    struct shm_cell *at;
    uint64_t head, ref;
    struct shm_sheet *sheet; /* that the head leads to: decided, narrow, of the incarnation that was asked for */
    struct shm_sheet *spare; /* the thread's own that is to follow; it has the cell's windows if lanes are ready */
    uint64_t place;          /* {cell:32 | the spare's index:32} */
    uint64_t stamp, edge;    /* of the windows */
    uint64_t offset;         /* wall minus boot that they go by */
    uint32_t cell;
    const struct tl_ceiling *ceiling;
    uint64_t notes; /* of the ceiling when it was seen to be of this cell and these windows; else another number */
};

/* What the lanes of an operation have in common. */
struct tl_lanes {
    uint64_t edge;    /* the earliest of them */
    uint64_t time;    /* as of then all of them are what they are: the latest operation's, before any edge */
    int64_t offset;   /* wall minus boot that was seen to go with the windows of all */
    uint64_t written; /* the hand's, when they were met: since then nobody else has written the spares */
    bool marking;     /* some are to be marked by the owner still, see tl_txn_mark_own(), or not all are ready */
    bool ready;       /* all spares have their cells' windows: an operation can go on from here */
};

/* 0 if the lane's state stands: it does then until the head is seen changed. */
TL_INLINE uint64_t tl_lane_differs(const struct tl_lane *l)
{
    return (tl_load(&l->at->head) ^ l->head) | (tl_load(&l->sheet->ref) ^ l->ref);
}

/* Is the ceiling of this cell and these windows, and are its limits in force still? */
TL_INLINE bool tl_lane_is_limited(struct tl_lane *l)
{
    if (TL_UNLIKELY(l->notes != l->ceiling->notes)) {
        if (!tl_ceiling_is_of(l->ceiling, l->cell, l->stamp))
            return false;
        l->notes = l->ceiling->notes;
    }
    return tl_ceiling_in_force(l->ceiling);
}

/* The operation got through: the spare is installed with `head` and `ref`, and what it displaced is the spare. */
TL_INLINE void tl_lane_turn(struct tl_lane *l, uint64_t head, uint64_t ref)
{
    struct shm_sheet *displaced = l->sheet;
    l->sheet = l->spare;
    l->spare = displaced;
    l->place = shm_place(l->cell, shm_node(l->head));
    l->head = head;
    l->ref = ref;
}

#endif
