/* SPDX-License-Identifier: MIT */
/* admission.c - who gets in: holds before calls, all or nothing, one comparison, and a refusal that explains itself. */
#include "stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <tlshm/stats.h>

static struct stage *s;

static void open_stage(void)
{
    s = stage_open(NULL);
}

static void close_stage(void)
{
    stage_close(s);
}

TestSuite(admission, .init = open_stage, .fini = close_stage, .timeout = 120);

static unsigned admitted_of(unsigned tries, const char *scopes, const char *amounts, tlshm_id *ids)
{
    unsigned admitted = 0;
    while (tries-- > 0) {
        tlshm_id id = stage_reserve(s, scopes, amounts);
        if (id != 0 && ids != NULL)
            ids[admitted] = id;
        admitted += id != 0 ? 1 : 0;
    }
    return admitted;
}

Test(admission, calls_in_flight_count_before_they_are_paid)
{
    static const struct {
        const char *limit, *amounts;
        unsigned tries, admitted;
    } cases[] = {
        {"cost $1 per 1h", "cost=300000000", 16, 3},    {"tokens 1000 per 60s", "tokens=400", 8, 2},
        {"cost $1 lifetime", "cost=1000000000", 10, 1}, {"concurrency 4", "tokens=1", 8, 4},
        {"requests 5 per 60s", "tokens=1", 16, 5},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char key[16];
        snprintf(key, sizeof key, "agent:a%u", i);
        space_limits(&s->space, key, cases[i].limit);
        cr_expect_eq(admitted_of(cases[i].tries, key, cases[i].amounts, NULL), cases[i].admitted, "%s", cases[i].limit);
    }
}

Test(admission, slow_calls_settle_within_the_limit)
{
    tlshm_id ids[16];
    space_limits(&s->space, "agent:a", "cost $1 per 1h");
    unsigned admitted = admitted_of(16, "agent:a tenant:t", "cost=300000000", ids);
    for (unsigned i = 0; i < admitted; i++)
        cr_expect_eq(stage_settle(s, ids[i], "cost=300000000"), TLSHM_OK);
    cr_expect_eq(space_usage(&s->space, "agent:a").used[TLSHM_COST], 900000000);
    cr_expect_eq(space_usage(&s->space, "tenant:t").used[TLSHM_COST], 900000000);
}

Test(admission, estimate_above_the_limit_never_fits_and_overrun_is_owed)
{
    space_limits(&s->space, "agent:a", "tokens 1000 per 1h");
    cr_assert_eq(stage_reserve(s, "agent:a", "tokens=1200"), 0);
    cr_expect_eq(s->why.reason, TLSHM_NEVER_FITS);
    cr_expect_eq(s->why.retry_after_ns, TLSHM_NEVER);
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=1000");
    cr_assert_eq(stage_settle(s, id, "tokens=1200"), TLSHM_OK);
    cr_expect_eq(s->result.charged.of[TLSHM_TOKENS], 1200);
    cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), -200);
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=1"), 0);
    cr_expect_eq(s->why.remaining, -200);
}

Test(admission, filling_a_limit_exactly_is_allowed)
{
    space_limits(&s->space, "agent:a", "tokens 100 per 1h");
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=100");
    cr_assert(id);
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=1"), 0);
    cr_expect_eq(stage_settle(s, id, "tokens=100"), TLSHM_OK, "no later stage denies it");
    cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), 0);
}

