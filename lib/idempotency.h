/* SPDX-License-Identifier: MIT */
/*
 * idempotency.h - a caller's key makes a repeated reserve return the first answer.
 *
 * Keys are kept in cells of their own, hashed: a cell's balance is 16 entries {fingerprint:24 | generation:16 | record:24}.
 * A reserve with a key names its cell beside its scopes, so entry and hold come to be in one step, whoever races or dies.
 * An entry means something while its record still holds that reservation with that key, compared whole.
 */
#ifndef TL_IDEMPOTENCY_H
#define TL_IDEMPOTENCY_H

#include "ask.h"
#include "segment.h"

/* What a repeat of the key must match: the set of scopes, and the amounts or what those are estimated from. */
uint64_t tl_idempotency_fingerprint(const struct tl_ask *ask);

/* TLSHM_REPLAY and the id; 0: the key is new; -TLSHM_EMISMATCH; -TLSHM_ECORRUPT. */
int tl_idempotency_find(struct tl_thread *thread, const struct tl_ask *ask, tlshm_id *id);

/*
 * Is there a place for the key, when what is overdue at `now` or orphaned has been ended? 1, 0 or an error. Writes
 * nothing.
 */
int tl_idempotency_has_room(struct tl_thread *thread, const struct tl_ask *ask, uint64_t now);

/*
 * Adds the key's cell, with an entry for the reservation of that generation in the record of txn.was, to the operation. 1,
 * and the cell; 0: it is full of live holds; 2: the key has come to be known meanwhile; or an error.
 */
int tl_idempotency_enter(struct tl_thread *thread, const struct tl_ask *ask, uint64_t generation, uint32_t *cell);

#endif
