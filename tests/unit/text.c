/* SPDX-License-Identifier: MIT */
/* text.c - limits, amounts and durations as texts: exact both ways, and helpful about what is wrong. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <tlshm.h>
#include <tlshm/admin.h>

#define S UINT64_C(1000000000)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ---------------------------------------------------------------------------------------------------------- amounts */

struct amount_case {
    const char *text;
    enum tlshm_unit unit;
    int rc;
    uint64_t value;
    const char *formatted; /* NULL: the text itself */
};

static const struct amount_case amounts[] = {
    {"0", TLSHM_TOKENS, 0, 0, NULL},
    {"10k", TLSHM_TOKENS, 0, 10000, NULL},
    {"10K", TLSHM_TOKENS, 0, 10000, "10k"},
    {"1.5M", TLSHM_TOKENS, 0, 1500000, NULL},
    {"1.234567M", TLSHM_TOKENS, 0, 1234567, "1234567"},
    {"2G", TLSHM_REQUESTS, 0, 2000000000, NULL},
    {"1T", TLSHM_TOKENS, 0, UINT64_C(1000000000000), NULL},
    {"1.50", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"1.0", TLSHM_TOKENS, 0, 1, "1"},
    {"1.2345678M", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"9007199254740993", TLSHM_TOKENS, 0, (UINT64_C(1) << 53) + 1, NULL},
    {"18446744073709551614", TLSHM_TOKENS, 0, UINT64_MAX - 1, NULL},
    {"18446744073709551615", TLSHM_TOKENS, -TLSHM_ERANGE, 0, NULL},
    {"18446744073709551616", TLSHM_TOKENS, -TLSHM_ERANGE, 0, NULL},
    {"18446744.0737095516T", TLSHM_TOKENS, 0, UINT64_C(18446744073709551600), "18446744073709551.6k"},
    {"18446744.073709551616T", TLSHM_TOKENS, -TLSHM_ERANGE, 0, NULL},
    {"99999999999999999999999999", TLSHM_TOKENS, -TLSHM_ERANGE, 0, NULL},
    {"unlimited", TLSHM_TOKENS, 0, TLSHM_UNLIMITED, NULL},
    {"unlimited", TLSHM_COST, 0, TLSHM_UNLIMITED, NULL},
    {"$0.50", TLSHM_COST, 0, S / 2, NULL},
    {"$0.5", TLSHM_COST, 0, S / 2, "$0.50"},
    {"$50", TLSHM_COST, 0, 50 * S, NULL},
    {"$1.5k", TLSHM_COST, 0, 1500 * S, "$1500"},
    {"$0.000000001", TLSHM_COST, 0, 1, NULL},
    {"$0.0000000010", TLSHM_COST, 0, 1, "$0.000000001"},
    {"$0.0000000001", TLSHM_COST, -TLSHM_EINVAL, 0, NULL},
    {"$0.0000001k", TLSHM_COST, 0, 100000, "$0.0001"},
    {"$18446744073.709551614", TLSHM_COST, 0, UINT64_MAX - 1, NULL},
    {"$18446744073.709551616", TLSHM_COST, -TLSHM_ERANGE, 0, NULL},
    {"$0.5T", TLSHM_COST, -TLSHM_ERANGE, 0, NULL},
    {"$1T", TLSHM_COST, -TLSHM_ERANGE, 0, NULL},
    {"500n", TLSHM_COST, 0, 500, "$0.0000005"},
    {"0n", TLSHM_COST, 0, 0, "$0"},
    {"$500n", TLSHM_COST, -TLSHM_EINVAL, 0, NULL},
    {"1.5n", TLSHM_COST, -TLSHM_EINVAL, 0, NULL},
    {"50", TLSHM_COST, -TLSHM_EINVAL, 0, NULL}, /* dollars or nano-dollars? say which */
    {"$50", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"$", TLSHM_COST, -TLSHM_EINVAL, 0, NULL},
    {"$.50", TLSHM_COST, -TLSHM_EINVAL, 0, NULL},
    {"1m", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"1.M", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"1,000", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"-1", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"+1", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"0x10", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"1e6", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"1 k", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"k", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"", TLSHM_TOKENS, -TLSHM_EINVAL, 0, NULL},
    {"", TLSHM_COST, -TLSHM_EINVAL, 0, NULL},
    {" 7 ", TLSHM_TOOL_CALLS, 0, 7, "7"},
};

