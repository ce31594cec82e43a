/* SPDX-License-Identifier: MIT */
/*
 * properties.c - what is true whatever happens, on random limits, uses, holds and times, through the public calls:
 *
 *   windows      use inside each is the sum of the charges whose bucket or period is inside, added up one by one
 *   retry_after  the same request fits then, and at no earlier time (I8)
 */
#include "space.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <tlshm/stats.h>

#include "chance.h"

static struct space space;
static struct chance c;

static void open_space(void)
{
    space_open(&space, NULL);
}

static void close_space(void)
{
    cr_expect_eq(tlshm_verify(space.t, NULL, NULL, NULL), 0);
    space_close(&space);
}

/* The table has a few dozen lists, and the clock some decades. */
static void start_anew(void)
{
    close_space();
    open_space();
}

TestSuite(properties, .init = open_space, .fini = close_space, .timeout = 120);

static void limits_of(const char *key, const tlshm_limit *limits, unsigned count)
{
    int rc = tlshm_scope_limits_set(space.t, key, 0, limits, count);
    cr_assert_eq(rc, 0, "%s: %s", key, tlshm_error_name(rc));
}

static int reserve(const char *scopes, const tlshm_amounts *estimate, uint64_t ttl_ns, tlshm_id *id, tlshm_refusal *why)
{
    struct ask a;
    tlshm_request request = *ask_for(&a, scopes, NULL);
    request.estimate = *estimate;
    request.ttl_ns = ttl_ns;
    int rc = tlshm_reserve(space.t, &request, id, why);
    cr_assert(rc >= 0 || rc == -TLSHM_ERANGE, "%s: %s", scopes, tlshm_error_name(rc));
    return rc;
}

static tlshm_limit random_window(uint64_t cap)
{
    static const uint64_t lengths[] = {1000, MS(7), SEC(1), SEC(60), HOUR(1), HOUR(24), HOUR(24 * 30)};
    tlshm_limit limit = {.unit = TLSHM_TOKENS, .cap = cap};
    switch (chance_below(&c, 6)) {
    case 0:
        limit.window.kind = TLSHM_WINDOW_LIFETIME;
        break;
    case 1:
    case 2:
        limit.window.kind = TLSHM_WINDOW_CALENDAR;
        limit.window.period = (enum tlshm_period)chance_below(&c, 4);
        limit.window.anchor = limit.window.period == TLSHM_WEEK    ? (uint32_t)chance_below(&c, 8)
                              : limit.window.period == TLSHM_MONTH ? (uint32_t)chance_below(&c, 32)
                                                                   : 0;
        break;
    default:
        limit.window.kind = TLSHM_WINDOW_ROLLING;
        limit.window.slices = (uint32_t)chance_edgy(&c, 1, 63);
        limit.window.length_ns = 1 + chance_below(&c, 2 * lengths[chance_below(&c, 7)]);
        limit.flags = chance_one_in(&c, 3) ? TLSHM_LIMIT_STRICT : 0;
    }
    return limit;
}

/* Are two limits the same but for the cap? A scope has no limit twice. Lengths that differ by rounding alone count as one. */
static bool alike(const tlshm_limit *a, const tlshm_limit *b)
{
    const tlshm_window *v = &a->window, *w = &b->window;
    if (v->kind != w->kind || a->unit != b->unit)
        return false;
    if (v->kind == TLSHM_WINDOW_CALENDAR)
        return v->period == w->period;
    return v->kind != TLSHM_WINDOW_ROLLING || v->slices == w->slices;
}

static unsigned random_limits(tlshm_limit *limits, unsigned most, tlshm_limit (*make)(void))
{
    unsigned wanted = 1 + (unsigned)chance_below(&c, most), count = 0;
    for (unsigned i = 0; i < wanted; i++) {
        bool twice = false;
        limits[count] = make();
        for (unsigned k = 0; k < count; k++)
            twice |= alike(&limits[k], &limits[count]);
        count += !twice;
    }
    return count;
}

/* ------------------------------------------------------------------------------------------------------------- windows */

#define CHARGES 64
#define WINDOW_MOST (UINT64_C(1) << 56) /* use inside a window is less */

struct charge {
    uint64_t at, tokens; /* ns since the space was opened */
};

static uint64_t width_of(const tlshm_window *w)
{
    uint64_t width = (w->length_ns + w->slices - 1) / w->slices;
    return (width + 999) / 1000 * 1000;
}

static uint64_t bucket_of(const tlshm_window *w, uint64_t at)
{
    return (SPACE_BOOT_NS + at) / width_of(w);
}

