/* SPDX-License-Identifier: MIT */
/*
 * parse.c - limits, amounts and durations as people write them.
 *
 * GRAMMAR  words are separated by blanks
 *   limit     unit amount [window] ["strict"]          concurrency has no window, the other units must have one
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
#include <tlshm/admin.h>

#include "text.h"

enum { SLICES_MAX = 64, MONTH_DAYS_MAX = 31, QUOTED_MAX = 48 };

static const struct tl_scale amount_scales[] = {
    {"k", UINT64_C(1000)},       {"K", UINT64_C(1000)},          {"M", UINT64_C(1000000)},
    {"G", UINT64_C(1000000000)}, {"T", UINT64_C(1000000000000)}, {"", 1},
};

/* ---------------------------------------------------------------------------------------------------------- reading */

struct reader {
    const char *text;
    const char *word; /* the current one, not terminated */
    size_t length;    /* 0 at the end of the text */
    struct tlshm_error *err;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Steps to the next word. */
static void next_word(struct reader *r)
{
    r->word += r->length;
    while (is_blank(*r->word))
        r->word++;
    r->length = 0;
    while (r->word[r->length] && !is_blank(r->word[r->length]))
        r->length++;
}

static void start(struct reader *r, const char *text, struct tlshm_error *err)
{
    *r = (struct reader){.text = text, .word = text, .err = err};
    next_word(r);
}

static bool word_is(const struct reader *r, const char *word)
{
    return strlen(word) == r->length && memcmp(r->word, word, r->length) == 0;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Bytes that could disturb a terminal or break a UTF-8 sequence in two are shown as '?'. */
static void put_quoted(struct tl_text *w, const char *word, size_t length)
{
    tl_text_put(w, "'");
    for (size_t i = 0; i < length && i < QUOTED_MAX; i++)
        tl_text_put_bytes(w, word[i] > ' ' && word[i] < 0x7f ? &word[i] : "?", 1);
    tl_text_put(w, length > QUOTED_MAX ? "...'" : "'");
}

/* "column 8: <before>'word'<after>"; at the end of the text "nothing more" stands for the word. */
static int fail(const struct reader *r, int code, const char *before, const char *after)
{
    if (!r->err)
        return code;
    *r->err = (struct tlshm_error){.code = code};
    struct tl_text w = {r->err->text, sizeof r->err->text, 0};
    tl_text_put(&w, "column ");
    tl_text_put_number(&w, (uint64_t)(r->word - r->text) + 1);
    tl_text_put(&w, ": ");
    tl_text_put(&w, before);
    if (r->length)
        put_quoted(&w, r->word, r->length);
    else
        tl_text_put(&w, "the end of the text");
    tl_text_put(&w, after);
    tl_text_end(&w);
    return code;
}

static int expected(const struct reader *r, const char *what)
{
    return fail(r, -TLSHM_EINVAL, what, "");
}

static int expect_end(const struct reader *r)
{
    return r->length ? fail(r, -TLSHM_EINVAL, "unexpected ", "") : 0;
}

/* The current word must be the only one. */
static int be_last(struct reader *r)
{
    next_word(r);
    return expect_end(r);
}

/* ---------------------------------------------------------------------------------------------------------- numbers */

/* A decimal number inside a word: digits, and digits behind a point. */
struct number {
    const char *whole;
    const char *fraction;
    size_t whole_length;
    size_t fraction_length;
    const char *end;
};

static size_t count_digits(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && is_digit(at[n]))
        n++;
    return n;
}

static bool scan_number(const char *at, const char *end, struct number *out)
{
    *out = (struct number){.whole = at, .whole_length = count_digits(at, end)};
    out->end = at + out->whole_length;
    if (out->whole_length == 0 || out->end == end || *out->end != '.')
        return out->whole_length > 0;
    out->fraction = out->end + 1;
    out->fraction_length = count_digits(out->fraction, end);
    out->end = out->fraction + out->fraction_length;
    return out->fraction_length > 0;
}

/* The number times `one`: 0, -EINVAL if that is no integer, -ERANGE if it does not fit. */
static int scale_number(const struct number *number, uint64_t one, uint64_t *out)
{
    uint64_t value = 0, place = one;
    for (size_t i = 0; i < number->whole_length; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(number->whole[i] - '0'), &value))
            return -TLSHM_ERANGE;
    if (__builtin_mul_overflow(value, one, &value))
        return -TLSHM_ERANGE;
    for (size_t i = 0; i < number->fraction_length; i++) {
        uint64_t digit = (uint64_t)(number->fraction[i] - '0');
        if (digit && place % 10)
            return -TLSHM_EINVAL;
        place /= 10;
        if (__builtin_add_overflow(value, digit * place, &value))
            return -TLSHM_ERANGE;
    }
    *out = value;
    return 0;
}

static bool find_scale(const struct tl_scale *scales, size_t count, const char *at, const char *end, uint64_t *factor)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(scales[i].suffix) != (size_t)(end - at) || memcmp(scales[i].suffix, at, (size_t)(end - at)) != 0)
            continue;
        *factor = scales[i].factor;
        return true;
    }
    return false;
}

