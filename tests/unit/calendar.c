/* SPDX-License-Identifier: MIT */
/*
 * calendar.c - periods of zones made by hand: no file, no system zone, so every expected instant can be read here.
 *
 * The tables give instants in UTC. Beside them a reference walks the time line in small steps, with the rules I3 and I4
 * of calendar.h taken literally, and must agree.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calendar.h"

#define NS INT64_C(1000000000)
#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ----------------------------------------------------------------------------------------------------------- zones */

#define WEEKDAY(m, w, d, s)                                                                                            \
    {                                                                                                                  \
        .kind = TL_ZONE_WEEKDAY, .month = (m), .week = (w), .day = (d), .time_s = (s)                                  \
    }
#define SEASONS(std, dst, ...)                                                                                         \
    {                                                                                                                  \
        .mode = TL_ZONE_SEASONS, .std_offset_s = (std), .dst_offset_s = (dst), __VA_ARGS__                             \
    }
#define FIXED(std)                                                                                                     \
    {                                                                                                                  \
        .mode = TL_ZONE_FIXED, .std_offset_s = (std)                                                                   \
    }

enum {
    UTC,
    SHANGHAI,
    KATHMANDU,
    AMSTERDAM,
    CAIRO,
    BEIRUT,
    HAVANA,
    LORD_HOWE,
    NUUK,
    ALL_YEAR,
    SKIPPED_DAY,
    JUMPS,
    ZONES
};

static const struct tl_zone zones[ZONES] = {
    [UTC] = {.name = "UTC"},
    [SHANGHAI] = {.name = "Shanghai", .rule = FIXED(8 * 3600)},
    [KATHMANDU] = {.name = "Kathmandu", .rule = FIXED(5 * 3600 + 2700)},
    [AMSTERDAM] = {.name = "Amsterdam",
                   .rule = SEASONS(3600, 7200, .start = WEEKDAY(3, 5, 0, 7200), .end = WEEKDAY(10, 5, 0, 10800))},
    /* Friday's midnight does not exist in spring; in autumn Thursday's last hour comes twice. */
    [CAIRO] = {.name = "Cairo",
               .rule = SEASONS(7200, 10800, .start = WEEKDAY(4, 5, 5, 0), .end = WEEKDAY(10, 5, 4, 86400))},
    [BEIRUT] = {.name = "Beirut",
                .rule = SEASONS(7200, 10800, .start = WEEKDAY(3, 5, 0, 0), .end = WEEKDAY(10, 5, 0, 0))},
    /* Midnight comes twice in autumn. */
    [HAVANA] = {.name = "Havana",
                .rule = SEASONS(-18000, -14400, .start = WEEKDAY(3, 2, 0, 0), .end = WEEKDAY(11, 1, 0, 3600))},
    [LORD_HOWE] = {.name = "LordHowe",
                   .rule = SEASONS(37800, 39600, .start = WEEKDAY(10, 1, 0, 7200), .end = WEEKDAY(4, 1, 0, 7200))},
    [NUUK] = {.name = "Nuuk",
              .rule = SEASONS(-7200, -3600, .start = WEEKDAY(3, 5, 0, -3600), .end = WEEKDAY(10, 5, 0, 0))},
    /* "XXX3EDT4,0/0,J365/23": daylight-saving time that never ends. */
    [ALL_YEAR] = {.name = "AllYear",
                  .rule = SEASONS(-10800, -14400, .start = {.kind = TL_ZONE_ORDINAL},
                                  .end = {.kind = TL_ZONE_JULIAN, .day = 365, .time_s = 23 * 3600})},
    /* From 10 hours behind to 14 ahead at a midnight: 2024-12-30 was no day. */
    [SKIPPED_DAY] = {.name = "SkippedDay",
                     .count = 1,
                     .initial_offset_s = -36000,
                     .change = {{.from_s = INT64_C(1735552800), .offset_s = 50400}}},
    /* Nothing that a country did: a zone that leaps to and fro by odd amounts, minutes and days apart. */
    [JUMPS] = {.name = "Jumps",
               .count = 7,
               .initial_offset_s = 0,
               .change = {{.from_s = INT64_C(1710000000), .offset_s = 5400},
                          {.from_s = INT64_C(1710000600), .offset_s = -1800},
                          {.from_s = INT64_C(1710001200), .offset_s = 93600},
                          {.from_s = INT64_C(1710002400), .offset_s = -93600},
                          {.from_s = INT64_C(1710108000), .offset_s = 0},
                          {.from_s = INT64_C(1710109800), .offset_s = -1800},
                          {.from_s = INT64_C(1710111600), .offset_s = -3600}},
               .rule = FIXED(-3600)},
};

