/* SPDX-License-Identifier: MIT */
/*
 * clocks.c - what clocks do wrong, one case each: a limit, an instant, and what is asked of it while the clocks are moved.
 *
 * Suspend as the system's clocks show it, and processes that stop with an old time: systemclocks.c. Time namespaces:
 * proc/containers.c. Periods of time zones as such: calendar.c, zone.c.
 */
#include "space.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <tlshm/stats.h>

static struct space space;

static void open_space(void)
{
    space_open(&space, NULL);
}

static void close_space(void)
{
    int faults = tlshm_verify(space.t, NULL, NULL, NULL);
    cr_expect_eq(faults, 0, "%d faults in the segment", faults);
    space_close(&space);
}

TestSuite(clocks, .init = open_space, .fini = close_space, .timeout = 120);

/* ------------------------------------------------------------------------------------------------------------ the list */

#define AMOUNT 100 /* what every limit of the list allows */
#define S INT64_C(1000)
#define H (3600 * S)
#define D (24 * H)

enum act {
    END,      /* of the list */
    SPEND,    /* the whole limit is reserved and settled */
    TENTH,    /* a tenth of it */
    LEFT,     /* so much of it is left: `frees` */
    HOLD,     /* the whole limit is reserved, for five minutes */
    FULL,     /* a token is refused; `frees`: and would be admitted within that time */
    FULL_FOR, /* a token is refused, and would be admitted after exactly `frees` */
    FREE      /* a token would be admitted */
};

/* Boot time since the case began, and how far the wall clock is from where it would be if nobody touched it; in ms. */
struct step {
    enum act act;
    int64_t at, off, frees; /* LEFT: tokens */
};