Test(admission, all_scopes_or_none)
{
    static const char *const keys[] = {"agent:a", "user:u", "project:p", "tenant:t", "org:o", "global:"};
    const char *all = "agent:a user:u project:p tenant:t org:o global:";
    for (unsigned tight = 0; tight < 6; tight++) {
        for (unsigned i = 0; i < 6; i++)
            space_limits(&s->space, keys[i], i == tight ? "tokens 100 lifetime" : "tokens 100000 lifetime");
        uint64_t used = space_usage(&s->space, keys[tight]).used[TLSHM_TOKENS];
        char amounts[32];
        snprintf(amounts, sizeof amounts, "tokens=%u", (unsigned)(90 - used));
        tlshm_id id = stage_reserve(s, all, amounts);
        cr_assert(id);
        cr_assert_eq(stage_reserve(s, all, "tokens=11"), 0);
        cr_expect_str_eq(s->why.key, keys[tight]);
        cr_expect_eq(s->why.scope, tight);
        for (unsigned i = 0; i < 6; i++)
            cr_expect_eq(space_usage(&s->space, keys[i]).held[TLSHM_TOKENS], 90 - used, "%s", keys[i]);
        cr_assert_eq(stage_settle(s, id, "tokens=1"), TLSHM_OK);
    }
}

Test(admission, order_of_scopes_does_not_matter)
{
    space_limits(&s->space, "agent:a", "tokens 100 per 1h");
    cr_assert(stage_reserve(s, "global: tenant:t agent:a", "tokens=60"));
    cr_assert_eq(stage_reserve(s, "agent:a tenant:t global:", "tokens=60"), 0);
    cr_expect_eq(s->why.scope, 0);
    cr_assert_eq(stage_reserve(s, "tenant:t global: agent:a", "tokens=60"), 0);
    cr_expect_eq(s->why.scope, 2);
}

Test(admission, refusal_says_everything)
{
    char text[400];
    space_limits(&s->space, "tenant:acme", "requests 100 per 1m; tokens 1000 per 1h");
    tlshm_id id = stage_reserve(s, "agent:a tenant:acme", "tokens=600");
    stage_settle(s, id, "tokens=590");
    stage_reserve(s, "agent:a tenant:acme", "tokens=300");
    cr_assert_eq(stage_reserve(s, "agent:a tenant:acme", "tokens=200"), 0);
    cr_expect_eq(s->why.reason, TLSHM_LIMIT);
    cr_expect_eq(s->why.scope, 1);
    cr_expect_str_eq(s->why.key, "tenant:acme");
    cr_expect_eq(s->why.limit.unit, TLSHM_TOKENS);
    cr_expect_eq(s->why.limit.cap, 1000);
    cr_expect_eq(s->why.limit.window.kind, TLSHM_WINDOW_ROLLING);
    cr_expect_eq(s->why.limit.window.length_ns, HOUR(1));
    cr_expect_eq(s->why.requested, 200);
    cr_expect_eq(s->why.used, 590);
    cr_expect_eq(s->why.held, 300);
    cr_expect_eq(s->why.remaining, 110);
    cr_expect_eq(s->why.retry_after_ns, SEC(300), "when the hold expires");
    int length = tlshm_refusal_text(&s->why, text, sizeof text);
    cr_expect_eq((size_t)length, strlen(text));
    cr_expect(strstr(text, "tenant:acme") != NULL, "%s", text);
    cr_expect(strstr(text, "tokens") != NULL, "%s", text);
    cr_expect(strstr(text, "590") != NULL, "%s", text);
}

Test(admission, refusal_without_a_place_for_it)
{
    struct ask a;
    tlshm_id id = 77;
    space_limits(&s->space, "agent:a", "tokens 10 per 1h");
    cr_expect_eq(tlshm_reserve(s->space.t, ask_for(&a, "agent:a", "tokens=11"), &id, NULL), TLSHM_REFUSED);
    cr_expect_eq(id, 77, "outputs are written on success alone");
}

/* The limit that makes the caller wait longest decides the time, not the one that is named. */
Test(admission, retry_time_is_that_of_the_whole_request)
{
    space_limits(&s->space, "agent:a", "tokens 100 per 60s; cost $1 per 1h");
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=100 cost=1000000000");
    stage_settle(s, id, "tokens=100 cost=1000000000");
    cr_assert_eq(stage_reserve(s, "agent:a", "tokens=1 cost=1"), 0);
    cr_expect_eq(s->why.retry_after_ns, HOUR(1));
    stage_retry(s, "agent:a", "tokens=1 cost=1");
}

