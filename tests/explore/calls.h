/* SPDX-License-Identifier: MIT */
/*
 * calls.h - the calls that scenes make, by the seat that makes them. What each answers is compared with what the ledger
 * saw it decide: a call that says that it did something has done it once, one that says no has done nothing.
 */
#ifndef TLSHM_EXPLORE_CALLS_H
#define TLSHM_EXPLORE_CALLS_H

#include "world.h"

#include "ask.h"
#include "directory.h"

/* Scopes of a call, as bits. */
enum { S0 = 1, S1 = 2, S2 = 4 };

#define LONG 1000 /* ticks: no scene lives so long */

struct booking {
    unsigned record; /* where the search for a free record starts */
    unsigned scopes; /* bits */
    uint64_t tokens;
    unsigned ttl;     /* ticks; 0 means LONG */
    const char *key;  /* idempotency key, or NULL */
    uint64_t handle;  /* one scope, instead of `scopes`; or 0 */
    unsigned flags;   /* TLSHM_FREE_ON_DEATH */
    uint64_t input;   /* input tokens: a unit of the balance's second line */
    const char *name; /* asks.h: a scope beside the others by its key, which may be new; or NULL */
};

/* The request of a booking; `scopes` has room for TLSHM_SCOPES_MAX. */
void call_fill(const struct booking *booking, tlshm_scope *scopes, tlshm_request *request);

/* Why the seat's last reserve was refused. */
const struct tl_no *call_why(unsigned seat);

/* TLSHM_OK, TLSHM_REFUSED, TLSHM_REPLAY or -TLSHM_ESTALE. */
int call_reserve(unsigned seat, const struct booking *booking, tlshm_id *id);
int call_extend(unsigned seat, tlshm_id id, uint64_t tokens, unsigned ttl);
int call_end(unsigned seat, tlshm_id id, enum tlshm_status to, uint64_t tokens);
int call_settle_wide(unsigned seat, tlshm_id id, uint64_t tokens, uint64_t input);

/* Reserve and, if it was admitted, end. */
void call_pair(unsigned seat, unsigned record, unsigned scopes, uint64_t tokens, enum tlshm_status to, uint64_t charge);
void call_expire_all(unsigned seat);

/* Sums end at 2^62: such a call fails with -TLSHM_ERANGE and has done nothing. */
void call_settle_too_much(unsigned seat, tlshm_id id);
void call_reserve_too_much(unsigned seat, unsigned record, unsigned scopes);

/* Moves the clock, in a step of its own. */
void call_tick(int ticks);

/* Takes over the seat of a fibre that is dead; false: nobody is. The seat is used for further calls. */
bool call_inherit(unsigned *seat);

/* A whole look at a scope, with the seat or, `readonly`, without one; and at a record. */
void call_look(unsigned seat, unsigned scope, bool readonly);
void call_look_record(unsigned seat, unsigned record);

/*
 * What a ceiling says is left of a unit; INT64_MAX: it says nothing. If nobody came in between it must be what the limits,
 * the windows and the balance say, overdue holds left out.
 */
int64_t call_remaining(unsigned seat, uint64_t handle, enum tlshm_unit unit);

/* New limits for a scope, or for what a policy word leads to. */
void call_publish(unsigned seat, tl_word *policy, const tlshm_limit *limits, unsigned count);

/* The same for a scope by its key, which may be given to another one meanwhile, as admin.c does it. False: no room. */
bool call_limit(unsigned seat, const char *key, const tlshm_limit *limits, unsigned count);

/* Makes a scope, or only looks for it; 0: there is no room, or no scope. */
uint64_t call_make(unsigned seat, const char *key);
uint64_t call_find(unsigned seat, const char *key);

/* At the end of a schedule: a handle leads to the key that it was given for, and no key has two cells. */
void call_check_handles(void);
void call_forget_handles(void);

#endif
