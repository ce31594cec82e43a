/* SPDX-License-Identifier: MIT */
/* leaks.c - holds that nobody ends: each is gone at its own deadline, and not before. */
#include "stage.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

static struct stage *s;

static void open_stage(void)
{
    s = stage_open(NULL);
}

static void close_stage(void)
{
    stage_close(s);
}

TestSuite(leaks, .init = open_stage, .fini = close_stage, .timeout = 120);

Test(leaks, refund_after_a_failed_call_frees_the_slot)
{
    space_limits(&s->space, "agent:a", "concurrency 1");
    for (unsigned i = 0; i < 5; i++) {
        tlshm_id id = stage_reserve(s, "agent:a", "tokens=1");
        cr_assert(id);
        cr_assert_eq(stage_refund(s, id), TLSHM_OK);
    }
}

Test(leaks, abandoned_holds_go_at_their_deadline)
{
    space_limits(&s->space, "agent:a", "concurrency 10");
    s->ttl_ns = SEC(30);
    for (unsigned i = 0; i < 10; i++)
        cr_assert(stage_reserve(s, "agent:a", "tokens=1"));
    stage_at(s, SEC(29));
    cr_assert_eq(stage_reserve(s, "agent:a", "tokens=1"), 0);
    cr_expect_eq(s->why.retry_after_ns, SEC(1));
    stage_retry(s, "agent:a", "tokens=1");
}

Test(leaks, traffic_does_not_keep_a_leaked_hold_alive)
{
    s->ttl_ns = SEC(60);
    cr_assert(stage_reserve(s, "agent:a", "tokens=1000"));
    for (unsigned t = 1; t < 60; t++) {
        stage_at(s, SEC(t));
        cr_assert_eq(stage_settle(s, stage_reserve(s, "agent:a", "tokens=1"), "tokens=1"), TLSHM_OK);
        cr_assert_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 1000);
    }
    stage_at(s, SEC(60));
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 0);
}

Test(leaks, window_that_rolls_orphans_no_hold)
{
    space_limits(&s->space, "agent:a", "tokens 100 per 60s; tokens 1000 per day");
    s->ttl_ns = SEC(200);
    stage_reserve(s, "agent:a", "tokens=80");
    stage_at(s, SEC(150));
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=30"), 0, "the hold outlives the window");
    cr_expect_eq(s->why.held, 80);
    stage_at(s, SEC(200));
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 0);
    cr_expect(stage_reserve(s, "agent:a", "tokens=100"));
}

Test(leaks, hold_without_an_end_is_refused)
{
    struct ask a;
    tlshm_id id = 0;
    ask_for(&a, "agent:a", "tokens=1");
    a.request.ttl_ns = 0;
    cr_expect_eq(tlshm_reserve(s->space.t, &a.request, &id, NULL), -TLSHM_EINVAL);
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 0);
}

Test(leaks, stream_keeps_its_slot_until_it_is_settled)
{
    space_limits(&s->space, "agent:a", "concurrency 2");
    tlshm_id first = stage_reserve(s, "agent:a", "tokens=1");
    stage_reserve(s, "agent:a", "tokens=1");
    for (unsigned t = 0; t < 60; t += 10) {
        stage_at(s, SEC(t));
        cr_assert_eq(stage_reserve(s, "agent:a", "tokens=1"), 0, "at %u s", t);
    }
    stage_settle(s, first, "tokens=1");
    cr_expect(stage_reserve(s, "agent:a", "tokens=1"));
}

Test(leaks, extended_hold_lives_as_long_as_its_work)
{
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=100");
    for (unsigned t = 100; t <= 600; t += 100) {
        stage_at(s, SEC(t));
        cr_assert_eq(stage_extend(s, id, NULL, SEC(300)), TLSHM_OK);
        cr_assert_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 100);
    }
    cr_expect_eq(stage_settle(s, id, "tokens=90"), TLSHM_OK);
}

Test(leaks, expired_is_not_forgotten)
{
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=100");
    stage_at(s, SEC(600));
    cr_expect_eq(stage_status(s, id), TLSHM_EXPIRED);
    cr_expect_eq(stage_settle(s, id, "tokens=90"), TLSHM_LATE);
    cr_expect_eq(space_usage(&s->space, "agent:a").used[TLSHM_TOKENS], 90);
}

