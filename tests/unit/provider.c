/* SPDX-License-Identifier: MIT */
/* provider.c - what providers say of their limits: every spelling, what must not be believed, what follows. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlshm.h>
#include <tlshm/provider.h>

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define MINUTE (60 * S)
#define DAY (86400 * S)
#define NOW_S INT64_C(1700000000) /* Tue, 14 Nov 2023 22:13:20 GMT */
#define NOW (NOW_S * (int64_t)S)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Takes "name: value" lines. */
static void take(tlshm_quota *q, const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n"), name = strcspn(lines, ":");
        tlshm_quota_header(q, lines, name, lines + name + 1, n - name - 1);
        lines += n + (lines[n] == '\n');
    }
}

static tlshm_quota read_answer(enum tlshm_provider provider, int status, const char *headers, const char *body)
{
    tlshm_quota q;
    cr_assert_eq(tlshm_quota_begin(&q, provider, status, NOW), 0);
    take(&q, headers);
    if (body)
        tlshm_quota_body(&q, body, strlen(body));
    cr_assert_eq(tlshm_quota_end(&q), 0);
    return q;
}

static const tlshm_quota_limit *find(const tlshm_quota *q, enum tlshm_quota_kind kind, uint64_t window_ns,
                                     const char *name)
{
    for (unsigned i = 0; i < q->limit_count; i++)
        if (q->limits[i].kind == kind && q->limits[i].window_ns == window_ns && !strcmp(q->limits[i].name, name))
            return &q->limits[i];
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- headers */

#define NONE UINT64_MAX /* not said */

static const struct header_case {
    enum tlshm_provider provider;
    const char *headers;
    enum tlshm_quota_kind kind;
    uint64_t window_ns;
    const char *name;
    uint64_t limit, remaining, reset_in_ns;
} header_cases[] = {
    {TLSHM_PROVIDER_OPENAI,
     "x-ratelimit-limit-requests: 5000\nx-ratelimit-remaining-requests: 4999\nx-ratelimit-reset-requests: 12ms",
     TLSHM_QUOTA_REQUESTS, 0, "", 5000, 4999, 12 * MS},
    {TLSHM_PROVIDER_OPENAI,
     "X-RateLimit-Limit-Tokens: 150000000\nX-RATELIMIT-REMAINING-TOKENS:149999985\nx-ratelimit-reset-tokens:\t0s ",
     TLSHM_QUOTA_TOKENS, 0, "", 150000000, 149999985, 0},
    {TLSHM_PROVIDER_OPENAI, "x-ratelimit-reset-tokens: 1m13.588s", TLSHM_QUOTA_TOKENS, 0, "", NONE, NONE,
     73 * S + 588 * MS},
    {TLSHM_PROVIDER_OPENAI, "x-ratelimit-reset-requests: 20m52.666s", TLSHM_QUOTA_REQUESTS, 0, "", NONE, NONE,
     1252 * S + 666 * MS},
    {TLSHM_PROVIDER_OPENAI, "x-ratelimit-reset-requests: 1d2h3m4s5ms", TLSHM_QUOTA_REQUESTS, 0, "", NONE, NONE,
     DAY + 7384 * S + 5 * MS},
    {TLSHM_PROVIDER_OPENAI, "x-ratelimit-limit-input-images: 50\nx-ratelimit-remaining-input-images: 49",
     TLSHM_QUOTA_IMAGES, 0, "", 50, 49, NONE},
    {TLSHM_PROVIDER_OPENAI, "x-ratelimit-remaining-tokens_usage_based: 7", TLSHM_QUOTA_TOKENS, 0, "usage-based", NONE,
     7, NONE},
    {TLSHM_PROVIDER_ANY, "x-ratelimit-reset-tokens: 17.399999999s", TLSHM_QUOTA_TOKENS, 0, "", NONE, NONE,
     UINT64_C(17399999999)},
    {TLSHM_PROVIDER_ANY, "x-ratelimit-reset-tokens: 0.0000000001s", TLSHM_QUOTA_TOKENS, 0, "", NONE, NONE, 1},
    {TLSHM_PROVIDER_ANY, "x-ratelimit-reset-tokens: 250\xc2\xb5s", TLSHM_QUOTA_TOKENS, 0, "", NONE, NONE, 250000},
    {TLSHM_PROVIDER_AZURE, "x-ratelimit-remaining-requests: 119\nx-ratelimit-limit-requests: 100", TLSHM_QUOTA_REQUESTS,
     0, "", 100, 119, NONE},
    {TLSHM_PROVIDER_AZURE, "x-rate-limit-reset-tokens: 55", TLSHM_QUOTA_TOKENS, 0, "", NONE, NONE, 55 * S},
    {TLSHM_PROVIDER_GROQ, "x-ratelimit-limit-requests: 14400\nx-ratelimit-remaining-requests: 14399",
     TLSHM_QUOTA_REQUESTS, DAY, "", 14400, 14399, NONE},
    {TLSHM_PROVIDER_GROQ, "x-ratelimit-limit-tokens: 6000", TLSHM_QUOTA_TOKENS, MINUTE, "", 6000, NONE, NONE},
    {TLSHM_PROVIDER_ANTHROPIC,
     "anthropic-ratelimit-input-tokens-limit: 400000\nanthropic-ratelimit-input-tokens-remaining: 399000\n"
     "anthropic-ratelimit-input-tokens-reset: 2023-11-14T22:13:25Z",
     TLSHM_QUOTA_INPUT_TOKENS, MINUTE, "", 400000, 399000, 5 * S},
    {TLSHM_PROVIDER_ANTHROPIC, "anthropic-ratelimit-output-tokens-reset: 2023-11-14T22:13:19Z",
     TLSHM_QUOTA_OUTPUT_TOKENS, MINUTE, "", NONE, NONE, 0},
    {TLSHM_PROVIDER_ANY, "anthropic-ratelimit-requests-reset: 2023-11-15T00:13:21.25+02:00", TLSHM_QUOTA_REQUESTS, 0,
     "", NONE, NONE, S + 250 * MS},
    {TLSHM_PROVIDER_ANTHROPIC, "anthropic-priority-output-tokens-remaining: 12", TLSHM_QUOTA_OUTPUT_TOKENS, MINUTE,
     "priority", NONE, 12, NONE},
    {TLSHM_PROVIDER_ANTHROPIC, "anthropic-ratelimit-unified-5h-reset: 1700003600", TLSHM_QUOTA_SHARE, 5 * 3600 * S, "",
     NONE, NONE, 3600 * S},
    {TLSHM_PROVIDER_ANTHROPIC, "anthropic-ratelimit-unified-7d_opus-reset: 1700000001", TLSHM_QUOTA_SHARE, 7 * DAY,
     "opus", NONE, NONE, S},
    {TLSHM_PROVIDER_MISTRAL, "x-ratelimit-limit-req-10-second: 60\nx-ratelimit-remaining-req-10-second: 49",
     TLSHM_QUOTA_REQUESTS, 10 * S, "", 60, 49, NONE},
    {TLSHM_PROVIDER_MISTRAL, "x-ratelimit-limit-tokens-month: 200000000000", TLSHM_QUOTA_TOKENS, 30 * DAY, "",
     UINT64_C(200000000000), NONE, NONE},
    {TLSHM_PROVIDER_COHERE, "x-trial-endpoint-call-limit: 10\nx-trial-endpoint-call-remaining: 9", TLSHM_QUOTA_REQUESTS,
     0, "trial", 10, 9, NONE},
    {TLSHM_PROVIDER_COHERE, "x-endpoint-monthly-call-limit: 1000", TLSHM_QUOTA_REQUESTS, 30 * DAY, "", 1000, NONE,
     NONE},
    {TLSHM_PROVIDER_OPENROUTER, "X-RateLimit-Limit: 20\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1700000060500",
     TLSHM_QUOTA_REQUESTS, 0, "", 20, 0, 60 * S + 500 * MS},
    {TLSHM_PROVIDER_ANY, "ratelimit-limit: 100, 100;w=60\nratelimit-remaining: 3\nratelimit-reset: 7",
     TLSHM_QUOTA_REQUESTS, 0, "", 100, 3, 7 * S},
    {TLSHM_PROVIDER_ANY, "RateLimit: limit=100, remaining=50, reset=30", TLSHM_QUOTA_REQUESTS, 0, "", 100, 50, 30 * S},
    {TLSHM_PROVIDER_ANY, "ratelimit: \"api\";r=999;t=295\nratelimit-policy: \"fixed window\";\"api\";q=1000;w=300",
     TLSHM_QUOTA_REQUESTS, 300 * S, "api", 1000, 999, 295 * S},
    {TLSHM_PROVIDER_ANY, "ratelimit-policy: \"day, all\";q=9;w=86400, \"burst\";q=5;w=1\nratelimit: \"burst\";r=4;t=1",
     TLSHM_QUOTA_REQUESTS, S, "burst", 5, 4, S},
    {TLSHM_PROVIDER_ANY, "ratelimit-policy: \"day, all\";q=9;w=86400, \"burst\";q=5;w=1", TLSHM_QUOTA_REQUESTS, DAY,
     "day, all", 9, NONE, NONE},
    {TLSHM_PROVIDER_ANY, "ratelimit-policy: \"c\";q=9;qu=\"concurrent-requests\"", TLSHM_QUOTA_CONCURRENCY, 0, "c", 9,
     NONE, NONE},
    {TLSHM_PROVIDER_ANY, "x-ratelimit-limit-tokens: 1000000.000000", TLSHM_QUOTA_TOKENS, 0, "", 1000000, NONE, NONE},
    {TLSHM_PROVIDER_ANY, "x-ratelimit-limit-tokens: 1\nx-ratelimit-limit-tokens: 2", TLSHM_QUOTA_TOKENS, 0, "", 2, NONE,
     NONE},
    {TLSHM_PROVIDER_ANY, "x-ratelimit-limit-search: 30", TLSHM_QUOTA_OTHER, 0, "search", 30, NONE, NONE},
};

Test(provider, headers_of_every_kind)
{
    for (size_t i = 0; i < COUNT_OF(header_cases); i++) {
        const struct header_case *c = &header_cases[i];
        tlshm_quota q = read_answer(c->provider, 200, c->headers, NULL);
        const tlshm_quota_limit *limit = find(&q, c->kind, c->window_ns, c->name);
        cr_expect_eq(q.disbelieved, 0, "%s", c->headers);
        cr_assert(limit, "%s: no such limit", c->headers);
        cr_expect_eq(limit->said & TLSHM_SAID_LIMIT ? limit->limit : NONE, c->limit, "%s", c->headers);
        cr_expect_eq(limit->said & TLSHM_SAID_REMAINING ? limit->remaining : NONE, c->remaining, "%s", c->headers);
        cr_expect_eq(limit->said & TLSHM_SAID_RESET ? limit->reset_in_ns : NONE, c->reset_in_ns, "%s: %llu", c->headers,
                     (unsigned long long)limit->reset_in_ns);
        cr_expect(q.cause == TLSHM_QUOTA_NONE && !q.never_retry && !(q.said & TLSHM_SAID_WAIT), "%s", c->headers);
    }
}

Test(provider, past_resets_stay_past)
{
    tlshm_quota q =
        read_answer(TLSHM_PROVIDER_ANTHROPIC, 200, "anthropic-ratelimit-tokens-reset: 2023-11-14T22:12:20Z", NULL);
    cr_expect_eq(q.limits[0].reset_wall_ns, NOW - (int64_t)MINUTE);
    cr_expect_eq(q.limits[0].reset_in_ns, 0);
}

Test(provider, shares_of_a_subscription)
{
    tlshm_quota q = read_answer(TLSHM_PROVIDER_ANTHROPIC, 429,
                                "anthropic-ratelimit-unified-status: rejected\n"
                                "anthropic-ratelimit-unified-5h-utilization: 1.02\n"
                                "anthropic-ratelimit-unified-5h-reset: 1700000100\n"
                                "anthropic-ratelimit-unified-5h-status: rejected\n"
                                "anthropic-ratelimit-unified-7d-utilization: 0.45\n"
                                "anthropic-ratelimit-unified-7d-status: allowed\n"
                                "anthropic-ratelimit-unified-7d-reset: 1700900000\n"
                                "anthropic-ratelimit-unified-representative-claim: five_hour\n"
                                "x-should-retry: false",
                                NULL);
    const tlshm_quota_limit *week = find(&q, TLSHM_QUOTA_SHARE, 7 * DAY, "");
    cr_assert(week);
    cr_expect_eq(week->share_ppm, 450000);
    cr_expect_eq(q.hit.kind, TLSHM_QUOTA_SHARE);
    cr_expect_eq(q.hit.window_ns, 5 * 3600 * S);
    cr_expect_eq(q.hit.share_ppm, 1020000);
    cr_expect_eq(q.wait_ns, 100 * S);
    cr_expect(q.said & TLSHM_SAID_NO_RETRY && !(q.said & TLSHM_SAID_RETRY) && !q.never_retry);
}

/* ------------------------------------------------------------------------------------------------------ retry-after */

static const struct {
    const char *headers;
    uint64_t in_ns; /* NONE: not believed */
} retries[] = {
    {"retry-after: 13", 13 * S},
    {"Retry-After: 0", 0},
    {"retry-after: 0.25", S / 4},
    {"retry-after: Tue, 14 Nov 2023 22:13:50 GMT", 30 * S},
    {"retry-after: Tuesday, 14-Nov-23 22:13:50 GMT", 30 * S},
    {"retry-after: Tue Nov 14 22:13:50 2023", 30 * S},
    {"retry-after: Tue, 14 Nov 2023 22:12:00 GMT", 0},
    {"retry-after-ms: 540", 540 * MS},
    {"retry-after: 1\nretry-after-ms: 540", 540 * MS},
    {"retry-after-ms: 540\nretry-after: 1", 540 * MS},
    {"retry-after-ms: 540\nretry-after: 20", 20 * S},
    {"retry-after: 20\nretry-after: 30", 30 * S},
    {"retry-after: 30\nretry-after: soon", 30 * S},
    {"retry-after: 31622400", 366 * DAY},
    {"retry-after: 31622401", NONE},
    {"retry-after: soon", NONE},
    {"retry-after: -5", NONE},
    {"retry-after: NaN", NONE},
    {"retry-after: inf", NONE},
    {"retry-after: 1e3", NONE},
    {"retry-after: 0x10", NONE},
    {"retry-after:", NONE},
    {"retry-after: 5 5", NONE},
    {"retry-after: 5s6", NONE},
    {"retry-after: 99999999999999999999999999", NONE},
    {"retry-after: Tue, 31 Feb 2023 22:13:50 GMT", NONE},
    {"retry-after: Tue, 14 Nov 2323 22:13:50 GMT", NONE},
    {"retry-after: Tue, 14 Nov 2020 22:13:50 GMT", NONE},
    {"retry-after: 2023-11-14T25:13:50Z", NONE},
    {"retry-after: 2023-11-14T22:13:50", NONE},
};

Test(provider, retry_after_in_every_form)
{
    for (size_t i = 0; i < COUNT_OF(retries); i++) {
        tlshm_quota q = read_answer(TLSHM_PROVIDER_ANY, 429, retries[i].headers, NULL);
        bool said = q.said & TLSHM_SAID_RETRY_AFTER;
        cr_expect_eq(said ? q.retry_after_ns : NONE, retries[i].in_ns, "%s: %llu", retries[i].headers,
                     (unsigned long long)q.retry_after_ns);
        cr_expect_eq(said, (q.said & TLSHM_SAID_WAIT) != 0, "%s", retries[i].headers);
        cr_expect_eq(q.cause, TLSHM_QUOTA_LIMIT);
    }
}

Test(provider, retry_after_on_a_success_is_no_wait)
{
    tlshm_quota q = read_answer(TLSHM_PROVIDER_ANTHROPIC, 200, "retry-after: 13", NULL);
    cr_expect(q.said & TLSHM_SAID_RETRY_AFTER);
    cr_expect_eq(q.retry_at_wall_ns, NOW + 13 * (int64_t)S);
    cr_expect(!(q.said & TLSHM_SAID_WAIT) && q.cause == TLSHM_QUOTA_NONE);
}

/* ------------------------------------------------------------------------------------------------- what to disbelieve */

static const char *const lies[] = {
    "x-ratelimit-limit-tokens: -1",
    "x-ratelimit-limit-tokens: NaN",
    "x-ratelimit-limit-tokens: 9007199254740993",
    "x-ratelimit-limit-tokens: 18446744073709551616",
    "x-ratelimit-limit-tokens: 1,000",
    "x-ratelimit-limit-tokens: ",
    "x-ratelimit-limit-tokens: 12 apples",
    "x-ratelimit-reset-tokens: 300y",
    "x-ratelimit-reset-tokens: 109575d",
    "x-ratelimit-reset-tokens: -6ms",
    "x-ratelimit-reset-tokens: 1700000000000000",
    "x-ratelimit-reset-tokens: 9999999999",
    "x-ratelimit-reset-tokens: 18446744073709551615s",
    "x-ratelimit-reset-tokens: 18446744073s18446744073s",
    "anthropic-ratelimit-tokens-reset: 2323-01-01T00:00:00Z",
    "anthropic-ratelimit-tokens-reset: 1969-12-31T23:59:59Z",
    "anthropic-ratelimit-tokens-reset: 2023-02-29T00:00:00Z",
    "anthropic-ratelimit-unified-5h-utilization: -0.5",
    "anthropic-ratelimit-unified-5h-utilization: 1000",
    "date: yesterday",
};

Test(provider, lies_change_nothing_but_their_count)
{
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        tlshm_quota q = read_answer(TLSHM_PROVIDER_ANY, 200, lies[i], NULL), none;
        cr_expect_eq(q.disbelieved, 1, "%s", lies[i]);
        q.disbelieved = 0;
        none = read_answer(TLSHM_PROVIDER_ANY, 200, "", NULL);
        cr_expect_arr_eq(&q, &none, sizeof q, "%s", lies[i]);
    }
}

