/* SPDX-License-Identifier: MIT */
/* numbers.c - amounts at their ends: exact integers, nothing wraps, zero and unlimited are not each other. */
#include "stage.h"

#include <criterion/criterion.h>
#include <inttypes.h>

static struct stage *s;

static void open_stage(void)
{
    s = stage_open(NULL);
}

static void close_stage(void)
{
    stage_close(s);
}

TestSuite(numbers, .init = open_stage, .fini = close_stage, .timeout = 240);

static int reserve(const char *key, enum tlshm_unit unit, uint64_t amount, tlshm_id *id)
{
    tlshm_scope scope = {.key = key};
    tlshm_request r = TLSHM_REQUEST_INIT;
    r.scopes = &scope;
    r.scope_count = 1;
    r.estimate.of[unit] = amount;
    return tlshm_reserve(s->space.t, &r, id, NULL);
}

/* How many equal calls, reserved and settled in full, are admitted before the first refusal. */
static unsigned calls_until_refused(const char *key, enum tlshm_unit unit, uint64_t amount, unsigned most)
{
    tlshm_amounts actual = {{0}};
    actual.of[unit] = amount;
    for (unsigned i = 0; i < most; i++) {
        tlshm_id id = 0;
        int rc = reserve(key, unit, amount, &id);
        if (rc == TLSHM_REFUSED)
            return i;
        cr_assert_eq(rc, TLSHM_OK, "call %u: %s", i, tlshm_error_name(rc));
        cr_assert_eq(tlshm_settle(s->space.t, id, &actual, TLSHM_EXACT, NULL), TLSHM_OK);
    }
    return most;
}

Test(numbers, more_than_the_limit_never_fits)
{
    space_limits(&s->space, "agent:a", "tokens 10 per 60s");
    cr_expect(stage_reserve(s, "agent:a", "tokens=5"));
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=100"), 0);
    cr_expect_eq(s->why.reason, TLSHM_NEVER_FITS);
    cr_expect_eq(s->why.retry_after_ns, TLSHM_NEVER);
    cr_expect_eq(s->why.remaining, 5);
}

Test(numbers, long_idleness_overflows_nothing)
{
    static const uint64_t hours[] = {12, 24 * 30, 24 * 365, 24 * 365 * 10};
    space_limits(&s->space, "agent:a", "tokens 1000000000000 per 1d; tokens 1000000000000 per day");
    for (unsigned i = 0; i < 4; i++) {
        tlshm_id id = stage_reserve(s, "agent:a", "tokens=1000000000000");
        cr_assert(id, "after %" PRIu64 " hours", hours[i]);
        stage_settle(s, id, "tokens=1000000000000");
        cr_assert_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), 0);
        stage_at(s, s->space.now + HOUR(24) + HOUR(hours[i]));
        cr_assert_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), 1000000000000);
    }
}

Test(numbers, remaining_stays_within_the_limit)
{
    space_limits(&s->space, "agent:a", "tokens 100 per 60s; requests 5 per 60s; concurrency 2");
    for (unsigned i = 0; i < 40; i++) {
        tlshm_id id = stage_reserve(s, "agent:a", i % 3 != 0 ? "tokens=30" : "tokens=45");
        if (id == 0)
            cr_expect_leq(s->why.retry_after_ns, SEC(300));
        else if (i % 4 == 0)
            stage_refund(s, id);
        else
            stage_settle(s, id, i % 5 == 0 ? "tokens=60" : "tokens=1");
        stage_at(s, SEC(5 * i));
    }
}

Test(numbers, caps_of_every_size_are_exact)
{
    static const uint64_t caps[] = {1,
                                    INT32_MAX,
                                    UINT64_C(1) << 31,
                                    UINT32_MAX,
                                    UINT64_C(1) << 32,
                                    UINT64_C(3542971632),
                                    (UINT64_C(1) << 53) - 1,
                                    UINT64_C(1) << 53};
    for (unsigned i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        tlshm_limit limit = limit_of("tokens 1 per 1h");
        tlshm_id id = 0;
        limit.cap = caps[i];
        cr_assert_eq(tlshm_scope_limits_set(s->space.t, "agent:a", 0, &limit, 1), 0, "cap %" PRIu64, caps[i]);
        cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), (int64_t)caps[i]);
        cr_assert_eq(reserve("agent:a", TLSHM_TOKENS, caps[i], &id), TLSHM_OK);
        cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), 0);
        cr_expect_eq(reserve("agent:a", TLSHM_TOKENS, 1, &id), TLSHM_REFUSED);
        cr_assert_eq(tlshm_refund(s->space.t, id, NULL), TLSHM_OK);
    }
}

