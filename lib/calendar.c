/* SPDX-License-Identifier: MIT */
/*
 * calendar.c - calendar periods of a time zone, as arithmetic on a struct.
 *
 * Three layers, each seen only by the next: dates (day numbers since 1970 to years and months and back), spans (the
 * stretch around an instant in which the zone's offset stays the same), periods.
 *
 * PROGRESS: a span begins where the one before it ends, so the loops over spans end; they need one or two rounds, and
 * never more than a zone has changes within the four days that two offsets can differ.
 *
 * Times are seconds since 1970 and names without a unit are seconds; `local` ones are read off the zone's wall clock.
 */
#include "calendar.h"

#include <stddef.h>
#include <string.h>

#define HOUR 3600
#define DAY 86400
#define NS INT64_C(1000000000)

/* The limits within which this file computes: nothing below can overflow. */
#define EARLIEST (-(INT64_C(1) << 33))
#define LATEST (INT64_C(1) << 34)
#define FOREVER (INT64_C(1) << 40)

#define DAYS_TO_1970 719162 /* from the 1st of January of the year 1 */
#define DAYS_IN_400_YEARS 146097
#define LAST_YEAR 2261 /* the last whole one that nanoseconds in an int64_t reach */
#define RULE_TIME_MAX (168 * HOUR - 1)

_Static_assert(sizeof(struct tl_zone_rule) == 56, "no holes in the rule");
_Static_assert(sizeof(struct tl_zone) == 56 + 16 * TL_ZONE_CHANGES + 56, "no holes in the zone");
_Static_assert(offsetof(struct tl_zone, change) % 8 == 0, "changes are copied word by word");

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* C rounds towards zero, which would make the period around 0 twice as long. */
static int64_t floor_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

static int64_t floor_mod(int64_t value, int64_t by)
{
    return value - by * floor_div(value, by);
}

/* ------------------------------------------------------------------------------------------------------------ dates */

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Day number of the 1st of January. Years from 1 on. */
static int64_t year_first_day(int64_t year)
{
    int64_t past = year - 1;
    return 365 * past + past / 4 - past / 100 + past / 400 - DAYS_TO_1970;
}

static int64_t year_of_day(int64_t day)
{
    int64_t year = (day + DAYS_TO_1970) * 400 / DAYS_IN_400_YEARS + 1; /* off by one at most, at the year's ends */
    if (day < year_first_day(year)) {
        return year - 1;
    }
    return day < year_first_day(year + 1) ? year : year + 1;
}

/* Days of the year before a month, 0 January .. 12 the next one. */
static int64_t days_before_month(int64_t year, int64_t month)
{
    static const int16_t days[13] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    return days[month] + (month > 1 && is_leap(year));
}

/* Months are counted from January of the year 0. */
static int64_t month_first_day(int64_t month)
{
    return year_first_day(month / 12) + days_before_month(month / 12, month % 12);
}

static int64_t month_of_day(int64_t day)
{
    int64_t year = year_of_day(day);
    int64_t of_year = day - year_first_day(year);
    int64_t month = of_year / 31; /* right or one too low */
    return year * 12 + month + (of_year >= days_before_month(year, month + 1));
}

/* 0 Sunday .. 6 Saturday. The 1st of January 1970 was a Thursday. */
static int64_t weekday_of_day(int64_t day)
{
    return floor_mod(day + 4, 7);
}

/* ------------------------------------------------------------------------------------------------------------ spans */

/* The offset is the same all over [from, until). Two spans side by side may have equal offsets. */
struct span {
    int64_t from;
    int64_t until;
    int32_t offset;
};

static int64_t weekday_date(const struct tl_zone_date *date, int64_t year)
{
    int64_t first = month_first_day(year * 12 + date->month - 1);
    int64_t next = month_first_day(year * 12 + date->month);
    int64_t day = first + floor_mod((int64_t)date->day - weekday_of_day(first), 7) + 7 * ((int64_t)date->week - 1);
    return day < next ? day : day - 7;
}

static int64_t date_day(const struct tl_zone_date *date, int64_t year)
{
    switch (date->kind) {
    case TL_ZONE_WEEKDAY:
        return weekday_date(date, year);
    case TL_ZONE_JULIAN:
        return year_first_day(year) + date->day - 1 + (date->day > 59 && is_leap(year));
    default:
        return year_first_day(year) + date->day;
    }
}

/* Narrows a span around the instant by a change at `at`, after which `offset` holds. */
static void narrow(struct span *span, int64_t instant, int64_t at, int32_t offset)
{
    if (at > instant) {
        span->until = at < span->until ? at : span->until;
    } else if (at >= span->from) {
        span->from = at;
        span->offset = offset;
    }
}

