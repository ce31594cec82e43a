/* SPDX-License-Identifier: MIT */
/*
 * compare.c - the library and the reference model, side by side: the same random calls on both, every answer and every
 * figure compared. Usage: compare [-n operations] [-v] [seed ...]
 */
#include "../support/space.h"
#include "reference.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlshm/stats.h>

#define OPERATIONS 100000
#define RECENT 256 /* reservations that the calls turn to */
#define TIER_NAMES 3
#define SECONDS 1800

struct play {
    uint64_t seed, random, op;
    bool verbose, differs;
    struct space space;
    tlshm_t *looker; /* may not write */
    struct reference *model;
    struct instant now;
    unsigned pace;
    uint64_t admitted, refused[TLSHM_REASONS], replayed, settled, late, refunded, extended;
    uint64_t last; /* the model's newest id */
    tlshm_id ids[RECENT];
};

/* --------------------------------------------------------------------------------------------------- what differs */

static void differ(struct play *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void differ(struct play *p, const char *format, ...)
{
    va_list arguments;
    p->differs = true;
    printf("# seed %" PRIu64 " operation %" PRIu64 ": ", p->seed, p->op);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static void same(struct play *p, int64_t library, int64_t model, const char *what, const char *of)
{
    if (library != model)
        differ(p, "%s of %s: library %" PRId64 ", model %" PRId64, what, of, library, model);
}

static void trace(const struct play *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void trace(const struct play *p, const char *format, ...)
{
    va_list arguments;
    if (!p->verbose)
        return;
    printf("# %" PRIu64 " at %" PRIu64 ": ", p->op, p->now.boot);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static void trace_limits(const struct play *p, const char *what, const char *of, const tlshm_limit *list,
                         unsigned count)
{
    char text[160];
    trace(p, "%s %s: %u", what, of, count);
    for (unsigned i = 0; i < count && p->verbose; i++) {
        tlshm_limit_format(&list[i], text, sizeof text);
        trace(p, "    %s", text);
    }
}

/* --------------------------------------------------------------------------------------------------------- chance */

static uint64_t chance(struct play *p, uint64_t below)
{
    uint64_t x = p->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (x ^ (x >> 31)) % below;
}

static bool one_in(struct play *p, uint64_t n)
{
    return chance(p, n) == 0;
}

/* How many scopes of each level there are; the first level has one scope without an id. */
static const struct {
    const char *name;
    unsigned ids;
} levels[] = {{"global", 0}, {"org", 2}, {"tenant", 3}, {"project", 3}, {"user", 4}, {"agent", 8}};
#define LEVELS (sizeof levels / sizeof levels[0])

static void random_key(struct play *p, unsigned level, char *key, size_t size)
{
    if (levels[level].ids == 0)
        snprintf(key, size, "%s:", levels[level].name);
    else
        snprintf(key, size, "%s:%c%" PRIu64, levels[level].name, levels[level].name[0], chance(p, levels[level].ids));
}

static void random_any_key(struct play *p, char *key, size_t size)
{
    random_key(p, (unsigned)chance(p, LEVELS), key, size);
}

/* Windows of every kind; some rolling ones whose length is no multiple of their slices. */
static const tlshm_window windows[] = {
    {.kind = TLSHM_WINDOW_ROLLING, .length_ns = SEC(1), .slices = 10},
    {.kind = TLSHM_WINDOW_ROLLING, .length_ns = SEC(60)},
    {.kind = TLSHM_WINDOW_ROLLING, .length_ns = SEC(60), .slices = 7},
    {.kind = TLSHM_WINDOW_ROLLING, .length_ns = HOUR(1)},
    {.kind = TLSHM_WINDOW_ROLLING, .length_ns = HOUR(1), .slices = 1},
    {.kind = TLSHM_WINDOW_ROLLING, .length_ns = HOUR(24), .slices = 64},
    {.kind = TLSHM_WINDOW_CALENDAR, .period = TLSHM_HOUR},
    {.kind = TLSHM_WINDOW_CALENDAR, .period = TLSHM_DAY},
    {.kind = TLSHM_WINDOW_CALENDAR, .period = TLSHM_WEEK},
    {.kind = TLSHM_WINDOW_CALENDAR, .period = TLSHM_WEEK, .anchor = 7},
    {.kind = TLSHM_WINDOW_CALENDAR, .period = TLSHM_MONTH},
    {.kind = TLSHM_WINDOW_CALENDAR, .period = TLSHM_MONTH, .anchor = 31},
    {.kind = TLSHM_WINDOW_LIFETIME},
};
#define WINDOWS (sizeof windows / sizeof windows[0])

static uint64_t random_ttl(struct play *p)
{
    static const uint64_t longest[] = {MS(10), SEC(10), SEC(600), HOUR(30)};
    return 1 + chance(p, longest[chance(p, 4)]);
}

/* About what single requests ask for and how long they are held, so that some are too large. */
static uint64_t random_request_cap(struct play *p, enum tlshm_unit unit)
{
    if (unit == TLSHM_TIME)
        return random_ttl(p);
    return 1 + (unit == TLSHM_REQUESTS || unit == TLSHM_TOOL_CALLS ? chance(p, 6) : 100 + chance(p, 600));
}

static uint64_t random_cap(struct play *p, const tlshm_limit *limit)
{
    bool small = limit->unit == TLSHM_REQUESTS || limit->unit == TLSHM_TOOL_CALLS;
    uint64_t scale = limit->window.kind == TLSHM_WINDOW_LIFETIME  ? 1000
                     : limit->window.kind == TLSHM_WINDOW_ROLLING ? 1
                                                                  : 20;
    if (one_in(p, 40))
        return 0;
    if (one_in(p, 20))
        return TLSHM_UNLIMITED;
    if (limit->window.kind == TLSHM_WINDOW_REQUEST)
        return random_request_cap(p, limit->unit);
    return scale * (small ? 5 + chance(p, 60) : 200 + chance(p, 6000));
}

static tlshm_limit random_limit(struct play *p)
{
    tlshm_limit limit = {.unit = (enum tlshm_unit)chance(p, TLSHM_UNITS)};
    if (limit.unit == TLSHM_CONCURRENCY) {
        limit.cap = one_in(p, 30) ? 0 : 1 + chance(p, 12);
        return limit;
    }
    limit.window = windows[chance(p, WINDOWS)];
    if (one_in(p, 6))
        limit.window = (tlshm_window){.kind = TLSHM_WINDOW_REQUEST};
    if (limit.window.kind == TLSHM_WINDOW_REQUEST && one_in(p, 4))
        limit.unit = TLSHM_TIME;
    if (limit.window.kind == TLSHM_WINDOW_ROLLING && limit.window.slices < 64 &&
        one_in(p, 4)) /* there are 64 at most */
        limit.flags = TLSHM_LIMIT_STRICT;
    limit.cap = random_cap(p, &limit);
    return limit;
}

/* A list without two limits of one unit and window. */
static unsigned random_limits(struct play *p, tlshm_limit *list)
{
    unsigned want = (unsigned)chance(p, 6), count = 0;
    while (want-- > 0) {
        bool twice = false;
        list[count] = random_limit(p);
        for (unsigned i = 0; i < count; i++)
            twice = twice || limit_same(&list[i], &list[count]);
        count += twice ? 0 : 1;
    }
    return count;
}

static tlshm_amounts random_amounts(struct play *p)
{
    static const enum tlshm_unit plain[] = {TLSHM_TOKENS, TLSHM_COST, TLSHM_INPUT_TOKENS, TLSHM_OUTPUT_TOKENS};
    tlshm_amounts a = {{0}};
    for (unsigned i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (one_in(p, 2))
            a.of[plain[i]] = 1 + chance(p, one_in(p, 50) ? 10000 : 300);
    if (one_in(p, 3))
        a.of[TLSHM_TOOL_CALLS] = 1 + chance(p, 4);
    return a;
}

/* A recent id of the model, 0 for none yet. */
static uint64_t random_id(struct play *p)
{
    uint64_t reach = p->last < RECENT ? p->last : RECENT;
    if (reach != 0 && one_in(p, 2) && reach > 16)
        reach = 16;
    return reach == 0 ? 0 : p->last - chance(p, reach);
}

/* --------------------------------------------------------------------------------------------------- comparing */

static void compare_limit_usage(struct play *p, const struct tlshm_limit_usage *l, const struct tlshm_limit_usage *m,
                                const char *key)
{
    char text[160], what[200];
    tlshm_limit_format(&m->limit, text, sizeof text);
    snprintf(what, sizeof what, "%s %s", key, text);
    same(p, (int64_t)l->limit.cap, (int64_t)m->limit.cap, "cap", what);
    same(p, l->limit.flags, m->limit.flags, "flags", what);
    same(p, (int64_t)l->used, (int64_t)m->used, "used", what);
    same(p, (int64_t)l->held, (int64_t)m->held, "held", what);
    same(p, l->remaining, m->remaining, "remaining", what);
    same(p, (int64_t)l->frees_in_ns, (int64_t)m->frees_in_ns, "frees_in_ns", what);
}

static const struct tlshm_limit_usage *usage_limit(const tlshm_scope_usage *u, const tlshm_limit *limit)
{
    for (unsigned i = 0; i < u->limit_count; i++)
        if (limit_same(&u->limits[i].limit, limit))
            return &u->limits[i];
    return NULL;
}

static void compare_usage_limits(struct play *p, const tlshm_scope_usage *l, const tlshm_scope_usage *m,
                                 const char *key)
{
    same(p, l->limit_count, m->limit_count, "number of limits", key);
    for (unsigned i = 0; i < m->limit_count; i++) {
        const struct tlshm_limit_usage *at = usage_limit(l, &m->limits[i].limit);
        if (at == NULL)
            differ(p, "a limit of %s is missing", key);
        else
            compare_limit_usage(p, at, &m->limits[i], key);
    }
}

static void compare_usage(struct play *p, const char *key)
{
    tlshm_scope_usage l, m;
    ref_usage(p->model, key, &m);
    same(p, tlshm_usage(p->space.t, key, 0, &l), 0, "usage", key);
    for (unsigned u = 0; u < TLSHM_UNITS; u++) {
        char what[64];
        snprintf(what, sizeof what, "%s %s", key, tlshm_unit_name((int)u));
        same(p, (int64_t)l.used[u], (int64_t)m.used[u], "used", what);
        same(p, (int64_t)l.held[u], (int64_t)m.held[u], "held", what);
    }
    same(p, l.source, m.source, "source", key);
    same(p, strcmp(l.tier, m.tier), 0, "tier", key);
    same(p, l.paused != 0, m.paused, "paused", key);
    same(p, l.shutoff != 0, m.shutoff, "shutoff", key);
    same(p, l.seen != 0, m.seen, "seen", key);
    compare_usage_limits(p, &l, &m, key);
}

static const struct ref_refusing *refusing(const struct ref_refusal *m, unsigned scope, const tlshm_limit *limit)
{
    for (unsigned i = 0; i < m->count; i++)
        if (m->of[i].scope == scope && limit_same(&m->of[i].at.limit, limit))
            return &m->of[i];
    return NULL;
}

static bool reason_fits(const struct ref_refusal *m, enum tlshm_reason reason)
{
    if (m->paused || m->shutoff)
        return (m->paused && reason == TLSHM_PAUSED) || (m->shutoff && reason == TLSHM_SHUTOFF);
    if (m->too_large)
        return reason == TLSHM_REQUEST_TOO_LARGE;
    return reason == (m->never_fits ? TLSHM_NEVER_FITS : TLSHM_LIMIT);
}

static void compare_refusing(struct play *p, const tlshm_refusal *l, const struct ref_refusing *m)
{
    struct tlshm_limit_usage at = {l->limit, l->used, l->held, l->remaining, m->at.frees_in_ns};
    compare_limit_usage(p, &at, &m->at, l->key);
    same(p, (int64_t)l->requested, (int64_t)m->requested, "requested", l->key);
}

static void compare_refusal(struct play *p, const tlshm_refusal *l, const struct ref_refusal *m)
{
    if (!reason_fits(m, l->reason)) {
        differ(p, "reason: library %s, model%s%s%s%s of %u limits", tlshm_reason_name((int)l->reason),
               m->paused ? " paused" : "", m->shutoff ? " shutoff" : "", m->too_large ? " too large" : "",
               m->never_fits ? " never fits" : "", m->count);
        return;
    }
    same(p, (int64_t)l->retry_after_ns, (int64_t)m->retry_after_ns, "retry_after", l->key);
    p->refused[l->reason]++;
    if (l->reason == TLSHM_PAUSED || l->reason == TLSHM_SHUTOFF)
        return;
    const struct ref_refusing *at = refusing(m, l->scope, &l->limit);
    if (at == NULL)
        differ(p, "the refusing limit (of %s) does not refuse in the model", l->key);
    else
        compare_refusing(p, l, at);
}

static void compare_amounts(struct play *p, const tlshm_amounts *l, const tlshm_amounts *m, const char *what)
{
    for (unsigned u = 0; u < TLSHM_UNITS; u++)
        if (u != TLSHM_CONCURRENCY)
            same(p, (int64_t)l->of[u], (int64_t)m->of[u], what, tlshm_unit_name((int)u));
}

static void compare_scopes(struct play *p, const tlshm_reservation_info *l, uint64_t id)
{
    char key[TLSHM_KEY_MAX + 1];
    for (unsigned i = 0; i < l->scope_count && !p->differs; i++)
        if (tlshm_scope_key(p->space.t, l->scopes[i], key, sizeof key) < 0 ||
            strcmp(key, ref_reservation_key(p->model, id, i)) != 0)
            differ(p, "scope %u of a reservation is not %s", i, ref_reservation_key(p->model, id, i));
}

static void compare_reservation(struct play *p, uint64_t id)
{
    tlshm_reservation_info l, m;
    int rc = tlshm_reservation(p->space.t, p->ids[id % RECENT], &l);
    same(p, rc, 0, "get_reservation", "a recent id");
    if (rc != 0)
        return;
    ref_reservation(p->model, id, &m);
    same(p, l.status, m.status, "status", "a reservation");
    same(p, l.scope_count, m.scope_count, "scopes", "a reservation");
    compare_amounts(p, &l.estimate, &m.estimate, "estimate");
    compare_amounts(p, &l.charged, &m.charged, "charged");
    same(p, l.outcome, m.outcome, "outcome", "a reservation");
    same(p, (int64_t)l.age_ns, (int64_t)m.age_ns, "age", "a reservation");
    same(p, (int64_t)l.expires_in_ns, (int64_t)m.expires_in_ns, "expires_in", "a reservation");
    same(p, (int64_t)l.ended_ago_ns, (int64_t)m.ended_ago_ns, "ended_ago", "a reservation");
    same(p, l.idempotency_len, m.idempotency_len, "idempotency_len", "a reservation");
    same(p, memcmp(l.idempotency_key, m.idempotency_key, m.idempotency_len), 0, "idempotency_key", "a reservation");
    compare_scopes(p, &l, id);
}

/* ------------------------------------------------------------------------------------------------------ operations */

struct random_request {
    char keys[LEVELS][16];
    char idempotency[16];
    tlshm_scope scopes[LEVELS];
    tlshm_request request;
};

static void random_request(struct play *p, struct random_request *r)
{
    unsigned from = (unsigned)chance(p, LEVELS);
    r->request = (tlshm_request)TLSHM_REQUEST_INIT;
    r->request.scopes = r->scopes;
    for (unsigned i = 0; i < LEVELS; i++) {
        unsigned level = (from + i) % (unsigned)LEVELS, n = r->request.scope_count;
        if (n != 0 && !one_in(p, 3))
            continue;
        random_key(p, level, r->keys[n], sizeof r->keys[n]);
        r->scopes[n] = (tlshm_scope){.key = r->keys[n]};
        r->request.scope_count++;
    }
    r->request.estimate = random_amounts(p);
    r->request.estimate.of[TLSHM_REQUESTS] = one_in(p, 8) ? 1 + chance(p, 3) : 0;
    if (memcmp(&r->request.estimate, &(tlshm_amounts){{0}}, sizeof(tlshm_amounts)) == 0)
        r->request.estimate.of[TLSHM_TOKENS] = 1;
    r->request.ttl_ns = random_ttl(p);
}

static void note_admitted(struct play *p, tlshm_id id)
{
    p->admitted++;
    p->ids[++p->last % RECENT] = id;
}

/* What was foretold is what came about. */
static void compare_foretold(struct play *p, const tlshm_refusal *foretold, const tlshm_refusal *l)
{
    char text[2][512];
    if (refusal_same(foretold, l))
        return;
    tlshm_refusal_text(foretold, text[0], sizeof text[0]);
    tlshm_refusal_text(l, text[1], sizeof text[1]);
    differ(p, "foretold: %s (in %" PRIu64 "); came about: %s (in %" PRIu64 ")", text[0], foretold->retry_after_ns,
           text[1], l->retry_after_ns);
}

static void do_reserve(struct play *p, struct random_request *r)
{
    tlshm_refusal why, foretold;
    int fits = tlshm_would_fit(p->looker, &r->request, &foretold);
    static struct ref_refusal model_why;
    tlshm_id id = 0;
    uint64_t model_id = 0;
    int rc = tlshm_reserve(p->space.t, &r->request, &id, &why);
    int model_rc = ref_reserve(p->model, &r->request, &model_id, &model_why);
    trace(p, "reserve, ttl %" PRIu64 ": %d", r->request.ttl_ns, rc);
    for (unsigned i = 0; i < r->request.scope_count; i++)
        trace(p, "    %s", r->scopes[i].key);
    same(p, fits, rc, "would_fit", r->keys[0]);
    same(p, rc, model_rc, "reserve", r->keys[0]);
    if (fits == TLSHM_REFUSED && rc == TLSHM_REFUSED)
        compare_foretold(p, &foretold, &why);
    if (rc != model_rc)
        return;
    if (rc == TLSHM_OK)
        note_admitted(p, id);
    if (rc == TLSHM_REPLAY)
        p->replayed++;
    if (rc == TLSHM_REPLAY && model_id + RECENT > p->last)
        same(p, (int64_t)id, (int64_t)p->ids[model_id % RECENT], "id of the replay", r->keys[0]);
    if (rc == TLSHM_REFUSED)
        compare_refusal(p, &why, &model_why);
}

static void op_reserve(struct play *p)
{
    struct random_request r;
    random_request(p, &r);
    do_reserve(p, &r);
}

/* A new key, then the same request again at once, at times with its scopes the other way round or another amount. */
static void op_reserve_twice(struct play *p)
{
    struct random_request r;
    random_request(p, &r);
    snprintf(r.idempotency, sizeof r.idempotency, "key %" PRIu64, p->op);
    r.request.idempotency_key = r.idempotency;
    r.request.idempotency_len = strlen(r.idempotency);
    do_reserve(p, &r);
    for (unsigned i = 0; i < r.request.scope_count / 2; i++) {
        tlshm_scope swap = r.scopes[i];
        r.scopes[i] = r.scopes[r.request.scope_count - 1 - i];
        r.scopes[r.request.scope_count - 1 - i] = swap;
    }
    if (one_in(p, 4))
        r.request.estimate.of[TLSHM_TOKENS]++;
    do_reserve(p, &r);
}

static void compare_result(struct play *p, int rc, int model_rc, const tlshm_result *l, const tlshm_result *m,
                           const char *call)
{
    same(p, rc, model_rc, "verdict", call);
    if (rc < 0 || model_rc < 0)
        return;
    same(p, l->status, m->status, "status", call);
    compare_amounts(p, &l->charged, &m->charged, call);
}

static void op_settle(struct play *p)
{
    uint64_t id = random_id(p);
    enum tlshm_outcome outcome = one_in(p, 2) ? TLSHM_EXACT : (enum tlshm_outcome)chance(p, 3);
    tlshm_amounts actual = random_amounts(p);
    tlshm_result l, m;
    if (id == 0)
        return;
    int rc = tlshm_settle(p->space.t, p->ids[id % RECENT], &actual, outcome, &l);
    int model_rc = ref_settle(p->model, id, &actual, outcome, &m);
    trace(p, "settle %" PRIu64 ": %d", id, rc);
    compare_result(p, rc, model_rc, &l, &m, "settle");
    p->settled += rc == TLSHM_OK ? 1 : 0;
    p->late += rc == TLSHM_LATE ? 1 : 0;
}

static void op_refund(struct play *p)
{
    uint64_t id = random_id(p);
    tlshm_result l, m;
    if (id == 0)
        return;
    int rc = tlshm_refund(p->space.t, p->ids[id % RECENT], &l);
    int model_rc = ref_refund(p->model, id, &m);
    trace(p, "refund %" PRIu64 ": %d", id, rc);
    compare_result(p, rc, model_rc, &l, &m, "refund");
    p->refunded += rc == TLSHM_OK ? 1 : 0;
}

static void op_extend(struct play *p)
{
    uint64_t id = random_id(p), ttl = one_in(p, 2) ? random_ttl(p) : 0;
    tlshm_amounts more = random_amounts(p);
    bool amounts = ttl == 0 || one_in(p, 2);
    tlshm_refusal why;
    static struct ref_refusal model_why;
    if (id == 0)
        return;
    more.of[TLSHM_TOKENS] += 1;
    int rc = tlshm_extend(p->space.t, p->ids[id % RECENT], amounts ? &more : NULL, ttl, &why);
    int model_rc = ref_extend(p->model, id, amounts ? &more : NULL, ttl, &model_why);
    trace(p, "extend %" PRIu64 " ttl %" PRIu64 "%s: %d", id, ttl, amounts ? " and amounts" : "", rc);
    same(p, rc, model_rc, "verdict", "extend");
    if (rc == TLSHM_REFUSED && model_rc == TLSHM_REFUSED)
        compare_refusal(p, &why, &model_why);
    p->extended += rc == TLSHM_OK ? 1 : 0;
    compare_reservation(p, id);
}

/* 0: the scope was never used, and must not come to be by asking. */
static uint64_t handle_of(struct play *p, const char *key)
{
    tlshm_scope_usage usage;
    tlshm_handle handle = 0;
    same(p, tlshm_usage(p->space.t, key, 0, &usage), 0, "usage", key);
    if (usage.seen)
        same(p, tlshm_resolve(p->space.t, key, 0, &handle), 0, "resolve", key);
    return handle;
}

/* Every unit, by key and by handle. */
static void op_remaining(struct play *p)
{
    char key[16];
    random_any_key(p, key, sizeof key);
    uint64_t handle = handle_of(p, key);
    for (unsigned unit = 0; unit < TLSHM_UNITS; unit++) {
        int64_t left = 0, again = 0, due = ref_remaining(p->model, key, (enum tlshm_unit)unit);
        same(p, tlshm_remaining(p->space.t, key, 0, (enum tlshm_unit)unit, &left), 0, "remaining", key);
        same(p, left, due, tlshm_unit_name((int)unit), key);
        if (handle == 0)
            continue;
        int rc = tlshm_remaining_handle(p->space.t, handle, (enum tlshm_unit)unit, &again);
        same(p, rc, 0, "remaining by handle", key);
        same(p, again, due, tlshm_unit_name((int)unit), key);
    }
}

static void op_usage(struct play *p)
{
    char key[16];
    random_any_key(p, key, sizeof key);
    compare_usage(p, key);
}

static void op_reservation(struct play *p)
{
    uint64_t id = random_id(p);
    if (id != 0)
        compare_reservation(p, id);
}

/* Long stretches at one pace, so that windows fill as well as roll. */
static void op_clock(struct play *p)
{
    static const uint64_t paces[] = {MS(3), MS(200), SEC(10), SEC(300), HOUR(3), HOUR(100)};
    if (one_in(p, 60))
        p->pace = (unsigned)chance(p, 6);
    uint64_t step = one_in(p, 3) ? 0 : chance(p, paces[p->pace]);
    if (one_in(p, 10))
        step -= step % MS(100); /* now and then exactly onto an edge, if it stood on one */
    p->now.boot += step;
    p->now.wall += step;
    tlshm_clock_set(p->space.t, p->now.boot, p->now.wall);
    ref_clock(p->model, p->now);
}

/* To the very instant of the next deadline: an overdue hold is one whose deadline is now. */
static void op_clock_to_deadline(struct play *p)
{
    uint64_t due = ref_next_due(p->model);
    if (due == TLSHM_NEVER || due > HOUR(1))
        return;
    p->now.boot += due;
    p->now.wall += due;
    tlshm_clock_set(p->space.t, p->now.boot, p->now.wall);
    ref_clock(p->model, p->now);
}

static void op_reap(struct play *p)
{
    tlshm_reap_report report;
    same(p, tlshm_reap(p->space.t, &report), 0, "reap", "the segment");
    same(p, (int64_t)report.live, (int64_t)ref_live(p->model), "live", "the segment");
    same(p, (int64_t)report.next_due_ns, (int64_t)ref_next_due(p->model), "next_due", "the segment");
}

static const char *const tier_names[TIER_NAMES] = {"free", "pro", "enterprise"};

static void op_limit(struct play *p)
{
    char key[16];
    tlshm_limit limit = random_limit(p);
    random_any_key(p, key, sizeof key);
    bool set = !one_in(p, 3);
    trace_limits(p, set ? "set a limit of" : "unset a limit of", key, &limit, 1);
    if (set)
        same(p, tlshm_limit_set(p->space.t, key, 0, &limit), ref_limit_set(p->model, key, &limit), "limit_set", key);
    else
        same(p, tlshm_limit_unset(p->space.t, key, 0, &limit), ref_limit_unset(p->model, key, &limit), "limit_unset",
             key);
}

/* Changes the cap of a limit that is there. */
static void op_cap(struct play *p)
{
    char key[16];
    tlshm_scope_usage usage;
    random_any_key(p, key, sizeof key);
    ref_usage(p->model, key, &usage);
    if (usage.limit_count == 0)
        return;
    tlshm_limit limit = usage.limits[chance(p, usage.limit_count)].limit;
    limit.cap = limit.unit == TLSHM_CONCURRENCY ? chance(p, 12) : random_cap(p, &limit);
    if (limit.window.kind == TLSHM_WINDOW_LIFETIME)
        limit.cap = usage.used[limit.unit] + chance(p, 5000);
    trace_limits(p, "cap of", key, &limit, 1);
    same(p, tlshm_limit_set(p->space.t, key, 0, &limit), ref_limit_set(p->model, key, &limit), "limit_set", key);
}

static void op_own_limits(struct play *p)
{
    char key[16];
    tlshm_limit list[TLSHM_LIMITS_MAX];
    unsigned count = random_limits(p, list);
    random_any_key(p, key, sizeof key);
    trace_limits(p, "own limits of", key, list, count);
    same(p, tlshm_scope_limits_set(p->space.t, key, 0, list, count), 0, "scope_limits_set", key);
    ref_scope_limits_set(p->model, key, list, count);
}

static void op_tier(struct play *p)
{
    tlshm_limit list[TLSHM_LIMITS_MAX];
    const char *tier = tier_names[chance(p, TIER_NAMES)];
    if (one_in(p, 2)) {
        tlshm_limit limit = random_limit(p);
        trace_limits(p, "limit of tier", tier, &limit, 1);
        same(p, tlshm_tier_limit_set(p->space.t, tier, &limit), ref_tier_limit_set(p->model, tier, &limit),
             "tier_limit_set", tier);
        return;
    }
    unsigned count = random_limits(p, list);
    trace_limits(p, "tier", tier, list, count);
    same(p, tlshm_tier_set(p->space.t, tier, list, count), 0, "tier_set", tier);
    ref_tier_set(p->model, tier, list, count);
}

static void op_scope_tier(struct play *p)
{
    char key[16];
    const char *tier = one_in(p, 3) ? NULL : tier_names[chance(p, TIER_NAMES)];
    random_any_key(p, key, sizeof key);
    trace(p, "tier of %s: %s", key, tier != NULL ? tier : "default");
    same(p, tlshm_scope_tier_set(p->space.t, key, 0, tier), ref_scope_tier_set(p->model, key, tier), "scope_tier_set",
         key);
}

static void op_default(struct play *p)
{
    const char *level = levels[chance(p, LEVELS)].name;
    const char *tier = one_in(p, 2) ? NULL : tier_names[chance(p, TIER_NAMES)];
    trace(p, "default of %s: %s", level, tier != NULL ? tier : "none");
    same(p, tlshm_default_set(p->space.t, level, tier), 0, "default_set", level);
    ref_default_set(p->model, level, tier);
}

static void op_flags(struct play *p)
{
    char key[16];
    int on = one_in(p, 4);
    random_any_key(p, key, sizeof key);
    switch (chance(p, 4)) {
    case 0:
        same(p, tlshm_pause(p->space.t, on), 0, "pause", "the segment");
        ref_pause(p->model, on);
        return;
    case 1:
        same(p, tlshm_shutoff(p->space.t, on), 0, "shutoff", "the segment");
        ref_shutoff(p->model, on);
        return;
    case 2:
        same(p, tlshm_scope_pause(p->space.t, key, 0, on), 0, "pause", key);
        ref_scope_pause(p->model, key, on);
        return;
    default:
        same(p, tlshm_scope_shutoff(p->space.t, key, 0, on), 0, "shutoff", key);
        ref_scope_shutoff(p->model, key, on);
    }
}

/* Everybody to work again: pauses would otherwise add up. */
static void op_resume(struct play *p)
{
    tlshm_pause(p->space.t, 0);
    tlshm_shutoff(p->space.t, 0);
    ref_pause(p->model, 0);
    ref_shutoff(p->model, 0);
    for (unsigned level = 0; level < LEVELS; level++)
        for (unsigned i = 0; i < levels[level].ids || i == 0; i++) {
            char key[16];
            random_key(p, level, key, sizeof key);
            tlshm_scope_pause(p->space.t, key, 0, 0);
            tlshm_scope_shutoff(p->space.t, key, 0, 0);
            ref_scope_pause(p->model, key, 0);
            ref_scope_shutoff(p->model, key, 0);
        }
}

/* Half of an overrun is the caller's, half is forgiven. */
static uint64_t share_overrun(void *context, enum tlshm_unit unit, uint64_t estimate, uint64_t actual)
{
    (void)context;
    (void)unit;
    return actual <= estimate ? actual : estimate + (actual - estimate) / 2;
}

static void op_overrun(struct play *p)
{
    enum tlshm_overrun policy = (enum tlshm_overrun)chance(p, 2);
    tlshm_overrun_function function = one_in(p, 2) ? share_overrun : NULL;
    same(p, tlshm_overrun_set(p->space.t, policy), 0, "overrun_set", "the segment");
    same(p, tlshm_overrun_function_set(p->space.t, function, NULL), 0, "overrun_function_set", "the attachment");
    ref_overrun(p->model, policy, function, NULL);
}

static const struct {
    unsigned weight;
    void (*run)(struct play *p);
} operations[] = {
    {320, op_reserve},  {40, op_reserve_twice}, {160, op_settle},     {70, op_refund},    {90, op_extend},
    {60, op_remaining}, {40, op_usage},         {50, op_reservation}, {130, op_clock},    {8, op_clock_to_deadline},
    {6, op_reap},       {6, op_limit},          {8, op_cap},          {2, op_own_limits}, {2, op_tier},
    {2, op_scope_tier}, {2, op_default},        {2, op_flags},        {2, op_resume},     {1, op_overrun},
};
#define KINDS (sizeof operations / sizeof operations[0])

static void operate(struct play *p)
{
    unsigned total = 0, k = 0;
    for (unsigned i = 0; i < KINDS; i++)
        total += operations[i].weight;
    uint64_t ticket = chance(p, total);
    while (ticket >= operations[k].weight)
        ticket -= operations[k++].weight;
    operations[k].run(p);
}

/* ----------------------------------------------------------------------------------------------------------- plays */

static void verify_found(void *context, const char *text)
{
    differ(context, "not sound: %s", text);
}

static void compare_all(struct play *p)
{
    char key[32];
    for (unsigned level = 0; level < LEVELS; level++)
        for (unsigned i = 0; i < levels[level].ids || i == 0; i++) {
            if (levels[level].ids == 0)
                snprintf(key, sizeof key, "%s:", levels[level].name);
            else
                snprintf(key, sizeof key, "%s:%c%u", levels[level].name, levels[level].name[0], i);
            compare_usage(p, key);
        }
    tlshm_verify(p->space.t, verify_found, p, NULL);
}

static void compare_counters(struct play *p)
{
    tlshm_segment_info info;
    op_reap(p); /* what is overdue counts as held until somebody has expired it */
    same(p, tlshm_get_segment(p->space.t, &info), 0, "get_segment", "the segment");
    same(p, (int64_t)info.counters.admitted, (int64_t)p->admitted, "admitted", "the counters");
    for (unsigned i = 0; i < TLSHM_REASONS; i++)
        same(p, (int64_t)info.counters.refused[i], (int64_t)p->refused[i], "refused", tlshm_reason_name((int)i));
    same(p, (int64_t)info.counters.replayed, (int64_t)p->replayed, "replayed", "the counters");
    same(p, (int64_t)info.counters.settled, (int64_t)p->settled, "settled", "the counters");
    same(p, (int64_t)info.counters.late, (int64_t)p->late, "late", "the counters");
    same(p, (int64_t)info.counters.refunded, (int64_t)p->refunded, "refunded", "the counters");
    same(p, (int64_t)info.counters.extended, (int64_t)p->extended, "extended", "the counters");
    same(p, info.reservations_held, (int64_t)ref_live(p->model), "reservations held", "the segment");
}

static void play_open(struct play *p, uint64_t seed, uint64_t operations_wanted, bool verbose)
{
    tlshm_geometry g = space_geometry();
    g.reservations = (uint32_t)operations_wanted + 1024; /* every record stays readable */
    g.retention_ns = HOUR(24 * 365 * 10);
    *p = (struct play){.seed = seed, .random = seed, .verbose = verbose};
    space_open(&p->space, &g);
    same(p, tlshm_attach(&p->looker, p->space.path, TLSHM_READONLY, NULL), 0, "attach", "the looker");
    p->now = (struct instant){SPACE_BOOT_NS, SPACE_WALL_NS};
    p->model = ref_new(p->now);
    for (unsigned i = 0; i < TIER_NAMES; i++) {
        tlshm_limit list[TLSHM_LIMITS_MAX];
        unsigned count = random_limits(p, list);
        same(p, tlshm_tier_set(p->space.t, tier_names[i], list, count), 0, "tier_set", tier_names[i]);
        ref_tier_set(p->model, tier_names[i], list, count);
    }
}

static void play(uint64_t seed, uint64_t wanted, bool verbose)
{
    static struct play p;
    play_open(&p, seed, wanted, verbose);
    for (p.op = 1; p.op <= wanted && !p.differs; p.op++) {
        operate(&p);
        if (p.op % 1000 == 0)
            compare_all(&p);
    }
    if (!p.differs)
        compare_all(&p);
    if (!p.differs)
        compare_counters(&p);
    /* A run in which nothing was admitted, refused or late compared nothing. */
    if (!p.differs && (p.admitted < wanted / 50 || p.refused[TLSHM_LIMIT] < wanted / 50 ||
                       p.refused[TLSHM_REQUEST_TOO_LARGE] < wanted / 500 || p.late == 0))
        differ(&p,
               "too little happened: admitted %" PRIu64 ", refused %" PRIu64 ", too large %" PRIu64 ", late %" PRIu64,
               p.admitted, p.refused[TLSHM_LIMIT], p.refused[TLSHM_REQUEST_TOO_LARGE], p.late);
    tap_ok(!p.differs, "library and model agree: seed %" PRIu64 ", %" PRIu64 " operations, %" PRIu64 " admitted", seed,
           wanted, p.admitted);
    tlshm_detach(p.looker);
    ref_free(p.model);
    space_close(&p.space);
}

int main(int argc, char **argv)
{
    static const uint64_t seeds[] = {1, 2, 3, 4};
    uint64_t wanted = OPERATIONS;
    bool verbose = false;
    int i = 1;
    tap_begin(SECONDS);
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-v") == 0)
            verbose = true;
        else if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            wanted = strtoull(argv[++i], NULL, 10);
    }
    for (unsigned k = 0; i == argc && k < sizeof seeds / sizeof seeds[0]; k++)
        play(seeds[k], wanted, verbose);
    for (; i < argc; i++)
        play(strtoull(argv[i], NULL, 10), wanted, verbose);
    return tap_end();
}
