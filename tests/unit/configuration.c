/* SPDX-License-Identifier: MIT */
/* configuration.c - limits, tiers and flags that change while calls run, full tables, and what people may always do. */
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

TestSuite(configuration, .init = open_stage, .fini = close_stage, .timeout = 120);

static void set_limit(const char *key, const char *text)
{
    tlshm_limit limit = limit_of(text);
    cr_assert_eq(tlshm_limit_set(s->space.t, key, 0, &limit), 0, "%s %s", key, text);
}

static void set_tier(const char *tier, const char *text)
{
    tlshm_limit limit = limit_of(text);
    cr_assert_eq(tlshm_tier_set(s->space.t, tier, &limit, 1), 0, "%s %s", tier, text);
}

static int64_t left(const char *key)
{
    return space_remaining(&s->space, key, TLSHM_TOKENS);
}

Test(configuration, changed_limit_holds_at_the_next_reserve_and_keeps_the_use)
{
    space_limits(&s->space, "agent:a", "tokens 100 per 1h");
    stage_settle(s, stage_reserve(s, "agent:a", "tokens=80"), "tokens=80");
    set_limit("agent:a", "tokens 50 per 1h");
    cr_expect_eq(left("agent:a"), -30);
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=1"), 0);
    cr_expect_eq(s->why.remaining, -30);
    cr_expect_eq(s->why.used, 80);
    set_limit("agent:a", "tokens 200 per 1h");
    cr_expect(stage_reserve(s, "agent:a", "tokens=120"));
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=1"), 0);
}

Test(configuration, lowered_limit_leaves_live_holds_alone)
{
    space_limits(&s->space, "agent:a", "tokens 100 per 1h; concurrency 5");
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=90");
    set_limit("agent:a", "tokens 10 per 1h");
    set_limit("agent:a", "concurrency 0");
    cr_expect_eq(stage_extend(s, id, NULL, SEC(1000)), TLSHM_OK);
    cr_expect_eq(stage_settle(s, id, "tokens=90"), TLSHM_OK);
}

Test(configuration, limit_can_be_taken_away_again)
{
    tlshm_limit limit = limit_of("tokens 100 per 1h"), other = limit_of("tokens 100 per 2h");
    set_limit("agent:a", "tokens 100 per 1h");
    cr_expect_eq(left("agent:a"), 100);
    cr_expect_eq(tlshm_limit_unset(s->space.t, "agent:a", 0, &other), -TLSHM_ENOENT);
    cr_expect_eq(tlshm_limit_unset(s->space.t, "agent:a", 0, &limit), 0);
    cr_expect_eq(tlshm_limit_unset(s->space.t, "agent:a", 0, &limit), -TLSHM_ENOENT);
    cr_expect_eq(left("agent:a"), INT64_MAX);
    cr_expect(stage_reserve(s, "agent:a", "tokens=1000000"));
}

Test(configuration, scope_follows_own_limits_then_its_tier_then_the_default)
{
    tlshm_scope_usage usage;
    cr_expect_eq(left("agent:a"), INT64_MAX);
    set_tier("free", "tokens 100 per 1h");
    set_tier("pro", "tokens 1000 per 1h");
    cr_assert_eq(tlshm_default_set(s->space.t, "agent", "free"), 0);
    cr_expect_eq(left("agent:a"), 100);
    usage = space_usage(&s->space, "agent:a");
    cr_expect_eq(usage.source, TLSHM_LIMITS_DEFAULT);
    cr_expect_str_eq(usage.tier, "free");
    cr_expect_not(usage.seen, "asking does not create it");
    stage_settle(s, stage_reserve(s, "agent:a", "tokens=60"), "tokens=60");
    cr_assert_eq(tlshm_scope_tier_set(s->space.t, "agent:a", 0, "pro"), 0);
    cr_expect_eq(left("agent:a"), 940, "the use is kept");
    cr_expect_str_eq(space_usage(&s->space, "agent:a").tier, "pro");
    set_limit("agent:a", "tokens 70 per 1h");
    cr_expect_eq(left("agent:a"), 10);
    cr_expect_eq(space_usage(&s->space, "agent:a").source, TLSHM_LIMITS_OWN);
    cr_assert_eq(tlshm_scope_tier_set(s->space.t, "agent:a", 0, NULL), 0);
    cr_expect_eq(left("agent:a"), 40);
    cr_assert_eq(tlshm_default_set(s->space.t, "agent", NULL), 0);
    cr_expect_eq(left("agent:a"), INT64_MAX);
    cr_expect_eq(space_usage(&s->space, "agent:a").used[TLSHM_TOKENS], 60);
}

