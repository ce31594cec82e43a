/* SPDX-License-Identifier: MIT */
/*
 * calendar.h - calendar periods (hour, day, week, month) of a time zone, as arithmetic on a struct.
 *
 * A zone is loaded once from the system's files (zone.h) into a plain struct of integers that any process can keep in
 * shared memory. Everything here is pure: no files, no libc time functions, no state, no allocation, so a worker or a
 * signal handler can ask at any time.
 *
 * Let local(u) be u + tl_zone_offset(u): what a wall clock in the zone shows at the instant u.
 *
 * INVARIANTS
 *   I1  Periods tile the time line: each instant lies in exactly one, and one ends where the next begins.
 *   I2  A period is never empty. A local day that the zone skipped altogether is no period.
 *   I3  A day, week or month begins at the first instant at which the local clock shows its first midnight or more:
 *       if that midnight is skipped, where the clock continues; if it comes twice, at the first.
 *   I4  An hour begins whenever the local clock stands at a full hour, or leaps from one hour into another. So the hour
 *       that comes twice in autumn is two periods. A leap inside an hour makes it longer or shorter, not two.
 */
#ifndef TL_CALENDAR_H
#define TL_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#include <tlshm.h>

#define TL_ZONE_NAME_SIZE 48
#define TL_ZONE_CHANGES 256              /* Asia/Hebron has the most, 194 until 2086 */
#define TL_ZONE_OFFSET_MAX_S (26 * 3600) /* east or west; what RFC 8536 lets a file say */

/* One end of daylight-saving time within any year. */
enum tl_zone_date_kind {
    TL_ZONE_WEEKDAY = 1, /* the week-th day of the month that is this weekday, 0 Sunday; week 5 is the last one */
    TL_ZONE_JULIAN = 2,  /* day 1..365; the 29th of February is never counted */
    TL_ZONE_ORDINAL = 3  /* day 0..365; the 29th of February is counted */
};

struct tl_zone_date {
    uint32_t kind;
    uint32_t month; /* 1..12 */
    uint32_t week;  /* 1..5 */
    uint32_t day;
    int32_t time_s; /* on the clock that is in force until then; may lie days away */
};

/* What holds after the last change, for ever. */
enum tl_zone_rule_mode {
    TL_ZONE_NO_RULE = 0, /* the last change's offset */
    TL_ZONE_FIXED = 1,   /* std_offset_s */
    TL_ZONE_SEASONS = 2  /* std_offset_s, and dst_offset_s between start and end of each year */
};

struct tl_zone_rule {
    uint32_t mode;
    int32_t std_offset_s;
    int32_t dst_offset_s;
    struct tl_zone_date start;
    struct tl_zone_date end;
    int32_t pad;
};

struct tl_zone_change {
    int64_t from_s; /* since 1970, UTC; strictly increasing */
    int32_t offset_s;
    int32_t pad;
};

/* A zone from 2020 on. Integers only and no holes: it is copied word by word. All zero is a valid zone, UTC. */
struct tl_zone {
    char name[TL_ZONE_NAME_SIZE]; /* NUL-terminated */
    uint32_t count;
    int32_t initial_offset_s; /* before the first change; with no change and no rule, always */
    struct tl_zone_change change[TL_ZONE_CHANGES];
    struct tl_zone_rule rule;
};

/* Whether a struct from untrusted memory is safe to hand to the functions below. */
bool tl_zone_valid(const struct tl_zone *zone);

/* Seconds east of UTC at an instant. Any utc_s is allowed; the far past and future are taken as years 1697 and 2514. */
int32_t tl_zone_offset(const struct tl_zone *zone, int64_t utc_s);

/*
 * The period [*start_ns, *end_ns) that contains the instant, in UTC. `period` is an enum tlshm_period. `anchor`: a
 * week's first day, 1 Monday .. 7 Sunday; a month's first day, 1 .. 31, clamped to the month's last day; 0 is 1.
 * Instants outside the years 1970 .. 2261 are taken as the nearest inside; anchors and periods likewise.
 */
void tl_calendar_period(const struct tl_zone *zone, unsigned period, unsigned anchor, int64_t utc_ns, int64_t *start_ns,
                        int64_t *end_ns);

#endif