Test(provider, a_lie_spoils_no_neighbour)
{
    tlshm_quota q = read_answer(TLSHM_PROVIDER_AZURE, 200,
                                "x-ratelimit-limit-tokens: -1\nx-ratelimit-remaining-tokens: 5\n"
                                "x-ratelimit-reset-tokens: 300y",
                                NULL);
    cr_expect_eq(q.limit_count, 1);
    cr_expect_eq(q.limits[0].said, TLSHM_SAID_KIND | TLSHM_SAID_REMAINING);
    cr_expect_eq(q.disbelieved, 2);
}

Test(provider, other_headers_are_not_counted)
{
    tlshm_quota q = read_answer(TLSHM_PROVIDER_ANY, 200,
                                "content-type: application/json\nx-ratelimit-tokens-query-cost: 10\n"
                                "x-ratelimit: \nx-amzn-bedrock-input-token-count: 12\nx-ratelimit-: 5\nretry: 4\n: 5\n"
                                "retry-after-: 5\n retry-after : 7",
                                NULL);
    cr_expect_eq(q.limit_count, 0);
    cr_expect_eq(q.disbelieved, 0);
    cr_expect_eq(q.retry_after_ns, 7 * S);
}

Test(provider, huge_and_odd_bytes)
{
    size_t n = 10u << 20;
    char *digits = malloc(n);
    tlshm_quota q;
    cr_assert(digits);
    memset(digits, '9', n);
    tlshm_quota_begin(&q, TLSHM_PROVIDER_ANY, 429, NOW);
    cr_expect_eq(tlshm_quota_header(&q, "retry-after", 11, digits, n), 0);
    cr_expect_eq(tlshm_quota_header(&q, digits, n, "5", 1), 0);
    cr_expect_eq(tlshm_quota_header(&q, "retry-after", 11, "5\0", 2), 0);
    cr_expect_eq(tlshm_quota_header(&q, "retry-after\0", 12, "5", 1), 0);
    cr_expect_eq(tlshm_quota_header(&q, "retry-after", 11, NULL, 0), 0);
    cr_expect_eq(tlshm_quota_header(&q, "x-ratelimit-limit-\xff\x1b[31m", 24, "5", 1), 1);
    cr_expect_str_eq(q.limits[0].name, "??[31m");
    cr_expect_eq(q.disbelieved, 3);
    free(digits);
}

