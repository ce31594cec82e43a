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

/*
 * tl_txn_commit() for what `txn->delta` says. Also -TLSHM_ERANGE: a sum would leave its range; -TLSHM_ECORRUPT: more would
 * be released than is held. Then nothing was changed.
 */
int tl_book_commit(struct tl_hand *hand, struct tl_txn *txn);

#endif