Test(text, amounts_are_exact_or_errors)
{
    for (size_t i = 0; i < COUNT_OF(amounts); i++) {
        const struct amount_case *c = &amounts[i];
        uint64_t value = 4711;
        char text[64];
        cr_expect_eq(tlshm_amount_parse(c->text, c->unit, &value, NULL), c->rc, "%s", c->text);
        cr_expect_eq(value, c->rc ? 4711 : c->value, "%s: %llu", c->text, (unsigned long long)value);
        if (c->rc)
            continue;
        tlshm_amount_format(value, c->unit, text, sizeof text);
        cr_expect_str_eq(text, c->formatted ? c->formatted : c->text);
    }
}

/* -------------------------------------------------------------------------------------------------------- durations */

static const struct {
    const char *text;
    int rc;
    uint64_t ns;
    const char *formatted;
} durations[] = {
    {"300", 0, 300 * S, "5m"},
    {"300s", 0, 300 * S, "5m"},
    {"5m", 0, 300 * S, "5m"},
    {"90m", 0, 5400 * S, "90m"},
    {"1.5h", 0, 5400 * S, "90m"},
    {"1h", 0, 3600 * S, "1h"},
    {"1d", 0, 86400 * S, "1d"},
    {"250ms", 0, S / 4, "250ms"},
    {"0.25", 0, S / 4, "250ms"},
    {"7us", 0, 7000, "7us"},
    {"1ns", 0, 1, "1ns"},
    {"0", 0, 0, "0s"},
    {"0.5ns", -TLSHM_EINVAL, 0, NULL},
    {"0.0000000001", -TLSHM_EINVAL, 0, NULL},
    {"213503d", 0, UINT64_C(213503) * 86400 * S, "213503d"},
    {"213504d", -TLSHM_ERANGE, 0, NULL},
    {"18446744073709551615ns", -TLSHM_ERANGE, 0, NULL},
    {"1w", -TLSHM_EINVAL, 0, NULL},
    {"1 h", -TLSHM_EINVAL, 0, NULL},
    {"1h30m", -TLSHM_EINVAL, 0, NULL},
    {"h", -TLSHM_EINVAL, 0, NULL},
    {"-1s", -TLSHM_EINVAL, 0, NULL},
    {"", -TLSHM_EINVAL, 0, NULL},
};

Test(text, durations_are_exact_or_errors)
{
    for (size_t i = 0; i < COUNT_OF(durations); i++) {
        uint64_t ns = 4711;
        char text[64];
        cr_expect_eq(tlshm_duration_parse(durations[i].text, &ns, NULL), durations[i].rc, "%s", durations[i].text);
        cr_expect_eq(ns, durations[i].rc ? 4711 : durations[i].ns, "%s", durations[i].text);
        if (durations[i].rc)
            continue;
        tlshm_duration_format(ns, text, sizeof text);
        cr_expect_str_eq(text, durations[i].formatted);
    }
}

/* ----------------------------------------------------------------------------------------------------------- limits */