/* A cap that no amount can reach either works exactly or is refused; it is never taken for another one. */
Test(numbers, caps_beyond_the_largest_amount)
{
    static const uint64_t caps[] = {(UINT64_C(1) << 53) + 1, INT64_MAX, UINT64_MAX - 1};
    for (unsigned i = 0; i < 3; i++) {
        tlshm_limit limit = limit_of("tokens 1 per 1h"), read[TLSHM_LIMITS_MAX];
        unsigned count = 0;
        limit.cap = caps[i];
        int rc = tlshm_tier_set(s->space.t, "large", &limit, 1);
        cr_assert(rc == 0 || rc == -TLSHM_ERANGE, "cap %" PRIu64 ": %d", caps[i], rc);
        if (rc != 0)
            continue;
        cr_assert_eq(tlshm_tier_get(s->space.t, "large", read, &count), 0);
        cr_expect_eq(read[0].cap, caps[i]);
    }
}

Test(numbers, amounts_out_of_range_are_errors)
{
    tlshm_id id = 0;
    static const uint64_t amounts[] = {TLSHM_AMOUNT_MAX + 1, UINT64_C(1) << 63, UINT64_MAX};
    for (unsigned i = 0; i < 3; i++)
        for (unsigned u = 0; u < TLSHM_UNITS; u++)
            if (u != TLSHM_CONCURRENCY)
                cr_expect_eq(reserve("agent:a", (enum tlshm_unit)u, amounts[i], &id), -TLSHM_ERANGE, "%s",
                             tlshm_unit_name((int)u));
    cr_assert_eq(reserve("agent:a", TLSHM_TOKENS, 5, &id), TLSHM_OK);
    for (unsigned i = 0; i < 3; i++) {
        tlshm_amounts much = {{0}};
        much.of[TLSHM_TOKENS] = amounts[i];
        cr_expect_eq(tlshm_settle(s->space.t, id, &much, TLSHM_EXACT, NULL), -TLSHM_ERANGE);
        cr_expect_eq(tlshm_settle(s->space.t, id, &much, TLSHM_AT_LEAST, NULL), -TLSHM_ERANGE);
        cr_expect_eq(tlshm_extend(s->space.t, id, &much, 0, NULL), -TLSHM_ERANGE);
    }
    cr_expect_eq(stage_status(s, id), TLSHM_HELD, "an error changes nothing");
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 5);
    cr_expect_eq(space_usage(&s->space, "agent:a").used[TLSHM_TOKENS], 0);
}

/* Spends the largest amount again and again: sums end in an error, and never in a smaller number. */
Test(numbers, sums_never_wrap)
{
    tlshm_amounts most = {{TLSHM_AMOUNT_MAX}};
    uint64_t last = 0;
    int rc = TLSHM_OK;
    space_limits(&s->space, "agent:a", "tokens unlimited lifetime");
    for (unsigned i = 0; i < 5000 && rc == TLSHM_OK; i++) {
        tlshm_id id = 0;
        rc = reserve("agent:a", TLSHM_TOKENS, TLSHM_AMOUNT_MAX, &id);
        if (rc == TLSHM_OK)
            rc = tlshm_settle(s->space.t, id, &most, TLSHM_EXACT, NULL);
        tlshm_scope_usage usage = space_usage(&s->space, "agent:a");
        cr_assert_geq(usage.used[TLSHM_TOKENS], last, "it wrapped at call %u", i);
        if (rc == TLSHM_OK)
            cr_assert_eq(usage.used[TLSHM_TOKENS], last + TLSHM_AMOUNT_MAX, "call %u", i);
        last = usage.used[TLSHM_TOKENS];
    }
    cr_expect(rc == -TLSHM_ERANGE || rc == TLSHM_REFUSED, "5000 times the largest amount: %s", tlshm_error_name(rc));
    cr_expect_geq(last, TLSHM_AMOUNT_MAX);
}

