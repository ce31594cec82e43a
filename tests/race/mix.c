/* SPDX-License-Identifier: MIT */
/* mix.c - one actor of the storm: random calls, each noted before and after. */
#include "mix.h"

#include "hit.h"

#include <stdio.h>
#include <string.h>
#include <tlshm/stats.h>

#define SWAPS_MOST 9 /* of one operation: its cells and its record, and one more */
#define NEWEST 48
#define SELDOM 3 /* changes of limits and passes of a reaper are few: one of so many is hit */

/* xorshift64* */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

uint64_t mix_below(uint64_t *random, uint64_t n)
{
    return (next_random(random) >> 16) % n;
}

static uint64_t below(struct mix *m, uint64_t n)
{
    return mix_below(&m->random, n);
}

void mix_begin(struct mix *m, struct ledger *ledger, tlshm_t *t, unsigned actor, uint64_t seed)
{
    *m = (struct mix){.ledger = ledger, .t = t, .actor = actor, .hit_reach = 1, .hit_seldom = 1};
    m->random = seed * UINT64_C(0x9e3779b97f4a7c15) + actor + 1;
    MUST(actor < LEDGER_ACTORS && m->random != 0, "actor %u, seed %llu", actor, (unsigned long long)seed);
}

/* ------------------------------------------------------------------------------------------------- notes around calls */

/* Half of the hits go around the swaps, where an operation is half done, or done and not yet closed. */
static void arm(struct mix *m, unsigned seldom, unsigned longer)
{
    if (m->hit_signal == 0 || below(m, seldom) != 0)
        return;
    if (below(m, 2) == 0)
        hit_arm_swaps((unsigned)below(m, SWAPS_MOST), (unsigned)below(m, 5), m->hit_signal);
    else
        hit_arm((unsigned)below(m, (uint64_t)m->hit_reach * longer), m->hit_signal);
}

/* Only after this the entry is looked at: whoever closes books looks at the slots first. False: the books are closed. */
static bool enter(struct mix *m, uint64_t call)
{
    struct ledger_entry *e = ledger_at(m->ledger, ledger_call_tag(call));
    atomic_store(&m->ledger->slot[m->actor], call);
    if (atomic_load(&e->closed) == ledger_call_tag(call) || atomic_load(&e->ready) != ledger_call_tag(call))
        return false;
    arm(m, m->hit_seldom, 1);
    return true;
}

static void leave(struct mix *m)
{
    hit_disarm();
    atomic_store(&m->ledger->slot[m->actor], ledger_call(LEDGER_IDLE, 0, 0));
}

/* An error is legal only where the books were closed meanwhile: the record may be somebody else's by now. */
static void check_error(struct mix *m, const char *what, uint64_t tag, int rc)
{
    bool closed = atomic_load(&ledger_at(m->ledger, tag)->closed) == tag;
    if (rc < 0 && !(rc == -TLSHM_EUNKNOWN && closed))
        ledger_fault(m->ledger, "tag %llu: %s: %s", (unsigned long long)tag, what, tlshm_error_name(rc));
}

/* --------------------------------------------------------------------------------------------------------- reserve */

static void pick_scopes(struct mix *m, struct ledger_entry *e)
{
    uint64_t epoch = atomic_load(&m->ledger->epoch);
    unsigned want = 1 + (unsigned)below(m, LEDGER_SCOPES);
    e->scope_count = 0;
    e->strict = false;
    for (unsigned tries = 0; e->scope_count < want && tries < 20; tries++) {
        uint32_t scope = (uint32_t)below(m, LEDGER_FIXED);
        if (below(m, 12) == 0)
            scope = ledger_fresh_scope(epoch, (unsigned)below(m, LEDGER_FRESH));
        bool there = false;
        for (unsigned i = 0; i < e->scope_count; i++)
            there |= e->scope[i] == scope;
        if (there)
            continue;
        e->scope[e->scope_count++] = scope;
        e->strict |= scope < LEDGER_STRICT;
    }
}