static const struct fault {
    const char *name, *limit, *start; /* UTC */
    struct step steps[12];
} faults[] = {
    /* boot clock */
    {"boot clock back by a few milliseconds",
     "tokens 100 per 60s",
     "2024-02-01 02:00:00",
     {{SPEND, 0, 0, 0}, {FULL, -5, 5, 62 * S}, {FULL, 59 * S, 0, 3 * S}, {FREE, 62 * S, 0, 0}}},
    {"boot clock back by seconds refills nothing and locks out no longer than a window",
     "tokens 100 per 60s",
     "2024-02-01 02:00:00",
     {{SPEND, 0, 0, 0}, {FULL, -11 * S, 11 * S, 62 * S}, {FREE, 51 * S, 11 * S, 0}}},
    {"boot clock back by an hour",
     "tokens 100 per 60s",
     "2024-02-01 02:00:00",
     {{SPEND, 0, 0, 0}, {FULL, -H, H, 62 * S}, {FREE, -H + 62 * S, H, 0}}},
    {"wall clock over midnight and back again, with use there",
     "tokens 100 per day",
     "2024-02-01 23:59:00",
     {{TENTH, 0, 0, 0},
      {TENTH, S, 0, 0},
      {TENTH, 2 * S, 0, 0},
      {TENTH, 3 * S, 120 * S, 0},
      {LEFT, 4 * S, 0, 60},
      {TENTH, 5 * S, 0, 0},
      {TENTH, 6 * S, 0, 0},
      {LEFT, 7 * S, 0, 40}}},
    {"boot clock back, calendar day",
     "tokens 100 per day",
     "2024-02-01 12:00:00",
     {{SPEND, 0, 0, 0}, {FULL, -H, H, 12 * H}, {FULL, 11 * H - S, 0, H + S}, {FREE, 12 * H, 0, 0}}},
    {"boot clock back and forth over the edges of buckets",
     "tokens 100 per 60s/60",
     "2024-02-01 02:00:00",
     {{SPEND, 990, 0, 0},
      {FULL, 1010, -20, 0},
      {FULL, 985, 5, 0},
      {FULL, 59 * S, 0, 0},
      {FULL, 58980, 20, 0},
      {FREE, 62 * S, 0, 0}}},
    {"suspend: the boot clock jumps ahead, and that is time",
     "tokens 100 per 1h",
     "2024-02-01 02:00:00",
     {{SPEND, 0, 0, 0}, {FULL, 11 * S, 0, 0}, {FREE, 10 * H, 0, 0}}},
    {"suspend: a hold's deadline passes in it",
     "tokens 100 lifetime",
     "2024-02-01 02:00:00",
     {{HOLD, 0, 0, 0}, {FULL_FOR, S, 0, 299 * S}, {FREE, 8 * H, 0, 0}}},
    {"suspend over a day's end",
     "tokens 100 per day",
     "2024-02-01 22:00:00",
     {{SPEND, 0, 0, 0}, {FREE, 10 * H, 0, 0}, {SPEND, 10 * H, 0, 0}, {FULL_FOR, 10 * H, 0, 16 * H}}},
    {"a wall clock that stands still in suspend and is set after it",
     "tokens 100 per day",
     "2024-02-01 22:00:00",
     {{SPEND, 0, 0, 0}, {FULL, S, 0, 0}, {FREE, 10 * H, -10 * H, 0}, {FREE, 10 * H + S, 0, 0}}},

    /* the wall clock's steps */
    {"wall clock steps do not move rolling windows",
     "tokens 100 per 1h",
     "2024-02-01 02:00:00",
     {{SPEND, 0, 0, 0},
      {FULL, S, -11 * S, H},
      {FULL, 2 * S, 11 * S, H},
      {FULL, 3 * S, -H, H},
      {FULL, 4 * S, 365 * D, H},
      {FREE, H + 61 * S, 365 * D, 0}}},
    {"wall clock steps do not move deadlines",
     "tokens 100 lifetime",
     "2024-02-01 02:00:00",
     {{HOLD, 0, 0, 0}, {FULL_FOR, S, -H, 299 * S}, {FULL_FOR, 2 * S, D, 298 * S}, {FREE, 300 * S, -D, 0}}},
    {"wall clock back within its day",
     "tokens 100 per day",
     "2024-02-01 12:00:00",
     {{SPEND, 0, 0, 0}, {FULL, S, -2 * H, D}, {FULL, 10 * H, -2 * H, D}, {FREE, 14 * H, -2 * H, 0}}},
    {"wall clock back to yesterday, and there again",
     "tokens 100 per day",
     "2024-02-01 00:30:00",
     {{SPEND, 0, 0, 0}, {FULL, S, -H, D}, {FULL, 60 * S, 0, D}, {FREE, D - 1800 * S, 0, 0}}},
    {"wall clock stays an hour back: locked out no longer than a period",
     "tokens 100 per day",
     "2024-02-01 00:30:00",
     {{SPEND, 0, 0, 0}, {FULL, S, -H, 25 * H}, {FREE, 25 * H, -H, 0}}},
    {"wall clock stays three days back",
     "tokens 100 per day",
     "2024-02-08 00:30:00",
     {{SPEND, 0, 0, 0}, {FULL, S, -3 * D, 25 * H}, {FREE, 25 * H, -3 * D, 0}}},
    {"wall clock stays a year back",
     "tokens 100 per day",
     "2024-02-08 00:30:00",
     {{SPEND, 0, 0, 0}, {FULL, S, -365 * D, 25 * H}, {FREE, 25 * H, -365 * D, 0}}},
    {"wall clock ahead within its day",
     "tokens 100 per day",
     "2024-02-01 12:00:00",
     {{SPEND, 0, 0, 0}, {FULL, S, 3 * H, D}, {FREE, 12 * H, 3 * H, 0}}},
    {"wall clock ahead by days does not refill, and locks out no longer than a period",
     "tokens 100 per day",
     "2024-02-01 12:00:00",
     {{SPEND, 0, 0, 0}, {FULL, S, 3 * D, D}, {FREE, D + S, 3 * D, 0}}},
    {"wall clock ahead and back again",
     "tokens 100 per month",
     "2024-02-10 12:00:00",
     {{SPEND, 0, 0, 0}, {FULL, S, 60 * D, 31 * D}, {FULL, 10 * D, 0, 10 * D}, {FREE, 19 * D + 12 * H, 0, 0}}},
    {"wall clock slewed, not stepped",
     "tokens 100 per hour",
     "2024-02-01 12:30:00",
     {{SPEND, 0, 0, 0}, {FULL, 600 * S, 150, H}, {FULL, 1200 * S, -150, H}, {FREE, 1801 * S, -150, 0}}},

    /* years' ends */
    {"a year's end ends an hour",
     "tokens 100 per hour",
     "2024-12-31 23:59:59",
     {{SPEND, 0, 0, 0}, {FULL_FOR, 0, 0, S}, {FREE, S, 0, 0}, {SPEND, S, 0, 0}, {FULL_FOR, S, 0, H}}},
    {"a year's end ends a day",
     "tokens 100 per day",
     "2024-12-31 23:59:59",
     {{SPEND, 0, 0, 0}, {FULL_FOR, 0, 0, S}, {FREE, S, 0, 0}, {SPEND, S, 0, 0}, {FULL_FOR, S, 0, D}}},
    {"a year's end ends no week in its middle",
     "tokens 100 per week",
     "2024-12-31 23:59:59",
     {{SPEND, 0, 0, 0}, {FULL_FOR, S, 0, 5 * D}, {FREE, 5 * D + S, 0, 0}}},
    {"a year's end ends a month",
     "tokens 100 per month",
     "2024-12-31 23:59:59",
     {{SPEND, 0, 0, 0}, {FULL_FOR, 0, 0, S}, {FREE, S, 0, 0}, {SPEND, S, 0, 0}, {FULL_FOR, S, 0, 31 * D}}},
    {"a year's end ends no month from the 15th",
     "tokens 100 per month from 15",
     "2024-12-31 23:59:59",
     {{SPEND, 0, 0, 0}, {FULL_FOR, S, 0, 14 * D}, {FREE, 14 * D + S, 0, 0}}},
    {"the 29th of February, and the year after it",
     "tokens 100 per month from 29",
     "2024-02-29 00:00:00",
     {{SPEND, 0, 0, 0}, {FULL_FOR, 0, 0, 29 * D}, {FREE, 29 * D, 0, 0}, {SPEND, 334 * D, 0, 0}, {FREE, 366 * D, 0, 0}}},
    {"a year's end elsewhere",
     "tokens 100 per day in Asia/Shanghai",
     "2024-12-31 15:59:59",
     {{SPEND, 0, 0, 0}, {FULL_FOR, 0, 0, S}, {FREE, S, 0, 0}, {SPEND, S, 0, 0}, {FULL, 8 * H, 0, 16 * H + S}}},

    /* summer time: the wall clock goes on, the zone's does not */
    {"the day before summer time",
     "tokens 100 per day in Europe/Amsterdam",
     "2024-03-29 23:00:00",
     {{SPEND, 0, 0, 0}, {FULL_FOR, 0, 0, 24 * H}, {FREE, 24 * H, 0, 0}}},
    {"a day of 23 hours",
     "tokens 100 per day in Europe/Amsterdam",
     "2024-03-30 23:00:00",
     {{SPEND, 0, 0, 0},
      {FULL_FOR, 0, 0, 23 * H},
      {FREE, 23 * H, 0, 0},
      {SPEND, 23 * H, 0, 0},
      {FULL_FOR, 23 * H, 0, 24 * H}}},
    {"a day of 25 hours",
     "tokens 100 per day in Europe/Amsterdam",
     "2024-10-26 22:00:00",
     {{SPEND, 0, 0, 0},
      {FULL_FOR, 0, 0, 25 * H},
      {FREE, 25 * H, 0, 0},
      {SPEND, 25 * H, 0, 0},
      {FULL_FOR, 25 * H, 0, 24 * H}}},
    {"the hour that comes twice is two",
     "tokens 100 per hour in Europe/Amsterdam",
     "2024-10-27 00:00:00",
     {{SPEND, 0, 0, 0}, {FULL_FOR, 0, 0, H}, {FREE, H, 0, 0}, {SPEND, H, 0, 0}, {FULL_FOR, H, 0, H}}},
    {"a month with a change of summer time",
     "tokens 100 per month in Europe/Amsterdam",
     "2024-02-29 23:00:00",
     {{SPEND, 0, 0, 0}, {FULL_FOR, 0, 0, 31 * D - H}, {FREE, 31 * D - H, 0, 0}}},

    /* leap seconds, as the kernel shows them */
    {"a leap second repeated: spent before it, nobody looks in it",
     "tokens 100 per month",
     "2016-12-31 23:59:58",
     {{SPEND, 500, 0, 0},
      {FULL_FOR, 1500, 0, 500},
      {FREE, 3 * S, -S, 0},
      {SPEND, 3 * S, -S, 0},
      {FULL, 4 * S, -S, 31 * D},
      {FREE, 31 * D + 3 * S, -S, 0}}},
    {"a leap second repeated: the new month begins once, here a second early",
     "tokens 100 per month",
     "2016-12-31 23:59:58",
     {{SPEND, 500, 0, 0},
      {SPEND, 2 * S, -S, 0},
      {FULL, 2500, -S, 31 * D + S},
      {FULL, 3 * S, -S, 31 * D},
      {FULL, 4 * S, -S, 31 * D},
      {FREE, 31 * D + 3 * S, -S, 0},
      {SPEND, 31 * D + 3 * S, -S, 0},
      {FULL, 31 * D + 4 * S, -S, 28 * D}}},
    {"a leap second repeated: the new month had begun",
     "tokens 100 per month",
     "2016-12-31 23:59:58",
     {{SPEND, 500, 0, 0},
      {SPEND, 2010, 0, 0},
      {FULL, 2020, -S, 31 * D + S},
      {FULL, 3100, -S, 31 * D},
      {FULL, 31 * D, -S, 3 * S},
      {FREE, 31 * D + 3 * S, -S, 0}}},
    {"a leap second left out: the month ends, and is not left out",
     "tokens 100 per month",
     "2016-12-31 23:59:58",
     {{SPEND, 500, 0, 0}, {FULL, 1500, S, 500}, {FREE, 2 * S, S, 0}, {SPEND, 2 * S, S, 0}, {FULL, 3 * S, S, 31 * D}}},
    {"a leap second repeated: it is met by a call in the new month",
     "tokens 100 per month",
     "2016-12-31 23:59:58",
     {{TENTH, 500, 0, 0},
      {TENTH, 2010, 0, 0},
      {LEFT, 2015, 0, 90},
      {TENTH, 2020, -S, 0},
      {LEFT, 2030, -S, 80},
      {LEFT, 3100, -S, 80},
      {TENTH, 4 * S, -S, 0},
      {LEFT, 31 * D + S, -S, 70},
      {LEFT, 31 * D + 3 * S, -S, 100}}},
    {"a leap second repeated: it is met by calls in the old month",
     "tokens 100 per month",
     "2016-12-31 23:59:58",
     {{TENTH, 500, 0, 0},
      {TENTH, 1990, -S, 0},
      {LEFT, 2500, -S, 80},
      {LEFT, 3 * S, -S, 100},
      {TENTH, 3 * S, -S, 0},
      {LEFT, 4 * S, -S, 90}}},
    {"a leap second left out, met by a call",
     "tokens 100 per month",
     "2016-12-31 23:59:58",
     {{TENTH, 500, 0, 0},
      {TENTH, 1500, S, 0},
      {LEFT, 1600, S, 80},
      {LEFT, 2 * S, S, 100},
      {TENTH, 3 * S, S, 0},
      {LEFT, 31 * D, S, 90},
      {LEFT, 31 * D + S, S, 100}}},
    {"a leap second smeared",
     "tokens 100 per hour",
     "2016-12-31 23:00:00",
     {{SPEND, 0, 0, 0},
      {FULL, 900 * S, -250, H},
      {FULL, 1800 * S, -500, H},
      {FULL, 2700 * S, -750, H},
      {FREE, H + S, -S, 0},
      {SPEND, H + S, -S, 0},
      {FULL, H + 2 * S, -S, H}}},
    {"a wall clock slewed back at a day's end: the day is not had twice",
     "tokens 100 per day",
     "2024-02-01 12:00:00",
     {{SPEND, 0, 0, 0},
      {SPEND, 12 * H, -150, 0},
      {FULL, 12 * H + 100, -150, D + S},
      {FULL, 12 * H + 200, -150, D},
      {FREE, 36 * H + 200, -150, 0}}},
    {"a wall clock set ahead over a day's end, met by calls",
     "tokens 100 per day",
     "2024-02-01 23:00:00",
     {{TENTH, 0, 0, 0},
      {TENTH, S, 2 * H, 0},
      {LEFT, H - S, 2 * H, 80},
      {LEFT, H, 2 * H, 100},
      {TENTH, H, 2 * H, 0},
      {LEFT, 23 * H - S, 2 * H, 90},
      {LEFT, 23 * H, 2 * H, 100}}},
    {"a wall clock set back over a day's end, met by calls",
     "tokens 100 per day",
     "2024-02-01 00:10:00",
     {{TENTH, 0, 0, 0},
      {TENTH, S, -H, 0},
      {LEFT, 2 * H, -H, 80},
      {TENTH, 3 * H, -H, 0},
      {LEFT, 23 * H, -H, 70},
      {LEFT, 25 * H, -H, 100}}},
    {"a wall clock set ahead over a day's end: that day is not left out",
     "tokens 100 per day",
     "2024-02-01 23:00:00",
     {{SPEND, 0, 0, 0},
      {FULL, S, 2 * H, H},
      {FREE, H + S, 2 * H, 0},
      {SPEND, H + S, 2 * H, 0},
      {FULL, 2 * H, 2 * H, D}}},
    {"a wall clock set back over a day's end: that day is not had twice",
     "tokens 100 per day",
     "2024-02-01 00:10:00",
     {{SPEND, 0, 0, 0},
      {FULL, S, -H, 25 * H},
      {FULL, H, -H, 25 * H},
      {FULL, 2 * H, -H, 25 * H},
      {FREE, 25 * H, -H, 0}}},
};