/* "2024-03-31 01:00:00" in UTC to seconds since 1970; the C library's calendar is the independent one here. */
static int64_t utc(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);
    cr_assert(end != NULL && *end == '\0', "bad date in a table: %s", text);
    return timegm(&tm);
}

struct expectation {
    int zone;
    unsigned period;
    unsigned anchor;
    const char *instant;
    const char *start;
    const char *end;
};

static void expect_table(const struct expectation *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct expectation *e = &table[i];
        int64_t start, end;
        tl_calendar_period(&zones[e->zone], e->period, e->anchor, utc(e->instant) * NS, &start, &end);
        cr_expect(start == utc(e->start) * NS && end == utc(e->end) * NS,
                  "%s period %u anchor %u at %s: got [%lld, %lld), expected [%lld, %lld)", zones[e->zone].name,
                  e->period, e->anchor, e->instant, (long long)(start / NS), (long long)(end / NS),
                  (long long)utc(e->start), (long long)utc(e->end));
    }
}

#define EXPECT(...)                                                                                                    \
    do {                                                                                                               \
        static const struct expectation table[] = {__VA_ARGS__};                                                       \
        expect_table(table, LENGTH(table));                                                                            \
    } while (0)

/* ---------------------------------------------------------------------------------------------------------- tables */

Test(calendar, days)
{
    EXPECT({UTC, TLSHM_DAY, 0, "2024-02-29 00:00:00", "2024-02-29 00:00:00", "2024-03-01 00:00:00"},
           {UTC, TLSHM_DAY, 0, "2024-02-28 23:59:59", "2024-02-28 00:00:00", "2024-02-29 00:00:00"},
           {UTC, TLSHM_DAY, 0, "2100-02-28 12:00:00", "2100-02-28 00:00:00", "2100-03-01 00:00:00"},
           {UTC, TLSHM_DAY, 0, "2024-12-31 23:59:59", "2024-12-31 00:00:00", "2025-01-01 00:00:00"},
           {SHANGHAI, TLSHM_DAY, 0, "2024-05-01 15:59:59", "2024-04-30 16:00:00", "2024-05-01 16:00:00"},
           {SHANGHAI, TLSHM_DAY, 0, "2024-05-01 16:00:00", "2024-05-01 16:00:00", "2024-05-02 16:00:00"},
           {KATHMANDU, TLSHM_DAY, 0, "2024-05-01 18:14:59", "2024-04-30 18:15:00", "2024-05-01 18:15:00"});
}

Test(calendar, days_of_23_and_25_hours)
{
    EXPECT({AMSTERDAM, TLSHM_DAY, 0, "2024-03-31 00:59:59", "2024-03-30 23:00:00", "2024-03-31 22:00:00"},
           {AMSTERDAM, TLSHM_DAY, 0, "2024-03-31 01:00:00", "2024-03-30 23:00:00", "2024-03-31 22:00:00"},
           {AMSTERDAM, TLSHM_DAY, 0, "2024-10-27 00:59:59", "2024-10-26 22:00:00", "2024-10-27 23:00:00"},
           {AMSTERDAM, TLSHM_DAY, 0, "2024-10-27 22:59:59", "2024-10-26 22:00:00", "2024-10-27 23:00:00"},
           {AMSTERDAM, TLSHM_DAY, 0, "2024-10-27 23:00:00", "2024-10-27 23:00:00", "2024-10-28 23:00:00"},
           {LORD_HOWE, TLSHM_DAY, 0, "2024-04-06 20:00:00", "2024-04-06 13:00:00", "2024-04-07 13:30:00"},
           {LORD_HOWE, TLSHM_DAY, 0, "2024-10-05 20:00:00", "2024-10-05 13:30:00", "2024-10-06 13:00:00"});
}