static bool starts_period(const tlshm_window *w, time_t hour)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int anchor = w->anchor ? (int)w->anchor : 1;
    struct tm tm;
    gmtime_r(&hour, &tm);
    int year = tm.tm_year + 1900, last = days[tm.tm_mon] + (tm.tm_mon == 1 && year % 4 == 0 && year % 100 != 0);
    if (w->period == TLSHM_HOUR || tm.tm_hour != 0)
        return w->period == TLSHM_HOUR;
    if (w->period == TLSHM_WEEK)
        return (tm.tm_wday + 6) % 7 + 1 == anchor;
    return w->period == TLSHM_DAY || tm.tm_mday == (anchor < last ? anchor : last);
}

/* The start of the calendar period, found by walking back an hour at a time. */
static time_t period_of(const tlshm_window *w, uint64_t at)
{
    time_t hour = (time_t)((SPACE_WALL_NS + at) / HOUR(1) * 3600);
    while (!starts_period(w, hour))
        hour -= 3600;
    return hour;
}

/* The first instant, ns since the space was opened, whose use counts at `now`; it may be before that. */
static int64_t inside_since(const tlshm_limit *limit, uint64_t now)
{
    const tlshm_window *w = &limit->window;
    if (w->kind == TLSHM_WINDOW_CALENDAR)
        return (int64_t)period_of(w, now) * (int64_t)SEC(1) - (int64_t)SPACE_WALL_NS;
    if (w->kind != TLSHM_WINDOW_ROLLING)
        return INT64_MIN;
    uint64_t buckets = w->slices + (limit->flags & TLSHM_LIMIT_STRICT ? 1 : 0), bucket = bucket_of(w, now);
    return ((int64_t)bucket - (int64_t)buckets + 1) * (int64_t)width_of(w) - (int64_t)SPACE_BOOT_NS;
}

static uint64_t sum_inside(const tlshm_limit *limit, const struct charge *charges, unsigned count, uint64_t now)
{
    int64_t since = inside_since(limit, now);
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += (int64_t)charges[i].at >= since ? charges[i].tokens : 0;
    return sum;
}

static void check_windows(const char *key, const tlshm_limit *limits, unsigned count, const struct charge *charges,
                          unsigned n)
{
    tlshm_scope_usage usage = space_usage(&space, key);
    cr_assert_eq(usage.limit_count, count);
    for (unsigned i = 0; i < count; i++) {
        uint64_t sum = sum_inside(&limits[i], charges, n, space.now);
        char text[128];
        tlshm_limit_format(&limits[i], text, sizeof text);
        cr_assert_eq(usage.limits[i].used, sum, "%s, %s: after %u charges %" PRIu64 " used, the list says %" PRIu64,
                     key, text, n, usage.limits[i].used, sum);
    }
}

/* An amount that leaves room in every window: mostly small, now and then as large as amounts may be. */
static uint64_t random_charge(const tlshm_limit *limits, unsigned count, const struct charge *charges, unsigned n)
{
    uint64_t tokens = chance_edgy(&c, 0, TLSHM_AMOUNT_MAX), last = n ? charges[n - 1].at : 0;
    for (unsigned i = 0; i < count; i++)
        if (sum_inside(&limits[i], charges, n, last) + tokens >= WINDOW_MOST)
            return 1;
    return tokens;
}

static uint64_t random_pause(void)
{
    static const uint64_t pauses[] = {1, 1000, MS(3), MS(400), SEC(20), HOUR(1), HOUR(24), HOUR(24 * 20)};
    return chance_below(&c, 2 * pauses[chance_below(&c, 8)]);
}

static tlshm_limit count_all(void)
{
    return random_window(TLSHM_UNLIMITED);
}

static void play_windows(const char *key)
{
    static const tlshm_amounts one = {{1}};
    struct charge charges[CHARGES];
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned count = random_limits(limits, 5, count_all);
    limits_of(key, limits, count);
    for (unsigned n = 0; n < CHARGES; n++) {
        tlshm_id id = 0;
        space_at(&space, space.now + random_pause());
        check_windows(key, limits, count, charges, n);
        cr_assert_eq(reserve(key, &one, HOUR(1), &id, NULL), TLSHM_OK);
        if (chance_one_in(&c, 4))
            space_at(&space, space.now + chance_below(&c, SEC(60)));
        tlshm_amounts use = {{random_charge(limits, count, charges, n)}};
        cr_assert_eq(tlshm_settle(space.t, id, &use, TLSHM_EXACT, NULL), TLSHM_OK);
        charges[n] = (struct charge){space.now, use.of[TLSHM_TOKENS]};
        check_windows(key, limits, count, charges, n + 1);
    }
}

Test(properties, windows_against_a_list_of_charges)
{
    unsigned rounds = chance_begin(&c, "windows", 300);
    for (unsigned i = 0; i < rounds; i++) {
        char key[32];
        snprintf(key, sizeof key, "agent:%u", i);
        if (i % 50 == 49)
            start_anew();
        play_windows(key);
    }
}

/* --------------------------------------------------------------------------------------------------------- retry_after */

#define SCOPES 4

