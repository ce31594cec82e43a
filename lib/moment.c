/* SPDX-License-Identifier: MIT */
/* moment.c - readers of numbers, lengths of time and dates. */
#include "moment.h"

#define SECOND_NS UINT64_C(1000000000)
#define DAY_S UINT64_C(86400)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { NANO_DIGITS = 9, YEAR_FIRST = 1970, YEAR_LAST = 2261, WORD_MAX = 16 };

struct unit {
    const char *word;
    uint64_t ns;
};

/* Behind a number. Letters of either case, but for "M", which could be a month: nobody writes it. */
static const struct unit units[] = {
    {"s", SECOND_NS},
    {"ms", 1000000},
    {"m", 60 * SECOND_NS},
    {"h", 3600 * SECOND_NS},
    {"d", DAY_S *SECOND_NS},
    {"us", 1000},
    {"\xc2\xb5s", 1000}, /* the micro sign */
    {"ns", 1},
    {"sec", SECOND_NS},
    {"secs", SECOND_NS},
    {"second", SECOND_NS},
    {"seconds", SECOND_NS},
    {"min", 60 * SECOND_NS},
    {"mins", 60 * SECOND_NS},
    {"minute", 60 * SECOND_NS},
    {"minutes", 60 * SECOND_NS},
    {"hour", 3600 * SECOND_NS},
    {"hours", 3600 * SECOND_NS},
    {"day", DAY_S *SECOND_NS},
    {"days", DAY_S *SECOND_NS},
    {"millisecond", 1000000},
    {"milliseconds", 1000000},
};

/* Standing alone. */
static const struct unit windows[] = {
    {"second", SECOND_NS},
    {"sec", SECOND_NS},
    {"minute", 60 * SECOND_NS},
    {"min", 60 * SECOND_NS},
    {"hour", 3600 * SECOND_NS},
    {"hourly", 3600 * SECOND_NS},
    {"day", DAY_S *SECOND_NS},
    {"daily", DAY_S *SECOND_NS},
    {"week", 7 * DAY_S *SECOND_NS},
    {"weekly", 7 * DAY_S *SECOND_NS},
    {"month", 30 * DAY_S *SECOND_NS},
    {"monthly", 30 * DAY_S *SECOND_NS},
};

/* ------------------------------------------------------------------------------------------------------------ words */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct tl_slice tl_moment_trim(struct tl_slice text)
{
    while (text.n > 0 && is_blank(*text.at))
        text.at++, text.n--;
    while (text.n > 0 && is_blank(text.at[text.n - 1]))
        text.n--;
    return text;
}

bool tl_moment_begins(struct tl_slice text, const char *word)
{
    size_t i = 0;
    for (; word[i]; i++)
        if (i == text.n || tl_moment_lower(text.at[i]) != word[i])
            return false;
    return true;
}

bool tl_moment_is(struct tl_slice text, const char *word)
{
    return strlen(word) == text.n && tl_moment_begins(text, word);
}

static bool find_unit(const struct unit *table, size_t count, struct tl_slice word, uint64_t *ns)
{
    for (size_t i = 0; i < count; i++) {
        if (!tl_moment_is(word, table[i].word))
            continue;
        *ns = table[i].ns;
        return true;
    }
    return false;
}

static struct tl_slice rest_of(struct tl_slice text, size_t from)
{
    return (struct tl_slice){text.at + from, text.n - from};
}

/* ---------------------------------------------------------------------------------------------------------- numbers */

/* A comma with exactly three digits behind it, inside a number. */
static bool is_group(struct tl_slice text, size_t at)
{
    if (at + 3 >= text.n || text.at[at] != ',')
        return false;
    for (size_t i = at + 1; i <= at + 3; i++)
        if (!tl_moment_digit(text.at[i]))
            return false;
    return at + 4 == text.n || !tl_moment_digit(text.at[at + 4]);
}

static size_t read_whole(struct tl_slice text, bool groups, uint64_t *value)
{
    size_t i = 0;
    *value = 0;
    for (; i < text.n && (tl_moment_digit(text.at[i]) || (groups && i > 0 && is_group(text, i))); i++) {
        if (text.at[i] == ',')
            continue;
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(text.at[i] - '0'), value))
            return 0;
    }
    return i;
}

static size_t read_fraction(struct tl_slice text, struct tl_decimal *out)
{
    size_t i = 0;
    uint32_t place = 100000000;
    for (; i < text.n && tl_moment_digit(text.at[i]); i++, place /= 10) {
        uint32_t digit = (uint32_t)(text.at[i] - '0');
        if (i < NANO_DIGITS)
            out->nano += digit * place;
        else if (digit)
            out->finer = true;
    }
    return i;
}