static void pick_amounts(struct mix *m, struct ledger_entry *e)
{
    static const uint64_t most[TLSHM_UNITS] = {400, 5000, 3, 0, 300, 300, 9};
    memset(e->need, 0, sizeof e->need);
    e->need[TLSHM_TOKENS] = 1 + below(m, most[TLSHM_TOKENS]);
    e->need[TLSHM_REQUESTS] = 1 + below(m, 20) / 19 * below(m, most[TLSHM_REQUESTS]);
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (e->need[u] == 0 && most[u] != 0 && below(m, 2) == 0)
            e->need[u] = 1 + below(m, most[u]);
}

/* Reservations that name a strict scope outlive every test, so that no late settle passes a cap. */
static void pick_life(struct mix *m, struct ledger_entry *e)
{
    e->ttl_ns = HOUR(1000);
    e->flags = 0;
    if (e->strict)
        return;
    e->ttl_ns = below(m, 12) == 0 ? MS(1 + below(m, 900)) : SEC(2 + below(m, 60));
    e->flags = below(m, 4) == 0 ? TLSHM_FREE_ON_DEATH : 0;
}

static void clear_answers(struct ledger_entry *e)
{
    atomic_store(&e->admitted, 0);
    atomic_store(&e->id, 0);
    atomic_store(&e->end, 0);
    atomic_store(&e->outcome, 0);
    for (unsigned i = 0; i < LEDGER_EXTENDS; i++)
        atomic_store(&e->extend[i], 0);
}

/* A tag of one's own; 0: the epoch has no more. */
static uint64_t take_tag(struct mix *m)
{
    uint64_t tag = m->spare_tag;
    m->spare_tag = 0;
    if (tag != 0)
        return tag;
    if (atomic_load(&m->ledger->next_tag) >= atomic_load(&m->ledger->tag_end))
        return 0;
    return atomic_fetch_add(&m->ledger->next_tag, 1);
}

static void write_entry(struct mix *m, uint64_t tag)
{
    struct ledger_entry *e = ledger_at(m->ledger, tag);
    atomic_store(&e->ready, 0);
    clear_answers(e);
    pick_scopes(m, e);
    pick_amounts(m, e);
    pick_life(m, e);
    atomic_store(&e->keyed, below(m, 3) == 0);
    atomic_store(&e->ready, tag);
}

/* Whatever the answer, it is written down. */
static int ask(struct mix *m, uint64_t tag)
{
    struct ledger_ask a;
    struct ledger_entry *e = ledger_at(m->ledger, tag);
    tlshm_refusal why = {.reason = TLSHM_ADMITTED};
    tlshm_id id = 0;
    bool details = below(m, 10) == 0;
    ledger_request(e, tag, &a);
    int rc = tlshm_reserve(m->t, &a.request, &id, details ? &why : NULL);
    hit_disarm();
    check_error(m, "reserve", tag, rc);
    if (rc == TLSHM_OK || rc == TLSHM_REPLAY)
        ledger_admitted(m->ledger, tag, id, rc == TLSHM_OK);
    if (rc == TLSHM_REPLAY && a.request.idempotency_key == NULL)
        ledger_fault(m->ledger, "tag %llu: a replay without a key", (unsigned long long)tag);
    if (rc == TLSHM_REFUSED && details && why.reason == TLSHM_ADMITTED)
        ledger_fault(m->ledger, "tag %llu: refused for no reason", (unsigned long long)tag);
    if (rc == TLSHM_REFUSED)
        atomic_fetch_add(&m->ledger->refused, 1);
    return rc;
}

static void keep(struct mix *m, uint64_t tag)
{
    unsigned place = m->own_count < MIX_OWN ? m->own_count++ : (unsigned)below(m, MIX_OWN);
    m->own[place] = tag;
}

