/* SPDX-License-Identifier: MIT */
/*
 * verdict.h - does what is wanted fit, and what stands in its way: rules on the views and the limits that a call has read.
 *
 * They write nothing but the thread's own memory, so a call that only asks (fit.h) is judged by the same ones as a call
 * that commits (limiter.h).
 */
#ifndef TL_VERDICT_H
#define TL_VERDICT_H

#include "ask.h"
#include "segment.h"

/* What is to be admitted. */
struct tl_want {
    const uint64_t *need;  /* more of each unit */
    const uint64_t *whole; /* what the request comes to with it */
    uint64_t ttl_ns;
    const struct tl_body *held; /* what it is added to; NULL: a new one, which is content with a shorter life */
    bool unpriced;              /* nobody knows what it costs: nothing that counts cost takes it */
};

TL_INLINE bool tl_verdict_no(struct tl_no *no, enum tlshm_reason reason, unsigned cell, unsigned limit)
{
    no->reason = reason;
    no->cell = cell;
    no->limit = limit;
    return true;
}

/* Flags: pause and shutoff, of the segment or of a scope. */
TL_INLINE bool tl_verdict_stopped(const struct tl_thread *thread, unsigned scopes, struct tl_no *no)
{
    uint64_t flags = tl_load_relaxed(&thread->hand.map->header->flags);
    if (TL_UNLIKELY(flags & SHM_SHUTOFF))
        return tl_verdict_no(no, TLSHM_SHUTOFF, UINT32_MAX, UINT32_MAX);
    if (TL_UNLIKELY(flags & SHM_PAUSED))
        return tl_verdict_no(no, TLSHM_PAUSED, UINT32_MAX, UINT32_MAX);
    for (unsigned j = 0; j < scopes; j++)
        if (TL_UNLIKELY(thread->memo[j].limits.flags))
            return tl_verdict_no(no, thread->memo[j].limits.flags & TL_POLICY_SHUTOFF ? TLSHM_SHUTOFF : TLSHM_PAUSED, j,
                                 UINT32_MAX);
    return false;
}

/* Does a scope limit cost? A cost that nobody knows is not 0: the first that does refuses it, and `no` says which. */
bool tl_verdict_unpriced(const struct tl_thread *thread, unsigned scopes, struct tl_no *no);

/* The same for limits that are compared otherwise: on single requests, and latches, which go by what was used alone. */
bool tl_verdict_special(const struct tl_thread *thread, unsigned j, unsigned i, const struct tl_want *want);

/* Does limit i of scope j admit what is wanted of its unit? Units that are not asked for are not looked at. */
TL_INLINE bool tl_verdict_limit(const struct tl_thread *thread, unsigned j, unsigned i, const struct tl_want *want)
{
    const struct tl_view *view = &thread->txn.view[j];
    const struct tl_limits *limits = &thread->memo[j].limits;
    const uint64_t *need = want->need;
    unsigned unit = tl_shape_unit(limits->shape[i]);
    if (TL_UNLIKELY(tl_shape_is_special(limits->shape[i])))
        return tl_verdict_special(thread, j, i, want);
    if (need[unit] == 0 || limits->cap[i] == TLSHM_UNLIMITED)
        return true;
    uint64_t used = tl_history_used(thread->hand.map, thread->txn.cell[j], view, i, thread->txn.now);
    return used + tl_view_held(view, unit) + need[unit] <= limits->cap[i];
}

/*
 * Which limit to name of those that say no. Too large goes before never-fits, and that before limit (the reasons' numbers
 * grow so); within each, the caller's order of scopes decides.
 */
void tl_verdict_name(const struct tl_thread *thread, unsigned scopes, const struct tl_want *want, struct tl_no *no);

/* Do limits of the first `scopes` cells of thread->txn refuse it? Then `no` says which. */
TL_INLINE bool tl_verdict_refused(const struct tl_thread *thread, unsigned scopes, const struct tl_want *want,
                                  struct tl_no *no)
{
    for (unsigned j = 0; j < scopes; j++)
        for (unsigned i = 0; i < thread->memo[j].limits.count; i++)
            if (TL_UNLIKELY(!tl_verdict_limit(thread, j, i, want))) {
                tl_verdict_name(thread, scopes, want, no);
                return true;
            }
    return false;
}

#endif