Test(calendar, midnights_that_are_skipped_or_come_twice)
{
    EXPECT({CAIRO, TLSHM_DAY, 0, "2024-04-25 21:59:59", "2024-04-24 22:00:00", "2024-04-25 22:00:00"},
           {CAIRO, TLSHM_DAY, 0, "2024-04-25 22:00:00", "2024-04-25 22:00:00", "2024-04-26 21:00:00"},
           {CAIRO, TLSHM_DAY, 0, "2024-10-31 20:30:00", "2024-10-30 21:00:00", "2024-10-31 22:00:00"},
           {CAIRO, TLSHM_DAY, 0, "2024-10-31 21:30:00", "2024-10-30 21:00:00", "2024-10-31 22:00:00"},
           {BEIRUT, TLSHM_DAY, 0, "2024-10-26 21:30:00", "2024-10-25 21:00:00", "2024-10-26 22:00:00"},
           {HAVANA, TLSHM_DAY, 0, "2024-03-10 04:59:59", "2024-03-09 05:00:00", "2024-03-10 05:00:00"},
           {HAVANA, TLSHM_DAY, 0, "2024-03-10 05:00:00", "2024-03-10 05:00:00", "2024-03-11 04:00:00"},
           {HAVANA, TLSHM_DAY, 0, "2024-11-03 04:30:00", "2024-11-03 04:00:00", "2024-11-04 05:00:00"},
           {HAVANA, TLSHM_DAY, 0, "2024-11-03 05:30:00", "2024-11-03 04:00:00", "2024-11-04 05:00:00"});
}

Test(calendar, a_skipped_day_is_no_period)
{
    EXPECT({SKIPPED_DAY, TLSHM_DAY, 0, "2024-12-30 09:59:59", "2024-12-29 10:00:00", "2024-12-30 10:00:00"},
           {SKIPPED_DAY, TLSHM_DAY, 0, "2024-12-30 10:00:00", "2024-12-30 10:00:00", "2024-12-31 10:00:00"});
}

Test(calendar, hours)
{
    EXPECT({UTC, TLSHM_HOUR, 0, "2024-12-31 23:59:59", "2024-12-31 23:00:00", "2025-01-01 00:00:00"},
           {KATHMANDU, TLSHM_HOUR, 0, "2024-05-01 10:14:59", "2024-05-01 09:15:00", "2024-05-01 10:15:00"},
           {KATHMANDU, TLSHM_HOUR, 0, "2024-05-01 10:15:00", "2024-05-01 10:15:00", "2024-05-01 11:15:00"},
           {AMSTERDAM, TLSHM_HOUR, 0, "2024-03-31 01:30:00", "2024-03-31 01:00:00", "2024-03-31 02:00:00"},
           {AMSTERDAM, TLSHM_HOUR, 0, "2024-10-27 00:30:00", "2024-10-27 00:00:00", "2024-10-27 01:00:00"},
           {AMSTERDAM, TLSHM_HOUR, 0, "2024-10-27 01:00:00", "2024-10-27 01:00:00", "2024-10-27 02:00:00"},
           /* half an hour skipped: 02:30 to 03:00; half an hour twice: 01:00 to 02:00 lasts 90 minutes */
           {LORD_HOWE, TLSHM_HOUR, 0, "2024-10-05 15:29:59", "2024-10-05 14:30:00", "2024-10-05 15:30:00"},
           {LORD_HOWE, TLSHM_HOUR, 0, "2024-10-05 15:30:00", "2024-10-05 15:30:00", "2024-10-05 16:00:00"},
           {LORD_HOWE, TLSHM_HOUR, 0, "2024-04-06 14:00:00", "2024-04-06 14:00:00", "2024-04-06 15:30:00"},
           {LORD_HOWE, TLSHM_HOUR, 0, "2024-04-06 15:15:00", "2024-04-06 14:00:00", "2024-04-06 15:30:00"});
}

