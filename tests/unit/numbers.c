/* SPDX-License-Identifier: MIT */
/* numbers.c - amounts at their ends: exact integers, nothing wraps, zero and unlimited are not each other. */
#include "stage.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "chance.h"

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

/* --------------------------------------------------------------------------------------------------------------- the edges */

/* Where other programs' numbers end, and where use inside a window does. */
static const uint64_t edges[] = {UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 53, (UINT64_C(1) << 53) * 3,
                                 (UINT64_C(1) << 56) - 64};
#define EDGES (sizeof edges / sizeof edges[0])

struct part {
    tlshm_id id;
    uint64_t amount;
};

/* Holds of random amounts that add up to `sum`; how many. */
static unsigned hold_in_parts(struct chance *c, const char *key, enum tlshm_unit unit, uint64_t sum, struct part *parts)
{
    unsigned count = 0;
    for (uint64_t left = sum; left > 0; count++) {
        uint64_t most = left < TLSHM_AMOUNT_MAX ? left : TLSHM_AMOUNT_MAX;
        uint64_t amount = left > TLSHM_AMOUNT_MAX * 16 ? TLSHM_AMOUNT_MAX : chance_edgy(c, most - most / 2, most);
        cr_assert_lt(count, 900);
        int rc = reserve(key, unit, amount, &parts[count].id);
        cr_assert_eq(rc, TLSHM_OK, "%s: %" PRIu64 " of %" PRIu64 " are left: %s", key, left, sum, tlshm_error_name(rc));
        parts[count].amount = amount;
        left -= amount;
    }
    return count;
}

static void expect_full(const char *key, enum tlshm_unit unit, uint64_t held, uint64_t used, const char *when)
{
    tlshm_scope_usage usage = space_usage(&s->space, key);
    tlshm_id id;
    cr_expect_eq(usage.held[unit], held, "%s %s: %" PRIu64 " held", key, when, usage.held[unit]);
    cr_expect_eq(usage.used[unit], used, "%s %s: %" PRIu64 " used", key, when, usage.used[unit]);
    cr_expect_eq(space_remaining(&s->space, key, unit), 0, "%s %s", key, when);
    cr_expect_eq(reserve(key, unit, 1, &id), TLSHM_REFUSED, "%s %s", key, when);
}

/* A limit at an edge or beside it is reached to the last one by what is held, then by what is used, and not passed. */
static void fill_to(struct chance *c, const char *key, enum tlshm_unit unit, uint64_t cap)
{
    static struct part parts[900];
    tlshm_limit limit = limit_of("tokens 1 lifetime");
    limit.unit = unit;
    limit.cap = cap;
    cr_assert_eq(tlshm_scope_limits_set(s->space.t, key, 0, &limit, 1), 0);
    unsigned count = hold_in_parts(c, key, unit, cap, parts);
    expect_full(key, unit, cap, 0, "held");
    for (unsigned i = 0; i < count; i++) {
        tlshm_amounts use = {{0}};
        use.of[unit] = parts[i].amount;
        cr_assert_eq(tlshm_settle(s->space.t, parts[i].id, &use, TLSHM_EXACT, NULL), TLSHM_OK);
    }
    expect_full(key, unit, 0, cap, "used");
}

Test(numbers, limits_at_every_edge_are_reached_exactly)
{
    static const enum tlshm_unit units[] = {TLSHM_TOKENS, TLSHM_COST, TLSHM_INPUT_TOKENS, TLSHM_OUTPUT_TOKENS,
                                            TLSHM_TOOL_CALLS};
    struct chance c;
    unsigned made = 0;
    chance_begin(&c, "edges", 1);
    for (unsigned e = 0; e < EDGES; e++)
        for (unsigned u = 0; u < 5; u++) {
            char key[32];
            uint64_t cap = edges[e] + chance_below(&c, 3) - 1;
            snprintf(key, sizeof key, "agent:%u", made++);
            fill_to(&c, key, units[u], cap);
        }
}

/* What is held ends in an error below 2^62, and not in a smaller number; what was held goes on. */
Test(numbers, holds_end_at_their_maximum)
{
    static struct part parts[900];
    struct chance c;
    tlshm_id id;
    chance_begin(&c, "holds", 1);
    unsigned count = hold_in_parts(&c, "agent:a", TLSHM_OUTPUT_TOKENS, (UINT64_C(1) << 62) - 1, parts);
    cr_expect_eq(reserve("agent:a", TLSHM_OUTPUT_TOKENS, 1, &id), -TLSHM_ERANGE);
    cr_expect_eq(reserve("agent:a", TLSHM_TOKENS, 1, &id), TLSHM_OK, "another unit has room");
    cr_expect_eq(tlshm_refund(s->space.t, id, NULL), TLSHM_OK);
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_OUTPUT_TOKENS], (UINT64_C(1) << 62) - 1);
    for (unsigned i = 0; i < count; i++)
        cr_assert_eq(tlshm_refund(s->space.t, parts[i].id, NULL), TLSHM_OK);
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_OUTPUT_TOKENS], 0);
    cr_expect_eq(reserve("agent:a", TLSHM_OUTPUT_TOKENS, TLSHM_AMOUNT_MAX, &id), TLSHM_OK);
}