static const struct {
    const char *text;
    tlshm_limit limit;
    const char *formatted; /* NULL: the text itself */
} limits[] = {
    {"tokens 1M per 1h", {TLSHM_TOKENS, 0, {TLSHM_WINDOW_ROLLING, 0, 0, 0, 3600 * S, ""}, 1000000}, NULL},
    {"cost $50 per month", {TLSHM_COST, 0, {TLSHM_WINDOW_CALENDAR, TLSHM_MONTH, 0, 0, 0, ""}, 50 * S}, NULL},
    {"requests 60 per 1m/12", {TLSHM_REQUESTS, 0, {TLSHM_WINDOW_ROLLING, 0, 12, 0, 60 * S, ""}, 60}, NULL},
    {"requests 60 per 1m/60",
     {TLSHM_REQUESTS, 0, {TLSHM_WINDOW_ROLLING, 0, 0, 0, 60 * S, ""}, 60},
     "requests 60 per 1m"},
    {"cost $3 per day in Europe/Berlin",
     {TLSHM_COST, 0, {TLSHM_WINDOW_CALENDAR, TLSHM_DAY, 0, 0, 0, "Europe/Berlin"}, 3 * S},
     NULL},
    {"cost $3 per day in UTC",
     {TLSHM_COST, 0, {TLSHM_WINDOW_CALENDAR, TLSHM_DAY, 0, 0, 0, ""}, 3 * S},
     "cost $3 per day"},
    {"tokens 20M per month from 15",
     {TLSHM_TOKENS, 0, {TLSHM_WINDOW_CALENDAR, TLSHM_MONTH, 0, 15, 0, ""}, 20000000},
     NULL},
    {"tokens 20M per month from 1",
     {TLSHM_TOKENS, 0, {TLSHM_WINDOW_CALENDAR, TLSHM_MONTH, 0, 0, 0, ""}, 20000000},
     "tokens 20M per month"},
    {"tokens 7k per week from Sun in Asia/Kolkata",
     {TLSHM_TOKENS, 0, {TLSHM_WINDOW_CALENDAR, TLSHM_WEEK, 0, 7, 0, "Asia/Kolkata"}, 7000},
     "tokens 7k per week in Asia/Kolkata from sunday"},
    {"tokens 7k per week from monday",
     {TLSHM_TOKENS, 0, {TLSHM_WINDOW_CALENDAR, TLSHM_WEEK, 0, 0, 0, ""}, 7000},
     "tokens 7k per week"},
    {"output_tokens 9 per hour in Etc/GMT+5",
     {TLSHM_OUTPUT_TOKENS, 0, {TLSHM_WINDOW_CALENDAR, TLSHM_HOUR, 0, 0, 0, "Etc/GMT+5"}, 9},
     NULL},
    {"concurrency 5", {TLSHM_CONCURRENCY, 0, {0, 0, 0, 0, 0, ""}, 5}, NULL},
    {"concurrency 0", {TLSHM_CONCURRENCY, 0, {0, 0, 0, 0, 0, ""}, 0}, NULL},
    {"tokens 200k per request", {TLSHM_TOKENS, 0, {TLSHM_WINDOW_REQUEST, 0, 0, 0, 0, ""}, 200000}, NULL},
    {"cost $2 per request", {TLSHM_COST, 0, {TLSHM_WINDOW_REQUEST, 0, 0, 0, 0, ""}, 2 * S}, NULL},
    {"time 5m per request", {TLSHM_TIME, 0, {TLSHM_WINDOW_REQUEST, 0, 0, 0, 0, ""}, 300 * S}, NULL},
    {"time unlimited per request", {TLSHM_TIME, 0, {TLSHM_WINDOW_REQUEST, 0, 0, 0, 0, ""}, TLSHM_UNLIMITED}, NULL},
    {"tokens 5M lifetime", {TLSHM_TOKENS, 0, {TLSHM_WINDOW_LIFETIME, 0, 0, 0, 0, ""}, 5000000}, NULL},
    {"tool_calls unlimited per 1h",
     {TLSHM_TOOL_CALLS, 0, {TLSHM_WINDOW_ROLLING, 0, 0, 0, 3600 * S, ""}, TLSHM_UNLIMITED},
     NULL},
    {"tokens 100k per 1m strict",
     {TLSHM_TOKENS, TLSHM_LIMIT_STRICT, {TLSHM_WINDOW_ROLLING, 0, 0, 0, 60 * S, ""}, 100000},
     NULL},
    {" \t input_tokens  1\tper  250ms/1  strict ",
     {TLSHM_INPUT_TOKENS, TLSHM_LIMIT_STRICT, {TLSHM_WINDOW_ROLLING, 0, 1, 0, S / 4, ""}, 1},
     "input_tokens 1 per 250ms/1 strict"},
};

static bool same_limit(const tlshm_limit *a, const tlshm_limit *b)
{
    const tlshm_window *v = &a->window, *w = &b->window;
    return a->unit == b->unit && a->flags == b->flags && a->cap == b->cap && v->kind == w->kind &&
           v->period == w->period && v->slices == w->slices && v->anchor == w->anchor && v->length_ns == w->length_ns &&
           strcmp(v->zone, w->zone) == 0;
}

Test(text, limits_mean_what_they_say)
{
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        tlshm_limit limit;
        struct tlshm_error err = {0};
        char text[128];
        cr_assert_eq(tlshm_limit_parse(limits[i].text, &limit, &err), 0, "%s: %s", limits[i].text, err.text);
        cr_expect(same_limit(&limit, &limits[i].limit), "%s", limits[i].text);
        int n = tlshm_limit_format(&limit, text, sizeof text);
        cr_expect_str_eq(text, limits[i].formatted ? limits[i].formatted : limits[i].text);
        cr_expect_eq(n, (int)strlen(text));
    }
}