static size_t read_decimal(struct tl_slice text, bool groups, struct tl_decimal *out)
{
    struct tl_decimal number = {0};
    size_t n = read_whole(text, groups, &number.whole);
    if (n == 0)
        return 0;
    if (n < text.n && text.at[n] == '.') {
        size_t digits = read_fraction(rest_of(text, n + 1), &number);
        n += digits ? digits + 1 : 0;
    }
    *out = number;
    return n;
}

size_t tl_moment_decimal(struct tl_slice text, struct tl_decimal *out)
{
    return read_decimal(text, false, out);
}

size_t tl_moment_grouped(struct tl_slice text, struct tl_decimal *out)
{
    return read_decimal(text, true, out);
}

bool tl_moment_scale(const struct tl_decimal *number, uint64_t unit, uint64_t *out)
{
    unsigned __int128 part = (unsigned __int128)number->nano * unit;
    uint64_t value = (uint64_t)(part / SECOND_NS);
    uint64_t up = part % SECOND_NS || number->finer;
    uint64_t whole;
    if (__builtin_mul_overflow(number->whole, unit, &whole) || __builtin_add_overflow(whole, value, &value) ||
        __builtin_add_overflow(value, up, &value))
        return false;
    *out = value;
    return true;
}

/* ------------------------------------------------------------------------------------------------------ lengths of time */

static size_t skip_blanks(struct tl_slice text, size_t at)
{
    while (at < text.n && is_blank(text.at[at]))
        at++;
    return at;
}

/* A number and its unit. */
static size_t read_part(struct tl_slice text, uint64_t *ns)
{
    struct tl_decimal number;
    uint64_t unit;
    size_t n = tl_moment_decimal(text, &number);
    if (n == 0)
        return 0;
    size_t from = skip_blanks(text, n), to = from;
    while (to < text.n && to - from < WORD_MAX && (tl_moment_letter(text.at[to]) || (unsigned char)text.at[to] >= 0x80))
        to++;
    if (!find_unit(units, COUNT_OF(units), (struct tl_slice){text.at + from, to - from}, &unit))
        return 0;
    return tl_moment_scale(&number, unit, ns) ? to : 0;
}

size_t tl_moment_length(struct tl_slice text, uint64_t *ns)
{
    uint64_t sum = 0, part;
    size_t end = 0;
    for (size_t at = 0;; at = skip_blanks(text, end)) {
        size_t n = read_part(rest_of(text, at), &part);
        if (n == 0)
            break;
        if (__builtin_add_overflow(sum, part, &sum))
            return 0;
        end = at + n;
    }
    if (end)
        *ns = sum;
    return end;
}

