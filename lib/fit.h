/* SPDX-License-Identifier: MIT */
/*
 * fit.h - would a reserve be admitted now? The same rules as the limiter's (verdict.h), on looks: nothing shared is
 * written, no seat is taken, no scope is made.
 *
 * WHOLE  An answer is that of one moment: every cell is read again after the verdict, and must say what it said. Who cannot
 * write has to compare the balances too, since an operation that was met undecided may have been decided under the same
 * head. Scopes that were not there must still not be there. After TRIES changes in between, each cell is taken as it was at
 * one moment of its own. That a table is full is what a walk has found, as in a reserve.
 *
 * STANDS FOR  what a reserve would have changed first, done to the private views instead:
 *   overdue holds in the way of a limit    taken off the balance
 *   a clock that went back                 windows keep their use, from now on
 *   a scope that is new                    an empty view, and its level's default limits
 *   a full table of reservations           what is overdue or orphaned would have made room
 *   a full table of scopes                 what is idle would have been recycled
 */
#ifndef TL_FIT_H
#define TL_FIT_H

#include "ask.h"
#include "segment.h"

/* A question. The thread in it is nobody's: it has no seat, and only what rules and explanations look at is there. */
struct tl_fit {
    struct tl_thread thread;
    const tlshm_scope *scopes;                             /* the caller's */
    unsigned seen;                                         /* the first cells of thread.txn; the others are new */
    uint64_t balance[TLSHM_SCOPES_MAX][SHM_BALANCE_WORDS]; /* of each cell, as it was found */
    uint64_t head[TLSHM_SCOPES_MAX];
};

/* Begins with a request's scopes. */
void tl_fit_begin(struct tlshm *t, const tlshm_scope *scopes, struct tl_fit *fit);

/*
 * Sets the ask's handles, 0 for a scope that is new. `anew`: remembered handles are not believed. 0, -TLSHM_EKEY,
 * -TLSHM_ELEVEL, -TLSHM_EINVAL: a scope twice; -TLSHM_ENOROOM: there is no cell for a new scope; -TLSHM_ECORRUPT.
 */
int tl_fit_resolve(struct tl_fit *fit, bool anew, struct tl_ask *ask);

/*
 * What tl_limiter_reserve() would return, and `no` as it would set it: fit->thread is then what tl_explain() needs.
 * -TLSHM_ESTALE: a scope was recycled, or has come to be.
 */
int tl_fit_judge(struct tl_fit *fit, const struct tl_ask *ask, struct tl_no *no);

/* After a refusal: is what refused still so? */
bool tl_fit_stands(struct tl_fit *fit);

/* The key of the caller's scope `index`. */
void tl_fit_key(const struct tl_fit *fit, unsigned index, char key[TLSHM_KEY_MAX + 1]);

#endif