/* The overdraft of a small limit, as far as it goes. */
Test(numbers, remaining_never_wraps_upwards)
{
    tlshm_amounts most = {{TLSHM_AMOUNT_MAX}};
    tlshm_id ids[900];
    unsigned held = 0;
    space_limits(&s->space, "agent:a", "tokens 2000 lifetime");
    while (held < 900 && reserve("agent:a", TLSHM_TOKENS, 1, &ids[held]) == TLSHM_OK)
        held++;
    cr_assert_eq(held, 900);
    for (unsigned i = 0; i < held; i++) {
        int64_t before = space_remaining(&s->space, "agent:a", TLSHM_TOKENS);
        int rc = tlshm_settle(s->space.t, ids[i], &most, TLSHM_EXACT, NULL);
        cr_assert(rc == TLSHM_OK || rc == -TLSHM_ERANGE, "settle %u: %d", i, rc);
        int64_t after = space_remaining(&s->space, "agent:a", TLSHM_TOKENS);
        cr_assert(rc == TLSHM_OK ? after < before : after == before, "settle %u: from %" PRId64 " to %" PRId64, i,
                  before, after);
    }
}

Test(numbers, deadlines_of_every_size)
{
    struct ask a;
    tlshm_id id = 0;
    static const uint64_t ttls[] = {1, MS(1), HOUR(24 * 365), HOUR(24 * 365 * 10)};
    for (unsigned i = 0; i < 4; i++) {
        tlshm_reservation_info info;
        ask_for(&a, "agent:a", "tokens=1");
        a.request.ttl_ns = ttls[i];
        cr_assert_eq(tlshm_reserve(s->space.t, &a.request, &id, NULL), TLSHM_OK);
        cr_assert_eq(tlshm_reservation(s->space.t, id, &info), 0);
        cr_expect_eq(info.expires_in_ns, ttls[i]);
        cr_assert_eq(tlshm_refund(s->space.t, id, NULL), TLSHM_OK);
    }
    a.request.ttl_ns = UINT64_MAX;
    int rc = tlshm_reserve(s->space.t, &a.request, &id, NULL);
    cr_expect(rc == -TLSHM_ERANGE || rc == -TLSHM_EINVAL, "a deadline beyond time: %d", rc);
    cr_assert_eq(tlshm_reserve(s->space.t, ask_for(&a, "agent:a", "tokens=1"), &id, NULL), TLSHM_OK);
    rc = tlshm_extend(s->space.t, id, NULL, UINT64_MAX, NULL);
    cr_expect(rc == -TLSHM_ERANGE || rc == -TLSHM_EINVAL, "an extension beyond time: %d", rc);
    cr_expect_eq(stage_status(s, id), TLSHM_HELD);
}

Test(numbers, small_costs_add_up_exactly)
{
    space_limits(&s->space, "agent:tenth", "cost $10 per day");
    cr_expect_eq(calls_until_refused("agent:tenth", TLSHM_COST, 1000000, 10100), 10000, "a tenth of a cent each");
    cr_expect_eq(space_remaining(&s->space, "agent:tenth", TLSHM_COST), 0);
    space_limits(&s->space, "agent:sub", "cost $10 per day");
    cr_expect_eq(calls_until_refused("agent:sub", TLSHM_COST, 4000000, 2600), 2500, "less than a cent each");
    space_limits(&s->space, "agent:nano", "cost 777n per day");
    cr_expect_eq(calls_until_refused("agent:nano", TLSHM_COST, 1, 800), 777, "a nano-dollar each");
}

Test(numbers, tenths_fill_a_limit_to_its_end)
{
    space_limits(&s->space, "agent:a", "cost $0.80 per day");
    cr_expect(stage_reserve(s, "agent:a", "cost=100000000"));
    cr_expect(stage_reserve(s, "agent:a", "cost=700000000"));
    cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_COST), 0);
}

Test(numbers, zero_denies_and_unlimited_is_said)
{
    space_limits(&s->space, "agent:none", "tokens 0 per 1h");
    cr_expect_eq(stage_reserve(s, "agent:none", "tokens=1"), 0);
    cr_expect_eq(s->why.reason, TLSHM_NEVER_FITS);
    cr_expect(stage_reserve(s, "agent:none", "cost=1"), "the limit is one of tokens");
    space_limits(&s->space, "agent:shut", "concurrency 0");
    cr_expect_eq(stage_reserve(s, "agent:shut", "cost=1"), 0);
    space_limits(&s->space, "agent:all", "tokens unlimited per 1h");
    cr_expect(stage_reserve(s, "agent:all", "tokens=9007199254740992"));
    cr_expect_eq(space_remaining(&s->space, "agent:all", TLSHM_TOKENS), INT64_MAX);
    cr_expect(stage_reserve(s, "agent:unset", "tokens=9007199254740992"));
    tlshm_id id = 0;
    cr_expect_eq(reserve("agent:none", TLSHM_TOKENS, 0, &id), -TLSHM_EEMPTY);
    cr_expect_eq(reserve("agent:unset", TLSHM_TOKENS, 0, &id), -TLSHM_EEMPTY);
}
