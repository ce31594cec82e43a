/* SPDX-License-Identifier: MIT */
/*
 * parse.c - limits, amounts and durations as people write them.
 *
 * GRAMMAR  words are separated by blanks
 *   limit     unit amount [window] ["strict"] ["then" switch]      concurrency has no window, the other units must have one
 *   switch    "pause" | "shutoff"                                  not for single requests
 *   window    "lifetime" | "per" length["/"slices] | "per" period {"in" zone | "from" day}
 *   amount    number[k|M|G|T] | "$"number[k|M|G|T] (cost) | number"n" (cost, nano-dollars) | "unlimited"
 *   length    number[d|h|m|s|ms|us|ns], seconds without a unit
 *
 * INVARIANTS
 *   I1  Exact or an error: no floating point, nothing is rounded, nothing wraps.
 *   I2  Parsing gives the canonical form, which leaves out what zero stands for: 60 slices, Monday, the 1st, UTC.
 *   I3  parse(format(x)) is x in canonical form, for every valid x.
 *   I4  No allocation, no locale, no state: any thread, any signal handler.
 */
#include "parse.h"

enum { SLICES_MAX = 64, MONTH_DAYS_MAX = 31 };

/* Passes a fault on to a caller of the public functions, if there is one and he wants it. */
static int tell(int rc, const struct tl_words_fault *fault, struct tlshm_error *err)
{
    if (rc == 0 || !err)
        return rc;
    *err = (struct tlshm_error){.code = rc};
    struct tl_text w = {err->text, sizeof err->text, 0};
    tl_text_put(&w, "column ");
    tl_text_put_number(&w, fault->column);
    tl_text_put(&w, ": ");
    tl_text_put(&w, fault->text);
    tl_text_end(&w);
    return rc;
}

/* ---------------------------------------------------------------------------------------------- amounts, durations */

int tl_parse_amount(const char *text, enum tlshm_unit unit, uint64_t *out, struct tl_words_fault *fault)
{
    struct tl_words r;
    uint64_t value;
    tl_words_start(&r, text, fault);
    int rc = tl_words_amount(&r, unit, &value);
    if (rc || (rc = tl_words_last(&r)))
        return rc;
    *out = value;
    return 0;
}

int tlshm_amount_parse(const char *text, enum tlshm_unit unit, uint64_t *out, struct tlshm_error *err)
{
    struct tl_words_fault fault;
    if (!text || !out || (unsigned)unit >= TLSHM_UNITS)
        return -TLSHM_EINVAL;
    return tell(tl_parse_amount(text, unit, out, &fault), &fault, err);
}

int tl_parse_duration(const char *text, uint64_t *ns, struct tl_words_fault *fault)
{
    struct tl_words r;
    uint64_t value;
    tl_words_start(&r, text, fault);
    int rc = tl_words_duration(&r, &value, TL_WORDS_LENGTH);
    if (rc || (rc = tl_words_last(&r)))
        return rc;
    *ns = value;
    return 0;
}

int tlshm_duration_parse(const char *text, uint64_t *ns, struct tlshm_error *err)
{
    struct tl_words_fault fault;
    if (!text || !ns)
        return -TLSHM_EINVAL;
    return tell(tl_parse_duration(text, ns, &fault), &fault, err);
}

/* ---------------------------------------------------------------------------------------------------------- windows */

static bool read_small(const char *at, const char *end, uint32_t max, uint32_t *out)
{
    uint32_t value = 0;
    if (at == end || end - at > 2)
        return false;
    for (; at < end; at++) {
        if (!tl_words_digit(*at))
            return false;
        value = value * 10 + (uint32_t)(*at - '0');
    }
    *out = value;
    return value >= 1 && value <= max;
}

static int read_slices(const struct tl_words *r, uint32_t *slices)
{
    if (!read_small(r->word, r->word + r->length, SLICES_MAX, slices))
        return tl_words_expected(r, "expected a number of slices from 1 to 64, not ");
    if (*slices == TL_SLICES_DEFAULT)
        *slices = 0;
    return 0;
}

