/* SPDX-License-Identifier: MIT */
/*
 * expiry.h - overdue holds: found by whoever is in their way, and by the reaper.
 *
 * A scope's sheet knows a time before which none of its holds is due (layout.h, I6), exact because it changes with the
 * holds. A refusal that comes before it looks no further. After it, the table of reservations is walked once, what is
 * overdue is expired, and the time is set anew by an operation on the scope alone, which fails if its holds changed.
 */
#ifndef TL_EXPIRY_H
#define TL_EXPIRY_H

#include "segment.h"

/* A walk over all HELD reservations; `visit` gets a private copy. Returns 0 or an error. */
typedef void (*tl_expiry_visit)(void *context, const struct tl_record *record);
int tl_expiry_walk(const struct tl_hand *hand, tl_expiry_visit visit, void *context);

/* Does a reservation name a cell? */
bool tl_expiry_names(const struct tl_body *body, uint32_t cell);

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
