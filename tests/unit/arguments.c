/* SPDX-License-Identifier: MIT */
/*
 * arguments.c - what a caller can get wrong in each call is an error of its own, read-only attachments refuse what writes,
 * and in neither case anything is written to the caller or to the segment.
 */
#include "space.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <tlshm/stats.h>
#include <unistd.h>

static struct space space;
static tlshm_t *t, *looker;

static void open_all(void)
{
    space_open(&space, NULL);
    t = space.t;
    cr_assert_eq(tlshm_attach(&looker, space.path, TLSHM_READONLY, NULL), 0);
}

static void close_all(void)
{
    tlshm_detach(looker);
    space_close(&space);
}

TestSuite(arguments, .init = open_all, .fini = close_all, .timeout = 120);

#define EXPECT(code, ...)                                                                                              \
    do {                                                                                                               \
        int got_ = (__VA_ARGS__);                                                                                      \
        cr_expect_eq(got_, code, #__VA_ARGS__ ": %s, not %s", tlshm_error_name(got_), tlshm_error_name(code));         \
    } while (0)

/* Places of every kind, to be written to by nobody. */
static tlshm_limit limit, limits[TLSHM_LIMITS_MAX];
static tlshm_scope_usage usage;
static tlshm_reservation_info reservation;
static tlshm_segment_info segment;
static tlshm_seat_info seat;
static char name[TLSHM_NAME_MAX + 1], tier[TLSHM_NAME_MAX + 1], text[TLSHM_KEY_MAX + 1];
static uint64_t cursor, word;
static unsigned small, number;
static int64_t left;
static tlshm_handle handle;
static tlshm_id id;

Test(arguments, no_attachment)
{
    struct ask a;
    limit = limit_of("tokens 5 per 1h");
    EXPECT(-TLSHM_EINVAL, tlshm_reserve(NULL, ask_for(&a, "agent:a", "tokens=1"), &id, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_would_fit(NULL, ask_for(&a, "agent:a", "tokens=1"), NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_settle(NULL, 5, NULL, TLSHM_UNKNOWN, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_refund(NULL, 5, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_extend(NULL, 5, NULL, 5, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_resolve(NULL, "agent:a", 0, &handle));
    EXPECT(-TLSHM_EINVAL, tlshm_remaining(NULL, "agent:a", 0, TLSHM_TOKENS, &left));
    EXPECT(-TLSHM_EINVAL, tlshm_remaining_handle(NULL, 5, TLSHM_TOKENS, &left));
    EXPECT(-TLSHM_EINVAL, tlshm_usage(NULL, "agent:a", 0, &usage));
    EXPECT(-TLSHM_EINVAL, tlshm_usage_handle(NULL, 5, &usage));
    EXPECT(-TLSHM_EINVAL, tlshm_reservation(NULL, 5, &reservation));
    EXPECT(-TLSHM_EINVAL, tlshm_scope_key(NULL, 5, text, sizeof text));
    EXPECT(-TLSHM_EINVAL, tlshm_level_add(NULL, "team", 1));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_set(NULL, "pro", &limit, 1));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_unset(NULL, "pro"));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_get(NULL, "pro", limits, &number));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_next(NULL, &small, name));
    EXPECT(-TLSHM_EINVAL, tlshm_level_next(NULL, &small, name, &number, tier));
    EXPECT(-TLSHM_EINVAL, tlshm_default_set(NULL, "agent", "pro"));
    EXPECT(-TLSHM_EINVAL, tlshm_scope_tier_set(NULL, "agent:a", 0, "pro"));
    EXPECT(-TLSHM_EINVAL, tlshm_scope_limits_set(NULL, "agent:a", 0, &limit, 1));
    EXPECT(-TLSHM_EINVAL, tlshm_limit_set(NULL, "agent:a", 0, &limit));
    EXPECT(-TLSHM_EINVAL, tlshm_limit_unset(NULL, "agent:a", 0, &limit));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_limit_set(NULL, "pro", &limit));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_limit_unset(NULL, "pro", &limit));
    EXPECT(-TLSHM_EINVAL, tlshm_pause(NULL, 1));
    EXPECT(-TLSHM_EINVAL, tlshm_shutoff(NULL, 1));
    EXPECT(-TLSHM_EINVAL, tlshm_scope_pause(NULL, "agent:a", 0, 1));
    EXPECT(-TLSHM_EINVAL, tlshm_scope_shutoff(NULL, "agent:a", 0, 1));
    EXPECT(-TLSHM_EINVAL, tlshm_overrun_set(NULL, TLSHM_CHARGE_ACTUAL));
    EXPECT(-TLSHM_EINVAL, tlshm_overrun_function_set(NULL, NULL, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_reap(NULL, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_clock_get(NULL, &word, &cursor));
    EXPECT(-TLSHM_EINVAL, tlshm_clock_set(NULL, 5, 5));
    EXPECT(-TLSHM_EINVAL, tlshm_get_segment(NULL, &segment));
    EXPECT(-TLSHM_EINVAL, tlshm_scope_next(NULL, &cursor, &handle));
    EXPECT(-TLSHM_EINVAL, tlshm_reservation_next(NULL, &cursor, &reservation));
    EXPECT(-TLSHM_EINVAL, tlshm_seat_next(NULL, &cursor, &seat));
    EXPECT(-TLSHM_EINVAL, tlshm_verify(NULL, NULL, NULL, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_stale(NULL));
    tlshm_detach(NULL);
    tlshm_thread_release(NULL);
}

Test(arguments, no_place_for_the_answer)
{
    struct ask a;
    struct tlshm_error err;
    EXPECT(-TLSHM_EINVAL, tlshm_reserve(t, ask_for(&a, "agent:a", "tokens=1"), NULL, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_reserve(t, NULL, &id, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_resolve(t, "agent:a", 0, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_remaining(t, "agent:a", 0, TLSHM_TOKENS, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_remaining(t, "agent:a", 0, TLSHM_UNITS, &left));
    EXPECT(-TLSHM_EINVAL, tlshm_remaining_handle(t, 5, TLSHM_UNITS, &left));
    EXPECT(-TLSHM_EINVAL, tlshm_usage(t, "agent:a", 0, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_usage_handle(t, 5, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_reservation(t, 5, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_scope_key(t, 5, NULL, 500));
    EXPECT(-TLSHM_EINVAL, tlshm_scope_key(t, 5, text, TLSHM_KEY_MAX));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_get(t, "pro", NULL, &number));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_get(t, "pro", limits, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_next(t, NULL, name));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_next(t, &small, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_level_next(t, &small, name, &number, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_clock_get(t, NULL, &word));
    EXPECT(-TLSHM_EINVAL, tlshm_clock_get(t, &word, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_get_segment(t, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_scope_next(t, NULL, &handle));
    EXPECT(-TLSHM_EINVAL, tlshm_scope_next(t, &cursor, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_reservation_next(t, &cursor, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_seat_next(t, &cursor, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_path("x", text, 5));
    EXPECT(-TLSHM_EINVAL, tlshm_path(NULL, text, sizeof text));
    EXPECT(-TLSHM_EINVAL, tlshm_limit_parse(NULL, &limit, &err));
    EXPECT(-TLSHM_EINVAL, tlshm_limit_parse("tokens 5 per 1h", NULL, &err));
    EXPECT(-TLSHM_EINVAL, tlshm_amount_parse("5", TLSHM_UNITS, &word, &err));
    EXPECT(-TLSHM_EINVAL, tlshm_amount_parse("5", TLSHM_TOKENS, NULL, &err));
    EXPECT(-TLSHM_EINVAL, tlshm_duration_parse("5", NULL, &err));
}

Test(arguments, names_and_keys)
{
    static const char *const keys[] = {"",
                                       ":",
                                       "agent",
                                       "agent:",
                                       ":x",
                                       "agent:\x01",
                                       "agent:\xc3",
                                       "agent:\xe2\x82",
                                       "agent:\xff",
                                       "agent:\xed\xa0\x80",
                                       "agent:\xc2\x85",
                                       "agent:\xc0\x80"};
    char agent[TLSHM_KEY_MAX + 50];
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        EXPECT(-TLSHM_EKEY, tlshm_resolve(t, keys[i], strlen(keys[i]), &handle));
    EXPECT(-TLSHM_EKEY, tlshm_resolve(t, NULL, 0, &handle));
    EXPECT(-TLSHM_ELEVEL, tlshm_resolve(t, "nobody:x", 0, &handle));
    memset(agent, 'a', sizeof agent - 1);
    agent[sizeof agent - 1] = '\0';
    EXPECT(-TLSHM_EKEY, tlshm_reserve_agent(t, agent, "t", 1, 1, &id, NULL));
    EXPECT(-TLSHM_EKEY, tlshm_reserve_agent(t, "a", agent, 1, 1, &id, NULL));
    EXPECT(-TLSHM_EKEY, tlshm_reserve_agent(t, NULL, "t", 1, 1, &id, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_level_add(t, NULL, 1));
    EXPECT(-TLSHM_EINVAL, tlshm_level_add(t, "with blanks", 1));
    EXPECT(-TLSHM_EINVAL, tlshm_level_add(t, "tier", 1));
    EXPECT(-TLSHM_EEXIST, tlshm_level_add(t, "agent", 1));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_set(t, "", NULL, 0));
    EXPECT(-TLSHM_ENOENT, tlshm_tier_unset(t, "missing"));
    EXPECT(-TLSHM_ENOENT, tlshm_scope_tier_set(t, "agent:a", 0, "missing"));
    EXPECT(-TLSHM_ELEVEL, tlshm_default_set(t, "missing", NULL));
    EXPECT(-TLSHM_EUNKNOWN, tlshm_reservation(t, UINT64_MAX, &reservation));
    EXPECT(-TLSHM_EUNKNOWN, tlshm_reservation(t, 1, &reservation));
    EXPECT(-TLSHM_EINVAL, tlshm_usage_handle(t, UINT64_MAX, &usage));
    EXPECT(-TLSHM_EINVAL, tlshm_scope_key(t, UINT64_MAX, text, sizeof text));
    cr_expect_str_eq(tlshm_error_name(-9999), "E?");
    cr_expect_str_eq(tlshm_error_text(-9999), "unknown error");
    cr_expect_str_eq(tlshm_error_text(TLSHM_OK), "success");
}

/* Limits that no text can say, for callers write the struct themselves. */
Test(arguments, limits_that_cannot_be)
{
    const tlshm_limit rolling = limit_of("tokens 5 per 1h"), monthly = limit_of("tokens 5 per month");
    struct {
        tlshm_limit limit;
        int code;
    } cases[] = {
        {rolling, -TLSHM_EINVAL}, {rolling, -TLSHM_EINVAL}, {rolling, -TLSHM_ERANGE}, {rolling, -TLSHM_EINVAL},
        {rolling, -TLSHM_ERANGE}, {rolling, -TLSHM_EINVAL}, {monthly, -TLSHM_EINVAL}, {monthly, -TLSHM_EINVAL},
        {monthly, -TLSHM_EZONE},  {monthly, -TLSHM_EZONE},  {monthly, -TLSHM_EINVAL}, {rolling, -TLSHM_EINVAL},
    };
    cases[0].limit.unit = TLSHM_UNITS;
    cases[1].limit.flags = 0x80;
    cases[2].limit.window.slices = 65;
    cases[3].limit.window.length_ns = 0;
    cases[4].limit.window.length_ns = UINT64_MAX;
    cases[4].limit.window.slices = 1;
    cases[5].limit.unit = TLSHM_CONCURRENCY;
    cases[6].limit.window.period = (enum tlshm_period)9;
    cases[7].limit.window.anchor = 32;
    memset(cases[8].limit.window.zone, 'x', sizeof cases[8].limit.window.zone);
    strcpy(cases[9].limit.window.zone, "No/Such_Place");
    cases[10].limit.flags = TLSHM_LIMIT_STRICT;
    cases[11].limit.window.kind = (enum tlshm_window_kind)9;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int rc = tlshm_limit_set(t, "agent:a", 0, &cases[i].limit);
        cr_expect_eq(rc, cases[i].code, "case %zu: %s", i, tlshm_error_name(rc));
        cr_expect_eq(tlshm_tier_set(t, "pro", &cases[i].limit, 1), rc, "case %zu", i);
        cr_expect_eq(tlshm_scope_limits_set(t, "agent:a", 0, &cases[i].limit, 1), rc, "case %zu", i);
        tlshm_limit_format(&cases[i].limit, text, sizeof text); /* whatever it says, it ends */
    }
    limits[0] = limits[1] = rolling;
    EXPECT(-TLSHM_EINVAL, tlshm_scope_limits_set(t, "agent:a", 0, limits, 2));
    EXPECT(-TLSHM_ENOROOM, tlshm_scope_limits_set(t, "agent:a", 0, limits, TLSHM_LIMITS_MAX + 1));
    EXPECT(-TLSHM_EINVAL, tlshm_scope_limits_set(t, "agent:a", 0, NULL, 1));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_set(t, "pro", NULL, 1));
    EXPECT(-TLSHM_EINVAL, tlshm_limit_set(t, "agent:a", 0, NULL));
    EXPECT(-TLSHM_EINVAL, tlshm_tier_limit_set(t, "pro", NULL));
    EXPECT(-TLSHM_ENOENT, tlshm_limit_unset(t, "agent:a", 0, &rolling));
    EXPECT(-TLSHM_EINVAL, tlshm_overrun_set(t, (enum tlshm_overrun)9));
    EXPECT(-TLSHM_EINVAL, tlshm_clock_set(t, UINT64_MAX, 5));
}

Test(arguments, read_only)
{
    struct ask a;
    limit = limit_of("tokens 5 per 1h");
    EXPECT(-TLSHM_EREADONLY, tlshm_reserve(looker, ask_for(&a, "agent:a", "tokens=1"), &id, NULL));
    EXPECT(-TLSHM_EREADONLY, tlshm_settle(looker, 5, NULL, TLSHM_UNKNOWN, NULL));
    EXPECT(-TLSHM_EREADONLY, tlshm_refund(looker, 5, NULL));
    EXPECT(-TLSHM_EREADONLY, tlshm_extend(looker, 5, NULL, 5, NULL));
    EXPECT(-TLSHM_EREADONLY, tlshm_resolve(looker, "agent:a", 0, &handle));
    EXPECT(-TLSHM_EREADONLY, tlshm_level_add(looker, "team", 1));
    EXPECT(-TLSHM_EREADONLY, tlshm_tier_set(looker, "pro", &limit, 1));
    EXPECT(-TLSHM_EREADONLY, tlshm_tier_unset(looker, "pro"));
    EXPECT(-TLSHM_EREADONLY, tlshm_default_set(looker, "agent", NULL));
    EXPECT(-TLSHM_EREADONLY, tlshm_scope_tier_set(looker, "agent:a", 0, NULL));
    EXPECT(-TLSHM_EREADONLY, tlshm_scope_limits_set(looker, "agent:a", 0, &limit, 1));
    EXPECT(-TLSHM_EREADONLY, tlshm_limit_set(looker, "agent:a", 0, &limit));
    EXPECT(-TLSHM_EREADONLY, tlshm_tier_limit_set(looker, "pro", &limit));
    EXPECT(-TLSHM_EREADONLY, tlshm_pause(looker, 1));
    EXPECT(-TLSHM_EREADONLY, tlshm_scope_pause(looker, "agent:a", 0, 1));
    EXPECT(-TLSHM_EREADONLY, tlshm_overrun_set(looker, TLSHM_CHARGE_ACTUAL));
    EXPECT(-TLSHM_EREADONLY, tlshm_reap(looker, NULL));
    EXPECT(-TLSHM_EREADONLY, tlshm_clock_set(looker, 5, 5));
    EXPECT(0, tlshm_remaining(looker, "agent:a", 0, TLSHM_TOKENS, &left));
    EXPECT(-TLSHM_ELEVEL, tlshm_remaining(looker, "nobody:a", 0, TLSHM_TOKENS, &left));
    EXPECT(0, tlshm_get_segment(looker, &segment));
    cr_expect_eq(segment.scopes_live, 0, "and nothing was made");
}

/* A path too long for its kind, and places that cannot hold a file. */
Test(arguments, paths)
{
    struct tlshm_error err;
    char path[400];
    memset(path, 'p', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    EXPECT(-TLSHM_EINVAL, tlshm_create(path, NULL, &err));
    path[250] = '\0';
    EXPECT(-TLSHM_EINVAL, tlshm_create("two words", NULL, &err));
    EXPECT(-TLSHM_EINVAL, tlshm_create(".hidden", NULL, &err));
    EXPECT(-TLSHM_EINVAL, tlshm_create(NULL, NULL, &err));
    EXPECT(-TLSHM_ENOENT, tlshm_destroy("/nowhere/at/all", &err));
    snprintf(path, sizeof path, "%s/below", space.path);
    EXPECT(-TLSHM_ENOENT, tlshm_create(path, NULL, &err)); /* a file is no directory */
    cr_expect_not_null(strstr(err.text, space.path), "%s", err.text);
}

/* Adding up what is within range may leave it. */
Test(arguments, extends_out_of_range)
{
    struct ask a;
    tlshm_amounts most = {{TLSHM_AMOUNT_MAX}}, one = {{1}};
    cr_assert_eq(tlshm_reserve(t, ask_for(&a, "agent:a", "tokens=1"), &id, NULL), TLSHM_OK);
    EXPECT(-TLSHM_ERANGE, tlshm_extend(t, id, &most, 0, NULL));
    EXPECT(-TLSHM_ERANGE, tlshm_extend(t, id, NULL, UINT64_MAX, NULL));
    EXPECT(-TLSHM_EEMPTY, tlshm_extend(t, id, NULL, 0, NULL));
    EXPECT(TLSHM_OK, tlshm_extend(t, id, &one, 0, NULL));
    cr_expect_eq(space_usage(&space, "agent:a").held[TLSHM_TOKENS], 2, "what failed changed nothing");
}

/* Expired records are kept for late settles until nothing else is left, and the counter says so. */
Test(arguments, records_that_are_used_again_early)
{
    struct ask a;
    tlshm_geometry g = space_geometry();
    struct space small_space;
    unsigned admitted = 0;
    g.reservations = 64;
    space_open(&small_space, &g);
    ask_for(&a, "agent:a", "tokens=1");
    a.request.ttl_ns = SEC(10);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 64; i++)
            admitted += tlshm_reserve(small_space.t, &a.request, &id, NULL) == TLSHM_OK ? 1 : 0;
        tlshm_refusal why;
        cr_expect_eq(tlshm_reserve(small_space.t, &a.request, &id, &why), TLSHM_REFUSED);
        cr_expect_eq(why.reason, TLSHM_FULL);
        cr_expect_eq(why.retry_after_ns, SEC(10), "the first hold that expires makes room");
        space_at(&small_space, SEC(20) * (round + 1));
        cr_assert_eq(tlshm_reap(small_space.t, NULL), 0);
    }
    cr_expect_eq(admitted, 192);
    cr_assert_eq(tlshm_get_segment(small_space.t, &segment), 0);
    cr_expect_eq(segment.counters.early_reuse, 128);
    space_close(&small_space);
}
