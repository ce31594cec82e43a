/* SPDX-License-Identifier: MIT */
/* requests.c - limits on single requests: before any budget, the whole of a request, and how long it may take. */
#include "stage.h"

#include <criterion/criterion.h>
#include <string.h>

static struct stage *s;

static void open_stage(void)
{
    s = stage_open(NULL);
}

static void close_stage(void)
{
    stage_close(s);
}

TestSuite(requests, .init = open_stage, .fini = close_stage, .timeout = 120);

static void expect_too_large(const char *key, enum tlshm_unit unit, uint64_t cap, uint64_t requested)
{
    cr_expect_eq(s->why.reason, TLSHM_REQUEST_TOO_LARGE, "%s", tlshm_reason_name((int)s->why.reason));
    cr_expect_str_eq(s->why.key, key);
    cr_expect_eq(s->why.limit.unit, unit);
    cr_expect_eq(s->why.limit.window.kind, TLSHM_WINDOW_REQUEST);
    cr_expect_eq(s->why.limit.cap, cap);
    cr_expect_eq(s->why.requested, requested);
    cr_expect_eq(s->why.used, 0);
    cr_expect_eq(s->why.held, 0);
    cr_expect_eq(s->why.remaining, (int64_t)cap);
    cr_expect_eq(s->why.retry_after_ns, TLSHM_NEVER);
}

Test(requests, each_unit_has_its_own)
{
    static const struct {
        const char *limit, *fits, *does_not;
        enum tlshm_unit unit;
        uint64_t cap;
    } cases[] = {
        {"tokens 200k per request", "tokens=200000", "tokens=200001", TLSHM_TOKENS, 200000},
        {"cost $2 per request", "cost=2000000000", "cost=2000000001", TLSHM_COST, 2000000000},
        {"requests 3 per request", "requests=3", "requests=4", TLSHM_REQUESTS, 3},
        {"input_tokens 100k per request", "input_tokens=100000", "input_tokens=100001", TLSHM_INPUT_TOKENS, 100000},
        {"output_tokens 8k per request", "output_tokens=8000", "output_tokens=8001", TLSHM_OUTPUT_TOKENS, 8000},
        {"tool_calls 20 per request", "tool_calls=20", "tool_calls=21", TLSHM_TOOL_CALLS, 20},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        space_limits(&s->space, "agent:a", cases[i].limit);
        for (unsigned round = 0; round < 4; round++) { /* the later ones go by what is remembered */
            cr_expect_neq(stage_reserve(s, "agent:a tenant:t", cases[i].fits), 0, "%s", cases[i].limit);
            cr_expect_eq(stage_reserve(s, "agent:a tenant:t", cases[i].does_not), 0, "%s", cases[i].limit);
            expect_too_large("agent:a", cases[i].unit, cases[i].cap, cases[i].cap + 1);
        }
        cr_expect_neq(stage_reserve(s, "agent:a", cases[i].unit == TLSHM_COST ? "tokens=1" : "cost=1"), 0,
                      "nothing of the unit");
    }
}

Test(requests, nothing_adds_up)
{
    space_limits(&s->space, "agent:a", "tokens 100 per request");
    for (unsigned i = 0; i < 20; i++)
        stage_settle(s, stage_reserve(s, "agent:a", "tokens=100"), "tokens=5000");
    cr_expect_neq(stage_reserve(s, "agent:a", "tokens=100"), 0);
    cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), 100);
    tlshm_scope_usage usage = space_usage(&s->space, "agent:a");
    cr_expect_eq(usage.limits[0].used, 0);
    cr_expect_eq(usage.limits[0].held, 0);
    cr_expect_eq(usage.limits[0].remaining, 100);
    cr_expect_eq(usage.limits[0].frees_in_ns, TLSHM_NEVER);
    cr_expect_eq(usage.used[TLSHM_TOKENS], 100000);
}

Test(requests, come_after_pause_and_before_every_budget)
{
    space_limits(&s->space, "agent:a", "tokens 50 per 1h; tokens 100 lifetime");
    space_limits(&s->space, "tenant:t", "tokens 100 per request");
    cr_expect_eq(stage_reserve(s, "agent:a tenant:t", "tokens=101"), 0);
    expect_too_large("tenant:t", TLSHM_TOKENS, 100, 101);
    cr_expect_eq(s->why.scope, 1);
    cr_expect_eq(stage_reserve(s, "agent:a tenant:t", "tokens=100"), 0);
    cr_expect_eq(s->why.reason, TLSHM_NEVER_FITS);
    cr_expect_neq(stage_reserve(s, "agent:a tenant:t", "tokens=50"), 0);
    cr_expect_eq(stage_reserve(s, "agent:a tenant:t", "tokens=101"), 0);
    cr_expect_eq(s->why.reason, TLSHM_REQUEST_TOO_LARGE);
    cr_expect_eq(stage_reserve(s, "agent:a tenant:t", "tokens=1"), 0);
    cr_expect_eq(s->why.reason, TLSHM_LIMIT);
    tlshm_scope_pause(s->space.t, "agent:a", 0, 1);
    cr_expect_eq(stage_reserve(s, "agent:a tenant:t", "tokens=101"), 0);
    cr_expect_eq(s->why.reason, TLSHM_PAUSED);
}