static tlshm_limit small_limit(void)
{
    tlshm_limit limit = random_window(1 + chance_below(&c, 200));
    if (chance_one_in(&c, 5))
        limit = (tlshm_limit){.unit = TLSHM_CONCURRENCY, .cap = 1 + chance_below(&c, 6)};
    else if (chance_one_in(&c, 4))
        limit.unit = chance_one_in(&c, 2) ? TLSHM_REQUESTS : TLSHM_TOOL_CALLS;
    return limit;
}

/* One to four of the round's scopes, in any order. */
static void some_scopes(unsigned round, char *text, size_t size)
{
    unsigned first = (unsigned)chance_below(&c, SCOPES), count = 1 + (unsigned)chance_below(&c, SCOPES);
    size_t at = 0;
    for (unsigned i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s:%u-%u", i ? " " : "", i % 2 ? "tenant" : "agent", round,
                               (first + i) % SCOPES);
}

static tlshm_amounts some_amounts(void)
{
    tlshm_amounts amounts = {{1 + chance_below(&c, 60)}};
    if (chance_one_in(&c, 3))
        amounts.of[TLSHM_TOOL_CALLS] = chance_below(&c, 5);
    if (chance_one_in(&c, 3))
        amounts.of[TLSHM_REQUESTS] = chance_below(&c, 3);
    return amounts;
}

static uint64_t some_ttl(void)
{
    return 1 + chance_below(&c, 2 * (chance_one_in(&c, 2) ? SEC(5) : HOUR(3)));
}

static bool fits(const char *scopes, const tlshm_amounts *amounts, tlshm_refusal *why)
{
    tlshm_id id = 0;
    return reserve(scopes, amounts, HOUR(24), &id, why) == TLSHM_OK;
}

/* I8: not a moment earlier, some moments tried, and then it fits. Nothing else happens meanwhile. */
static void wait_as_told(const char *scopes, const tlshm_amounts *amounts, uint64_t wait)
{
    uint64_t now = space.now, then = now + wait, early[4];
    tlshm_refusal why;
    early[0] = now + chance_below(&c, wait);
    early[1] = early[0] + chance_below(&c, then - early[0]);
    early[2] = early[1] + chance_edgy(&c, 0, then - early[1] - 1);
    early[3] = then - 1;
    for (unsigned i = 0; i < 4; i++) {
        space_at(&space, early[i]);
        cr_assert_not(fits(scopes, amounts, &why), "%s: told to wait %" PRIu64 " ns, fits %" PRIu64 " ns earlier",
                      scopes, wait, then - early[i]);
        cr_assert_eq(why.retry_after_ns, then - early[i], "%s: told to wait until another time", scopes);
    }
    space_at(&space, then);
    cr_assert(fits(scopes, amounts, &why), "%s: does not fit after %" PRIu64 " ns, but in %" PRIu64, scopes, wait,
              why.retry_after_ns);
}

/* Nothing frees up, however long one waits. */
static void never_fits(const char *scopes, const tlshm_amounts *amounts)
{
    uint64_t now = space.now;
    tlshm_refusal why;
    space_at(&space, now + 1 + chance_below(&c, HOUR(24 * 60)));
    cr_assert_not(fits(scopes, amounts, &why), "%s: fits although no waiting helps", scopes);
}

static unsigned play_waits(unsigned round)
{
    char key[32], scopes[128];
    tlshm_limit limits[TLSHM_LIMITS_MAX];
    unsigned waits = 0;
    for (unsigned i = 0; i < 2 * SCOPES; i++) {
        snprintf(key, sizeof key, "%s:%u-%u", i % 2 ? "tenant" : "agent", round, i / 2);
        unsigned count = random_limits(limits, 3, small_limit);
        limits_of(key, limits, count);
    }
    for (unsigned n = 0; n < 60; n++) {
        tlshm_id id = 0;
        tlshm_refusal why;
        tlshm_amounts amounts = some_amounts(), use = some_amounts();
        some_scopes(round, scopes, sizeof scopes);
        space_at(&space, space.now + (chance_one_in(&c, 3) ? random_pause() : 0));
        int rc = reserve(scopes, &amounts, some_ttl(), &id, &why);
        if (rc == TLSHM_OK && chance_one_in(&c, 2))
            cr_assert_geq(tlshm_settle(space.t, id, &use, TLSHM_EXACT, NULL), 0);
        if (rc != TLSHM_REFUSED)
            continue;
        if (why.retry_after_ns != TLSHM_NEVER)
            wait_as_told(scopes, &amounts, why.retry_after_ns);
        else
            never_fits(scopes, &amounts);
        waits += why.retry_after_ns != TLSHM_NEVER;
    }
    return waits;
}

Test(properties, waits_are_exact)
{
    unsigned rounds = chance_begin(&c, "waits", 800), waits = 0;
    for (unsigned i = 0; i < rounds; i++) {
        if (i % 5 == 4)
            start_anew();
        waits += play_waits(i);
    }
    cr_expect_gt(waits, 3 * rounds, "%u waits", waits);
}
