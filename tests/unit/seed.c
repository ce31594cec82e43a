/* SPDX-License-Identifier: MIT */
/* seed.c - the worked example that the design started from: reserve, settle, refund, expiry and late settle, by figure. */
#include "stage.h"

#include <criterion/criterion.h>

static struct stage *s;

static void open_stage(void)
{
    tlshm_limit agent = limit_of("tokens 1000 per 1h"), tenant = limit_of("tokens 1500 per 1h");
    s = stage_open(NULL);
    cr_assert_eq(tlshm_tier_set(s->space.t, "agents", &agent, 1), 0);
    cr_assert_eq(tlshm_tier_set(s->space.t, "tenants", &tenant, 1), 0);
    cr_assert_eq(tlshm_default_set(s->space.t, "agent", "agents"), 0);
    cr_assert_eq(tlshm_default_set(s->space.t, "tenant", "tenants"), 0);
}

static void close_stage(void)
{
    stage_close(s);
}

TestSuite(seed, .init = open_stage, .fini = close_stage, .timeout = 120);

static void left(const char *key, int64_t expected)
{
    cr_assert_eq(space_remaining(&s->space, key, TLSHM_TOKENS), expected, "%s: %lld, not %lld", key,
                 (long long)space_remaining(&s->space, key, TLSHM_TOKENS), (long long)expected);
}

Test(seed, worked_example_figure_for_figure)
{
    tlshm_id r1 = stage_reserve(s, "agent:a1 tenant:t", "tokens=1000");
    cr_assert(r1);
    left("agent:a1", 0);
    left("tenant:t", 500);

    cr_assert_eq(stage_reserve(s, "agent:a2 tenant:t", "tokens=600"), 0, "the agent has room, the tenant has not");
    cr_assert_str_eq(s->why.key, "tenant:t");
    cr_assert_eq(s->why.reason, TLSHM_LIMIT);
    left("agent:a2", 1000);

    cr_assert_eq(stage_settle(s, r1, "tokens=700"), TLSHM_OK);
    cr_assert_eq(stage_settle(s, r1, "tokens=700"), TLSHM_REPLAY);
    left("agent:a1", 300);
    left("tenant:t", 800);

    tlshm_id r2 = stage_reserve(s, "agent:a1 tenant:t", "tokens=100");
    cr_assert_eq(stage_refund(s, r2), TLSHM_OK);
    cr_assert_eq(stage_refund(s, r2), TLSHM_REPLAY);
    left("agent:a1", 300);

    tlshm_id r3 = stage_reserve(s, "agent:a1 tenant:t", "tokens=200");
    stage_at(s, SEC(301));
    left("agent:a1", 300);
    cr_assert_eq(stage_settle(s, r3, "tokens=50"), TLSHM_LATE);
    left("agent:a1", 250);

    stage_at(s, SEC(4000));
    left("agent:a1", 1000);
}

/* The short call does the same as the long one. */
Test(seed, agent_and_tenant_by_name)
{
    tlshm_id id = 0;
    tlshm_refusal why;
    cr_assert_eq(tlshm_reserve_agent(s->space.t, "a1", "t", 1000, 0, &id, &why), TLSHM_OK);
    left("agent:a1", 0);
    left("tenant:t", 500);
    cr_assert_eq(tlshm_reserve_agent(s->space.t, "a2", "t", 600, 0, &id, &why), TLSHM_REFUSED);
    cr_assert_str_eq(why.key, "tenant:t");
    cr_assert_eq(why.remaining, 500);
    space_at(&s->space, TLSHM_TTL_DEFAULT_NS - 1);
    left("tenant:t", 500);
    space_at(&s->space, TLSHM_TTL_DEFAULT_NS);
    left("tenant:t", 1500);
}
