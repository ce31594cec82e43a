/* SPDX-License-Identifier: MIT */
/* once.c - whatever is repeated happens once: settles, refunds, and reserves with an idempotency key. */
#include "stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
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

TestSuite(once, .init = open_stage, .fini = close_stage, .timeout = 120);

Test(once, repeated_settle_reports_the_first_whatever_it_carries)
{
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=100 cost=7");
    stage_settle(s, id, "tokens=80 cost=6");
    for (unsigned i = 0; i < 3; i++) {
        cr_expect_eq(stage_settle(s, id, "tokens=5000"), TLSHM_REPLAY);
        cr_expect_eq(s->result.status, TLSHM_SETTLED);
        cr_expect_eq(s->result.charged.of[TLSHM_TOKENS], 80);
        cr_expect_eq(s->result.charged.of[TLSHM_COST], 6);
        cr_expect_eq(s->result.charged.of[TLSHM_REQUESTS], 1);
    }
    cr_expect_eq(space_usage(&s->space, "agent:a").used[TLSHM_TOKENS], 80);
}

/* Every second call on a reservation, after every way in which it can have ended. */
Test(once, reservation_ends_once)
{
    static const struct {
        enum tlshm_status first;
        int settle, refund, extend;
    } cases[] = {
        {TLSHM_SETTLED, TLSHM_REPLAY, TLSHM_REPLAY, TLSHM_ENDED},
        {TLSHM_REFUNDED, TLSHM_REPLAY, TLSHM_REPLAY, TLSHM_ENDED},
        {TLSHM_EXPIRED, TLSHM_LATE, TLSHM_ENDED, TLSHM_ENDED},
    };
    for (unsigned i = 0; i < 3; i++)
        for (unsigned call = 0; call < 3; call++) {
            s->ttl_ns = SEC(1);
            tlshm_id id = stage_reserve(s, "agent:a tenant:t", "tokens=100");
            if (cases[i].first == TLSHM_SETTLED)
                stage_settle(s, id, "tokens=10");
            else if (cases[i].first == TLSHM_REFUNDED)
                stage_refund(s, id);
            else
                stage_at(s, s->space.now + SEC(1));
            if (call == 0)
                cr_expect_eq(stage_settle(s, id, "tokens=33"), cases[i].settle);
            else if (call == 1)
                cr_expect_eq(stage_refund(s, id), cases[i].refund);
            else
                cr_expect_eq(stage_extend(s, id, "tokens=1", SEC(1)), cases[i].extend);
        }
    cr_expect_eq(space_usage(&s->space, "agent:a").used[TLSHM_TOKENS], 3 * 10 + 33);
}

Test(once, settle_after_refund_charges_nothing)
{
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=100");
    stage_refund(s, id);
    cr_expect_eq(stage_settle(s, id, "tokens=100"), TLSHM_REPLAY);
    cr_expect_eq(s->result.status, TLSHM_REFUNDED);
    cr_expect_eq(s->result.charged.of[TLSHM_TOKENS], 0);
    cr_expect_eq(s->result.charged.of[TLSHM_REQUESTS], 1);
    cr_expect_eq(space_usage(&s->space, "agent:a").used[TLSHM_TOKENS], 0);
}

Test(once, refund_keeps_the_request_counted)
{
    space_limits(&s->space, "agent:a", "requests 3 per 60s");
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(stage_refund(s, stage_reserve(s, "agent:a", "tokens=1")), TLSHM_OK);
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=1"), 0, "a retry loop does not run free");
    cr_expect_eq(s->why.limit.unit, TLSHM_REQUESTS);
}

Test(once, same_key_is_the_same_hold)
{
    s->idempotency = "call-1";
    tlshm_id id = stage_reserve(s, "agent:a tenant:t", "tokens=100");
    cr_expect_eq(stage_reserve(s, "agent:a tenant:t", "tokens=100"), id);
    cr_expect_eq(s->rc, TLSHM_REPLAY);
    cr_expect_eq(stage_reserve(s, "tenant:t agent:a", "tokens=100"), id, "the order of scopes does not matter");
    cr_expect_eq(stage_reserve(s, "agent:a tenant:t", "tokens=100 requests=1"), id, "no requests counts as one");
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 100);
    cr_expect_eq(space_usage(&s->space, "agent:a").used[TLSHM_REQUESTS], 1);
    s->idempotency = "call-2";
    cr_expect_neq(stage_reserve(s, "agent:a tenant:t", "tokens=100"), id);
}