Test(calendar, weeks)
{
    EXPECT({UTC, TLSHM_WEEK, 0, "2024-05-01 12:00:00", "2024-04-29 00:00:00", "2024-05-06 00:00:00"},
           {UTC, TLSHM_WEEK, 1, "2024-05-06 00:00:00", "2024-05-06 00:00:00", "2024-05-13 00:00:00"},
           {UTC, TLSHM_WEEK, 3, "2024-05-01 00:00:00", "2024-05-01 00:00:00", "2024-05-08 00:00:00"},
           {UTC, TLSHM_WEEK, 4, "2024-05-01 23:59:59", "2024-04-25 00:00:00", "2024-05-02 00:00:00"},
           {UTC, TLSHM_WEEK, 7, "2024-12-31 00:00:00", "2024-12-29 00:00:00", "2025-01-05 00:00:00"},
           {UTC, TLSHM_WEEK, 99, "2024-12-31 00:00:00", "2024-12-29 00:00:00", "2025-01-05 00:00:00"},
           {UTC, TLSHM_WEEK, 0, "1970-01-01 00:00:00", "1969-12-29 00:00:00", "1970-01-05 00:00:00"},
           {AMSTERDAM, TLSHM_WEEK, 0, "2024-03-31 12:00:00", "2024-03-24 23:00:00", "2024-03-31 22:00:00"},
           {AMSTERDAM, TLSHM_WEEK, 7, "2024-10-27 12:00:00", "2024-10-26 22:00:00", "2024-11-02 23:00:00"});
}

Test(calendar, months)
{
    EXPECT({UTC, TLSHM_MONTH, 0, "2024-02-29 12:00:00", "2024-02-01 00:00:00", "2024-03-01 00:00:00"},
           {UTC, TLSHM_MONTH, 1, "2024-12-31 23:59:59", "2024-12-01 00:00:00", "2025-01-01 00:00:00"},
           {UTC, TLSHM_MONTH, 15, "2024-12-31 23:59:59", "2024-12-15 00:00:00", "2025-01-15 00:00:00"},
           {UTC, TLSHM_MONTH, 15, "2025-01-14 23:59:59", "2024-12-15 00:00:00", "2025-01-15 00:00:00"},
           {AMSTERDAM, TLSHM_MONTH, 0, "2024-03-15 00:00:00", "2024-02-29 23:00:00", "2024-03-31 22:00:00"},
           {SHANGHAI, TLSHM_MONTH, 0, "2024-12-31 16:00:00", "2024-12-31 16:00:00", "2025-01-31 16:00:00"},
           {UTC, TLSHM_MONTH, 0, "1970-01-01 00:00:00", "1970-01-01 00:00:00", "1970-02-01 00:00:00"},
           {UTC, TLSHM_MONTH, 2, "1970-01-01 00:00:00", "1969-12-02 00:00:00", "1970-01-02 00:00:00"},
           {UTC, TLSHM_MONTH, 31, "2261-12-31 23:59:59", "2261-12-31 00:00:00", "2262-01-31 00:00:00"});
}

Test(calendar, months_that_lack_the_anchor_day)
{
    EXPECT({UTC, TLSHM_MONTH, 31, "2024-01-30 23:59:59", "2023-12-31 00:00:00", "2024-01-31 00:00:00"},
           {UTC, TLSHM_MONTH, 31, "2024-01-31 00:00:00", "2024-01-31 00:00:00", "2024-02-29 00:00:00"},
           {UTC, TLSHM_MONTH, 31, "2024-02-29 00:00:00", "2024-02-29 00:00:00", "2024-03-31 00:00:00"},
           {UTC, TLSHM_MONTH, 31, "2024-04-30 00:00:00", "2024-04-30 00:00:00", "2024-05-31 00:00:00"},
           {UTC, TLSHM_MONTH, 31, "2025-02-28 00:00:00", "2025-02-28 00:00:00", "2025-03-31 00:00:00"},
           {UTC, TLSHM_MONTH, 30, "2025-02-27 00:00:00", "2025-01-30 00:00:00", "2025-02-28 00:00:00"},
           {UTC, TLSHM_MONTH, 29, "2100-02-28 00:00:00", "2100-02-28 00:00:00", "2100-03-29 00:00:00"},
           {UTC, TLSHM_MONTH, 29, "2024-02-28 00:00:00", "2024-01-29 00:00:00", "2024-02-29 00:00:00"},
           {UTC, TLSHM_MONTH, 500, "2024-02-29 00:00:00", "2024-02-29 00:00:00", "2024-03-31 00:00:00"});
}