/* The first call of a thread on a scope of the first level made finds nothing remembered: that is not "no limits". */
Test(configuration, default_of_each_level_binds_from_the_first_call_on)
{
    static const char *const levels[] = {"global", "org", "tenant", "project", "user", "agent"};
    set_tier("small", "tokens 100 per 1h");
    for (unsigned i = 0; i < 6; i++)
        cr_assert_eq(tlshm_default_set(s->space.t, levels[i], "small"), 0);
    for (unsigned i = 0; i < 6; i++) {
        char key[32];
        snprintf(key, sizeof key, "%s:%s", levels[i], i ? "a" : "");
        tlshm_thread_release(s->space.t); /* the next call starts with nothing read */
        cr_expect_eq(stage_reserve(s, key, "tokens=101"), 0, "%s", key);
        tlshm_thread_release(s->space.t);
        cr_expect(stage_reserve(s, key, "tokens=100"), "%s", key);
        cr_expect_eq(stage_reserve(s, key, "tokens=1"), 0, "%s", key);
    }
}

Test(configuration, tier_changes_reach_all_its_scopes)
{
    set_tier("free", "tokens 100 per 1h");
    for (unsigned i = 0; i < 5; i++) {
        char key[16];
        snprintf(key, sizeof key, "agent:%u", i);
        cr_assert_eq(tlshm_scope_tier_set(s->space.t, key, 0, "free"), 0);
    }
    stage_reserve(s, "agent:0", "tokens=100");
    set_tier("free", "tokens 150 per 1h");
    cr_expect_eq(left("agent:0"), 50);
    cr_expect_eq(left("agent:4"), 150);
    cr_expect_eq(tlshm_tier_unset(s->space.t, "free"), 0);
    cr_expect_eq(tlshm_tier_unset(s->space.t, "free"), -TLSHM_ENOENT);
    cr_expect_eq(left("agent:0"), INT64_MAX, "back to the default, which is none");
    cr_expect_eq(tlshm_scope_tier_set(s->space.t, "agent:9", 0, "free"), -TLSHM_ENOENT);
}

Test(configuration, new_tier_starts_with_nothing_whatever_the_first_level_follows)
{
    const tlshm_limit limit = limit_of("concurrency 5");
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = 0;
    set_tier("base", "tokens 1M per 1h");
    cr_assert_eq(tlshm_default_set(s->space.t, "global", "base"), 0);
    for (unsigned turn = 0; turn < 2; turn++) { /* a new one, then one that was unset */
        cr_assert_eq(tlshm_tier_limit_set(s->space.t, "pro", &limit), 0);
        cr_assert_eq(tlshm_tier_get(s->space.t, "pro", limits, &count), 0);
        cr_expect_eq(count, 1);
        cr_expect_eq(limits[0].unit, TLSHM_CONCURRENCY);
        cr_assert_eq(tlshm_tier_unset(s->space.t, "pro"), 0);
    }
}