/* Extensions add up like estimates: one hold may grow beyond the largest single amount only as an error. */
Test(numbers, extensions_end_at_their_maximum)
{
    tlshm_amounts more = {{TLSHM_AMOUNT_MAX - 5}}, one = {{1}};
    tlshm_id id;
    tlshm_reservation_info info;
    cr_assert_eq(reserve("agent:a", TLSHM_TOKENS, 5, &id), TLSHM_OK);
    cr_assert_eq(tlshm_extend(s->space.t, id, &more, 0, NULL), TLSHM_OK);
    int rc = tlshm_extend(s->space.t, id, &one, 0, NULL);
    cr_assert(rc == TLSHM_OK || rc == -TLSHM_ERANGE, "%d", rc);
    uint64_t expected = TLSHM_AMOUNT_MAX + (rc == TLSHM_OK);
    cr_assert_eq(tlshm_reservation(s->space.t, id, &info), 0);
    cr_expect_eq(info.estimate.of[TLSHM_TOKENS], expected);
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], expected);
}

/* cap - used - held as it is shown: clamped to what its type has, and never wrapped. */
Test(numbers, remaining_of_every_cap)
{
    static const uint64_t caps[] = {
        0, 1, UINT64_C(1) << 53, INT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1, UINT64_MAX - 1};
    tlshm_amounts most = {{TLSHM_AMOUNT_MAX}};
    tlshm_id id = 0;
    for (unsigned k = 0; k < 300; k++) { /* used in part and held in part: 2^61 and more */
        cr_assert_eq(reserve("agent:a", TLSHM_TOKENS, TLSHM_AMOUNT_MAX, &id), TLSHM_OK);
        if (k % 2)
            cr_assert_eq(tlshm_settle(s->space.t, id, &most, TLSHM_EXACT, NULL), TLSHM_OK);
    }
    for (unsigned i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        tlshm_limit limit = limit_of("tokens 1 lifetime");
        __extension__ __int128 left = (__int128)caps[i] - 300 * (__int128)TLSHM_AMOUNT_MAX;
        int64_t shown = left > INT64_MAX ? INT64_MAX : (int64_t)left;
        limit.cap = caps[i];
        cr_assert_eq(tlshm_scope_limits_set(s->space.t, "agent:a", 0, &limit, 1), 0);
        int64_t got = space_remaining(&s->space, "agent:a", TLSHM_TOKENS);
        cr_expect_eq(got, shown, "cap %" PRIu64 ": %" PRId64 " left, not %" PRId64, caps[i], got, shown);
        cr_expect_eq(reserve("agent:a", TLSHM_TOKENS, 1, &id), left >= 1 ? TLSHM_OK : TLSHM_REFUSED, "cap %" PRIu64,
                     caps[i]);
        if (left >= 1)
            cr_assert_eq(tlshm_refund(s->space.t, id, NULL), TLSHM_OK);
    }
}

/* Windows whose totals pass every edge of the ring's words, 2^56, while what is inside stays small. */
Test(numbers, totals_pass_the_rings_edge)
{
    space_limits(&s->space, "agent:a", "tokens unlimited per 60s/6; tokens unlimited per hour");
    uint64_t inside = 0, total = 0;
    for (unsigned i = 0; i < 300; i++) {
        tlshm_id id;
        tlshm_amounts use = {{i % 7 == 6 ? 3 : TLSHM_AMOUNT_MAX}};
        space_at(&s->space, s->space.now + SEC(20));
        cr_assert_eq(reserve("agent:a", TLSHM_TOKENS, 1, &id), TLSHM_OK);
        cr_assert_eq(tlshm_settle(s->space.t, id, &use, TLSHM_EXACT, NULL), TLSHM_OK, "call %u", i);
        total += use.of[TLSHM_TOKENS];
        inside = use.of[TLSHM_TOKENS];
        for (unsigned back = 1; back < 3 && back <= i % 6; back++)
            inside += (i - back) % 7 == 6 ? 3 : TLSHM_AMOUNT_MAX;
        tlshm_scope_usage usage = space_usage(&s->space, "agent:a");
        cr_assert_eq(usage.used[TLSHM_TOKENS], total);
        cr_assert_eq(usage.limits[0].used, inside, "call %u: %" PRIu64 " in 60 s, not %" PRIu64, i,
                     usage.limits[0].used, inside);
        if (i % 6 == 5)
            space_at(&s->space, s->space.now + HOUR(1)); /* the calendar hour holds less than 2^56 */
    }
    cr_expect_gt(total, UINT64_C(1) << 60);
}

/* The common call does not go on where a ring's words would end. */
Test(numbers, use_inside_a_window_ends_for_the_common_call_too)
{
    tlshm_amounts most = {{TLSHM_AMOUNT_MAX}};
    uint64_t settled = 0;
    int rc = TLSHM_OK;
    space_limits(&s->space, "agent:w", "tokens 1152921504606846976 per 60s");
    for (unsigned i = 0; i < 60 && rc == TLSHM_OK; i++) {
        tlshm_id id;
        rc = reserve("agent:w", TLSHM_TOKENS, TLSHM_AMOUNT_MAX, &id);
        if (rc == TLSHM_OK)
            rc = tlshm_settle(s->space.t, id, &most, TLSHM_EXACT, NULL);
        settled += rc == TLSHM_OK ? TLSHM_AMOUNT_MAX : 0;
    }
    cr_expect_eq(rc, -TLSHM_ERANGE);
    cr_expect_leq(settled, UINT64_C(1) << 56);
    cr_expect_eq(space_usage(&s->space, "agent:w").limits[0].used, settled);
}