static void set_clocks(uint64_t boot, int64_t wall)
{
    cr_assert_eq(tlshm_clock_set(space.t, boot, (uint64_t)wall), 0);
}

static int ask_for_tokens(const char *key, uint64_t tokens, tlshm_id *id, tlshm_refusal *why)
{
    struct ask a;
    tlshm_request request = *ask_for(&a, key, NULL);
    request.estimate.of[TLSHM_TOKENS] = tokens;
    int rc = tlshm_reserve(space.t, &request, id, why);
    cr_assert_geq(rc, 0, "%s: %s", key, tlshm_error_name(rc));
    return rc;
}

static bool admits(const char *key, tlshm_refusal *why)
{
    tlshm_id id = 0;
    int rc = ask_for_tokens(key, 1, &id, why);
    if (rc == TLSHM_OK)
        cr_assert_eq(tlshm_refund(space.t, id, NULL), TLSHM_OK);
    return rc == TLSHM_OK;
}

static void check_wait(const struct fault *f, const struct step *step, const tlshm_refusal *why)
{
    uint64_t frees = (uint64_t)step->frees * MS(1);
    if (step->act == FULL_FOR)
        cr_expect_eq(why->retry_after_ns, frees, "%s: at %" PRId64 " ms: %" PRIu64 " ns", f->name, step->at,
                     why->retry_after_ns);
    else if (step->frees)
        cr_expect_leq(why->retry_after_ns, frees, "%s: at %" PRId64 " ms: locked out for %" PRIu64 " ns", f->name,
                      step->at, why->retry_after_ns);
}

