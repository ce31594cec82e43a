/* SPDX-License-Identifier: MIT */
/*
 * peer_mutex.c - the plain ways: budgets and reservations in shared memory, behind one robust process-shared mutex, or
 * behind one for each budget, taken in the order of the slots.
 *
 * The same units, windows and limits as the other peers, and a ring of as many reservation records. What it leaves
 * out is to its advantage: look-up of keys, expiry, idempotency keys, pause, refusal details. After the death of
 * an owner it carries on with whatever that one left half done.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "peer.h"

#define SLICES 60
#define LINE 64
#define BUCKET_NEVER_ENDS UINT64_MAX

/* TAKEN: somebody is filling it; with one mutex nobody sees that. */
enum { RECORD_FREE, RECORD_TAKEN, RECORD_HELD, RECORD_SETTLED };

struct mutex_limit {
    uint32_t unit;
    uint32_t current; /* ring index of the bucket that `ends_ns` ends */
    uint64_t cap;
    uint64_t slice_ns;
    uint64_t ends_ns;
    uint64_t sum; /* of the ring */
    uint64_t ring[SLICES];
};

/* Begins on a line of its own; where each budget has a mutex, that one comes first and shares the line. */
struct mutex_budget {
    uint64_t held[PLAN_UNITS];
    uint64_t used[PLAN_UNITS];
    uint32_t limit_count;
    struct mutex_limit limit[];
};

#define RECORD_UNITS 2 /* whose amounts differ: tokens and cost */

struct mutex_record {
    _Alignas(LINE) _Atomic uint32_t state;
    uint32_t generation;
    uint64_t deadline_ns;
    uint64_t estimate[RECORD_UNITS];
    uint32_t slot_count;
    uint32_t slot[PLAN_SCOPES_MAX];
};

struct mutex_segment {
    pthread_mutex_t mutex;                /* used where there is but one */
    _Alignas(LINE) _Atomic uint64_t next; /* record to try first */
    struct mutex_record record[PLAN_RESERVATIONS];
    _Alignas(LINE) unsigned char budgets[];
};

static struct {
    struct mutex_segment *segment;
    size_t bytes;
    size_t stride; /* of budgets */
    size_t lead;   /* before each: a mutex, or nothing */
    int each;
    unsigned count;
    uint32_t slot[PLAN_SCOPES_MAX]; /* of the call, in ascending order */
    struct plan_call call;
    uint64_t id; /* of the last reserve */
} m;

static uint64_t coarse_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static struct mutex_budget *budget_at(uint32_t slot)
{
    return (struct mutex_budget *)(void *)(m.segment->budgets + slot * m.stride + m.lead);
}

static pthread_mutex_t *mutex_at(uint32_t slot)
{
    return (pthread_mutex_t *)(void *)(m.segment->budgets + slot * m.stride);
}

/* -------------------------------------------------------------------------------------------------------- locks */

static void lock(pthread_mutex_t *mutex)
{
    if (pthread_mutex_lock(mutex) == EOWNERDEAD)
        pthread_mutex_consistent(mutex);
}

static void lock_slots(const uint32_t *slot, unsigned count)
{
    if (!m.each)
        lock(&m.segment->mutex);
    for (unsigned i = 0; m.each && i < count; i++)
        lock(mutex_at(slot[i]));
}

static void unlock_slots(const uint32_t *slot, unsigned count)
{
    if (!m.each)
        pthread_mutex_unlock(&m.segment->mutex);
    for (unsigned i = count; m.each && i > 0; i--)
        pthread_mutex_unlock(mutex_at(slot[i - 1]));
}

/* ------------------------------------------------------------------------------------------------------ budgets */

/* Empties the buckets that have left the window. */
static void limit_roll(struct mutex_limit *l, uint64_t now_ns)
{
    for (unsigned passed = 0; now_ns >= l->ends_ns && passed < SLICES; passed++) {
        l->current = l->current + 1 < SLICES ? l->current + 1 : 0;
        l->sum -= l->ring[l->current];
        l->ring[l->current] = 0;
        l->ends_ns += l->slice_ns;
    }
    if (now_ns >= l->ends_ns)
        l->ends_ns = now_ns + l->slice_ns;
}

static int budget_fits(struct mutex_budget *b, const uint64_t *amount, uint64_t now_ns)
{
    for (unsigned i = 0; i < b->limit_count; i++) {
        struct mutex_limit *l = &b->limit[i];
        if (now_ns >= l->ends_ns)
            limit_roll(l, now_ns);
        if (l->sum + b->held[l->unit] + amount[l->unit] > l->cap)
            return 0;
    }
    return 1;
}

