/* SPDX-License-Identifier: MIT */
/*
 * peer_mutex.c - the plain way: one robust process-shared mutex over all budgets and reservations in shared memory.
 *
 * The same units, windows and limits as the other peers, and a ring of as many reservation records. What it leaves
 * out is to its advantage: look-up of keys, expiry, idempotency keys, pause, refusal details. After the death of
 * an owner it carries on with whatever that one left half done.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "peer.h"

#define SLICES 60
#define BUCKET_NEVER_ENDS UINT64_MAX

enum { RECORD_FREE, RECORD_HELD, RECORD_SETTLED };

struct mutex_limit {
    uint32_t unit;
    uint32_t current; /* ring index of the bucket that `ends_ns` ends */
    uint64_t cap;
    uint64_t slice_ns;
    uint64_t ends_ns;
    uint64_t sum; /* of the ring */
    uint64_t ring[SLICES];
};

struct mutex_budget {
    _Alignas(64) uint64_t held[PLAN_UNITS];
    uint64_t used[PLAN_UNITS];
    uint32_t limit_count;
    struct mutex_limit limit[PLAN_UNITS];
};

struct mutex_record {
    _Alignas(64) uint32_t state;
    uint32_t generation;
    uint64_t deadline_ns;
    uint64_t estimate[PLAN_UNITS];
    uint16_t scope_count;
    uint16_t scope[PLAN_SCOPES_MAX];
};

struct mutex_segment {
    pthread_mutex_t mutex;
    _Alignas(64) uint64_t next; /* record to try first */
    struct mutex_record record[PLAN_RESERVATIONS];
    struct mutex_budget budget[];
};

static struct {
    struct mutex_segment *segment;
    size_t bytes;
    unsigned count;
    uint16_t scope[PLAN_SCOPES_MAX];
} m;

static uint64_t coarse_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void lock(struct mutex_segment *s)
{
    if (pthread_mutex_lock(&s->mutex) == EOWNERDEAD)
        pthread_mutex_consistent(&s->mutex);
}

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

static int budget_fits(struct mutex_budget *b, const uint64_t *estimate, uint64_t now_ns)
{
    for (unsigned i = 0; i < b->limit_count; i++) {
        struct mutex_limit *l = &b->limit[i];
        if (now_ns >= l->ends_ns)
            limit_roll(l, now_ns);
        if (l->sum + b->held[l->unit] + estimate[l->unit] > l->cap)
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
        if (l->unit < from || l->unit >= to || l->ends_ns == BUCKET_NEVER_ENDS)
            continue;
        if (now_ns >= l->ends_ns)
            limit_roll(l, now_ns);
        l->ring[l->current] += amount[l->unit];
        l->sum += amount[l->unit];
    }
}

/* Tokens, cost and concurrency are held; a request is used at admission. */
static void budget_hold(struct mutex_budget *b, const uint64_t *estimate, uint64_t now_ns)
{
    b->held[TLSHM_TOKENS] += estimate[TLSHM_TOKENS];
    b->held[TLSHM_COST] += estimate[TLSHM_COST];
    b->held[TLSHM_CONCURRENCY] += estimate[TLSHM_CONCURRENCY];
    budget_charge(b, estimate, TLSHM_REQUESTS, TLSHM_REQUESTS + 1, now_ns);
}

static void budget_settle(struct mutex_budget *b, const uint64_t *estimate, const uint64_t *actual, uint64_t now_ns)
{
    b->held[TLSHM_TOKENS] -= estimate[TLSHM_TOKENS];
    b->held[TLSHM_COST] -= estimate[TLSHM_COST];
    b->held[TLSHM_CONCURRENCY] -= estimate[TLSHM_CONCURRENCY];
    budget_charge(b, actual, TLSHM_TOKENS, TLSHM_COST + 1, now_ns);
}

static struct mutex_record *record_take(struct mutex_segment *s)
{
    for (unsigned tries = 0; tries < PLAN_RESERVATIONS; tries++) {
        struct mutex_record *r = &s->record[s->next++ % PLAN_RESERVATIONS];
        if (r->state != RECORD_HELD)
            return r;
    }
    return NULL;
}

static uint64_t record_fill(struct mutex_segment *s, struct mutex_record *r, const uint64_t *estimate, uint64_t now_ns)
{
    r->state = RECORD_HELD;
    r->generation++;
    r->deadline_ns = now_ns + TLSHM_TTL_DEFAULT_NS;
    memcpy(r->estimate, estimate, sizeof r->estimate);
    r->scope_count = (uint16_t)m.count;
    memcpy(r->scope, m.scope, sizeof r->scope);
    return (uint64_t)r->generation << 32 | (uint64_t)(r - s->record);
}