Test(provider, more_limits_than_room)
{
    char name[64];
    tlshm_quota q;
    tlshm_quota_begin(&q, TLSHM_PROVIDER_ANY, 200, NOW);
    for (int i = 0; i < 20; i++) {
        int n = snprintf(name, sizeof name, "x-ratelimit-limit-tokens-x%d", i);
        cr_expect_eq(tlshm_quota_header(&q, name, (size_t)n, "5", 1), i < TLSHM_QUOTA_LIMITS_MAX);
    }
    cr_expect_eq(q.limit_count, TLSHM_QUOTA_LIMITS_MAX);
    cr_expect_eq(q.dropped, 20 - TLSHM_QUOTA_LIMITS_MAX);
}

/* ----------------------------------------------------------------------------------------------------------- bodies */

#define OPENAI(text) "{\"error\": {\"message\": \"" text "\", \"type\": \"tokens\", \"code\": \"rate_limit_exceeded\"}}"

static const struct body_case {
    enum tlshm_provider provider;
    int status;
    const char *body;
    enum tlshm_quota_cause cause;
    int never;
    int kind; /* -1: not said */
    uint64_t window_ns, limit, used, requested;
    uint64_t wait_ns;
} body_cases[] = {
    {TLSHM_PROVIDER_OPENAI, 429,
     OPENAI("Rate limit reached for m in organization o on tokens per min (TPM): Limit 900, Used 700, Requested 300. "
            "Please try again in 6.666s. Visit us."),
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_TOKENS, MINUTE, 900, 700, 300, 6 * S + 666 * MS},
    {TLSHM_PROVIDER_OPENAI, 429,
     OPENAI("Rate limit reached for m on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in "
            "7m12s."),
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_REQUESTS, DAY, 200, 200, 1, 432 * S},
    {TLSHM_PROVIDER_OPENAI, 429,
     OPENAI("Rate limit reached for m on requests per min. Limit: 3 / min. Current: 4 / "
            "min. Please try again in 20s."),
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_REQUESTS, MINUTE, 3, 4, NONE, 20 * S},
    {TLSHM_PROVIDER_OPENAI, 429,
     OPENAI("Request too large for m on tokens per min (TPM): Limit 300, Requested 301. The tokens must be reduced."),
     TLSHM_QUOTA_TOO_LARGE, 1, TLSHM_QUOTA_TOKENS, MINUTE, 300, NONE, 301, TLSHM_NEVER},
    {TLSHM_PROVIDER_OPENAI, 429,
     "{\"error\":{\"message\":\"You exceeded your current quota, please check your plan and billing details.\","
     "\"type\":\"insufficient_quota\",\"param\":null,\"code\":\"insufficient_quota\"}}",
     TLSHM_QUOTA_UNPAID, 1, -1, 0, NONE, NONE, NONE, TLSHM_NEVER},
    {TLSHM_PROVIDER_OPENAI, 400,
     "{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens "
     "(8000 in the messages).\",\"type\":\"invalid_request_error\",\"code\":\"context_length_exceeded\"}}",
     TLSHM_QUOTA_TOO_LARGE, 1, TLSHM_QUOTA_TOKENS, 0, 8192, NONE, 9000, TLSHM_NEVER},
    {TLSHM_PROVIDER_OPENAI, 200,
     "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":"
     "\"rate_limit_exceeded\",\"message\":\"Rate limit reached on tokens per min (TPM): Limit 5, Used 5, Requested 1. "
     "Please try again in 11.054s.\"}}}\n\n",
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_TOKENS, MINUTE, 5, 5, 1, 11 * S + 54 * MS},
    {TLSHM_PROVIDER_AZURE, 429,
     "{\"error\":{\"code\":\"429\",\"message\":\"Requests to the Chat Operation have exceeded token rate limit of your "
     "current pricing tier. Please retry after 7 seconds. Please go on.\"}}",
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_TOKENS, 0, NONE, NONE, NONE, 7 * S},
    {TLSHM_PROVIDER_AZURE, 429,
     "{\"error\":{\"code\":\"429\",\"message\":\"Requests to the Chat Operation have exceeded call rate limit of your "
     "current pricing tier. Please retry after 1 second.\"}}",
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_REQUESTS, 0, NONE, NONE, NONE, S},
    {TLSHM_PROVIDER_ANTHROPIC, 429,
     "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"This request would exceed the rate "
     "limit for your organization (o) of 40,000 input tokens per minute. Please reduce the prompt length or the "
     "maximum tokens requested, or try again later.\"}}",
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_INPUT_TOKENS, MINUTE, 40000, NONE, NONE, NONE},
    {TLSHM_PROVIDER_ANTHROPIC, 429,
     "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"Number of requests has exceeded your "
     "per-minute rate limit. Please reduce the maximum tokens requested.\"}}",
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_REQUESTS, MINUTE, NONE, NONE, NONE, NONE},
    {TLSHM_PROVIDER_ANTHROPIC, 529,
     "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
     TLSHM_QUOTA_OVERLOADED, 0, -1, 0, NONE, NONE, NONE, NONE},
    {TLSHM_PROVIDER_ANTHROPIC, 200,
     "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n", TLSHM_QUOTA_OVERLOADED, 0,
     -1, 0, NONE, NONE, NONE, NONE},
    {TLSHM_PROVIDER_ANTHROPIC, 400,
     "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 205000 "
     "tokens "
     "> 200000 maximum\"}}",
     TLSHM_QUOTA_TOO_LARGE, 1, TLSHM_QUOTA_INPUT_TOKENS, 0, 200000, NONE, 205000, TLSHM_NEVER},
    {TLSHM_PROVIDER_ANTHROPIC, 413,
     "{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\",\"message\":\"big\"}}", TLSHM_QUOTA_TOO_LARGE, 1,
     -1, 0, NONE, NONE, NONE, TLSHM_NEVER},
    {TLSHM_PROVIDER_ANTHROPIC, 400,
     "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Your credit balance is too "
     "low\"}}",
     TLSHM_QUOTA_UNPAID, 1, -1, 0, NONE, NONE, NONE, TLSHM_NEVER},
    {TLSHM_PROVIDER_GEMINI, 429,
     "[{\"error\":{\"code\":429,\"message\":\"You exceeded your current quota, please check your plan and billing "
     "details. Please retry in "
     "17.399999999s.\",\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{\"@type\":\"QuotaFailure\","
     "\"violations\":[{\"quotaMetric\":\"host/generate_content_free_tier_requests\",\"quotaId\":"
     "\"GenerateRequestsPerMinutePerModel-FreeTier\",\"quotaDimensions\":{\"location\":\"global\"},\"quotaValue\":"
     "\"15\"},"
     "{\"quotaMetric\":\"host/"
     "generate_content_free_tier_requests\",\"quotaId\":\"GenerateRequestsPerDayPerModel-FreeTier"
     "\",\"quotaValue\":\"50\"}]},{\"@type\":\"RetryInfo\",\"retryDelay\":\"17s\"}]}}]",
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_REQUESTS, DAY, 50, NONE, NONE, UINT64_C(17399999999)},
    {TLSHM_PROVIDER_GEMINI, 429,
     "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{\"violations\":[{\"quotaMetric\":"
     "\"h/"
     "generate_content_paid_tier_input_token_count\",\"quotaId\":"
     "\"GenerateContentPaidTierInputTokensPerModelPerMinute\","
     "\"quotaValue\":\"1000000\"}]},{\"retryDelay\":\"3.5s\"}]}}",
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_INPUT_TOKENS, MINUTE, 1000000, NONE, NONE, 3 * S + 500 * MS},
    {TLSHM_PROVIDER_GEMINI, 429,
     "{\"error\":{\"code\":429,\"message\":\"Resource exhausted. Please try again later.\","
     "\"status\":\"RESOURCE_EXHAUSTED\"}}",
     TLSHM_QUOTA_LIMIT, 0, -1, 0, NONE, NONE, NONE, NONE},
    {TLSHM_PROVIDER_BEDROCK, 429, "{\"message\": \"Too many tokens per day, please wait before trying again.\"}",
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_TOKENS, DAY, NONE, NONE, NONE, NONE},
    {TLSHM_PROVIDER_BEDROCK, 400,
     "{\"__type\":\"com.amazon.coral.service#ThrottlingException\",\"message\":\"Too many requests, please wait before "
     "trying again.\"}",
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_REQUESTS, 0, NONE, NONE, NONE, NONE},
    {TLSHM_PROVIDER_BEDROCK, 400, "{\"message\":\"Input is too long for requested model.\"}", TLSHM_QUOTA_TOO_LARGE, 1,
     -1, 0, NONE, NONE, NONE, TLSHM_NEVER},
    {TLSHM_PROVIDER_MISTRAL, 429, "{\"message\":\"Requests rate limit exceeded\"}", TLSHM_QUOTA_LIMIT, 0,
     TLSHM_QUOTA_REQUESTS, 0, NONE, NONE, NONE, NONE},
    {TLSHM_PROVIDER_GROQ, 429,
     OPENAI("Rate limit reached for model `m` on tokens per minute (TPM): Limit 7000, Used 0, Requested ~12903. Please "
            "try again in 50.597142857s."),
     TLSHM_QUOTA_LIMIT, 1, TLSHM_QUOTA_TOKENS, MINUTE, 7000, 0, 12903, TLSHM_NEVER},
    {TLSHM_PROVIDER_COHERE, 429,
     "{\"message\":\"You are using a Trial key, which is limited to 10 API calls / minute. Please upgrade.\"}",
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_REQUESTS, MINUTE, 10, NONE, NONE, NONE},
    {TLSHM_PROVIDER_DEEPSEEK, 402,
     "{\"error\":{\"message\":\"Insufficient Balance\",\"code\":\"invalid_request_error\"}}", TLSHM_QUOTA_UNPAID, 1, -1,
     0, NONE, NONE, NONE, TLSHM_NEVER},
    {TLSHM_PROVIDER_OPENROUTER, 429,
     "{\"error\":{\"message\":\"Rate limit exceeded: free-models-per-day\",\"code\":429,\"metadata\":{\"headers\":{"
     "\"X-RateLimit-Limit\":\"50\",\"X-RateLimit-Remaining\":\"0\",\"X-RateLimit-Reset\":\"1700086400000\"}}}}",
     TLSHM_QUOTA_LIMIT, 0, TLSHM_QUOTA_REQUESTS, DAY, 50, NONE, NONE, DAY},
    {TLSHM_PROVIDER_ANY, 429, "slow down", TLSHM_QUOTA_LIMIT, 0, -1, 0, NONE, NONE, NONE, NONE},
    {TLSHM_PROVIDER_ANY, 429, "{\"detail\":\"Too many requests\",\"retry_after\":3}", TLSHM_QUOTA_LIMIT, 0,
     TLSHM_QUOTA_REQUESTS, 0, NONE, NONE, NONE, 3 * S},
    {TLSHM_PROVIDER_ANY, 429, "{\"error\":\"Rate limit: wait 1 minute 30 seconds\"}", TLSHM_QUOTA_LIMIT, 0, -1, 0, NONE,
     NONE, NONE, 90 * S},
    {TLSHM_PROVIDER_ANY, 500, "{\"error\":{\"message\":\"internal\"}}", TLSHM_QUOTA_NONE, 0, -1, 0, NONE, NONE, NONE,
     NONE},
    {TLSHM_PROVIDER_ANY, 0, "", TLSHM_QUOTA_NONE, 0, -1, 0, NONE, NONE, NONE, NONE},
};