static void reserve(struct mix *m)
{
    uint64_t tag = take_tag(m);
    if (tag == 0)
        return;
    write_entry(m, tag);
    if (!enter(m, ledger_call(LEDGER_RESERVE, 0, tag))) {
        leave(m);
        return;
    }
    int rc = ask(m, tag);
    /* An entry with a key is everybody's from the start: it is not written again. */
    if (rc == TLSHM_REFUSED && !atomic_load(&ledger_at(m->ledger, tag)->keyed))
        m->spare_tag = tag;
    leave(m);
    if (rc == TLSHM_OK)
        keep(m, tag);
}

/* Somebody's tag; every other time a new one, whose maker may be in the middle of something. */
static uint64_t any_tag(struct mix *m)
{
    uint64_t recent = atomic_load(&m->ledger->recent), next = atomic_load(&m->ledger->next_tag), all = next - recent;
    if (next <= recent)
        return recent;
    return all > NEWEST && below(m, 2) == 0 ? next - 1 - below(m, NEWEST) : recent + below(m, all);
}

/* Somebody asks again with the same key. */
static void repeat(struct mix *m)
{
    uint64_t tag = any_tag(m);
    const struct ledger_entry *e = ledger_at(m->ledger, tag);
    if (enter(m, ledger_call(LEDGER_RESERVE, 0, tag)) && atomic_load(&e->keyed))
        ask(m, tag);
    leave(m);
}

/* ------------------------------------------------------------------------------------------------ settle and refund */

static void note_end(struct mix *m, uint64_t call, int rc, const tlshm_result *result)
{
    check_error(m, "settle", ledger_call_tag(call), rc);
    if (rc == TLSHM_OK || rc == TLSHM_LATE)
        ledger_ended(m->ledger, call, result);
    else if (rc == TLSHM_REPLAY)
        ledger_outcome(m->ledger, ledger_call_tag(call), result);
    else if (rc == TLSHM_REFUSED || (rc == TLSHM_ENDED && ledger_call_op(call) != LEDGER_REFUND))
        ledger_fault(m->ledger, "tag %llu: settle: verdict %d", (unsigned long long)ledger_call_tag(call), rc);
}

static void end(struct mix *m, uint64_t tag)
{
    static const enum tlshm_outcome outcome[] = {
        [LEDGER_SETTLE] = TLSHM_EXACT,
        [LEDGER_SETTLE_UNKNOWN] = TLSHM_UNKNOWN,
        [LEDGER_SETTLE_AT_LEAST] = TLSHM_AT_LEAST,
    };
    static const enum ledger_op ops[] = {LEDGER_SETTLE, LEDGER_SETTLE,          LEDGER_SETTLE,
                                         LEDGER_REFUND, LEDGER_SETTLE_AT_LEAST, LEDGER_SETTLE_UNKNOWN};
    enum ledger_op op = ops[below(m, sizeof ops / sizeof ops[0])];
    uint64_t share = below(m, 0x10000), call = ledger_call(op, share, tag);
    struct ledger_entry *e = ledger_at(m->ledger, tag);
    tlshm_result result = {.status = TLSHM_HELD};
    tlshm_id id = 0;
    if (enter(m, call) && (id = atomic_load(&e->id)) != 0) {
        tlshm_amounts actual = ledger_actual(e, share);
        int rc = op == LEDGER_REFUND ? tlshm_refund(m->t, id, &result)
                                     : tlshm_settle(m->t, id, &actual, outcome[op], &result);
        hit_disarm();
        note_end(m, call, rc, &result);
    }
    leave(m);
}

static void end_own(struct mix *m)
{
    if (m->own_count == 0)
        return;
    unsigned place = (unsigned)below(m, m->own_count);
    uint64_t tag = m->own[place];
    m->own[place] = m->own[--m->own_count];
    end(m, tag);
}

/* ---------------------------------------------------------------------------------------------------------- extend */

static void note_extend(struct mix *m, uint64_t tag, _Atomic uint64_t *note, uint64_t share, int rc)
{
    check_error(m, "extend", tag, rc);
    if (rc == TLSHM_REPLAY || rc == TLSHM_LATE)
        ledger_fault(m->ledger, "tag %llu: extend: verdict %d", (unsigned long long)tag, rc);
    atomic_store(note, share << 8 | (rc == TLSHM_OK ? LEDGER_EXTEND_DONE : LEDGER_EXTEND_NOT));
}

