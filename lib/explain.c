/* SPDX-License-Identifier: MIT */
/*
 * explain.c - why a request was refused, and when it would fit.
 *
 * RETRY AFTER  With nothing else happening, use inside a window and holds on a scope only get smaller: at the edges of
 * buckets and periods, and at deadlines. So "it fits at t" is monotone in t for each limit, and the first such t is one of
 * these instants: the edges and the deadlines are searched by halving, and the latest over all limits is the answer.
 */
#include "explain.h"

#include <stdlib.h>

#include "directory.h"
#include "expiry.h"
#include "zones.h"

/* A live hold on one scope. */
struct hold {
    uint64_t deadline;
    uint64_t amount[TLSHM_UNITS]; /* after sorting: of this hold and all that end before it */
};

/*
 * The holds of a scope that end first. While they are gathered they are a heap with the latest on top: whatever the others
 * give back in time anyway, the latest is not needed for, nor is anything that ends after it.
 */
struct holds {
    size_t count, room;
    struct hold *hold;
    uint64_t sum[TLSHM_UNITS],
        missing[TLSHM_UNITS]; /* of all gathered; and what has to be given back for it to fit now */
};

static void swap_holds(struct hold *a, struct hold *b)
{
    struct hold c = *a;
    *a = *b;
    *b = c;
}

static void sift_up(struct holds *all, size_t at)
{
    for (; at > 0 && all->hold[(at - 1) / 2].deadline < all->hold[at].deadline; at = (at - 1) / 2)
        swap_holds(&all->hold[(at - 1) / 2], &all->hold[at]);
}

static void sift_down(struct holds *all)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < all->count; at = child) {
        if (child + 1 < all->count && all->hold[child + 1].deadline > all->hold[child].deadline)
            child++;
        if (all->hold[at].deadline >= all->hold[child].deadline)
            return;
        swap_holds(&all->hold[at], &all->hold[child]);
    }
}

static void add_sum(struct holds *all, const struct hold *hold, uint64_t sign)
{
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        all->sum[u] += sign * hold->amount[u];
}

/* Would it fit without the latest hold, when the others have ended? */
static bool can_spare_latest(const struct holds *all)
{
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (all->sum[u] - all->hold[0].amount[u] < all->missing[u])
            return false;
    return true;
}

static bool is_enough(const struct holds *all)
{
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (all->sum[u] < all->missing[u])
            return false;
    return true;
}

static bool has_room(struct holds *all)
{
    if (all->count < all->room)
        return true;
    size_t room = all->room ? all->room * 2 : 64;
    struct hold *more = realloc(all->hold, room * sizeof *more);
    if (!more)
        return false; /* without it the answer is later than it need be */
    all->hold = more;
    all->room = room;
    return true;
}

static void collect(void *context, const struct tl_record *record)
{
    struct tl_search *search = context;
    struct holds *all = search->context;
    if (!has_room(all))
        return;
    struct hold *hold = &all->hold[all->count++];
    hold->deadline = record->body.deadline;
    memcpy(hold->amount, record->body.estimate, sizeof hold->amount);
    hold->amount[TLSHM_REQUESTS] = 0;
    add_sum(all, hold, 1);
    sift_up(all, all->count - 1);
    while (can_spare_latest(all)) {
        add_sum(all, &all->hold[0], UINT64_MAX);
        all->hold[0] = all->hold[--all->count];
        sift_down(all);
    }
    if (is_enough(all))
        search->before = all->hold[0].deadline;
}

static int by_deadline(const void *a, const void *b)
{
    const struct hold *x = a, *y = b;
    return (x->deadline > y->deadline) - (x->deadline < y->deadline);
}

/* The first live holds of a cell, of those that end before `before`, in the order of their ends, with running sums. */
static void gather(const struct tl_hand *hand, uint32_t cell, uint64_t from, uint64_t before, struct holds *all)
{
    struct tl_search search = {.cell = cell, .from = from, .before = before, .visit = collect, .context = all};
    tl_expiry_search(hand, &search);
    if (all->count > 1)
        qsort(all->hold, all->count, sizeof *all->hold, by_deadline);
    for (size_t i = 1; i < all->count; i++)
        for (unsigned u = 0; u < TLSHM_UNITS; u++)
            all->hold[i].amount[u] += all->hold[i - 1].amount[u];
}

