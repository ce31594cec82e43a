/* SPDX-License-Identifier: MIT */
/*
 * straight.h - the common call in one go: scopes that the thread knows, on which nothing unusual is going on.
 *
 * Nothing is decided here by other rules than elsewhere. What is left out is what has nothing to do: views that need no
 * bucket opened, limits whose ceilings stand (ceiling.h), spares that hold the cells' windows mostly. At the first thing
 * that is not so, nothing has been changed, and the caller takes the general way. What makes up the operation itself is
 * written and carried out by the same steps (txn.h), in the same order.
 */
#ifndef TL_STRAIGHT_H
#define TL_STRAIGHT_H

#include "ask.h"
#include "policy.h"
#include "segment.h"

enum tl_straight { TL_STRAIGHT_NOT = 0, TL_STRAIGHT_DONE = 1, TL_STRAIGHT_REFUSED = 2 };

/* What was used, as a settle has it. */
struct tl_actual {
    const uint64_t *of; /* by unit; NULL: nothing */
    enum tlshm_outcome outcome;
    struct tl_charging charging;
};

/*
 * DONE: `id` is set; REFUSED: the details were not asked for; both are counted. NOT: take the general way, which also tells
 * what is wrong with the arguments. `scope`: the handles of the request's scopes, if not the request has them.
 */
enum tl_straight tl_straight_reserve(struct tl_thread *thread, const tlshm_request *request, const uint64_t *scope,
                                     bool detailed, tlshm_id *id);

/* DONE, as `result` (may be NULL) says, and counted; NOT. */
enum tl_straight tl_straight_settle(struct tl_thread *thread, tlshm_id id, const struct tl_actual *actual,
                                    tlshm_result *result);

#endif