Test(configuration, tier_that_cannot_be_made_is_none)
{
    const tlshm_limit limit = limit_of("concurrency 5");
    tlshm_segment_info info;
    char key[16];
    unsigned cursor = 0;
    char name[TLSHM_NAME_MAX + 1];
    int rc = 0;
    for (unsigned i = 0; rc == 0; i++) { /* until no list is left */
        snprintf(key, sizeof key, "user:%u", i);
        rc = tlshm_limit_set(s->space.t, key, 0, &limit);
    }
    cr_assert_eq(tlshm_tier_set(s->space.t, "pro", &limit, 1), -TLSHM_ENOROOM);
    cr_expect_eq(tlshm_tier_next(s->space.t, &cursor, name), 0);
    cr_expect_eq(tlshm_default_set(s->space.t, "user", "pro"), -TLSHM_ENOENT);
    cr_assert_eq(tlshm_get_segment(s->space.t, &info), 0);
    cr_expect_eq(info.tiers, 0);
}

Test(configuration, one_limit_on_top_of_a_tier_starts_from_its_copy)
{
    tlshm_limit limits[2] = {limit_of("tokens 100 per 1h"), limit_of("concurrency 3")};
    cr_assert_eq(tlshm_tier_set(s->space.t, "free", limits, 2), 0);
    cr_assert_eq(tlshm_scope_tier_set(s->space.t, "agent:a", 0, "free"), 0);
    set_limit("agent:a", "tokens 500 per 1h");
    tlshm_scope_usage usage = space_usage(&s->space, "agent:a");
    cr_expect_eq(usage.limit_count, 2);
    cr_expect_eq(usage.source, TLSHM_LIMITS_OWN);
    set_tier("free", "tokens 1 per 1h");
    cr_expect_eq(left("agent:a"), 500, "the copy does not follow the tier any more");
}

Test(configuration, list_of_limits_changes_as_one)
{
    tlshm_limit nine[TLSHM_LIMITS_MAX + 1];
    tlshm_scope_usage usage;
    for (unsigned i = 0; i <= TLSHM_LIMITS_MAX; i++) {
        nine[i] = limit_of("tokens 5 per 1h");
        nine[i].window.length_ns = HOUR(1 + i);
    }
    cr_expect_eq(tlshm_scope_limits_set(s->space.t, "agent:a", 0, nine, TLSHM_LIMITS_MAX), 0);
    cr_expect_lt(tlshm_scope_limits_set(s->space.t, "agent:a", 0, nine, TLSHM_LIMITS_MAX + 1), 0);
    cr_expect_eq(tlshm_limit_set(s->space.t, "agent:a", 0, &nine[TLSHM_LIMITS_MAX]), -TLSHM_ENOROOM);
    usage = space_usage(&s->space, "agent:a");
    cr_expect_eq(usage.limit_count, TLSHM_LIMITS_MAX);
    nine[1].window.slices = 9999;
    cr_expect_lt(tlshm_scope_limits_set(s->space.t, "agent:a", 0, nine, 2), 0, "a bad limit");
    cr_expect_eq(space_usage(&s->space, "agent:a").limit_count, TLSHM_LIMITS_MAX, "all or nothing");
    cr_expect_eq(tlshm_scope_limits_set(s->space.t, "agent:a", 0, NULL, 0), 0);
    usage = space_usage(&s->space, "agent:a");
    cr_expect_eq(usage.limit_count, 0);
    cr_expect_eq(usage.source, TLSHM_LIMITS_OWN, "unlimited on purpose");
}

Test(configuration, senseless_limits_are_errors)
{
    tlshm_limit good = limit_of("tokens 5 per 1h"), bad;
    bad = good, bad.unit = TLSHM_UNITS;
    cr_expect_lt(tlshm_limit_set(s->space.t, "agent:a", 0, &bad), 0, "no such unit");
    bad = good, bad.window.kind = (enum tlshm_window_kind)7;
    cr_expect_lt(tlshm_limit_set(s->space.t, "agent:a", 0, &bad), 0, "no such window");
    bad = good, bad.window.length_ns = 0;
    cr_expect_lt(tlshm_limit_set(s->space.t, "agent:a", 0, &bad), 0, "no length");
    bad = good, bad.window.kind = TLSHM_WINDOW_NONE;
    cr_expect_lt(tlshm_limit_set(s->space.t, "agent:a", 0, &bad), 0, "tokens without a window");
    bad = good, bad.unit = TLSHM_CONCURRENCY;
    cr_expect_lt(tlshm_limit_set(s->space.t, "agent:a", 0, &bad), 0, "concurrency over a window");
    bad = limit_of("tokens 5 per day"), strcpy(bad.window.zone, "Nowhere/Land");
    cr_expect_eq(tlshm_limit_set(s->space.t, "agent:a", 0, &bad), -TLSHM_EZONE);
    bad = limit_of("tokens 5 per month"), bad.window.anchor = 32;
    cr_expect_lt(tlshm_limit_set(s->space.t, "agent:a", 0, &bad), 0, "no such day");
    cr_expect_eq(space_usage(&s->space, "agent:a").limit_count, 0);
}