/*
 * A rule's dates can lie up to nine days outside their year (a time of a week, an offset of a day), hence the two years
 * on either side. The start goes last: where daylight-saving time ends and starts at the same instant it never ends,
 * which is how a rule says "all year".
 */
static struct span season_span(const struct tl_zone_rule *rule, int64_t instant)
{
    struct span span = {-FOREVER, FOREVER, rule->std_offset_s};
    int64_t year = year_of_day(floor_div(instant, DAY));

    for (int64_t y = year - 2; y <= year + 2; y++) {
        int64_t end = date_day(&rule->end, y) * DAY + rule->end.time_s - rule->dst_offset_s;
        narrow(&span, instant, end, rule->std_offset_s);
        int64_t start = date_day(&rule->start, y) * DAY + rule->start.time_s - rule->std_offset_s;
        narrow(&span, instant, start, rule->dst_offset_s);
    }
    return span;
}

/* Index of the change that holds at an instant, which is not before the first one. */
static uint32_t change_at(const struct tl_zone *zone, int64_t instant)
{
    uint32_t low = 0;
    uint32_t high = zone->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (zone->change[middle].from_s <= instant) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The span after the last change, or the only one. */
static struct span rule_span(const struct tl_zone *zone, int64_t instant)
{
    int64_t from = zone->count > 0 ? zone->change[zone->count - 1].from_s : -FOREVER;
    struct span span = {from, FOREVER,
                        zone->count > 0 ? zone->change[zone->count - 1].offset_s : zone->initial_offset_s};

    if (zone->rule.mode == TL_ZONE_FIXED) {
        span.offset = zone->rule.std_offset_s;
    } else if (zone->rule.mode == TL_ZONE_SEASONS) {
        span = season_span(&zone->rule, instant);
        span.from = span.from > from ? span.from : from;
    }
    return span;
}

static struct span span_at(const struct tl_zone *zone, int64_t instant)
{
    if (zone->count == 0) {
        return rule_span(zone, instant);
    }
    if (instant < zone->change[0].from_s) {
        return (struct span){-FOREVER, zone->change[0].from_s, zone->initial_offset_s};
    }
    uint32_t i = change_at(zone, instant);
    if (i == zone->count - 1) {
        return rule_span(zone, instant);
    }
    return (struct span){zone->change[i].from_s, zone->change[i + 1].from_s, zone->change[i].offset_s};
}

static int64_t local_at(const struct tl_zone *zone, int64_t instant)
{
    return instant + span_at(zone, instant).offset;
}

int32_t tl_zone_offset(const struct tl_zone *zone, int64_t utc_s)
{
    return span_at(zone, clamp(utc_s, EARLIEST, LATEST)).offset;
}

/* ------------------------------------------------------------------------------------------------------------ hours */

/* Whether an instant at which a span begins, or the clock stands at a full hour, is where an hour begins (I4). */
static bool hour_begins(const struct tl_zone *zone, int64_t instant)
{
    int64_t local = local_at(zone, instant);
    return floor_mod(local, HOUR) == 0 || floor_div(local, HOUR) != floor_div(local_at(zone, instant - 1), HOUR);
}

static int64_t hour_start(const struct tl_zone *zone, int64_t instant)
{
    for (;;) {
        struct span span = span_at(zone, instant);
        int64_t full = instant - floor_mod(instant + span.offset, HOUR);
        if (full >= span.from) {
            return full;
        }
        if (hour_begins(zone, span.from)) {
            return span.from;
        }
        instant = span.from - 1;
    }
}

static int64_t hour_end(const struct tl_zone *zone, int64_t instant)
{
    for (;;) {
        struct span span = span_at(zone, instant);
        int64_t full = instant - floor_mod(instant + span.offset, HOUR) + HOUR;
        if (full < span.until) {
            return full;
        }
        if (hour_begins(zone, span.until)) {
            return span.until;
        }
        instant = span.until;
    }
}

/* --------------------------------------------------------------------------------------------- days, weeks, months */

/* The first instant at which the local clock shows `local` or more (I3). */
static int64_t first_reach(const struct tl_zone *zone, int64_t local)
{
    int64_t instant = local - TL_ZONE_OFFSET_MAX_S; /* no clock of the world is there yet */
    for (;;) {
        struct span span = span_at(zone, instant);
        int64_t reach = local - span.offset > instant ? local - span.offset : instant;
        if (reach < span.until) {
            return reach;
        }
        instant = span.until;
    }
}

/* Days, weeks and months have numbers that follow one another; these two turn one into its first day, and back. */
static int64_t period_first_day(unsigned period, unsigned anchor, int64_t number)
{
    if (period == TLSHM_DAY) {
        return number;
    }
    if (period == TLSHM_WEEK) {
        return number * 7 + (int64_t)anchor - 4; /* day -3 was a Monday */
    }
    int64_t anchored = month_first_day(number) + anchor - 1;
    int64_t last = month_first_day(number + 1) - 1;
    return anchored < last ? anchored : last;
}

static int64_t period_number(unsigned period, unsigned anchor, int64_t day)
{
    if (period == TLSHM_DAY) {
        return day;
    }
    if (period == TLSHM_WEEK) {
        return floor_div(day - (int64_t)anchor + 4, 7);
    }
    int64_t month = month_of_day(day);
    return month - (day < period_first_day(period, anchor, month));
}

static int64_t period_start(const struct tl_zone *zone, unsigned period, unsigned anchor, int64_t number)
{
    return first_reach(zone, period_first_day(period, anchor, number) * DAY);
}

/*
 * The date on the local clock says which period it is, except after a leap back over midnight: the next period has
 * begun by then (I3), so look ahead. That also passes over days that the zone skipped (I2).
 */
static void date_period(const struct tl_zone *zone, unsigned period, unsigned anchor, int64_t instant, int64_t *start,
                        int64_t *end)
{
    int64_t number = period_number(period, anchor, floor_div(local_at(zone, instant), DAY));

    *start = period_start(zone, period, anchor, number);
    *end = period_start(zone, period, anchor, ++number);
    while (*end <= instant) {
        *start = *end;
        *end = period_start(zone, period, anchor, ++number);
    }
}

void tl_calendar_period(const struct tl_zone *zone, unsigned period, unsigned anchor, int64_t utc_ns, int64_t *start_ns,
                        int64_t *end_ns)
{
    int64_t start, end;
    int64_t instant = clamp(utc_ns / NS, 0, year_first_day(LAST_YEAR + 1) * DAY - 1);

    if (period == TLSHM_HOUR) {
        start = hour_start(zone, instant);
        end = hour_end(zone, instant);
    } else {
        anchor = (unsigned)clamp(anchor, 1, period == TLSHM_WEEK ? 7 : 31);
        date_period(zone, period, anchor, instant, &start, &end);
    }
    *start_ns = start * NS;
    *end_ns = end * NS;
}

/* -------------------------------------------------------------------------------------------------- untrusted zones */

static bool offset_valid(int32_t offset_s)
{
    return offset_s >= -TL_ZONE_OFFSET_MAX_S && offset_s <= TL_ZONE_OFFSET_MAX_S;
}

static bool in_range(uint32_t value, uint32_t low, uint32_t high)
{
    return value >= low && value <= high;
}

static bool date_valid(const struct tl_zone_date *date)
{
    if (date->time_s < -RULE_TIME_MAX || date->time_s > RULE_TIME_MAX) {
        return false;
    }
    switch (date->kind) {
    case TL_ZONE_WEEKDAY:
        return in_range(date->month, 1, 12) && in_range(date->week, 1, 5) && date->day <= 6;
    case TL_ZONE_JULIAN:
        return in_range(date->day, 1, 365);
    case TL_ZONE_ORDINAL:
        return date->day <= 365;
    default:
        return false;
    }
}

static bool rule_valid(const struct tl_zone_rule *rule)
{
    if (rule->mode == TL_ZONE_SEASONS) {
        return offset_valid(rule->std_offset_s) && offset_valid(rule->dst_offset_s) && date_valid(&rule->start) &&
               date_valid(&rule->end);
    }
    return rule->mode == TL_ZONE_NO_RULE || (rule->mode == TL_ZONE_FIXED && offset_valid(rule->std_offset_s));
}

static bool changes_valid(const struct tl_zone *zone)
{
    int64_t before = EARLIEST;
    for (uint32_t i = 0; i < zone->count; i++) {
        const struct tl_zone_change *change = &zone->change[i];
        if (change->from_s <= before || change->from_s > LATEST || !offset_valid(change->offset_s)) {
            return false;
        }
        before = change->from_s;
    }
    return true;
}

bool tl_zone_valid(const struct tl_zone *zone)
{
    return memchr(zone->name, '\0', sizeof zone->name) != NULL && zone->count <= TL_ZONE_CHANGES &&
           offset_valid(zone->initial_offset_s) && changes_valid(zone) && rule_valid(&zone->rule);
}