static int number_error(const struct reader *r, int code, const char *too_fine)
{
    if (code == -TLSHM_ERANGE)
        return fail(r, code, "", " is too large");
    return fail(r, code, "", too_fine);
}

/* ---------------------------------------------------------------------------------------------------------- amounts */

static bool money_factor(const char *word, const struct number *number, const char *end, uint64_t *one)
{
    if (*word != '$') {
        *one = 1;
        return end - number->end == 1 && *number->end == 'n';
    }
    if (!find_scale(amount_scales, TL_COUNT_OF(amount_scales), number->end, end, one))
        return false;
    if (__builtin_mul_overflow(*one, TL_DOLLAR_NUSD, one))
        *one = 0; /* no factor is: even one of these is out of range */
    return true;
}

static int read_money(const struct reader *r, uint64_t *out)
{
    const char *end = r->word + r->length;
    struct number number;
    uint64_t one;
    if (!r->length || !scan_number(r->word + (*r->word == '$'), end, &number) ||
        !money_factor(r->word, &number, end, &one))
        return expected(r, "expected an amount of money such as $0.50, 500000n or unlimited, not ");
    int rc = one ? scale_number(&number, one, out) : -TLSHM_ERANGE;
    return rc ? number_error(r, rc, " is finer than a nano-dollar") : 0;
}

static int read_count(const struct reader *r, uint64_t *out)
{
    const char *end = r->word + r->length;
    struct number number;
    uint64_t one;
    if (!scan_number(r->word, end, &number) ||
        !find_scale(amount_scales, TL_COUNT_OF(amount_scales), number.end, end, &one))
        return expected(r, "expected an amount such as 500, 10k, 1.5M or unlimited, not ");
    int rc = scale_number(&number, one, out);
    return rc ? number_error(r, rc, " is no whole number") : 0;
}

static int read_amount(const struct reader *r, enum tlshm_unit unit, uint64_t *out)
{
    uint64_t value = TLSHM_UNLIMITED;
    if (!word_is(r, "unlimited")) {
        int rc = unit == TLSHM_COST ? read_money(r, &value) : read_count(r, &value);
        if (rc)
            return rc;
        if (value == TLSHM_UNLIMITED)
            return number_error(r, -TLSHM_ERANGE, "");
    }
    *out = value;
    return 0;
}

int tlshm_amount_parse(const char *text, enum tlshm_unit unit, uint64_t *out, struct tlshm_error *err)
{
    struct reader r;
    uint64_t value;
    if (!text || !out || (unsigned)unit >= TLSHM_UNITS)
        return -TLSHM_EINVAL;
    start(&r, text, err);
    int rc = read_amount(&r, unit, &value);
    if (rc || (rc = be_last(&r)))
        return rc;
    *out = value;
    return 0;
}

/* -------------------------------------------------------------------------------------------------------- durations */

#define LENGTH_EXPECTED "expected a length of time such as 300, 5m, 1h, 1d or 250ms, not "

static int read_duration(const struct reader *r, uint64_t *ns, const char *what)
{
    const char *end = r->word + r->length;
    struct number number;
    uint64_t one;
    if (!scan_number(r->word, end, &number) || !find_scale(tl_text_durations, TL_DURATIONS, number.end, end, &one))
        return expected(r, what);
    int rc = scale_number(&number, one, ns);
    if (!rc && *ns == TLSHM_NEVER)
        rc = -TLSHM_ERANGE;
    return rc ? number_error(r, rc, " is finer than a nanosecond") : 0;
}

int tlshm_duration_parse(const char *text, uint64_t *ns, struct tlshm_error *err)
{
    struct reader r;
    uint64_t value;
    if (!text || !ns)
        return -TLSHM_EINVAL;
    start(&r, text, err);
    int rc = read_duration(&r, &value, LENGTH_EXPECTED);
    if (rc || (rc = be_last(&r)))
        return rc;
    *ns = value;
    return 0;
}

/* ---------------------------------------------------------------------------------------------------------- windows */

static bool read_small(const char *at, const char *end, uint32_t max, uint32_t *out)
{
    uint32_t value = 0;
    if (at == end || end - at > 2)
        return false;
    for (; at < end; at++) {
        if (!is_digit(*at))
            return false;
        value = value * 10 + (uint32_t)(*at - '0');
    }
    *out = value;
    return value >= 1 && value <= max;
}

static int read_slices(const struct reader *r, uint32_t *slices)
{
    if (!read_small(r->word, r->word + r->length, SLICES_MAX, slices))
        return expected(r, "expected a number of slices from 1 to 64, not ");
    if (*slices == TL_SLICES_DEFAULT)
        *slices = 0;
    return 0;
}