/* Only the maker extends: then one extend at most is in doubt. */
static void extend(struct mix *m)
{
    uint64_t tag = m->own_count != 0 ? m->own[below(m, m->own_count)] : 0, share = below(m, 0x8000);
    struct ledger_entry *e = ledger_at(m->ledger, tag);
    unsigned n = 0;
    while (n < LEDGER_EXTENDS && tag != 0 && atomic_load(&e->extend[n]) != 0)
        n++;
    if (tag == 0 || n == LEDGER_EXTENDS)
        return;
    if (enter(m, ledger_call(LEDGER_EXTEND, share, tag))) {
        tlshm_amounts more = ledger_part(e, share);
        uint64_t ttl_ns = below(m, 2) == 0 ? SEC(1 + below(m, 20)) : 0;
        bool nothing = true;
        for (unsigned u = 0; u < TLSHM_UNITS; u++)
            nothing &= more.of[u] == 0;
        atomic_store(&e->extend[n], share << 8 | LEDGER_EXTEND_ASKED);
        int rc = tlshm_extend(m->t, atomic_load(&e->id), nothing ? NULL : &more, nothing ? SEC(1) : ttl_ns, NULL);
        hit_disarm();
        note_extend(m, tag, &e->extend[n], share, rc);
    }
    leave(m);
}

/* --------------------------------------------------------------------------------------------------- looks, changes */

static uint32_t any_scope(struct mix *m)
{
    uint32_t n = (uint32_t)below(m, LEDGER_FIXED + LEDGER_FRESH);
    return n < LEDGER_FIXED ? n : ledger_fresh_scope(atomic_load(&m->ledger->epoch), n - LEDGER_FIXED);
}

static unsigned look(struct ledger *ledger, tlshm_t *t, uint32_t scope)
{
    char key[32];
    tlshm_scope_usage usage;
    ledger_key(scope, key, sizeof key);
    int rc = tlshm_usage(t, key, 0, &usage);
    if (rc < 0) {
        ledger_fault(ledger, "usage of %s: %s", key, tlshm_error_name(rc));
        return 0;
    }
    for (unsigned i = 0; scope < LEDGER_STRICT && i < usage.limit_count; i++)
        if (usage.limits[i].remaining < 0 || usage.limits[i].used + usage.limits[i].held > usage.limits[i].limit.cap)
            ledger_fault(ledger, "%s: %s: %llu used and %llu held of %llu", key,
                         tlshm_unit_name((int)usage.limits[i].limit.unit), (unsigned long long)usage.limits[i].used,
                         (unsigned long long)usage.limits[i].held, (unsigned long long)usage.limits[i].limit.cap);
    return usage.limit_count;
}

unsigned mix_look_strict(struct ledger *ledger, tlshm_t *t)
{
    unsigned seen = 0;
    for (uint32_t scope = 0; scope < LEDGER_STRICT; scope++)
        seen += look(ledger, t, scope);
    return seen;
}

static void look_somewhere(struct mix *m)
{
    char key[32];
    int64_t left = 0;
    uint32_t scope = any_scope(m);
    ledger_key(scope, key, sizeof key);
    enum tlshm_unit unit = (enum tlshm_unit)below(m, TLSHM_UNITS);
    int rc = tlshm_remaining(m->t, key, 0, unit, &left);
    if (rc < 0 || (scope < LEDGER_STRICT && left < 0))
        ledger_fault(m->ledger, "remaining of %s: %s, %lld left", key, tlshm_error_name(rc), (long long)left);
    look(m->ledger, m->t, scope);
}