static void expect_body(const struct body_case *c, const tlshm_quota *q, const char *how)
{
    const tlshm_quota_limit *hit = &q->hit;
    cr_expect_eq(q->cause, c->cause, "%s: %s: cause %d", how, c->body, (int)q->cause);
    cr_expect_eq(q->never_retry, c->never, "%s: %s", how, c->body);
    cr_expect_eq(hit->said & TLSHM_SAID_KIND ? (int)hit->kind : -1, c->kind, "%s: %s: kind %d", how, c->body,
                 (int)hit->kind);
    cr_expect_eq(hit->window_ns, c->window_ns, "%s: %s", how, c->body);
    cr_expect_eq(hit->said & TLSHM_SAID_LIMIT ? hit->limit : NONE, c->limit, "%s: %s", how, c->body);
    cr_expect_eq(hit->said & TLSHM_SAID_USED ? hit->used : NONE, c->used, "%s: %s", how, c->body);
    cr_expect_eq(hit->said & TLSHM_SAID_REQUESTED ? hit->requested : NONE, c->requested, "%s: %s", how, c->body);
    cr_expect_eq(q->said & TLSHM_SAID_WAIT ? q->wait_ns : NONE, c->wait_ns, "%s: %s: wait %llu", how, c->body,
                 (unsigned long long)q->wait_ns);
    cr_expect_eq(q->disbelieved, 0, "%s: %s", how, c->body);
}

