/* SPDX-License-Identifier: MIT */
/* meter.c - windows as rings of buckets, the plain way. */
#include "meter.h"

#include <string.h>
#include <time.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_S UINT64_C(1000000000)

enum { SLICES_DEFAULT = 60, S_PER_HOUR = 3600, S_PER_DAY = 86400, DAYS_PER_WEEK = 7, EPOCH_WEEKDAY = 3, MONTHS = 12 };

static bool is_utc(const tlshm_window *w)
{
    return w->zone[0] == '\0' || strcmp(w->zone, "UTC") == 0;
}

bool meter_knows(const tlshm_limit *limit)
{
    if (limit->window.kind == TLSHM_WINDOW_REQUEST)
        return false; /* nothing adds up there */
    return limit->window.kind != TLSHM_WINDOW_CALENDAR || (is_utc(&limit->window) && limit->window.anchor <= 1);
}

static uint64_t bucket_count(const tlshm_limit *limit)
{
    if (limit->window.kind != TLSHM_WINDOW_ROLLING)
        return 1;
    uint64_t slices = limit->window.slices ? limit->window.slices : SLICES_DEFAULT;
    return slices + ((limit->flags & TLSHM_LIMIT_STRICT) != 0);
}

static uint64_t bucket_ns(const tlshm_window *w)
{
    uint64_t slices = w->slices ? w->slices : SLICES_DEFAULT, exact = (w->length_ns + slices - 1) / slices;
    return (exact + NS_PER_US - 1) / NS_PER_US * NS_PER_US;
}

static uint64_t period_of(enum tlshm_period period, uint64_t wall_s)
{
    struct tm date;
    time_t seconds = (time_t)wall_s;
    switch (period) {
    case TLSHM_HOUR:
        return wall_s / S_PER_HOUR;
    case TLSHM_DAY:
        return wall_s / S_PER_DAY;
    case TLSHM_WEEK: /* 1970 began on a Thursday */
        return (wall_s / S_PER_DAY + EPOCH_WEEKDAY) / DAYS_PER_WEEK;
    case TLSHM_MONTH:
        gmtime_r(&seconds, &date);
        return (uint64_t)date.tm_year * MONTHS + (uint64_t)date.tm_mon;
    }
    return 0;
}

static uint64_t bucket_at(const tlshm_window *w, uint64_t at_ns, uint64_t wall_lead_ns)
{
    switch (w->kind) {
    case TLSHM_WINDOW_ROLLING:
        return at_ns / bucket_ns(w);
    case TLSHM_WINDOW_CALENDAR:
        return period_of(w->period, (at_ns + wall_lead_ns) / NS_PER_S);
    case TLSHM_WINDOW_LIFETIME:
    case TLSHM_WINDOW_NONE:
    case TLSHM_WINDOW_REQUEST:
        break;
    }
    return 0;
}

void meter_start(struct meter *m, const tlshm_limit *limit)
{
    *m = (struct meter){.limit = limit};
}

static void roll_out(struct meter *m, uint64_t slot)
{
    m->used_sum -= m->used[slot];
    m->excess_sum -= m->excess[slot];
    m->used[slot] = m->excess[slot] = 0;
}

void meter_advance(struct meter *m, uint64_t at_ns, uint64_t wall_lead_ns)
{
    uint64_t bucket = bucket_at(&m->limit->window, at_ns, wall_lead_ns), count = bucket_count(m->limit);
    if (bucket <= m->bucket)
        return;
    uint64_t steps = bucket - m->bucket < count ? bucket - m->bucket : count;
    for (uint64_t i = 0; i < steps; i++)
        roll_out(m, (bucket - i) % count);
    m->bucket = bucket;
}

void meter_use(struct meter *m, uint64_t at_ns, uint64_t wall_lead_ns, uint64_t amount, uint64_t excess)
{
    uint64_t bucket = bucket_at(&m->limit->window, at_ns, wall_lead_ns), count = bucket_count(m->limit);
    if (bucket + count <= m->bucket)
        return;
    m->used[bucket % count] += amount;
    m->excess[bucket % count] += excess;
    m->used_sum += amount;
    m->excess_sum += excess;
}

static uint64_t beyond(uint64_t value, uint64_t cap)
{
    return value > cap ? value - cap : 0;
}

uint64_t meter_overspend(const struct meter *m)
{
    return beyond(m->used_sum, m->limit->cap);
}

uint64_t meter_breach(const struct meter *m)
{
    return beyond(beyond(m->used_sum + m->held, m->limit->cap), m->excess_sum);
}