Test(admission, decisions_come_in_their_order)
{
    space_limits(&s->space, "agent:a", "tokens 100 per 1h");
    s->idempotency = "first";
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=100");
    cr_assert_eq(tlshm_pause(s->space.t, 1), 0);
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=100"), id, "a replay comes before a pause");
    cr_expect_eq(s->rc, TLSHM_REPLAY);
    s->idempotency = NULL;
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=200"), 0);
    cr_expect_eq(s->why.reason, TLSHM_PAUSED, "a pause before never-fits");
    struct ask a;
    tlshm_id other = 0;
    cr_expect_eq(tlshm_reserve(s->space.t, ask_for(&a, "agent:a", ""), &other, NULL), -TLSHM_EEMPTY,
                 "a bad request before a pause");
    cr_assert_eq(tlshm_pause(s->space.t, 0), 0);
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=200"), 0);
    cr_expect_eq(s->why.reason, TLSHM_NEVER_FITS, "never-fits before a full limit");
}

Test(admission, bad_requests_are_errors)
{
    static const char *const nine = "agent:1 agent:2 agent:3 agent:4 agent:5 agent:6 agent:7 agent:8";
    struct ask a;
    tlshm_id id = 0;
    cr_expect_eq(tlshm_reserve(s->space.t, ask_for(&a, nine, "tokens=1"), &id, NULL), TLSHM_OK, "eight scopes");
    a.request.scope_count = TLSHM_SCOPES_MAX + 1;
    cr_expect_eq(tlshm_reserve(s->space.t, &a.request, &id, NULL), -TLSHM_EINVAL, "nine scopes");
    a.request.scope_count = 0;
    cr_expect_eq(tlshm_reserve(s->space.t, &a.request, &id, NULL), -TLSHM_EINVAL, "no scope");
    ask_for(&a, "agent:a tenant:t agent:a", "tokens=1");
    cr_expect_eq(tlshm_reserve(s->space.t, &a.request, &id, NULL), -TLSHM_EINVAL, "a scope twice");
    ask_for(&a, "agent:a", "concurrency=1 tokens=1");
    cr_expect_eq(tlshm_reserve(s->space.t, &a.request, &id, NULL), -TLSHM_EINVAL, "concurrency is not given");
    ask_for(&a, "agent:a", "");
    cr_expect_eq(tlshm_reserve(s->space.t, &a.request, &id, NULL), -TLSHM_EEMPTY);
    ask_for(&a, "planet:mars", "tokens=1");
    cr_expect_eq(tlshm_reserve(s->space.t, &a.request, &id, NULL), -TLSHM_ELEVEL);
    cr_expect_eq(tlshm_reserve(s->space.t, NULL, &id, NULL), -TLSHM_EINVAL);
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 0);
    cr_expect_eq(space_usage(&s->space, "tenant:t").held[TLSHM_TOKENS], 0);
}

Test(admission, scope_without_limits_is_counted)
{
    tlshm_id id = stage_reserve(s, "agent:free tenant:free", "tokens=1000000 cost=5 tool_calls=2");
    cr_assert(id);
    cr_expect_eq(space_remaining(&s->space, "agent:free", TLSHM_TOKENS), INT64_MAX);
    stage_settle(s, id, "tokens=999 cost=4 tool_calls=1");
    tlshm_scope_usage usage = space_usage(&s->space, "agent:free");
    cr_expect_eq(usage.used[TLSHM_TOKENS], 999);
    cr_expect_eq(usage.used[TLSHM_COST], 4);
    cr_expect_eq(usage.used[TLSHM_TOOL_CALLS], 1);
    cr_expect_eq(usage.used[TLSHM_REQUESTS], 1);
    cr_expect_eq(usage.source, TLSHM_LIMITS_NONE);
    cr_expect(usage.seen);
}