static const struct {
    const char *text;
    int rc;
    const char *complaint; /* the whole of it */
} faults[] = {
    {"", -TLSHM_EINVAL,
     "column 1: expected tokens, cost, requests, concurrency, input_tokens, output_tokens, tool_calls or time, not the "
     "end "
     "of "
     "the text"},
    {"token 1 per 1h", -TLSHM_EINVAL,
     "column 1: expected tokens, cost, requests, concurrency, input_tokens, output_tokens, tool_calls or time, not "
     "'token'"},
    {"tokens", -TLSHM_EINVAL,
     "column 7: expected an amount such as 500, 10k, 1.5M or unlimited, not the end of the text"},
    {"tokens 1X per 1h", -TLSHM_EINVAL, "column 8: expected an amount such as 500, 10k, 1.5M or unlimited, not '1X'"},
    {"tokens 1.5 per 1h", -TLSHM_EINVAL, "column 8: '1.5' is no whole number"},
    {"cost 50 per 1h", -TLSHM_EINVAL,
     "column 6: expected an amount of money such as $0.50, 500000n or unlimited, not '50'"},
    {"cost $0.0000000001 per 1h", -TLSHM_EINVAL, "column 6: '$0.0000000001' is finer than a nano-dollar"},
    {"tokens 99999999999T per 1h", -TLSHM_ERANGE, "column 8: '99999999999T' is too large"},
    {"tokens 1M", -TLSHM_EINVAL, "column 10: expected 'per' or 'lifetime', not the end of the text"},
    {"tokens 1M a 1h", -TLSHM_EINVAL, "column 11: expected 'per' or 'lifetime', not 'a'"},
    {"tokens 1M per minute", -TLSHM_EINVAL,
     "column 15: expected a length of time such as 90s, 5m or 1h, or hour, day, week, month or request, not 'minute'"},
    {"tokens 1M per 0s", -TLSHM_EINVAL, "column 15: a window must be longer than '0s'"},
    {"tokens 1M per 0s/12", -TLSHM_EINVAL, "column 15: a window must be longer than '0s'"},
    {"tokens 1M per 999999999d", -TLSHM_ERANGE, "column 15: '999999999d' is too large"},
    {"tokens 1M per 1h/0", -TLSHM_EINVAL, "column 18: expected a number of slices from 1 to 64, not '0'"},
    {"tokens 1M per 1h/65", -TLSHM_EINVAL, "column 18: expected a number of slices from 1 to 64, not '65'"},
    {"tokens 1M per 1h/", -TLSHM_EINVAL,
     "column 18: expected a number of slices from 1 to 64, not the end of the text"},
    {"tokens 1M per 1 hour", -TLSHM_EINVAL, "column 17: unexpected 'hour'"},
    {"tokens 1M per 1h in UTC", -TLSHM_EINVAL, "column 18: unexpected 'in'"},
    {"tokens 1M per day from 3", -TLSHM_EINVAL, "column 19: unexpected 'from'"},
    {"tokens 1M per week from 3", -TLSHM_EINVAL, "column 25: expected a day from monday to sunday, not '3'"},
    {"tokens 1M per month from 32", -TLSHM_EINVAL, "column 26: expected a day of the month from 1 to 31, not '32'"},
    {"tokens 1M per month from", -TLSHM_EINVAL,
     "column 25: expected a day of the month from 1 to 31, not the end of the text"},
    {"tokens 1M per day in", -TLSHM_EINVAL,
     "column 21: expected a time zone such as Europe/Berlin, not the end of the text"},
    {"tokens 1M per day in UTC in UTC", -TLSHM_EINVAL, "column 26: unexpected 'in'"},
    {"tokens 1M per day in ../../etc/passwd", -TLSHM_EINVAL,
     "column 22: expected a time zone such as Europe/Berlin, not '../../etc/passwd'"},
    {"tokens 1M per day in /etc", -TLSHM_EINVAL, "column 22: expected a time zone such as Europe/Berlin, not '/etc'"},
    {"tokens 1M per day in a//b", -TLSHM_EINVAL, "column 22: expected a time zone such as Europe/Berlin, not 'a//b'"},
    {"tokens 1M per day in Europe/", -TLSHM_EINVAL,
     "column 22: expected a time zone such as Europe/Berlin, not 'Europe/'"},
    {"tokens 1M per day in aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", -TLSHM_EINVAL,
     "column 22: expected a time zone such as Europe/Berlin, not "
     "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'"},
    {"concurrency 5 per 1h", -TLSHM_EINVAL, "column 15: concurrency has no window: unexpected 'per'"},
    {"concurrency 5 strict", -TLSHM_EINVAL, "column 15: concurrency has no window: unexpected 'strict'"},
    {"tokens 1M per day strict", -TLSHM_EINVAL, "column 19: 'strict' is for rolling windows only"},
    {"tokens 1M lifetime strict", -TLSHM_EINVAL, "column 20: 'strict' is for rolling windows only"},
    {"tokens 1M per 1h strict strict", -TLSHM_EINVAL, "column 25: unexpected 'strict'"},
    {"tokens 1M per 1h\n", -TLSHM_EINVAL,
     "column 15: expected a length of time such as 90s, 5m or 1h, or hour, day, week, month or request, not '1h?'"},
    {"tokens \xff\x1b[31m per 1h", -TLSHM_EINVAL,
     "column 8: expected an amount such as 500, 10k, 1.5M or unlimited, not '??[31m'"},
};