/* What the holds that end by `then` give back of a unit. */
static uint64_t freed_by(const struct holds *all, unsigned unit, uint64_t then)
{
    size_t low = 0, high = all->count; /* the first hold that ends later */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (all->hold[middle].deadline <= then)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? all->hold[low - 1].amount[unit] : 0;
}

/* One limit that is in the way. */
struct obstacle {
    const struct tl_thread *thread;
    const struct holds *holds;
    unsigned j, i, unit;
    uint64_t need, cap;
};

static bool fits_at(const struct obstacle *o, uint64_t then)
{
    const struct tl_view *view = &o->thread->txn.view[o->j];
    uint64_t held = tl_view_held(view, o->unit), freed = freed_by(o->holds, o->unit, then);
    uint64_t used = tl_history_used(o->thread->hand.map, o->thread->txn.cell[o->j], view, o->i, then);
    return used + held - tl_min(held, freed) + o->need <= o->cap;
}

/* The first deadline at which it fits. */
static uint64_t first_deadline(const struct obstacle *o)
{
    size_t low = 0, high = o->holds->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (fits_at(o, o->holds->hold[middle].deadline))
            high = middle;
        else
            low = middle + 1;
    }
    return low < o->holds->count ? o->holds->hold[low].deadline : TL_FOREVER;
}

/* The first edge of the window at which it fits. */
static uint64_t first_edge(const struct obstacle *o)
{
    const struct tl_view *view = &o->thread->txn.view[o->j];
    for (uint64_t then = o->thread->txn.now, next;; then = next) {
        next = tl_history_next_fall(view, o->i, then);
        if (next <= then) /* of a sheet that says nonsense */
            return TL_FOREVER;
        if (next == TL_FOREVER || fits_at(o, next))
            return next;
    }
}

/* Limit i of scope j as an obstacle to `need`; false if it is none now. */
static bool in_the_way(const struct tl_thread *thread, unsigned j, unsigned i, const uint64_t *need,
                       const struct holds *holds, struct obstacle *o)
{
    const struct tl_limits *limits = &thread->memo[j].limits;
    unsigned unit = tl_shape_unit(limits->shape[i]);
    *o = (struct obstacle){thread, holds, j, i, unit, need[unit], limits->cap[i]};
    return o->need && !tl_shape_is_special(limits->shape[i]) && !fits_at(o, thread->txn.now);
}

/* What would have to be given back for limit o to admit it now. A sum that no holds reach is never enough. */
static uint64_t missing_now(const struct obstacle *o)
{
    const struct tl_thread *thread = o->thread;
    const struct tl_view *view = &thread->txn.view[o->j];
    uint64_t used = tl_history_used(thread->hand.map, thread->txn.cell[o->j], view, o->i, thread->txn.now);
    return used + tl_view_held(view, o->unit) + o->need - o->cap;
}

/*
 * Gathers what may make scope j fit earlier than its windows alone do. No hold ends before the scope's due time (layout.h,
 * I6); those that end only when the windows have made room, or when others have, are not looked for.
 */
static void gather_for(struct tl_thread *thread, unsigned j, const uint64_t *need, struct holds *all)
{
    static const struct holds none;
    const struct tl_view *view = &thread->txn.view[j];
    uint64_t due = tl_view_due(view), edge = 0;
    struct obstacle o;
    for (unsigned i = 0; i < thread->memo[j].limits.count; i++)
        if (in_the_way(thread, j, i, need, &none, &o)) {
            edge = tl_max(edge, first_edge(&o));
            all->missing[o.unit] = tl_max(all->missing[o.unit], missing_now(&o));
        }
    if (tl_view_held(view, TLSHM_CONCURRENCY) && due < edge)
        gather(&thread->hand, thread->txn.cell[j], due, edge, all);
}

