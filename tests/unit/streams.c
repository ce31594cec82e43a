/* SPDX-License-Identifier: MIT */
/* streams.c - calls that end badly or take longer than thought: what is charged, and how a stream is topped up or cut. */
#include "stage.h"

#include <criterion/criterion.h>
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

TestSuite(streams, .init = open_stage, .fini = close_stage, .timeout = 120);

/* Keeps an overrun of up to a tenth, forgives the rest. */
static uint64_t tenth(void *context, enum tlshm_unit unit, uint64_t estimate, uint64_t actual)
{
    uint64_t most = estimate + estimate / *(const uint64_t *)context;
    return unit == TLSHM_TOKENS && actual > most ? most : actual;
}

Test(streams, charge_follows_the_outcome_and_the_policy)
{
    static const uint64_t ten = 10;
    static const struct {
        enum tlshm_outcome outcome;
        unsigned actual, charged[3]; /* by policy: actual, capped, the function */
    } cases[] = {
        {TLSHM_EXACT, 700, {700, 700, 700}},       {TLSHM_EXACT, 0, {0, 0, 0}},
        {TLSHM_EXACT, 1000, {1000, 1000, 1000}},   {TLSHM_EXACT, 1500, {1500, 1000, 1100}},
        {TLSHM_UNKNOWN, 0, {1000, 1000, 1000}},    {TLSHM_UNKNOWN, 5000, {1000, 1000, 1000}},
        {TLSHM_AT_LEAST, 300, {1000, 1000, 1000}}, {TLSHM_AT_LEAST, 1500, {1500, 1000, 1100}},
    };
    for (unsigned policy = 0; policy < 3; policy++) {
        cr_assert_eq(tlshm_overrun_set(s->space.t, policy == 1 ? TLSHM_CAP_AT_ESTIMATE : TLSHM_CHARGE_ACTUAL), 0);
        cr_assert_eq(tlshm_overrun_function_set(s->space.t, policy == 2 ? tenth : NULL, (void *)(uintptr_t)&ten), 0);
        for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            char amounts[32];
            snprintf(amounts, sizeof amounts, "tokens=%u", cases[i].actual);
            tlshm_id id = stage_reserve(s, "agent:a tenant:t", "tokens=1000");
            cr_assert_eq(stage_settle_as(s, id, amounts, cases[i].outcome), TLSHM_OK);
            cr_expect_eq(s->result.charged.of[TLSHM_TOKENS], cases[i].charged[policy], "policy %u case %u", policy, i);
        }
    }
}

Test(streams, nothing_known_charges_the_estimate)
{
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=1000 cost=50 tool_calls=3");
    cr_assert_eq(stage_settle(s, id, NULL), TLSHM_OK);
    cr_expect_eq(s->result.charged.of[TLSHM_TOKENS], 1000);
    cr_expect_eq(s->result.charged.of[TLSHM_COST], 50);
    cr_expect_eq(s->result.charged.of[TLSHM_TOOL_CALLS], 3);
}

