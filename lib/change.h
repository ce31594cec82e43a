/* SPDX-License-Identifier: MIT */
/*
 * change.h - many policy words changed at once. pending.h has the words; this is how they come to be so, and cease.
 *
 *   open     CHANGE is claimed for the seat. There is one change at a time.
 *   install  each word is made pending, after its next content was written
 *   decide   one CAS on CHANGE
 *   clear    each pending word is led to what it says by now; then CHANGE is none
 *
 * Nobody waits for a change: reads know what a pending word says, and who changes one word alone breaks off an open change
 * that is in the way, or carries out a decided one. A second change waits, for a bounded time, while the owner of the
 * first lives.
 *
 * CRASH Before the decision nothing was changed, afterwards all is. What is left pending is cleared by the next change or
 * by the reaper, once the owner's seat has another epoch. Lists that were claimed are found by tl_limits_sweep().
 */
#ifndef TL_CHANGE_H
#define TL_CHANGE_H

#include "limits.h"

/* Where one word is to lead. */
struct tl_turn {
    tl_word *word;
    enum tl_policy_kind kind;
    uint32_t index;
    uint64_t list;    /* kind OWN: the claim of the list `index`, see tl_limits_claim() */
    uint64_t pending; /* what it was while it was pending; 0: it never was */
};

/* Is it still right? Asked when all words are pending, just before the decision. */
typedef bool (*tl_change_check)(struct tl_hand *hand, const void *context);

/*
 * Turns the words all at once; no word may be there twice. 1: done. 0: nothing was changed, because somebody else changed
 * one of the words alone, or `check` says no: decide anew. -TLSHM_ECONTENDED: nothing was changed, another change is under
 * way. The turns' lists are live or free then.
 */
int tl_change_make(struct tl_hand *hand, struct tl_turn *turns, size_t count, tl_change_check check,
                   const void *context);

/* The word, for who wants to change it alone: not pending. */
uint64_t tl_change_settled(struct tl_hand *hand, tl_word *word);

/* Clears what an owner left who is gone. False: there is a change whose owner lives. */
bool tl_change_clear(struct tl_hand *hand);

#endif
