/* SPDX-License-Identifier: MIT */
/*
 * text.c - limits, amounts and durations as texts that parse.c reads back, and the names of what is counted.
 */
#include "text.h"

#include <tlshm/admin.h>

static const char *const unit_names[TLSHM_UNITS] = {
    [TLSHM_TOKENS] = "tokens",
    [TLSHM_COST] = "cost",
    [TLSHM_REQUESTS] = "requests",
    [TLSHM_CONCURRENCY] = "concurrency",
    [TLSHM_INPUT_TOKENS] = "input_tokens",
    [TLSHM_OUTPUT_TOKENS] = "output_tokens",
    [TLSHM_TOOL_CALLS] = "tool_calls",
};

static const char *const status_names[] = {
    [TLSHM_HELD] = "HELD",
    [TLSHM_SETTLED] = "SETTLED",
    [TLSHM_REFUNDED] = "REFUNDED",
    [TLSHM_EXPIRED] = "EXPIRED",
};

static const char *const reason_names[TLSHM_REASONS] = {
    [TLSHM_ADMITTED] = "ADMITTED",
    [TLSHM_LIMIT] = "LIMIT",
    [TLSHM_NEVER_FITS] = "NEVER_FITS",
    [TLSHM_PAUSED] = "PAUSED",
    [TLSHM_SHUTOFF] = "SHUTOFF",
    [TLSHM_REQUEST_TOO_LARGE] = "REQUEST_TOO_LARGE",
    [TLSHM_UNKNOWN_MODEL] = "UNKNOWN_MODEL",
    [TLSHM_FULL] = "FULL",
};

const char *const tl_text_periods[TL_PERIODS] = {
    [TLSHM_HOUR] = "hour",
    [TLSHM_DAY] = "day",
    [TLSHM_WEEK] = "week",
    [TLSHM_MONTH] = "month",
};

const char *const tl_text_days[TL_WEEK_DAYS + 1] = {
    "", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
};

const struct tl_scale tl_text_durations[TL_DURATIONS] = {
    {"d", 86400 * TL_SECOND_NS},
    {"h", 3600 * TL_SECOND_NS},
    {"m", 60 * TL_SECOND_NS},
    {"s", TL_SECOND_NS},
    {"ms", 1000000},
    {"us", 1000},
    {"ns", 1},
    {"", TL_SECOND_NS},
};

/* ---------------------------------------------------------------------------------------------------------- writing */

void tl_text_put_bytes(struct tl_text *w, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++, w->length++)
        if (w->length + 1 < w->size)
            w->buf[w->length] = bytes[i];
}

void tl_text_put(struct tl_text *w, const char *text)
{
    tl_text_put_bytes(w, text, strlen(text));
}

/* The digits of a value, right-aligned in a buffer of its own: at least `least` of them. */
struct digits {
    char text[24];
    unsigned count;
};

static const char *digits_of(struct digits *d, uint64_t value, unsigned least)
{
    char *end = d->text + sizeof d->text, *at = end;
    for (; value || at == end || (unsigned)(end - at) < least; value /= 10)
        *--at = (char)('0' + value % 10);
    d->count = (unsigned)(end - at);
    return at;
}

void tl_text_put_number(struct tl_text *w, uint64_t value)
{
    struct digits d;
    const char *text = digits_of(&d, value, 1);
    tl_text_put_bytes(w, text, d.count);
}

void tl_text_put_grouped(struct tl_text *w, uint64_t value)
{
    struct digits d;
    const char *text = digits_of(&d, value, 1);
    for (unsigned i = 0; i < d.count; i++) {
        if (i > 0 && (d.count - i) % 3 == 0)
            tl_text_put(w, ",");
        tl_text_put_bytes(w, text + i, 1);
    }
}

int tl_text_end(struct tl_text *w)
{
    if (w->size)
        w->buf[w->length < w->size ? w->length : w->size - 1] = '\0';
    return (int)w->length;
}

/* ---------------------------------------------------------------------------------------------------------- amounts */

/* Whole dollars, or at least cents: "$3", "$0.50", "$0.000001". */
void tl_text_put_money(struct tl_text *w, uint64_t nusd, bool grouped)
{
    struct digits d;
    const char *places = digits_of(&d, nusd % TL_DOLLAR_NUSD, 9);
    unsigned count = 9;
    while (count > 2 && places[count - 1] == '0')
        count--;
    tl_text_put(w, "$");
    if (grouped)
        tl_text_put_grouped(w, nusd / TL_DOLLAR_NUSD);
    else
        tl_text_put_number(w, nusd / TL_DOLLAR_NUSD);
    if (nusd % TL_DOLLAR_NUSD == 0)
        return;
    tl_text_put(w, ".");
    tl_text_put_bytes(w, places, count);
}