static void play_step(const struct fault *f, const struct step *step, const char *key)
{
    uint64_t amount = step->act == TENTH ? AMOUNT / 10 : AMOUNT;
    tlshm_refusal why;
    tlshm_id id = 0;
    int64_t left;
    bool free;
    switch (step->act) {
    case SPEND:
    case TENTH:
    case HOLD:
        cr_assert_eq(ask_for_tokens(key, amount, &id, NULL), TLSHM_OK, "%s: nothing to spend at %" PRId64 " ms",
                     f->name, step->at);
        if (step->act != HOLD)
            cr_assert_eq(tlshm_settle(space.t, id, &(tlshm_amounts){{amount}}, TLSHM_EXACT, NULL), TLSHM_OK);
        break;
    case LEFT:
        left = space_remaining(&space, key, TLSHM_TOKENS);
        cr_expect_eq(left, step->frees, "%s: %" PRId64 " left at %" PRId64 " ms", f->name, left, step->at);
        break;
    default:
        free = space_remaining(&space, key, TLSHM_TOKENS) > 0;
        cr_expect_eq(free, step->act == FREE, "%s: shown as %s at %" PRId64 " ms", f->name, free ? "free" : "full",
                     step->at);
        free = admits(key, &why);
        cr_expect_eq(free, step->act == FREE, "%s: %s at %" PRId64 " ms", f->name, free ? "refilled" : "locked out",
                     step->at);
        if (!free)
            check_wait(f, step, &why);
    }
}

