/* SPDX-License-Identifier: MIT */
/* stage.c - calls with books beside them. */
#include "stage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlshm/stats.h>

struct stage *stage_open(const tlshm_geometry *geometry)
{
    struct stage *s = calloc(1, sizeof *s);
    MUST(s != NULL, "out of memory");
    space_open(&s->space, geometry);
    s->ttl_ns = TLSHM_TTL_DEFAULT_NS;
    return s;
}

void stage_close(struct stage *s)
{
    stage_check(s);
    space_close(&s->space);
    free(s);
}

/* ---------------------------------------------------------------------------------------------------------- books */

static unsigned scope_index(struct stage *s, const char *key)
{
    unsigned i = 0;
    while (i < s->scope_count && strcmp(s->scopes[i], key) != 0)
        i++;
    if (i == s->scope_count) {
        MUST(s->scope_count < STAGE_SCOPES, "too many scopes for the books");
        strcpy(s->scopes[s->scope_count++], key);
    }
    return i;
}

static struct stage_hold *hold_find(struct stage *s, tlshm_id id)
{
    for (unsigned i = 0; i < s->hold_count; i++)
        if (s->holds[i].id == id)
            return &s->holds[i];
    support_failed(__FILE__, __LINE__, "reservation %" PRIu64 " is not in the books", id);
}

static bool hold_names(const struct stage_hold *h, unsigned scope)
{
    for (unsigned i = 0; i < h->scope_count; i++)
        if (h->scopes[i] == scope)
            return true;
    return false;
}

static tlshm_amounts books_held(const struct stage *s, unsigned scope)
{
    tlshm_amounts sum = {{0}};
    for (unsigned i = 0; i < s->hold_count; i++) {
        const struct stage_hold *h = &s->holds[i];
        if (h->status != TLSHM_HELD || !hold_names(h, scope))
            continue;
        for (unsigned u = 0; u < TLSHM_UNITS; u++)
            sum.of[u] += u == TLSHM_REQUESTS ? 0 : u == TLSHM_CONCURRENCY ? 1 : h->estimate.of[u];
    }
    return sum;
}

static tlshm_amounts books_used(const struct stage *s, unsigned scope)
{
    tlshm_amounts sum = {{0}};
    for (unsigned i = 0; i < s->hold_count; i++)
        for (unsigned u = 0; u < TLSHM_UNITS && hold_names(&s->holds[i], scope); u++)
            sum.of[u] += s->holds[i].charged.of[u];
    return sum;
}

static void check_limit(const char *key, const struct tlshm_limit_usage *l)
{
    const char *unit = tlshm_unit_name((int)l->limit.unit);
    if (l->limit.cap == TLSHM_UNLIMITED)
        return;
    MUST(l->remaining == (int64_t)(l->limit.cap - l->used - l->held), "I7 %s %s: remaining %" PRId64, key, unit,
         l->remaining);
    MUST(l->remaining <= (int64_t)l->limit.cap, "I7 %s %s: remaining %" PRId64 " above the cap", key, unit,
         l->remaining);
}

static void check_scope(const struct stage *s, unsigned scope)
{
    const char *key = s->scopes[scope];
    tlshm_scope_usage usage = space_usage(&s->space, key);
    tlshm_amounts held = books_held(s, scope), used = books_used(s, scope);
    for (unsigned u = 0; u < TLSHM_UNITS; u++) {
        const char *unit = tlshm_unit_name((int)u);
        MUST(usage.used[u] == used.of[u], "I2 %s %s: used %" PRIu64 ", charged %" PRIu64, key, unit, usage.used[u],
             used.of[u]);
        MUST(usage.held[u] == held.of[u], "I3 %s %s: held %" PRIu64 ", live holds %" PRIu64, key, unit, usage.held[u],
             held.of[u]);
    }
    for (unsigned i = 0; i < usage.limit_count; i++)
        check_limit(key, &usage.limits[i]);
}

static void verify_found(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "%s\n", text);
}

void stage_check(struct stage *s)
{
    for (unsigned i = 0; i < s->scope_count; i++)
        check_scope(s, i);
    for (unsigned i = 0; i < s->hold_count; i++)
        MUST(stage_status(s, s->holds[i].id) == s->holds[i].status, "I5 I6 reservation %" PRIu64 " should be %s",
             s->holds[i].id, tlshm_status_name((int)s->holds[i].status));
    int faults = tlshm_verify(s->space.t, verify_found, NULL, NULL);
    MUST(faults == 0, "the segment is not sound: %d", faults);
}

