/* SPDX-License-Identifier: MIT */
/* explain.h - the details of a refusal, computed only for who asks for them. */
#ifndef TL_EXPLAIN_H
#define TL_EXPLAIN_H

#include "limiter.h"

/*
 * Fills in `why` for a refusal that tl_limiter_reserve() or _extend() has just returned on this thread: its snapshots and
 * limits are still in the thread. `scope` are the handles in the caller's order, `need` what was asked for. From `until`
 * on it cannot fit any more: an extend's own deadline; TL_FOREVER for a reserve.
 */
void tl_explain(struct tl_thread *thread, const uint64_t *scope, unsigned scopes, const uint64_t *need,
                const struct tl_no *no, uint64_t until, tlshm_refusal *why);

#endif
