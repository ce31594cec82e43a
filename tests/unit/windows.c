/* SPDX-License-Identifier: MIT */
/* windows.c - what counts when: rolling, calendar and lifetime windows, rolls, and waiting times. Clocks: clocks.c. */
#include "stage.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct stage *s;

static void open_stage(void)
{
    s = stage_open(NULL);
}

static void close_stage(void)
{
    stage_close(s);
}

TestSuite(windows, .init = open_stage, .fini = close_stage, .timeout = 120);

/* Moves both clocks to an instant of UTC after the opening of the space. */
static void at_utc(const char *instant)
{
    struct tm tm = {0};
    cr_assert_not_null(strptime(instant, "%Y-%m-%d %H:%M:%S", &tm), "%s", instant);
    stage_at(s, SEC(timegm(&tm)) - SPACE_WALL_NS);
}

/* Reserves and settles the same amount; false when it was refused. */
static bool spend(const char *scopes, const char *amounts)
{
    tlshm_id id = stage_reserve(s, scopes, amounts);
    return id != 0 && stage_settle(s, id, amounts) == TLSHM_OK;
}

static void left(const char *key, int64_t expected, const char *when)
{
    int64_t got = space_remaining(&s->space, key, TLSHM_TOKENS);
    cr_assert_eq(got, expected, "%s: %" PRId64 " left, not %" PRId64, when, got, expected);
}

Test(windows, refund_after_a_roll_releases_only_its_own)
{
    space_limits(&s->space, "tenant:t", "tokens 2000 per 60s");
    stage_at(s, SEC(59));
    tlshm_id a = stage_reserve(s, "agent:a tenant:t", "tokens=900");
    stage_at(s, SEC(61));
    tlshm_id b = stage_reserve(s, "agent:b tenant:t", "tokens=900");
    stage_at(s, SEC(62));
    cr_assert_eq(stage_refund(s, a), TLSHM_OK);
    cr_expect_eq(stage_status(s, b), TLSHM_HELD);
    cr_expect_eq(space_usage(&s->space, "tenant:t").held[TLSHM_TOKENS], 900);
    cr_expect_eq(stage_reserve(s, "agent:c tenant:t", "tokens=1101"), 0);
    cr_expect(stage_reserve(s, "agent:c tenant:t", "tokens=1100"));
}

Test(windows, use_lands_in_the_bucket_of_its_settle)
{
    space_limits(&s->space, "agent:a", "tokens 1000 per 1s");
    stage_at(s, MS(900));
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=1000");
    stage_at(s, MS(1100));
    stage_settle(s, id, "tokens=1000");
    stage_at(s, MS(1999));
    left("agent:a", 0, "within a window of the settle");
    stage_at(s, MS(2080));
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=1"), 0, "the bucket of the settle is inside");
    stage_at(s, MS(2102));
    left("agent:a", 1000, "a window after the settle");
}

Test(windows, overrun_stays_until_its_bucket_leaves)
{
    space_limits(&s->space, "agent:a", "tokens 10 per 60s");
    stage_at(s, SEC(59));
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=10");
    stage_settle(s, id, "tokens=15");
    left("agent:a", -5, "after the overrun");
    stage_at(s, SEC(118));
    left("agent:a", -5, "no edge forgives it");
    stage_at(s, SEC(119));
    left("agent:a", 10, "when the bucket has left");
}

Test(windows, no_burst_across_an_edge)
{
    space_limits(&s->space, "agent:a", "requests 100 per 1s");
    stage_at(s, MS(900));
    for (unsigned i = 0; i < 100; i++)
        cr_assert(spend("agent:a", "tokens=1"));
    static const unsigned refused[] = {900, 1000, 1100, 1500, 1880};
    for (unsigned i = 0; i < 5; i++) {
        stage_at(s, MS(refused[i]));
        cr_assert_not(spend("agent:a", "tokens=1"), "at %u ms", refused[i]);
    }
    stage_at(s, MS(1901));
    cr_expect(spend("agent:a", "tokens=1"));
}

/* A strict limit lets no interval of its length pass the cap; the usual one may, by less than a bucket. */
Test(windows, strict_counts_one_bucket_more)
{
    space_limits(&s->space, "agent:usual", "tokens 10 per 60s/6");
    space_limits(&s->space, "agent:strict", "tokens 10 per 60s/6 strict");
    stage_at(s, SEC(9));
    cr_assert(spend("agent:usual agent:strict", "tokens=10"));
    stage_at(s, SEC(60) - 1);
    left("agent:usual", 0, "in the last bucket inside");
    stage_at(s, SEC(60));
    left("agent:usual", 10, "51 s later");
    left("agent:strict", 0, "51 s later, strict");
    stage_at(s, SEC(70) - 1);
    left("agent:strict", 0, "the last instant");
    stage_at(s, SEC(70));
    left("agent:strict", 10, "61 s later");
}

