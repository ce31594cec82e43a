/* SPDX-License-Identifier: MIT */
/* denied.c - a refused request costs nobody anything, and scopes are never mixed up. */
#include "stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
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

TestSuite(denied, .init = open_stage, .fini = close_stage, .timeout = 120);

Test(denied, refused_for_concurrency_takes_no_request)
{
    space_limits(&s->space, "agent:a", "requests 2 per 60s; concurrency 1");
    tlshm_id first = stage_reserve(s, "agent:a", "tokens=1");
    cr_assert(first);
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=1"), 0);
    cr_expect_eq(s->why.limit.unit, TLSHM_CONCURRENCY);
    stage_settle(s, first, "tokens=1");
    cr_expect(stage_reserve(s, "agent:a", "tokens=1"));
    cr_expect_eq(space_usage(&s->space, "agent:a").used[TLSHM_REQUESTS], 2);
}

Test(denied, over_limit_agent_does_not_drain_its_tenant)
{
    unsigned admitted = 0;
    space_limits(&s->space, "agent:1", "requests 5 per 60s");
    space_limits(&s->space, "tenant:t", "requests 10 per 60s");
    for (unsigned i = 0; i < 8; i++)
        admitted += stage_reserve(s, "agent:1 tenant:t", "tokens=1") != 0 ? 1 : 0;
    cr_expect_eq(admitted, 5);
    for (unsigned i = 0; i < 5; i++)
        cr_expect(stage_reserve(s, "agent:2 tenant:t", "tokens=1"));
    cr_expect_eq(stage_reserve(s, "agent:2 tenant:t", "tokens=1"), 0);
}

Test(denied, refused_for_tokens_takes_no_request)
{
    space_limits(&s->space, "agent:a", "requests 10 per 60s; tokens 100 per 60s");
    for (unsigned i = 0; i < 50; i++)
        cr_expect_eq(stage_reserve(s, "agent:a", "tokens=200"), 0);
    cr_expect_eq(space_usage(&s->space, "agent:a").used[TLSHM_REQUESTS], 0);
    cr_expect_eq(space_remaining(&s->space, "agent:a", TLSHM_REQUESTS), 10);
}

Test(denied, settles_in_any_order_go_to_their_own_scopes)
{
    tlshm_id ids[60];
    char scopes[64], amounts[64];
    uint64_t expected[3][4] = {{0}};
    srand(7);
    for (unsigned i = 0; i < 60; i++) {
        snprintf(scopes, sizeof scopes, "agent:%u user:%u tenant:%u", i % 4, i % 3, i % 2);
        ids[i] = stage_reserve(s, scopes, "tokens=100");
    }
    for (unsigned left = 60; left > 0; left--) {
        unsigned pick = (unsigned)rand() % left, which = 0;
        tlshm_id id = ids[pick];
        while (s->holds[which].id != id)
            which++;
        uint64_t actual = 1 + which;
        snprintf(amounts, sizeof amounts, "tokens=%u", (unsigned)actual);
        cr_assert_eq(stage_settle(s, id, amounts), TLSHM_OK);
        expected[0][which % 4] += actual;
        expected[1][which % 3] += actual;
        expected[2][which % 2] += actual;
        ids[pick] = ids[left - 1];
    }
    for (unsigned i = 0; i < 4; i++) {
        snprintf(scopes, sizeof scopes, "agent:%u", i);
        cr_expect_eq(space_usage(&s->space, scopes).used[TLSHM_TOKENS], expected[0][i]);
    }
    cr_expect_eq(space_usage(&s->space, "user:2").used[TLSHM_TOKENS], expected[1][2]);
    cr_expect_eq(space_usage(&s->space, "tenant:1").used[TLSHM_TOKENS], expected[2][1]);
}

Test(denied, scopes_of_one_tier_have_budgets_of_their_own)
{
    tlshm_limit limit = limit_of("tokens 100 per 1h");
    cr_assert_eq(tlshm_tier_set(s->space.t, "shared", &limit, 1), 0);
    cr_assert_eq(tlshm_scope_tier_set(s->space.t, "agent:a", 0, "shared"), 0);
    cr_assert_eq(tlshm_scope_tier_set(s->space.t, "agent:b", 0, "shared"), 0);
    cr_assert(stage_reserve(s, "agent:a", "tokens=100"));
    cr_expect_eq(stage_reserve(s, "agent:a", "tokens=1"), 0);
    cr_expect_eq(space_remaining(&s->space, "agent:b", TLSHM_TOKENS), 100);
    cr_expect(stage_reserve(s, "agent:b", "tokens=100"));
}