Test(once, same_key_for_something_else_is_a_mismatch)
{
    static const struct {
        const char *scopes, *amounts;
    } others[] = {
        {"agent:a tenant:t", "tokens=101"},
        {"agent:a tenant:t", "tokens=100 cost=1"},
        {"agent:b tenant:t", "tokens=100"},
        {"agent:a", "tokens=100"},
        {"agent:a tenant:t", "tokens=100 requests=2"},
        {"agent:a tenant:t user:u", "tokens=100"},
    };
    struct ask a;
    tlshm_id id = 0;
    s->idempotency = "call-1";
    stage_reserve(s, "agent:a tenant:t", "tokens=100");
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        ask_for(&a, others[i].scopes, others[i].amounts);
        a.request.idempotency_key = "call-1";
        a.request.idempotency_len = 6;
        cr_expect_eq(tlshm_reserve(s->space.t, &a.request, &id, NULL), -TLSHM_EMISMATCH, "%s %s", others[i].scopes,
                     others[i].amounts);
    }
    cr_expect_eq(id, 0);
    stage_check(s);
}

Test(once, key_is_bytes_of_a_length)
{
    struct ask a;
    static const struct {
        const void *key;
        size_t len;
    } keys[] = {{"a", 1}, {"a\0b", 3}, {"a\0c", 3}, {"\0", 1}, {"\0\0", 2}, {"ab", 2}};
    tlshm_id ids[6];
    for (unsigned i = 0; i < 6; i++) {
        ask_for(&a, "agent:a", "tokens=1");
        a.request.idempotency_key = keys[i].key;
        a.request.idempotency_len = keys[i].len;
        cr_assert_eq(tlshm_reserve(s->space.t, &a.request, &ids[i], NULL), TLSHM_OK, "key %u", i);
    }
    char longest[TLSHM_IDEMPOTENCY_MAX + 1];
    memset(longest, 'k', sizeof longest);
    a.request.idempotency_key = longest;
    a.request.idempotency_len = TLSHM_IDEMPOTENCY_MAX;
    cr_expect_eq(tlshm_reserve(s->space.t, &a.request, &ids[0], NULL), TLSHM_OK);
    a.request.idempotency_len = TLSHM_IDEMPOTENCY_MAX + 1;
    cr_expect_eq(tlshm_reserve(s->space.t, &a.request, &ids[0], NULL), -TLSHM_EINVAL);
    a.request.idempotency_len = 0;
    cr_expect_eq(tlshm_reserve(s->space.t, &a.request, &ids[0], NULL), -TLSHM_EINVAL);
}

Test(once, replay_works_when_the_budget_is_full)
{
    space_limits(&s->space, "agent:a", "tokens 100 per 1h; requests 1 per 1h; concurrency 1");
    s->idempotency = "old";
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=100");
    s->idempotency = NULL;
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=1"), 0);
    s->idempotency = "old";
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=100"), id);
    cr_expect_eq(s->rc, TLSHM_REPLAY);
}

Test(once, replay_after_the_end_books_nothing)
{
    s->idempotency = "call";
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=100");
    stage_settle(s, id, "tokens=60");
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=100"), id);
    cr_expect_eq(s->rc, TLSHM_REPLAY);
    cr_expect_eq(stage_status(s, id), TLSHM_SETTLED);
    cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 0);
}

/* A refused reserve leaves no trace of its key: the retry is a first try. */
Test(once, refused_key_is_free_again)
{
    space_limits(&s->space, "agent:a", "concurrency 1");
    tlshm_id first = stage_reserve(s, "agent:a", "tokens=1");
    s->idempotency = "retry";
    cr_assert_eq(stage_reserve(s, "agent:a", "tokens=5"), 0);
    stage_settle(s, first, "tokens=1");
    cr_expect(stage_reserve(s, "agent:a", "tokens=5"));
    cr_expect_eq(s->rc, TLSHM_OK);
}