Test(windows, buckets_leave_one_by_one)
{
    space_limits(&s->space, "agent:a", "tokens 100 per 60s/6");
    for (unsigned i = 0; i < 6; i++) {
        stage_at(s, SEC(10 * i + 5));
        cr_assert(spend("agent:a", "tokens=10"));
    }
    left("agent:a", 40, "all six inside");
    for (unsigned i = 0; i < 6; i++) {
        tlshm_scope_usage usage = space_usage(&s->space, "agent:a");
        cr_expect_eq(usage.limits[0].frees_in_ns, SEC(60 + 10 * i) - s->space.now);
        stage_at(s, SEC(60 + 10 * i));
        left("agent:a", 40 + 10 * (int64_t)(i + 1), "as each leaves");
    }
    cr_expect_eq(space_usage(&s->space, "agent:a").limits[0].frees_in_ns, TLSHM_NEVER);
}

/* A bucket is the length over the slices rounded up to a microsecond: the window is never shorter than asked for. */
Test(windows, odd_lengths_are_never_shorter)
{
    static const struct {
        const char *limit;
        uint64_t length;
    } cases[] = {{"tokens 10 per 1s/7", SEC(1)}, {"tokens 10 per 60s/64", SEC(60)}, {"tokens 10 per 1h/7", HOUR(1)}};
    for (unsigned i = 0; i < 3; i++) {
        char key[16];
        snprintf(key, sizeof key, "agent:%u", i);
        space_limits(&s->space, key, cases[i].limit);
        cr_assert(spend(key, "tokens=10"));
        cr_assert_eq(stage_reserve(s, key, "tokens=10"), 0);
        uint64_t slices = s->why.limit.window.slices, width = s->why.limit.window.length_ns / slices;
        cr_expect_leq(s->why.retry_after_ns, cases[i].length + slices * 1000, "%s", cases[i].limit);
        cr_expect_gt(s->why.retry_after_ns + width + 1000, cases[i].length, "%s", cases[i].limit);
        stage_retry(s, key, "tokens=10");
    }
}

Test(windows, month_starts_on_its_anchor_or_its_last_day)
{
    static const struct {
        const char *last, *first;
    } turns[] = {
        {"2024-02-28 23:59:59", "2024-02-29 00:00:00"}, {"2024-03-30 23:59:59", "2024-03-31 00:00:00"},
        {"2024-04-29 23:59:59", "2024-04-30 00:00:00"}, {"2024-05-30 23:59:59", "2024-05-31 00:00:00"},
        {"2024-12-30 23:59:59", "2024-12-31 00:00:00"}, {"2025-01-30 23:59:59", "2025-01-31 00:00:00"},
        {"2025-02-27 23:59:59", "2025-02-28 00:00:00"}, {"2025-03-30 23:59:59", "2025-03-31 00:00:00"},
    };
    space_limits(&s->space, "agent:a", "tokens 100 per month from 31");
    for (unsigned i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        at_utc(turns[i].last);
        spend("agent:a", "tokens=100");
        left("agent:a", 0, turns[i].last);
        cr_expect_eq(space_usage(&s->space, "agent:a").limits[0].frees_in_ns, SEC(1), "%s", turns[i].last);
        at_utc(turns[i].first);
        left("agent:a", 100, turns[i].first);
    }
}