/* --------------------------------------------------------------------------------------------------------- offsets */

Test(calendar, offsets_of_rules)
{
    static const struct {
        int zone;
        const char *instant;
        int32_t offset_s;
    } table[] = {
        {UTC, "2024-01-01 00:00:00", 0},
        {AMSTERDAM, "2024-03-31 00:59:59", 3600},
        {AMSTERDAM, "2024-03-31 01:00:00", 7200},
        {AMSTERDAM, "2024-10-27 00:59:59", 7200},
        {AMSTERDAM, "2024-10-27 01:00:00", 3600},
        {AMSTERDAM, "2099-10-25 00:59:59", 7200},
        {LORD_HOWE, "2024-12-31 23:59:59", 39600}, /* southern summer over the turn of the year */
        {LORD_HOWE, "2025-01-01 00:00:00", 39600},
        {NUUK, "2024-03-31 00:59:59", -7200}, /* the evening before the last Sunday */
        {NUUK, "2024-03-31 01:00:00", -3600},
        {ALL_YEAR, "2024-06-01 00:00:00", -14400},
        {ALL_YEAR, "2024-01-01 02:59:59", -14400},
        {ALL_YEAR, "2024-01-01 03:00:00", -14400},
        {ALL_YEAR, "2024-12-31 23:59:59", -14400},
        {SKIPPED_DAY, "2024-12-30 09:59:59", -36000},
        {SKIPPED_DAY, "2024-12-30 10:00:00", 50400},
    };
    for (size_t i = 0; i < LENGTH(table); i++) {
        int32_t got = tl_zone_offset(&zones[table[i].zone], utc(table[i].instant));
        cr_expect(got == table[i].offset_s, "%s at %s: got %d, expected %d", zones[table[i].zone].name,
                  table[i].instant, got, table[i].offset_s);
    }
}

/* Day 60 of a rule is the 1st of March in every year if the 29th of February is not counted, else not; day 59 is the
 * 28th of February in any case. */
Test(calendar, rule_dates_count_february_29_or_not)
{
    struct tl_zone julian = {.rule = SEASONS(0, 3600, .start = {.kind = TL_ZONE_JULIAN, .day = 60},
                                             .end = {.kind = TL_ZONE_JULIAN, .day = 365})};
    struct tl_zone ordinal = julian, february = julian;
    ordinal.rule.start = (struct tl_zone_date){.kind = TL_ZONE_ORDINAL, .day = 59};
    february.rule.start.day = 59;
    cr_expect_eq(tl_zone_offset(&february, utc("2024-02-27 23:59:59")), 0);
    cr_expect_eq(tl_zone_offset(&february, utc("2024-02-28 00:00:00")), 3600);

    static const struct {
        const char *instant;
        int32_t julian_s, ordinal_s;
    } table[] = {{"2023-02-28 23:59:59", 0, 0},    {"2023-03-01 00:00:00", 3600, 3600},
                 {"2024-02-28 23:59:59", 0, 0},    {"2024-02-29 00:00:00", 0, 3600},
                 {"2024-02-29 23:59:59", 0, 3600}, {"2024-03-01 00:00:00", 3600, 3600}};
    for (size_t i = 0; i < LENGTH(table); i++) {
        cr_expect_eq(tl_zone_offset(&julian, utc(table[i].instant)), table[i].julian_s, "%s", table[i].instant);
        cr_expect_eq(tl_zone_offset(&ordinal, utc(table[i].instant)), table[i].ordinal_s, "%s", table[i].instant);
    }
}