Test(requests, of_two_that_refuse_the_first_scope_of_the_caller_is_named)
{
    space_limits(&s->space, "agent:a", "tokens 100 per request");
    space_limits(&s->space, "tenant:t", "tokens 90 per request");
    cr_expect_eq(stage_reserve(s, "agent:a tenant:t", "tokens=200"), 0);
    cr_expect_str_eq(s->why.key, "agent:a");
    cr_expect_eq(stage_reserve(s, "tenant:t agent:a", "tokens=200"), 0);
    cr_expect_str_eq(s->why.key, "tenant:t");
}

Test(requests, a_repeat_is_answered_though_it_has_become_too_large)
{
    s->idempotency = "once";
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=500");
    space_limits(&s->space, "agent:a", "tokens 100 per request");
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=500"), id);
    cr_expect_eq(s->rc, TLSHM_REPLAY);
}

Test(requests, zero_denies_and_unlimited_never_refuses)
{
    space_limits(&s->space, "agent:a", "tokens 0 per request; cost unlimited per request; time unlimited per request");
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=1"), 0);
    expect_too_large("agent:a", TLSHM_TOKENS, 0, 1);
    for (unsigned i = 0; i < 4; i++)
        cr_expect_neq(stage_reserve(s, "agent:a", "cost=9000000000000000"), 0);
    space_limits(&s->space, "agent:a", "time 0s per request");
    for (unsigned i = 0; i < 4; i++) {
        cr_expect_eq(stage_reserve(s, "agent:a", "tokens=1"), 0);
        expect_too_large("agent:a", TLSHM_TIME, 0, s->ttl_ns);
    }
}

/* --------------------------------------------------------------------------------------------------------------- time */

static uint64_t expires_in(tlshm_id id)
{
    tlshm_reservation_info info;
    cr_assert_eq(tlshm_reservation(s->space.t, id, &info), 0);
    return info.expires_in_ns;
}

Test(requests, time_shortens_the_hold)
{
    space_limits(&s->space, "agent:a", "time 60s per request");
    space_limits(&s->space, "tenant:t", "tokens 1M per 1h; time 90s per request");
    for (unsigned i = 0; i < 4; i++) {
        s->ttl_ns = SEC(300);
        cr_expect_eq(expires_in(stage_reserve(s, "agent:a tenant:t", "tokens=1")), SEC(60), "%u", i);
        s->ttl_ns = SEC(10);
        cr_expect_eq(expires_in(stage_reserve(s, "agent:a tenant:t", "tokens=1")), SEC(10), "%u", i);
    }
    s->ttl_ns = SEC(300);
    tlshm_id id = stage_reserve(s, "tenant:t", "tokens=1");
    stage_at(s, SEC(60));
    cr_expect_eq(expires_in(id), SEC(30));
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_CONCURRENCY], 0);
    cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), INT64_MAX, "time is not tokens");
}

Test(requests, extending_counts_the_time_from_the_beginning)
{
    space_limits(&s->space, "agent:a", "time 100s per request");
    s->ttl_ns = SEC(50);
    tlshm_id id = stage_reserve(s, "agent:a tenant:t", "tokens=1");
    stage_at(s, SEC(40));
    cr_expect_eq(stage_extend(s, id, NULL, SEC(60)), TLSHM_OK);
    cr_expect_eq(stage_extend(s, id, NULL, SEC(61)), TLSHM_REFUSED);
    expect_too_large("agent:a", TLSHM_TIME, SEC(100), SEC(101));
    cr_expect_eq(s->why.scope, 0);
    cr_expect_eq(stage_extend(s, id, "tokens=5", SEC(61)), TLSHM_REFUSED);
    expect_too_large("agent:a", TLSHM_TIME, SEC(100), SEC(101));
    cr_expect_eq(stage_extend(s, id, "tokens=5", 0), TLSHM_OK);
    tlshm_pause(s->space.t, 1);
    cr_expect_eq(stage_extend(s, id, NULL, SEC(5)), TLSHM_OK, "time alone, and no more than it has");
    space_limits(&s->space, "agent:a", "time 10s per request");
    cr_expect_eq(stage_extend(s, id, NULL, SEC(60)), TLSHM_OK, "it has that already");
    cr_expect_eq(expires_in(id), SEC(60));
    cr_expect_eq(stage_extend(s, id, NULL, SEC(60) + 1), TLSHM_REFUSED);
    tlshm_refusal *none = NULL;
    cr_expect_eq(tlshm_extend(s->space.t, id, NULL, SEC(61), none), TLSHM_REFUSED);
}