Test(admission, handles_stand_for_keys)
{
    tlshm_handle handle = 0;
    char key[TLSHM_KEY_MAX + 1];
    tlshm_id id = 0;
    space_limits(&s->space, "agent:a", "tokens 100 per 1h");
    cr_assert_eq(tlshm_resolve(s->space.t, "agent:a", 0, &handle), 0);
    cr_expect_eq(tlshm_scope_key(s->space.t, handle, key, sizeof key), 7);
    cr_expect_str_eq(key, "agent:a");
    tlshm_scope scope = {.handle = handle};
    tlshm_request r = TLSHM_REQUEST_INIT;
    r.scopes = &scope;
    r.scope_count = 1;
    r.estimate.of[TLSHM_TOKENS] = 60;
    cr_expect_eq(tlshm_reserve(s->space.t, &r, &id, NULL), TLSHM_OK);
    cr_expect_eq(tlshm_reserve(s->space.t, &r, &id, NULL), TLSHM_REFUSED);
    int64_t left = 0;
    cr_expect_eq(tlshm_remaining_handle(s->space.t, handle, TLSHM_TOKENS, &left), 0);
    cr_expect_eq(left, 40);
    tlshm_scope both[2] = {{.handle = handle}, {.key = "agent:a"}};
    r.scopes = both;
    r.scope_count = 2;
    cr_expect_eq(tlshm_reserve(s->space.t, &r, &id, NULL), -TLSHM_EINVAL, "the same scope by handle and by key");
}

/* Who has only ended what others reserved knows the scopes, but not yet what their limits allow. */
Test(admission, a_first_reserve_after_settles_of_holds_of_others)
{
    struct space own;
    struct ask a;
    tlshm_amounts use = {{1}};
    tlshm_id id;
    space_open(&own, NULL);
    space_limits(&own, "agent:a", "tokens 100 per 60s");
    tlshm_t *other = space_attach(&own);
    const tlshm_request *request = ask_for(&a, "agent:a tenant:t", "tokens=10");
    for (unsigned i = 0; i < 6; i++) {
        cr_assert_eq(tlshm_reserve(other, request, &id, NULL), TLSHM_OK);
        cr_assert_eq(tlshm_settle(own.t, id, &use, TLSHM_EXACT, NULL), TLSHM_OK);
    }
    for (unsigned i = 0; i < 9; i++)
        cr_expect_eq(tlshm_reserve(own.t, request, &id, NULL), TLSHM_OK);
    cr_expect_eq(tlshm_reserve(own.t, request, &id, NULL), TLSHM_REFUSED);
    tlshm_detach(other);
    space_close(&own);
}

/* ------------------------------------------------------------------------------------- what a thread remembers of limits */

#define SHARING 64 /* a thread has one place for the limits of all cells that are so far apart (TL_CEILINGS) */

/* Two scopes whose limits are remembered in the same place, with caps of their own. */
static void make_sharing(char key[2][16], const char *little, const char *much)
{
    tlshm_handle handle, first = 0;
    key[1][0] = 0;
    for (unsigned i = 0; i < 2 * SHARING && !key[1][0]; i++) {
        char name[16];
        snprintf(name, sizeof name, "agent:n%u", i);
        cr_assert_eq(tlshm_resolve(s->space.t, name, 0, &handle), 0);
        if (i == 0)
            first = handle;
        if (i == 0 || (uint32_t)(handle & 0xffffff) == (uint32_t)(first & 0xffffff) + SHARING)
            strcpy(key[i != 0], name);
    }
    cr_assert(key[1][0], "no two scopes share a place");
    space_limits(&s->space, key[0], little);
    space_limits(&s->space, key[1], much);
}