/* ------------------------------------------------------------------------------------------------------- reference */

static int64_t floor_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

/* A number that grows from one date period to the next, of a local date; from the C library's calendar. */
static int64_t reference_number(unsigned period, unsigned anchor, int64_t local_s)
{
    time_t clock = local_s;
    struct tm tm;
    gmtime_r(&clock, &tm);
    if (period == TLSHM_DAY) {
        return floor_div(local_s, 86400);
    }
    if (period == TLSHM_WEEK) {
        int since = (tm.tm_wday + 7 - (int)(anchor % 7)) % 7;
        return floor_div(local_s, 86400) - since;
    }
    struct tm last = {.tm_year = tm.tm_year, .tm_mon = tm.tm_mon + 1, .tm_mday = 0};
    timegm(&last);
    int first = (int)anchor < last.tm_mday ? (int)anchor : last.tm_mday;
    return tm.tm_year * 12 + tm.tm_mon - (tm.tm_mday < first);
}

#define STEP_S 300 /* divides the minute of every change, and of every full hour, of the zones above */

/* Whether a period begins at this step, given the step before and the highest number that was ever seen. */
static bool reference_begins(const struct tl_zone *zone, unsigned period, unsigned anchor, int64_t s, int64_t *highest)
{
    int64_t local = s + tl_zone_offset(zone, s);
    int64_t before = s - STEP_S + tl_zone_offset(zone, s - STEP_S);
    if (period == TLSHM_HOUR) {
        return local % 3600 == 0 || floor_div(local, 3600) != floor_div(before, 3600);
    }
    int64_t number = reference_number(period, anchor, local);
    bool begins = number > *highest;
    *highest = begins ? number : *highest;
    return begins;
}

/* Walks [from, until); every begin that the reference finds, and no other, must be a begin. */
static void walk(const struct tl_zone *zone, unsigned period, unsigned anchor, int64_t from, int64_t until)
{
    int64_t highest = INT64_MIN;
    int64_t start = 0, end = 0;
    unsigned periods = 0;
    for (int64_t s = from; s < until; s += STEP_S) {
        bool begins = reference_begins(zone, period, anchor, s, &highest);
        if (s == from) {
            tl_calendar_period(zone, period, anchor, s * NS, &start, &end);
            continue;
        }
        cr_assert(begins == (end == s * NS), "%s period %u anchor %u: at %lld the reference says %d, but [%lld, %lld)",
                  zone->name, period, anchor, (long long)s, begins, (long long)(start / NS), (long long)(end / NS));
        int64_t next_start, next_end;
        tl_calendar_period(zone, period, anchor, s * NS, &next_start, &next_end);
        cr_assert_eq(next_start, begins ? end : start);
        start = next_start;
        end = next_end;
        periods += begins;
    }
    cr_assert_gt(periods, 0);
}

Test(calendar, step_by_step)
{
    for (int zone = 0; zone < ZONES; zone++) {
        walk(&zones[zone], TLSHM_HOUR, 0, utc("2024-03-01 00:00:00"), utc("2024-05-01 00:00:00"));
        walk(&zones[zone], TLSHM_DAY, 0, utc("2024-03-01 00:00:00"), utc("2024-05-01 00:00:00"));
        walk(&zones[zone], TLSHM_DAY, 0, utc("2024-10-01 00:00:00"), utc("2025-01-05 00:00:00"));
        walk(&zones[zone], TLSHM_WEEK, 7, utc("2024-03-01 00:00:00"), utc("2024-05-01 00:00:00"));
        walk(&zones[zone], TLSHM_WEEK, 1, utc("2024-10-01 00:00:00"), utc("2024-12-01 00:00:00"));
        walk(&zones[zone], TLSHM_MONTH, 31, utc("2024-02-01 00:00:00"), utc("2024-05-01 00:00:00"));
    }
}