static void play(const struct fault *f, const char *key)
{
    struct tm tm = {0};
    cr_assert_not_null(strptime(f->start, "%Y-%m-%d %H:%M:%S", &tm), "%s", f->start);
    int64_t wall = (int64_t)timegm(&tm) * 1000;
    for (const struct step *step = f->steps; step->act != END; step++) {
        int64_t boot = (int64_t)(SPACE_BOOT_NS / MS(1)) + step->at;
        set_clocks((uint64_t)boot * MS(1), (wall + step->at + step->off) * (int64_t)MS(1));
        if (step == f->steps)
            space_limits(&space, key, f->limit);
        play_step(f, step, key);
    }
}

Test(clocks, faults_of_the_list)
{
    char key[24];
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        snprintf(key, sizeof key, "agent:%u", i);
        play(&faults[i], key);
    }
}

/* A key that was in use while the clocks went on normally has the same faults as a new one. */
Test(clocks, faults_of_the_list_beside_other_limits)
{
    char key[24], limits[128];
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct fault f = faults[i];
        snprintf(key, sizeof key, "tenant:%u", i);
        snprintf(limits, sizeof limits, "tokens 5000 per 1s/10; %s; cost $9 per hour; concurrency 9", f.limit);
        f.limit = limits;
        play(&f, key);
    }
}