Test(provider, bodies_of_every_provider)
{
    for (size_t i = 0; i < COUNT_OF(body_cases); i++) {
        tlshm_quota q = read_answer(body_cases[i].provider, body_cases[i].status, "", body_cases[i].body);
        expect_body(&body_cases[i], &q, "known provider");
        q = read_answer(TLSHM_PROVIDER_ANY, body_cases[i].status, "", body_cases[i].body);
        expect_body(&body_cases[i], &q, "any provider");
    }
}

/* What a model wrote, or a user. */
static const char *const not_errors[] = {
    "{\"choices\":[{\"message\":{\"content\":\"Rate limit reached. Limit 5, Used 5. Try again in 20s.\"}}]}",
    "{\"message\":\"Rate limit reached on tokens per min (TPM): Limit 5\"}",
    "data: {\"delta\":\"Rate limit reached. try again in 20s\"}\n\ndata: [DONE]\n",
    "Request too large",
    "\"Rate limit reached, try again in 20s\"",
    "{\"retry_after\": 5, \"type\": \"rate_limit_error\", \"code\": 429}",
    "{\"content\":\"{\\\"error\\\":{\\\"message\\\":\\\"Rate limit reached, try again in 20s\\\"}}\"}",
};

Test(provider, what_a_model_wrote_is_not_believed)
{
    for (size_t i = 0; i < COUNT_OF(not_errors); i++) {
        tlshm_quota q = read_answer(TLSHM_PROVIDER_ANY, 200, "", not_errors[i]), none;
        none = read_answer(TLSHM_PROVIDER_ANY, 200, "", NULL);
        cr_expect_arr_eq(&q, &none, sizeof q, "%s", not_errors[i]);
    }
}

