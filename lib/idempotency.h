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

#include "segment.h"

/* A request whose arguments were checked and whose keys were resolved. */
struct tl_ask {
    unsigned scopes;
    uint64_t scope[TLSHM_SCOPES_MAX]; /* handles, in the caller's order */
    uint64_t need[TLSHM_UNITS];       /* requests at least 1, concurrency 1 */
    uint64_t ttl_ns;
    unsigned flags;
    uint64_t tag;
    const void *key; /* idempotency key, or NULL */
    size_t key_len;
    uint64_t fingerprint; /* of scopes and amounts: what a repeat of the key must match */
};

/* TLSHM_REPLAY and the id; 0: the key is new; -TLSHM_EMISMATCH; -TLSHM_ECORRUPT. */
int tl_idempotency_find(struct tl_thread *thread, const struct tl_ask *ask, tlshm_id *id);

/*
 * Adds the key's cell, with an entry for the reservation in txn.was / txn.body, to the operation. 1; 0: the cell is full
 * of live holds; 2: the key has come to be known meanwhile; or an error.
 */
int tl_idempotency_enter(struct tl_thread *thread, const struct tl_ask *ask);

#endif
