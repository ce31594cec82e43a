/* SPDX-License-Identifier: MIT */
/* book.c - the range of the sums. See book.h. */
#include "book.h"

#define WINDOW_SUM_MAX (UINT64_C(1) << 56)

/* Is there room for `more` of a unit in every window of a cell? */
static bool windows_have_room(const struct tl_hand *hand, uint32_t cell, const struct tl_view *view, unsigned unit,
                              uint64_t more)
{
    for (unsigned i = 0; i < view->windows; i++)
        if (tl_shape_unit(tl_view_shape(view, i)) == unit &&
            tl_history_used(hand->map, cell, view, i, view->time) + more >= WINDOW_SUM_MAX)
            return false;
    return true;
}

static uint64_t delta_word(const struct tl_txn *txn, unsigned at)
{
    return at < SHM_NARROW_WORDS || txn->wide ? txn->delta[at] : 0;
}

/* The sums of one unit of one cell. */
static int check_unit(const struct tl_hand *hand, const struct tl_txn *txn, unsigned j, unsigned unit)
{
    const struct tl_view *view = &txn->view[j];
    uint64_t more = delta_word(txn, shm_used_at[unit]), used = tl_view_used(view, unit) + more;
    uint64_t step = delta_word(txn, shm_held_at[unit]), held = tl_view_held(view, unit) + step;
    bool releases = step >> 63;
    if (held > TL_SUM_MAX)
        return releases ? -TLSHM_ECORRUPT : -TLSHM_ERANGE;
    if (used > TL_SUM_MAX)
        return -TLSHM_ERANGE;
    if (used < TL_SUM_NEAR || more == 0 || windows_have_room(hand, txn->cell[j], view, unit, more))
        return 0;
    return -TLSHM_ERANGE;
}

TL_COLD int tl_book_check(const struct tl_hand *hand, const struct tl_txn *txn)
{
    for (unsigned j = 0; j < txn->cells; j++)
        for (unsigned unit = 0; j != txn->apart && unit < TLSHM_UNITS; unit++) {
            int rc = check_unit(hand, txn, j, unit);
            if (rc < 0)
                return rc;
        }
    return 0;
}

/* Has anything moved on since it was read? Then the sums are of no moment, and need not fit each other. */
static bool has_moved(const struct tl_hand *hand, const struct tl_txn *txn)
{
    for (unsigned j = 0; j < txn->cells; j++)
        if (!tl_txn_current(hand, txn->cell[j], &txn->view[j]))
            return true;
    return tl_load(&hand->map->records[txn->was.index].head) != txn->was.head;
}

TL_COLD int tl_book_one_by_one(struct tl_hand *hand, struct tl_txn *txn)
{
    int rc = tl_book_check(hand, txn);
    if (rc < 0 && has_moved(hand, txn))
        return 0;
    txn->sum_max = TL_SUM_MAX;
    return rc < 0 ? rc : tl_txn_commit(hand, txn);
}
