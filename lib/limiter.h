/* SPDX-License-Identifier: MIT */
/*
 * limiter.h - the rules: who is admitted, what is held, used and charged, when a hold ends. Plain code on private
 * snapshots; the engine (txn.h) makes the result one atomic step or tells to try again.
 *
 * BOOKING  tokens, cost, input, output, tools: held at reserve, used at settle.  requests: used at reserve, for good.
 *          concurrency: held 1 from reserve to the end.
 */
#ifndef TL_LIMITER_H
#define TL_LIMITER_H

#include "idempotency.h"
#include "segment.h"
#include "straight.h"

/* tl_limiter_reserve(), the general way. `model` may be NULL; all calls by model go this way. */
int tl_limiter_reserve_anyhow(struct tl_thread *thread, const tlshm_request *request, const struct tl_ask_model *model,
                              struct tl_ask *ask, tlshm_id *id, struct tl_no *no);

/*
 * TLSHM_OK, TLSHM_REFUSED, TLSHM_REPLAY or an error. -TLSHM_ESTALE: a handle's scope was recycled. The request's arguments
 * were checked, and `ask` has the handles of its scopes; on a refusal with details all of it is filled in, and thread->txn
 * and thread->limits are the state that refused (see explain.h).
 */
TL_INLINE int tl_limiter_reserve(struct tl_thread *thread, const tlshm_request *request, struct tl_ask *ask,
                                 tlshm_id *id, struct tl_no *no)
{
    enum tl_straight straight = tl_straight_reserve(thread, request, ask->scope, no->detailed, id);
    if (TL_LIKELY(straight == TL_STRAIGHT_DONE))
        return TLSHM_OK;
    if (straight == TL_STRAIGHT_REFUSED)
        return TLSHM_REFUSED;
    return tl_limiter_reserve_anyhow(thread, request, NULL, ask, id, no);
}

/* TLSHM_OK, TLSHM_REFUSED, TLSHM_ENDED or an error. `more` by unit. */
int tl_limiter_extend(struct tl_thread *thread, tlshm_id id, const uint64_t *more, uint64_t ttl_ns, struct tl_no *no);

#endif