/* Two processes whose clocks are a few milliseconds apart, over the edges of many buckets. */
Test(clocks, jitter_loses_no_use)
{
    uint64_t spent = 0;
    tlshm_scope_usage usage;
    space_limits(&space, "agent:a", "tokens 100000 per 60s; tokens 100000 per 1s");
    for (unsigned i = 0; i < 400; i++) {
        uint64_t now = HOUR(5) + MS(6 * i) + (i % 2 == 0 ? MS(5) : 0);
        tlshm_id id = 0;
        tlshm_amounts use = {{1 + i % 7}};
        set_clocks(SPACE_BOOT_NS + now, (int64_t)(SPACE_WALL_NS + now));
        cr_assert_eq(ask_for_tokens("agent:a", 9, &id, NULL), TLSHM_OK);
        cr_assert_eq(tlshm_settle(space.t, id, &use, TLSHM_EXACT, NULL), TLSHM_OK);
        spent += use.of[TLSHM_TOKENS];
        usage = space_usage(&space, "agent:a");
        cr_assert_eq(usage.limits[0].used, spent, "call %u", i);
    }
    cr_expect_geq(usage.limits[1].used, spent / 3, "2.4 s were played");
    cr_expect_leq(usage.limits[1].used, spent / 2);
}

/* A wall clock that comes to show the boot clock's time has no distance from it: that must not pass for "not moved". */
Test(clocks, wall_clock_that_meets_the_boot_clock)
{
    const uint64_t boot = SPACE_BOOT_NS; /* 16:00 of some day */
    tlshm_id id = 0;
    tlshm_amounts use = {{20}};
    set_clocks(boot, (int64_t)(boot - HOUR(6)));
    space_limits(&space, "agent:a", "tokens 100 per day");
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(ask_for_tokens("agent:a", 20, &id, NULL), TLSHM_OK);
        cr_assert_eq(tlshm_settle(space.t, id, &use, TLSHM_EXACT, NULL), TLSHM_OK);
    }
    cr_assert_eq(ask_for_tokens("agent:a", 20, &id, NULL), TLSHM_OK);
    cr_assert_eq(tlshm_refund(space.t, id, NULL), TLSHM_OK); /* what the thread knew of the scope is forgotten */
    set_clocks(boot + SEC(1), (int64_t)(boot + SEC(1)));
    cr_expect_eq(ask_for_tokens("agent:a", 30, &id, NULL), TLSHM_REFUSED, "the day goes on");
    cr_assert_eq(ask_for_tokens("agent:a", 5, &id, NULL), TLSHM_OK);
    cr_assert_eq(tlshm_settle(space.t, id, &use, TLSHM_EXACT, NULL), TLSHM_OK);
    set_clocks(boot + HOUR(9), (int64_t)(boot + HOUR(9)));
    cr_expect_eq(ask_for_tokens("agent:a", 30, &id, NULL), TLSHM_OK, "midnight is past, which has come earlier");
}