static int all_fit(const uint32_t *slot, unsigned count, const uint64_t *amount, uint64_t now_ns)
{
    for (unsigned i = 0; i < count; i++) {
        if (!budget_fits(budget_at(slot[i]), amount, now_ns))
            return 0;
    }
    return 1;
}

static void budget_charge(struct mutex_budget *b, const uint64_t *amount, unsigned from, unsigned to, uint64_t now_ns)
{
    for (unsigned u = from; u < to; u++)
        b->used[u] += amount[u];
    for (unsigned i = 0; i < b->limit_count; i++) {
        struct mutex_limit *l = &b->limit[i];
        if (l->unit < from || l->unit >= to)
            continue;
        if (now_ns >= l->ends_ns)
            limit_roll(l, now_ns);
        l->ring[l->current] += amount[l->unit];
        l->sum += amount[l->unit];
    }
}

/* Tokens, cost and concurrency are held; a request is used at admission. */
static void budget_hold(struct mutex_budget *b, const uint64_t *amount, uint64_t now_ns)
{
    b->held[TLSHM_TOKENS] += amount[TLSHM_TOKENS];
    b->held[TLSHM_COST] += amount[TLSHM_COST];
    b->held[TLSHM_CONCURRENCY] += amount[TLSHM_CONCURRENCY];
    budget_charge(b, amount, TLSHM_REQUESTS, TLSHM_REQUESTS + 1, now_ns);
}

static void budget_settle(struct mutex_budget *b, const uint64_t *estimate, const uint64_t *actual, uint64_t now_ns)
{
    b->held[TLSHM_TOKENS] -= estimate[TLSHM_TOKENS];
    b->held[TLSHM_COST] -= estimate[TLSHM_COST];
    b->held[TLSHM_CONCURRENCY]--;
    budget_charge(b, actual, TLSHM_TOKENS, TLSHM_COST + 1, now_ns);
}

/* ------------------------------------------------------------------------------------------------------ records */

static struct mutex_record *record_take_alone(struct mutex_segment *s)
{
    uint64_t next = atomic_load_explicit(&s->next, memory_order_relaxed);
    for (unsigned tries = 0; tries < PLAN_RESERVATIONS; tries++) {
        struct mutex_record *r = &s->record[next++ % PLAN_RESERVATIONS];
        if (atomic_load_explicit(&r->state, memory_order_relaxed) == RECORD_HELD)
            continue;
        atomic_store_explicit(&s->next, next, memory_order_relaxed);
        return r;
    }
    return NULL;
}

/* Owners of other budgets take records at the same time. */
static struct mutex_record *record_take_shared(struct mutex_segment *s)
{
    for (unsigned tries = 0; tries < PLAN_RESERVATIONS; tries++) {
        uint64_t next = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
        struct mutex_record *r = &s->record[next % PLAN_RESERVATIONS];
        uint32_t state = atomic_load_explicit(&r->state, memory_order_relaxed);
        if (state != RECORD_HELD && state != RECORD_TAKEN &&
            atomic_compare_exchange_strong(&r->state, &state, RECORD_TAKEN))
            return r;
    }
    return NULL;
}

static uint64_t record_fill(struct mutex_segment *s, struct mutex_record *r, uint64_t now_ns)
{
    r->generation++;
    r->deadline_ns = now_ns + TLSHM_TTL_DEFAULT_NS;
    memcpy(r->estimate, m.call.estimate, sizeof r->estimate); /* the first two */
    r->slot_count = m.count;
    memcpy(r->slot, m.slot, sizeof r->slot);
    atomic_store_explicit(&r->state, RECORD_HELD, memory_order_release);
    return (uint64_t)r->generation << 32 | (uint64_t)(r - s->record);
}

static int record_is(struct mutex_record *r, uint64_t id)
{
    return r->generation == id >> 32 && atomic_load_explicit(&r->state, memory_order_acquire) == RECORD_HELD;
}

/* -------------------------------------------------------------------------------------------------------- calls */

static uint64_t reserve_locked(struct mutex_segment *s, uint64_t now_ns)
{
    if (!all_fit(m.slot, m.count, m.call.estimate, now_ns))
        return 0;
    struct mutex_record *r = m.each ? record_take_shared(s) : record_take_alone(s);
    if (!r)
        return 0;
    for (unsigned i = 0; i < m.count; i++)
        budget_hold(budget_at(m.slot[i]), m.call.estimate, now_ns);
    return record_fill(s, r, now_ns);
}