Test(once, unknown_ids_are_unknown)
{
    static const tlshm_id ids[] = {0, 1, 12345, UINT64_MAX, UINT64_C(1) << 63};
    tlshm_amounts one = {{1}};
    tlshm_reservation_info info;
    tlshm_id real = stage_reserve(s, "agent:a", "tokens=1");
    for (unsigned i = 0; i < 5; i++) {
        cr_expect_eq(tlshm_settle(s->space.t, ids[i], &one, TLSHM_EXACT, NULL), -TLSHM_EUNKNOWN, "id %u", i);
        cr_expect_eq(tlshm_refund(s->space.t, ids[i], NULL), -TLSHM_EUNKNOWN);
        cr_expect_eq(tlshm_extend(s->space.t, ids[i], &one, 0, NULL), -TLSHM_EUNKNOWN);
        cr_expect_eq(tlshm_reservation(s->space.t, ids[i], &info), -TLSHM_EUNKNOWN);
    }
    for (unsigned bit = 0; bit < 64; bit++)
        cr_expect_eq(tlshm_refund(s->space.t, real ^ UINT64_C(1) << bit, NULL), -TLSHM_EUNKNOWN, "bit %u", bit);
    stage_check(s);
}

/* An id whose place was given to another reservation is unknown, and does that one no harm. */
Test(once, recycled_ids_are_unknown)
{
    enum { ROUNDS = 1000 };
    static tlshm_id ids[ROUNDS];
    tlshm_amounts one = {{1}};
    struct ask a;
    unsigned unknown = 0;
    tlshm_geometry g = space_geometry();
    struct space small;
    g.reservations = 64;
    space_open(&small, &g);
    for (unsigned i = 0; i < ROUNDS; i++) {
        cr_assert_eq(tlshm_reserve(small.t, ask_for(&a, "agent:a", "tokens=5"), &ids[i], NULL), TLSHM_OK);
        cr_assert_eq(tlshm_settle(small.t, ids[i], &one, TLSHM_EXACT, NULL), TLSHM_OK);
    }
    cr_assert_eq(tlshm_reserve(small.t, ask_for(&a, "agent:a", "tokens=5"), &ids[0], NULL), TLSHM_OK);
    for (unsigned i = 1; i < ROUNDS; i++) {
        int rc = tlshm_settle(small.t, ids[i], &one, TLSHM_EXACT, NULL);
        cr_assert(rc == TLSHM_REPLAY || rc == -TLSHM_EUNKNOWN, "id %u: %d", i, rc);
        unknown += rc == -TLSHM_EUNKNOWN ? 1 : 0;
    }
    cr_expect_geq(unknown, ROUNDS - 1 - 64u);
    tlshm_scope_usage usage = space_usage(&small, "agent:a");
    cr_expect_eq(usage.used[TLSHM_TOKENS], ROUNDS);
    cr_expect_eq(usage.held[TLSHM_TOKENS], 5);
    space_close(&small);
}

/* A thread that makes one call uses up one place of the table, not a block of them: ids of others stay known. */
Test(once, short_lived_threads_do_not_use_up_the_table)
{
    enum { PLACES = 1024, THREADS = 500 };
    tlshm_amounts one = {{1}};
    tlshm_id ids[THREADS];
    struct ask a;
    tlshm_geometry g = space_geometry();
    struct space wide;
    g.reservations = PLACES;
    space_open(&wide, &g);
    for (unsigned i = 0; i < THREADS; i++) {
        tlshm_thread_release(wide.t); /* what follows is a new thread to the segment */
        cr_assert_eq(tlshm_reserve(wide.t, ask_for(&a, "agent:a", "tokens=5"), &ids[i], NULL), TLSHM_OK);
        cr_assert_eq(tlshm_settle(wide.t, ids[i], &one, TLSHM_EXACT, NULL), TLSHM_OK);
    }
    for (unsigned i = 0; i < THREADS; i++)
        cr_assert_eq(tlshm_settle(wide.t, ids[i], &one, TLSHM_EXACT, NULL), TLSHM_REPLAY, "id %u", i);
    space_close(&wide);
}
