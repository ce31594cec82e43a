/* SPDX-License-Identifier: MIT */
/* when.c - dates and times of day as ISO 8601 writes them. */
#include "when.h"

enum { DAY_S = 86400, HOUR_S = 3600, MINUTE_S = 60, FIRST_YEAR = 1970 };

/* Takes exactly `digits` digits. */
static bool take_number(const char **at, unsigned digits, int *out)
{
    *out = 0;
    for (; digits; digits--, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool take(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

static int64_t days_since_1970(int year, int month, int day)
{
    int64_t before = year - 1;
    int64_t days = before * 365 + before / 4 - before / 100 + before / 400 - 719162; /* until 1 January 1970 */
    for (int m = 1; m < month; m++)
        days += days_of(year, m);
    return days + day - 1;
}

bool tl_when_date(const char *text, int64_t *utc_s)
{
    int year, month, day;
    if (!take_number(&text, 4, &year) || !take(&text, '-') || !take_number(&text, 2, &month) || !take(&text, '-') ||
        !take_number(&text, 2, &day) || *text)
        return false;
    if (year < FIRST_YEAR || month < 1 || month > 12 || day < 1 || day > days_of(year, month))
        return false;
    *utc_s = days_since_1970(year, month, day) * DAY_S;
    return true;
}

/* Nothing and "Z" are UTC. */
static bool take_offset(const char **at, int *offset_s)
{
    int sign, hours, minutes;
    *offset_s = 0;
    if (!**at || take(at, 'Z') || take(at, 'z'))
        return true;
    sign = take(at, '-') ? -1 : 1;
    if (sign > 0 && !take(at, '+'))
        return false;
    if (!take_number(at, 2, &hours))
        return false;
    take(at, ':');
    if (!take_number(at, 2, &minutes))
        return false;
    *offset_s = sign * (hours * HOUR_S + minutes * MINUTE_S);
    return hours < 24 && minutes < 60;
}

/* Parts of a second are passed over. */
static bool take_seconds(const char **at, int *seconds)
{
    *seconds = 0;
    if (!take(at, ':'))
        return true;
    if (!take_number(at, 2, seconds))
        return false;
    if (!take(at, '.'))
        return true;
    while (**at >= '0' && **at <= '9')
        (*at)++;
    return true;
}

bool tl_when_time(const char *text, int32_t *second)
{
    int hours, minutes, seconds, offset_s;
    if (!take_number(&text, 2, &hours) || !take(&text, ':') || !take_number(&text, 2, &minutes) ||
        !take_seconds(&text, &seconds) || !take_offset(&text, &offset_s) || *text)
        return false;
    if (hours > 23 || minutes > 59 || seconds > 59)
        return false;
    *second = (hours * HOUR_S + minutes * MINUTE_S + seconds - offset_s + DAY_S) % DAY_S;
    return true;
}