enum tlshm_status stage_status(const struct stage *s, tlshm_id id)
{
    tlshm_reservation_info info;
    int rc = tlshm_reservation(s->space.t, id, &info);
    MUST(rc == 0, "reservation %" PRIu64 ": %s", id, tlshm_error_text(rc));
    return info.status;
}

void stage_at(struct stage *s, uint64_t now)
{
    space_at(&s->space, now);
    for (unsigned i = 0; i < s->hold_count; i++)
        if (s->holds[i].status == TLSHM_HELD && s->holds[i].deadline <= now)
            s->holds[i].status = TLSHM_EXPIRED;
    stage_check(s);
}

/* ---------------------------------------------------------------------------------------------------------- calls */

/* Everything that a refused call must leave alone. */
struct before {
    unsigned count;
    tlshm_scope_usage of[STAGE_SCOPES];
};

static void look(struct stage *s, struct before *b)
{
    b->count = s->scope_count;
    memset(b->of, 0, sizeof b->of);
    for (unsigned i = 0; i < b->count; i++)
        b->of[i] = space_usage(&s->space, s->scopes[i]);
}

static void check_unchanged(struct stage *s, const struct before *b)
{
    for (unsigned i = 0; i < b->count; i++) {
        tlshm_scope_usage now = space_usage(&s->space, s->scopes[i]);
        MUST(memcmp(now.used, b->of[i].used, sizeof now.used) == 0, "I4 a refusal changed used of %s", s->scopes[i]);
        MUST(memcmp(now.held, b->of[i].held, sizeof now.held) == 0, "I4 a refusal changed held of %s", s->scopes[i]);
        for (unsigned k = 0; k < now.limit_count; k++)
            MUST(now.limits[k].used == b->of[i].limits[k].used && now.limits[k].held == b->of[i].limits[k].held,
                 "I4 a refusal changed a limit of %s", s->scopes[i]);
    }
}

static void check_fits(struct stage *s, const tlshm_request *request)
{
    for (unsigned i = 0; i < request->scope_count; i++) {
        tlshm_scope_usage usage = space_usage(&s->space, request->scopes[i].key);
        for (unsigned k = 0; k < usage.limit_count; k++) {
            enum tlshm_unit unit = usage.limits[k].limit.unit;
            if (usage.limits[k].limit.window.kind == TLSHM_WINDOW_REQUEST) {
                MUST(unit == TLSHM_TIME || request->estimate.of[unit] <= usage.limits[k].limit.cap,
                     "I1 %s admitted a request above its limit", request->scopes[i].key);
                continue;
            }
            bool touched = unit == TLSHM_REQUESTS || unit == TLSHM_CONCURRENCY || request->estimate.of[unit] != 0;
            MUST(!touched || usage.limits[k].remaining >= 0, "I1 %s passed its limit at an admission",
                 request->scopes[i].key);
        }
    }
}

/* The life that a hold is asked for, or the shorter one that its scopes allow. */
static uint64_t ttl_due(struct stage *s, const tlshm_request *request)
{
    uint64_t ttl = request->ttl_ns;
    for (unsigned i = 0; i < request->scope_count; i++) {
        tlshm_scope_usage usage = space_usage(&s->space, request->scopes[i].key);
        for (unsigned k = 0; k < usage.limit_count; k++)
            if (usage.limits[k].limit.unit == TLSHM_TIME && usage.limits[k].limit.cap < ttl)
                ttl = usage.limits[k].limit.cap;
    }
    return ttl;
}

static void note_hold(struct stage *s, const tlshm_request *request, tlshm_id id)
{
    MUST(s->hold_count < STAGE_HOLDS, "too many reservations for the books");
    struct stage_hold *h = &s->holds[s->hold_count++];
    *h = (struct stage_hold){.id = id, .status = TLSHM_HELD, .estimate = request->estimate};
    if (h->estimate.of[TLSHM_REQUESTS] == 0)
        h->estimate.of[TLSHM_REQUESTS] = 1;
    h->charged.of[TLSHM_REQUESTS] = h->estimate.of[TLSHM_REQUESTS];
    h->deadline = s->space.now + ttl_due(s, request);
    h->scope_count = request->scope_count;
    for (unsigned i = 0; i < request->scope_count; i++)
        h->scopes[i] = scope_index(s, request->scopes[i].key);
}