Test(leaks, late_settle_charges_once_and_frees_nobody_elses_hold)
{
    s->ttl_ns = SEC(5);
    tlshm_id late = stage_reserve(s, "agent:a tenant:t", "tokens=100");
    stage_at(s, SEC(4));
    s->ttl_ns = SEC(60);
    stage_reserve(s, "agent:a tenant:t", "tokens=40");
    stage_at(s, SEC(7));
    cr_expect_eq(stage_settle(s, late, "tokens=80"), TLSHM_LATE);
    cr_expect_eq(space_usage(&s->space, "agent:a").used[TLSHM_TOKENS], 80);
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 40);
    cr_expect_eq(stage_settle(s, late, "tokens=80"), TLSHM_REPLAY);
    cr_expect_eq(space_usage(&s->space, "tenant:t").used[TLSHM_TOKENS], 80);
}

Test(leaks, expired_hold_is_not_resurrected)
{
    s->ttl_ns = SEC(5);
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=100");
    stage_at(s, SEC(5));
    cr_expect_eq(stage_extend(s, id, NULL, SEC(300)), TLSHM_ENDED);
    cr_expect_eq(stage_extend(s, id, "tokens=10", 0), TLSHM_ENDED);
    cr_expect_eq(stage_refund(s, id), TLSHM_ENDED);
    cr_expect_eq(stage_status(s, id), TLSHM_EXPIRED);
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 0);
}

/* The deadline is the first instant at which the hold is over, whoever looks. */
Test(leaks, deadline_is_exact)
{
    space_limits(&s->space, "agent:a", "tokens 100 per 1h");
    s->ttl_ns = SEC(5) + 1;
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=100");
    stage_at(s, SEC(5));
    cr_expect_eq(stage_status(s, id), TLSHM_HELD);
    cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), 0);
    stage_at(s, SEC(5) + 1);
    cr_expect_eq(stage_status(s, id), TLSHM_EXPIRED);
    cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_TOKENS), 100);
    cr_expect(stage_reserve(s, "agent:a", "tokens=100"));
}

Test(leaks, extending_never_shortens)
{
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=1");
    cr_expect_eq(stage_extend(s, id, NULL, SEC(10)), TLSHM_OK);
    stage_at(s, SEC(299));
    cr_expect_eq(stage_status(s, id), TLSHM_HELD);
    stage_at(s, SEC(300));
    cr_expect_eq(stage_status(s, id), TLSHM_EXPIRED);
}

Test(leaks, reaper_expires_what_is_due_and_says_when_the_next_is)
{
    tlshm_reap_report report;
    for (unsigned i = 1; i <= 8; i++) {
        s->ttl_ns = SEC(10 * i);
        stage_reserve(s, i % 2 != 0 ? "agent:a tenant:t" : "agent:b tenant:t", "tokens=5");
    }
    stage_at(s, SEC(35));
    cr_assert_eq(tlshm_reap(s->space.t, &report), 0);
    cr_expect_eq(report.expired, 3);
    cr_expect_eq(report.lag_max_ns, SEC(25));
    cr_expect_eq(report.live, 5);
    cr_expect_eq(report.next_due_ns, SEC(5));
    stage_check(s);
    cr_assert_eq(tlshm_reap(s->space.t, &report), 0);
    cr_expect_eq(report.expired, 0);
    stage_at(s, SEC(80));
    cr_assert_eq(tlshm_reap(s->space.t, &report), 0);
    cr_expect_eq(report.expired, 5);
    cr_expect_eq(report.next_due_ns, TLSHM_NEVER);
    stage_check(s);
}

/* Whoever needs the room makes it: no reaper ever runs here. */
Test(leaks, overdue_holds_stand_in_nobodys_way)
{
    space_limits(&s->space, "tenant:t", "tokens 100 per 1h; concurrency 10");
    s->ttl_ns = SEC(1);
    for (unsigned round = 0; round < 50; round++) {
        char scopes[48];
        for (unsigned i = 0; i < 10; i++) {
            snprintf(scopes, sizeof scopes, "agent:%u tenant:t", i);
            cr_assert(stage_reserve(s, scopes, "tokens=10"), "round %u", round);
        }
        stage_at(s, SEC(round + 1));
    }
    cr_expect_eq(space_usage(&s->space, "tenant:t").held[TLSHM_TOKENS], 0);
}