Test(windows, periods_turn_where_the_calendar_does)
{
    static const struct {
        const char *limit, *last, *first;
    } cases[] = {
        {"tokens 100 per hour", "2024-02-01 05:59:59", "2024-02-01 06:00:00"},
        {"tokens 100 per day", "2024-02-03 23:59:59", "2024-02-04 00:00:00"},
        {"tokens 100 per week", "2024-02-04 23:59:59", "2024-02-05 00:00:00"},
        {"tokens 100 per month", "2024-02-29 23:59:59", "2024-03-01 00:00:00"},
        {"tokens 100 per month from 15", "2024-03-14 23:59:59", "2024-03-15 00:00:00"},
        {"tokens 100 per month", "2024-12-31 23:59:59", "2025-01-01 00:00:00"},
        {"tokens 100 per day in Asia/Shanghai", "2025-01-02 15:59:59", "2025-01-02 16:00:00"},
        {"tokens 100 per month in Asia/Shanghai", "2025-01-31 15:59:59", "2025-01-31 16:00:00"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char key[16];
        snprintf(key, sizeof key, "agent:%u", i);
        space_limits(&s->space, key, cases[i].limit);
        at_utc(cases[i].last);
        cr_assert(spend(key, "tokens=100"), "%s", cases[i].limit);
        cr_assert_eq(stage_reserve(s, key, "tokens=1"), 0, "%s", cases[i].limit);
        cr_expect_eq(s->why.retry_after_ns, SEC(1), "%s", cases[i].limit);
        at_utc(cases[i].first);
        left(key, 100, cases[i].limit);
    }
}

Test(windows, missed_periods_are_passed_at_once)
{
    space_limits(&s->space, "agent:a", "tokens 100 per hour; tokens 150 per 1h; tokens 1000 per day");
    cr_assert(spend("agent:a", "tokens=100"));
    stage_at(s, HOUR(4));
    left("agent:a", 100, "three hours later");
    cr_expect(spend("agent:a", "tokens=100"));
    stage_at(s, HOUR(24 * 365 * 10));
    left("agent:a", 100, "ten years later");
    cr_expect(spend("agent:a", "tokens=100"));
    left("agent:a", 0, "and the window works");
}

Test(windows, lifetime_counts_for_ever)
{
    space_limits(&s->space, "agent:a", "tokens 100 lifetime");
    cr_assert(spend("agent:a", "tokens=60"));
    stage_at(s, HOUR(24 * 400));
    left("agent:a", 40, "a year later");
    cr_assert_eq(stage_reserve(s, "agent:a", "tokens=41"), 0);
    cr_expect_eq(s->why.retry_after_ns, TLSHM_NEVER);
    cr_expect_eq(s->why.reason, TLSHM_LIMIT);
}

/* Random traffic; whoever is refused with a time comes back one instant too early, and then in time (I8). */
Test(windows, waiting_as_long_as_told_always_helps, .timeout = 240)
{
    static const char *const limits[] = {
        "tokens 500 per 60s",
        "tokens 300 per 1s/10; concurrency 3",
        "tokens 900 per 1h/7; requests 40 per 60s/12",
        "tokens 2000 per hour; cost $1 per 60s strict",
        "concurrency 4; tokens 5000 per day",
        "tool_calls 20 per 60s; input_tokens 800 per 1h",
    };
    char scopes[64], amounts[96];
    unsigned retried = 0;
    for (unsigned i = 0; i < 6; i++) {
        snprintf(scopes, sizeof scopes, "%s:%u", i % 2 == 0 ? "agent" : "tenant", i / 2);
        space_limits(&s->space, scopes, limits[i]);
    }
    srand(11);
    for (unsigned i = 0; i < 400; i++) {
        snprintf(scopes, sizeof scopes, "agent:%d tenant:%d", rand() % 3, rand() % 3);
        snprintf(amounts, sizeof amounts, "tokens=%d cost=%d input_tokens=%d tool_calls=%d", 1 + rand() % 100,
                 rand() % 400000000, rand() % 200, rand() % 5);
        s->ttl_ns = 1 + (uint64_t)rand() % SEC(90);
        tlshm_id id = stage_reserve(s, scopes, amounts);
        if (id == 0 && s->why.reason == TLSHM_LIMIT) {
            id = stage_retry(s, scopes, amounts);
            retried++;
        }
        if (id != 0 && rand() % 3 != 0)
            stage_settle(s, id, rand() % 2 == 0 ? amounts : NULL);
        stage_at(s, s->space.now + (uint64_t)rand() % MS(1500));
    }
    cr_expect_geq(retried, 40);
}

/* A limit whose window is replaced keeps what was used, as one bucket that starts at the next reserve. */
Test(windows, change_of_window_keeps_the_use)
{
    space_limits(&s->space, "agent:a", "tokens 100 per 1h");
    cr_assert(spend("agent:a", "tokens=60"));
    stage_at(s, SEC(1200));
    space_limits(&s->space, "agent:a", "tokens 100 per 2h/4");
    left("agent:a", 40, "right after the change");
    cr_assert(spend("agent:a", "tokens=10"));
    left("agent:a", 30, "after the next use");
    stage_at(s, HOUR(2) - 1);
    left("agent:a", 30, "two hours after the first bucket of the new window began");
    stage_at(s, HOUR(2));
    left("agent:a", 100, "when it has left");
}

Test(windows, added_limit_starts_from_nothing_but_a_lifetime_one_counts_all)
{
    cr_assert(spend("agent:a", "tokens=60"));
    tlshm_limit hour = limit_of("tokens 100 per 1h"), life = limit_of("tokens 500 lifetime");
    cr_assert_eq(tlshm_limit_set(s->space.t, "agent:a", 0, &hour), 0);
    left("agent:a", 100, "an hour");
    cr_assert(spend("agent:a", "tokens=10"));
    left("agent:a", 90, "an hour, used");
    cr_assert_eq(tlshm_limit_set(s->space.t, "agent:a", 0, &life), 0);
    tlshm_scope_usage usage = space_usage(&s->space, "agent:a");
    cr_assert_eq(usage.limit_count, 2);
    for (unsigned i = 0; i < 2; i++)
        cr_expect_eq(usage.limits[i].used, usage.limits[i].limit.window.kind == TLSHM_WINDOW_LIFETIME ? 70 : 10);
}

/* A limit beside it that comes or goes changes nothing for a limit that stays, before the next reserve and after it. */
Test(windows, limits_that_stay_go_on)
{
    tlshm_limit other = limit_of("tokens 5000 per week"), first = limit_of("cost $1 per 1h");
    for (unsigned change = 0; change < 4; change++) {
        char key[16];
        uint64_t start = s->space.now;
        snprintf(key, sizeof key, "agent:%u", change);
        space_limits(&s->space, key, "cost $1 per 1h; tokens 100 per 60s/6");
        cr_assert(spend(key, "tokens=90"));
        stage_at(s, start + SEC(50));
        if (change % 2 == 0)
            cr_assert_eq(tlshm_limit_set(s->space.t, key, 0, &other), 0);
        else
            cr_assert_eq(tlshm_limit_unset(s->space.t, key, 0, &first), 0);
        left(key, 10, "after the change");
        if (change >= 2)
            cr_assert(spend(key, "tokens=1"));
        int64_t since = change >= 2 ? 1 : 0;
        stage_at(s, start + SEC(59));
        left(key, 10 - since, "while its bucket is inside");
        stage_at(s, start + SEC(60));
        left(key, 100 - since, change % 2 == 0 ? "a limit was added" : "a limit was removed");
        stage_at(s, start + SEC(660));
        left(key, 100, "much later");
    }
}

/* One call on a hold, 30 s after it was taken together with a use of ten tokens; what it charges. */
static unsigned end_somehow(unsigned call, const char *key, tlshm_id id)
{
    switch (call) {
    case 0:
        stage_refund(s, id);
        return 0;
    case 1:
        stage_settle(s, id, "tokens=0");
        return 0;
    case 2:
        stage_extend(s, id, NULL, SEC(60));
        return 0;
    case 3:
        stage_extend(s, id, "tokens=1", 0);
        return 0;
    case 4: /* expired: whoever comes along books it */
        stage_settle(s, stage_reserve(s, key, "tokens=80"), "tokens=0");
        return 0;
    case 5:
        tlshm_reap(s->space.t, NULL);
        return 0;
    case 6:
        stage_settle(s, id, "tokens=0");
        return 0;
    case 7:
        stage_settle(s, id, "tokens=20");
        return 20;
    default:
        stage_reserve(s, key, "tokens=1");
        stage_settle(s, id, "tokens=7");
        return 7;
    }
}

/* The use of a key's first limit, every three seconds until all of it has left, against what was charged when. */
static void check_stay(const char *key, uint64_t start, unsigned charged, const char *what)
{
    for (unsigned t = 48; t < 130; t += 3) {
        unsigned expected = (t < 60 ? 10 : 0) + (t < 90 ? charged : 0) + (t >= 54 && t < 110 ? 1 : 0);
        stage_at(s, start + SEC(t));
        if (t == 54)
            cr_assert(spend(key, "tokens=1"));
        tlshm_scope_usage usage = space_usage(&s->space, key);
        cr_assert_eq(usage.limits[0].used, expected, "%s, %u s: %" PRIu64 ", not %u", what, t, usage.limits[0].used,
                     expected);
    }
}

/* One use, one call a few buckets later, perhaps another limit beside; then what counts, for how long. */
static void play_stay(unsigned call, const char *key, unsigned lap, bool change)
{
    char what[64], text[32];
    uint64_t start = s->space.now - s->space.now % SEC(60) + SEC(660);
    stage_at(s, start + SEC(5));
    cr_assert(spend(key, "tokens=10"));
    s->ttl_ns = call >= 4 && call < 8 ? SEC(30) : SEC(90);
    tlshm_id id = stage_reserve(s, key, "tokens=20");
    stage_at(s, start + SEC(35));
    unsigned charged = end_somehow(call, key, id);
    stage_at(s, start + SEC(45));
    snprintf(text, sizeof text, "cost $9 per %uh", lap + 1);
    tlshm_limit beside = limit_of(text);
    if (change)
        cr_assert_eq(tlshm_limit_set(s->space.t, key, 0, &beside), 0);
    snprintf(what, sizeof what, "call %u, lap %u%s", call, lap, change ? ", another limit beside" : "");
    check_stay(key, start, charged, what);
}

/* Every kind of call, buckets apart from the last one: what it charges counts from its own bucket on, and no longer. */
Test(windows, each_use_stays_for_a_window_whatever_is_called)
{
    for (unsigned i = 0; i < 18; i++) {
        char key[16];
        snprintf(key, sizeof key, "agent:%u", i);
        space_limits(&s->space, key, "tokens 100 per 60s/6");
        for (unsigned lap = 0; lap < 3; lap++) /* later laps find the marks of earlier ones */
            play_stay(i / 2, key, lap, i % 2 != 0);
    }
}