/* When all limits of scope j admit `need`; 0: now. */
static uint64_t scope_fits_from(struct tl_thread *thread, unsigned j, const uint64_t *need)
{
    uint64_t from = 0;
    struct holds holds = {0};
    struct obstacle o;
    gather_for(thread, j, need, &holds);
    for (unsigned i = 0; i < thread->memo[j].limits.count; i++)
        if (in_the_way(thread, j, i, need, &holds, &o))
            from = tl_max(from, tl_min(first_deadline(&o), first_edge(&o)));
    free(holds.hold);
    return from;
}

/* Is what refused still so? Who has no seat looks for itself (fit.h). */
static bool stands(struct tl_thread *thread, unsigned scopes)
{
    for (unsigned j = 0; thread->hand.seat && j < scopes; j++)
        if (!tl_txn_current(&thread->hand, thread->txn.cell[j], &thread->txn.view[j]))
            return false;
    return true;
}

static uint64_t retry_after(struct tl_thread *thread, unsigned scopes, const uint64_t *need, uint64_t until)
{
    uint64_t from = 0, now = thread->txn.now;
    for (unsigned j = 0; j < scopes; j++)
        from = tl_max(from, scope_fits_from(thread, j, need));
    if (from == TL_FOREVER || from >= until)
        return stands(thread, scopes) ? TLSHM_NEVER : 0; /* holds that have just ended are not found any more */
    return from > now ? from - now : 0;
}

/* A full table frees up when the first of its holds expires. What is overdue has made no room. */
static uint64_t first_free(struct tl_thread *thread)
{
    uint64_t now = tl_clock_now(&thread->hand.clock), first = tl_expiry_first(&thread->hand, now + 1);
    if (first != TL_FOREVER)
        return first - now;
    return tl_expiry_first(&thread->hand, 0) == TL_FOREVER ? 0 : TLSHM_NEVER; /* 0: it has just become empty */
}

static void describe_limit(const struct tl_thread *thread, const uint64_t *need, const struct tl_no *no,
                           tlshm_refusal *why)
{
    const struct tl_limits *limits = &thread->memo[no->cell].limits;
    const struct tl_view *view = &thread->txn.view[no->cell];
    tl_zones_limit(thread->hand.map, limits->shape[no->limit], limits->cap[no->limit], &why->limit);
    if (no->reason == TLSHM_REQUEST_TOO_LARGE) {
        why->requested = no->requested;
        why->remaining = (int64_t)tl_min(why->limit.cap, INT64_MAX);
        return;
    }
    why->requested = need[why->limit.unit];
    why->used = tl_history_used(thread->hand.map, thread->txn.cell[no->cell], view, no->limit, thread->txn.now);
    uint64_t held[TLSHM_UNITS];
    tl_view_all_held(view, held);
    if (tl_view_due(view) <= thread->txn.now)
        tl_expiry_discount(&thread->hand, thread->txn.cell[no->cell], thread->txn.now, held);
    why->held = held[why->limit.unit];
    uint64_t taken = why->used + why->held, cap = why->limit.cap;
    why->remaining = cap >= taken ? (int64_t)tl_min(cap - taken, INT64_MAX) : -(int64_t)(taken - cap);
}

void tl_explain(struct tl_thread *thread, const uint64_t *scope, unsigned scopes, const uint64_t *need,
                const struct tl_no *no, uint64_t until, tlshm_refusal *why)
{
    memset(why, 0, sizeof *why);
    why->reason = no->reason;
    why->scope = UINT32_MAX;
    why->retry_after_ns = TLSHM_NEVER;
    if (no->cell < scopes) {
        why->scope = thread->txn.asked[no->cell];
        if (tl_directory_key(&thread->hand, scope[why->scope], why->key) < 0)
            why->key[0] = 0;
    }
    if (no->cell < scopes && no->limit < thread->memo[no->cell].limits.count)
        describe_limit(thread, need, no, why);
    if (no->reason == TLSHM_LIMIT)
        why->retry_after_ns = retry_after(thread, scopes, need, until);
    else if (no->reason == TLSHM_FULL)
        why->retry_after_ns = first_free(thread);
}