Test(text, complaints_name_the_place_and_the_word)
{
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        tlshm_limit limit, untouched;
        struct tlshm_error err = {0};
        memset(&limit, 0x5a, sizeof limit);
        memset(&untouched, 0x5a, sizeof untouched);
        cr_expect_eq(tlshm_limit_parse(faults[i].text, &limit, &err), faults[i].rc, "%s", faults[i].text);
        cr_expect_str_eq(err.text, faults[i].complaint);
        cr_expect_eq(err.code, faults[i].rc);
        cr_expect_arr_eq((char *)&limit, (char *)&untouched, sizeof limit, "%s", faults[i].text);
        cr_expect_eq(tlshm_limit_parse(faults[i].text, &limit, NULL), faults[i].rc);
    }
}

/* xorshift: the same cases on each run */
static uint64_t random_bits(void)
{
    static uint64_t state = UINT64_C(88172645463325252);
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static uint64_t random_size(uint64_t max)
{
    uint64_t value = random_bits() >> (random_bits() & 63);
    return value > max ? value % max + 1 : value;
}

static void random_calendar(tlshm_window *w)
{
    static const char *const zones[] = {"", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT-14", "CET"};
    w->period = (enum tlshm_period)(random_bits() % 4);
    strcpy(w->zone, zones[random_bits() % COUNT_OF(zones)]);
    if (w->period == TLSHM_WEEK)
        w->anchor = (uint32_t)(random_bits() % 7) + 1;
    if (w->period == TLSHM_MONTH)
        w->anchor = (uint32_t)(random_bits() % 31) + 1;
    w->anchor = w->anchor == 1 ? 0 : w->anchor;
}

static void random_rolling(tlshm_limit *limit)
{
    uint32_t slices = (uint32_t)(random_bits() % 65);
    limit->window.slices = slices == 60 ? 0 : slices;
    limit->window.length_ns = random_size(UINT64_MAX - 2) + 1;
    limit->flags = random_bits() & 1 ? TLSHM_LIMIT_STRICT : 0;
}

static tlshm_limit random_limit(void)
{
    tlshm_limit limit;
    memset(&limit, 0, sizeof limit);
    limit.unit = (enum tlshm_unit)(random_bits() % TLSHM_UNITS);
    limit.cap = random_bits() % 16 ? random_size(UINT64_MAX - 1) : TLSHM_UNLIMITED;
    if (limit.unit == TLSHM_CONCURRENCY)
        return limit;
    limit.window.kind = (enum tlshm_window_kind)(random_bits() % 3 + TLSHM_WINDOW_ROLLING);
    if (limit.window.kind == TLSHM_WINDOW_ROLLING)
        random_rolling(&limit);
    else if (limit.window.kind == TLSHM_WINDOW_CALENDAR)
        random_calendar(&limit.window);
    return limit;
}

Test(text, every_limit_comes_back_from_its_text)
{
    for (int i = 0; i < 20000; i++) {
        tlshm_limit limit = random_limit(), back;
        char text[160];
        struct tlshm_error err = {0};
        tlshm_limit_format(&limit, text, sizeof text);
        cr_assert_eq(tlshm_limit_parse(text, &back, &err), 0, "%s: %s", text, err.text);
        cr_assert(same_limit(&limit, &back), "%s", text);
    }
}

Test(text, spelled_out_defaults_come_back_as_defaults)
{
    tlshm_limit limit = {TLSHM_TOKENS, 0, {TLSHM_WINDOW_ROLLING, 0, 60, 0, 60 * S, ""}, 5}, back;
    char text[128];
    tlshm_limit_format(&limit, text, sizeof text);
    cr_expect_str_eq(text, "tokens 5 per 1m");
    limit.window = (tlshm_window){TLSHM_WINDOW_CALENDAR, TLSHM_WEEK, 0, 1, 0, "UTC"};
    tlshm_limit_format(&limit, text, sizeof text);
    cr_expect_str_eq(text, "tokens 5 per week");
    cr_assert_eq(tlshm_limit_parse(text, &back, NULL), 0);
    cr_expect_eq(back.window.anchor, 0);
    cr_expect_str_eq(back.window.zone, "");
}

Test(text, a_small_place_gets_the_beginning_and_the_length)
{
    tlshm_limit limit;
    char text[8];
    cr_assert_eq(tlshm_limit_parse("tokens 1M per 1h", &limit, NULL), 0);
    cr_expect_eq(tlshm_limit_format(&limit, NULL, 0), 16);
    cr_expect_eq(tlshm_limit_format(&limit, text, 1), 16);
    cr_expect_str_eq(text, "");
    cr_expect_eq(tlshm_limit_format(&limit, text, sizeof text), 16);
    cr_expect_str_eq(text, "tokens ");
    cr_expect_eq(tlshm_duration_format(TLSHM_NEVER, text, sizeof text), 5);
    cr_expect_str_eq(text, "never");
}

/* --------------------------------------------------------------------------------------------------------- refusals */

static tlshm_refusal refusal(enum tlshm_reason reason, const char *key, const char *limit)
{
    tlshm_refusal why;
    memset(&why, 0, sizeof why);
    why.reason = reason;
    strcpy(why.key, key);
    if (limit)
        cr_assert_eq(tlshm_limit_parse(limit, &why.limit, NULL), 0);
    return why;
}

static void expect_sentence(const tlshm_refusal *why, const char *sentence)
{
    char text[512];
    int n = tlshm_refusal_text(why, text, sizeof text);
    cr_expect_str_eq(text, sentence);
    cr_expect_eq(n, (int)strlen(sentence));
}

Test(text, a_limit_refusal_says_who_what_and_when)
{
    tlshm_refusal why = refusal(TLSHM_LIMIT, "tenant:acme", "tokens 1M per 1h");
    why.used = 990000;
    why.held = 5000;
    why.requested = 20000;
    why.retry_after_ns = 12 * 60 * S;
    expect_sentence(&why, "tenant:acme is over its limit of 1,000,000 tokens per 1h: 990,000 used, 5,000 held, 20,000 "
                          "requested; try again in 12 min");
    why.retry_after_ns = TLSHM_NEVER;
    expect_sentence(&why, "tenant:acme is over its limit of 1,000,000 tokens per 1h: 990,000 used, 5,000 held, 20,000 "
                          "requested; waiting does not help");
}

Test(text, money_and_calls_are_put_in_their_own_figures)
{
    tlshm_refusal why = refusal(TLSHM_LIMIT, "agent:a1", "cost $1234.50 per day in Europe/Berlin");
    why.used = 1234 * S;
    why.requested = 600000000;
    why.retry_after_ns = 1;
    expect_sentence(&why, "agent:a1 is over its limit of $1,234.50 per day in Europe/Berlin: $1,234 used, $0 held, "
                          "$0.60 requested; try again in 1 ms");
    why = refusal(TLSHM_LIMIT, "global:", "concurrency 1");
    why.held = 1;
    why.requested = 1;
    why.retry_after_ns = 61 * S;
    expect_sentence(&why, "global: is over its limit of 1 call at once: 1 held, 1 requested; try again in 61 s");
    why = refusal(TLSHM_LIMIT, "user:u", "tool_calls 3 lifetime");
    why.used = 3;
    why.requested = 1;
    expect_sentence(&why, "user:u is over its limit of 3 tool calls in its lifetime: 3 used, 0 held, 1 requested; "
                          "try again now");
}

Test(text, a_wait_is_never_rounded_down)
{
    static const struct {
        uint64_t ns;
        const char *words;
    } waits[] = {
        {S / 2 + 1, "501 ms"},        {S, "1 s"},        {S + 1, "2 s"},      {120 * S, "2 min"},
        {7200 * S - 1, "120 min"},    {7200 * S, "2 h"}, {172800 * S, "2 d"}, {172800 * S + 1, "3 d"},
        {UINT64_MAX - 1, "213504 d"},
    };
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        tlshm_refusal why = refusal(TLSHM_LIMIT, "user:u", "requests 0 per 1h");
        char text[256];
        why.retry_after_ns = waits[i].ns;
        tlshm_refusal_text(&why, text, sizeof text);
        const char *words = strstr(text, "try again in ");
        cr_assert_not_null(words);
        cr_expect_str_eq(words + strlen("try again in "), waits[i].words);
    }
}

Test(text, every_other_reason_has_its_sentence)
{
    tlshm_refusal why = refusal(TLSHM_NEVER_FITS, "tenant:t", "tokens 1k per 1h");
    why.requested = 2000;
    expect_sentence(&why, "2,000 tokens can never fit into tenant:t's limit of 1,000 tokens per 1h; waiting does not "
                          "help");
    why = refusal(TLSHM_PAUSED, "", NULL);
    expect_sentence(&why, "the segment is paused");
    why = refusal(TLSHM_PAUSED, "tenant:t", NULL);
    expect_sentence(&why, "tenant:t is paused");
    why = refusal(TLSHM_SHUTOFF, "", NULL);
    expect_sentence(&why, "the segment is shut off until a person resumes it");
    why = refusal(TLSHM_REQUEST_TOO_LARGE, "agent:a", "output_tokens 1k per request");
    why.requested = 4096;
    expect_sentence(&why,
                    "agent:a allows a single request 1,000 output tokens: 4,096 requested, 3,096 too much; waiting "
                    "does not help");
    why = refusal(TLSHM_REQUEST_TOO_LARGE, "agent:a", "time 5m per request");
    why.requested = 360 * S;
    expect_sentence(&why,
                    "agent:a allows a single request 5 min of time: 6 min requested, 60 s too much; waiting does not "
                    "help");
    why = refusal(TLSHM_UNKNOWN_MODEL, "tenant:acme", NULL);
    expect_sentence(&why, "tenant:acme limits cost, and the model has no price");
    why = refusal(TLSHM_FULL, "", NULL);
    expect_sentence(&why, "the segment has no room for one more scope or reservation");
}

Test(text, no_two_reasons_share_a_sentence)
{
    char texts[TLSHM_REASONS][256];
    for (int i = 0; i < TLSHM_REASONS; i++) {
        tlshm_refusal why = refusal((enum tlshm_reason)i, "tenant:t", "tokens 1k per 1h");
        cr_expect_gt(tlshm_refusal_text(&why, texts[i], sizeof texts[i]), 0);
        for (int k = 0; k < i; k++)
            cr_expect_str_neq(texts[i], texts[k]);
    }
}

/* ------------------------------------------------------------------------------------------------------------ names */

Test(text, names_have_no_gaps_and_nothing_beyond)
{
    for (int i = 0; i < TLSHM_UNITS; i++)
        cr_expect_str_neq(tlshm_unit_name(i), "?");
    for (int i = 0; i < TLSHM_REASONS; i++)
        cr_expect_str_neq(tlshm_reason_name(i), "?");
    for (int i = TLSHM_HELD; i <= TLSHM_EXPIRED; i++)
        cr_expect_str_neq(tlshm_status_name(i), "?");
    cr_expect_str_eq(tlshm_unit_name(TLSHM_UNITS), "?");
    cr_expect_str_eq(tlshm_unit_name(-1), "?");
    cr_expect_str_eq(tlshm_reason_name(TLSHM_REASONS), "?");
    cr_expect_str_eq(tlshm_status_name(0), "?");
    cr_expect_str_eq(tlshm_status_name(TLSHM_EXPIRED + 1), "?");
}
