/* SPDX-License-Identifier: MIT */
/*
 * book.h - committing what was booked, within the range of the sums.
 *
 * RANGE  No sum of a scope goes beyond 2^62, and no use inside one window to 2^56, since the ring's words hold no more
 * (history.h). Both are far above 2^53, the largest single amount, so they are looked at only when a sum comes near.
 */
#ifndef TL_BOOK_H
#define TL_BOOK_H

#include "txn.h"

#define TL_SUM_MAX (UINT64_C(1) << 62)
#define TL_SUM_NEAR (UINT64_C(1) << 55) /* from here on sums are looked at one by one */

/* What `need` adds to the first line of a balance: requests are used, the rest is held. The places as in layout.h. */
TL_INLINE void tl_book_need(uint64_t *delta, const uint64_t *need)
{
    delta[0] = need[TLSHM_TOKENS];
    delta[1] = need[TLSHM_COST];
    delta[2] = need[TLSHM_CONCURRENCY];
    delta[SHM_DUE] = delta[4] = delta[5] = 0;
    delta[6] = need[TLSHM_REQUESTS];
    delta[SHM_INCARNATION] = 0;
}

/* Is there room for `txn->delta` in every sum? 0, or an error as below. Of txn: cells, cell, view, delta, wide, apart. */
int tl_book_check(const struct tl_hand *hand, const struct tl_txn *txn);

/* What the next function does when a sum is near its end. */
int tl_book_one_by_one(struct tl_hand *hand, struct tl_txn *txn);

/*
 * tl_txn_commit() for what `txn->delta` says. Also -TLSHM_ERANGE: a sum would leave its range; -TLSHM_ECORRUPT: more would
 * be released than is held. Then nothing was changed.
 */
TL_INLINE int tl_book_commit(struct tl_hand *hand, struct tl_txn *txn)
{
    txn->sum_max = TL_SUM_NEAR - 1;
    int rc = tl_txn_commit(hand, txn);
    return TL_LIKELY(rc != -TLSHM_ERANGE) ? rc : tl_book_one_by_one(hand, txn);
}

#endif