static int read_rolling(struct tl_words *r, tlshm_window *w)
{
    struct tl_words length = *r, slices = *r;
    const char *slash = memchr(r->word, '/', r->length);
    w->kind = TLSHM_WINDOW_ROLLING;
    if (slash)
        length.length = (size_t)(slash - r->word);
    int rc = tl_words_duration(
        &length, &w->length_ns,
        "expected a length of time such as 90s, 5m or 1h, or hour, day, week, month or request, not ");
    if (rc)
        return rc;
    if (w->length_ns == 0)
        return tl_words_fail(&length, -TLSHM_EINVAL, "a window must be longer than ", "");
    if (slash) {
        slices.word = slash + 1;
        slices.length = r->length - length.length - 1;
        rc = read_slices(&slices, &w->slices);
    }
    tl_words_next(r);
    return rc;
}

static bool zone_char(char c)
{
    return tl_words_digit(c) || (tl_words_lower(c) >= 'a' && tl_words_lower(c) <= 'z') || c == '_' || c == '-' ||
           c == '+';
}

/* Names as the zone database has them, which can never lead out of its directory. */
static bool zone_plausible(const char *name, size_t length)
{
    bool inside = false; /* a part between slashes */
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '/' ? !inside : !zone_char(name[i]))
            return false;
        inside = name[i] != '/';
    }
    return inside;
}

static int read_zone(struct tl_words *r, tlshm_window *w)
{
    if (!zone_plausible(r->word, r->length) || r->length >= sizeof w->zone)
        return tl_words_expected(r, "expected a time zone such as Europe/Berlin, not ");
    if (!tl_words_is(r, "UTC"))
        memcpy(w->zone, r->word, r->length);
    tl_words_next(r);
    return 0;
}

/* A day's name, or its first three letters. */
static bool is_day(const struct tl_words *r, const char *name)
{
    if (r->length != strlen(name) && r->length != 3)
        return false;
    for (size_t i = 0; i < r->length; i++)
        if (tl_words_lower(r->word[i]) != name[i])
            return false;
    return true;
}

static int read_week_day(const struct tl_words *r, uint32_t *anchor)
{
    for (uint32_t day = 1; day <= TL_WEEK_DAYS; day++) {
        if (!is_day(r, tl_text_days[day]))
            continue;
        *anchor = day;
        return 0;
    }
    return tl_words_expected(r, "expected a day from monday to sunday, not ");
}

static int read_anchor(struct tl_words *r, tlshm_window *w)
{
    int rc = 0;
    if (w->period == TLSHM_WEEK)
        rc = read_week_day(r, &w->anchor);
    else if (!read_small(r->word, r->word + r->length, MONTH_DAYS_MAX, &w->anchor))
        rc = tl_words_expected(r, "expected a day of the month from 1 to 31, not ");
    tl_words_next(r);
    return rc;
}

/* {"in" ZONE | "from" DAY}, each once, in either order. */
static int read_calendar(struct tl_words *r, tlshm_window *w)
{
    bool zone = false, anchor = false;
    w->kind = TLSHM_WINDOW_CALENDAR;
    for (int rc = 0;;) {
        if (!zone && tl_words_is(r, "in")) {
            zone = true;
            tl_words_next(r);
            rc = read_zone(r, w);
        } else if (!anchor && w->period >= TLSHM_WEEK && tl_words_is(r, "from")) {
            anchor = true;
            tl_words_next(r);
            rc = read_anchor(r, w);
        } else {
            break;
        }
        if (rc)
            return rc;
    }
    if (w->anchor == 1) /* Monday, the 1st */
        w->anchor = 0;
    return 0;
}

static bool find_period(const struct tl_words *r, enum tlshm_period *period)
{
    for (unsigned i = 0; i < TL_PERIODS; i++) {
        if (!tl_words_is(r, tl_text_periods[i]))
            continue;
        *period = (enum tlshm_period)i;
        return true;
    }
    return false;
}

static int read_window(struct tl_words *r, tlshm_window *w)
{
    if (tl_words_is(r, "lifetime")) {
        w->kind = TLSHM_WINDOW_LIFETIME;
        tl_words_next(r);
        return 0;
    }
    if (!tl_words_is(r, "per"))
        return tl_words_expected(r, "expected 'per' or 'lifetime', not ");
    tl_words_next(r);
    if (tl_words_is(r, "request")) {
        w->kind = TLSHM_WINDOW_REQUEST;
        tl_words_next(r);
        return 0;
    }
    if (!find_period(r, &w->period))
        return read_rolling(r, w);
    tl_words_next(r);
    return read_calendar(r, w);
}

