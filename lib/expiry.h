/* SPDX-License-Identifier: MIT */
/*
 * expiry.h - overdue holds: found by whoever is in their way, and by the reaper.
 *
 * A scope's sheet knows a time before which none of its holds is due (layout.h, I6), exact because it changes with the
 * holds. A refusal that comes before it looks no further. After it, what is overdue is expired, and the time is set anew by
 * an operation on the scope alone, which fails if its holds changed.
 *
 * COST  Blocks of reservations whose horizon (horizon.h) lies ahead are passed over. So a walk costs a word for each
 * block, and reads those blocks in which something may be due.
 */
#ifndef TL_EXPIRY_H
#define TL_EXPIRY_H

#include "segment.h"

/* A walk over all HELD reservations, horizons or not; `visit` gets a private copy. Returns 0 or an error. */
typedef void (*tl_expiry_visit)(void *context, const struct tl_record *record);
int tl_expiry_walk(const struct tl_hand *hand, tl_expiry_visit visit, void *context);

/* A walk over the holds with from <= deadline < before, of one cell or of all (TL_NONE); `visit` may lower `before`. */
struct tl_search {
    uint32_t cell;
    uint64_t from, before;
    tl_expiry_visit visit; /* gets the search */
    void *context;
};
int tl_expiry_search(const struct tl_hand *hand, struct tl_search *search);

/* The earliest deadline of all that are not before `from`; TL_FOREVER if nothing is held. */
uint64_t tl_expiry_first(const struct tl_hand *hand, uint64_t from);

/* Expires overdue holds on the first `scopes` cells of thread->txn, which is used up. True if there were any. */
bool tl_expiry_in_the_way(struct tl_thread *thread, unsigned scopes);

struct tl_expiry_report {
    uint64_t expired, live, lag_max_ns, next_due;
};

/* Expires all overdue holds, and those tied to a thread that is gone. Returns how many. `report` may be NULL. */
uint64_t tl_expiry_all(struct tl_thread *thread, struct tl_expiry_report *report);

/*
 * What of a scope's `held` is overdue at `now`, by unit, subtracted from `held`. For looks; the caller checks that the
 * view is still current. 0 or an error.
 */
int tl_expiry_discount(const struct tl_hand *hand, uint32_t cell, uint64_t now, uint64_t *held);

#endif