Test(provider, escapes_in_messages)
{
    tlshm_quota q = read_answer(TLSHM_PROVIDER_ANY, 429, "",
                                "\xef\xbb\xbf\r\n{\"error\":{\"message\":\"\\u0052ate limit\\n\\\"m\\\" \\ud83d\\ude00 "
                                "\\u00e9 on requests per min (RPM): Limit 5\\/min, try again in 2s\"}}");
    cr_expect_eq(q.hit.limit, 5);
    cr_expect_eq(q.wait_ns, 2 * S);
}

Test(provider, bodies_cut_anywhere)
{
    for (size_t i = 0; i < COUNT_OF(body_cases); i++) {
        size_t n = strlen(body_cases[i].body);
        for (size_t cut = 0; cut <= n; cut++) {
            char *copy = malloc(cut ? cut : 1); /* so that a sanitizer sees a step beyond */
            tlshm_quota q;
            cr_assert(copy);
            memcpy(copy, body_cases[i].body, cut);
            tlshm_quota_begin(&q, TLSHM_PROVIDER_ANY, body_cases[i].status, NOW);
            cr_expect_geq(tlshm_quota_body(&q, copy, cut), 0);
            cr_expect_eq(tlshm_quota_end(&q), 0);
            free(copy);
        }
    }
}