static uint64_t reserve_locked(struct mutex_segment *s, const uint64_t *estimate, uint64_t now_ns)
{
    for (unsigned i = 0; i < m.count; i++) {
        if (!budget_fits(&s->budget[m.scope[i]], estimate, now_ns))
            return 0;
    }
    struct mutex_record *r = record_take(s);
    if (!r)
        return 0;
    for (unsigned i = 0; i < m.count; i++)
        budget_hold(&s->budget[m.scope[i]], estimate, now_ns);
    return record_fill(s, r, estimate, now_ns);
}

/* An id, or 0 for a refusal. */
static __attribute__((noinline)) uint64_t mutex_reserve(const uint64_t *estimate)
{
    uint64_t now_ns = coarse_ns();
    lock(m.segment);
    uint64_t id = reserve_locked(m.segment, estimate, now_ns);
    pthread_mutex_unlock(&m.segment->mutex);
    return id;
}

static int settle_locked(struct mutex_segment *s, uint64_t id, const uint64_t *actual, uint64_t now_ns)
{
    struct mutex_record *r = &s->record[id % PLAN_RESERVATIONS];
    if (r->generation != id >> 32 || r->state != RECORD_HELD)
        return -1;
    for (unsigned i = 0; i < r->scope_count; i++)
        budget_settle(&s->budget[r->scope[i]], r->estimate, actual, now_ns);
    r->state = RECORD_SETTLED;
    return 0;
}

static __attribute__((noinline)) int mutex_settle(uint64_t id, const uint64_t *actual)
{
    uint64_t now_ns = coarse_ns();
    lock(m.segment);
    int result = settle_locked(m.segment, id, actual, now_ns);
    pthread_mutex_unlock(&m.segment->mutex);
    return result;
}

static int mutex_pair(void)
{
    uint64_t id = mutex_reserve(plan_estimate);
    return id != 0 ? mutex_settle(id, plan_actual) : 1;
}

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
    return error;
}

static int mutex_setup(const struct plan *plan)
{
    tlshm_limit list[PLAN_UNITS];
    unsigned limits = plan_limit_list(plan, list);
    m.bytes = sizeof *m.segment + plan_slots(plan) * sizeof m.segment->budget[0];
    m.segment = peer_map(m.bytes);
    if (!m.segment)
        return -1;
    if (mutex_init(&m.segment->mutex) != 0) {
        fprintf(stderr, "cannot make a robust process-shared mutex\n");
        return -1;
    }
    for (unsigned i = 0; i < plan_slots(plan); i++)
        budget_init(&m.segment->budget[i], list, limits, coarse_ns());
    return 0;
}

static int mutex_join(const struct plan *plan, unsigned process)
{
    m.count = plan->scopes;
    for (unsigned i = 0; i < plan->scopes; i++)
        m.scope[i] = (uint16_t)plan_slot(plan, process, i);
    return 0;
}

static int audit_scope(const struct plan *plan, unsigned process, unsigned scope, const uint64_t *pairs)
{
    const struct mutex_budget *b = &m.segment->budget[plan_slot(plan, process, scope)];
    uint64_t expected = plan_expected(plan, process, scope, pairs);
    char key[32];
    plan_key(plan, process, scope, key);
    for (unsigned u = 0; u < PLAN_UNITS; u++) {
        if (b->held[u] != 0)
            return peer_audit_failed("mutex", key, "held", b->held[u], 0);
        if (b->used[u] != plan_actual[u] * expected)
            return peer_audit_failed("mutex", key, "used", b->used[u], plan_actual[u] * expected);
    }
    return 0;
}

static int mutex_audit(const struct plan *plan, const uint64_t *pairs)
{
    for (unsigned process = 0; process < plan->processes; process++) {
        for (unsigned i = 0; i < plan->scopes; i++) {
            if (audit_scope(plan, process, i, pairs) != 0)
                return -1;
        }
    }
    return 0;
}

static void mutex_teardown(void)
{
    peer_unmap(m.segment, m.bytes);
    m.segment = NULL;
}

const struct peer peer_mutex = {
    "mutex", "handle", mutex_setup, mutex_join, mutex_pair, mutex_audit, mutex_teardown,
};