/* Every day from 1970 to 2261 lies in the month that the C library says. */
Test(calendar, every_day_of_three_centuries)
{
    int64_t start = 0, end = 0;
    for (int64_t day = 0; day * 86400 < utc("2262-01-01 00:00:00"); day++) {
        time_t clock = day * 86400;
        struct tm tm;
        gmtime_r(&clock, &tm);
        tl_calendar_period(&zones[UTC], TLSHM_MONTH, 1, clock * NS, &start, &end);
        cr_assert_eq(start, (clock - (tm.tm_mday - 1) * 86400) * NS, "day %lld", (long long)day);
        cr_assert_gt(end, clock * NS);
    }
    cr_assert_eq(end, utc("2262-01-01 00:00:00") * NS);
}

/* ------------------------------------------------------------------------------------------------------- properties */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* I1 and I2 at one instant that lies within the supported years. */
static void expect_tile(const struct tl_zone *zone, unsigned period, unsigned anchor, int64_t ns)
{
    int64_t start, end, next_start, next_end, last_start, last_end;
    tl_calendar_period(zone, period, anchor, ns, &start, &end);
    cr_assert(start <= ns && ns < end, "%s period %u anchor %u: %lld is not inside", zone->name, period, anchor,
              (long long)ns);
    tl_calendar_period(zone, period, anchor, end, &next_start, &next_end);
    cr_assert_eq(next_start, end, "%s period %u anchor %u after %lld", zone->name, period, anchor, (long long)ns);
    tl_calendar_period(zone, period, anchor, start - 1, &last_start, &last_end);
    cr_assert_eq(last_end, start, "%s period %u anchor %u before %lld", zone->name, period, anchor, (long long)ns);
    tl_calendar_period(zone, period, anchor, end - 1, &last_start, &last_end);
    cr_assert(last_start == start && last_end == end);
}

Test(calendar, periods_tile)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    int64_t low = utc("1970-03-01 00:00:00") * NS;
    int64_t high = utc("2261-10-01 00:00:00") * NS;

    for (int round = 0; round < 20000; round++) {
        int64_t ns = low + (int64_t)(next_random(&state) % (uint64_t)(high - low));
        int zone = (int)(next_random(&state) % ZONES);
        unsigned period = (unsigned)(next_random(&state) % 4);
        expect_tile(&zones[zone], period, (unsigned)(next_random(&state) % 34), ns);
    }
}

/* The same close to the changes of the zone that leaps. */
Test(calendar, periods_tile_around_wild_changes)
{
    uint64_t state = UINT64_C(0x2545f4914f6cdd1d);
    const struct tl_zone *zone = &zones[JUMPS];
    for (int round = 0; round < 20000; round++) {
        int64_t at = zone->change[next_random(&state) % zone->count].from_s * NS;
        int64_t ns = at + (int64_t)(next_random(&state) % (uint64_t)(400000 * NS)) - 200000 * NS;
        expect_tile(zone, (unsigned)(next_random(&state) % 4), (unsigned)(next_random(&state) % 34), ns);
    }
}

/* -------------------------------------------------------------------------------------------------- untrusted input */

Test(calendar, any_instant_has_a_period)
{
    static const int64_t instants[] = {INT64_MIN, INT64_MIN + 1, -NS, -1, 0, INT64_MAX - 1, INT64_MAX};
    for (int zone = 0; zone < ZONES; zone++) {
        for (unsigned period = 0; period <= 9; period++) {
            for (size_t i = 0; i < LENGTH(instants); i++) {
                int64_t start, end;
                tl_calendar_period(&zones[zone], period, UINT32_MAX, instants[i], &start, &end);
                cr_expect(start < end);
                cr_expect(instants[i] < 0 ? start <= 0 && end > 0 : start <= instants[i]);
                int32_t offset = tl_zone_offset(&zones[zone], instants[i]);
                cr_expect(abs(offset) <= TL_ZONE_OFFSET_MAX_S);
            }
        }
    }
}

