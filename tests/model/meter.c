/* SPDX-License-Identifier: MIT */
/* meter.c - the use inside one window; calendar arithmetic in UTC of its own, so that it shares no mistake. */
#include "meter.h"

#include <string.h>

#define SECOND_NS INT64_C(1000000000)
#define DAY_S INT64_C(86400)

static uint32_t window_slices(const tlshm_window *w)
{
    return w->slices != 0 ? w->slices : 60;
}

static uint64_t window_width(const tlshm_window *w)
{
    uint64_t grain = UINT64_C(1000) * window_slices(w);
    return (w->length_ns + grain - 1) / grain * 1000;
}

static uint32_t window_anchor(const tlshm_window *w)
{
    return w->anchor != 0 ? w->anchor : 1;
}

static bool calendar_same(const tlshm_window *a, const tlshm_window *b)
{
    bool anchored = a->period == TLSHM_WEEK || a->period == TLSHM_MONTH;
    return a->period == b->period && strcmp(a->zone, b->zone) == 0 &&
           (!anchored || window_anchor(a) == window_anchor(b));
}

static bool window_same(const tlshm_window *a, const tlshm_window *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == TLSHM_WINDOW_ROLLING)
        return window_width(a) == window_width(b) && window_slices(a) == window_slices(b);
    return a->kind != TLSHM_WINDOW_CALENDAR || calendar_same(a, b);
}

static bool counts_same(enum tlshm_unit unit, uint32_t flags, const tlshm_window *window, const tlshm_limit *limit)
{
    return unit == limit->unit && ((flags ^ limit->flags) & TLSHM_LIMIT_STRICT) == 0 &&
           window_same(window, &limit->window);
}

bool limit_same(const tlshm_limit *a, const tlshm_limit *b)
{
    return counts_same(a->unit, a->flags, &a->window, b);
}

bool meter_counts(const struct meter *m, const tlshm_limit *limit)
{
    return counts_same(m->unit, m->flags, &m->window, limit);
}

static bool leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month] + (month == 1 && leap(year) ? 1 : 0);
}

/* The day (since 1970) on which the anchored month of year and month (0 .. 11) starts, counted up year by year. */
static int64_t month_start(int64_t year, int month, uint32_t anchor)
{
    int64_t day = 0;
    for (int64_t y = 1970; y < year; y++)
        day += leap(y) ? 366 : 365;
    for (int m = 0; m < month; m++)
        day += month_days(year, m);
    int64_t length = month_days(year, month);
    return day + ((int64_t)anchor < length ? (int64_t)anchor : length) - 1;
}

/* First days of the anchored month that `day` lies in and of the one after it. */
static void month_around(int64_t day, uint32_t anchor, int64_t *first, int64_t *next)
{
    int64_t year = 1970 + day / 366; /* never too late */
    int month = 0;
    *first = year > 1970 ? month_start(year - 1, 11, anchor) : 0;
    *next = month_start(year, month, anchor);
    while (*next <= day) {
        *first = *next;
        month++;
        if (month == 12) {
            month = 0;
            year++;
        }
        *next = month_start(year, month, anchor);
    }
}

/* First seconds of the period that a wall-clock instant lies in and of the one after it. */
static void period_around(const tlshm_window *w, uint64_t wall, int64_t *first, int64_t *next)
{
    int64_t second = (int64_t)(wall / (uint64_t)SECOND_NS), day = second / DAY_S;
    int64_t weekday = (day + 3) % 7; /* 0 Monday; 1970 began on a Thursday */
    switch (w->period) {
    case TLSHM_HOUR:
        *first = second / 3600 * 3600;
        *next = *first + 3600;
        return;
    case TLSHM_DAY:
        *first = day * DAY_S;
        *next = *first + DAY_S;
        return;
    case TLSHM_WEEK:
        *first = (day - (weekday + 8 - (int64_t)window_anchor(w)) % 7) * DAY_S;
        *next = *first + 7 * DAY_S;
        return;
    case TLSHM_MONTH:
        break;
    }
    month_around(day, window_anchor(w), first, next);
    *first *= DAY_S;
    *next *= DAY_S;
}

static int64_t bucket_at(const tlshm_window *w, struct instant at)
{
    int64_t first = 0, next = 0;
    if (w->kind == TLSHM_WINDOW_ROLLING)
        return (int64_t)(at.boot / window_width(w));
    if (w->kind == TLSHM_WINDOW_CALENDAR)
        period_around(w, at.wall, &first, &next);
    return first;
}

/* How many buckets, the current one included, are inside. */
static int64_t buckets_inside(const struct meter *m)
{
    if (m->window.kind != TLSHM_WINDOW_ROLLING)
        return 1;
    return (int64_t)window_slices(&m->window) + ((m->flags & TLSHM_LIMIT_STRICT) != 0 ? 1 : 0);
}

void meter_start(struct meter *m, const tlshm_limit *limit)
{
    *m = (struct meter){.unit = limit->unit, .flags = limit->flags, .window = limit->window};
}

/* Forgets what is not inside any more. */
static void meter_prune(struct meter *m, int64_t current)
{
    int64_t oldest = current - buckets_inside(m);
    unsigned kept = 0;
    for (unsigned i = 0; i < m->count; i++)
        if (m->of[i].bucket > oldest)
            m->of[kept++] = m->of[i];
    m->count = kept;
}

void meter_add(struct meter *m, uint64_t amount, struct instant at)
{
    int64_t current = bucket_at(&m->window, at);
    if (amount == 0)
        return;
    meter_prune(m, current);
    if (m->count == 0 || m->of[m->count - 1].bucket != current) {
        m->of[m->count].bucket = current;
        m->of[m->count++].amount = 0;
    }
    m->of[m->count - 1].amount += amount;
}

uint64_t meter_used(const struct meter *m, struct instant at)
{
    int64_t oldest = bucket_at(&m->window, at) - buckets_inside(m);
    uint64_t sum = 0;
    for (unsigned i = 0; i < m->count; i++)
        if (m->window.kind == TLSHM_WINDOW_CALENDAR ? m->of[i].bucket == oldest + 1 : m->of[i].bucket > oldest)
            sum += m->of[i].amount;
    return sum;
}

static uint64_t rolling_falls_in(const struct meter *m, struct instant at)
{
    uint64_t width = window_width(&m->window);
    int64_t inside = buckets_inside(m), oldest = bucket_at(&m->window, at) - inside;
    for (unsigned i = 0; i < m->count; i++)
        if (m->of[i].bucket > oldest)
            return (uint64_t)(m->of[i].bucket + inside) * width - at.boot;
    return TLSHM_NEVER;
}

uint64_t meter_falls_in(const struct meter *m, struct instant at)
{
    int64_t first = 0, next = 0;
    if (m->window.kind == TLSHM_WINDOW_ROLLING)
        return rolling_falls_in(m, at);
    if (m->window.kind != TLSHM_WINDOW_CALENDAR || meter_used(m, at) == 0)
        return TLSHM_NEVER;
    period_around(&m->window, at.wall, &first, &next);
    return (uint64_t)next * (uint64_t)SECOND_NS - at.wall;
}