Test(configuration, invented_ids_neither_evict_nor_evade)
{
    enum { SLOTS = 64, INVENTED = 20000 };
    tlshm_geometry g = space_geometry();
    struct space small;
    struct ask a;
    tlshm_id id = 0;
    char scopes[64];
    unsigned full = 0, limited = 0, admitted = 0;
    g.scopes = SLOTS;
    space_open(&small, &g);
    space_limits(&small, "tenant:t", "tokens 50 per 1h");
    cr_assert_eq(tlshm_reserve(small.t, ask_for(&a, "agent:real", "tokens=7"), &id, NULL), TLSHM_OK);
    for (unsigned i = 0; i < INVENTED; i++) {
        tlshm_refusal why;
        snprintf(scopes, sizeof scopes, "agent:%u tenant:t", i);
        int rc = tlshm_reserve(small.t, ask_for(&a, scopes, "tokens=1"), &id, &why);
        cr_assert_geq(rc, 0, "%s", tlshm_error_name(rc));
        admitted += rc == TLSHM_OK ? 1 : 0;
        full += rc == TLSHM_REFUSED && why.reason == TLSHM_FULL ? 1 : 0;
        limited += rc == TLSHM_REFUSED && why.reason == TLSHM_LIMIT ? 1 : 0;
    }
    cr_expect_leq(admitted, 50, "the tenant's limit holds");
    cr_expect_eq(admitted + full + limited, INVENTED);
    cr_expect_eq(space_usage(&small, "agent:real").held[TLSHM_TOKENS], 7, "what is in use stays");
    cr_expect_eq(space_usage(&small, "tenant:t").held[TLSHM_TOKENS], admitted);
    cr_expect_eq(space_usage(&small, "agent:0").held[TLSHM_TOKENS], 1);
    cr_expect_eq(tlshm_verify(small.t, NULL, NULL, NULL), 0);
    space_close(&small);
}

Test(configuration, full_scope_table_is_an_answer)
{
    enum { SLOTS = 64 };
    tlshm_geometry g = space_geometry();
    struct space small;
    struct ask a;
    tlshm_id id = 0;
    tlshm_refusal why = {.reason = TLSHM_ADMITTED};
    char key[32];
    unsigned admitted = 0;
    int rc = TLSHM_OK;
    g.scopes = SLOTS;
    space_open(&small, &g);
    for (; admitted < 2 * SLOTS; admitted++) {
        snprintf(key, sizeof key, "agent:%u", admitted);
        rc = tlshm_reserve(small.t, ask_for(&a, key, "tokens=1"), &id, &why);
        if (rc != TLSHM_OK)
            break;
    }
    cr_expect_eq(rc, TLSHM_REFUSED);
    cr_expect_eq(why.reason, TLSHM_FULL);
    cr_expect_eq(admitted, SLOTS);
    cr_expect_eq(tlshm_reserve(small.t, ask_for(&a, "agent:3", "tokens=1"), &id, NULL), TLSHM_OK, "who is in stays in");
    space_close(&small);
}