/* ----------------------------------------------------------------------------------------------------------- limits */

static int read_unit(struct tl_words *r, enum tlshm_unit *unit)
{
    static const enum tlshm_unit units[] = {TLSHM_TOKENS,      TLSHM_COST,         TLSHM_REQUESTS,
                                            TLSHM_CONCURRENCY, TLSHM_INPUT_TOKENS, TLSHM_OUTPUT_TOKENS,
                                            TLSHM_TOOL_CALLS,  TLSHM_TIME};
    for (unsigned i = 0; i < TL_COUNT_OF(units); i++) {
        if (!tl_words_is(r, tlshm_unit_name((int)units[i])))
            continue;
        *unit = units[i];
        tl_words_next(r);
        return 0;
    }
    return tl_words_expected(
        r, "expected tokens, cost, requests, concurrency, input_tokens, output_tokens, tool_calls or time, not ");
}

static int read_strict(struct tl_words *r, tlshm_limit *limit)
{
    if (!tl_words_is(r, "strict"))
        return 0;
    if (limit->window.kind != TLSHM_WINDOW_ROLLING)
        return tl_words_fail(r, -TLSHM_EINVAL, "", " is for rolling windows only");
    limit->flags |= TLSHM_LIMIT_STRICT;
    tl_words_next(r);
    return 0;
}

static int read_latch(struct tl_words *r, tlshm_limit *limit)
{
    if (!tl_words_is(r, "then"))
        return 0;
    if (limit->window.kind == TLSHM_WINDOW_REQUEST)
        return tl_words_fail(r, -TLSHM_EINVAL, "nothing is counted for single requests: unexpected ", "");
    tl_words_next(r);
    if (!tl_words_is(r, "pause") && !tl_words_is(r, "shutoff"))
        return tl_words_expected(r, "expected 'pause' or 'shutoff', not ");
    limit->flags |= tl_words_is(r, "pause") ? TLSHM_LIMIT_PAUSES : TLSHM_LIMIT_SHUTS_OFF;
    tl_words_next(r);
    return 0;
}

/* There is no other limit on time. */
static int read_request(struct tl_words *r, tlshm_window *w)
{
    if (!tl_words_is(r, "per"))
        return tl_words_expected(r, "expected 'per request', not ");
    tl_words_next(r);
    if (!tl_words_is(r, "request"))
        return tl_words_expected(r, "expected 'request', not ");
    w->kind = TLSHM_WINDOW_REQUEST;
    tl_words_next(r);
    return 0;
}

static int read_cap(const struct tl_words *r, enum tlshm_unit unit, uint64_t *cap)
{
    if (unit != TLSHM_TIME)
        return tl_words_amount(r, unit, cap);
    if (!tl_words_is(r, "unlimited"))
        return tl_words_duration(r, cap, "expected a length of time such as 90s, 5m or unlimited, not ");
    *cap = TLSHM_UNLIMITED;
    return 0;
}

static int read_limit(struct tl_words *r, tlshm_limit *limit)
{
    int rc = read_unit(r, &limit->unit);
    if (rc || (rc = read_cap(r, limit->unit, &limit->cap)))
        return rc;
    tl_words_next(r);
    if (limit->unit == TLSHM_CONCURRENCY)
        return r->length ? tl_words_fail(r, -TLSHM_EINVAL, "concurrency has no window: unexpected ", "") : 0;
    if (limit->unit == TLSHM_TIME)
        return (rc = read_request(r, &limit->window)) ? rc : tl_words_end(r);
    if ((rc = read_window(r, &limit->window)) || (rc = read_strict(r, limit)) || (rc = read_latch(r, limit)))
        return rc;
    return tl_words_end(r);
}

int tl_parse_limit(const char *text, tlshm_limit *out, struct tl_words_fault *fault)
{
    struct tl_words r;
    tlshm_limit limit;
    memset(&limit, 0, sizeof limit);
    tl_words_start(&r, text, fault);
    int rc = read_limit(&r, &limit);
    if (rc == 0)
        *out = limit;
    return rc;
}

int tlshm_limit_parse(const char *text, tlshm_limit *out, struct tlshm_error *err)
{
    struct tl_words_fault fault;
    if (!text || !out)
        return -TLSHM_EINVAL;
    return tell(tl_parse_limit(text, out, &fault), &fault, err);
}