Test(requests, extending_counts_the_whole_estimate)
{
    space_limits(&s->space, "agent:a", "tokens 100 per request; cost $1 per request; output_tokens 10 per request");
    tlshm_id id = stage_reserve(s, "agent:a tenant:t", "tokens=60 cost=1000000000");
    cr_expect_eq(stage_extend(s, id, "tokens=41", 0), TLSHM_REFUSED);
    expect_too_large("agent:a", TLSHM_TOKENS, 100, 101);
    cr_expect_eq(stage_extend(s, id, "tokens=40", 0), TLSHM_OK);
    cr_expect_eq(stage_extend(s, id, "output_tokens=11", 0), TLSHM_REFUSED);
    expect_too_large("agent:a", TLSHM_OUTPUT_TOKENS, 10, 11);
    space_limits(&s->space, "agent:a", "cost $0.50 per request; output_tokens 10 per request");
    cr_expect_eq(stage_extend(s, id, "output_tokens=10", 0), TLSHM_OK, "cost is not added to");
}

/* ---------------------------------------------------------------------------------------------------------- with others */

Test(requests, windows_beside_them_go_on)
{
    space_limits(&s->space, "agent:a", "tokens 1000 per 1h");
    stage_settle(s, stage_reserve(s, "agent:a", "tokens=300"), "tokens=300");
    space_limits(&s->space, "agent:a", "time 60s per request; tokens 1000 per 1h; tokens 100 per request");
    cr_expect_neq(stage_reserve(s, "agent:a", "tokens=100"), 0);
    cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), 100);
    tlshm_scope_usage usage = space_usage(&s->space, "agent:a");
    cr_expect_eq(usage.limits[1].used, 300);
    cr_expect_eq(usage.limits[1].held, 100);
    space_limits(&s->space, "agent:a", "tokens 1000 per 1h");
    cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), 600);
    stage_at(s, HOUR(2));
    cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), 1000);
}

Test(requests, waiting_is_for_the_others_alone)
{
    space_limits(&s->space, "agent:a", "tokens 100 per request; tokens 150 per 60s; time 60s per request");
    stage_settle(s, stage_reserve(s, "agent:a", "tokens=100"), "tokens=100");
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=100"), 0);
    cr_expect_eq(s->why.reason, TLSHM_LIMIT);
    cr_expect_neq(stage_retry(s, "agent:a", "tokens=100"), 0);
}

Test(requests, the_whole_list_comes_back_as_it_was_given)
{
    tlshm_limit got[TLSHM_LIMITS_MAX];
    unsigned count = 0;
    const tlshm_limit given[] = {limit_of("time 5m per request"), limit_of("tokens 1k per request"),
                                 limit_of("tokens 1M per 1h"), limit_of("tool_calls 20 per request")};
    cr_assert_eq(tlshm_tier_set(s->space.t, "pro", given, 4), 0);
    cr_assert_eq(tlshm_tier_get(s->space.t, "pro", got, &count), 0);
    cr_assert_eq(count, 4);
    for (unsigned i = 0; i < count; i++) {
        char a[128], b[128];
        tlshm_limit_format(&given[i], a, sizeof a);
        tlshm_limit_format(&got[i], b, sizeof b);
        cr_expect_str_eq(a, b);
    }
    cr_assert_eq(tlshm_default_set(s->space.t, "agent", "pro"), 0);
    cr_expect_eq(stage_reserve(s, "agent:new", "tokens=1001"), 0);
    expect_too_large("agent:new", TLSHM_TOKENS, 1000, 1001);
}

Test(requests, what_is_no_limit_is_refused)
{
    static const char *const wrong[] = {"concurrency 5 per request", "time 5s per 1h", "time 5s lifetime",
                                        "tokens 5 per request strict", "time 5 per"};
    tlshm_limit limit;
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_expect_eq(tlshm_limit_parse(wrong[i], &limit, NULL), -TLSHM_EINVAL, "%s", wrong[i]);
    limit = limit_of("time 5s per request");
    limit.window.kind = TLSHM_WINDOW_LIFETIME;
    cr_expect_eq(tlshm_limit_set(s->space.t, "agent:a", 0, &limit), -TLSHM_EINVAL);
    limit = limit_of("concurrency 5");
    limit.window.kind = TLSHM_WINDOW_REQUEST;
    cr_expect_eq(tlshm_limit_set(s->space.t, "agent:a", 0, &limit), -TLSHM_EINVAL);
    limit = limit_of("tokens 5 per request");
    limit.unit = (enum tlshm_unit)9;
    cr_expect_eq(tlshm_limit_set(s->space.t, "agent:a", 0, &limit), -TLSHM_EINVAL);
}
