/* SPDX-License-Identifier: MIT */
/* verdict.c - limits on single requests, latches, costs that nobody knows, and which limit a refusal names. See verdict.h. */
#include "verdict.h"

/* How long it would live in all; 0: no longer than it does already. */
static uint64_t life_of(const struct tl_want *want, uint64_t now)
{
    uint64_t deadline = now + want->ttl_ns;
    if (!want->held)
        return want->ttl_ns;
    if (want->ttl_ns == 0 || deadline <= want->held->deadline)
        return 0;
    return deadline - tl_min(deadline, want->held->created);
}

/* What a limit on single requests is compared with; 0: nothing of it is asked for. */
static uint64_t part_of(const struct tl_want *want, uint64_t shape, uint64_t now)
{
    unsigned unit = tl_shape_unit(shape);
    if (tl_shape_is_time(shape))
        return life_of(want, now);
    return want->need[unit] ? want->whole[unit] : 0;
}

TL_COLD static bool request_admits(const struct tl_want *want, uint64_t shape, uint64_t cap, uint64_t now)
{
    uint64_t part = part_of(want, shape, now);
    if (tl_shape_is_time(shape) && !want->held)
        return cap > 0;
    return part <= cap;
}

TL_COLD bool tl_verdict_special(const struct tl_thread *thread, unsigned j, unsigned i, const struct tl_want *want)
{
    const struct tl_limits *limits = &thread->memo[j].limits;
    uint64_t shape = limits->shape[i], cap = limits->cap[i], now = thread->txn.now;
    if (tl_shape_is_request(shape))
        return request_admits(want, shape, cap, now);
    if (want->need[tl_shape_unit(shape)] == 0 || cap == TLSHM_UNLIMITED)
        return true;
    return tl_history_used(thread->hand.map, thread->txn.cell[j], &thread->txn.view[j], i, now) < cap;
}

static enum tlshm_reason reason_of(const struct tl_want *want, uint64_t shape, uint64_t cap)
{
    if (tl_shape_is_request(shape))
        return TLSHM_REQUEST_TOO_LARGE;
    if (tl_shape_latch(shape) != TL_LATCH_NONE)
        return tl_shape_latch(shape) == TL_LATCH_PAUSE ? TLSHM_PAUSED : TLSHM_SHUTOFF;
    return want->need[tl_shape_unit(shape)] > cap ? TLSHM_NEVER_FITS : TLSHM_LIMIT;
}

TL_COLD void tl_verdict_name(const struct tl_thread *thread, unsigned scopes, const struct tl_want *want,
                             struct tl_no *no)
{
    unsigned best = UINT32_MAX, reason = TLSHM_ADMITTED;
    for (unsigned j = 0; j < scopes; j++)
        for (unsigned i = 0; i < thread->memo[j].limits.count; i++) {
            if (tl_verdict_limit(thread, j, i, want))
                continue;
            const struct tl_limits *limits = &thread->memo[j].limits;
            enum tlshm_reason why = reason_of(want, limits->shape[i], limits->cap[i]);
            if (why < reason || (why == reason && thread->txn.asked[j] >= best))
                continue;
            reason = why;
            best = thread->txn.asked[j];
            no->requested = part_of(want, limits->shape[i], thread->txn.now);
            tl_verdict_no(no, why, j, i);
        }
}

TL_COLD bool tl_verdict_unpriced(const struct tl_thread *thread, unsigned scopes, struct tl_no *no)
{
    unsigned best = UINT32_MAX;
    for (unsigned j = 0; j < scopes; j++) {
        const struct tl_limits *limits = &thread->memo[j].limits;
        for (unsigned i = 0; i < limits->count; i++) {
            bool counts = tl_shape_unit(limits->shape[i]) == TLSHM_COST && limits->cap[i] != TLSHM_UNLIMITED;
            if (!counts || thread->txn.asked[j] >= best)
                continue;
            best = thread->txn.asked[j];
            tl_verdict_no(no, TLSHM_UNKNOWN_MODEL, j, UINT32_MAX);
        }
    }
    return best != UINT32_MAX;
}