static unsigned pick_list(struct mix *m, tlshm_limit *list)
{
    static const char *const menu[] = {
        "tokens 50000 per 1s/10", "tokens 900k per 4s/60",         "concurrency 150",
        "requests 2k per 1s/5",   "cost $1 per day in Asia/Tokyo", "tokens unlimited per 2s/9"};
    unsigned count = (unsigned)below(m, 4), from = (unsigned)below(m, 6);
    for (unsigned i = 0; i < count; i++)
        list[i] = limit_of(menu[(from + i) % 6]);
    return count;
}

static int change_tier(struct mix *m, const char *key)
{
    tlshm_limit list[4];
    switch (below(m, 4)) {
    case 0:
        return tlshm_tier_set(m->t, "newcomer", list, pick_list(m, list));
    case 1:
        return tlshm_scope_tier_set(m->t, key, 0, NULL);
    default:
        return tlshm_scope_tier_set(m->t, key, 0, "newcomer");
    }
}

static int change_limits(struct mix *m, const char *key)
{
    tlshm_limit list[4];
    switch (below(m, 3)) {
    case 0:
        list[0] = limit_of("tokens 50000 per 3s/60");
        list[0].cap = below(m, 1000000);
        return tlshm_limit_set(m->t, key, 0, &list[0]);
    case 1:
        return change_tier(m, key);
    default:
        return tlshm_scope_limits_set(m->t, key, 0, list, pick_list(m, list));
    }
}

/* A strict scope gets the limits that it has, as a new list. */
static int renew_limits(struct mix *m, uint32_t scope, const char *key)
{
    tlshm_scope_usage usage;
    tlshm_limit list[TLSHM_LIMITS_MAX];
    int rc = tlshm_usage(m->t, key, 0, &usage);
    for (unsigned i = 0; rc == 0 && i < usage.limit_count; i++)
        list[i] = usage.limits[i].limit;
    if (rc == 0 && usage.source != TLSHM_LIMITS_OWN)
        ledger_fault(m->ledger, "%s (%u) lost its limits", key, scope);
    return rc == 0 ? tlshm_scope_limits_set(m->t, key, 0, list, usage.limit_count) : rc;
}

static void change(struct mix *m)
{
    char key[32];
    uint32_t scope = (uint32_t)below(m, LEDGER_FIXED);
    ledger_key(scope, key, sizeof key);
    int rc = 0;
    arm(m, SELDOM, 1);
    if (below(m, 6) == 0)
        rc = tlshm_overrun_set(m->t, below(m, 3) == 0 ? TLSHM_CAP_AT_ESTIMATE : TLSHM_CHARGE_ACTUAL);
    else if (scope < LEDGER_STRICT)
        rc = renew_limits(m, scope, key);
    else if (below(m, 5) == 0)
        rc = tlshm_scope_pause(m->t, key, 0, below(m, 12) == 0);
    else
        rc = change_limits(m, key);
    hit_disarm();
    if (rc == -TLSHM_ENOROOM)
        atomic_fetch_add(&m->ledger->limits_full, 1);
    else if (rc < 0)
        ledger_fault(m->ledger, "changing %s: %s", key, tlshm_error_name(rc));
}

void mix_reap(struct mix *m)
{
    arm(m, SELDOM, 10);
    int rc = tlshm_reap(m->t, NULL);
    hit_disarm();
    if (rc < 0)
        ledger_fault(m->ledger, "reap: %s", tlshm_error_name(rc));
}

/* Gives the seat back; the next call takes one again. */
static void release(struct mix *m)
{
    if (m->stays)
        return;
    arm(m, SELDOM, 1);
    tlshm_thread_release(m->t);
    hit_disarm();
}

void mix_step(struct mix *m)
{
    uint64_t what = below(m, 1000);
    if (what < 440)
        reserve(m);
    else if (what < 680)
        end_own(m);
    else if (what < 770)
        end(m, any_tag(m));
    else if (what < 890)
        extend(m);
    else if (what < 940)
        repeat(m);
    else if (what < 975)
        look_somewhere(m);
    else if (what < 993)
        change(m);
    else if (what < 996)
        mix_reap(m);
    else
        release(m);
    atomic_fetch_add(&m->ledger->operations, 1);
}