bool tl_moment_window(struct tl_slice word, uint64_t *ns)
{
    uint64_t length;
    if (find_unit(windows, COUNT_OF(windows), word, ns))
        return true;
    if (word.n == 0 || !tl_moment_digit(*word.at) || tl_moment_length(word, &length) != word.n || length == 0)
        return false;
    *ns = length;
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ dates */

struct date {
    unsigned year, month, day, hour, minute, second;
    uint32_t nano;
    int offset_s; /* east */
};

struct cursor {
    struct tl_slice text;
    size_t at;
};

static bool take(struct cursor *c, char wanted)
{
    if (c->at == c->text.n || tl_moment_lower(c->text.at[c->at]) != wanted)
        return false;
    c->at++;
    return true;
}

static bool take_number(struct cursor *c, unsigned digits, unsigned *out)
{
    unsigned value = 0;
    for (; digits > 0; digits--, c->at++) {
        if (c->at == c->text.n || !tl_moment_digit(c->text.at[c->at]))
            return false;
        value = value * 10 + (unsigned)(c->text.at[c->at] - '0');
    }
    *out = value;
    return true;
}

/* The day's name is not compared with the date. */
static bool take_weekday(struct cursor *c)
{
    size_t start = c->at;
    while (c->at < c->text.n && tl_moment_letter(c->text.at[c->at]))
        c->at++;
    return c->at - start >= 3;
}

static bool take_month(struct cursor *c, unsigned *month)
{
    static const char names[12][4] = {"jan", "feb", "mar", "apr", "may", "jun",
                                      "jul", "aug", "sep", "oct", "nov", "dec"};
    for (unsigned i = 0; i < 12; i++) {
        if (!tl_moment_begins(rest_of(c->text, c->at), names[i]))
            continue;
        c->at += 3;
        *month = i + 1;
        return true;
    }
    return false;
}

static bool take_clock(struct cursor *c, struct date *d)
{
    return take_number(c, 2, &d->hour) && take(c, ':') && take_number(c, 2, &d->minute) && take(c, ':') &&
           take_number(c, 2, &d->second);
}

static bool take_offset(struct cursor *c, struct date *d)
{
    unsigned hours, minutes;
    if (take(c, 'z'))
        return true;
    bool west = take(c, '-');
    if ((!west && !take(c, '+')) || !take_number(c, 2, &hours) || !take(c, ':') || !take_number(c, 2, &minutes))
        return false;
    d->offset_s = (int)(hours * 3600 + minutes * 60) * (west ? -1 : 1);
    return hours < 24 && minutes < 60;
}

/* 2025-03-15T09:38:18.5+01:00 */
static bool read_rfc3339(struct cursor *c, struct date *d)
{
    struct tl_decimal fraction = {0};
    if (!take_number(c, 4, &d->year) || !take(c, '-') || !take_number(c, 2, &d->month) || !take(c, '-') ||
        !take_number(c, 2, &d->day) || !(take(c, 't') || take(c, ' ')) || !take_clock(c, d))
        return false;
    if (take(c, '.')) {
        size_t digits = read_fraction(rest_of(c->text, c->at), &fraction);
        d->nano = fraction.nano;
        c->at += digits;
        if (digits == 0)
            return false;
    }
    return take_offset(c, d);
}

static bool take_gmt(struct cursor *c)
{
    return take(c, ' ') && take(c, 'g') && take(c, 'm') && take(c, 't');
}

/* Sun, 06 Nov 1994 08:49:37 GMT */
static bool read_fixdate(struct cursor *c, struct date *d)
{
    return take_weekday(c) && take(c, ',') && take(c, ' ') && take_number(c, 2, &d->day) && take(c, ' ') &&
           take_month(c, &d->month) && take(c, ' ') && take_number(c, 4, &d->year) && take(c, ' ') &&
           take_clock(c, d) && take_gmt(c);
}

/* Sunday, 06-Nov-94 08:49:37 GMT */
static bool read_rfc850(struct cursor *c, struct date *d)
{
    if (!take_weekday(c) || !take(c, ',') || !take(c, ' ') || !take_number(c, 2, &d->day) || !take(c, '-') ||
        !take_month(c, &d->month) || !take(c, '-') || !take_number(c, 2, &d->year) || !take(c, ' ') ||
        !take_clock(c, d) || !take_gmt(c))
        return false;
    d->year += d->year < 70 ? 2000 : 1900;
    return true;
}

/* Sun Nov  6 08:49:37 1994 */
static bool read_asctime(struct cursor *c, struct date *d)
{
    if (!take_weekday(c) || !take(c, ' ') || !take_month(c, &d->month) || !take(c, ' '))
        return false;
    unsigned digits = take(c, ' ') ? 1 : 2;
    return take_number(c, digits, &d->day) && take(c, ' ') && take_clock(c, d) && take(c, ' ') &&
           take_number(c, 4, &d->year);
}

static bool is_leap(unsigned year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static unsigned month_days(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1u : 0u);
}

/* Second 60 is a leap second, and taken as the next one. */
static bool is_date(const struct date *d)
{
    return d->year >= YEAR_FIRST && d->year <= YEAR_LAST && d->month >= 1 && d->month <= 12 && d->day >= 1 &&
           d->day <= month_days(d->year, d->month) && d->hour < 24 && d->minute < 60 && d->second <= 60;
}

static int64_t instant_of(const struct date *d)
{
    int64_t days = (int64_t)d->day - 1;
    for (unsigned year = YEAR_FIRST; year < d->year; year++)
        days += is_leap(year) ? 366 : 365;
    for (unsigned month = 1; month < d->month; month++)
        days += month_days(d->year, month);
    int64_t s = days * (int64_t)DAY_S + d->hour * 3600 + d->minute * 60 + d->second - d->offset_s;
    return s * (int64_t)SECOND_NS + d->nano;
}

bool tl_moment_date(struct tl_slice text, int64_t *wall_ns)
{
    typedef bool reader(struct cursor * c, struct date * d);
    static reader *const readers[] = {read_rfc3339, read_fixdate, read_rfc850, read_asctime};
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        struct cursor c = {text, 0};
        struct date d = {0};
        if (!readers[i](&c, &d) || c.at != text.n || !is_date(&d))
            continue;
        *wall_ns = instant_of(&d);
        return true;
    }
    return false;
}