static __attribute__((noinline)) int mutex_reserve(void)
{
    uint64_t now_ns = coarse_ns();
    lock_slots(m.slot, m.count);
    m.id = reserve_locked(m.segment, now_ns);
    unlock_slots(m.slot, m.count);
    return m.id == 0;
}

static int settle_locked(struct mutex_record *r, uint64_t id, const uint64_t *actual, uint64_t now_ns)
{
    if (!record_is(r, id))
        return -1;
    for (unsigned i = 0; i < r->slot_count; i++)
        budget_settle(budget_at(r->slot[i]), r->estimate, actual, now_ns);
    atomic_store_explicit(&r->state, RECORD_SETTLED, memory_order_release);
    return 0;
}

/*
 * The budgets are those of the record. Where each has its mutex, holding them all keeps the record as it is; once it is
 * settled somebody else may take it, hence the copy for the unlocks.
 */
static __attribute__((noinline)) int mutex_settle(void)
{
    uint64_t now_ns = coarse_ns();
    struct mutex_record *r = &m.segment->record[m.id % PLAN_RESERVATIONS];
    uint32_t slot[PLAN_SCOPES_MAX];
    unsigned count = 0;
    if (m.each) {
        if (!record_is(r, m.id))
            return -1;
        count = r->slot_count;
        memcpy(slot, r->slot, sizeof slot);
    }
    lock_slots(slot, count);
    int result = settle_locked(r, m.id, m.call.actual, now_ns);
    unlock_slots(slot, count);
    return result;
}

static int extend_locked(struct mutex_record *r, uint64_t id, const uint64_t *more, uint64_t now_ns)
{
    if (!record_is(r, id))
        return -1;
    if (!all_fit(r->slot, r->slot_count, more, now_ns))
        return 1;
    for (unsigned i = 0; i < r->slot_count; i++)
        budget_hold(budget_at(r->slot[i]), more, now_ns);
    for (unsigned u = 0; u < RECORD_UNITS; u++)
        r->estimate[u] += more[u];
    return 0;
}

static __attribute__((noinline)) int mutex_extend(void)
{
    uint64_t now_ns = coarse_ns();
    struct mutex_record *r = &m.segment->record[m.id % PLAN_RESERVATIONS];
    lock_slots(m.slot, m.count);
    int result = extend_locked(r, m.id, m.call.more, now_ns);
    unlock_slots(m.slot, m.count);
    return result;
}

static int mutex_pair(void)
{
    int answer = mutex_reserve();
    return answer != 0 ? answer : mutex_settle();
}

static int mutex_refuse(void)
{
    return mutex_reserve() == 0;
}

static int mutex_stream(void)
{
    int answer = mutex_reserve();
    for (unsigned i = 0; answer == 0 && i < PLAN_EXTENDS; i++)
        answer = mutex_extend();
    return answer != 0 ? answer : mutex_settle();
}

/* What is left of one unit under all limits of the last scope. */
static int64_t remaining_locked(struct mutex_budget *b, unsigned unit, uint64_t now_ns)
{
    int64_t least = INT64_MAX;
    for (unsigned i = 0; i < b->limit_count; i++) {
        struct mutex_limit *l = &b->limit[i];
        if (l->unit != unit)
            continue;
        if (now_ns >= l->ends_ns)
            limit_roll(l, now_ns);
        int64_t left = (int64_t)(l->cap - l->sum - b->held[unit]);
        least = left < least ? left : least;
    }
    return least;
}

static int mutex_remaining(void)
{
    uint64_t now_ns = coarse_ns();
    uint32_t slot = m.call.slot[m.count - 1];
    lock_slots(&slot, 1);
    int64_t left = remaining_locked(budget_at(slot), TLSHM_TOKENS, now_ns);
    unlock_slots(&slot, 1);
    return left < 0;
}

/* All that is counted for the last scope, as a copy. */
static int mutex_usage(void)
{
    struct {
        uint64_t used[PLAN_UNITS], held[PLAN_UNITS];
        int64_t left[PLAN_UNITS];
    } usage;
    uint64_t now_ns = coarse_ns();
    uint32_t slot = m.call.slot[m.count - 1];
    struct mutex_budget *b = budget_at(slot);
    lock_slots(&slot, 1);
    memcpy(usage.used, b->used, sizeof usage.used);
    memcpy(usage.held, b->held, sizeof usage.held);
    for (unsigned u = 0; u < PLAN_UNITS; u++)
        usage.left[u] = remaining_locked(b, u, now_ns);
    unlock_slots(&slot, 1);
    return usage.left[TLSHM_TOKENS] < 0;
}