Test(provider, deep_and_long_bodies)
{
    size_t n = 1u << 20;
    char *body = malloc(n);
    tlshm_quota q;
    cr_assert(body);
    static const char nests[] = "[{\"";
    for (const char *c = nests; *c; c++) {
        memset(body, *c, n);
        tlshm_quota_begin(&q, TLSHM_PROVIDER_ANY, 429, NOW);
        cr_expect_eq(tlshm_quota_body(&q, body, n), 0, "%c", *c);
    }
    free(body);
}

/* ------------------------------------------------------------------------------------------------------ conclusions */

Test(provider, an_exhausted_limit_tells_the_wait)
{
    tlshm_quota q = read_answer(TLSHM_PROVIDER_ANTHROPIC, 429,
                                "anthropic-ratelimit-requests-limit: 5\nanthropic-ratelimit-requests-remaining: 0\n"
                                "anthropic-ratelimit-requests-reset: 2023-11-14T22:13:21Z\n"
                                "anthropic-ratelimit-tokens-remaining: 16000\n"
                                "anthropic-ratelimit-tokens-reset: 2023-11-14T22:13:59Z",
                                NULL);
    cr_expect_eq(q.hit.kind, TLSHM_QUOTA_REQUESTS);
    cr_expect_eq(q.hit.limit, 5);
    cr_expect_eq(q.hit.window_ns, MINUTE);
    cr_expect_eq(q.wait_ns, S);
}