static int read_rolling(struct reader *r, tlshm_window *w)
{
    struct reader length = *r, slices = *r;
    const char *slash = memchr(r->word, '/', r->length);
    w->kind = TLSHM_WINDOW_ROLLING;
    if (slash)
        length.length = (size_t)(slash - r->word);
    int rc = read_duration(&length, &w->length_ns,
                           "expected a length of time such as 90s, 5m or 1h, or hour, day, week or month, not ");
    if (rc)
        return rc;
    if (w->length_ns == 0)
        return fail(&length, -TLSHM_EINVAL, "a window must be longer than ", "");
    if (slash) {
        slices.word = slash + 1;
        slices.length = r->length - length.length - 1;
        rc = read_slices(&slices, &w->slices);
    }
    next_word(r);
    return rc;
}

static bool zone_char(char c)
{
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '_' || c == '-' || c == '+';
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

static int read_zone(struct reader *r, tlshm_window *w)
{
    if (!zone_plausible(r->word, r->length) || r->length >= sizeof w->zone)
        return expected(r, "expected a time zone such as Europe/Berlin, not ");
    if (!word_is(r, "UTC"))
        memcpy(w->zone, r->word, r->length);
    next_word(r);
    return 0;
}

/* A day's name, or its first three letters. */
static bool is_day(const struct reader *r, const char *name)
{
    if (r->length != strlen(name) && r->length != 3)
        return false;
    for (size_t i = 0; i < r->length; i++)
        if (lower(r->word[i]) != name[i])
            return false;
    return true;
}

static int read_week_day(const struct reader *r, uint32_t *anchor)
{
    for (uint32_t day = 1; day <= TL_WEEK_DAYS; day++) {
        if (!is_day(r, tl_text_days[day]))
            continue;
        *anchor = day;
        return 0;
    }
    return expected(r, "expected a day from monday to sunday, not ");
}

static int read_anchor(struct reader *r, tlshm_window *w)
{
    int rc = 0;
    if (w->period == TLSHM_WEEK)
        rc = read_week_day(r, &w->anchor);
    else if (!read_small(r->word, r->word + r->length, MONTH_DAYS_MAX, &w->anchor))
        rc = expected(r, "expected a day of the month from 1 to 31, not ");
    next_word(r);
    return rc;
}

/* {"in" ZONE | "from" DAY}, each once, in either order. */
static int read_calendar(struct reader *r, tlshm_window *w)
{
    bool zone = false, anchor = false;
    w->kind = TLSHM_WINDOW_CALENDAR;
    for (int rc = 0;;) {
        if (!zone && word_is(r, "in")) {
            zone = true;
            next_word(r);
            rc = read_zone(r, w);
        } else if (!anchor && w->period >= TLSHM_WEEK && word_is(r, "from")) {
            anchor = true;
            next_word(r);
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

static bool find_period(const struct reader *r, enum tlshm_period *period)
{
    for (unsigned i = 0; i < TL_PERIODS; i++) {
        if (!word_is(r, tl_text_periods[i]))
            continue;
        *period = (enum tlshm_period)i;
        return true;
    }
    return false;
}

static int read_window(struct reader *r, tlshm_window *w)
{
    if (word_is(r, "lifetime")) {
        w->kind = TLSHM_WINDOW_LIFETIME;
        next_word(r);
        return 0;
    }
    if (!word_is(r, "per"))
        return expected(r, "expected 'per' or 'lifetime', not ");
    next_word(r);
    if (!find_period(r, &w->period))
        return read_rolling(r, w);
    next_word(r);
    return read_calendar(r, w);
}

/* ----------------------------------------------------------------------------------------------------------- limits */

static int read_unit(struct reader *r, enum tlshm_unit *unit)
{
    for (unsigned i = 0; i < TLSHM_UNITS; i++) {
        if (!word_is(r, tlshm_unit_name((int)i)))
            continue;
        *unit = (enum tlshm_unit)i;
        next_word(r);
        return 0;
    }
    return expected(r, "expected tokens, cost, requests, concurrency, input_tokens, output_tokens or tool_calls, not ");
}

static int read_strict(struct reader *r, tlshm_limit *limit)
{
    if (!word_is(r, "strict"))
        return 0;
    if (limit->window.kind != TLSHM_WINDOW_ROLLING)
        return fail(r, -TLSHM_EINVAL, "", " is for rolling windows only");
    limit->flags |= TLSHM_LIMIT_STRICT;
    next_word(r);
    return 0;
}

static int read_limit(struct reader *r, tlshm_limit *limit)
{
    int rc = read_unit(r, &limit->unit);
    if (rc || (rc = read_amount(r, limit->unit, &limit->cap)))
        return rc;
    next_word(r);
    if (limit->unit == TLSHM_CONCURRENCY)
        return r->length ? fail(r, -TLSHM_EINVAL, "concurrency has no window: unexpected ", "") : 0;
    if ((rc = read_window(r, &limit->window)) || (rc = read_strict(r, limit)))
        return rc;
    return expect_end(r);
}

int tlshm_limit_parse(const char *text, tlshm_limit *out, struct tlshm_error *err)
{
    struct reader r;
    tlshm_limit limit;
    if (!text || !out)
        return -TLSHM_EINVAL;
    memset(&limit, 0, sizeof limit);
    start(&r, text, err);
    int rc = read_limit(&r, &limit);
    if (rc == 0)
        *out = limit;
    return rc;
}