/* ------------------------------------------------------------------------------------------------------- trials */

static void budget_init(struct mutex_budget *b, const tlshm_limit *list, unsigned count, uint64_t now_ns)
{
    b->limit_count = count;
    for (unsigned i = 0; i < count; i++) {
        struct mutex_limit *l = &b->limit[i];
        l->unit = list[i].unit;
        l->cap = list[i].cap;
        l->slice_ns = list[i].window.length_ns / SLICES;
        l->ends_ns = list[i].window.kind == TLSHM_WINDOW_ROLLING ? now_ns + l->slice_ns : BUCKET_NEVER_ENDS;
    }
}

static int mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    int error = pthread_mutex_init(mutex, &how);
    pthread_mutexattr_destroy(&how);
    if (error != 0)
        fprintf(stderr, "cannot make a robust process-shared mutex\n");
    return error != 0 ? -1 : 0;
}

static int setup(const struct plan *plan, int each)
{
    tlshm_limit list[PLAN_LIMITS_MAX];
    unsigned limits = plan_limit_list(plan, list);
    m.each = each;
    m.lead = each ? sizeof(pthread_mutex_t) : 0;
    m.stride = (m.lead + sizeof(struct mutex_budget) + limits * sizeof(struct mutex_limit) + LINE - 1) / LINE * LINE;
    m.bytes = sizeof *m.segment + plan_slots(plan) * m.stride;
    m.segment = peer_map(m.bytes);
    if (!m.segment || mutex_init(&m.segment->mutex) != 0)
        return -1;
    for (unsigned slot = 0; slot < plan_slots(plan); slot++) {
        budget_init(budget_at(slot), list, limits, coarse_ns());
        if (each && mutex_init(mutex_at(slot)) != 0)
            return -1;
    }
    return 0;
}

static int setup_one(const struct plan *plan)
{
    return setup(plan, 0);
}

static int setup_each(const struct plan *plan)
{
    return setup(plan, 1);
}

static int mutex_join(const struct plan *plan, unsigned process)
{
    (void)plan;
    (void)process;
    return 0;
}

static void mutex_leave(void)
{
}

/* The few slots of a call, sorted. */
static void mutex_choose(const struct plan_call *call)
{
    m.call = *call;
    m.count = call->count;
    for (unsigned i = 0; i < call->count; i++) {
        unsigned at = i;
        for (; at > 0 && m.slot[at - 1] > call->slot[i]; at--)
            m.slot[at] = m.slot[at - 1];
        m.slot[at] = call->slot[i];
    }
}

static int mutex_audit(const struct plan *plan, const struct plan_book *books)
{
    const char *name = m.each ? "mutex-per-budget" : "mutex";
    for (unsigned slot = 0; slot < plan_slots(plan); slot++) {
        const struct mutex_budget *b = budget_at(slot);
        if (peer_audit_slot(name, plan, slot, &books[slot], b->used, b->held) != 0)
            return -1;
    }
    return 0;
}

static void mutex_teardown(void)
{
    peer_unmap(m.segment, m.bytes);
    m.segment = NULL;
}

#define MUTEX_ACTS                                                                                                     \
    {                                                                                                                  \
        [ACT_PAIR] = mutex_pair, [ACT_RESERVE] = mutex_reserve, [ACT_SETTLE] = mutex_settle,                           \
        [ACT_REFUSE] = mutex_refuse, [ACT_STREAM] = mutex_stream, [ACT_REMAINING] = mutex_remaining,                   \
        [ACT_USAGE] = mutex_usage                                                                                      \
    }

const struct peer peer_mutex = {
    .name = "mutex",
    .keys = "handle",
    .setup = setup_one,
    .join = mutex_join,
    .leave = mutex_leave,
    .choose = mutex_choose,
    .act = MUTEX_ACTS,
    .audit = mutex_audit,
    .teardown = mutex_teardown,
};

const struct peer peer_mutex_each = {
    .name = "mutex-per-budget",
    .keys = "handle",
    .setup = setup_each,
    .join = mutex_join,
    .leave = mutex_leave,
    .choose = mutex_choose,
    .act = MUTEX_ACTS,
    .audit = mutex_audit,
    .teardown = mutex_teardown,
};