Test(configuration, full_reservation_table_is_an_answer_until_holds_end)
{
    tlshm_geometry g = space_geometry();
    struct space small;
    struct ask a;
    tlshm_id id = 0;
    tlshm_refusal why = {.reason = TLSHM_ADMITTED};
    unsigned admitted = 0;
    g.reservations = 64;
    g.retention_ns = SEC(1);
    space_open(&small, &g);
    while (admitted < 200 && tlshm_reserve(small.t, ask_for(&a, "agent:a", "tokens=1"), &id, &why) == TLSHM_OK)
        admitted++;
    cr_expect_eq(admitted, 64);
    cr_expect_eq(why.reason, TLSHM_FULL);
    cr_expect_eq(tlshm_refund(small.t, id, NULL), TLSHM_OK);
    cr_expect_eq(tlshm_reserve(small.t, ask_for(&a, "agent:a", "tokens=1"), &id, &why), TLSHM_OK);
    space_at(&small, SEC(301));
    for (unsigned i = 0; i < 64; i++)
        cr_expect_eq(tlshm_reserve(small.t, ask_for(&a, "agent:a", "tokens=1"), &id, &why), TLSHM_OK, "%u", i);
    space_close(&small);
}

Test(configuration, pause_and_shutoff_stop_new_calls_and_nothing_else)
{
    static const enum tlshm_reason reasons[] = {TLSHM_PAUSED, TLSHM_SHUTOFF, TLSHM_PAUSED, TLSHM_SHUTOFF};
    for (unsigned flag = 0; flag < 4; flag++)
        for (int on = 1; on >= 0; on--) {
            tlshm_id ids[3];
            for (unsigned i = 0; i < 3 && on; i++)
                ids[i] = stage_reserve(s, "agent:a tenant:t", "tokens=10");
            int rc = flag == 0   ? tlshm_pause(s->space.t, on)
                     : flag == 1 ? tlshm_shutoff(s->space.t, on)
                     : flag == 2 ? tlshm_scope_pause(s->space.t, "tenant:t", 0, on)
                                 : tlshm_scope_shutoff(s->space.t, "tenant:t", 0, on);
            cr_assert_eq(rc, 0);
            tlshm_id id = stage_reserve(s, "agent:a tenant:t", "tokens=1");
            cr_assert_eq(id == 0, on != 0);
            if (!on)
                continue;
            cr_expect_eq(s->why.reason, reasons[flag]);
            cr_expect_eq(s->why.retry_after_ns, TLSHM_NEVER);
            cr_expect_eq(s->why.scope, flag < 2 ? UINT32_MAX : 1);
            cr_expect_eq(stage_extend(s, ids[0], "tokens=1", 0), TLSHM_REFUSED);
            cr_expect_eq(stage_extend(s, ids[0], NULL, SEC(400)), TLSHM_OK);
            cr_expect_eq(stage_settle(s, ids[0], "tokens=9"), TLSHM_OK);
            cr_expect_eq(stage_refund(s, ids[1]), TLSHM_OK);
            cr_expect_eq(stage_reserve(s, "agent:a user:u", "tokens=1") != 0, flag >= 2, "others go on");
            tlshm_scope_usage usage = space_usage(&s->space, "tenant:t");
            cr_expect_eq(usage.paused != 0, flag == 2);
            cr_expect_eq(usage.shutoff != 0, flag == 3);
        }
}

/* A verdict is 0 or above, an error below: nobody can take one for the other, and no error admits. */
Test(configuration, refusals_and_errors_have_nothing_in_common)
{
    static const char *const names[] = {
#define NAME(name, number, text) #name,
        TLSHM_ERRORS(NAME)
#undef NAME
    };
    cr_expect_geq(TLSHM_REFUSED, 0);
    cr_expect_geq(TLSHM_ENDED, 0);
    for (int code = 1; code < TLSHM_ERRORS_END; code++) {
        cr_expect_str_eq(tlshm_error_name(-code), names[code - 1]);
        cr_expect_gt(strlen(tlshm_error_text(-code)), 3u);
        for (int other = 1; other < code; other++)
            cr_expect_str_neq(tlshm_error_text(-code), tlshm_error_text(-other));
    }
    cr_expect_str_eq(tlshm_error_name(0), "OK");
    cr_expect_str_eq(tlshm_error_name(TLSHM_REFUSED), "OK");
    cr_expect_str_eq(tlshm_error_name(-9999), "E?");
    for (int i = 0; i < TLSHM_REASONS; i++)
        cr_expect_str_neq(tlshm_reason_name(i), "?");
    cr_expect_str_eq(tlshm_reason_name(TLSHM_REASONS), "?");
    cr_expect_str_eq(tlshm_unit_name(-1), "?");
    cr_expect_str_eq(tlshm_unit_name(TLSHM_UNITS), "?");
    cr_expect_str_eq(tlshm_status_name(0), "?");
}