/* "1.5M": the largest suffix that needs no more than one digit behind the point, else all digits. */
static void put_count(struct tl_text *w, uint64_t amount)
{
    static const struct tl_scale scales[] = {
        {"T", UINT64_C(1000000000000)}, {"G", UINT64_C(1000000000)}, {"M", UINT64_C(1000000)}, {"k", UINT64_C(1000)}};
    size_t i = 0;
    while (i < TL_COUNT_OF(scales) && (amount < scales[i].factor || amount % (scales[i].factor / 10)))
        i++;
    if (i == TL_COUNT_OF(scales)) {
        tl_text_put_number(w, amount);
        return;
    }
    tl_text_put_number(w, amount / scales[i].factor);
    uint64_t tenths = amount % scales[i].factor / (scales[i].factor / 10);
    if (tenths) {
        tl_text_put(w, ".");
        tl_text_put_number(w, tenths);
    }
    tl_text_put(w, scales[i].suffix);
}

/* The largest unit that divides it: exact, and what was written comes back in most cases. */
static void put_duration(struct tl_text *w, uint64_t ns)
{
    const struct tl_scale *scale = tl_text_durations;
    while (ns == 0 ? scale->factor != TL_SECOND_NS : ns % scale->factor != 0)
        scale++;
    tl_text_put_number(w, ns / scale->factor);
    tl_text_put(w, scale->suffix);
}

static void put_amount(struct tl_text *w, uint64_t amount, enum tlshm_unit unit)
{
    if (amount == TLSHM_UNLIMITED)
        tl_text_put(w, "unlimited");
    else if (unit == TLSHM_TIME)
        put_duration(w, amount);
    else if (unit == TLSHM_COST)
        tl_text_put_money(w, amount, false);
    else
        put_count(w, amount);
}

int tlshm_amount_format(uint64_t amount, enum tlshm_unit unit, char *buf, size_t size)
{
    struct tl_text w = {buf, size, 0};
    put_amount(&w, amount, unit);
    return tl_text_end(&w);
}

/* -------------------------------------------------------------------------------------------------------- durations */

int tlshm_duration_format(uint64_t ns, char *buf, size_t size)
{
    struct tl_text w = {buf, size, 0};
    if (ns == TLSHM_NEVER)
        tl_text_put(&w, "never");
    else
        put_duration(&w, ns);
    return tl_text_end(&w);
}

/* ----------------------------------------------------------------------------------------------------------- limits */

static void put_calendar(struct tl_text *w, const tlshm_window *window)
{
    tl_text_put(w, tl_text_periods[window->period]);
    if (*window->zone && strcmp(window->zone, "UTC") != 0) {
        tl_text_put(w, " in ");
        tl_text_put(w, window->zone);
    }
    if (window->period < TLSHM_WEEK || window->anchor <= 1)
        return;
    tl_text_put(w, " from ");
    if (window->period == TLSHM_WEEK && window->anchor <= TL_WEEK_DAYS)
        tl_text_put(w, tl_text_days[window->anchor]);
    else
        tl_text_put_number(w, window->anchor);
}

static void put_rolling(struct tl_text *w, const tlshm_window *window)
{
    put_duration(w, window->length_ns);
    if (!window->slices || window->slices == TL_SLICES_DEFAULT)
        return;
    tl_text_put(w, "/");
    tl_text_put_number(w, window->slices);
}

void tl_text_put_window(struct tl_text *w, const tlshm_window *window)
{
    if (window->kind == TLSHM_WINDOW_LIFETIME)
        tl_text_put(w, " lifetime");
    if (window->kind == TLSHM_WINDOW_REQUEST)
        tl_text_put(w, " per request");
    if (window->kind != TLSHM_WINDOW_ROLLING && window->kind != TLSHM_WINDOW_CALENDAR)
        return;
    tl_text_put(w, " per ");
    if (window->kind == TLSHM_WINDOW_ROLLING)
        put_rolling(w, window);
    else if ((unsigned)window->period < TL_PERIODS)
        put_calendar(w, window);
}

int tlshm_limit_format(const tlshm_limit *limit, char *buf, size_t size)
{
    struct tl_text w = {buf, size, 0};
    tl_text_put(&w, tlshm_unit_name((int)limit->unit));
    tl_text_put(&w, " ");
    put_amount(&w, limit->cap, limit->unit);
    tl_text_put_window(&w, &limit->window);
    if (limit->flags & TLSHM_LIMIT_STRICT)
        tl_text_put(&w, " strict");
    if (limit->flags & (TLSHM_LIMIT_PAUSES | TLSHM_LIMIT_SHUTS_OFF))
        tl_text_put(&w, limit->flags & TLSHM_LIMIT_PAUSES ? " then pause" : " then shutoff");
    return tl_text_end(&w);
}

/* ------------------------------------------------------------------------------------------------------------ names */

static const char *name_of(const char *const *names, size_t count, int index)
{
    return index >= 0 && (size_t)index < count && names[index] ? names[index] : "?";
}

const char *tlshm_unit_name(int unit)
{
    return unit == TLSHM_TIME ? "time" : name_of(unit_names, TL_COUNT_OF(unit_names), unit);
}

const char *tlshm_status_name(int status)
{
    return name_of(status_names, TL_COUNT_OF(status_names), status);
}

const char *tlshm_reason_name(int reason)
{
    return name_of(reason_names, TL_COUNT_OF(reason_names), reason);
}
