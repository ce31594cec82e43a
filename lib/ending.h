/* SPDX-License-Identifier: MIT */
/*
 * ending.h - how a reservation ends: settled, refunded or expired, each once.
 *
 *   HELD     settle -> SETTLED   refund -> REFUNDED   overdue: expire -> EXPIRED; settle -> SETTLED (late);
 *                                                     refund -> EXPIRED (it came too late)
 *   EXPIRED  settle -> SETTLED (late: the use is booked, nothing is released again), within the retention time
 *   else     nothing: the first outcome is reported
 */
#ifndef TL_ENDING_H
#define TL_ENDING_H

#include "ids.h"
#include "straight.h"

struct tl_ending {
    enum tlshm_status to;  /* SETTLED, REFUNDED, EXPIRED */
    struct tl_actual used; /* SETTLED */
    bool forced;           /* EXPIRED: before the deadline too */
};

/* tl_ending_run(), the general way. */
int tl_ending_run_anyhow(struct tl_thread *thread, tlshm_id id, const struct tl_ending *ending, tlshm_result *result,
                         uint64_t *lag_ns);

/*
 * TLSHM_OK, TLSHM_LATE, TLSHM_REPLAY, TLSHM_ENDED, or an error. `result` may be NULL. `lag_ns` may be NULL: how far behind
 * its deadline the hold was when it ended.
 */
TL_INLINE int tl_ending_run(struct tl_thread *thread, tlshm_id id, const struct tl_ending *ending, tlshm_result *result,
                            uint64_t *lag_ns)
{
    if (ending->to != TLSHM_SETTLED || tl_straight_settle(thread, id, &ending->used, result) != TL_STRAIGHT_DONE)
        return tl_ending_run_anyhow(thread, id, ending, result, lag_ns);
    if (lag_ns)
        *lag_ns = 0;
    return TLSHM_OK;
}

/* Reads the reservation of an id into txn.was and puts its scopes' cells in order. 0, -TLSHM_EUNKNOWN, -ECORRUPT. */
int tl_ending_find(struct tl_thread *thread, tlshm_id id);

#endif
