/* SPDX-License-Identifier: MIT */
/* book.c - the range of the sums. See book.h. */
#include "book.h"

#define WINDOW_SUM_MAX (UINT64_C(1) << 56)
#define SUM_NEAR (UINT64_C(1) << 55) /* from here on sums are looked at one by one */

/* Is there room for `more` of a unit in every window of a cell? */
static bool windows_have_room(const struct tl_hand *hand, uint32_t cell, const struct tl_view *view, unsigned unit,
                              uint64_t more)
{
    for (unsigned i = 0; i < view->tail.windows; i++)
        if (tl_shape_unit(view->window[i].shape) == unit &&
            tl_history_used(hand->map, cell, view, i, view->tail.time) + more >= WINDOW_SUM_MAX)
            return false;
    return true;
}

/* The sums of one unit of one cell. */
static int check_unit(const struct tl_hand *hand, const struct tl_txn *txn, unsigned j, unsigned unit)
{
    const struct tl_balance *balance = &txn->view[j].balance;
    uint64_t more = txn->delta.used[unit], used = balance->used[unit] + more;
    uint64_t held = balance->held[unit] + txn->delta.held[unit];
    bool releases = txn->delta.held[unit] >> 63;
    if (held > TL_SUM_MAX)
        return releases ? -TLSHM_ECORRUPT : -TLSHM_ERANGE;
    if (used > TL_SUM_MAX)
        return -TLSHM_ERANGE;
    if (used < SUM_NEAR || more == 0 || windows_have_room(hand, txn->cell[j], &txn->view[j], unit, more))
        return 0;
    return -TLSHM_ERANGE;
}

TL_COLD static int check_sums(const struct tl_hand *hand, const struct tl_txn *txn)
{
    for (unsigned j = 0; j < txn->cells; j++)
        for (unsigned unit = 0; j != txn->apart && unit < TLSHM_UNITS; unit++) {
            int rc = check_unit(hand, txn, j, unit);
            if (rc < 0)
                return rc;
        }
    return 0;
}

/* Has the record moved on since it was read? Then the balances need not fit it any more. */
static bool has_moved(const struct tl_hand *hand, const struct tl_txn *txn)
{
    tl_fence_acquire();
    return tl_load(&hand->map->records[txn->was.index].head) != txn->was.head;
}

int tl_book_commit(struct tl_hand *hand, struct tl_txn *txn)
{
    txn->sum_max = SUM_NEAR - 1;
    int rc = tl_txn_commit(hand, txn);
    if (TL_LIKELY(rc != -TLSHM_ERANGE))
        return rc;
    rc = check_sums(hand, txn);
    if (rc == -TLSHM_ECORRUPT && has_moved(hand, txn))
        return 0;
    txn->sum_max = TL_SUM_MAX;
    return rc < 0 ? rc : tl_txn_commit(hand, txn);
}