Test(configuration, levels_can_be_added_but_not_twice)
{
    cr_expect_eq(tlshm_level_add(s->space.t, "team", 3), 0);
    cr_expect_eq(tlshm_level_add(s->space.t, "team", 3), -TLSHM_EEXIST);
    cr_expect_eq(tlshm_level_add(s->space.t, "agent", 3), -TLSHM_EEXIST);
    cr_expect_eq(tlshm_level_add(s->space.t, "", 3), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_level_add(s->space.t, "a:b", 3), -TLSHM_EINVAL);
    cr_expect(stage_reserve(s, "team:x agent:a", "tokens=1"));
    cr_expect_eq(tlshm_default_set(s->space.t, "squad", NULL), -TLSHM_ELEVEL);
    unsigned cursor = 0, rank = 0, seen = 0;
    char name[TLSHM_NAME_MAX + 1], tier[TLSHM_NAME_MAX + 1];
    while (tlshm_level_next(s->space.t, &cursor, name, &rank, tier) == 1)
        seen += strcmp(name, "team") == 0 || strcmp(name, "global") == 0 || strcmp(name, "tenant") == 0 ? 1 : 0;
    cr_expect_eq(seen, 3);
    int rc = 0;
    for (unsigned i = 0; i < 20 && rc == 0; i++) {
        snprintf(name, sizeof name, "more%u", i);
        rc = tlshm_level_add(s->space.t, name, 9);
    }
    cr_expect_eq(rc, -TLSHM_ENOROOM);
}

Test(configuration, looking_needs_and_changes_nothing)
{
    tlshm_t *reader = NULL;
    struct ask a;
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=5"), other = 0;
    tlshm_amounts one = {{1}};
    tlshm_handle handle = 0;
    int64_t rest = 0;
    tlshm_segment_info info;
    space_limits(&s->space, "agent:a", "tokens 50 per 1h");
    cr_assert_eq(tlshm_attach(&reader, s->space.path, TLSHM_READONLY, NULL), 0);
    cr_expect_eq(tlshm_remaining(reader, "agent:a", 0, TLSHM_TOKENS, &rest), 0);
    cr_expect_eq(rest, 45);
    cr_expect_eq(tlshm_get_segment(reader, &info), 0);
    cr_expect_eq(info.reservations_held, 1);
    cr_expect_eq(tlshm_verify(reader, NULL, NULL, NULL), 0);
    cr_expect_eq(tlshm_reserve(reader, ask_for(&a, "agent:a", "tokens=1"), &other, NULL), -TLSHM_EREADONLY);
    cr_expect_eq(tlshm_settle(reader, id, &one, TLSHM_EXACT, NULL), -TLSHM_EREADONLY);
    cr_expect_eq(tlshm_refund(reader, id, NULL), -TLSHM_EREADONLY);
    cr_expect_eq(tlshm_extend(reader, id, NULL, SEC(1), NULL), -TLSHM_EREADONLY);
    cr_expect_eq(tlshm_resolve(reader, "agent:new", 0, &handle), -TLSHM_EREADONLY);
    cr_expect_eq(tlshm_pause(reader, 1), -TLSHM_EREADONLY);
    cr_expect_eq(tlshm_reap(reader, NULL), -TLSHM_EREADONLY);
    cr_expect_eq(tlshm_scope_limits_set(reader, "agent:a", 0, NULL, 0), -TLSHM_EREADONLY);
    tlshm_detach(reader);
    stage_check(s);
}