Test(provider, a_window_that_nobody_lives_to_see)
{
    tlshm_quota q = read_answer(TLSHM_PROVIDER_ANY, 429, "",
                                "{\"error\":\"Rate limit of 40,000 tokens per 99999999999seconds, 5 per minute\"}");
    cr_expect_eq(q.hit.window_ns, MINUTE);
    q = read_answer(TLSHM_PROVIDER_ANY, 429, "", "{\"error\":\"Rate limit of 40,000 tokens per 99999999999seconds\"}");
    cr_expect_eq(q.hit.window_ns, 0);
}

Test(provider, a_policy_tells_what_was_hit)
{
    tlshm_quota q = read_answer(TLSHM_PROVIDER_AZURE, 429,
                                "x-rate-limit-reset-tokens: 55\npolicy-id: DeploymentRatelimit-Token", NULL);
    cr_expect_eq(q.hit.kind, TLSHM_QUOTA_TOKENS);
    cr_expect_eq(q.wait_ns, 55 * S);
}

Test(provider, an_exception_in_a_header)
{
    tlshm_quota q =
        read_answer(TLSHM_PROVIDER_BEDROCK, 400, "x-amzn-ErrorType: ThrottlingException:http://example.org/", NULL);
    cr_expect_eq(q.cause, TLSHM_QUOTA_LIMIT);
    cr_expect(!(q.said & TLSHM_SAID_WAIT));
}

/* Taking one more thing and concluding again is as if it had come in time. */
Test(provider, conclusions_can_be_drawn_again)
{
    tlshm_quota q = read_answer(TLSHM_PROVIDER_ANY, 429, "x-ratelimit-remaining-requests: 0", NULL);
    cr_expect(!(q.said & TLSHM_SAID_WAIT));
    take(&q, "x-ratelimit-reset-requests: 3s");
    tlshm_quota_end(&q);
    cr_expect_eq(q.wait_ns, 3 * S);
    take(&q, "retry-after: 9");
    tlshm_quota_end(&q);
    cr_expect_eq(q.wait_ns, 9 * S);
}

Test(provider, conclusions_stay_with_several_limits_of_a_kind)
{
    tlshm_quota q = read_answer(TLSHM_PROVIDER_ANY, 429,
                                "x-ratelimit-remaining-requests: 5\nx-ratelimit-limit-requests: 60\n"
                                "x-ratelimit-remaining-fast-requests: 0\nx-ratelimit-reset-fast-requests: 9s",
                                NULL);
    tlshm_quota again = q;
    cr_expect_eq(q.wait_ns, 9 * S);
    cr_expect_str_eq(q.hit.name, "fast");
    cr_expect_eq(tlshm_quota_end(&again), 0);
    cr_expect_eq(memcmp(&q, &again, sizeof q), 0, "the second time the limit hit has %u, not %u, said of it",
                 again.hit.said, q.hit.said);
}

Test(provider, bad_arguments)
{
    tlshm_quota q;
    cr_expect_eq(tlshm_quota_begin(NULL, TLSHM_PROVIDER_ANY, 0, NOW), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_quota_begin(&q, TLSHM_PROVIDERS, 0, NOW), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_quota_begin(&q, TLSHM_PROVIDER_ANY, -1, NOW), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_quota_begin(&q, TLSHM_PROVIDER_ANY, 0, -1), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_quota_begin(&q, TLSHM_PROVIDER_ANY, 0, INT64_MAX), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_quota_begin(&q, TLSHM_PROVIDER_ANY, 0, 0), 0);
    cr_expect_eq(tlshm_quota_header(NULL, "a", 1, "b", 1), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_quota_header(&q, NULL, 1, "b", 1), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_quota_header(&q, "a", 1, NULL, 1), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_quota_body(NULL, "a", 1), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_quota_body(&q, NULL, 1), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_quota_body(&q, NULL, 0), 0);
    cr_expect_eq(tlshm_quota_end(NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_provider_parse("nobody"), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_provider_parse(""), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_provider_parse(NULL), -TLSHM_EINVAL);
}

Test(provider, names)
{
    for (int i = 0; i < TLSHM_PROVIDERS; i++)
        cr_expect_eq(tlshm_provider_parse(tlshm_provider_name(i)), i);
    cr_expect_eq(tlshm_provider_parse("OpenRouter"), TLSHM_PROVIDER_OPENROUTER);
    cr_expect_str_eq(tlshm_provider_name(-1), "?");
    cr_expect_str_eq(tlshm_provider_name(TLSHM_PROVIDERS), "?");
    for (int unit = 0; unit < TLSHM_UNITS; unit++)
        if (strcmp(tlshm_quota_kind_name(unit), "?") != 0)
            cr_expect_str_eq(tlshm_quota_kind_name(unit), tlshm_unit_name(unit));
    cr_expect_str_eq(tlshm_quota_kind_name(TLSHM_QUOTA_OTHER), "other");
    cr_expect_str_eq(tlshm_quota_kind_name(TLSHM_QUOTA_OTHER + 1), "?");
    cr_expect_str_eq(tlshm_quota_cause_name(TLSHM_QUOTA_TOO_LARGE), "TOO_LARGE");
    cr_expect_str_eq(tlshm_quota_cause_name(-3), "?");
}