Test(streams, exact_outcome_needs_its_amounts)
{
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=1000");
    cr_expect_eq(tlshm_settle(s->space.t, id, NULL, TLSHM_EXACT, NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_settle(s->space.t, id, NULL, TLSHM_AT_LEAST, NULL), -TLSHM_EINVAL);
    tlshm_amounts one = {{1}};
    cr_expect_eq(tlshm_settle(s->space.t, id, &one, (enum tlshm_outcome)9, NULL), -TLSHM_EINVAL);
    cr_expect_eq(stage_status(s, id), TLSHM_HELD);
}

/* A stream reserves as it goes; what it holds only grows, and its end is charged once. */
Test(streams, progress_is_monotone_and_the_end_is_charged_once)
{
    space_limits(&s->space, "agent:a", "tokens 1000 per 1h");
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=100");
    for (unsigned chunk = 1; chunk <= 9; chunk++) {
        cr_assert_eq(stage_extend(s, id, "tokens=100", 0), TLSHM_OK);
        cr_expect_eq(space_usage(&s->space, "agent:a").held[TLSHM_TOKENS], 100 * (chunk + 1));
    }
    cr_assert_eq(stage_settle_as(s, id, "tokens=950", TLSHM_AT_LEAST), TLSHM_OK);
    cr_expect_eq(s->result.charged.of[TLSHM_TOKENS], 1000);
}

Test(streams, runaway_is_cut_and_stands_as_it_was)
{
    space_limits(&s->space, "agent:a", "tokens 1000 per 1h; cost $1 per 1h");
    tlshm_id id = stage_reserve(s, "agent:a tenant:t", "tokens=900 cost=5");
    cr_assert_eq(stage_extend(s, id, "tokens=101 cost=1", SEC(1000)), TLSHM_REFUSED);
    cr_expect_str_eq(s->why.key, "agent:a");
    cr_expect_eq(s->why.requested, 101);
    cr_expect_eq(s->why.held, 900);
    cr_expect_eq(s->why.remaining, 100);
    tlshm_reservation_info info;
    cr_assert_eq(tlshm_reservation(s->space.t, id, &info), 0);
    cr_expect_eq(info.estimate.of[TLSHM_TOKENS], 900);
    cr_expect_eq(info.estimate.of[TLSHM_COST], 5);
    cr_expect_eq(info.expires_in_ns, TLSHM_TTL_DEFAULT_NS, "not the time either");
    cr_expect_eq(stage_extend(s, id, "tokens=100", 0), TLSHM_OK);
}

Test(streams, only_amounts_can_be_added)
{
    tlshm_id id = stage_reserve(s, "agent:a", "tokens=1");
    tlshm_amounts more = amounts_of("requests=1");
    cr_expect_eq(tlshm_extend(s->space.t, id, &more, 0, NULL), -TLSHM_EINVAL);
    more = amounts_of("concurrency=1 tokens=1");
    cr_expect_eq(tlshm_extend(s->space.t, id, &more, 0, NULL), -TLSHM_EINVAL);
}

/* Units next to each other must not be taken for each other, whichever way they are mixed. */
Test(streams, units_are_not_mixed_up)
{
    static const char *const estimates[] = {"tokens=150",       "cost=150",          "requests=3",
                                            "input_tokens=150", "output_tokens=150", "tool_calls=150"};
    static const enum tlshm_unit units[] = {TLSHM_TOKENS,       TLSHM_COST,          TLSHM_REQUESTS,
                                            TLSHM_INPUT_TOKENS, TLSHM_OUTPUT_TOKENS, TLSHM_TOOL_CALLS};
    for (unsigned i = 0; i < 6; i++) {
        char key[16];
        snprintf(key, sizeof key, "agent:%u", i);
        tlshm_id id = stage_reserve(s, key, estimates[i]);
        cr_expect_eq(space_usage(&s->space, key).held[TLSHM_CONCURRENCY], 1);
        stage_settle(s, id, NULL);
        tlshm_scope_usage usage = space_usage(&s->space, key);
        for (unsigned u = 0; u < TLSHM_UNITS; u++) {
            uint64_t expected = u == units[i] ? (u == TLSHM_REQUESTS ? 3 : 150) : u == TLSHM_REQUESTS ? 1 : 0;
            cr_expect_eq(usage.used[u], expected, "%s: %s", estimates[i], tlshm_unit_name((int)u));
            cr_expect_eq(usage.held[u], 0, "%s: %s", estimates[i], tlshm_unit_name((int)u));
        }
    }
}

/* A fallback to a paid model is a reserve of its own, and meets the cost limit there. */
Test(streams, fallback_to_a_paid_model_is_asked_for)
{
    space_limits(&s->space, "tenant:t", "cost $1 per month");
    stage_settle(s, stage_reserve(s, "agent:a tenant:t", "cost=1000000000"), "cost=1000000000");
    tlshm_id free_call = stage_reserve(s, "agent:a tenant:t", "tokens=500");
    cr_assert(free_call, "a free call is not stopped by a cost limit");
    cr_assert_eq(stage_refund(s, free_call), TLSHM_OK);
    cr_expect_eq(stage_reserve(s, "agent:a tenant:t", "tokens=500 cost=1"), 0);
    cr_expect_eq(s->why.limit.unit, TLSHM_COST);
    cr_expect_eq(stage_extend(s, stage_reserve(s, "agent:a tenant:t", "tokens=5"), "cost=1", 0), TLSHM_REFUSED);
}