/* A valid zone with one field made bad must be refused, each in turn. */
Test(calendar, bad_zones_are_refused)
{
    struct tl_zone good = zones[AMSTERDAM];
    good.count = 2;
    good.change[0] = (struct tl_zone_change){.from_s = 10, .offset_s = 0};
    good.change[1] = (struct tl_zone_change){.from_s = 20, .offset_s = 3600};
    cr_assert(tl_zone_valid(&good));

#define REFUSED(field, value)                                                                                          \
    do {                                                                                                               \
        struct tl_zone bad = good;                                                                                     \
        bad.field = (value);                                                                                           \
        cr_expect(!tl_zone_valid(&bad), "%s = %s", #field, #value);                                                    \
    } while (0)
    REFUSED(count, TL_ZONE_CHANGES + 1);
    REFUSED(count, 3); /* the third is not after the second */
    REFUSED(initial_offset_s, TL_ZONE_OFFSET_MAX_S + 1);
    REFUSED(change[1].from_s, 10);
    REFUSED(change[1].from_s, INT64_MAX);
    REFUSED(change[0].from_s, INT64_MIN);
    REFUSED(change[1].offset_s, INT32_MIN);
    REFUSED(rule.mode, 3);
    REFUSED(rule.std_offset_s, -TL_ZONE_OFFSET_MAX_S - 1);
    REFUSED(rule.dst_offset_s, INT32_MAX);
    REFUSED(rule.start.kind, 0);
    REFUSED(rule.start.kind, 4);
    REFUSED(rule.start.month, 0);
    REFUSED(rule.start.month, 13);
    REFUSED(rule.start.week, 0);
    REFUSED(rule.start.week, 6);
    REFUSED(rule.start.day, 7);
    REFUSED(rule.start.time_s, INT32_MIN);
    REFUSED(rule.end.time_s, 168 * 3600);
    REFUSED(rule.end.kind, TL_ZONE_JULIAN); /* day 0, which that kind does not have */
#undef REFUSED

    struct tl_zone endless = good;
    memset(endless.name, 'x', sizeof endless.name);
    cr_expect(!tl_zone_valid(&endless));
}

/* Random words as a zone: whatever passes tl_zone_valid() must be safe to compute with, and tile. */
Test(calendar, random_zones_that_pass_are_safe)
{
    uint64_t state = UINT64_C(0xd1342543de82ef95);
    unsigned passed = 0;
    for (int round = 0; round < 20000; round++) {
        struct tl_zone zone = {.count = (uint32_t)(next_random(&state) % (TL_ZONE_CHANGES + 8))};
        int64_t at = 1600000000;
        for (uint32_t i = 0; i < zone.count && i < TL_ZONE_CHANGES; i++) {
            at += (int64_t)(next_random(&state) % 200000);
            zone.change[i].from_s = at;
            zone.change[i].offset_s = (int32_t)(next_random(&state) % 190000) - 95000;
        }
        zone.rule.mode = (uint32_t)(next_random(&state) % 4);
        zone.rule.std_offset_s = (int32_t)(next_random(&state) % 187201) - 93600;
        zone.rule.dst_offset_s = (int32_t)(next_random(&state) % 187201) - 93600;
        struct tl_zone_date *dates[] = {&zone.rule.start, &zone.rule.end};
        for (int d = 0; d < 2; d++) {
            *dates[d] = (struct tl_zone_date){.kind = (uint32_t)(next_random(&state) % 4),
                                              .month = (uint32_t)(next_random(&state) % 14),
                                              .week = (uint32_t)(next_random(&state) % 7),
                                              .day = (uint32_t)(next_random(&state) % 8),
                                              .time_s = (int32_t)(next_random(&state) % 1300000) - 650000};
        }
        if (tl_zone_valid(&zone)) {
            passed++;
            /* half of them anywhere, half close to the last change, where the rule takes over */
            int64_t s = round % 2 ? 1600000000 + (int64_t)(next_random(&state) % 40000000)
                                  : at - 4000 + (int64_t)(next_random(&state) % 8000);
            int64_t ns = s * NS + NS / 2;
            expect_tile(&zone, (unsigned)(next_random(&state) % 4), (unsigned)(next_random(&state) % 34), ns);
        }
    }
    cr_expect_gt(passed, 100);
}