Test(denied, keys_are_told_apart_whole)
{
    static const char *const keys[] = {"tenant:a:b", "agent:c",   "tenant:a", "agent:b:c", "global:",
                                       "agent::",    "tenant::b", "agent:C",  "agent:c:",  "user:c"};
    char amounts[32];
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        snprintf(amounts, sizeof amounts, "tokens=%u", 1u << i);
        cr_expect(stage_reserve(s, keys[i], amounts), "%s", keys[i]);
    }
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++)
        cr_expect_eq(space_usage(&s->space, keys[i]).held[TLSHM_TOKENS], 1u << i, "%s", keys[i]);
}

/* Keys that differ in their last byte only, at every length: a hash or a prefix must not stand for the key. */
Test(denied, long_keys_are_compared_to_their_last_byte)
{
    for (unsigned len = 200; len <= TLSHM_KEY_MAX; len += 11) {
        char key[2][TLSHM_KEY_MAX + 1];
        for (unsigned k = 0; k < 2; k++) {
            memset(key[k], 'x', len);
            memcpy(key[k], "agent:", 6);
            key[k][len - 1] = k == 0 ? 'y' : 'z';
            key[k][len] = '\0';
        }
        cr_assert(stage_reserve(s, key[0], "tokens=5"));
        cr_expect_eq(space_usage(&s->space, key[1]).held[TLSHM_TOKENS], 0);
    }
}

static int reserve_key(const char *key, size_t len)
{
    tlshm_scope scope = {.key = key, .len = len};
    tlshm_request r = TLSHM_REQUEST_INIT;
    tlshm_id id = 0;
    r.scopes = &scope;
    r.scope_count = 1;
    r.estimate.of[TLSHM_TOKENS] = 1;
    return tlshm_reserve(s->space.t, &r, &id, NULL);
}

Test(denied, malformed_keys_are_refused_loudly)
{
    static char huge[65536];
    memset(huge, 'x', sizeof huge);
    memcpy(huge, "agent:", 6);
    const struct {
        const char *key, *what;
        size_t len;
        int expected;
    } cases[] = {
        {"global:", "the one key without an id", 7, TLSHM_OK},
        {"agent:", "an empty id", 6, -TLSHM_EKEY},
        {"agent:x", "one byte", 7, TLSHM_OK},
        {huge, "the longest key", TLSHM_KEY_MAX, TLSHM_OK},
        {huge, "one byte more", TLSHM_KEY_MAX + 1, -TLSHM_EKEY},
        {huge, "64 KiB", sizeof huge, -TLSHM_EKEY},
        {"agent:\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80", "UTF-8", 0, TLSHM_OK},
        {"agent:\xc3", "a cut character", 0, -TLSHM_EKEY},
        {"agent:\xff", "a byte that UTF-8 does not have", 0, -TLSHM_EKEY},
        {"agent:\xc0\xaf", "an overlong form", 0, -TLSHM_EKEY},
        {"agent:\xed\xa0\x80", "a surrogate", 0, -TLSHM_EKEY},
        {"agent:a b", "a blank", 0, TLSHM_OK},
        {"agent:a\0b", "NUL", 9, -TLSHM_EKEY},
        {"agent:a\nb", "a line feed", 0, -TLSHM_EKEY},
        {"agent:a\x7f", "DEL", 0, -TLSHM_EKEY},
        {"", "nothing", 0, -TLSHM_EKEY},
        {"agent", "no colon", 0, -TLSHM_EKEY},
        {":a", "no level", 0, -TLSHM_EKEY},
        {NULL, "no key at all", 0, -TLSHM_EINVAL},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int rc = reserve_key(cases[i].key, cases[i].len);
        if (cases[i].expected >= 0)
            cr_expect_eq(rc, TLSHM_OK, "%s: %s", cases[i].what, tlshm_error_name(rc));
        else
            cr_expect_lt(rc, 0, "%s was admitted", cases[i].what);
        if (cases[i].expected == -TLSHM_EKEY)
            cr_expect(rc == -TLSHM_EKEY || rc == -TLSHM_ELEVEL, "%s: %s", cases[i].what, tlshm_error_name(rc));
    }
}