tlshm_id stage_reserve(struct stage *s, const char *scopes, const char *amounts)
{
    static struct before before;
    struct ask a;
    tlshm_refusal said;
    tlshm_id id = 0;
    ask_for(&a, scopes, amounts);
    a.request.ttl_ns = s->ttl_ns;
    a.request.idempotency_key = s->idempotency;
    a.request.idempotency_len = s->idempotency != NULL ? strlen(s->idempotency) : 0;
    for (unsigned i = 0; i < a.request.scope_count; i++)
        scope_index(s, a.scopes[i].key);
    look(s, &before);
    int foretold = tlshm_would_fit(s->space.t, &a.request, &said);
    s->rc = tlshm_reserve(s->space.t, &a.request, &id, &s->why);
    MUST(foretold == s->rc && (s->rc != TLSHM_REFUSED || refusal_same(&said, &s->why)),
         "I9 reserve %s %s: foretold %d, came about %d", scopes, amounts, foretold, s->rc);
    MUST(s->rc >= 0, "reserve %s %s: %s", scopes, amounts, tlshm_error_text(s->rc));
    if (s->rc == TLSHM_OK) {
        note_hold(s, &a.request, id);
        check_fits(s, &a.request);
    } else {
        check_unchanged(s, &before);
    }
    stage_check(s);
    return s->rc == TLSHM_REFUSED ? 0 : id;
}

/* What the books say that a settle or refund must answer. */
static int verdict_due(const struct stage_hold *h, int when_expired)
{
    if (h->status == TLSHM_HELD)
        return TLSHM_OK;
    return h->status == TLSHM_EXPIRED ? when_expired : TLSHM_REPLAY;
}

static int check_verdict(struct stage *s, const char *call, int due)
{
    MUST(s->rc == due, "I5 %s: %d %s, should be %d", call, s->rc, s->rc < 0 ? tlshm_error_text(s->rc) : "", due);
    stage_check(s);
    return s->rc;
}

int stage_settle_as(struct stage *s, tlshm_id id, const char *amounts, enum tlshm_outcome outcome)
{
    struct stage_hold *h = hold_find(s, id);
    tlshm_amounts actual = amounts_of(amounts);
    int due = verdict_due(h, TLSHM_LATE);
    s->rc = tlshm_settle(s->space.t, id, amounts != NULL ? &actual : NULL, outcome, &s->result);
    if (s->rc == TLSHM_OK || s->rc == TLSHM_LATE) {
        h->status = TLSHM_SETTLED;
        h->charged = s->result.charged;
    }
    MUST(s->rc < 0 || s->result.status == h->status, "I5 settle reports %s", tlshm_status_name((int)s->result.status));
    return check_verdict(s, "settle", due);
}

int stage_settle(struct stage *s, tlshm_id id, const char *amounts)
{
    return stage_settle_as(s, id, amounts, amounts != NULL ? TLSHM_EXACT : TLSHM_UNKNOWN);
}

int stage_refund(struct stage *s, tlshm_id id)
{
    struct stage_hold *h = hold_find(s, id);
    int due = verdict_due(h, TLSHM_ENDED);
    s->rc = tlshm_refund(s->space.t, id, &s->result);
    if (s->rc == TLSHM_OK)
        h->status = TLSHM_REFUNDED;
    return check_verdict(s, "refund", due);
}

int stage_extend(struct stage *s, tlshm_id id, const char *amounts, uint64_t ttl_ns)
{
    static struct before before;
    struct stage_hold *h = hold_find(s, id);
    tlshm_amounts more = amounts_of(amounts);
    look(s, &before);
    s->rc = tlshm_extend(s->space.t, id, amounts != NULL ? &more : NULL, ttl_ns, &s->why);
    if (s->rc == TLSHM_OK) {
        for (unsigned u = 0; u < TLSHM_UNITS; u++)
            h->estimate.of[u] += more.of[u];
        if (ttl_ns != 0 && s->space.now + ttl_ns > h->deadline)
            h->deadline = s->space.now + ttl_ns;
    } else {
        check_unchanged(s, &before);
    }
    bool live = h->status == TLSHM_HELD;
    return check_verdict(s, "extend", live && s->rc == TLSHM_REFUSED ? TLSHM_REFUSED : live ? TLSHM_OK : TLSHM_ENDED);
}

tlshm_id stage_retry(struct stage *s, const char *scopes, const char *amounts)
{
    uint64_t wait = s->why.retry_after_ns;
    MUST(wait != TLSHM_NEVER && wait != 0, "I8 no time to retry at: %" PRIu64, wait);
    uint64_t then = s->space.now + wait;
    stage_at(s, then - 1);
    MUST(stage_reserve(s, scopes, amounts) == 0, "I8 admitted before retry_after");
    MUST(s->why.retry_after_ns == 1, "I8 retry_after moved: %" PRIu64 " is left", s->why.retry_after_ns);
    stage_at(s, then);
    tlshm_id id = stage_reserve(s, scopes, amounts);
    MUST(id != 0, "I8 refused at retry_after");
    return id;
}