/* The one with room comes first, so that its limits are known when the other one is used again and again. */
Test(admission, scopes_that_are_remembered_in_one_place_keep_their_own_limits)
{
    char key[2][16], both[40];
    unsigned little = 0, much = 0;
    make_sharing(key, "tokens 12 per 1h", "tokens 1000 per 1h");
    snprintf(both, sizeof both, "%s %s", key[0], key[1]);
    for (unsigned i = 0; i < 4; i++) {
        much += admitted_of(5, key[1], "tokens=1", NULL);
        little += admitted_of(i < 3 ? 3 : 20, key[0], "tokens=1", NULL);
    }
    cr_expect_eq(little, 12, "by itself");
    cr_expect_eq(much, 20, "and the other one is not bound by it");
    cr_expect_eq(admitted_of(5, both, "tokens=1", NULL), 0, "together");
    cr_expect_eq(space_remaining(&s->space, key[0], TLSHM_TOKENS), 0);
    cr_expect_eq(space_remaining(&s->space, key[1], TLSHM_TOKENS), 980);
}

Test(admission, scopes_that_are_remembered_in_one_place_keep_them_in_one_call)
{
    char key[2][16], both[40];
    make_sharing(key, "tokens 30 per 1h", "tokens 1000 per 1h");
    snprintf(both, sizeof both, "%s %s", key[0], key[1]);
    unsigned admitted = admitted_of(5, key[0], "tokens=1", NULL) + admitted_of(5, both, "tokens=1", NULL);
    admitted_of(5, key[1], "tokens=1", NULL);
    admitted += admitted_of(30, both, "tokens=1", NULL);
    cr_expect_eq(admitted, 30);
    cr_expect_eq(space_remaining(&s->space, key[1], TLSHM_TOKENS), 1000 - 5 - 25);
}

/* Whoever only asks what is left of the other one learns its limits, and forgets those of the scope that it is using. */
Test(admission, scopes_that_are_remembered_in_one_place_keep_them_beside_looks)
{
    char key[2][16];
    unsigned admitted = 0;
    struct ask a;
    make_sharing(key, "tokens 30 per 1h", "tokens 1000 per 1h");
    admitted_of(5, key[1], "tokens=1", NULL);
    for (unsigned i = 0; i < 60; i++) {
        tlshm_id id;
        int64_t left;
        admitted += tlshm_reserve(s->space.t, ask_for(&a, key[0], "tokens=1"), &id, NULL) == TLSHM_OK;
        for (unsigned looks = 0; i % 4 == 3 && looks < 3; looks++) {
            cr_assert_eq(tlshm_remaining(s->space.t, key[1], 0, TLSHM_TOKENS, &left), 0);
            cr_expect_eq(left, 995);
        }
    }
    cr_expect_eq(admitted, 30);
}

/* What a thread remembers of its own sheets ends with whatever it does to another scope, and leaves that one alone. */
Test(admission, scopes_that_are_made_or_limited_between_two_calls_stay_as_they_are)
{
    struct ask a;
    tlshm_id id;
    tlshm_handle handle;
    ask_for(&a, "agent:a tenant:t", "tokens=1");
    for (unsigned i = 0; i < 24; i++) {
        char key[16];
        snprintf(key, sizeof key, "agent:n%u", i);
        for (unsigned calls = 0; calls < 3; calls++)
            cr_assert_eq(tlshm_reserve(s->space.t, &a.request, &id, NULL), TLSHM_OK);
        if (i % 2 == 0)
            cr_assert_eq(tlshm_resolve(s->space.t, key, 0, &handle), 0);
        else
            space_limits(&s->space, "user:limited", i % 4 == 1 ? "tokens 100 per 1h" : "tokens 200 per 1h");
        cr_assert_eq(tlshm_reserve(s->space.t, &a.request, &id, NULL), TLSHM_OK);
        cr_expect_eq(space_usage(&s->space, key).held[TLSHM_TOKENS], 0, "%s", key);
        cr_expect_eq(space_usage(&s->space, "user:limited").held[TLSHM_TOKENS], 0, "after %u", i);
    }
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 24 * 4);
    cr_expect_eq(tlshm_verify(s->space.t, NULL, NULL, NULL), 0);
}
